// SPDX-License-Identifier: GPL-3.0-or-later
/* What both ends of a test count. */
#include "traffic.h"

#include "load/stream.h"

static void both_ends_count_the_same(bool reverse, unsigned int streams, uint64_t rate_bps)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	const struct wire_results *mine, *theirs;
	struct client *c;

	cfg.params.reverse = reverse;
	cfg.params.streams = streams;
	cfg.params.rate_bps = rate_bps;
	c = run_client(&cfg, 300);
	mine = client_mine(c);
	theirs = client_theirs(c);
	assert_non_null(mine);
	assert_int_equal(mine->nr, streams);
	assert_int_equal(theirs->nr, streams);
	for (unsigned int i = 0; i < streams; i++) {
		assert_true(mine->streams[i].bytes > 0);
		assert_true(mine->streams[i].bytes == theirs->streams[i].bytes);
		assert_int_equal(mine->streams[i].id, wire_stream_id(i));
		assert_true(mine->streams[i].end_s > 0);
		/* only the sender knows */
		assert_true((mine->streams[i].retransmits == WIRE_UNKNOWN) == reverse);
		assert_true((theirs->streams[i].retransmits == WIRE_UNKNOWN) == !reverse);
	}
	server_close(s);
	assert_int_equal(notes.tests, 1);
	assert_true(notes.has_theirs);
	assert_true(notes.mine.streams[0].bytes == mine->streams[0].bytes);
	assert_true(notes.theirs.streams[0].bytes == mine->streams[0].bytes);
	client_close(c);
}

static void both_ends_count_the_same_when_the_client_sends(void **state)
{
	both_ends_count_the_same(false, 1, 0);
}

static void both_ends_count_the_same_when_the_server_sends(void **state)
{
	both_ends_count_the_same(true, 1, 0);
}

static void both_ends_count_the_same_with_streams(void **state)
{
	both_ends_count_the_same(false, 4, 0);
	both_ends_count_the_same(true, 4, 0);
}

static void both_ends_count_the_same_when_paced(void **state)
{
	both_ends_count_the_same(false, 2, 20000000);
	both_ends_count_the_same(true, 2, 20000000);
}

static void a_paced_stream_never_runs_ahead_of_its_clock(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	const uint64_t rate = 80000000; /* 10 MB/s */
	struct client *c;
	const struct wire_stream *mine;

	cfg.params.rate_bps = rate;
	cfg.params.length_bytes = 10000;
	c = run_client(&cfg, 1000);
	mine = &client_mine(c)->streams[0];
	/* whole blocks up to the end, by the client's own clock */
	assert_true((double)mine->bytes <= mine->end_s * (double)rate / 8 + 2 * 10000);
	assert_int_equal(mine->bytes % 10000, 0);
	client_close(c);
	server_close(s);
}

static void due_times_follow_the_rate(void **state)
{
	assert_int_equal(stream_due_ns(5, 0, 1000), 5);
	assert_int_equal(stream_due_ns(5, 125, 1000), 5 + NS_PER_S);
	/* no overflow: a day at 100 Gbit/s */
	assert_true(stream_due_ns(0, UINT64_C(1080000000000000), UINT64_C(100000000000)) ==
		    86400 * NS_PER_S);
}

static void samples_grow_and_overflow_is_counted(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	const uint64_t until = clock_mono_ns() + PATIENCE_NS;
	const struct flow_count *v = NULL;
	struct client *c = NULL;
	size_t nr = 0, lost = 0;
	struct err e = {};

	cfg.max_samples = 3;
	if (client_open(&c, &cfg, &e) < 0 || client_start(c, &e) < 0)
		fail_msg("%s", e.msg);
	while (lost == 0) {
		assert_true(clock_mono_ns() < until);
		pause_ms(1);
		v = client_samples(c, CLIENT_TX, &nr, &lost);
	}
	if (client_stop(c, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(nr, 3);
	for (size_t i = 1; i < nr; i++) {
		assert_true(v[i].t_ns > v[i - 1].t_ns);
		assert_true(v[i].bytes >= v[i - 1].bytes);
		assert_true(v[i].cwnd_bytes > 0);
	}
	client_close(c);
	server_close(s);
}

/* A test with these parameters; what both ends said is in notes and in the client. */
static struct client *run_with(const struct wire_params *p, struct server **ret)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);

	cfg.params = *p;
	*ret = s;
	return run_client(&cfg, 300);
}

