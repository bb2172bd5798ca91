// SPDX-License-Identifier: GPL-3.0-or-later
/* The client, and servers that are absent, broken or gone. */
#include "traffic.h"

#include <pthread.h>
#include <stdatomic.h>

#include "load/dial.h"

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
	/* what was counted here is not lost with the server */
	assert_non_null(client_mine(c));
	assert_int_equal(client_mine(c)->nr, cfg.params.streams);
	assert_null(client_theirs(c));
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
	assert_contains(e.msg, STREAM_2_IS_CLOSED);
	assert_contains(e.msg, "server 127.0.0.1");
	assert_true(client_stop(c, &e) < 0);
	assert_contains(e.msg, STREAM_2_IS_CLOSED);
	assert_int_equal(client_mine(c)->nr, 2);
	assert_int_equal(client_mine(c)->streams[0].bytes, 10);
	assert_null(client_theirs(c));
	client_close(c);
	close_quitter(&q);
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

/* A server that plays a part: what it writes to the control connection, with pauses for streams. */
struct fake {
	int listen_fd;
	const char *before, *after; /* control bytes before and after the stream comes */
	size_t before_len, after_len;
	bool has_stream;
	const struct buf *results; /* written once the client has said what it has counted */
	struct client_cfg cfg;
	pthread_t thread;
};

static void *play(void *fake)
{
	const struct fake *f = fake;
	int fd = accept_cookie(f->listen_fd), data = -1;

	put(fd, f->before, f->before_len);
	if (f->has_stream)
		data = accept_cookie(f->listen_fd);
	if (f->after_len)
		put(fd, f->after, f->after_len);
	if (f->has_stream)
		put(data, "0123456789", 10);
	if (f->results) {
		skip_json(fd); /* parameters */
		assert_int_equal(take(fd), WIRE_TEST_END);
		put(fd, "\x0d", 1);
		skip_json(fd);
		put(fd, buf_str(f->results), f->results->len);
	}
	/* the client ends it; its own words are of no interest */
	shutdown(fd, SHUT_WR);
	while (take(fd) != -100)
		;
	if (data >= 0)
		close(data);
	close(fd);
	return NULL;
}

static void open_fake(struct fake *f)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	f->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listen_fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(f->listen_fd, 4), 0);
	assert_int_equal(getsockname(f->listen_fd, (struct sockaddr *)&at, &len), 0);
	f->cfg = (struct client_cfg){ .host = "127.0.0.1",
				      .port = ntohs(at.sin_port),
				      .params = { .streams = 1,
						  .time_s = 1,
						  .length_bytes = 1000,
						  .request_bytes = 1,
						  .response_bytes = 1,
						  .server_cpu = -1 },
				      .cpu = -1 };
}

/* From open to close; the error of the first step that fails. */
static int run_fake(struct fake *f, struct err *e)
{
	struct client *c = NULL;
	int r;

	assert_int_equal(pthread_create(&f->thread, NULL, play, f), 0);
	r = client_open(&c, &f->cfg, e);
	if (r >= 0)
		r = client_start(c, e);
	if (r >= 0)
		r = client_stop(c, e);
	client_close(c);
	pthread_join(f->thread, NULL);
	close(f->listen_fd);
	return r;
}

static void a_stock_server_is_named_where_ours_is_needed(void **state)
{
	struct fake f = { .before = "\x09\x0a", .before_len = 2 };
	struct err e = {};

	open_fake(&f);
	f.cfg.params.mode = WIRE_RR;
	assert_int_equal(run_fake(&f, &e), -EOPNOTSUPP);
	assert_contains(e.msg, "is a stock iperf3");
	assert_contains(e.msg, "irqlab traffic -s");
	f = (struct fake){ .before = "\x09\x0a", .before_len = 2 };
	open_fake(&f);
	f.cfg.params.reverse = true;
	f.cfg.params.arrivals = WIRE_POISSON;
	assert_int_equal(run_fake(&f, &e), -EOPNOTSUPP);
}

