// SPDX-License-Identifier: GPL-3.0-or-later
/* The server, and clients that break the protocol. */
#include "traffic.h"

#include <pthread.h>

/* A hostile client that behaves until @state and sends what is wrong there. */
enum rogue {
	ROGUE_SILENT,
	ROGUE_NO_COOKIE,
	ROGUE_LEAVES_AT_ONCE,
	ROGUE_SILENT_PARAMS,
	ROGUE_HUGE_PARAMS,
	ROGUE_BAD_PARAMS,
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
	if (r == ROGUE_BAD_PARAMS)
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

static void a_second_client_is_told_that_the_server_is_busy(void **state)
{
	struct server_cfg one = server_cfg_of(0);
	struct server *s;
	struct client_cfg cfg;
	struct client *c = NULL, *second = NULL;
	struct err e = {};
	int fd;

	one.max_clients = 1;
	s = start_server(&one);
	cfg = client_of(s);
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
	assert_contains(notes.said, "as many clients as allowed");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_a_client_does_the_next_one_is_served),
		cmocka_unit_test(a_silent_connection_keeps_nobody_waiting),
		cmocka_unit_test(a_server_serves_one_test_after_another),
		cmocka_unit_test(a_second_client_is_told_that_the_server_is_busy),
		cmocka_unit_test(a_server_without_threads_for_the_streams_says_so),
		cmocka_unit_test(a_stream_that_the_client_closes_early_fails_the_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
