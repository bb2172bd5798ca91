// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/import.h"

/*
 * The formats of smaller tools.  What the texts of tests/fixtures say is in tests/known/tools.txt,
 * read there by another program (tools.py); what a text that is not as it should be gives stands in
 * the tests below.
 */

#define FIXTURES "tests/fixtures/"

static void slurp(const char *path, struct buf *out)
{
	_cleanup_(fclose_filep) FILE *f = fopen(path, "re");
	char piece[4096];
	size_t n;

	if (!f)
		fail_msg("%s is missing", path);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(out, piece, n);
}

static void read_text(const char *text, size_t len, struct import_doc *ret)
{
	struct err e = {};

	*ret = (struct import_doc){};
	if (import_text(text, len, ret, &e) < 0)
		fail_msg("%s", e.msg);
}

static void read_string(const char *text, struct import_doc *ret)
{
	read_text(text, strlen(text), ret);
}

static double figure(const struct import_run *run, const char *metric, const char *labels)
{
	const struct import_figure *f = import_figure_find(run, metric, labels);

	if (!f)
		fail_msg("%s of %s has no %s[%s]", run->label, run->tool, metric, labels);
	return f->value;
}

static void every_number_is_what_the_text_says(void **state)
{
	_cleanup_(fclose_filep) FILE *f = fopen("tests/known/tools.txt", "re");
	_cleanup_(import_release) struct import_doc doc = {};
	char line[512], file[128], last[128] = "", tool[32], metric[64], labels[96];
	unsigned int run;
	size_t nr = 0;
	double want;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		assert_int_equal(sscanf(line, "%127s %u %31s %63s %95s %lf", file, &run, tool,
					metric, labels, &want),
				 6);
		if (strcmp(file, last) != 0) {
			_cleanup_(buf_release) struct buf text = {};
			char path[160];

			snprintf(path, sizeof(path), FIXTURES "%s", file);
			slurp(path, &text);
			import_release(&doc);
			read_text(buf_str(&text), text.len, &doc);
			snprintf(last, sizeof(last), "%s", file);
			assert_int_equal(doc.nr_skipped, 0);
		}
		assert_true(run <= doc.nr_runs);
		assert_string_equal(doc.runs[run - 1].tool, tool);
		assert_near(figure(&doc.runs[run - 1], metric,
				   strcmp(labels, "-") == 0 ? "" : labels),
			    want, fabs(want) * 1e-9);
		nr++;
	}
	assert_true(nr > 200);
}

/* Everything that is said of the runs but for their labels and lines. */
static void dump(const struct import_doc *doc, struct buf *out)
{
	for (size_t i = 0; i < doc->nr_runs; i++) {
		const struct import_run *run = &doc->runs[i];

		buf_printf(out, "%s\n", run->tool);
		for (size_t k = 0; k < run->nr_figures; k++)
			buf_printf(out, " %s[%s] %.17g\n", run->figures[k].metric,
				   run->figures[k].labels, run->figures[k].value);
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
		for (size_t k = 0; k < run->nr_notes; k++)
			buf_printf(out, " %s\n", run->notes[k].text);
	}
}

static void dump_text(const struct buf *text, struct buf *out)
{
	_cleanup_(import_release) struct import_doc doc = {};

	read_text(buf_str(text), text->len, &doc);
	dump(&doc, out);
}

/* What mail does to a text: @before each line, @after instead of its LF. */
static void decorate(const struct buf *text, const char *before, const char *after, struct buf *out)
{
	const char *p = buf_str(text);

	while (*p) {
		size_t n = strcspn(p, "\n");

		buf_puts(out, before);
		buf_add(out, p, n);
		buf_puts(out, after);
		p += n + (p[n] == '\n');
	}
}

