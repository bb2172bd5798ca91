// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/json.h"
#include "import/json_hist.h"
#include "import/words.h"

/*
 *         Core:	 0 1
 * Counter Freq:	 2298 2298 (Mhz)
 *     001 (us):	 68635344 66231720
 *     032 (us):	 684 1118 (including overflows)
 *      Minimum:	 1 1 (us)
 *      Average:	 1.001 1.002 (us)
 *      Maximum:	 2131 5752 (us)
 *      Max-Min:	 229 (us)
 *     Duration:	 0.999 (sec)
 *
 * A column per CPU; "CPU Freq:" in older versions.  The last bucket holds what is above it too.
 */

#define CORES_MAX 8192

struct oslat_data {
	uint32_t *cpu; /* of each column */
	size_t nr;
};

static void oslat_release(void *data)
{
	struct oslat_data *d = data;

	free(d->cpu);
	d->cpu = NULL;
}

/* "001 (us):": *ret_at in us or ns; else a heading such as "Minimum:". */
static const char *find_bucket(const char *line, struct scan_number *ret_at, double *ret_ns)
{
	const char *p = line;

	if (!scan_number(&p, ret_at))
		return NULL;
	if (scan_text(&p, " (us):"))
		*ret_ns = 1e3;
	else if (scan_text(&p, " (ns):"))
		*ret_ns = 1;
	else
		return NULL;
	return p;
}

static const struct row_kind {
	const char *name;
	struct cell cell;
} kinds[] = {
	{ "Core:", {} },
	{ "Counter Freq:", { "cpu.frequency", "Hz", NULL, 1e6 } },
	{ "CPU Freq:", { "cpu.frequency", "Hz", NULL, 1e6 } },
	{ "Minimum:", { "latency.min", "ns", NULL, 1e3 } },
	{ "Average:", { "latency.avg", "ns", NULL, 1e3 } },
	{ "Maximum:", { "latency.max", "ns", NULL, 1e3, .key = true } },
	{ "Max-Min:", { "latency.range", "ns", NULL, 1e3 } },
	{ "Duration:", { "duration", "ns", NULL, 1e9 } },
};

static const struct row_kind *find_kind(const char *line, const char **ret_rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		*ret_rest = line;
		if (scan_text(ret_rest, kinds[i].name))
			return &kinds[i];
	}
	return NULL;
}

/*
 * The words of oslat's own lines are common ones: its numbers tell it apart, @nr of them and then a
 * unit in brackets, or fewer where a mailer has broken the line.
 */
static bool is_numbers(const char *p, size_t nr)
{
	struct scan_number v;
	struct word w;
	size_t n = 0;

	while (word_next(&p, &w)) {
		if (*w.s == '(')
			return n == nr;
		if (!word_number(w, "", &v) || n++ == nr)
			return false;
	}
	return n > 0 && n < nr;
}

static enum import_kind oslat_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	static const char *const chatter[] = {
		"Total runtime: ", "Thread priority: ", "CPU list: ",	   "CPU for main thread: ",
		"Workload: ",	   "Workload mem: ",	"Preheat cores: ", "Pre-heat for ",
		"Global bias set", "Test starts...",	"Test completed.", "oslat V "
	};
	struct scan_number v;
	const char *rest;
	double ns;
	size_t nr;

	if (strncmp(l->s, "Core: ", 6) == 0 && word_all_numbers(l->s + 6, &nr))
		return IMPORT_ROW;
	if (f->run &&
	    (find_bucket(l->s, &v, &ns) ||
	     (find_kind(l->s, &rest) && is_numbers(rest, ((struct oslat_data *)f->run->data)->nr))))
		return IMPORT_ROW;
	for (size_t i = 0; i < ARRAY_SIZE(chatter); i++)
		if (strncmp(l->s, chatter[i], strlen(chatter[i])) == 0)
			return IMPORT_CHATTER;
	return IMPORT_FOREIGN;
}

static int read_cores(struct import_feed *f, const struct import_line *l, const char *p)
{
	size_t nr = word_count(p);
	struct oslat_data *d;
	struct word w;
	int r;

	if (nr == 0 || nr > CORES_MAX)
		return import_bad(f, "a heading with no cores, or too many");
	for (const char *q = p; word_next(&q, &w);) {
		uint64_t cpu;

		if (!word_whole(w, &cpu) || cpu >= CORES_MAX)
			return import_bad(f, "a core that is no number");
	}
	r = import_open_run(f, l->nr);
	if (r < 0)
		return r;
	d = import_run_open(f)->data;
	d->cpu = calloc(nr, sizeof(*d->cpu));
	if (!d->cpu)
		return -ENOMEM;
	while (word_next(&p, &w)) {
		uint64_t cpu = 0;

		(void)word_whole(w, &cpu);
		d->cpu[d->nr++] = (uint32_t)cpu;
	}
	return 0;
}

/* As many numbers as there are cores, then perhaps a unit in brackets. */
static bool has_all(const struct oslat_data *d, const char *p, const char **ret_tail)
{
	struct scan_number v;
	struct word w;
	size_t n = 0;

	*ret_tail = p;
	while (word_next(&p, &w) && word_number(w, "", &v)) {
		n++;
		*ret_tail = p;
	}
	scan_space(ret_tail);
	return n == d->nr && (**ret_tail == '(' || !**ret_tail);
}

static int add_bucket(struct import_feed *f, const char *p, double at, double ns, bool overflow)
{
	struct import_run *run = import_run_open(f);
	const struct oslat_data *d = run->data;
	struct word w;
	int r = 0;

	for (size_t i = 0; i < d->nr && r == 0 && word_next(&p, &w); i++) {
		struct import_hist *h = NULL;
		uint64_t count = 0;
		char labels[24];

		if (!word_whole(w, &count))
			break;
		snprintf(labels, sizeof(labels), "cpu=%" PRIu32, d->cpu[i]);
		r = import_hist_of(run, "latency", "ns", labels, &h);
		if (r < 0)
			break;
		h->width = ns;
		if (overflow)
			h->overflow += count;
		else
			r = import_bar_add(h, at * ns, count);
	}
	return r;
}

