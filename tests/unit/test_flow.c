// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "load/flow.h"
#include "load/pacer.h"
#include "load/tcpinfo.h"
#include "load/udp_seq.h"
#include "sample/hist.h"

#define BOUND_NS (10 * NS_PER_S)

static struct sockaddr_in loopback(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static struct sockaddr_in name_of(int fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	return at;
}

static int bound(int type)
{
	struct sockaddr_in at = loopback();
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void join(int fd, int to)
{
	struct sockaddr_in at = name_of(to);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
}

static int listening(void)
{
	int fd = bound(SOCK_STREAM);

	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

/* Room for all that a test sends before anyone reads; false: only root gets so much. */
static bool enlarge(int fd)
{
	int big = 32 << 20;

	return setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big)) == 0;
}

static bool has_room(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool room = enlarge(fd);

	close(fd);
	if (!room)
		print_message(
			"datagrams may be lost here: only root gets a queue for all of them\n");
	return room;
}

/* Two connected sockets. */
static void new_pair(bool udp, int pair[2])
{
	if (udp) {
		pair[0] = bound(SOCK_DGRAM);
		pair[1] = bound(SOCK_DGRAM);
		join(pair[0], pair[1]);
		join(pair[1], pair[0]);
		enlarge(pair[1]);
	} else {
		int fd = listening();

		pair[0] = bound(SOCK_STREAM);
		join(pair[0], fd);
		pair[1] = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		assert_true(pair[1] >= 0);
		close(fd);
	}
}

struct ends {
	struct flow tx, rx; /* of rr and crr the client and the server */
};

static void open_flow(struct flow *f, struct flow_cfg cfg, bool sender)
{
	struct err e = {};

	cfg.stream.sender = sender;
	cfg.cpu = -1;
	if (!sender)
		cfg.limit_bytes = 0;
	if (flow_init(f, &cfg, &e) < 0)
		fail_msg("%s", e.msg);
}

static void take(struct flow *f, int fd)
{
	struct err e = {};

	if (flow_take(f, fd, &e) < 0)
		fail_msg("%s", e.msg);
}

static void start(struct flow *f)
{
	struct err e = {};

	if (flow_start(f, &e) < 0)
		fail_msg("%s", e.msg);
}

static void connect_ends(struct ends *x, const struct flow_cfg *cfg)
{
	open_flow(&x->tx, *cfg, true);
	open_flow(&x->rx, *cfg, false);
	for (unsigned int i = 0; i < cfg->streams; i++) {
		int pair[2];

		new_pair(cfg->stream.udp, pair);
		take(&x->tx, pair[0]);
		take(&x->rx, pair[1]);
	}
}

static void start_ends(struct ends *x)
{
	start(&x->rx);
	start(&x->tx);
}

static void sleep_ms(unsigned int ms)
{
	struct timespec ts = clock_timespec(ms * NS_PER_MS);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void check_flow(const struct flow *f)
{
	struct err e = {};

	if (flow_check(f, &e) < 0)
		fail_msg("%s", e.msg);
}

/* As the two ends of a test do it. */
static void finish(struct ends *x)
{
	check_flow(&x->tx);
	check_flow(&x->rx);
	flow_quiet(&x->rx);
	flow_finish(&x->tx, BOUND_NS);
	flow_finish(&x->rx, BOUND_NS);
}

static void release(struct ends *x)
{
	flow_release(&x->tx);
	flow_release(&x->rx);
}

static void run(struct ends *x, const struct flow_cfg *cfg, unsigned int ms)
{
	connect_ends(x, cfg);
	start_ends(x);
	/* a busy machine may take its time to run the threads at all */
	for (unsigned int i = 0; i < cfg->streams; i++)
		while (flow_bytes(&x->tx, i) == 0)
			sleep_ms(1);
	sleep_ms(ms);
	finish(x);
}

static void await_spent(const struct flow *f)
{
	while (!flow_is_spent(f))
		sleep_ms(1);
}

static struct flow_count read_flow(const struct flow *f)
{
	struct flow_count c;

	flow_read(f, &c);
	return c;
}

/* ---- when work is due ---- */

static void an_even_schedule_has_its_rate(void **state)
{
	struct pacer p;
	uint64_t first;

	pacer_init(&p, 1e9 / 3.0, WIRE_EVEN, 7);
	p.start_ns = 5000;
	first = pacer_due(&p);
	assert_true(first >= 5000 && first < 5000 + NS_PER_S / 3 + 1);
	for (int i = 0; i < 3000000; i++)
		pacer_step(&p, 0);
	assert_near((double)(pacer_due(&p) - first), 1e15, 1e6);
}

static void streams_do_not_start_together(void **state)
{
	struct pacer a, b;

	pacer_init(&a, 1e6, WIRE_EVEN, 1);
	pacer_init(&b, 1e6, WIRE_EVEN, 2);
	assert_int_not_equal(pacer_due(&a), pacer_due(&b));
}

/* The gaps of a Poisson process: mean and deviation are the same, 1/e of them exceed the mean. */
static void poisson_gaps_are_exponential(void **state)
{
	const int nr = 1000000;
	double sum = 0, squares = 0, last = 0;
	int above = 0;
	struct pacer p;

	pacer_init(&p, 1000, WIRE_POISSON, 11);
	for (int i = 0; i < nr; i++) {
		double gap = p.due_ns - last;

		last = p.due_ns;
		sum += gap;
		squares += gap * gap;
		above += gap > 1000;
		pacer_step(&p, 0);
	}
	/* five standard errors */
	assert_near(sum / nr, 1000, 5);
	assert_near(sqrt(squares / nr - sum / nr * (sum / nr)), 1000, 10);
	assert_near((double)above / nr, exp(-1), 0.0025);
}

static void the_same_seed_gives_the_same_times(void **state)
{
	struct pacer a, b, other;
	int differ = 0;

	pacer_init(&a, 1000, WIRE_POISSON, 3);
	pacer_init(&b, 1000, WIRE_POISSON, 3);
	pacer_init(&other, 1000, WIRE_POISSON, 4);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(pacer_due(&a), pacer_due(&b));
		differ += pacer_due(&a) != pacer_due(&other);
		pacer_step(&a, 0);
		pacer_step(&b, 0);
		pacer_step(&other, 0);
	}
	assert_true(differ > 990);
}

static void what_is_owed_after_a_stall_is_bounded(void **state)
{
	struct pacer p;
	int owed = 0;

	pacer_init(&p, 1e6, WIRE_EVEN, 1);
	for (uint64_t now = 10 * NS_PER_S; pacer_due(&p) <= now; owed++)
		pacer_step(&p, now);
	/* a tenth of a second of milliseconds, and the one that was due */
	assert_true(owed >= 100 && owed <= 102);

	pacer_init(&p, 1e6, WIRE_EVEN, 1);
	p.debt_ns = PACER_ANY_DEBT;
	for (owed = 0; pacer_due(&p) < NS_PER_S; owed++)
		pacer_step(&p, 10 * NS_PER_S);
	assert_int_equal(owed, 1000);
}

static void paced_blocks_shrink_at_low_rates(void **state)
{
	struct stream_cfg c = { .sender = true, .length_bytes = 128 << 10 };
	const uint64_t rates[] = { 1000000, 33333333, 500000000, UINT64_C(10000000000) };

	assert_int_equal(stream_unit_bytes(&c), c.length_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		size_t unit;

		c.rate_bps = rates[i];
		unit = stream_unit_bytes(&c);
		assert_true(unit > 0 && unit <= c.length_bytes);
		assert_true((double)rates[i] / 8 / (double)unit >= 200);
	}
	c.rate_bps = 1;
	assert_int_equal(stream_unit_bytes(&c), 1);
}

/* ---- which datagrams came ---- */

static void gaps_are_losses_until_what_is_missing_comes(void **state)
{
	static struct udp_seq q;

	memset(&q, 0, sizeof(q));
	for (uint64_t n = 1; n <= 10; n++)
		if (n != 4 && n != 5)
			udp_seq_note(&q, n);
	assert_int_equal(q.highest, 10);
	assert_int_equal(q.lost, 2);
	udp_seq_note(&q, 4);
	assert_int_equal(q.lost, 1);
	assert_int_equal(q.late, 1);
	/* duplicates of a late one, of a timely one, of the highest */
	udp_seq_note(&q, 4);
	udp_seq_note(&q, 1);
	udp_seq_note(&q, 10);
	assert_int_equal(q.lost, 1);
	assert_int_equal(q.late, 1);
}

static void numbers_that_nobody_sends_are_ignored(void **state)
{
	static struct udp_seq q;

	memset(&q, 0, sizeof(q));
	udp_seq_note(&q, 0);
	udp_seq_note(&q, UINT64_MAX);
	udp_seq_note(&q, UINT64_C(1) << 63);
	assert_int_equal(q.highest, 0);
	assert_int_equal(q.lost, 0);
}

/* Against a list of all numbers. */
static void any_order_within_the_window_is_counted_exactly(void **state)
{
	enum { NR = 400000, SPREAD = 3000 };
	static struct udp_seq q;
	static bool came[NR + SPREAD + 1];
	uint64_t rng = 5, highest = 0, distinct = 0, late = 0;

	memset(&q, 0, sizeof(q));
	for (uint64_t i = 1; i <= NR; i++) {
		uint64_t seq = i + rng_below(&rng, SPREAD);

		if (rng_below(&rng, 50) == 0)
			continue;
		if (seq < highest && !came[seq])
			late++;
		distinct += !came[seq];
		came[seq] = true;
		highest = seq > highest ? seq : highest;
		udp_seq_note(&q, seq);
	}
	assert_int_equal(q.highest, highest);
	assert_int_equal(q.late, late);
	assert_int_equal(q.lost, highest - distinct);
}

static void what_is_too_late_to_be_known_makes_up_for_nothing(void **state)
{
	static struct udp_seq q;

	memset(&q, 0, sizeof(q));
	udp_seq_note(&q, 1);
	udp_seq_note(&q, 1 + UDP_SEQ_WINDOW);
	assert_int_equal(q.lost, UDP_SEQ_WINDOW - 1);
	udp_seq_note(&q, 1);
	assert_int_equal(q.lost, UDP_SEQ_WINDOW - 1);
	udp_seq_note(&q, 2);
	assert_int_equal(q.lost, UDP_SEQ_WINDOW - 2);
	udp_seq_note(&q, UINT64_C(1) << 40);
	assert_int_equal(q.lost, (UINT64_C(1) << 40) - 4);
	udp_seq_note(&q, 2);
	assert_int_equal(q.lost, (UINT64_C(1) << 40) - 4);
}

static void numbers_of_32_bits_go_on_after_the_last(void **state)
{
	static struct udp_seq q;

	memset(&q, 0, sizeof(q));
	assert_int_equal(udp_seq_widen(&q, 1), 1);
	q.highest = UINT32_MAX;
	assert_int_equal(udp_seq_widen(&q, 0), UINT64_C(1) << 32);
	assert_int_equal(udp_seq_widen(&q, UINT32_MAX - 1), UINT32_MAX - 1);
	q.highest = (UINT64_C(5) << 32) + 3;
	assert_int_equal(udp_seq_widen(&q, UINT32_MAX), (UINT64_C(5) << 32) - 1);
}

/* ---- bulk over TCP ---- */

static void all_that_is_sent_arrives(const struct flow_cfg *cfg, unsigned int ms)
{
	struct ends x;

	run(&x, cfg, ms);
	for (unsigned int i = 0; i < cfg->streams; i++) {
		assert_true(flow_bytes(&x.tx, i) > 0);
		assert_int_equal(flow_bytes(&x.tx, i), flow_bytes(&x.rx, i));
	}
	release(&x);
}

static void every_way_to_move_bytes_moves_all(void **state)
{
	for (int i = 0; i < 8; i++) {
		struct flow_cfg cfg = { .stream = { .length_bytes = i & 4 ? 1001 : 128 << 10,
						    .zerocopy = i & 1,
						    .skip_rx_copy = i & 2 },
					.streams = 2 };

		all_that_is_sent_arrives(&cfg, 30);
	}
}

static void what_arrives_is_what_was_filled_in(const struct stream_cfg *stream)
{
	struct flow_cfg cfg = { .stream = *stream, .streams = 1, .limit_bytes = 20011 };
	char got[32768], want[10];
	struct flow f;
	size_t have = 0;
	int pair[2];

	new_pair(false, pair);
	open_flow(&f, cfg, true);
	take(&f, pair[0]);
	start(&f);
	while (have < cfg.limit_bytes) {
		ssize_t n = recv(pair[1], got + have, sizeof(got) - have, 0);

		assert_true(n > 0);
		have += (size_t)n;
	}
	assert_int_equal(have, cfg.limit_bytes);
	memcpy(want, "0123456789", 10);
	for (size_t i = 0; i < have; i++)
		assert_int_equal(got[i], want[i % stream->length_bytes % 10]);
	flow_release(&f);
	close(pair[1]);
}

static void a_repeating_payload_is_iperf3s(void **state)
{
	for (int zerocopy = 0; zerocopy < 2; zerocopy++) {
		struct stream_cfg c = { .length_bytes = 5003,
					.repeating_payload = true,
					.zerocopy = zerocopy };

		what_arrives_is_what_was_filled_in(&c);
	}
}

static void a_limit_is_kept_to_the_byte_by(const struct flow_cfg *cfg)
{
	struct ends x;
	struct flow_count tx, rx;

	connect_ends(&x, cfg);
	start_ends(&x);
	await_spent(&x.tx);
	/* senders rest: their end is for the peer to decide */
	sleep_ms(20);
	for (unsigned int i = 0; i < cfg->streams; i++)
		assert_false(atomic_load(&x.tx.v[i].done));
	finish(&x);
	tx = read_flow(&x.tx);
	rx = read_flow(&x.rx);
	assert_int_equal(tx.bytes, cfg->limit_bytes);
	assert_int_equal(rx.bytes, cfg->limit_bytes);
	if (cfg->stream.udp) {
		assert_int_equal(tx.packets, (cfg->limit_bytes + cfg->stream.length_bytes - 1) /
						     cfg->stream.length_bytes);
		assert_int_equal(rx.received, tx.packets);
		assert_int_equal(rx.lost, 0);
	}
	release(&x);
}

static void limits_are_kept_to_the_byte(void **state)
{
	const struct flow_cfg cfgs[] = {
		{ .stream = { .length_bytes = 128 << 10 }, .streams = 1, .limit_bytes = 1 },
		{ .stream = { .length_bytes = 128 << 10 }, .streams = 4, .limit_bytes = 10000019 },
		{ .stream = { .length_bytes = 10000, .zerocopy = true },
		  .streams = 3,
		  .limit_bytes = 10000019 },
		{ .stream = { .length_bytes = 128 << 10, .rate_bps = 400000000 },
		  .streams = 2,
		  .limit_bytes = 1000003 },
		{ .stream = { .udp = true, .length_bytes = 500 },
		  .streams = 1,
		  .limit_bytes = 500 * 700 + 100 },
		{ .stream = { .udp = true, .length_bytes = 500, .rate_bps = 40000000 },
		  .streams = 1,
		  .limit_bytes = 500 * 700 },
		{ .stream = { .udp = true, .length_bytes = 500, .gsro = true },
		  .streams = 1,
		  .limit_bytes = 500 * 700 + 100 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cfgs); i++)
		if (!cfgs[i].stream.udp || has_room())
			a_limit_is_kept_to_the_byte_by(&cfgs[i]);
}

/*
 * Sent by the sender's own clock: never ahead of the schedule.  How far behind is the machine's:
 * see what_is_owed_after_a_stall_is_bounded().
 */
static void a_rate_is_kept_by(const struct flow_cfg *cfg)
{
	const unsigned int burst = cfg->stream.burst ? cfg->stream.burst : 1;
	uint64_t most, unit = stream_unit_bytes(&cfg->stream) * burst;
	struct ends x;

	run(&x, cfg, 300);
	most = (uint64_t)((double)cfg->stream.rate_bps / 8e9 *
			  (double)(x.tx.end_ns - x.tx.start_ns));
	for (unsigned int i = 0; i < cfg->streams; i++) {
		uint64_t got = flow_bytes(&x.tx, i);

		assert_true(got <= most + unit);
		assert_true(got > 0);
		assert_int_equal(got, flow_bytes(&x.rx, i));
	}
	release(&x);
}

static void rates_are_kept(void **state)
{
	const struct flow_cfg cfgs[] = {
		{ .stream = { .length_bytes = 128 << 10, .rate_bps = 1000000 }, .streams = 1 },
		{ .stream = { .length_bytes = 128 << 10, .rate_bps = 200000000, .burst = 10 },
		  .streams = 2 },
		{ .stream = { .udp = true, .length_bytes = 125, .rate_bps = 10000000 },
		  .streams = 2 },
		{ .stream = { .udp = true,
			      .length_bytes = 125,
			      .rate_bps = 10000000,
			      .gsro = true,
			      .burst = 100 },
		  .streams = 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cfgs); i++)
		a_rate_is_kept_by(&cfgs[i]);
}

static void a_cpu_that_is_not_there_is_named(void **state)
{
	struct flow_cfg cfg = { .stream = { .length_bytes = 1000 }, .streams = 1, .cpu = 1000 };
	struct err e = {};
	struct flow f;
	int pair[2];

	new_pair(false, pair);
	assert_int_equal(flow_init(&f, &cfg, &e), 0);
	take(&f, pair[0]);
	assert_int_equal(flow_start(&f, &e), -EINVAL);
	assert_contains(e.msg, "stream 1 of 1 on CPU 1000");
	flow_release(&f);
	close(pair[1]);
}

static void threads_run_where_they_are_pinned(void **state)
{
	const struct flow_cfg cfg = { .stream = { .length_bytes = 1000 }, .streams = 1 };
	struct ends x;
	cpu_set_t set, mine;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	while (!CPU_ISSET(cpu, &mine))
		cpu++;
	connect_ends(&x, &cfg);
	x.tx.cpu = cpu;
	start_ends(&x);
	assert_int_equal(pthread_getaffinity_np(x.tx.threads[0], sizeof(set), &set), 0);
	assert_int_equal(CPU_COUNT(&set), 1);
	assert_true(CPU_ISSET(cpu, &set));
	finish(&x);
	assert_true(flow_incoming_cpu(&x.rx, 0) >= 0);
	release(&x);
}

static void the_same_ports_can_be_had_again_at_once(void **state)
{
	const struct flow_cfg cfg = { .stream = { .length_bytes = 1000 }, .streams = 1 };
	int listen_fd = listening();
	struct sockaddr_in from = loopback(), to = name_of(listen_fd);

	for (int i = 0; i < 6; i++) {
		struct ends x;
		struct ends *ends = &x;
		int fd = bound(SOCK_STREAM), peer;

		if (i > 0) {
			close(fd);
			fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
		}
		from = name_of(fd);
		assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
		peer = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		open_flow(&x.tx, cfg, true);
		open_flow(&x.rx, cfg, false);
		/* whoever connected resets, whether it sent or received */
		take(i & 1 ? &x.rx : &x.tx, fd);
		take(i & 1 ? &x.tx : &x.rx, peer);
		start_ends(ends);
		sleep_ms(5);
		finish(ends);
		assert_int_equal(flow_bytes(&x.tx, 0), flow_bytes(&x.rx, 0));
		flow_reset(i & 1 ? &x.rx : &x.tx);
		release(ends);
	}
	close(listen_fd);
}

static void tcp_senders_know_the_path(void **state)
{
	const struct flow_cfg cfg = { .stream = { .length_bytes = 128 << 10 }, .streams = 2 };
	struct flow_count one, c;
	struct ends x;

	connect_ends(&x, &cfg);
	start_ends(&x);
	do
		flow_read_stream(&x.tx, 0, &one);
	while (one.delivery_bps == 0);
	assert_true(one.cwnd_bytes > 0 && one.rtt_ns > 0 && one.pmtu_bytes > 0);
	assert_true(one.snd_wnd_bytes > 0 && one.acked_bytes <= one.bytes + (1U << 30));
	do
		flow_read(&x.tx, &c);
	while (c.acked_bytes <= one.acked_bytes);
	assert_int_equal(read_flow(&x.rx).cwnd_bytes, 0);
	finish(&x);
	release(&x);
}

/* ---- bulk over UDP ---- */

static void udp_counts_what_arrives_by(const struct flow_cfg *cfg)
{
	struct flow_count tx, rx;
	struct wire_results res = {};
	struct ends x;

	run(&x, cfg, 50);
	tx = read_flow(&x.tx);
	rx = read_flow(&x.rx);
	assert_true(tx.packets > 0);
	assert_int_equal(tx.bytes, tx.packets * cfg->stream.length_bytes);
	assert_int_equal(rx.bytes, rx.received * cfg->stream.length_bytes);
	assert_int_equal((int64_t)(rx.packets - rx.received), rx.lost);
	assert_int_equal(rx.out_of_order, 0);
	assert_true(rx.packets <= tx.packets);
	flow_results(&x.rx, &res);
	assert_int_equal(res.nr, cfg->streams);
	assert_int_equal(res.streams[0].packets, rx.packets);
	assert_int_equal(res.streams[0].errors, rx.lost);
	release(&x);
}

static void udp_counts_what_arrives(void **state)
{
	const struct stream_cfg cfgs[] = {
		{ .length_bytes = 64 },
		{ .length_bytes = 1470, .counters_64bit = true },
		{ .length_bytes = 64, .gsro = true },
		{ .length_bytes = 1000, .gsro = true, .counters_64bit = true },
		{ .length_bytes = 16, .skip_rx_copy = true },
		{ .length_bytes = 40000, .gsro = true },
		{ .length_bytes = 65507 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cfgs); i++) {
		struct flow_cfg cfg = { .stream = cfgs[i], .streams = 1 };

		cfg.stream.udp = true;
		udp_counts_what_arrives_by(&cfg);
	}
}

static void all_datagrams_arrive_when_there_is_room(void **state)
{
	if (!has_room())
		skip();
	for (int i = 0; i < 4; i++) {
		struct flow_cfg cfg = { .stream = { .udp = true,
						    .length_bytes = 200,
						    .rate_bps = i & 1 ? 4000000 : 40000000,
						    .gsro = i & 2,
						    .counters_64bit = i & 1 },
					.streams = 1 };
		struct flow_count tx, rx;
		struct ends x;

		run(&x, &cfg, 50);
		tx = read_flow(&x.tx);
		rx = read_flow(&x.rx);
		assert_int_equal(rx.received, tx.packets);
		assert_int_equal(rx.packets, tx.packets);
		assert_int_equal(rx.lost, 0);
		release(&x);
	}
}

static void put_datagram(int fd, bool wide, uint64_t seq, size_t len)
{
	char data[2000] = {};
	uint32_t low = htobe32((uint32_t)seq);
	uint64_t all = htobe64(seq);

	memcpy(data + 8, wide ? (void *)&all : (void *)&low, wide ? 8 : 4);
	assert_int_equal(send(fd, data, len, 0), (ssize_t)len);
}

/* A path that drops, duplicates and swaps, and a stray greeting. */
static void loss_duplicates_and_reordering_are_exact(void **state)
{
	for (int wide = 0; wide < 2; wide++) {
		struct flow_cfg cfg = {
			.stream = { .udp = true, .length_bytes = 500, .counters_64bit = wide },
			.streams = 1
		};
		struct flow_count c;
		struct flow f;
		int pair[2];

		new_pair(true, pair);
		open_flow(&f, cfg, false);
		take(&f, pair[1]);
		/* early data: before anyone reads */
		put_datagram(pair[0], wide, 1, 500);
		assert_int_equal(send(pair[0], "6789", 4, 0), 4);
		start(&f);
		put_datagram(pair[0], wide, 3, 500); /* 2 is late */
		put_datagram(pair[0], wide, 2, 500);
		put_datagram(pair[0], wide, 2, 500); /* twice */
		put_datagram(pair[0], wide, 7, 100); /* 4, 5, 6 are missing */
		put_datagram(pair[0], wide, 7, 100);
		put_datagram(pair[0], wide, 7, 100);
		put_datagram(pair[0], wide, 7, 100);
		put_datagram(pair[0], wide, 5, 16);
		flow_finish(&f, BOUND_NS);
		c = read_flow(&f);
		assert_int_equal(c.packets, 7);
		assert_int_equal(c.received, 9);
		assert_int_equal(c.lost, 2);
		assert_int_equal(c.out_of_order, 2);
		assert_int_equal(c.bytes, 4 * 500 + 4 * 100 + 16);
		assert_true(f.end_ns > f.start_ns);
		flow_release(&f);
		close(pair[0]);
	}
}

/* What a path did to the datagrams of a real sender, in a seeded order. */
struct relay {
	int in, out; /* of the path's two ends */
	bool came[20001];
	uint64_t forwarded, distinct, highest;
};

static void forward(struct relay *r, const char *data, size_t len)
{
	uint32_t seq;

	memcpy(&seq, data + 8, sizeof(seq));
	seq = be32toh(seq);
	assert_true(seq > 0 && seq < ARRAY_SIZE(r->came));
	r->forwarded++;
	r->distinct += !r->came[seq];
	r->came[seq] = true;
	r->highest = seq > r->highest ? seq : r->highest;
	assert_int_equal(send(r->out, data, len, 0), (ssize_t)len);
}

/* One in ten is dropped, one in ten comes twice, one in ten after its successor. */
static void relay(struct relay *r, unsigned int nr)
{
	char data[64], kept[64];
	ssize_t have_kept = 0;
	uint64_t rng = 9;

	for (unsigned int i = 0; i < nr; i++) {
		ssize_t len = recv(r->in, data, sizeof(data), 0);
		uint64_t dice = rng_below(&rng, 10);

		assert_true(len >= 12);
		if (dice == 0)
			continue;
		if (dice == 1 && have_kept == 0) {
			memcpy(kept, data, sizeof(kept));
			have_kept = len;
			continue;
		}
		forward(r, data, (size_t)len);
		if (dice == 2)
			forward(r, data, (size_t)len);
		if (have_kept)
			forward(r, kept, (size_t)have_kept);
		have_kept = 0;
	}
}

static void what_a_path_does_to_datagrams_is_told_exactly(void **state)
{
	enum { NR = 20000 };
	static struct relay r;
	struct flow_cfg cfg = { .stream = { .udp = true, .length_bytes = 40 },
				.streams = 1,
				.limit_bytes = 40 * NR };
	struct flow_count c;
	struct ends x;
	int first[2], second[2];

	if (!has_room())
		skip();
	memset(&r, 0, sizeof(r));
	new_pair(true, first);
	new_pair(true, second);
	r.in = first[1];
	r.out = second[0];
	open_flow(&x.tx, cfg, true);
	open_flow(&x.rx, cfg, false);
	take(&x.tx, first[0]);
	take(&x.rx, second[1]);
	start_ends(&x);
	relay(&r, NR);
	finish(&x);
	c = read_flow(&x.rx);
	assert_int_equal(read_flow(&x.tx).packets, NR);
	assert_int_equal(c.received, r.forwarded);
	assert_int_equal(c.packets, r.highest);
	assert_int_equal(c.lost, r.highest - r.distinct);
	assert_true(c.out_of_order > NR / 30);
	assert_int_equal(c.bytes, 40 * r.forwarded);
	release(&x);
	close(r.in);
	close(r.out);
}

static void a_udp_peer_that_is_gone_breaks_the_stream(void **state)
{
	struct flow_cfg cfg = { .stream = { .udp = true, .length_bytes = 500 }, .streams = 1 };
	struct err e = {};
	struct flow f;
	int pair[2];

	new_pair(true, pair);
	close(pair[1]);
	open_flow(&f, cfg, true);
	take(&f, pair[0]);
	start(&f);
	while (flow_check(&f, &e) == 0)
		sleep_ms(1);
	assert_int_equal(e.code, -ECONNREFUSED);
	flow_release(&f);
}

/* Before the omitted time ended, and since: iperf3's results tell both. */
static void what_was_omitted_is_told_apart(void **state)
{
	struct flow_cfg cfg = { .stream = { .udp = true, .length_bytes = 500 }, .streams = 1 };
	struct wire_results res = {};
	struct flow f;
	int pair[2];

	new_pair(true, pair);
	open_flow(&f, cfg, false);
	take(&f, pair[1]);
	start(&f);
	put_datagram(pair[0], false, 3, 500);
	while (read_flow(&f).received < 1)
		sleep_ms(1);
	flow_omit(&f);
	put_datagram(pair[0], false, 8, 400);
	flow_finish(&f, BOUND_NS);
	flow_results(&f, &res);
	assert_int_equal(res.streams[0].bytes, 400);
	assert_int_equal(res.streams[0].packets, 8);
	assert_int_equal(res.streams[0].errors, 6);
	assert_true(res.streams[0].has_omitted);
	assert_int_equal(res.streams[0].omitted_packets, 3);
	assert_int_equal(res.streams[0].omitted_errors, 2);
	flow_release(&f);
	close(pair[0]);
}

/* ---- round trips ---- */

static struct flow_cfg rr_cfg(bool udp, uint64_t per_s)
{
	return (struct flow_cfg){ .stream = { .mode = WIRE_RR,
					      .udp = udp,
					      .rr_per_s = per_s,
					      .request_bytes = 64,
					      .response_bytes = 200 },
				  .streams = 2 };
}

static struct hist *all_of(struct flow *f)
{
	struct hist *h = hist_new();

	for (unsigned int i = 0; i < f->have; i++)
		flow_take_hist(f, i, h);
	return h;
}

static void every_transaction_is_in_the_histogram(void **state)
{
	for (int i = 0; i < 6; i++) {
		struct flow_cfg cfg = rr_cfg(i & 1, i > 1 ? 2000 : 0);
		struct flow_count tx, rx;
		_cleanup_(hist_freep) struct hist *h = NULL;
		struct ends x;

		cfg.stream.arrivals = i > 3 ? WIRE_POISSON : WIRE_EVEN;
		run(&x, &cfg, 50);
		tx = read_flow(&x.tx);
		rx = read_flow(&x.rx);
		h = all_of(&x.tx);
		assert_true(tx.packets > 0);
		assert_int_equal(h->total, tx.packets);
		assert_int_equal(tx.bytes, tx.packets * 264);
		/* what is under way at the end was answered, but not counted as received */
		assert_true(rx.packets >= tx.packets);
		assert_true(rx.packets <= tx.packets + (uint64_t)tx.lost + (i > 1 ? 2000 : 2));
		assert_int_equal(rx.bytes, rx.packets * 264);
		/* on a machine that stands still for a second, some are given up */
		assert_true(tx.lost >= 0);
		hist_free(h);
		h = all_of(&x.tx);
		assert_int_equal(h->total, 0);
		release(&x);
	}
}

/* The server stands still for 200 ms: requests due meanwhile have waited, and say so. */
static void a_stall_is_seen_by_all_requests_that_were_due(bool udp)
{
	enum { STALL_MS = 200, PER_S = 1000 };
	const uint64_t seq_bytes = 64;
	struct flow_cfg cfg = rr_cfg(udp, PER_S);
	_cleanup_(hist_freep) struct hist *h = NULL;
	struct flow f;
	char data[256];
	uint64_t answered = 0, owed = 0;
	int pair[2];

	cfg.streams = 1;
	new_pair(udp, pair);
	open_flow(&f, cfg, true);
	take(&f, pair[0]);
	start(&f);
	sleep_ms(STALL_MS);
	while (answered < STALL_MS / 2) {
		ssize_t n = recv(pair[1], data, seq_bytes, 0);

		assert_true(n > 0);
		owed += (uint64_t)n;
		for (; owed >= seq_bytes; owed -= seq_bytes, answered++)
			assert_int_equal(send(pair[1], data, 200, MSG_NOSIGNAL), 200);
	}
	while (read_flow(&f).packets < answered)
		sleep_ms(1);
	flow_finish(&f, 0);
	h = all_of(&f);
	assert_int_equal(h->total, answered);
	/* request k of the first hundred was due after k ms and answered after 200 */
	assert_true(h->min >= (STALL_MS / 2 - 1) * NS_PER_MS);
	assert_true(h->max >= (STALL_MS - 1) * NS_PER_MS);
	flow_release(&f);
	close(pair[1]);
}

static void a_stall_of_the_server_is_in_the_latency(void **state)
{
	a_stall_is_seen_by_all_requests_that_were_due(false);
	a_stall_is_seen_by_all_requests_that_were_due(true);
}

static void requests_that_nobody_answers_are_lost(void **state)
{
	for (int open_loop = 0; open_loop < 2; open_loop++) {
		struct flow_cfg cfg = rr_cfg(true, open_loop ? 100 : 0);
		struct flow f;
		int pair[2];

		cfg.streams = 1;
		new_pair(true, pair);
		open_flow(&f, cfg, true);
		take(&f, pair[0]);
		start(&f);
		while (read_flow(&f).lost == 0)
			sleep_ms(10);
		assert_int_equal(read_flow(&f).packets, 0);
		flow_finish(&f, 0);
		flow_release(&f);
		close(pair[1]);
	}
}

/* Taken again and again while the streams record: nothing is lost, nothing is there twice. */
static void taking_a_histogram_loses_nothing(void **state)
{
	struct flow_cfg cfg = rr_cfg(false, 0);
	_cleanup_(hist_freep) struct hist *h = hist_new(), *rest = NULL;
	struct flow_count c;
	struct ends x;
	int with = 0;

	connect_ends(&x, &cfg);
	start_ends(&x);
	for (int i = 0; i < 50; i++) {
		uint64_t before = h->total;

		for (unsigned int k = 0; k < cfg.streams; k++)
			flow_take_hist(&x.tx, k, h);
		with += h->total > before;
	}
	assert_true(with > 10);
	finish(&x);
	rest = all_of(&x.tx);
	c = read_flow(&x.tx);
	assert_int_equal(h->total + rest->total, c.packets);
	release(&x);
}

static void a_silent_server_does_not_keep_the_histogram(void **state)
{
	struct flow_cfg cfg = rr_cfg(false, 0);
	_cleanup_(hist_freep) struct hist *h = hist_new();
	char data[64];
	struct flow f;
	int pair[2];

	cfg.streams = 1;
	new_pair(false, pair);
	open_flow(&f, cfg, true);
	take(&f, pair[0]);
	start(&f);
	assert_int_equal(recv(pair[1], data, 64, MSG_WAITALL), 64);
	for (int i = 0; i < 3; i++) {
		flow_take_hist(&f, 0, h);
		assert_int_equal(h->total, 0);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(send(pair[1], "0123456789012345678901234567890123456789012345678",
				      50, MSG_NOSIGNAL),
				 50);
	while (h->total == 0)
		flow_take_hist(&f, 0, h);
	flow_finish(&f, 0);
	flow_take_hist(&f, 0, h);
	assert_int_equal(h->total, 1);
	flow_release(&f);
	close(pair[1]);
}

/* ---- connect, request, response, close ---- */

static void connections_come_and_go(void **state)
{
	for (int open_loop = 0; open_loop < 2; open_loop++) {
		struct flow_cfg cfg = rr_cfg(false, open_loop ? 500 : 0);
		_cleanup_(hist_freep) struct hist *h = NULL;
		struct flow_count tx, rx;
		int fd = listening();
		struct sockaddr_in at = name_of(fd);
		struct ends x;

		cfg.stream.mode = WIRE_CRR;
		memcpy(&cfg.stream.peer, &at, sizeof(at));
		cfg.stream.peer_len = sizeof(at);
		open_flow(&x.tx, cfg, true);
		open_flow(&x.rx, cfg, false);
		assert_int_equal(x.tx.have, 2);
		take(&x.rx, dup(fd));
		take(&x.rx, fd);
		start_ends(&x);
		sleep_ms(100);
		finish(&x);
		tx = read_flow(&x.tx);
		rx = read_flow(&x.rx);
		h = all_of(&x.tx);
		assert_true(tx.packets > 0);
		assert_int_equal(h->total, tx.packets);
		assert_true(rx.packets >= tx.packets && rx.packets <= tx.packets + 2);
		assert_int_equal(tx.lost, 0);
		assert_int_equal(tx.bytes, tx.packets * 264);
		release(&x);
	}
}

static void nobody_listens_and_the_stream_breaks(void **state)
{
	struct flow_cfg cfg = rr_cfg(false, 0);
	int fd = listening();
	struct sockaddr_in at = name_of(fd);
	struct err e = {};
	struct flow f;

	close(fd);
	cfg.stream.mode = WIRE_CRR;
	memcpy(&cfg.stream.peer, &at, sizeof(at));
	cfg.stream.peer_len = sizeof(at);
	open_flow(&f, cfg, true);
	start(&f);
	while (flow_check(&f, &e) == 0)
		sleep_ms(1);
	assert_int_equal(e.code, -ECONNREFUSED);
	flow_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_even_schedule_has_its_rate),
		cmocka_unit_test(streams_do_not_start_together),
		cmocka_unit_test(poisson_gaps_are_exponential),
		cmocka_unit_test(the_same_seed_gives_the_same_times),
		cmocka_unit_test(what_is_owed_after_a_stall_is_bounded),
		cmocka_unit_test(paced_blocks_shrink_at_low_rates),
		cmocka_unit_test(gaps_are_losses_until_what_is_missing_comes),
		cmocka_unit_test(numbers_that_nobody_sends_are_ignored),
		cmocka_unit_test(any_order_within_the_window_is_counted_exactly),
		cmocka_unit_test(what_is_too_late_to_be_known_makes_up_for_nothing),
		cmocka_unit_test(numbers_of_32_bits_go_on_after_the_last),
		cmocka_unit_test(every_way_to_move_bytes_moves_all),
		cmocka_unit_test(a_repeating_payload_is_iperf3s),
		cmocka_unit_test(limits_are_kept_to_the_byte),
		cmocka_unit_test(rates_are_kept),
		cmocka_unit_test(a_cpu_that_is_not_there_is_named),
		cmocka_unit_test(threads_run_where_they_are_pinned),
		cmocka_unit_test(the_same_ports_can_be_had_again_at_once),
		cmocka_unit_test(tcp_senders_know_the_path),
		cmocka_unit_test(udp_counts_what_arrives),
		cmocka_unit_test(all_datagrams_arrive_when_there_is_room),
		cmocka_unit_test(loss_duplicates_and_reordering_are_exact),
		cmocka_unit_test(what_a_path_does_to_datagrams_is_told_exactly),
		cmocka_unit_test(a_udp_peer_that_is_gone_breaks_the_stream),
		cmocka_unit_test(what_was_omitted_is_told_apart),
		cmocka_unit_test(every_transaction_is_in_the_histogram),
		cmocka_unit_test(a_stall_of_the_server_is_in_the_latency),
		cmocka_unit_test(requests_that_nobody_answers_are_lost),
		cmocka_unit_test(taking_a_histogram_loses_nothing),
		cmocka_unit_test(a_silent_server_does_not_keep_the_histogram),
		cmocka_unit_test(connections_come_and_go),
		cmocka_unit_test(nobody_listens_and_the_stream_breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
