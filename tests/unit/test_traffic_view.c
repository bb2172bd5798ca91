// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Options and tables of the traffic command.  The expected lines were printed by iperf 3.12 for the
 * same numbers.
 */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "load/flow.h"
#include "traffic/args.h"
#include "traffic/out.h"
#include "traffic/view.h"

/* Words up to a NULL after "traffic". */
static int parse(const char *const *words, struct traffic_args *a, struct err *e)
{
	char copies[16][64] = { "traffic" }, *argv[17] = { copies[0] };
	int argc = 1;

	*e = (struct err){};
	for (; words[argc - 1]; argc++) {
		snprintf(copies[argc], sizeof(copies[argc]), "%s", words[argc - 1]);
		argv[argc] = copies[argc];
	}
	return args_parse(argc, argv, a, e);
}

#define PARSE(a, ...)                                                     \
	do {                                                              \
		static const char *const words[] = { __VA_ARGS__, NULL }; \
		struct err e_;                                            \
		if (parse(words, a, &e_) < 0)                             \
			fail_msg("%s", e_.msg);                           \
	} while (0)

#define REFUSED(why, ...)                                                 \
	do {                                                              \
		static const char *const words[] = { __VA_ARGS__, NULL }; \
		struct traffic_args a_;                                   \
		struct err e_;                                            \
		assert_int_equal(parse(words, &a_, &e_), -EINVAL);        \
		assert_contains(e_.msg, why);                             \
	} while (0)

static void sizes_are_binary_and_rates_decimal(void **state)
{
	struct traffic_args a;

	PARSE(&a, "-c", "h", "-n", "1K", "-b", "1K", "-l", "8k", "-w", "1.5M");
	assert_true(a.params.bytes == 1024);
	assert_true(a.params.rate_bps == 1000);
	assert_true(a.params.length_bytes == 8192);
	assert_int_equal(a.params.window_bytes, 3 << 19);
	PARSE(&a, "-c", "h", "-k", "2K", "-b", "2.5G/7");
	assert_true(a.params.blocks == 2048);
	assert_true(a.params.rate_bps == 2500000000);
	assert_int_equal(a.params.burst, 7);
}

static void defaults_are_iperf3s(void **state)
{
	struct traffic_args a;

	PARSE(&a, "-c", "h");
	assert_true(a.port == 5201 && a.params.time_s == 10 && a.params.streams == 1);
	assert_true(a.params.rate_bps == 0 && a.params.length_bytes == 131072);
	PARSE(&a, "-c", "h", "-u");
	assert_true(a.params.rate_bps == 1000000 && a.params.length_bytes == 0);
	PARSE(&a, "-c", "h", "-u", "-b", "0");
	assert_true(a.params.rate_bps == 0);
	PARSE(&a, "-c", "h", "-t", "0", "-i", "0");
	assert_true(a.params.time_s == 0 && a.interval_s == 0);
	PARSE(&a, "-c", "h", "-n", "1M");
	assert_true(a.params.time_s == 0);
}

static void names_of_every_version_are_taken(void **state)
{
	struct traffic_args a;

	PARSE(&a, "-c", "h", "--bandwidth", "5M", "--linux-congestion", "reno", "--pacing-timer",
	      "1000", "--version4");
	assert_true(a.params.rate_bps == 5000000 && a.v4);
	assert_string_equal(a.params.congestion, "reno");
	PARSE(&a, "-s", "--server-max-duration", "7", "--server-bitrate-limit", "1G/5");
	assert_true(a.max_duration_s == 7 && a.max_bps == 1000000000);
	/* an unambiguous beginning, as getopt_long() has it */
	PARSE(&a, "-c", "h", "--json-stream-full");
	assert_true(a.json && a.json_stream && a.json_full);
}

static void the_tos_byte_has_three_notations_and_names(void **state)
{
	struct traffic_args a;

	PARSE(&a, "-c", "h", "-S", "52");
	assert_int_equal(a.params.tos, 52);
	PARSE(&a, "-c", "h", "-S", "064");
	assert_int_equal(a.params.tos, 52);
	PARSE(&a, "-c", "h", "-S", "0x34");
	assert_int_equal(a.params.tos, 52);
	PARSE(&a, "-c", "h", "--dscp", "46");
	assert_int_equal(a.params.tos, 184);
	PARSE(&a, "-c", "h", "--dscp", "EF");
	assert_int_equal(a.params.tos, 184);
	PARSE(&a, "-c", "h", "--dscp", "af31");
	assert_int_equal(a.params.tos, 104);
	REFUSED("--dscp \"64\"", "-c", "h", "--dscp", "64");
}

