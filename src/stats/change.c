// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/series.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_statistics_double.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/check.h"

/* A random order of 0 .. @n - 1. */
static void shuffle(size_t *order, size_t n, uint64_t *rng)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = rng_below(rng, i + 1);

		order[i] = i;
		order[i] = order[k];
		order[k] = i;
	}
}

/* Put blocks of @block rows in a random order; a shorter block at the end takes part as it is. */
static void permute_rows(const double *x, size_t n, size_t block, uint64_t *rng, double *ret)
{
	size_t order[CHANGE_ROWS], nr = (n + block - 1) / block, at = 0;

	shuffle(order, nr, rng);
	for (size_t i = 0; i < nr; i++) {
		size_t first = order[i] * block;
		size_t length = first + block < n ? block : n - first;

		memcpy(ret + at, x + first, length * sizeof(*x));
		at += length;
	}
}

/*
 * Sums of |x_i - x_j| over all i < a, j < b, for every corner (a, b): from four of them comes the
 * sum over any rectangle, which is what the statistic of every place and end is made of.
 */
struct energy {
	double *table; /* (CHANGE_ROWS + 1)^2 */
};

static double *cell(const struct energy *e, size_t i, size_t j)
{
	return &e->table[i * (CHANGE_ROWS + 1) + j];
}

static void energy_fill(const struct energy *e, const double *x, size_t n)
{
	for (size_t j = 0; j <= n; j++)
		*cell(e, 0, j) = 0;
	for (size_t i = 1; i <= n; i++) {
		double row = 0;

		*cell(e, i, 0) = 0;
		for (size_t j = 1; j <= n; j++) {
			row += fabs(x[i - 1] - x[j - 1]);
			*cell(e, i, j) = *cell(e, i - 1, j) + row;
		}
	}
}

/* Sum over @i[0] <= i < @i[1] and @j[0] <= j < @j[1]. */
static double rectangle(const struct energy *e, const size_t i[2], const size_t j[2])
{
	return *cell(e, i[1], j[1]) - *cell(e, i[0], j[1]) - *cell(e, i[1], j[0]) +
	       *cell(e, i[0], j[0]);
}

/* Q between the rows 0..@m - 1 and @m..@end - 1 of the segment. */
static double energy_q(const struct energy *e, size_t m, size_t end)
{
	double nx = (double)m, ny = (double)(end - m);
	size_t x[2] = { 0, m }, y[2] = { m, end };
	double between = 2 * rectangle(e, x, y) / (nx * ny);
	double inside = rectangle(e, x, x) / (nx * (nx - 1)) + rectangle(e, y, y) / (ny * (ny - 1));

	return nx * ny / (nx + ny) * (between - inside);
}

/* The largest Q of a segment, over places and ends; -INFINITY when it is too short. */
static double best_split(const struct energy *e, const double *x, size_t n, size_t least,
			 size_t *ret_at)
{
	double best = -HUGE_VAL;

	energy_fill(e, x, n);
	for (size_t m = least; m + least <= n; m++)
		for (size_t end = m + least; end <= n; end++) {
			double q = energy_q(e, m, end);

			if (q > best) {
				best = q;
				*ret_at = m;
			}
		}
	return best;
}

/* A series in segments: segment k is the rows @start[k] .. @start[k + 1] - 1. */
struct split {
	const double *x;
	size_t start[CHANGE_POINTS_MAX + 2], nr;
	size_t least;
	struct energy energy;
};

struct found {
	size_t segment, at; /* row, from the start of the series */
	double q;
};

/* The best split of all segments of @x, a permutation of the series inside the segments. */
static struct found find(const struct split *s, const double *x)
{
	struct found best = { .q = -HUGE_VAL };

	for (size_t k = 0; k < s->nr; k++) {
		size_t at = 0, first = s->start[k];
		double q =
			best_split(&s->energy, x + first, s->start[k + 1] - first, s->least, &at);

		if (q > best.q)
			best = (struct found){ k, first + at, q };
	}
	return best;
}

static double permuted_p(const struct split *s, double q, const struct permute *how, size_t block,
			 uint64_t *rng)
{
	double x[CHANGE_ROWS];
	size_t hits = 1;

	for (size_t i = 0; i < how->permutations; i++) {
		for (size_t k = 0; k < s->nr; k++)
			permute_rows(s->x + s->start[k], s->start[k + 1] - s->start[k], block, rng,
				     x + s->start[k]);
		hits += find(s, x).q >= q * (1 - 1e-12);
	}
	return (double)hits / (double)(how->permutations + 1);
}

static void add_split(struct split *s, const struct found *f)
{
	for (size_t k = s->nr; k > f->segment; k--)
		s->start[k + 1] = s->start[k];
	s->start[f->segment + 1] = f->at;
	s->nr++;
}

