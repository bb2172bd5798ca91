// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "rows.h"
#include "stats/exchange.h"
#include "stats/stats.h"

static bool is_open(const struct interval *i)
{
	return isinf(i->low) && i->low < 0 && isinf(i->high) && i->high > 0;
}

static void check_signrank(struct row *row)
{
	size_t n;
	const double *d = take_array(row, &n);
	double shift = take(row), p = 0;

	assert_int_equal(signrank_p(d, n, shift, &p), 0);
	assert_relative(p, take(row), 1e-12);
}

static void check_signrank_ci(struct row *row)
{
	size_t n;
	const double *d = take_array(row, &n);
	double alpha = take(row);
	struct interval i = {};

	assert_int_equal(signrank_interval(d, n, alpha, &i), 0);
	assert_near(i.estimate, take(row), 1e-12);
	assert_end(i.low, take(row));
	assert_end(i.high, take(row));
}

static void check_ranksum(struct row *row)
{
	size_t n, m;
	const double *x = take_array(row, &n), *y = take_array(row, &m);
	double shift = take(row), p = 0, expected = take(row);

	assert_int_equal(ranksum_p(x, n, y, m, shift, &p), 0);
	assert_relative(p, expected, 1e-10);
	assert_int_equal(ranksum_p(y, m, x, n, -shift, &p), 0);
	assert_relative(p, expected, 1e-10);
}

static void check_ranksum_ci(struct row *row)
{
	size_t n, m;
	const double *x = take_array(row, &n), *y = take_array(row, &m);
	double alpha = take(row);
	struct interval i = {};

	assert_int_equal(ranksum_interval(x, n, y, m, alpha, &i), 0);
	assert_near(i.estimate, take(row), 1e-12);
	assert_end(i.low, take(row));
	assert_end(i.high, take(row));
}

static void check_holm(struct row *row)
{
	size_t m;
	const double *p = take_array(row, &m);
	static const double alphas[] = { 0.05, 0.01, 0.3 };
	double level[16];

	for (size_t a = 0; a < ARRAY_SIZE(alphas); a++) {
		holm_levels(p, m, alphas[a], level);
		for (size_t i = 0; i < m; i++)
			assert_int_equal(p[i] <= level[i], row->v[row->at + i] <= alphas[a]);
	}
	row->at += m;
}

static void signed_rank_p_is_that_of_r_and_of_all_sign_patterns(void **state)
{
	for_rows("tests/known/rank.txt", "signrank", 200, check_signrank);
}

static void check_near(struct row *row)
{
	size_t n;
	const double *d = take_array(row, &n);
	double shift = take(row), expected = take(row), p = 0;

	assert_int_equal(signrank_p(d, n, shift, &p), 0);
	if (expected > 2e-6)
		assert_relative(p, expected, 0.005);
	else
		assert_true(p >= expected && p <= 2e-6);
}

static void check_exact(struct row *row)
{
	size_t n;
	const double *d = take_array(row, &n);
	double shift = take(row), p = 0;

	assert_int_equal(signrank_p(d, n, shift, &p), 0);
	assert_near(p, take(row), 2e-13);
}

static void signed_rank_p_of_many_pairs_is_that_of_another_program(void **state)
{
	for_rows("tests/known/large.txt", "exact", 9, check_exact);
	for_rows("tests/known/large.txt", "near", 20, check_near);
}

static void signed_rank_interval_is_that_of_r_without_ties(void **state)
{
	for_rows("tests/known/rank.txt", "signrank-ci", 30, check_signrank_ci);
}

static void signed_rank_interval_is_the_brute_force_hull_with_ties(void **state)
{
	for_rows("tests/known/tied.txt", "signrank-ci", 90, check_signrank_ci);
}

static void rank_sum_p_is_that_of_r_and_of_all_splits(void **state)
{
	for_rows("tests/known/rank.txt", "ranksum", 300, check_ranksum);
}

static void rank_sum_interval_is_that_of_r_without_ties(void **state)
{
	for_rows("tests/known/rank.txt", "ranksum-ci", 50, check_ranksum_ci);
}

