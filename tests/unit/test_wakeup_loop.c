// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The measuring loop in a world of its own: time, sleeping and the CPU's number are simulated here,
 * so that each stall is known and each answer is exact.
 */
#include "test.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "probe/wakeup.h"

#define MAX_DUE 16384

static struct {
	bool on;
	uint64_t now;
	uint64_t seed;
	uint64_t usual, stall; /* lateness below usual; one in 20 below stall */
	int cpu, other_one_in; /* 0: always on cpu */
	/* what the loop was told, in order */
	uint64_t due[MAX_DUE], late[MAX_DUE];
	bool elsewhere[MAX_DUE];
	size_t nr;
} world;

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *at, struct timespec *left)
{
	uint64_t due = (uint64_t)at->tv_sec * NS_PER_S + (uint64_t)at->tv_nsec;
	uint64_t late = rng_below(&world.seed, 20) ? rng_below(&world.seed, world.usual)
						   : rng_below(&world.seed, world.stall);

	assert_true(world.on && flags == TIMER_ABSTIME && world.nr < MAX_DUE);
	world.now = (due > world.now ? due : world.now) + late;
	world.due[world.nr] = due;
	world.late[world.nr] = world.now - due;
	world.elsewhere[world.nr] = world.other_one_in &&
				    rng_below(&world.seed, world.other_one_in) == 0;
	world.nr++;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!world.on)
		return (int)syscall(SYS_clock_gettime, clock, ts);
	*ts = clock_timespec(world.now);
	return 0;
}

int sched_getcpu(void)
{
	return world.nr && world.elsewhere[world.nr - 1] ? world.cpu + 1 : world.cpu;
}

static struct wakeup_lane *lane_new(struct wakeup_second *seconds, size_t nr,
				    struct wakeup_window *w)
{
	struct wakeup_lane *l = NULL;

	assert_int_equal(posix_memalign((void **)&l, 128, sizeof(*l)), 0);
	memset(l, 0, sizeof(*l));
	l->interval_ns = 1000;
	l->seconds = seconds;
	l->nr_seconds = nr;
	l->clock = CLOCK_MONOTONIC;
	l->pinned = true;
	l->cpu = 3;
	l->window = w;
	world.cpu = 3;
	world.nr = 0;
	return l;
}

static uint64_t grid_points(uint64_t first, uint64_t begin, uint64_t end, uint64_t interval)
{
	uint64_t nr = 0;

	for (uint64_t t = first; t < end; t += interval)
		nr += t >= begin;
	return nr;
}

/* One after another, as the loop does not: every grid point of the window, seen or not. */
static void check_accounts(const struct wakeup_lane *l, uint64_t first, uint64_t begin,
			   uint64_t end)
{
	uint64_t seen = 0, elsewhere = 0, max = 0;

	for (size_t i = 0; i < world.nr; i++) {
		if (world.due[i] < begin || world.due[i] >= end)
			continue;
		if (world.elsewhere[i]) {
			elsewhere++;
			continue;
		}
		seen++;
		max = world.late[i] > max ? world.late[i] : max;
	}
	assert_int_equal(l->hist.total, seen);
	assert_int_equal(l->elsewhere, elsewhere);
	assert_int_equal(l->hist.max, max);
	assert_int_equal(l->hist.total + l->skipped + l->elsewhere,
			 grid_points(first, begin, end, l->interval_ns));
}

/* 500 worlds: usual lateness, stalls of up to 60 periods, windows that open and close within them.
 */
static void every_due_time_is_seen_or_skipped(void **state)
{
	struct wakeup_second seconds[2];
	uint64_t stalls = 0;

	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct wakeup_window w;
		struct wakeup_lane *l = lane_new(seconds, 2, &w);
		uint64_t begin = 1000000 + seed * 37 % 5000, end = begin + 500000 + seed % 999;

		memset(seconds, 0, sizeof(seconds));
		atomic_store(&w.begin_ns, begin);
		atomic_store(&w.end_ns, end);
		world.seed = seed;
		world.usual = seed % 2 ? 900 : 1500; /* late by more than a period now and then */
		world.stall = 60000;
		world.other_one_in = seed % 3 ? 0 : 10;
		world.now = 900000;
		l->next_ns = 950000 + seed % 1000;
		world.on = true;
		wakeup_loop(l);
		world.on = false;
		check_accounts(l, 950000 + seed % 1000, begin, end);
		stalls += l->skipped;
		free(l);
	}
	assert_true(stalls > 10000);
}

/* A stall of 40 periods is 40 late wake-ups: 1 seen, 39 skipped and 40 in the corrected ones. */
static void a_stall_of_40_periods_is_40_late_wakeups(void **state)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_window w = { 0, 10000000 };
	struct wakeup_lane *l = lane_new(seconds, 2, &w);
	_cleanup_(hist_freep) struct hist *corrected = hist_new();
	uint64_t v = 0;

	/* all on time but the first, by 39.5 us at 1 us */
	l->next_ns = 1000;
	world.seed = 1;
	world.usual = world.stall = 1;
	world.other_one_in = 0;
	world.now = 1000 + 39500;
	world.on = true;
	wakeup_loop(l);
	world.on = false;
	assert_int_equal(l->skipped, 39);
	assert_int_equal(l->hist.total, 9999 - 39);
	assert_int_equal(l->hist.max, 39500);
	assert_true(seconds[0].at_ns == 40500 && seconds[0].max_ns == 39500);
	wakeup_correct(&l->hist, 1000, corrected);
	assert_int_equal(corrected->total, 9999);
	/* 40 of 9999 are late: 20 of them by 20 us or more, as seen only one */
	assert_int_equal(hist_above(corrected, 0), 40);
	assert_int_equal(hist_above(corrected, 19700), 20);
	assert_int_equal(hist_above(&l->hist, 0), 1);
	assert_int_equal(hist_quantile(corrected, 0.998, &v), 0);
	assert_true(v > 18000 && v < 21000);
	assert_int_equal(hist_quantile(&l->hist, 0.998, &v), 0);
	assert_int_equal(v, 0);
	free(l);
}

/* -l: the lane ends with that sample, however late it was. */
static void a_tap_ends_the_loop(void **state)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_window w = { 0, UINT64_MAX };
	struct wakeup_lane *l = lane_new(seconds, 2, &w);
	struct wakeup_tap tap = { .max_cycles = 100 };

	l->tap = &tap;
	l->next_ns = 1000;
	world.now = 0;
	world.seed = 4;
	world.usual = 900;
	world.stall = 30000;
	world.other_one_in = 7;
	world.on = true;
	wakeup_loop(l);
	world.on = false;
	assert_int_equal(l->hist.total, 100);
	assert_int_equal(tap.cycles, 100);
	assert_true(l->elsewhere > 0 && l->ended);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_due_time_is_seen_or_skipped),
		cmocka_unit_test(a_stall_of_40_periods_is_40_late_wakeups),
		cmocka_unit_test(a_tap_ends_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
