// SPDX-License-Identifier: GPL-3.0-or-later
/* Knob daemon on processes of this test's own, and on service managers that this test plays. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"
#include "tree.h"
#include "knob_test.h"
#include "variant/knob_tables.h"

/* A process that does nothing but run, under @name; ends with this one. */
static pid_t start_process(const char *name)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		close(ready[1]);
		for (volatile unsigned int i = 0;; i++)
			if (i % 1000000 == 0)
				usleep(1000);
	}
	close(ready[1]);
	/* not until it bears its name: the pipe's other end is gone then */
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The tree's state directory, the machine's own /proc. */
static void use_real_proc(void)
{
	tree.host.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree.host.proc_fd >= 0);
}

/* A name that no other process has. */
static const char *own_name(void)
{
	static char name[16];

	snprintf(name, sizeof(name), "irqlab-d%d", getpid() % 1000000);
	return name;
}

static char state_of(pid_t pid)
{
	char path[64], text[256] = "";
	_cleanup_(fclose_filep) FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	return strrchr(text, ')')[2];
}

static struct instance paused(const char *name)
{
	return make("daemon", "name", name, "state", "paused", NULL);
}

static void a_process_is_paused_and_goes_on(void **state)
{
	pid_t pid = start_process(own_name()), twin = start_process(own_name());
	struct life l;
	struct err e = {};

	use_real_proc();
	must(life_begin(&l, &knob_daemon, paused(own_name()), &e), &e);
	assert_int_equal(state_of(pid), 'T');
	assert_int_equal(state_of(twin), 'T');
	life_end(&l);
	assert_int_not_equal(state_of(pid), 'T');
	assert_int_not_equal(state_of(twin), 'T');
	must(life_begin(&l, &knob_daemon, paused(own_name()), &e), &e);
	assert_int_equal(state_of(pid), 'T');
	life_crash_and_restore(&l);
	assert_int_not_equal(state_of(pid), 'T');
	end_process(pid);
	end_process(twin);
}

static void a_process_that_was_stopped_before_stays_so(void **state)
{
	pid_t pid = start_process(own_name());
	struct life l;
	struct err e = {};

	use_real_proc();
	kill(pid, SIGSTOP);
	while (state_of(pid) != 'T')
		usleep(1000);
	must(life_begin(&l, &knob_daemon, paused(own_name()), &e), &e);
	life_end(&l);
	assert_int_equal(state_of(pid), 'T');
	end_process(pid);
}

static void somebody_who_continues_it_is_noticed(void **state)
{
	pid_t pid = start_process(own_name());
	struct life l;
	struct err e = {};

	use_real_proc();
	must(life_begin(&l, &knob_daemon, paused(own_name()), &e), &e);
	kill(pid, SIGCONT);
	while (state_of(pid) == 'T')
		usleep(1000);
	assert_int_equal(variant_verify(l.applied, &e), -EIO);
	assert_contains(e.msg, "was set to \"paused\" and is \"running\" now");
	must(variant_undo(l.applied, &e), &e);
	journal_close(l.journal);
	end_process(pid);
}

static void a_process_that_has_ended_needs_no_undo(void **state)
{
	pid_t pid = start_process(own_name());
	struct life l;
	struct err e = {};

	use_real_proc();
	must(life_begin(&l, &knob_daemon, paused(own_name()), &e), &e);
	end_process(pid);
	must(variant_undo(l.applied, &e), &e);
	journal_close(l.journal);
}

static void a_later_process_with_its_number_is_left_alone(void **state)
{
	pid_t pid = start_process(own_name());
	char target[96];
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	use_real_proc();
	snprintf(target, sizeof(target), "process %d:1:other", pid);
	assert_int_equal(knob_daemon.read(&tree.host, target, &now, &e), -ESRCH);
	assert_int_equal(knob_daemon.write(&tree.host, target, "paused", &e), -ESRCH);
	assert_contains(e.msg, "is another one");
	assert_int_not_equal(state_of(pid), 'T');
	end_process(pid);
}

