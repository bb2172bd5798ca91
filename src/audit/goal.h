/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_GOAL_H
#define AUDIT_GOAL_H

/*
 * What is to be measured, as far as it decides what disturbs: the same governor spoils a wake-up
 * latency and hardly a count of interrupts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "plan/instance.h"

struct buf;
struct err;
struct json_object;
struct plan;

/* The families of metrics a finding can touch. */
enum affects {
	AFFECTS_WAKEUP = 1 << 0,     /* wakeup.* */
	AFFECTS_RTT = 1 << 1,	     /* rr.*, crr.* */
	AFFECTS_THROUGHPUT = 1 << 2, /* throughput of tcp, udp, flood */
	AFFECTS_INTERRUPTS = 1 << 3, /* counts of interrupts and softirqs */
	AFFECTS_CPU = 1 << 4,	     /* shares of CPU time */
	AFFECTS_ALL = (1 << 5) - 1,
};

#define AFFECTS_LATENCY (AFFECTS_WAKEUP | AFFECTS_RTT)
#define AFFECTS_NETWORK (AFFECTS_RTT | AFFECTS_THROUGHPUT)

struct audit_goal {
	bool planned;		 /* false: nothing is known, anything may be measured */
	unsigned int measures;	 /* AFFECTS_* */
	uint64_t priority;	 /* highest of a wake-up probe; 0: none runs */
	char *cpus;		 /* of the probe: "all" or a list; NULL: none */
	bool netns;		 /* the path is a veth pair made for the run */
	bool gives_veth_napi;	 /* the run is about NAPI of that pair: polled in threads */
	struct instances setup;	 /* for every variant */
	struct instances varied; /* what variants set: never mended behind their back */
};

/* Without a plan: everything, a probe of the usual priority on all CPUs. */
int audit_goal_any(struct audit_goal *ret, struct err *e);
int audit_goal_of_plan(const struct plan *p, struct audit_goal *ret, struct err *e);
struct json_object *audit_goal_to_json(const struct audit_goal *g);
int audit_goal_from_json(struct json_object *o, struct audit_goal *ret, struct err *e);
int audit_goal_copy(const struct audit_goal *from, struct audit_goal *ret, struct err *e);
void audit_goal_release(struct audit_goal *g);

/*
 * Why @knob, which mends what @check found, must not be set behind the plan's back: a variant sets
 * the same, be it by another knob, or runs a command, which may set anything; or the setup gives it
 * another value.  NULL: it may.
 */
const char *audit_goal_forbids(const struct audit_goal *g, const char *check,
			       const struct instance *knob);
/* Append "wakeup, rr": the metrics of @affects. */
void audit_affects_words(unsigned int affects, struct buf *out);

#endif
