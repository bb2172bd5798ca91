// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"
#include "fixture.h"
#include "import/import.h"

#define MAIL "tests/fixtures/mail/"
#define CAPTURE "tests/fixtures/capture/"

/* Not inlined: struct err is large. */
__attribute__((noinline)) static void parse(const char *text, size_t len, struct import_doc *doc)
{
	struct err e = {};

	if (import_text(text, len, doc, &e) < 0)
		fail_msg("%s", e.msg);
}

__attribute__((noinline)) static void parse_file(const char *path, struct import_doc *doc)
{
	_cleanup_(buf_release) struct buf text = {};

	fixture_read(path, &text);
	parse(text.data, text.len, doc);
}

static const struct iperf3_run *iperf3(const struct import_doc *doc, size_t i)
{
	assert_true(i < doc->nr_runs);
	assert_non_null(import_iperf3(&doc->runs[i]));
	return import_iperf3(&doc->runs[i]);
}

static const struct cyclictest_run *cyclictest(const struct import_doc *doc, size_t i)
{
	assert_true(i < doc->nr_runs);
	assert_non_null(import_cyclictest(&doc->runs[i]));
	return import_cyclictest(&doc->runs[i]);
}

/* Everything but line numbers, so that results of differently dressed texts can be compared. */
static void describe(const struct import_doc *doc, struct buf *out)
{
	for (size_t i = 0; i < doc->nr_runs; i++) {
		const struct import_run *run = &doc->runs[i];
		const struct iperf3_run *p = import_iperf3(run);
		const struct cyclictest_run *c = import_cyclictest(run);

		buf_printf(out, "%s|%s|%s\n", run->tool, run->label, run->heading);
		for (size_t j = 0; p && j < p->nr; j++) {
			const struct iperf3_row *r = &p->rows[j];

			buf_printf(out, "%" PRId64 " %d %d %d %" PRIu64 " %" PRIu64, r->stream,
				   r->kind, r->role, r->omitted, r->start_ns, r->end_ns);
			buf_printf(out, " %.17g %.17g %.17g %" PRId64 " %.17g\n", r->bytes, r->bps,
				   r->bps_half, r->retr, r->cwnd_bytes);
		}
		for (size_t j = 0; c && j < c->nr; j++) {
			const struct cyclictest_thread *t = &c->threads[j];

			buf_printf(out, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
				   t->t, t->tid, t->prio, t->interval_us, t->cycles);
			buf_printf(out, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
				   t->min, t->act, t->avg, t->max);
		}
	}
	buf_printf(out, "skipped %zu\n", doc->nr_skipped);
}

static void a_quoted_mail_holds_both_throughput_tables(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	parse_file(MAIL "throughput.txt", &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_int_equal(doc.nr_skipped, 0);
	assert_string_equal(doc.runs[0].label, "iperf3 -c 192.0.2.110 -t 20");
	assert_string_equal(doc.runs[0].heading, "Variant one, two callbacks");
	assert_string_equal(doc.runs[1].heading, "Variant two, one callback");
	assert_int_equal(doc.runs[0].line, 11);
	assert_int_equal(doc.runs[1].line, 42);
	for (size_t i = 0; i < 2; i++) {
		const struct iperf3_run *run = iperf3(&doc, i);
		int64_t retr = 0;
		double sum = 0;

		assert_int_equal(run->nr, 21);
		for (size_t j = 0; j < 20; j++) {
			assert_int_equal(run->rows[j].kind, IPERF3_INTERVAL);
			assert_int_equal(run->rows[j].stream, 4);
			assert_true(run->rows[j].start_ns == j * 1000000000);
			assert_true(run->rows[j].end_ns == (j + 1) * 1000000000);
			retr += run->rows[j].retr;
			sum += run->rows[j].bps;
		}
		assert_int_equal(retr, i ? 164 : 25);
		assert_near(sum / 20, i ? 899.55e6 : 885.5e6, 1e-3);
		assert_int_equal(run->rows[20].kind, IPERF3_SENDER);
		assert_int_equal(run->rows[20].retr, i ? 164 : 25);
		assert_near(run->rows[20].bps, i ? 900e6 : 885e6, 1e-3);
	}
}

static void units_are_binary_for_bytes_and_decimal_for_bits(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	const struct iperf3_row *row;

	parse_file(MAIL "throughput-a.txt", &doc);
	row = &iperf3(&doc, 0)->rows[0];
	assert_near(row->bytes, 106 * 1048576.0, 0);
	assert_near(row->bps, 888e6, 0);
	assert_near(row->bps_half, 0.5e6, 0);
	assert_near(row->cwnd_bytes, 324 * 1024.0, 0);
	row = &iperf3(&doc, 0)->rows[20];
	assert_near(row->bytes, 2.06 * 1073741824, 1);
	assert_near(row->cwnd_bytes, -1, 0);
}

static void rates_in_bytes_are_read_too(void **state)
{
	static const char text[] = "[  5]   0.00-1.00   sec  10.0 MBytes  10.0 MBytes/sec\n"
				   "[  5]   1.00-2.00   sec  1.00 KBytes  8192 bits/sec\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, strlen(text), &doc);
	assert_near(iperf3(&doc, 0)->rows[0].bps, 80 * 1048576.0, 0);
	assert_near(iperf3(&doc, 0)->rows[1].bps, 8192, 0);
	assert_int_equal(iperf3(&doc, 0)->rows[0].retr, -1);
}

static void six_latency_tables_are_six_runs(void **state)
{
	static const int64_t max[6][2] = { { 33, 26 }, { 22, 28 }, { 83, 48 },
					   { 42, 36 }, { 51, 39 }, { 50, 37 } };
	_cleanup_(import_release) struct import_doc doc = {};

	parse_file(MAIL "latency.txt", &doc);
	assert_int_equal(doc.nr_runs, 6);
	assert_int_equal(doc.nr_skipped, 0);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(cyclictest(&doc, i)->nr, 2);
		assert_int_equal(cyclictest(&doc, i)->threads[0].max, max[i][0]);
		assert_int_equal(cyclictest(&doc, i)->threads[1].max, max[i][1]);
	}
	assert_string_equal(doc.runs[2].heading, "under traffic, old kernel");
	assert_string_equal(doc.runs[2].label, "cyclictest -m -Sp98 -q -D4m -i250 -d0");
	assert_string_equal(doc.runs[4].label,
			    "./traffic.sh & cyclictest -m -Sp98 -q -D4m -i250 -d0");
	assert_string_equal(doc.runs[5].heading, "");
	assert_int_equal(cyclictest(&doc, 4)->threads[1].interval_us, 1500);
	assert_int_equal(cyclictest(&doc, 4)->threads[1].cycles, 159981);
	assert_int_equal(cyclictest(&doc, 3)->threads[1].tid, 1359);
	assert_false(cyclictest(&doc, 0)->ns);
}

