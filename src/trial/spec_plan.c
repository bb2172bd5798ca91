// SPDX-License-Identifier: GPL-3.0-or-later
/* From the plan to what the agent is told: the conductor's side of spec.h. */
#include "trial/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

static int copy_instances(const struct instances *from, struct instances *to, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < from->nr && r >= 0; i++)
		r = instances_add(to, &from->v[i], e);
	return r;
}

static int copy_string(const char *from, char **to, struct err *e)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? err_nomem(e, from) : 0;
}

int bench_spec_of_plan(const struct plan *p, struct bench_spec *ret, struct err *e)
{
	_cleanup_(bench_spec_release) struct bench_spec s = { .peer = p->peer,
							      .port = p->peer_port };
	int r = copy_string(p->peer_host, &s.addr, e);

	if (r >= 0)
		r = copy_string(p->dut, &s.dut, e);
	if (r >= 0)
		r = copy_instances(&p->setup, &s.setup, e);
	if (r >= 0)
		r = audit_goal_of_plan(p, &s.goal, e);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct bench_spec){};
	return 0;
}

/* Stolen time, kernel warnings and interrupts belong beside every verdict. */
static int add_guards(struct instances *probes, struct err *e)
{
	static const char *const guards[] = { "cpu", "interrupts", "kmsg" };
	int r = 0;

	for (size_t g = 0; g < ARRAY_SIZE(guards) && r >= 0; g++) {
		/* instances_add() copies and does not write through the borrowed literals */
		char name[16];
		struct instance inst = { .plugin = name, .name = name };
		bool there = false;

		snprintf(name, sizeof(name), "%s", guards[g]);
		for (size_t i = 0; i < probes->nr; i++)
			there |= strcmp(probes->v[i].plugin, guards[g]) == 0;
		if (!there)
			r = instances_add(probes, &inst, e);
	}
	return r;
}

int trial_spec_of_plan(const struct plan *p, const struct slot *slot, struct trial_spec *ret,
		       struct err *e)
{
	_cleanup_(trial_spec_release) struct trial_spec s = { .seed = slot->seed,
							      .settle_ns = p->settle_ns,
							      .warmup_ns = p->warmup_ns,
							      .duration_ns = p->duration_ns };
	const struct variant *v = &p->variants[slot->variant];
	int r = copy_string(v->name, &s.variant, e);

	if (r >= 0)
		r = copy_string(p->scenarios[slot->scenario].name, &s.scenario, e);
	if (r >= 0)
		r = copy_instances(&v->knobs, &s.knobs, e);
	if (r >= 0)
		r = plan_loads(p, slot->variant, slot->scenario, &s.loads, e);
	if (r >= 0)
		r = plan_probes(p, slot->variant, &s.probes, e);
	if (r >= 0)
		r = add_guards(&s.probes, e);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct trial_spec){};
	return 0;
}
