// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The traffic engine with real sockets: both ends in this process over loopback, or in namespaces
 * made for the test.  Times are bounds against hanging, never expectations.
 */
#include "test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/kfile.h"
#include "load/client.h"
#include "load/load.h"
#include "load/peer.h"
#include "load/server.h"
#include "load/stream.h"
#include "load/wire.h"
#include "plan/instance.h"
#include "sample/sample.h"

#define PATIENCE_NS (60 * NS_PER_S) /* before a test says that something hangs */

extern const struct load_ops load_tcp, load_command;

/* What the server said last; written by its thread, read after server_close(). */
struct notes {
	struct wire_results mine, theirs;
	bool has_theirs;
	int tests;
	int begun;
	char said[4096];
};

static struct notes notes;

static void on_said(void *ctx, const char *line)
{
	size_t len = strlen(notes.said);

	snprintf(notes.said + len, sizeof(notes.said) - len, "%s\n", line);
}

static void on_began(void *ctx, struct server_test *test)
{
	notes.begun++;
}

static void on_ended(void *ctx, struct server_test *test)
{
	notes.mine = *test->mine;
	notes.has_theirs = test->theirs != NULL;
	if (test->theirs)
		notes.theirs = *test->theirs;
	notes.tests++;
}

static struct server *new_server(uint64_t step_ns)
{
	struct server_cfg cfg = { .bind = "127.0.0.1",
				  .listen_fd = -1,
				  .cpu = -1,
				  .step_ns = step_ns,
				  .watch = {
					  .said = on_said, .began = on_began, .ended = on_ended } };
	struct server *s = NULL;
	struct err e = {};

	memset(&notes, 0, sizeof(notes));
	if (server_open(&s, &cfg, &e) < 0 || server_start(s, &e) < 0)
		fail_msg("%s", e.msg);
	return s;
}

static struct client_cfg client_of(const struct server *s)
{
	return (struct client_cfg){ .host = "127.0.0.1",
				    .port = server_port(s),
				    .params = { .streams = 1,
						.time_s = 10,
						.length_bytes = 128 << 10,
						.server_cpu = -1 },
				    .cpu = -1,
				    .sample_ns = 20 * NS_PER_MS,
				    .max_samples = 1000 };
}

static void pause_ms(unsigned int ms)
{
	struct timespec t = clock_timespec(ms * NS_PER_MS);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* A whole test of @ms; the client, stopped, for more questions. */
static struct client *run_client(const struct client_cfg *cfg, unsigned int ms)
{
	struct client *c = NULL;
	struct err e = {};

	if (client_open(&c, cfg, &e) < 0 || client_start(c, &e) < 0 ||
	    client_wait_bytes(c, PATIENCE_NS, &e) < 0)
		fail_msg("%s", e.msg);
	pause_ms(ms);
	if (client_stop(c, &e) < 0)
		fail_msg("%s", e.msg);
	return c;
}

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

static void a_server_serves_one_test_after_another(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);

	/* a client that comes right after another finds the server ending that test */
	cfg.retry_ns = PATIENCE_NS;
	for (int i = 0; i < 5; i++)
		client_close(run_client(&cfg, 1));
	server_close(s);
	assert_int_equal(notes.tests, 5);
	assert_string_equal(notes.said, "");
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
	/* whole blocks up to the end, by the client's own clock; far below only if it stood still
	 */
	assert_true((double)mine->bytes <= mine->end_s * (double)rate / 8 + 2 * 10000);
	assert_true((double)mine->bytes >= mine->end_s * (double)rate / 8 * 0.2);
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
	const struct flow_count *v;
	struct client *c;
	size_t nr = 0, lost = 0;

	cfg.max_samples = 3;
	c = run_client(&cfg, 500);
	v = client_samples(c, CLIENT_TX, &nr, &lost);
	assert_int_equal(nr, 3);
	assert_true(lost > 0);
	for (size_t i = 1; i < nr; i++) {
		assert_true(v[i].t_ns > v[i - 1].t_ns);
		assert_true(v[i].bytes >= v[i - 1].bytes);
		assert_true(v[i].cwnd_bytes > 0);
	}
	client_close(c);
	server_close(s);
}