/* ---- captured outputs */

static size_t count(const struct iperf3_run *run, enum iperf3_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < run->nr; i++)
		n += run->rows[i].kind == kind;
	return n;
}

static void the_servers_last_short_row_is_no_interval(void **state)
{
	_cleanup_(import_release) struct import_doc client = {}, server = {};
	_cleanup_(iperf3_series_release) struct iperf3_series c = {}, s = {};

	parse_file(CAPTURE "iperf3-reverse-client.txt", &client);
	parse_file(CAPTURE "iperf3-reverse-server.txt", &server);
	assert_int_equal(count(iperf3(&client, 0), IPERF3_TAIL), 0);
	assert_int_equal(count(iperf3(&server, 0), IPERF3_TAIL), 1);
	assert_int_equal(count(iperf3(&server, 0), IPERF3_SENDER), 1);
	assert_int_equal(iperf3_series(iperf3(&client, 0), IPERF3_ROLE_NONE, &c), 0);
	assert_int_equal(iperf3_series(iperf3(&server, 0), IPERF3_ROLE_NONE, &s), 0);
	assert_int_equal(c.nr, 2);
	assert_int_equal(s.nr, 2);
	assert_int_equal(s.tail, 1);
	assert_false(c.has_retr);
	assert_true(s.has_retr);
	assert_int_equal(s.retr[0] + s.retr[1], s.sender_retr);
	assert_near(c.sender_bps, s.sender_bps, 0);
}

static void sum_rows_win_and_omitted_rows_stay_out(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(iperf3_series_release) struct iperf3_series s = {};
	const struct iperf3_run *run;
	double sum = 0;
	size_t k = 0;

	parse_file(CAPTURE "iperf3-parallel-omit-client.txt", &doc);
	assert_int_equal(doc.nr_runs, 1);
	run = iperf3(&doc, 0);
	assert_int_equal(iperf3_series(run, IPERF3_ROLE_NONE, &s), 0);
	assert_int_equal(s.nr, 3);
	assert_int_equal(s.streams, 2);
	assert_int_equal(s.omitted, 1);
	assert_int_equal(s.gaps, 0);
	assert_false(s.added_up);
	for (size_t i = 0; i < run->nr; i++) {
		const struct iperf3_row *row = &run->rows[i];

		if (row->stream != IPERF3_SUM || row->omitted || row->kind != IPERF3_INTERVAL)
			continue;
		assert_near(s.bps[k], row->bps, 0);
		assert_int_equal(s.retr[k], row->retr);
		sum += row->bps;
		k++;
	}
	assert_int_equal(k, 3);
	assert_near(sum / 3 / s.sender_bps, 1, 0.02);
}

static void streams_without_sum_are_added_up_per_interval(void **state)
{
	_cleanup_(buf_release) struct buf text = {}, cut = {};
	_cleanup_(import_release) struct import_doc whole = {}, doc = {};
	_cleanup_(iperf3_series_release) struct iperf3_series a = {}, b = {};

	fixture_read(CAPTURE "iperf3-parallel-omit-client.txt", &text);
	for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1)
		if (strncmp(line, "[SUM]", 5) != 0)
			buf_add(&cut, line, (size_t)(end + 1 - line));
	parse(text.data, text.len, &whole);
	parse(cut.data, cut.len, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(iperf3_series(iperf3(&whole, 0), IPERF3_ROLE_NONE, &a), 0);
	assert_int_equal(iperf3_series(iperf3(&doc, 0), IPERF3_ROLE_NONE, &b), 0);
	assert_true(b.added_up);
	assert_int_equal(b.nr, a.nr);
	for (size_t i = 0; i < a.nr; i++) {
		assert_near(b.bps[i] / a.bps[i], 1, 0.01);
		assert_int_equal(b.retr[i], a.retr[i]);
	}
}

