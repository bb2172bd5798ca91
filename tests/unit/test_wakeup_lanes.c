// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <inttypes.h>
#include <sched.h>

#include "base/clock.h"
#include "probe/wakeup.h"
#include "probe/wakeup_lanes.h"
#include "tree.h"

#define CAPS_ALL "CapEff:\t000001ffffffffff\n"
#define CAPS_NONE "CapEff:\t0000000000000000\n"
#define FIRST_USERNS "         0          0 4294967295\n"
#define LIMIT(n)                                                                           \
	"Limit                     Soft Limit           Hard Limit           Units     \n" \
	"Max realtime priority     " n "                    0                              \n"

/* What /proc and /sys say, and what the refusal says then. */
static const struct {
	const char *status, *uid_map, *limits, *cgroup;
	const char *runtime_path, *runtime;
	unsigned int priority;
	const char *says, *remedy;
} cases[] = {
	{ CAPS_NONE "Seccomp:\t0\n", FIRST_USERNS, LIMIT("0"), "0::/\n", NULL, NULL, 98,
	  "no CAP_SYS_NICE, and RLIMIT_RTPRIO allows priority 0 at most", "limits.conf" },
	{ CAPS_NONE "Seccomp:\t2\n", FIRST_USERNS, LIMIT("50"), "0::/\n", NULL, NULL, 51,
	  "RLIMIT_RTPRIO allows priority 50 at most", "--ulimit rtprio=99" },
	{ CAPS_ALL "Seccomp:\t2\n", "0 100000 65536\n", LIMIT("0"), "0::/\n", NULL, NULL, 98,
	  "CAP_SYS_NICE of a user namespace does not count", "--ulimit rtprio=99" },
	{ CAPS_ALL "Seccomp:\t0\n", FIRST_USERNS, LIMIT("0"),
	  "4:memory:/x\n3:cpu,cpuacct:/user.slice/a\n0::/\n",
	  "sys/fs/cgroup/cpu,cpuacct/user.slice/a/cpu.rt_runtime_us", "0\n", 98,
	  "its cpu cgroup /user.slice/a has cpu.rt_runtime_us 0 (CONFIG_RT_GROUP_SCHED)",
	  "echo $$ > /sys/fs/cgroup/cpu/tasks" },
	/* the limit would allow it: the group does not */
	{ CAPS_NONE "Seccomp:\t0\n", FIRST_USERNS, LIMIT("99"), "1:cpu:/a\n",
	  "sys/fs/cgroup/cpu/a/cpu.rt_runtime_us", "0\n", 98, "its cpu cgroup /a", "950000" },
	{ CAPS_ALL "Seccomp:\t2\n", FIRST_USERNS, LIMIT("0"), "1:cpu:/a\n",
	  "sys/fs/cgroup/cpu/a/cpu.rt_runtime_us", "950000\n", 98, "a seccomp filter is active",
	  "--cap-add sys_nice" },
	{ CAPS_ALL "Seccomp:\t0\n", FIRST_USERNS, LIMIT("0"), "0::/user.slice\n", NULL, NULL, 98,
	  "cgroup v2 only the root group runs real-time threads, and this is /user.slice",
	  "rt_group_sched=0" },
	{ CAPS_ALL "Seccomp:\t0\n", FIRST_USERNS, LIMIT("0"), "3:cpuset:/a\n0::/\n", NULL, NULL, 98,
	  "it needs root, CAP_SYS_NICE or an RLIMIT_RTPRIO", "cpu.rt_runtime_us" },
};

static void a_refusal_names_its_cause_and_remedy(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tree t;
		const struct wakeup_ask ask = { WAKEUP_FIFO, cases[i].priority, 3 };
		struct err e = {};
		char what[32];

		tree_make(&t);
		tree_write(&t, "proc/self/status", cases[i].status);
		tree_write(&t, "proc/self/uid_map", cases[i].uid_map);
		tree_write(&t, "proc/self/limits", cases[i].limits);
		tree_write(&t, "proc/self/cgroup", cases[i].cgroup);
		if (cases[i].runtime_path)
			tree_write(&t, cases[i].runtime_path, cases[i].runtime);
		assert_int_equal(wakeup_refused(&t.host, &ask, EPERM, &e), -EPERM);
		snprintf(what, sizeof(what), "SCHED_FIFO %u on CPU 3 ", cases[i].priority);
		assert_contains(e.msg, what);
		assert_contains(e.msg, cases[i].says);
		assert_contains(e.msg, cases[i].remedy);
		assert_contains(e.msg, "policy other");
		tree_remove(&t);
	}
}

