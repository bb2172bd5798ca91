/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_CLIENT_PARTS_H
#define LOAD_CLIENT_PARTS_H

/*
 * Inside of the client:
 *
 *	client.c	its life, from client_open() to client_close(), and what it knows
 *	client_agree.c	connections, the agreement with the server, the streams
 *	client_watch.c	the thread that samples and watches a running test
 */

#include <netdb.h>
#include <pthread.h>

#include "base/err.h"
#include "load/channel.h"
#include "load/client.h"
#include "load/endpoint.h"

/* One direction of the test. */
struct side {
	bool is_used;
	struct flow flow;
	struct flow_count *samples;
	_Atomic size_t nr_samples;
	_Atomic size_t lost;
};

struct client {
	struct client_cfg cfg;
	struct addrinfo *addrs;
	char peer[320]; /* "server 198.18.0.2:5201" */
	char cookie[WIRE_COOKIE_SIZE];
	int fd;
	int wake_fd; /* ends the watching thread */
	struct channel ch;
	struct endpoint server; /* where the control connection went */
	struct wire_extended extended;
	unsigned int nr_dialled; /* streams */
	struct side side[CLIENT_SIDES];
	uint64_t start_ns;
	_Atomic uint64_t grid_ns; /* where the grid of samples begins anew; 0: at the start */
	pthread_t watch;
	bool watching;
	/* of the watching thread */
	uint64_t omit_due_ns; /* 0: done, or nothing to omit */
	atomic_bool counts;   /* nothing is omitted any more */
	uint64_t received;
	uint64_t received_ns; /* when that grew last */
	struct err why;	      /* of @failed; written before it is set */
	atomic_bool failed;
	uint64_t patience_ns; /* until then an interruption does not end a wait */
	bool agreed;	      /* between TEST_RUNNING and the results */
	bool ended;	      /* @mine is there */
	bool done;	      /* and @theirs */
	struct wire_results mine, theirs;
	struct wire_output output;
};

/* client_agree.c */

bool client_is_interrupted(const struct client *c);
int client_say_interrupted(struct err *e);
/* The next control byte must be @want. */
int client_expect(struct client *c, int want, struct err *e);
/* The reason in a control byte that does not let the test go on. */
int client_unexpected(struct client *c, int state, int want, struct err *e);
/* Connect; a server between two tests is asked again for cfg.retry_ns. */
int client_greet(struct client *c, struct err *e);
int client_agree(struct client *c, struct err *e);
/* -n and -k, in bytes; 0: none. */
uint64_t client_limit_bytes(const struct wire_params *p);
int client_init_flows(struct client *c, struct err *e);
/* In the order that both ends count: first those the client sends on. */
int client_add_streams(struct client *c, struct err *e);

/* client_watch.c */

int client_start_watch(struct client *c, struct err *e);
void client_end_watch(struct client *c);
/* The first stream that broke. */
int client_check_flows(struct client *c, struct err *e);
/* Whether a stream has broken, and why: the server may have said it. */
void client_judge_streams(struct client *c);
void client_omit_when_due(struct client *c);

#endif
