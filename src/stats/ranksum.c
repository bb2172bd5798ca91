// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/stats.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>

#include "base/cleanup.h"
#include "stats/check.h"
#include "stats/invert.h"

/* Both samples, each sorted. */
struct two {
	const double *x, *y;
	size_t nx, ny;
};

static bool is_exact(const struct two *s)
{
	return s->nx + s->ny <= RANKSUM_EXACT_MAX;
}

/* Doubled midranks of a sorted sample by itself. */
static void rank_alone(const double *x, size_t n, unsigned int *rank)
{
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && x[next] == x[i];)
			next++;
		for (size_t k = i; k < next; k++)
			rank[k] = (unsigned int)(i + next + 1);
	}
}

/*
 * Twice the midranks of x and of y - shift, pooled, x first.  An x and a y are compared by their
 * difference with the shift, as the points of the inversion are; as one grows, so do the bounds in
 * the other, and every walk goes forward only.
 * Return: the doubled number of pairs with y - shift below x.
 */
static size_t rank2(const struct two *s, double shift, enum side side, unsigned int *rank)
{
	unsigned int *rank_y = rank + s->nx;
	size_t below = 0, up_to = 0, below2 = 0;

	rank_alone(s->x, s->nx, rank);
	rank_alone(s->y, s->ny, rank_y);
	for (size_t i = 0; i < s->nx; i++) {
		while (below < s->ny && side_compare(s->y[below] - s->x[i], shift, side) < 0)
			below++;
		while (up_to < s->ny && side_compare(s->y[up_to] - s->x[i], shift, side) <= 0)
			up_to++;
		rank[i] += (unsigned int)(below + up_to);
		below2 += below + up_to;
	}
	below = up_to = 0; /* now the x below a y */
	for (size_t j = 0; j < s->ny; j++) {
		while (below < s->nx && side_compare(s->y[j] - s->x[below], shift, side) > 0)
			below++;
		while (up_to < s->nx && side_compare(s->y[j] - s->x[up_to], shift, side) >= 0)
			up_to++;
		rank_y[j] += (unsigned int)(below + up_to);
	}
	return below2;
}

/* All y - x as the points of the inversion: with x, the y below and up to a number move on. */
static void difference_count(const void *data, double v, size_t *ret_below, size_t *ret_at)
{
	const struct two *s = data;
	size_t below = 0, up_to = 0, nr_below = 0, nr_up_to = 0;

	for (size_t i = 0; i < s->nx; i++) {
		while (below < s->ny && s->y[below] - s->x[i] < v)
			below++;
		while (up_to < s->ny && s->y[up_to] - s->x[i] <= v)
			up_to++;
		nr_below += below;
		nr_up_to += up_to;
	}
	*ret_below = nr_below;
	*ret_at = nr_up_to - nr_below;
}

static double difference_next(const void *data, double v)
{
	const struct two *s = data;
	size_t up_to = 0;
	double next = HUGE_VAL;

	for (size_t i = 0; i < s->nx; i++) {
		while (up_to < s->ny && s->y[up_to] - s->x[i] <= v)
			up_to++;
		if (up_to < s->ny)
			next = fmin(next, s->y[up_to] - s->x[i]);
	}
	return next;
}

/*
 * @f[0..max]: among all subsets of @k of the @n weights, how many have each sum.  The table of
 * subsets of 0..k elements lives in @f, k + 1 rows of max + 1; the wanted row is the last.
 */
static void subset_counts(const unsigned int *w, size_t n, size_t k, size_t max, double *f)
{
	size_t row = max + 1;

	memset(f, 0, (k + 1) * row * sizeof(*f));
	f[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t c = i + 1 < k ? i + 1 : k; c > 0; c--)
			for (size_t s = w[i]; s <= max; s++)
				f[c * row + s] += f[(c - 1) * row + s - w[i]];
}

static double choose(size_t n, size_t k)
{
	double c = 1;

	for (size_t i = 1; i <= k; i++)
		c = c * (double)(n - k + i) / (double)i;
	return c;
}

