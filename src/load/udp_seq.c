// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/udp_seq.h"

#include <string.h>

static uint64_t *word_of(struct udp_seq *q, uint64_t seq)
{
	return &q->bits[seq / 64 % UDP_SEQ_WORDS];
}

/* Forget what the numbers up to @seq take the place of. */
static void advance(struct udp_seq *q, uint64_t seq)
{
	uint64_t words = seq / 64 - q->highest / 64;

	if (words >= UDP_SEQ_WORDS) {
		memset(q->bits, 0, sizeof(q->bits));
	} else {
		for (; words > 0; words--)
			*word_of(q, seq - (words - 1) * 64) = 0;
	}
	q->lost += seq - q->highest - 1;
	q->highest = seq;
}

void udp_seq_note(struct udp_seq *q, uint64_t seq)
{
	const uint64_t bit = UINT64_C(1) << seq % 64;

	if (seq == 0 || seq > INT64_MAX)
		return;
	if (seq > q->highest) {
		advance(q, seq);
		*word_of(q, seq) |= bit;
		return;
	}
	if (q->highest - seq >= UDP_SEQ_WINDOW) {
		q->late++;
		return;
	}
	if (*word_of(q, seq) & bit)
		return;
	*word_of(q, seq) |= bit;
	q->late++;
	q->lost--;
}
