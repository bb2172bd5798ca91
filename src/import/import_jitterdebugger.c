// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/json.h"
#include "import/json_hist.h"
#include "import/words.h"

/*
 * T: 0 (28805) A: 0 C:      1989 Min:        19 Avg:   40.57 Max:      2331
 *
 * and results.json: sysinfo.resolution_in_ns, cpu.N { histogram { "19": 2 }, count, min, max, avg
 * }. With -N the same columns are ns, and nothing in the text says so but the command line.
 */

struct jitter_thread {
	struct scan_number cycles, min, avg, max;
	int64_t t, tid, cpu;
};

struct jitter_data {
	int64_t last_t, tid0;
	double cycles0;
	bool ns, has_command;
	double min; /* the smallest of all; 0: none yet */
};

/* "T: 0 (18389) A: 0 ": cyclictest has P: there. */
static const char *find_row(const char *line, struct jitter_thread *ret)
{
	for (const char *s = scan_find(line, "T:"); s; s = scan_find(s + 2, "T:")) {
		const char *p = s + 2;

		scan_space(&p);
		if (!scan_int(&p, 5, &ret->t) || ret->t < 0)
			continue;
		scan_space(&p);
		if (!scan_text(&p, "("))
			continue;
		scan_space(&p);
		if (scan_int(&p, 10, &ret->tid) && scan_text(&p, ") A:"))
			return p;
	}
	return NULL;
}

static enum import_kind jitter_sniff(const struct import_feed *f, const struct import_line *l)
{
	struct jitter_thread t;

	(void)f;
	if (find_row(l->s, &t))
		return IMPORT_ROW;
	return strncmp(l->s, "affinity: ", 10) == 0 ? IMPORT_CHATTER : IMPORT_FOREIGN;
}

static bool read_fields(const char *p, struct jitter_thread *ret)
{
	struct {
		const char *name;
		struct scan_number *to;
	} const fields[] = { { "C:", &ret->cycles },
			     { "Min:", &ret->min },
			     { "Avg:", &ret->avg },
			     { "Max:", &ret->max } };

	scan_space(&p);
	if (!scan_int(&p, 5, &ret->cpu) || ret->cpu < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		scan_space(&p);
		if (!scan_text(&p, fields[i].name))
			return false;
		scan_space(&p);
		if (!scan_number(&p, fields[i].to))
			return false;
	}
	return *p == '\0' || *p == ' ';
}

/* A later state of the same display, or another run?  Its thread 0 goes on counting. */
static bool is_same_run(const struct import_feed *f, const struct jitter_data *d,
			const struct jitter_thread *t)
{
	if (*f->command)
		return false;
	if (t->t > d->last_t)
		return true;
	return t->t == 0 && t->tid == d->tid0 && t->cycles.value >= d->cycles0;
}

static bool asks_ns(const char *command)
{
	return strstr(command, " -N") || strstr(command, "--nsec");
}

static int add_thread(struct import_feed *f, const struct jitter_thread *t)
{
	const struct jitter_data *d = import_run_open(f)->data;
	char labels[32];
	double ns = d->ns ? 1 : 1e3;
	const struct {
		struct cell cell;
		const struct scan_number *v;
	} cells[] = {
		{ { "latency.min", "ns", labels, ns, .n = (int64_t)t->cycles.value }, &t->min },
		{ { "latency.avg", "ns", labels, ns, .n = (int64_t)t->cycles.value }, &t->avg },
		{ { "latency.max", "ns", labels, ns, .n = (int64_t)t->cycles.value, .key = true },
		  &t->max },
	};
	int r = 0;

	snprintf(labels, sizeof(labels), "cpu=%d,thread=%d", (int)t->cpu, (int)t->t);
	for (size_t i = 0; i < ARRAY_SIZE(cells) && r == 0 && t->cycles.value > 0; i++)
		r = cell_add(f, &cells[i].cell, cells[i].v);
	return r;
}

