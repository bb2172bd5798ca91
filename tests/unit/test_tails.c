// SPDX-License-Identifier: GPL-3.0-or-later
#include "rows.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>

#include "sample/hist.h"
#include "stats/episodes.h"
#include "stats/tails.h"

static void check_ranks(struct row *row)
{
	uint64_t n = (uint64_t)take(row), low = 0, high = 0;
	double q = take(row), alpha = take(row);

	assert_int_equal(tail_ranks(n, q, alpha, &low, &high), 0);
	assert_int_equal(low, (uint64_t)take(row));
	assert_int_equal(high, (uint64_t)take(row));
}

static void check_index(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	double limit = take(row), index = 0;

	assert_int_equal(tail_extremal_index(x, n, limit, &index), 0);
	assert_near(index, take(row), 1e-12);
}

static void ranks_are_those_of_the_binomial_distribution(void **state)
{
	for_rows("tests/known/tails.txt", "ranks", 120, check_ranks);
}

static void extremal_index_is_that_of_another_program(void **state)
{
	for_rows("tests/known/tails.txt", "index", 4, check_index);
}

static void quantile_covers_and_keeps_order(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double x[2000], truth = -log(0.01);
	int covers = 0;

	for (int k = 0; k < 400; k++) {
		struct interval i;

		for (int m = 0; m < 2000; m++)
			x[m] = gsl_ran_exponential(rng, 1);
		gsl_sort(x, 1, 2000);
		assert_int_equal(tail_quantile(x, 2000, 0.99, 0.05, &i), 0);
		assert_true(i.low <= i.estimate && i.estimate <= i.high);
		assert_true(i.estimate == x[1979]);
		covers += i.low <= truth && truth <= i.high;
	}
	assert_true(covers >= 370); /* 380 or more expected, deviation 4.4 */
	gsl_rng_free(rng);
}

static void too_few_samples_say_nothing(void **state)
{
	double x[1000];
	struct interval i = { 1, 2, 3 };

	for (int k = 0; k < 1000; k++)
		x[k] = k / 7; /* with ties */
	assert_int_equal(tail_quantile(x, 999, 0.99, 0.05, &i), -ERANGE);
	assert_true(i.estimate == 1 && i.low == 2 && i.high == 3);
	assert_int_equal(tail_quantile(x, 1000, 0.99, 0.05, &i), 0);
	assert_int_equal(tail_quantile(x, 71, 0.99, 0.05, &i), -ERANGE);
	assert_int_equal(tail_quantile(x, 20, 0.5, 0.05, &i), 0);
	assert_int_equal(tail_quantile(x, 19, 0.5, 0.05, &i), -ERANGE);
	assert_int_equal(tail_quantile(x, 0, 0.5, 0.05, &i), -EDOM);
	assert_int_equal(tail_quantile(x, 20, 1, 0.05, &i), -EDOM);
	x[3] = 100; /* does not ascend */
	assert_int_equal(tail_quantile(x, 1000, 0.5, 0.05, &i), -EDOM);
	assert_true(tail_is_enough(10000, 0.999));
	assert_false(tail_is_enough(9999, 0.999));
}

/* The interval of the histogram holds that of the samples, and is a bucket wider at the most. */
static void histogram_gives_the_same_within_a_bucket(void **state)
{
	static const double qs[] = { 0.5, 0.99, 0.999 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct hist *h = hist_new();
	static double x[20000];

	for (int k = 0; k < 20000; k++) {
		x[k] = floor(gsl_ran_lognormal(rng, 10, 1));
		hist_add(h, (uint64_t)x[k]);
	}
	gsl_sort(x, 1, 20000);
	for (size_t k = 0; k < ARRAY_SIZE(qs); k++) {
		struct interval a, b;
		uint64_t q = 0;

		assert_int_equal(tail_quantile(x, 20000, qs[k], 0.05, &a), 0);
		assert_int_equal(tail_quantile_hist(h, qs[k], 0.05, &b), 0);
		assert_int_equal(hist_quantile(h, qs[k], &q), 0);
		assert_true(b.estimate == (double)q);
		assert_true(b.low <= a.low && b.low >= a.low * 0.99);
		assert_true(b.high >= a.high && b.high <= a.high * 1.01);
	}
	assert_int_equal(tail_quantile_hist(h, 0.9999, 0.05, &(struct interval){}), -ERANGE);
	hist_free(h);
	gsl_rng_free(rng);
}

static void zero_of_many_means_less_than_three(void **state)
{
	double p = 0;

	assert_int_equal(tail_zero_bound(1000, 0.05, &p), 0);
	assert_near(pow(1 - p, 1000), 0.05, 1e-12);
	assert_true(p < 3.0 / 1000 && p > 2.98 / 1000);
	assert_int_equal(tail_zero_bound(1, 0.05, &p), 0);
	assert_near(p, 0.95, 1e-15);
	assert_int_equal(tail_zero_bound(0, 0.05, &p), -EDOM);
	assert_true(tail_rate(4, 20) == 0.2);
	assert_true(isnan(tail_rate(0, 0)));
}

static void one_stall_is_one_episode(void **state)
{
	static const uint64_t at[] = { 0, 10, 20, 30, 40, 100, 110, 200 };
	static const double x[] = { 1, 9, 12, 2, 10, 9, 1, 30 };
	struct stamped s = { at, x, 8 };
	struct episode e[8];
	size_t nr = 0;

	assert_int_equal(tail_episodes(&s, 8, 25, e, &nr), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(e[0].first_ns, 10);
	assert_int_equal(e[0].last_ns, 40);
	assert_int_equal(e[0].exceedances, 3);
	assert_true(e[0].peak == 12);
	assert_int_equal(e[1].exceedances, 1);
	assert_true(e[2].peak == 30);
	assert_int_equal(tail_episodes(&s, 8, 15, NULL, &nr), 0);
	assert_int_equal(nr, 4);
	assert_int_equal(tail_episodes(&s, 8, 1000, NULL, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(tail_episodes(&s, 30, 15, e, &nr), 0); /* not above */
	assert_int_equal(nr, 0);
	s.n = 0;
	assert_int_equal(tail_episodes(&s, 8, 15, e, &nr), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(tail_episodes(&(struct stamped){ (uint64_t[]){ 5, 4 }, x, 2 }, 8, 1, e,
				       &nr),
			 -EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_are_those_of_the_binomial_distribution),
		cmocka_unit_test(extremal_index_is_that_of_another_program),
		cmocka_unit_test(quantile_covers_and_keeps_order),
		cmocka_unit_test(too_few_samples_say_nothing),
		cmocka_unit_test(histogram_gives_the_same_within_a_bucket),
		cmocka_unit_test(zero_of_many_means_less_than_three),
		cmocka_unit_test(one_stall_is_one_episode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
