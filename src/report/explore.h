/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_EXPLORE_H
#define REPORT_EXPLORE_H

/*
 * Every number that the trials have and the plan does not name: compared as the verdict's metrics
 * are, with the false discovery rate held over all of them.  Shown, never judged.
 */

#include <stddef.h>

#include "verdict/verdict.h"

struct err;
struct plan_registry;
struct record_list;
struct report;

#define EXPLORE_RATE 0.05

/* One number of the trials of a scenario. */
struct explored {
	char *metric, *labels, *unit;
	unsigned int scenario;
	enum better better;
	enum metric_kind kind;
	double *v; /* by trial; NAN: none */
};

struct explored_list {
	struct explored *v;
	size_t nr, size;
	size_t next;		     /* where the search begins */
	struct exploration *results; /* by variant, then metric; those that differ, by p */
	size_t nr_results;
	size_t nr_tested; /* comparisons */
};

/* Collect the scalars of trial @index. */
int explore_add(struct report *rep, size_t index, const struct record_list *l, struct err *e);
/* When all trials are there: compare.  @reg may be NULL: then no direction is known. */
int explore_judge(struct report *rep, const struct plan_registry *reg, struct err *e);
void explore_release(struct report *rep);
/* "wakeup.p99[cpu=1]@net" */
void explore_name(const struct report *rep, const struct explored *x, struct buf *out);

#endif
