// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/irqtime_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "probe/emit.h"
#include "probe/irqtime.h"

/* Threads below this share of a CPU are one row. */
#define THREAD_SHARE 0.001

#define NET_RX 3

int irqtime_series_init(struct irqtime_series *s, unsigned int nr_cpus, size_t size, struct err *e)
{
	*s = (struct irqtime_series){ .nr_cpus = nr_cpus, .size = size };
	s->v = calloc(size * nr_cpus, sizeof(*s->v));
	s->at_ns = calloc(size, sizeof(*s->at_ns));
	if (!s->v || !s->at_ns) {
		irqtime_series_release(s);
		return err_nomem(e, "series");
	}
	return 0;
}

void irqtime_series_release(struct irqtime_series *s)
{
	free(s->v);
	free(s->at_ns);
	*s = (struct irqtime_series){};
}

void irqtime_series_add(struct irqtime_series *s, const struct irqtime_table *t)
{
	struct irqtime_cpu_sums *sums;

	if (s->nr == s->size) {
		s->dropped++;
		return;
	}
	sums = &s->v[s->nr * s->nr_cpus];
	for (size_t i = 0; i < t->nr; i++) {
		const struct irqtime_row *row = &t->v[i];

		if (row->cpu >= s->nr_cpus)
			continue;
		if (row->kind == IRQTIME_HARDIRQ || row->kind == IRQTIME_VECTOR)
			sums[row->cpu].hard_ns += row->ns;
		if (row->kind == IRQTIME_SOFTIRQ)
			sums[row->cpu].soft_ns += row->ns;
		if (row->kind == IRQTIME_SOFTIRQ && row->id == NET_RX)
			sums[row->cpu].net_rx_ns += row->ns;
		if (row->kind == IRQTIME_NAPI)
			sums[row->cpu].packets += row->extra;
	}
	s->at_ns[s->nr++] = t->at_ns;
}

/* A value of the series over time: @cpu's, or of all when it is nr_cpus. */
static uint64_t series_value(const struct irqtime_series *s, size_t at, unsigned int cpu,
			     size_t offset)
{
	const struct irqtime_cpu_sums *sums = &s->v[at * s->nr_cpus];
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->nr_cpus; i++)
		if (cpu == s->nr_cpus || cpu == i)
			sum += *(const uint64_t *)(const void *)((const char *)&sums[i] + offset);
	return sum;
}

static const struct {
	const char *metric, *unit;
	size_t offset;
} lines[] = {
	{ "hardirq", "ratio", offsetof(struct irqtime_cpu_sums, hard_ns) },
	{ "softirq", "ratio", offsetof(struct irqtime_cpu_sums, soft_ns) },
	{ "net-rx", "ratio", offsetof(struct irqtime_cpu_sums, net_rx_ns) },
	{ "packets", "1/s", offsetof(struct irqtime_cpu_sums, packets) },
};

/* One line over time, each point at its interval's end. */
static void report_line(struct emit *m, const struct irqtime_window *w,
			const struct irqtime_series *s, size_t line, unsigned int cpu)
{
	_cleanup_(freep) struct point *points = calloc(s->nr + 1, sizeof(*points));
	bool is_share = strcmp(lines[line].unit, "ratio") == 0;
	double cpus = cpu == s->nr_cpus && is_share ? (double)w->nr_cpus : 1;
	char labels[24] = "";
	size_t nr = 0;

	if (!points) {
		m->r = err_nomem(m->e, lines[line].metric);
		return;
	}
	for (size_t i = 1; i < s->nr; i++) {
		double ns = (double)(s->at_ns[i] - s->at_ns[i - 1]);
		uint64_t before = series_value(s, i - 1, cpu, lines[line].offset);
		uint64_t after = series_value(s, i, cpu, lines[line].offset);
		double moved = after > before ? (double)(after - before) : 0;

		if (ns <= 0)
			continue;
		points[nr].t_ns = (int64_t)(s->at_ns[i] - w->begin_ns);
		points[nr++].v = is_share ? moved / ns / cpus : moved * (double)NS_PER_S / ns;
	}
	if (cpu != s->nr_cpus)
		snprintf(labels, sizeof(labels), "cpu=%u", cpu);
	if (nr)
		emit_series(m, lines[line].metric, lines[line].unit, labels, points, nr);
}

