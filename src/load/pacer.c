// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/pacer.h"

#include <math.h>

#include "base/rng.h"

/* Uniform in (0, 1]: 53 bits, never 0, since its logarithm is taken. */
static double uniform(uint64_t *rng)
{
	return (double)((rng_next(rng) >> 11) + 1) * 0x1p-53;
}

static double gap(struct pacer *p)
{
	return p->poisson ? -log(uniform(&p->rng)) * p->gap_ns : p->gap_ns;
}

void pacer_init(struct pacer *p, double gap_ns, enum wire_arrivals arrivals, uint64_t seed)
{
	*p = (struct pacer){ .gap_ns = gap_ns,
			     .debt_ns = PACER_DEBT_NS,
			     .rng = seed,
			     .poisson = arrivals == WIRE_POISSON };
	p->due_ns = p->poisson ? gap(p) : uniform(&p->rng) * gap_ns;
}

void pacer_step(struct pacer *p, uint64_t now_ns)
{
	const uint64_t passed = now_ns > p->start_ns ? now_ns - p->start_ns : 0;
	const double oldest = passed > p->debt_ns ? (double)(passed - p->debt_ns) : 0;

	p->due_ns += gap(p);
	if (p->due_ns < oldest)
		p->due_ns = oldest;
}
