/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_FLOW_H
#define LOAD_FLOW_H

/*
 * The data streams of one direction of a test, at either end: all send or all receive, one thread
 * each.  A test of both directions has two flows.  In rr and crr the client's flow is the "sender".
 *
 *	flow_init	allocate
 *	flow_take	one connected socket after another
 *	flow_start	threads run
 *	flow_read	counters at any time, from another thread
 *	flow_quiet	senders end
 *	flow_finish	receivers take what is on its way, all threads joined
 *	flow_release	sockets closed, memory freed; at any point
 *
 * A crr flow has no lasting connections.  The client's takes no sockets: it is given
 * stream.peer.  The server's takes one listening socket for each stream; they may be duplicates of
 * one another.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/stream.h"

struct err;
struct hist;
struct wire_results;

/* Counters of a stream or the sum over a flow. */
struct flow_count {
	uint64_t t_ns; /* CLOCK_MONOTONIC, taken with the bytes */
	uint64_t bytes;
	/* of UDP; of rr and crr packets are transactions and lost requests without a response */
	uint64_t packets;
	int64_t lost;
	uint64_t out_of_order;
	uint64_t received;  /* of UDP receivers */
	uint64_t jitter_ns; /* of a flow: the mean */
	/* of a TCP sender only, otherwise 0 */
	uint64_t acked_bytes;
	uint64_t retransmits;
	uint64_t cwnd_bytes; /* of a flow: the sum */
	uint64_t snd_wnd_bytes;
	uint64_t rtt_ns; /* of a flow: the mean, as rttvar_ns */
	uint64_t rttvar_ns;
	uint64_t pmtu_bytes;
	uint64_t reorder;
	uint64_t delivery_bps; /* of a flow: the sum */
};

struct flow {
	struct stream_cfg cfg;
	struct stream_limit limit;
	unsigned int nr;   /* streams asked for */
	unsigned int have; /* sockets taken */
	struct stream *v;
	pthread_t *threads;
	unsigned int running; /* threads not joined */
	atomic_int phase;     /* enum stream_phase */
	uint64_t start_ns, end_ns;
	int cpu;
	struct flow_count *omit; /* of each stream: counted before the omitted seconds ended */
	uint64_t omit_ns;	 /* when they did; start_ns without */
	char congestion[16];
};

struct flow_cfg {
	struct stream_cfg stream;
	unsigned int streams;
	unsigned int first_index; /* of the first stream's id: the second flow of a test goes on */
	uint64_t limit_bytes;	  /* bulk: senders of the flow stop there; 0: never */
	/*
	 * Of the first stream's thread, the next one on the next CPU, after the last one on the
	 * first; -1: any.
	 */
	int cpu;
};

int flow_init(struct flow *f, const struct flow_cfg *cfg, struct err *e);
/* The next stream's socket; on success the flow closes it. */
int flow_take(struct flow *f, int fd, struct err *e);
/* On failure no thread runs and the flow counts as never started. */
int flow_start(struct flow *f, struct err *e);
/* Counters of stream @i; cost: a clock read, and a getsockopt() at the sender. */
void flow_read_stream(const struct flow *f, unsigned int i, struct flow_count *ret);
void flow_read(const struct flow *f, struct flow_count *ret);
/* Bytes of stream @i alone; no system call. */
uint64_t flow_bytes(const struct flow *f, unsigned int i);
/* The same of all streams. */
uint64_t flow_sum_bytes(const struct flow *f);
unsigned int flow_id(const struct flow *f, unsigned int i);
int flow_fd(const struct flow *f, unsigned int i);
/* The CPU that last processed the stream's packets (SO_INCOMING_CPU); -1: none, unknown. */
int flow_incoming_cpu(const struct flow *f, unsigned int i);
/*
 * rr and crr, client: add to @into what stream @i recorded since the last call [ns].  Waits for the
 * transaction under way, 100 ms at most; what cannot be taken now is in the next call's.
 */
void flow_take_hist(struct flow *f, unsigned int i, struct hist *into);
/* What is counted starts here. */
void flow_omit(struct flow *f);
/* Whether the senders have used up their limit and all of it is in their sockets. */
bool flow_is_spent(const struct flow *f);
/*
 * The test is about to end: no more bytes from the senders, their threads are joined.  Receivers go
 * on while bytes come; that the peer ends a stream is no error any more.
 */
void flow_quiet(struct flow *f);
/*
 * The peer has ended too, or does so on its own.  Tell it by end of file that all has been sent,
 * receive until its end of file or, without one, until nothing comes any more, @bound_ns at most;
 * join everything.
 */
void flow_finish(struct flow *f, uint64_t bound_ns);
/* 0, or why the first stream that broke before flow_quiet() did. Any thread, no system call. */
int flow_check(const struct flow *f, struct err *e);
/*
 * Append what this end reports of the flow to @ret (zeroed before the first); after flow_finish().
 * CPU use is that of the flow's threads: other tests of the same process do not count.
 */
void flow_results(const struct flow *f, struct wire_results *ret);
/*
 * Close the data sockets so that the same ports can be had again at once: TCP connections are reset
 * and none waits in TIME_WAIT.  After flow_results(), only when both ends have everything (results
 * exchanged) and while the peer still has its sockets open (before IPERF_DONE).
 */
void flow_reset(struct flow *f);
void flow_release(struct flow *f);

#endif
