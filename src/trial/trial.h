/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_TRIAL_H
#define TRIAL_TRIAL_H

/*
 * The bench is what lasts for a run: the lock, the journal, the namespaces, the setup.  A trial is
 * one variant measured once under one scenario:
 *
 *	apply the variant, settle, verify, open loads and probes, start the load, warm up,
 *	[ window: witness, probes and loads counted ], stop, verify again, drain, undo
 *
 * Whatever fails, the variant is undone before trial_run() returns.
 */

#include <stdint.h>

#include "base/err.h"
#include "load/load.h"
#include "probe/probe.h"
#include "sample/observation.h"
#include "sample/sample.h"
#include "variant/knob.h"

struct bench;
struct bench_spec;
struct buf;
struct host;
struct json_object;
struct trial_spec;

/* The plug-ins the agent has; lists end with NULL. */
struct trial_plugins {
	const struct knob_ops *const *knobs;
	const struct load_ops *const *loads;
	const struct probe_ops *const *probes;
};

/*
 * How a trial waits and tells where it is.  wait_until() returns 0 at @deadline_ns
 * (CLOCK_MONOTONIC) or -ECANCELED as soon as the run is to end.
 */
struct trial_host {
	int (*wait_until)(struct trial_host *h, uint64_t deadline_ns, struct err *e);
	int (*phase)(struct trial_host *h, const char *name, struct err *e);
};

struct trial_result {
	enum trial_state state;
	struct err reason;   /* of a veto or failure */
	uint64_t started_ns; /* wall clock of the window's start */
	uint64_t window_ns;
};

/* Where journal and lock live: $IRQLAB_STATE_DIR, else /var/lib/irqlab. Borrowed. */
const char *bench_state_dir(void);

/*
 * Take the machine: lock (-EBUSY names the owner), replay of a journal that a killed run left
 * (-ENOTRECOVERABLE when that fails), namespaces, setup.  Must be called before other threads
 * exist.
 */
int bench_open(struct bench **ret, const struct bench_spec *spec,
	       const struct trial_plugins *plugins, struct err *e);
/* Undo the setup, release all; frees @b.  -ENOTRECOVERABLE with a list when something could not be
 * set back (exit code 3). */
int bench_close(struct bench *b, struct err *e);
/* The same; @others (may be NULL) gets a line for each setting of the setup that somebody else has
 * changed meanwhile and that was left alone. */
int bench_close_telling(struct bench *b, struct buf *others, struct err *e);
/* Only undo what a killed run left behind: -ENOTRECOVERABLE when that fails. */
int bench_restore(const struct trial_plugins *plugins, struct err *e);
/* What the machine is: kernel, CPUs, command line ... A new JSON object; nothing personal. */
struct json_object *bench_env(const struct bench *b);
/* The same without a bench, for who only wants to know which machine this is. */
struct json_object *host_env(const struct host *h);

/*
 * Run one trial; records go to @sink.  A trial that could not be measured or was vetoed is a
 * result, not an error.  Return: 0; -ECANCELED when the run is to end; -ENOTRECOVERABLE with
 * a list when the machine could not be set back: the run must stop (exit code 3).
 */
int trial_run(struct bench *b, const struct trial_spec *spec, struct trial_host *host,
	      struct sample_sink *sink, struct trial_result *ret, struct err *e);

/* Put the names of the netdevs for $dut and $far; text without them is copied. */
int trial_expand(const struct host *host, const struct instance *inst, struct instance *ret,
		 struct err *e);

#endif
