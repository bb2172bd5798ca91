// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/wakeup.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <time.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)

/* The loop is the only writer: a plain addition that others may read. */
static inline void count(_Atomic uint64_t *n, uint64_t add)
{
	uint64_t v = atomic_load_explicit(n, memory_order_relaxed);

	atomic_store_explicit(n, v + add, memory_order_relaxed);
}

static inline void set(_Atomic uint64_t *to, uint64_t v)
{
	atomic_store_explicit(to, v, memory_order_relaxed);
}

static __attribute__((noinline)) void next_second(struct wakeup_lane *l, uint64_t begin,
						  uint64_t now)
{
	uint64_t second = now < begin ? 0 : (now - begin) / NS_PER_S;

	l->second_end_ns = begin + (second + 1) * NS_PER_S;
	if (l->ring)
		second %= l->nr_seconds;
	else if (second >= l->nr_seconds)
		second = l->nr_seconds - 1;
	l->second = &l->seconds[second];
	if (l->ring) {
		/* a reader never sees the old maximum under the new time */
		set(&l->second->at_ns, 0);
		atomic_thread_fence(memory_order_release);
		set(&l->second->max_ns, 0);
	}
}

static inline void note(struct wakeup_lane *l, uint64_t begin, uint64_t now, uint64_t late)
{
	hist_add_shared(&l->hist, late);
	if (!LIKELY(now < l->second_end_ns))
		next_second(l, begin, now);
	if (late >= atomic_load_explicit(&l->second->max_ns, memory_order_relaxed)) {
		set(&l->second->max_ns, late);
		atomic_store_explicit(&l->second->at_ns, now, memory_order_release);
	}
}

/* A wake-up of the window; false: the lane's last. */
static inline bool take(struct wakeup_lane *l, uint64_t begin, uint64_t now, uint64_t late)
{
	/* where the C library has rseq this is a read of the thread's own memory */
	if (l->pinned && !LIKELY((unsigned int)sched_getcpu() == l->cpu)) {
		count(&l->elsewhere, 1);
		return true;
	}
	note(l, begin, now, late);
	return !l->tap || wakeup_tap(l->tap, now, late);
}

void wakeup_loop(struct wakeup_lane *l)
{
	const uint64_t interval = l->interval_ns;
	const clockid_t clock = l->clock;
	uint64_t next = l->next_ns, counted = 0, end;

	assert(interval > 0 && l->nr_seconds > 0);
	for (;;) {
		struct timespec at = clock_timespec(next);
		int r = clock_nanosleep(clock, TIMER_ABSTIME, &at, NULL);
		uint64_t now = wakeup_clock_ns(clock);
		uint64_t late = now > next ? now - next : 0, begin, due = next;

		end = atomic_load_explicit(&l->window->end_ns, memory_order_relaxed);
		if (due >= end)
			break;
		if (r == EINTR) /* libc's own signals cannot be blocked */
			continue;
		if (r) {
			l->error = r;
			break;
		}
		begin = atomic_load_explicit(&l->window->begin_ns, memory_order_relaxed);
		next += interval;
		counted = 0;
		if (!LIKELY(late < interval)) {
			uint64_t skipped = late / interval;

			next += skipped * interval;
			counted = wakeup_beyond(next, skipped, begin, interval);
			count(&l->skipped, counted);
		}
		if (due >= begin && !take(l, begin, now, late))
			break;
	}
	/* the last stall may have gone on when the window had closed */
	count(&l->skipped, -wakeup_beyond(next, counted, end, interval));
	l->last_cpu = sched_getcpu();
	atomic_store(&l->ended, true);
}
