// SPDX-License-Identifier: GPL-3.0-or-later
/* Rates, maxima, quantiles; what no plan names; designs that are looked at before their end. */
#include "test.h"

#include <stdlib.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "verdict/verdict.h"

#define ALPHA 0.05
#define MAX_OBS 200

struct data {
	struct observation obs[MAX_OBS], counts[MAX_OBS];
	struct verdict_query q;
};

static void data_init(struct data *d, enum metric_kind kind, enum better better, double margin)
{
	d->q = (struct verdict_query){ .metric = "metric@net",
				       .better = better,
				       .margin = margin,
				       .kind = kind,
				       .obs = d->obs,
				       .counts = d->counts };
}

/* A pair of trials, each of @n samples (0: not known). */
static void pair(struct data *d, unsigned int block, double a, double b, double na, double nb)
{
	const double v[] = { a, b }, n[] = { na, nb };

	for (unsigned int k = 0; k < 2; k++) {
		assert_true(d->q.nr_obs < MAX_OBS);
		d->obs[d->q.nr_obs++] = (struct observation){
			.block = block, .variant = k, .has_value = true, .value = v[k]
		};
		if (n[k] > 0)
			d->counts[d->q.nr_counts++] = (struct observation){
				.block = block, .variant = k, .has_value = true, .value = n[k]
			};
	}
}

static struct verdict decide(const struct data *d)
{
	struct verdict v = {};
	struct err e = {};

	if (verdict_decide(&d->q, 1, 2, ALPHA, &v, &e) < 0)
		fail_msg("%s", e.msg);
	return v;
}

/* Differences 1..6 in units of the baseline's mean 2: by hand, the sum is 21 of 21, p = 2/64, and
 * the interval goes from the least to the greatest difference. */
static void rates_are_decided_by_their_mean_difference(void **state)
{
	static const double base[] = { 0, 4, 0, 4, 0, 4 };
	static struct data d;
	struct verdict v;

	data_init(&d, METRIC_RATE, BETTER_LOWER, 0.1);
	for (unsigned int i = 0; i < 6; i++)
		pair(&d, i, base[i], base[i] + i + 1, 1000, 1000);
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_WORSE);
	assert_int_equal(v.scale, VERDICT_SCALE_MEAN);
	assert_true(v.p == 0.03125);
	assert_near(v.baseline, 2, 1e-12);
	assert_near(v.value, 5.5, 1e-12);
	assert_near(v.change, 3.5 / 2, 1e-12);
	assert_near(v.low, 0.5, 1e-9);
	assert_near(v.high, 3, 1e-9);
	assert_true(v.n_baseline == 6000 && v.n_value == 6000);
	assert_string_equal(verdict_test(v.kind), "sign-flip");
}

static void one_burst_is_no_difference(void **state)
{
	static struct data d;
	struct verdict v;

	/* 500 late wake-ups in one trial of ten: by events a landslide, by trials nothing */
	data_init(&d, METRIC_RATE, BETTER_LOWER, 0.1);
	for (unsigned int i = 0; i < 10; i++)
		pair(&d, i, 0, i == 4 ? 500 : 0, 4000, 4000);
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_int_equal(v.scale, VERDICT_SCALE_UNIT);
	assert_true(v.p == 1 && v.value == 50 && v.baseline == 0);
	assert_true(v.low <= 0 && v.high >= 50);
}

static void nothing_at_all_is_the_same(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, METRIC_RATE, BETTER_LOWER, 0.1);
	for (unsigned int i = 0; i < 8; i++)
		pair(&d, i, 0, 0, 96000, 96000);
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_SAME);
	assert_true(v.low == 0 && v.high == 0 && v.n_value == 768000);
}

/* Larger in all of 8 blocks: p = 2/256; in 7 of 8: 2 * 9/256, no verdict whatever the sizes. */
static void maxima_are_decided_by_their_signs(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, METRIC_MAXIMUM, BETTER_LOWER, 0.1);
	for (unsigned int i = 0; i < 8; i++)
		pair(&d, i, 100, 200 + 10 * i, 8000, 8000);
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_WORSE);
	assert_near(v.p, 2.0 / 256, 1e-12);
	assert_near(v.low, 1.0, 1e-9);
	assert_near(v.high, 1.7, 1e-9);
	assert_near(log1p(v.change), log(sqrt(2.3 * 2.4)), 1e-9); /* between the middle two */
	d.obs[1].value = 99;
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_near(v.p, 2.0 * 9 / 256, 1e-12);
	assert_true(v.low < 0);
	assert_string_equal(verdict_test(v.kind), "sign");
}

