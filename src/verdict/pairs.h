/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VERDICT_PAIRS_H
#define VERDICT_PAIRS_H

/* The observations of a metric as pairs of baseline and variant within blocks.  Internal. */

#include <stdbool.h>
#include <stddef.h>

#include "sample/observation.h"

struct err;
struct verdict_query;

/* An observation and how many samples it was taken from; 0 when that is not known. */
struct cell {
	struct observation o; /* a copy; its reason is borrowed */
	double n;
};

/* All observations of one metric by block, then variant. */
struct cells {
	const struct verdict_query *query;
	struct cell *v;
	size_t nr;
};

/* -EINVAL for an unknown variant or twice the same cell. */
int cells_init(const struct verdict_query *q, size_t nr_variants, struct cells *ret, struct err *e);
void cells_release(struct cells *c);

struct pairs {
	double *baseline, *value; /* of the blocks where both are usable, by block */
	unsigned int *block;
	size_t nr;
	bool positive; /* every usable value of these blocks, of all variants, is > 0 */
	size_t lost;   /* blocks where one of the two, or both, is missing or cannot be used */
	double n_baseline, n_value; /* samples behind all of them; 0: not known */
	double odds; /* of a block: the largest probability that its larger number of samples has
			the larger maximum by chance; 0.5 when the numbers are equal */
	const char **reasons; /* why, of every veto and failure among those; borrowed */
	size_t nr_reasons;
};

/* Only blocks below @end. */
int pairs_init(const struct cells *c, unsigned int variant, unsigned int end, struct pairs *ret,
	       struct err *e);
void pairs_release(struct pairs *p);
/* The commonest reason, the earliest of several; NULL when there is none. */
const char *pairs_reason(const struct pairs *p);

#endif
