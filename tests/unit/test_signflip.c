// SPDX-License-Identifier: GPL-3.0-or-later
#include "rows.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "stats/signflip.h"
#include "stats/tails.h"

static void check_flip(struct row *row)
{
	size_t n;
	const double *d = take_array(row, &n);
	double shift = take(row), p = 0;

	assert_int_equal(signflip_p(d, n, shift, 1, &p), 0);
	assert_relative(p, take(row), 1e-12);
}

static void check_flip_ci(struct row *row)
{
	size_t n;
	const double *d = take_array(row, &n);
	double alpha = take(row);
	struct interval i = {};

	assert_int_equal(signflip_interval(d, n, alpha, 1, &i), 0);
	assert_near(i.estimate, take(row), 1e-12);
	for (int k = 0; k < 2; k++) {
		double end = k ? i.high : i.low, expected = take(row);

		if (end != expected)
			assert_near(end, expected, 1e-9);
	}
}

static void check_sign(struct row *row)
{
	uint64_t plus = (uint64_t)take(row), minus = (uint64_t)take(row);
	double p = 0;

	assert_int_equal(sign_p(plus, minus, 0.5, &p), 0);
	assert_relative(p, take(row), 1e-10);
}

static void check_adjust(struct row *row)
{
	size_t m;
	const double *p = take_array(row, &m);
	double holm[32], bh[32];

	holm_adjusted(p, m, holm);
	bh_adjusted(p, m, bh);
	for (size_t i = 0; i < m; i++)
		assert_near(holm[i], take(row), 1e-12);
	for (size_t i = 0; i < m; i++)
		assert_near(bh[i], take(row), 1e-12);
}

static void p_is_that_of_all_signs(void **state)
{
	for_rows("tests/known/flip.txt", "flip", 120, check_flip);
}

static void interval_is_the_hull_of_all_subset_means(void **state)
{
	for_rows("tests/known/flip.txt", "flip-ci", 60, check_flip_ci);
}

static void sign_test_is_the_binomial_one_of_r(void **state)
{
	for_rows("tests/known/flip.txt", "sign", 35, check_sign);
}

static void adjusted_p_are_those_of_r(void **state)
{
	for_rows("tests/known/flip.txt", "adjust", 24, check_adjust);
}

