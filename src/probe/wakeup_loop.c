// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/wakeup.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"

static inline void note(struct wakeup_lane *l, uint64_t begin, uint64_t now, uint64_t late)
{
	uint64_t second = now < begin ? 0 : (now - begin) / NS_PER_S;
	struct wakeup_second *s = &l->seconds[second < l->nr_seconds ? second : l->nr_seconds - 1];

	hist_add(&l->hist, late);
	if (late >= s->max_ns) {
		s->max_ns = late;
		s->at_ns = now;
	}
}

void wakeup_loop(struct wakeup_lane *l)
{
	const uint64_t interval = l->interval_ns;
	uint64_t next = l->next_ns, counted = 0, end;

	assert(interval > 0 && l->nr_seconds > 0);
	for (;;) {
		struct timespec at = clock_timespec(next);
		int r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		uint64_t now = clock_mono_ns();
		uint64_t late = now > next ? now - next : 0;
		uint64_t skipped = wakeup_skipped(late, interval), begin, due = next;

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
		next += (skipped + 1) * interval;
		if (due >= begin)
			note(l, begin, now, late);
		counted = wakeup_beyond(next, skipped, begin, interval);
		l->skipped += counted;
	}
	/* the last stall may have gone on when the window had closed */
	l->skipped -= wakeup_beyond(next, counted, end, interval);
	l->last_cpu = sched_getcpu();
}
