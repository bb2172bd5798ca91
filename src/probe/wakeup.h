/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_WAKEUP_H
#define PROBE_WAKEUP_H

/*
 * Inside of the probe "wakeup" and of "irqlab latency": a lane is one thread of one CPU and
 * priority.
 *
 * Every lane wakes at the times of a grid, next = n * interval + phase, and notes how late it is.
 * The phase is drawn for each trial, so that over the trials all positions relative to the kernel's
 * tick (which stands still on CLOCK_MONOTONIC) are visited.
 *
 * The lanes wake from the moment they exist, so that the window finds caches, timers and idle
 * states as they stay; what counts is a wake-up whose scheduled time lies in [begin, end).  Each of
 * these is a sample, or skipped (the thread was still late), or was seen elsewhere (on another CPU:
 * its own had gone offline): nothing is lost.
 *
 * Bringing lanes up and down is in wakeup_lanes.h.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "sample/hist.h"

struct emit;

/* The window, set by the trial's thread, read by all lanes. */
struct wakeup_window {
	_Atomic uint64_t begin_ns; /* UINT64_MAX until the window opens */
	_Atomic uint64_t end_ns;   /* UINT64_MAX until it closes; 0 ends a lane at once */
};

/* The worst wake-up of one second of the window. */
struct wakeup_second {
	_Atomic uint64_t max_ns; /* latency */
	_Atomic uint64_t at_ns;	 /* when it was noted, the lane's clock; 0: no wake-up noted */
};

enum wakeup_policy {
	WAKEUP_FIFO,
	WAKEUP_RR,
	WAKEUP_OTHER,
	WAKEUP_BATCH,
	WAKEUP_IDLE,
};

struct wakeup_tap;

struct wakeup_lane {
	/* set before the loop */
	unsigned int cpu, priority; /* priority 0: not real time */
	enum wakeup_policy policy;
	bool pinned; /* wake-ups on another CPU than @cpu are told apart */
	clockid_t clock;
	uint64_t interval_ns;
	uint64_t next_ns; /* scheduled time of the first wake-up */
	struct wakeup_window *window;
	struct wakeup_second *seconds;
	size_t nr_seconds;
	bool ring; /* seconds are used again from the first; otherwise the last one takes the rest
		    */
	struct wakeup_tap *tap; /* NULL: none */
	int done_fd;		/* an eventfd that is told when the loop has ended; 0: none */
	pthread_t thread;
	_Atomic int tid;
	/* written by the loop, read by others with relaxed loads, exact after it */
	_Atomic uint64_t skipped;   /* scheduled times of the window that passed unseen */
	_Atomic uint64_t elsewhere; /* wake-ups of the window on another CPU, in no histogram */
	_Atomic bool ended;
	int error;		      /* errno of clock_nanosleep; 0: none */
	int last_cpu;		      /* where the loop ended */
	struct wakeup_second *second; /* the current one and when it is over */
	uint64_t second_end_ns;
	struct hist hist; /* how late [ns], one sample a wake-up; hist_add_shared() */
} __attribute__((aligned(128)));

/* One wake-up later than a bound. */
struct wakeup_spike {
	unsigned int lane;
	uint64_t late_ns;
	uint64_t at_ns;
};

/* Spikes of all lanes, in the order in which they were noted. */
struct wakeup_spikes {
	struct wakeup_spike *spike;
	size_t max;
	_Atomic uint64_t nr; /* more than @max are counted, not kept */
};

/* The first wake-up later than a bound ends the measurement. */
struct wakeup_break {
	_Atomic int lane; /* -1 until then */
	_Atomic uint64_t late_ns;
	int mark_fd;  /* tracefs trace_marker, or -1 */
	int trace_fd; /* tracefs tracing_on, or -1: "0" is written */
};

/*
 * What a command shows of a lane besides the histogram: cyclictest's figures, which are whole
 * microseconds, each sample cut off.  Sized before the loop; a NULL array or a bound of 0 is off.
 */
struct wakeup_tap {
	unsigned int lane;	 /* its number */
	_Atomic uint64_t act_ns; /* the latest */
	_Atomic uint64_t sum_us; /* of samples cut off to us */
	uint64_t cycles;	 /* samples so far, the loop's own */
	uint64_t max_cycles;	 /* ends the lane; 0: no bound */
	/* linear rows of row_ns, and which samples lie beyond */
	uint64_t *rows;
	size_t nr_rows;
	uint64_t row_ns;
	uint64_t *overflow; /* the cycle numbers of the first nr_rows of them */
	uint64_t nr_overflow;
	/* every sample [ns], a ring of mask + 1 */
	_Atomic uint64_t *values;
	uint64_t mask;
	_Atomic uint64_t nr_values;
	uint64_t spike_ns; /* later than this */
	struct wakeup_spikes *spikes;
	uint64_t break_ns;
	struct wakeup_break *brk;
};

/*
 * Wake at the lane's times until the window has closed.  It sleeps, reads the clock, adds to the
 * histogram, and nothing else: no allocation, no lock, no system call but clock_nanosleep.
 */
void wakeup_loop(struct wakeup_lane *l);

/* Note one sample in @tap; false: the lane has seen enough. Called by the loop. */
bool wakeup_tap(struct wakeup_tap *tap, uint64_t now_ns, uint64_t late_ns);

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

static inline uint64_t wakeup_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
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

/* Room for "cpu=8191,prio=99". */
#define WAKEUP_LABELS_SIZE 48

/*
 * Labels of the lanes from @at on that share a priority: "prio=40", or "" for the first one, which
 * is meant when a plan names none.
 */
void wakeup_priority_label(const struct wakeup_result *res, size_t at,
			   char ret[WAKEUP_LABELS_SIZE]);

void wakeup_report(const struct wakeup_result *res, struct emit *m);

#endif
