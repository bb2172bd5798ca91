/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VERDICT_VERDICT_H
#define VERDICT_VERDICT_H

/*
 * From the trials of a run to better, worse, same or undecided.  Pure.
 *
 * The trial is the unit; variants are compared with the baseline within their block, on the log
 * ratio (on the difference in units of the baseline's median where a value is zero).  One procedure
 * gives test, interval and word: the exact signed-rank test and the interval that inverts it, at
 * the level that Holm's procedure gives the metric among all primary ones (per variant).
 *
 *	same       the interval lies inside the margin; takes precedence
 *	better     the interval lies on the good side of zero
 *	worse      ... on the bad side
 *	undecided  otherwise, with about how many more blocks it would take
 *	vetoed     too few trials are left because they were vetoed; the commonest reason is given
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/plugin.h"
#include "sample/observation.h"

struct err;

enum verdict_word {
	VERDICT_BETTER,
	VERDICT_WORSE,
	VERDICT_SAME,
	VERDICT_UNDECIDED,
	VERDICT_VETOED,
};

/* "better" ... */
const char *verdict_word(enum verdict_word w);

struct verdict_query {
	const char *metric; /* for messages: "wakeup.p99@net" */
	enum better better;
	double margin;		       /* ratio */
	const struct observation *obs; /* of all variants, any order */
	size_t nr_obs;
};

struct verdict {
	size_t query;	      /* index into the queries */
	unsigned int variant; /* > 0 */
	enum verdict_word word;
	size_t blocks;		  /* complete pairs used */
	size_t lost;		  /* blocks without a usable pair */
	double baseline, value;	  /* medians over the used blocks, in the metric's unit */
	double change;		  /* Hodges-Lehmann estimate as ratio: 0.016 is +1.6 % */
	double low, high;	  /* its interval; -INFINITY..INFINITY when n is too small */
	double p;		  /* exact, two-sided, unadjusted */
	double alpha;		  /* level of interval and word, after Holm */
	unsigned int more_blocks; /* undecided: about how many more; 0 when it cannot be said */
	const char *reason;	  /* vetoed: the commonest reason; borrowed from the observations */
};

/**
 * verdict_decide - judge every metric for every variant but the baseline
 * @alpha: family-wise level per variant over the @nr_queries primary metrics (0.05)
 * @ret: nr_queries * (nr_variants - 1) verdicts, by variant, then query; caller's array
 *
 * Return: 0; -ENOMEM; -EINVAL for an observation of an unknown variant or twice the same cell.
 */
int verdict_decide(const struct verdict_query *queries, size_t nr_queries, size_t nr_variants,
		   double alpha, struct verdict *ret, struct err *e);

/* The run's exit code: 5 when any is worse, else 4 when any is undecided or vetoed, else 0. */
int verdict_exit_code(const struct verdict *v, size_t nr);

#endif
