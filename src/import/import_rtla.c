// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/import_rtla.h"

/*
 * rtla timerlat top (6.1 to 6.19; -u has a third group, newer ones an ALL row):
 *
 *                                      Timer Latency
 *   0 00:00:12   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)
 * CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max
 *   0 #12322     |        0         0         1        15 |       10         3         9        31
 *
 * rtla osnoise top and hwnoise (the latter without the last three columns):
 *
 * duration:   0 00:00:05 | time is in us
 * CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single ...
 *   0 #1           1000000          117    99.98830          27            8 ...
 *
 * A live display prints the table again and again; the last state counts.
 */

enum rtla_table {
	TABLE_NONE,
	TABLE_TIMERLAT,
	TABLE_OSNOISE,
};

struct rtla_state {
	enum rtla_table table;
	struct scan_number seconds; /* of the table's heading */
	bool ns, heading;	    /* a heading has come whose rows have not */
	bool user;		    /* it has a third group */
	struct rtla_hist_state hist;
};

struct rtla_data {
	enum rtla_table table; /* TABLE_NONE: a histogram or an analysis */
	double seconds;
	uint64_t count; /* of the first row */
	uint64_t cpu;	/* of the first row */
	struct rtla_hist hist;
	struct rtla_blame blame;
};

struct rtla_hist_state *rtla_hist_state(const struct import_feed *f)
{
	return &((struct rtla_state *)f->state)->hist;
}

struct rtla_hist *rtla_hist_of(const struct import_run *run)
{
	return &((struct rtla_data *)run->data)->hist;
}

struct rtla_blame *rtla_blame_of(const struct import_run *run)
{
	return &((struct rtla_data *)run->data)->blame;
}

/* "0 00:00:12": days, hours, minutes, seconds. */
static bool read_duration(const char **p, double *ret_s)
{
	int64_t d, h, m, s;

	scan_space(p);
	if (!scan_int(p, 5, &d) || !scan_text(p, " ") || !scan_int(p, 2, &h) ||
	    !scan_text(p, ":") || !scan_int(p, 2, &m) || !scan_text(p, ":") || !scan_int(p, 2, &s))
		return false;
	*ret_s = (double)(((d * 24 + h) * 60 + m) * 60 + s);
	return d >= 0 && h >= 0 && m >= 0 && s >= 0;
}

/* "0 #12322 |" or "ALL #12322 e0 |": *ret_all for the latter. */
static const char *read_row_head(const char *line, uint64_t *ret_cpu, uint64_t *ret_count,
				 bool *ret_all)
{
	struct word cpu, count;
	const char *p = line;

	if (!word_next(&p, &cpu) || !word_next(&p, &count) || count.len < 2 || *count.s != '#')
		return NULL;
	*ret_all = word_is(cpu, "ALL");
	*ret_cpu = 0;
	if (!*ret_all && !word_whole(cpu, ret_cpu))
		return NULL;
	return word_whole((struct word){ count.s + 1, count.len - 1 }, ret_count) ? p : NULL;
}

static bool is_top_chatter(const char *line)
{
	return strncmp(line, "CPU COUNT ", 10) == 0 || strncmp(line, "CPU Period ", 11) == 0 ||
	       (scan_find(line, "Timer Latency") && strlen(line) < 160 &&
		!isalpha((unsigned char)*line)) ||
	       strncmp(line, "Timer Latency", 13) == 0 ||
	       strncmp(line, "Operating System Noise", 22) == 0 ||
	       strncmp(line, "Hardware-related Noise", 22) == 0 ||
	       strncmp(line, "duration: ", 10) == 0 || strncmp(line, "---------------|", 16) == 0 ||
	       strncmp(line, "rtla timerlat hit stop tracing", 30) == 0 ||
	       strncmp(line, "rtla osnoise hit stop tracing", 29) == 0 ||
	       strncmp(line, "Saving trace to ", 16) == 0;
}

static enum import_kind rtla_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	const struct rtla_state *s = f->state;
	uint64_t cpu = 0, count = 0;
	bool all = false;

	if (rtla_hist_is_row(f, l->s) || rtla_blame_is_row(f, l->s))
		return IMPORT_ROW;
	if (s->table != TABLE_NONE && read_row_head(l->s, &cpu, &count, &all))
		return IMPORT_ROW;
	if (is_top_chatter(l->s) || rtla_hist_is_chatter(l->s) || rtla_blame_is_chatter(f, l->s))
		return IMPORT_CHATTER;
	return IMPORT_FOREIGN;
}

