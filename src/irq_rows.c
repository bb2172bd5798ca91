// SPDX-License-Identifier: GPL-3.0-or-later
#include "irq_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

static void rows_release(struct irq_rows *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->v[i].cpu_delta);
	free(r->v);
	*r = (struct irq_rows){};
}

void irq_table_release(struct irq_table *t)
{
	rows_release(&t->interrupts);
	rows_release(&t->softirqs);
	free(t->napis);
	free(t->cpus);
	*t = (struct irq_table){};
}

static bool is_chosen(const struct irq_choice *c, unsigned int cpu)
{
	return !c->cpus || cpuset_has(c->cpus, cpu);
}

/* Rows that count something else than interrupts, or what another row has counted. */
static bool counts(const struct irq_row *row)
{
	return !row->global && strcmp(row->id, "MCP") != 0 && strcmp(row->id, "PMI") != 0 &&
	       strcmp(row->id, "RTR") != 0 && strcmp(row->id, "TLB") != 0;
}

static uint64_t total_of(const struct procint *p, const struct procint_row *row,
			 const struct irq_choice *c)
{
	uint64_t sum = 0;

	if (row->global)
		return row->count[0];
	for (size_t i = 0; i < p->nr_cpus; i++)
		if (is_chosen(c, p->cpus[i]))
			sum += row->count[i];
	return sum;
}

/* The counters of the chosen CPUs out of all of @d. */
static int choose_cpus(const struct procint_diff *d, const struct procint_delta *from,
		       const struct irq_choice *c, struct irq_row *row)
{
	size_t nr = 0;

	if (row->global) {
		row->delta = from->count[0];
		return 0;
	}
	row->cpu_delta = calloc(d->nr_cpus ? d->nr_cpus : 1, sizeof(*row->cpu_delta));
	if (!row->cpu_delta)
		return -ENOMEM;
	for (size_t i = 0; i < d->nr_cpus; i++) {
		if (!is_chosen(c, d->cpus[i]))
			continue;
		row->cpu_delta[nr] = from->count[i];
		row->delta += from->count[i];
		if (row->cpu_delta[nr] > row->cpu_delta[row->busiest])
			row->busiest = nr;
		nr++;
	}
	return 0;
}

static int add_rows(const struct procint *before, const struct procint *after,
		    const struct irq_choice *c, struct irq_rows *ret, struct irq_table *t,
		    struct err *e)
{
	_cleanup_(procint_diff_release) struct procint_diff d = {};
	int r = procint_subtract(before, after, &d, e);

	if (r < 0)
		return r;
	ret->v = calloc(d.nr_rows ? d.nr_rows : 1, sizeof(*ret->v));
	if (!ret->v)
		return err_nomem(e, "rows");
	for (size_t i = 0; i < d.nr_rows; i++) {
		const struct procint_row *from = d.rows[i].row;
		struct irq_row *row = &ret->v[ret->nr];

		*row = (struct irq_row){ .id = from->id,
					 .name = from->name,
					 .global = from->global,
					 .changes = d.rows[i].changes,
					 .total = total_of(after, from, c) };
		if (c->threshold && row->total <= c->threshold)
			continue;
		if (choose_cpus(&d, &d.rows[i], c, row) < 0)
			return err_nomem(e, "rows");
		ret->delta += counts(row) ? row->delta : 0;
		ret->nr++;
	}
	t->nr_vanished += d.nr_vanished;
	if (d.nr_cpus_changed > t->nr_cpus_changed)
		t->nr_cpus_changed = d.nr_cpus_changed;
	return 0;
}

/* The CPUs of both frames that were chosen. */
static int add_cpus(const struct irq_choice *c, struct irq_table *t, struct err *e)
{
	const struct procint *a = &t->before->interrupts, *b = &t->after->interrupts;

	t->cpus = calloc(b->nr_cpus ? b->nr_cpus : 1, sizeof(*t->cpus));
	if (!t->cpus)
		return err_nomem(e, "CPUs");
	for (size_t i = 0; i < b->nr_cpus; i++)
		for (size_t k = 0; k < a->nr_cpus; k++)
			if (a->cpus[k] == b->cpus[i] && is_chosen(c, b->cpus[i]))
				t->cpus[t->nr_cpus++] = b->cpus[i];
	if (t->nr_cpus == 0)
		return err_set(e, -ENODATA, "none of the CPUs asked for is online");
	return 0;
}

