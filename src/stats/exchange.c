// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/exchange.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define FARTHEST 1e9 /* rates looked at: from its inverse on */
#define HALVINGS 50  /* of the logarithm of a rate */

struct trade {
	const double *gain, *cost;
	size_t n;
	double alpha;
	double *d; /* scratch */
};

static const double *less_cost(const struct trade *t, double rate)
{
	for (size_t i = 0; i < t->n; i++)
		t->d[i] = t->gain[i] - rate * t->cost[i];
	return t->d;
}

static int is_above_zero(const double *x, const struct trade *t)
{
	struct interval i;
	int r = signrank_interval(x, t->n, t->alpha, &i);

	if (r < 0)
		return r;
	return i.low > 0 ? 0 : -ERANGE;
}

/* The sign of what is left at @rate: above 0 the rate is too low. */
static int left_over(const struct trade *t, double rate, double *ret)
{
	struct interval i;
	int r = signrank_interval(less_cost(t, rate), t->n, t->alpha, &i);

	*ret = i.estimate;
	return r;
}

static int is_rejected(const struct trade *t, double rate, bool *ret)
{
	double p = 0;
	int r = signrank_p(less_cost(t, rate), t->n, 0, &p);

	*ret = !(p > t->alpha);
	return r;
}

static int find_estimate(const struct trade *t, double *ret)
{
	double low = 1 / FARTHEST, high = FARTHEST;

	for (int i = 0; i < HALVINGS; i++) {
		double mid = sqrt(low * high), left = 0;
		int r = left_over(t, mid, &left);

		if (r < 0)
			return r;
		if (left > 0)
			low = mid;
		else
			high = mid;
	}
	*ret = sqrt(low * high);
	return 0;
}

/* The end of the interval between @rejected, far out, and @held, the estimate. */
static int find_end(const struct trade *t, double rejected, double held, double *ret)
{
	for (int i = 0; i < HALVINGS; i++) {
		double mid = sqrt(rejected * held);
		bool is = false;
		int r = is_rejected(t, mid, &is);

		if (r < 0)
			return r;
		if (is)
			rejected = mid;
		else
			held = mid;
	}
	*ret = held;
	return 0;
}

int exchange_rate(const double *gain, const double *cost, size_t n, double alpha,
		  struct interval *ret)
{
	_cleanup_(freep) double *d = calloc(n + 1, sizeof(*d));
	const struct trade t = { gain, cost, n, alpha, d };
	struct interval i = {};
	int r;

	if (!d)
		return -ENOMEM;
	r = is_above_zero(gain, &t);
	if (r == 0)
		r = is_above_zero(cost, &t);
	if (r == 0)
		r = find_estimate(&t, &i.estimate);
	if (r == 0)
		r = find_end(&t, 1 / FARTHEST, i.estimate, &i.low);
	if (r == 0)
		r = find_end(&t, FARTHEST, i.estimate, &i.high);
	if (r == 0)
		*ret = i;
	return r;
}
