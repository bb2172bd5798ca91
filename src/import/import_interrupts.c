// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "import/words.h"
#include "probe/procint.h"

/*
 * /proc/interrupts and /proc/softirqs as somebody has pasted them.  Two tables of the same file
 * one after another are a pair: what matters is what was counted between them, and where a
 * "sleep 10" says how long that was, how often a second.
 */

#define TEXT_MAX (16U << 20) /* of one table */
#define EACH_MAX 4096	     /* counters of which each CPU's is shown */

struct interrupts_data {
	struct buf text[2];
	size_t tables;
	size_t nr_cpus;	     /* of the table that comes */
	size_t heading_line; /* ... whose heading ends there; 0 when counters have come */
	size_t missing;	     /* counters that the last row still lacks: it goes on */
	size_t row_at;	     /* ... where it begins in the text */
	size_t row_line;     /* ... the last line of it */
	bool nameless;	     /* ... its name is missing too */
	size_t broken;	     /* rows that are broken inside a number */
	bool softirqs, cut;
	double seconds; /* between the tables; 0: not known */
};

struct interrupts_state {
	bool in_table;
	size_t broken_line; /* of a heading that a terminal has broken inside a word; 0: none */
};

static void interrupts_release(void *data)
{
	struct interrupts_data *d = data;

	buf_release(&d->text[0]);
	buf_release(&d->text[1]);
}

/* "CPU0 CPU1 CPU4" and nothing else. */
static bool is_heading(const char *line)
{
	struct word w;
	size_t n = 0;

	for (; word_next(&line, &w); n++) {
		uint64_t cpu;

		if (w.len < 4 || memcmp(w.s, "CPU", 3) != 0 ||
		    !word_whole((struct word){ w.s + 3, w.len - 3 }, &cpu))
			return false;
	}
	return n > 0;
}

/* "CPU0 CPU1 CP": the terminal was too narrow for it, and for the counters. */
static bool is_broken_heading(const char *line)
{
	const struct word last = word_last(line);
	const char *p = line;
	struct word w;
	size_t n = 0;

	while (word_next(&p, &w) && w.s != last.s) {
		if (w.len < 4 || memcmp(w.s, "CPU", 3) != 0)
			return false;
		n++;
	}
	return n > 1 && last.len <= 3 && strncmp("CPU", last.s, last.len) == 0;
}

/* How many numbers the line begins with. */
static size_t count_numbers(const char *p)
{
	struct word w;
	uint64_t v;
	size_t n = 0;

	while (word_next(&p, &w) && word_whole(w, &v))
		n++;
	return n;
}

/* "24: 0 1 PCI-MSI ...", "LOC: 12 13 Local timer interrupts" */
static bool is_counter(const char *line)
{
	const char *p = line;
	struct word id, first;
	uint64_t n;

	if (!word_next(&p, &id) || id.len < 2 || id.len > 24 || id.s[id.len - 1] != ':')
		return false;
	for (size_t i = 0; i + 1 < id.len; i++)
		if (!isalnum((unsigned char)id.s[i]) && id.s[i] != '_')
			return false;
	return word_next(&p, &first) && word_whole(first, &n);
}

static bool is_softirq(const char *line)
{
	return scan_text(&line, "HI: ") || scan_text(&line, "TIMER: ") ||
	       scan_text(&line, "NET_TX: ") || scan_text(&line, "NET_RX: ");
}

/* "sleep 10" in one of the lines around the tables. */
static double find_sleep(const char *text)
{
	struct scan_number v;

	return word_after(text, "sleep ", &v) ? v.value : 0;
}

