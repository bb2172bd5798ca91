/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

/*
 * How to write a probe.
 *
 * A probe measures during the window of a trial and touches nothing.  The trial calls
 *
 *	open    resolve options, allocate, create threads parked        (before warm-up)
 *	start   measuring begins                                        (window opens)
 *	stop    measuring ends; counters are read                       (window closes)
 *	drain   emit                                                    (load stopped)
 *	close   free; also after any failure, at any point
 *
 * Between start and stop the measuring thread does not allocate, lock, format or do file I/O.
 * Buffers are sized at open; overflow is counted and reported, never silent.
 * Errors need not name the probe: the trial does.
 * Counters are differences stop - start; a counter that wrapped or vanished is said so.
 */

#include <stdint.h>

#include "base/plugin.h"

struct err;
struct host;
struct instance;
struct probe;
struct sample_sink;

struct probe_env {
	const struct host *host;
	uint64_t seed;	      /* of the trial: phases are drawn from it */
	uint64_t duration_ns; /* of the window as planned */
};

struct probe_ops {
	struct plugin plugin;
	int (*usable)(const struct host *host, struct err *why);
	int (*open)(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		    struct err *e);
	/* @now_ns: CLOCK_MONOTONIC of the window's edge; record times are relative to the start's.
	 */
	int (*start)(struct probe *p, uint64_t now_ns, struct err *e);
	int (*stop)(struct probe *p, uint64_t now_ns, struct err *e);
	int (*drain)(struct probe *p, struct sample_sink *out, struct err *e);
	void (*close)(struct probe *p);
};

#endif