static void both_directions_at_once_are_two_flows(void **state)
{
	const struct wire_params p = { .bidir = true,
				       .streams = 2,
				       .time_s = 10,
				       .length_bytes = 16 << 10,
				       .rate_bps = 50000000,
				       .server_cpu = -1 };
	struct server *s = NULL;
	struct client *c = run_with(&p, &s);
	const struct wire_results *mine = client_mine(c), *theirs = client_theirs(c);
	size_t nr = 0, lost = 0;

	assert_int_equal(mine->nr, 4);
	assert_int_equal(theirs->nr, 4);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(mine->streams[i].id, wire_stream_id(i));
		assert_int_equal(theirs->streams[i].id, wire_stream_id(i));
		assert_true(mine->streams[i].bytes > 0);
		assert_true(mine->streams[i].bytes == theirs->streams[i].bytes);
		/* the first half is the client's to send on */
		assert_true((mine->streams[i].retransmits == WIRE_UNKNOWN) == (i >= 2));
		assert_true((theirs->streams[i].retransmits == WIRE_UNKNOWN) == (i < 2));
	}
	assert_non_null(client_flow(c, CLIENT_TX));
	assert_non_null(client_flow(c, CLIENT_RX));
	for (enum client_side side = 0; side < CLIENT_SIDES; side++) {
		client_samples(c, side, &nr, &lost);
		assert_true(nr > 0);
	}
	client_close(c);
	server_close(s);
}

static void ends_when_spent(bool reverse, bool bidir, bool blocks)
{
	const uint64_t want = 3 << 20;
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	struct client *c = NULL;
	struct err e = {};
	const struct wire_results *v;

	cfg.params.reverse = reverse;
	cfg.params.bidir = bidir;
	cfg.params.streams = 2;
	cfg.params.time_s = 0;
	cfg.params.length_bytes = 64 << 10;
	cfg.params.bytes = blocks ? 0 : want;
	cfg.params.blocks = blocks ? want / cfg.params.length_bytes : 0;
	if (client_open(&c, &cfg, &e) < 0 || client_start(c, &e) < 0)
		fail_msg("%s", e.msg);
	while (!client_is_spent(c)) {
		if (client_check(c, &e) < 0 || clock_mono_ns() > until)
			fail_msg("never spent: %s", e.msg);
		pause_ms(1);
	}
	if (client_stop(c, &e) < 0)
		fail_msg("%s", e.msg);
	v = client_mine(c);
	for (unsigned int i = 0; i < v->nr; i += 2)
		assert_int_equal(v->streams[i].bytes + v->streams[i + 1].bytes, want);
	v = client_theirs(c);
	for (unsigned int i = 0; i < v->nr; i += 2)
		assert_int_equal(v->streams[i].bytes + v->streams[i + 1].bytes, want);
	client_close(c);
	server_close(s);
}

static void exactly_the_bytes_asked_for_are_moved(void **state)
{
	ends_when_spent(false, false, false);
	ends_when_spent(true, false, false);
	ends_when_spent(false, true, false);
	ends_when_spent(false, false, true);
	ends_when_spent(true, false, true);
}

/* Less than a block each: some of the streams never move a byte. */
static void an_amount_too_small_for_all_streams_is_moved(bool reverse)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	uint64_t moved = 0;
	struct client *c;

	cfg.params.reverse = reverse;
	cfg.params.streams = 4;
	cfg.params.time_s = 0;
	cfg.params.blocks = 2;
	c = run_client(&cfg, 20);
	for (unsigned int i = 0; i < 4; i++)
		moved += client_theirs(c)->streams[i].bytes;
	assert_int_equal(moved, 2 * cfg.params.length_bytes);
	client_close(c);
	server_close(s);
}

static void a_small_amount_needs_no_bytes_of_every_stream(void **state)
{
	an_amount_too_small_for_all_streams_is_moved(false);
	an_amount_too_small_for_all_streams_is_moved(true);
}

/* @sender and @receiver of the same stream. */
static void check_datagrams(const struct wire_stream *sender, const struct wire_stream *receiver,
			    uint64_t length)
{
	assert_true(sender->packets > 0);
	assert_true(sender->bytes == sender->packets * length);
	assert_true(receiver->packets > 0);
	assert_true(receiver->packets <= sender->packets);
	assert_true(receiver->bytes == (receiver->packets - receiver->errors) * length);
	assert_true(receiver->jitter_s >= 0);
}

