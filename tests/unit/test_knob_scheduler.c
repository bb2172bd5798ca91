// SPDX-License-Identifier: GPL-3.0-or-later
/* Knobs scheduler and watchdog, on fixture trees and, where allowed, on the running kernel. */
#include "test.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "tree.h"
#include "knob_test.h"
#include "variant/knob_tables.h"

#define FAIR "sys/kernel/debug/sched/fair_server/"
#define RT "proc/sys/kernel/sched_rt_"

/* A machine of two CPUs with a kernel of @release. */
static void make_machine(const char *release)
{
	tree_write(&tree, "sys/devices/system/cpu/online", "0-1\n");
	tree_write(&tree, "proc/sys/kernel/osrelease", release);
	tree_write(&tree, RT "runtime_us", "950000\n");
	tree_write(&tree, RT "period_us", "1000000\n");
}

static void add_debugfs(void)
{
	for (int i = 0; i < 2; i++) {
		char path[96];

		snprintf(path, sizeof(path), FAIR "cpu%d/runtime", i);
		tree_write(&tree, path, "50000000\n");
		snprintf(path, sizeof(path), FAIR "cpu%d/period", i);
		tree_write(&tree, path, "1000000000\n");
	}
	tree_write(&tree, "sys/kernel/debug/sched/preempt", "none voluntary (full) lazy \n");
	tree_write(&tree, "sys/kernel/debug/sched/features",
		   "PLACE_LAG GENTLE_FAIR_SLEEPERS NO_HRTICK NO_HRTICK_DL \n");
}

static void rt_bounds_are_one_setting(void **state)
{
	struct life l;
	struct err e = {};

	make_machine("5.10.0-rt\n");
	expect_means(&knob_scheduler, make("scheduler", "rt-runtime", "off", NULL),
		     "rt-bandwidth=-1/1000000\n");
	expect_means(&knob_scheduler,
		     make("scheduler", "rt-runtime", "1900ms", "rt-period", "2s", NULL),
		     "rt-bandwidth=1900000/2000000\n");
	must(life_begin(&l, &knob_scheduler, make("scheduler", "rt-runtime", "500ms", NULL), &e),
	     &e);
	tree_expect(&tree, RT "runtime_us", "500000\n");
	tree_expect(&tree, RT "period_us", "1000000\n");
	life_end(&l);
	tree_expect(&tree, RT "runtime_us", "950000\n");
}

static void rt_bounds_that_cannot_be_are_refused_before_anything_is_written(void **state)
{
	make_machine("5.10.0-rt\n");
	expect_refused(&knob_scheduler, make("scheduler", "rt-runtime", "1100ms", NULL), -EINVAL,
		       "run time 1100000 is above the period of 1000000 us");
	expect_refused(&knob_scheduler, make("scheduler", "rt-runtime", "soon", NULL), -EINVAL,
		       "expected a time such as 950ms, or off");
	expect_refused(&knob_scheduler, make("scheduler", NULL), -EINVAL, "nothing to set");
	tree_expect(&tree, RT "runtime_us", "950000\n");
}

/* Which of two watched files was written first? */
static char first_written(int fd, int wd_runtime)
{
	char data[4096] __attribute__((aligned(8)));
	ssize_t n = read(fd, data, sizeof(data));

	assert_true(n >= (ssize_t)sizeof(struct inotify_event));
	return ((struct inotify_event *)(void *)data)->wd == wd_runtime ? 'r' : 'p';
}

/* The kernel refuses a run time above the period at every moment: there is one order that works. */
static void rt_bounds_are_written_in_the_order_that_is_valid_in_between(void **state)
{
	static const struct {
		const char *to;
		char first;
	} steps[] = {
		{ "1900000/2000000", 'p' }, /* the new run time is above the old period */
		{ "950000/1000000", 'r' },  /* the old run time is nearly above the new period */
		{ "-1/500000", 'r' },
		{ "500000/500000", 'r' }, /* only the run time differs */
		{ "400000/600000", 'r' },
		{ "700000/900000", 'p' },
	};
	char path[128];

	make_machine("5.10.0-rt\n");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		_cleanup_(close_fdp) int fd = inotify_init1(IN_CLOEXEC);
		struct err e = {};
		int wd;

		snprintf(path, sizeof(path), "%s/" RT "runtime_us", tree.root);
		wd = inotify_add_watch(fd, path, IN_MODIFY);
		snprintf(path, sizeof(path), "%s/" RT "period_us", tree.root);
		assert_true(wd >= 0 && inotify_add_watch(fd, path, IN_MODIFY) >= 0);
		must(knob_scheduler.write(&tree.host, "rt-bandwidth", steps[i].to, &e), &e);
		/* shorter text over longer leaves a tail in a plain file: the kernel has none */
		tree_write(&tree, RT "runtime_us", "");
		tree_write(&tree, RT "period_us", "");
		assert_int_equal(first_written(fd, wd), steps[i].first);
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(steps[i].to, "/"), steps[i].to);
		tree_write(&tree, RT "runtime_us", path);
		tree_write(&tree, RT "period_us", strchr(steps[i].to, '/') + 1);
	}
}

