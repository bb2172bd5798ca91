// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Knob cpuset: what instances mean and why they are refused, on fixture trees.  What a group does
 * when it is made cannot be played by plain files.
 */
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include "tree.h"
#include "knob_test.h"
#include "variant/knob_tables.h"

#define CGROUP "sys/fs/cgroup/"

static void make_machine(const char *cgroup, const char *controllers)
{
	char path[128];

	tree_write(&tree, "sys/devices/system/cpu/online", "0-3\n");
	snprintf(path, sizeof(path), "%scgroup.controllers", cgroup);
	tree_write(&tree, path, controllers);
	snprintf(path, sizeof(path), "%scgroup.subtree_control", cgroup);
	tree_write(&tree, path, "memory pids\n");
}

static void add_process(int pid, const char *comm, const char *cgroup)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (%s) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 %d00 0 0\n", pid, comm,
		 pid);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
	tree_write(&tree, path, cgroup);
}

static void a_shield_is_made_step_by_step(void **state)
{
	make_machine(CGROUP, "cpuset cpu memory pids\n");
	add_process(10, "irqbalance", "0::/system.slice/irqbalance.service\n");
	add_process(11, "worker", "5:cpu:/x\n0::/user.slice\n");
	add_process(12, "worker two", "0::/\n");
	expect_means(&knob_cpuset, make("cpuset", "cpus", "1,2", NULL),
		     "controller=on\ngroup irqlab-shield=present\ncpus irqlab-shield=1-2\n"
		     "partition irqlab-shield=member\n");
	expect_means(&knob_cpuset,
		     make("cpuset", "name", "rt", "cpus", "3", "partition", "isolated", "move",
			  "irqb*,nobody", NULL),
		     "controller=on\ngroup irqlab-rt=present\ncpus irqlab-rt=3\n"
		     "partition irqlab-rt=isolated\nprocess 10:1000:irqbalance=/irqlab-rt\n");
	expect_reads(&knob_cpuset, "controller", "off");
	expect_reads(&knob_cpuset, "group irqlab-rt", "absent");
	expect_reads(&knob_cpuset, "process 11:1100:worker", "/user.slice");
	expect_reads(&knob_cpuset, "process 12:1200:worker two", "/");
}

static void groups_of_v2_beside_v1_are_found(void **state)
{
	make_machine(CGROUP "unified/", "cpuset\n");
	expect_means(&knob_cpuset, make("cpuset", "cpus", "0", NULL),
		     "controller=on\ngroup irqlab-shield=present\ncpus irqlab-shield=0\n"
		     "partition irqlab-shield=member\n");
	tree_write(&tree, CGROUP "unified/cgroup.subtree_control", "memory cpuset\n");
	expect_reads(&knob_cpuset, "controller", "on");
}

static void where_it_cannot_be_the_reason_is_told(void **state)
{
	tree_write(&tree, "sys/devices/system/cpu/online", "0-3\n");
	expect_refused(&knob_cpuset, make("cpuset", "cpus", "0", NULL), -ENOTSUP,
		       "cgroup v2 is not mounted");
	make_machine(CGROUP, "memory pids\n");
	expect_refused(&knob_cpuset, make("cpuset", "cpus", "0", NULL), -ENOTSUP,
		       "has no controller cpuset here (it has: memory pids)");
	tree_write(&tree, CGROUP "cpuset/cpuset.cpus", "0-3\n");
	expect_refused(&knob_cpuset, make("cpuset", "cpus", "0", NULL), -ENOTSUP,
		       "boot with cgroup_no_v1=cpuset");
	make_machine(CGROUP, "cpuset\n");
	expect_refused(&knob_cpuset, make("cpuset", "cpus", "4", NULL), -EINVAL,
		       "this machine has CPUs 0-3 online");
	expect_refused(&knob_cpuset, make("cpuset", "cpus", "1", "name", "../x", NULL), -EINVAL,
		       "letters, digits");
	expect_refused(&knob_cpuset, make("cpuset", "cpus", "1", "name", "", NULL), -EINVAL,
		       "1 to 40 letters");
}

/* A journal is written by root, and still: only groups of this knob's own are touched. */
static void other_groups_are_no_targets(void **state)
{
	static const char *const targets[] = {
		"group system.slice",
		"group irqlab-/../system.slice",
		"cpus /",
		"partition x",
		"process x",
		"process 0:1:init",
		"controllers",
		"",
	};

	make_machine(CGROUP, "cpuset\n");
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct err e = {};

		assert_int_equal(knob_cpuset.write(&tree.host, targets[i], "absent", &e), -EINVAL);
	}
}

static void a_process_is_known_by_its_start(void **state)
{
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	make_machine(CGROUP, "cpuset\n");
	add_process(10, "other", "0::/a\n");
	assert_int_equal(knob_cpuset.read(&tree.host, "process 10:999:worker", &now, &e), -ESRCH);
	assert_int_equal(knob_cpuset.write(&tree.host, "process 10:999:worker", "/", &e), -ESRCH);
	add_process(11, "far", "0::/../outside\n");
	assert_int_equal(knob_cpuset.read(&tree.host, "process 11:1100:far", &now, &e), -ENOTSUP);
}

/* "isolated invalid (...)" is what the kernel shows of a partition that it did not make. */
static void a_partition_that_is_invalid_is_told_with_its_reason(void **state)
{
	make_machine(CGROUP, "cpuset\n");
	tree_write(&tree, CGROUP "irqlab-shield/cpuset.cpus.partition",
		   "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n");
	expect_reads(&knob_cpuset, "partition irqlab-shield",
		     "isolated invalid (Cpu list in cpuset.cpus not exclusive)");
	assert_false(knob_same(&knob_cpuset, "isolated",
			       "isolated invalid (Cpu list in cpuset.cpus not exclusive)"));
	assert_true(knob_same(&knob_cpuset, "0-2", "0,1,2"));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_shield_is_made_step_by_step),
		TEST(groups_of_v2_beside_v1_are_found),
		TEST(where_it_cannot_be_the_reason_is_told),
		TEST(other_groups_are_no_targets),
		TEST(a_process_is_known_by_its_start),
		TEST(a_partition_that_is_invalid_is_told_with_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
