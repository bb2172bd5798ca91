// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/stats.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/cleanup.h"
#include "stats/check.h"
#include "stats/invert.h"

/* The data, sorted. */
struct paired {
	const double *d;
	size_t n;
};

/*
 * Twice the midrank of every |d - shift|, 0 for zeros, which keep the lowest ranks to themselves
 * (Pratt).  Two elements on either side of the shift are compared by their sum with twice the
 * shift, as the Walsh averages are: what is tied for the test is then tied for the interval too,
 * in floating point as on paper.
 * Return: the doubled sum of the ranks of elements below the shift.
 */
static size_t rank2(const struct paired *s, double shift, enum side side, unsigned int *rank)
{
	size_t below2 = 0;

	for (size_t i = 0; i < s->n; i++)
		rank[i] = side_compare(s->d[i], shift, side) == 0 ? 0 : 2;
	for (size_t i = 0; i < s->n; i++) {
		int si = side_compare(s->d[i], shift, side);

		for (size_t j = i + 1; j < s->n; j++) {
			int sj = side_compare(s->d[j], shift, side);
			int larger; /* which of the two lies farther from the shift */

			if (si == 0 && sj == 0)
				continue;
			if (si == sj)
				larger = s->d[i] == s->d[j] ? 0 : sj;
			else
				larger = side_compare((s->d[i] + s->d[j]) / 2, shift, side);
			if (si == 0)
				larger = 1;
			else if (sj == 0)
				larger = -1;
			rank[i] += (unsigned int)(1 - larger);
			rank[j] += (unsigned int)(1 + larger);
		}
		below2 += si < 0 ? rank[i] : 0;
	}
	return below2;
}

/* @f[0..max]: probability of each sum of a random subset of @w, where zeros take no part. */
static void subset_sums(const unsigned int *w, size_t n, size_t max, double *f)
{
	size_t top = 0;

	memset(f, 0, (max + 1) * sizeof(*f));
	f[0] = 1;
	for (size_t i = 0; i < n; i++) {
		if (w[i] == 0)
			continue;
		top = top + w[i] < max ? top + w[i] : max;
		for (size_t s = top; s >= w[i]; s--)
			f[s] = (f[s] + f[s - w[i]]) / 2;
		for (size_t s = w[i] <= top ? w[i] : top + 1; s-- > 0;)
			f[s] /= 2;
	}
}

/* Without ties all doubled ranks are even: the table may be half as long. */
static void halve(unsigned int *rank, size_t n, size_t *sum)
{
	for (size_t i = 0; i < n; i++)
		if (rank[i] % 2)
			return;
	for (size_t i = 0; i < n; i++)
		rank[i] /= 2;
	*sum /= 2;
}

static int p_at(const void *data, double shift, enum side side, double *ret_p)
{
	const struct paired *s = data;
	_cleanup_(free_uintp) unsigned int *rank = calloc(s->n, sizeof(*rank));
	_cleanup_(free_doublep) double *f = NULL;
	size_t below, total = 0;
	double tail = 0;

	if (!rank)
		return -ENOMEM;
	below = rank2(s, shift, side, rank);
	for (size_t i = 0; i < s->n; i++)
		total += rank[i];
	if (below > total - below)
		below = total - below; /* the null is symmetric */
	halve(rank, s->n, &below);
	f = malloc((below + 1) * sizeof(*f));
	if (!f)
		return -ENOMEM;
	subset_sums(rank, s->n, below, f);
	for (size_t i = 0; i <= below; i++)
		tail += f[i];
	*ret_p = tail < 0.5 ? 2 * tail : 1;
	return 0;
}

/* Largest doubled statistic that the test of @n untied numbers rejects; -1 when it never does. */
static int critical2(size_t n, double alpha, int64_t *ret)
{
	size_t max = n * (n + 1) / 4;
	_cleanup_(free_uintp) unsigned int *rank = calloc(n, sizeof(*rank));
	_cleanup_(free_doublep) double *f = malloc((max + 1) * sizeof(*f));
	double tail = 0;
	int64_t c = -1;

	if (!rank || !f)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		rank[i] = (unsigned int)i + 1;
	subset_sums(rank, n, max, f);
	for (size_t i = 0; i <= max; i++) {
		tail += f[i];
		if (2 * tail > alpha)
			break;
		c = 2 * (int64_t)i + 1;
	}
	*ret = c;
	return 0;
}

static size_t walsh(const struct paired *s, double *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->n; i++)
		for (size_t j = i; j < s->n; j++)
			w[nr++] = (s->d[i] + s->d[j]) / 2;
	gsl_sort(w, 1, nr);
	return nr;
}

static size_t tied_pairs(const struct paired *s)
{
	size_t pairs = 0, run = 0;

	for (size_t i = 1; i < s->n; i++) {
		run = s->d[i] == s->d[i - 1] ? run + 1 : 0;
		pairs += run;
	}
	return pairs;
}

static int check(const double *d, size_t n)
{
	if (n > SIGNRANK_MAX)
		return -E2BIG;
	return check_numbers(d, n);
}

int signrank_p(const double *d, size_t n, double shift, double *ret_p)
{
	_cleanup_(free_doublep) double *sorted = NULL;
	int r = check(d, n);

	if (r == 0)
		r = check_numbers(&shift, 1);
	if (r < 0)
		return r;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, d, n * sizeof(*sorted));
	gsl_sort(sorted, 1, n);
	return p_at(&(struct paired){ sorted, n }, shift, SIDE_AT, ret_p);
}

int signrank_interval(const double *d, size_t n, double alpha, struct interval *ret)
{
	_cleanup_(free_doublep) double *sorted = NULL;
	_cleanup_(free_doublep) double *w = NULL;
	struct paired s = { .n = n };
	struct inversion v = { .alpha = alpha, .per_point = 2, .data = &s, .p = p_at };
	struct interval out;
	int r = check(d, n);

	if (r < 0 || !(alpha > 0 && alpha < 1))
		return r < 0 ? r : -EDOM;
	sorted = malloc(n * sizeof(*sorted));
	w = malloc(n * (n + 1) / 2 * sizeof(*w));
	if (!sorted || !w)
		return -ENOMEM;
	memcpy(sorted, d, n * sizeof(*sorted));
	gsl_sort(sorted, 1, n);
	s.d = sorted;
	v.points = w;
	v.nr = walsh(&s, w);
	v.ties = tied_pairs(&s);
	out.estimate = gsl_stats_median_from_sorted_data(w, 1, v.nr);
	r = critical2(n, alpha, &v.crit2);
	if (r == 0)
		r = invert_low(&v, &out.low);
	if (r < 0)
		return r;
	/* the upper end is the lower end of the mirrored data */
	mirror(sorted, n);
	mirror(w, v.nr);
	r = invert_low(&v, &out.high);
	if (r < 0)
		return r;
	out.high = -out.high;
	if (out.low > out.high) /* everything rejected: alpha next to 1 */
		out.low = out.high = out.estimate;
	*ret = out;
	return 0;
}