static enum import_kind interrupts_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	const struct interrupts_state *s = f->state;

	const struct interrupts_data *d = f->run ? f->run->data : NULL;

	if (is_broken_heading(l->s))
		return IMPORT_CHATTER;
	if (is_heading(l->s))
		return s->broken_line && strncmp(l->s, "CPU0 ", 5) != 0 ? IMPORT_CHATTER
									: IMPORT_ROW;
	if (s->in_table && d && (is_counter(l->s) || (d->missing && count_numbers(l->s))))
		return IMPORT_ROW;
	if (s->in_table && d && d->nameless && l->nr == d->row_line + 1)
		return IMPORT_CHATTER;
	return f->run && l->len < 80 && find_sleep(l->s) > 0 ? IMPORT_CHATTER : IMPORT_FOREIGN;
}

static void interrupts_chatter(struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	struct interrupts_data *d = f->run ? f->run->data : NULL;
	struct interrupts_state *s = f->state;

	if (is_broken_heading(l->s) || is_heading(l->s)) {
		if (!s->broken_line)
			import_remark(f, l->nr,
				      "a table of counters that is broken inside its words is not "
				      "read: whose numbers they are cannot be known");
		s->broken_line = l->nr;
		s->in_table = false;
		if (d && d->heading_line) { /* the heading has begun in the line before */
			buf_reset(&d->text[--d->tables]);
			d->heading_line = 0;
			import_close_run(f);
		}
		return;
	}
	if (d && d->tables == 1 && find_sleep(l->s) > 0)
		d->seconds = find_sleep(l->s);
	if (d)
		d->nameless = false;
}

/* A table's heading: the second one of the run that is open, or the first of a new one. */
static int begin_table(struct import_feed *f, const struct import_line *l)
{
	struct interrupts_data *d = f->run ? f->run->data : NULL;
	int r = 0;

	/* a wide heading wraps */
	if (d && d->heading_line && l->nr == d->heading_line + 1) {
		struct buf *text = &d->text[d->tables - 1];

		text->len--;
		buf_putc(text, ' ');
		return 0;
	}
	if (!d || d->tables == 2) {
		r = import_open_run(f, l->nr);
		if (r < 0)
			return r;
		d = f->run->data;
		d->seconds = find_sleep(f->run->label);
	} else if (d->seconds <= 0) {
		d->seconds = find_sleep(f->command);
		if (d->seconds <= 0)
			d->seconds = find_sleep(f->heading);
	}
	d->tables++;
	d->nr_cpus = 0;
	*(struct interrupts_state *)f->state = (struct interrupts_state){ .in_table = true };
	f->greedy = true;
	return 0;
}

/* Line @l of a row's numbers, of which the first @n are counters, has been added to @text. */
static void mind_rest(struct interrupts_data *d, const struct import_line *l, size_t n,
		      struct buf *text)
{
	d->row_line = l->nr;
	if (n > d->missing) {
		/* more numbers than CPUs: one was cut in two */
		d->broken++;
		text->len = d->row_at;
		text->data[text->len] = '\0';
		n = d->missing;
	}
	d->missing -= n;
	d->nameless = d->missing == 0 && count_numbers(l->s) == word_count(l->s);
}

/* A wide row wraps, also over several lines. */
static int add_rest(struct interrupts_data *d, const struct import_line *l)
{
	struct buf *text = &d->text[d->tables - 1];
	size_t n = count_numbers(l->s);
	int r;

	text->len -= text->len > 0;
	r = buf_printf(text, " %s\n", l->s);
	if (r == 0)
		mind_rest(d, l, n, text);
	return r;
}

