/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_TAILS_H
#define STATS_TAILS_H

/*
 * The tail of one sample: quantiles, exceedances, maxima.  Describes one trial or one
 * merged sample; samples of one trial are no replicates, so nothing here decides between variants:
 * put one number per trial into the paired tests.
 * -EDOM, -ENOMEM and "untouched on failure" as in stats/stats.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/stats.h"

struct hist;

/* A quantile q needs this many samples beyond it: n >= 10 / min(q, 1 - q). */
#define TAIL_BEYOND 10

/* Are @n samples enough to speak of the quantile @q? */
bool tail_is_enough(uint64_t n, double q);

/**
 * tail_ranks - which order statistics bound the quantile @q of @n independent samples
 * @ret_low, @ret_high: ranks from 1; 0 and @n + 1 when no order statistic will do
 *
 * With B the number of samples at or below the quantile, binomial(n, q): low is the largest rank
 * with P(B < low) <= alpha/2, high the smallest with P(B >= high) <= alpha/2; so the interval
 * covers the quantile of any distribution, continuous or not, with probability >= 1 - alpha.
 * Cost: O(sqrt(n)), any n.  Source: David & Nagaraja 2003, section 7.1.
 * Return: 0; -EDOM.
 */
int tail_ranks(uint64_t n, double q, double alpha, uint64_t *ret_low, uint64_t *ret_high);

/**
 * tail_quantile - quantile @q of an ascending sample with its order-statistic interval
 *
 * The estimate is Hyndman & Fan type 1, the smallest sample with rank >= q n.  Autocorrelated
 * samples make the interval too short: say so beside it.
 * Return: 0; -EDOM; -ERANGE when n < 10 / min(q, 1 - q): too few, say nothing.
 */
int tail_quantile(const double *sorted, size_t n, double q, double alpha, struct interval *ret);

/**
 * tail_quantile_hist - the same from a histogram; ns
 *
 * Estimate and upper end are the upper edges of their buckets (the maximum at most), the lower end
 * the lower edge (the minimum at least): the interval still covers, whatever lies in a bucket.
 */
int tail_quantile_hist(const struct hist *h, double q, double alpha, struct interval *ret);

/**
 * tail_zero_bound - none of @n did it: the largest probability that still gives that with @alpha
 *
 * 1 - alpha^(1/n), the exact upper bound; "the rule of three" for 0.05, just below 3/n (Hanley &
 * Lippman-Hand 1983).  Return: 0; -EDOM for n = 0 or a bad level.
 */
int tail_zero_bound(uint64_t n, double alpha, double *ret);

/* Exceedances per unit of exposure (seconds, samples); NAN without exposure. */
static inline double tail_rate(uint64_t exceedances, double exposure)
{
	return exposure > 0 ? (double)exceedances / exposure : (double)__builtin_nan("");
}

/**
 * tail_extremal_index - 1 / mean cluster size of the exceedances of @limit, from 0 to 1
 *
 * The intervals estimator, which needs no gap; 1 for independent samples.  The time between
 * exceedances is counted in samples.  Source: Ferro & Segers 2003, eq. 5.
 * Return: 0; -EDOM; -ERANGE for fewer than 10 exceedances.
 */
int tail_extremal_index(const double *x, size_t n, double limit, double *ret);

/* Maxima may be compared when the numbers of samples differ by no more than this. */
#define MAXIMA_TOLERANCE 0.01

/**
 * maxima_odds - probability that the sample with more members holds the larger maximum, under the
 * null that all members are alike: max(na, nb) / (na + nb), >= 0.5
 *
 * Numbers that differ by 1 % make it 0.5025: six signs of six then mean p <= 0.0322 instead of
 * 0.0313.  NAN for no members.
 */
double maxima_odds(uint64_t na, uint64_t nb);

/* Is the larger of two sample sizes at most @tolerance (0.01) above the smaller? */
bool maxima_comparable(uint64_t na, uint64_t nb, double tolerance);

#endif
