// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "import/frame.h"
#include "import/import.h"

/* What loggers, terminals, diffs and people put in front of each line, around it and behind it. */

#define FIXTURES "tests/fixtures/"

__attribute__((noinline)) static void parse(const struct buf *text, struct import_doc *ret)
{
	struct err e = {};

	*ret = (struct import_doc){};
	if (import_text(buf_str(text), text->len, ret, &e) < 0)
		fail_msg("%s", e.msg);
}

static void parse_string(const char *text, struct import_doc *ret)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_puts(&b, text);
	parse(&b, ret);
}

/* All numbers of all runs. */
static void describe(const struct buf *text, struct buf *out)
{
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	for (size_t i = 0; i < doc.nr_runs; i++) {
		const struct import_run *run = &doc.runs[i];

		buf_printf(out, "%s, %zu rows\n", run->tool, run->rows);
		for (size_t k = 0; k < run->nr_figures; k++)
			buf_printf(out, " %s[%s] %.17g %s\n", run->figures[k].metric,
				   run->figures[k].labels, run->figures[k].value,
				   run->figures[k].unit);
		for (size_t k = 0; k < run->nr_series; k++)
			for (size_t p = 0; p < run->series[k].nr; p++)
				buf_printf(out, " %s[%s] %lld %.17g\n", run->series[k].metric,
					   run->series[k].labels,
					   (long long)run->series[k].points[p].t_ns,
					   run->series[k].points[p].v);
		for (size_t k = 0; k < run->nr_hists; k++)
			for (size_t p = 0; p < run->hists[k].nr; p++)
				buf_printf(out, " %s[%s] %.17g %llu\n", run->hists[k].metric,
					   run->hists[k].labels, run->hists[k].bars[p].v,
					   (unsigned long long)run->hists[k].bars[p].count);
	}
	buf_printf(out, "%zu skipped\n", doc.nr_skipped);
}

/* The text of one line's frame: "%n" and "%N" are the line's number, "%s" a second, "%l" the line.
 */
static const char *const ways[] = {
	"Nov 30 22:17:%s %l",
	"Nov 30 22:17:%s box bench.sh[1234]: %l",
	"2026-11-30T22:17:%s.123456+0100 %l",
	"2026-11-30T22:17:%s+01:00 box iperf3[99]: %l",
	"[2026-11-30 22:17:%s] %l",
	"[22:17:%s] %l",
	"17645410%s.123456 %l",
	"2026-11-30 22:17:%s,123 - bench - INFO - %l",
	"INFO     root:bench.py:42 %l",
	"[stdout] %l",
	"node01: %l",
	"192.0.2.7: %l",
	"client-1  | %l",
	"%n\t%l",
	"%n: %l",
	"%N:%l",
	"%n. %l",
	"out.txt:%N:%l",
	"out.txt-%N-%l",
	"logs/run-1.txt:%l",
	"me> %l",
	"# %l",
	"// %l",
	" * %l",
	"- %l",
	"+%l",
	"-%l",
	"> +%l",
	"\xe2\x94\x82 %l \xe2\x94\x82",
	"<tr><td>%N</td><td>%l</td></tr>",
	"%l   <-- here", /* the last: no JSON is noted so */
};

static void put_line(struct buf *out, const char *way, size_t nr, const char *line, size_t len)
{
	for (; *way; way++) {
		if (*way != '%') {
			buf_putc(out, *way);
			continue;
		}
		switch (*++way) {
		case 'n':
			buf_printf(out, "%6zu", nr);
			break;
		case 'N':
			buf_printf(out, "%zu", nr);
			break;
		case 's':
			buf_printf(out, "%02zu", nr % 60);
			break;
		default:
			for (size_t i = 0; i < len; i++)
				if (strstr(way, "</td>") && strchr("<>&", line[i]))
					buf_printf(out, "&#%d;", line[i]);
				else
					buf_putc(out, line[i]);
		}
	}
	buf_putc(out, '\n');
}

static void frame(const struct buf *text, const char *way, struct buf *out)
{
	size_t nr = 0;

	for (const char *s = buf_str(text); *s;) {
		size_t n = strcspn(s, "\n");

		put_line(out, way, ++nr, s, n);
		s += n + (s[n] == '\n');
	}
}

