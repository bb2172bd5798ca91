/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_WAKEUP_LANES_H
#define PROBE_WAKEUP_LANES_H

/*
 * Bringing lanes up and down: which CPUs, memory, threads, and why a thread was refused.
 *
 *	_cleanup_(wakeup_lanes_release) struct wakeup_lanes s = {};
 *	r = wakeup_lanes_init(&s, nr, seconds, e);	every lane is zero; fill in the upper part
 *	r = wakeup_lanes_run(&s, host, e);		all wake, the window is still closed
 *	...						open and close the window
 *	wakeup_lanes_join(&s);
 */

#include "base/cpuset.h"
#include "probe/wakeup.h"

struct err;
struct host;

struct wakeup_lanes {
	struct wakeup_lane *lane;
	size_t nr;
	size_t nr_running;
	struct wakeup_second *seconds; /* of all lanes */
	/* what makes a thread; NULL is pthread_create(). Tests refuse here. */
	int (*create)(pthread_t *ret, const pthread_attr_t *attr, void *(*f)(void *), void *arg);
};

int wakeup_lanes_init(struct wakeup_lanes *s, size_t nr, size_t nr_seconds, struct err *e);
/* Start every lane's thread; on failure those that run are ended. */
int wakeup_lanes_run(struct wakeup_lanes *s, const struct host *host, struct err *e);
/* Wait for all; their window must have closed. */
void wakeup_lanes_join(struct wakeup_lanes *s);
/* Closes the lanes' window too, so that it may be called at any point. */
void wakeup_lanes_release(struct wakeup_lanes *s);

/*
 * Bind lane @l to its CPU again, from which the kernel took it when the CPU went offline.  0, or
 * negative errno while the CPU is not there.
 */
int wakeup_lane_pin(const struct wakeup_lane *l);

/*
 * The CPUs @list names; "all": those online that this process may use.  A CPU that is not online is
 * an error.
 */
int wakeup_cpus(const char *list, const struct host *host, struct cpuset *ret, struct err *e);

/* What keeps the machine still; neither failure is fatal: the numbers are worse without. */
struct wakeup_hold {
	bool locked;
	int lock_errno;
	int latency_fd; /* /dev/cpu_dma_latency: deep idle states are off while it is open; -1 */
	int latency_errno;
};

/* Lock all memory of the process, now and in future. */
void wakeup_hold_memory(struct wakeup_hold *h);
/* Keep /dev/cpu_dma_latency at @latency_us. */
void wakeup_hold_latency(struct wakeup_hold *h, const struct host *host, int32_t latency_us);
void wakeup_hold_release(struct wakeup_hold *h);

/* What a thread asks of the scheduler. */
struct wakeup_ask {
	enum wakeup_policy policy;
	unsigned int priority;
	int cpu; /* -1: any */
};

/*
 * Why a thread was refused with @error (a positive errno): sets the message with cause and remedy,
 * from what /proc and /sys say of this process; returns -@error.
 */
int wakeup_refused(const struct host *host, const struct wakeup_ask *ask, int error, struct err *e);

/* 0 when a SCHED_FIFO thread may be had here. */
int wakeup_usable(const struct host *host, struct err *why);

/* "fifo"; the same words as cyclictest's */
const char *wakeup_policy_name(enum wakeup_policy policy);

#endif
