// SPDX-License-Identifier: GPL-3.0-or-later
/* The server, and clients that break the protocol. */
#include "traffic.h"

#include <pthread.h>
#include <sys/resource.h>

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
static int join_as_rogue(const struct server *s, int fd, const char *cookie)
{
	int data;

	assert_int_equal(take(fd), WIRE_CREATE_STREAMS);
	data = connect_to(s);
	put(data, cookie, 37);
	assert_int_equal(take(fd), WIRE_TEST_START);
	assert_int_equal(take(fd), WIRE_TEST_RUNNING);
	put(data, "0123456789", 10);
	return data;
}

static int rogue_before_test(const struct server *s, int fd, enum rogue r)
{
	static const char rubbish[64] = "GET / HTTP/1.1\r\nHost: nobody\r\n";
	char cookie[] = COOKIE;

	cookie[0] = (char)('A' + r); /* its own */
	if (r == ROGUE_SILENT || r == ROGUE_LEAVES_AT_ONCE)
		return -1;
	if (r == ROGUE_NO_COOKIE) {
		put(fd, rubbish, sizeof(rubbish));
		return -1;
	}
	put(fd, cookie, 37);
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
		put(data, cookie, 37);
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
	return join_as_rogue(s, fd, cookie);
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

struct connections {
	int fd, data;
};

static struct connections be_rogue(const struct server *s, enum rogue r)
{
	struct connections c = { .fd = connect_to(s) };

	c.data = rogue_before_test(s, c.fd, r);
	if (c.data >= 0)
		rogue_after_start(c.fd, r);
	return c;
}

/* The server ends it in its own time: whatever else it says, the connection closes. */
static void end_rogue(const struct connections *c, enum rogue r)
{
	while (r != ROGUE_LEAVES_AT_ONCE && r != ROGUE_LEAVES_DURING_TEST && take(c->fd) != -100)
		;
	close(c->fd);
	if (c->data >= 0)
		close(c->data);
}

/* What the server says of them; whether it has to wait for them in vain. */
static const struct {
	const char *why;
	bool waits;
} rogues[ROGUE_NR] = {
	[ROGUE_SILENT] = { "sent no cookie in time", true },
	[ROGUE_NO_COOKIE] = { "no iperf3 cookie", false },
	[ROGUE_LEAVES_AT_ONCE] = { "closed before it sent a cookie", false },
	[ROGUE_SILENT_PARAMS] = { "is silent", true },
	[ROGUE_HUGE_PARAMS] = { "at most 8192 allowed", false },
	[ROGUE_BAD_PARAMS] = { "\"parallel\" is not a number", false },
	[ROGUE_BAD_CONGESTION] = { "\"nosuch\"", false },
	[ROGUE_NO_STREAMS] = { "opened 0 of 1 streams", true },
	[ROGUE_RUBBISH_FOR_STREAMS] = { "rubbish instead of streams", false },
	[ROGUE_LEAVES_DURING_TEST] = { "closed the connection", false },
	[ROGUE_RUBBISH_DURING_TEST] = { "sent 99", false },
	[ROGUE_TERMINATES] = { "ended the test early", false },
	[ROGUE_NO_RESULTS] = { "is silent", true },
	[ROGUE_HUGE_RESULTS] = { "at most 1048576 allowed", false },
	[ROGUE_BAD_RESULTS] = { "\"id\" is not a number", false },
	[ROGUE_NO_FAREWELL] = { "is silent", true },
};

static void whatever_a_client_does_the_next_one_is_served(void **state)
{
	for (enum rogue r = 0; r < ROGUE_NR; r++) {
		struct server *s;
		struct client_cfg cfg;
		struct connections c;

		if (rogues[r].waits)
			continue;
		s = new_server(0);
		cfg = client_of(s);
		c = be_rogue(s, r);
		end_rogue(&c, r);
		cfg.retry_ns = PATIENCE_NS;
		client_close(run_client(&cfg, 1));
		server_close(s);
		if (!strstr(notes.said, rogues[r].why))
			fail_msg("rogue %d: \"%s\" is not in \"%s\"", r, rogues[r].why, notes.said);
		assert_true(notes.has_theirs);
	}
}

/* All of them at one server, for a step; everything else there has a step's time as well. */
static void who_is_silent_is_dropped_after_a_bound(void **state)
{
	struct server *s = new_server(2 * NS_PER_S);
	struct client_cfg cfg = client_of(s);
	struct connections c[ROGUE_NR];

	for (enum rogue r = 0; r < ROGUE_NR; r++)
		if (rogues[r].waits)
			c[r] = be_rogue(s, r);
	for (enum rogue r = 0; r < ROGUE_NR; r++)
		if (rogues[r].waits)
			end_rogue(&c[r], r);
	client_close(run_client(&cfg, 1));
	server_close(s);
	for (enum rogue r = 0; r < ROGUE_NR; r++)
		if (rogues[r].waits)
			assert_contains(notes.said, rogues[r].why);
	assert_true(notes.has_theirs);
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
	data = join_as_rogue(s, fd, COOKIE);
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
	data = join_as_rogue(s, fd, COOKIE);
	close(data);
	assert_int_equal(take(fd), WIRE_SERVER_ERROR);
	assert_int_equal(recv(fd, be, sizeof(be), MSG_WAITALL), sizeof(be));
	assert_int_equal(ntohl(be[0]), WIRE_ESTREAMREAD);
	assert_int_equal(take(fd), -100);
	close(fd);
	server_close(s);
	assert_contains(notes.said, "stream 1 of 1 was closed by the peer");
	assert_false(notes.has_theirs);
	/* the reason comes before the end, and the client's address once */
	assert_int_equal(notes.lines_at_end, 1);
}

/* Up to the parameters @text; the control connection. */
static int ask(const struct server *s, const char *cookie, const char *text)
{
	int fd = connect_to(s);

	put(fd, cookie, 37);
	assert_int_equal(take(fd), WIRE_PARAM_EXCHANGE);
	put_json(fd, text);
	return fd;
}

/* -2, and the first number of the two that follow. */
static unsigned int take_error(int fd)
{
	uint32_t be[2] = {};

	assert_int_equal(take(fd), WIRE_SERVER_ERROR);
	assert_int_equal(recv(fd, be, sizeof(be), MSG_WAITALL), sizeof(be));
	assert_int_equal(take(fd), -100);
	return ntohl(be[0]);
}

static void error_numbers_are_those_of_stock_clients(void **state)
{
	/* enum of iperf_api.h, 3.21; all but the last two are in 3.12 as well */
	assert_int_equal(WIRE_EUNIMP, 13);	       /* IEUNIMP */
	assert_int_equal(WIRE_ETOTALRATE, 27);	       /* IETOTALRATE */
	assert_int_equal(WIRE_ERECVPARAMS, 114);       /* IERECVPARAMS */
	assert_int_equal(WIRE_EAFFINITY, 132);	       /* IEAFFINITY */
	assert_int_equal(WIRE_ESETCONGESTION, 134);    /* IESETCONGESTION */
	assert_int_equal(WIRE_ESETBUF2, 141);	       /* IESETBUF2 */
	assert_int_equal(WIRE_ENOMSG, 144);	       /* IENOMSG */
	assert_int_equal(WIRE_ECREATESTREAM, 200);     /* IECREATESTREAM */
	assert_int_equal(WIRE_ESTREAMLISTEN, 202);     /* IESTREAMLISTEN */
	assert_int_equal(WIRE_ESTREAMACCEPT, 204);     /* IESTREAMACCEPT */
	assert_int_equal(WIRE_ESTREAMWRITE, 205);      /* IESTREAMWRITE */
	assert_int_equal(WIRE_ESTREAMREAD, 206);       /* IESTREAMREAD */
	assert_int_equal(WIRE_EMAXDURATION, 37);       /* IEMAXSERVERTESTDURATIONEXCEEDED */
	assert_int_equal(WIRE_EDURATION_EXPIRED, 160); /* IESERVERTESTDURATIONEXPIRED */
}

static void what_the_owner_does_not_allow_is_refused(void **state)
{
	static const struct {
		const char *text, *why;
		unsigned int code;
	} cases[] = {
		{ "{\"tcp\":true,\"time\":10}", "asks for 10 s, at most 5 s", WIRE_EMAXDURATION },
		{ "{\"tcp\":true,\"time\":5,\"omit\":1}", "asks for 6 s", WIRE_EMAXDURATION },
		{ "{\"tcp\":true,\"time\":1,\"bandwidth\":600000,\"parallel\":2}",
		  "asks for 1200000 bit/s, at most 1000000", WIRE_ETOTALRATE },
		{ "{\"tcp\":true,\"time\":1,\"bandwidth\":600000,\"bidirectional\":true}",
		  "asks for 1200000 bit/s", WIRE_ETOTALRATE },
		{ "{\"tcp\":true,\"bandwidth\":18446744073709551615,\"time\":1,\"parallel\":128}",
		  "at most 1000000", WIRE_ETOTALRATE },
		{ "{\"tcp\":true,\"time\":1,\"server_affinity\":1023}", "asks for CPU 1023",
		  WIRE_EAFFINITY },
		{ "{\"tcp\":true,\"time\":1,\"server_affinity\":1024}", "asks for CPU 1024",
		  WIRE_EAFFINITY },
		{ "{\"tcp\":true,\"time\":1,\"len\":true}", "\"len\" is not a number",
		  WIRE_ERECVPARAMS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct server_cfg cfg = server_cfg_of(0);
		struct server *s;
		int fd;

		cfg.max_duration_ns = 5 * NS_PER_S;
		cfg.max_bps = 1000000;
		s = start_server(&cfg);
		fd = ask(s, COOKIE, cases[i].text);
		assert_int_equal(take_error(fd), cases[i].code);
		close(fd);
		server_close(s);
		assert_contains(notes.said, cases[i].why);
		assert_int_equal(notes.begun, 0);
	}
}

/* A client with one stream that sends @bytes and then nothing, and never ends the test. */
static unsigned int overstay(const struct server_cfg *cfg, const char *text, size_t bytes)
{
	struct server *s = start_server(cfg);
	int fd = ask(s, COOKIE, text), data = join_as_rogue(s, fd, COOKIE);
	unsigned int code;
	char block[1000] = {};

	for (size_t sent = 0; sent < bytes; sent += sizeof(block))
		put(data, block, sizeof(block));
	code = take_error(fd);
	close(data);
	close(fd);
	server_close(s);
	assert_false(notes.has_theirs);
	assert_int_equal(notes.tests, 1);
	return code;
}

static void who_overstays_is_dropped(void **state)
{
	struct server_cfg idle = server_cfg_of(0), late = server_cfg_of(NS_PER_S);
	struct server_cfg fast = server_cfg_of(0);

	idle.idle_ns = 200 * NS_PER_MS;
	assert_int_equal(overstay(&idle, PARAMS, 0), WIRE_ENOMSG);
	assert_contains(notes.said, "moved no byte for 0.2 s");
	late.max_duration_ns = 100 * NS_PER_MS;
	assert_int_equal(overstay(&late, "{\"tcp\":true,\"time\":0}", 0), WIRE_EDURATION_EXPIRED);
	assert_contains(notes.said, "did not end the test in time");
	fast.max_bps = 1000000;
	assert_int_equal(overstay(&fast, "{\"tcp\":true,\"time\":9}", 1000000), WIRE_ETOTALRATE);
	assert_contains(notes.said, "more than the 1000000 bit/s that are allowed");
}

/* A test that is over before anybody looked; and one in which this end sends. */
static void a_rate_is_kept_in_short_tests_too(void **state)
{
	const uint64_t start = clock_mono_ns();
	struct server_cfg cfg = server_cfg_of(0);
	struct client_cfg client;
	struct server *s;
	struct client *c;
	double most;

	cfg.max_bps = 8000000; /* 1 MB/s */
	s = start_server(&cfg);
	client = client_of(s);
	client.params.reverse = true;
	client.params.streams = 2;
	c = run_client(&client, 400);
	most = (double)(clock_mono_ns() - start) / 1e9 * 1e6 + 2 * 128 * 1024;
	assert_true((double)(client_theirs(c)->streams[0].bytes +
			     client_theirs(c)->streams[1].bytes) <= most);
	client_close(c);
	server_close(s);
	assert_string_equal(notes.said, "");

	assert_int_equal(overstay(&cfg, "{\"tcp\":true,\"time\":1}", 2000000), WIRE_ETOTALRATE);
}

static void a_client_that_vanishes_is_named_once_and_before_the_end(void **state)
{
	struct server *s = new_server(0);
	int fd = ask(s, COOKIE, PARAMS), data = join_as_rogue(s, fd, COOKIE);
	const char *address;

	close(fd);
	await_count(&notes.ends, 1);
	close(data);
	server_close(s);
	assert_int_equal(notes.lines_at_end, 1);
	assert_contains(notes.said, ": test dropped: ");
	address = strstr(notes.said, "127.0.0.1:");
	assert_non_null(address);
	assert_null(strstr(address + 1, "127.0.0.1:"));
}

static void a_server_that_ends_says_so_to_all(void **state)
{
	struct server *s = new_server(0);
	int fd[3], data;

	fd[0] = connect_to(s);
	put(fd[0], COOKIE, 37);
	assert_int_equal(take(fd[0]), WIRE_PARAM_EXCHANGE);
	fd[1] = ask(s, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", PARAMS);
	assert_int_equal(take(fd[1]), WIRE_CREATE_STREAMS);
	fd[2] = ask(s, "cccccccccccccccccccccccccccccccccccc", PARAMS);
	assert_int_equal(take(fd[2]), WIRE_CREATE_STREAMS);
	data = connect_to(s);
	put(data, "cccccccccccccccccccccccccccccccccccc", 37);
	assert_int_equal(take(fd[2]), WIRE_TEST_START);
	assert_int_equal(take(fd[2]), WIRE_TEST_RUNNING);
	server_close(s);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(take(fd[i]), WIRE_SERVER_TERMINATE);
		close(fd[i]);
	}
	close(data);
	assert_int_equal(notes.tests, 1);
}

static void streams_that_nobody_wants_are_refused(void **state)
{
	struct server *s = new_server(0);
	int fd = ask(s, COOKIE, PARAMS), data = join_as_rogue(s, fd, COOKIE), more = connect_to(s);

	put(more, COOKIE, 37);
	assert_int_equal(take(more), WIRE_ACCESS_DENIED);
	assert_int_equal(take(more), -100);
	close(more);
	/* the test has not noticed */
	rogue_after_start(fd, ROGUE_NO_FAREWELL);
	skip_json(fd);
	assert_int_equal(take(fd), WIRE_DISPLAY_RESULTS);
	put(fd, "\x10", 1);
	assert_int_equal(take(fd), -100);
	close(data);
	close(fd);
	server_close(s);
	assert_true(notes.has_theirs);
	assert_contains(notes.said, "no use for");
}

static void who_is_silent_in_numbers_loses_to_who_is_not(void **state)
{
	/* more than are read side by side; the server would wait for them for an hour */
	struct server *s = new_server(3600 * NS_PER_S);
	struct client_cfg cfg = client_of(s);
	int silent[200];

	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		silent[i] = connect_to(s);
	client_close(run_client(&cfg, 1));
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
	server_close(s);
	assert_int_equal(notes.tests, 1);
	assert_contains(notes.said, "too many connections that send no cookie");
}

/* First datagrams of one address: two tests that want them at once take turns. */
static void udp_streams_of_an_address_are_taken_test_by_test(void **state)
{
	static const char udp[] = "{\"udp\":true,\"time\":1,\"len\":100}";
	static const char *const cookies[] = { "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
					       "cccccccccccccccccccccccccccccccccccc" };
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server *s = new_server(0);
	int fd[2], data[2];
	char answer[8];

	at.sin_port = htons(server_port(s));
	for (int i = 0; i < 2; i++) {
		data[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(data[i], (struct sockaddr *)&at, sizeof(at)), 0);
	}
	fd[0] = ask(s, cookies[0], udp);
	assert_int_equal(take(fd[0]), WIRE_CREATE_STREAMS);
	fd[1] = ask(s, cookies[1], udp);
	/* what is no hello is nobody's, a hello that comes twice is one */
	put(data[0], "data of a test before", 21);
	put(data[0], "9876", 4);
	put(data[0], "9876", 4);
	assert_int_equal(recv(data[0], answer, sizeof(answer), 0), 4);
	assert_memory_equal(answer, "\x36\x37\x38\x39", 4);
	assert_int_equal(take(fd[0]), WIRE_TEST_START);
	/* only now is it the turn of the second */
	assert_int_equal(take(fd[1]), WIRE_CREATE_STREAMS);
	put(data[1], "any?", 4);
	assert_int_equal(recv(data[1], answer, sizeof(answer), 0), 4);
	assert_int_equal(take(fd[1]), WIRE_TEST_START);
	for (int i = 0; i < 2; i++) {
		close(data[i]);
		close(fd[i]);
	}
	server_close(s);
	assert_int_equal(notes.begun, 2);
}

static void a_lost_answer_is_given_again(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server *s = new_server(0);
	int fd = ask(s, COOKIE, "{\"udp\":true,\"time\":1,\"len\":100,\"parallel\":2}");
	int data = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char answer[8];

	at.sin_port = htons(server_port(s));
	assert_int_equal(connect(data, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(take(fd), WIRE_CREATE_STREAMS);
	for (int i = 0; i < 3; i++) {
		put(data, "9876", 4);
		assert_int_equal(recv(data, answer, sizeof(answer), 0), 4);
	}
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(take(fd), -100);
	close(data);
	close(fd);
	server_close(s);
	assert_contains(notes.said, "gave up");
}

static void a_round_trip_test_is_answered_before_streams(void **state)
{
	struct server *s = new_server(0);
	struct wire_extended x = {};
	struct err e = {};
	char text[256] = "";
	uint32_t be = 0;
	int fd = ask(s, COOKIE,
		     "{\"tcp\":true,\"time\":1,\"irqlab\":{\"mode\":\"crr\",\"request_bytes\":1,"
		     "\"response_bytes\":1}}");

	assert_int_equal(take(fd), WIRE_EXTENDED);
	assert_int_equal(recv(fd, &be, sizeof(be), MSG_WAITALL), sizeof(be));
	assert_true(ntohl(be) < sizeof(text));
	assert_int_equal(recv(fd, text, ntohl(be), MSG_WAITALL), ntohl(be));
	assert_int_equal(wire_extended_decode(text, ntohl(be), &x, &e), 0);
	assert_int_not_equal(x.port, 0);
	assert_int_not_equal(x.port, server_port(s));
	assert_int_equal(take(fd), WIRE_CREATE_STREAMS);
	assert_int_equal(take(fd), WIRE_TEST_START);
	close(fd);
	server_close(s);
}

static void a_socket_may_be_handed_over(void **state)
{
	struct server_cfg cfg = server_cfg_of(0);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct client_cfg client;
	struct server *s = NULL;
	struct err e = {};

	cfg.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(cfg.listen_fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(cfg.listen_fd, 10), 0);
	s = start_server(&cfg);
	client = client_of(s);
	client_close(run_client(&client, 1));
	server_close(s);
	cfg.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(server_open(&s, &cfg, &e), -EINVAL);
	assert_contains(e.msg, "no listening socket");
}

static void clients_of_ipv4_have_their_own_names(void **state)
{
	struct server_cfg cfg = server_cfg_of(0);
	struct client_cfg client;
	struct server *s;

	cfg.bind = NULL;
	cfg.max_duration_ns = NS_PER_S;
	s = start_server(&cfg);
	client = client_of(s);
	client.params.time_s = 2;
	{
		struct client *c = NULL;
		struct err e = {};

		assert_int_equal(client_open(&c, &client, &e), 0);
		assert_int_equal(client_start(c, &e), -EREMOTEIO);
		client_close(c);
	}
	server_close(s);
	assert_int_equal(strncmp(notes.said, "127.0.0.1:", 10), 0);
}

/* The session may have been ending; descriptors are free again once it has. */
static void without_descriptors_clients_wait_and_are_served(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(server_port(s)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rlimit old, few;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = (rlim_t)fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	put(fd, COOKIE, 37);
	await_count(&notes.lines, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(take(fd), WIRE_PARAM_EXCHANGE);
	close(fd);
	client_close(run_client(&cfg, 1));
	server_close(s);
	assert_contains(notes.said, "no more file descriptors");
}

/* 512 MB, the most that can be asked for; more than the kernel gives without being told to. */
static void a_window_that_the_kernel_cuts_is_refused_with_the_remedy(void **state)
{
	struct server *s = new_server(0);
	struct client_cfg cfg = client_of(s);
	struct client *c = NULL;
	struct err e = {};
	unsigned long bound = 0;
	FILE *f = fopen("/proc/sys/net/core/wmem_max", "re");
	int fd, data;

	if (!f || fscanf(f, "%lu", &bound) != 1 || bound >= WIRE_WINDOW_MAX / 2) {
		if (f)
			fclose(f);
		server_close(s);
		print_message("net.core.wmem_max is unknown or larger than any window\n");
		skip();
	}
	fclose(f);
	cfg.params.window_bytes = WIRE_WINDOW_MAX;
	assert_int_equal(client_open(&c, &cfg, &e), 0);
	assert_int_equal(client_start(c, &e), -ENOBUFS);
	assert_contains(e.msg, "window of 536870912 bytes");
	assert_contains(e.msg, "raise net.core.wmem_max");
	client_close(c);

	fd = ask(s, COOKIE, "{\"tcp\":true,\"time\":1,\"parallel\":1,\"window\":536870912}");
	assert_int_equal(take(fd), WIRE_CREATE_STREAMS);
	data = connect_to(s);
	put(data, COOKIE, 37);
	assert_int_equal(take_error(fd), WIRE_ESETBUF2);
	close(data);
	close(fd);
	server_close(s);
	assert_contains(notes.said, "raise net.core.wmem_max");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_a_client_does_the_next_one_is_served),
		cmocka_unit_test(who_is_silent_is_dropped_after_a_bound),
		cmocka_unit_test(a_silent_connection_keeps_nobody_waiting),
		cmocka_unit_test(a_server_serves_one_test_after_another),
		cmocka_unit_test(a_second_client_is_told_that_the_server_is_busy),
		cmocka_unit_test(a_server_without_threads_for_the_streams_says_so),
		cmocka_unit_test(a_stream_that_the_client_closes_early_fails_the_test),
		cmocka_unit_test(error_numbers_are_those_of_stock_clients),
		cmocka_unit_test(what_the_owner_does_not_allow_is_refused),
		cmocka_unit_test(who_overstays_is_dropped),
		cmocka_unit_test(a_window_that_the_kernel_cuts_is_refused_with_the_remedy),
		cmocka_unit_test(a_rate_is_kept_in_short_tests_too),
		cmocka_unit_test(a_client_that_vanishes_is_named_once_and_before_the_end),
		cmocka_unit_test(a_server_that_ends_says_so_to_all),
		cmocka_unit_test(streams_that_nobody_wants_are_refused),
		cmocka_unit_test(who_is_silent_in_numbers_loses_to_who_is_not),
		cmocka_unit_test(udp_streams_of_an_address_are_taken_test_by_test),
		cmocka_unit_test(a_lost_answer_is_given_again),
		cmocka_unit_test(a_round_trip_test_is_answered_before_streams),
		cmocka_unit_test(a_socket_may_be_handed_over),
		cmocka_unit_test(clients_of_ipv4_have_their_own_names),
		cmocka_unit_test(without_descriptors_clients_wait_and_are_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
