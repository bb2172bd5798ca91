/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_SIGNFLIP_H
#define STATS_SIGNFLIP_H

/*
 * The sign-flip permutation test of the mean, and the sign test.  For counts, differences and rates
 * with zeros and ties, where a log ratio does not exist and ranks would throw the sizes away.
 *
 * Null hypothesis: d - shift is as likely as shift - d, pair by pair, so all 2^n signs of the
 * numbers d_i - shift are equally likely.  The statistic is their sum,
 *
 *	p(shift) = #{signs s: |sum s_i (d_i - shift)| >= |sum (d_i - shift)|} / 2^n,
 *
 * and p(shift) > alpha holds exactly between two order statistics of the means of the 2^n - 1
 * subsets of d (Hartigan 1969), so the interval that inverts the test has no holes.
 *
 * Up to SIGNFLIP_EXACT_MAX pairs all signs are counted (meet in the middle, O(2^(n/2)) steps).
 * Above, SIGNFLIP_DRAWS random signs and the observed ones stand for them; p = (1 + hits) / (1 +
 * draws) keeps the level (Phipson & Smyth 2010), the same seed gives the same p and interval, and
 * the interval inverts that p.  (A draw and its mirror image are one: |sum| is that of both.)  Sums
 *that differ by less than 1e-12 of sum |d_i - shift| are tied.
 *
 * Sources: Fisher 1935, section 21; Pitman 1937; Hartigan 1969; Phipson & Smyth 2010.
 * -EDOM, -ENOMEM and "untouched on failure" as in stats/stats.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/stats.h"

#define SIGNFLIP_EXACT_MAX 24 /* pairs */
#define SIGNFLIP_DRAWS 19999
#define SIGNFLIP_MAX 10000 /* pairs */

/* Are @n pairs few enough for all signs to be counted? */
static inline bool signflip_is_exact(size_t n)
{
	return n <= SIGNFLIP_EXACT_MAX;
}

/**
 * signflip_p - two-sided p of the sign-flip test of the mean of @d against @shift
 * @seed: of the random signs; not used up to SIGNFLIP_EXACT_MAX pairs
 *
 * Cost: 50 us at n = 24; some ms above.
 * Return: 0; -EDOM; -E2BIG above SIGNFLIP_MAX; -ENOMEM.
 */
int signflip_p(const double *d, size_t n, double shift, uint64_t seed, double *ret_p);

/**
 * signflip_interval - the mean of @d and the interval by inverting signflip_p with the same seed
 * @alpha: level; the interval is the closed hull of all shifts with signflip_p > @alpha
 *
 * Open (-INFINITY, INFINITY) when 2/2^n > alpha.  Unit: that of @d.  Cost: some ms.
 * Return: as signflip_p.
 */
int signflip_interval(const double *d, size_t n, double alpha, uint64_t seed, struct interval *ret);

/**
 * sign_p - two-sided p of the sign test
 * @plus, @minus: how many differences had each sign; zeros have been dropped
 * @most: the probability of either sign under the null is at most this: 0.5 for the plain test; for
 *        block maxima of nearly equal N what maxima_odds() says
 *
 * p = min(1, 2 P(B >= max(plus, minus))), B binomial(plus + minus, @most): exact for 0.5 and an
 * upper bound above.  No signs at all: p = 1.
 * Return: 0; -EDOM unless 0.5 <= @most < 1.
 */
int sign_p(uint64_t plus, uint64_t minus, double most, double *ret_p);
/* The same of the numbers @d against @shift. */
int sign_shift_p(const double *d, size_t n, double shift, double most, double *ret_p);

/**
 * sign_interval - the median of @d and the interval by inverting sign_shift_p
 * @alpha: level; the interval is the closed hull of all shifts with sign_shift_p > @alpha
 *
 * Unit: that of @d.  Cost: O(n^2).  Return: 0; -EDOM; -ENOMEM.
 */
int sign_interval(const double *d, size_t n, double most, double alpha, struct interval *ret);

#endif