/* From 6.12 on the sysctl is accepted, reads back, and bounds no real-time thread. */
static void rt_bounds_without_effect_are_refused(void **state)
{
	make_machine("6.12.9\n");
	expect_refused(&knob_scheduler, make("scheduler", "rt-runtime", "off", NULL), -ENOTSUP,
		       "use fair-runtime");
	make_machine("6.11.0\n");
	expect_means(&knob_scheduler, make("scheduler", "rt-runtime", "off", NULL),
		     "rt-bandwidth=-1/1000000\n");
	/* real-time groups: there it still does */
	make_machine("7.0.1\n");
	tree_write(&tree, "sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000\n");
	expect_means(&knob_scheduler, make("scheduler", "rt-runtime", "off", NULL),
		     "rt-bandwidth=-1/1000000\n");
}

static void fair_server_is_set_on_each_cpu_named(void **state)
{
	struct life l;
	struct err e = {};

	make_machine("6.12.9\n");
	add_debugfs();
	expect_means(&knob_scheduler, make("scheduler", "fair-runtime", "off", NULL),
		     "fair-server cpu0=0/1000000000\nfair-server cpu1=0/1000000000\n");
	expect_means(&knob_scheduler,
		     make("scheduler", "fair-runtime", "20ms", "fair-period", "500ms", "cpus", "1",
			  NULL),
		     "fair-server cpu1=20000000/500000000\n");
	expect_refused(&knob_scheduler, make("scheduler", "fair-runtime", "off", "cpus", "5", NULL),
		       -EINVAL, "this machine has CPUs 0-1 online");
	must(life_begin(&l, &knob_scheduler,
			make("scheduler", "fair-runtime", "25ms", "cpus", "1", NULL), &e),
	     &e);
	tree_expect(&tree, FAIR "cpu1/runtime", "25000000\n");
	tree_expect(&tree, FAIR "cpu0/runtime", "50000000\n");
	life_crash_and_restore(&l);
	tree_expect(&tree, FAIR "cpu1/runtime", "50000000\n");
}

static void what_debugfs_lacks_is_told_with_its_remedy(void **state)
{
	make_machine("6.12.9\n");
	expect_refused(&knob_scheduler, make("scheduler", "fair-runtime", "off", NULL), -ENOTSUP,
		       "mount -t debugfs none /sys/kernel/debug");
	expect_refused(&knob_scheduler, make("scheduler", "preempt", "full", NULL), -ENOTSUP,
		       "mount -t debugfs");
	tree_write(&tree, "sys/kernel/debug/sched/verbose", "N\n");
	expect_refused(&knob_scheduler, make("scheduler", "fair-runtime", "off", NULL), -ENOTSUP,
		       "came with 6.12");
	expect_refused(&knob_scheduler, make("scheduler", "preempt", "full", NULL), -ENOTSUP,
		       "boot one with PREEMPT_DYNAMIC");
}

static void preemption_model_is_the_word_in_brackets(void **state)
{
	make_machine("6.12.9\n");
	add_debugfs();
	expect_reads(&knob_scheduler, "preempt", "full");
	expect_means(&knob_scheduler, make("scheduler", "preempt", "lazy", NULL), "preempt=lazy\n");
	tree_write(&tree, "sys/kernel/debug/sched/preempt", "none voluntary (full)\n");
	expect_refused(&knob_scheduler, make("scheduler", "preempt", "lazy", NULL), -ENOTSUP,
		       "this kernel has none voluntary (full)");
	tree_write(&tree, "sys/kernel/debug/sched/preempt", "gibberish\n");
	expect_refused(&knob_scheduler, make("scheduler", "preempt", "lazy", NULL), -EBADMSG,
		       "not understood");
}

static void features_go_by_their_names(void **state)
{
	make_machine("6.12.9\n");
	add_debugfs();
	expect_reads(&knob_scheduler, "feature HRTICK", "off");
	expect_reads(&knob_scheduler, "feature PLACE_LAG", "on");
	expect_means(&knob_scheduler, make("scheduler", "features", "HRTICK,NO_PLACE_LAG", NULL),
		     "feature HRTICK=on\nfeature PLACE_LAG=off\n");
	expect_refused(&knob_scheduler, make("scheduler", "features", "HR", NULL), -EINVAL,
		       "there is no scheduler feature \"HR\"");
}