/* The row of /proc/interrupts for x86's vectors, as irqtime names them. */
static const char *vector_row(const char *name)
{
	static const struct {
		const char *name, *row;
	} rows[] = { { "local_timer", "LOC" },	    { "reschedule", "RES" },
		     { "call_function", "CAL" },    { "call_function_single", "CAL" },
		     { "irq_work", "IWI" },	    { "thermal_apic", "TRM" },
		     { "threshold_apic", "THR" },   { "spurious_apic", "SPU" },
		     { "x86_platform_ipi", "PLT" }, { "deferred_error_apic", "DFR" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].row;
	return "";
}

static bool is_of(const struct irqtime_row *time, const struct irq_row *row, bool softirq)
{
	uint64_t irq;

	if (softirq)
		return time->kind == IRQTIME_SOFTIRQ &&
		       strcmp(irqtime_softirq_name((unsigned int)time->id), row->id) == 0;
	if (time->kind == IRQTIME_VECTOR)
		return strcmp(vector_row(time->name), row->id) == 0;
	return time->kind == IRQTIME_HARDIRQ && text_u64(row->id, &irq) == 0 && irq == time->id;
}

/* All handlers of a line, all chosen CPUs. */
static void add_times(const struct irqtime_table *times, const struct irq_choice *c, bool softirq,
		      struct irq_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		struct irq_row *row = &rows->v[i];
		uint64_t irq;

		row->has_time = softirq || text_u64(row->id, &irq) == 0;
		for (size_t k = 0; k < times->nr; k++) {
			const struct irqtime_row *from = &times->v[k];

			if (!is_chosen(c, from->cpu) || !is_of(from, row, softirq))
				continue;
			row->has_time = true;
			row->ns += from->ns;
			if (from->max_ns > row->max_ns)
				row->max_ns = from->max_ns;
		}
	}
}

static void add_lines(const struct irqmap *m, struct irq_rows *rows)
{
	uint64_t irq;

	for (size_t i = 0; i < rows->nr; i++)
		if (text_u64(rows->v[i].id, &irq) == 0 && irq <= UINT32_MAX)
			rows->v[i].line = irqmap_find(m, (uint32_t)irq);
}

static bool is_poll_of(const struct irqtime_row *from, const struct irq_napi_row *row)
{
	return row->id ? from->id == row->id
		       : from->id == 0 && strcmp(from->name, row->netdev) == 0;
}

/* The row that @from belongs to; a new one for what the map does not have (backlog, GRO cells). */
static struct irq_napi_row *napi_row(struct irq_table *t, const struct irqtime_row *from)
{
	for (size_t i = 0; i < t->nr_napis; i++)
		if (is_poll_of(from, &t->napis[i]))
			return &t->napis[i];
	t->napis[t->nr_napis] =
		(struct irq_napi_row){ .id = (uint32_t)from->id, .netdev = from->name };
	return &t->napis[t->nr_napis++];
}

static int add_napis(const struct irqtime_table *moved, const struct irq_choice *c,
		     struct irq_table *t, struct err *e)
{
	const struct irqtime_table *names = &t->after->times;
	const struct irqmap *m = &t->after->map;

	t->napis = calloc(m->nr_napis + names->nr + 1, sizeof(*t->napis));
	if (!t->napis)
		return err_nomem(e, "NAPI instances");
	for (size_t i = 0; i < m->nr_napis; i++)
		t->napis[t->nr_napis++] = (struct irq_napi_row){ .napi = &m->napis[i],
								 .id = m->napis[i].napi.id,
								 .netdev = m->napis[i].netdev };
	/* names are borrowed from the frame, which outlives what moved */
	for (size_t i = 0; i < names->nr; i++)
		if (names->v[i].kind == IRQTIME_NAPI)
			napi_row(t, &names->v[i]);
	for (size_t i = 0; i < t->nr_napis; i++)
		t->napis[i].has_time = t->has_times;
	for (size_t i = 0; i < moved->nr; i++) {
		const struct irqtime_row *from = &moved->v[i];
		struct irq_napi_row *row;

		if (from->kind != IRQTIME_NAPI || !is_chosen(c, from->cpu))
			continue;
		row = napi_row(t, from);
		row->polls += from->count;
		row->packets += from->extra;
		row->exhausted += from->extra2;
		row->ns += from->ns;
	}
	return 0;
}

