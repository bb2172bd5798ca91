// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/cyclictest.h"
#include "import/json.h"

/*
 * # Histogram
 * 000005 000123	000099
 * # Total: 000000997 000000969
 * # Min Latencies: 00019 00023
 * # Avg Latencies: 00021 00038
 * # Max Latencies: 00066 00435
 * # Histogram Overflows: 00003 00031
 * # Histogram Overflow at cycle number:
 * # Thread 0: 00133 00247 00348
 *
 * Since 2.7 rows of zeros and the total are not printed.  What lies above the last row is counted
 * under Overflows alone.  -H adds a column with the sum of the others.
 */

static const struct {
	const char *start;
	size_t offset;
} said[] = {
	{ "# Total:", offsetof(struct cyclictest_column, total) },
	{ "# Min Latencies:", offsetof(struct cyclictest_column, min) },
	{ "# Avg Latencies:", offsetof(struct cyclictest_column, avg) },
	{ "# Max Latencies:", offsetof(struct cyclictest_column, max) },
	{ "# Histogram Overflows:", offsetof(struct cyclictest_column, overflow) },
};

/* Two or more whole numbers and nothing else, the first with leading zeros up to six digits. */
static bool is_bar(const char *line, bool inside)
{
	size_t columns = 0;

	if (!isdigit((unsigned char)*line) || (*line != '0' && !inside))
		return false;
	for (; *line; columns++) {
		size_t n = strspn(line, "0123456789");

		if (n < 6 || n > 18 || (line[n] && line[n] != ' '))
			return false;
		line += line[n] ? n + 1 : n;
	}
	return columns >= 2;
}

/* Behind a quoter's "JD> " and the like; the histogram's own lines begin with "#". */
static const char *find_comment(const char *line)
{
	static const char *const starts[] = { "# Histogram", "# Total:",  "# Min Latencies:",
					      "# Avg Lat",   "# Max Lat", "# Thread ",
					      "# SMIs:" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		const char *s = scan_find(line, starts[i]);

		if (s && s - line <= 12)
			return s;
	}
	return NULL;
}

bool cyclictest_is_hist(const struct import_feed *f, const char *line)
{
	return find_comment(line) || is_bar(line, f->mode & CYCLICTEST_HIST);
}

static int columns_reserve(struct cyclictest_run *run, size_t nr)
{
	struct cyclictest_column *p;

	if (nr <= run->nr_columns)
		return 0;
	p = reallocarray(run->columns, nr, sizeof(*p));
	if (!p)
		return -ENOMEM;
	run->columns = p;
	for (; run->nr_columns < nr; run->nr_columns++)
		run->columns[run->nr_columns] = (struct cyclictest_column){ -1, -1, -1, -1, -1, 0 };
	return 0;
}

/* The run that a line of a histogram belongs to is open afterwards. */
static int place(struct import_feed *f, size_t line, bool begins)
{
	struct cyclictest_run *run = f->run ? f->run->data : NULL;
	bool own = run && !run->json && !*f->command;
	int r;

	/* T: lines and a histogram behind them are one run's; a second histogram is another's */
	if (own && (!begins || !run->hist_line))
		return 0;
	r = import_open_run(f, line);
	if (r < 0)
		return r;
	cyclictest_take_command(f->run->data, f->command);
	return 0;
}

/* NULL, or why the figures in "# Min Latencies: 00019 00023" cannot be read. */
static const char *check_said(const char *s, bool min)
{
	size_t nr = 0;
	int64_t v;

	s = strchr(s, ':') + 1;
	for (scan_space(&s); scan_int(&s, 18, &v); scan_space(&s)) {
		if (v < 0)
			return "a negative figure of a histogram";
		if (nr++ == CYCLICTEST_COLUMNS)
			return "more columns than any machine has CPUs";
	}
	/* "18446744073709551615": the smallest of no samples */
	if (*s && !(min && isdigit((unsigned char)*s)))
		return "no number where the histogram has one";
	return NULL;
}

static int said_row(struct import_feed *f, const char *s, size_t offset)
{
	struct cyclictest_run *run = f->run->data;
	size_t nr = 0;
	int64_t v;

	s = strchr(s, ':') + 1;
	for (scan_space(&s); scan_int(&s, 18, &v); scan_space(&s)) {
		if (columns_reserve(run, ++nr) < 0)
			return -ENOMEM;
		memcpy((char *)&run->columns[nr - 1] + offset, &v, sizeof(v));
	}
	if (offset == offsetof(struct cyclictest_column, min))
		run->nr_said = nr;
	return 0;
}

static int bar_row(struct import_feed *f, const char *s)
{
	struct cyclictest_run *run = f->run->data;
	int64_t at = 0, v, sum = 0;
	size_t nr = 0;

	scan_int(&s, 18, &at); /* is_bar() has seen it */
	for (scan_space(&s); scan_int(&s, 18, &v); scan_space(&s), nr++) {
		struct import_hist *h;
		char labels[32];

		if (nr == CYCLICTEST_COLUMNS)
			break;
		if (columns_reserve(run, nr + 1) < 0)
			return -ENOMEM;
		run->columns[nr].rows += (uint64_t)v;
		if (!s[strspn(s, " ")] && nr && sum != v)
			run->sum_differs = true;
		sum += v;
		snprintf(labels, sizeof(labels), "thread=%zu", nr);
		if (import_hist_of(f->run, "latency", "ns", labels, &h) < 0)
			return -ENOMEM;
		if (v && import_bar_add(h, (double)at, (uint64_t)v) < 0)
			return -ENOMEM;
	}
	return 0;
}

