// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/cpuset.h"
#include "base/host.h"
#include "base/rng.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/probe.h"
#include "probe/wakeup.h"
#include "probe/wakeup_late.h"

extern const struct probe_ops probe_wakeup;

static void skipped_cycles_are_whole_periods(void **state)
{
	assert_int_equal(wakeup_skipped(0, 250), 0);
	assert_int_equal(wakeup_skipped(249, 250), 0);
	assert_int_equal(wakeup_skipped(250, 250), 1);
	assert_int_equal(wakeup_skipped(499, 250), 1);
	assert_int_equal(wakeup_skipped(500, 250), 2);
	assert_int_equal(wakeup_skipped(UINT64_MAX, 1), UINT64_MAX);
}

/* The grid 10, 20, ...: woke at 95 for 60, so 70, 80, 90 passed and the next is 100. */
static void skipped_times_are_counted_by_the_edges(void **state)
{
	assert_int_equal(wakeup_beyond(100, 3, 100, 10), 0);
	assert_int_equal(wakeup_beyond(100, 3, 91, 10), 0); /* 90 was due before 91 */
	assert_int_equal(wakeup_beyond(100, 3, 90, 10), 1); /* the window ends as 90 is due */
	assert_int_equal(wakeup_beyond(100, 3, 71, 10), 2);
	assert_int_equal(wakeup_beyond(100, 3, 61, 10), 3);
	assert_int_equal(wakeup_beyond(100, 3, 5, 10), 3);
	assert_int_equal(wakeup_beyond(100, 0, 5, 10), 0);
	assert_int_equal(wakeup_beyond(100, 3, UINT64_MAX, 10), 0);
}

static void phases_lie_in_the_interval_and_differ(void **state)
{
	const uint64_t interval = 250000;
	unsigned int below_half = 0, same = 0;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		uint64_t a = wakeup_phase(seed, 0, 98, interval);
		uint64_t b = wakeup_phase(seed, 1, 98, interval);
		uint64_t c = wakeup_phase(seed, 0, 40, interval);

		assert_true(a < interval && b < interval && c < interval);
		assert_int_equal(a, wakeup_phase(seed, 0, 98, interval));
		below_half += a < interval / 2;
		same += a == b || a == c || a == wakeup_phase(seed + 1, 0, 98, interval);
	}
	/* uniform: 1000 expected, sigma 22; equal by chance 0.024 times in all */
	assert_true(below_half > 850 && below_half < 1150);
	assert_true(same <= 2);
}

static void the_first_wakeup_is_the_next_on_the_grid(void **state)
{
	assert_int_equal(wakeup_first(1000, 30, 100), 1030);
	assert_int_equal(wakeup_first(1029, 30, 100), 1030);
	assert_int_equal(wakeup_first(1030, 30, 100), 1130);
	assert_int_equal(wakeup_first(1099, 30, 100), 1130);
	assert_int_equal(wakeup_first(0, 0, 100), 100);
}

static struct hist *hist_of(const uint64_t *v, size_t nr)
{
	struct hist *h = hist_new();

	for (size_t i = 0; i < nr; i++)
		hist_add(h, v[i]);
	return h;
}

/* Values below 256 are exact in the histogram. */
static void a_stall_counts_as_the_wakeups_it_swallowed(void **state)
{
	static const uint64_t seen[] = { 3, 35, 7, 10, 9 };
	static const uint64_t all[] = { 3, 7, 9, 10, 0, 35, 25, 15, 5 };
	_cleanup_(hist_freep) struct hist *h = hist_of(seen, ARRAY_SIZE(seen));
	_cleanup_(hist_freep) struct hist *want = hist_of(all, ARRAY_SIZE(all));
	_cleanup_(hist_freep) struct hist *got = hist_new();

	wakeup_correct(h, 10, got);
	assert_memory_equal(got->count, want->count, sizeof(got->count));
	assert_int_equal(got->total, 9);
	assert_int_equal(got->max, 35);
	assert_int_equal(got->min, 0);
}

