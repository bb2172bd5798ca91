/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RUN_VIEW_H
#define RUN_VIEW_H

/*
 * The progress line of a run on a terminal: block, trial, phase and the time left.  Silent when
 * standard error is not a terminal, or with -q.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_view {
	bool on;
	size_t done, total; /* trials */
	unsigned int block, blocks;
	const char *variant, *scenario;
	uint64_t planned_ns; /* a trial's length by the plan */
	uint64_t spent_ns;   /* by the trials measured here */
	size_t measured;
};

/* Lines about the plan, before anything is measured. */
void run_view_warn(const char *lines);
void run_view_phase(void *view, const char *phase);
/* Remove the line before something else is printed. */
void run_view_clear(const struct run_view *v);

#endif
