// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <stdlib.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "verdict/verdict.h"

#define ALPHA 0.05
#define MAX_OBS 200

/* Observations of one metric, and the query for it. */
struct data {
	struct observation obs[MAX_OBS];
	struct verdict_query q;
};

static void data_init(struct data *d, enum better better, double margin)
{
	d->q = (struct verdict_query){
		.metric = "throughput@net", .better = better, .margin = margin, .obs = d->obs
	};
}

static struct observation *add(struct data *d, unsigned int block, unsigned int variant, double v)
{
	struct observation *o = &d->obs[d->q.nr_obs++];

	assert_true(d->q.nr_obs <= MAX_OBS);
	*o = (struct observation){
		.block = block, .variant = variant, .has_value = true, .value = v
	};
	return o;
}

/* One metric, two variants, one verdict. */
static struct verdict decide(const struct data *d)
{
	struct verdict v = {};
	struct err e = {};

	if (verdict_decide(&d->q, 1, 2, ALPHA, &v, &e) < 0)
		fail_msg("%s", e.msg);
	return v;
}

/* Blocks whose ratio is @ratio up to @noise, on a baseline that drifts far more than that. */
static void fill(struct data *d, gsl_rng *rng, unsigned int blocks, double ratio, double noise)
{
	d->q.nr_obs = 0;
	for (unsigned int b = 0; b < blocks; b++) {
		double level = 1e9 * (1 + 0.1 * b);

		add(d, b, 1, level * ratio * exp(gsl_ran_gaussian(rng, noise)));
		add(d, b, 0, level * exp(gsl_ran_gaussian(rng, noise)));
	}
}

static void words_and_exit_codes(void **state)
{
	struct verdict v[3] = { { .word = VERDICT_BETTER }, { .word = VERDICT_SAME } };

	assert_string_equal(verdict_word(VERDICT_BETTER), "better");
	assert_string_equal(verdict_word(VERDICT_WORSE), "worse");
	assert_string_equal(verdict_word(VERDICT_SAME), "same");
	assert_string_equal(verdict_word(VERDICT_UNDECIDED), "undecided");
	assert_string_equal(verdict_word(VERDICT_VETOED), "vetoed");
	assert_int_equal(verdict_exit_code(NULL, 0), 0);
	assert_int_equal(verdict_exit_code(v, 2), 0);
	v[2].word = VERDICT_VETOED;
	assert_int_equal(verdict_exit_code(v, 3), 4);
	v[2].word = VERDICT_UNDECIDED;
	assert_int_equal(verdict_exit_code(v, 3), 4);
	v[0].word = VERDICT_WORSE;
	assert_int_equal(verdict_exit_code(v, 3), 5);
}

/* Ratios by hand: with n = 6 the interval at 5 % goes from the least to the greatest. */
static void change_is_a_ratio_of_paired_values(void **state)
{
	static const double ratio[] = { 1.02, 1.01, 1.05, 1.03, 1.04, 1.06 };
	static struct data d;
	struct verdict v;

	data_init(&d, BETTER_HIGHER, 0);
	for (unsigned int b = 0; b < 6; b++) {
		add(&d, 10 * b, 0, 100 * (b + 1));
		add(&d, 10 * b, 1, 100 * (b + 1) * ratio[b]);
	}
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_BETTER);
	assert_int_equal(v.scale, VERDICT_SCALE_RATIO);
	assert_int_equal(v.blocks, 6);
	assert_int_equal(v.lost, 0);
	assert_near(v.low, 0.01, 1e-12);
	assert_near(v.high, 0.06, 1e-12);
	assert_near(v.change, 0.035, 2e-4);
	assert_near(v.baseline, 350, 1e-9);
	assert_near(v.value, (315 + 412) / 2.0, 1e-9);
	assert_true(v.p == 0.03125 && v.alpha == ALPHA);
	assert_true(v.query == 0 && v.variant == 1 && !v.reason && v.more_blocks == 0);
	d.q.better = BETTER_LOWER;
	assert_int_equal(decide(&d).word, VERDICT_WORSE);
	/* swapping the variants swaps the signs on the log scale */
	for (size_t i = 0; i < d.q.nr_obs; i++)
		d.obs[i].variant = 1 - d.obs[i].variant;
	assert_int_equal(decide(&d).word, VERDICT_BETTER);
	assert_near(log1p(decide(&d).change), -log1p(v.change), 1e-12);
}