static void a_server_that_refuses_is_quoted(void **state)
{
	struct fake f = { .before = "\x09\xfe\0\0\0\x1b\0\0\0\0", .before_len = 10 };
	struct err e = {};

	open_fake(&f);
	assert_int_equal(run_fake(&f, &e), -EREMOTEIO);
	assert_contains(e.msg, "refuses the test: more bit/s than its owner allows");
	assert_contains(e.msg, "iperf3 error 27");
	f = (struct fake){ .before = "\x09\xfe\0\0\0\x86\0\0\0\x02", .before_len = 10 };
	open_fake(&f);
	assert_int_equal(run_fake(&f, &e), -ENOENT);
	assert_contains(e.msg, "iperf3 error 134): No such file");
	f = (struct fake){ .before = "\x09\xfe\0\0\0\x25\0\0\0\0", .before_len = 10 };
	open_fake(&f);
	assert_int_equal(run_fake(&f, &e), -EREMOTEIO);
	assert_contains(e.msg, "longer than its owner allows");
	f = (struct fake){ .before = "\x09\xfe\0\0\x03\xe7\0\0\0\0", .before_len = 10 };
	open_fake(&f);
	assert_int_equal(run_fake(&f, &e), -EREMOTEIO);
	assert_contains(e.msg, "an error without words here (iperf3 error 999)");
	f = (struct fake){ .before = "\xff", .before_len = 1 };
	open_fake(&f);
	assert_int_equal(run_fake(&f, &e), -EBUSY);
	f = (struct fake){ .before = "\x09\x0b", .before_len = 2 };
	open_fake(&f);
	assert_int_equal(run_fake(&f, &e), -ECONNABORTED);
}

/* All of a test, with these results and @state after them. */
static int run_with_results(const char *json, uint32_t claimed, int state, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};
	struct fake f = { .before = "\x09\x0a",
			  .before_len = 2,
			  .has_stream = true,
			  .after = "\x01\x02",
			  .after_len = 2,
			  .results = &b };
	uint32_t be = htonl(claimed);

	buf_add(&b, &be, sizeof(be));
	buf_puts(&b, json);
	buf_putc(&b, (char)state);
	open_fake(&f);
	return run_fake(&f, e);
}

