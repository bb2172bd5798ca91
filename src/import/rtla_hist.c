// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/import_rtla.h"

/*
 * # RTLA timerlat histogram
 * # Time unit is microseconds (us)
 * # Duration:   0 00:10:00
 * Index   IRQ-000   Thr-000   IRQ-001   Thr-001
 * 0            12         0        14         0
 * over:         0         0         0         0
 * count:   600000    600000    600000    600000
 * min:          0         2         0         2
 * avg:          0         4         0         4
 * max:          8        31         9        35
 * ALL:        IRQ       Thr
 * count:  1200000   1200000
 *
 * osnoise has CPU-000.  Rows without samples are left out, "-" stands for what has none.
 */

#define COLUMNS_MAX 16384

/* Rows of the summary, and what of the figures they are. */
static const struct summary {
	const char *head, *metric;
} summaries[] = { { "over:", NULL },
		  { "count:", NULL },
		  { "min:", "latency.min" },
		  { "avg:", "latency.avg" },
		  { "max:", "latency.max" } };

enum { ROW_OVER, ROW_COUNT };

static const struct summary *find_summary(const char *line, const char **ret_rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(summaries); i++) {
		*ret_rest = line;
		if (scan_text(ret_rest, summaries[i].head) && (**ret_rest == ' ' || !**ret_rest))
			return &summaries[i];
	}
	return NULL;
}

/* A column's heading; *ret->cpu is -1 for that of all. */
static bool read_column(struct word w, struct rtla_column *ret)
{
	static const struct {
		const char *name, *context;
	} names[] = { { "IRQ", "irq" }, { "Thr", "thread" }, { "Usr", "user" }, { "CPU", "" } };
	uint64_t cpu;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (w.len < 3 || memcmp(w.s, names[i].name, 3) != 0)
			continue;
		*ret = (struct rtla_column){ .context = names[i].context, .cpu = -1 };
		if (w.len == 3)
			return true;
		if (w.s[3] != '-' || !word_whole((struct word){ w.s + 4, w.len - 4 }, &cpu) ||
		    cpu > 65535)
			return false;
		ret->cpu = (int)cpu;
		return true;
	}
	return false;
}

/* "Index IRQ-000 ...", or the same without the first word. Return: columns; 0: it is none. */
static size_t count_columns(const char *line, bool *ret_index)
{
	struct rtla_column c;
	struct word w;
	size_t n = 0;

	*ret_index = false;
	while (word_next(&line, &w)) {
		if (n == 0 && !*ret_index && word_is(w, "Index")) {
			*ret_index = true;
			continue;
		}
		if (!read_column(w, &c) || c.cpu < 0)
			return 0;
		n++;
	}
	return n;
}

bool rtla_hist_is_row(const struct import_feed *f, const char *line)
{
	const struct rtla_hist *h = f->run ? rtla_hist_of(f->run) : NULL;
	const char *rest;
	bool index;
	size_t nr;

	if (count_columns(line, &index) > 0)
		return true;
	if (!h || !h->nr || h->ended)
		return false;
	if (find_summary(line, &rest) || strncmp(line, "ALL: ", 5) == 0)
		return true;
	return !h->all && word_all_numbers(line, &nr);
}

bool rtla_hist_is_chatter(const char *line)
{
	return strncmp(line, "# RTLA ", 7) == 0 || strncmp(line, "# Time unit is ", 15) == 0 ||
	       strncmp(line, "# Duration: ", 12) == 0 || strcmp(line, "Index") == 0;
}

void rtla_hist_chatter(struct import_feed *f, const char *line)
{
	struct rtla_hist_state *s = rtla_hist_state(f);

	if (strncmp(line, "# RTLA ", 7) == 0)
		*s = (struct rtla_hist_state){ .announced = true };
	else if (strncmp(line, "# Time unit is ", 15) == 0)
		s->ns = scan_find(line, "(ns)") != NULL;
}