static void planted_loss_is_worse_and_inside_the_interval(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	int covered = 0, worse = 0;
	static struct data d;

	data_init(&d, BETTER_HIGHER, 0.01);
	for (int i = 0; i < 500; i++) {
		struct verdict v;

		fill(&d, rng, 8, 0.95, 0.004);
		v = decide(&d);
		worse += v.word == VERDICT_WORSE;
		covered += v.low <= -0.05 && -0.05 <= v.high;
		assert_near(v.change, -0.05, 0.012);
	}
	assert_int_equal(worse, 500);
	assert_true(covered >= 475 - 3 * 5); /* 3 sigma below 95 % */
	gsl_rng_free(rng);
}

static void change_inside_the_margin_is_the_same_even_when_it_is_sure(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	static struct data d;
	struct verdict v;

	data_init(&d, BETTER_HIGHER, 0.05);
	fill(&d, rng, 8, 1.02, 0.001);
	v = decide(&d);
	assert_true(v.low > 0 && v.p <= v.alpha);
	assert_int_equal(v.word, VERDICT_SAME);
	d.q.margin = 0.015;
	assert_int_equal(decide(&d).word, VERDICT_BETTER);
	gsl_rng_free(rng);
}

/* -m <= change <= m: a loss of 10 % is inside a margin of 10 %, a gain of 11.1 % (1/0.9) is not. */
static void margin_is_symmetric_in_the_ratio(void **state)
{
	static struct data d;

	for (int up = 0; up < 2; up++) {
		data_init(&d, BETTER_HIGHER, 0.1 + 1e-9);
		for (unsigned int b = 0; b < 6; b++) {
			add(&d, b, 0, up ? 90 : 100);
			add(&d, b, 1, up ? 100 : 90);
		}
		assert_int_equal(decide(&d).word, up ? VERDICT_BETTER : VERDICT_SAME);
	}
}

static void noise_is_undecided_with_a_plausible_forecast(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	unsigned int told = 0, enough = 0, undecided = 0;
	static struct data d;

	data_init(&d, BETTER_HIGHER, 0.001);
	for (int i = 0; i < 400; i++) {
		struct verdict v;

		fill(&d, rng, 8, 1.01, 0.014);
		v = decide(&d);
		if (v.word != VERDICT_UNDECIDED)
			continue;
		assert_true(v.low <= 0 && v.high >= 0);
		undecided++;
		assert_true(v.more_blocks <= 800);
		if (v.more_blocks == 0 || 8 + v.more_blocks > MAX_OBS / 2)
			continue;
		told++;
		fill(&d, rng, 8 + v.more_blocks, 1.01, 0.014);
		enough += decide(&d).word != VERDICT_UNDECIDED;
	}
	/* "about": a fresh run of that many blocks decides clearly more often than 8 blocks did */
	assert_true(undecided > 200 && told > 150);
	assert_true((double)enough / told > 2 * (400.0 - undecided) / 400);
	gsl_rng_free(rng);
}

/* Estimate 2, interval -1..5 by symmetry: 9 pairs for 3 -> 2, so 2.25 times as many as there are.
 */
