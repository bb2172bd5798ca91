/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_QUERIES_H
#define REPORT_QUERIES_H

/*
 * From a stored run to what the verdict takes: the observations of the plan's metrics, with those
 * that are derived from a histogram ("wakeup.above" and its limit) and how many samples each
 * trial's number was taken from.
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct observation;
struct plan;
struct plan_registry;
struct store;
struct trial_info;
struct verdict;
struct verdict_query;

struct queries {
	struct verdict_query *v; /* of the plan's metrics, in their order; texts are the plan's */
	struct observation **obs;
	struct observation **counts;
	size_t nr;
};

/* Cost: a few indexed queries a metric; a derived metric reads one histogram a trial and CPU. */
int queries_read(struct store *s, int64_t run, const struct plan *plan, struct queries *ret,
		 struct err *e);
void queries_release(struct queries *q);

/*
 * The plan of a stored run, parsed again from its text; that of an A/A run has copies of the
 * baseline as variants.  @ret: plan_release().
 */
int queries_plan(struct store *s, int64_t run, const struct plan_registry *reg, struct plan *ret,
		 struct err *e);

/*
 * The verdicts of a run by its plan's design.  Nothing is judged before the time that the plan set:
 * a fixed design after its last block, a sequential one at its looks; until then all is undecided.
 * @blocks: those whose trials are all there, see queries_blocks()
 * @ret: nr_metrics * (nr_variants - 1), by variant, then metric; caller's array
 */
int queries_decide(const struct queries *q, const struct plan *plan, unsigned int blocks,
		   struct verdict *ret, struct err *e);
/* How many blocks from the first on have all their trials, whatever became of them. */
unsigned int queries_blocks(const struct plan *plan, const struct trial_info *trials, size_t nr);
int queries_read_blocks(struct store *s, int64_t run, const struct plan *plan, unsigned int *ret,
			struct err *e);

#endif