/* Against samples corrected one by one before they are rounded into buckets. */
static void the_correction_is_right_within_a_bucket(void **state)
{
	const uint64_t interval = 250000;
	_cleanup_(hist_freep) struct hist *h = hist_new(), *exact = hist_new(), *got = hist_new();
	uint64_t seed = 11, skipped = 0;

	for (int i = 0; i < 20000; i++) {
		uint64_t late = i % 100 ? rng_below(&seed, 60000) : rng_below(&seed, 20000000);

		hist_add(h, late);
		hist_add(exact, late);
		skipped += wakeup_skipped(late, interval);
		for (uint64_t l = late; l >= interval; l -= interval)
			hist_add(exact, l - interval);
	}
	wakeup_correct(h, interval, got);
	assert_near((double)got->total, 20000.0 + (double)skipped, 0.002 * (double)got->total);
	for (double q = 0.1; q < 0.9995; q += 0.01) {
		uint64_t a = 0, b = 0;

		assert_int_equal(hist_quantile(exact, q, &a), 0);
		assert_int_equal(hist_quantile(got, q, &b), 0);
		assert_near((double)b, (double)a, 0.03 * (double)a + 100);
	}
}

static struct wakeup_lane *lanes_of(size_t nr, struct wakeup_second *seconds)
{
	struct wakeup_lane *l = NULL;

	assert_int_equal(posix_memalign((void **)&l, 128, nr * sizeof(*l)), 0);
	memset(l, 0, nr * sizeof(*l));
	for (size_t i = 0; i < nr; i++) {
		l[i].interval_ns = 250000;
		l[i].seconds = seconds;
		l[i].nr_seconds = 2;
		l[i].last_cpu = -1;
		l[i].clock = CLOCK_MONOTONIC;
	}
	return l;
}

static void reports_merge_cpus_and_label_priorities(void **state)
{
	struct wakeup_second seconds[2] = { { 900, 5000000100 }, { 0, 0 } };
	struct wakeup_lane *l = lanes_of(4, seconds);
	struct wakeup_result res = { l, 4, 2, 5000000000, 7000000000 };
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	struct emit m = { .out = &out.sink, .instance = "wakeup", .e = &e };

	/* lanes 0, 1 priority 98; 2, 3 priority 40; CPU 4 and 6 */
	for (size_t i = 0; i < 4; i++) {
		l[i].cpu = i % 2 ? 6 : 4;
		l[i].priority = i < 2 ? 98 : 40;
		hist_add_many(&l[i].hist, 100 + i, 500);
	}
	l[1].skipped = 250;
	wakeup_report(&res, &m);
	assert_int_equal(m.r, 0);
	assert_near(collect_scalar(&out, "wakeup.n", ""), 1000, 0);
	assert_near(collect_scalar(&out, "wakeup.p50", ""), 100, 0);
	assert_near(collect_scalar(&out, "wakeup.p99", ""), 101, 0);
	assert_near(collect_scalar(&out, "wakeup.avg", ""), 100.5, 1e-9);
	assert_near(collect_scalar(&out, "wakeup.missed", ""), 250, 0);
	assert_near(collect_scalar(&out, "wakeup.missed-ratio", ""), 0.2, 1e-12);
	assert_near(collect_scalar(&out, "wakeup.max", "prio=40"), 103, 0);
	assert_near(collect_scalar(&out, "wakeup.min", "cpu=6"), 101, 0);
	assert_near(collect_scalar(&out, "wakeup.max", "cpu=4,prio=40"), 102, 0);
	assert_int_equal(
		collect_find(&out, RECORD_HIST, "wakeup.latency", "cpu=6,prio=98")->hist->total,
		500);
	assert_int_equal(
		collect_find(&out, RECORD_SERIES, "wakeup.max", "cpu=4,prio=98")->nr_points, 1);
	assert_int_equal(
		collect_find(&out, RECORD_SERIES, "wakeup.max", "cpu=4,prio=98")->points[0].t_ns,
		100);
	assert_non_null(collect_event(&out, "250 wake-ups of 1250 were skipped (20 %)"));
	free(l);
}