static void forecast_takes_the_nearer_decision(void **state)
{
	static const double d6[] = { -1, 1, 1.5, 2.5, 3, 5 };
	struct verdict v;
	static struct data d;

	data_init(&d, BETTER_HIGHER, 0);
	for (unsigned int b = 0; b < 6; b++) {
		add(&d, b, 0, -100);
		add(&d, b, 1, -100 + d6[b]);
	}
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_int_equal(v.scale, VERDICT_SCALE_MEDIAN);
	assert_near(v.low, -0.01, 1e-12);
	assert_near(v.high, 0.05, 1e-12);
	assert_near(v.change, 0.02, 1e-12);
	assert_int_equal(v.more_blocks, 14 - 6); /* 6 * (3/2)^2 = 13.5 */
	d.q.margin = 0.045;			 /* room 2.5 above: 6 * (3/2.5)^2 = 8.64 */
	assert_int_equal(decide(&d).more_blocks, 9 - 6);
	d.q.margin = 0.0001;
	for (unsigned int b = 0; b < 6; b++) /* as good as zero: more than 100 times as many */
		d.obs[2 * b + 1].value -= 1.9;
	assert_int_equal(decide(&d).more_blocks, 0);
}

/*
 * Two variants that are the same: better or worse at most at the level, whatever the distribution,
 * for one metric and for a family of three.
 */
