// SPDX-License-Identifier: GPL-3.0-or-later
#include "rows.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "stats/power.h"
#include "stats/sequential.h"
#include "stats/signflip.h"

static void check_spent(struct row *row)
{
	enum sequential_spending kind = (enum sequential_spending)take(row);
	double alpha = take(row), t = take(row);

	assert_relative(sequential_spent(kind, alpha, t), take(row), 1e-10);
}

static void check_look(struct row *row)
{
	struct sequential s = { .spending = (enum sequential_spending)take(row) };
	struct sequential_look l = {};
	size_t n, looks[SEQUENTIAL_LOOKS_MAX], k;
	const double *d;
	double low, high;
	bool rejected;

	s.test = (enum sequential_test)take(row);
	s.alpha = take(row);
	d = take_array(row, &n);
	s.nr_looks = (size_t)take(row);
	for (size_t i = 0; i < s.nr_looks; i++)
		looks[i] = (size_t)take(row);
	s.looks = looks;
	s.most = looks[s.nr_looks - 1];
	k = (size_t)take(row);
	assert_int_equal(sequential_look(&s, d, k, &l), 0);
	rejected = take(row) > 0;
	assert_near(l.attained, take(row), 1e-12);
	assert_true(l.attained <= l.spent);
	low = take(row);
	high = take(row);
	if (take(row) > 0) {
		if (l.interval.low != low)
			assert_near(l.interval.low, low, 1e-9);
		if (l.interval.high != high)
			assert_near(l.interval.high, high, 1e-9);
	}
	assert_int_equal(l.rejected, l.interval.low > 0 || l.interval.high < 0);
	/* an interval that ends at zero is closed there */
	if (l.rejected != rejected)
		assert_true(fabs(l.interval.low) < 1e-9 || fabs(l.interval.high) < 1e-9);
}

static void check_chance(struct row *row)
{
	struct interval i = {};
	double alpha, t, low, high, chance = 0;

	i.estimate = take(row);
	i.low = take(row);
	i.high = take(row);
	alpha = take(row);
	t = take(row);
	low = take(row);
	high = take(row);
	assert_int_equal(sequential_chance(&i, alpha, t, low, high, &chance), 0);
	assert_near(chance, take(row), 0.0012); /* of four million draws */
}

static const struct power_design ranks = { POWER_SIGNRANK, 0.05, 0.8, NULL, 0 };
static const struct power_design of_three = { POWER_SIGNRANK, 0.05 / 3, 0.8, NULL, 0 };

static void check_effect(struct row *row)
{
	size_t n = (size_t)take(row);
	double alpha = take(row), power = take(row), expected = take(row), effect = 0;
	const struct power_design design = { POWER_SIGNRANK, alpha, power, NULL, 0 };

	assert_relative(power_effect_formula(&design, n, 1), expected, 1e-9);
	assert_int_equal(power_effect(&design, n, 3, &effect), 0);
	assert_relative(effect, 3 * expected, 1e-9);
}

static void spending_is_that_of_scipy(void **state)
{
	for_rows("tests/known/looks.txt", "spent", 16, check_spent);
	assert_near(sequential_spent(SPENDING_OBRIEN_FLEMING, 0.05, 0.5), 0.0056, 5e-5);
	assert_true(sequential_spent(SPENDING_POCOCK, 0.05, 0) == 0);
}

static void looks_are_those_of_all_paths(void **state)
{
	for_rows("tests/known/looks.txt", "look", 50, check_look);
}

static void futility_is_that_of_drawn_futures(void **state)
{
	struct interval open = { 0.1, -(double)INFINITY, (double)INFINITY };
	double chance = 0;

	for_rows("tests/known/looks.txt", "chance", 4, check_chance);
	assert_int_equal(sequential_chance(&open, 0.05, 0.5, 0, 0, &chance), 0);
	assert_true(chance == 1);
	open.estimate = (double)NAN;
	assert_int_equal(sequential_chance(&open, 0.05, 0.5, 0, 0, &chance), -EDOM);
}

static void formula_is_that_of_scipy(void **state)
{
	for_rows("tests/known/looks.txt", "effect", 12, check_effect);
}

