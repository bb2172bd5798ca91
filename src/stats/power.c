// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/power.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_sort.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/check.h"
#include "stats/ranks.h"
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

static int is_good(double alpha, double power)
{
	return alpha > 0 && alpha < 1 && power >= 0.5 && power < 1;
}

double power_effect_formula(size_t n, double sd, double alpha, double power)
{
	double z;

	if (n == 0 || !(sd >= 0) || !is_good(alpha, power))
		return (double)NAN;
	z = gsl_cdf_ugaussian_Qinv(alpha / 2) + gsl_cdf_ugaussian_Pinv(power);
	return z * sd * sqrt(M_PI / (3 * (double)n));
}

/* For deviation 1.  Up to the point with rank @rank of the Walsh averages all is rejected. */
static int simulated(size_t n, size_t rank, double power, double *ret)
{
	double d[POWER_SIMULATED_MAX], *needed;
	uint64_t rng = SEED;
	int r;

	needed = malloc(POWER_RUNS * sizeof(*needed));
	if (!needed)
		return -ENOMEM;
	for (size_t k = 0; k < POWER_RUNS; k++) {
		struct paired s = { d, n };
		struct inversion v = {};

		for (size_t i = 0; i < n; i++) {
			double u = ((double)(rng_next(&rng) >> 12) + 0.5) * 0x1p-52;

			d[i] = gsl_cdf_ugaussian_Pinv(u);
		}
		gsl_sort(d, 1, n);
		walsh_points(&s, &v);
		needed[k] = -invert_point(&v, rank);
	}
	r = sample_quantile(needed, POWER_RUNS, power, ret);
	free(needed);
	return r;
}

int power_effect(size_t n, double sd, double alpha, double power, double *ret)
{
	int64_t crit2;
	double unit = 0;
	int r;

	if (n == 0 || !(sd >= 0 && sd <= NUMBER_MAX) || !is_good(alpha, power))
		return -EDOM;
	if (n < power_least_blocks(alpha)) {
		*ret = HUGE_VAL;
		return 0;
	}
	if (n > POWER_SIMULATED_MAX) {
		*ret = power_effect_formula(n, sd, alpha, power);
		return 0;
	}
	r = signrank_critical2(n, alpha, &crit2);
	if (r == 0)
		r = simulated(n, (size_t)(crit2 / 2), power, &unit);
	if (r == 0)
		*ret = sd * fmax(unit, 0);
	return r;
}

int power_blocks(double effect, double sd, double alpha, double power, size_t *ret)
{
	size_t fails = power_least_blocks(alpha), fits = SIGNRANK_MAX;
	double seen = 0;
	int r;

	if (!(effect > 0))
		return -EDOM;
	r = power_effect(fits, sd, alpha, power, &seen);
	if (r < 0)
		return r;
	if (seen > effect)
		return -E2BIG;
	fails = fails > 0 ? fails - 1 : 0;
	while (fits - fails > 1) {
		size_t mid = fails + (fits - fails) / 2;

		r = power_effect(mid, sd, alpha, power, &seen);
		if (r < 0)
			return r;
		if (seen <= effect)
			fits = mid;
		else
			fails = mid;
	}
	*ret = fits;
	return 0;
}
