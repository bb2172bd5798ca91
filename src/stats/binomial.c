// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/binomial.h"

#include <math.h>

double binomial_upper(uint64_t n, double p, uint64_t k)
{
	double odds = p / (1 - p), above = 0, below = 0, w = 1;
	uint64_t mode = (uint64_t)fmin(floor(((double)n + 1) * p), (double)n);

	if (k == 0)
		return 1;
	if (k > n)
		return 0;
	for (uint64_t i = mode; i <= n && w > 0; i++) { /* w: the term of i */
		*(i >= k ? &above : &below) += w;
		w *= (double)(n - i) / ((double)i + 1) * odds;
	}
	w = 1;
	for (uint64_t i = mode; i > 0 && w > 0; i--) {
		w *= (double)i / ((double)(n - i) + 1) / odds; /* the term of i - 1 */
		*(i > k ? &above : &below) += w;
	}
	return above / (above + below);
}
