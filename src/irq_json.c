// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_field.h"
#include "base/text.h"
#include "irq_text.h"

#define SCHEMA 1

static void add(struct json_object *o, const char *key, struct json_object *v)
{
	json_object_object_add(o, key, v);
}

/* Names come from drivers: what is no UTF-8 becomes \xNN. */
static struct json_object *string(const char *s)
{
	_cleanup_(buf_release) struct buf safe = {};

	if (!s)
		return NULL;
	text_printable(&safe, s, strlen(s));
	return json_object_new_string(buf_str(&safe));
}

static struct json_object *rounded(double v)
{
	return json_object_new_double(v);
}

static struct json_object *ratio(double v)
{
	return v < 0 ? NULL : rounded(v);
}

/* 1, 0, -1: true, false, null */
static struct json_object *tristate(int v)
{
	return v < 0 ? NULL : json_object_new_boolean(v);
}

static struct json_object *list_of(const char *commas)
{
	struct json_object *list = json_object_new_array();
	const char *p = commas ? commas : "";

	while (*p) {
		size_t len = strcspn(p, ",");
		_cleanup_(freep) char *one = strndup(p, len);

		json_object_array_add(list, string(one));
		p += len;
		p += *p == ',';
	}
	return list;
}

static struct json_object *strings(const struct str_list *l)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < l->nr; i++)
		json_object_array_add(list, string(l->v[i]));
	return list;
}

static struct json_object *thread(const struct irq_table *t, const struct irqmap_thread *from)
{
	struct json_object *o = json_object_new_object();
	bool known = from->policy >= 0;

	add(o, "tid", json_object_new_int(from->tid));
	add(o, "comm", from->comm[0] ? string(from->comm) : NULL);
	add(o, "policy", known ? string(irqmap_policy_name(from->policy)) : NULL);
	add(o, "rt_priority", known ? json_object_new_int(from->rt_priority) : NULL);
	add(o, "nice", known ? json_object_new_int(from->nice) : NULL);
	add(o, "cpus", string(from->cpus));
	add(o, "last_cpu", from->last_cpu < 0 ? NULL : json_object_new_int(from->last_cpu));
	add(o, "cpu_share", ratio(irq_thread_share(t, from)));
	return o;
}

static void add_line(const struct irq_table *t, const struct irqmap_line *l, struct json_object *o)
{
	struct json_object *threads = json_object_new_array();
	const char *by = l ? irqmap_source_name(l->netdevs_by) : "";

	add(o, "actions", l ? strings(&l->actions) : json_object_new_array());
	add(o, "chip", l ? string(l->chip) : NULL);
	add(o, "hwirq", l ? string(l->hwirq) : NULL);
	add(o, "trigger", l ? string(l->trigger) : NULL);
	add(o, "devices", list_of(l ? l->devices : NULL));
	add(o, "netdevs", list_of(l ? l->netdevs : NULL));
	add(o, "netdevs_by", *by ? string(by) : NULL);
	add(o, "affinity", l ? string(l->affinity) : NULL);
	add(o, "effective_affinity", l ? string(l->effective) : NULL);
	add(o, "affinity_hint", l ? string(l->hint) : NULL);
	add(o, "managed", tristate(l ? l->managed : -1));
	add(o, "wakeup", tristate(l ? l->wakeup : -1));
	add(o, "unhandled", l && l->unhandled >= 0 ? json_object_new_int64(l->unhandled) : NULL);
	for (size_t i = 0; l && i < l->nr_threads; i++)
		json_object_array_add(threads, thread(t, &l->threads[i]));
	add(o, "threads", threads);
}

static struct json_object *changes(unsigned int set)
{
	struct json_object *list = json_object_new_array();

	if (set & PROCINT_WRAPPED)
		json_object_array_add(list, json_object_new_string("wrapped"));
	if (set & PROCINT_RESET)
		json_object_array_add(list, json_object_new_string("reset"));
	if (set & PROCINT_APPEARED)
		json_object_array_add(list, json_object_new_string("appeared"));
	return list;
}

static double per_second(const struct irq_table *t, uint64_t v)
{
	return t->seconds > 0 ? (double)v / t->seconds : 0;
}

static struct json_object *row(const struct irq_table *t, const struct irq_row *from, bool softirq)
{
	struct json_object *o = json_object_new_object(), *cpus = NULL;
	bool busy = from->cpu_delta && from->delta;

