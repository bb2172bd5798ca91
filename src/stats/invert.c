// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/invert.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "stats/order.h"

double invert_point(const struct inversion *v, size_t rank)
{
	int64_t low = to_order(v->next(v->points, -HUGE_VAL)), high = to_order(DBL_MAX);

	while (low < high) {
		int64_t mid = low < 0 && high > 0 ? 0 : low + (high - low) / 2;
		size_t below, at;

		v->count(v->points, from_order(mid), &below, &at);
		if (below + at > rank)
			high = mid;
		else
			low = mid + 1;
	}
	return from_order(low);
}

double invert_median(const struct inversion *v)
{
	double low = invert_point(v, (v->nr - 1) / 2);

	return v->nr % 2 ? low : (low + invert_point(v, v->nr / 2)) / 2;
}

size_t invert_tied(const double *sorted, size_t n)
{
	double close = 8 * DBL_EPSILON * fmax(fabs(sorted[0]), fabs(sorted[n - 1]));
	size_t most = 1, first = 0;

	for (size_t i = 0; i < n; i++) {
		while (sorted[i] - sorted[first] > close)
			first++;
		most = i + 1 - first > most ? i + 1 - first : most;
	}
	return most;
}

/* Is the candidate rejected?  @stat2 is the most its doubled statistic can be. */
static int is_rejected(const struct inversion *v, double at, enum side side, size_t stat2,
		       bool *ret)
{
	double p;
	int r;

	if ((int64_t)stat2 <= v->crit2) {
		*ret = true;
		return 0;
	}
	r = v->p(v->data, at, side, &p);
	if (r == 0)
		*ret = p <= v->alpha;
	return r;
}

/* The first point that may not be rejected: for all before it the slack is too small to matter. */
static double first_candidate(const struct inversion *v)
{
	/* at a point its equals count half: their slack is theirs in full less what they lack */
	size_t equal = v->per_point > 0 ? (v->per_point - 1) * v->most_tied : 0;
	int64_t sure = (v->crit2 - (int64_t)(v->ties + equal)) / 2;

	if (sure <= 0)
		return v->next(v->points, -HUGE_VAL);
	return invert_point(v, (size_t)sure < v->nr ? (size_t)sure : v->nr - 1);
}

/* Is the point @at rejected, and the gap above it?  Adds to @tried when that takes a p. */
static int is_point_rejected(const struct inversion *v, double at, size_t *tried, bool *ret)
{
	size_t below, equal, next, stat2;
	int r;

	v->count(v->points, at, &below, &equal);
	next = below + equal;
	stat2 = below + next + v->ties + v->per_point * equal;
	*tried += (int64_t)stat2 > v->crit2 || (int64_t)(2 * next + v->ties) > v->crit2;
	r = is_rejected(v, at, SIDE_AT, stat2, ret);
	if (r == 0 && *ret)
		r = is_rejected(v, at, SIDE_ABOVE, 2 * next + v->ties, ret);
	return r;
}

/* A place after the rejected point @out where the test comes to reject no more. */
static int bisect(const struct inversion *v, double out, double *ret_low)
{
	/* ranks of a rejected point, and of one that is not */
	size_t low, high = v->nr - 1, equal, tried = 0;

	v->count(v->points, out, &low, &equal);
	while (low + 1 < high) {
		size_t mid = low + (high - low) / 2;
		bool rejected = false;
		int r = is_point_rejected(v, invert_point(v, mid), &tried, &rejected);

		if (r < 0)
			return r;
		if (rejected)
			low = mid;
		else
			high = mid;
	}
	*ret_low = invert_point(v, high);
	return 0;
}

int invert_low(const struct inversion *v, double *ret_low)
{
	double p, at = first_candidate(v);
	size_t tried = 0;
	int r = v->p(v->data, v->next(v->points, -HUGE_VAL), SIDE_BELOW, &p);

	if (r < 0)
		return r;
	if (p > v->alpha) {
		*ret_low = -HUGE_VAL;
		return 0;
	}
	while (at < HUGE_VAL) {
		bool rejected = false;

		r = is_point_rejected(v, at, &tried, &rejected);
		if (r < 0)
			return r;
		if (!rejected) {
			*ret_low = at;
			return 0;
		}
		if (tried >= v->most_tried)
			return bisect(v, at, ret_low);
		at = v->next(v->points, at);
	}
	*ret_low = HUGE_VAL;
	return 0;
}