int cyclictest_hist_row(struct import_feed *f, const struct import_line *l)
{
	const char *comment = find_comment(l->s), *why = NULL;
	bool begins = comment && strcmp(comment, "# Histogram") == 0;
	size_t i = 0;
	struct cyclictest_run *run;
	int r;

	while (comment && i < ARRAY_SIZE(said) &&
	       strncmp(comment, said[i].start, strlen(said[i].start)) != 0)
		i++;
	if (comment && i < ARRAY_SIZE(said))
		why = check_said(comment,
				 said[i].offset == offsetof(struct cyclictest_column, min));
	if (why)
		return import_bad(f, why);
	r = place(f, l->nr, begins);
	if (r < 0)
		return r;
	run = f->run->data;
	if (!run->hist_line)
		run->hist_line = l->nr;
	f->mode |= CYCLICTEST_HIST;
	f->greedy = true;
	if (!comment)
		return bar_row(f, l->s);
	return i < ARRAY_SIZE(said) ? said_row(f, comment, said[i].offset) : 0;
}

/* ---- JSON */

/*
 * The keys of the head have a colon in them: "cmdline:", "rt_test_version:".  All rt-tests share
 * it; "resolution_in_ns" with "cycles" per thread is cyclictest's.
 */
static const char *command_of(const struct json_val *doc)
{
	const char *s = json_text(doc, "cmdline:");

	return s ? s : json_text(doc, "cmdline");
}

bool cyclictest_json_sniff(const struct json_val *doc)
{
	const char *command = command_of(doc);
	const struct json_val *threads = json_find(doc, "thread");

	if (command)
		return strstr(command, "cyclictest") != NULL;
	return threads && json_find(doc, "resolution_in_ns") && json_find(threads->child, "cycles");
}

static int hist_of(struct import_run *run, const struct json_val *hist, const char *labels,
		   int64_t cycles, bool ns)
{
	struct import_hist *h;
	double scale = ns ? 1 : 1000;
	uint64_t total = 0;

	if (!hist || !hist->child)
		return 0;
	if (import_hist_of(run, "latency", "ns", labels, &h) < 0)
		return -ENOMEM;
	h->width = scale;
	for (const struct json_val *v = hist->child; v; v = v->next) {
		const char *p = v->key;
		int64_t at;

		if (v->kind != JSON_NUMBER || !scan_int(&p, 15, &at) || *p || v->number < 0 ||
		    v->number > 1e18)
			continue;
		total += (uint64_t)v->number;
		if (v->number > 0 && import_bar_add(h, (double)at * scale, (uint64_t)v->number) < 0)
			return -ENOMEM;
	}
	if (cycles >= 0 && total < (uint64_t)cycles)
		h->overflow = (uint64_t)cycles - total;
	return h->overflow
		       ? import_note(run, run->line,
				     "%s: %" PRIu64 " sample(s) lie above the histogram's last row",
				     labels, h->overflow)
		       : 0;
}

static int thread_of(struct import_feed *f, const struct json_val *v)
{
	struct cyclictest_run *run = f->run->data;
	struct cyclictest_thread t = {
		.line = f->document_line, .tid = -1, .prio = -1, .interval_us = -1, .act = -1
	};
	const char *p = v->key;
	double avg = -1;
	char labels[32];

	if (v->kind != JSON_OBJECT || !scan_int(&p, 5, &t.t) || *p || t.t < 0)
		return import_bad(f, "a thread without a number");
	if (!json_whole(v, "cycles", &t.cycles))
		return import_bad(f, "a thread without a count of cycles");
	if (!json_whole(v, "min", &t.min))
		t.min = -1;
	if (!json_whole(v, "max", &t.max))
		t.max = -1;
	t.avg = json_double(v, "avg", &avg) && avg >= 0 && avg < 1e15 ? (int64_t)avg : -1;
	if (run->nr && run->threads[run->nr - 1].t >= t.t)
		return import_bad(f, "the same thread twice");
	snprintf(labels, sizeof(labels), "thread=%" PRId64, t.t);
	if (cyclictest_add_thread(run, &t) < 0)
		return -ENOMEM;
	return hist_of(f->run, json_find(v, "histogram"), labels, t.cycles, run->ns);
}

int cyclictest_json_doc(struct import_feed *f, const struct json_val *doc, size_t nr,
			bool truncated)
{
	const struct json_val *threads = json_find(doc, "thread");
	const struct json_val *ns = json_find(doc, "resolution_in_ns");
	const char *command = command_of(doc);
	struct cyclictest_run *run;
	int r;

	if (!threads || !threads->child)
		return import_bad(f, "no thread in the JSON document");
	r = import_open_run(f, nr);
	if (r < 0)
		return r;
	run = f->run->data;
	run->json = run->has_command = true;
	run->ns = ns && ns->number == 1;
	if (command) {
		char *label = strdup(command);

		if (!label)
			return -ENOMEM;
		free(f->run->label);
		f->run->label = label;
	}
	for (const struct json_val *v = threads->child; v && r == 0; v = v->next)
		r = thread_of(f, v);
	if (r == 0 && truncated)
		r = import_note(f->run, nr, "the JSON document breaks off");
	f->run->last_line = f->document_last_line;
	import_close_run(f);
	return r;
}
