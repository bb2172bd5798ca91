/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_PACER_H
#define LOAD_PACER_H

/*
 * When paced work is due: a schedule fixed by its start, mean gap and seed, evenly or with
 * exponential gaps (Poisson arrivals).  An even schedule starts at a random part of a gap, so that
 * streams that start together do not send together.
 */

#include <stdbool.h>
#include <stdint.h>

#include "load/wire.h"

/*
 * After a stall a sender catches up with at most so much of its schedule at once; what is older is
 * not sent at all.  A tenth of a second: a busy machine's stalls do not cost rate, and a path that
 * was shut for a minute does not get a minute's bytes when it opens.
 */
#define PACER_DEBT_NS (100 * UINT64_C(1000000))
#define PACER_ANY_DEBT UINT64_MAX

struct pacer {
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	double due_ns;	   /* of the next piece of work, from the start */
	double gap_ns;	   /* mean */
	uint64_t debt_ns;
	uint64_t rng;
	bool poisson;
};

void pacer_init(struct pacer *p, double gap_ns, enum wire_arrivals arrivals, uint64_t seed);
/* On to the next piece of work; @now_ns bounds what is owed. */
void pacer_step(struct pacer *p, uint64_t now_ns);

/*
 * How long after its time even work may be left to lie so that the next waking finds more of it:
 * whoever is woken every @grain_ns does what is due in it.  Poisson times are kept one by one.
 */
static inline uint64_t pacer_late(const struct pacer *p, uint64_t grain_ns)
{
	return p->poisson || p->gap_ns >= (double)grain_ns ? 0 : grain_ns - (uint64_t)p->gap_ns;
}

static inline uint64_t pacer_due(const struct pacer *p)
{
	return p->start_ns + (uint64_t)p->due_ns;
}

#endif