static int connect_to(const struct server *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(server_port(s)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void put(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

/* The next byte, or -100 at the end of the connection. */
static int take(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	signed char c = 0;

	if (poll(&p, 1, (int)(PATIENCE_NS / NS_PER_MS)) != 1)
		fail_msg("the server hangs");
	return recv(fd, &c, 1, 0) == 1 ? c : -100;
}

static void put_json(int fd, const char *text)
{
	uint32_t be = htonl((uint32_t)strlen(text));

	put(fd, &be, sizeof(be));
	put(fd, text, strlen(text));
}

#define COOKIE "abcdefghijklmnopqrstuvwxyz234567abcd"
#define PARAMS "{\"tcp\":true,\"time\":1,\"parallel\":1,\"len\":1000}"

/* A hostile client that behaves until @state and sends what is wrong there. */
enum rogue {
	ROGUE_SILENT,
	ROGUE_NO_COOKIE,
	ROGUE_LEAVES_AT_ONCE,
	ROGUE_SILENT_PARAMS,
	ROGUE_HUGE_PARAMS,
	ROGUE_BAD_PARAMS,
	ROGUE_UDP,
	ROGUE_BAD_CONGESTION,
	ROGUE_NO_STREAMS,
	ROGUE_RUBBISH_FOR_STREAMS,
	ROGUE_LEAVES_DURING_TEST,
	ROGUE_RUBBISH_DURING_TEST,
	ROGUE_TERMINATES,
	ROGUE_NO_RESULTS,
	ROGUE_HUGE_RESULTS,
	ROGUE_BAD_RESULTS,
	ROGUE_NO_FAREWELL,
	ROGUE_NR,
};

/* Up to TEST_RUNNING; the data connection. */
static int join_as_rogue(const struct server *s, int fd)
{
	int data;

	assert_int_equal(take(fd), WIRE_CREATE_STREAMS);
	data = connect_to(s);
	put(data, COOKIE, 37);
	assert_int_equal(take(fd), WIRE_TEST_START);
	assert_int_equal(take(fd), WIRE_TEST_RUNNING);
	put(data, "0123456789", 10);
	return data;
}

static int rogue_before_test(const struct server *s, int fd, enum rogue r)
{
	static const char rubbish[64] = "GET / HTTP/1.1\r\nHost: nobody\r\n";

	if (r == ROGUE_SILENT || r == ROGUE_LEAVES_AT_ONCE)
		return -1;
	if (r == ROGUE_NO_COOKIE) {
		put(fd, rubbish, sizeof(rubbish));
		return -1;
	}
	put(fd, COOKIE, 37);
	assert_int_equal(take(fd), WIRE_PARAM_EXCHANGE);
	if (r == ROGUE_SILENT_PARAMS)
		return -1;
	if (r == ROGUE_HUGE_PARAMS)
		put(fd, "\x7f\xff\xff\xff", 4);
	else if (r == ROGUE_BAD_PARAMS)
		put_json(fd, "{\"tcp\":true,\"parallel\":\"many\"}");
	else if (r == ROGUE_UDP)
		put_json(fd, "{\"udp\":true}");
	else if (r == ROGUE_BAD_CONGESTION)
		put_json(fd, "{\"tcp\":true,\"congestion\":\"nosuch\"}");
	else
		put_json(fd, PARAMS);
	if (r == ROGUE_BAD_CONGESTION) {
		int data;

		assert_int_equal(take(fd), WIRE_CREATE_STREAMS);
		data = connect_to(s);
		put(data, COOKIE, 37);
		assert_int_equal(take(fd), WIRE_SERVER_ERROR);
		close(data);
		return -1;
	}
	if (r == ROGUE_BAD_PARAMS || r == ROGUE_UDP)
		assert_int_equal(take(fd), WIRE_SERVER_ERROR);
	if (r < ROGUE_NO_STREAMS)
		return -1;
	if (r == ROGUE_NO_STREAMS || r == ROGUE_RUBBISH_FOR_STREAMS) {
		assert_int_equal(take(fd), WIRE_CREATE_STREAMS);
		if (r == ROGUE_RUBBISH_FOR_STREAMS)
			put(fd, rubbish, sizeof(rubbish));
		return -1;
	}
	return join_as_rogue(s, fd);
}

static void rogue_after_start(int fd, enum rogue r)
{
	if (r == ROGUE_LEAVES_DURING_TEST)
		return;
	if (r == ROGUE_RUBBISH_DURING_TEST) {
		put(fd, "\x63", 1);
		return;
	}
	if (r == ROGUE_TERMINATES) {
		put(fd, "\x0c", 1);
		return;
	}
	put(fd, "\x04", 1);
	assert_int_equal(take(fd), WIRE_EXCHANGE_RESULTS);
	if (r == ROGUE_NO_RESULTS)
		return;
	if (r == ROGUE_HUGE_RESULTS) {
		put(fd, "\xff\xff\xff\xff", 4);
		return;
	}
	put_json(fd, r == ROGUE_BAD_RESULTS ? "{\"streams\":[{\"id\":\"x\"}]}"
					    : "{\"streams\":[{\"id\":1,\"bytes\":10}]}");
}

static void be_rogue(const struct server *s, enum rogue r)
{
	bool leaves = r == ROGUE_LEAVES_AT_ONCE || r == ROGUE_LEAVES_DURING_TEST;
	int fd = connect_to(s);
	int data = rogue_before_test(s, fd, r);

	if (data >= 0)
		rogue_after_start(fd, r);
	/* the server ends it in its own time: whatever else it says, the connection closes */
	while (!leaves && take(fd) != -100)
		;
	close(fd);
	if (data >= 0)
		close(data);
}

static void whatever_a_client_does_the_next_one_is_served(void **state)
{
	static const char *const why[ROGUE_NR] = {
		[ROGUE_SILENT] = "sent no cookie in time",
		[ROGUE_NO_COOKIE] = "no iperf3 cookie",
		[ROGUE_LEAVES_AT_ONCE] = "closed before it sent a cookie",
		[ROGUE_SILENT_PARAMS] = "is silent",
		[ROGUE_HUGE_PARAMS] = "at most 8192 allowed",
		[ROGUE_BAD_PARAMS] = "\"parallel\" is not a number",
		[ROGUE_UDP] = "asks for UDP",
		[ROGUE_BAD_CONGESTION] = "\"nosuch\"",
		[ROGUE_NO_STREAMS] = "opened 0 of 1 streams",
		[ROGUE_RUBBISH_FOR_STREAMS] = "rubbish instead of streams",
		[ROGUE_LEAVES_DURING_TEST] = "closed the connection",
		[ROGUE_RUBBISH_DURING_TEST] = "sent 99",
		[ROGUE_TERMINATES] = "ended the test early",
		[ROGUE_NO_RESULTS] = "is silent",
		[ROGUE_HUGE_RESULTS] = "at most 1048576 allowed",
		[ROGUE_BAD_RESULTS] = "\"id\" is not a number",
		[ROGUE_NO_FAREWELL] = "is silent",
	};

	for (enum rogue r = 0; r < ROGUE_NR; r++) {
		struct server *s = new_server(300 * NS_PER_MS);
		struct client_cfg cfg = client_of(s);

		be_rogue(s, r);
		cfg.retry_ns = PATIENCE_NS;
		client_close(run_client(&cfg, 1));
		server_close(s);
		if (!strstr(notes.said, why[r]))
			fail_msg("rogue %d: \"%s\" is not in \"%s\"", r, why[r], notes.said);
		assert_true(notes.has_theirs);
	}
}

static void a_silent_connection_keeps_nobody_waiting(void **state)
{
	/* the server would wait for it much longer than this test runs */
	struct server *s = new_server(3600 * NS_PER_S);
	struct client_cfg cfg = client_of(s);
	int silent = connect_to(s), half = connect_to(s);

	put(half, COOKIE, 20);
	cfg.params.streams = 3;
	client_close(run_client(&cfg, 1));
	close(silent);
	close(half);
	server_close(s);
	assert_int_equal(notes.tests, 1);
}

static void a_second_client_is_told_that_the_server_is_busy(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	struct client *c = NULL, *second = NULL;
	struct err e = {};
	int fd;

	assert_int_equal(client_open(&c, &cfg, &e), 0);
	assert_int_equal(client_start(c, &e), 0);
	assert_int_equal(client_open(&second, &cfg, &e), 0);
	assert_int_equal(client_start(second, &e), -EBUSY);
	assert_contains(e.msg, "busy with another test");
	fd = connect_to(s);
	put(fd, COOKIE, 37);
	assert_int_equal(take(fd), WIRE_ACCESS_DENIED);
	assert_int_equal(take(fd), -100);
	close(fd);
	/* the first has not noticed */
	assert_int_equal(client_wait_bytes(c, PATIENCE_NS, &e), 0);
	assert_int_equal(client_stop(c, &e), 0);
	client_close(second);
	client_close(c);
	server_close(s);
	assert_contains(notes.said, "another test is running");
}

static void skip_json(int fd)
{
	uint32_t be = 0;
	char c;

	assert_int_equal(recv(fd, &be, sizeof(be), MSG_WAITALL), sizeof(be));
	for (uint32_t left = ntohl(be); left > 0; left--)
		assert_int_equal(recv(fd, &c, 1, 0), 1);
}

static void who_waited_for_a_farewell_is_served_next(void **state)
{
	/* the server would wait for everything much longer than this test runs */
	struct server *s = new_server(3600 * NS_PER_S);
	int fd = connect_to(s), next, data;

	put(fd, COOKIE, 37);
	assert_int_equal(take(fd), WIRE_PARAM_EXCHANGE);
	put_json(fd, PARAMS);
	data = join_as_rogue(s, fd);
	rogue_after_start(fd, ROGUE_NO_FAREWELL);
	skip_json(fd);
	assert_int_equal(take(fd), WIRE_DISPLAY_RESULTS);
	next = connect_to(s);
	put(next, COOKIE, 37);
	pause_ms(200); /* the server reads the cookie while it waits for the farewell */
	put(fd, "\x10", 1);
	assert_int_equal(take(next), WIRE_PARAM_EXCHANGE);
	close(next);
	close(data);
	close(fd);
	server_close(s);
}

/* No thread can be made while the default stack is larger than the address space. */
static void set_stack(size_t bytes)
{
	pthread_attr_t attr;

	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

static void a_server_without_threads_for_the_streams_says_so(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	int fd = connect_to(s), data;
	pthread_attr_t attr;
	uint32_t be[2] = {};
	size_t old = 0;

	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	assert_int_equal(pthread_attr_getstacksize(&attr, &old), 0);
	set_stack((size_t)1 << 50);
	put(fd, COOKIE, 37);
	assert_int_equal(take(fd), WIRE_PARAM_EXCHANGE);
	put_json(fd, PARAMS);
	data = join_as_rogue(s, fd);
	assert_int_equal(take(fd), WIRE_SERVER_ERROR);
	assert_int_equal(recv(fd, be, sizeof(be), MSG_WAITALL), sizeof(be));
	assert_int_equal(ntohl(be[0]), WIRE_ECREATESTREAM);
	assert_int_not_equal(be[1], 0);
	assert_int_equal(take(fd), -100);
	set_stack(old);
	pthread_attr_destroy(&attr);
	close(data);
	close(fd);
	/* a test that never began has no end; the next one has */
	cfg.retry_ns = PATIENCE_NS;
	client_close(run_client(&cfg, 1));
	server_close(s);
	assert_contains(notes.said, "thread for stream 1 of 1");
	assert_int_equal(notes.begun, 1);
	assert_int_equal(notes.tests, 1);
}

static void a_client_notices_that_its_server_is_gone(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	struct client *c = NULL;
	struct err e = {};
	uint64_t until = clock_mono_ns() + PATIENCE_NS;

	assert_int_equal(client_open(&c, &cfg, &e), 0);
	assert_int_equal(client_start(c, &e), 0);
	server_close(s);
	while (client_check(c, &e) == 0) {
		assert_true(clock_mono_ns() < until);
		pause_ms(1);
	}
	assert_contains(e.msg, "server 127.0.0.1");
	assert_true(client_stop(c, &e) < 0);
	assert_null(client_mine(c));
	client_close(c);
}

static void no_server_is_a_helpful_error(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	struct client *c = NULL;
	struct err e = {};

	server_close(s);
	assert_int_equal(client_open(&c, &cfg, &e), 0);
	assert_int_equal(client_start(c, &e), -ECONNREFUSED);
	assert_contains(e.msg, "iperf3 -s");
	client_close(c);
}

/* What is no iperf3 server, such as ssh's. */
static void *answer_rubbish(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	if (fd >= 0 && send(fd, "SSH-2.0\r\n", 9, MSG_NOSIGNAL) == 9) {
		char c[64];

		while (recv(fd, c, sizeof(c), 0) > 0)
			;
	}
	close(fd);
	return NULL;
}

static void something_else_than_a_server_is_a_helpful_error(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct client_cfg cfg = {
		.host = "127.0.0.1",
		.params = { .streams = 1, .time_s = 1, .length_bytes = 1000, .server_cpu = -1 },
		.cpu = -1,
	};
	struct client *c = NULL;
	struct err e = {};
	pthread_t t;

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	cfg.port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&t, NULL, answer_rubbish, &fd), 0);
	assert_int_equal(client_open(&c, &cfg, &e), 0);
	assert_int_equal(client_start(c, &e), -EPROTO);
	assert_contains(e.msg, "is it an iperf3 server?");
	client_close(c);
	pthread_join(t, NULL);
	close(fd);
}

/* A server that does all up to TEST_RUNNING and then closes one of two streams. */
struct quitter {
	int listen_fd;
	struct client_cfg cfg;
	pthread_t thread;
};

static int accept_cookie(int listen_fd)
{
	char cookie[WIRE_COOKIE_SIZE];
	int fd = accept(listen_fd, NULL, NULL);

	assert_true(fd >= 0);
	assert_int_equal(recv(fd, cookie, sizeof(cookie), MSG_WAITALL), sizeof(cookie));
	return fd;
}

static void *quit_one_stream(void *quitter)
{
	const struct quitter *q = quitter;
	int fd = accept_cookie(q->listen_fd), data[2];

	put(fd, "\x09", 1);
	skip_json(fd);
	put(fd, "\x0a", 1);
	data[0] = accept_cookie(q->listen_fd);
	data[1] = accept_cookie(q->listen_fd);
	put(fd, "\x01\x02", 2);
	put(data[0], "0123456789", 10);
	put(data[1], "0123456789", 10);
	close(data[1]);
	/* the client ends it */
	while (take(fd) != -100)
		;
	close(data[0]);
	close(fd);
	return NULL;
}

static void open_quitter(struct quitter *q)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	q->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(q->listen_fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(q->listen_fd, 4), 0);
	assert_int_equal(getsockname(q->listen_fd, (struct sockaddr *)&at, &len), 0);
	q->cfg = (struct client_cfg){ .host = "127.0.0.1",
				      .port = ntohs(at.sin_port),
				      .params = { .reverse = true,
						  .streams = 2,
						  .time_s = 1,
						  .length_bytes = 1000,
						  .server_cpu = -1 },
				      .cpu = -1 };
	assert_int_equal(pthread_create(&q->thread, NULL, quit_one_stream, q), 0);
}

static void close_quitter(struct quitter *q)
{
	pthread_join(q->thread, NULL);
	close(q->listen_fd);
}

static const char stream_2_is_closed[] =
	"stream 2 of 2 was closed by the peer before the end of the test";

static void a_stream_that_the_server_closes_early_fails_the_test(void **state)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	struct quitter q = {};
	struct client *c = NULL;
	struct err e = {};

	open_quitter(&q);
	assert_int_equal(client_open(&c, &q.cfg, &e), 0);
	assert_int_equal(client_start(c, &e), 0);
	while (client_check(c, &e) == 0) {
		assert_true(clock_mono_ns() < until);
		pause_ms(1);
	}
	assert_contains(e.msg, stream_2_is_closed);
	assert_contains(e.msg, "server 127.0.0.1");
	assert_true(client_stop(c, &e) < 0);
	assert_contains(e.msg, stream_2_is_closed);
	assert_null(client_mine(c));
	client_close(c);
	close_quitter(&q);
}

