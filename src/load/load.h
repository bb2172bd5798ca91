/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

/*
 * How to write a load.
 *
 * A load drives or disturbs the machine under test for one trial.  The trial calls
 *
 *	open    resolve options, connect, allocate            (before warm-up)
 *	start   work flows when it returns                    (warm-up begins)
 *	begin   the window opens: remember counters and time
 *	end     the window closes: the same
 *	stop    no more work; threads joined, processes reaped
 *	drain   emit what was counted between begin and end
 *	close   free; also after any failure, at any point
 *
 * Errors need not name the load: the trial does.
 *
 * Between start and stop nothing on the data path allocates, formats or locks.  begin and end are
 * called from the trial's thread and only read counters.
 */

#include <stdint.h>

#include "base/plugin.h"
#include "plan/plan.h"

struct err;
struct host;
struct instance;
struct load;
struct sample_sink;

/* The other side of the wire. */
struct peer {
	enum peer_kind kind;
	const char *addr; /* address or name to connect to; NULL for PEER_NONE */
	uint16_t port;
};

struct load_env {
	const struct host *host;
	const struct peer *peer;
	uint64_t seed;	    /* of the trial */
	uint64_t length_ns; /* start to stop as planned: warm-up and duration */
};

struct load_ops {
	struct plugin plugin;
	int (*usable)(const struct host *host, struct err *why);
	int (*open)(struct load **ret, const struct load_env *env, const struct instance *inst,
		    struct err *e);
	int (*start)(struct load *l, struct err *e);
	int (*begin)(struct load *l, uint64_t now_ns, struct err *e);
	int (*end)(struct load *l, uint64_t now_ns, struct err *e);
	int (*stop)(struct load *l, struct err *e);
	int (*drain)(struct load *l, struct sample_sink *out, struct err *e);
	void (*close)(struct load *l);
};

#endif
