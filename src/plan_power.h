/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PLAN_POWER_H
#define PLAN_POWER_H

/* What a plan can see on this machine, from stored runs of it. */

#include <stdint.h>

struct buf;
struct err;
struct plan;

struct power_question {
	const char *db;	   /* as on the command line */
	const char *pilot; /* a run to take the noise from; "": the stored ones of this machine */
	const char *file;  /* of the plan, for the remedy */
	double detect;	   /* size the blocks for this change; 0: do not */
};

/* Append lines for people. */
int plan_power(const struct plan *p, const struct power_question *q, struct buf *out,
	       struct err *e);

#endif