/* P(sum of k of the n doubled ranks - k(k+1) <= stat2) under the null. */
static int subset_tail(const unsigned int *rank, size_t n, size_t k, size_t stat2, double *ret)
{
	size_t max = stat2 + k * (k + 1);
	_cleanup_(freep) double *f = malloc((k + 1) * (max + 1) * sizeof(*f));
	double sum = 0;

	if (!f)
		return -ENOMEM;
	subset_counts(rank, n, k, max, f);
	for (size_t i = 0; i <= max; i++)
		sum += f[k * (max + 1) + i];
	*ret = sum / choose(n, k);
	return 0;
}

/*
 * With ties the null of samples of unequal size is not symmetric: both tails are summed and the
 * smaller is doubled.  The sample that is counted is the smaller one; counting the other, or the
 * other tail, is the same with the ranks turned round.
 */
static int exact_p(const struct two *s, unsigned int *rank, size_t below2, double *ret_p)
{
	size_t n = s->nx + s->ny;
	size_t k = s->nx <= s->ny ? s->nx : s->ny;
	size_t other2 = 2 * s->nx * s->ny - below2;
	double low = 1, high = 1;
	int r;

	r = subset_tail(rank, n, k, s->nx <= s->ny ? below2 : other2, &low);
	for (size_t i = 0; i < n; i++)
		rank[i] = (unsigned int)(2 * (n + 1)) - rank[i];
	if (r == 0)
		r = subset_tail(rank, n, k, s->nx <= s->ny ? other2 : below2, &high);
	if (r < 0)
		return r;
	low = low < high ? low : high;
	*ret_p = low < 0.5 ? 2 * low : 1;
	return 0;
}

/* @squares: sum of the squared deviations of the doubled ranks from their mean. */
static double normal_p(const struct two *s, double squares, size_t below2)
{
	double n = (double)(s->nx + s->ny), nm = (double)s->nx * (double)s->ny;
	double sd2 = sqrt(squares * nm / (n * (n - 1))); /* of the doubled statistic */
	double off = fabs((double)below2 - nm) - 1;	 /* half a pair: continuity */

	if (!(sd2 > 0) || off <= 0)
		return 1;
	return 2 * gsl_cdf_ugaussian_Q(off / sd2);
}

static int p_at(const void *data, double shift, enum side side, double *ret_p)
{
	const struct two *s = data;
	size_t n = s->nx + s->ny, below2;
	_cleanup_(freep) unsigned int *rank = calloc(n, sizeof(*rank));
	double squares = 0;

	if (!rank)
		return -ENOMEM;
	below2 = rank2(s, shift, side, rank);
	if (is_exact(s))
		return exact_p(s, rank, below2, ret_p);
	for (size_t i = 0; i < n; i++)
		squares += pow((double)rank[i] - (double)(n + 1), 2);
	*ret_p = normal_p(s, squares, below2);
	return 0;
}

static int critical_exact(const struct two *s, double alpha, int64_t *ret)
{
	size_t n = s->nx + s->ny, k = s->nx <= s->ny ? s->nx : s->ny;
	size_t least = k * (k + 1) / 2, max = least + s->nx * s->ny / 2;
	_cleanup_(freep) unsigned int *rank = calloc(n, sizeof(*rank));
	_cleanup_(freep) double *f = malloc((k + 1) * (max + 1) * sizeof(*f));
	double sum = 0, all = choose(n, k);

	if (!rank || !f)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		rank[i] = (unsigned int)i + 1;
	subset_counts(rank, n, k, max, f);
	*ret = -1;
	for (size_t i = least; i <= max; i++) {
		sum += f[k * (max + 1) + i];
		if (2 * sum / all > alpha)
			break;
		*ret = 2 * (int64_t)(i - least) + 1;
	}
	return 0;
}

