/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_UNIT_TRAFFIC_H
#define TESTS_UNIT_TRAFFIC_H

/*
 * Both ends of a test in this process, over loopback.  Times are bounds against hanging, never
 * expectations.
 */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/client.h"
#include "load/server.h"
#include "load/wire.h"

#define PATIENCE_NS (60 * NS_PER_S) /* before a test says that something hangs */

/* What the server said; written by its threads, read after server_close() but for the atomic ones.
 */
struct notes {
	atomic_int lines, ends;
	struct wire_results mine, theirs;
	bool has_theirs;
	int tests;
	int begun;
	int lines_at_end; /* said before the end of the last test was told */
	char said[4096];
};

static struct notes notes;

static inline void on_said(void *ctx, const char *line)
{
	size_t len = strlen(notes.said);

	snprintf(notes.said + len, sizeof(notes.said) - len, "%s\n", line);
	atomic_fetch_add(&notes.lines, 1);
}

static inline void on_began(void *ctx, struct server_test *test)
{
	notes.begun++;
}

static inline void on_ended(void *ctx, struct server_test *test)
{
	notes.mine = *test->mine;
	notes.has_theirs = test->theirs != NULL;
	if (test->theirs)
		notes.theirs = *test->theirs;
	notes.tests++;
	notes.lines_at_end = atomic_load(&notes.lines);
	atomic_fetch_add(&notes.ends, 1);
}

static inline struct server_cfg server_cfg_of(uint64_t step_ns)
{
	return (struct server_cfg){
		.bind = "127.0.0.1",
		.listen_fd = -1,
		.cpu = -1,
		.step_ns = step_ns,
		.watch = { .said = on_said, .began = on_began, .ended = on_ended }
	};
}

static inline struct server *start_server(const struct server_cfg *cfg)
{
	struct server *s = NULL;
	struct err e = {};

	memset(&notes, 0, sizeof(notes));
	if (server_open(&s, cfg, &e) < 0 || server_start(s, &e) < 0)
		fail_msg("%s", e.msg);
	return s;
}

static inline struct server *new_server(uint64_t step_ns)
{
	struct server_cfg cfg = server_cfg_of(step_ns);

	return start_server(&cfg);
}

static inline struct client_cfg client_of(const struct server *s)
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

static inline void pause_ms(unsigned int ms)
{
	struct timespec t = clock_timespec(ms * NS_PER_MS);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Until @count is at least @nr. */
static inline void await_count(const atomic_int *count, int nr)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;

	while (atomic_load(count) < nr) {
		assert_true(clock_mono_ns() < until);
		pause_ms(1);
	}
}

/* A whole test of @ms; the client, stopped, for more questions. */
static inline struct client *run_client(const struct client_cfg *cfg, unsigned int ms)
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

static inline int connect_to(const struct server *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(server_port(s)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static inline void put(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

/* The next byte, or -100 at the end of the connection. */
static inline int take(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	signed char c = 0;

	if (poll(&p, 1, (int)(PATIENCE_NS / NS_PER_MS)) != 1)
		fail_msg("the server hangs");
	return recv(fd, &c, 1, 0) == 1 ? c : -100;
}

static inline void put_json(int fd, const char *text)
{
	uint32_t be = htonl((uint32_t)strlen(text));

	put(fd, &be, sizeof(be));
	put(fd, text, strlen(text));
}

static inline void skip_json(int fd)
{
	uint32_t be = 0;
	char c;

	assert_int_equal(recv(fd, &be, sizeof(be), MSG_WAITALL), sizeof(be));
	for (uint32_t left = ntohl(be); left > 0; left--)
		assert_int_equal(recv(fd, &c, 1, 0), 1);
}

#define COOKIE "abcdefghijklmnopqrstuvwxyz234567abcd"
#define PARAMS "{\"tcp\":true,\"time\":1,\"parallel\":1,\"len\":1000}"

/* A server that does all up to TEST_RUNNING and then closes one of two streams. */
struct quitter {
	int listen_fd;
	struct client_cfg cfg;
	pthread_t thread;
};

static inline int accept_cookie(int listen_fd)
{
	char cookie[WIRE_COOKIE_SIZE];
	int fd = accept(listen_fd, NULL, NULL);

	assert_true(fd >= 0);
	assert_int_equal(recv(fd, cookie, sizeof(cookie), MSG_WAITALL), sizeof(cookie));
	return fd;
}

static inline void *quit_one_stream(void *quitter)
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

static inline void open_quitter(struct quitter *q)
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

static inline void close_quitter(struct quitter *q)
{
	pthread_join(q->thread, NULL);
	close(q->listen_fd);
}

#define STREAM_2_IS_CLOSED "stream 2 of 2 was closed by the peer before the end of the test"

#endif
