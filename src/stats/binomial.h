/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_BINOMIAL_H
#define STATS_BINOMIAL_H

#include <stdint.h>

/*
 * P(B >= k) for B binomial(n, p), 0 < p < 1, any n: the terms relative to that of the mode, by
 * their recursion, summed outwards until they vanish.  GSL's incomplete beta function gives up at
 * millions of samples.  Relative error about 1e-13; cost O(sqrt(n)).  Internal.
 */
double binomial_upper(uint64_t n, double p, uint64_t k);

#endif