/* Ten samples above it: 1000 for p99, 10000 for p999. */
static void quantiles_without_enough_samples_are_left_out(void **state)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_lane *l = lanes_of(1, seconds);
	struct wakeup_result res = { l, 1, 1, 0, UINT64_MAX };
	static const struct {
		uint64_t n;
		bool p50, p99, p999;
	} cases[] = { { 19, false, false, false }, { 20, true, false, false },
		      { 999, true, false, false }, { 1000, true, true, false },
		      { 9999, true, true, false }, { 10000, true, true, true } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(collect_release) struct collect out = collect_new();
		struct err e = {};
		struct emit m = { .out = &out.sink, .instance = "w", .e = &e };

		memset(&l->hist, 0, sizeof(l->hist));
		hist_add_many(&l->hist, 5, cases[i].n);
		wakeup_report(&res, &m);
		assert_int_equal(!!collect_find(&out, RECORD_SCALAR, "w.p50", ""), cases[i].p50);
		assert_int_equal(!!collect_find(&out, RECORD_SCALAR, "w.p99", ""), cases[i].p99);
		assert_int_equal(!!collect_find(&out, RECORD_SCALAR, "w.p999", ""), cases[i].p999);
		assert_int_equal(!!collect_event(&out, "p999 left out"), !cases[i].p999);
	}
	free(l);
}

/* By what was due: how many wake-ups a stall swallowed does not decide it. */
static void skipped_wakeups_count_towards_a_quantile(void **state)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_lane *l = lanes_of(1, seconds);
	struct wakeup_result res = { l, 1, 1, 0, UINT64_MAX };
	static const uint64_t skipped[] = { 0, 1, 400, 999 };

	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++) {
		for (uint64_t due = 999; due <= 1000; due++) {
			_cleanup_(collect_release) struct collect out = collect_new();
			struct err e = {};
			struct emit m = { .out = &out.sink, .instance = "w", .e = &e };
			uint64_t n = due - skipped[i];

			if (n == 0)
				continue;
			memset(&l->hist, 0, sizeof(l->hist));
			hist_add_many(&l->hist, 5, n);
			l->skipped = skipped[i];
			wakeup_report(&res, &m);
			assert_int_equal(!!collect_find(&out, RECORD_SCALAR, "w.p99", ""),
					 due == 1000);
			assert_int_equal(!!collect_find(&out, RECORD_SCALAR, "w.p99-corrected", ""),
					 due == 1000);
			assert_non_null(collect_event(
				&out, due == 1000 ? "p999 left out: 1000 wake-ups were due"
						  : "p99 left out: 999 wake-ups were due"));
		}
	}
	free(l);
}

static void late_at(struct wakeup_lane *l, uint64_t at_us, uint64_t late_ns)
{
	assert_true(wakeup_tap(l->tap, at_us * NS_PER_US, late_ns));
}

/* One stall holds up both CPUs, and some wake-ups after it: one episode. */
static void late_wakeups_are_counted_in_episodes(void **state)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_lane *l = lanes_of(4, seconds);
	struct wakeup_result res = { l, 4, 2, 0, 2 * NS_PER_S };
	struct wakeup_late late = { .limit_ns = 1000, .gap_ns = 2 * NS_PER_MS };
	_cleanup_(collect_release) struct collect out = collect_new(), full = collect_new();
	struct err e = {};
	struct emit m = { .out = &out.sink, .instance = "w", .e = &e };

	l[2].priority = l[3].priority = 40;
	assert_int_equal(wakeup_late_init(&late, l, 4, &e), 0);
	late_at(&l[0], 10000, 2000);
	late_at(&l[1], 12500, 1001); /* within the gap of the next, noted before it */
	late_at(&l[1], 11000, 3000);
	late_at(&l[0], 13000, 1000); /* not above */
	late_at(&l[0], 14500, 1500);
	late_at(&l[0], 16501, 1500); /* beyond the gap */
	late_at(&l[3], 12000, 9000); /* of another priority, which this does not touch */
	wakeup_late_report(&late, &res, &m);
	assert_int_equal(m.r, 0);
	assert_near(collect_scalar(&out, "w.episodes", ""), 2 / 2.0, 0);
	assert_near(collect_scalar(&out, "w.episodes", "prio=40"), 1 / 2.0, 0);

	late.spikes.max = 5; /* one more than is kept */
	m.out = &full.sink;
	wakeup_late_report(&late, &res, &m);
	assert_int_equal(m.r, 0);
	assert_null(collect_find(&full, RECORD_SCALAR, "w.episodes", ""));
	assert_non_null(collect_event(&full, "episodes left out: 6 wake-ups were later than 1 us"));
	wakeup_late_release(&late);
	free(l);
}

