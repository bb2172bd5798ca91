// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <stdbool.h>

#include "fixture.h"
#include "import/import.h"

/* Layouts of versions that are not installed here, and rows that do not fit one another. */

__attribute__((noinline)) static void parse(const char *text, struct import_doc *doc)
{
	struct err e = {};

	if (import_text(text, strlen(text), doc, &e) < 0)
		fail_msg("%s", e.msg);
}

static double figure(const struct import_run *run, const char *metric, const char *labels)
{
	const struct import_figure *f = import_figure_find(run, metric, labels);

	if (!f)
		fail_msg("no %s[%s]", metric, labels);
	return f->value;
}

static bool has_note(const struct import_run *run, const char *words)
{
	for (size_t i = 0; i < run->nr_notes; i++)
		if (strstr(run->notes[i].text, words))
			return true;
	return false;
}

static void the_first_iperf3_puts_sent_and_received_above_its_sums(void **state)
{
	static const char text[] =
		"[ ID] Interval           Transfer     Bandwidth       Retransmits\n"
		"[  4]   0.00-1.00   sec   112 MBytes   941 Mbits/sec    0\n"
		"[  4]   1.00-2.00   sec   112 MBytes   940 Mbits/sec    1\n"
		"[ ID] Interval           Transfer     Bandwidth       Retransmits\n"
		"      Sent\n"
		"[  4]   0.00-2.00   sec   224 MBytes   941 Mbits/sec    1\n"
		"      Received\n"
		"[  4]   0.00-2.00   sec   224 MBytes   940 Mbits/sec\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_near(figure(&doc.runs[0], "throughput", "direction=sent"), 941e6, 0);
	assert_near(figure(&doc.runs[0], "throughput", "direction=received"), 940e6, 0);
	assert_near(figure(&doc.runs[0], "retransmits", "direction=sent"), 1, 0);
}

static void one_udp_summary_holds_both_ends(void **state)
{
	static const char text[] =
		"[ ID] Interval           Transfer     Bandwidth       Total Datagrams\n"
		"[  4]   0.00-1.00   sec  1.13 MBytes  9.49 Mbits/sec  145\n"
		"[  4]   1.00-2.00   sec  1.25 MBytes  10.5 Mbits/sec  160\n"
		"- - - - - - - - - - - - - - - - - - - - - - - - -\n"
		"[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n"
		"[  4]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec  0.042 ms  12/305 (3.9%)\n"
		"[  4] Sent 305 datagrams\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	assert_int_equal(doc.nr_skipped, 0);
	assert_near(figure(&doc.runs[0], "throughput", "direction=sent"), 10e6, 0);
	assert_near(figure(&doc.runs[0], "loss", "direction=received"), 12. / 305, 1e-12);
	assert_null(import_figure_find(&doc.runs[0], "loss", "direction=sent"));
	assert_true(has_note(&doc.runs[0], "the receiver's losses"));
}

static void a_server_does_not_know_what_was_sent(void **state)
{
	static const char text[] =
		"Accepted connection from 192.0.2.1, port 44444\n"
		"[ ID] Interval           Transfer     Bandwidth\n"
		"[  5]   0.00-1.00   sec   112 MBytes   941 Mbits/sec\n"
		"[  5]   1.00-2.00   sec   112 MBytes   940 Mbits/sec\n"
		"[  5]   2.00-2.04   sec  4.51 MBytes   935 Mbits/sec\n"
		"[  5]   0.00-2.04   sec  0.00 Bytes  0.00 bits/sec                  sender\n"
		"[  5]   0.00-2.04   sec   229 MBytes   940 Mbits/sec                receiver\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	assert_null(import_figure_find(&doc.runs[0], "throughput", "direction=sent"));
	assert_near(figure(&doc.runs[0], "throughput", "direction=received"), 940e6, 0);
	assert_true(has_note(&doc.runs[0], "a summary of 0 bytes"));
	assert_true(has_note(&doc.runs[0], "1 row(s) are shorter"));
}