static void streams_that_do_not_match_are_not_added_up(void **state)
{
	static const char text[] =
		"[  5]   0.00-1.00   sec  10.0 MBytes  84.0 Mbits/sec    0   1 MBytes\n"
		"[  7]   0.00-1.00   sec  10.0 MBytes  84.0 Mbits/sec    0   1 MBytes\n"
		"[  5]   1.00-2.00   sec  10.0 MBytes  84.0 Mbits/sec    0   1 MBytes\n";
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(iperf3_series_release) struct iperf3_series s = {};

	parse(text, strlen(text), &doc);
	assert_int_equal(iperf3_series(iperf3(&doc, 0), IPERF3_ROLE_NONE, &s), 0);
	assert_true(s.streams_differ);
	assert_int_equal(s.nr, 0);
}

static void both_directions_are_kept_apart(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(iperf3_series_release) struct iperf3_series tx = {}, rx = {};

	parse_file(CAPTURE "iperf3-bidir-client.txt", &doc);
	assert_false(iperf3_has_role(iperf3(&doc, 0), IPERF3_ROLE_NONE));
	assert_int_equal(iperf3_series(iperf3(&doc, 0), IPERF3_ROLE_TX_C, &tx), 0);
	assert_int_equal(iperf3_series(iperf3(&doc, 0), IPERF3_ROLE_RX_C, &rx), 0);
	assert_int_equal(tx.nr, 2);
	assert_int_equal(rx.nr, 2);
	assert_true(tx.has_retr);
	assert_false(rx.has_retr);
}

static double figure(const struct import_run *run, const char *metric, const char *labels)
{
	const struct import_figure *f = import_figure_find(run, metric, labels);

	if (!f)
		fail_msg("no %s[%s]", metric, labels);
	return f->value;
}

static void a_udp_table_keeps_both_ends_apart(void **state)
{
	_cleanup_(import_release) struct import_doc udp = {}, server = {};
	const struct iperf3_run *run;

	parse_file(CAPTURE "iperf3-udp-client.txt", &udp);
	assert_int_equal(udp.nr_runs, 1);
	assert_int_equal(udp.nr_skipped, 0);
	run = iperf3(&udp, 0);
	assert_true(run->udp);
	assert_int_equal(run->nr, 4);
	assert_int_equal(run->rows[0].packets, 39);
	assert_int_equal(run->rows[0].retr, -1);
	assert_int_equal(run->rows[0].lost, -1);
	assert_near(figure(&udp.runs[0], "throughput", "direction=sent"), 10.1e6, 0);
	assert_near(figure(&udp.runs[0], "throughput", "direction=received"), 10.1e6, 0);
	assert_near(figure(&udp.runs[0], "jitter", "direction=received"), 98e3, 1e-6);
	assert_near(figure(&udp.runs[0], "loss", "direction=received"), 0, 0);
	assert_null(import_figure_find(&udp.runs[0], "loss", "direction=sent"));
	parse_file(CAPTURE "iperf3-udp-server.txt", &server);
	assert_near(figure(&server.runs[0], "datagrams", "direction=received"), 77, 0);
}

static void the_servers_table_inside_the_clients_is_named_not_read(void **state)
{
	_cleanup_(import_release) struct import_doc both = {};

	parse_file(CAPTURE "iperf3-server-output-client.txt", &both);
	assert_int_equal(both.nr_runs, 1);
	assert_true(both.nr_skipped > 0);
	assert_contains(both.skipped[0].reason, "server's table");
}

/* @path with @prefix before every line; without its header lines when @headless. */
static void prefixed(const char *path, const char *prefix, bool headless, struct buf *out)
{
	_cleanup_(buf_release) struct buf text = {};
	char *save = NULL;

	fixture_read(path, &text);
	for (char *s = strtok_r(text.data, "\n", &save); s; s = strtok_r(NULL, "\n", &save))
		if (!headless || !strstr(s, "[ ID]"))
			buf_printf(out, "%s%s\n", prefix, s);
}

static const char *const prefixes[] = {
	"", "> ", "JD> ", "| ", "tit:  ", "[20:41:02] ", "Mon Nov 30 20:41:02 2026 "
};