static void a_stream_that_the_client_closes_early_fails_the_test(void **state)
{
	struct server *s = new_server(0);
	int fd = connect_to(s), data;
	uint32_t be[2] = {};

	put(fd, COOKIE, 37);
	assert_int_equal(take(fd), WIRE_PARAM_EXCHANGE);
	put_json(fd, PARAMS);
	data = join_as_rogue(s, fd);
	close(data);
	assert_int_equal(take(fd), WIRE_SERVER_ERROR);
	assert_int_equal(recv(fd, be, sizeof(be), MSG_WAITALL), sizeof(be));
	assert_int_equal(ntohl(be[0]), WIRE_ESTREAMREAD);
	assert_int_equal(take(fd), -100);
	close(fd);
	server_close(s);
	assert_contains(notes.said, "stream 1 of 1 was closed by the peer");
	assert_false(notes.has_theirs);
}

static void an_interrupted_client_waits_for_nobody(void **state)
{
	static atomic_bool interrupted;
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* accepts, says nothing */
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	struct client *c = NULL;
	struct err e = {};

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	cfg.interrupted = &interrupted;
	/* a test that runs is ended as agreed */
	assert_int_equal(client_open(&c, &cfg, &e), 0);
	assert_int_equal(client_start(c, &e), 0);
	assert_int_equal(client_wait_bytes(c, PATIENCE_NS, &e), 0);
	atomic_store(&interrupted, true);
	if (client_stop(c, &e) < 0)
		assert_contains(e.msg, "interrupted"); /* on a machine too busy for a farewell */
	else
		assert_non_null(client_theirs(c));
	client_close(c);
	server_close(s);
	/* one that has not begun is not */
	cfg.port = ntohs(at.sin_port);
	c = NULL;
	assert_int_equal(client_open(&c, &cfg, &e), 0);
	assert_int_equal(client_start(c, &e), -ECANCELED);
	assert_contains(e.msg, "interrupted");
	client_close(c);
	close(fd);
}

