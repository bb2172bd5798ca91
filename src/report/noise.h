/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_NOISE_H
#define REPORT_NOISE_H

/*
 * The noise floor of a bench: how much single pairs of trials differ when nothing was changed, from
 * the newest A/A run of the same machine that measured the same metric under the same loads for the
 * same time.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "stats/power.h"
#include "verdict/verdict.h"

struct err;
struct plan;
struct plan_registry;
struct store;

struct noise {
	int64_t run; /* 0: there is none */
	double sd;   /* of single pairs, on @scale */
	enum verdict_scale scale;
	size_t blocks; /* pairs it was found from */
};

struct noise_query {
	const char *env; /* JSON of the machine */
	const struct plan *plan;
	/* pairs of any completed run will do when there is no A/A run; their spread is about that
	 * of an A/A run, since the change itself is the same in all pairs */
	bool any;
};

/* @ret: one for each metric of the plan, caller's array.  Cost: reads the plans of the stored runs,
 * and the trials of those that fit. */
int noise_find(struct store *s, const struct plan_registry *reg, const struct noise_query *q,
	       struct noise *ret, struct err *e);
/* The same from run @run alone, whatever machine it is of. */
int noise_of_run(struct store *s, int64_t run, const struct plan_registry *reg,
		 const struct plan *plan, struct noise *ret, struct err *e);
/* Are two environments the same machine with the same kernel?  Unknown keys do not count. */
bool noise_same_machine(const char *env_a, const char *env_b);
#define NOISE_POWER 0.8 /* four of five experiments */

/* Which test decides a metric of @kind. */
enum power_test noise_test(enum metric_kind kind);
/* The change that the blocks of @v see in four of five experiments; NAN when it cannot be said. */
double noise_visible(const struct noise *n, const struct verdict *v);

#endif
