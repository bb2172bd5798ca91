/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_SPEC_H
#define TRIAL_SPEC_H

/*
 * What the conductor tells the agent, as structs and as JSON.  The agent sees no plan: the bench is
 * what lasts for the run, a trial is one slot of the order with everything it needs.
 */

#include <stdint.h>

#include "audit/goal.h"
#include "plan/plan.h"

struct err;
struct json_object;

struct bench_spec {
	enum peer_kind peer;
	char *addr; /* PEER_HOST */
	uint16_t port;
	char *dut;     /* NULL: find out */
	bool commands; /* a shell runs something of the plan */
	struct instances setup;
	struct audit_goal goal; /* for the audit */
	bool fix;		/* what the audit finds and a knob mends is set for the run */
	bool identify;		/* host name and addresses are facts */
	char *before;		/* env of the run that is resumed, JSON; NULL: a new run */
};

struct trial_spec {
	char *variant, *scenario; /* names, for messages */
	uint64_t seed;
	uint64_t settle_ns, warmup_ns, duration_ns;
	struct instances knobs, loads, probes;
};

int bench_spec_of_plan(const struct plan *p, struct bench_spec *ret, struct err *e);
struct json_object *bench_spec_to_json(const struct bench_spec *s);
int bench_spec_from_json(struct json_object *o, struct bench_spec *ret, struct err *e);
void bench_spec_release(struct bench_spec *s);

/*
 * The trial of @slot.  The probes that guard every trial (cpu, interrupts, kmsg) are added where
 * the plan does not name them.
 */
int trial_spec_of_plan(const struct plan *p, const struct slot *slot, struct trial_spec *ret,
		       struct err *e);
struct json_object *trial_spec_to_json(const struct trial_spec *s);
int trial_spec_from_json(struct json_object *o, struct trial_spec *ret, struct err *e);
void trial_spec_release(struct trial_spec *s);

#endif