static void check_decorated(const char *path)
{
	static const struct {
		const char *before, *after;
	} ways[] = { { "> ", "\n" },	 { ">> > ", "\n" },	     { "", "\r\n" },
		     { "    ", "\n" },	 { "\t", "  \n" },	     { "| ", "\n" },
		     { "", "\033[K\n" }, { "\033[1m", "\033[0m\n" }, { "> ", " \r\n" } };
	_cleanup_(buf_release) struct buf text = {}, want = {};

	slurp(path, &text);
	dump_text(&text, &want);
	assert_true(want.len > 0);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		_cleanup_(buf_release) struct buf mail = {}, got = {};

		decorate(&text, ways[i].before, ways[i].after, &mail);
		dump_text(&mail, &got);
		if (strcmp(buf_str(&got), buf_str(&want)) != 0)
			fail_msg("%s with \"%s\" before its lines:\n%.600s\ninstead of\n%.600s",
				 path, ways[i].before, buf_str(&got), buf_str(&want));
	}
}

/* All fixtures of these tools, by @check. */
static void each_fixture(void (*check)(const char *path))
{
	static const char *const names[] = { "hackbench", "nuttcp",	    "sockperf", "ping",
					     "oslat",	  "jitterdebugger", "mpstat",	"sar",
					     "softirqs",  "interrupts",	    "rtla",	"netperf",
					     "neper" };
	static const char *const folders[] = { FIXTURES "capture", FIXTURES "layout" };
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		_cleanup_(closedir_dirp) DIR *d = opendir(folders[i]);
		struct dirent *ent;

		assert_non_null(d);
		while ((ent = readdir(d))) {
			char path[320];
			bool ours = false;

			for (size_t k = 0; k < ARRAY_SIZE(names); k++)
				ours |= strncmp(ent->d_name, names[k], strlen(names[k])) == 0;
			if (!ours)
				continue;
			snprintf(path, sizeof(path), "%s/%s", folders[i], ent->d_name);
			check(path);
			nr++;
		}
	}
	assert_true(nr >= 30);
}

static void mail_does_not_change_the_result(void **state)
{
	(void)state;
	each_fixture(check_decorated);
}

/* Lines broken at the last blank that fits into @columns, as mailers do. */
static void hard_wrap(const struct buf *text, size_t columns, struct buf *out)
{
	for (const char *p = buf_str(text); *p;) {
		size_t len = strcspn(p, "\n"), n = len;

		if (len > columns) {
			for (n = columns; n > 0 && p[n] != ' ';)
				n--;
			n = n ? n : columns;
		}
		buf_add(out, p, n);
		buf_putc(out, '\n');
		p += n;
		p += n < len ? strspn(p, " ") : *p == '\n';
	}
}

/* A number that is found in the broken text is the same as in the whole one; where one is not
 * found, something is said about it. */
static void check_wrapped(const char *path)
{
	_cleanup_(import_release) struct import_doc whole = {}, broken = {};
	_cleanup_(buf_release) struct buf text = {}, wrapped = {};
	size_t lost = 0, said;

	slurp(path, &text);
	hard_wrap(&text, 72, &wrapped);
	read_text(buf_str(&text), text.len, &whole);
	read_text(buf_str(&wrapped), wrapped.len, &broken);
	said = broken.nr_skipped;
	for (size_t i = 0; i < broken.nr_runs; i++)
		said += broken.runs[i].nr_notes;
	if (broken.nr_runs != whole.nr_runs)
		fail_msg("%s: %zu runs when wrapped, %zu when not", path, broken.nr_runs,
			 whole.nr_runs);
	for (size_t i = 0; i < whole.nr_runs; i++) {
		for (size_t k = 0; k < whole.runs[i].nr_figures; k++) {
			const struct import_figure *f = &whole.runs[i].figures[k];
			const struct import_figure *w =
				import_figure_find(&broken.runs[i], f->metric, f->labels);

			lost += !w;
			if (w && w->value != f->value)
				fail_msg("%s: %s[%s] is %.17g when wrapped, %.17g when not", path,
					 f->metric, f->labels, w->value, f->value);
		}
	}
	if (lost && !said)
		fail_msg("%s: %zu figures are lost when wrapped and nothing is said", path, lost);
}

