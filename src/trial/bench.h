/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_BENCH_H
#define TRIAL_BENCH_H

/* Inside of the bench, shared by bench.c and trial.c alone. */

#include "audit/audit.h"
#include "base/host.h"
#include "trial/trial.h"

struct applied;
struct audit_goal;
struct journal;
struct lock;
struct peer_link;

struct bench {
	const struct trial_plugins *plugins;
	struct host host;
	struct lock *lock;
	struct journal *journal;
	struct peer_link *link;
	struct applied *setup;
	struct audit_goal goal;
	bool identify;
	struct audit audit; /* after the setup, and after what was mended */
	struct audit facts; /* of the last look between two trials; empty: none yet */
	struct mended *mended;
	size_t nr_mended;
};

/* A knob that the audit asked for. */
struct mended {
	struct instance knob;
	struct applied *applied; /* NULL: not, for @why */
	char *why;
};

/* Expand and apply a list of knobs. */
int bench_apply(struct bench *b, const struct instances *knobs, struct applied **ret,
		struct err *e);

/* Look at the machine as it is now. */
int bench_audit(struct bench *b, struct err *e);
/* Set what vetoes and warnings name and no variant sets, then look again. What cannot be set is
 * noted. */
int bench_mend(struct bench *b, struct err *e);
/* Set it back; goes on after a failure, whose message is in @e. */
int bench_unmend(struct bench *b, struct err *e);
void bench_audit_release(struct bench *b);
/*
 * What has changed on the machine since the trial before, without any variant: an event each.
 * To be asked before a variant is applied.
 */
int bench_changes(struct bench *b, struct sample_sink *sink, struct err *e);

#endif