static int read_row(struct import_feed *f, const struct import_line *l)
{
	struct jitter_thread t = {};
	struct jitter_data *d = f->run ? f->run->data : NULL;
	const char *p = find_row(l->s, &t);
	int r = 0;

	if (!p || !read_fields(p, &t))
		return import_bad(f, "not the fields of jitterdebugger's T: line");
	if (t.min.value > t.max.value && t.cycles.value > 0)
		return import_bad(f, "the smallest latency is above the largest");
	if (!d || !is_same_run(f, d, &t)) {
		r = import_open_run(f, l->nr);
		if (r < 0)
			return r;
		d = f->run->data;
		d->ns = asks_ns(f->command);
		d->has_command = *f->command;
	}
	if (t.cycles.value > 0 && (d->min <= 0 || t.min.value < d->min))
		d->min = t.min.value;
	d->last_t = t.t;
	if (t.t == 0) {
		d->tid0 = t.tid;
		d->cycles0 = t.cycles.value;
	}
	return add_thread(f, &t);
}

static int jitter_row(struct import_feed *f, const struct import_line *l,
		      const struct import_line *next)
{
	return row_joined(f, l, next, false, read_row);
}

/* No machine that anybody measures is a millisecond late every single time. */
static int jitter_finish(struct import_run *run)
{
	const struct jitter_data *d = run->data;

	if (d->has_command || d->min < 1000)
		return 0;
	return import_note(
		run, run->line,
		"no command line says whether -N was given: the figures are taken as us, "
		"though they look like ns");
}

static bool jitter_json_sniff(const struct json_val *doc)
{
	const struct json_val *cpu = json_find(doc, "cpu");

	/* rt-tests' files have "file_version" and "thread" */
	return json_find(doc, "version") && json_path(doc, "sysinfo.cpus_online") &&
	       !json_find(doc, "thread") && (!cpu || cpu->kind == JSON_OBJECT);
}

static int add_json_cpu(struct import_run *run, const struct json_val *cpu, double ns)
{
	char labels[32], name[16];
	uint64_t total;
	int64_t n = -1;
	int r;

	word_label(name, sizeof(name), (struct word){ cpu->key, strlen(cpu->key) });
	snprintf(labels, sizeof(labels), "cpu=%s", name);
	(void)json_whole(cpu, "count", &n);
	r = json_latencies(run, cpu, labels, ns, n);
	if (r == 0)
		r = json_histogram(run, cpu, labels, ns, &total);
	/* its rows end at 1000 us, and nothing says how much is above that */
	if (r == 0 && n >= 0 && total && (uint64_t)n != total)
		r = import_note(run, run->line,
				"%s: the histogram holds %" PRIu64
				" samples, its count says %" PRId64,
				labels, total, n);
	return r;
}

static int jitter_json_doc(struct import_feed *f, const struct json_val *doc, size_t nr,
			   bool truncated)
{
	const struct json_val *cpus = json_find(doc, "cpu");
	struct import_run *run;
	double ns = 1000;
	int r;

	if (!cpus || cpus->kind != JSON_OBJECT || !cpus->child)
		return import_bad(f, "jitterdebugger's JSON without a CPU in it");
	(void)json_double(json_find(doc, "sysinfo"), "resolution_in_ns", &ns);
	r = import_open_run(f, nr);
	if (r < 0)
		return r;
	run = import_run_open(f);
	if (truncated)
		r = import_note(run, nr, "the JSON breaks off: what follows is missing");
	for (const struct json_val *c = cpus->child; c && r == 0; c = c->next)
		r = add_json_cpu(run, c, ns);
	import_close_run(f);
	return r;
}

static const char *const jitter_marks[] = { "T:", "affinity: ", NULL };

const struct import_ops import_ops_jitterdebugger = {
	.name = "jitterdebugger",
	.marks = jitter_marks,
	.data_size = sizeof(struct jitter_data),
	.sniff = jitter_sniff,
	.row = jitter_row,
	.finish = jitter_finish,
	.json_sniff = jitter_json_sniff,
	.json_doc = jitter_json_doc,
};