static void hard_wrapped_text_gives_no_wrong_number(void **state)
{
	(void)state;
	each_fixture(check_wrapped);
}

/* Rows of several tools, each broken somewhere. */
static void broken_rows_of_every_tool_are_whole(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};

	(void)state;
	slurp(FIXTURES "layout/wrapped-mail.txt", &text);
	read_text(buf_str(&text), text.len, &doc);
	assert_int_equal(doc.nr_runs, 6);
	assert_int_equal(doc.nr_skipped, 0);
	assert_near(figure(&doc.runs[0], "cpu.idle", ""), 0.94, 1e-12);
	assert_near(figure(&doc.runs[1], "rtt.mdev", ""), 5000, 1e-6);
	assert_near(figure(&doc.runs[2], "latency.avg", ""), 54599, 1e-6);
	assert_near(figure(&doc.runs[3], "throughput", ""), 915.55e6, 1);
	assert_near(figure(&doc.runs[4], "rtt", ""), 90000, 1e-6);
	assert_near(figure(&doc.runs[5], "latency.max", "cpu=0,thread=0"), 2331000, 0);
}

/* All of them in one mail: each is found, and no other. */
static void many_tools_in_one_text_are_kept_apart(void **state)
{
	static const char *const names[] = {
		"hackbench.txt", "nuttcp.txt", "sockperf-ping-pong.txt",
		"ping.txt",	 "oslat.txt",  "jitterdebugger.txt",
		"mpstat.txt",	 "sar.txt",    "softirqs.txt",
		"oslat.json",
	};
	static const char *const tools[] = { "hackbench",  "nuttcp",	     "sockperf", "ping",
					     "oslat",	   "jitterdebugger", "mpstat",	 "sar",
					     "interrupts", "oslat" };
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[128];

		snprintf(path, sizeof(path), FIXTURES "capture/%s", names[i]);
		slurp(path, &text);
		buf_puts(&text, "\nAnd then we ran the next one, with this result:\n\n");
	}
	read_text(buf_str(&text), text.len, &doc);
	assert_int_equal(doc.nr_skipped, 0);
	assert_int_equal(doc.nr_runs, ARRAY_SIZE(tools));
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		assert_string_equal(doc.runs[i].tool, tools[i]);
}

static void series_have_their_times(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};
	const struct import_series *s;

	(void)state;
	slurp(FIXTURES "capture/nuttcp-reverse.txt", &text);
	read_text(buf_str(&text), text.len, &doc);
	s = import_series_find(&doc.runs[0], "throughput", "");
	assert_non_null(s);
	assert_true(s->nr >= 3);
	assert_int_equal(s->points[2].t_ns, 1000000000);
	assert_int_equal(s->points[2].length_ns, 500000000);
	import_release(&doc);
	buf_reset(&text);
	slurp(FIXTURES "capture/mpstat.txt", &text);
	read_text(buf_str(&text), text.len, &doc);
	s = import_series_find(&doc.runs[0], "cpu.idle", "cpu=1");
	assert_non_null(s);
	assert_int_equal(s->nr, 2);
	assert_int_equal(s->points[0].t_ns, 0);
	assert_int_equal(s->points[1].t_ns, 1000000000);
	import_release(&doc);
	buf_reset(&text);
	slurp(FIXTURES "capture/ping-stamped.txt", &text);
	read_text(buf_str(&text), text.len, &doc);
	s = import_series_find(&doc.runs[0], "rtt", "");
	assert_non_null(s);
	assert_int_equal(s->nr, 2);
	assert_true(s->points[1].t_ns > 150000000 && s->points[1].t_ns < 1000000000);
}

