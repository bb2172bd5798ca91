/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_FLOW_H
#define LOAD_FLOW_H

/*
 * The data streams of one test, at either end: all send or all receive, one thread each.
 *
 *	flow_init	allocate
 *	flow_take	one connected socket after another
 *	flow_start	threads run
 *	flow_read	counters at any time, from another thread
 *	flow_quiet	senders end
 *	flow_finish	receivers take what is on its way, all threads joined
 *	flow_release	sockets closed, memory freed; at any point
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

struct err;
struct stream;
struct wire_results;

/* Counters of a stream or the sum over a flow. */
struct flow_count {
	uint64_t t_ns; /* CLOCK_MONOTONIC, taken with the bytes */
	uint64_t bytes;
	/* of a sender only, otherwise 0 */
	uint64_t acked_bytes;
	uint64_t retransmits;
	uint64_t cwnd_bytes; /* of a flow: the sum */
	uint64_t rtt_ns;     /* of a flow: the mean */
};

struct flow {
	bool sender;
	unsigned int nr;   /* streams asked for */
	unsigned int have; /* sockets taken */
	struct stream *v;
	pthread_t *threads;
	unsigned int running; /* threads not joined */
	atomic_int phase;     /* enum stream_phase */
	uint64_t start_ns, end_ns;
	struct rusage usage_start, usage_end;
	struct flow_count *omit; /* of each stream: counted before the omitted seconds ended */
	uint64_t omit_ns;	 /* when they did; start_ns without */
	char congestion[16];
};

struct flow_cfg {
	bool sender;
	unsigned int streams;
	uint64_t rate_bps; /* of each stream */
	size_t length_bytes;
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
unsigned int flow_id(const struct flow *f, unsigned int i);
int flow_fd(const struct flow *f, unsigned int i);
/* What is counted starts here. */
void flow_omit(struct flow *f);
/*
 * The test is about to end: no more bytes from the senders, their threads are joined.  Receivers go
 * on while bytes come; that the peer ends a stream is no error any more.
 */
void flow_quiet(struct flow *f);
/*
 * Tell the peer by end of file that all has been sent, receive until its end of file or until
 * nothing comes any more, @bound_ns at most; join everything.
 */
void flow_finish(struct flow *f, uint64_t bound_ns);
/* 0, or why the first stream that broke before flow_quiet() did. Any thread, no system call. */
int flow_check(const struct flow *f, struct err *e);
/* What this end reports; after flow_finish(). */
void flow_results(const struct flow *f, struct wire_results *ret);
void flow_release(struct flow *f);

#endif
