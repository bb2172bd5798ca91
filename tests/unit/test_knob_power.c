// SPDX-License-Identifier: GPL-3.0-or-later
/* Knob power on trees as drivers lay them out, and on the running kernel where it may. */
#include "test.h"

#include <unistd.h>

#include "base/host.h"
#include "tree.h"
#include "knob_test.h"
#include "variant/knob_tables.h"

#define CPU "sys/devices/system/cpu/"

static void put(const char *dir, const char *file, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), CPU "%s/%s", dir, file);
	tree_write(&tree, path, text);
}

static void add_policy(const char *policy, const char *cpus, const char *driver)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "cpufreq/%s", policy);
	put(dir, "affected_cpus", cpus);
	put(dir, "related_cpus", cpus);
	put(dir, "scaling_driver", driver);
	put(dir, "scaling_governor", "powersave\n");
	put(dir, "cpuinfo_min_freq", "1000000\n");
	put(dir, "cpuinfo_max_freq", "3600000\n");
	put(dir, "scaling_min_freq", "1000000\n");
	put(dir, "scaling_max_freq", "3600000\n");
}

/* Two CPUs, a policy each, energy preferences, turbo behind no_turbo. */
static void make_intel(void)
{
	tree_write(&tree, CPU "online", "0-1\n");
	put("intel_pstate", "no_turbo", "0\n");
	for (int i = 0; i < 2; i++) {
		char name[32], cpus[8], dir[64];

		snprintf(name, sizeof(name), "policy%d", i);
		snprintf(cpus, sizeof(cpus), "%d\n", i);
		add_policy(name, cpus, "intel_pstate\n");
		snprintf(dir, sizeof(dir), "cpufreq/%s", name);
		put(dir, "scaling_available_governors", "performance powersave\n");
		put(dir, "energy_performance_preference", "balance_power\n");
	}
}

/* acpi-cpufreq: boost in one place, tables of frequencies, no preferences. */
static void make_acpi(void)
{
	tree_write(&tree, CPU "online", "0-1\n");
	put("cpufreq", "boost", "1\n");
	add_policy("policy0", "0\n", "acpi-cpufreq\n");
	add_policy("policy1", "1\n", "acpi-cpufreq\n");
}

/* amd-pstate in active mode. */
static void make_amd(void)
{
	make_acpi();
	put("cpufreq/policy0", "scaling_driver", "amd-pstate-epp\n");
	put("cpufreq/policy0", "energy_performance_preference", "performance\n");
	put("cpufreq/policy1", "energy_performance_preference", "performance\n");
}

/* cpufreq-dt of a big.LITTLE machine: a clock for each cluster, blank at the end of the lists. */
static void make_arm(void)
{
	tree_write(&tree, CPU "online", "0-5\n");
	add_policy("policy0", "0 1 2 3 \n", "cpufreq-dt\n");
	add_policy("policy4", "4 5 \n", "cpufreq-dt\n");
}

static void add_idle(int cpu, int state, const char *name, const char *usage)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "cpu%d/cpuidle/state%d", cpu, state);
	put(dir, "name", name);
	put(dir, "disable", "0\n");
	put(dir, "usage", usage);
}

static void make_idle(void)
{
	tree_write(&tree, CPU "online", "0-1\n");
	for (int i = 0; i < 2; i++) {
		add_idle(i, 0, "POLL\n", "00010\n");
		add_idle(i, 1, "C1E\n", "00200\n");
		add_idle(i, 2, "C6\n", "03000\n");
		add_idle(i, 3, "C10\n", "40000\n");
	}
}

static struct instance power(const char *key, const char *value)
{
	return make("power", key, value, NULL);
}

static void idle_states_go_by_name_on_the_cpus_named(void **state)
{
	struct life l;
	struct err e = {};

	make_idle();
	expect_means(&knob_power, make("power", "idle-disable", "C6,C1E", "cpus", "1", NULL),
		     "cpu1/cpuidle/state1=off\ncpu1/cpuidle/state2=off\n");
	expect_means(&knob_power, power("idle-disable", "C1*"),
		     "cpu0/cpuidle/state1=off\ncpu0/cpuidle/state3=off\n"
		     "cpu1/cpuidle/state1=off\ncpu1/cpuidle/state3=off\n");
	must(life_begin(&l, &knob_power, power("idle-disable", "C6"), &e), &e);
	tree_expect(&tree, CPU "cpu0/cpuidle/state2/disable", "1\n");
	tree_expect(&tree, CPU "cpu1/cpuidle/state2/disable", "1\n");
	tree_expect(&tree, CPU "cpu1/cpuidle/state1/disable", "0\n");
	life_crash_and_restore(&l);
	tree_expect(&tree, CPU "cpu0/cpuidle/state2/disable", "0\n");
	tree_expect(&tree, CPU "cpu1/cpuidle/state2/disable", "0\n");
}