/* None is a number too; without a limit there is none. */
static void no_late_wakeup_is_zero_episodes(void **state)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_lane *l = lanes_of(1, seconds);
	struct wakeup_result res = { l, 1, 1, 0, NS_PER_S };
	struct wakeup_late late = { .limit_ns = 1000 }, off = {};
	_cleanup_(collect_release) struct collect out = collect_new(), none = collect_new();
	struct err e = {};
	struct emit m = { .out = &out.sink, .instance = "w", .e = &e };

	assert_int_equal(wakeup_late_init(&off, l, 1, &e), 0);
	assert_null(l->tap);
	assert_int_equal(wakeup_late_init(&late, l, 1, &e), 0);
	wakeup_late_report(&late, &res, &m);
	assert_near(collect_scalar(&out, "w.episodes", ""), 0, 0);
	m.out = &none.sink;
	wakeup_late_report(&off, &res, &m);
	assert_null(collect_find(&none, RECORD_SCALAR, "w.episodes", ""));
	wakeup_late_release(&late);
	free(l);
}

/* The maxima of the window's seconds; a rest of less than half a second is no second. */
static void a_short_rest_of_the_window_belongs_to_its_last_second(void **state)
{
	static const struct {
		uint64_t length_ns;
		size_t nr;
		double last;
		int64_t last_t_ns;
	} cases[] = {
		{ 2000500000, 2, 90, 2000400000 }, { 2499999999, 2, 90, 2000400000 },
		{ 2500000000, 3, 90, 2000400000 }, { 1999000000, 2, 90, 2000400000 },
		{ 300000000, 1, 90, 2000400000 },
	};
	const uint64_t begin = 5000000000;
	struct wakeup_second seconds[4] = {
		{ 50, begin + 10 }, { 70, begin + 1000000010 }, { 90, begin + 2000400000 }, { 0, 0 }
	};
	struct wakeup_lane *l = lanes_of(1, seconds);

	l->nr_seconds = ARRAY_SIZE(seconds);
	hist_add_many(&l->hist, 5, 3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wakeup_result res = { l, 1, 1, begin, begin + cases[i].length_ns };
		_cleanup_(collect_release) struct collect out = collect_new();
		struct err e = {};
		struct emit m = { .out = &out.sink, .instance = "w", .e = &e };
		const struct record *r;

		wakeup_report(&res, &m);
		r = collect_find(&out, RECORD_SERIES, "w.max", "cpu=0,prio=0");
		assert_int_equal(r->nr_points, cases[i].nr);
		assert_near(r->points[r->nr_points - 1].v, cases[i].last, 0);
		assert_int_equal(r->points[r->nr_points - 1].t_ns, cases[i].last_t_ns);
	}
	/* the rest was quieter: the second's own maximum stays */
	seconds[2].max_ns = 60;
	{
		struct wakeup_result res = { l, 1, 1, begin, begin + 2000500000 };
		_cleanup_(collect_release) struct collect out = collect_new();
		struct err e = {};
		struct emit m = { .out = &out.sink, .instance = "w", .e = &e };
		const struct record *r;

		wakeup_report(&res, &m);
		r = collect_find(&out, RECORD_SERIES, "w.max", "cpu=0,prio=0");
		assert_int_equal(r->nr_points, 2);
		assert_near(r->points[1].v, 70, 0);
		assert_int_equal(r->points[1].t_ns, 1000000010);
	}
	free(l);
}

/* Told apart from the samples, and nothing is judged. */
static void wakeups_elsewhere_veto(void **state)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_lane *l = lanes_of(1, seconds);
	struct wakeup_result res = { l, 1, 1, 0, UINT64_MAX };
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	struct emit m = { .out = &out.sink, .instance = "w", .e = &e };

	l->cpu = 1;
	l->last_cpu = 1; /* back in time for the end */
	l->elsewhere = 12;
	hist_add(&l->hist, 5);
	wakeup_report(&res, &m);
	assert_near(collect_scalar(&out, "w.elsewhere", ""), 12, 0);
	assert_int_equal(collect_event(&out, "12 wake-ups ran on another CPU")->severity,
			 SEVERITY_VETO);
	free(l);
}

