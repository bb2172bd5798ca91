// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit/goal.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"

/* That of the wake-up probe unless it is told otherwise. */
#define USUAL_PRIORITY 98

void audit_goal_release(struct audit_goal *g)
{
	free(g->cpus);
	instances_release(&g->setup);
	instances_release(&g->varied);
	*g = (struct audit_goal){};
}

int audit_goal_any(struct audit_goal *ret, struct err *e)
{
	struct audit_goal g = { .measures = AFFECTS_ALL, .priority = USUAL_PRIORITY };

	g.cpus = strdup("all");
	if (!g.cpus)
		return err_nomem(e, "audit");
	*ret = g;
	return 0;
}

static int copy_list(const struct instances *from, struct instances *to, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < from->nr && r >= 0; i++)
		r = instances_add(to, &from->v[i], e);
	return r;
}

int audit_goal_copy(const struct audit_goal *from, struct audit_goal *ret, struct err *e)
{
	_cleanup_(audit_goal_release) struct audit_goal g = *from;
	int r;

	g.cpus = from->cpus ? strdup(from->cpus) : NULL;
	g.setup = g.varied = (struct instances){};
	if (from->cpus && !g.cpus)
		return err_nomem(e, "audit");
	r = copy_list(&from->setup, &g.setup, e);
	if (r >= 0)
		r = copy_list(&from->varied, &g.varied, e);
	if (r < 0)
		return r;
	*ret = g;
	g = (struct audit_goal){};
	return 0;
}

void audit_affects_words(unsigned int affects, struct buf *out)
{
	static const char *const words[] = { "wakeup", "rr", "throughput", "interrupts", "cpu" };
	bool any = false;

	if (affects == AFFECTS_ALL) {
		buf_puts(out, "all metrics");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!(affects & 1U << i))
			continue;
		buf_printf(out, "%s%s", any ? ", " : "", words[i]);
		any = true;
	}
}

struct json_object *audit_goal_to_json(const struct audit_goal *g)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "planned", json_object_new_uint64(g->planned));
	json_object_object_add(o, "measures", json_object_new_uint64(g->measures));
	json_object_object_add(o, "priority", json_object_new_uint64(g->priority));
	if (g->cpus)
		json_object_object_add(o, "cpus", json_object_new_string(g->cpus));
	json_object_object_add(o, "netns", json_object_new_uint64(g->netns));
	json_object_object_add(o, "veth_napi", json_object_new_uint64(g->gives_veth_napi));
	json_object_object_add(o, "setup", instances_to_json(&g->setup));
	json_object_object_add(o, "varied", instances_to_json(&g->varied));
	return o;
}

static int take_numbers(struct json_object *o, struct audit_goal *g, struct err *e)
{
	uint64_t planned = 0, measures = 0, netns = 0, napi = 0;

	if (!json_field_u64(o, "planned", &planned) || !json_field_u64(o, "measures", &measures) ||
	    !json_field_u64(o, "priority", &g->priority) || !json_field_u64(o, "netns", &netns) ||
	    !json_field_u64(o, "veth_napi", &napi))
		return err_set(e, -EBADMSG, "message field \"goal\" is not complete");
	g->planned = planned;
	g->measures = (unsigned int)(measures & AFFECTS_ALL);
	g->netns = netns;
	g->gives_veth_napi = napi;
	return 0;
}

int audit_goal_from_json(struct json_object *o, struct audit_goal *ret, struct err *e)
{
	_cleanup_(audit_goal_release) struct audit_goal g = {};
	const char *cpus = json_field_string(o, "cpus");
	int r = take_numbers(o, &g, e);

	if (r >= 0 && cpus) {
		g.cpus = strdup(cpus);
		r = g.cpus ? 0 : err_nomem(e, "audit");
	}
	if (r >= 0)
		r = instances_from_json(json_field_array(o, "setup"), &g.setup, e);
	if (r >= 0)
		r = instances_from_json(json_field_array(o, "varied"), &g.varied, e);
	if (r < 0)
		return r;
	*ret = g;
	g = (struct audit_goal){};
	return 0;
}

/* Files are told apart by their path, all else by the keys; @other_value: and the values differ. */
static bool same_thing(const struct instance *a, const struct instance *b, bool other_value)
{
	bool file = strcmp(a->plugin, "file") == 0;

	if (strcmp(a->plugin, b->plugin) != 0)
		return false;
	if (file) {
		const char *x = instance_value(a, "path"), *y = instance_value(b, "path");

		if (!x || !y || strcmp(x, y) != 0)
			return false;
	}
	for (size_t i = 0; i < a->nr_settings; i++) {
		const struct setting *s = &a->settings[i];
		const char *v = instance_value(b, s->key);

		if (strcmp(s->key, "dev") == 0 || strcmp(s->key, "path") == 0 || !v)
			continue;
		if (!other_value || strcmp(v, s->value) != 0)
			return true;
	}
	return false;
}

/* Words in a knob of a plan that make it one about the subject of a check. */
static const struct {
	const char *check, *words[4];
} subjects[] = {
	{ "governor", { "governor", "freq" } },
	{ "turbo", { "boost", "turbo", "freq" } },
	{ "idle-states", { "idle", "dma-latency", "dma_latency" } },
	{ "clocksource", { "clocksource" } },
	{ "numa", { "numa" } },
	{ "rt-bandwidth", { "rt_runtime", "rt-runtime", "rt_period" } },
	{ "watchdogs", { "watchdog" } },
	{ "daemons", { "daemon" } },
	{ "coalescing", { "coalesce" } },
	{ "hugepages", { "hugepage", "ksm" } },
	{ "tracing", { "tracing" } },
};

static bool has_word(const struct instance *knob, const char *word)
{
	if (strstr(knob->plugin, word))
		return true;
	for (size_t i = 0; i < knob->nr_settings; i++)
		if (strstr(knob->settings[i].key, word) || strstr(knob->settings[i].value, word))
			return true;
	return false;
}

static bool is_about(const struct instance *knob, const char *check)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		if (strcmp(subjects[i].check, check) != 0)
			continue;
		for (size_t w = 0; w < ARRAY_SIZE(subjects[i].words) && subjects[i].words[w]; w++)
			if (has_word(knob, subjects[i].words[w]))
				return true;
	}
	return false;
}

const char *audit_goal_forbids(const struct audit_goal *g, const char *check,
			       const struct instance *knob)
{
	for (size_t i = 0; i < g->varied.nr; i++) {
		if (same_thing(&g->varied.v[i], knob, false) || is_about(&g->varied.v[i], check))
			return "a variant sets it";
		if (strcmp(g->varied.v[i].plugin, "command") == 0)
			return "a variant runs a command, which may set anything";
	}
	for (size_t i = 0; i < g->setup.nr; i++)
		if (same_thing(&g->setup.v[i], knob, true))
			return "the plan's setup gives it another value";
	return NULL;
}
