/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_WAKEUP_H
#define PROBE_WAKEUP_H

/*
 * Inside of the probe "wakeup": a lane is one thread of one CPU and priority.
 *
 * Every lane wakes at the times of a grid, next = n * interval + phase on CLOCK_MONOTONIC, and
 * notes how late it is.  The phase is drawn for each trial, so that over the trials all positions
 * relative to the kernel's tick (which stands still on that clock) are visited.
 *
 * The lanes wake from open on, so that the window finds caches, timers and idle states as they
 * stay; what counts is a wake-up whose scheduled time lies in [begin, end).
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "sample/hist.h"

struct emit;

/* The window, set by the trial's thread, read by all lanes. */
struct wakeup_window {
	_Atomic uint64_t begin_ns; /* UINT64_MAX until the window opens */
	_Atomic uint64_t end_ns;   /* UINT64_MAX until it closes; 0 ends a lane at once */
};

/* The worst wake-up of one second of the window. */
struct wakeup_second {
	uint64_t max_ns; /* latency */
	uint64_t at_ns;	 /* when it was noted, CLOCK_MONOTONIC; 0: no wake-up in this second */
};

struct wakeup_lane {
	/* set before the loop */
	unsigned int cpu, priority;
	uint64_t interval_ns;
	uint64_t next_ns; /* scheduled time of the first wake-up */
	const struct wakeup_window *window;
	struct wakeup_second *seconds;
	size_t nr_seconds; /* what comes later goes into the last one */
	pthread_t thread;
	/* written by the loop, read after it */
	uint64_t skipped; /* scheduled times of the window that passed unseen */
	int error;	  /* errno of clock_nanosleep; 0: none */
	int last_cpu;	  /* where the loop ended */
	struct hist hist; /* how late [ns], one sample a wake-up */
} __attribute__((aligned(128)));

/*
 * Wake at the lane's times until the window has closed.  It sleeps, reads the clock, adds to the
 * histogram, and nothing else: no allocation, no lock, no system call but clock_nanosleep.
 */
void wakeup_loop(struct wakeup_lane *l);

/* Whole periods in @late_ns: the scheduled times that passed while the thread was late. */
static inline uint64_t wakeup_skipped(uint64_t late_ns, uint64_t interval_ns)
{
	return late_ns < interval_ns ? 0 : late_ns / interval_ns;
}

/* How many of the @skipped times just before @next_ns are due at @edge_ns or later. */
static inline uint64_t wakeup_beyond(uint64_t next_ns, uint64_t skipped, uint64_t edge_ns,
				     uint64_t interval_ns)
{
	uint64_t beyond;

	if (skipped == 0 || next_ns <= edge_ns)
		return 0;
	beyond = (next_ns - edge_ns) / interval_ns;
	return beyond < skipped ? beyond : skipped;
}

/* Phase of a lane [ns], uniform in 0..interval_ns-1, by the trial's @seed, CPU and priority. */
uint64_t wakeup_phase(uint64_t seed, unsigned int cpu, unsigned int priority, uint64_t interval_ns);

/* The first time of the grid with @phase_ns after @now_ns. */
uint64_t wakeup_first(uint64_t now_ns, uint64_t phase_ns, uint64_t interval_ns);

/**
 * wakeup_correct - the wake-ups as a thread would have seen them that cannot be held up itself
 * @h: how late the wake-ups were; borrowed
 * @interval_ns: time between scheduled wake-ups
 * @ret: histogram to which the result is added
 *
 * While a thread is k periods late, k further wake-ups pass unseen.  Each counts here too, with the
 * latency it would have had: one period less each.
 *
 * Unit: ns.  Shape: a histogram of about n + skipped samples.  Cost: O(buckets + skipped), no
 * allocation.  A late wake-up is known up to its bucket (0.8 %), and so are those derived from it.
 * Source: G. Tene's correction for coordinated omission, as in HdrHistogram.
 */
void wakeup_correct(const struct hist *h, uint64_t interval_ns, struct hist *ret);

/* All that the probe says about its lanes, ordered by priority as in the plan, then CPU. */
struct wakeup_result {
	const struct wakeup_lane *lanes;
	size_t nr_lanes;
	size_t nr_cpus;	   /* lanes of one priority stand together */
	uint64_t begin_ns; /* of the window */
	uint64_t end_ns;   /* UINT64_MAX: it did not close */
};

void wakeup_report(const struct wakeup_result *res, struct emit *m);

#endif