static void a_lane_that_failed_or_moved_vetoes(void **state)
{
	struct wakeup_second seconds[2] = {};
	struct wakeup_lane *l = lanes_of(1, seconds);
	struct wakeup_result res = { l, 1, 1, 0, UINT64_MAX };
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	struct emit m = { .out = &out.sink, .instance = "w", .e = &e };

	l->cpu = 3;
	l->last_cpu = 1;
	l->error = EINVAL;
	wakeup_report(&res, &m);
	assert_int_equal(collect_event(&out, "ended on CPU 1")->severity, SEVERITY_VETO);
	assert_int_equal(collect_event(&out, "clock_nanosleep failed")->severity, SEVERITY_VETO);
	assert_int_equal(collect_event(&out, "no wake-up was measured")->severity, SEVERITY_WARN);
	free(l);
}

/* ---- on this machine ---- */

static struct host machine;

static int open_machine(void **state)
{
	struct err e = {};

	return host_open(&machine, &e);
}

static int release_machine(void **state)
{
	host_release(&machine);
	return 0;
}

static void need_fifo(void)
{
	struct err e = {};

	if (probe_wakeup.usable(&machine, &e) < 0) {
		print_message("%s\n", e.msg);
		skip();
	}
}

static struct instance instance_of(const char *key, const char *value)
{
	struct instance inst = { .plugin = strdup("wakeup"), .name = strdup("wakeup") };
	struct err e = {};

	if (key)
		assert_int_equal(instance_set(&inst, key, value, 1, &e), 0);
	return inst;
}

static void bad_options_are_refused_with_their_remedy(void **state)
{
	static const struct {
		const char *key, *value, *says;
	} cases[] = {
		{ "interval", "5us", "must be within 10us to 1s" },
		{ "interval", "2s", "must be within" },
		{ "priority", "0", "must be within 1 to 99" },
		{ "priority", "100", "must be within 1 to 99" },
		{ "priority", "98,98", "priority: 98 stands twice" },
		{ "priority", "", "name one at least" },
		{ "cpus", "8000", "CPU 8000 is not online; this machine has 0" },
		{ "cpus", "x", "expected all or a CPU list" },
		{ "phase", "1", "random, aligned" },
		{ "policy", "deadline", "fifo, rr, other" },
		{ "phases", "random", "wakeup has no option \"phases\"" },
	};
	struct probe_env env = { .host = &machine, .duration_ns = NS_PER_S };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(instance_release) struct instance inst =
			instance_of(cases[i].key, cases[i].value);
		struct probe *p = NULL;
		struct err e = {};

		assert_true(probe_wakeup.open(&p, &env, &inst, &e) < 0);
		assert_contains(e.msg, cases[i].says);
		assert_null(p);
	}
}

/* A lane on this thread's CPU; @priority 0: not real time. */
struct lane_thread {
	struct wakeup_lane *lane;
	struct wakeup_window window;
};

static void *run_lane(void *arg)
{
	struct lane_thread *t = arg;

	wakeup_loop(t->lane);
	return NULL;
}

static unsigned int first_cpu(void)
{
	_cleanup_(cpuset_release) struct cpuset online = {};
	struct err e = {};

	assert_int_equal(cpuset_online(machine.sys_fd, &online, &e), 0);
	return online.cpus[online.nr - 1];
}

static void *spin_at_99(void *arg)
{
	uint64_t *span = arg; /* begin to end, CLOCK_MONOTONIC */

	span[0] = clock_mono_ns();
	while (clock_mono_ns() < span[0] + 30 * NS_PER_MS)
		;
	span[1] = clock_mono_ns();
	return NULL;
}

static int fifo_thread(pthread_t *t, unsigned int cpu, int priority, void *(*f)(void *), void *arg)
{
	struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;
	cpu_set_t set;
	int r;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	r = pthread_create(t, &attr, f, arg);
	pthread_attr_destroy(&attr);
	return r;
}

/* Times n * interval + phase in [begin, end). */
static uint64_t grid_points(uint64_t begin, uint64_t end, uint64_t phase, uint64_t interval)
{
	uint64_t nr = 0;

	for (uint64_t t = wakeup_first(begin - 1, phase, interval); t < end; t += interval)
		nr++;
	return nr;
}

/*
 * The window is set before the lane runs, so every scheduled time in it is either a sample or
 * skipped: exactly, whatever this machine does meanwhile.  A thread of priority 99 spins for 30 ms:
 * that long no wake-up can be seen.
 */