static void without_proc_every_remedy_is_named(void **state)
{
	struct tree t;
	const struct wakeup_ask ask = { WAKEUP_RR, 5, -1 };
	struct err e = {};

	tree_make(&t);
	assert_int_equal(wakeup_refused(&t.host, &ask, EPERM, &e), -EPERM);
	assert_contains(e.msg, "SCHED_RR 5 was refused");
	assert_contains(e.msg, "RLIMIT_RTPRIO");
	assert_int_equal(wakeup_refused(&t.host, &ask, EINVAL, &e), -EINVAL);
	assert_contains(e.msg, "offline");
	assert_int_equal(wakeup_refused(&t.host, &ask, EAGAIN, &e), -EAGAIN);
	assert_contains(e.msg, "ulimit -l and -u");
	tree_remove(&t);
}

static struct host machine;
static size_t made, refuse_at;
static int refuse_with;

/* Ordinary threads, so that no privilege is needed, until one is refused. */
static int refusing(pthread_t *ret, const pthread_attr_t *attr, void *(*f)(void *), void *arg)
{
	if (made == refuse_at)
		return refuse_with;
	made++;
	return pthread_create(ret, NULL, f, arg);
}

static size_t nr_threads(void)
{
	_cleanup_(closedir_dirp) DIR *d = opendir("/proc/self/task");
	size_t nr = 0;

	for (struct dirent *de = d ? readdir(d) : NULL; de; de = readdir(d))
		nr += de->d_name[0] != '.';
	return nr;
}

static void *nothing(void *arg)
{
	return arg;
}

/* A thread that has been joined may stand in /proc for a moment. */
static void assert_threads(size_t nr)
{
	for (int i = 0; i < 10000 && nr_threads() != nr; i++)
		usleep(1000);
	assert_int_equal(nr_threads(), nr);
}

static void fill(struct wakeup_lanes *s, struct wakeup_window *w)
{
	atomic_store(&w->begin_ns, UINT64_MAX);
	atomic_store(&w->end_ns, UINT64_MAX);
	for (size_t i = 0; i < s->nr; i++) {
		struct wakeup_lane *l = &s->lane[i];

		l->policy = WAKEUP_FIFO;
		l->priority = 98;
		l->clock = CLOCK_MONOTONIC;
		l->interval_ns = NS_PER_MS;
		l->next_ns = clock_mono_ns();
		l->window = w;
	}
}

/* The n-th of four threads is refused, each in turn: nothing is left of those before it. */
static void a_refused_thread_ends_those_before_it(void **state)
{
	static const int errors[] = { EPERM, EAGAIN, EINVAL };
	size_t before;
	pthread_t t;

	/* ThreadSanitizer makes one of its own with the first */
	assert_int_equal(pthread_create(&t, NULL, nothing, NULL), 0);
	pthread_join(t, NULL);
	before = nr_threads();
	for (refuse_at = 0; refuse_at < 4; refuse_at++) {
		struct wakeup_window w;
		_cleanup_(wakeup_lanes_release) struct wakeup_lanes s = { .create = refusing };
		struct err e = {};

		made = 0;
		refuse_with = errors[refuse_at % ARRAY_SIZE(errors)];
		assert_int_equal(wakeup_lanes_init(&s, 4, 2, &e), 0);
		s.create = refusing;
		fill(&s, &w);
		assert_int_equal(wakeup_lanes_run(&s, &machine, &e), -refuse_with);
		assert_true(e.len > 0);
		assert_threads(before);
	}
}

/* A loop on another CPU than its own, as after hot-plug: told apart, nothing lost. */
static void wakeups_on_another_cpu_are_told_apart(void **state)
{
	const uint64_t begin = clock_mono_ns(), interval = NS_PER_MS;
	_cleanup_(wakeup_lanes_release) struct wakeup_lanes s = {};
	struct wakeup_window w = { begin, begin + 20 * NS_PER_MS };
	struct err e = {};
	struct wakeup_lane *l;

	assert_int_equal(wakeup_lanes_init(&s, 1, 2, &e), 0);
	l = s.lane;
	l->clock = CLOCK_MONOTONIC;
	l->interval_ns = interval;
	l->window = &w;
	l->next_ns = begin;
	l->pinned = true;
	l->cpu = 8000;
	wakeup_loop(l);
	assert_int_equal(l->hist.total, 0);
	assert_int_equal(l->elsewhere + l->skipped, 20);
	assert_true(l->elsewhere > 0 && l->ended);
}

