/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_STATS_H
#define STATS_STATS_H

/*
 * Statistics of the verdict that GSL lacks.  Pure functions of arrays: no allocation is kept, no
 * clock, no global generator.  Non-finite input is refused with -EDOM.
 */

#include <stddef.h>
#include <stdint.h>

struct interval {
	double estimate;
	double low, high; /* -INFINITY, INFINITY when n is too small for the level */
};

/**
 * signrank_p - exact two-sided p of the Wilcoxon signed-rank test of @d against @shift
 *
 * Zeros (d == shift) are kept with Pratt's ranking (Pratt 1959); ties take midranks; the null
 * distribution is exact for these ranks (dynamic programme over doubled ranks) up to n = 1000.
 * Return: 0; -EDOM when n == 0 or an element is not finite; -ENOMEM.
 */
int signrank_p(const double *d, size_t n, double shift, double *ret_p);

/**
 * signrank_interval - Hodges-Lehmann estimate and the interval by inverting signrank_p
 * @alpha: level; the interval holds all shifts that the test at @alpha does not reject
 *
 * Source: Hodges & Lehmann 1963; Walsh averages; Hollander, Wolfe & Chicken 2014, 3.2, 3.3.
 */
int signrank_interval(const double *d, size_t n, double alpha, struct interval *ret);

/**
 * holm_levels - level at which each of @m p-values is judged (Holm 1979)
 * @ret_alpha: per p-value, alpha/(m - k + 1) for those rejected in step k, and the level of the
 *             first step that fails for all that remain
 */
void holm_levels(const double *p, size_t m, double alpha, double *ret_alpha);

/**
 * bootstrap_ratio - within-run interval of mean(b)/mean(a) - 1 by the stationary bootstrap
 * @a, @b: two series in time order; each is resampled by itself
 * @alpha: 0.05 for 95 %
 * @seed: of the resampling; the same seed gives the same interval
 *
 * Source: Politis & Romano 1994; automatic block length by Politis & White 2004 with the
 * correction of Patton, Politis & White 2009.  Says nothing about run-to-run variance.
 */
int bootstrap_ratio(const double *a, size_t na, const double *b, size_t nb, double alpha,
		    uint64_t seed, struct interval *ret);

/* Lag-1 autocorrelation and the effective sample size n (1-r)/(1+r), n at the most. */
int lag1(const double *x, size_t n, double *ret_r, double *ret_n_eff);

/* The sample median, and the quantile of Hyndman & Fan type 7; @x is copied. */
int sample_median(const double *x, size_t n, double *ret);
int sample_quantile(const double *x, size_t n, double q, double *ret);
double sample_mean(const double *x, size_t n);

#endif