static void every_cycle_is_a_sample_or_skipped_also_under_a_stall(void **state)
{
	const uint64_t interval = 250 * NS_PER_US;
	struct wakeup_second seconds[2] = {};
	struct lane_thread t = { .lane = lanes_of(1, seconds) };
	struct wakeup_lane *l = t.lane;
	uint64_t begin, end, due, span[2];
	pthread_t lane, spinner;

	need_fifo();
	l->cpu = first_cpu();
	l->window = &t.window;
	l->next_ns = wakeup_first(clock_mono_ns(), 1234, interval);
	begin = l->next_ns + 20 * NS_PER_MS + 17;
	end = begin + 500 * NS_PER_MS;
	atomic_store(&t.window.begin_ns, begin);
	atomic_store(&t.window.end_ns, end);
	assert_int_equal(fifo_thread(&lane, l->cpu, 98, run_lane, &t), 0);
	while (clock_mono_ns() < begin + 100 * NS_PER_MS)
		usleep(1000);
	assert_int_equal(fifo_thread(&spinner, l->cpu, 99, spin_at_99, span), 0);
	pthread_join(spinner, NULL);
	pthread_join(lane, NULL);

	assert_int_equal(l->error, 0);
	assert_int_equal(l->last_cpu, l->cpu);
	due = grid_points(begin, end, 1234, interval);
	assert_int_equal(l->hist.total + l->skipped, due);
	if (span[1] < end) {
		/* what was due in the first interval of the spin waited for the rest of it */
		assert_true(l->hist.max >= span[1] - span[0] - interval);
		assert_true(l->skipped >= (span[1] - span[0]) / interval - 2);
		assert_true(seconds[0].max_ns == l->hist.max);
		assert_true(seconds[0].at_ns > begin);
	}
	assert_int_equal(seconds[1].at_ns, 0);
	free(l);
}

/* The thread cannot run while the window opens, nor while it closes. */
static void stalls_across_the_edges_are_counted_within_the_window(void **state)
{
	const uint64_t interval = 250 * NS_PER_US;
	struct wakeup_second seconds[2] = {};
	struct lane_thread t = { .lane = lanes_of(1, seconds) };
	struct wakeup_lane *l = t.lane;
	uint64_t begin, end, span[2];
	pthread_t lane, spinner;

	need_fifo();
	l->cpu = first_cpu();
	l->window = &t.window;
	l->next_ns = wakeup_first(clock_mono_ns(), 77, interval);
	begin = l->next_ns + 60 * NS_PER_MS;
	end = begin + 5 * NS_PER_MS;
	atomic_store(&t.window.begin_ns, begin);
	atomic_store(&t.window.end_ns, end);
	assert_int_equal(fifo_thread(&lane, l->cpu, 98, run_lane, &t), 0);
	while (clock_mono_ns() < begin - 10 * NS_PER_MS)
		usleep(500);
	assert_int_equal(fifo_thread(&spinner, l->cpu, 99, spin_at_99, span), 0);
	pthread_join(spinner, NULL);
	pthread_join(lane, NULL);
	assert_int_equal(l->hist.total + l->skipped, grid_points(begin, end, 77, interval));
	if (span[0] + interval < begin && span[1] > end)
		assert_int_equal(l->skipped, grid_points(begin, end, 77, interval));
	free(l);
}

static uint64_t locked_kib(void)
{
	_cleanup_(fclose_filep) FILE *f = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmLck: %lu", &kib) == 1)
			break;
	return kib;
}