static void run_time_of_what_is_paused_stands_still(void **state)
{
	pid_t pid = start_process(own_name());
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct instance inst = paused(own_name());
	struct witness a = {}, b = {};
	struct err e = {};
	int r;

	use_real_proc();
	must(knob_daemon.resolve(&tree.host, &inst, &l, &e), &e);
	instance_release(&inst);
	assert_int_equal(l.nr, 1);
	must(knob_daemon.write(&tree.host, l.v[0].target, "paused", &e), &e);
	r = knob_daemon.witness(&tree.host, l.v[0].target, &a, &e);
	if (r == -ENOENT) {
		end_process(pid);
		print_message("this kernel does not count run time\n");
		skip();
	}
	must(r, &e);
	usleep(20000);
	must(knob_daemon.witness(&tree.host, l.v[0].target, &b, &e), &e);
	assert_int_equal(a.against, b.against);
	assert_int_equal(b.max_against, 0);
	must(knob_daemon.write(&tree.host, l.v[0].target, "running", &e), &e);
	/* it runs all the time, if this machine lets it at all */
	do
		must(knob_daemon.witness(&tree.host, l.v[0].target, &b, &e), &e);
	while (b.against == a.against);
	end_process(pid);
}

static void a_daemon_that_does_not_run_is_no_error(void **state)
{
	struct life l;
	struct err e = {};
	char want[64];
	pid_t pid;

	use_real_proc();
	snprintf(want, sizeof(want), "no process %s=absent\n", own_name());
	expect_means(&knob_daemon, paused(own_name()), want);
	must(life_begin(&l, &knob_daemon, paused(own_name()), &e), &e);
	must(variant_verify(l.applied, &e), &e);
	/* and if it comes up meanwhile, the trial did not hold */
	pid = start_process(own_name());
	assert_int_equal(variant_verify(l.applied, &e), -EIO);
	assert_contains(e.msg, "was set to \"absent\" and is \"present\" now");
	must(variant_undo(l.applied, &e), &e);
	journal_close(l.journal);
	end_process(pid);
}

static void who_runs_this_is_not_paused(void **state)
{
	char self[32] = "";

	use_real_proc();
	prctl(PR_GET_NAME, self);
	expect_refused(&knob_daemon, paused(self), -EINVAL, "is this run's own or started it");
}

static void names_are_no_patterns(void **state)
{
	expect_refused(&knob_daemon, paused("irq*"), -EINVAL, "no path and no pattern");
	expect_refused(&knob_daemon, paused("/usr/sbin/irqbalance"), -EINVAL, "no path");
	expect_refused(&knob_daemon, paused("a; reboot"), -EINVAL, "no path");
	expect_refused(&knob_daemon, paused(""), -EINVAL, "name is empty");
}

/* A program of this test's in front of PATH. */
static void add_tool(const char *name, const char *text)
{
	char path[160], dir[128];

	snprintf(path, sizeof(path), "bin/%.60s", name);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "%s/bin/%s", tree.root, name);
	assert_int_equal(chmod(path, 0755), 0);
	snprintf(dir, sizeof(dir), "%s/bin:/usr/bin:/bin", tree.root);
	setenv("PATH", dir, 1);
	setenv("TREE", tree.root, 1);
}

static const char systemctl[] =
	"#!/bin/sh\n"
	"echo \"$*\" >>$TREE/calls\n"
	"for name; do :; done\n"
	"case $1 in\n"
	"show)\n"
	"	if [ -e $TREE/$name ]; then\n"
	"		printf 'LoadState=loaded\\nActiveState=%s\\n' \"$(cat $TREE/$name)\"\n"
	"	else\n"
	"		printf 'LoadState=not-found\\nActiveState=inactive\\n'\n"
	"	fi ;;\n"
	"start) [ -e $TREE/refuse ] && { echo 'Job failed.' >&2; exit 1; }\n"
	"	echo active >$TREE/$name ;;\n"
	"stop) [ -e $TREE/deaf ] || echo inactive >$TREE/$name ;;\n"
	"esac\n";

static struct instance stopped(const char *name)
{
	return make("daemon", "name", name, "state", "stopped", NULL);
}

