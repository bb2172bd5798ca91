/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VERDICT_VERDICT_H
#define VERDICT_VERDICT_H

/*
 * From the trials of a run to better, worse, same or undecided.  Pure.
 *
 * The trial is the unit; variants are compared with the baseline within their block.  One procedure
 * for each kind of metric gives test, interval and word; the interval inverts the test, at the
 * level that Holm's procedure gives the metric among all primary ones (per variant).
 *
 *	location   the log ratio (the difference in units of the baseline's median where a usable
 *	           value is zero or negative), exact signed-rank test
 *	quantile   the same; a trial with fewer than 10/(1 - q) samples has no such value
 *	rate       the difference in units of the baseline's mean, exact sign-flip test of its mean
 *	maximum    the log ratio, exact sign test; only where both have as many samples, within 1 %
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
	VERDICT_SCALE_MEAN,   /* (value - baseline) / mean of the baseline */
	VERDICT_SCALE_UNIT,   /* value - baseline in the metric's unit: the baseline's median
				 (of a rate: mean) is 0;
				 a margin, being a ratio, means nothing here and is taken as 0 */
};

/* "better" ... */
const char *verdict_word(enum verdict_word w);
/* "ratio", "median", "mean" or "unit". */
const char *verdict_scale_word(enum verdict_scale s);
/* "signed-rank", "sign-flip" or "sign": what decides a metric of @kind. */
const char *verdict_test(enum metric_kind kind);

struct verdict_query {
	const char *metric;	       /* for messages: "wakeup.p99@net" */
	enum better better;	       /* not BETTER_NONE */
	double margin;		       /* ratio; 0 for none: then only [0, 0] is the same */
	const struct observation *obs; /* of all variants, any order */
	size_t nr_obs;
	enum metric_kind kind;
	double q;			  /* METRIC_QUANTILE: 0.99 */
	const struct observation *counts; /* samples behind each; NULL where that is not known */
	size_t nr_counts;
};

/* When a sequential design is looked at; a fixed design has no looks. */
struct verdict_looks {
	double alpha;		    /* family-wise, per variant, over all looks */
	const unsigned int *blocks; /* after so many, ascending; the last one is the plan's end */
	size_t nr;		    /* at most SEQUENTIAL_LOOKS_MAX */
	size_t done;		    /* looks that are due by the trials there are */
};

struct verdict {
	size_t query;	      /* index into the queries */
	unsigned int variant; /* > 0 */
	enum verdict_word word;
	enum verdict_scale scale;
	size_t blocks; /* complete pairs used */
	size_t lost;   /* blocks without a usable pair */
	enum metric_kind kind;
	double baseline, value; /* medians (of a rate: means) over the used blocks, in the metric's
				   unit; NAN: none */
	double n_baseline, n_value; /* samples behind them, summed over the trials; 0: not known */
	double change;		    /* estimate, see scale: 0.016 is +1.6 %; NAN: none */
	double sd;		    /* of single pairs, as change; NAN: less than two */
	double low, high;	    /* its interval; -INFINITY..INFINITY when n is too small */
	double p;		    /* exact, two-sided, unadjusted; sequential: at the look */
	double alpha;		    /* level of interval and word, after Holm or of the look */
	size_t look, looks; /* sequential: the look it is from, from 1, of how many; else 0 */
	bool futile;	    /* sequential, undecided: not to be decided within the plan's blocks */
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

/*
 * The same for a sequential design: each metric is judged at every look that is due, at its share
 * alpha / nr_queries of the level, until it is decided; the verdict is that of the first look that
 * decided it, or of the last one due.  The interval of a look is one of a sequence that holds
 * for all looks together.  Without a look that is due all is undecided.
 * The bounds are those of stats/sequential.h.  A metric is futile when it has less than one
 * chance in twenty, as predicted from the trials so far, to be decided by the last look.
 * Errors as verdict_decide(), and -EINVAL for a maximum, whose test has no sequential form.
 */
int verdict_decide_sequential(const struct verdict_query *queries, size_t nr_queries,
			      size_t nr_variants, const struct verdict_looks *looks,
			      struct verdict *ret, struct err *e);
/* Is there nothing left to wait for: every metric decided, or futile? */
bool verdict_is_settled(const struct verdict *v, size_t nr);

/* A metric that the plan does not name: shown, never in the exit code. */
struct exploration {
	struct verdict v; /* no word; interval at alpha, after Benjamini-Hochberg */
	bool differs; /* among those that differ, of which a share @rate is expected to be false */
};

/**
 * verdict_explore - which of many metrics differ from the baseline
 * @rate: false discovery rate per variant (0.05)
 * @ret: nr_queries * (nr_variants - 1), by variant, then query; caller's array
 *
 * Benjamini & Hochberg 1995 over the p-values; the intervals of those that differ have the level
 * R rate / m that goes with it (Benjamini & Yekutieli 2005), others 1 - rate.  Queries need
 * no direction.  Errors as verdict_decide().
 */
int verdict_explore(const struct verdict_query *queries, size_t nr_queries, size_t nr_variants,
		    double rate, struct exploration *ret, struct err *e);

/* The run's exit code: 5 when any is worse, else 4 when any is undecided or vetoed, else 0. */
int verdict_exit_code(const struct verdict *v, size_t nr);

#endif
