/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_CHECK_H
#define STATS_CHECK_H

/* Small things that every file of stats/ needs.  Internal. */

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Sums and differences of two numbers must not overflow. */
#define NUMBER_MAX (DBL_MAX / 4)

/* -EDOM when there are none, or one of them is no number or too large to be added up. */
static inline int check_numbers(const double *x, size_t n)
{
	if (n == 0)
		return -EDOM;
	for (size_t i = 0; i < n; i++)
		if (!(fabs(x[i]) <= NUMBER_MAX))
			return -EDOM;
	return 0;
}

/* Change the sign of all numbers of an ascending array and keep it ascending. */
static inline void mirror(double *x, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		double t = x[i];

		x[i] = -x[n - 1 - i];
		x[n - 1 - i] = -t;
	}
	if (n % 2)
		x[n / 2] = -x[n / 2];
}

#endif
