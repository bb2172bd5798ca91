// SPDX-License-Identifier: GPL-3.0-or-later
#include "rows.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "stats/levels.h"
#include "stats/series.h"

static void check_trend(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	struct trend t = {};

	assert_int_equal(trend_test(x, n, 0.05, &t), 0);
	assert_true(t.s == take(row));
	assert_relative(t.p, take(row), 1e-10);
}

static void check_slope(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	double alpha = take(row);
	struct trend t = {};

	assert_int_equal(trend_test(x, n, alpha, &t), 0);
	assert_near(t.slope.estimate, take(row), 1e-12);
	assert_end(t.slope.low, take(row));
	assert_end(t.slope.high, take(row));
}

static void check_ljung(struct row *row)
{
	size_t n, lags;
	const double *x = take_array(row, &n);
	double p = 0;

	lags = (size_t)take(row);
	assert_int_equal(ljung_box(x, n, lags, &p), 0);
	assert_relative(p, take(row), 1e-9);
	assert_int_equal(ljung_box_ranks(x, n, lags, &p), 0);
	assert_relative(p, take(row), 1e-9);
}

static void check_levels(struct row *row)
{
	size_t n = (size_t)take(row), nr = (size_t)take(row);
	double x[64];
	unsigned int group[64 * LEVELS_MAX];
	struct level level[LEVELS_MAX + 1];

	for (size_t i = 0; i < n; i++)
		x[i] = take(row);
	for (size_t i = 0; i < n * nr; i++)
		group[i] = (unsigned int)take(row);
	assert_int_equal(variance_levels(&(struct nested){ x, n, group, nr }, level), 0);
	for (size_t l = 0; l <= nr; l++) {
		double v = take(row);

		assert_int_equal(isnan(v), isnan(level[l].variance));
		if (!isnan(v))
			assert_near(level[l].variance, v, 1e-9);
	}
	for (size_t l = 0; l <= nr; l++)
		assert_int_equal(level[l].df, (size_t)take(row));
}

static void check_change(struct row *row)
{
	size_t n, least, nr = 0;
	const double *x = take_array(row, &n);
	/* all that p can be: the first split is made in any case */
	struct permute how = { .permutations = 1, .block = 1, .alpha = 0.9999, .seed = 1 };
	struct change c[CHANGE_POINTS_MAX];
	double at, q;
	bool found = false;

	least = (size_t)take(row);
	at = take(row);
	q = take(row);
	/* it is kept if the one permutation is below, so for one of some seeds */
	for (how.seed = 1; how.seed < 50 && !found; how.seed++) {
		assert_int_equal(change_points(x, n, least, &how, c, &nr), 0);
		for (size_t k = 0; k < nr; k++)
			if (fabs(c[k].statistic - q) < 1e-9 * q) {
				assert_int_equal(c[k].at, (size_t)at);
				found = true;
			}
	}
	assert_true(found);
}

static void trend_is_kendalls_test_of_r(void **state)
{
	for_rows("tests/known/trend.txt", "trend", 20, check_trend);
}

static void slope_is_sens_with_the_inverted_interval(void **state)
{
	for_rows("tests/known/trend.txt", "slope", 20, check_slope);
}

static void dependence_is_box_test_of_r(void **state)
{
	for_rows("tests/known/trend.txt", "ljung", 8, check_ljung);
}

static void variance_by_level_is_that_of_r(void **state)
{
	for_rows("tests/known/trend.txt", "levels", 11, check_levels);
}

static void first_split_is_that_of_the_definition(void **state)
{
	for_rows("tests/known/tails.txt", "change", 7, check_change);
}

static void autoregress(gsl_rng *rng, double *x, size_t n, double phi)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (i ? phi * x[i - 1] : 0) + gsl_ran_gaussian(rng, 1);
}

/* Neighbours that depend on each other are no drift; rows taken as independent would say so. */
static void drift_keeps_its_level_where_neighbours_depend(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double x[400];
	int naive = 0, drift = 0, seen = 0;

	for (int k = 0; k < 200; k++) {
		struct trend t;

		autoregress(rng, x, 400, 0.8);
		assert_int_equal(trend_test(x, 400, 0.05, &t), 0);
		naive += t.p <= 0.05;
		assert_int_equal(drift_test(x, 400, 0.05, &t), 0);
		drift += t.p <= 0.05;
		for (int i = 0; i < 400; i++)
			x[i] += 0.02 * i;
		assert_int_equal(drift_test(x, 400, 0.05, &t), 0);
		seen += t.p <= 0.05;
		assert_true(t.slope.low <= t.slope.estimate && t.slope.estimate <= t.slope.high);
	}
	assert_true(naive > 60);
	assert_true(drift <= 24); /* 10 expected, deviation 3 */
	assert_true(seen > 180);
	gsl_rng_free(rng);
}

