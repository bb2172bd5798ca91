// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/stats.h"

#include <math.h>
#include <stdbool.h>

/* p of equal size keep their order, so that the result does not depend on a sort's whims. */
static bool is_before(const double *p, size_t i, size_t j)
{
	return p[i] < p[j] || (p[i] == p[j] && i < j);
}

/* Step of Holm's procedure in which @p[i] comes, from 0. */
static size_t step(const double *p, size_t m, size_t i)
{
	size_t before = 0;

	for (size_t j = 0; j < m; j++)
		before += j != i && is_before(p, j, i);
	return before;
}

void holm_levels(const double *p, size_t m, double alpha, double *ret_alpha)
{
	size_t fails = m; /* the first step that fails */

	for (size_t i = 0; i < m; i++) {
		size_t k = step(p, m, i);

		if (!(p[i] <= alpha / (double)(m - k)) && k < fails)
			fails = k;
	}
	for (size_t i = 0; i < m; i++) {
		size_t k = step(p, m, i);

		ret_alpha[i] = alpha / (double)(m - (k < fails ? k : fails));
	}
}

/* Adjusted in step k (from 0): the largest (m - k) p of this step and those before. */
void holm_adjusted(const double *p, size_t m, double *ret_p)
{
	for (size_t i = 0; i < m; i++)
		ret_p[i] = 0;
	for (size_t j = 0; j < m; j++) {
		double own = fmin(1, (double)(m - step(p, m, j)) * p[j]);

		for (size_t i = 0; i < m; i++)
			if (!is_before(p, i, j))
				ret_p[i] = fmax(ret_p[i], own);
	}
}

/* The smallest m/(k + 1) p of this step (from 0, by size) and those after. */
void bh_adjusted(const double *p, size_t m, double *ret_p)
{
	for (size_t i = 0; i < m; i++)
		ret_p[i] = 1;
	for (size_t j = 0; j < m; j++) {
		double own = (double)m / (double)(step(p, m, j) + 1) * p[j];

		for (size_t i = 0; i < m; i++)
			if (!is_before(p, j, i))
				ret_p[i] = fmin(ret_p[i], own);
	}
}
