// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/power.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_sort.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/check.h"
#include "stats/ranks.h"
#include "stats/signflip.h"
#include "stats/stats.h"

#define SEED 20261130

size_t power_least_blocks(double alpha)
{
	size_t n = 1;

	if (!(alpha > 0 && alpha < 1))
		return 0;
	while (ldexp(1, 1 - (int)n) > alpha)
		n++;
	return n;
}

static bool is_good(const struct power_design *d)
{
	return d->alpha > 0 && d->alpha < 1 && d->power >= 0.5 && d->power < 1;
}

double power_effect_formula(const struct power_design *design, size_t n, double sd)
{
	double a = design->alpha / 2, b = design->power, df = (double)n - 1;

	if (n == 0 || !(sd >= 0) || !is_good(design))
		return (double)NAN;
	switch (design->test) {
	case POWER_SIGNRANK:
		return (gsl_cdf_ugaussian_Qinv(a) + gsl_cdf_ugaussian_Pinv(b)) * sd *
		       sqrt(M_PI / (3 * (double)n));
	case POWER_SIGNFLIP:
		return n < 2 ? (double)NAN
			     : (gsl_cdf_tdist_Qinv(a, df) + gsl_cdf_tdist_Pinv(b, df)) * sd /
				       sqrt((double)n);
	case POWER_SIGN:
		break;
	}
	return (double)NAN;
}

/* How far the truth of @d, ascending, lies from the lower end of its interval. */
static int needed_rank(const double *d, size_t n, size_t rank, double *ret)
{
	struct paired s = { d, n };
	struct inversion v = {};

	walsh_points(&s, &v);
	*ret = -invert_point(&v, rank);
	return 0;
}

static int needed_flip(const double *d, size_t n, double alpha, double *ret)
{
	struct interval i;
	int r = signflip_interval(d, n, alpha, SEED, &i);

	*ret = -i.low;
	return r;
}

/* For deviation 1.  Of the signed rank all up to the point @rank of the Walsh averages is rejected.
 */
static int simulated(const struct power_design *design, size_t n, size_t rank, double *ret)
{
	double d[POWER_SIMULATED_MAX], *needed;
	uint64_t rng = SEED;
	int r = 0;

	needed = malloc(POWER_RUNS * sizeof(*needed));
	if (!needed)
		return -ENOMEM;
	for (size_t k = 0; k < POWER_RUNS && r == 0; k++) {
		for (size_t i = 0; i < n; i++) {
			double u = ((double)(rng_next(&rng) >> 12) + 0.5) * 0x1p-52;

			d[i] = gsl_cdf_ugaussian_Pinv(u);
		}
		gsl_sort(d, 1, n);
		r = design->test == POWER_SIGNRANK ? needed_rank(d, n, rank, &needed[k])
						   : needed_flip(d, n, design->alpha, &needed[k]);
	}
	if (r == 0)
		r = sample_quantile(needed, POWER_RUNS, design->power, ret);
	free(needed);
	return r;
}

/* P(B >= c) for the smallest c that rejects, B binomial(n, p). */
static double sign_power(size_t n, double alpha, double p)
{
	unsigned int most = (unsigned int)n, c = most;

	while (c > 0 && 2 * gsl_cdf_binomial_Q(c - 2, 0.5, most) <= alpha && c > most / 2 + 1)
		c--;
	return gsl_cdf_binomial_Q(c - 1, p, most);
}

static double sign_effect(const struct power_design *design, size_t n)
{
	double low = 0, high = 10;

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if (sign_power(n, design->alpha, gsl_cdf_ugaussian_P(mid)) < design->power)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* Of a fixed design, for deviation 1. */
static int fixed_effect(const struct power_design *design, size_t n, double *ret)
{
	bool by_rank = design->test == POWER_SIGNRANK;
	int64_t crit2 = 0;
	int r;

	if (design->test == POWER_SIGN) {
		*ret = sign_effect(design, n);
		return 0;
	}
	if (n > (by_rank ? POWER_SIMULATED_MAX : POWER_FLIPPED_MAX)) {
		*ret = power_effect_formula(design, n, 1);
		return 0;
	}
	r = by_rank ? signrank_critical2(n, design->alpha, &crit2) : 0;
	return r == 0 ? simulated(design, n, (size_t)(crit2 / 2), ret) : r;
}

/* For deviation 1; INFINITY where nothing can be rejected. */
static int unit_effect(const struct power_design *design, double factor, size_t n, double *ret)
{
	double fixed = HUGE_VAL;
	int r = 0;

	if (n >= power_least_blocks(design->alpha))
		r = fixed_effect(design, n, &fixed);
	if (r == 0)
		*ret = factor * fmax(fixed, 0);
	return r;
}

int power_effect(const struct power_design *design, size_t n, double sd, double *ret)
{
	struct power_looks looks;
	double unit = 0;
	int r;

	if (n == 0 || !(sd >= 0 && sd <= NUMBER_MAX) || !is_good(design))
		return -EDOM;
	r = power_looks(design, &looks);
	if (r == 0)
		r = unit_effect(design, looks.factor, n, &unit);
	if (r == 0)
		*ret = isinf(unit) ? unit : sd * unit;
	return r;
}

int power_blocks(const struct power_design *design, double effect, double sd, size_t *ret)
{
	size_t fails = power_least_blocks(design->alpha), fits = SIGNRANK_MAX;
	struct power_looks looks;
	double seen = 0;
	int r;

	if (!(effect > 0) || !(sd >= 0 && sd <= NUMBER_MAX) || !is_good(design))
		return -EDOM;
	r = power_looks(design, &looks);
	if (r == 0)
		r = unit_effect(design, looks.factor, fits, &seen);
	if (r < 0)
		return r;
	if (sd * seen > effect)
		return -E2BIG;
	fails = fails > 0 ? fails - 1 : 0;
	while (fits - fails > 1) {
		size_t mid = fails + (fits - fails) / 2;

		r = unit_effect(design, looks.factor, mid, &seen);
		if (r < 0)
			return r;
		if (seen * sd <= effect)
			fits = mid;
		else
			fails = mid;
	}
	*ret = fits;
	return 0;
}
