// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <string.h>

#include "import/import.h"

/* Results as people paste them: in parts, without headings, broken by their terminal. */

__attribute__((noinline)) static void parse(const char *text, struct import_doc *ret)
{
	struct err e = {};

	*ret = (struct import_doc){};
	if (import_text(text, strlen(text), ret, &e) < 0)
		fail_msg("%s", e.msg);
}

static double figure(const struct import_run *run, const char *metric)
{
	const struct import_figure *f = import_figure_find(run, metric, "");

	if (!f)
		fail_msg("%s has no %s", run->tool, metric);
	return f->value;
}

static void a_windows_ping_is_a_ping(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	parse("PING 10.0.0.1 (10.0.0.1): 56 data bytes\n"
	      "64 bytes from 10.0.0.1: icmp_seq=0 ttl=64 time=0.044 ms\n"
	      "Pinging 192.168.1.1 with 32 bytes of data:\n"
	      "Reply from 192.168.1.1: bytes=32 time=1ms TTL=64\n"
	      "Reply from 192.168.1.1: bytes=32 time<1ms TTL=64\n"
	      "Request timed out.\n"
	      "Reply from 192.168.1.1: bytes=32 time=3ms TTL=64\n"
	      "\nPing statistics for 192.168.1.1:\n"
	      "    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),\n"
	      "Approximate round trip times in milli-seconds:\n"
	      "    Minimum = 0ms, Maximum = 3ms, Average = 1ms\n"
	      "and in Madrid:\n"
	      "Respuesta desde 10.0.0.7: bytes=32 tiempo=14ms TTL=57\n"
	      "    M\xc3\xadnimo = 12ms, M\xc3\xa1ximo = 31ms, Media = 17ms\n",
	      &doc);
	assert_int_equal(doc.nr_skipped, 0);
	assert_int_equal(doc.nr_runs, 3);
	assert_near(figure(&doc.runs[1], "packets.loss"), 0.25, 1e-12);
	assert_near(figure(&doc.runs[1], "packets.received"), 3, 0);
	assert_near(figure(&doc.runs[1], "rtt.min"), 0, 0);
	assert_near(figure(&doc.runs[1], "rtt.avg"), 1e6, 0);
	assert_near(figure(&doc.runs[1], "rtt.max"), 3e6, 0);
	assert_int_equal(doc.runs[1].series[0].nr, 3);
	assert_near(doc.runs[1].series[0].points[1].v, 0.5e6, 0);
	assert_near(doc.runs[1].series[0].points[1].half, 0.5e6, 0);
	assert_int_equal(doc.runs[1].nr_notes, 1);
	assert_non_null(strstr(doc.runs[1].notes[0].text, "below a millisecond"));
	assert_near(figure(&doc.runs[2], "rtt.max"), 31e6, 0);
}

static void a_time_alone_is_hackbenchs_when_it_is_named(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {}, other = {};

	parse("Before:\n$ hackbench -p -l 1000\nTime: 12.345\nAfter:\n$ hackbench -p -l 1000\n"
	      "Time: 11.102\nhackbench with RT:\nTime: 13.001\nTime: 13.020\n",
	      &doc);
	assert_int_equal(doc.nr_runs, 4);
	assert_near(figure(&doc.runs[0], "time"), 12.345e9, 1);
	assert_near(figure(&doc.runs[3], "time"), 13.020e9, 1);
	assert_string_equal(doc.runs[0].heading, "Before");
	assert_string_equal(doc.runs[0].label, "hackbench -p -l 1000");

	parse("$ make\nTime: 12.345\n", &other);
	assert_int_equal(other.nr_runs, 0);
}

static void netperfs_numbers_alone_are_those_of_its_command(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	parse("$ netperf -H 10.0.0.2 -t TCP_STREAM -P 0 -v 0\n9413.55\n"
	      "$ netperf -H 10.0.0.2 -t TCP_RR -P 0\n"
	      "16384  87380  1        1       10.00    23456.78\n16384  87380 \n"
	      "$ netperf -H 10.0.0.2 -P 0 -f g -c -C\n"
	      " 87380  16384  16384    10.00         9.41   1.25     3.50     0.522   1.462  \n",
	      &doc);
	assert_int_equal(doc.nr_skipped, 0);
	assert_int_equal(doc.nr_runs, 3);
	assert_near(figure(&doc.runs[0], "throughput"), 9413.55e6, 1);
	assert_near(figure(&doc.runs[1], "transactions"), 23456.78, 1e-6);
	assert_near(figure(&doc.runs[2], "throughput"), 9.41e9, 1);
	assert_near(figure(&doc.runs[2], "cpu.local"), 0.0125, 1e-9);
}

#define CPUS 64

/* A table of @CPUS in lines of @columns: at blanks, or wherever the terminal ends. */
static void put_table(struct buf *out, unsigned int round, size_t columns, bool hard)
{
	_cleanup_(buf_release) struct buf text = {};

	for (int i = 0; i < CPUS; i++)
		buf_printf(&text, "%sCPU%-8d", i ? "" : "           ", i);
	buf_putc(&text, '\n');
	for (int irq = 24; irq < 27; irq++) {
		buf_printf(&text, "%4d: ", irq);
		for (int i = 0; i < CPUS; i++)
			buf_printf(&text, "%10u ", 100000U * irq + round * (i + 1));
		buf_printf(&text, " PCI-MSI %d-edge      eth0-TxRx-%d\n", 1048576 + irq, irq - 24);
	}
	buf_printf(&text, " ERR:          %u\n", round);
	for (const char *p = buf_str(&text); *p;) {
		size_t len = strcspn(p, "\n"), n = len;

		if (len > columns)
			for (n = columns; !hard && p[n] != ' ';)
				n--;
		buf_add(out, p, n);
		buf_putc(out, '\n');
		p += n;
		p += n < len ? 0 : 1;
	}
}

