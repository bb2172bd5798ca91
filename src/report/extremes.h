/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_EXTREMES_H
#define REPORT_EXTREMES_H

/*
 * Beyond the latest wake-up that was measured: the latency passed once an hour, from the maxima of
 * every second of a variant's trials.  An extrapolation, labelled as such and no part of any
 * verdict; where a gate of stats/extreme.h fails there is none, only the reason.
 */

#include <stddef.h>

#include "stats/extreme.h"

struct err;
struct report;

#define EXTREMES_PERIOD_S 3600
#define EXTREMES_ALPHA 0.05
#define EXTREMES_MOST 120 /* maxima; of more seconds, those of longer blocks: a fit costs time */

struct extremes {
	const char *metric, *labels; /* borrowed from the series: "wakeup.max", "prio=98" */
	unsigned int scenario, variant;
	size_t block_s; /* each maximum is of so many seconds of one trial, over all CPUs */
	double largest; /* measured [ns] */
	struct extreme_report is;
};

struct extremes_list {
	struct extremes *v;
	size_t nr;
};

/* When all trials are there, and sorted.  Cost: 0.2 s for each series and variant that passes. */
int extremes_find(struct report *rep, struct err *e);
void extremes_release(struct report *rep);

#endif
