/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_DRIFT_H
#define REPORT_DRIFT_H

/*
 * What a run did while it went on, apart from the variants: drift and changes of level from trial
 * to trial, drift inside trials.  Said beside the verdict; nothing is removed because of it.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct over_time;
struct report;

struct drift {
	size_t query; /* the plan's metric */
	char *text;   /* one sentence */
};

struct drift_list {
	struct drift *v;
	size_t nr;
};

/* Is @o the series inside the trials of which the plan's metric @query is the mean? */
bool drift_is_series_of(const struct report *rep, const struct over_time *o, size_t query);
/* When all trials are there. */
int drift_find(struct report *rep, struct err *e);
void drift_release(struct report *rep);

#endif