static void rtla_chatter(struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	struct rtla_state *s = f->state;
	const char *p = l->s;
	double seconds;

	rtla_hist_chatter(f, l->s);
	if (!is_top_chatter(l->s))
		return;
	/* a wide heading wraps: its end has no duration */
	if (s->heading && s->table == TABLE_TIMERLAT && !isdigit((unsigned char)*p) &&
	    scan_find(p, "Timer Latency (")) {
		s->user = s->user || scan_find(p, "user Timer Latency (");
		return;
	}
	if (scan_text(&p, "duration: ")) {
		s->table = TABLE_OSNOISE;
		s->ns = false;
	} else if (scan_find(p, "Timer Latency (")) {
		s->table = TABLE_TIMERLAT;
		s->ns = scan_find(p, "Timer Latency (ns)") != NULL;
		s->user = scan_find(p, "Ret user") != NULL;
	} else {
		return;
	}
	s->heading = true;
	s->seconds.value = read_duration(&p, &seconds) ? seconds : 0;
	f->greedy = true;
}

/* Does the table that begins show a later state of the open run? */
static bool is_redraw(const struct import_feed *f, uint64_t cpu, uint64_t count)
{
	const struct rtla_state *s = f->state;
	const struct rtla_data *d = f->run ? f->run->data : NULL;

	if (!d || d->table != s->table || *f->command)
		return false;
	if (!s->heading)
		return true;
	if (f->text_between && !f->redrawn)
		return false;
	return cpu == d->cpu && count >= d->count && (s->seconds.value > d->seconds || f->redrawn);
}

static int open_top(struct import_feed *f, size_t nr, uint64_t cpu, uint64_t count)
{
	struct rtla_state *s = f->state;
	struct rtla_data *d;
	int r = 0;

	if (!is_redraw(f, cpu, count))
		r = import_open_run(f, nr);
	if (r < 0)
		return r;
	d = f->run->data;
	d->table = s->table;
	if (s->heading) {
		d->cpu = cpu;
		d->count = count;
		d->seconds = s->seconds.value;
	}
	s->heading = false;
	return 0;
}

/* The four columns of a context, or three in the ALL row; "-" is none. */
struct group {
	struct scan_number v[4];
	bool has[4];
	size_t nr;
};

static bool read_group(const char **p, bool all, struct group *ret)
{
	struct word w;

	*ret = (struct group){};
	while (word_next(p, &w) && !word_is(w, "|")) {
		struct scan_number v;

		/* a word of whoever has pasted it: "<--- CPU with spike" */
		if (ret->nr == 4 && !word_number(w, "", &v)) {
			*p += strlen(*p);
			break;
		}
		if (ret->nr == 4)
			return false;
		ret->has[ret->nr] = word_number(w, "", &ret->v[ret->nr]);
		if (!ret->has[ret->nr] && !word_is(w, "-"))
			return false;
		ret->nr++;
	}
	return ret->nr == 4 || (all && ret->nr == 3);
}

#define GROUPS_MAX 3

static int add_group(struct import_feed *f, const struct group *g, const char *labels,
		     uint64_t count, bool key)
{
	static const char *const names[] = { "latency.min", "latency.avg", "latency.max" };
	const struct rtla_state *s = f->state;
	size_t skip = g->nr - 3; /* cur says nothing of the test */
	int r = 0;

	for (size_t i = 0; i < 3 && r == 0; i++) {
		const struct cell cell = { names[i],
					   "ns",
					   labels,
					   s->ns ? 1 : 1e3,
					   .key = key && i == 2,
					   .n = count < INT64_MAX ? (int64_t)count : -1 };

		if (g->has[i + skip])
			r = cell_add(f, &cell, &g->v[i + skip]);
	}
	return r;
}

static int read_timerlat(struct import_feed *f, const struct import_line *l, const char *p)
{
	const struct rtla_state *s = f->state;
	static const char *const contexts[GROUPS_MAX] = { "irq", "thread", "user" };
	struct group g[GROUPS_MAX];
	uint64_t cpu = 0, count = 0;
	struct word w;
	size_t nr = 0;
	bool all = false;
	int r;

	(void)read_row_head(l->s, &cpu, &count, &all);
	/* "e3" of the ALL row: powers of ten that its count is short of */
	if (all && word_next(&p, &w) && w.len == 2 && *w.s == 'e' && isdigit((unsigned char)w.s[1]))
		for (int i = w.s[1] - '0'; i > 0; i--)
			count *= 10;
	if (!scan_text(&p, " | ") && !scan_text(&p, " |"))
		return import_bad(f, "a row of timerlat without the bar before its columns");
	for (; *p; nr++)
		if (nr == GROUPS_MAX || !read_group(&p, all, &g[nr]))
			return import_bad(f, "not the columns of a row of timerlat");
	if (nr < (s->user ? 3 : 2))
		return import_bad(f, "the row ends early");
	r = open_top(f, l->nr, cpu, count);
	for (size_t i = 0; i < nr && r == 0; i++) {
		char labels[48];

		if (all)
			snprintf(labels, sizeof(labels), "context=%s", contexts[i]);
		else
			snprintf(labels, sizeof(labels), "context=%s,cpu=%" PRIu64, contexts[i],
				 cpu);
		r = add_group(f, &g[i], labels, count, true);
	}
	return r;
}

