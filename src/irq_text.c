// SPDX-License-Identifier: GPL-3.0-or-later
#include "irq_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

#define CPU_WIDTH 9
#define WIDE 120 /* from here on threads have a column of their own */
#define THREAD_WIDTH 34

#define REVERSE "\033[7m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

/* A text under way: whole lines go to @out, cut to the width. */
struct page {
	const struct irq_table *t;
	const struct irq_look *look;
	struct buf *out;
	struct buf line;
	unsigned int lines;
};

static bool is_full(const struct page *p)
{
	return p->look->height && p->lines >= p->look->height;
}

/* Bytes of @s that fit into @width columns: a character each, whole ones alone. */
static size_t fitting(const char *s, size_t width)
{
	size_t at = 0;

	while (s[at] && width > 0) {
		at++;
		while (((unsigned char)s[at] & 0xc0) == 0x80)
			at++;
		width--;
	}
	return at;
}

/* The line is written in @style and begun anew. */
static void end_line(struct page *p, const char *style)
{
	const char *text = buf_str(&p->line);
	size_t len = p->look->width ? fitting(text, p->look->width) : p->line.len;

	while (len > 0 && text[len - 1] == ' ')
		len--;
	if (!is_full(p)) {
		bool styled = p->look->colour && *style && len > 0;

		buf_puts(p->out, styled ? style : "");
		buf_add(p->out, text, len);
		buf_puts(p->out, styled ? PLAIN "\n" : "\n");
		p->lines++;
	}
	buf_reset(&p->line);
}

/* @text, cut and filled to @width columns, and a blank. */
static void left(struct page *p, const char *text, size_t width)
{
	_cleanup_(buf_release) struct buf safe = {};
	size_t len, columns = 0;

	text_printable(&safe, text, strlen(text));
	len = fitting(buf_str(&safe), width);
	buf_add(&p->line, buf_str(&safe), len);
	for (size_t i = 0; i < len; i++)
		columns += ((unsigned char)buf_str(&safe)[i] & 0xc0) != 0x80;
	buf_printf(&p->line, "%*s", (int)(width - columns) + 1, "");
}

static void rest(struct page *p, const char *text)
{
	text_printable(&p->line, text, strlen(text));
}

/* A rate in 9 columns. */
static void put_rate(struct buf *out, double rate)
{
	if (rate >= 1e9)
		buf_printf(out, "%9.2e ", rate);
	else
		buf_printf(out, rate >= 100 || rate <= 0 ? "%9.0f " : "%9.1f ", rate);
}

static double per_second(const struct page *p, uint64_t count)
{
	return p->t->seconds > 0 ? (double)count / p->t->seconds : 0;
}

static double share_of(const struct page *p, uint64_t ns)
{
	return p->t->seconds > 0 ? (double)ns / 1e9 / p->t->seconds : 0;
}

/* CPU columns are shown when asked for, or when they fit beside the rest. */
static bool has_cpu_columns(const struct page *p)
{
	switch (p->look->cpu_stat) {
	case IRQ_CPU_ALWAYS:
		return true;
	case IRQ_CPU_AUTO:
		return p->look->width >= WIDE &&
		       p->t->nr_cpus <= (p->look->width - WIDE) / (CPU_WIDTH + 1);
	case IRQ_CPU_NEVER:
	default:
		return false;
	}
}

static bool is_wide(const struct page *p)
{
	return !p->look->width || p->look->width >= WIDE;
}

/* IRQ_POLL is the longest softirq; interrupts are IPI12 or four digits. */
static int id_width(const struct page *p)
{
	return is_wide(p) || p->look->softirqs ? 8 : 5;
}

static void put_cpu_names(struct page *p)
{
	for (size_t i = 0; has_cpu_columns(p) && i < p->t->nr_cpus; i++) {
		char name[16];

		snprintf(name, sizeof(name), "CPU%u/s", p->t->cpus[i]);
		buf_printf(&p->line, "%*s ", CPU_WIDTH, name);
	}
}

static void put_cpus(struct page *p, const struct irq_row *row)
{
	for (size_t i = 0; has_cpu_columns(p) && i < p->t->nr_cpus; i++)
		if (row->cpu_delta)
			put_rate(&p->line, per_second(p, row->cpu_delta[i]));
		else
			buf_printf(&p->line, "%*s ", CPU_WIDTH, "");
}

