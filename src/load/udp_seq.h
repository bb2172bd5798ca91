/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_UDP_SEQ_H
#define LOAD_UDP_SEQ_H

/*
 * Which datagrams of a stream came.  iperf3 takes every gap in the sequence for a loss and every
 * number that is not above the highest for a late arrival that makes up for one; duplicates then
 * hide losses.  Here the last UDP_SEQ_WINDOW numbers are remembered one by one: a number makes up
 * for a loss only the first time it comes.
 */

#include <stdint.h>

#define UDP_SEQ_WORDS 1024U
/* Numbers further behind the highest than this are late, but no longer make up for a loss. */
#define UDP_SEQ_WINDOW ((UDP_SEQ_WORDS - 1) * 64)

struct udp_seq {
	uint64_t highest;
	uint64_t lost; /* gaps, less what came late: highest at most */
	uint64_t late; /* arrived after a higher one, for the first time as far as is known */
	uint64_t bits[UDP_SEQ_WORDS];
};

/* Datagram @seq came; the first is 1, others than 1..INT64_MAX are ignored. */
void udp_seq_note(struct udp_seq *q, uint64_t seq);

/* The 64-bit number whose low half is @low, nearest to the highest so far. */
static inline uint64_t udp_seq_widen(const struct udp_seq *q, uint32_t low)
{
	return q->highest + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)q->highest);
}

#endif