static void rank_sum_interval_is_the_brute_force_hull_with_ties(void **state)
{
	for_rows("tests/known/tied.txt", "ranksum-ci", 28, check_ranksum_ci);
}

static void holm_rejects_what_r_rejects(void **state)
{
	for_rows("tests/known/rank.txt", "holm", 40, check_holm);
}

static void holm_steps_down_and_stops_at_the_first_failure(void **state)
{
	static const double p[] = { 0.04, 0.001, 0.03, 0.012 };
	double level[4];

	holm_levels(p, 4, 0.05, level);
	assert_near(level[1], 0.05 / 4, 1e-15); /* rejected first */
	assert_near(level[3], 0.05 / 3, 1e-15); /* rejected second */
	assert_near(level[2], 0.05 / 2, 1e-15); /* fails third, */
	assert_near(level[0], 0.05 / 2, 1e-15); /* and 0.04 is judged no easier */
}

/* Numbers for a property: @grid 0 for untied ones, else multiples of 1/@grid, which tie. */
static void draw(gsl_rng *rng, double *x, size_t n, double grid)
{
	for (size_t i = 0; i < n; i++) {
		x[i] = gsl_ran_gaussian(rng, 1) + 0.3;
		if (grid > 0)
			x[i] = round(x[i] * grid) / grid;
	}
}

typedef int (*p_of_shift)(const void *data, double shift, double *ret_p);

/*
 * Outside the interval every shift is rejected; at its ends or just inside them one is not.  Step
 * by next representable numbers: that is how close the ends must be.
 */
static void assert_inverts(const struct interval *i, double alpha, const void *data,
			   p_of_shift p_at)
{
	double p = 0, inside = 0;

	if (isfinite(i->low)) {
		for (double off = 0; off < 3; off += 0.03) {
			assert_int_equal(p_at(data, nextafter(i->low - off, -1e9), &p), 0);
			assert_true(p <= alpha);
		}
		p_at(data, i->low, &p);
		p_at(data, nextafter(i->low, 1e9), &inside);
		assert_true(p > alpha || inside > alpha);
	}
	if (isfinite(i->high)) {
		for (double off = 0; off < 3; off += 0.03) {
			assert_int_equal(p_at(data, nextafter(i->high + off, 1e9), &p), 0);
			assert_true(p <= alpha);
		}
		p_at(data, i->high, &p);
		p_at(data, nextafter(i->high, -1e9), &inside);
		assert_true(p > alpha || inside > alpha);
	}
	assert_int_equal(isfinite(i->low), isfinite(i->high));
}

struct sample {
	double x[40], y[40];
	size_t nx, ny;
};

static int signrank_of_shift(const void *data, double shift, double *ret_p)
{
	const struct sample *s = data;

	return signrank_p(s->x, s->nx, shift, ret_p);
}

static int ranksum_of_shift(const void *data, double shift, double *ret_p)
{
	const struct sample *s = data;

	return ranksum_p(s->x, s->nx, s->y, s->ny, shift, ret_p);
}

