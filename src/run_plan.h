/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RUN_PLAN_H
#define RUN_PLAN_H

/* Measure a plan and store it: what run, check and bisect do before they say anything. */

#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;

struct run_request {
	const char *file; /* the plan; NULL with resume: of any plan */
	const char *
		output; /* a file that will be written at the end: refused before if it cannot be */
	const char *db; /* as on the command line */
	bool resume, quiet;
	bool yes;      /* what the plan has a shell run has been agreed to */
	bool aa;       /* every variant is the baseline */
	bool force;    /* run although the audit has a veto */
	bool fix;      /* what the audit finds and a knob mends is set for the run */
	bool identify; /* host name, serial number and addresses are stored */
};

struct run_outcome {
	struct store *store; /* open whenever a run was found or begun */
	int64_t id;	     /* 0: none */
	bool complete;	     /* there is a verdict, also when the machine could not be given back */
};

/* Exit code or negative errno; @ret is to be released in either case. */
int run_plan(const struct run_request *q, struct run_outcome *ret, struct err *e);
void run_outcome_release(struct run_outcome *o);

#endif
