/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_STREAM_H
#define LOAD_STREAM_H

/*
 * One data connection: the loops that move bytes, each alone in its file (stream_tcp.c,
 * stream_udp.c, stream_rr.c, stream_crr.c).  A loop is chosen before it runs; it moves blocks and
 * stores counters; it does not allocate, lock, format or touch a file.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "load/wire.h"

struct hist;

/* Waits in send() and recv() are this long at most, so that a phase is noticed. */
#define STREAM_WAIT_NS (100 * UINT64_C(1000000))
#define STREAM_ALIGN 64

enum stream_phase {
	STREAM_RUN,    /* move bytes */
	STREAM_DRAIN,  /* senders end; receivers go on, for the peer may not have ended yet */
	STREAM_SETTLE, /* the peer has: receivers take what is still on its way, until silence */
	STREAM_QUIT,   /* end now */
};

/* The same for all streams of a flow. */
struct stream_cfg {
	bool sender; /* of rr and crr: the client */
	bool udp;
	enum wire_mode mode;
	uint64_t rate_bps; /* 0: flat out */
	uint64_t rr_per_s; /* rr, crr: 0 is back to back */
	enum wire_arrivals arrivals;
	uint64_t seed; /* of the arrivals; each stream draws its own from it */
	unsigned int burst;
	size_t length_bytes;
	unsigned int request_bytes, response_bytes;
	bool has_end; /* receiver: the peer ends its streams, so silence is no end; TCP only */
	bool counters_64bit, repeating_payload, zerocopy, skip_rx_copy, gsro;
	/* crr, client: where to connect, and from where; local_len 0: any address */
	struct sockaddr_storage peer, local;
	socklen_t peer_len, local_len;
};

/* What @p asks of the streams of one direction; has_end and the ends of crr are the caller's. */
struct stream_cfg stream_cfg_of(const struct wire_params *p, bool sender);

/*
 * What is left to send, shared by the senders of a flow (-n, -k): a sender takes what it is about
 * to send and gives back what it could not.  At the end of it senders sleep until the phase
 * changes.  Bulk only.
 */
struct stream_limit {
	bool limited;
	uint64_t total_bytes;
	_Alignas(STREAM_ALIGN) _Atomic int64_t left_bytes;
};

struct stream {
	/* blocking, waits bounded by STREAM_WAIT_NS; listening at a crr server, -1 at its client */
	int fd;
	int file; /* -Z: the block as a memfd; -1: none */
	unsigned int id;
	const struct stream_cfg *cfg;
	uint64_t start_ns; /* CLOCK_MONOTONIC; pacing counts from here */
	uint64_t seed;
	char *block; /* stream_block_bytes() of them, aligned to a page */
	const atomic_int *phase;
	struct stream_limit *limit;
	int cpu; /* pinned there; -1: anywhere */
	/* written by the stream's thread alone, on a cache line of its own */
	_Alignas(STREAM_ALIGN) _Atomic uint64_t bytes;
	_Atomic uint64_t
		packets;      /* datagrams sent; highest sequence number received; transactions */
	_Atomic int64_t lost; /* datagrams; requests without a response */
	_Atomic uint64_t out_of_order;
	_Atomic uint64_t received; /* datagrams that came, late ones and duplicates included */
	_Atomic uint64_t jitter_ns;
	_Atomic uint64_t end_ns;	     /* last byte received after STREAM_RUN; 0: none */
	_Atomic uint64_t user_ns, system_ns; /* CPU of the thread, once it is done */
	atomic_bool done;		     /* the thread is about to return */
	atomic_int error; /* errno that ended the stream in STREAM_RUN; 0: none */
	/*
	 * rr and crr, client: the loop records into hist[want] and says so in @used after every
	 * transaction, so that a reader can swap and take the other one without a lock.
	 */
	struct hist *hist[2];
	atomic_uint want, used; /* 0 or 1 */
};

/* The thread; @stream is a struct stream. */
void *stream_run(void *stream);
/* Memory that the stream's loop works in: payload, and at UDP the batch of messages. */
size_t stream_block_bytes(const struct stream_cfg *cfg);
/* What is sent at once: length_bytes, less when paced so slowly that blocks would come seldom. */
size_t stream_unit_bytes(const struct stream_cfg *cfg);

/* When the byte after @bytes is due at @rate_bps, from @start_ns on. */
static inline uint64_t stream_due_ns(uint64_t start_ns, uint64_t bytes, uint64_t rate_bps)
{
	return start_ns + (uint64_t)((unsigned __int128)bytes * 8 * 1000000000 / rate_bps);
}

#endif
