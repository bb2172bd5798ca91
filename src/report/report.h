/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

/*
 * What a run says, for people and programs.  A report is gathered once from the store and then
 * printed in any form; printing is pure: no clock, no file, the same report gives the same bytes.
 *
 *	_cleanup_(report_freep) struct report *rep = NULL;
 *	r = report_gather(&rep, store, run, &registry, e);
 *	if (r == 0)
 *		r = report_text(rep, &out, e);
 *
 * This is the one place where numbers get their printed units: ns become us.
 */

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct plan;
struct plan_registry;
struct queries;
struct report;
struct store;
struct verdict;

/* Of the JSON: raised when a key changes its meaning or goes; new keys do not raise it. */
#define REPORT_JSON_SCHEMA 1

/*
 * Everything of @run: its plan is parsed again from the stored text, the verdicts are computed
 * again from the stored trials.  Cost: reads all records of the run once.
 */
int report_gather(struct report **ret, struct store *s, int64_t run,
		  const struct plan_registry *reg, struct err *e);

/* A plan already parsed and verdicts already reached. */
struct report_basis {
	const struct plan *plan; /* borrowed; must outlive the report */
	const struct verdict
		*verdicts; /* copied; their query is an index into the plan's metrics */
	size_t nr_verdicts;
	const struct queries
		*queries; /* what was judged, for metrics that are derived; may be NULL */
	const struct plan_registry *reg; /* for what the plan does not name; may be NULL */
};

/* The same without parsing and judging. */
int report_build(struct report **ret, struct store *s, int64_t run,
		 const struct report_basis *basis, struct err *e);
void report_free(struct report *rep);
void report_freep(struct report **rep);

/* The verdicts of the report (for the exit code); borrowed. */
const struct verdict *report_verdicts(const struct report *rep, size_t *ret_nr);

/* For a terminal, a mail or a commit message: at most 78 columns, no control characters. */
int report_text(const struct report *rep, struct buf *out, struct err *e);
/* One JSON object, schema REPORT_JSON_SCHEMA; numbers in the units of the records. */
int report_json(const struct report *rep, struct buf *out, struct err *e);
/* One self-contained page: inline CSS and SVG, no script, nothing loaded. */
int report_html(const struct report *rep, struct buf *out, struct err *e);

#endif
