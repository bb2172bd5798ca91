/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_STATS_H
#define STATS_STATS_H

/*
 * Statistics of the verdict that GSL lacks.  Pure functions of arrays: no allocation is kept, no
 * clock, no global generator.  No numbers, non-finite ones, ones beyond DBL_MAX / 4 and a level
 * outside 0 < alpha < 1 are refused with -EDOM; -ENOMEM is possible everywhere; on failure the
 * results are untouched.
 */

#include <stddef.h>
#include <stdint.h>

#define SIGNRANK_MAX 1000     /* pairs */
#define RANKSUM_EXACT_MAX 100 /* both samples together */
#define RANKSUM_MAX 2000      /* both samples together */

struct interval {
	double estimate;
	double low, high; /* -INFINITY, INFINITY when n is too small for the level */
};

/**
 * signrank_p - two-sided p of the Wilcoxon signed-rank test of @d against @shift
 *
 * Zeros (d == shift) take part in the ranking and are then dropped (Pratt 1959); ties take
 * midranks.  All signs are equally likely under the null, and p is exact for these ranks: up to 200
 * of them by counting their sums (dynamic programme over doubled ranks), above by the inverse
 * transform of their characteristic function (p below 2 10^-12 is then an upper bound).  Only with
 * ties among more than 100 ranks it is approximate, to 0.5 %: normal with a continuity correction
 * and the term of the fourth cumulant (p below 2 10^-6 is then an upper bound).
 *
 * Cost: O(n log n) and the null: 2 ms at n = 200, 1 ms at 1000.
 * Return: 0; -EDOM; -E2BIG above SIGNRANK_MAX; -ENOMEM.
 */
int signrank_p(const double *d, size_t n, double shift, double *ret_p);

/**
 * signrank_interval - Hodges-Lehmann estimate and the interval by inverting signrank_p
 * @alpha: level; the interval is the closed hull of all shifts with signrank_p > @alpha
 *
 * Without ties this is the classical interval between two Walsh averages at the achieved level.
 * With ties the set of shifts may have holes near its ends; the hull fills them.
 * With so many ties that more than some hundred shifts would have to be tried, an end is a place
 * where rejection ends, though a shift beyond it may not be rejected either.
 * Unit: that of @d.  Cost: O(n log n) and a few signrank_p without ties; more with them.
 * Return: as signrank_p.
 * Source: Hodges & Lehmann 1963; Walsh averages; Hollander, Wolfe & Chicken 2014, 3.2, 3.3.
 */
int signrank_interval(const double *d, size_t n, double alpha, struct interval *ret);

/**
 * ranksum_p - two-sided p of the Wilcoxon-Mann-Whitney test of @y - @shift against @x
 *
 * For two stored runs, whose trials do not pair.  Ties take midranks.  Up to RANKSUM_EXACT_MAX
 * numbers together the null is exact for these ranks and p is twice the smaller tail; above, it is
 * the normal approximation with the variance of these ranks and continuity correction.
 * Cost: O(N log N) and, when exact, O(N k U) for a smaller sample of k: 30 ms at the most.
 * Return: 0; -EDOM; -E2BIG above RANKSUM_MAX; -ENOMEM.
 * Source: Mann & Whitney 1947; Hollander, Wolfe & Chicken 2014, 4.1.
 */
int ranksum_p(const double *x, size_t nx, const double *y, size_t ny, double shift, double *ret_p);

/**
 * ranksum_interval - Hodges-Lehmann shift from @x to @y and the interval inverting ranksum_p
 *
 * The estimate is the median of all y - x; the interval is the closed hull of all shifts with
 * ranksum_p > @alpha, as in signrank_interval.  Cost: some ten ranksum_p.  Return: as ranksum_p.
 * Source: Hodges & Lehmann 1963; Hollander, Wolfe & Chicken 2014, 4.2, 4.3.
 */
int ranksum_interval(const double *x, size_t nx, const double *y, size_t ny, double alpha,
		     struct interval *ret);

/**
 * holm_levels - level at which each of @m p-values is judged (Holm 1979)
 * @ret_alpha: per p-value, alpha/(m - k + 1) for those rejected in step k, and the level of the
 *             first step that fails for all that remain
 */
void holm_levels(const double *p, size_t m, double alpha, double *ret_alpha);

/**
 * holm_adjusted, bh_adjusted - adjusted p-values, 1 at the most
 *
 * A hypothesis is rejected at any level that its adjusted p does not exceed: by Holm's procedure
 * (family-wise error), or by that of Benjamini & Hochberg (expected share of false ones among the
 * rejected, for independent or positively dependent p), the one for exploratory metrics.
 * Cost: O(m^2).  Sources: Holm 1979; Benjamini & Hochberg 1995.
 */
void holm_adjusted(const double *p, size_t m, double *ret_p);
void bh_adjusted(const double *p, size_t m, double *ret_p);

/**
 * bootstrap_ratio - within-run interval of mean(b)/mean(a) - 1 by the stationary bootstrap
 * @a, @b: two series in time order, nothing negative, at least two numbers each; each is resampled
 *         by itself
 * @alpha: 0.05 for 95 %; at least 0.0002
 * @seed: of the resampling; the same seed gives the same interval
 *
 * Percentile interval of 10,000 resamples.  Says nothing about run-to-run variance.  A series of
 * more than 4,096 numbers is first averaged in consecutive batches of equal length, of as few rows
 * as leave 4,096 batches at the most: the blocks then are blocks of batches.
 * Source: Politis & Romano 1994.  Cost: 10^4 (na + nb) draws, 0.3 s at the most.
 */
int bootstrap_ratio(const double *a, size_t na, const double *b, size_t nb, double alpha,
		    uint64_t seed, struct interval *ret);

/**
 * bootstrap_block - mean block length of the stationary bootstrap of the mean of @x, at least 1
 *
 * Source: Politis & White 2004 with the correction of Patton, Politis & White 2009; capped at
 * min(3 sqrt(n), n/3) as theirs.  At least one lag always takes part: a short series is not taken
 * for white noise on its own word.
 */
int bootstrap_block(const double *x, size_t n, double *ret);

/* Lag-1 autocorrelation (0 for a constant) and the effective sample size n (1-r)/(1+r), from 1 to
 * n; needs two numbers. */
int lag1(const double *x, size_t n, double *ret_r, double *ret_n_eff);

/* The sample median, and the quantile of Hyndman & Fan type 7; @x is copied. */
int sample_median(const double *x, size_t n, double *ret);
int sample_quantile(const double *x, size_t n, double q, double *ret);
/* NAN when there are none. */
double sample_mean(const double *x, size_t n);

#endif