static void servers_that_lie_are_found_out(void **state)
{
	static const char good[] = "{\"streams\":[{\"id\":1,\"bytes\":10}]}";
	static const struct {
		const char *json, *why;
		int result;
	} cases[] = {
		{ "{\"streams\":[{\"id\":3,\"bytes\":10}]}", "does not report stream 1", -EPROTO },
		{ "{\"streams\":[]}", "reports 0 streams instead of 1", -EPROTO },
		{ "{\"streams\":[{\"id\":1,\"bytes\":1},{\"id\":1,\"bytes\":1}]}",
		  "reports 2 streams instead of 1", -EPROTO },
		{ "{\"streams\":[{\"id\":1,\"bytes\":-1}]}", "\"bytes\" is not a count", -EBADMSG },
		{ "{\"streams\":1}", "\"streams\" is not a list", -EBADMSG },
		{ "{}", "\"streams\" is not a list", -EBADMSG },
		{ "not JSON at all", "not JSON", -EBADMSG },
	};
	struct err e = {};

	assert_int_equal(run_with_results(good, sizeof(good) - 1, WIRE_DISPLAY_RESULTS, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t len = (uint32_t)strlen(cases[i].json);

		assert_int_equal(run_with_results(cases[i].json, len, WIRE_DISPLAY_RESULTS, &e),
				 cases[i].result);
		assert_contains(e.msg, cases[i].why);
		assert_contains(e.msg, "end of the test");
	}
	assert_int_equal(run_with_results("{", 0x7fffffff, WIRE_DISPLAY_RESULTS, &e), -EBADMSG);
	assert_contains(e.msg, "announces a message of 2147483647 bytes, at most 1048576");
	assert_int_equal(run_with_results("{", 100, WIRE_DISPLAY_RESULTS, &e), -ECONNRESET);
	assert_contains(e.msg, "closed the connection");
	assert_int_equal(run_with_results(good, sizeof(good) - 1, WIRE_TEST_START, &e), -EPROTO);
	assert_contains(e.msg, "sent 1 (TEST_START) instead of 14 (DISPLAY_RESULTS)");
}

static void a_server_that_does_not_wait_for_the_end_is_found_out(void **state)
{
	struct fake f = { .before = "\x09\x0a",
			  .before_len = 2,
			  .has_stream = true,
			  .after = "\x01\x02\x0d",
			  .after_len = 3 };
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	struct client *c = NULL;
	struct err e = {};

	open_fake(&f);
	assert_int_equal(pthread_create(&f.thread, NULL, play, &f), 0);
	assert_int_equal(client_open(&c, &f.cfg, &e), 0);
	assert_int_equal(client_start(c, &e), 0);
	while (client_check(c, &e) == 0) {
		assert_true(clock_mono_ns() < until);
		pause_ms(1);
	}
	assert_contains(e.msg, "sent 13 (EXCHANGE_RESULTS) during the test");
	client_close(c);
	pthread_join(f.thread, NULL);
	close(f.listen_fd);
}

/* Agrees to a test and then holds its tongue until the client leaves. */
static void *agree_and_be_silent(void *fake)
{
	const struct fake *f = fake;
	int fd = accept_cookie(f->listen_fd), data;

	put(fd, "\x09\x0a", 2);
	data = accept_cookie(f->listen_fd);
	put(fd, "\x01\x02", 2);
	while (take(fd) != -100)
		;
	close(data);
	close(fd);
	return NULL;
}

static void a_server_that_sends_nothing_is_given_up(void **state)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	struct client *c = NULL;
	struct fake f = {};
	struct err e = {};

	open_fake(&f);
	f.cfg.params.reverse = true;
	f.cfg.receive_timeout_ns = 200 * NS_PER_MS;
	assert_int_equal(pthread_create(&f.thread, NULL, agree_and_be_silent, &f), 0);
	assert_int_equal(client_open(&c, &f.cfg, &e), 0);
	assert_int_equal(client_start(c, &e), 0);
	while (client_check(c, &e) == 0) {
		assert_true(clock_mono_ns() < until);
		pause_ms(5);
	}
	assert_contains(e.msg, "sent nothing for 0.2 s");
	client_close(c);
	pthread_join(f.thread, NULL);
	close(f.listen_fd);
}

/* A server's UDP socket that misses the first hello, or all. */
struct deaf {
	int fd;
	unsigned int misses;
};

static void *hear(void *deaf)
{
	const struct deaf *d = deaf;

	for (unsigned int i = 0;; i++) {
		struct sockaddr_in from = {};
		socklen_t len = sizeof(from);
		char hello[16];
		ssize_t n =
			recvfrom(d->fd, hello, sizeof(hello), 0, (struct sockaddr *)&from, &len);

		if (n != 4)
			return NULL;
		assert_memory_equal(hello, "9876", 4);
		if (i < d->misses)
			continue;
		/* data that overtook the answer */
		sendto(d->fd, hello, 16, 0, (struct sockaddr *)&from, len);
		sendto(d->fd, "\xb1\x68\xde\x3a", 4, 0, (struct sockaddr *)&from, len);
	}
}

static int dial_deaf(unsigned int misses, uint64_t timeout_ns, struct err *e)
{
	struct deaf d = { .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), .misses = misses };
	struct wire_params p = { .udp = true, .reverse = true };
	struct dial dial = { .ch = { .fd = -1, .step_ns = NS_PER_S, .peer = "server" },
			     .timeout_ns = timeout_ns,
			     .params = &p };
	struct endpoint to = {};
	pthread_t t;
	int fd = -1, r;

	to.at.v4 = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	to.len = sizeof(to.at.v4);
	assert_int_equal(bind(d.fd, &to.at.any, to.len), 0);
	assert_int_equal(endpoint_of(d.fd, &to, e), 0);
	assert_int_equal(pthread_create(&t, NULL, hear, &d), 0);
	r = dial_udp(&dial, &to, 0, &fd, e);
	if (fd >= 0)
		close(fd);
	/* any other size ends the thread */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(sendto(fd, "x", 1, 0, &to.at.any, to.len), 1);
	pthread_join(t, NULL);
	close(fd);
	close(d.fd);
	return r;
}