static void report_series(struct emit *m, const struct irqtime_window *w,
			  const struct irqtime_series *s)
{
	for (size_t line = 0; line < ARRAY_SIZE(lines); line++) {
		report_line(m, w, s, line, s->nr_cpus);
		for (size_t i = 0; i < w->nr_cpus; i++)
			report_line(m, w, s, line, w->cpus[i]);
	}
	if (s->dropped)
		emit_event(m, SEVERITY_NOTE, 0,
			   "the window was longer than planned: the last %zu intervals are in no "
			   "series",
			   s->dropped);
}

/* "cpu=0,irq=24,name=eth0-rx-0", "cpu=0,vec=NET_RX", "cpu=0,dev=eth0,napi=8193": keys in order */
static void row_labels(const struct irqtime_row *row, struct buf *out)
{
	buf_reset(out);
	buf_printf(out, "cpu=%u,", row->cpu);
	switch (row->kind) {
	case IRQTIME_HARDIRQ:
		buf_printf(out, "irq=%" PRIu64 ",name=", row->id);
		emit_label(out, row->name);
		break;
	case IRQTIME_VECTOR:
		buf_puts(out, "vector=");
		emit_label(out, row->name);
		break;
	case IRQTIME_SOFTIRQ:
		buf_puts(out, "vec=");
		emit_label(out, row->name);
		break;
	case IRQTIME_NAPI:
		buf_puts(out, "dev=");
		emit_label(out, *row->name ? row->name : "backlog");
		buf_printf(out, ",napi=%" PRIu64, row->id);
		break;
	case IRQTIME_THREAD:
		buf_puts(out, "thread=");
		emit_label(out, row->name);
		break;
	}
}

static double per(uint64_t sum, uint64_t nr)
{
	return nr ? (double)sum / (double)nr : 0;
}

static void report_napi(struct emit *m, const struct irqtime_row *sum, const char *labels,
			double seconds)
{
	emit_scalar(m, "polls", "1/s", labels, (double)sum->count / seconds);
	emit_scalar(m, "packets", "1/s", labels, (double)sum->extra / seconds);
	if (!sum->count)
		return;
	emit_scalar(m, "packets-per-poll", "count", labels, per(sum->extra, sum->count));
	emit_scalar(m, "budget-exhausted", "ratio", labels, per(sum->extra2, sum->count));
	emit_scalar(m, "poll-ns", "ns", labels, per(sum->ns, sum->count));
}

/* Of an interrupt or softirq on a CPU: share of the CPU, rate, mean time, mean wait. */
static void report_row(struct emit *m, const struct irqtime_row *row, const char *labels,
		       const struct irqtime_window *w)
{
	bool soft = row->kind == IRQTIME_SOFTIRQ;
	double seconds = (double)w->length_ns / (double)NS_PER_S;

	emit_scalar(m, soft ? "softirq" : "hardirq", "ratio", labels, per(row->ns, w->length_ns));
	emit_scalar(m, soft ? "softirqs" : "irqs", "1/s", labels, (double)row->count / seconds);
	if (row->count)
		emit_scalar(m, soft ? "softirq-ns" : "irq-ns", "ns", labels,
			    per(row->ns, row->count));
	if (row->extra2)
		emit_scalar(m, "raise-wait", "ns", labels, per(row->extra, row->extra2));
}

