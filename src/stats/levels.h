/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_LEVELS_H
#define STATS_LEVELS_H

/*
 * Where the variance arises: build, boot, block, trial, sample.  Repeat where it is large.
 *
 * Nested random effects, x = mean + build + boot(build) + ... + residual, unbalanced allowed.  With
 * Q_l the sum over the groups g of level l of (sum of g)^2 / (members of g),
 *
 *	E(Q_l) = N mean^2 + sum_j a_lj var_j + groups_l var_residual,
 *	a_lj   = sum over g of level l, h of level j of |g and h|^2 / |g|;
 *
 * the differences Q_l - Q_(l-1) are set equal to their expectations and solved from the innermost
 * level outwards (method of moments; for balanced data the classical analysis of variance).
 * Sources: Henderson 1953, method 1; Searle, Casella & McCulloch 1992, chapter 5; Kalibera & Jones
 * 2013 (repeat where the variance is).
 */

#include <stddef.h>

#define LEVELS_MAX 8

/**
 * struct nested - numbers and the groups they belong to
 * @group: @n rows of @nr_levels labels, outermost level first.  A label means something only inside
 *         the labels before it: boot 1 of build 1 is another boot than boot 1 of build 2
 */
struct nested {
	const double *x;
	size_t n;
	const unsigned int *group;
	size_t nr_levels;
};

/* A level, or (last) the residual. */
struct level {
	double variance; /* as estimated: may be below 0, read as "none seen"; NAN: not separable */
	size_t df;	 /* degrees of freedom; 0 when not separable */
	size_t groups;
};

/**
 * variance_levels - variance by level
 * @ret: nr_levels + 1 of them, outermost first, the residual last
 *
 * A level whose groups each hold one group of the next adds no degree of freedom to the next one:
 * its variance is NAN there and is contained in the outer one.  A single outermost group leaves its
 * own variance NAN (one boot per variant says nothing about boots).
 * Cost: O(n log n).  Return: 0; -EDOM, also above LEVELS_MAX; -ENOMEM.
 */
int variance_levels(const struct nested *d, struct level *ret);

#endif
