/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_RNG_H
#define BASE_RNG_H

/*
 * SplitMix64 (Steele, Lea & Flood 2014; constants as in the JDK): one 64-bit state, every seed is
 * good.  For phases, arrivals, cookies and resampling.
 */

#include <stdint.h>

static inline uint64_t rng_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Uniform in 0..n-1 without modulo bias (Lemire 2019); n > 0. */
static inline uint64_t rng_below(uint64_t *state, uint64_t n)
{
	unsigned __int128 m = (unsigned __int128)rng_next(state) * n;

	if ((uint64_t)m < n) {
		uint64_t floor = -n % n;

		while ((uint64_t)m < floor)
			m = (unsigned __int128)rng_next(state) * n;
	}
	return (uint64_t)(m >> 64);
}

#endif