/* Ties make the variance smaller and p with it: what the untied p rejects, the tied one does. */
static void critical_normal(const struct two *s, double alpha, int64_t *ret)
{
	double n = (double)(s->nx + s->ny);
	double squares = n * (n * n - 1) / 3;
	size_t low = 0, high = s->nx * s->ny; /* p grows up to the mean */

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (normal_p(s, squares, mid) <= alpha)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = (int64_t)low - 1;
}

static size_t tied_pairs(const double *x, size_t n)
{
	size_t pairs = 0, run = 0;

	for (size_t i = 1; i < n; i++) {
		run = x[i] == x[i - 1] ? run + 1 : 0;
		pairs += run;
	}
	return pairs;
}

static int copy_sorted(const double *x, size_t n, double **ret)
{
	double *copy;
	int r = check_numbers(x, n);

	if (r < 0)
		return r;
	copy = malloc(n * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, x, n * sizeof(*copy));
	gsl_sort(copy, 1, n);
	*ret = copy;
	return 0;
}

static int copy_both(const struct two *s, double **ret_x, double **ret_y)
{
	int r;

	if (s->nx > RANKSUM_MAX || s->ny > RANKSUM_MAX || s->nx + s->ny > RANKSUM_MAX)
		return -E2BIG;
	r = copy_sorted(s->x, s->nx, ret_x);
	return r < 0 ? r : copy_sorted(s->y, s->ny, ret_y);
}

int ranksum_p(const double *x, size_t nx, const double *y, size_t ny, double shift, double *ret_p)
{
	_cleanup_(freep) double *xs = NULL;
	_cleanup_(freep) double *ys = NULL;
	int r = copy_both(&(struct two){ x, y, nx, ny }, &xs, &ys);

	if (r == 0)
		r = check_numbers(&shift, 1);
	if (r < 0)
		return r;
	return p_at(&(struct two){ xs, ys, nx, ny }, shift, SIDE_AT, ret_p);
}

/* Both ends; @x and @y are mirrored on the way. */
static int both_ends(double *x, double *y, struct inversion *v, struct interval *ret)
{
	const struct two *s = v->data;
	int r = 0;

	if (is_exact(s))
		r = critical_exact(s, v->alpha, &v->crit2);
	else
		critical_normal(s, v->alpha, &v->crit2);
	if (r == 0)
		r = invert_low(v, &ret->low);
	if (r < 0)
		return r;
	mirror(x, s->nx);
	mirror(y, s->ny);
	r = invert_low(v, &ret->high);
	ret->high = -ret->high;
	if (r == 0 && ret->low > ret->high) /* everything rejected: alpha next to 1 */
		ret->low = ret->high = ret->estimate;
	return r;
}

int ranksum_interval(const double *x, size_t nx, const double *y, size_t ny, double alpha,
		     struct interval *ret)
{
	_cleanup_(freep) double *xs = NULL;
	_cleanup_(freep) double *ys = NULL;
	struct two s = { .nx = nx, .ny = ny };
	struct inversion v = { .nr = nx * ny,
			       .most_tried = INVERT_TRIED,
			       .alpha = alpha,
			       .data = &s,
			       .points = &s,
			       .p = p_at,
			       .count = difference_count,
			       .next = difference_next };
	struct interval out;
	int r = copy_both(&(struct two){ x, y, nx, ny }, &xs, &ys);

	if (r < 0 || !(alpha > 0 && alpha < 1))
		return r < 0 ? r : -EDOM;
	s.x = xs;
	s.y = ys;
	v.most_tied = nx * invert_tied(ys, ny);
	if (v.most_tied > ny * invert_tied(xs, nx))
		v.most_tied = ny * invert_tied(xs, nx);
	if (is_exact(&s)) {
		v.ties = tied_pairs(xs, nx) + tied_pairs(ys, ny);
		v.per_point = 1;
	}
	out.estimate = invert_median(&v);
	r = both_ends(xs, ys, &v, &out);
	if (r < 0)
		return r;
	*ret = out;
	return 0;
}