static void devices_may_stand_in_three_places(void **state)
{
	struct traffic_args a;

	PARSE(&a, "-c", "192.0.2.1%eth0");
	assert_string_equal(a.host, "192.0.2.1");
	assert_string_equal(a.bind, "%eth0");
	PARSE(&a, "-c", "fe80::1%eth0", "-B", "fe80::2", "--bind-dev", "eth1");
	assert_string_equal(a.host, "fe80::1%eth0");
	assert_string_equal(a.bind, "fe80::2%eth1");
	PARSE(&a, "-c", "h", "-B", "192.0.2.7");
	assert_string_equal(a.bind, "192.0.2.7");
}

static void round_trips_and_floods(void **state)
{
	struct traffic_args a;

	PARSE(&a, "-c", "h", "--rr=2K", "-u", "--request", "100");
	assert_true(a.params.mode == WIRE_RR && a.params.rr_per_s == 2000);
	assert_true(a.params.request_bytes == 100 && a.params.response_bytes == 64);
	PARSE(&a, "-c", "h", "--crr");
	assert_true(a.params.mode == WIRE_CRR && a.params.rr_per_s == 0);
	PARSE(&a, "-c", "h", "--flood=1000");
	assert_true(a.params.udp && a.params.length_bytes == 16);
	assert_true(a.params.rate_bps == 128000);
	PARSE(&a, "-c", "h", "--sweep", "5%..50%:15");
	assert_true(a.sweep_from == 5 && a.sweep_to == 50 && a.sweep_step == 15);
	assert_true(a.params.mode == WIRE_RR && a.params.rr_per_s == 1000);
	assert_int_equal(a.beside, BESIDE_TCP);
	REFUSED("they need --beside", "-c", "h", "--rr", "-R");
	REFUSED("--sweep finds the rates", "-c", "h", "--sweep", "1..2", "-b", "1M");
}

static void who_may_have_what(void **state)
{
	REFUSED("either -s", "-t", "1");
	REFUSED("-u is the client's", "-s", "-u");
	REFUSED("--idle-timeout is the server's", "-c", "h", "--idle-timeout", "3");
	REFUSED("only one of", "-c", "h", "-k", "1", "-n", "1");
	REFUSED("exclude each other", "-c", "h", "-4", "-6");
	REFUSED("--mptcp is not there: run it under mptcpize", "-c", "h", "-m");
	REFUSED("the nearest is --bitrate", "-c", "h", "--bitraet", "1M");
}

static void every_row_is_in_the_help(void **state)
{
	_cleanup_(buf_release) struct buf b = {};

	assert_int_equal(args_help(&b), 0);
	assert_contains(buf_str(&b), "  -b, --bitrate RATE[/N]");
	assert_contains(buf_str(&b), "      --rr[=RATE]");
	assert_contains(buf_str(&b), "  -1, --one-off");
	assert_contains(buf_str(&b), "Not here: --daemon");
}

static void units_take_four_places(void **state)
{
	char s[32];

	assert_string_equal(out_unit(s, 0, 'A'), "0.00 Bytes");
	assert_string_equal(out_unit(s, 1310720, 'A'), "1.25 MBytes");
	assert_string_equal(out_unit(s, 98304, 'A'), "96.0 KBytes");
	assert_string_equal(out_unit(s, 131072, 'A'), " 128 KBytes");
	assert_string_equal(out_unit(s, 131072, 'a'), "1.05 Mbits");
	assert_string_equal(out_unit(s, 98304, 'a'), " 786 Kbits");
	assert_string_equal(out_unit(s, 1023 * 1024, 'A'), "1023 KBytes");
	assert_string_equal(out_unit(s, 1310720, 'k'), "10486 Kbits");
	assert_string_equal(out_unit(s, 1310720, 'M'), "1.25 MBytes");
	assert_string_equal(out_unit(s, 125e9, 't'), "1.00 Tbits");
}

