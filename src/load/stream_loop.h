/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_STREAM_LOOP_H
#define LOAD_STREAM_LOOP_H

/* What the loops of the streams share; for stream*.c alone. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/pacer.h"
#include "load/stream.h"
#include "sample/hist.h"

/* A request without a response is lost after this. */
#define STREAM_LOST_NS UINT64_C(1000000000)

static inline int stream_phase(const struct stream *s)
{
	return atomic_load_explicit(s->phase, memory_order_relaxed);
}

static inline bool stream_runs(const struct stream *s)
{
	return stream_phase(s) == STREAM_RUN;
}

/* Whether a receiver's wait in vain means that nothing comes any more. */
static inline bool stream_settles(const struct stream *s)
{
	return stream_phase(s) == STREAM_SETTLE;
}

/* The only writer is the stream's thread: plain stores, no locked instruction. */
static inline void stream_set(_Atomic uint64_t *counter, uint64_t v)
{
	atomic_store_explicit(counter, v, memory_order_relaxed);
}

static inline void stream_add(_Atomic uint64_t *counter, uint64_t v)
{
	stream_set(counter, atomic_load_explicit(counter, memory_order_relaxed) + v);
}

static inline void stream_lose(struct stream *s, int64_t nr)
{
	atomic_store_explicit(&s->lost, atomic_load_explicit(&s->lost, memory_order_relaxed) + nr,
			      memory_order_relaxed);
}

/* The latency of a transaction that ends now. */
static inline void stream_record(struct stream *s, uint64_t latency_ns)
{
	hist_add(s->hist[atomic_load_explicit(&s->used, memory_order_relaxed)], latency_ns);
	stream_set(&s->packets, atomic_load_explicit(&s->packets, memory_order_relaxed) + 1);
}

/* Between transactions: change to the histogram that the reader wants, and say so. */
static inline void stream_change_hist(struct stream *s)
{
	unsigned int want = atomic_load_explicit(&s->want, memory_order_acquire);

	if (want != atomic_load_explicit(&s->used, memory_order_relaxed))
		atomic_store_explicit(&s->used, want, memory_order_release);
}

/* What ends a stream while nobody has ended the test; afterwards anything may. */
void stream_break(struct stream *s, int error);
/* Sleep until @t_ns, STREAM_WAIT_NS at most. */
void stream_sleep(uint64_t now_ns, uint64_t t_ns);
/* All has been sent: until the phase changes. */
void stream_rest(const struct stream *s);
/* Take at most @want of the limit; 0: it is used up. */
size_t stream_claim(struct stream *s, size_t want);
void stream_give_back(struct stream *s, size_t bytes);
/* Pacing of a sender: every cfg->burst units of @unit bytes. */
void stream_pace_bytes(struct stream *s, struct pacer *p, size_t unit);
/* Pacing of requests. */
void stream_pace_requests(struct stream *s, struct pacer *p);

void stream_send_tcp(struct stream *s);
void stream_receive_tcp(struct stream *s);
void stream_send_udp(struct stream *s);
void stream_receive_udp(struct stream *s);
void stream_ask(struct stream *s);
void stream_answer(struct stream *s);
void stream_ask_anew(struct stream *s);
void stream_answer_anew(struct stream *s);

/* What a TCP receiver reads at once. */
size_t stream_tcp_room(const struct stream_cfg *cfg);
size_t stream_udp_bytes(const struct stream_cfg *cfg);
size_t stream_rr_bytes(const struct stream_cfg *cfg);

#endif
