// SPDX-License-Identifier: GPL-3.0-or-later
/* Tables of the BPF accounts: order, differences, names.  Pure; also in builds without BPF. */
#include "probe/irqtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

const char *irqtime_kind_name(enum irqtime_kind kind)
{
	static const char *const names[IRQTIME_KINDS] = {
		[IRQTIME_HARDIRQ] = "hardirq", [IRQTIME_VECTOR] = "vector",
		[IRQTIME_SOFTIRQ] = "softirq", [IRQTIME_NAPI] = "napi",
		[IRQTIME_THREAD] = "thread",
	};

	return (size_t)kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

/* include/linux/interrupt.h, the same since 3.4; kernel/softirq.c softirq_to_name[]. */
const char *irqtime_softirq_name(unsigned int vector)
{
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

	return vector < ARRAY_SIZE(names) ? names[vector] : "?";
}

void irqtime_table_release(struct irqtime_table *t)
{
	free(t->v);
	*t = (struct irqtime_table){};
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
	const struct irqtime_row *a = left, *b = right;
	int r = order(a->kind, b->kind);

	if (!r)
		r = order(a->id, b->id);
	if (!r && a->kind != IRQTIME_THREAD) /* whose name changes when it executes a program */
		r = strncmp(a->name, b->name, sizeof(a->name));
	return r ? r : order(a->cpu, b->cpu);
}

static void add(struct irqtime_row *to, const struct irqtime_row *from)
{
	if (from->ns > to->ns)
		memcpy(to->name, from->name, sizeof(to->name));
	to->count += from->count;
	to->ns += from->ns;
	to->extra += from->extra;
	to->extra2 += from->extra2;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
}

void irqtime_table_sort(struct irqtime_table *t)
{
	size_t nr = 0;

	if (!t->nr)
		return;
	qsort(t->v, t->nr, sizeof(*t->v), compare);
	for (size_t i = 1; i < t->nr; i++) {
		if (compare(&t->v[nr], &t->v[i]) == 0)
			add(&t->v[nr], &t->v[i]);
		else
			t->v[++nr] = t->v[i];
	}
	t->nr = nr + 1;
}

static uint64_t since(uint64_t before, uint64_t after)
{
	return after >= before ? after - before : 0;
}

/* The row of @t like @row at @*at or behind it; both are sorted, so @*at only moves on. */
static const struct irqtime_row *advance(const struct irqtime_table *t, size_t *at,
					 const struct irqtime_row *row)
{
	while (*at < t->nr && compare(&t->v[*at], row) < 0)
		(*at)++;
	return *at < t->nr && compare(&t->v[*at], row) == 0 ? &t->v[*at] : NULL;
}

int irqtime_subtract(const struct irqtime_table *before, const struct irqtime_table *after,
		     struct irqtime_table *ret, struct err *e)
{
	struct irqtime_row *rows = calloc(after->nr ? after->nr : 1, sizeof(*rows));
	size_t at = 0, nr = 0;

	if (!rows)
		return err_nomem(e, "table of the accounts");
	for (size_t i = 0; i < after->nr; i++) {
		const struct irqtime_row *old = advance(before, &at, &after->v[i]);
		struct irqtime_row row = after->v[i];

		if (old) {
			row.count = since(old->count, row.count);
			row.ns = since(old->ns, row.ns);
			row.extra = since(old->extra, row.extra);
			row.extra2 = since(old->extra2, row.extra2);
		}
		if (row.count || row.ns || row.extra || row.extra2)
			rows[nr++] = row;
	}
	irqtime_table_release(ret);
	*ret = (struct irqtime_table){
		.v = rows, .nr = nr, .at_ns = after->at_ns, .lost = since(before->lost, after->lost)
	};
	return 0;
}
