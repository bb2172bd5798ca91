/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_SERIES_H
#define STATS_SERIES_H

/*
 * What happens inside a run or from trial to trial: drift, change points, dependence.  These flag;
 * nothing is removed because of them.
 * -EDOM, -ENOMEM and "untouched on failure" as in stats/stats.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "stats/stats.h"

#define TREND_MAX 2000	     /* rows; the pairs are gone through */
#define TREND_EXACT_MAX 50   /* rows without ties: the exact null */
#define CHANGE_ROWS 256	     /* a longer series is averaged in batches down to this */
#define CHANGE_POINTS_MAX 16 /* found at the most */

struct trend {
	double s;	       /* pairs that rise minus pairs that fall */
	double tau;	       /* s / all pairs, -1..1 */
	double p;	       /* two-sided */
	struct interval slope; /* per row: Theil-Sen and the interval that inverts the test */
};

/**
 * trend_test - Mann-Kendall test for a monotone trend, with the Theil-Sen slope
 * @alpha: of the slope's interval
 *
 * Up to TREND_EXACT_MAX rows without ties p is exact; otherwise normal with the variance for ties
 * and a continuity correction.  Needs independent rows: see drift_test for others.
 * Cost: O(n^2).  Sources: Mann 1945; Kendall 1975; Sen 1968.
 * Return: 0; -EDOM, also for fewer than 3 rows; -E2BIG above TREND_MAX; -ENOMEM.
 */
int trend_test(const double *x, size_t n, double alpha, struct trend *ret);

/**
 * drift_test - trend_test of a series whose neighbours depend on each other
 *
 * On the means of batches of twice bootstrap_block() rows, as many as leave 3 batches at least;
 * the slope is per row of @x.  Any length.  Return: as trend_test without -E2BIG.
 */
int drift_test(const double *x, size_t n, double alpha, struct trend *ret);

/**
 * ljung_box - p of the test that lags 1..@lags show no autocorrelation
 *
 * Q = n (n + 2) sum r_k^2 / (n - k), chi-squared with @lags degrees of freedom; on the numbers as
 * they are, or on their ranks (midranks), which heavy tails do not spoil.  A constant: p = 1.
 * Source: Ljung & Box 1978.  Return: 0; -EDOM unless 1 <= @lags < n; -ENOMEM.
 */
int ljung_box(const double *x, size_t n, size_t lags, double *ret_p);
int ljung_box_ranks(const double *x, size_t n, size_t lags, double *ret_p);

/* How significance is found: by permuting blocks of rows, so that dependence inside them stays. */
struct permute {
	size_t permutations; /* 199: p comes in steps of 1/200 */
	size_t block;	     /* rows; 1 for independent ones, else about 2 bootstrap_block() */
	double alpha;	     /* stop splitting when p > alpha */
	uint64_t seed;
};

struct change {
	size_t at;	      /* first row after the change */
	double before, after; /* means of the segments that meet here, in the final split */
	double p;	      /* of the split when it was made */
	double statistic;     /* energy statistic Q of the split */
};

/**
 * change_points - E-divisive: where the distribution of a series changes
 * @least: rows in a segment, at least 2
 * @ret: room for CHANGE_POINTS_MAX, ascending
 *
 * For two neighbouring segments X, Y of m and n rows
 *
 *	Q = mn/(m + n) (2 mean|x - y| - mean_{i<k}|x_i - x_k| - mean_{j<k}|y_j - y_k|);
 *
 * each step splits where Q is largest over all places and all ends of the right segment, in the
 * segment with the largest, and keeps the split when it exceeds what permutations inside the
 * segments give.  A series of more than CHANGE_ROWS rows is averaged in batches of equal length
 * first, and @at is a multiple of that length.
 * Source: Matteson & James 2014 (arXiv 1306.4933), exponent 1.  Cost: 0.1 s a step.
 * Return: 0; -EDOM; -ENOMEM.
 */
int change_points(const double *x, size_t n, size_t least, const struct permute *how,
		  struct change *ret, size_t *ret_nr);

/**
 * cusum_test - one change of the mean, by the largest cumulative sum of deviations
 *
 * max_k |sum_{i<=k} (x_i - mean)| / (sd sqrt(n)) against its permutations; alpha is not used.  The
 * cheap companion of change_points for long series: O(n) a permutation, nothing averaged.
 * Source: Page 1954; Taylor 2000.  Return: as change_points.
 */
int cusum_test(const double *x, size_t n, const struct permute *how, struct change *ret);

#endif