/* "CPU3 97%": where most of it was. */
static void put_busiest(struct page *p, const struct irq_row *row)
{
	char text[32] = "-";

	if (row->delta && row->cpu_delta)
		snprintf(text, sizeof(text), "CPU%u %.0f%%", p->t->cpus[row->busiest],
			 100 * (double)row->cpu_delta[row->busiest] / (double)row->delta);
	buf_printf(&p->line, "%*s ", is_wide(p) ? 11 : 9, text);
}

static void put_time(struct page *p, bool has, uint64_t ns)
{
	if (!p->t->has_times)
		return;
	if (has)
		buf_printf(&p->line, "%6.2f%% ", 100 * share_of(p, ns));
	else
		buf_printf(&p->line, "%7s ", "-");
}

/* "irq/24-eth0 FIFO:50 3.1%"; in a narrow table the name, which may be cut, comes last. */
static void thread_text(const struct page *p, const struct irqmap_thread *t, struct buf *out)
{
	double share = irq_thread_share(p->t, t);
	char name[sizeof(t->comm)];

	snprintf(name, sizeof(name), "%s", t->comm);
	if (!*name)
		snprintf(name, sizeof(name), "tid %d", t->tid);
	if (is_wide(p))
		buf_printf(out, "%s ", name);
	irqmap_policy(t, out);
	if (share >= 0)
		buf_printf(out, " %.1f%%", 100 * share);
	if (!is_wide(p))
		buf_printf(out, " %s", name);
}

/* "FIFO:50,FIFO:90": of a narrow table. */
static void put_policies(struct page *p, const struct irqmap_line *l)
{
	for (size_t i = 0; l && i < l->nr_threads; i++) {
		buf_puts(&p->line, i ? "," : "[");
		irqmap_policy(&l->threads[i], &p->line);
	}
	if (l && l->nr_threads)
		buf_puts(&p->line, "] ");
}

static void put_owner(struct page *p, const struct irqmap_line *l)
{
	_cleanup_(buf_release) struct buf netdev = {};
	const char *cpus = "";

	if (l && l->netdevs)
		buf_printf(&netdev, "%s%s", l->netdevs, l->netdevs_by == IRQMAP_GUESS ? "?" : "");
	if (l && (l->effective || l->affinity))
		cpus = l->effective ? l->effective : l->affinity;
	left(p, buf_str(&netdev), is_wide(p) ? 16 : 10);
	left(p, cpus, 7);
}

static void put_thread(struct page *p, const struct irqmap_line *l, size_t i)
{
	_cleanup_(buf_release) struct buf thread = {};

	if (l && i < l->nr_threads)
		thread_text(p, &l->threads[i], &thread);
	left(p, buf_str(&thread), THREAD_WIDTH);
}

/* The second and further threads of a shared line stand below the first. */
static void put_further_threads(struct page *p, const struct irq_row *row, size_t column)
{
	for (size_t i = 1; row->line && i < row->line->nr_threads; i++) {
		buf_printf(&p->line, "%*s", (int)column, "");
		put_thread(p, row->line, i);
		end_line(p, row->delta ? "" : DIM);
	}
}

static void put_row(struct page *p, const struct irq_row *row)
{
	size_t column = 0;

	buf_printf(&p->line, "%*.8s ", id_width(p), row->id);
	put_rate(&p->line, per_second(p, row->delta));
	buf_printf(&p->line, "%12llu ", (unsigned long long)row->total);
	put_busiest(p, row);
	put_time(p, row->has_time, row->ns);
	put_cpus(p, row);
	if (!p->look->softirqs) {
		/* all ASCII so far but, maybe, the netdev's name: left() counts columns */
		column = p->line.len + (is_wide(p) ? 16 : 10) + 1 + 7 + 1;
		put_owner(p, row->line);
		if (is_wide(p))
			put_thread(p, row->line, 0);
		else
			put_policies(p, row->line);
	}
	rest(p, row->name);
	end_line(p, row->delta ? "" : DIM);
	if (is_wide(p) && !p->look->softirqs)
		put_further_threads(p, row, column);
}