static void udp_is_known_behind_any_prefix_and_without_header(void **state)
{
	for (size_t i = 0; i < 2 * ARRAY_SIZE(prefixes); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		prefixed(CAPTURE "iperf3-udp-client.txt", prefixes[i / 2], i % 2, &text);
		parse(text.data, text.len, &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_true(iperf3(&doc, 0)->udp);
		/* without a header the sender's rows might be TCP's */
		assert_int_equal(iperf3(&doc, 0)->nr, i % 2 ? 2 : 4);
		assert_int_equal(doc.nr_skipped, i % 2 ? 2 : 0);
		if (i % 2)
			assert_contains(doc.skipped[0].reason,
					"cannot be told from UDP without its header line");
	}
}

static void the_servers_table_is_known_behind_any_prefix(void **state)
{
	_cleanup_(import_release) struct import_doc plain = {};

	parse_file(CAPTURE "iperf3-server-output-client.txt", &plain);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		prefixed(CAPTURE "iperf3-server-output-client.txt", prefixes[i], false, &text);
		parse(text.data, text.len, &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_int_equal(doc.nr_skipped, plain.nr_skipped);
		assert_contains(doc.skipped[0].reason, "the server's table of the same test");
		assert_null(strstr(doc.runs[0].label, "Interval"));
		assert_null(strstr(doc.runs[0].heading, "Interval"));
	}
}

#define SUM_ROW "[SUM]   0.00-1.00   sec   212 MBytes  1.78 Gbits/sec   12\n"
#define COUNT_ROW "[  5]   0.00-1.00   sec   106 MBytes   888 Mbits/sec   12\n"
#define WINDOW_ROW "[  5]   0.00-1.00   sec   106 MBytes   888 Mbits/sec   12   324 KBytes\n"
#define RETR_HEADER "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"

static void a_lone_count_needs_a_header_or_a_window_beside_it(void **state)
{
	static const struct {
		const char *text;
		size_t rows, skipped;
	} cases[] = {
		{ COUNT_ROW, 0, 1 },
		{ SUM_ROW, 0, 1 },
		{ WINDOW_ROW, 1, 0 },
		{ WINDOW_ROW SUM_ROW, 2, 0 },
		{ WINDOW_ROW "a remark\n" SUM_ROW, 2, 0 },
		{ RETR_HEADER SUM_ROW, 1, 0 },
		{ RETR_HEADER WINDOW_ROW "and the same with -u:\n" COUNT_ROW, 1, 1 },
		{ RETR_HEADER "[ ID] Interval  Transfer  Bitrate  Total\n" COUNT_ROW, 1, 0 },
		{ "[  5]   0.00-9.00   sec   106 MBytes   888 Mbits/sec   12   sender\n", 1, 0 },
		{ "Total: [ ID] Interval  Transfer  Bitrate  Retr  Cwnd\n" WINDOW_ROW, 1, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(import_release) struct import_doc doc = {};

		parse(cases[i].text, strlen(cases[i].text), &doc);
		assert_int_equal(doc.nr_runs, cases[i].rows ? 1 : 0);
		assert_int_equal(cases[i].rows ? iperf3(&doc, 0)->nr : 0, cases[i].rows);
		assert_int_equal(doc.nr_skipped, cases[i].skipped);
	}
}

#define ROW_AT(from, to) "[  5]   " from "-" to "   sec   106 MBytes   888 Mbits/sec\n"

static void text_between_rows_is_remembered(void **state)
{
	static const struct {
		const char *between;
		size_t runs, text_line;
	} cases[] = { { "[...] after (new kernel)\n", 1, 3 },
		      { "one\ntwo\n", 1, 3 },
		      { "", 1, 0 },
		      { "\n- - - - - - - - - - - - - - - - - - - - - - - - -\n", 1, 0 },
		      { "[   78.348599] NOHZ: local_softirq_pending 80\n", 1, 0 },
		      { "root@box:~# iperf3 -c 192.0.2.1 -R\n", 2, 0 },
		      { "Connecting to host 192.0.2.1, port 5201\n", 2, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_printf(&text, "%s%s%s", ROW_AT("0.00", "1.00") ROW_AT("1.00", "2.00"),
			   cases[i].between, ROW_AT("2.00", "3.00") ROW_AT("3.00", "4.00"));
		parse(text.data, text.len, &doc);
		assert_int_equal(doc.nr_runs, cases[i].runs);
		assert_int_equal(doc.runs[0].text_line, cases[i].text_line);
		assert_true((doc.runs[0].text_row_line > cases[i].text_line) ==
			    (cases[i].text_line > 0));
		assert_int_equal(doc.runs[doc.nr_runs - 1].text_line, cases[i].text_line);
	}
}

static void the_last_state_of_a_live_display_wins(void **state)
{
	_cleanup_(import_release) struct import_doc live = {}, quiet = {};
	_cleanup_(buf_release) struct buf text = {};

	parse_file(CAPTURE "cyclictest-quiet.txt", &quiet);
	assert_int_equal(quiet.nr_runs, 1);
	assert_int_equal(cyclictest(&quiet, 0)->nr, 2);
	fixture_read(CAPTURE "cyclictest-live.txt", &text);
	parse(text.data, text.len, &live);
	assert_int_equal(live.nr_runs, 1);
	assert_int_equal(cyclictest(&live, 0)->nr, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct cyclictest_thread *t = &cyclictest(&live, 0)->threads[i];
		_cleanup_(buf_release) struct buf last = {};
		const char *row;

		buf_printf(&last, "T:%2zu (%5" PRId64 ") P:98 I:1000 C:%7" PRId64, i, t->tid,
			   t->cycles);
		buf_printf(&last,
			   " Min:%7" PRId64 " Act:%5" PRId64 " Avg:%5" PRId64 " Max:%8" PRId64,
			   t->min, t->act, t->avg, t->max);
		row = strstr(text.data, buf_str(&last));
		assert_non_null(row);
		/* nothing behind it speaks of the thread again */
		assert_null(strstr(row + last.len, i ? "T: 1" : "T: 0"));
		assert_true(t->cycles > 500);
	}
}

static void two_live_displays_in_one_text_are_two_runs(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	static const char text[] =
		"policy: fifo: loadavg: 0.1 0.1 0.1 1/1 1\n\n"
		"T: 0 (   10) P:98 I:1000 C:    100 Min:      1 Act:    2 Avg:    2 Max:       3\n"
		"policy: fifo: loadavg: 0.1 0.1 0.1 1/1 1\n\n"
		"T: 0 (   10) P:98 I:1000 C:    100 Min:      1 Act:    2 Avg:    2 Max:       4\n"
		"policy: fifo: loadavg: 0.1 0.1 0.1 1/1 1\n\n"
		"T: 0 (   20) P:98 I:1000 C:    300 Min:      1 Act:    2 Avg:    2 Max:       5\n";

	parse(text, strlen(text), &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_int_equal(cyclictest(&doc, 0)->threads[0].max, 4);
	assert_int_equal(cyclictest(&doc, 1)->threads[0].max, 5);
}

static void nanoseconds_are_known_from_the_command_line(void **state)
{
	static const char row[] =
		"T: 0 (   10) P:98 I:250 C:    100 Min:   1000 Act: 2000 Avg: 2000 Max:    3000\n";
	static const struct {
		const char *command;
		bool ns;
	} cases[] = {
		{ "# cyclictest -m -N -p98", true }, { "# cyclictest -mNq", true },
		{ "# cyclictest --nsecs -q", true }, { "# cyclictest -m -p98 -n", false },
		{ "# cyclictest -m -D4Nm", false },  { "# cyclictest -h400 --policy=N", false }
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_printf(&text, "%s\n%s", cases[i].command, row);
		parse(text.data, text.len, &doc);
		assert_int_equal(cyclictest(&doc, 0)->ns, cases[i].ns);
	}
}

/* ---- mailers */

static void figures_that_can_hardly_be_us_are_marked(void **state)
{
	static const struct {
		const char *text;
		bool looks_ns;
	} cases[] = {
		{ "T: 0 ( 9) P:98 I:250 C: 99 Min: 1500 Act: 1 Avg: 2000 Max: 33000\n", true },
		{ "T: 0 ( 9) P:98 I:250 C: 99 Min: 250 Act: 1 Avg: 2000 Max: 33000\n", false },
		{ "T: 0 ( 9) P:98 I:250 C: 99 Min: 8 Act: 1 Avg: 1000001 Max: 3300000\n", true },
		{ "T: 0 ( 9) P:98 I:250 C: 99 Min: 8 Act: 1 Avg: 10 Max: 60000001\n", true },
		{ "T: 0 ( 9) P:98 I:250 C: 99 Min: 8 Act: 1 Avg: 10 Max: 60000000\n", false },
		{ "T: 0 ( 9) P:98 I:250 C: 0 Min: 1000000 Act: 0 Avg: 0 Max: 0\n", false },
		{ "# cyclictest -m\nT: 0 ( 9) P:98 I:250 C: 99 Min: 1500 Act: 1 Avg: 2000 Max: 3300\n",
		  false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(import_release) struct import_doc doc = {};

		parse(cases[i].text, strlen(cases[i].text), &doc);
		assert_false(cyclictest(&doc, 0)->ns);
		assert_int_equal(cyclictest(&doc, 0)->looks_ns, cases[i].looks_ns);
	}
}

static void wrapped_rows_are_joined(void **state)
{
	static const char text[] =
		"> T: 0 ( 1288) P:98 I:250 C: 960000 Min:      8 Act:    9 Avg:    8 Max:\n"
		">      33\n"
		"> T: 1 ( 1289) P:98 I:250 C: 959929 Min:      7 Act:   11 Avg:    9\n"
		"> Max:      26\n"
		"> [  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec   18    324\n"
		"> KBytes\n"
		"> [  4]   1.00-2.00   sec   106 MBytes   885 Mbits/sec\n"
		"> 7    361 KBytes\n"
		"> [  4]   2.00-3.00   sec   105 MBytes\n"
		"> 883 Mbits/sec    4    279 KBytes\n"
		"> [  4]   0.00-3.00  sec  2.06 GBytes   885 Mbits/sec   25\n"
		"> sender\n";
	_cleanup_(import_release) struct import_doc doc = {};
	const struct iperf3_run *run;

	parse(text, strlen(text), &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_int_equal(doc.nr_skipped, 0);
	assert_int_equal(cyclictest(&doc, 0)->threads[0].max, 33);
	assert_int_equal(cyclictest(&doc, 0)->threads[1].max, 26);
	run = iperf3(&doc, 1);
	assert_int_equal(run->nr, 4);
	assert_near(run->rows[0].cwnd_bytes, 324 * 1024.0, 0);
	assert_int_equal(run->rows[1].retr, 7);
	assert_near(run->rows[2].bps, 883e6, 0);
	assert_int_equal(run->rows[3].kind, IPERF3_SENDER);
}

static void what_cannot_be_read_is_named(void **state)
{
	static const struct {
		const char *line, *reason;
	} cases[] = {
		{ "T: 0 ( 1288) P:98 I:250 C: 960000 Min:      8 Act:", "ends early" },
		{ "T: 0 ( 1288) P:98 I:250 C: 960000 Max: 9", "not the fields" },
		{ "T: 0 ( 1288) P:98 I:250 C: 960000 Min: 8 Act: 9 Avg: 8 Max: 33us", "not the" },
		{ "T: 0 ( 1288) P:98 I:250 C: 99999999999999 Min: 8 Act: 9 Avg: 8 Max: 33", "not" },
		{ "T: 0 ( 1288) P:98 I:250 C: -5 Min: 8 Act: 9 Avg: 8 Max: 33", "negative" },
		{ "T: 0 ( 1288) P:98 I:250 C: 9 Min: 8 Act: 9 Avg: 8 Max: -2147483648",
		  "negative latency" },
		{ "T: 0 ( 1288) P:98 I:250 C: 9 Min: -8 Act: 9 Avg: 8 Max: 9", "negative latency" },
		{ "# Max Latencies: 00033 -00041", "negative figure" },
		{ "# Max Latencies: 00033 many", "no number" },
		{ "000005", NULL },
		{ "000005 00012", NULL },
		{ "000005 000012 left", NULL },
		{ "[  4]   0.00-1.00   sec   106 MBytes", "no rate" },
		{ "[  4]   0.00-1.00   sec", "no transfer" },
		{ "[  4]   0.00-1.00", "no \"sec\"" },
		{ "[  3]  0.0-10.0 sec  1.10 GBytes", "no rate" },
		{ "[  3] 10.0-1.0 sec  1.10 GBytes   944 Mbits/sec", "before it begins" },
		{ "[  4]   2.00-1.00   sec   106 MBytes   888 Mbits/sec", "before it begins" },
		{ "[  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec  9 apples", "unknown" },
		{ "[  4]   0.00-1.00   sec   106 XBytes   888 Mbits/sec", "no transfer" },
		{ "[  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec 0.05 ms 9/8 (0%)",
		  "more datagrams lost" },
		{ "[  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec 0.05 ms -1/8 (0%)",
		  "went backwards" },
		{ "[  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec 0.05 ms 1/8 (much)",
		  "no percentage" },
		{ "[1]+  Done     ./net_perf.sh", NULL },
		{ "[   78.348599] NOHZ: local_softirq_pending 80", NULL },
		{ "the T: 0 and (nothing) else", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_printf(&text, "one\ntwo\n> %s\n", cases[i].line);
		parse(text.data, text.len, &doc);
		assert_int_equal(doc.nr_runs, 0);
		assert_int_equal(doc.nr_skipped, cases[i].reason ? 1 : 0);
		if (!cases[i].reason)
			continue;
		assert_int_equal(doc.skipped[0].line, 3);
		assert_contains(doc.skipped[0].reason, cases[i].reason);
	}
}

static void a_new_table_begins_where_the_time_goes_back(void **state)
{
	static const char text[] = "[  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec\n"
				   "[  4]   1.00-2.00   sec   106 MBytes   885 Mbits/sec\n"
				   "[  4]   0.00-1.00   sec   105 MBytes   883 Mbits/sec\n"
				   "[  4]   1.00-2.00   sec   105 MBytes   881 Mbits/sec\n"
				   "[  4]   0.00-2.00   sec   210 MBytes   882 Mbits/sec\n"
				   "[  6]   0.00-1.00   sec   104 MBytes   870 Mbits/sec\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, strlen(text), &doc);
	assert_int_equal(doc.nr_runs, 3);
	assert_int_equal(iperf3(&doc, 0)->nr, 2);
	assert_int_equal(iperf3(&doc, 1)->nr, 3);
	assert_int_equal(iperf3(&doc, 1)->rows[2].kind, IPERF3_SUMMARY);
	assert_int_equal(iperf3(&doc, 2)->nr, 1);
}

static void missing_rows_are_noticed(void **state)
{
	static const char text[] = "[  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec\n"
				   "[  4]   1.00-2.00   sec   106 MBytes   885 Mbits/sec\n"
				   "[...]\n"
				   "[  4]   7.00-8.00   sec   105 MBytes   883 Mbits/sec\n";
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(iperf3_series_release) struct iperf3_series s = {};

	parse(text, strlen(text), &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(iperf3_series(iperf3(&doc, 0), IPERF3_ROLE_NONE, &s), 0);
	assert_int_equal(s.nr, 3);
	assert_int_equal(s.gaps, 1);
	assert_near(s.seconds, 3, 1e-9);
}

/* ---- the dress of a text does not matter */

typedef void dress_fn(const char *line, size_t len, size_t nr, struct buf *out);

static void dress_plain(const char *line, size_t len, size_t nr, struct buf *out)
{
	buf_add(out, line, len);
	buf_puts(out, "\n");
}

static void dress_quoted(const char *line, size_t len, size_t nr, struct buf *out)
{
	buf_puts(out, "> ");
	dress_plain(line, len, nr, out);
}

static void dress_quoted_deep(const char *line, size_t len, size_t nr, struct buf *out)
{
	buf_puts(out, ">> > ");
	dress_plain(line, len, nr, out);
}

static void dress_quoted_mixed(const char *line, size_t len, size_t nr, struct buf *out)
{
	static const char *const marks[] = { "", "> ", ">>", "  > > ", ">\t> >" };

	buf_puts(out, marks[nr % ARRAY_SIZE(marks)]);
	dress_plain(line, len, nr, out);
}

static void dress_crlf(const char *line, size_t len, size_t nr, struct buf *out)
{
	buf_add(out, line, len);
	buf_puts(out, nr % 2 ? "\r\n" : "\r\r\n");
}

static void dress_cr(const char *line, size_t len, size_t nr, struct buf *out)
{
	buf_add(out, line, len);
	buf_puts(out, "\r");
}

static void dress_indented(const char *line, size_t len, size_t nr, struct buf *out)
{
	buf_puts(out, nr % 2 ? "    " : "\t");
	buf_add(out, line, len);
	buf_puts(out, " \t \n");
}

/* Sequences between characters, never inside one or inside another sequence. */
static void dress_coloured(const char *line, size_t len, size_t nr, struct buf *out)
{
	bool inside = false;

	buf_puts(out, "\x1b[1;32m");
	for (size_t i = 0; i < len; i++) {
		if (i % 7 == 3 && !inside && (line[i] & 0xc0) != 0x80)
			buf_puts(out, nr % 2 ? "\x1b[0m\x1b[K" : "^[[0m");
		if (line[i] == '\x1b' || line[i] == '^')
			inside = true;
		else if (isalpha((unsigned char)line[i]))
			inside = false;
		buf_putc(out, line[i]);
	}
	buf_puts(out, "\x1b[0m\n");
}

static void dress_blanks(const char *line, size_t len, size_t nr, struct buf *out)
{
	static const char *const blanks[] = { "\t",   "\xc2\xa0",     " \xc2\xa0 ",
					      "\xa0", "\xe2\x80\x89", "\xe2\x80\x8b " };

	for (size_t i = 0; i < len; i++) {
		if (line[i] == ' ')
			buf_puts(out, blanks[(nr + i) % ARRAY_SIZE(blanks)]);
		else
			buf_putc(out, line[i]);
	}
	buf_puts(out, "\n");
}

static void put_on(const struct buf *in, dress_fn *dress, struct buf *out)
{
	size_t nr = 0;

	for (const char *line = in->data, *end; (end = strchr(line, '\n')); line = end + 1)
		dress(line, (size_t)(end - line), nr++, out);
}

static void the_dress_of_a_text_does_not_matter(void **state)
{
	static const char *const files[] = { MAIL "throughput.txt",
					     MAIL "latency.txt",
					     CAPTURE "iperf3-parallel-omit-client.txt",
					     CAPTURE "iperf3-parallel-omit-server.txt",
					     CAPTURE "iperf3-bidir-client.txt",
					     CAPTURE "cyclictest-quiet.txt",
					     CAPTURE "cyclictest-live.txt" };
	static dress_fn *const dresses[] = { dress_plain,  dress_quoted,   dress_quoted_deep,
					     dress_crlf,   dress_cr,	   dress_quoted_mixed,
					     dress_blanks, dress_indented, dress_coloured };

	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		_cleanup_(import_release) struct import_doc plain = {};
		_cleanup_(buf_release) struct buf text = {}, want = {};

		fixture_read(files[f], &text);
		parse(text.data, text.len, &plain);
		assert_true(plain.nr_runs > 0);
		describe(&plain, &want);
		for (size_t i = 0; i < ARRAY_SIZE(dresses); i++) {
			/* two layers: every pair of dresses */
			for (size_t j = 0; j < ARRAY_SIZE(dresses); j++) {
				_cleanup_(import_release) struct import_doc doc = {};
				_cleanup_(buf_release) struct buf once = {}, twice = {}, got = {};

				if (dresses[i] == dress_cr)
					continue; /* leaves no lines for the second */
				put_on(&text, dresses[i], &once);
				put_on(&once, dresses[j], &twice);
				parse(twice.data, twice.len, &doc);
				describe(&doc, &got);
				if (strcmp(buf_str(&got), buf_str(&want)) != 0)
					fail_msg("%s in dresses %zu, %zu:\n%s\nwanted:\n%s",
						 files[f], i, j, buf_str(&got), buf_str(&want));
			}
		}
	}
}

static void a_prompt_before_a_row_does_not_hide_it(void **state)
{
	static const char text[] =
		"root@box:~# T: 0 ( 1288) P:98 I:250 C: 960000 Min: 8 Act: 9 Avg: 8 Max: 33\n"
		"Mon Nov 30 19:00:00 2026 [  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, strlen(text), &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_int_equal(doc.nr_skipped, 0);
}

/* ---- hostile input */

/* Damage a copy of @text in a few places. */
static void damage(struct buf *text, uint64_t *seed)
{
	static const char bytes[] = "\n\r\x1b[]()>:-. 0159TCMax\xc2\xa0\0";

	for (int k = 0; k < 12; k++) {
		size_t at = rng_below(seed, text->len);
		size_t n = rng_below(seed, 20);

		text->data[at] = bytes[rng_below(seed, sizeof(bytes))];
		if (rng_below(seed, 4) == 0 && at + n < text->len) {
			memmove(text->data + at, text->data + at + n, text->len - at - n);
			text->len -= n;
		}
	}
}

static void damaged_texts_never_break_the_rules(void **state)
{
	static const char *const files[] = { MAIL "throughput.txt", MAIL "latency.txt",
					     CAPTURE "iperf3-parallel-omit-server.txt",
					     CAPTURE "cyclictest-live.txt" };
	uint64_t seed = 1;

	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		_cleanup_(buf_release) struct buf text = {};

		fixture_read(files[f], &text);
		for (int k = 0; k < 300; k++) {
			_cleanup_(import_release) struct import_doc doc = {};
			_cleanup_(buf_release) struct buf copy = {};
			size_t last = 0;

			buf_add(&copy, text.data, text.len);
			damage(&copy, &seed);
			parse(copy.data, copy.len, &doc);
			for (size_t i = 0; i < doc.nr_runs; i++) {
				const struct import_run *run = &doc.runs[i];
				const struct cyclictest_run *c = import_cyclictest(run);

				assert_true(run->line >= last && run->line <= run->last_line);
				last = run->line;
				assert_true(import_iperf3(run) || (c && c->nr));
				for (size_t j = 1; c && j < c->nr; j++)
					assert_true(c->threads[j - 1].t < c->threads[j].t);
			}
		}
	}
}

static void repeat(struct buf *out, const char *s, size_t times)
{
	while (times--)
		buf_puts(out, s);
}

static void megabytes_of_near_misses_are_read_once(void **state)
{
	static const char *const near[] = {
		"[",
		"[1]",
		"T:",
		"T: 0 (",
		">",
		"\x1b[",
		"\x1b]",
		"\r",
		"\xc2",
		"^[[",
		" ",
		"[1]0.00-1.00sec1Bytes1bits/sec\n",
		"T: 0 ( 1) P:98 I:250 C: 1 Min: 8 Act: 9 Avg: 8 Max:\n",
		"T: 0 ( 1) P:98 I:250 C: 1 Min: 8 Act: 9 Avg: 8 Max: 9\n",
		"cyclictest",
		"iperf3 ",
		"iperf3 -c x\n",
		"1-2-3",
		"[1]1-1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(near); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		repeat(&text, near[i], 2000000 / strlen(near[i]));
		parse(text.data, text.len, &doc);
		assert_true(doc.nr_runs + doc.nr_skipped <= text.len / 20);
	}
}

static void many_threads_and_streams_are_no_trouble(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(iperf3_series_release) struct iperf3_series s = {};
	_cleanup_(buf_release) struct buf text = {};

	for (int i = 0; i < 50000; i++)
		buf_printf(&text, "T:%d (%d) P:98 I:250 C: 1 Min: 8 Act: 9 Avg: 8 Max: 9\n", i, i);
	for (int i = 0; i < 50000; i++)
		buf_printf(&text, "[%d] 0.00-1.00 sec 1.00 MBytes 8.00 Mbits/sec\n", i);
	parse(text.data, text.len, &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_int_equal(cyclictest(&doc, 0)->nr, 50000);
	assert_int_equal(iperf3_series(iperf3(&doc, 1), IPERF3_ROLE_NONE, &s), 0);
	assert_int_equal(s.streams, 50000);
	assert_int_equal(s.nr, 1);
	assert_near(s.bps[0], 50000 * 8e6, 1);
}

static void nothing_is_found_in_nothing(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	parse(NULL, 0, &doc);
	assert_int_equal(doc.nr_runs, 0);
	parse("\0\0\n\0", 4, &doc);
	assert_int_equal(doc.nr_runs, 0);
	assert_int_equal(doc.nr_skipped, 0);
}

/* ---- FILE#N */

static void a_pick_is_split_from_the_file(void **state)
{
	static const struct {
		const char *arg, *path;
		unsigned int nr;
	} cases[] = { { "mail.txt", "mail.txt", 0 },
		      { "mail.txt#3", "mail.txt", 3 },
		      { "a#b", "a#b", 0 },
		      { "a#1#2", "a#1", 2 },
		      { "a#", "a#", 0 },
		      { "a#2b", "a#2b", 0 },
		      { "dir#1/mail", "dir#1/mail", 0 },
		      { "x#4294967295", "x", 4294967295U } };
	static const char *const refused[] = { "a#0", "a#4294967296", "#1", "",
					       "a#99999999999999999999" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(freep) char *path = NULL;
		struct err e = {};
		unsigned int nr = 7;

		assert_int_equal(import_pick(cases[i].arg, &path, &nr, &e), 0);
		assert_string_equal(path, cases[i].path);
		assert_int_equal(nr, cases[i].nr);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		char *path = NULL;
		struct err e = {};
		unsigned int nr = 7;

		assert_int_equal(import_pick(refused[i], &path, &nr, &e), -EINVAL);
		assert_null(path);
		assert_int_equal(nr, 7);
		assert_true(e.len > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quoted_mail_holds_both_throughput_tables),
		cmocka_unit_test(units_are_binary_for_bytes_and_decimal_for_bits),
		cmocka_unit_test(rates_in_bytes_are_read_too),
		cmocka_unit_test(six_latency_tables_are_six_runs),
		cmocka_unit_test(the_servers_last_short_row_is_no_interval),
		cmocka_unit_test(sum_rows_win_and_omitted_rows_stay_out),
		cmocka_unit_test(streams_without_sum_are_added_up_per_interval),
		cmocka_unit_test(streams_that_do_not_match_are_not_added_up),
		cmocka_unit_test(both_directions_are_kept_apart),
		cmocka_unit_test(a_udp_table_keeps_both_ends_apart),
		cmocka_unit_test(the_servers_table_inside_the_clients_is_named_not_read),
		cmocka_unit_test(udp_is_known_behind_any_prefix_and_without_header),
		cmocka_unit_test(the_servers_table_is_known_behind_any_prefix),
		cmocka_unit_test(a_lone_count_needs_a_header_or_a_window_beside_it),
		cmocka_unit_test(text_between_rows_is_remembered),
		cmocka_unit_test(the_last_state_of_a_live_display_wins),
		cmocka_unit_test(two_live_displays_in_one_text_are_two_runs),
		cmocka_unit_test(nanoseconds_are_known_from_the_command_line),
		cmocka_unit_test(figures_that_can_hardly_be_us_are_marked),
		cmocka_unit_test(wrapped_rows_are_joined),
		cmocka_unit_test(what_cannot_be_read_is_named),
		cmocka_unit_test(a_new_table_begins_where_the_time_goes_back),
		cmocka_unit_test(missing_rows_are_noticed),
		cmocka_unit_test(the_dress_of_a_text_does_not_matter),
		cmocka_unit_test(a_prompt_before_a_row_does_not_hide_it),
		cmocka_unit_test(damaged_texts_never_break_the_rules),
		cmocka_unit_test(megabytes_of_near_misses_are_read_once),
		cmocka_unit_test(many_threads_and_streams_are_no_trouble),
		cmocka_unit_test(nothing_is_found_in_nothing),
		cmocka_unit_test(a_pick_is_split_from_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
