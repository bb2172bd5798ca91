// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/import_rtla.h"

/*
 * ## CPU 23 hit stop tracing, analyzing it ##
 *   Previous IRQ interference:			 up to      1.52 us
 *   IRQ handler delay:		(exit from idle)	    36.71 us (73.5 %)
 *   IRQ latency:						    38.50 us
 *   Timerlat IRQ duration:				     9.27 us (18.6 %)
 *   Blocking thread:					     3.79 us (7.59 %)
 * 	             objtool:49256    			     3.79 us
 *     Blocking thread stack trace
 * 		-> timerlat_irq
 *   IRQ interference					     1.21 us (2.42 %)
 * 	  local_timer:236      				     1.21 us
 * ------------------------------------------------------------------------
 *   Thread latency:					    49.93 us (100%)
 *
 * Max timerlat IRQ latency from idle: 38.50 us in cpu 23
 */

#define LINES_MAX 4096 /* of one analysis: a stack, tasks */

static const struct part {
	const char *head, *metric, *kind;
} parts[] = {
	{ "Previous IRQ interference:", "blame.irq.previous", NULL },
	{ "IRQ handler delay:", "blame.irq.delay", NULL },
	{ "IRQ latency:", "latency.irq", NULL },
	{ "Timerlat IRQ duration:", "blame.timer", NULL },
	{ "Blocking thread:", "blame.thread.blocking", "thread.blocking" },
	{ "NMI interference", "blame.nmi", "nmi" },
	{ "IRQ interference", "blame.irq", "irq" },
	{ "Softirq interference", "blame.softirq", "softirq" },
	{ "Thread interference", "blame.thread", "thread" },
	{ "Thread latency:", "latency.thread", NULL },
};

static bool is_begin(const char *line)
{
	return strncmp(line, "## CPU ", 7) == 0 && scan_find(line, "hit stop tracing");
}

static const struct part *find_part(const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strncmp(line, parts[i].head, strlen(parts[i].head)) == 0)
			return &parts[i];
	return NULL;
}

/* The first "N us" of the line. */
static bool find_us(const char *line, struct scan_number *ret)
{
	for (const char *s = scan_find(line, " us"); s; s = scan_find(s + 3, " us")) {
		const char *p = s;

		if (isalnum((unsigned char)s[3]))
			continue;
		while (p > line && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
			p--;
		if (scan_number(&p, ret))
			return true;
	}
	return false;
}

static bool is_idle(const char *line)
{
	return strncmp(line, "Max timerlat IRQ latency from idle: ", 36) == 0;
}

/* "objtool:49256 3.79 us": a part of the part above it. */
static bool is_detail(const char *line)
{
	struct scan_number v;
	const char *p = line;
	struct word w;

	return word_next(&p, &w) && memchr(w.s, ':', w.len) && w.s[w.len - 1] != ':' &&
	       find_us(line, &v);
}

bool rtla_blame_is_row(const struct import_feed *f, const char *line)
{
	const struct rtla_blame *b = f->run ? rtla_blame_of(f->run) : NULL;
	struct scan_number v;

	if (is_begin(line))
		return true;
	if (!b || !b->is || b->lines > LINES_MAX)
		return false;
	return is_idle(line) || (find_part(line) && (find_us(line, &v) || b->kind || !b->irq)) ||
	       (b->kind && is_detail(line));
}

bool rtla_blame_is_chatter(const struct import_feed *f, const char *line)
{
	const struct rtla_blame *b = f->run ? rtla_blame_of(f->run) : NULL;

	if (!b || !b->is || b->lines > LINES_MAX)
		return false;
	return strncmp(line, "-> ", 3) == 0 || strncmp(line, "Blocking thread stack", 21) == 0 ||
	       strncmp(line, "Printing CPU tasks:", 19) == 0 || strncmp(line, "[0", 2) == 0 ||
	       strncmp(line, "-------", 7) == 0;
}

bool rtla_blame_goes_on(const char *line, const char *next)
{
	struct word last = word_last(line), first, unit;
	struct scan_number v;

	if (!last.len || word_is(last, "us") || last.s[last.len - 1] == ')' || is_begin(line))
		return false;
	return word_next(&next, &first) && word_number(first, "", &v) && word_next(&next, &unit) &&
	       word_is(unit, "us");
}

static int add_part(struct import_feed *f, const char *metric, const char *labels,
		    const struct scan_number *v, bool key)
{
	const struct cell cell = { metric, "ns", labels, 1e3, .key = key };

	return cell_add(f, &cell, v);
}

static int begin(struct import_feed *f, const struct import_line *l)
{
	struct scan_number cpu;
	struct rtla_blame *b;
	int r;

	if (!word_after(l->s, "## CPU ", &cpu) || cpu.decimals || cpu.value > 65535)
		return import_bad(f, "an analysis of no CPU");
	r = import_open_run(f, l->nr);
	if (r < 0)
		return r;
	b = rtla_blame_of(f->run);
	b->is = true;
	b->cpu = (int)cpu.value;
	f->greedy = true;
	return 0;
}

static int read_idle(struct import_feed *f, const char *line)
{
	struct scan_number v, cpu;
	char labels[24];

	if (!find_us(line, &v) || !word_after(line, " in cpu ", &cpu) || cpu.decimals)
		return import_bad(f, "a latency from idle without its CPU");
	snprintf(labels, sizeof(labels), "cpu=%.0f", cpu.value);
	return add_part(f, "latency.irq.idle.max", labels, &v, false);
}

static int read_detail(struct import_feed *f, const char *line)
{
	const struct rtla_blame *b = rtla_blame_of(f->run);
	char metric[48], labels[96], name[64];
	struct scan_number v;
	const char *p = line;
	struct word w;

	/* a name with blanks goes up to the last colon before the number */
	if (!word_next(&p, &w) || !find_us(line, &v))
		return import_bad(f, "a part without its time");
	word_label(name, sizeof(name), w);
	snprintf(metric, sizeof(metric), "blame.%s.part", b->kind);
	snprintf(labels, sizeof(labels), "by=%s,cpu=%d", name, b->cpu);
	return add_part(f, metric, labels, &v, false);
}

int rtla_blame_row(struct import_feed *f, const struct import_line *l)
{
	const struct part *part;
	struct scan_number v, percent;
	struct rtla_blame *b;
	const char *bracket, *rest;
	char labels[24];
	int r;

	if (is_begin(l->s))
		return begin(f, l);
	b = rtla_blame_of(f->run);
	b->lines++;
	if (is_idle(l->s))
		return read_idle(f, l->s);
	part = find_part(l->s);
	if (!part)
		return read_detail(f, l->s);
	b->kind = part->kind;
	/* the interrupt itself was late: the thread that it met has no time of its own */
	if (!find_us(l->s, &v)) {
		b->irq = true;
		return strcmp(part->head, "Blocking thread:") == 0
			       ? 0
			       : import_bad(f, "a part without its time");
	}
	bracket = strrchr(l->s, '(');
	if (bracket && word_after(bracket, "(", &percent) && percent.value > 100)
		return import_bad(f, "a part beyond 100 %");
	snprintf(labels, sizeof(labels), "cpu=%d", b->cpu);
	r = add_part(f, part->metric, labels, &v,
		     strcmp(part->head, "Thread latency:") == 0 ||
			     strcmp(part->head, "IRQ latency:") == 0);
	/* early versions forgot the end of the first part's line */
	rest = part == parts ? scan_find(l->s, parts[1].head) : NULL;
	if (r == 0 && rest && find_us(rest, &v))
		r = add_part(f, parts[1].metric, labels, &v, false);
	return r;
}
