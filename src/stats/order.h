/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_ORDER_H
#define STATS_ORDER_H

/* Doubles in their order as integers, so that a bisection ends at neighbours.  Internal. */

#include <stdint.h>
#include <string.h>

static inline int64_t to_order(double v)
{
	int64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits < 0 ? INT64_MIN - bits : bits;
}

static inline double from_order(int64_t order)
{
	int64_t bits = order < 0 ? INT64_MIN - order : order;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Half-way between two of them, rounded towards zero or down: never beyond either. */
static inline int64_t order_middle(int64_t a, int64_t b)
{
	return a / 2 + b / 2 + (a % 2 + b % 2) / 2;
}

#endif