static int read_heading(struct import_feed *f, const struct import_line *l,
			const struct import_line *next)
{
	_cleanup_(buf_release) struct buf all = {};
	struct rtla_hist_state *s = rtla_hist_state(f);
	struct rtla_hist *h;
	bool index, more_index;
	size_t nr = count_columns(l->s, &index), more = count_columns(next->s, &more_index);
	struct word w;
	const char *p;
	int r;

	/* a wide heading wraps */
	if (more_index)
		more = 0;
	if (buf_printf(&all, "%s %s", l->s, more ? next->s : "") < 0)
		return -ENOMEM;
	nr += more;
	if (nr == 0 || nr > COLUMNS_MAX)
		return import_bad(f, "a heading of too many columns");
	r = import_open_run(f, l->nr);
	if (r < 0)
		return r;
	h = rtla_hist_of(f->run);
	h->column = calloc(nr, sizeof(*h->column));
	if (!h->column)
		return -ENOMEM;
	p = buf_str(&all);
	while (h->nr < nr && word_next(&p, &w))
		if (read_column(w, &h->column[h->nr]))
			h->nr++;
	h->index = index;
	h->unit = s->ns ? 1 : 1e3;
	h->last = -1;
	s->announced = false;
	f->greedy = true;
	return more > 0;
}

static void labels_of(const struct rtla_column *c, char *to, size_t size)
{
	char cpu[16] = "";

	if (c->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "cpu=%d", c->cpu);
	snprintf(to, size, "%s%s%s%s", *c->context ? "context=" : "", c->context,
		 *c->context && *cpu ? "," : "", cpu);
}

static struct import_hist *hist_of(struct import_run *run, const struct rtla_column *c, int *ret)
{
	struct import_hist *to = NULL;
	char labels[48];

	labels_of(c, labels, sizeof(labels));
	*ret = import_hist_of(run, *c->context ? "latency" : "noise", "ns", labels, &to);
	return to;
}

static int read_bars(struct import_feed *f, const char *p, double at)
{
	struct rtla_hist *h = rtla_hist_of(f->run);
	int r = 0;

	for (size_t i = 0; i < h->nr && r == 0; i++) {
		struct import_hist *to;
		uint64_t count = 0;
		struct word w;

		if (!word_next(&p, &w) || !word_whole(w, &count))
			break;
		to = hist_of(f->run, &h->column[i], &r);
		if (r == 0)
			r = import_bar_add(to, at * h->unit, count);
		h->column[i].total += count;
	}
	if (h->last >= 0 && (h->width <= 0 || at - h->last < h->width))
		h->width = at - h->last;
	h->last = at;
	return r;
}

static int read_over(struct import_feed *f, const char *p)
{
	struct rtla_hist *h = rtla_hist_of(f->run);
	int r = 0;

	for (size_t i = 0; i < h->nr && r == 0; i++) {
		struct import_hist *to;
		uint64_t count = 0;
		struct word w;

		if (!word_next(&p, &w) || !word_whole(w, &count))
			break;
		to = hist_of(f->run, &h->column[i], &r);
		if (r == 0)
			to->overflow = count;
		h->column[i].total += count;
	}
	return r;
}

/* Samples that the table says it has, against those that are in its rows. */
static int read_count(struct import_feed *f, const struct import_line *l, const char *p)
{
	struct rtla_hist *h = rtla_hist_of(f->run);
	size_t differ = 0, at = 0;
	uint64_t says = 0;
	int r = 0;

	for (size_t i = 0; i < h->nr && r == 0; i++) {
		char labels[48];
		uint64_t count;
		struct word w;

		if (!word_next(&p, &w) || !word_whole(w, &count))
			break;
		labels_of(&h->column[i], labels, sizeof(labels));
		r = import_figure_add(f->run,
				      &(struct import_figure){ "samples", "count", labels,
							       (double)count, 0, -1, false });
		if (h->all || !h->index || count == h->column[i].total)
			continue;
		if (!differ++) {
			at = i;
			says = count;
		}
	}
	if (differ && r == 0)
		r = import_note(f->run, l->nr,
				"%zu columns: the rows hold other numbers of samples than the "
				"table says, as %" PRIu64 " of %" PRIu64 " in column %zu: rows are "
				"missing",
				differ, h->column[at].total, says, at + 1);
	return r;
}

