// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/stats.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/check.h"

#define RESAMPLES 10000
#define ROWS_MAX 4096 /* of one series; longer ones are averaged in batches */

/* Autocovariance at @lag with divisor n. */
static double autocovariance(const double *x, size_t n, double mean, size_t lag)
{
	double sum = 0;

	for (size_t i = lag; i < n; i++)
		sum += (x[i] - mean) * (x[i - lag] - mean);
	return sum / (double)n;
}

/*
 * The lag from which @run autocorrelations in a row are negligible, else the last lag that is not
 * (Politis & White 2004, section 3.2).  @r: autocovariances of lags 0..max.
 */
static size_t cut_lag(const double *r, size_t n, size_t run, size_t max)
{
	double limit = 2 * sqrt(log10((double)n) / (double)n) * r[0];
	size_t quiet = 0, last = 1;

	for (size_t lag = 1; lag <= max; lag++) {
		if (fabs(r[lag]) < limit) {
			if (++quiet == run)
				return lag - run + 1;
		} else {
			quiet = 0;
			last = lag;
		}
	}
	return last;
}

/* The flat-top window of Politis & Romano 1995. */
static double flat_top(double t)
{
	return t <= 0.5 ? 1 : 2 * (1 - t);
}

int bootstrap_block(const double *x, size_t n, double *ret)
{
	double root = sqrt((double)n), most = ceil(fmin(3 * root, (double)n / 3));
	size_t run = (size_t)fmax(5, ceil(sqrt(log10((double)(n > 1 ? n : 2)))));
	size_t max = (size_t)ceil(root) + run, m;
	_cleanup_(freep) double *r = NULL;
	double g, slope = 0, mean, b;

	if (n < 2 || check_numbers(x, n) < 0)
		return -EDOM;
	max = max < n - 1 ? max : n - 1;
	r = malloc((max + 1) * sizeof(*r));
	if (!r)
		return -ENOMEM;
	mean = gsl_stats_mean(x, 1, n);
	for (size_t lag = 0; lag <= max; lag++)
		r[lag] = autocovariance(x, n, mean, lag);
	m = 2 * cut_lag(r, n, run, max);
	m = m < max ? m : max;
	g = r[0];
	for (size_t lag = 1; lag <= m; lag++) {
		double w = 2 * flat_top((double)lag / (double)m) * r[lag];

		g += w;
		slope += (double)lag * w;
	}
	/* b = (2 G^2 / D)^(1/3) n^(1/3) with D = 2 g(0)^2 (the correction of 2009) */
	b = cbrt(slope * slope / (g * g) * (double)n);
	*ret = isfinite(b) ? fmin(fmax(b, 1), fmax(most, 1)) : 1; /* a constant series: 0/0 */
	return 0;
}

struct series {
	const double *x; /* the caller's, or @batches */
	double *batches;
	uint32_t n;
	uint32_t go_on; /* probability that the block continues, in units of 2^-32 */
};

/*
 * Mean of one resample: blocks of geometric length from random places of the circle.  One half of a
 * random word says whether the block goes on, the other where the next one starts (to 2^-20 of its
 * probability, which a series of 2^12 rows cannot tell).
 */
static double resampled_mean(const struct series *s, uint64_t *rng)
{
	double sum = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t word = rng_next(rng);

		if (i == 0 || (uint32_t)word >= s->go_on)
			at = (uint32_t)((word >> 32) * s->n >> 32);
		else
			at = at + 1 < s->n ? at + 1 : 0;
		sum += s->x[at];
	}
	return sum / s->n;
}

static void series_release(struct series *s)
{
	free(s->batches);
}

/*
 * The means of consecutive batches of equal length, scaled so that their mean is that of all @n
 * numbers (a few at the end fill no batch).  What the rows of a batch have in common stays in the
 * variance of the batch means, so blocks of them resample the same dependence.
 */
static int series_batch(struct series *s, size_t n)
{
	size_t length = (n + ROWS_MAX - 1) / ROWS_MAX, nr = n / length;
	double mean = gsl_stats_mean(s->x, 1, n), kept;

	s->batches = malloc(nr * sizeof(*s->batches));
	if (!s->batches)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		s->batches[i] = gsl_stats_mean(s->x + i * length, 1, length);
	kept = gsl_stats_mean(s->batches, 1, nr);
	for (size_t i = 0; i < nr && kept > 0; i++)
		s->batches[i] *= mean / kept;
	s->x = s->batches;
	s->n = (uint32_t)nr;
	return 0;
}

static int series_init(struct series *s, const double *x, size_t n)
{
	double block = 1;
	int r = check_numbers(x, n);

	if (r < 0 || gsl_stats_min(x, 1, n) < 0)
		return -EDOM;
	*s = (struct series){ .x = x, .n = (uint32_t)n };
	r = n > ROWS_MAX ? series_batch(s, n) : 0;
	if (r == 0)
		r = bootstrap_block(s->x, s->n, &block);
	if (r < 0)
		return r;
	s->go_on = (uint32_t)((1 - 1 / block) * 0x1p32);
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): two arrays with their lengths cost four parameters */
int bootstrap_ratio(const double *a, size_t na, const double *b, size_t nb, double alpha,
		    uint64_t seed, struct interval *ret)
{
	_cleanup_(freep) double *ratio = NULL;
	_cleanup_(series_release) struct series sa = {}, sb = {};
	const size_t nr = RESAMPLES;
	size_t cut;
	int r = series_init(&sa, a, na);

	if (r == 0)
		r = series_init(&sb, b, nb);
	if (r < 0)
		return r;
	cut = (size_t)(alpha / 2 * (double)(nr + 1));
	/* below 1 of all resamples in either tail there is nothing to read off */
	if (!(alpha < 1) || cut < 1 || !(gsl_stats_mean(a, 1, na) > 0))
		return -EDOM;
	ratio = malloc(nr * sizeof(*ratio));
	if (!ratio)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		double mean_a = resampled_mean(&sa, &seed);
		double mean_b = resampled_mean(&sb, &seed);

		ratio[i] = mean_a > 0 ? mean_b / mean_a - 1 : HUGE_VAL;
	}
	gsl_sort(ratio, 1, nr);
	ret->estimate = gsl_stats_mean(b, 1, nb) / gsl_stats_mean(a, 1, na) - 1;
	ret->low = ratio[cut - 1];
	ret->high = ratio[nr - cut];
	return 0;
}