/* A view of flows without sockets, printing into memory. */
struct table {
	struct view *v;
	struct flow flow[2];
	struct stream streams[2][2];
	struct traffic_args args;
	struct wire_params params;
	struct out out;
	char *text;
	size_t len;
};

static void open_table(struct table *t, unsigned int streams, char who)
{
	struct view_cfg cfg = { .params = &t->params };

	t->out.f = open_memstream(&t->text, &t->len);
	assert_non_null(t->out.f);
	t->args.interval_s = 1;
	t->args.host = "h";
	t->params.streams = streams;
	t->v = view_new(&t->args, &t->out, who);
	assert_non_null(t->v);
	for (unsigned int k = 0; k < 1U + t->params.bidir; k++) {
		bool first = k == 0, client_sends = first != t->params.reverse;

		t->flow[k] = (struct flow){ .nr = streams, .have = streams, .v = t->streams[k] };
		t->flow[k].cfg.sender = client_sends == (who == 'C');
		for (unsigned int i = 0; i < streams; i++) {
			t->streams[k][i].fd = -1;
			t->streams[k][i].id = wire_stream_id(k * streams + i);
		}
		cfg.flow[k] = &t->flow[k];
	}
	view_began(t->v, &cfg);
	for (unsigned int k = 0; k < 1U + t->params.bidir; k++)
		for (unsigned int i = 0; i < streams; i++)
			t->v->side[k].fd[i] = 5 + 2 * (int)(k * streams + i);
}

static void expect_table(struct table *t, const char *want)
{
	view_free(t->v);
	fclose(t->out.f);
	assert_string_equal(t->text, want);
	free(t->text);
}

static void rows_of_a_tcp_sender(void **state)
{
	static const struct view_row rows[] = {
		{ .end_s = 1, .bytes = 1310720, .sender = true, .cwnd_bytes = 1178694 },
		{ .end_s = 1, .bytes = 1310720, .sender = true, .cwnd_bytes = 1178694 },
	};
	static const struct view_row sum = { .end_s = 1, .bytes = 2621440, .sender = true };
	static struct table t;

	open_table(&t, 2, 'C');
	text_header(t.v);
	text_interval(t.v, 0, rows, &sum);
	expect_table(&t,
		     "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
		     "[  5]   0.00-1.00   sec  1.25 MBytes  10.5 Mbits/sec    0   1.12 MBytes"
		     "       \n"
		     "[  7]   0.00-1.00   sec  1.25 MBytes  10.5 Mbits/sec    0   1.12 MBytes"
		     "       \n"
		     "[SUM]   0.00-1.00   sec  2.50 MBytes  21.0 Mbits/sec    0             \n");
}

static void rows_of_udp_both_ways(void **state)
{
	static const struct view_row sent = {
		.end_s = 1, .bytes = 131072, .sender = true, .packets = 4, .retransmits = -1
	};
	static const struct view_row came = {
		.end_s = 1, .bytes = 131072, .packets = 4, .jitter_s = 5e-6, .retransmits = -1
	};
	static struct table t;

	t.params.udp = t.params.bidir = true;
	open_table(&t, 1, 'C');
	text_header(t.v);
	text_interval(t.v, 0, &sent, &sent);
	text_interval(t.v, 1, &came, &came);
	expect_table(&t, "[ ID][Role] Interval           Transfer     Bitrate         Jitter    "
			 "Lost/Total Datagrams\n"
			 "[  5][TX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec            "
			 "4  \n"
			 "[  7][RX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.005 ms  "
			 "0/4 (0%)  \n");
}

static struct wire_results results_of(uint64_t bytes, int64_t retransmits)
{
	struct wire_results r = { .nr = 1 };

	r.streams[0] = (struct wire_stream){
		.id = 1, .bytes = bytes, .retransmits = retransmits, .end_s = 2
	};
	return r;
}

static void totals_of_both_ends(void **state)
{
	struct wire_results sent = results_of(262144, 0), came = results_of(262144, -1);
	static struct table t;

	open_table(&t, 1, 'C');
	view_ended(t.v, &sent, &came);
	expect_table(&t, "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
			 "[ ID] Interval           Transfer     Bitrate         Retr\n"
			 "[  5]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec    0             "
			 "sender\n"
			 "[  5]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec                  "
			 "receiver\n");
}