static void intervals_invert_their_tests(void **state)
{
	static const double grids[] = { 0, 2, 10, 64 }; /* 10: not exact in binary */
	static const double alphas[] = { 0.05, 0.025, 0.2, 0.03125 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct interval i;
	size_t finite = 0;

	for (size_t k = 0; k < 320; k++) {
		struct sample s = { .nx = 1 + k % 20, .ny = 1 + k / 4 % 11 };
		double alpha = alphas[k / 16 % 4];

		draw(rng, s.x, s.nx, grids[k % 4]);
		draw(rng, s.y, s.ny, grids[k % 4]);
		assert_int_equal(signrank_interval(s.x, s.nx, alpha, &i), 0);
		assert_inverts(&i, alpha, &s, signrank_of_shift);
		finite += isfinite(i.low);
		assert_int_equal(ranksum_interval(s.x, s.nx, s.y, s.ny, alpha, &i), 0);
		assert_inverts(&i, alpha, &s, ranksum_of_shift);
		finite += isfinite(i.low);
	}
	assert_true(finite > 300);
	gsl_rng_free(rng);
}

static void large_rank_sum_interval_inverts_its_test(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	_cleanup_(freep) char *memory = calloc(1, 250 * sizeof(double));
	double *x = (double *)(void *)memory, *y = x + 120;

	for (int k = 0; k < 2; k++) {
		struct interval i;
		double p = 0, inside = 0;

		draw(rng, x, 120, k ? 16 : 0);
		draw(rng, y, 130, k ? 16 : 0);
		assert_int_equal(ranksum_interval(x, 120, y, 130, 0.05, &i), 0);
		assert_true(i.low < i.estimate && i.estimate < i.high);
		for (double off = 0; off < 1; off += 0.05) {
			ranksum_p(x, 120, y, 130, nextafter(i.low - off, -9), &p);
			assert_true(p <= 0.05);
			ranksum_p(x, 120, y, 130, nextafter(i.high + off, 9), &p);
			assert_true(p <= 0.05);
		}
		ranksum_p(x, 120, y, 130, i.low, &p);
		ranksum_p(x, 120, y, 130, nextafter(i.low, 9), &inside);
		assert_true(p > 0.05 || inside > 0.05);
		ranksum_p(x, 120, y, 130, i.high, &p);
		ranksum_p(x, 120, y, 130, nextafter(i.high, -9), &inside);
		assert_true(p > 0.05 || inside > 0.05);
	}
	gsl_rng_free(rng);
}

static void intervals_move_with_the_data_and_turn_with_their_sign(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double moved[12], turned[12];
	struct sample s = { .nx = 12, .ny = 9 };

	for (int k = 0; k < 50; k++) {
		struct interval a, b, c;
		double p = 0, q = 0;

		draw(rng, s.x, 12, 8); /* eighths: moving by 5 is exact */
		draw(rng, s.y, 9, 8);
		for (int i = 0; i < 12; i++) {
			moved[i] = s.x[i] + 5;
			turned[i] = -s.x[i];
		}
		assert_int_equal(signrank_interval(s.x, 12, 0.05, &a), 0);
		assert_int_equal(signrank_interval(moved, 12, 0.05, &b), 0);
		assert_int_equal(signrank_interval(turned, 12, 0.05, &c), 0);
		assert_true(b.low == a.low + 5 && b.high == a.high + 5);
		assert_true(c.low == -a.high && c.high == -a.low);
		signrank_p(s.x, 12, 0.25, &p);
		signrank_p(moved, 12, 5.25, &q);
		assert_true(p == q);
		signrank_p(turned, 12, -0.25, &q);
		assert_true(p == q);
		assert_int_equal(ranksum_interval(s.x, 12, s.y, 9, 0.05, &a), 0);
		assert_int_equal(ranksum_interval(moved, 12, s.y, 9, 0.05, &b), 0);
		assert_int_equal(ranksum_interval(s.y, 9, s.x, 12, 0.05, &c), 0);
		assert_true(b.low == a.low - 5 && b.high == a.high - 5);
		assert_true(c.low == -a.high && c.high == -a.low);
	}
	gsl_rng_free(rng);
}

static void too_few_numbers_leave_the_interval_open(void **state)
{
	static const double d[] = { 1, 2, 3, 4, 5, 6 };
	struct interval i;
	double p = 0;

	for (size_t n = 1; n <= 5; n++) {
		assert_int_equal(signrank_interval(d, n, 0.05, &i), 0);
		assert_true(is_open(&i));
		assert_true(isfinite(i.estimate));
		assert_int_equal(signrank_p(d, n, -100, &p), 0);
		assert_true(p == ldexp(1, 1 - (int)n));
	}
	assert_int_equal(signrank_interval(d, 6, 0.05, &i), 0);
	assert_true(i.low == 1 && i.high == 6);
	/* p is exact: 2/2^6 does reject at 0.03125, and nothing rejects just below */
	assert_int_equal(signrank_interval(d, 6, 0.03125, &i), 0);
	assert_true(i.low == 1 && i.high == 6);
	assert_int_equal(signrank_interval(d, 6, nextafter(0.03125, 0), &i), 0);
	assert_true(is_open(&i));
	assert_int_equal(ranksum_interval(d, 3, d + 3, 3, 0.05, &i), 0);
	assert_true(is_open(&i));
}

static void equal_numbers_make_a_point(void **state)
{
	static const double d[] = { 2, 2, 2, 2, 2, 2, 2 };
	struct interval i;
	double p = 0;

	assert_int_equal(signrank_interval(d, 7, 0.05, &i), 0);
	assert_true(i.low == 2 && i.high == 2 && i.estimate == 2);
	assert_int_equal(signrank_p(d, 7, 2, &p), 0);
	assert_true(p == 1);
}

static void the_largest_sample_is_exact_and_a_larger_one_refused(void **state)
{
	_cleanup_(freep) char *memory = calloc(SIGNRANK_MAX + 1, sizeof(double));
	double *d = (double *)(void *)memory, p = 0;
	struct interval i;

	for (int k = 0; k <= SIGNRANK_MAX; k++)
		d[k] = k - 480.25;
	assert_int_equal(signrank_interval(d, SIGNRANK_MAX, 0.05, &i), 0);
	assert_int_equal(signrank_p(d, SIGNRANK_MAX, nextafter(i.low, -1e9), &p), 0);
	assert_true(p <= 0.05 && p > 0.04);
	assert_int_equal(signrank_interval(d, SIGNRANK_MAX + 1, 0.05, &i), -E2BIG);
	assert_int_equal(signrank_p(d, SIGNRANK_MAX + 1, 0, &p), -E2BIG);
}

static void what_is_no_number_is_refused(void **state)
{
	static const double bad[] = { (double)NAN, HUGE_VAL, -HUGE_VAL, DBL_MAX };
	double d[] = { 1, 2, 3 }, v = 7;
	struct interval i = { 7, 7, 7 };

	for (size_t k = 0; k < ARRAY_SIZE(bad); k++) {
		d[1] = bad[k];
		assert_int_equal(signrank_p(d, 3, 0, &v), -EDOM);
		assert_int_equal(signrank_p(d, 1, bad[k], &v), -EDOM);
		assert_int_equal(signrank_interval(d, 3, 0.05, &i), -EDOM);
		assert_int_equal(ranksum_p(d, 3, d, 1, 0, &v), -EDOM);
		assert_int_equal(ranksum_interval(d, 1, d, 3, 0.05, &i), -EDOM);
		assert_int_equal(bootstrap_ratio(d, 3, d, 3, 0.05, 1, &i), -EDOM);
		assert_int_equal(sample_median(d, 3, &v), -EDOM);
		assert_int_equal(lag1(d, 3, &v, &v), -EDOM);
	}
	d[1] = 2;
	assert_int_equal(signrank_p(d, 0, 0, &v), -EDOM);
	assert_int_equal(ranksum_p(d, 3, d, 0, 0, &v), -EDOM);
	assert_int_equal(signrank_interval(d, 3, 0, &i), -EDOM);
	assert_int_equal(signrank_interval(d, 3, 1, &i), -EDOM);
	assert_int_equal(signrank_interval(d, 3, (double)NAN, &i), -EDOM);
	assert_int_equal(ranksum_interval(d, 3, d, 3, 1.5, &i), -EDOM);
	assert_int_equal(sample_quantile(d, 3, 1.01, &v), -EDOM);
	assert_int_equal(sample_quantile(d, 0, 0.5, &v), -EDOM);
	assert_true(isnan(sample_mean(d, 0)));
	assert_true(v == 7 && i.low == 7);
}

static void check_quantile(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	double q = take(row), v = 0;

	assert_int_equal(sample_quantile(x, n, q, &v), 0);
	assert_near(v, take(row), 1e-12 * fmax(1, fabs(v)));
}

static void check_lag1(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	double r = 0, n_eff = 0;

	assert_int_equal(lag1(x, n, &r, &n_eff), 0);
	assert_near(r, take(row), 1e-12);
	assert_near(n_eff, fmin((double)n, fmax(1, (double)n * (1 - r) / (1 + r))), 1e-9);
}

static void check_block(struct row *row)
{
	size_t n;
	const double *x = take_array(row, &n);
	double b = 0;

	assert_int_equal(bootstrap_block(x, n, &b), 0);
	assert_near(b, take(row), 1e-9);
}

/* The reference has 200,000 resamples, we 10,000: the ends differ by what 10,000 leave to chance.
 */
static void check_ratio(struct row *row)
{
	size_t na, nb;
	const double *a = take_array(row, &na), *b = take_array(row, &nb);
	double low = take(row), high = take(row), tol = (high - low) * 0.04;
	struct interval i;

	for (uint64_t seed = 0; seed < 3; seed++) {
		assert_int_equal(bootstrap_ratio(a, na, b, nb, 0.05, seed, &i), 0);
		assert_near(i.low, low, tol);
		assert_near(i.high, high, tol);
		assert_near(i.estimate, sample_mean(b, nb) / sample_mean(a, na) - 1, 1e-15);
	}
}

static void quantiles_are_those_of_numpy(void **state)
{
	for_rows("tests/known/series.txt", "quantile", 40, check_quantile);
}

static void autocorrelation_is_that_of_numpy(void **state)
{
	for_rows("tests/known/series.txt", "lag1", 9, check_lag1);
}

static void block_length_is_that_of_another_program(void **state)
{
	for_rows("tests/known/series.txt", "block", 7, check_block);
}

static void bootstrap_agrees_with_another_program(void **state)
{
	for_rows("tests/known/series.txt", "ratio", 2, check_ratio);
}

/* Two iperf3 runs of 20 s from a mailing list: the rows of the Bandwidth column [Mbit/s]. */
static void two_mailed_tables_give_the_known_interval(void **state)
{
	static const double a[] = { 888, 885, 883, 890, 887, 883, 885, 880, 888, 886,
				    885, 887, 885, 883, 890, 888, 884, 883, 880, 890 };
	static const double b[] = { 897, 898, 898, 895, 901, 902, 895, 901, 899, 903,
				    902, 899, 898, 900, 900, 899, 898, 902, 901, 903 };
	struct interval i, again, other;

	assert_near(sample_mean(a, 20), 885.5, 1e-9);
	assert_near(sample_mean(b, 20), 899.55, 1e-9);
	assert_int_equal(bootstrap_ratio(a, 20, b, 20, 0.05, 1, &i), 0);
	assert_near(i.estimate, 0.015867, 1e-6);
	assert_true(i.low > 0.013 && i.low < i.estimate);
	assert_true(i.high < 0.019 && i.high > i.estimate);
	assert_int_equal(bootstrap_ratio(a, 20, b, 20, 0.05, 1, &again), 0);
	assert_true(again.low == i.low && again.high == i.high);
	assert_int_equal(bootstrap_ratio(a, 20, b, 20, 0.05, UINT64_C(1) << 32, &other), 0);
	assert_true(other.low != i.low || other.high != i.high);
}

/* Var(mean) of an AR(1) is (1+r)/(1-r) times that of white noise; so must the width be. */
static void correlated_series_get_wider_intervals(void **state)
{
	enum { N = 2000 };
	static double x[N], y[N], flat[N];
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct interval i, k;
	double b = 0;

	for (int t = 0; t < N; t++) {
		y[t] = 100 + gsl_ran_gaussian(rng, 1);
		x[t] = t ? 100 + 0.5 * (x[t - 1] - 100) + gsl_ran_gaussian(rng, sqrt(0.75)) : 100;
		flat[t] = 100;
	}
	assert_int_equal(bootstrap_ratio(flat, N, x, N, 0.05, 1, &i), 0);
	assert_int_equal(bootstrap_ratio(flat, N, y, N, 0.05, 1, &k), 0);
	assert_near((k.high - k.low) / (2 * 1.96 / sqrt(N) / 100), 1, 0.1);
	assert_near((i.high - i.low) / (k.high - k.low), sqrt(3), 0.35);
	assert_int_equal(bootstrap_block(x, N, &b), 0);
	assert_near(b, pow(1 / 0.75, 2.0 / 3) * cbrt(N), 6); /* the optimum for r = 0.5 */
	gsl_rng_free(rng);
}

/* Beyond 4,096 rows batches take part: the estimate and what dependence adds must stay. */
static void long_series_are_averaged_in_batches(void **state)
{
	enum { N = 50002 };
	static double x[N], flat[N];
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double width = 2 * 1.96 / sqrt(N) / 100 * sqrt(3);
	struct interval i;

	for (int t = 0; t < N; t++) {
		x[t] = t ? 100 + 0.5 * (x[t - 1] - 100) + gsl_ran_gaussian(rng, sqrt(0.75)) : 100;
		flat[t] = 100;
	}
	gsl_rng_free(rng);
	x[N - 1] = 1000000; /* fills no batch, but is a part of the mean */
	assert_int_equal(bootstrap_ratio(flat, N, x, N, 0.05, 1, &i), 0);
	assert_near(i.estimate, sample_mean(x, N) / 100 - 1, 1e-12);
	assert_near((i.low + i.high) / 2, i.estimate, width);
	assert_near((i.high - i.low) / width, 1, 0.25);
	x[N - 1] = -1;
	assert_int_equal(bootstrap_ratio(flat, 100, x, N, 0.05, 1, &i), -EDOM);
	x[N - 1] = (double)NAN;
	assert_int_equal(bootstrap_ratio(flat, 100, x, N, 0.05, 1, &i), -EDOM);
}

static void constant_and_odd_series_are_bounded(void **state)
{
	static const double flat[] = { 5, 5, 5, 5 }, zero[] = { 0, 0, 0 }, gap[] = { 0, 1, 0 };
	static const double negative[] = { 1, -1, 3 };
	struct interval i;
	double b = 0, r = 7, n_eff = 0;

	assert_int_equal(bootstrap_block(flat, 4, &b), 0);
	assert_true(b == 1);
	assert_int_equal(lag1(flat, 4, &r, &n_eff), 0);
	assert_true(r == 0 && n_eff == 4);
	assert_int_equal(lag1(flat, 1, &r, &n_eff), -EDOM);
	assert_int_equal(bootstrap_ratio(flat, 4, flat, 3, 0.05, 1, &i), 0);
	assert_true(i.low == 0 && i.high == 0 && i.estimate == 0);
	assert_int_equal(bootstrap_ratio(flat, 4, zero, 3, 0.05, 1, &i), 0);
	assert_true(i.low == -1 && i.high == -1);
	assert_int_equal(bootstrap_ratio(zero, 3, flat, 4, 0.05, 1, &i), -EDOM);
	assert_int_equal(bootstrap_ratio(flat, 4, negative, 3, 0.05, 1, &i), -EDOM);
	assert_int_equal(bootstrap_ratio(flat, 1, flat, 4, 0.05, 1, &i), -EDOM);
	assert_int_equal(bootstrap_ratio(flat, 4, flat, 4, 0, 1, &i), -EDOM);
	/* nearly a third of the resamples of the baseline are all zero: the ratio has no upper end
	 */
	assert_int_equal(bootstrap_ratio(gap, 3, flat, 4, 0.05, 1, &i), 0);
	assert_true(isinf(i.high) && isfinite(i.low));
}

/* Ends between two of the rates that scipy tried, a ratio of 1.00025 apart. */
static void check_rate(struct row *row)
{
	double alpha = take(row);
	size_t n = 0, nr_cost = 0;
	const double *gain = take_array(row, &n), *cost = take_array(row, &nr_cost);
	struct interval i;

	assert_int_equal(n, nr_cost);
	assert_int_equal(exchange_rate(gain, cost, n, alpha, &i), 0);
	assert_relative(i.estimate, take(row), 1e-9);
	assert_relative(i.low, take(row), 3e-4);
	assert_relative(i.high, take(row), 3e-4);
}

static void exchange_rates_are_those_of_scipy(void **state)
{
	static const double cost[] = { 1, 2, 3, 4, 5, 6 }, mixed[] = { 1, -2, 3, -4, 5, 6 };
	static const double twice[] = { 2, 4, 6, 8, 10, 12 };
	struct interval i;

	for_rows("tests/known/exchange.txt", "rate", 8, check_rate);
	assert_int_equal(exchange_rate(twice, cost, 6, 0.05, &i), 0);
	assert_relative(i.estimate, 2, 1e-9);
	assert_int_equal(exchange_rate(mixed, cost, 6, 0.05, &i), -ERANGE);
	assert_int_equal(exchange_rate(cost, mixed, 6, 0.05, &i), -ERANGE);
	assert_int_equal(exchange_rate(cost, cost, 5, 0.05, &i), -ERANGE); /* too few to reject */
}

/* The interval holds the true rate as often as it promises. */
static void exchange_intervals_cover(void **state)
{
	enum { EXPERIMENTS = 1500, N = 9 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	int covered = 0, done = 0;

	for (int k = 0; k < EXPERIMENTS; k++) {
		double gain[N], cost[N];
		struct interval i;

		for (size_t m = 0; m < N; m++) {
			cost[m] = 0.2 + gsl_ran_gaussian(rng, 0.04);
			gain[m] = 0.14 + gsl_ran_gaussian(rng, 0.03);
		}
		if (exchange_rate(gain, cost, N, 0.05, &i) < 0)
			continue;
		done++;
		covered += i.low <= 0.7 && 0.7 <= i.high;
	}
	assert_true(done > EXPERIMENTS * 9 / 10);
	assert_true(covered >= done * 0.95 - 3 * sqrt(done * 0.05 * 0.95));
	gsl_rng_free(rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchange_rates_are_those_of_scipy),
		cmocka_unit_test(exchange_intervals_cover),
		cmocka_unit_test(signed_rank_p_is_that_of_r_and_of_all_sign_patterns),
		cmocka_unit_test(signed_rank_p_of_many_pairs_is_that_of_another_program),
		cmocka_unit_test(signed_rank_interval_is_that_of_r_without_ties),
		cmocka_unit_test(signed_rank_interval_is_the_brute_force_hull_with_ties),
		cmocka_unit_test(rank_sum_p_is_that_of_r_and_of_all_splits),
		cmocka_unit_test(rank_sum_interval_is_that_of_r_without_ties),
		cmocka_unit_test(rank_sum_interval_is_the_brute_force_hull_with_ties),
		cmocka_unit_test(holm_rejects_what_r_rejects),
		cmocka_unit_test(holm_steps_down_and_stops_at_the_first_failure),
		cmocka_unit_test(intervals_invert_their_tests),
		cmocka_unit_test(large_rank_sum_interval_inverts_its_test),
		cmocka_unit_test(intervals_move_with_the_data_and_turn_with_their_sign),
		cmocka_unit_test(too_few_numbers_leave_the_interval_open),
		cmocka_unit_test(equal_numbers_make_a_point),
		cmocka_unit_test(the_largest_sample_is_exact_and_a_larger_one_refused),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(quantiles_are_those_of_numpy),
		cmocka_unit_test(autocorrelation_is_that_of_numpy),
		cmocka_unit_test(block_length_is_that_of_another_program),
		cmocka_unit_test(bootstrap_agrees_with_another_program),
		cmocka_unit_test(two_mailed_tables_give_the_known_interval),
		cmocka_unit_test(correlated_series_get_wider_intervals),
		cmocka_unit_test(long_series_are_averaged_in_batches),
		cmocka_unit_test(constant_and_odd_series_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
