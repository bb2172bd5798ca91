/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_SERVER_H
#define LOAD_SERVER_H

/*
 * The server end of iperf3 tests: clients may be stock iperf3 or ours.  One test at a time; a
 * second client is told ACCESS_DENIED.  Whatever a client sends or leaves out, the server is free
 * for the next one after a bounded time, and says why it dropped the first.
 *
 *	server_open	listen
 *	server_run	serve in this thread until server_wake() or, with one_off, one test
 *	server_start	the same in a thread of its own; server_close() ends it
 */

#include <stdbool.h>
#include <stdint.h>

#include "load/flow.h"
#include "load/wire.h"

struct err;
struct server;

/* What a server tells whoever runs it; called from the serving thread. Any may be NULL. */
struct server_watch {
	void *ctx;
	/* One line for a person: a client dropped or refused, and why. */
	void (*said)(void *ctx, const char *line);
	void (*began)(void *ctx, const char *client, const struct wire_params *p,
		      const struct flow *f);
	void (*tick)(void *ctx, const struct flow *f);
	/* After began only; @theirs is NULL when the client left before its results. */
	void (*ended)(void *ctx, const struct flow *f, const struct wire_results *mine,
		      const struct wire_results *theirs);
};

struct server_cfg {
	const char *bind; /* numeric address; NULL: all, IPv6 and IPv4 */
	uint16_t port;	  /* 0: any, see server_port() */
	bool one_off;
	uint64_t step_ns;     /* bound of every control step; 0: 10 s */
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