static int read_figures(struct import_feed *f, const char *p, const struct summary *kind)
{
	struct rtla_hist *h = rtla_hist_of(f->run);
	int r = 0;

	for (size_t i = 0; i < h->nr && r == 0; i++) {
		struct cell cell = { kind->metric, "ns", NULL, h->unit };
		struct scan_number v;
		char labels[48];
		struct word w;

		if (!word_next(&p, &w))
			break;
		if (!word_number(w, "", &v))
			continue;
		labels_of(&h->column[i], labels, sizeof(labels));
		cell.labels = labels;
		cell.key = strcmp(kind->head, "max:") == 0 && (h->all || h->nr <= 4);
		if (!*h->column[i].context) /* osnoise: it is noise */
			cell.metric = kind->head[1] == 'i'   ? "noise.min"
				      : kind->head[1] == 'v' ? "noise.avg"
							     : "noise.max";
		r = cell_add(f, &cell, &v);
	}
	return r;
}

/* "ALL: IRQ Thr": the columns from here on. */
static int read_all(struct import_feed *f, const char *p)
{
	struct rtla_hist *h = rtla_hist_of(f->run);
	struct rtla_column column[4];
	struct word w;
	size_t n = 0;

	(void)scan_text(&p, "ALL:");
	for (; word_next(&p, &w); n++)
		if (n == ARRAY_SIZE(column) || !read_column(w, &column[n]) || column[n].cpu >= 0)
			return import_bad(f, "not the heading of the sum over all CPUs");
	if (n == 0 || n > h->nr)
		return import_bad(f, "the sum over all CPUs has more columns than one CPU");
	memcpy(h->column, column, n * sizeof(*column));
	h->nr = n;
	h->all = true;
	return 0;
}

/* As many cells as there are columns: in @p, or with @next. Return: 0, 1; negative. */
static int whole_row(struct import_feed *f, const char *p, const struct import_line *next,
		     struct buf *ret)
{
	const struct rtla_hist *h = rtla_hist_of(f->run);
	size_t have, want = h->nr, nr;

	if (buf_puts(ret, p) < 0)
		return -ENOMEM;
	have = word_count(p);
	if (have == want)
		return 0;
	if (have < want && word_all_numbers(next->s, &nr) && have + nr == want)
		return buf_printf(ret, " %s", next->s) < 0 ? -ENOMEM : 1;
	return import_bad(f, "not as many numbers as there are columns");
}

static int read_summary(struct import_feed *f, const struct import_line *l, const char *p,
			const struct summary *kind)
{
	struct rtla_hist *h = rtla_hist_of(f->run);
	int r;

	if (kind == &summaries[ROW_OVER])
		return read_over(f, p);
	if (kind == &summaries[ROW_COUNT])
		return read_count(f, l, p);
	r = read_figures(f, p, kind);
	h->ended = h->all && strcmp(kind->head, "max:") == 0;
	return r;
}

int rtla_hist_row(struct import_feed *f, const struct import_line *l,
		  const struct import_line *next)
{
	_cleanup_(buf_release) struct buf row = {};
	struct scan_number at = {};
	const struct summary *kind;
	const char *p = l->s;
	size_t nr;
	bool index;
	struct rtla_hist *h;
	struct word w;
	int took, r;

	if (count_columns(l->s, &index) > 0)
		return read_heading(f, l, next);
	h = rtla_hist_of(f->run);
	if (strncmp(p, "ALL: ", 5) == 0)
		return read_all(f, p);
	kind = find_summary(l->s, &p);
	if (kind && word_all_numbers(p, &nr) && nr == 1 && h->nr > 1) {
		h->empty = true; /* "count: 0": what is printed when there was nothing */
		return 0;
	}
	if (!kind) {
		p = l->s;
		if (!h->index)
			return import_bad(f,
					  "a row that does not say where it stands (--no-index)");
		if (!word_next(&p, &w) || !word_number(w, "", &at))
			return import_bad(f, "a row without its place");
		if (at.value <= h->last)
			return import_bad(f, "the rows of the histogram do not ascend");
	}
	took = whole_row(f, p, next, &row);
	if (took < 0)
		return took;
	r = kind ? read_summary(f, l, buf_str(&row), kind) : read_bars(f, buf_str(&row), at.value);
	return r < 0 ? r : took;
}

int rtla_hist_finish(struct import_run *run)
{
	const struct rtla_hist *h = rtla_hist_of(run);

	for (size_t i = 0; i < run->nr_hists; i++)
		run->hists[i].width = h->width > 0 ? h->width * h->unit : h->unit;
	if (h->empty)
		return import_note(run, run->last_line, "the histogram has no samples");
	return 0;
}

void rtla_hist_release(struct rtla_hist *h)
{
	free(h->column);
	h->column = NULL;
	h->nr = 0;
}