static void a_lost_hello_is_sent_again(void **state)
{
	struct err e = {};

	assert_int_equal(dial_deaf(0, PATIENCE_NS, &e), 0);
	assert_int_equal(dial_deaf(1, PATIENCE_NS, &e), 0);
	assert_int_equal(dial_deaf(1000, 300 * NS_PER_MS, &e), -ETIMEDOUT);
	assert_contains(e.msg, "does not answer over UDP; look at firewalls");
}

static void what_cannot_be_asked_for_is_refused_before_a_connection(void **state)
{
	static const struct {
		struct wire_params p;
		const char *why;
	} cases[] = {
		{ { .streams = 0 }, "0 streams" },
		{ { .streams = 129 }, "129 streams" },
		{ { .streams = 1, .length_bytes = 2 << 20 }, "blocks of 2097152" },
		{ { .streams = 1, .udp = true, .length_bytes = 15 }, "datagrams of 15" },
		{ { .streams = 1, .udp = true, .length_bytes = 65508 }, "datagrams of 65508" },
		{ { .streams = 1, .reverse = true, .bidir = true }, "either -R or --bidir" },
		{ { .streams = 1, .mode = WIRE_RR }, "at least 1 byte" },
		{ { .streams = 1, .mode = WIRE_RR, .bidir = true }, "no --bidir" },
		{ { .streams = 1,
		    .mode = WIRE_CRR,
		    .udp = true,
		    .request_bytes = 1,
		    .response_bytes = 1 },
		  "crr needs TCP" },
		{ { .streams = 1,
		    .mode = WIRE_RR,
		    .udp = true,
		    .request_bytes = 7,
		    .response_bytes = 8 },
		  "over UDP carry a number and have at least 8 bytes" },
		{ { .streams = 1,
		    .mode = WIRE_RR,
		    .udp = true,
		    .request_bytes = 8,
		    .response_bytes = 7 },
		  "at least 8 bytes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client_cfg cfg = { .host = "127.0.0.1", .port = 1, .params = cases[i].p };
		struct client *c = NULL;
		struct err e = {};

		assert_int_equal(client_open(&c, &cfg, &e), -EINVAL);
		assert_contains(e.msg, cases[i].why);
		assert_null(c);
	}
}

static void a_host_that_cannot_be_found_is_named(void **state)
{
	static const struct {
		const char *host, *why;
		int result;
	} cases[] = {
		{ "fe80::1", "a link-local address needs its netdev, such as fe80::1%eth0",
		  -EINVAL },
		{ "fe80::1%nosuchdev", "host name fe80::1%nosuchdev: ", -EHOSTUNREACH },
		{ "192.0.2.1.2.3.", "host name 192.0.2.1.2.3.: ", -EHOSTUNREACH },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client_cfg cfg = {
			.host = cases[i].host,
			.port = 1,
			.params = { .streams = 1, .time_s = 1, .length_bytes = 1000 },
		};
		struct client *c = NULL;
		struct err e = {};

		assert_int_equal(client_open(&c, &cfg, &e), cases[i].result);
		assert_contains(e.msg, cases[i].why);
		assert_null(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_notices_that_its_server_is_gone),
		cmocka_unit_test(no_server_is_a_helpful_error),
		cmocka_unit_test(something_else_than_a_server_is_a_helpful_error),
		cmocka_unit_test(a_stream_that_the_server_closes_early_fails_the_test),
		cmocka_unit_test(an_interrupted_client_waits_for_nobody),
		cmocka_unit_test(a_stock_server_is_named_where_ours_is_needed),
		cmocka_unit_test(a_server_that_refuses_is_quoted),
		cmocka_unit_test(servers_that_lie_are_found_out),
		cmocka_unit_test(a_server_that_does_not_wait_for_the_end_is_found_out),
		cmocka_unit_test(a_server_that_sends_nothing_is_given_up),
		cmocka_unit_test(a_host_that_cannot_be_found_is_named),
		cmocka_unit_test(a_lost_hello_is_sent_again),
		cmocka_unit_test(what_cannot_be_asked_for_is_refused_before_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
