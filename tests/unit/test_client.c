// SPDX-License-Identifier: GPL-3.0-or-later
/* The client, and servers that are absent, broken or gone. */
#include "traffic.h"

#include <pthread.h>
#include <stdatomic.h>

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
	assert_null(client_mine(c));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_notices_that_its_server_is_gone),
		cmocka_unit_test(no_server_is_a_helpful_error),
		cmocka_unit_test(something_else_than_a_server_is_a_helpful_error),
		cmocka_unit_test(a_stream_that_the_server_closes_early_fails_the_test),
		cmocka_unit_test(an_interrupted_client_waits_for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