/* At most 1 % more samples: p is an upper bound with 0.5025 for a sign; more: not compared. */
static void maxima_of_unequal_samples_are_not_compared(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, METRIC_MAXIMUM, BETTER_LOWER, 0.1);
	for (unsigned int i = 0; i < 6; i++)
		pair(&d, i, 100, 50, 10000, 10100);
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_BETTER);
	assert_near(v.p, 2 * pow(10100.0 / 20100, 6), 1e-12);
	d.counts[11].value = 10102;
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_VETOED);
	assert_true(v.blocks == 5 && v.lost == 1);
	assert_contains(v.reason, "differ by more than 1 %");
	/* numbers that nobody knows are taken on trust */
	d.q.nr_counts = 0;
	assert_int_equal(decide(&d).word, VERDICT_BETTER);
}

static void a_quantile_of_too_few_samples_is_refused(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, METRIC_QUANTILE, BETTER_LOWER, 0.1);
	d.q.q = 0.999;
	for (unsigned int i = 0; i < 8; i++)
		pair(&d, i, 100, 50, 10000, 10000);
	assert_int_equal(decide(&d).word, VERDICT_BETTER);
	for (size_t i = 0; i < d.q.nr_counts; i++)
		d.counts[i].value = 9999;
	v = decide(&d);
	assert_int_equal(v.word, VERDICT_VETOED);
	assert_int_equal(v.lost, 8);
	assert_contains(v.reason, "10/(1 - p) samples");
}

/* ---- what no plan names ---- */

#define METRICS 60

static void among_many_metrics_few_differ_by_chance(void **state)
{
	static struct data d[METRICS];
	static struct verdict_query q[METRICS];
	static struct exploration x[METRICS];
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	unsigned int false_ones = 0, true_ones = 0;
	struct err e = {};

	/* 20 of 60 change by a lot; of what is found at a rate of 5 %, about that share is chance
	 */
	for (int run = 0; run < 60; run++) {
		for (size_t m = 0; m < METRICS; m++) {
			data_init(&d[m], METRIC_LOCATION, BETTER_NONE, 0);
			for (unsigned int b = 0; b < 14; b++)
				pair(&d[m], b, exp(gsl_ran_gaussian(rng, 0.1)),
				     (m < 20 ? 1.6 : 1) * exp(gsl_ran_gaussian(rng, 0.1)), 0, 0);
			q[m] = d[m].q;
		}
		assert_int_equal(verdict_explore(q, METRICS, 2, 0.05, x, &e), 0);
		for (size_t m = 0; m < METRICS; m++) {
			true_ones += m < 20 && x[m].differs;
			false_ones += m >= 20 && x[m].differs;
			/* the interval says the same as the procedure */
			if (x[m].differs)
				assert_true(x[m].v.low > 0 || x[m].v.high < 0);
			assert_int_equal(x[m].v.query, m);
		}
	}
	assert_int_equal(true_ones, 60 * 20);
	assert_true(false_ones > 0);
	/* expected 0.05 * 40/60 of about 1240, 42; three standard errors */
	assert_true(false_ones <= 42 + 3 * 7);
	gsl_rng_free(rng);
}

/* ---- designs that are looked at ---- */

static const unsigned int looks_at[] = { 9, 11, 13, 15 };

static struct verdict decide_at(const struct data *d, size_t done)
{
	const struct verdict_looks l = { ALPHA, looks_at, ARRAY_SIZE(looks_at), done };
	struct verdict v = {};
	struct err e = {};

	if (verdict_decide_sequential(&d->q, 1, 2, &l, &v, &e) < 0)
		fail_msg("%s", e.msg);
	return v;
}

static void a_large_change_ends_at_the_first_look(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, METRIC_LOCATION, BETTER_HIGHER, 0.01);
	for (unsigned int i = 0; i < 15; i++)
		pair(&d, i, 100 + i, (100 + i) * (0.9 + 0.001 * (i * 7 % 5)), 0, 0);
	v = decide_at(&d, 0);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_true(v.look == 0 && isinf(v.low) && isinf(v.high) && !verdict_is_settled(&v, 1));
	v = decide_at(&d, 1);
	assert_int_equal(v.word, VERDICT_WORSE);
	assert_true(v.look == 1 && v.looks == 4 && v.blocks == 9);
	assert_true(verdict_is_settled(&v, 1));
	/* what comes later does not change what was decided */
	for (size_t i = 18; i < d.q.nr_obs; i++)
		d.obs[i].value = 100;
	for (size_t done = 2; done <= 4; done++) {
		struct verdict later = decide_at(&d, done);

		assert_int_equal(later.word, VERDICT_WORSE);
		assert_true(later.look == 1 && later.low == v.low && later.high == v.high);
	}
}

