/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_EXCHANGE_H
#define REPORT_EXCHANGE_H

/*
 * A variant that is better in one metric and worse in another: how much of the one it gives for a
 * per cent of the other.  Described, at the plan's level, not part of any verdict.
 */

#include <stddef.h>

#include "stats/stats.h"

struct report;

struct exchange {
	size_t worse, better; /* verdicts of one variant */
	size_t blocks;	      /* in which both were measured */
	/* change of the better metric for a change of the worse one, both as shown: 0.8 is 0.8 %
	 * for 1 % */
	struct interval rate;
};

/* Return: 0; -ENODATA unless verdict @worse is worse and @better better, with an interval. */
int exchange_find(const struct report *rep, size_t worse, size_t better, struct exchange *ret);

#endif