/* Through the plug-in: open, half a second, drain; two priorities on all CPUs. */
static void a_real_window_gives_all_statistics(void **state)
{
	_cleanup_(instance_release) struct instance inst = instance_of("priority", "97,40");
	_cleanup_(collect_release) struct collect out = collect_new();
	struct probe_env env = { .host = &machine, .seed = 42, .duration_ns = NS_PER_S / 2 };
	const uint64_t interval = 250 * NS_PER_US;
	struct probe *p = NULL;
	struct err e = {};
	uint64_t t[4];
	double counted, cpus = 0;

	need_fifo();
	if (probe_wakeup.open(&p, &env, &inst, &e) < 0)
		fail_msg("%s", e.msg);
	t[0] = clock_mono_ns();
	assert_int_equal(probe_wakeup.start(p, t[0], &e), 0);
	t[1] = clock_mono_ns();
	usleep(500000);
	t[2] = clock_mono_ns();
	assert_int_equal(probe_wakeup.stop(p, t[2], &e), 0);
	t[3] = clock_mono_ns();
	assert_int_equal(probe_wakeup.drain(p, &out.sink, &e), 0);
	probe_wakeup.close(p);
	assert_int_equal(locked_kib(), 0);
	for (unsigned int cpu = 0; cpu < CPUSET_MAX; cpu++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "cpu=%u", cpu);
		cpus += collect_find(&out, RECORD_SCALAR, "wakeup.n", labels) != NULL;
	}
	assert_true(cpus >= 1);
	counted =
		(collect_scalar(&out, "wakeup.n", "") + collect_scalar(&out, "wakeup.missed", "")) /
		cpus;
	/* the window opened between t[0] and t[1] and closed between t[2] and t[3] */
	assert_true(counted <= (double)(t[3] - t[0]) / (double)interval + 1);
	assert_true(counted >= (double)(t[2] - t[1]) / (double)interval - 1);
	assert_true(collect_scalar(&out, "wakeup.p50", "") > 0);
	assert_true(collect_scalar(&out, "wakeup.p99", "") >=
		    collect_scalar(&out, "wakeup.p50", ""));
	assert_true(collect_scalar(&out, "wakeup.max", "") >=
		    collect_scalar(&out, "wakeup.p99", ""));
	assert_true(collect_scalar(&out, "wakeup.n", "prio=40") > 0);
	assert_null(collect_event(&out, "memory is not locked"));
}

static void a_missing_latency_device_is_a_warning(void **state)
{
	struct scratch s = scratch_new();
	static const char *const none[] = { NULL };
	struct host host = { .proc_fd = machine.proc_fd, .sys_fd = machine.sys_fd, .dev_fd = s.fd };
	_cleanup_(instance_release) struct instance inst = instance_of(NULL, NULL);
	_cleanup_(collect_release) struct collect out = collect_new();
	struct probe_env env = { .host = &host };
	struct probe *p = NULL;
	struct err e = {};

	need_fifo();
	assert_int_equal(probe_wakeup.open(&p, &env, &inst, &e), 0);
	assert_int_equal(probe_wakeup.start(p, clock_mono_ns(), &e), 0);
	assert_int_equal(probe_wakeup.stop(p, clock_mono_ns(), &e), 0);
	assert_int_equal(probe_wakeup.drain(p, &out.sink, &e), 0);
	assert_int_equal(collect_event(&out, "/dev/cpu_dma_latency")->severity, SEVERITY_WARN);
	probe_wakeup.close(p);
	scratch_release(&s, none);
}

/* policy other: one thread on every CPU, at once, and what was held is recorded. */
static void without_real_time_no_privilege_is_needed(void **state)
{
	_cleanup_(instance_release) struct instance inst = instance_of("policy", "other");
	_cleanup_(collect_release) struct collect out = collect_new();
	struct probe_env env = { .host = &machine, .seed = 1, .duration_ns = NS_PER_S };
	struct probe *p = NULL;
	struct err e = {};

	assert_int_equal(instance_set(&inst, "pm-qos", "off", 1, &e), 0);
	assert_int_equal(instance_set(&inst, "phase", "aligned", 1, &e), 0);
	assert_int_equal(probe_wakeup.open(&p, &env, &inst, &e), 0);
	assert_int_equal(probe_wakeup.start(p, clock_mono_ns(), &e), 0);
	usleep(100000);
	assert_int_equal(probe_wakeup.stop(p, clock_mono_ns(), &e), 0);
	assert_int_equal(probe_wakeup.drain(p, &out.sink, &e), 0);
	assert_true(collect_scalar(&out, "wakeup.n", "") > 0);
	assert_near(collect_scalar(&out, "wakeup.pm-qos-held", ""), 0, 0);
	assert_int_equal(collect_event(&out, "pm-qos: off")->severity, SEVERITY_NOTE);
	probe_wakeup.close(p);
}