static void check(const char *path)
{
	_cleanup_(buf_release) struct buf text = {}, want = {};

	fixture_read(path, &text);
	describe(&text, &want);
	for (size_t i = 0; i < ARRAY_SIZE(ways) - (strstr(path, "json") != NULL); i++) {
		_cleanup_(buf_release) struct buf framed = {}, got = {};

		frame(&text, ways[i], &framed);
		describe(&framed, &got);
		if (strcmp(buf_str(&got), buf_str(&want)) != 0)
			fail_msg("%s framed as \"%s\":\n%.1500s\ninstead of\n%.1500s", path,
				 ways[i], buf_str(&got), buf_str(&want));
	}
}

static void what_stands_around_each_line_does_not_matter(void **state)
{
	static const char *const folders[] = { FIXTURES "capture", FIXTURES "layout",
					       FIXTURES "mail" };
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		_cleanup_(closedir_dirp) DIR *d = opendir(folders[i]);
		struct dirent *ent;

		assert_non_null(d);
		while ((ent = readdir(d))) {
			char path[320];

			/* an already wrapped mail in a second frame is no text that exists */
			if (*ent->d_name == '.' || strcmp(ent->d_name, "README") == 0 ||
			    strcmp(ent->d_name, "wrapped-mail.txt") == 0)
				continue;
			snprintf(path, sizeof(path), "%s/%s", folders[i], ent->d_name);
			check(path);
			nr++;
		}
	}
	assert_true(nr > 90);
}

/* The text as a string of a document, as APIs and play books have it. */
static void put_json(const struct buf *text, bool lines, struct buf *out)
{
	buf_puts(out, lines ? "ok: [box] => {\n \"out.stdout_lines\": [\n\"\""
			    : "{\"number\": 3, \"body\": \"Slow:\\r\\n```\\r\\n");
	if (lines)
		buf_puts(out, ", \"");
	for (const char *s = buf_str(text); *s; s++) {
		if (*s == '\n')
			buf_puts(out, lines ? "\",\n\"" : "\\r\\n");
		else if ((unsigned char)*s < ' ')
			buf_printf(out, "\\u%04x", *s);
		else if (strchr("\"\\", *s))
			buf_printf(out, "\\%c", *s);
		else
			buf_putc(out, *s);
	}
	buf_puts(out, lines ? "\"\n ]\n}\n" : "```\", \"state\": \"open\"}\n");
}

static void text_in_strings_of_a_document_is_read(void **state)
{
	static const char *const files[] = { FIXTURES "capture/iperf3-parallel-omit-client.txt",
					     FIXTURES "capture/cyclictest-histogram.txt",
					     FIXTURES "capture/hackbench.txt",
					     FIXTURES "capture/iperf3-plain-client.json",
					     FIXTURES "layout/netperf.txt" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_(buf_release) struct buf text = {}, want = {};

		fixture_read(files[i], &text);
		describe(&text, &want);
		for (int lines = 0; lines < 2; lines++) {
			_cleanup_(buf_release) struct buf wrapped = {}, got = {};

			put_json(&text, lines, &wrapped);
			describe(&wrapped, &got);
			assert_string_equal(buf_str(&got), buf_str(&want));
		}
	}
}

static void labels_are_without_what_stands_in_front(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	parse_string(
		"     1\troot@box:~# cyclictest -m -Sp98 -q -D1\n"
		"     2\tT: 0 (11147) P:98 I:250 C:   7999 Min:      7 Act:   12 Avg:   11 Max:      26\n"
		"     3\n"
		"     4\tnow with load\n"
		"     5\tT: 0 (11148) P:98 I:250 C:   7999 Min:      7 Act:   12 Avg:   11 Max:      39\n",
		&doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_string_equal(doc.runs[0].label, "cyclictest -m -Sp98 -q -D1");
	assert_string_equal(doc.runs[1].label, "now with load");
	/* the number of an empty line is not the rest of the number before it */
	assert_near(import_figure_find(&doc.runs[0], "latency.max", "thread=0")->value, 26000, 0);
}

static void notes_behind_rows_are_none_of_them(void **state)
{
	static const char *const notes[] = { " <-- here",	   " # worst of all", " // 3 ms!",
					     " \xe2\x86\x90 why?", " <<< 12 drops",   " !!!" };

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_printf(&text,
			   "$ hackbench -l 100\nRunning in process mode with 2 groups using 40 "
			   "file descriptors each (== 80 tasks)\n"
			   "Each sender will pass 100 messages of 100 bytes\nTime: 0.104%s\n",
			   notes[i]);
		buf_printf(&text,
			   "[  5]   0.00-1.00   sec  3.03 GBytes  26.0 Gbits/sec   14   2.50 "
			   "MBytes%s\n"
			   "[  5]   1.00-2.00   sec  3.03 GBytes  26.0 Gbits/sec   15   2.50 "
			   "MBytes\n",
			   notes[i]);
		parse(&text, &doc);
		assert_int_equal(doc.nr_skipped, 0);
		assert_int_equal(doc.nr_runs, 2);
		assert_near(import_figure_find(&doc.runs[0], "time", "")->value, 104e6, 1);
		assert_near(import_figure_find(&doc.runs[1], "retransmits.rows", "direction=sent")
				    ->value,
			    29, 0);
	}
}