static int interrupts_row(struct import_feed *f, const struct import_line *raw,
			  const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	bool heading = is_heading(l->s);
	struct interrupts_data *d = f->run ? f->run->data : NULL;
	const char *colon = strchr(l->s, ':');
	struct buf *text;
	size_t n;
	int r = 0;

	(void)next;
	if (heading)
		r = begin_table(f, l);
	else if (d && d->missing && !is_counter(l->s))
		return add_rest(d, l);
	else if (!f->run || !is_counter(l->s))
		r = import_bad(f, "a counter without the heading of its CPUs");
	if (r < 0)
		return r;
	d = import_run_open(f)->data;
	d->softirqs = d->softirqs || is_softirq(l->s);
	d->heading_line = heading ? l->nr : 0;
	d->nr_cpus += heading ? word_count(l->s) : 0;
	d->missing = 0;
	text = &d->text[d->tables - 1];
	if (text->len + l->len > TEXT_MAX) {
		d->cut = true;
		return 0;
	}
	d->row_at = text->len;
	r = buf_printf(text, "%s\n", l->s);
	if (r < 0 || heading)
		return r;
	n = colon ? count_numbers(colon + 1) : 0;
	d->row_line = l->nr;
	/* ERR and MIS have one for the machine */
	if (n > 1 && n < d->nr_cpus && n + 1 == word_count(l->s))
		d->missing = d->nr_cpus - n;
	return 0;
}

/* Where the figures of a run come from. */
struct emitter {
	struct import_run *run;
	const char *metric, *unit;
	double factor;
	bool key, each; /* of a run's few; also each CPU's */
	const unsigned int *cpus;
	size_t nr_cpus;
};

static int emit(const struct emitter *em, const char *labels, uint64_t count, bool key)
{
	const struct import_figure fig = { .metric = em->metric,
					   .unit = em->unit,
					   .labels = labels,
					   .value = (double)count * em->factor,
					   .n = -1,
					   .key = em->key && key };

	return import_figure_add(em->run, &fig);
}

static int emit_row(const struct emitter *em, const struct procint_row *row, const uint64_t *count)
{
	const struct interrupts_data *d = em->run->data;
	const char *kind = d->softirqs ? "vec" : "irq";
	char id[32], labels[64];
	uint64_t total = 0;
	int r = 0;

	word_label(id, sizeof(id), (struct word){ row->id, strlen(row->id) });
	for (size_t i = 0; i < (row->global ? 1 : em->nr_cpus); i++)
		total += count[i];
	snprintf(labels, sizeof(labels), "%s=%s", kind, id);
	r = emit(em, labels, total, strcmp(id, "NET_RX") == 0);
	for (size_t i = 0; i < em->nr_cpus && em->each && !row->global && r == 0; i++) {
		snprintf(labels, sizeof(labels), "cpu=%u,%s=%s", em->cpus[i], kind, id);
		r = emit(em, labels, count[i], false);
	}
	return r;
}

static int emit_totals(struct import_run *run, const struct procint *table)
{
	const struct interrupts_data *d = run->data;
	const struct emitter em = {
		.run = run,
		.metric = d->softirqs ? "softirqs.total" : "interrupts.total",
		.unit = "count",
		.factor = 1,
		.each = table->nr_rows * table->nr_cpus <= EACH_MAX,
		.cpus = table->cpus,
		.nr_cpus = table->nr_cpus,
	};
	uint64_t all = 0;
	int r = 0;

	for (size_t i = 0; i < table->nr_rows && r == 0; i++) {
		const struct procint_row *row = &table->rows[i];

		for (size_t k = 0; k < (row->global ? 1 : table->nr_cpus); k++)
			all += row->count[k];
		r = emit_row(&em, row, row->count);
	}
	if (r == 0)
		r = import_figure_add(run, &(struct import_figure){ em.metric, "count", "",
								    (double)all, 0, -1, true });
	if (r == 0 && table->nr_bad)
		r = import_note(run, run->line, "%zu rows could not be understood", table->nr_bad);
	return r;
}

static int note_changes(struct import_run *run, const struct procint_diff *diff)
{
	int r = 0;

	for (size_t i = 0; i < diff->nr_rows && r == 0; i++) {
		const struct procint_delta *row = &diff->rows[i];

		if (row->changes & PROCINT_RESET)
			r = import_note(run, run->last_line,
					"the counter of %s went backwards: it began again, or the "
					"tables are not in the order of time",
					row->row->id);
	}
	if (r == 0 && diff->nr_vanished)
		r = import_note(run, run->last_line,
				"%zu rows of the first table are not in the "
				"second",
				diff->nr_vanished);
	if (r == 0 && diff->nr_cpus_changed)
		r = import_note(run, run->last_line,
				"%zu CPUs are in one table only and are left out",
				diff->nr_cpus_changed);
	return r;
}