/* A file that takes a value and keeps another is caught, and what was done before is undone. */
static void a_model_that_is_not_taken_is_caught(void **state)
{
	struct life l;
	struct err e = {};

	make_machine("6.12.9\n");
	add_debugfs();
	tree_write(&tree, "sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
	/* "lazy" over it reads "lazy voluntary (full) lazy": still full */
	assert_int_equal(life_begin(&l, &knob_scheduler,
				    make("scheduler", "fair-runtime", "10ms", "cpus", "0",
					 "preempt", "lazy", NULL),
				    &e),
			 -EIO);
	assert_contains(e.msg, "wrote \"lazy\", but it reads back \"full\"");
	tree_expect(&tree, FAIR "cpu0/runtime", "50000000\n");
}

#define WATCHDOG "proc/sys/kernel/"

static void make_watchdog(void)
{
	make_machine("6.1.0\n");
	tree_write(&tree, WATCHDOG "watchdog", "1\n");
	tree_write(&tree, WATCHDOG "soft_watchdog", "1\n");
	tree_write(&tree, WATCHDOG "nmi_watchdog", "1\n");
	tree_write(&tree, WATCHDOG "watchdog_cpumask", "0-1\n");
	tree_write(&tree, WATCHDOG "watchdog_thresh", "10\n");
}

static void detectors_are_one_setting(void **state)
{
	struct life l;
	struct err e = {};

	make_watchdog();
	expect_means(&knob_watchdog, make("watchdog", "hard", "off", NULL),
		     "detectors=soft=1 hard=0\n");
	must(life_begin(&l, &knob_watchdog, make("watchdog", "soft", "off", "hard", "off", NULL),
			&e),
	     &e);
	tree_expect(&tree, WATCHDOG "watchdog", "0\n");
	tree_expect(&tree, WATCHDOG "soft_watchdog", "0\n");
	tree_expect(&tree, WATCHDOG "nmi_watchdog", "0\n");
	life_crash_and_restore(&l);
	tree_expect(&tree, WATCHDOG "watchdog", "1\n");
	tree_expect(&tree, WATCHDOG "soft_watchdog", "1\n");
	tree_expect(&tree, WATCHDOG "nmi_watchdog", "1\n");
}

static void a_detector_that_is_not_built_in_is_told(void **state)
{
	make_machine("6.1.0\n");
	expect_refused(&knob_watchdog, make("watchdog", "hard", "off", NULL), -ENOTSUP,
		       "CONFIG_SOFTLOCKUP_DETECTOR");
	expect_refused(&knob_watchdog, make("watchdog", "hung-task", "0", NULL), -ENOTSUP,
		       "kernel.hung_task_timeout_secs does not exist");
	tree_write(&tree, WATCHDOG "watchdog", "1\n");
	tree_write(&tree, WATCHDOG "soft_watchdog", "1\n");
	expect_reads(&knob_watchdog, "detectors", "soft=1 hard=0");
	expect_means(&knob_watchdog, make("watchdog", "soft", "off", NULL),
		     "detectors=soft=0 hard=0\n");
}

static void watchdog_cpus_and_times(void **state)
{
	make_watchdog();
	tree_write(&tree, WATCHDOG "hung_task_timeout_secs", "120\n");
	expect_means(&knob_watchdog,
		     make("watchdog", "cpus", "0", "thresh", "30s", "hung-task", "0", NULL),
		     "cpus=0\nthresh=30\nhung-task=0\n");
	expect_refused(&knob_watchdog, make("watchdog", "thresh", "1500ms", NULL), -EINVAL,
		       "whole seconds");
	assert_true(knob_same(&knob_watchdog, "0,1", "0-1"));
	assert_false(knob_same(&knob_watchdog, "soft=1 hard=0", "soft=1 hard=1"));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rt_bounds_are_one_setting),
		TEST(rt_bounds_that_cannot_be_are_refused_before_anything_is_written),
		TEST(rt_bounds_are_written_in_the_order_that_is_valid_in_between),
		TEST(rt_bounds_without_effect_are_refused),
		TEST(fair_server_is_set_on_each_cpu_named),
		TEST(what_debugfs_lacks_is_told_with_its_remedy),
		TEST(preemption_model_is_the_word_in_brackets),
		TEST(features_go_by_their_names),
		TEST(a_model_that_is_not_taken_is_caught),
		TEST(detectors_are_one_setting),
		TEST(a_detector_that_is_not_built_in_is_told),
		TEST(watchdog_cpus_and_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