/* A resumed run comes to the same verdict: a look sees its blocks alone. */
static void a_look_does_not_see_later_blocks(void **state)
{
	static struct data d;
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct verdict all, cut;

	data_init(&d, METRIC_LOCATION, BETTER_HIGHER, 0.01);
	for (unsigned int i = 0; i < 15; i++)
		pair(&d, i, exp(gsl_ran_gaussian(rng, 0.1)), exp(gsl_ran_gaussian(rng, 0.1)), 0, 0);
	/* even a zero, which would change the scale */
	d.obs[29].value = 0;
	all = decide_at(&d, 2);
	d.q.nr_obs = 22;
	cut = decide_at(&d, 2);
	assert_int_equal(all.word, cut.word);
	assert_int_equal(all.look, cut.look);
	assert_int_equal(all.scale, VERDICT_SCALE_RATIO);
	assert_true(all.low == cut.low && all.high == cut.high && all.p == cut.p);
	gsl_rng_free(rng);
}

static void no_change_inside_the_margin_ends_early_as_the_same(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, METRIC_LOCATION, BETTER_HIGHER, 0.05);
	for (unsigned int i = 0; i < 15; i++)
		pair(&d, i, 100, 100 + 0.1 * (i % 3) - 0.1, 0, 0);
	v = decide_at(&d, 1);
	assert_int_equal(v.word, VERDICT_SAME);
	assert_int_equal(v.look, 1);
}

static void what_cannot_be_decided_any_more_is_futile(void **state)
{
	static struct data d;
	struct verdict v;

	/* twice as much or half as much in turn, and a margin of a per cent */
	data_init(&d, METRIC_LOCATION, BETTER_HIGHER, 0.01);
	for (unsigned int i = 0; i < 15; i++)
		pair(&d, i, 100, i % 2 ? 200 - i : 50 + i, 0, 0);
	v = decide_at(&d, 3);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_true(v.futile && verdict_is_settled(&v, 1));
	/* at the last look nothing is left to be given up */
	v = decide_at(&d, 4);
	assert_true(v.word == VERDICT_UNDECIDED && !v.futile);
}

static void rates_can_be_looked_at_and_maxima_cannot(void **state)
{
	static struct data d;
	const struct verdict_looks l = { ALPHA, looks_at, ARRAY_SIZE(looks_at), 1 };
	struct verdict v = {};
	struct err e = {};

	data_init(&d, METRIC_RATE, BETTER_LOWER, 0.01);
	for (unsigned int i = 0; i < 15; i++)
		pair(&d, i, i % 3, 20 + i % 4, 0, 0);
	v = decide_at(&d, 1);
	assert_int_equal(v.word, VERDICT_WORSE);
	assert_int_equal(v.scale, VERDICT_SCALE_MEAN);
	d.q.kind = METRIC_MAXIMUM;
	assert_int_equal(verdict_decide_sequential(&d.q, 1, 2, &l, &v, &e), -EINVAL);
	assert_contains(e.msg, "fixed number of blocks");
}

static void trials_lost_to_a_veto_shorten_a_look(void **state)
{
	static struct data d;
	struct verdict v;

	data_init(&d, METRIC_LOCATION, BETTER_HIGHER, 0.01);
	for (unsigned int i = 0; i < 15; i++)
		pair(&d, i, 100, 90 + 0.1 * (i % 4), 0, 0);
	for (size_t i = 0; i < 10; i += 2) {
		d.obs[i].state = TRIAL_VETOED;
		d.obs[i].reason = "no effect";
	}
	/* 4 pairs of 9, then 6 of 11: too few for the level of that look, in the end 10 of 15 */
	v = decide_at(&d, 1);
	assert_int_equal(v.word, VERDICT_VETOED);
	assert_string_equal(v.reason, "no effect");
	assert_int_equal(decide_at(&d, 2).word, VERDICT_UNDECIDED);
	v = decide_at(&d, 4);
	assert_int_equal(v.word, VERDICT_WORSE);
	assert_true(v.blocks >= 8 && v.lost == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_decided_by_their_mean_difference),
		cmocka_unit_test(one_burst_is_no_difference),
		cmocka_unit_test(nothing_at_all_is_the_same),
		cmocka_unit_test(maxima_are_decided_by_their_signs),
		cmocka_unit_test(maxima_of_unequal_samples_are_not_compared),
		cmocka_unit_test(a_quantile_of_too_few_samples_is_refused),
		cmocka_unit_test(among_many_metrics_few_differ_by_chance),
		cmocka_unit_test(a_large_change_ends_at_the_first_look),
		cmocka_unit_test(a_look_does_not_see_later_blocks),
		cmocka_unit_test(no_change_inside_the_margin_ends_early_as_the_same),
		cmocka_unit_test(what_cannot_be_decided_any_more_is_futile),
		cmocka_unit_test(rates_can_be_looked_at_and_maxima_cannot),
		cmocka_unit_test(trials_lost_to_a_veto_shorten_a_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
