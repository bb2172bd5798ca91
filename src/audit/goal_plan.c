// SPDX-License-Identifier: GPL-3.0-or-later
/* From the plan to what the audit wants to know: the conductor's side of goal.h. */
#include <stdlib.h>
#include <string.h>

#include "audit/goal.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "plan/plan.h"

static const struct {
	const char *plugin;
	unsigned int measures;
} families[] = {
	{ "wakeup", AFFECTS_WAKEUP },
	{ "rr", AFFECTS_RTT },
	{ "crr", AFFECTS_RTT },
	{ "tcp", AFFECTS_THROUGHPUT },
	{ "udp", AFFECTS_THROUGHPUT },
	{ "flood", AFFECTS_THROUGHPUT },
	{ "interrupts", AFFECTS_INTERRUPTS },
	{ "cpu", AFFECTS_CPU },
};

/* Metrics of a plug-in that is not listed may be anything. */
static unsigned int family_of(const char *plugin)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (strcmp(families[i].plugin, plugin) == 0)
			return families[i].measures;
	return AFFECTS_ALL;
}

static const char *plugin_in(const struct instances *l, const char *name)
{
	for (size_t i = 0; i < l->nr; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return l->v[i].plugin;
	return NULL;
}

static unsigned int measured_by(const struct plan *p, const struct plan_metric *m)
{
	const char *plugin = plugin_in(&p->probes, m->owner);

	for (size_t i = 0; i < p->nr_scenarios && !plugin; i++)
		if (strcmp(p->scenarios[i].name, m->scenario) == 0)
			plugin = plugin_in(&p->scenarios[i].loads, m->owner);
	return family_of(plugin ? plugin : m->owner);
}

/* The highest of "98,40". */
static uint64_t highest(const char *list)
{
	uint64_t top = 0;

	while (list && *list) {
		size_t n = strcspn(list, ",");
		_cleanup_(freep) char *word = strndup(list, n);
		uint64_t v = 0;

		if (word && text_u64(word, &v) >= 0 && v > top)
			top = v;
		list += n + (list[n] == ',');
	}
	return top;
}

static int take_probe(struct audit_goal *g, const struct instance *probe, struct err *e)
{
	const char *priority = instance_value(probe, "priority"),
		   *cpus = instance_value(probe, "cpus");
	uint64_t top = highest(priority ? priority : "98");

	if (strcmp(probe->plugin, "wakeup") != 0)
		return 0;
	if (top > g->priority)
		g->priority = top;
	if (g->cpus)
		return 0;
	g->cpus = strdup(cpus && *cpus ? cpus : "all");
	return g->cpus ? 0 : err_nomem(e, "audit");
}

static int copy(const struct instances *from, struct instances *to, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < from->nr && r >= 0; i++)
		r = instances_add(to, &from->v[i], e);
	return r;
}

/* Is a variant about NAPI in threads of the veth pair, and may it work? */
static bool gives_napi(const struct instances *varied)
{
	bool threaded = false;

	for (size_t i = 0; i < varied->nr; i++) {
		const struct instance *k = &varied->v[i];
		const char *v = instance_value(k, "threaded");

		/* what a variant does to make it poll is its own affair */
		if (strcmp(k->plugin, "command") == 0 || instance_value(k, "gro") ||
		    instance_value(k, "tso") || instance_value(k, "gso"))
			return false;
		threaded |= strcmp(k->plugin, "netdev") == 0 && v && strcmp(v, "0") != 0 &&
			    strcmp(v, "off") != 0;
	}
	return threaded;
}

int audit_goal_of_plan(const struct plan *p, struct audit_goal *ret, struct err *e)
{
	_cleanup_(audit_goal_release) struct audit_goal g = { .planned = true,
							      .netns = p->peer == PEER_NETNS };
	int r = copy(&p->setup, &g.setup, e);

	for (size_t i = 0; i < p->nr_variants && r >= 0; i++)
		r = copy(&p->variants[i].knobs, &g.varied, e);
	for (size_t i = 0; i < p->probes.nr && r >= 0; i++)
		r = take_probe(&g, &p->probes.v[i], e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->nr_metrics; i++)
		g.measures |= measured_by(p, &p->metrics[i]);
	/* nothing is judged, so everything is looked at */
	if (!p->nr_metrics)
		g.measures = AFFECTS_ALL;
	g.gives_veth_napi = g.netns && gives_napi(&g.varied);
	*ret = g;
	g = (struct audit_goal){};
	return 0;
}
