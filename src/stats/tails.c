// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/tails.h"

#include <errno.h>
#include <math.h>

#include "sample/hist.h"
#include "stats/binomial.h"
#include "stats/check.h"

#define CLUSTERED_MIN 10 /* exceedances for an extremal index */

bool tail_is_enough(uint64_t n, double q)
{
	/* a hair of slack: 1 - 0.999 is a little more than 0.001 */
	return q > 0 && q < 1 && (double)n * fmin(q, 1 - q) >= TAIL_BEYOND * (1 - 1e-12);
}

/* The smallest rank from 1 to n + 1 with P(B >= rank) <= @level. */
static uint64_t rank_above(uint64_t n, double q, double level)
{
	uint64_t fails = 0, fits = n + 1;

	while (fits - fails > 1) {
		uint64_t mid = fails + (fits - fails) / 2;

		if (binomial_upper(n, q, mid) <= level)
			fits = mid;
		else
			fails = mid;
	}
	return fits;
}

int tail_ranks(uint64_t n, double q, double alpha, uint64_t *ret_low, uint64_t *ret_high)
{
	if (n == 0 || n > UINT64_MAX / 2 || !(q > 0 && q < 1) || !(alpha > 0 && alpha < 1))
		return -EDOM;
	/* P(B < low) is P(n - B >= n + 1 - low): the same search from the other end */
	*ret_low = n + 1 - rank_above(n, 1 - q, alpha / 2);
	*ret_high = rank_above(n, q, alpha / 2);
	return 0;
}

/* The ranks of estimate and ends; -ERANGE for too few. */
static int quantile_ranks(uint64_t n, double q, double alpha, uint64_t *ret)
{
	int r;

	if (n == 0)
		return -EDOM;
	r = tail_ranks(n, q, alpha, &ret[0], &ret[2]);
	if (r < 0)
		return r;
	if (!tail_is_enough(n, q))
		return -ERANGE;
	ret[1] = (uint64_t)fmax(1, ceil(q * (double)n)); /* as hist_quantile */
	return 0;
}

int tail_quantile(const double *sorted, size_t n, double q, double alpha, struct interval *ret)
{
	uint64_t rank[3] = {};
	int r = check_numbers(sorted, n);

	for (size_t i = 1; i < n && r == 0; i++)
		r = sorted[i - 1] > sorted[i] ? -EDOM : 0;
	if (r == 0)
		r = quantile_ranks(n, q, alpha, rank);
	if (r < 0)
		return r;
	ret->low = rank[0] > 0 ? sorted[rank[0] - 1] : -HUGE_VAL;
	ret->estimate = sorted[rank[1] - 1];
	ret->high = rank[2] <= n ? sorted[rank[2] - 1] : HUGE_VAL;
	return 0;
}

/* The bucket of the sample with rank 1..total. */
static unsigned int bucket_of(const struct hist *h, uint64_t rank)
{
	uint64_t seen = 0;
	unsigned int i = 0;

	while (i < HIST_BUCKETS - 1 && (seen += h->count[i]) < rank)
		i++;
	return i;
}

static double at_most(uint64_t v, uint64_t limit)
{
	return (double)(v < limit ? v : limit);
}

int tail_quantile_hist(const struct hist *h, double q, double alpha, struct interval *ret)
{
	uint64_t rank[3] = {}, lower;
	int r = quantile_ranks(h->total, q, alpha, rank);

	if (r < 0)
		return r;
	ret->low = -HUGE_VAL;
	ret->high = HUGE_VAL;
	if (rank[0] > 0) {
		lower = hist_lower(bucket_of(h, rank[0]));
		ret->low = (double)(lower > h->min ? lower : h->min);
	}
	ret->estimate = at_most(hist_upper(bucket_of(h, rank[1])), h->max);
	if (rank[2] <= h->total)
		ret->high = at_most(hist_upper(bucket_of(h, rank[2])), h->max);
	return 0;
}

int tail_zero_bound(uint64_t n, double alpha, double *ret)
{
	if (n == 0 || !(alpha > 0 && alpha < 1))
		return -EDOM;
	*ret = -expm1(log(alpha) / (double)n);
	return 0;
}

int tail_extremal_index(const double *x, size_t n, double limit, double *ret)
{
	double sum = 0, squares = 0, sum_less = 0, squares_less = 0, largest = 0, index;
	size_t nr = 0, last = 0;

	for (size_t i = 0; i < n; i++) {
		double t = (double)(i - last);

		if (isnan(x[i]))
			return -EDOM;
		if (!(x[i] > limit))
			continue;
		if (nr++ > 0) {
			sum += t;
			squares += t * t;
			sum_less += t - 1;
			squares_less += (t - 1) * (t - 2);
			largest = fmax(largest, t);
		}
		last = i;
	}
	if (nr < CLUSTERED_MIN)
		return -ERANGE;
	if (largest <= 2)
		index = 2 * sum * sum / ((double)(nr - 1) * squares);
	else
		index = 2 * sum_less * sum_less / ((double)(nr - 1) * squares_less);
	*ret = fmin(1, index);
	return 0;
}

double maxima_odds(uint64_t na, uint64_t nb)
{
	double a = (double)na, b = (double)nb;

	return a + b > 0 ? fmax(a, b) / (a + b) : (double)NAN;
}

bool maxima_comparable(uint64_t na, uint64_t nb, double tolerance)
{
	uint64_t less = na < nb ? na : nb, more = na < nb ? nb : na;

	return less > 0 && (double)(more - less) <= tolerance * (double)less;
}
