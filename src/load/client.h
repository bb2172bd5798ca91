/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_CLIENT_H
#define LOAD_CLIENT_H

/*
 * The client end of an iperf3 test; the server may be a stock iperf3 or ours.
 *
 *	client_open	resolve, allocate
 *	client_start	connect, agree, streams run when it returns
 *	client_stop	end the test, exchange results
 *	client_close	at any point
 *
 * Between start and stop a thread of the client takes a sample every sample_ns into memory
 * allocated by open, and watches the control connection.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/flow.h"

struct client;
struct err;
struct wire_results;

struct client_cfg {
	const char *host; /* borrowed while the client lives, as all texts here */
	uint16_t port;
	unsigned int streams;
	bool reverse;	     /* the server sends */
	bool nodelay;	     /* TCP_NODELAY */
	uint64_t rate_bps;   /* of each stream; 0: flat out */
	unsigned int time_s; /* what the server is told; the caller ends the test */
	size_t length_bytes; /* of a block */
	unsigned int window_bytes;
	const char *congestion; /* "" or NULL: the system's */
	uint64_t seed;		/* of the cookie */
	uint64_t retry_ns;	/* how long a busy or absent server is asked again */
	uint64_t sample_ns;	/* 0: no samples */
	size_t max_samples;
	/*
	 * Borrowed, may be NULL.  When true, what waits ends soon with -ECANCELED; a test that ran
	 * before is still ended as agreed if the server is quick about it.
	 */
	const atomic_bool *interrupted;
};

int client_open(struct client **ret, const struct client_cfg *cfg, struct err *e);
int client_start(struct client *c, struct err *e);
/* Wait until every stream has moved bytes; -ETIMEDOUT with what to look at after @bound_ns. */
int client_wait_bytes(struct client *c, uint64_t bound_ns, struct err *e);
/*
 * Between start and stop: 0, or the reason why the running test is over (server gone, stream
 * broken).  Any thread; waits only for the reason of a broken stream, half a second at most.
 */
int client_check(struct client *c, struct err *e);
int client_stop(struct client *c, struct err *e);
void client_close(struct client *c);
void client_closep(struct client **c);

const struct flow *client_flow(const struct client *c);
/* Samples so far, and how many found no room; complete after client_stop(). */
const struct flow_count *client_samples(const struct client *c, size_t *ret_nr, size_t *ret_lost);
/* After client_stop(); NULL before. */
const struct wire_results *client_mine(const struct client *c);
const struct wire_results *client_theirs(const struct client *c);
const char *client_cookie(const struct client *c);

#endif
