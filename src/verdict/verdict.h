/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VERDICT_VERDICT_H
#define VERDICT_VERDICT_H

/*
 * From the trials of a run to better, worse, same or undecided.  Pure.
 *
 * The trial is the unit; variants are compared with the baseline within their block, on the log
 * ratio (on the difference in units of the baseline's median where a usable value of the metric is
 * zero or negative).  One procedure gives test, interval and word: the exact signed-rank test and
 * the interval that inverts it, at the level that Holm's procedure gives the metric among all
 * primary ones (per variant).
 *
 *	same       the interval lies inside the margin, -margin <= low and high <= margin as
 *	           ratios (so on the log scale it is log(1 - margin) .. log(1 + margin));
 *	           takes precedence
 *	better     the interval lies on the good side of zero
 *	worse      ... on the bad side
 *	undecided  otherwise, with about how many more blocks it would take
 *	vetoed     too few trials are left to reject anything at the level (2/2^n > alpha) and some
 *	           were lost to a veto or failure; the commonest reason is given
 *
 * A trial that was vetoed, failed, or whose value is missing or not finite takes its block's pair
 * with it.  Why: docs/method.md.
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

/* What change, low and high of a verdict are. */
enum verdict_scale {
	VERDICT_SCALE_RATIO,  /* value / baseline - 1, from log ratios */
	VERDICT_SCALE_MEDIAN, /* (value - baseline) / |median of the baseline| */
	VERDICT_SCALE_UNIT,   /* value - baseline in the metric's unit: the baseline's median is 0;
				 a margin, being a ratio, means nothing here and is taken as 0 */
};

/* "better" ... */
const char *verdict_word(enum verdict_word w);

struct verdict_query {
	const char *metric;	       /* for messages: "wakeup.p99@net" */
	enum better better;	       /* not BETTER_NONE */
	double margin;		       /* ratio; 0 for none: then only [0, 0] is the same */
	const struct observation *obs; /* of all variants, any order */
	size_t nr_obs;
};

struct verdict {
	size_t query;	      /* index into the queries */
	unsigned int variant; /* > 0 */
	enum verdict_word word;
	enum verdict_scale scale;
	size_t blocks;		/* complete pairs used */
	size_t lost;		/* blocks without a usable pair */
	double baseline, value; /* medians over the used blocks, in the metric's unit; NAN: none */
	double change;		/* Hodges-Lehmann estimate, see scale: 0.016 is +1.6 %; NAN: none */
	double low, high;	/* its interval; -INFINITY..INFINITY when n is too small */
	double p;		/* exact, two-sided, unadjusted */
	double alpha;		/* level of interval and word, after Holm */
	unsigned int more_blocks; /* undecided, vetoed: about how many more; 0: cannot be said */
	const char *reason;	  /* vetoed: the commonest reason; borrowed from the observations */
};

/**
 * verdict_decide - judge every metric for every variant but the baseline
 * @alpha: family-wise level per variant over the @nr_queries primary metrics (0.05)
 * @ret: nr_queries * (nr_variants - 1) verdicts, by variant, then query; caller's array
 *
 * more_blocks is where the half-width, shrinking as 1/sqrt(n), lets the interval clear zero or fit
 * the margin, whichever comes first, and 0 beyond 100 times the blocks there are; when pairs are
 * too few for the level, it is how many are missing.
 *
 * Return: 0; -ENOMEM; -E2BIG above SIGNRANK_MAX blocks; -EINVAL for an observation of an unknown
 * variant, twice the same cell, or a query without direction or with a bad margin; -EDOM for values
 * whose differences overflow.
 */
int verdict_decide(const struct verdict_query *queries, size_t nr_queries, size_t nr_variants,
		   double alpha, struct verdict *ret, struct err *e);

/* The run's exit code: 5 when any is worse, else 4 when any is undecided or vetoed, else 0. */
int verdict_exit_code(const struct verdict *v, size_t nr);

#endif
