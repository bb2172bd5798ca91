// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A crowd of clients at one server at once: nobody is refused, and what each client counts is what
 * the server counts of it.  One in four is over UDP, one in eight goes both ways.
 *
 * usage: crowd_main [CLIENTS [SECONDS]]		TAP on stdout
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "load/client.h"
#include "load/server.h"

#define CLIENTS_MAX 1000
#define PATIENCE_NS (120 * NS_PER_S)

/* What the server counted of a client, by its cookie; under its lock. */
struct seen {
	char cookie[WIRE_COOKIE_SIZE];
	uint64_t rx, tx;
};

static struct seen seen[CLIENTS_MAX];
static unsigned int nr_seen, nr_said;
static uint16_t port;
static unsigned int seconds = 3;
static pthread_barrier_t together;
static atomic_uint nr_failed, nr_different, nr_running, most_running;

struct one {
	unsigned int number;
	char cookie[WIRE_COOKIE_SIZE];
	struct wire_params params;
	uint64_t rx, tx;
	bool failed;
};

static struct one crowd[CLIENTS_MAX];

static uint64_t sum(const struct wire_results *res, unsigned int first, unsigned int nr)
{
	uint64_t bytes = 0;

	for (unsigned int i = first; i < first + nr && i < res->nr; i++)
		bytes += res->streams[i].bytes;
	return bytes;
}

static void on_said(void *ctx, const char *line)
{
	(void)ctx;
	printf("# %s\n", line);
	nr_said++;
}

static void on_began(void *ctx, struct server_test *t)
{
	unsigned int nr = atomic_fetch_add(&nr_running, 1) + 1;

	(void)ctx;
	(void)t;
	if (nr > atomic_load(&most_running))
		atomic_store(&most_running, nr);
}

static void on_ended(void *ctx, struct server_test *t)
{
	struct seen *s = &seen[nr_seen++];
	unsigned int nr = t->params->streams;

	(void)ctx;
	atomic_fetch_sub(&nr_running, 1);
	memcpy(s->cookie, t->cookie, sizeof(s->cookie));
	s->rx = t->rx ? sum(t->mine, 0, nr) : 0;
	s->tx = t->tx ? sum(t->mine, t->rx ? nr : 0, nr) : 0;
}

static int run(struct one *o, struct err *e)
{
	struct client_cfg cfg = { .host = "127.0.0.1",
				  .port = port,
				  .params = o->params,
				  .cpu = -1,
				  .seed = o->number,
				  .connect_timeout_ns = PATIENCE_NS };
	struct timespec t = { .tv_sec = seconds };
	struct client *c = NULL;
	int r = client_open(&c, &cfg, e);

	if (r >= 0)
		r = client_start(c, e);
	pthread_barrier_wait(&together);
	if (r >= 0)
		r = client_wait_bytes(c, PATIENCE_NS, e);
	if (r >= 0)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	if (r >= 0)
		r = client_stop(c, e);
	if (r >= 0) {
		const struct wire_results *mine = client_mine(c);
		unsigned int nr = o->params.streams;

		memcpy(o->cookie, client_cookie(c), sizeof(o->cookie));
		o->tx = o->params.reverse ? 0 : sum(mine, 0, nr);
		o->rx = o->params.reverse ? sum(mine, 0, nr) : sum(mine, nr, nr);
	}
	client_close(c);
	return r;
}

static void *run_one(void *one)
{
	struct one *o = one;
	struct err e = {};

	o->failed = run(o, &e) < 0;
	if (o->failed) {
		printf("# client %u: %s\n", o->number, e.msg);
		atomic_fetch_add(&nr_failed, 1);
	}
	return NULL;
}

/* Datagrams may be lost on a busy machine, and then are counted by one end alone. */
static bool agrees(const struct one *o, const struct seen *s)
{
	if (o->params.udp)
		return s->rx <= o->tx && o->rx <= s->tx && (s->rx > 0 || o->rx > 0);
	return s->rx == o->tx && o->rx == s->tx && s->rx + s->tx > 0;
}

static void compare(const struct one *o)
{
	for (unsigned int i = 0; i < nr_seen; i++)
		if (memcmp(seen[i].cookie, o->cookie, sizeof(o->cookie)) == 0 &&
		    agrees(o, &seen[i]))
			return;
	printf("# client %u: the server counted something else\n", o->number);
	atomic_fetch_add(&nr_different, 1);
}

static void result(int n, bool ok, const char *what)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", n, what);
}

static void run_crowd(unsigned int nr)
{
	static pthread_t v[CLIENTS_MAX];

	pthread_barrier_init(&together, NULL, nr);
	for (unsigned int i = 0; i < nr; i++) {
		crowd[i] = (struct one){ .number = i,
					 .params = { .udp = i % 4 == 0,
						     .reverse = i % 8 < 2,
						     .bidir = i % 8 == 3,
						     .streams = 1,
						     .time_s = 600,
						     .length_bytes = 1000,
						     .rate_bps = 200000,
						     .server_cpu = -1 } };
		if (pthread_create(&v[i], NULL, run_one, &crowd[i]) != 0) {
			printf("Bail out! no threads\n");
			exit(1);
		}
	}
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(v[i], NULL);
}

int main(int argc, char **argv)
{
	struct server_cfg cfg = { .bind = "127.0.0.1",
				  .listen_fd = -1,
				  .cpu = -1,
				  .step_ns = PATIENCE_NS,
				  .watch = {
					  .said = on_said, .began = on_began, .ended = on_ended } };
	unsigned int nr = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 200;
	struct server *s = NULL;
	struct err e = {};

	if (argc > 2)
		seconds = (unsigned int)strtoul(argv[2], NULL, 10);
	if (nr == 0 || nr > CLIENTS_MAX || server_open(&s, &cfg, &e) < 0 ||
	    server_start(s, &e) < 0) {
		printf("Bail out! %s\n", e.msg);
		return 1;
	}
	port = server_port(s);
	puts("1..4");
	run_crowd(nr);
	server_close(s);
	for (unsigned int i = 0; i < nr; i++)
		if (!crowd[i].failed)
			compare(&crowd[i]);
	result(1, atomic_load(&nr_failed) == 0, "no client fails");
	result(2, atomic_load(&nr_different) == 0, "every client's bytes are the server's");
	result(3, atomic_load(&most_running) == nr, "all tests run at the same time");
	result(4, nr_said == 0, "the server complains of nobody");
	return 0;
}