static int read_osnoise(struct import_feed *f, const struct import_line *l, const char *p)
{
	static const struct cell cells[] = {
		{ "runtime", "ns", NULL, 1e3 },
		{ "noise", "ns", NULL, 1e3 },
		{ "cpu.available", "ratio", NULL, 0.01 },
		{ "noise.max", "ns", NULL, 1e3, .key = true },
		{ "noise.single.max", "ns", NULL, 1e3 },
		{ "noise.hw", "count", NULL, 1, .exact = true },
		{ "noise.nmi", "count", NULL, 1, .exact = true },
		{ "noise.irq", "count", NULL, 1, .exact = true },
		{ "noise.softirq", "count", NULL, 1, .exact = true },
		{ "noise.thread", "count", NULL, 1, .exact = true },
	};
	struct scan_number v[ARRAY_SIZE(cells)];
	uint64_t cpu = 0, count = 0;
	char labels[24];
	struct word w;
	size_t nr = 0;
	bool all = false;
	int r;

	(void)read_row_head(l->s, &cpu, &count, &all);
	for (; word_next(&p, &w); nr++)
		if (nr == ARRAY_SIZE(cells) || !word_number(w, "", &v[nr]))
			return import_bad(f, "not the columns of a row of osnoise");
	if (nr != ARRAY_SIZE(cells) && nr != ARRAY_SIZE(cells) - 3)
		return import_bad(f,
				  "a row of osnoise has seven columns behind the period, or ten");
	if (v[1].value > v[0].value || v[2].value > 100)
		return import_bad(f, "more noise than there was time");
	r = open_top(f, l->nr, cpu, count);
	snprintf(labels, sizeof(labels), "cpu=%" PRIu64, cpu);
	for (size_t i = 0; i < nr && r == 0; i++) {
		struct cell cell = cells[i];

		cell.labels = labels;
		cell.n = (int64_t)count;
		r = cell_add(f, &cell, &v[i]);
	}
	return r;
}

static int read_top(struct import_feed *f, const struct import_line *l)
{
	const struct rtla_state *s = f->state;
	uint64_t cpu = 0, count = 0;
	bool all = false;
	const char *p = read_row_head(l->s, &cpu, &count, &all);

	if (!p)
		return import_bad(f, "not a row of rtla");
	return s->table == TABLE_TIMERLAT ? read_timerlat(f, l, p) : read_osnoise(f, l, p);
}

static int rtla_row(struct import_feed *f, const struct import_line *raw,
		    const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	struct rtla_state *s = f->state;
	_cleanup_(buf_release) struct buf joined = {};
	struct import_line both = *l;
	int r;

	if (rtla_hist_is_row(f, l->s)) {
		s->table = TABLE_NONE;
		return rtla_hist_row(f, l, next);
	}
	if (rtla_blame_is_row(f, l->s)) {
		s->table = TABLE_NONE;
		return row_joined(f, l, next, rtla_blame_goes_on(l->s, next->s), rtla_blame_row);
	}
	r = read_top(f, l);
	if (r != -EBADMSG || !next->len || isalpha((unsigned char)*next->s))
		return r;
	/* the rest of it in the next line? */
	if (buf_printf(&joined, "%s %s", l->s, next->s) < 0)
		return -ENOMEM;
	both.s = buf_str(&joined);
	both.len = joined.len;
	r = read_top(f, &both);
	return r < 0 ? r : 1;
}

static int rtla_finish(struct import_run *run)
{
	const struct rtla_data *d = run->data;
	int r = 0;

	if (d->seconds > 0)
		r = import_figure_add(run, &(struct import_figure){ "duration", "ns", "",
								    d->seconds * 1e9, 0.5e9, -1,
								    false });
	return r < 0 ? r : rtla_hist_finish(run);
}

static void rtla_release(void *data)
{
	rtla_hist_release(&((struct rtla_data *)data)->hist);
}

static const char *const rtla_marks[] = { "RTLA ",
					  "Timer Latency",
					  "System Noise",
					  "Hardware-related",
					  "# Time unit is",
					  "# Duration:",
					  "IRQ-0",
					  "Thr-0",
					  "CPU-0",
					  " #",
					  "hit stop tracing",
					  "interference",
					  " latency: ",
					  "Blocking thread",
					  "handler delay",
					  "IRQ duration",
					  "latency from idle",
					  "CPU COUNT",
					  "time is in us",
					  "CPU Period",
					  NULL };

const struct import_ops import_ops_rtla = {
	.name = "rtla",
	.marks = rtla_marks,
	.data_size = sizeof(struct rtla_data),
	.state_size = sizeof(struct rtla_state),
	.sniff = rtla_sniff,
	.chatter = rtla_chatter,
	.row = rtla_row,
	.finish = rtla_finish,
	.release = rtla_release,
};