/* Share of all 2^n signs of @size that some look rejects, and how often the last one had to. */
static double all_signs(const struct sequential *s, const double *size, size_t n)
{
	double d[16];
	size_t rejected = 0;

	for (size_t m = 0; m < (size_t)1 << n; m++) {
		struct sequential_look l = {};

		for (size_t i = 0; i < n; i++)
			d[i] = m >> i & 1 ? size[i] : -size[i];
		for (size_t k = 0; k < s->nr_looks && !l.rejected; k++)
			assert_int_equal(sequential_look(s, d, k, &l), 0);
		rejected += l.rejected;
	}
	return ldexp((double)rejected, -(int)n);
}

static void all_looks_together_keep_the_level(void **state)
{
	static const double untied[] = { 1.3, 0.7, 2.9, 0.2, 1.1, 3.1, 0.5 };
	static const double tied[] = { 1, 2, 0, 1, 3, 1, 2 };
	static const size_t looks[] = { 4, 5, 7 };
	struct sequential s = { .alpha = 0.2, .looks = looks, .nr_looks = 3, .most = 7 };

	for (int test = 0; test < 2; test++)
		for (int spending = 0; spending < 2; spending++) {
			double level;

			s.test = (enum sequential_test)test;
			s.spending = (enum sequential_spending)spending;
			level = all_signs(&s, untied, 7);
			assert_true(level <= 0.2 && level > 0.1);
			level = all_signs(&s, tied, 7);
			assert_true(level <= 0.2);
			assert_true(level > 0);
		}
}

static void a_single_look_is_the_fixed_test(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	static const size_t sizes[] = { 3, 6, 9, 11, 14, 30 };
	double d[30];

	for (int k = 0; k < 24; k++) {
		size_t n = sizes[k % 6];
		struct sequential s = {
			.alpha = 0.05, .looks = &n, .nr_looks = 1, .most = n, .seed = 1
		};
		struct sequential_look l = {};
		struct interval i;
		double p = 0;

		for (size_t m = 0; m < n; m++) {
			d[m] = gsl_ran_gaussian(rng, 1) + 0.6;
			if (k % 4 > 1)
				d[m] = round(d[m] * 4) / 4;
		}
		assert_int_equal(sequential_look(&s, d, 0, &l), 0);
		assert_int_equal(signrank_interval(d, n, 0.05, &i), 0);
		assert_int_equal(signrank_p(d, n, 0, &p), 0);
		assert_true(l.interval.low == i.low && l.interval.high == i.high);
		assert_true(l.interval.estimate == i.estimate && l.p == p);
		s.test = SEQUENTIAL_SIGNFLIP;
		assert_int_equal(sequential_look(&s, d, 0, &l), 0);
		assert_int_equal(signflip_interval(d, n, 0.05, 1, &i), 0);
		if (l.interval.low != i.low)
			assert_near(l.interval.low, i.low, 1e-9);
		if (l.interval.high != i.high)
			assert_near(l.interval.high, i.high, 1e-9);
	}
	gsl_rng_free(rng);
}

/* Drawn paths: a null with level shifts in scale, and an effect that is found early. */
static void drawn_paths_keep_the_level_and_stop_early(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	static const size_t looks[] = { 12, 20 };
	struct sequential s = {
		.alpha = 0.1, .looks = looks, .nr_looks = 2, .most = 20, .seed = 9
	};
	double d[20];
	int rejected = 0, early = 0;

	for (int k = 0; k < 36; k++) {
		struct sequential_look l = {}, late = {};

		for (int i = 0; i < 20; i++)
			d[i] = gsl_ran_laplace(rng, i < 10 ? 1 : 3);
		assert_int_equal(sequential_look(&s, d, 0, &l), 0);
		assert_int_equal(sequential_look(&s, d, 1, &late), 0);
		rejected += l.rejected || late.rejected;
		assert_true(l.attained <= l.spent && late.attained <= late.spent);
		assert_true(late.attained > 0.09);
		assert_true(late.interval.low < late.interval.estimate &&
			    late.interval.estimate < late.interval.high);
		if (k % 6)
			continue;
		for (int i = 0; i < 20; i++)
			d[i] += 5;
		s.test = k % 12 ? SEQUENTIAL_SIGNFLIP : SEQUENTIAL_SIGNRANK;
		assert_int_equal(sequential_look(&s, d, 0, &l), 0);
		early += l.rejected;
		s.test = SEQUENTIAL_SIGNRANK;
	}
	assert_true(rejected <= 10); /* 3.6 expected at the most, deviation 1.8 */
	assert_true(early >= 5);
	gsl_rng_free(rng);
}