static size_t nr_threads(void)
{
	_cleanup_(closedir_dirp) DIR *d = opendir("/proc/self/task");
	size_t nr = 0;

	for (struct dirent *de = d ? readdir(d) : NULL; de; de = readdir(d))
		nr += de->d_name[0] != '.';
	return nr;
}

static void closing_at_any_point_leaves_no_thread(void **state)
{
	size_t before = nr_threads();
	_cleanup_(instance_release) struct instance inst = instance_of("interval", "1ms");
	struct probe_env env = { .host = &machine, .duration_ns = NS_PER_S };

	need_fifo();
	for (int last = 0; last < 3; last++) {
		struct probe *p = NULL;
		struct err e = {};

		assert_int_equal(probe_wakeup.open(&p, &env, &inst, &e), 0);
		if (last > 0)
			assert_int_equal(probe_wakeup.start(p, clock_mono_ns(), &e), 0);
		if (last > 1)
			assert_int_equal(probe_wakeup.stop(p, clock_mono_ns(), &e), 0);
		probe_wakeup.close(p);
		assert_int_equal(nr_threads(), before);
	}
	probe_wakeup.close(NULL);
}

/*
 * As a user with priorities up to 50 (with none where root itself may not raise the limit): the
 * lanes of 40 run when 98 is refused.  0 when nothing is kept of them.
 */
static int open_above_the_limit(void)
{
	const struct rlimit limit = { 50, 50 };
	_cleanup_(instance_release) struct instance inst = instance_of("priority", "40,98");
	struct probe_env env = { .host = &machine, .duration_ns = NS_PER_S };
	bool limited = setrlimit(RLIMIT_RTPRIO, &limit) == 0;
	struct probe *p = NULL;
	struct err e = {};
	size_t before;

	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
		return 10;
	before = nr_threads();
	if (!before)
		return 15;
	if (probe_wakeup.usable(&machine, &e) != (limited ? 0 : -EPERM))
		return 11;
	if (probe_wakeup.open(&p, &env, &inst, &e) != -EPERM)
		return 12;
	if (!strstr(e.msg, limited ? "SCHED_FIFO 98 on CPU " : "SCHED_FIFO 40 on CPU ") ||
	    !strstr(e.msg, "RLIMIT_RTPRIO"))
		return 13;
	if (nr_threads() != before || p)
		return 14;
	return 0;
}

static void a_refused_priority_names_its_remedy_and_leaves_nothing(void **state)
{
	int status = 0;
	pid_t pid;

	need_fifo();
	if (geteuid() != 0) {
		print_message("needs root to become a user with limits\n");
		skip();
	}
	pid = fork();
	if (pid == 0)
		_exit(open_above_the_limit());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skipped_cycles_are_whole_periods),
		cmocka_unit_test(skipped_times_are_counted_by_the_edges),
		cmocka_unit_test(phases_lie_in_the_interval_and_differ),
		cmocka_unit_test(the_first_wakeup_is_the_next_on_the_grid),
		cmocka_unit_test(a_stall_counts_as_the_wakeups_it_swallowed),
		cmocka_unit_test(the_correction_is_right_within_a_bucket),
		cmocka_unit_test(reports_merge_cpus_and_label_priorities),
		cmocka_unit_test(quantiles_without_enough_samples_are_left_out),
		cmocka_unit_test(skipped_wakeups_count_towards_a_quantile),
		cmocka_unit_test(late_wakeups_are_counted_in_episodes),
		cmocka_unit_test(no_late_wakeup_is_zero_episodes),
		cmocka_unit_test(a_short_rest_of_the_window_belongs_to_its_last_second),
		cmocka_unit_test(a_lane_that_failed_or_moved_vetoes),
		cmocka_unit_test(wakeups_elsewhere_veto),
		cmocka_unit_test(without_real_time_no_privilege_is_needed),
		cmocka_unit_test(bad_options_are_refused_with_their_remedy),
		cmocka_unit_test(every_cycle_is_a_sample_or_skipped_also_under_a_stall),
		cmocka_unit_test(stalls_across_the_edges_are_counted_within_the_window),
		cmocka_unit_test(a_real_window_gives_all_statistics),
		cmocka_unit_test(a_missing_latency_device_is_a_warning),
		cmocka_unit_test(closing_at_any_point_leaves_no_thread),
		cmocka_unit_test(a_refused_priority_names_its_remedy_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, open_machine, release_machine);
}