static void put_rows(struct page *p)
{
	const struct irq_rows *rows = p->look->softirqs ? &p->t->softirqs : &p->t->interrupts;

	buf_printf(&p->line, "%*s %9s %12s %*s ", id_width(p),
		   p->look->softirqs ? "SOFTIRQ" : "IRQ", "RATE/s", "TOTAL", is_wide(p) ? 11 : 9,
		   "BUSIEST");
	if (p->t->has_times)
		buf_printf(&p->line, "%7s ", "TIME");
	put_cpu_names(p);
	if (!p->look->softirqs) {
		left(p, "NETDEV", is_wide(p) ? 16 : 10);
		left(p, "CPUS", 7);
		if (is_wide(p))
			left(p, "THREAD", THREAD_WIDTH);
		rest(p, "NAME");
	}
	end_line(p, REVERSE);
	for (size_t i = 0; i < rows->nr && !is_full(p); i++)
		put_row(p, &rows->v[i]);
}

static void put_napi(struct page *p, const struct irq_napi_row *row)
{
	_cleanup_(buf_release) struct buf thread = {}, netdev = {};
	const struct irqmap_napi *n = row->napi;

	buf_printf(&p->line, "%8u ", row->id);
	if (p->t->has_times) {
		put_rate(&p->line, per_second(p, row->polls));
		if (row->polls)
			buf_printf(&p->line, "%9.1f ", (double)row->packets / (double)row->polls);
		else
			buf_printf(&p->line, "%9s ", "-");
		put_time(p, row->has_time, row->ns);
	}
	/* the backlog of a CPU belongs to no netdev and has no number */
	buf_printf(&netdev, "%s%s", row->id || *row->netdev ? row->netdev : "backlog",
		   n && n->by == IRQMAP_GUESS ? "?" : "");
	left(p, buf_str(&netdev), is_wide(p) ? 16 : 10);
	if (n && n->napi.has & NAPI_IRQ)
		buf_printf(&p->line, "%5u ", n->napi.irq);
	else
		buf_printf(&p->line, "%5s ", "-");
	left(p, n && n->thread.tid && n->thread.cpus ? n->thread.cpus : "", 7);
	if (n && n->thread.tid)
		thread_text(p, &n->thread, &thread);
	else
		buf_puts(&thread, "softirq");
	rest(p, buf_str(&thread));
	end_line(p, "");
}

static void put_napis(struct page *p)
{
	if (!p->look->napis || p->t->nr_napis == 0)
		return;
	end_line(p, "");
	buf_printf(&p->line, "%8s ", "NAPI");
	if (p->t->has_times)
		buf_printf(&p->line, "%9s %9s %7s ", "POLLS/s", "PKT/POLL", "TIME");
	left(p, "NETDEV", is_wide(p) ? 16 : 10);
	buf_printf(&p->line, "%5s ", "IRQ");
	left(p, "CPUS", 7);
	rest(p, "POLLED IN");
	end_line(p, REVERSE);
	for (size_t i = 0; i < p->t->nr_napis && !is_full(p); i++)
		put_napi(p, &p->t->napis[i]);
}

static void put_notes(struct page *p)
{
	const struct str_list *lacks = &p->t->after->map.lacks;

	if (p->t->nr_cpus_changed) {
		buf_printf(&p->line, "note: %zu CPUs went on- or offline and are left out",
			   p->t->nr_cpus_changed);
		end_line(p, "");
	}
	if (p->t->lost) {
		buf_printf(&p->line, "note: %llu events were not accounted for: no room",
			   (unsigned long long)p->t->lost);
		end_line(p, "");
	}
	for (size_t i = 0; i < lacks->nr; i++) {
		buf_puts(&p->line, "note: ");
		rest(p, lacks->v[i]);
		end_line(p, "");
	}
}

static const char *sort_name(enum irq_sort sort)
{
	switch (sort) {
	case IRQ_SORT_TOTAL:
		return "total";
	case IRQ_SORT_IRQ:
		return "irq";
	case IRQ_SORT_NAME:
		return "name";
	case IRQ_SORT_DELTA:
	default:
		return "delta";
	}
}

int irq_text(const struct irq_table *t, const struct irq_look *look, struct buf *out)
{
	struct page p = { .t = t, .look = look, .out = out };

	buf_printf(&p.line, "%.2f s, %zu CPU%s: %.0f interrupts/s, %.0f softirqs/s; by %s",
		   t->seconds, t->nr_cpus, t->nr_cpus == 1 ? "" : "s",
		   per_second(&p, t->interrupts.delta), per_second(&p, t->softirqs.delta),
		   sort_name(look->sort));
	end_line(&p, "");
	put_notes(&p);
	put_rows(&p);
	put_napis(&p);
	if (p.line.failed)
		out->failed = true;
	buf_release(&p.line);
	return out->failed ? -ENOMEM : 0;
}
