/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_FLIPS_H
#define STATS_FLIPS_H

/*
 * Sums of chosen numbers, by eight at a time.  Internal to stats/.
 *
 * Which are chosen stands in the bits of words, number i in bit i % 64 of word i / 64.  A draw's
 * bits are a function of seed, draw and place alone, so a longer sample goes on where a shorter one
 * ended: the paths of a sequential design.
 */

#include <stddef.h>
#include <stdint.h>

#define FLIPS_WORDS(n) (((n) + 63) / 64)

struct flips {
	size_t bytes;
	double *table; /* 256 sums for each eight numbers */
};

/* Tables of the @n numbers @d.  -ENOMEM. */
int flips_init(struct flips *f, const double *d, size_t n);
void flips_release(struct flips *f);
/* Sum of the chosen numbers; bits beyond the last number do not matter. */
double flips_sum(const struct flips *f, const uint64_t *words);
/* How many of @n are chosen. */
size_t flips_count(const uint64_t *words, size_t n);
/* The bits of draw @draw. */
void flips_draw(uint64_t seed, size_t draw, uint64_t *ret_words, size_t nr_words);

#endif