static int by_cpu_and_name(const void *left, const void *right)
{
	const struct irqtime_row *a = left, *b = right;
	int r = strncmp(a->name, b->name, sizeof(a->name));

	return r ? r : (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

/* tids differ from trial to trial: threads of a name are one row; small ones are one together. */
static void report_threads(struct emit *m, const struct irqtime_window *w,
			   const struct irqtime_row *rows, size_t nr)
{
	_cleanup_(freep) struct irqtime_row *threads = calloc(nr + 1, sizeof(*threads));
	_cleanup_(buf_release) struct buf labels = {};
	uint64_t others_ns = 0;

	if (!threads) {
		m->r = err_nomem(m->e, "threads");
		return;
	}
	memcpy(threads, rows, nr * sizeof(*rows));
	qsort(threads, nr, sizeof(*threads), by_cpu_and_name);
	for (size_t i = 0; i < nr; i++) {
		if (i + 1 < nr && by_cpu_and_name(&threads[i], &threads[i + 1]) == 0) {
			threads[i + 1].ns += threads[i].ns;
			continue;
		}
		if (per(threads[i].ns, w->length_ns) < THREAD_SHARE) {
			others_ns += threads[i].ns;
			continue;
		}
		row_labels(&threads[i], &labels);
		emit_scalar(m, "thread", "ratio", buf_str(&labels),
			    per(threads[i].ns, w->length_ns));
	}
	if (others_ns)
		emit_scalar(m, "thread", "ratio", "thread=others", per(others_ns, w->length_ns));
}

static void add(struct irqtime_row *to, const struct irqtime_row *from)
{
	to->count += from->count;
	to->ns += from->ns;
	to->extra += from->extra;
	to->extra2 += from->extra2;
}

static void report_totals(struct emit *m, const struct irqtime_window *w,
			  const struct irqtime_row total[IRQTIME_KINDS],
			  const struct irqtime_row *net_rx)
{
	const struct irqtime_row *soft = &total[IRQTIME_SOFTIRQ];
	double seconds = (double)w->length_ns / (double)NS_PER_S;
	uint64_t all_ns = w->length_ns * w->nr_cpus;
	struct irqtime_row hard = total[IRQTIME_HARDIRQ];

	add(&hard, &total[IRQTIME_VECTOR]);
	emit_scalar(m, "hardirq", "ratio", "", per(hard.ns, all_ns));
	emit_scalar(m, "irqs", "1/s", "", (double)hard.count / seconds);
	if (hard.count)
		emit_scalar(m, "irq-ns", "ns", "", per(hard.ns, hard.count));
	if (soft->count) {
		emit_scalar(m, "softirq", "ratio", "", per(soft->ns, all_ns));
		emit_scalar(m, "softirqs", "1/s", "", (double)soft->count / seconds);
		emit_scalar(m, "softirq-ns", "ns", "", per(soft->ns, soft->count));
		emit_scalar(m, "net-rx", "ratio", "", per(net_rx->ns, all_ns));
	}
	if (soft->extra2)
		emit_scalar(m, "raise-wait", "ns", "", per(soft->extra, soft->extra2));
	if (net_rx->count)
		emit_scalar(m, "net-rx-ns", "ns", "", per(net_rx->ns, net_rx->count));
	if (net_rx->extra2)
		emit_scalar(m, "net-rx-wait", "ns", "", per(net_rx->extra, net_rx->extra2));
	if (total[IRQTIME_NAPI].count)
		report_napi(m, &total[IRQTIME_NAPI], "", seconds);
}

void irqtime_report(struct emit *m, const struct irqtime_window *w,
		    const struct irqtime_table *during, const struct irqtime_series *series)
{
	struct irqtime_row total[IRQTIME_KINDS] = {}, net_rx = {};
	_cleanup_(buf_release) struct buf labels = {};
	double seconds = (double)w->length_ns / (double)NS_PER_S;
	size_t threads = 0;

	if (!w->length_ns || !w->nr_cpus) {
		m->r = err_set(m->e, -ENODATA, "drained before its window closed");
		return;
	}
	for (size_t i = 0; i < during->nr && m->r >= 0; i++) {
		const struct irqtime_row *row = &during->v[i];

		add(&total[row->kind], row);
		if (row->kind == IRQTIME_SOFTIRQ && row->id == NET_RX)
			add(&net_rx, row);
		row_labels(row, &labels);
		if (row->kind == IRQTIME_THREAD)
			threads++;
		else if (row->kind == IRQTIME_NAPI)
			report_napi(m, row, buf_str(&labels), seconds);
		else
			report_row(m, row, buf_str(&labels), w);
	}
	if (labels.failed)
		m->r = err_nomem(m->e, "labels");
	/* the last kind of the order */
	report_threads(m, w, during->v + during->nr - threads, threads);
	report_totals(m, w, total, &net_rx);
	report_series(m, w, series);
	emit_scalar(m, "lost", "count", "", (double)during->lost);
	if (during->lost)
		emit_event(
			m, SEVERITY_NOTE, 0,
			"%" PRIu64 " events are in no row: more handlers, NAPI instances or "
			"threads than there is room for, or switches that the kernel did not show",
			during->lost);
}