static int add_figures(struct import_feed *f, const char *p, const struct row_kind *kind)
{
	const struct oslat_data *d = import_run_open(f)->data;
	struct word w;
	int r = 0;

	for (size_t i = 0; i < d->nr && r == 0 && word_next(&p, &w); i++) {
		struct cell cell = kind->cell;
		struct scan_number v;
		char labels[24];

		if (!word_number(w, "", &v))
			break;
		snprintf(labels, sizeof(labels), "cpu=%" PRIu32, d->cpu[i]);
		cell.labels = labels;
		r = cell_add(f, &cell, &v);
	}
	return r;
}

/* Numbers of every core from @p on, in this line or with @next. Return: 0, 1, or -EBADMSG. */
static int whole_row(struct import_feed *f, const char *p, const struct import_line *next,
		     struct buf *joined, const char **ret_tail)
{
	const struct oslat_data *d = import_run_open(f)->data;

	buf_puts(joined, p);
	if (joined->failed)
		return -ENOMEM;
	if (has_all(d, buf_str(joined), ret_tail))
		return 0;
	if (buf_printf(joined, " %s", next->s) < 0)
		return -ENOMEM;
	if (next->len && has_all(d, buf_str(joined), ret_tail))
		return 1;
	return import_bad(f, "not a number for each core");
}

static int oslat_row(struct import_feed *f, const struct import_line *raw,
		     const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	_cleanup_(buf_release) struct buf joined = {};
	const char *p = l->s, *tail = NULL;
	const struct row_kind *kind;
	struct scan_number at = {};
	double ns = 0;
	int took, r;

	if (scan_text(&p, "Core: "))
		return read_cores(f, l, p);
	if (!f->run)
		return import_bad(f, "a row of oslat without the cores above it");
	p = find_bucket(l->s, &at, &ns);
	kind = p ? NULL : find_kind(l->s, &p);
	if (!p || (ns <= 0 && !kind))
		return import_bad(f, "not a row of oslat");
	took = whole_row(f, p, next, &joined, &tail);
	if (took < 0)
		return took;
	if (ns > 0)
		r = add_bucket(f, buf_str(&joined), at.value, ns,
			       strncmp(tail, "(including overflows)", 21) == 0);
	else
		r = add_figures(f, buf_str(&joined), kind);
	if (r == 0 && kind && strcmp(kind->name, "Duration:") == 0)
		import_close_run(f);
	return r < 0 ? r : took;
}

static bool oslat_json_sniff(const struct json_val *doc)
{
	const char *command = json_text(doc, "cmdline:");
	const char *name = command;

	if (!command)
		return false;
	for (const char *p = command; *p && *p != ' '; p++)
		if (*p == '/')
			name = p + 1;
	return strncmp(name, "oslat", 5) == 0 && (name[5] == ' ' || !name[5]);
}

static int add_json_thread(struct import_run *run, const struct json_val *t)
{
	char labels[32];
	uint64_t total = 0;
	int64_t cpu = -1;
	double v;
	int r = 0;

	if (!json_whole(t, "cpu", &cpu))
		return import_note(run, run->line, "a thread without a CPU is left out");
	snprintf(labels, sizeof(labels), "cpu=%" PRId64, cpu);
	/* the last row holds what is above it too, so the total is right */
	r = json_histogram(run, t, labels, 1e3, &total);
	if (r == 0)
		r = json_latencies(run, t, labels, 1e3,
				   total && total < INT64_MAX ? (int64_t)total : -1);
	if (r == 0 && json_double(t, "freq", &v))
		r = import_figure_add(run, &(struct import_figure){ "cpu.frequency", "Hz", labels,
								    v * 1e6, 0.5e6, -1, false });
	if (r == 0 && json_double(t, "duration", &v))
		r = import_figure_add(run, &(struct import_figure){ "duration", "ns", labels,
								    v * 1e9, 0.5e6, -1, false });
	return r;
}

static int oslat_json_doc(struct import_feed *f, const struct json_val *doc, size_t nr,
			  bool truncated)
{
	const struct json_val *threads = json_find(doc, "thread");
	struct import_run *run;
	int r;

	if (!threads || threads->kind != JSON_OBJECT || !threads->child)
		return import_bad(f, "oslat's JSON without a thread in it");
	r = import_open_run(f, nr);
	if (r < 0)
		return r;
	run = import_run_open(f);
	if (truncated)
		r = import_note(run, nr, "the JSON breaks off: what follows is missing");
	for (const struct json_val *t = threads->child; t && r == 0; t = t->next)
		r = add_json_thread(run, t);
	import_close_run(f);
	return r;
}

static const char *const oslat_marks[] = {
	"Core: ",      "(us):",		 "(ns):",     "Freq:",	  "Minimum:",  "Average:",
	"Maximum:",    "Max-Min:",	 "Duration:", "oslat V ", "runtime: ", "priority: ",
	"CPU list: ",  "thread: ",	 "Workload",  "Preheat ", "Pre-heat",  "Global bias",
	"Test starts", "Test completed", NULL
};

const struct import_ops import_ops_oslat = {
	.name = "oslat",
	.marks = oslat_marks,
	.data_size = sizeof(struct oslat_data),
	.sniff = oslat_sniff,
	.row = oslat_row,
	.json_sniff = oslat_json_sniff,
	.json_doc = oslat_json_doc,
	.release = oslat_release,
};
