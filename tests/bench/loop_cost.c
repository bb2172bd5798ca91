// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What wakeup_loop() itself takes: sleep and clock are this program's, so that no time passes but
 * the loop's own.  Prints ns per wake-up, without and with what irqlab latency shows besides.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/wakeup.h"

#define WAKEUPS UINT64_C(10000000)
#define INTERVAL_NS UINT64_C(250000)

static uint64_t now;

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *at, struct timespec *left)
{
	now = (uint64_t)at->tv_sec * NS_PER_S + (uint64_t)at->tv_nsec;
	now += 20000 + (now >> 7 & 4095); /* not always the same bucket */
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	*ts = clock_timespec(now);
	return 0;
}

static uint64_t real_ns(void)
{
	struct timespec ts = {};

	syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static int measure(unsigned int cpu, struct wakeup_tap *tap, double *ret_ns)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_window window = { 0, WAKEUPS * INTERVAL_NS };
	struct wakeup_lane *l = NULL;
	uint64_t begin;

	if (posix_memalign((void **)&l, _Alignof(struct wakeup_lane), sizeof(*l)) != 0)
		return -1;
	memset(l, 0, sizeof(*l));
	l->interval_ns = INTERVAL_NS;
	l->seconds = seconds;
	l->nr_seconds = 2;
	l->clock = CLOCK_MONOTONIC;
	l->window = &window;
	l->tap = tap;
	l->cpu = cpu;
	l->pinned = true;
	begin = real_ns();
	wakeup_loop(l);
	*ret_ns = (double)(real_ns() - begin) / (double)WAKEUPS;
	free(l);
	return 0;
}

int main(void)
{
	struct wakeup_tap tap = {};
	double bare = 0, shown = 0;
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (cpu < 0 || sched_setaffinity(0, sizeof(set), &set) < 0)
		return 1;
	if (measure((unsigned int)cpu, NULL, &bare) < 0 ||
	    measure((unsigned int)cpu, &tap, &shown) < 0)
		return 1;
	printf("the loop itself: %.0f ns a wake-up, %.0f ns as in irqlab latency\n", bare, shown);
	return 0;
}
