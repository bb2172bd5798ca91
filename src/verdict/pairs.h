/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VERDICT_PAIRS_H
#define VERDICT_PAIRS_H

/* The observations of a metric as pairs of baseline and variant within blocks.  Internal. */

#include <stdbool.h>
#include <stddef.h>

#include "sample/observation.h"

struct err;
struct verdict_query;

/* All observations of one metric by block, then variant. */
struct cells {
	struct observation *v; /* copies; their reasons are borrowed */
	size_t nr;
	bool positive; /* every usable value is > 0 */
};

/* -EINVAL for an unknown variant or twice the same cell. */
int cells_init(const struct verdict_query *q, size_t nr_variants, struct cells *ret, struct err *e);
void cells_release(struct cells *c);

struct pairs {
	double *baseline, *value; /* of the blocks where both are usable, by block */
	size_t nr;
	size_t lost; /* blocks where one of the two, or both, is missing or cannot be used */
	const char **reasons; /* why, of every veto and failure among those; borrowed */
	size_t nr_reasons;
};

int pairs_init(const struct cells *c, unsigned int variant, struct pairs *ret, struct err *e);
void pairs_release(struct pairs *p);
/* The commonest reason, the earliest of several; NULL when there is none. */
const char *pairs_reason(const struct pairs *p);

#endif
