// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/cleanup.h"
#include "stats/check.h"

int lag1(const double *x, size_t n, double *ret_r, double *ret_n_eff)
{
	double r = 0, n_eff;

	if (n < 2 || check_numbers(x, n) < 0)
		return -EDOM;
	if (gsl_stats_min(x, 1, n) < gsl_stats_max(x, 1, n))
		r = gsl_stats_lag1_autocorrelation(x, 1, n);
	n_eff = (double)n * (1 - r) / (1 + r);
	*ret_r = r;
	*ret_n_eff = fmin(fmax(n_eff, 1), (double)n);
	return 0;
}

int sample_quantile(const double *x, size_t n, double q, double *ret)
{
	_cleanup_(freep) double *sorted = NULL;

	if (check_numbers(x, n) < 0 || !(q >= 0 && q <= 1))
		return -EDOM;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, x, n * sizeof(*sorted));
	gsl_sort(sorted, 1, n);
	*ret = gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
	return 0;
}

int sample_median(const double *x, size_t n, double *ret)
{
	return sample_quantile(x, n, 0.5, ret);
}

double sample_mean(const double *x, size_t n)
{
	return n > 0 ? gsl_stats_mean(x, 1, n) : (double)NAN;
}
