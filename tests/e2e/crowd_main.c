// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A crowd of clients at one server at once: nobody is refused, and of every stream what was sent is
 * what was received and, of datagrams, known to be lost, in the words of both ends.  One in four is
 * over UDP, one in eight goes both ways.
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

/* The results of one end; a client has one stream in each direction at most. */
struct said {
	unsigned int nr;
	struct wire_stream v[2];
};

/* The server's view of a client, by its cookie; under its lock. */
struct seen {
	char cookie[WIRE_COOKIE_SIZE];
	struct said mine, theirs;
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
	struct said mine, theirs;
	bool failed;
};

static struct one crowd[CLIENTS_MAX];

static void note(struct said *to, const struct wire_results *res)
{
	for (to->nr = 0; res && to->nr < res->nr && to->nr < 2; to->nr++)
		to->v[to->nr] = res->streams[to->nr];
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

	(void)ctx;
	atomic_fetch_sub(&nr_running, 1);
	memcpy(s->cookie, t->cookie, sizeof(s->cookie));
	note(&s->mine, t->mine);
	note(&s->theirs, t->theirs);
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
		memcpy(o->cookie, client_cookie(c), sizeof(o->cookie));
		note(&o->mine, client_mine(c));
		note(&o->theirs, client_theirs(c));
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

/* @sent as its sender counts it, @received as the receiver does, of one stream. */
static bool adds_up(const struct one *o, const struct wire_stream *sent,
		    const struct wire_stream *received)
{
	const uint64_t length = o->params.length_bytes;

	if (!o->params.udp)
		return sent->bytes > 0 && sent->bytes == received->bytes;
	/* each datagram came or is known to be lost */
	return sent->packets > 0 && sent->bytes == sent->packets * length &&
	       sent->packets == received->packets && received->errors >= 0 &&
	       received->bytes == (received->packets - (uint64_t)received->errors) * length;
}

static bool is_same(const struct said *a, const struct said *b)
{
	for (unsigned int i = 0; i < a->nr; i++)
		if (a->v[i].id != b->v[i].id || a->v[i].bytes != b->v[i].bytes ||
		    a->v[i].packets != b->v[i].packets || a->v[i].errors != b->v[i].errors)
			return false;
	return a->nr == b->nr && a->nr > 0;
}

/* What each end counts adds up, and is what the other one was told. */
static bool agrees(const struct one *o, const struct seen *s)
{
	if (!is_same(&o->mine, &s->theirs) || !is_same(&o->theirs, &s->mine))
		return false;
	for (unsigned int i = 0; i < o->mine.nr; i++) {
		const bool client_sends = !o->params.reverse && i < o->params.streams;
		const struct wire_stream *mine = &o->mine.v[i], *theirs = &o->theirs.v[i];

		if (!adds_up(o, client_sends ? mine : theirs, client_sends ? theirs : mine))
			return false;
	}
	return true;
}

static void show(const char *whose, const struct said *x)
{
	for (unsigned int i = 0; i < x->nr; i++)
		printf("#   %s stream %u: %llu bytes, %llu packets, %lld lost\n", whose, x->v[i].id,
		       (unsigned long long)x->v[i].bytes, (unsigned long long)x->v[i].packets,
		       (long long)x->v[i].errors);
}

static void compare(const struct one *o)
{
	for (unsigned int i = 0; i < nr_seen; i++)
		if (memcmp(seen[i].cookie, o->cookie, sizeof(o->cookie)) == 0 &&
		    agrees(o, &seen[i]))
			return;
	printf("# client %u: the server counted something else\n", o->number);
	show("client's", &o->mine);
	show("server's", &o->theirs);
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
	result(2, atomic_load(&nr_different) == 0,
	       "nothing is lost: of every stream both ends say what adds up");
	result(3, atomic_load(&most_running) == nr, "all tests run at the same time");
	result(4, nr_said == 0, "the server complains of nobody");
	return 0;
}
