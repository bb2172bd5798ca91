// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/hist.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

uint64_t hist_lower(unsigned int index)
{
	unsigned int shift;

	if (index < 2 * HIST_SUB)
		return index;
	shift = (index >> HIST_SUB_BITS) - 1;
	return (uint64_t)(index - (shift << HIST_SUB_BITS)) << shift;
}

uint64_t hist_upper(unsigned int index)
{
	unsigned int shift;

	if (index < 2 * HIST_SUB)
		return index;
	shift = (index >> HIST_SUB_BITS) - 1;
	return hist_lower(index) + ((UINT64_C(1) << shift) - 1);
}

void hist_add_many(struct hist *h, uint64_t v, uint64_t n)
{
	if (n == 0)
		return;
	h->count[hist_index(v)] += n;
	if (v < h->min || h->total == 0)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->total += n;
	h->sum += (double)v * (double)n;
}

struct hist *hist_new(void)
{
	return calloc(1, sizeof(struct hist));
}

void hist_free(struct hist *h)
{
	free(h);
}

void hist_freep(struct hist **h)
{
	hist_free(*h);
}

void hist_merge(struct hist *to, const struct hist *from)
{
	if (from->total == 0)
		return;
	if (to->total == 0 || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->total += from->total;
	to->sum += from->sum;
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		to->count[i] += from->count[i];
}

void hist_snapshot(const struct hist *from, struct hist *ret)
{
	ret->total = 0;
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		ret->count[i] = __atomic_load_n(&from->count[i], __ATOMIC_RELAXED);
		ret->total += ret->count[i];
	}
	ret->min = __atomic_load_n(&from->min, __ATOMIC_RELAXED);
	ret->max = __atomic_load_n(&from->max, __ATOMIC_RELAXED);
	__atomic_load(&from->sum, &ret->sum, __ATOMIC_RELAXED);
}

int hist_quantile(const struct hist *h, double q, uint64_t *ret_ns)
{
	uint64_t rank, seen = 0;

	if (!(q >= 0 && q <= 1))
		return -EDOM;
	if (h->total == 0)
		return -ENODATA;
	rank = (uint64_t)ceil(q * (double)h->total);
	if (rank == 0)
		rank = 1;
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		seen += h->count[i];
		if (seen >= rank) {
			uint64_t v = hist_upper(i);

			*ret_ns = v < h->max ? v : h->max;
			return 0;
		}
	}
	*ret_ns = h->max;
	return 0;
}

uint64_t hist_above(const struct hist *h, uint64_t v)
{
	uint64_t n = 0;

	for (unsigned int i = hist_index(v) + 1; i < HIST_BUCKETS; i++)
		n += h->count[i];
	return n;
}
