/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_BENCH_H
#define TRIAL_BENCH_H

/* Inside of the bench, shared by bench.c and trial.c alone. */

#include "base/host.h"
#include "trial/trial.h"

struct applied;
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
};

/* Expand and apply a list of knobs. */
int bench_apply(struct bench *b, const struct instances *knobs, struct applied **ret,
		struct err *e);

#endif