/* Just outside the interval all is rejected, just inside nothing: exact and drawn. */
static void interval_inverts_the_test(void **state)
{
	static const size_t sizes[] = { 6, 9, 14, 20, 25, 40, 130 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double d[130];

	for (size_t k = 0; k < 42; k++) {
		size_t n = sizes[k % 7];
		double alpha = k % 2 ? 0.05 : 0.04, p = 0;
		struct interval i;

		for (size_t m = 0; m < n; m++) {
			d[m] = gsl_ran_exponential(rng, 2) - 0.5;
			if (k % 3 == 0)
				d[m] = round(d[m]);
		}
		assert_int_equal(signflip_interval(d, n, alpha, k, &i), 0);
		assert_true(i.low <= i.estimate && i.estimate <= i.high);
		for (double off = 1e-7; off < 3; off *= 3) {
			signflip_p(d, n, i.low - off, k, &p);
			assert_true(p <= alpha);
			signflip_p(d, n, i.high + off, k, &p);
			assert_true(p <= alpha);
		}
		signflip_p(d, n, i.low + 1e-7, k, &p);
		assert_true(p > alpha);
		signflip_p(d, n, i.high - 1e-7, k, &p);
		assert_true(p > alpha);
	}
	gsl_rng_free(rng);
}

/* 25 numbers are drawn, 24 counted: the same data with a number that hardly matters must agree. */
static void drawn_signs_agree_with_counted_ones(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double d[25], exact = 0, drawn = 0, other = 0;
	struct interval a, b;

	for (int k = 0; k < 10; k++) {
		for (int i = 0; i < 24; i++)
			d[i] = gsl_ran_gaussian(rng, 1) + 0.2;
		d[24] = 1e-9;
		signflip_p(d, 24, 0, 1, &exact);
		signflip_p(d, 25, 0, 1, &drawn);
		signflip_p(d, 25, 0, 2, &other);
		assert_near(drawn, exact, 5 * sqrt(exact / SIGNFLIP_DRAWS));
		assert_near(other, exact, 5 * sqrt(exact / SIGNFLIP_DRAWS));
		d[24] = d[0]; /* twice the same number: the intervals differ little */
		signflip_interval(d, 24, 0.05, 1, &a);
		signflip_interval(d, 25, 0.05, 1, &b);
		assert_near(a.low, b.low, 0.2);
		assert_near(a.high, b.high, 0.2);
	}
	gsl_rng_free(rng);
}

static void order_and_unit_do_not_matter(void **state)
{
	static const double d[] = { 3, -1, 4, 1, -5, 9, 2, 6 }, e[] = { 6, 2, 9, -5, 1, 4, -1, 3 };
	double turned[8], p = 0, q = 0;
	struct interval a, b, c;

	for (int i = 0; i < 8; i++)
		turned[i] = -2 * d[i];
	signflip_p(d, 8, 0.5, 1, &p);
	signflip_p(e, 8, 0.5, 1, &q);
	assert_true(p == q);
	signflip_p(turned, 8, -1, 1, &q);
	assert_true(p == q);
	signflip_interval(d, 8, 0.05, 1, &a);
	signflip_interval(e, 8, 0.05, 1, &b);
	signflip_interval(turned, 8, 0.05, 1, &c);
	assert_near(a.low, b.low, 1e-12);
	assert_near(a.high, b.high, 1e-12);
	assert_near(c.low, -2 * a.high, 1e-11);
	assert_near(c.high, -2 * a.low, 1e-11);
}

static void few_and_equal_numbers(void **state)
{
	static const double d[] = { 1, 2, 3, 4, 5, 6 }, zero[40] = {};
	struct interval i;
	double p = 0;

	assert_int_equal(signflip_interval(d, 5, 0.05, 1, &i), 0);
	assert_true(isinf(i.low) && isinf(i.high));
	assert_int_equal(signflip_interval(d, 6, 0.05, 1, &i), 0);
	assert_true(i.low == 1 && i.high == 6);
	for (size_t n = 6; n <= 40; n += 17) {
		assert_int_equal(signflip_p(zero, n, 0, 1, &p), 0);
		assert_true(p == 1);
		assert_int_equal(signflip_interval(zero, n, 0.05, 1, &i), 0);
		assert_true(i.low == 0 && i.high == 0 && i.estimate == 0);
	}
	assert_int_equal(signflip_p(d, 0, 0, 1, &p), -EDOM);
	assert_int_equal(signflip_p(d, 6, (double)NAN, 1, &p), -EDOM);
	assert_int_equal(signflip_p(d, SIGNFLIP_MAX + 1, 0, 1, &p), -E2BIG);
	assert_int_equal(signflip_interval(d, 6, 1, 1, &i), -EDOM);
}

/* Retransmits: the same sum in one trial is no evidence, in all trials it is. */
static void one_bad_trial_is_no_evidence(void **state)
{
	static const double one[] = { 0, 0, 80, 0, 0, 0, 0, 0 };
	static const double all[] = { 9, 11, 10, 10, 12, 8, 10, 10 };
	double p = 0;

	signflip_p(one, 8, 0, 1, &p);
	assert_true(p == 1);
	signflip_p(all, 8, 0, 1, &p);
	assert_true(p == 2.0 / 256);
}

static void maxima_of_nearly_equal_samples_may_be_compared(void **state)
{
	double p = 0, q = 0;

	assert_true(maxima_comparable(960000, 959929, MAXIMA_TOLERANCE));
	assert_false(maxima_comparable(960000, 480000, MAXIMA_TOLERANCE));
	assert_false(maxima_comparable(0, 0, MAXIMA_TOLERANCE));
	assert_near(maxima_odds(101, 100), 101.0 / 201, 1e-15);
	assert_true(isnan(maxima_odds(0, 0)));
	sign_p(6, 0, 0.5, &p);
	sign_p(6, 0, maxima_odds(101, 100), &q);
	assert_near(p, 0.03125, 1e-15);
	assert_near(q, 2 * pow(101.0 / 201, 6), 1e-15);
	assert_int_equal(sign_p(1, 1, 0.4, &p), -EDOM);
	assert_int_equal(sign_p(1, 1, 1, &p), -EDOM);
	assert_int_equal(sign_p(0, 0, 0.5, &p), 0);
	assert_true(p == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p_is_that_of_all_signs),
		cmocka_unit_test(interval_is_the_hull_of_all_subset_means),
		cmocka_unit_test(sign_test_is_the_binomial_one_of_r),
		cmocka_unit_test(adjusted_p_are_those_of_r),
		cmocka_unit_test(interval_inverts_the_test),
		cmocka_unit_test(drawn_signs_agree_with_counted_ones),
		cmocka_unit_test(order_and_unit_do_not_matter),
		cmocka_unit_test(few_and_equal_numbers),
		cmocka_unit_test(one_bad_trial_is_no_evidence),
		cmocka_unit_test(maxima_of_nearly_equal_samples_may_be_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
