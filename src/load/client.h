/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_CLIENT_H
#define LOAD_CLIENT_H

/*
 * The client end of an iperf3 test; the server may be a stock iperf3 or ours.
 *
 *	client_open	resolve, allocate the samples
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
#include "load/wire.h"

struct client;
struct err;

struct client_cfg {
	const char *host; /* borrowed while the client lives, as all texts here; "fe80::1%eth0" */
	uint16_t port;
	int family;	  /* AF_UNSPEC, AF_INET, AF_INET6 */
	const char *bind; /* local address, may end in "%netdev"; NULL: any */
	/*
	 * Local port of the first stream, the next one the next; 0: any.  Data sockets are closed
	 * so that the same ports can be had again at once: the same flow hash in every trial.
	 */
	uint16_t local_port;
	/* What is agreed with the server, who is told params.time_s; the caller ends the test. */
	struct wire_params params;
	int cpu;		     /* of the first stream's thread here; -1: anywhere */
	uint64_t seed;		     /* of the cookie */
	uint64_t connect_timeout_ns; /* 0: 5 s */
	uint64_t receive_timeout_ns; /* a receiving test without a byte breaks; 0: 120 s */
	uint64_t retry_ns;	     /* how long a busy or absent server is asked again */
	uint64_t sample_ns;	     /* 0: no samples */
	size_t max_samples;	     /* of each flow */
	/*
	 * Borrowed, may be NULL.  When true, what waits ends soon with -ECANCELED; a test that ran
	 * before is still ended as agreed if the server is quick about it.
	 */
	const atomic_bool *interrupted;
};

/* The two directions of a test, seen from here. */
enum client_side {
	CLIENT_TX, /* the client sends, or asks (rr, crr) */
	CLIENT_RX, /* the client receives */
	CLIENT_SIDES,
};

int client_open(struct client **ret, const struct client_cfg *cfg, struct err *e);
int client_start(struct client *c, struct err *e);
/*
 * Wait until every stream has moved bytes, with -n and -k one of each direction: the amount may be
 * less than a block each.  -ETIMEDOUT with what to look at after @bound_ns.
 */
int client_wait_bytes(struct client *c, uint64_t bound_ns, struct err *e);
/*
 * From the next sample on they are taken at @grid_ns and every sample_ns after it, so that they
 * meet those of others.  Between start and stop; any thread.
 */
void client_align_samples(struct client *c, uint64_t grid_ns);
/*
 * Between start and stop: 0, or the reason why the running test is over (server gone, stream
 * broken).  Any thread; waits only for the reason of a broken stream, half a second at most.
 */
int client_check(struct client *c, struct err *e);
int client_stop(struct client *c, struct err *e);
void client_close(struct client *c);
void client_closep(struct client **c);

/*
 * -n and -k: true once every direction has moved what was asked for (bytes as counted here, without
 * the omitted ones); the caller ends the test then.  Any thread, between start and stop.
 */
bool client_is_spent(const struct client *c);
/* Whether the omitted seconds are over: what flow_omit() counted may be read. Any thread. */
bool client_counts(const struct client *c);

/* NULL before client_start(), or when the test does not have this direction; both with bidir. */
struct flow *client_flow(struct client *c, enum client_side side);
/* What was agreed: params with the defaults that depend on the path filled in (UDP length). */
const struct wire_params *client_params(const struct client *c);
/* Samples so far, and how many found no room; complete after client_stop(). */
const struct flow_count *client_samples(const struct client *c, enum client_side side,
					size_t *ret_nr, size_t *ret_lost);
/*
 * After client_stop(); NULL before.  Streams of the first flow, then of the second: the client's
 * sending ones come first.  Of a running test that failed this end's are there, the server's NULL.
 */
const struct wire_results *client_mine(const struct client *c);
const struct wire_results *client_theirs(const struct client *c);
/* What the server printed, when params.get_server_output asked for it; NULL when it did not say. */
const char *client_server_output(const struct client *c, bool *ret_is_json);
const char *client_cookie(const struct client *c);

#endif