static void both_ends_count_datagrams(bool reverse, bool bidir, unsigned int streams)
{
	const struct wire_params p = { .udp = true,
				       .reverse = reverse,
				       .bidir = bidir,
				       .streams = streams,
				       .time_s = 10,
				       .length_bytes = 500,
				       .rate_bps = 1000000,
				       .udp_counters_64bit = streams > 1,
				       .server_cpu = -1 };
	struct server *s = NULL;
	struct client *c = run_with(&p, &s);
	const struct wire_results *mine = client_mine(c), *theirs = client_theirs(c);

	assert_int_equal(mine->nr, bidir ? 2 * streams : streams);
	for (unsigned int i = 0; i < mine->nr; i++)
		if (reverse || i >= streams)
			check_datagrams(&theirs->streams[i], &mine->streams[i], 500);
		else
			check_datagrams(&mine->streams[i], &theirs->streams[i], 500);
	client_close(c);
	server_close(s);
	assert_string_equal(notes.said, "");
}

static void both_ends_count_the_same_datagrams(void **state)
{
	both_ends_count_datagrams(false, false, 1);
	both_ends_count_datagrams(true, false, 1);
	both_ends_count_datagrams(false, false, 3);
	both_ends_count_datagrams(true, false, 3);
	both_ends_count_datagrams(false, true, 2);
}

static void a_datagram_is_as_long_as_the_path_takes(void **state)
{
	const struct wire_params p = {
		.udp = true, .streams = 1, .time_s = 10, .rate_bps = 1000000, .server_cpu = -1
	};
	struct server *s = NULL;
	struct client *c = run_with(&p, &s);

	assert_true(client_params(c)->length_bytes >= WIRE_UDP_LENGTH_MIN);
	assert_true(client_params(c)->length_bytes <= WIRE_UDP_LENGTH_MAX);
	assert_int_equal(client_mine(c)->streams[0].bytes % client_params(c)->length_bytes, 0);
	client_close(c);
	server_close(s);
}

static void round_trips(enum wire_mode mode, bool udp)
{
	const struct wire_params p = { .udp = udp,
				       .mode = mode,
				       .streams = 2,
				       .time_s = 10,
				       .request_bytes = 64,
				       .response_bytes = 200,
				       .rr_per_s = 200,
				       .arrivals = WIRE_POISSON,
				       .seed = 5,
				       .server_cpu = -1 };
	struct server *s = NULL;
	struct client *c = run_with(&p, &s);

	assert_int_equal(client_mine(c)->nr, 2);
	assert_int_equal(client_theirs(c)->nr, 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_true(client_mine(c)->streams[i].packets > 0);
	client_close(c);
	server_close(s);
	assert_string_equal(notes.said, "");
}

static void round_trips_and_connections_need_the_extension(void **state)
{
	round_trips(WIRE_RR, false);
	round_trips(WIRE_RR, true);
	round_trips(WIRE_CRR, false);
}

static void omitted_seconds_count_at_neither_end(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	const uint64_t start = clock_mono_ns();
	struct client *c;
	double all_s;

	cfg.params.rate_bps = 8000000; /* 1 MB/s */
	cfg.params.length_bytes = 1000;
	cfg.params.omit_s = 1;
	c = run_client(&cfg, 1200);
	all_s = (double)(clock_mono_ns() - start) / 1e9;
	assert_true(client_mine(c)->streams[0].end_s <= all_s - 1);
	assert_true(client_theirs(c)->streams[0].end_s <= all_s - 1);
	/* no second's worth more than could be sent after it */
	assert_true((double)client_mine(c)->streams[0].bytes <= (all_s - 1) * 1e6 + 2000);
	client_close(c);
	server_close(s);
}

static void the_same_local_ports_can_be_had_again_at_once(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);

	cfg.params.streams = 2;
	cfg.local_port = (uint16_t)(20000 + getpid() % 10000);
	for (int i = 0; i < 3; i++) {
		struct client *c = run_client(&cfg, 10);

		client_close(c);
	}
	server_close(s);
	assert_int_equal(notes.tests, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_count_the_same_when_the_client_sends),
		cmocka_unit_test(both_ends_count_the_same_when_the_server_sends),
		cmocka_unit_test(both_ends_count_the_same_with_streams),
		cmocka_unit_test(both_ends_count_the_same_when_paced),
		cmocka_unit_test(a_paced_stream_never_runs_ahead_of_its_clock),
		cmocka_unit_test(due_times_follow_the_rate),
		cmocka_unit_test(samples_grow_and_overflow_is_counted),
		cmocka_unit_test(both_directions_at_once_are_two_flows),
		cmocka_unit_test(exactly_the_bytes_asked_for_are_moved),
		cmocka_unit_test(a_small_amount_needs_no_bytes_of_every_stream),
		cmocka_unit_test(both_ends_count_the_same_datagrams),
		cmocka_unit_test(a_datagram_is_as_long_as_the_path_takes),
		cmocka_unit_test(round_trips_and_connections_need_the_extension),
		cmocka_unit_test(omitted_seconds_count_at_neither_end),
		cmocka_unit_test(the_same_local_ports_can_be_had_again_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