static void histograms_hold_every_sample(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};
	const struct import_hist *h;
	uint64_t n = 0;

	(void)state;
	slurp(FIXTURES "layout/rtla-timerlat-hist.txt", &text);
	read_text(buf_str(&text), text.len, &doc);
	assert_int_equal(doc.runs[0].nr_hists, 4);
	h = import_hist_find(&doc.runs[0], "latency", "context=thread,cpu=1");
	assert_non_null(h);
	assert_int_equal(h->nr, 4);
	assert_near(h->bars[3].v, 30000, 0);
	assert_near(h->width, 2000, 0);
	assert_int_equal(h->overflow, 3);
	for (size_t i = 0; i < h->nr; i++)
		n += h->bars[i].count;
	assert_int_equal(n + h->overflow, 600000);
	assert_int_equal(doc.runs[0].nr_notes, 0);
}

/* A row that was cut out of a histogram is missed. */
static void a_missing_row_is_noted(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};
	char *row;

	(void)state;
	slurp(FIXTURES "layout/rtla-timerlat-hist.txt", &text);
	row = strstr(text.data, "\n4  ");
	memmove(row, strchr(row + 1, '\n'), strlen(strchr(row + 1, '\n')) + 1);
	text.len = strlen(text.data);
	read_text(buf_str(&text), text.len, &doc);
	assert_int_equal(doc.runs[0].nr_notes, 1);
	assert_contains(doc.runs[0].notes[0].text, "rows are missing");
}