/* What a look adds to drawn paths starts with what the look before drew. */
static void drawn_intervals_are_near_those_of_all_paths(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	static const size_t few[] = { 9, 18 }, many[] = { 9, 19 };
	double d[19];

	for (int k = 0; k < 6; k++) {
		struct sequential s = { .test = (enum sequential_test)(k % 2),
					.alpha = 0.05,
					.looks = few,
					.nr_looks = 2,
					.most = 18 };
		struct sequential_look a = {}, b = {};
		double width;

		for (int i = 0; i < 19; i++)
			d[i] = gsl_ran_gaussian(rng, 1) + 0.5;
		d[18] = d[17];
		assert_true(sequential_is_exact(&s));
		assert_int_equal(sequential_look(&s, d, 1, &a), 0);
		s.looks = many;
		s.most = 19;
		assert_false(sequential_is_exact(&s));
		assert_int_equal(sequential_look(&s, d, 1, &b), 0);
		width = a.interval.high - a.interval.low;
		assert_near(b.interval.low, a.interval.low, width / 4);
		assert_near(b.interval.high, a.interval.high, width / 4);
	}
	gsl_rng_free(rng);
}

static void looks_that_cannot_reject_are_told(void **state)
{
	size_t looks[] = { 8, 16 }, look = 9, pairs = 0;
	struct sequential s = { .alpha = 0.05, .looks = looks, .nr_looks = 2, .most = 16 };

	assert_int_equal(sequential_check(&s, &look, &pairs), 0);
	assert_int_equal(look, 0); /* 2/2^8 = 0.0078, and half the information spends 0.0056 */
	assert_int_equal(pairs, 9);
	looks[0] = 9;
	looks[1] = s.most = 18;
	assert_int_equal(sequential_check(&s, &look, &pairs), 0);
	assert_int_equal(look, 2);
	s.alpha = 0.025;
	assert_int_equal(sequential_check(&s, &look, NULL), 0);
	assert_int_equal(look, 0);
	looks[0] = 11;
	looks[1] = s.most = 22;
	assert_int_equal(sequential_check(&s, &look, NULL), 0);
	assert_int_equal(look, 2);
	looks[1] = 11;
	assert_int_equal(sequential_check(&s, &look, NULL), -EDOM);
	looks[1] = 23;
	assert_int_equal(sequential_check(&s, &look, NULL), -EDOM);
	s.nr_looks = 0;
	assert_int_equal(sequential_check(&s, &look, NULL), -EDOM);
}

static void check_nct(struct row *row)
{
	size_t n = (size_t)take(row);
	double alpha = take(row), power = take(row), effect = 0;
	const struct power_design flips = { POWER_SIGNFLIP, alpha, power, NULL, 0 };

	assert_int_equal(power_effect(&flips, n, 2, &effect), 0);
	assert_relative(effect, 2 * take(row), 0.012); /* two quantiles of t for the noncentral t */
}

static void check_sign(struct row *row)
{
	size_t n = (size_t)take(row);
	double alpha = take(row), power = take(row), effect = 0;
	const struct power_design signs = { POWER_SIGN, alpha, power, NULL, 0 };

	assert_int_equal(power_effect(&signs, n, 2, &effect), 0);
	assert_relative(effect, 2 * take(row), 1e-9);
}

static void check_power_looks(struct row *row)
{
	struct power_design d = { .test = POWER_SIGNRANK };
	struct power_looks looks;
	double one = 0, many = 0;

	d.alpha = take(row);
	d.power = take(row);
	d.information = take_array(row, &d.nr_looks);
	assert_int_equal(power_looks(&d, &looks), 0);
	assert_relative(looks.factor, take(row), 2e-5);
	assert_near(looks.expected, take(row), 2e-5);
	assert_int_equal(power_effect(&d, 20, 1, &many), 0);
	d.nr_looks = 0;
	assert_int_equal(power_effect(&d, 20, 1, &one), 0);
	assert_relative(many, one * looks.factor, 1e-9);
}

static void power_is_that_of_scipy(void **state)
{
	const double bad[] = { 0.5, 0.4, 1 }, short_of_one[] = { 0.5, 0.9 };
	struct power_design d = { POWER_SIGNFLIP, 0.05, 0.8, bad, 3 };
	struct power_looks looks;

	for_rows("tests/known/power_tests.txt", "nct", 10, check_nct);
	for_rows("tests/known/power_tests.txt", "sign", 10, check_sign);
	for_rows("tests/known/power_tests.txt", "looks", 8, check_power_looks);
	assert_int_equal(power_looks(&d, &looks), -EDOM);
	d.information = short_of_one;
	d.nr_looks = 2;
	assert_int_equal(power_looks(&d, &looks), -EDOM);
}

