/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_RANKS_H
#define STATS_RANKS_H

/* The signed ranks of sorted numbers around a shift.  Internal to stats/. */

#include <stddef.h>
#include <stdint.h>

#include "stats/invert.h"

/* The data, sorted. */
struct paired {
	const double *d;
	size_t n;
};

/**
 * signed_ranks - twice the midrank of every |d - shift|, 0 for zeros, which keep the lowest ranks
 * to themselves (Pratt 1959)
 *
 * Two elements on either side of the shift are compared by their sum with twice the shift, as the
 * Walsh averages are: what is tied for the test is then tied for the interval too, in floating
 * point as on paper.  Cost: O(n).
 * Return: the doubled sum of the ranks of elements below the shift.
 */
size_t signed_ranks(const struct paired *s, double shift, enum side side, unsigned int *rank);

/* The Walsh averages of the data as the points of an inversion; @points is a struct paired. */
void walsh_count(const void *points, double v, size_t *ret_below, size_t *ret_at);
double walsh_next(const void *points, double v);
/* Largest doubled statistic that the test of @n untied numbers rejects; -1: never.  -ENOMEM. */
int signrank_critical2(size_t n, double alpha, int64_t *ret);
/* Fill in the points, and the slack that ties need. */
void walsh_points(const struct paired *s, struct inversion *ret);

#endif
