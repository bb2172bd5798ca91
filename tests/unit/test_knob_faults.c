// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Every operation on a file, a thread or a device that a knob makes fails in turn, alone and with
 * all that follow, and SIGKILL comes before and after each: the machine is given back every time.
 */
#include "test.h"

#include <sys/prctl.h>

#include "tree.h"
#include "knob_faults.h"
#include "variant/knob_tables.h"

static const struct knob_ops *const knobs[] = { &knob_command,	 &knob_file,
						&knob_sysctl,	 &knob_thread,
						&knob_scheduler, &knob_watchdog,
						&knob_power,	 NULL };

static struct tree tree;

static int setup(void **state)
{
	tree_make(&tree);
	tree_write(&tree, "proc/thread-self/status", "Name:\tx\nCapEff:\tffffffffffffffff\n");
	return 0;
}

static int teardown(void **state)
{
	tree_remove(&tree);
	return 0;
}

static void add(struct instances *l, const char *plugin, ...)
{
	struct instance inst = { .plugin = strdup(plugin), .name = strdup(plugin) };
	struct err e = {};
	const char *key;
	va_list ap;

	va_start(ap, plugin);
	while ((key = va_arg(ap, const char *)))
		assert_int_equal(instance_set(&inst, key, va_arg(ap, const char *), 0, &e), 0);
	va_end(ap);
	assert_int_equal(instances_add(l, &inst, &e), 0);
	instance_release(&inst);
}

static void files_and_sysctls(void **state)
{
	_cleanup_(instances_release) struct instances l = {};

	tree_write(&tree, "proc/sys/net/core/busy_poll", "10\n");
	tree_write(&tree, "proc/sys/vm/swappiness", "60\n");
	tree_write(&tree, "sys/block/sda/queue/nr", "064\n");
	add(&l, "sysctl", "net.core.busy_poll", "50", "vm.swappiness", "99", NULL);
	add(&l, "file", "path", "/sys/block/sda/queue/nr", "value", "128", NULL);
	expect_faults_repaired(&tree, NULL, knobs, &l, NULL);
}

static void scheduler_and_watchdog(void **state)
{
	_cleanup_(instances_release) struct instances l = {};

	tree_write(&tree, "sys/devices/system/cpu/online", "0-1\n");
	tree_write(&tree, "proc/sys/kernel/osrelease", "6.1.0\n");
	tree_write(&tree, "proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	tree_write(&tree, "proc/sys/kernel/sched_rt_period_us", "1000000\n");
	tree_write(&tree, "proc/sys/kernel/watchdog", "1\n");
	tree_write(&tree, "proc/sys/kernel/soft_watchdog", "1\n");
	tree_write(&tree, "proc/sys/kernel/nmi_watchdog", "1\n");
	tree_write(&tree, "proc/sys/kernel/watchdog_thresh", "10\n");
	add(&l, "scheduler", "rt-runtime", "500ms", "rt-period", "2s", NULL);
	/* one of two: with both off the kernel's files read as the switch is, which plain ones
	 * don't */
	add(&l, "watchdog", "soft", "off", "thresh", "30s", NULL);
	expect_faults_repaired(&tree, NULL, knobs, &l, NULL);
}

static void power(void **state)
{
	static const char *const files[][2] = {
		{ "online", "0\n" },
		{ "cpufreq/boost", "1\n" },
		{ "cpufreq/policy0/affected_cpus", "0\n" },
		{ "cpufreq/policy0/related_cpus", "0\n" },
		{ "cpufreq/policy0/scaling_driver", "acpi-cpufreq\n" },
		{ "cpufreq/policy0/scaling_governor", "powersave\n" },
		{ "cpufreq/policy0/cpuinfo_min_freq", "1000000\n" },
		{ "cpufreq/policy0/cpuinfo_max_freq", "3600000\n" },
		{ "cpufreq/policy0/scaling_min_freq", "1000000\n" },
		{ "cpufreq/policy0/scaling_max_freq", "3600000\n" },
	};
	_cleanup_(instances_release) struct instances l = {};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[128];

		snprintf(path, sizeof(path), "sys/devices/system/cpu/%s", files[i][0]);
		tree_write(&tree, path, files[i][1]);
	}
	add(&l, "power", "min-freq", "1200MHz", "max-freq", "2400MHz", NULL);
	add(&l, "power", "boost", "off", NULL);
	expect_faults_repaired(&tree, NULL, knobs, &l, NULL);
}

/* A program's thread to play with, with what it had before. */
static struct {
	pid_t pid;
	int policy, nice;
	cpu_set_t cpus;
} toy;

static void toy_start(void)
{
	toy.pid = fork();
	if (toy.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(toy.pid > 0);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)toy.pid, 7), 0);
	toy.policy = sched_getscheduler(toy.pid);
	toy.nice = getpriority(PRIO_PROCESS, (id_t)toy.pid);
	assert_int_equal(sched_getaffinity(toy.pid, sizeof(toy.cpus), &toy.cpus), 0);
}

static void toy_check(void)
{
	cpu_set_t cpus;

	assert_int_equal(sched_getscheduler(toy.pid), toy.policy);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)toy.pid), toy.nice);
	assert_int_equal(sched_getaffinity(toy.pid, sizeof(cpus), &cpus), 0);
	assert_true(CPU_EQUAL(&cpus, &toy.cpus));
}

/* The tree's state directory and the machine's own /proc. */
static void threads(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(host_release) struct host host = {};
	struct err e = {};
	char pid[16];

	if (geteuid() != 0) {
		print_message("# changing a thread's policy needs root\n");
		skip();
	}
	assert_int_equal(host_open(&host, &e), 0);
	toy_start();
	snprintf(pid, sizeof(pid), "%d", toy.pid);
	add(&l, "thread", "pid", pid, "policy", "fifo", "priority", "1", "nice", "-2", NULL);
	add(&l, "thread", "pid", pid, "policy", "batch", "cpus", "0", NULL);
	expect_faults_repaired(&tree, &host, knobs, &l, toy_check);
	kill(toy.pid, SIGKILL);
	waitpid(toy.pid, NULL, 0);
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(files_and_sysctls),
		with_tree(scheduler_and_watchdog),
		with_tree(power),
		with_tree(threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