static int compare_ids(const char *a, const char *b)
{
	uint64_t x, y;
	bool na = text_u64(a, &x) == 0, nb = text_u64(b, &y) == 0;

	if (na != nb)
		return na ? -1 : 1;
	return na ? (x > y) - (x < y) : strcmp(a, b);
}

static int by_id(const void *a, const void *b)
{
	return compare_ids(((const struct irq_row *)a)->id, ((const struct irq_row *)b)->id);
}

static int by_name(const void *a, const void *b)
{
	int d = strcmp(((const struct irq_row *)a)->name, ((const struct irq_row *)b)->name);

	return d ? d : by_id(a, b);
}

static int by_total(const void *a, const void *b)
{
	const struct irq_row *x = a, *y = b;

	return x->total == y->total ? by_id(a, b) : x->total < y->total ? 1 : -1;
}

static int by_delta(const void *a, const void *b)
{
	const struct irq_row *x = a, *y = b;

	return x->delta == y->delta ? by_total(a, b) : x->delta < y->delta ? 1 : -1;
}

static void sort_rows(enum irq_sort sort, struct irq_rows *rows)
{
	static int (*const compare[])(const void *, const void *) = {
		[IRQ_SORT_DELTA] = by_delta,
		[IRQ_SORT_TOTAL] = by_total,
		[IRQ_SORT_IRQ] = by_id,
		[IRQ_SORT_NAME] = by_name,
	};

	if (rows->nr)
		qsort(rows->v, rows->nr, sizeof(*rows->v), compare[sort]);
}

static int fill(const struct irq_choice *c, struct irq_table *t, struct err *e)
{
	_cleanup_(irqtime_table_release) struct irqtime_table moved = {};
	const struct irq_frame *a = t->before, *b = t->after;
	int r = add_cpus(c, t, e);

	if (r >= 0)
		r = add_rows(&a->interrupts, &b->interrupts, c, &t->interrupts, t, e);
	if (r >= 0)
		r = add_rows(&a->softirqs, &b->softirqs, c, &t->softirqs, t, e);
	if (r >= 0 && t->has_times)
		r = irqtime_subtract(&a->times, &b->times, &moved, e);
	if (r >= 0)
		r = add_napis(&moved, c, t, e);
	if (r < 0)
		return r;
	if (t->has_times) {
		add_times(&moved, c, false, &t->interrupts);
		add_times(&moved, c, true, &t->softirqs);
		t->lost = b->times.lost - a->times.lost;
	}
	add_lines(&b->map, &t->interrupts);
	sort_rows(c->sort, &t->interrupts);
	sort_rows(c->sort, &t->softirqs);
	return 0;
}

int irq_table_make(const struct irq_frame *before, const struct irq_frame *after,
		   const struct irq_choice *choice, struct irq_table *ret, struct err *e)
{
	_cleanup_(irq_table_release) struct irq_table t = {
		.seconds = (double)(after->at_ns - before->at_ns) / (double)NS_PER_S,
		.has_times = before->has_times && after->has_times,
		.before = before,
		.after = after,
	};
	int r = fill(choice, &t, e);

	if (r < 0)
		return r;
	*ret = t;
	t = (struct irq_table){};
	return 0;
}

static const struct irqmap_thread *find_thread(const struct irqmap *m,
					       const struct irqmap_thread *t)
{
	for (size_t i = 0; i < m->nr_lines; i++)
		for (size_t k = 0; k < m->lines[i].nr_threads; k++)
			if (m->lines[i].threads[k].tid == t->tid)
				return &m->lines[i].threads[k];
	for (size_t i = 0; i < m->nr_napis; i++)
		if (m->napis[i].thread.tid == t->tid)
			return &m->napis[i].thread;
	return NULL;
}

double irq_thread_share(const struct irq_table *table, const struct irqmap_thread *t)
{
	const struct irqmap_thread *was = find_thread(&table->before->map, t);

	/* a number used again has run for less, or under another name */
	if (!was || !was->runtime_ns || !t->runtime_ns || strcmp(was->comm, t->comm) != 0 ||
	    t->runtime_ns < was->runtime_ns || !(table->seconds > 0))
		return -1;
	return (double)(t->runtime_ns - was->runtime_ns) / (table->seconds * (double)NS_PER_S);
}
