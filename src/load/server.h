/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_SERVER_H
#define LOAD_SERVER_H

/*
 * The server end of iperf3 tests: clients may be stock iperf3 or ours, many at once.  Each has a
 * session: a thread of its own, its own limits and descriptors.  Whatever a client sends or leaves
 * out, its session ends after a bounded time, the others do not notice, and the reason is said.
 * No file that a client names is opened.
 *
 *	server_open	listen
 *	server_run	serve in this thread until server_wake() or, with one_off, one test
 *	server_start	the same in a thread of its own; server_close() ends it
 */

#include <stdbool.h>
#include <stdint.h>

#include "load/flow.h"
#include "load/wire.h"

struct buf;
struct err;
struct server;

/* A test as whoever runs the server sees it. */
struct server_test {
	unsigned int nr;    /* counts from 1 */
	const char *client; /* "192.0.2.1:40000" */
	const char *cookie;
	const struct wire_params *params;
	struct flow *rx, *tx; /* what the server receives and sends; NULL: not in this test */
	const struct wire_results *mine;   /* after the streams have ended */
	const struct wire_results *theirs; /* NULL when the client left before its results */
	const char *why;		   /* the test was dropped, and why; NULL: it went well */
	void *view;			   /* the watcher's own, from began to ended */
};

/*
 * What a server tells whoever runs it: from the thread of a session, one call at a time.  Any may
 * be NULL.
 */
struct server_watch {
	void *ctx;
	/* One line for a person: a client dropped or refused, and why. */
	void (*said)(void *ctx, const char *line);
	void (*began)(void *ctx, struct server_test *t);
	void (*tick)(void *ctx, struct server_test *t);
	/* The streams have ended and @theirs are known: what a client that asked gets to see.
	 */
	void (*output)(void *ctx, struct server_test *t, struct buf *out, bool *ret_is_json);
	/* After began only. */
	void (*ended)(void *ctx, struct server_test *t);
};

struct server_cfg {
	const char *bind; /* numeric address; NULL: all, IPv6 and IPv4 */
	int family;	  /* AF_UNSPEC, AF_INET, AF_INET6 */
	uint16_t port;	  /* 0: any, see server_port() */
	int listen_fd;	  /* already listening (systemd), owned from server_open() on; -1: none */
	bool one_off;
	int cpu;		  /* of the first stream's thread; -1: anywhere */
	unsigned int max_clients; /* at once; 0: 1024; with one_off 1 */
	/*
	 * Of a test: who asks for more is refused, who takes a step longer is dropped.  0: any, a
	 * day for those that do not say.
	 */
	uint64_t max_duration_ns;
	/*
	 * Of a client, all its streams together: who asks for more is refused, who moves a tenth
	 * more for two seconds is dropped; 0: any.
	 */
	uint64_t max_bps;
	uint64_t step_ns;     /* bound of every control step; 0: 10 s */
	uint64_t idle_ns;     /* a test without a byte is dropped; 0: 120 s */
	uint64_t interval_ns; /* between ticks; 0: none */
	struct server_watch watch;
};

int server_open(struct server **ret, const struct server_cfg *cfg, struct err *e);
uint16_t server_port(const struct server *s);
/* 0 after server_wake(); with one_off the result of the test. */
int server_run(struct server *s, struct err *e);
int server_start(struct server *s, struct err *e);
/* End server_run() soon; may be called from a signal handler. */
void server_wake(struct server *s);
void server_close(struct server *s);
void server_closep(struct server **s);

#endif