static void a_service_is_stopped_and_started(void **state)
{
	struct life l;
	struct err e = {};

	tree_write(&tree, "proc/1/comm", "systemd\n");
	add_tool("systemctl", systemctl);
	tree_write(&tree, "tuned", "active\n");
	must(life_begin(&l, &knob_daemon, stopped("tuned"), &e), &e);
	tree_expect(&tree, "tuned", "inactive\n");
	life_end(&l);
	tree_expect(&tree, "tuned", "active\n");
	must(life_begin(&l, &knob_daemon, stopped("tuned"), &e), &e);
	life_crash_and_restore(&l);
	tree_expect(&tree, "tuned", "active\n");
	/* one that is not running, or not installed, is not started in the end */
	tree_write(&tree, "tuned", "failed\n");
	must(life_begin(&l, &knob_daemon, stopped("tuned"), &e), &e);
	life_end(&l);
	tree_expect(&tree, "tuned", "failed\n");
	must(life_begin(&l, &knob_daemon, stopped("stalld"), &e), &e);
	life_end(&l);
	assert_false(tree_has(&tree, "stalld"));
}

static void a_service_that_does_not_stop_is_caught(void **state)
{
	struct life l;
	struct err e = {};

	tree_write(&tree, "proc/1/comm", "systemd\n");
	add_tool("systemctl", systemctl);
	tree_write(&tree, "tuned", "active\n");
	tree_write(&tree, "deaf", "");
	assert_int_equal(life_begin(&l, &knob_daemon, stopped("tuned"), &e), -EIO);
	assert_contains(e.msg, "wrote \"inactive\", but it reads back \"active\"");
}

static void a_service_that_does_not_start_again_stays_in_the_journal(void **state)
{
	struct restore_report report = {};
	char path[128];
	struct life l;
	struct err e = {};

	tree_write(&tree, "proc/1/comm", "systemd\n");
	add_tool("systemctl", systemctl);
	tree_write(&tree, "tuned", "active\n");
	must(life_begin(&l, &knob_daemon, stopped("tuned"), &e), &e);
	tree_write(&tree, "refuse", "");
	assert_int_equal(variant_undo(l.applied, &e), -EIO);
	assert_contains(e.msg, "Job failed.");
	journal_close(l.journal);
	snprintf(path, sizeof(path), "%s/refuse", tree.root);
	unlink(path);
	must(variant_restore(&tree.host, tree.state, l.knobs, NULL, NULL, &report, &e), &e);
	assert_int_equal(report.undone, 1);
	tree_expect(&tree, "tuned", "active\n");
}

static void openrc_has_its_own_words(void **state)
{
	struct life l;
	struct err e = {};

	tree_write(&tree, "proc/1/comm", "openrc-init\n");
	add_tool("rc-service",
		 "#!/bin/sh\n"
		 "while [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
		 "case $2 in\n"
		 "status) echo \" * status: $(cat $TREE/$1)\"; grep -q started $TREE/$1 ;;\n"
		 "start) echo started >$TREE/$1 ;;\n"
		 "stop) echo stopped >$TREE/$1 ;;\n"
		 "esac\n");
	tree_write(&tree, "irqbalance", "started\n");
	must(life_begin(&l, &knob_daemon, stopped("irqbalance"), &e), &e);
	tree_expect(&tree, "irqbalance", "stopped\n");
	life_crash_and_restore(&l);
	tree_expect(&tree, "irqbalance", "started\n");
}

static void without_a_service_manager_it_is_refused(void **state)
{
	tree_write(&tree, "proc/1/comm", "sh\n");
	expect_refused(&knob_daemon, stopped("irqbalance"), -ENOTSUP,
		       "process 1 is \"sh\" here: use state: paused");
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_paused_and_goes_on),
		TEST(a_process_that_was_stopped_before_stays_so),
		TEST(somebody_who_continues_it_is_noticed),
		TEST(a_process_that_has_ended_needs_no_undo),
		TEST(a_later_process_with_its_number_is_left_alone),
		TEST(run_time_of_what_is_paused_stands_still),
		TEST(a_daemon_that_does_not_run_is_no_error),
		TEST(who_runs_this_is_not_paused),
		TEST(names_are_no_patterns),
		TEST(a_service_is_stopped_and_started),
		TEST(a_service_that_does_not_stop_is_caught),
		TEST(a_service_that_does_not_start_again_stays_in_the_journal),
		TEST(openrc_has_its_own_words),
		TEST(without_a_service_manager_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