static void identical_variants_seldom_differ(void **state)
{
	enum { RUNS = 2000 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	const double limit = (double)RUNS * ALPHA + 3 * sqrt((double)RUNS * ALPHA * (1 - ALPHA));

	for (unsigned int blocks = 6; blocks <= 12; blocks++) {
		int wrong = 0, missed = 0;
		static struct data d;

		data_init(&d, BETTER_LOWER, 0);
		for (int i = 0; i < RUNS; i++) {
			struct verdict v;

			fill(&d, rng, blocks, 1, 0.03);
			for (size_t k = 0; i % 2 && k < d.q.nr_obs; k++) /* heavy tails, ties */
				d.obs[k].value = 10 + floor(gsl_ran_pareto(rng, 1.5, 3));
			v = decide(&d);
			wrong += v.word == VERDICT_BETTER || v.word == VERDICT_WORSE;
			missed += v.low > 0 || v.high < 0;
		}
		assert_true(wrong <= limit);
		assert_true(missed <= limit);
		assert_true(wrong > 0); /* a test that never rejects would pass otherwise */
	}
	gsl_rng_free(rng);
}

static void family_of_metrics_keeps_the_level(void **state)
{
	enum { RUNS = 2000, METRICS = 3 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	static struct data d[METRICS];
	int wrong = 0;

	for (int i = 0; i < RUNS; i++) {
		struct verdict_query q[METRICS];
		struct verdict v[METRICS];
		struct err e = {};
		bool any = false;

		for (int k = 0; k < METRICS; k++) {
			data_init(&d[k], BETTER_HIGHER, 0);
			fill(&d[k], rng, 9, 1, 0.02);
			q[k] = d[k].q;
		}
		assert_int_equal(verdict_decide(q, METRICS, 2, ALPHA, v, &e), 0);
		for (int k = 0; k < METRICS; k++)
			any |= v[k].word == VERDICT_BETTER || v[k].word == VERDICT_WORSE;
		wrong += any;
	}
	assert_true(wrong <= (double)RUNS * ALPHA + 3 * sqrt((double)RUNS * ALPHA * (1 - ALPHA)));
	assert_true(wrong > 0);
	gsl_rng_free(rng);
}

/* What is called the same lies inside the margin: a change just outside seldom gets the word. */
static void change_outside_the_margin_is_seldom_called_the_same(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	int same = 0, inside = 0;
	static struct data d;

	data_init(&d, BETTER_HIGHER, 0.02);
	for (int i = 0; i < 2000; i++) {
		fill(&d, rng, 8, 1.0201, 0.006);
		same += decide(&d).word == VERDICT_SAME;
		fill(&d, rng, 8, 1.005, 0.004);
		inside += decide(&d).word == VERDICT_SAME;
	}
	assert_true(same <= 2000 * ALPHA / 2 + 3 * sqrt(2000 * ALPHA / 2));
	assert_true(inside > 1500);
	gsl_rng_free(rng);
}

/* 8 blocks, three metrics: p = 2/256 passes 0.05/3, then the others are judged more easily. */
static void metrics_step_down_by_holm(void **state)
{
	static const double clear[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const double fair[] = { -1, 2, 3, 4, 5, 6, 7, 8 };  /* p = 4/256 */
	static const double weak[] = { -4, -1, 2, 3, 5, 6, 7, 8 }; /* p > 0.05 */
	const double *const shape[] = { weak, clear, fair };
	static struct data d[3];
	struct verdict_query q[3];
	struct verdict v[3];
	struct err e = {};

	for (int k = 0; k < 3; k++) {
		data_init(&d[k], BETTER_HIGHER, 0);
		for (unsigned int b = 0; b < 8; b++) {
			add(&d[k], b, 0, 1000);
			add(&d[k], b, 1, 1000 + shape[k][b]);
		}
		q[k] = d[k].q;
	}
	assert_int_equal(verdict_decide(q, 3, 2, ALPHA, v, &e), 0);
	assert_true(v[1].p == 2.0 / 256 && v[1].word == VERDICT_BETTER);
	assert_near(v[1].alpha, ALPHA / 3, 1e-15);
	assert_true(v[2].p == 4.0 / 256 && v[2].word == VERDICT_BETTER);
	assert_near(v[2].alpha, ALPHA / 2, 1e-15);
	assert_true(v[0].p > ALPHA && v[0].word == VERDICT_UNDECIDED);
	assert_near(v[0].alpha, ALPHA, 1e-15);
	/* seven blocks of the fair one alone cannot: 4/128 > 0.05/2, and Holm stops there */
	for (int k = 0; k < 3; k++)
		q[k].nr_obs = 14;
	assert_int_equal(verdict_decide(q, 3, 2, ALPHA, v, &e), 0);
	assert_int_equal(v[1].word, VERDICT_BETTER);
	assert_int_equal(v[2].word, VERDICT_UNDECIDED);
	assert_near(v[0].alpha, ALPHA / 2, 1e-15);
	assert_near(v[2].alpha, ALPHA / 2, 1e-15);
}

static void lost_trials_take_their_pair_with_them(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	static struct data d;
	struct verdict v;

	data_init(&d, BETTER_HIGHER, 0.001);
	fill(&d, rng, 8, 0.95, 0.001);
	d.obs[0].state = TRIAL_VETOED; /* block 0, variant 1, and its value must not matter */
	d.obs[0].value = 1;
	d.obs[0].reason = "RT throttling";
	d.obs[3].has_value = false; /* block 1, baseline */
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_WORSE);
	assert_int_equal(v.blocks, 6);
	assert_int_equal(v.lost, 2);
	assert_null(v.reason);

	/* one more veto and five are left: too few, and the reason is named */
	d.obs[5].state = TRIAL_FAILED;
	d.obs[5].reason = "peer went away";
	d.obs[4].state = TRIAL_FAILED;
	d.obs[4].reason = "peer went away";
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_VETOED);
	assert_int_equal(v.blocks, 5);
	assert_int_equal(v.lost, 3);
	assert_string_equal(v.reason, "peer went away"); /* two against one */
	assert_int_equal(v.more_blocks, 1);
	assert_true(isinf(v.low) && isinf(v.high) && isfinite(v.change));
	gsl_rng_free(rng);
}

/* A block that lost either trial leaves both medians. */
static void medians_are_over_the_pairs_used(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, BETTER_HIGHER, 0.05);
	for (unsigned int b = 0; b < 7; b++) {
		add(&d, b, 0, 100 + b);
		add(&d, b, 1, 200 + b);
	}
	/* the largest baseline alone, then the smallest variant alone */
	d.obs[13].state = TRIAL_VETOED;
	d.obs[13].reason = "RT throttling";
	d.obs[0].has_value = false;
	v = decide(&d);
	assert_int_equal(v.blocks, 5);
	assert_int_equal(v.lost, 2);
	assert_near(v.baseline, 103, 1e-9);
	assert_near(v.value, 203, 1e-9);
	d.obs[12].value = 1e9; /* of block 6, which is lost */
	d.obs[1].value = 1;    /* of block 0, which is lost */
	d.obs[2].has_value = false;
	v = decide(&d);
	assert_int_equal(v.blocks, 4);
	assert_near(v.baseline, 103.5, 1e-9);
	assert_near(v.value, 203.5, 1e-9);
}

