/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SAMPLE_HIST_H
#define SAMPLE_HIST_H

/*
 * A log-linear histogram of nanoseconds: HIST_SUB buckets for each power of two, so the relative
 * width of a bucket is at most 1/HIST_SUB (0.8 %) and values below 2 * HIST_SUB are exact.  The
 * whole range of uint64_t fits: no sample is ever lost to an overflow row.
 *
 * hist_add() is all that a measuring loop may call: no allocation, no branch on configuration.
 * Layout id HIST_LAYOUT names this bucket scheme wherever a histogram is stored.
 */

#include <stdint.h>

struct err;

#define HIST_LAYOUT 1
#define HIST_SUB_BITS 7
#define HIST_SUB (1U << HIST_SUB_BITS)
#define HIST_BUCKETS ((64 - HIST_SUB_BITS + 1) * HIST_SUB)

struct hist {
	uint64_t total;	   /* samples */
	uint64_t min, max; /* exact; only valid when total > 0 */
	double sum;	   /* for the mean */
	uint64_t count[HIST_BUCKETS];
};

static inline unsigned int hist_index(uint64_t v)
{
	unsigned int shift;

	if (v < 2 * HIST_SUB)
		return (unsigned int)v;
	shift = 63U - (unsigned int)__builtin_clzll(v) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (unsigned int)(v >> shift);
}

/* Smallest and largest value of bucket @index. */
uint64_t hist_lower(unsigned int index);
uint64_t hist_upper(unsigned int index);

static inline void hist_add(struct hist *h, uint64_t v)
{
	h->count[hist_index(v)]++;
	if (v < h->min || h->total == 0)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->total++;
	h->sum += (double)v;
}

/*
 * The same while another thread may take a hist_snapshot(): one thread adds, any number look.
 * Costs the same instructions.
 */
static inline void hist_add_shared(struct hist *h, uint64_t v)
{
	uint64_t *count = &h->count[hist_index(v)];
	double sum = h->sum + (double)v;

	__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
	if (v < h->min || h->total == 0)
		__atomic_store_n(&h->min, v, __ATOMIC_RELAXED);
	if (v > h->max)
		__atomic_store_n(&h->max, v, __ATOMIC_RELAXED);
	__atomic_store_n(&h->total, h->total + 1, __ATOMIC_RELAXED);
	__atomic_store(&h->sum, &sum, __ATOMIC_RELAXED);
}

/*
 * Copy @from, to which a thread adds meanwhile with hist_add_shared().  Each sample is in the copy
 * or not yet; @total is the sum of the counts; min, max and sum may know a few samples more or
 * less.
 */
void hist_snapshot(const struct hist *from, struct hist *ret);

/* Add @n samples of the same value; for decoding and merging, not for the measuring loop. */
void hist_add_many(struct hist *h, uint64_t v, uint64_t n);
/* Heap object, zero-filled. */
struct hist *hist_new(void);
void hist_free(struct hist *h);
void hist_freep(struct hist **h);
/* Add all samples of @from to @to; commutative. */
void hist_merge(struct hist *to, const struct hist *from);

/**
 * hist_quantile - value below or at which a fraction @q of the samples lies
 * @h: histogram; borrowed
 * @q: fraction, 0 <= q <= 1 (0.999, not 99.9)
 * @ret_ns: result [ns]: the upper edge of its bucket (the maximum at most), never below the true
 *          quantile and at most 0.8 % above it
 *
 * Unit: ns.  Shape: one scalar from HIST_BUCKETS counts.  Cost: O(buckets), no allocation.
 * Source: Hyndman & Fan 1996, type 1 (the smallest sample with rank >= q * total).
 * Return: 0; -ENODATA when @h is empty; -EDOM when @q is outside 0..1.
 */
int hist_quantile(const struct hist *h, double q, uint64_t *ret_ns);

/* Samples whose bucket lies wholly above @v: exact up to the bucket that holds @v. */
uint64_t hist_above(const struct hist *h, uint64_t v);

#endif