static void a_peer_that_left_leaves_a_gap_and_no_zero(void **state)
{
	struct wire_results sent = results_of(262144, 3);
	static struct table t;

	open_table(&t, 1, 'C');
	view_ended(t.v, &sent, NULL);
	expect_table(&t, "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
			 "[ ID] Interval           Transfer     Bitrate         Retr\n"
			 "[  5]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec    3             "
			 "sender\n"
			 "[  5] (receiver statistics not available)\n");
}

static void no_loss_is_over_a_hundred_percent(void **state)
{
	struct view_row r = { .packets = 10, .lost = 25 };

	assert_true(view_lost_percent(&r) == 100);
	r.lost = -3;
	assert_true(view_lost_percent(&r) == 0);
	r.lost = 1;
	assert_true(view_lost_percent(&r) == 10);
	r = (struct view_row){};
	assert_true(view_lost_percent(&r) == 0);
}

/* iperf 3.12 at the other end: packets with the omitted ones, bytes without, and no word of it. */
static void packets_of_an_old_peer_are_mended(void **state)
{
	struct wire_results sent = results_of(38000, -1), came = results_of(37000, -1);
	struct view_row row;
	static struct table t;

	t.params = (struct wire_params){ .udp = true, .omit_s = 1, .length_bytes = 1000 };
	sent.streams[0].packets = 76;
	sent.streams[0].omitted_packets = 38;
	sent.streams[0].has_omitted = true;
	came.streams[0].packets = 76;
	open_table(&t, 1, 'C');
	view_ended(t.v, &sent, &came);
	assert_true(view_total(t.v, 0, 0, &t.v->theirs, false, &row));
	assert_true(row.packets == 38 && row.lost == 1);
	view_free(t.v);
	fclose(t.out.f);
	free(t.text);
}

/* The same when it sends: what is left of its packets is what its bytes say. */
static void packets_of_an_old_sender_are_mended(void **state)
{
	struct wire_results sent = results_of(38000, -1), came = results_of(37000, -1);
	struct view_row row;
	static struct table t;

	t.params = (struct wire_params){
		.udp = true, .omit_s = 1, .length_bytes = 1000, .reverse = true
	};
	sent.streams[0].packets = 77;
	came.streams[0].packets = 77;
	came.streams[0].omitted_packets = 39;
	came.streams[0].errors = 1;
	came.streams[0].has_omitted = true;
	open_table(&t, 1, 'C');
	view_ended(t.v, &came, &sent);
	assert_true(view_total(t.v, 0, 0, &t.v->theirs, true, &row));
	assert_true(row.packets == 38 && row.lost == 0);
	assert_true(view_total(t.v, 0, 0, &came, false, &row));
	assert_true(row.packets == 38 && row.lost == 1);
	view_free(t.v);
	fclose(t.out.f);
	free(t.text);
}

static void round_trips_have_no_receiver(void **state)
{
	struct wire_results came = results_of(262144, -1);
	static struct table t;

	t.params.mode = WIRE_RR;
	open_table(&t, 1, 'S');
	view_ended(t.v, &came, NULL);
	expect_table(&t, "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
			 "[ ID] Interval           Transfer     Bitrate\n"
			 "[  5]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec                  "
			 "requests and responses\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_binary_and_rates_decimal),
		cmocka_unit_test(defaults_are_iperf3s),
		cmocka_unit_test(names_of_every_version_are_taken),
		cmocka_unit_test(the_tos_byte_has_three_notations_and_names),
		cmocka_unit_test(devices_may_stand_in_three_places),
		cmocka_unit_test(round_trips_and_floods),
		cmocka_unit_test(who_may_have_what),
		cmocka_unit_test(every_row_is_in_the_help),
		cmocka_unit_test(units_take_four_places),
		cmocka_unit_test(rows_of_a_tcp_sender),
		cmocka_unit_test(rows_of_udp_both_ways),
		cmocka_unit_test(totals_of_both_ends),
		cmocka_unit_test(a_peer_that_left_leaves_a_gap_and_no_zero),
		cmocka_unit_test(no_loss_is_over_a_hundred_percent),
		cmocka_unit_test(packets_of_an_old_peer_are_mended),
		cmocka_unit_test(packets_of_an_old_sender_are_mended),
		cmocka_unit_test(round_trips_have_no_receiver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