/* As the rank test below: the exact sign-flip sees what it is said to see. */
static void flips_see_the_effect_with_the_power_asked_for(void **state)
{
	static const size_t sizes[] = { 6, 8, 12, 16 };
	const struct power_design flips = { POWER_SIGNFLIP, 0.05, 0.8, NULL, 0 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double d[16], effect = 0;

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		int seen = 0;

		assert_int_equal(power_effect(&flips, sizes[k], 2, &effect), 0);
		for (int m = 0; m < 1500; m++) {
			double p = 0;

			for (size_t i = 0; i < sizes[k]; i++)
				d[i] = effect + gsl_ran_gaussian(rng, 2);
			signflip_p(d, sizes[k], 0, 1, &p);
			seen += p <= 0.05;
		}
		assert_near(seen / 1500.0, 0.8, 0.045);
	}
	gsl_rng_free(rng);
}

/* The promise itself: with that effect, the exact test rejects in 80 % of other experiments. */
static void effect_is_seen_with_the_power_asked_for(void **state)
{
	static const size_t sizes[] = { 6, 8, 12, 30 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double d[30], effect = 0, last = (double)INFINITY;

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		size_t n = sizes[k];
		int seen = 0;

		assert_int_equal(power_effect(&ranks, n, 2, &effect), 0);
		assert_true(effect < last);
		last = effect;
		for (int m = 0; m < 1500; m++) {
			double p = 0;

			for (size_t i = 0; i < n; i++)
				d[i] = effect + gsl_ran_gaussian(rng, 2);
			signrank_p(d, n, 0, &p);
			seen += p <= 0.05;
		}
		assert_near(seen / 1500.0, 0.8, 0.045); /* deviations 0.010 here, 0.009 there */
	}
	assert_relative(effect, power_effect_formula(&ranks, 30, 2), 0.06);
	gsl_rng_free(rng);
}

static void blocks_are_the_fewest_that_see_the_effect(void **state)
{
	double effect = 0;
	size_t n = 0;

	assert_int_equal(power_least_blocks(0.05), 6);
	assert_int_equal(power_least_blocks(0.05 / 2), 7);
	assert_int_equal(power_least_blocks(0.05 / 3), 7);
	assert_int_equal(power_least_blocks(0.05 / 6), 8);
	assert_int_equal(power_least_blocks(0), 0);
	assert_int_equal(power_blocks(&ranks, 0.01, 0.012, &n), 0);
	assert_int_equal(power_effect(&ranks, n, 0.012, &effect), 0);
	assert_true(effect <= 0.01);
	assert_int_equal(power_effect(&ranks, n - 1, 0.012, &effect), 0);
	assert_true(effect > 0.01);
	assert_int_equal(power_blocks(&ranks, 0.5, 0.001, &n), 0);
	assert_int_equal(n, 6); /* never fewer than can reject */
	assert_int_equal(power_blocks(&of_three, 0.1, 0, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(power_blocks(&ranks, 0.001, 0.012, &n), -E2BIG);
	assert_int_equal(power_blocks(&ranks, 0, 0.012, &n), -EDOM);
	assert_int_equal(power_effect(&ranks, 5, 1, &effect), 0);
	assert_true(isinf(effect));
	assert_int_equal(power_effect(&ranks, 8, -1, &effect), -EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spending_is_that_of_scipy),
		cmocka_unit_test(looks_are_those_of_all_paths),
		cmocka_unit_test(futility_is_that_of_drawn_futures),
		cmocka_unit_test(formula_is_that_of_scipy),
		cmocka_unit_test(all_looks_together_keep_the_level),
		cmocka_unit_test(a_single_look_is_the_fixed_test),
		cmocka_unit_test(drawn_paths_keep_the_level_and_stop_early),
		cmocka_unit_test(drawn_intervals_are_near_those_of_all_paths),
		cmocka_unit_test(looks_that_cannot_reject_are_told),
		cmocka_unit_test(power_is_that_of_scipy),
		cmocka_unit_test(flips_see_the_effect_with_the_power_asked_for),
		cmocka_unit_test(effect_is_seen_with_the_power_asked_for),
		cmocka_unit_test(blocks_are_the_fewest_that_see_the_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
