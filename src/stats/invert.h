/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_INVERT_H
#define STATS_INVERT_H

/*
 * The end of the interval that inverts a rank test.  Internal to stats/.
 *
 * Both rank statistics count, for a shift s, pairs whose point (a Walsh average; a difference) lies
 * below s, and half of those at s; so p is constant between neighbouring points and need be known
 * only at every point and in every gap.  With ties it is not monotone there, so the candidates are
 * walked from the far end until the first that is not rejected: the end of the closed hull.
 *
 * Most candidates need no exact p.  Breaking ties in any way moves the doubled statistic by at most
 * one for each tied pair, so the tied null lies between two shifted untied ones: a candidate whose
 * statistic plus that slack is still in the untied rejection region is rejected without computing.
 * Masses of ties leave more candidates than can be computed: after most_tried of them the rest is
 * bisected, which finds a place where rejection ends, if not always the outermost.
 */

#include <stddef.h>
#include <stdint.h>

/* Where the shift stands: at a point, or in the gap next to it. */
enum side {
	SIDE_BELOW = -1,
	SIDE_AT = 0,
	SIDE_ABOVE = 1,
};

/* -1, 0 or 1: is the pair's point @v below, at or above the shift @at / @side? */
static inline int side_compare(double v, double at, enum side side)
{
	if (v < at)
		return -1;
	if (v > at)
		return 1;
	return -(int)side;
}

/*
 * The points are not stored: there may be a million of them.  They are told by how many lie below
 * and at a number, which takes one walk over the data, and the k-th is found by bisection.
 */
#define INVERT_TRIED 100 /* the usual most_tried */

struct inversion {
	size_t nr;	  /* points, at least 1 */
	size_t most_tied; /* points that are equal, at the most */
	double alpha;
	int64_t crit2;	   /* the untied test rejects a doubled statistic up to this; -1: none */
	size_t ties;	   /* slack everywhere: pairs tied whatever the shift */
	size_t most_tried; /* candidates gone through with p before the rest is bisected */
	size_t per_point;  /* slack for each point that the shift is equal to */
	const void *data;
	int (*p)(const void *data, double at, enum side side, double *ret_p);
	const void *points; /* what the following are told */
	void (*count)(const void *points, double v, size_t *ret_below, size_t *ret_at);
	double (*next)(const void *points, double v); /* smallest above @v, else INFINITY */
};

/* The point with @rank, from 0. */
double invert_point(const struct inversion *v, size_t rank);
/* The median of all points. */
double invert_median(const struct inversion *v);

/*
 * The most elements of @sorted that can make equal sums with one number: those that are equal, or
 * so close that rounding may make them so.
 */
size_t invert_tied(const double *sorted, size_t n);

/* Lower end: -INFINITY when no shift is rejected, INFINITY when all are. -ENOMEM as @v->p. */
int invert_low(const struct inversion *v, double *ret_low);

#endif