static void counters_of_many_cpus_wrap(void **state)
{
	static const size_t columns[] = { 8000, 400, 100, 74, 60 };
	double want = 3.0 * 10 * CPUS * (CPUS + 1) / 2 + 10;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_puts(&text, "$ cat /proc/interrupts; sleep 10; cat /proc/interrupts\n");
		put_table(&text, 1, columns[i], false);
		put_table(&text, 11, columns[i], false);
		parse(buf_str(&text), &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_int_equal(doc.nr_skipped, 0);
		assert_int_equal(doc.runs[0].nr_notes, 0);
		assert_near(figure(&doc.runs[0], "interrupts"), want, 0);
		assert_near(figure(&doc.runs[0], "interrupts.rate"), want / 10, 1e-6);
		assert_near(import_figure_find(&doc.runs[0], "interrupts", "cpu=63,irq=26")->value,
			    640, 0);
	}
}

/* Which number is whose cannot be known where a terminal has cut numbers in two. */
static void counters_cut_in_two_are_refused(void **state)
{
	static const size_t columns[] = { 80, 100, 133 };

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};
		size_t said;

		put_table(&text, 1, columns[i], true);
		parse(buf_str(&text), &doc);
		said = doc.nr_remarks + doc.nr_skipped;
		for (size_t k = 0; k < doc.nr_runs; k++) {
			said += doc.runs[k].nr_notes;
			assert_null(import_figure_find(&doc.runs[k], "interrupts.total", "irq=24"));
		}
		assert_true(said > 0);
	}
}

static void both_sides_of_a_diff_are_two_tests(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};

	parse("-[  5]   0.00-10.00  sec  10.9 GBytes  9.41 Gbits/sec   25             sender\n"
	      "+[  5]   0.00-10.00  sec  11.2 GBytes  9.61 Gbits/sec  164             sender\n"
	      "\n"
	      "-T: 0 (11147) P:98 I:250 C: 960000 Min:      7 Act:   12 Avg:   11 Max:      69\n"
	      "+T: 0 (12147) P:98 I:250 C: 960000 Min:      6 Act:   10 Avg:    9 Max:      31\n"
	      "-T: 1 (11148) P:98 I:250 C: 960000 Min:      7 Act:   12 Avg:   11 Max:      66\n"
	      "+T: 1 (12148) P:98 I:250 C: 960000 Min:      6 Act:   10 Avg:    9 Max:      33\n",
	      &doc);
	assert_int_equal(doc.nr_runs, 6);
	for (size_t i = 2; i < 6; i++) /* never rows of both in one */
		assert_int_equal(import_cyclictest(&doc.runs[i])->nr, 1);
}

static void sars_tables_are_told_apart(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {}, nodes = {};

	parse("Linux 6.1.0 (box) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n"
	      "03:35:14        INTR       all      CPU0      CPU1\n"
	      "03:35:15         sum    838.61    482.18    356.43\n"
	      "03:35:15         NMI      3.00      1.00      2.00\n\n"
	      "03:35:14     tcp6sck   udp6sck\n"
	      "03:35:15           0         0\n\n"
	      "03:35:14         CPU   total/s   dropd/s\n"
	      "03:35:15         all     10.00      0.00\n\n"
	      "Average:        INTR       all      CPU0      CPU1\n"
	      "Average:         sum    838.61    482.18    356.43\n"
	      "Average:         NMI      3.00      1.00      2.00\n",
	      &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(doc.nr_skipped, 0);
	assert_string_equal(doc.runs[0].tool, "sar");
	assert_near(figure(&doc.runs[0], "interrupts"), 838.61, 1e-9);
	assert_near(import_figure_find(&doc.runs[0], "interrupts", "cpu=1")->value, 356.43, 1e-9);
	assert_near(import_figure_find(&doc.runs[0], "interrupts", "cpu=0,irq=NMI")->value, 1, 0);
	assert_int_equal(doc.nr_remarks, 1);
	assert_non_null(strstr(doc.remarks[0].text, "tcp6sck udp6sck"));

	parse("Linux 6.1.0 (box) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n"
	      "Average:    NODE    %usr   %nice    %sys   %idle\n"
	      "Average:     all   27.00    1.00   10.00   62.00\n"
	      "Average:       0   27.00    1.00   10.00   62.00\n",
	      &nodes);
	assert_int_equal(nodes.nr_runs, 1);
	assert_string_equal(nodes.runs[0].tool, "mpstat");
	assert_near(import_figure_find(&nodes.runs[0], "cpu.idle", "node=0")->value, 0.62, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_windows_ping_is_a_ping),
		cmocka_unit_test(a_time_alone_is_hackbenchs_when_it_is_named),
		cmocka_unit_test(netperfs_numbers_alone_are_those_of_its_command),
		cmocka_unit_test(counters_of_many_cpus_wrap),
		cmocka_unit_test(counters_cut_in_two_are_refused),
		cmocka_unit_test(both_sides_of_a_diff_are_two_tests),
		cmocka_unit_test(sars_tables_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