static void missing_trials_are_undecided_not_vetoed(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	static struct data d;
	struct verdict v;

	data_init(&d, BETTER_HIGHER, 0.001);
	fill(&d, rng, 6, 0.9, 0.001);
	d.q.nr_obs = 11; /* the last block has no baseline: killed on the way */
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_int_equal(v.blocks, 5);
	assert_int_equal(v.lost, 1);
	assert_int_equal(v.more_blocks, 1);
	assert_null(v.reason);

	d.obs[0].value = (double)NAN; /* measured, but no number: that needs a reason */
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_VETOED);
	assert_contains(v.reason, "not a finite number");

	d.q.nr_obs = 0;
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_true(v.p == 1 && v.blocks == 0 && v.lost == 0 && v.more_blocks == 6);
	assert_true(isnan(v.change) && isnan(v.baseline) && isnan(v.value));
	gsl_rng_free(rng);
}

static void everything_vetoed_names_the_reason(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, BETTER_HIGHER, 0.001);
	for (unsigned int b = 0; b < 7; b++) {
		struct observation *o = add(&d, b, 1, 0);

		o->state = TRIAL_VETOED;
		o->reason = "variant after had no effect";
		o->has_value = false;
		add(&d, b, 0, 5);
	}
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_VETOED);
	assert_string_equal(v.reason, "variant after had no effect");
	assert_int_equal(v.lost, 7);
	d.obs[2].reason = d.obs[4].reason = d.obs[6].reason = "link flap";
	d.q.nr_obs = 12; /* three against three: the earlier */
	assert_string_equal(decide(&d).reason, "variant after had no effect");
	d.obs[8].reason = "link flap";
	assert_string_equal(decide(&d).reason, "link flap");
	d.obs[0].reason = NULL;
	d.q.nr_obs = 1;
	assert_contains(decide(&d).reason, "no reason recorded");
}

static void counts_with_zeros_are_compared_as_differences(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, BETTER_LOWER, 0.05);
	for (unsigned int b = 0; b < 6; b++) {
		add(&d, b, 0, 4);
		add(&d, b, 1, b); /* 0 .. 5 */
	}
	v = decide(&d);
	assert_int_equal(v.scale, VERDICT_SCALE_MEDIAN);
	assert_near(v.low, -1, 1e-12);
	assert_near(v.high, 0.25, 1e-12);

	for (unsigned int b = 0; b < 6; b++) {
		d.obs[2 * b].value = 0;
		d.obs[2 * b + 1].value = 3 + b;
	}
	v = decide(&d);
	assert_int_equal(v.scale, VERDICT_SCALE_UNIT);
	assert_int_equal(v.word, VERDICT_WORSE);
	assert_near(v.low, 3, 1e-12);
	assert_near(v.high, 8, 1e-12);

	/* a margin says nothing about a change from zero, but no change at all is the same */
	for (unsigned int b = 0; b < 6; b++)
		d.obs[2 * b + 1].value = 0.01;
	assert_int_equal(decide(&d).word, VERDICT_WORSE);
	for (unsigned int b = 0; b < 6; b++)
		d.obs[2 * b + 1].value = 0;
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_SAME);
	assert_true(v.low == 0 && v.high == 0 && v.p == 1);
}