static void idle_states_that_are_not_there_are_told(void **state)
{
	make_idle();
	expect_refused(&knob_power, power("idle-disable", "C6,C7"), -EINVAL,
		       "no idle state is called \"C7\"; there are: POLL, C1E, C6, C10");
	tree_write(&tree, CPU "online", "8\n");
	expect_refused(&knob_power, power("idle-disable", "C6"), -ENOTSUP,
		       "no CPU has idle states");
}

/* The usage of the disabled state must stand still; that of the others shows that it was asked. */
static void idle_witness_counts_entries_for_and_against(void **state)
{
	struct witness w = {};
	struct err e = {};

	make_idle();
	assert_int_equal(knob_power.witness(&tree.host, "cpu0/cpuidle/state2", &w, &e), -ENOENT);
	put("cpu0/cpuidle/state2", "disable", "1\n");
	must(knob_power.witness(&tree.host, "cpu0/cpuidle/state2", &w, &e), &e);
	assert_int_equal(w.effect, 10 + 200 + 40000);
	assert_int_equal(w.against, 3000);
	assert_int_equal(w.max_against, 1);
	assert_string_equal(w.against_of, "entries into C6");
}

static void a_state_that_is_disabled_otherwise_is_off_as_well(void **state)
{
	make_idle();
	/* CPUIDLE_STATE_DISABLED_BY_DRIVER */
	put("cpu0/cpuidle/state2", "disable", "2\n");
	expect_reads(&knob_power, "cpu0/cpuidle/state2", "off");
}

static void intel_pstate_has_governor_preference_range_and_turbo(void **state)
{
	struct life l;
	struct err e = {};

	make_intel();
	expect_means(&knob_power,
		     make("power", "min-freq", "1.2GHz", "boost", "off", "preference",
			  "performance", "governor", "performance", "cpus", "1", NULL),
		     "boost=off\n"
		     "cpufreq/policy1 governor=performance\n"
		     "cpufreq/policy1 preference=performance\n"
		     "cpufreq/policy1 range=1200000/3600000\n");
	must(life_begin(&l, &knob_power, make("power", "min-freq", "1200MHz", "boost", "off", NULL),
			&e),
	     &e);
	tree_expect(&tree, CPU "intel_pstate/no_turbo", "1\n");
	tree_expect(&tree, CPU "cpufreq/policy0/scaling_min_freq", "1200000\n");
	life_crash_and_restore(&l);
	tree_expect(&tree, CPU "intel_pstate/no_turbo", "0\n");
	expect_reads(&knob_power, "cpufreq/policy0 range", "1000000/3600000");
}

static void acpi_cpufreq_has_boost_and_no_preference(void **state)
{
	struct life l;
	struct err e = {};

	make_acpi();
	expect_refused(&knob_power, power("preference", "performance"), -ENOTSUP,
		       "policy0 has no energy_performance_preference");
	must(life_begin(&l, &knob_power, power("boost", "off"), &e), &e);
	tree_expect(&tree, CPU "cpufreq/boost", "0\n");
	life_end(&l);
	tree_expect(&tree, CPU "cpufreq/boost", "1\n");
}

static void amd_pstate_has_all_of_them(void **state)
{
	make_amd();
	expect_means(&knob_power,
		     make("power", "preference", "power", "max-freq", "min", "boost", "on", "cpus",
			  "0", NULL),
		     "boost=on\ncpufreq/policy0 preference=power\n"
		     "cpufreq/policy0 range=1000000/1000000\n");
	expect_reads(&knob_power, "cpufreq/policy1 preference", "performance");
}

static void cpus_that_share_a_clock_are_named_together(void **state)
{
	make_arm();
	expect_refused(&knob_power, make("power", "governor", "powersave", "cpus", "0-1", NULL),
		       -EINVAL, "CPUs 0-3 share one clock (policy0)");
	expect_means(&knob_power, make("power", "governor", "powersave", "cpus", "4,5", NULL),
		     "cpufreq/policy4 governor=powersave\n");
	expect_means(
		&knob_power, make("power", "max-freq", "1.5GHz", NULL),
		"cpufreq/policy0 range=1000000/1500000\ncpufreq/policy4 range=1000000/1500000\n");
	expect_refused(&knob_power, power("boost", "on"), -ENOTSUP, "boost cannot be switched");
	expect_refused(&knob_power, power("idle-disable", "C1"), -ENOTSUP, "cpuidle is off");
}