static void steps_are_found_where_they_are(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct permute how = { .permutations = 99, .block = 1, .alpha = 0.02, .seed = 3 };
	struct change c[CHANGE_POINTS_MAX], again[CHANGE_POINTS_MAX];
	static double x[2000];
	size_t nr = 0, nr_again = 0;

	for (int i = 0; i < 150; i++)
		x[i] = gsl_ran_gaussian(rng, 0.5) + (i >= 50 ? 3 : 0) - (i >= 100 ? 2 : 0);
	assert_int_equal(change_points(x, 150, 5, &how, c, &nr), 0);
	assert_int_equal(nr, 2);
	assert_near((double)c[0].at, 50, 1);
	assert_near((double)c[1].at, 100, 1);
	assert_near(c[0].before, 0, 0.3);
	assert_near(c[0].after, 3, 0.3);
	assert_near(c[1].after, 1, 0.3);
	assert_true(c[0].after == c[1].before);
	assert_int_equal(change_points(x, 150, 5, &how, again, &nr_again), 0);
	assert_int_equal(nr_again, nr);
	assert_memory_equal(c, again, nr * sizeof(*c));
	for (int i = 0; i < 2000; i++)
		x[i] = gsl_ran_gaussian(rng, 0.5) + (i >= 1200 ? 1 : 0);
	assert_int_equal(change_points(x, 2000, 30, &how, c, &nr), 0);
	assert_int_equal(nr, 1);
	assert_near((double)c[0].at, 1200, 16);
	assert_int_equal(cusum_test(x, 2000, &how, c), 0);
	assert_near((double)c[0].at, 1200, 16);
	assert_true(c[0].p == 0.01);
	assert_near(c[0].after - c[0].before, 1, 0.1);
	gsl_rng_free(rng);
}

/* Nothing happens: the level of both tests is kept, with blocks where neighbours depend. */
static void quiet_series_are_rarely_flagged(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct permute how = { .permutations = 39, .block = 1, .alpha = 0.05 };
	struct permute blocks = { .permutations = 39, .block = 12, .alpha = 0.05 };
	struct change c[CHANGE_POINTS_MAX];
	double x[120];
	int split = 0, sum = 0, sum_blocks = 0, sum_rows = 0;
	size_t nr = 0;

	for (int k = 0; k < 120; k++) {
		how.seed = blocks.seed = (uint64_t)k;
		autoregress(rng, x, 120, 0);
		assert_int_equal(change_points(x, 60, 5, &how, c, &nr), 0);
		split += nr > 0;
		assert_int_equal(cusum_test(x, 120, &how, c), 0);
		sum += c[0].p <= 0.05;
		autoregress(rng, x, 120, 0.6);
		assert_int_equal(cusum_test(x, 120, &how, c), 0);
		sum_rows += c[0].p <= 0.05;
		assert_int_equal(cusum_test(x, 120, &blocks, c), 0);
		sum_blocks += c[0].p <= 0.05;
	}
	assert_true(split <= 16); /* 6 expected, deviation 2.4 */
	assert_true(sum <= 16);
	assert_true(sum_blocks <= 20 && sum_blocks < sum_rows);
	gsl_rng_free(rng);
}

static void short_and_constant_series(void **state)
{
	static const double flat[] = { 5, 5, 5, 5, 5, 5 }, up[] = { 1, 2, 3, 4, 5, 6 };
	struct permute how = { .permutations = 19, .block = 1, .alpha = 0.05 };
	struct change c[CHANGE_POINTS_MAX];
	struct trend t;
	size_t nr = 7;
	double p = 0;

	assert_int_equal(trend_test(flat, 6, 0.05, &t), 0);
	assert_true(t.p == 1 && t.s == 0 && t.slope.estimate == 0);
	assert_int_equal(trend_test(up, 6, 0.05, &t), 0);
	assert_true(t.tau == 1 && t.slope.estimate == 1);
	assert_near(t.p, 2.0 / 720, 1e-12);
	assert_int_equal(trend_test(up, 2, 0.05, &t), -EDOM);
	assert_int_equal(drift_test(up, 2, 0.05, &t), -EDOM);
	assert_int_equal(drift_test(up, 6, 0.05, &t), 0);
	assert_near(t.slope.estimate, 1, 1e-12);
	assert_int_equal(ljung_box(flat, 6, 2, &p), 0);
	assert_true(p == 1);
	assert_int_equal(ljung_box(up, 6, 6, &p), -EDOM);
	assert_int_equal(change_points(flat, 6, 2, &how, c, &nr), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(change_points(up, 3, 2, &how, c, &nr), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(change_points(up, 6, 1, &how, c, &nr), -EDOM);
	assert_int_equal(cusum_test(flat, 6, &how, c), 0);
	assert_true(c[0].p == 1 && c[0].statistic == 0);
	how.block = 0;
	assert_int_equal(cusum_test(up, 6, &how, c), -EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trend_is_kendalls_test_of_r),
		cmocka_unit_test(slope_is_sens_with_the_inverted_interval),
		cmocka_unit_test(dependence_is_box_test_of_r),
		cmocka_unit_test(variance_by_level_is_that_of_r),
		cmocka_unit_test(first_split_is_that_of_the_definition),
		cmocka_unit_test(drift_keeps_its_level_where_neighbours_depend),
		cmocka_unit_test(steps_are_found_where_they_are),
		cmocka_unit_test(quiet_series_are_rarely_flagged),
		cmocka_unit_test(short_and_constant_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
