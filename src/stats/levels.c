// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/levels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "stats/check.h"

/* A row: its number and its labels. */
struct member {
	double x;
	const unsigned int *group;
	size_t nr_levels;
};

static int by_labels(const void *va, const void *vb)
{
	const struct member *a = va, *b = vb;

	for (size_t l = 0; l < a->nr_levels; l++)
		if (a->group[l] != b->group[l])
			return a->group[l] < b->group[l] ? -1 : 1;
	return (a->x > b->x) - (a->x < b->x); /* so that the order of the rows does not matter */
}

/* Do two rows belong to the same group of level @l (0: all do)? */
static int is_together(const struct member *a, const struct member *b, size_t l)
{
	for (size_t k = 0; k < l; k++)
		if (a->group[k] != b->group[k])
			return 0;
	return 1;
}

/*
 * Level 0 is the whole, 1..nr_levels the levels, nr_levels + 1 the single rows.
 * @q: sum of (sum of a group)^2 / members;  @groups: how many
 * @a: a[l][j], the part of variance j that E(Q_l) holds
 */
struct sums {
	size_t top; /* nr_levels + 1 */
	double q[LEVELS_MAX + 2];
	size_t groups[LEVELS_MAX + 2];
	double a[LEVELS_MAX + 2][LEVELS_MAX + 2];
};

/* First row after the group of level @l that starts at @first. */
static size_t group_end(const struct member *m, size_t n, size_t first, size_t l)
{
	size_t end = first + 1;

	while (end < n && is_together(&m[first], &m[end], l))
		end++;
	return end;
}

/* Add what one group of level @l, rows @first .. @end - 1, holds of the deeper levels. */
static void add_parts(struct sums *s, const struct member *m, size_t first, size_t end, size_t l)
{
	double size = (double)(end - first);

	for (size_t j = 1; j <= l && j < s->top; j++)
		s->a[l][j] += size; /* the outer group holds all of it */
	for (size_t j = l + 1; j < s->top; j++)
		for (size_t i = first, next; i < end; i = next) {
			next = group_end(m, end, i, j);
			s->a[l][j] += (double)(next - i) * (double)(next - i) / size;
		}
	s->a[l][s->top] += 1; /* rows are groups of one: size of them, each 1/size */
}

static void add_level(struct sums *s, const struct member *m, size_t n, size_t l)
{
	for (size_t first = 0, end; first < n; first = end) {
		double sum = 0;

		end = l < s->top ? group_end(m, n, first, l) : first + 1;
		for (size_t i = first; i < end; i++)
			sum += m[i].x;
		s->q[l] += sum * sum / (double)(end - first);
		s->groups[l]++;
		add_parts(s, m, first, end, l);
	}
}

/* From the residual outwards: each difference of neighbouring Q holds one more unknown. */
static void solve(const struct sums *s, struct level *ret)
{
	double known[LEVELS_MAX + 2] = {};

	for (size_t l = s->top; l > 0; l--) {
		double rest = s->q[l] - s->q[l - 1];
		size_t df = s->groups[l] - s->groups[l - 1];

		for (size_t j = l + 1; j <= s->top; j++)
			rest -= (s->a[l][j] - s->a[l - 1][j]) * known[j];
		ret[l - 1] = (struct level){ (double)NAN, df, s->groups[l] };
		if (df == 0)
			continue;
		known[l] = rest / (s->a[l][l] - s->a[l - 1][l]);
		ret[l - 1].variance = known[l];
	}
}

int variance_levels(const struct nested *d, struct level *ret)
{
	struct sums s = { .top = d->nr_levels + 1 };
	struct member *m;
	double mean = 0;

	if (check_numbers(d->x, d->n) < 0 || d->nr_levels > LEVELS_MAX)
		return -EDOM;
	m = calloc(d->n, sizeof(*m));
	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < d->n; i++)
		mean += d->x[i] / (double)d->n;
	/* around the mean, which no level holds: less is lost in the squares */
	for (size_t i = 0; i < d->n; i++)
		m[i] = (struct member){ d->x[i] - mean, d->group + i * d->nr_levels, d->nr_levels };
	qsort(m, d->n, sizeof(*m), by_labels);
	for (size_t l = 0; l <= s.top; l++)
		add_level(&s, m, d->n, l);
	free(m);
	solve(&s, ret);
	return 0;
}