/* Records of a load, kept. */
struct keep {
	struct sample_sink sink;
	struct record_list list;
};

static int keep_emit(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	return record_list_take(&((struct keep *)sink)->list, record_copy(rec), e);
}

static const struct record *find(const struct keep *k, enum record_kind kind, const char *metric)
{
	for (size_t i = 0; i < k->list.nr; i++)
		if (k->list.v[i]->kind == kind && strcmp(k->list.v[i]->metric, metric) == 0)
			return k->list.v[i];
	return NULL;
}

static struct instance new_instance(const char *plugin)
{
	return (struct instance){ .plugin = strdup(plugin), .name = strdup(plugin) };
}

__attribute__((noinline)) static void set(struct instance *inst, const char *key, const char *value)
{
	struct err e = {};

	assert_int_equal(instance_set(inst, key, value, 0, &e), 0);
}

/* From open to drain as a trial does it. */
__attribute__((noinline)) static int run_load(const struct load_ops *ops,
					      const struct load_env *env,
					      const struct instance *inst, struct keep *k,
					      struct err *e)
{
	struct load *l = NULL;
	int r = ops->open(&l, env, inst, e);

	k->sink.emit = keep_emit;
	if (r >= 0)
		r = ops->start(l, e);
	if (r >= 0)
		pause_ms(150);
	if (r >= 0)
		r = ops->begin(l, clock_mono_ns(), e);
	if (r >= 0)
		pause_ms(500);
	if (r >= 0)
		r = ops->end(l, clock_mono_ns(), e);
	if (r >= 0)
		r = ops->stop(l, e);
	if (r >= 0)
		r = ops->drain(l, &k->sink, e);
	ops->close(l);
	return r;
}