	add(o, softirq ? "softirq" : "irq", string(from->id));
	if (!softirq)
		add(o, "name", string(from->name));
	add(o, "total", json_object_new_uint64(from->total));
	add(o, "delta", json_object_new_uint64(from->delta));
	add(o, "rate", rounded(per_second(t, from->delta)));
	if (from->cpu_delta)
		cpus = json_object_new_array();
	for (size_t i = 0; cpus && i < t->nr_cpus; i++)
		json_object_array_add(cpus, json_object_new_uint64(from->cpu_delta[i]));
	add(o, "cpu_delta", cpus);
	add(o, "busiest_cpu", busy ? json_object_new_int((int)t->cpus[from->busiest]) : NULL);
	add(o, "time_ns", from->has_time ? json_object_new_uint64(from->ns) : NULL);
	add(o, "time_share", from->has_time ? rounded(per_second(t, from->ns) / 1e9) : NULL);
	add(o, "changes", changes(from->changes));
	if (!softirq)
		add_line(t, from->line, o);
	return o;
}

static struct json_object *rows(const struct irq_table *t, const struct irq_rows *from,
				bool softirq)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < from->nr; i++)
		json_object_array_add(list, row(t, &from->v[i], softirq));
	return list;
}

static struct json_object *count(bool has, uint64_t v)
{
	return has ? json_object_new_uint64(v) : NULL;
}

static struct json_object *threaded(const struct netdev_napi *n)
{
	if (!(n->has & NAPI_THREADED))
		return NULL;
	switch (n->threaded) {
	case NAPI_IN_SOFTIRQ:
		return json_object_new_string("no");
	case NAPI_IN_THREAD:
		return json_object_new_string("yes");
	case NAPI_IN_BUSY_THREAD:
		return json_object_new_string("busy-poll");
	default:
		return NULL;
	}
}

static struct json_object *napi(const struct irq_table *t, const struct irq_napi_row *from)
{
	static const struct netdev_napi none = {};
	const struct netdev_napi *n = from->napi ? &from->napi->napi : &none;
	struct json_object *o = json_object_new_object();
	bool has_thread = from->napi && from->napi->thread.tid, time = from->has_time;

	add(o, "id", json_object_new_int64(from->id));
	add(o, "netdev", *from->netdev ? string(from->netdev) : NULL);
	add(o, "by", string(from->napi ? irqmap_source_name(from->napi->by) : "accounts"));
	add(o, "irq", n->has & NAPI_IRQ ? json_object_new_int64(n->irq) : NULL);
	add(o, "threaded", threaded(n));
	add(o, "thread", has_thread ? thread(t, &from->napi->thread) : NULL);
	add(o, "defer_hard_irqs", count(n->has & NAPI_DEFER_HARD_IRQS, n->defer_hard_irqs));
	add(o, "gro_flush_timeout_ns",
	    count(n->has & NAPI_GRO_FLUSH_TIMEOUT, n->gro_flush_timeout_ns));
	add(o, "irq_suspend_timeout_ns",
	    count(n->has & NAPI_IRQ_SUSPEND_TIMEOUT, n->irq_suspend_timeout_ns));
	add(o, "polls", count(time, from->polls));
	add(o, "packets", count(time, from->packets));
	add(o, "budget_exhausted", count(time, from->exhausted));
	add(o, "time_ns", count(time, from->ns));
	add(o, "time_share", time ? rounded(per_second(t, from->ns) / 1e9) : NULL);
	return o;
}

static struct json_object *document(const struct irq_table *t)
{
	struct json_object *o = json_object_new_object(), *cpus = json_object_new_array();
	struct json_object *napis = json_object_new_array();

	add(o, "schema", json_object_new_int(SCHEMA));
	add(o, "irqlab", json_object_new_string(IRQLAB_VERSION));
	add(o, "wall_ns", json_object_new_uint64(t->after->wall_ns));
	add(o, "seconds", rounded(t->seconds));
	for (size_t i = 0; i < t->nr_cpus; i++)
		json_object_array_add(cpus, json_object_new_int((int)t->cpus[i]));
	add(o, "cpus", cpus);
	add(o, "cpus_left_out", json_object_new_uint64(t->nr_cpus_changed));
	add(o, "rows_vanished", json_object_new_uint64(t->nr_vanished));
	add(o, "interrupts_per_second", rounded(per_second(t, t->interrupts.delta)));
	add(o, "softirqs_per_second", rounded(per_second(t, t->softirqs.delta)));
	add(o, "times", json_object_new_boolean(t->has_times));
	add(o, "events_lost", count(t->has_times, t->lost));
	add(o, "irqs", rows(t, &t->interrupts, false));
	add(o, "softirqs", rows(t, &t->softirqs, true));
	for (size_t i = 0; i < t->nr_napis; i++)
		json_object_array_add(napis, napi(t, &t->napis[i]));
	add(o, "napis", napis);
	add(o, "lacks", strings(&t->after->map.lacks));
	return o;
}

int irq_json(const struct irq_table *t, bool pretty, struct buf *out)
{
	_cleanup_(json_putp) struct json_object *o = document(t);
	const char *text = json_object_to_json_string_ext(o, pretty ? JSON_C_TO_STRING_PRETTY
								    : JSON_C_TO_STRING_PLAIN);

	if (!text)
		return -ENOMEM;
	return buf_puts(out, text);
}