static void several_variants_come_in_order(void **state)
{
	static struct data d[2];
	struct verdict_query q[2];
	struct verdict v[4];
	struct err e = {};

	for (int k = 0; k < 2; k++) {
		data_init(&d[k], k ? BETTER_LOWER : BETTER_HIGHER, 0);
		for (unsigned int b = 0; b < 8; b++) {
			add(&d[k], b, 2, 80 + b);
			add(&d[k], b, 0, 100);
			add(&d[k], b, 1, 110 + b);
		}
		q[k] = d[k].q;
	}
	d[0].obs[0].state = TRIAL_FAILED; /* variant 2 only: variant 1 keeps its eight blocks */
	assert_int_equal(verdict_decide(q, 2, 3, ALPHA, v, &e), 0);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(v[i].query, i % 2);
		assert_int_equal(v[i].variant, i / 2 + 1);
	}
	assert_int_equal(v[0].word, VERDICT_BETTER);
	assert_int_equal(v[1].word, VERDICT_WORSE);
	assert_int_equal(v[2].word, VERDICT_WORSE);
	assert_int_equal(v[3].word, VERDICT_BETTER);
	assert_int_equal(v[0].blocks, 8);
	assert_int_equal(v[2].blocks, 7);
	assert_int_equal(v[2].lost, 1);
}

static void bad_queries_are_refused_by_name(void **state)
{
	struct verdict v = { .blocks = 77 };
	struct err e = {};
	static struct data d;

	data_init(&d, BETTER_HIGHER, 0.01);
	add(&d, 4, 0, 1);
	add(&d, 4, 1, 1);
	add(&d, 4, 1, 2);
	assert_int_equal(verdict_decide(&d.q, 1, 2, ALPHA, &v, &e), -EINVAL);
	assert_contains(e.msg, "throughput@net: block 4: variant 1");
	d.obs[2].variant = 2;
	assert_int_equal(verdict_decide(&d.q, 1, 2, ALPHA, &v, &e), -EINVAL);
	assert_contains(e.msg, "variant 2: the run has 2 variants");
	d.q.nr_obs = 2;
	d.q.better = BETTER_NONE;
	assert_int_equal(verdict_decide(&d.q, 1, 2, ALPHA, &v, &e), -EINVAL);
	assert_contains(e.msg, "throughput@net");
	d.q.better = BETTER_LOWER;
	d.q.margin = -0.1;
	assert_int_equal(verdict_decide(&d.q, 1, 2, ALPHA, &v, &e), -EINVAL);
	assert_contains(e.msg, "margin");
	d.q.margin = 0.1;
	assert_int_equal(verdict_decide(&d.q, 1, 2, 1, &v, &e), -EINVAL);
	assert_contains(e.msg, "alpha");
	d.obs[0].value = -1e308;
	d.obs[1].value = 1e308;
	assert_int_equal(verdict_decide(&d.q, 1, 2, ALPHA, &v, &e), -EDOM);
	assert_int_equal(v.blocks, 77);
	assert_int_equal(verdict_decide(&d.q, 0, 2, ALPHA, &v, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_exit_codes),
		cmocka_unit_test(change_is_a_ratio_of_paired_values),
		cmocka_unit_test(planted_loss_is_worse_and_inside_the_interval),
		cmocka_unit_test(change_inside_the_margin_is_the_same_even_when_it_is_sure),
		cmocka_unit_test(margin_is_symmetric_in_the_ratio),
		cmocka_unit_test(noise_is_undecided_with_a_plausible_forecast),
		cmocka_unit_test(forecast_takes_the_nearer_decision),
		cmocka_unit_test(identical_variants_seldom_differ),
		cmocka_unit_test(family_of_metrics_keeps_the_level),
		cmocka_unit_test(change_outside_the_margin_is_seldom_called_the_same),
		cmocka_unit_test(metrics_step_down_by_holm),
		cmocka_unit_test(lost_trials_take_their_pair_with_them),
		cmocka_unit_test(medians_are_over_the_pairs_used),
		cmocka_unit_test(missing_trials_are_undecided_not_vetoed),
		cmocka_unit_test(everything_vetoed_names_the_reason),
		cmocka_unit_test(counts_with_zeros_are_compared_as_differences),
		cmocka_unit_test(several_variants_come_in_order),
		cmocka_unit_test(bad_queries_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
