/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_EPISODES_H
#define STATS_EPISODES_H

/*
 * Exceedances come in clusters: one stall makes several samples late.  What is counted and compared
 * is the stalls.  Needs nothing but libc, so that a probe may count them where it measures.
 */

#include <stddef.h>
#include <stdint.h>

/* Samples with their times, ascending. */
struct stamped {
	const uint64_t *at_ns;
	const double *x;
	size_t n;
};

/* One stall seen as several late samples. */
struct episode {
	uint64_t first_ns, last_ns;
	uint64_t exceedances;
	double peak;
};

/**
 * tail_episodes - group the samples above @limit into episodes
 * @gap_ns: an exceedance later than this after the one before starts a new episode
 * @ret: room for as many as may come, that is @s->n; NULL to count only
 * @ret_nr: episodes
 *
 * Runs declustering.  Source: Smith & Weissman 1994; Coles 2001, section 5.3.2.  Cost: O(n).
 * Return: 0; -EDOM for times that go back or a value that is no number.
 */
int tail_episodes(const struct stamped *s, double limit, uint64_t gap_ns, struct episode *ret,
		  size_t *ret_nr);

#endif