static void frequencies_are_read_with_their_unit(void **state)
{
	static const struct {
		const char *text, *range;
	} good[] = { { "2.4GHz", "2400000/3600000" },
		     { "2400MHz", "2400000/3600000" },
		     { "2400000kHz", "2400000/3600000" },
		     { "max", "3600000/3600000" },
		     { "min", "1000000/3600000" } };
	static const char *const bad[] = { "2400000",  "2.4",	 "GHz",	    "-1GHz",
					   "2.4.1GHz", "9e9GHz", "2.4 GHz", "2.4Ghz" };

	make_acpi();
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		char want[128];

		snprintf(want, sizeof(want), "cpufreq/policy0 range=%s\n", good[i].range);
		expect_means(&knob_power,
			     make("power", "min-freq", good[i].text, "cpus", "0", NULL), want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect_refused(&knob_power, power("min-freq", bad[i]), -EINVAL, "expected such as");
	expect_refused(&knob_power, power("min-freq", "4GHz"), -EINVAL, "give both");
}

static void time_outside_the_range_speaks_against_it(void **state)
{
	struct witness w = {};
	struct err e = {};

	make_acpi();
	assert_int_equal(knob_power.witness(&tree.host, "cpufreq/policy0 range", &w, &e), -ENOENT);
	put("cpufreq/policy0/stats", "time_in_state",
	    "3600000 1000\n2400000 200\n1200000 30\n800000 4\n");
	put("cpufreq/policy0", "scaling_min_freq", "2000000\n");
	must(knob_power.witness(&tree.host, "cpufreq/policy0 range", &w, &e), &e);
	assert_int_equal(w.effect, 1200);
	assert_int_equal(w.against, 34);
	assert_int_equal(w.max_against, 2);
}

static void a_machine_without_cpufreq_says_so(void **state)
{
	tree_write(&tree, CPU "online", "0-1\n");
	expect_refused(&knob_power, power("governor", "performance"), -ENOTSUP,
		       "no cpufreq driver is loaded");
	expect_refused(&knob_power, make("power", NULL), -EINVAL, "nothing to set");
	expect_refused(&knob_power, power("dma-latency", "1500ns"), -EINVAL, "whole us");
}

/* A write that fails in the middle: what was set before it is undone. */
static void a_policy_that_cannot_be_set_leaves_nothing_behind(void **state)
{
	struct life l;
	struct err e = {};
	char path[192];

	make_intel();
	/* it reads, and takes no write */
	snprintf(path, sizeof(path), "%s/" CPU "cpufreq/policy1/scaling_max_freq", tree.root);
	unlink(path);
	assert_int_equal(symlink("/proc/sys/kernel/ngroups_max", path), 0);
	assert_true(life_begin(&l, &knob_power,
			       make("power", "boost", "off", "max-freq", "1.2GHz", "min-freq",
				    "1.1GHz", NULL),
			       &e) < 0);
	assert_contains(e.msg, "cpufreq/policy1 range");
	tree_expect(&tree, CPU "intel_pstate/no_turbo", "0\n");
	expect_reads(&knob_power, "cpufreq/policy0 range", "1000000/3600000");
}

/* The device of the running kernel: nothing else behaves like it. */
static void the_latency_bound_is_held_and_let_go(void **state)
{
	struct life l;
	struct err e = {};
	_cleanup_(freep) char *before = NULL;

	tree.host.dev_fd = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (faccessat(tree.host.dev_fd, "cpu_dma_latency", R_OK | W_OK, 0) < 0) {
		print_message("/dev/cpu_dma_latency is not there, or closed to this user\n");
		skip();
	}
	tree_write(&tree, CPU "online", "0\n");
	must(knob_power.read(&tree.host, "dma-latency", &before, &e), &e);
	if (strcmp(before, "2000000000") != 0) {
		print_message("another process holds it at %s us\n", before);
		skip();
	}
	must(life_begin(&l, &knob_power, power("dma-latency", "17us"), &e), &e);
	expect_reads(&knob_power, "dma-latency", "17");
	/* a second setting of this process, and its undo */
	must(knob_power.write(&tree.host, "dma-latency", "3", &e), &e);
	expect_reads(&knob_power, "dma-latency", "3");
	must(knob_power.write(&tree.host, "dma-latency", "17", &e), &e);
	life_end(&l);
	expect_reads(&knob_power, "dma-latency", before);
	assert_true(knob_power.ephemeral(&tree.host, "dma-latency"));
	assert_false(knob_power.ephemeral(&tree.host, "boost"));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(idle_states_go_by_name_on_the_cpus_named),
		TEST(idle_states_that_are_not_there_are_told),
		TEST(idle_witness_counts_entries_for_and_against),
		TEST(a_state_that_is_disabled_otherwise_is_off_as_well),
		TEST(intel_pstate_has_governor_preference_range_and_turbo),
		TEST(acpi_cpufreq_has_boost_and_no_preference),
		TEST(amd_pstate_has_all_of_them),
		TEST(cpus_that_share_a_clock_are_named_together),
		TEST(frequencies_are_read_with_their_unit),
		TEST(time_outside_the_range_speaks_against_it),
		TEST(a_machine_without_cpufreq_says_so),
		TEST(a_policy_that_cannot_be_set_leaves_nothing_behind),
		TEST(the_latency_bound_is_held_and_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
