// SPDX-License-Identifier: GPL-3.0-or-later
#include "rows.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "stats/extreme.h"

/* Both minimisers stop near the maximum; what counts is that the likelihood is as high. */
static void check_gev(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	double resolution = take(row), loc = take(row), scale = take(row), shape = take(row);
	double expected = take(row), loglik = 0;
	struct gev g = {};

	assert_int_equal(gev_fit(x, n, resolution, &g, &loglik), 0);
	assert_near(loglik, expected, 1e-6);
	assert_near(g.loc, loc, 2e-3 * scale);
	assert_relative(g.scale, scale, 2e-3);
	assert_near(g.shape, shape, 2e-3);
}

static void check_gpd(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	double resolution = take(row), scale = take(row), shape = take(row);
	double expected = take(row), loglik = 0;
	struct gpd g = {};

	assert_int_equal(gpd_fit(x, n, resolution, &g, &loglik), 0);
	assert_near(loglik, expected, 1e-6);
	assert_relative(g.scale, scale, 2e-3);
	assert_near(g.shape, shape, 2e-3);
}

static void assert_level(struct row *row, const struct extreme_report *r)
{
	double level = take(row), low = take(row), high = take(row), tol = (high - low) * 2e-3;

	assert_int_equal(r->word, EXTREME_GOOD);
	assert_near(r->level.estimate, level, tol);
	assert_near(r->level.low, low, tol);
	assert_near(r->level.high, high, tol);
}

static void check_maxima(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	struct extreme_query q = { .resolution = take(row) };
	struct extreme_report r = {};

	q.period = take(row);
	q.alpha = take(row);
	assert_int_equal(extreme_maxima(x, n, &q, &r), 0);
	assert_level(row, &r);
}

static void check_peaks(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	struct extreme_query q = { .resolution = take(row) };
	struct extreme_report r = {};

	q.threshold = take(row);
	q.exposure = take(row);
	q.period = take(row);
	q.alpha = take(row);
	assert_int_equal(extreme_peaks(x, n, &q, &r), 0);
	assert_level(row, &r);
	assert_true(r.rate == (double)n / q.exposure);
}

static void fits_are_those_of_scipy(void **state)
{
	for_rows("tests/known/extreme.txt", "gev", 20, check_gev);
	for_rows("tests/known/extreme.txt", "gpd", 20, check_gpd);
}

static void levels_have_the_profile_interval_of_another_program(void **state)
{
	for_rows("tests/known/extreme.txt", "maxima", 2, check_maxima);
	for_rows("tests/known/extreme.txt", "peaks", 2, check_peaks);
}

static double gev_draw(gsl_rng *rng, double shape)
{
	double w = -log(gsl_ran_exponential(rng, 1));

	return 50 + 10 * (shape == 0 ? w : expm1(shape * w) / shape);
}

static void level_is_passed_with_its_probability(void **state)
{
	static const double shapes[] = { -0.3, 0, 1e-13, 0.3 };

	for (size_t k = 0; k < ARRAY_SIZE(shapes); k++) {
		struct gev g = { 50, 10, shapes[k] };
		struct gpd p = { 4, shapes[k] };

		assert_near(gev_cdf(&g, gev_level(&g, 0.01)), 0.99, 1e-12);
		assert_near(gpd_cdf(&p, gpd_level(&p, 200)), 1 - 1.0 / 200, 1e-12);
	}
	assert_true(gev_cdf(&(struct gev){ 0, 1, 0.5 }, -3) == 0);
	assert_true(gev_cdf(&(struct gev){ 0, 1, -0.5 }, 3) == 1);
	assert_true(gpd_cdf(&(struct gpd){ 1, -0.5 }, 3) == 1);
	assert_true(gpd_cdf(&(struct gpd){ 1, 0.5 }, -1) == 0);
}

static enum extreme_word word_of(const double *x, size_t n, double resolution)
{
	struct extreme_query q = { .resolution = resolution, .period = 50, .alpha = 0.05 };
	struct extreme_report r = {};

	assert_int_equal(extreme_maxima(x, n, &q, &r), 0);
	/* a level is given when all gates are passed, and only then */
	assert_int_equal(r.word == EXTREME_GOOD, isfinite(r.level.estimate));
	assert_int_equal(r.word == EXTREME_GOOD, !isnan(r.level.low) && !isnan(r.level.high));
	return r.word;
}