/* Insert by place; the segments' means come at the end. */
static void add_change(struct change *ret, size_t nr, const struct change *c)
{
	size_t k = nr;

	for (; k > 0 && ret[k - 1].at > c->at; k--)
		ret[k] = ret[k - 1];
	ret[k] = *c;
}

static bool is_usable(const double *x, size_t n, const struct permute *how)
{
	return check_numbers(x, n) == 0 && how->permutations > 0 && how->block > 0;
}

static size_t split_all(struct split *s, const struct permute *how, size_t block,
			struct change *ret)
{
	uint64_t rng = how->seed;
	size_t nr = 0;

	while (nr < CHANGE_POINTS_MAX) {
		struct found f = find(s, s->x);
		struct change c = { .at = f.at, .statistic = f.q };

		if (!(f.q > 0))
			break;
		c.p = permuted_p(s, f.q, how, block, &rng);
		if (c.p > how->alpha)
			break;
		add_change(ret, nr++, &c);
		add_split(s, &f);
	}
	return nr;
}

int change_points(const double *x, size_t n, size_t least, const struct permute *how,
		  struct change *ret, size_t *ret_nr)
{
	_cleanup_(freep) double *table = NULL;
	double rows[CHANGE_ROWS];
	size_t length = (n + CHANGE_ROWS - 1) / CHANGE_ROWS, nr;
	struct split s = { .x = rows, .nr = 1, .least = least };

	if (!is_usable(x, n, how) || least < 2 || !(how->alpha > 0 && how->alpha < 1))
		return -EDOM;
	table = malloc((CHANGE_ROWS + 1) * (CHANGE_ROWS + 1) * sizeof(*table));
	if (!table)
		return -ENOMEM;
	s.energy.table = table;
	s.start[1] = n / length;
	for (size_t i = 0; i < s.start[1]; i++)
		rows[i] = gsl_stats_mean(x + i * length, 1, length);
	if (length > 1)
		s.least = least / length > 2 ? least / length : 2;
	nr = split_all(&s, how, (how->block + length - 1) / length, ret);
	for (size_t k = 0; k < nr; k++) {
		size_t a = s.start[k], b = s.start[k + 1], c = s.start[k + 2];

		ret[k].before = gsl_stats_mean(rows + a, 1, b - a);
		ret[k].after = gsl_stats_mean(rows + b, 1, c - b);
		ret[k].at *= length;
	}
	*ret_nr = nr;
	return 0;
}

/* The largest |sum of the first k deviations|, and the first row after it. */
static double largest_sum(const double *x, size_t n, double mean, size_t *ret_at)
{
	double sum = 0, largest = -1;

	for (size_t i = 0; i + 1 < n; i++) {
		sum += x[i] - mean;
		if (fabs(sum) > largest) {
			largest = fabs(sum);
			*ret_at = i + 1;
		}
	}
	return largest;
}

/*
 * The same of a permutation of blocks.  Inside a block the sum is gone through row by row, so that
 * the permuted series is treated as the one observed.
 */
static double permuted_sum(const double *x, size_t n, double mean, size_t block, size_t *order,
			   uint64_t *rng)
{
	size_t nr = (n + block - 1) / block, left = n;
	double sum = 0, largest = 0;

	shuffle(order, nr, rng);
	for (size_t i = 0; i < nr; i++) {
		size_t first = order[i] * block, end = first + block < n ? first + block : n;

		for (size_t k = first; k < end && --left > 0; k++) {
			sum += x[k] - mean;
			largest = fmax(largest, fabs(sum));
		}
	}
	return largest;
}

int cusum_test(const double *x, size_t n, const struct permute *how, struct change *ret)
{
	size_t *order, at = 1, hits = 1;
	double mean, largest, sd;
	uint64_t rng = how->seed;

	if (!is_usable(x, n, how) || n < 3)
		return -EDOM;
	order = malloc(n * sizeof(*order));
	if (!order)
		return -ENOMEM;
	mean = gsl_stats_mean(x, 1, n);
	sd = gsl_stats_sd_m(x, 1, n, mean);
	largest = largest_sum(x, n, mean, &at);
	for (size_t i = 0; i < how->permutations; i++)
		hits += permuted_sum(x, n, mean, how->block, order, &rng) >= largest * (1 - 1e-12);
	free(order);
	*ret = (struct change){ .at = at,
				.before = gsl_stats_mean(x, 1, at),
				.after = gsl_stats_mean(x + at, 1, n - at),
				.p = (double)hits / (double)(how->permutations + 1),
				.statistic = sd > 0 ? largest / (sd * sqrt((double)n)) : 0 };
	return 0;
}
