/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_EXCHANGE_H
#define STATS_EXCHANGE_H

/*
 * What is gained for what is paid: the ratio of two effects that were measured in the same blocks.
 * The ratio of two estimates has no honest interval of its own when the lower one is uncertain, so
 * the interval is made of all rates that a test does not reject (Fieller 1954, here with the signed
 * ranks that judged both effects):
 *
 *	{ rate > 0: signrank_p(gain - rate * cost, 0) > alpha }
 *
 * -EDOM, -ENOMEM and "untouched on failure" as in stats/stats.h.
 */

#include <stddef.h>

#include "stats/stats.h"

/**
 * exchange_rate - gain per unit of cost
 * @gain, @cost: of each of @n blocks; single blocks may have either sign
 *
 * The estimate is the rate at which the Hodges-Lehmann estimate of gain - rate * cost is 0; the
 * interval the hull of the rates that are not rejected.  Unit: that of @gain over that of @cost.
 * Cost: some hundred signrank_p.
 * Return: 0; -EDOM; -ERANGE when either of them is not above 0 by the test at @alpha: then there is
 * nothing to exchange, or no end of the interval; -E2BIG above SIGNRANK_MAX; -ENOMEM.
 */
int exchange_rate(const double *gain, const double *cost, size_t n, double alpha,
		  struct interval *ret);

#endif
