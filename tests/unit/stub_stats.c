// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Crude stand-ins for the functions of stats/stats.h that the comparison of files uses: normal
 * theory instead of the bootstrap.  Only linked where the real ones are missing.
 */
#include <errno.h>
#include <math.h>

#include "stats/stats.h"

double sample_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

static double squares(const double *x, size_t n)
{
	double mean = sample_mean(x, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

int lag1(const double *x, size_t n, double *ret_r, double *ret_n_eff)
{
	double mean, sum = 0, r;

	if (n < 3 || !(squares(x, n) > 0))
		return -EDOM;
	mean = sample_mean(x, n);
	for (size_t i = 1; i < n; i++)
		sum += (x[i] - mean) * (x[i - 1] - mean);
	r = sum / squares(x, n);
	*ret_r = r;
	*ret_n_eff = fmin((double)n, (double)n * (1 - r) / (1 + r));
	return 0;
}

int bootstrap_ratio(const double *a, size_t na, const double *b, size_t nb, double alpha,
		    uint64_t seed, struct interval *ret)
{
	double ma, mb, half;

	if (na == 0 || nb == 0)
		return -EDOM;
	ma = sample_mean(a, na);
	mb = sample_mean(b, nb);
	half = (double)INFINITY;
	if (na > 2 && nb > 2)
		half = 2 * mb / ma *
		       sqrt(squares(a, na) / (double)(na * (na - 1)) / (ma * ma) +
			    squares(b, nb) / (double)(nb * (nb - 1)) / (mb * mb));
	*ret = (struct interval){ mb / ma - 1, mb / ma - 1 - half, mb / ma - 1 + half };
	return 0;
}
