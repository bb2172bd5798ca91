// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/flips.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"

int flips_init(struct flips *f, const double *d, size_t n)
{
	size_t bytes = (n + 7) / 8;
	double *table = malloc(bytes * 256 * sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (size_t b = 0; b < bytes; b++) {
		double *t = table + b * 256;

		t[0] = 0;
		for (size_t bit = 0; bit < 8; bit++) {
			size_t i = 8 * b + bit, half = (size_t)1 << bit;
			double v = i < n ? d[i] : 0;

			for (size_t k = 0; k < half; k++)
				t[half + k] = t[k] + v;
		}
	}
	*f = (struct flips){ .bytes = bytes, .table = table };
	return 0;
}

void flips_release(struct flips *f)
{
	free(f->table);
	f->table = NULL;
}

double flips_sum(const struct flips *f, const uint64_t *words)
{
	double sum = 0;

	for (size_t b = 0; b < f->bytes; b++)
		sum += f->table[b * 256 + (words[b / 8] >> (8 * (b % 8)) & 255)];
	return sum;
}

size_t flips_count(const uint64_t *words, size_t n)
{
	size_t count = 0;

	for (size_t w = 0; w < n / 64; w++)
		count += (size_t)__builtin_popcountll(words[w]);
	if (n % 64)
		count += (size_t)__builtin_popcountll(words[n / 64] &
						      ((UINT64_C(1) << (n % 64)) - 1));
	return count;
}

void flips_draw(uint64_t seed, size_t draw, uint64_t *ret_words, size_t nr_words)
{
	uint64_t state = seed + 1, start;

	/* draws start far apart in the generator's cycle: its states are mixed, not consecutive */
	start = rng_next(&state) ^ draw;
	start = rng_next(&start);
	for (size_t w = 0; w < nr_words; w++)
		ret_words[w] = rng_next(&start);
}
