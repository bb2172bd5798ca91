/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

/* What a report has gathered: shared by the builders and the printers of this folder. */

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"
#include "report/drift.h"
#include "report/explore.h"
#include "report/extremes.h"
#include "report/noise.h"
#include "report/report.h"
#include "sample/sample.h"
#include "store/store.h"
#include "verdict/verdict.h"

struct hist;

/* A line of text and the trials it came from. */
struct note {
	char *metric;
	char *text; /* of trial @example, where lines that differ in numbers only were joined */
	bool texts_differ;
	size_t example;
	enum severity severity;
	enum trial_state state; /* of rejected trials */
	size_t count;		/* how often it was said, over all trials */
	size_t *trials;		/* indices, each once, ascending */
	size_t nr_trials;
	unsigned int variant; /* of the first trial */
};

struct note_list {
	struct note *v;
	size_t nr, size;
	bool any_variant; /* joined over variants */
};

/* A health metric (model_health()) summed over the trials of each variant. */
struct total_cell {
	double sum, max;
	size_t trials;
};

struct total {
	char *metric, *unit;
	struct total_cell *cell; /* by variant */
};

struct total_list {
	struct total *v;
	size_t nr, size;
};

/* Numbers over time: one curve a trial (and CPU). */
struct curve {
	size_t trial;
	struct point *points;
	size_t nr;
};

struct over_time {
	char *metric, *labels, *unit;
	unsigned int scenario;
	struct curve *v;
	size_t nr, size;
};

struct over_time_list {
	struct over_time *v;
	size_t nr, size;
};

/* A latency: histograms of a variant's good trials merged over trials and CPUs. */
struct dist {
	char *metric, *labels; /* labels without cpu */
	unsigned int scenario;
	struct hist **hist; /* by variant; never NULL, may be empty */
};

struct dist_list {
	struct dist *v;
	size_t nr, size;
};

/* How often something fired per second: the mean over a variant's good trials. */
struct rate {
	char *metric, *labels; /* labels without cpu: the source */
	unsigned int scenario;
	int cpu;
	double *sum; /* by variant, over its trials: divide by model_good() */
};

struct rate_list {
	struct rate *v;
	size_t nr, size;
	size_t next; /* where the search begins */
};

struct report {
	const struct plan *plan;
	struct plan *own_plan;			/* what report_gather() parsed, or NULL */
	void (*own_release)(struct plan *plan); /* its release */
	struct run_info run;
	struct trial_info *trials;
	size_t nr_trials;
	size_t *good; /* trials in state ok, by scenario * variants + variant */
	struct verdict *verdicts;
	char **reasons; /* what the verdicts' reasons point to */
	size_t nr_verdicts;
	struct note_list warnings; /* severity WARN and VETO */
	struct note_list witnesses;
	struct note_list rejected; /* trials that were vetoed or failed, by reason */
	struct total_list totals;
	struct over_time_list over_time;
	struct dist_list dists;
	struct rate_list rates;
	struct explored_list explored;
	struct drift_list drift;
	struct extremes_list extremes;
	struct noise *noise; /* by the plan's metrics */
	double *values;	     /* model_value(); NAN: none */
};

/* Fold the records of trial @index into @rep. */
int model_add_records(struct report *rep, size_t index, const struct record_list *l, struct err *e);
/* Note a trial that cannot be used. */
int model_add_rejected(struct report *rep, size_t index, struct err *e);
void model_release(struct report *rep);

/* Latencies and curves in the plan's order of scenarios, whichever ran first. */
void model_sort(struct report *rep);
/* The value of the plan's metric @query in trial @index; NAN: it has none. */
double model_value(const struct report *rep, size_t index, size_t query);
/* Is @query measured in the scenario of trial @index at all? */
bool model_is_of(const struct report *rep, size_t index, size_t query);
/* How many trials the plan asks for. */
size_t model_planned(const struct report *rep);
/* The run has ended early or goes on, and trials of the plan are missing. */
bool model_is_partial(const struct report *rep);

/* "ok", "vetoed", "failed" */
const char *model_state_word(enum trial_state s);
const char *model_variant(const struct report *rep, unsigned int variant);
const char *model_scenario(const struct report *rep, unsigned int scenario);
size_t model_good(const struct report *rep, unsigned int scenario, unsigned int variant);
/* Trials of @variant, used or not. */
size_t model_trials(const struct report *rep, unsigned int variant);
/* "missed wake-ups" of "wakeup.missed": what is shown beside the verdict; else NULL. */
const char *model_health(const char *metric);

#endif
