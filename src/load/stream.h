/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_STREAM_H
#define LOAD_STREAM_H

/*
 * One data connection: the loop that moves bytes, alone in its file.  It sends or receives blocks
 * and stores one counter; it does not allocate, lock, format or touch a file.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Waits in send() and recv() are this long at most, so that a phase is noticed. */
#define STREAM_WAIT_NS (100 * UINT64_C(1000000))
#define STREAM_ALIGN 64

enum stream_phase {
	STREAM_RUN,   /* move bytes */
	STREAM_DRAIN, /* senders end; receivers take what is still on its way */
	STREAM_QUIT,  /* end now */
};

struct stream {
	int fd; /* blocking, waits bounded by STREAM_WAIT_NS */
	unsigned int id;
	bool sender;
	uint64_t rate_bps; /* 0: flat out */
	uint64_t start_ns; /* CLOCK_MONOTONIC; pacing counts from here */
	size_t length_bytes;
	char *block; /* length_bytes of them */
	const atomic_int *phase;
	/* written by the stream's thread alone, on a cache line of its own */
	_Alignas(STREAM_ALIGN) _Atomic uint64_t bytes;
	_Atomic uint64_t end_ns; /* last byte received after STREAM_RUN; 0: none */
	atomic_bool done;	 /* the thread is about to return */
	atomic_int error;	 /* errno that ended the stream in STREAM_RUN; 0: none */
};

/* The thread; @stream is a struct stream. */
void *stream_run(void *stream);

/* When the byte after @bytes is due at @rate_bps, from @start_ns on. */
static inline uint64_t stream_due_ns(uint64_t start_ns, uint64_t bytes, uint64_t rate_bps)
{
	return start_ns + (uint64_t)((unsigned __int128)bytes * 8 * 1000000000 / rate_bps);
}

#endif
