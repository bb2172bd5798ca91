/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_SESSION_H
#define LOAD_SESSION_H

/*
 * One client of a server, from its cookie to its farewell: a thread of its own, which waits for its
 * control connection and for the streams that the server's thread sorts out.  For server*.c and
 * session*.c alone.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "load/channel.h"
#include "load/door.h"
#include "load/greeter.h"
#include "load/server.h"

#define HUB_DOORS_MAX 64
#define HUB_BLOCKS_MAX (UINT64_C(2) << 30)
#define SESSION_STREAMS_MAX (2 * WIRE_STREAMS_MAX)

/* Streams are taken: not, over TCP, soon over UDP, over UDP. */
enum gathering {
	GATHER_NONE,
	GATHER_TCP,
	GATHER_QUEUED,
	GATHER_UDP,
};

struct session;

/* What the sessions and the thread that accepts share. */
struct hub {
	struct server_cfg cfg;
	uint16_t port;
	int wake_fd; /* of the thread that accepts */
	pthread_mutex_t watch_lock;
	/* guards all below, and in sessions what says so; never held while something waits */
	pthread_mutex_t lock;
	struct session *first;
	unsigned int nr_sessions, nr_tests;
	uint64_t block_bytes; /* that the sessions' streams work in */
	uint64_t nr_tickets;
	struct door doors[HUB_DOORS_MAX]; /* none is closed before the hub is */
	unsigned int nr_doors;
};

struct session {
	struct hub *hub;
	struct session *next;
	pthread_t thread;
	int wake_fd;
	atomic_bool stop;  /* told to end */
	atomic_bool ended; /* the thread is about to return */
	int result;	   /* after @ended, as @e */
	bool has_begun;
	struct err e;

	struct greeting client;
	struct endpoint local; /* where the client came to */
	struct channel ch;
	struct wire_params params;
	struct flow rx, tx;
	struct server_test test;
	struct wire_results mine, theirs;
	struct wire_output output;

	/* guarded by the hub's lock */
	enum gathering gathering;
	uint64_t ticket; /* of turns over UDP */
	uint64_t block_bytes;
	unsigned int nr_offered, nr_wanted, nr_taken;
	int offered[SESSION_STREAMS_MAX];
	uint16_t ports[SESSION_STREAMS_MAX]; /* of the client's UDP streams */
};

/* One line for a person. */
void hub_say(struct hub *h, const char *line);
void hub_wake(struct hub *h);

/* Start a session with @client, whose descriptor it owns on success. */
int session_start(struct session **ret, struct hub *h, const struct greeting *client,
		  struct err *e);
/* A data connection with the cookie of @s; true when it is wanted.  Under the lock. */
bool session_offer(struct session *s, int fd);
/* A hello from @from at @d for @s, which gathers; false when it is none of its.  Under the lock. */
bool session_hello(struct session *s, const struct door *d, const struct endpoint *from);
/* End it soon; any thread. */
void session_stop(struct session *s);
/* Join and free. */
void session_free(struct session *s);

/* session_gather.c: agreed, until all streams have come. */
int session_gather(struct session *s, struct err *e);
/* Closes what was offered and not taken; ends the turn. */
void session_end_gathering(struct session *s);

/*
 * One round of waiting until @until_ns at most.  1: the control connection has @events; 0: not yet,
 * something may have been offered; -ECANCELED: told to end.
 */
int session_wait(struct session *s, short events, uint64_t until_ns, struct err *e);
/* -2, iperf3's own number and errno: a stock client prints a sentence for it. */
void session_refuse(struct session *s, int code, int sys);

#endif