__attribute__((noinline)) static void check_tcp(const struct peer *peer, const char *direction,
						const char *rate)
{
	struct load_env env = { .peer = peer, .seed = 1, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("tcp");
	const struct record *r;
	bool sender = strcmp(direction, "from-dut") == 0;
	struct keep k = {};
	struct err e = {};

	set(&inst, "direction", direction);
	set(&inst, "rate", rate);
	set(&inst, "streams", "2");
	if (run_load(&load_tcp, &env, &inst, &k, &e) < 0)
		fail_msg("%s", e.msg);
	r = find(&k, RECORD_SCALAR, "throughput");
	assert_non_null(r);
	assert_string_equal(r->unit, "bit/s");
	assert_true(r->value > 0);
	assert_non_null(find(&k, RECORD_SCALAR, "tcp.retransmits"));
	r = find(&k, RECORD_SERIES, "tcp.throughput");
	assert_non_null(r);
	assert_true(r->nr_points >= 2);
	assert_true(r->points[0].t_ns < 0);
	for (size_t i = 1; i < r->nr_points; i++)
		assert_true(r->points[i].t_ns > r->points[i - 1].t_ns);
	assert_true((find(&k, RECORD_SERIES, "tcp.retransmits") != NULL) == sender);
	assert_true((find(&k, RECORD_SERIES, "tcp.cwnd") != NULL) == sender);
	assert_true((find(&k, RECORD_SERIES, "tcp.rtt") != NULL) == sender);
	r = find(&k, RECORD_SCALAR, "tcp.offered-share");
	assert_true((r != NULL) == (strcmp(rate, "0") != 0));
	/* twice: a block more than the window's share, at each edge and stream */
	assert_true(!r || r->value < 2);
	record_list_release(&k.list);
}

/* More than any loopback of this decade carries. */
__attribute__((noinline)) static void check_short_of_rate(const struct peer *peer)
{
	struct load_env env = { .peer = peer, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("tcp");
	const struct record *r;
	struct keep k = {};
	struct err e = {};

	set(&inst, "rate", "900T");
	if (run_load(&load_tcp, &env, &inst, &k, &e) < 0)
		fail_msg("%s", e.msg);
	r = find(&k, RECORD_EVENT, "tcp.offered-share");
	assert_non_null(r);
	assert_int_equal(r->severity, SEVERITY_WARN);
	assert_contains(r->text, "peer sent less than asked: ");
	assert_contains(r->text, " of 900 Tbit/s");
	record_list_release(&k.list);
}

static void the_tcp_load_measures_over_loopback(void **state)
{
	struct server *s = new_server(0);
	struct peer peer = { .kind = PEER_HOST, .addr = "127.0.0.1", .port = server_port(s) };

	check_tcp(&peer, "to-dut", "0");
	check_tcp(&peer, "from-dut", "0");
	check_tcp(&peer, "to-dut", "20M");
	check_tcp(&peer, "from-dut", "20M");
	check_short_of_rate(&peer);
	server_close(s);
}

static void the_tcp_load_refuses_what_cannot_work(void **state)
{
	struct peer none = { .kind = PEER_NONE };
	struct peer there = { .kind = PEER_HOST, .addr = "127.0.0.1", .port = 1 };
	struct load_env env = { .peer = &none, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("tcp");
	struct load *l = NULL;
	struct err e = {};

	assert_int_equal(load_tcp.open(&l, &env, &inst, &e), -EINVAL);
	assert_contains(e.msg, "needs a peer");
	/* the trial says of which load */
	assert_null(strstr(e.msg, "load"));
	env.peer = &there;
	set(&inst, "streams", "129");
	assert_true(load_tcp.open(&l, &env, &inst, &e) < 0);
	set(&inst, "streams", "4");
	set(&inst, "rate", "3");
	assert_true(load_tcp.open(&l, &env, &inst, &e) < 0);
	assert_contains(e.msg, "less than 1 bit/s");
	set(&inst, "rate", "0");
	set(&inst, "congestion", "a-name-far-too-long");
	assert_true(load_tcp.open(&l, &env, &inst, &e) < 0);
	assert_contains(e.msg, "at most 15");
	assert_null(l);
}

static void the_tcp_load_fails_with_a_stream_closed_early(void **state)
{
	struct peer there = { .kind = PEER_HOST, .addr = "127.0.0.1" };
	struct load_env env = { .peer = &there, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("tcp");
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	struct quitter q = {};
	struct load *l = NULL;
	struct err e = {};
	int r;

	open_quitter(&q);
	there.port = q.cfg.port;
	set(&inst, "streams", "2");
	assert_int_equal(load_tcp.open(&l, &env, &inst, &e), 0);
	/* the stream may be found closed as soon as this */
	r = load_tcp.start(l, &e);
	while (r >= 0) {
		assert_true(clock_mono_ns() < until);
		pause_ms(1);
		r = load_tcp.begin(l, 0, &e);
	}
	assert_contains(e.msg, stream_2_is_closed);
	assert_true(load_tcp.end(l, 0, &e) < 0);
	assert_contains(e.msg, stream_2_is_closed);
	load_tcp.close(l);
	close_quitter(&q);
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

static pid_t read_pid(const char *path)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;

	for (;;) {
		_cleanup_(fclose_filep) FILE *f = fopen(path, "re");
		int pid = 0;

		if (f && fscanf(f, "%d", &pid) == 1)
			return pid;
		if (clock_mono_ns() > until)
			fail_msg("%s: nothing in it", path);
		pause_ms(10);
	}
}

static void a_command_runs_for_the_window_and_no_longer(void **state)
{
	struct load_env env = { .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("command");
	struct keep k = {};
	struct err e = {};

	set(&inst, "run", "while :; do :; done");
	if (run_load(&load_command, &env, &inst, &k, &e) < 0)
		fail_msg("%s", e.msg);
	assert_null(find(&k, RECORD_EVENT, "command.cpu"));
	assert_non_null(find(&k, RECORD_SCALAR, "command.cpu"));
	assert_true(find(&k, RECORD_SCALAR, "command.cpu")->value > 0);
	record_list_release(&k.list);
	/* no child is left to wait for */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_command_that_ends_early_vetoes_the_trial(void **state)
{
	struct load_env env = { .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("command");
	struct keep k = {};
	struct err e = {};

	set(&inst, "run", "exit 3");
	if (run_load(&load_command, &env, &inst, &k, &e) < 0)
		fail_msg("%s", e.msg);
	assert_non_null(find(&k, RECORD_EVENT, "command.cpu"));
	assert_int_equal(find(&k, RECORD_EVENT, "command.cpu")->severity, SEVERITY_VETO);
	assert_contains(find(&k, RECORD_EVENT, "command.cpu")->text,
			"\"exit 3\" ended before the window did (exit status 3): the load must run "
			"for the whole window");
	record_list_release(&k.list);
}

static void a_command_that_is_not_there_fails_the_trial(void **state)
{
	struct load_env env = { .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("command");
	struct load *l = NULL;
	siginfo_t info = {};
	struct err e = {};

	set(&inst, "run", "/no/such/program");
	assert_int_equal(load_command.open(&l, &env, &inst, &e), 0);
	assert_int_equal(load_command.start(l, &e), 0);
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(load_command.begin(l, 0, &e), -ENOENT);
	assert_contains(e.msg, "/no/such/program");
	load_command.close(l);
	assert_null(find(&(struct keep){}, RECORD_EVENT, ""));
}

static void skip_without_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("namespaces need root\n");
	skip();
}

/* In a child: a command with a grandchild in a session of its own; wait to be killed. */
static void hold_command(const char *pid_file)
{
	struct load_env env = { .length_ns = NS_PER_S };
	struct instance inst = new_instance("command");
	struct load *l = NULL;
	struct err e = {};
	char run[512];

	/* $$ would be the number inside the namespace; /proc is the outer one's */
	snprintf(run, sizeof(run),
		 "setsid sh -c 'read pid rest < /proc/self/stat; echo $pid > %s.x; mv %s.x %s; "
		 "sleep 1000; :' & wait",
		 pid_file, pid_file, pid_file);
	if (instance_set(&inst, "run", run, 0, &e) < 0 ||
	    load_command.open(&l, &env, &inst, &e) < 0 || load_command.start(l, &e) < 0)
		_exit(1);
	for (;;)
		pause();
}

static void wait_until_dead(pid_t pid)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;

	while (is_alive(pid)) {
		if (clock_mono_ns() > until)
			fail_msg("process %d outlived its agent", (int)pid);
		pause_ms(10);
	}
}

static void a_command_dies_with_its_agent(void **state)
{
	char dir[] = "/tmp/test-load-XXXXXX", file[64];
	pid_t pid, grandchild;

	skip_without_root();
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/pid", dir);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		hold_command(file);
	grandchild = read_pid(file);
	assert_true(grandchild > 1);
	assert_true(is_alive(grandchild));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	wait_until_dead(grandchild);
	unlink(file);
	rmdir(dir);
}

static void a_peer_of_namespaces_carries_the_tcp_load(void **state)
{
	_cleanup_(host_release) struct host h = {};
	_cleanup_(free_charp) char *flags = NULL;
	struct peer_link *link = NULL;
	struct err e = {};

	skip_without_root();
	assert_int_equal(host_open(&h, &e), 0);
	if (peer_open(&link, PEER_NETNS, NULL, 0, NULL, &h, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(peer_of(link)->addr, "198.18.0.2");
	assert_int_equal(peer_of(link)->port, 5201);
	assert_string_equal(h.dut.ifname, "dut0");
	assert_string_equal(h.far.ifname, "far0");
	/* this thread is at dut's end, each sysfs shows its own end */
	assert_true(if_nametoindex("dut0") > 0);
	assert_int_equal(if_nametoindex("far0"), 0);
	assert_int_equal(faccessat(h.dut.sys_fd, "class/net/dut0", F_OK, 0), 0);
	assert_int_not_equal(faccessat(h.dut.sys_fd, "class/net/far0", F_OK, 0), 0);
	assert_int_equal(faccessat(h.far.sys_fd, "class/net/far0", F_OK, 0), 0);
	assert_int_equal(kfile_read_line(h.dut.sys_fd, "class/net/dut0/flags", &flags, &e), 0);
	assert_string_equal(flags, "0x1003"); /* UP, BROADCAST, MULTICAST */
	check_tcp(peer_of(link), "to-dut", "0");
	check_tcp(peer_of(link), "from-dut", "50M");
	peer_close(link);
	/* home again */
	assert_int_equal(if_nametoindex("dut0"), 0);
}

static void a_peer_host_tells_the_netdev_on_the_way(void **state)
{
	_cleanup_(host_release) struct host h = {};
	struct peer_link *link = NULL;
	struct err e = {};

	assert_int_equal(host_open(&h, &e), 0);
	if (peer_open(&link, PEER_HOST, "127.0.0.1", 7, NULL, &h, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(h.dut.ifname, "lo");
	assert_int_equal(peer_of(link)->port, 7);
	peer_close(link);
	link = NULL;
	assert_true(peer_open(&link, PEER_HOST, "127.0.0.1", 0, "nosuch0", &h, &e) < 0);
	assert_contains(e.msg, "nosuch0");
	assert_true(peer_open(&link, PEER_HOST, "host.invalid", 0, NULL, &h, &e) < 0);
	assert_contains(e.msg, "host.invalid");
	assert_null(link);
	assert_int_equal(peer_open(&link, PEER_NONE, NULL, 0, NULL, &h, &e), 0);
	assert_null(peer_of(link)->addr);
	peer_close(link);
}

/* In a child: hold the namespaces and a running load, say which descriptors, wait to be killed. */
static void hold_peer(int report)
{
	struct load_env env = { .length_ns = NS_PER_S };
	struct instance inst = new_instance("tcp");
	struct peer_link *link = NULL;
	struct load *l = NULL;
	struct host h = {};
	struct err e = {};
	int fds[2];

	if (host_open(&h, &e) < 0 || peer_open(&link, PEER_NETNS, NULL, 0, NULL, &h, &e) < 0)
		_exit(1);
	env.peer = peer_of(link);
	if (load_tcp.open(&l, &env, &inst, &e) < 0 || load_tcp.start(l, &e) < 0)
		_exit(1);
	fds[0] = h.dut.netns_fd;
	fds[1] = h.far.netns_fd;
	if (write(report, fds, sizeof(fds)) != sizeof(fds))
		_exit(1);
	for (;;)
		pause();
}

/* Whether netdev @name is in namespace @netns_fd. */
static bool has_netdev(int netns_fd, const char *name)
{
	struct host_side side = { .netns_fd = netns_fd, .sys_fd = -1 };
	struct ifreq req = {};
	struct err e = {};
	_cleanup_(close_fdp) int fd = host_socket(&side, AF_INET, SOCK_DGRAM, 0, &e);

	assert_true(fd >= 0);
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	return ioctl(fd, SIOCGIFINDEX, &req) == 0;
}

/*
 * A veth goes with the namespace of its other end.  So holding one namespace and seeing its netdev
 * vanish proves that the other namespace is gone.
 */
static void vanishes_after_kill(int held, const char *netdev)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	int report[2], fds[2] = {};
	char path[64];
	pid_t pid;
	int fd;

	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		hold_peer(report[1]);
	close(report[1]);
	assert_int_equal(read(report[0], fds, sizeof(fds)), sizeof(fds));
	close(report[0]);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fds[held]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(has_netdev(fd, netdev));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (has_netdev(fd, netdev)) {
		if (clock_mono_ns() > until)
			fail_msg("%s is still there: a namespace outlived SIGKILL", netdev);
		pause_ms(20);
	}
	close(fd);
	assert_int_equal(if_nametoindex("dut0"), 0);
	assert_int_equal(if_nametoindex("far0"), 0);
}

static void nothing_of_the_namespaces_outlives_sigkill(void **state)
{
	skip_without_root();
	vanishes_after_kill(0, "dut0");
	vanishes_after_kill(1, "far0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first those that fork, while there are no threads */
		cmocka_unit_test(nothing_of_the_namespaces_outlives_sigkill),
		cmocka_unit_test(a_peer_of_namespaces_carries_the_tcp_load),
		cmocka_unit_test(a_command_dies_with_its_agent),
		cmocka_unit_test(a_command_runs_for_the_window_and_no_longer),
		cmocka_unit_test(a_command_that_ends_early_vetoes_the_trial),
		cmocka_unit_test(a_command_that_is_not_there_fails_the_trial),
		cmocka_unit_test(a_peer_host_tells_the_netdev_on_the_way),
		cmocka_unit_test(both_ends_count_the_same_when_the_client_sends),
		cmocka_unit_test(both_ends_count_the_same_when_the_server_sends),
		cmocka_unit_test(both_ends_count_the_same_with_streams),
		cmocka_unit_test(both_ends_count_the_same_when_paced),
		cmocka_unit_test(a_server_serves_one_test_after_another),
		cmocka_unit_test(a_paced_stream_never_runs_ahead_of_its_clock),
		cmocka_unit_test(due_times_follow_the_rate),
		cmocka_unit_test(samples_grow_and_overflow_is_counted),
		cmocka_unit_test(whatever_a_client_does_the_next_one_is_served),
		cmocka_unit_test(a_silent_connection_keeps_nobody_waiting),
		cmocka_unit_test(a_second_client_is_told_that_the_server_is_busy),
		cmocka_unit_test(who_waited_for_a_farewell_is_served_next),
		cmocka_unit_test(a_server_without_threads_for_the_streams_says_so),
		cmocka_unit_test(a_client_notices_that_its_server_is_gone),
		cmocka_unit_test(no_server_is_a_helpful_error),
		cmocka_unit_test(something_else_than_a_server_is_a_helpful_error),
		cmocka_unit_test(an_interrupted_client_waits_for_nobody),
		cmocka_unit_test(a_stream_that_the_server_closes_early_fails_the_test),
		cmocka_unit_test(a_stream_that_the_client_closes_early_fails_the_test),
		cmocka_unit_test(the_tcp_load_measures_over_loopback),
		cmocka_unit_test(the_tcp_load_fails_with_a_stream_closed_early),
		cmocka_unit_test(the_tcp_load_refuses_what_cannot_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