/* What is left in front of such a note is often no row any more. */
static void notes_inside_rows_do_no_harm(void **state)
{
	static const char *const files[] = { FIXTURES "capture/iperf2-csv-client.txt",
					     FIXTURES "capture/iperf2-enhanced-client.txt",
					     FIXTURES "capture/iperf3-udp-client.txt",
					     FIXTURES "capture/cyclictest-histogram.txt",
					     FIXTURES "capture/ping.txt",
					     FIXTURES "capture/oslat.txt",
					     FIXTURES "capture/softirqs.txt",
					     FIXTURES "layout/netperf.txt",
					     FIXTURES "layout/rtla-osnoise.txt",
					     FIXTURES "layout/neper.txt" };

	for (size_t i = 0; i < ARRAY_SIZE(files) * 8; i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {}, noted = {};
		size_t column = 0;

		fixture_read(files[i / 8], &text);
		for (const char *s = buf_str(&text); *s; s++) {
			column = *s == '\n' ? 0 : column + 1;
			buf_putc(&noted, *s);
			if (column % 16 == i % 8 * 2)
				buf_puts(&noted, i % 3 ? " # " : " <-- ");
		}
		parse(&noted, &doc);
	}
}

static void a_frame_is_what_it_looks_like(void **state)
{
	static const struct {
		const char *line, *rest;
	} cases[] = { { "Nov 30 22:17:01 box x[12]: PING a", "PING a" },
		      { "[2026-11-30T22:17:01Z] PING a", "PING a" },
		      { "12: PING a", "PING a" },
		      { "out.txt:12:PING a", "PING a" },
		      { "[SUM] PING a", "PING a" },
		      { "PING a", NULL },
		      { "0.00-1.00 sec", NULL },
		      { "2026-11-30 22:17:01,123 PING a", "PING a" },
		      { "Mon Nov 30 22:17:01 2026 PING a", "PING a" },
		      { "17645410.123456 PING a", NULL },
		      { "1764541021.123456 PING a", "PING a" },
		      { "out.txt-12-PING a", "PING a" },
		      { "2026", NULL },
		      { "12", NULL } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame f = {};
		size_t n, last = 0;

		while ((n = frame_more(&f, cases[i].line)) != 0)
			last = n;
		if (cases[i].rest)
			assert_string_equal(cases[i].line + last, cases[i].rest);
		else
			assert_int_equal(last, 0);
		/* cut anywhere: nothing behind the end is read */
		for (size_t len = 0; len <= strlen(cases[i].line); len++) {
			_cleanup_(freep) char *part = strndup(cases[i].line, len);

			f = (struct frame){};
			while ((n = frame_more(&f, part)) != 0)
				assert_true(n < len);
			assert_true(frame_skip_stamp(part) <= len);
			assert_true(!frame_find_note(part) || frame_find_note(part) < part + len);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stands_around_each_line_does_not_matter),
		cmocka_unit_test(text_in_strings_of_a_document_is_read),
		cmocka_unit_test(labels_are_without_what_stands_in_front),
		cmocka_unit_test(notes_behind_rows_are_none_of_them),
		cmocka_unit_test(notes_inside_rows_do_no_harm),
		cmocka_unit_test(a_frame_is_what_it_looks_like),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