static void a_redrawn_table_counts_once(void **state)
{
	static const char text[] =
		"                Timer Latency\n"
		"  0 00:00:01   |          IRQ Timer Latency (us)        |         Thread Timer Latency "
		"(us)\n"
		"CPU COUNT      |      cur       min       avg       max |      cur       min       avg   "
		"    max\n"
		"  0 #1000      |        1         0         1         9 |        6         2         5   "
		"     28\n"
		"                Timer Latency\n"
		"  0 00:00:02   |          IRQ Timer Latency (us)        |         Thread Timer Latency "
		"(us)\n"
		"CPU COUNT      |      cur       min       avg       max |      cur       min       avg   "
		"    max\n"
		"  0 #2000      |        1         0         1         9 |        6         2         5   "
		"     31\n"
		"after the patch:\n"
		"                Timer Latency\n"
		"  0 00:00:02   |          IRQ Timer Latency (us)        |         Thread Timer Latency "
		"(us)\n"
		"CPU COUNT      |      cur       min       avg       max |      cur       min       avg   "
		"    max\n"
		"  0 #2001      |        1         0         1         7 |        6         2         5   "
		"     19\n";
	_cleanup_(import_release) struct import_doc doc = {};

	(void)state;
	read_string(text, &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_near(figure(&doc.runs[0], "latency.max", "context=thread,cpu=0"), 31000, 0);
	assert_near(figure(&doc.runs[0], "duration", ""), 2e9, 0);
	assert_near(figure(&doc.runs[1], "latency.max", "context=thread,cpu=0"), 19000, 0);
	assert_string_equal(doc.runs[1].label, "after the patch");
}

/* A text that must be refused, with the words of the reason. */
static void refuses(const char *text, const char *reason)
{
	_cleanup_(import_release) struct import_doc doc = {};

	read_string(text, &doc);
	for (size_t i = 0; i < doc.nr_skipped; i++)
		if (strstr(doc.skipped[i].reason, reason))
			return;
	fail_msg("\"%s\" was not said of: %s", reason, text);
}

static void nonsense_is_refused_with_a_reason(void **state)
{
	(void)state;
	refuses("3 packets transmitted, 4 received, 0% packet loss, time 2ms\n",
		"more packets received than sent");
	refuses("3 packets transmitted, 0 received, 300% packet loss, time 2ms\n", "beyond 100 %");
	refuses("PING a (1.2.3.4) 56(84) bytes of data.\n"
		"64 bytes from 1.2.3.4: icmp_seq=1 ttl=64 time=3.1 parsec\n",
		"in no unit that is known");
	refuses("Operating System Noise\n"
		"duration:   0 00:01:00 | time is in us\n"
		"  0 #58      52200000   99999999  99.99802  91  60  0  0  52285  0  101\n",
		"more noise than there was time");
	refuses("Operating System Noise\n"
		"duration:   0 00:01:00 | time is in us\n"
		"  0 #58      52200000   999999  101.99802  91  60  0  0  52285  0  101\n",
		"more noise than there was time");
	refuses("12:00:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal   %idle\n"
		"12:00:02     all  250.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00\n",
		"a share beyond 100 %");
	refuses("T: 0 (18389) A: 0 C: 1997 Min: 99 Avg: 14.04 Max: 61\n",
		"the smallest latency is above the largest");
	refuses("MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to h () port 0 AF_INET\n\n"
		" 87380  16384  16384    10.00    9413.55\n",
		"the heading with the unit is missing");
	refuses("## CPU 1 hit stop tracing, analyzing it ##\n"
		"  Blocking thread:	 3.79 us (759 %)\n",
		"a part beyond 100 %");
}

/* Words that occur in mails about such things. */
static void prose_is_no_result(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	(void)state;
	read_string("Time: 5.123 was what I saw, and the PING took forever.\n"
		    "Time: 0.123\n"
		    "The Timer Latency of CPU0 and CPU1 is bad; 64 bytes from him are enough.\n"
		    "Core: the kernel\nMaximum: whatever\nLinux is fine (really)\n"
		    "22:34:22 <dave> CPU is at 100 %\n22:34:23 <dave> all 12.5\n"
		    "count: 3\nmin: 2\nmax: 9\nthroughput=33\n1 2 3 4 5\n"
		    "num_flows=12\nlatency_max=3\nnum_threads=7\n"
		    "[   12.345678] eth0: link is up\n",
		    &doc);
	assert_int_equal(doc.nr_runs, 0);
	assert_int_equal(doc.nr_skipped, 0);
}

static void a_log_is_explained(void **state)
{
	static const char text[] =
		"$ dmesg\n"
		"[  100.000001] eth0: renamed from veth1\n"
		"[  111.100000] NOHZ tick-stop error: local softirq work is pending, handler #08!!!\n"
		"[  112.100000] sched: RT throttling activated\n"
		"[  150.000001] foo\n";
	_cleanup_(import_release) struct import_doc doc = {};

	(void)state;
	read_string(text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(doc.runs[0].line, 4); /* where it was sure */
	assert_int_equal(doc.runs[0].last_line, 5);
	assert_string_equal(doc.runs[0].label, "dmesg");
	assert_near(figure(&doc.runs[0], "lines", ""), 4, 0);
	assert_near(figure(&doc.runs[0], "known", ""), 2, 0);
	assert_near(figure(&doc.runs[0], "duration", ""), 50e9, 1000);
	assert_int_equal(doc.runs[0].nr_notes, 2);
	assert_contains(doc.runs[0].notes[0].text, "NET_RX");
	assert_int_equal(doc.runs[0].notes[1].line, 4);
}

static void counters_that_fell_are_no_pair(void **state)
{
	static const char text[] = "$ cat /proc/softirqs\n"
				   "                    CPU0       CPU1\n"
				   "          HI:         10         20\n"
				   "      NET_RX:       1000       2000\n"
				   "$ sleep 10\n"
				   "                    CPU0       CPU1\n"
				   "          HI:         %s         21\n"
				   "      NET_RX:       %s       2001\n";
	_cleanup_(import_release) struct import_doc doc = {};
	char both[512];

	(void)state;
	snprintf(both, sizeof(both), text, "30", "5000");
	read_string(both, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_near(figure(&doc.runs[0], "softirqs", "vec=NET_RX"), 4001, 0);
	assert_near(figure(&doc.runs[0], "softirqs.rate", "vec=NET_RX"), 400.1, 1e-9);
	assert_near(figure(&doc.runs[0], "softirqs.rate", "cpu=0,vec=HI"), 2, 1e-9);
	import_release(&doc);
	snprintf(both, sizeof(both), text, "3", "500");
	read_string(both, &doc);
	assert_null(import_figure_find(&doc.runs[0], "softirqs", "vec=NET_RX"));
	assert_int_equal(doc.runs[0].nr_notes, 1);
	assert_contains(doc.runs[0].notes[0].text, "went backwards");
}

static void what_cannot_be_known_is_said(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};

	(void)state;
	/* no command line, and figures that can hardly be us */
	read_string("T: 0 (28925) A: 0 C:  100 Min:   45040 Avg:45140.00 Max:   46040\n", &doc);
	assert_int_equal(doc.runs[0].nr_notes, 1);
	assert_contains(doc.runs[0].notes[0].text, "-N");
	import_release(&doc);
	read_string(
		"Linux 6.1 (vm)  11/30/26  _x86_64_ (2 CPU)\n\n"
		"12:00:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal   %idle\n"
		"12:00:02     all   50.00    0.00    0.00    0.00    0.00    0.00    0.00   50.00\n",
		&doc);
	assert_int_equal(doc.runs[0].nr_figures, 0);
	assert_contains(doc.runs[0].notes[0].text, "no \"Average:\" row");
	import_release(&doc);
	read_string("PING a (1.2.3.4) 56(84) bytes of data.\n"
		    "64 bytes from 1.2.3.4: icmp_seq=1 ttl=64 time=3.1 ms\n"
		    "64 bytes from 1.2.3.4: icmp_seq=1 ttl=64 time=3.2 ms (DUP!)\n",
		    &doc);
	assert_int_equal(doc.runs[0].series[0].nr, 1);
	assert_contains(doc.runs[0].notes[0].text, "1 duplicate");
	import_release(&doc);
	slurp(FIXTURES "layout/netperf.txt", &text);
	read_text(buf_str(&text), text.len, &doc);
	assert_contains(doc.runs[1].notes[0].text, "6.578 %");
}

static void decimal_commas_are_numbers(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	(void)state;
	read_string(
		"12:00:01 AM     CPU    %user   %nice    %system   %iowait    %steal     %idle\n"
		"12:00:02 AM     all   50,25    0,00    0,00    0,00    0,00   49,75\n"
		"Average:        all   50,25    0,00    0,00    0,00    0,00   49,75\n",
		&doc);
	assert_int_equal(doc.nr_skipped, 0);
	assert_string_equal(doc.runs[0].tool, "sar");
	assert_near(figure(&doc.runs[0], "cpu.user", ""), 0.5025, 1e-12);
}

/* Wide rows that a mailer has broken in two. */
static void wrapped_rows_are_whole(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	(void)state;
	read_string(
		"                Timer Latency\n"
		"  0 00:00:01   |          IRQ Timer Latency (us)        |         Thread Timer\n"
		"Latency (us)\n"
		"CPU COUNT      |      cur       min       avg       max |      cur       min\n"
		"avg       max\n"
		"  0 #1000      |        1         0         1         9 |        6         2\n"
		"5        28\n",
		&doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_near(figure(&doc.runs[0], "latency.max", "context=thread,cpu=0"), 28000, 0);
	import_release(&doc);
	read_string(
		"12:00:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal   %idle\n"
		"Average:     all   50.00    0.00    0.00    0.00    0.00    0.00\n"
		"   0.00   50.00\n",
		&doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_near(figure(&doc.runs[0], "cpu.idle", ""), 0.5, 1e-12);
}

/* Tables of many CPUs. */
static void wrapped_counters_are_whole(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	(void)state;
	read_string("            CPU0       CPU1       CPU2       CPU3\n"
		    "CPU4       CPU5\n"
		    "  24:          1          2          3          4\n"
		    "5          6   PCI-MSI 524288-edge      eth0-rx-0\n"
		    " LOC:         10         20         30         40\n"
		    "50         60   Local timer interrupts\n"
		    " ERR:          3\n",
		    &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(doc.nr_skipped, 0);
	assert_near(figure(&doc.runs[0], "interrupts.total", "irq=24"), 21, 0);
	assert_near(figure(&doc.runs[0], "interrupts.total", "cpu=5,irq=24"), 6, 0);
	assert_near(figure(&doc.runs[0], "interrupts.total", "irq=LOC"), 210, 0);
	assert_near(figure(&doc.runs[0], "interrupts.total", "irq=ERR"), 3, 0);
}

/* What was found in mails and on pages of the web, as to its form. */
static void variants_of_the_layouts_are_read(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	(void)state;
	read_string("> > Running in process mode with 10 groups using 40 file descriptors\n"
		    "> > each (== 400 tasks)\n"
		    "> > Each sender will pass 100 messages of 100000 bytes\n"
		    "> > Time: 4.401\n"
		    "> > Running in threaded mode with 1 groups using 40 file descriptors\n"
		    "> > Each sender will pass 100 messages of 100 bytes\n"
		    "> > Time: 7.689\n",
		    &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_near(figure(&doc.runs[0], "tasks", ""), 400, 0);
	assert_near(figure(&doc.runs[1], "time", ""), 7.689e9, 1);
	import_release(&doc);
	read_string("PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n"
		    "From 10.0.0.1 icmp_seq=1 Destination Host Unreachable\n"
		    "From 10.0.0.1 icmp_seq=2 Packet filtered\n"
		    "^C\n"
		    "--- 10.0.0.2 ping statistics ---\n"
		    "5 packets transmitted, 0 received, +3 errors, 100% packet loss, time 77ms\n"
		    "pipe 4\n",
		    &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_near(figure(&doc.runs[0], "packets.loss", ""), 1, 0);
	assert_near(figure(&doc.runs[0], "errors", ""), 3, 0);
	assert_int_equal(doc.runs[0].nr_series, 0);
	import_release(&doc);
	read_string("[STDOUT] sockperf: [Total Run] RunTime=30.000 sec; Warm up time=400 msec; "
		    "SentMessages=455731; ReceivedMessages=455730\n"
		    "[STDOUT] sockperf: Summary: Latency is 32.867 usec\n"
		    "[STDOUT] sockperf: ---> percentile 99.000 =   37.930\n"
		    "[STDOUT] sockperf: [Total Run] RunTime=30.000 sec; Warm up time=400 msec; "
		    "SentMessages=455731; ReceivedMessages=455730\n"
		    "[STDOUT] sockperf: Summary: Round trip is 84.117 usec\n"
		    "[STDOUT] sockperf: ---> percentile 99.000 =  131.207\n",
		    &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_near(figure(&doc.runs[0], "latency.avg", ""), 32867, 1e-6);
	assert_near(figure(&doc.runs[1], "rtt", "q=0.99"), 131207, 1e-6);
	import_release(&doc);
	read_string(
		"12:38:33 PM IST  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal   %idle\n"
		"12:38:33 PM IST  all    8.20    0.21    1.73    2.92    0.00    0.05    0.00   86.87\n",
		&doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_near(figure(&doc.runs[0], "cpu.usr", ""), 0.082, 1e-12);
	import_release(&doc);
	read_string("DEBUG:root:num_samples=155\n"
		    "DEBUG:root:time_end=613529.729042674\n"
		    "DEBUG:root:correlation_coefficient=1.00\n"
		    "DEBUG:root:throughput=193669.32\n"
		    "DEBUG:root:throughput_units=Mbit/s\n",
		    &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_near(figure(&doc.runs[0], "throughput", ""), 193669.32e6, 1);
}

/* A day has ended in the table. */
static void midnight_is_passed(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	const struct import_series *s;

	(void)state;
	read_string(
		"11:59:50 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
		"11:59:55 PM     all      1.00      0.00      0.00      0.00      0.00     99.00\n"
		"12:00:00 AM     all      2.00      0.00      0.00      0.00      0.00     98.00\n"
		"12:00:05 AM     all      3.00      0.00      0.00      0.00      0.00     97.00\n"
		"Average:        all      2.00      0.00      0.00      0.00      0.00     98.00\n",
		&doc);
	s = import_series_find(&doc.runs[0], "cpu.user", "");
	assert_non_null(s);
	assert_int_equal(s->nr, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(s->points[i].t_ns, (int64_t)i * 5000000000);
		assert_int_equal(s->points[i].length_ns, 5000000000);
	}
}

/* Numbers at the end of what can be held: nothing wraps, nothing is undefined. */
static void huge_numbers_do_no_harm(void **state)
{
	static const char *const texts[] = {
		"Interim result: 999999999999999 10^6bits/s over 999999999999999 seconds ending at "
		"999999999999.999\n",
		"[99999999999.000001] 64 bytes from h: icmp_seq=1 ttl=64 time=1 ms\n"
		"[1.000001] 64 bytes from h: icmp_seq=2 ttl=64 time=999999999999999 s\n",
		"64 bytes from h: icmp_seq=1 ttl=64 time=1 ms\n"
		"64 bytes from h: icmp_seq=999999999 ttl=64 time=1 ms\n"
		"2 packets transmitted, 2 received, 0% packet loss, time 999999999999999ms\n",
		" 999999999999999 MB / 999999999999999 sec = 999999999 Mbps\n"
		" 999999999999999 MB / 999999999999999 sec = 999999999 Mbps\n",
		"Timer Latency\n99999 99:99:99 | IRQ Timer Latency (us) | Thread Timer Latency (us)\n"
		"ALL #999999999999999999 e9 | 1 2 3 | 4 5 6\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(import_release) struct import_doc doc = {};

		read_string(texts[i], &doc);
		assert_true(doc.nr_runs > 0);
		for (size_t k = 0; k < doc.runs[0].nr_figures; k++)
			assert_true(isfinite(doc.runs[0].figures[k].value) &&
				    doc.runs[0].figures[k].n >= -1);
		for (size_t k = 0; k < doc.runs[0].nr_series; k++)
			for (size_t p = 0; p < doc.runs[0].series[k].nr; p++)
				assert_true(doc.runs[0].series[k].points[p].t_ns >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_is_what_the_text_says),
		cmocka_unit_test(mail_does_not_change_the_result),
		cmocka_unit_test(hard_wrapped_text_gives_no_wrong_number),
		cmocka_unit_test(broken_rows_of_every_tool_are_whole),
		cmocka_unit_test(many_tools_in_one_text_are_kept_apart),
		cmocka_unit_test(series_have_their_times),
		cmocka_unit_test(histograms_hold_every_sample),
		cmocka_unit_test(a_missing_row_is_noted),
		cmocka_unit_test(a_redrawn_table_counts_once),
		cmocka_unit_test(nonsense_is_refused_with_a_reason),
		cmocka_unit_test(prose_is_no_result),
		cmocka_unit_test(a_log_is_explained),
		cmocka_unit_test(counters_that_fell_are_no_pair),
		cmocka_unit_test(what_cannot_be_known_is_said),
		cmocka_unit_test(decimal_commas_are_numbers),
		cmocka_unit_test(wrapped_rows_are_whole),
		cmocka_unit_test(wrapped_counters_are_whole),
		cmocka_unit_test(midnight_is_passed),
		cmocka_unit_test(huge_numbers_do_no_harm),
		cmocka_unit_test(variants_of_the_layouts_are_read),
	};

	return cmocka_run_group_tests_name("import_tools", tests, NULL, NULL);
}