static void gates_refuse_what_must_not_be_extrapolated(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double x[100], y[100];

	for (int i = 0; i < 100; i++) {
		x[i] = gev_draw(rng, 0.1);
		y[i] = x[i] + 0.4 * i;
	}
	assert_int_equal(word_of(x, 29, 0), EXTREME_FEW);
	assert_int_equal(word_of(y, 100, 0), EXTREME_TREND);
	for (int i = 0; i < 100; i++) /* each stall is seen in five blocks */
		y[i] = x[i / 5 * 11 % 100];
	assert_int_equal(word_of(y, 100, 0), EXTREME_DEPENDENT);
	for (int i = 0; i < 100; i++) /* two causes, far apart */
		y[i] = x[i] + (gsl_rng_uniform(rng) < 0.5 ? 300 : 0);
	assert_true(word_of(y, 100, 0) >= EXTREME_SHAPE);
	for (int i = 0; i < 100; i++) /* coarse values taken for exact ones */
		y[i] = floor(x[i] / 15) * 15;
	assert_int_equal(word_of(y, 100, 0), EXTREME_MISFIT);
	assert_int_equal(word_of(y, 100, 15), EXTREME_GOOD);
	for (int i = 0; i < 100; i++)
		y[i] = exp(exp(gsl_ran_gaussian(rng, 1)));
	assert_true(word_of(y, 100, 0) == EXTREME_SHAPE || word_of(y, 100, 0) == EXTREME_MISFIT);
	for (int i = 0; i < 100; i++)
		y[i] = 7;
	assert_int_equal(word_of(y, 100, 0), EXTREME_FEW);
	gsl_rng_free(rng);
}

/* Whole microseconds of a law that fits: the gate passes most, and the interval holds the truth. */
static void coarse_values_pass_and_are_covered(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct gev g = { 50, 10, 0.1 };
	struct extreme_query q = { .resolution = 5, .period = 100, .alpha = 0.05 };
	double x[60], truth = gev_level(&g, 0.01);
	int good = 0, covered = 0;

	for (int k = 0; k < 30; k++) {
		struct extreme_report r = {};

		for (int i = 0; i < 60; i++)
			x[i] = floor(gev_draw(rng, 0.1) / 5) * 5;
		q.seed = (uint64_t)k;
		assert_int_equal(extreme_maxima(x, 60, &q, &r), 0);
		good += r.word == EXTREME_GOOD;
		covered += r.word == EXTREME_GOOD && r.level.low <= truth && truth <= r.level.high;
	}
	assert_true(good >= 18); /* three gates at 5 % leave 26 */
	assert_true(covered >= good - 5);
	gsl_rng_free(rng);
}

static void unit_does_not_matter(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double x[40], y[40];
	struct gev a, b;

	for (int i = 0; i < 40; i++) {
		x[i] = gev_draw(rng, 0);
		y[i] = 1000 * x[i] + 1e6;
	}
	assert_int_equal(gev_fit(x, 40, 0, &a, NULL), 0);
	assert_int_equal(gev_fit(y, 40, 0, &b, NULL), 0);
	assert_relative(b.loc, 1000 * a.loc + 1e6, 1e-6);
	assert_relative(b.scale, 1000 * a.scale, 1e-4);
	assert_near(b.shape, a.shape, 1e-4);
	gsl_rng_free(rng);
}

static void nonsense_is_refused(void **state)
{
	static const double x[] = { 1, 2, 3, 4, 5, 7 }, flat[] = { 2, 2, 2, 2, 2, 2 };
	struct extreme_query q = { .period = 50, .alpha = 0.05, .exposure = 10, .threshold = 3 };
	struct extreme_report r;
	struct gev g;
	struct gpd p;

	assert_int_equal(gev_fit(flat, 6, 0, &g, NULL), -EDOM);
	assert_int_equal(gev_fit(x, 4, 0, &g, NULL), -ERANGE);
	assert_int_equal(gev_fit(x, 0, 0, &g, NULL), -EDOM);
	assert_int_equal(gev_fit(x, 6, -1, &g, NULL), -EDOM);
	assert_int_equal(gpd_fit((double[]){ -1, 2, 3, 4, 5 }, 5, 0, &p, NULL), -EDOM);
	assert_int_equal(extreme_peaks(x, 6, &q, &r), -EDOM); /* not above the threshold */
	q.threshold = 0;
	assert_int_equal(extreme_peaks(x, 6, &q, &r), 0);
	assert_int_equal(r.word, EXTREME_FEW);
	q.period = 1;
	assert_int_equal(extreme_maxima(x, 6, &q, &r), -EDOM);
	q.alpha = 0;
	assert_int_equal(extreme_peaks(x, 6, &q, &r), -EDOM);
	assert_int_equal(extreme_maxima(x, EXTREME_MAX + 1, &q, &r), -E2BIG);
	for (int w = EXTREME_GOOD; w <= EXTREME_MISFIT; w++)
		assert_true(extreme_word((enum extreme_word)w)[0] != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits_are_those_of_scipy),
		cmocka_unit_test(levels_have_the_profile_interval_of_another_program),
		cmocka_unit_test(level_is_passed_with_its_probability),
		cmocka_unit_test(gates_refuse_what_must_not_be_extrapolated),
		cmocka_unit_test(coarse_values_pass_and_are_covered),
		cmocka_unit_test(unit_does_not_matter),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