static struct wakeup_tap tap_of(uint64_t *rows, uint64_t *overflow, size_t nr)
{
	return (struct wakeup_tap){
		.rows = rows, .overflow = overflow, .nr_rows = nr, .row_ns = NS_PER_US
	};
}

static void a_tap_keeps_what_cyclictest_shows(void **state)
{
	static const uint64_t late[] = { 1999, 2000, 3, 4000, 999, 9000, 4999 };
	uint64_t rows[4] = {}, overflow[4] = {}, values[8] = {};
	struct wakeup_spike kept[2];
	struct wakeup_spikes spikes = { .spike = kept, .max = 2 };
	struct wakeup_tap t = tap_of(rows, overflow, 4);

	t.lane = 7;
	t.values = (_Atomic uint64_t *)values;
	t.mask = 7;
	t.spikes = &spikes;
	t.spike_ns = 1999;
	t.max_cycles = ARRAY_SIZE(late);
	for (size_t i = 0; i < ARRAY_SIZE(late); i++)
		assert_int_equal(wakeup_tap(&t, 100 + i, late[i]), i + 1 < ARRAY_SIZE(late));
	assert_int_equal(t.act_ns, 4999);
	assert_int_equal(t.sum_us, 1 + 2 + 0 + 4 + 0 + 9 + 4);
	assert_int_equal(rows[0], 2);
	assert_int_equal(rows[1], 1);
	assert_int_equal(rows[2], 1);
	assert_int_equal(rows[3], 0);
	assert_int_equal(t.nr_overflow, 3);
	assert_int_equal(overflow[0], 3);
	assert_int_equal(overflow[2], 6);
	assert_int_equal(t.nr_values, 7);
	assert_int_equal(values[5], 9000);
	assert_int_equal(spikes.nr, 4);
	assert_int_equal(kept[0].late_ns, 2000);
	assert_int_equal(kept[1].late_ns, 4000);
	assert_int_equal(kept[1].at_ns, 103);
	assert_int_equal(kept[1].lane, 7);
}

static void only_the_first_late_wakeup_breaks(void **state)
{
	struct wakeup_break b = { .lane = -1, .mark_fd = -1, .trace_fd = -1 };
	struct wakeup_tap one = { .lane = 1, .brk = &b, .break_ns = 1000 };
	struct wakeup_tap two = { .lane = 2, .brk = &b, .break_ns = 1000 };

	assert_true(wakeup_tap(&one, 5, 1000));
	assert_int_equal(b.lane, -1);
	assert_false(wakeup_tap(&two, 6, 1001));
	assert_false(wakeup_tap(&one, 7, 5000));
	assert_int_equal(b.lane, 2);
	assert_int_equal(b.late_ns, 1001);
}

/* Seconds are used again from the first: old maxima do not stay under new times. */
static void a_ring_of_seconds_forgets_the_old_ones(void **state)
{
	_cleanup_(wakeup_lanes_release) struct wakeup_lanes s = {};
	const uint64_t begin = clock_mono_ns() - 10 * NS_PER_S;
	struct wakeup_window w = { begin, clock_mono_ns() + 5 * NS_PER_MS };
	struct err e = {};
	struct wakeup_lane *l;

	assert_int_equal(wakeup_lanes_init(&s, 1, 4, &e), 0);
	l = s.lane;
	l->clock = CLOCK_MONOTONIC;
	l->interval_ns = NS_PER_MS;
	l->window = &w;
	l->ring = true;
	l->next_ns = clock_mono_ns();
	for (size_t i = 0; i < 4; i++)
		l->seconds[i] = (struct wakeup_second){ 77 * NS_PER_S, begin + i * NS_PER_S };
	wakeup_loop(l);
	/* the tenth second lies in place 2 */
	assert_true(l->seconds[2].max_ns == l->hist.max);
	assert_true(l->seconds[2].at_ns >= begin + 10 * NS_PER_S);
	assert_true(l->seconds[1].max_ns == 77 * NS_PER_S);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_names_its_cause_and_remedy),
		cmocka_unit_test(without_proc_every_remedy_is_named),
		cmocka_unit_test(a_refused_thread_ends_those_before_it),
		cmocka_unit_test(wakeups_on_another_cpu_are_told_apart),
		cmocka_unit_test(a_tap_keeps_what_cyclictest_shows),
		cmocka_unit_test(only_the_first_late_wakeup_breaks),
		cmocka_unit_test(a_ring_of_seconds_forgets_the_old_ones),
	};

	return cmocka_run_group_tests(tests, open_machine, release_machine);
}