static void odd_rows_are_reported_and_weighed(void **state)
{
	static const char text[] = "[  5]   0.00-1.00   sec   100 MBytes   839 Mbits/sec\n"
				   "[  5]   1.00-2.00   sec   100 MBytes   839 Mbits/sec\n"
				   "[  5]   1.00-2.00   sec   100 MBytes   839 Mbits/sec\n"
				   "[  5]   2.00-3.00   sec   100 MBytes   839 Mbits/sec\n"
				   "[  5]   3.00-6.00   sec   600 MBytes  1678 Mbits/sec\n"
				   "[  5]   8.00-9.00   sec   100 MBytes   839 Mbits/sec\n";
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(iperf3_series_release) struct iperf3_series s = {};

	parse(text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_true(has_note(&doc.runs[0], "1 row(s) stand there twice"));
	assert_true(has_note(&doc.runs[0], "1 row(s) are longer"));
	assert_true(has_note(&doc.runs[0], "the time jumps"));
	/* (4 * 839 + 3 * 1678) / 7 */
	assert_near(figure(&doc.runs[0], "throughput.rows", ""), 1198.571428e6, 1e3);
	assert_int_equal(iperf3_series(import_iperf3(&doc.runs[0]), IPERF3_ROLE_NONE, &s), 0);
	assert_int_equal(s.nr, 4);
	assert_int_equal(s.odd, 1);
}

static void prefixes_of_1000_and_1024_are_not_mixed_up_silently(void **state)
{
	static const struct {
		const char *row;
		bool wrong;
	} cases[] = {
		{ "[  5]   0.00-10.00  sec  1.00 GBytes   859 Mbits/sec\n", false },
		{ "[  5]   0.00-10.00  sec  1.00 GBytes   800 Mbits/sec\n", true },
		{ "[  5]   0.00-10.00  sec  1.00 GBytes   102 MBytes/sec\n", false },
		{ "[  5]   0.00-10.00  sec  1.00 GBytes   107 MBytes/sec\n", true },
		{ "[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec\n", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(import_release) struct import_doc doc = {};

		parse(cases[i].row, &doc);
		assert_int_equal(has_note(&doc.runs[0], "a power of 1024/1000"), cases[i].wrong);
	}
}

static void totals_that_are_not_those_of_the_rows_are_reported(void **state)
{
	static const char text[] =
		"[  5]   0.00-1.00   sec   100 MBytes   839 Mbits/sec    1   1.00 MBytes\n"
		"[  5]   1.00-2.00   sec   100 MBytes   839 Mbits/sec    2   1.00 MBytes\n"
		"[  5]   0.00-2.00   sec   250 MBytes  1049 Mbits/sec    9             sender\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	assert_true(has_note(&doc.runs[0], "the rows add up to -20.0 %"));
	assert_true(has_note(&doc.runs[0], "the rows count 3 retransmits, the summary 9"));
}

/* ---- iperf 2 */

static void iperf_2_0_prints_one_decimal(void **state)
{
	static const char text[] = "Client connecting to 192.0.2.1, TCP port 5001\n"
				   "[ ID] Interval       Transfer     Bandwidth\n"
				   "[  4]  0.0- 5.0 sec  56.0 MBytes  94.0 Mbits/sec\n"
				   "[  5]  0.0- 5.0 sec  56.2 MBytes  94.3 Mbits/sec\n"
				   "[SUM]  0.0- 5.0 sec   112 MBytes   188 Mbits/sec\n"
				   "[  4]  5.0-10.0 sec  56.0 MBytes  94.0 Mbits/sec\n"
				   "[  5]  5.0-10.0 sec  56.2 MBytes  94.3 Mbits/sec\n"
				   "[SUM]  5.0-10.0 sec   112 MBytes   188 Mbits/sec\n"
				   "[  4]  0.0-10.0 sec   112 MBytes  93.9 Mbits/sec\n"
				   "[  5]  0.0-10.0 sec   113 MBytes  94.2 Mbits/sec\n"
				   "[SUM]  0.0-10.0 sec   225 MBytes   188 Mbits/sec\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_string_equal(doc.runs[0].tool, "iperf2");
	assert_int_equal(doc.runs[0].rows, 2);
	assert_near(figure(&doc.runs[0], "streams", ""), 2, 0);
	assert_near(figure(&doc.runs[0], "throughput", ""), 188e6, 0);
	assert_near(figure(&doc.runs[0], "throughput", "stream=4"), 93.9e6, 0);
}

static void the_servers_report_is_what_was_received(void **state)
{
	static const char text[] =
		"Client connecting to 192.0.2.1, UDP port 5001\n"
		"[  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec\n"
		"[  3] Sent 893 datagrams\n"
		"[  3] Server Report:\n"
		"[  3]  0.0-10.0 sec  1.25 MBytes  1.04 Mbits/sec   0.004 ms    5/  893 (0.56%)\n"
		"[  3]  0.0-10.0 sec  1 datagrams received out-of-order\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(doc.nr_skipped, 0);
	assert_near(figure(&doc.runs[0], "throughput", ""), 1.05e6, 0);
	assert_near(figure(&doc.runs[0], "throughput", "direction=received"), 1.04e6, 0);
	assert_near(figure(&doc.runs[0], "lost", "direction=received"), 5, 0);
}

static void rows_alone_behind_text_are_two_tests(void **state)
{
	static const char text[] = "$ iperf -c 192.0.2.1 -t 60\n"
				   "[  3]  0.0-60.0 sec  2.10 GBytes   301 Mbits/sec\n"
				   "after:\n"
				   "[  3]  0.0-10.0 sec  1.10 GBytes   944 Mbits/sec\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	assert_int_equal(doc.nr_runs, 2);
	assert_near(figure(&doc.runs[0], "throughput", ""), 301e6, 0);
	assert_near(figure(&doc.runs[1], "throughput", ""), 944e6, 0);
	assert_string_equal(doc.runs[1].heading, "after");
}

static void bounces_are_round_trips(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};
	const struct import_hist *h;
	uint64_t total = 0;

	fixture_read("tests/fixtures/capture/iperf2-bounceback-client.txt", &text);
	parse(buf_str(&text), &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(import_figure_find(&doc.runs[0], "rtt.avg", "")->n, 20);
	assert_true(figure(&doc.runs[0], "rtt.min", "") <= figure(&doc.runs[0], "rtt.avg", ""));
	assert_true(figure(&doc.runs[0], "rtt.avg", "") <= figure(&doc.runs[0], "rtt.max", ""));
	h = import_hist_find(&doc.runs[0], "rtt", "");
	assert_non_null(h);
	assert_near(h->width, 100e3, 0);
	for (size_t i = 0; i < h->nr; i++)
		total += h->bars[i].count;
	assert_int_equal(total, 20);
}

/* ---- cyclictest */

static void histograms_of_both_ages_are_the_same(void **state)
{
	static const char *const texts[] = {
		/* up to 2.6: rows of zeros, a total */
		"# Histogram\n000004 000000\t000000\n000005 000123\t000099\n000006 1000123\t000001\n"
		"# Total: 001000246 000000100\n# Min Latencies: 00005 00005\n"
		"# Avg Latencies: 00005 00005\n# Max Latencies: 00033 00006\n"
		"# Histogram Overflows: 00002 00000\n# Histogram Overflow at cycle number:\n"
		"# Thread 0: 00133 00247 # 00003 others\n# Thread 1:\n",
		/* since 2.7 */
		"# Histogram\n000005 000123\t000099\n000006 1000123\t000001\n"
		"# Min Latencies: 00005 00005\n# Avg Latencies: 00005 00005\n"
		"# Max Latencies: 00033 00006\n# Histogram Overflows: 00002 00000\n"
		"# Histogram Overflow at cycle number:\n# Thread 0: 00133 00247\n# Thread 1:\n",
		/* -H */
		"# Histogram\n000005 000123\t000099\t000222\n000006 1000123\t000001\t1000124\n"
		"# Min Latencies: 00005 00005\n# Avg Latencies: 00005 00005\n"
		"# Max Latencies: 00033 00006 00033\n# Histogram Overflows: 00002 00000 00002\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		const struct import_hist *h;

		parse(texts[i], &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_int_equal(doc.nr_skipped, 0);
		assert_int_equal(doc.runs[0].nr_hists, 2);
		h = import_hist_find(&doc.runs[0], "latency", "thread=0");
		assert_int_equal(h->nr, 2);
		assert_near(h->bars[1].v, 6000, 0);
		assert_int_equal(h->bars[1].count, 1000123);
		assert_int_equal(h->overflow, 2);
		assert_near(figure(&doc.runs[0], "cycles", "thread=0"), 1000248, 0);
		assert_near(figure(&doc.runs[0], "latency.max", ""), 33000, 0);
		assert_int_equal(import_cyclictest(&doc.runs[0])->nr, 2);
	}
}

static void a_thread_without_samples_has_no_latencies(void **state)
{
	static const char text[] =
		"T: 0 ( 1288) P:98 I:250 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n"
		"T: 1 ( 1289) P:98 I:250 C: 959929 Min:      7 Act:   11 Avg:    9 Max:      26\n";
	_cleanup_(import_release) struct import_doc doc = {};

	parse(text, &doc);
	assert_null(import_figure_find(&doc.runs[0], "latency.min", "thread=0"));
	assert_true(has_note(&doc.runs[0], "thread 0: no samples"));
	assert_near(figure(&doc.runs[0], "latency.min", ""), 7000, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_iperf3_puts_sent_and_received_above_its_sums),
		cmocka_unit_test(one_udp_summary_holds_both_ends),
		cmocka_unit_test(a_server_does_not_know_what_was_sent),
		cmocka_unit_test(odd_rows_are_reported_and_weighed),
		cmocka_unit_test(prefixes_of_1000_and_1024_are_not_mixed_up_silently),
		cmocka_unit_test(totals_that_are_not_those_of_the_rows_are_reported),
		cmocka_unit_test(iperf_2_0_prints_one_decimal),
		cmocka_unit_test(the_servers_report_is_what_was_received),
		cmocka_unit_test(rows_alone_behind_text_are_two_tests),
		cmocka_unit_test(bounces_are_round_trips),
		cmocka_unit_test(histograms_of_both_ages_are_the_same),
		cmocka_unit_test(a_thread_without_samples_has_no_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