/* How many counters fell: tables of two machines, or in the wrong order, are no pair. */
static bool is_pair(const struct procint_diff *diff)
{
	size_t fell = 0;

	for (size_t i = 0; i < diff->nr_rows; i++)
		fell += (diff->rows[i].changes & PROCINT_RESET) != 0;
	return fell * 4 <= diff->nr_rows;
}

static int emit_diff(const struct procint_diff *diff, const struct emitter *em)
{
	uint64_t all = 0;
	int r = 0;

	for (size_t i = 0; i < diff->nr_rows && r == 0; i++) {
		const struct procint_delta *row = &diff->rows[i];

		all += row->total;
		r = emit_row(em, row->row, row->count);
	}
	return r < 0 ? r : emit(em, "", all, true);
}

static int emit_pair(struct import_run *run, const struct procint *a, const struct procint *b)
{
	const struct interrupts_data *d = run->data;
	struct emitter em = {
		.run = run,
		.metric = d->softirqs ? "softirqs" : "interrupts",
		.unit = "count",
		.factor = 1,
		.key = d->seconds <= 0,
	};
	_cleanup_(procint_diff_release) struct procint_diff diff = {};
	struct err e = {};
	int r = procint_subtract(a, b, &diff, &e);

	if (r < 0)
		return r;
	if (!is_pair(&diff))
		return import_note(
			run, run->last_line,
			"most counters went backwards from the first table to the second: "
			"no difference is taken");
	em.each = diff.nr_rows * diff.nr_cpus <= EACH_MAX;
	em.cpus = diff.cpus;
	em.nr_cpus = diff.nr_cpus;
	r = note_changes(run, &diff);
	if (r == 0)
		r = emit_diff(&diff, &em);
	if (r < 0 || d->seconds <= 0)
		return r;
	em.metric = d->softirqs ? "softirqs.rate" : "interrupts.rate";
	em.unit = "1/s";
	em.factor = 1 / d->seconds;
	em.key = true;
	return emit_diff(&diff, &em);
}

static int interrupts_finish(struct import_run *run)
{
	const struct interrupts_data *d = run->data;
	_cleanup_(procint_release) struct procint a = {}, b = {};
	struct err e = {};
	int r = procint_parse(buf_str(&d->text[0]), d->text[0].len, &a, &e);

	if (r == 0 && d->tables == 2)
		r = procint_parse(buf_str(&d->text[1]), d->text[1].len, &b, &e);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return import_note(run, run->line, "the table cannot be read: %s", e.msg);
	if (d->broken)
		r = import_note(run, run->line,
				"%zu rows that are broken inside a number are not used", d->broken);
	if (r == 0 && d->cut)
		r = import_note(run, run->line, "the table is too long: its end is not used");
	if (r == 0 && !(d->tables == 2 ? b : a).nr_rows)
		return r; /* no result: its counters are somewhere else */
	if (r == 0)
		r = emit_totals(run, d->tables == 2 ? &b : &a);
	if (r == 0 && d->tables == 2)
		r = emit_pair(run, &a, &b);
	return r;
}

static const char *const interrupts_marks[] = { "CPU0", "CPU1", "CPU2", "CPU3", "CPU4", "CPU5",
						"CPU6", "CPU7", "CPU8", "CPU9", NULL };

const struct import_ops import_ops_interrupts = {
	.name = "interrupts",
	.program = "/proc/interrupts",
	.marks = interrupts_marks,
	.data_size = sizeof(struct interrupts_data),
	.state_size = sizeof(struct interrupts_state),
	.sniff = interrupts_sniff,
	.chatter = interrupts_chatter,
	.row = interrupts_row,
	.finish = interrupts_finish,
	.release = interrupts_release,
};
