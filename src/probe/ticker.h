/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_TICKER_H
#define PROBE_TICKER_H

/*
 * Files of the kernel, read at the window's edges and at the boundaries of its intervals, and
 * understood afterwards.
 *
 *	ticker_new(&t, interval_ns, duration_ns, e);
 *	id = ticker_add(t, proc_fd, "interrupts", 32768, TICKER_REQUIRED, e);
 *	ticker_arm(t, e);		memory and thread are there; the thread is parked
 *	ticker_start(t, now_ns, e);	the first reading, by the caller
 *	ticker_stop(t, now_ns, e);	the last one, by the caller
 *	for (size_t i = 0; i < ticker_readings(t); i++)
 *		parse(ticker_text(t, id, i));
 *	ticker_free(t);			at any point
 *
 * Boundaries are those of the traffic: start + k * interval, as far as the window was planned.
 * Between the edges one thread reads; it has the agent's own policy (SCHED_OTHER), so that the
 * loads and the probe wakeup come first.  A boundary that it reaches late is read late: rates are
 * over the time between the readings as they were, points stand at the boundary.  A boundary that
 * it reaches only after the next one is missed and counted.
 *
 * What it costs: per file and reading one pread() for each piece of 4 KiB or so and one for the
 * end, of a descriptor kept open (the first TICKER_KEPT files; the others are opened each time),
 * into memory mapped and touched at ticker_arm().  All but nothing of it is the kernel's, which
 * writes the text: with 2 CPUs 50 us for /proc/interrupts of 40 rows, 7 us for /proc/stat, 3 us for
 * softirqs and softnet_stat each, 1 us for a number in sysfs; it grows with rows times CPUs.
 * Nothing is allocated or formatted by us between the edges; the lock around a reading is shared
 * with ticker_stop() alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emit;
struct err;
struct point;
struct ticker;

/*
 * All readings of one ticker take no more: else the step is the smallest multiple of the interval
 * with which they do, and ticker_say() says so.
 */
#define TICKER_MEMORY_MAX (UINT64_C(64) << 20)
/* Descriptors that one ticker keeps open. */
#define TICKER_KEPT 64

enum ticker_flags {
	TICKER_REQUIRED = 1 << 0, /* unreadable at an edge: an error of start or stop */
};

struct ticker_text {
	const char *text; /* @len bytes, not NUL-terminated */
	size_t len;
	uint64_t at_ns; /* CLOCK_MONOTONIC right before it was read */
	int error;	/* 0, or why there is no text; -ENODATA: not read at this boundary */
	bool clipped;	/* longer than its room: the end is missing */
};

int ticker_new(struct ticker **ret, uint64_t interval_ns, uint64_t duration_ns, struct err *e);
/*
 * Add file @path below @root_fd (borrowed; must stay open).  It is read once, for its size; each
 * reading gets a quarter more and @room bytes.
 * Return: the id for ticker_text(); what openat() or read() said; -ENOMEM.
 */
int ticker_add(struct ticker *t, int root_fd, const char *path, size_t room, unsigned int flags,
	       struct err *e);
/*
 * Add what is read from a descriptor that is open already (borrowed; @name for messages): @size
 * bytes at @offset, with one pread(); @offset -1: with one read(), for what cannot be sought.
 * Return: the id; -ENOMEM.
 */
int ticker_add_fd(struct ticker *t, int fd, const char *name, int64_t offset, size_t size,
		  struct err *e);
/* Read @id at the edges alone: it is dear, or disturbs what it tells of. */
void ticker_only_edges(struct ticker *t, int id);
/* Allocate and touch the memory, make the thread. */
int ticker_arm(struct ticker *t, struct err *e);
int ticker_start(struct ticker *t, uint64_t now_ns, struct err *e);
int ticker_stop(struct ticker *t, uint64_t now_ns, struct err *e);
void ticker_free(struct ticker *t);
void ticker_freep(struct ticker **t);

/* After ticker_stop(): 2 for the edges and one for each boundary that was read. */
size_t ticker_readings(const struct ticker *t);
/* One less: the intervals between the readings; 0 before the window closed. */
size_t ticker_intervals(const struct ticker *t);
/* Of reading @i: the boundary, relative to the window's start; of the last: its end. */
int64_t ticker_boundary_ns(const struct ticker *t, size_t i);
struct ticker_text ticker_text(const struct ticker *t, size_t id, size_t i);
/* Between readings @i and @i + 1 of one file [s]; 0 when one of them is missing. */
double ticker_seconds(const struct ticker *t, size_t id, size_t i);
/* Between the edges. */
double ticker_window_seconds(const struct ticker *t, size_t id);

/*
 * Values of the intervals as a series: each at the end of its interval; what is NAN has no point.
 * @points: room for ticker_intervals(). Returns their number.
 */
size_t ticker_points(const struct ticker *t, const double *values, struct point *points);

/* What was not as asked: a longer step, missed or late boundaries, clipped or failed readings. */
void ticker_say(const struct ticker *t, struct emit *m);

#endif
