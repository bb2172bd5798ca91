// SPDX-License-Identifier: GPL-3.0-or-later
/* Commands end with whoever started them, and the knob that is made of commands. */
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree.h"
#include "knob_test.h"
#include "variant/knob_tables.h"
#include "variant/shell.h"

#define LONG_NS 1000000000000

static void run(const char *command)
{
	struct err e = {};

	must(shell_run(command, LONG_NS, NULL, &e), &e);
}

/* A command that starts a process in a session of its own and writes its number to @path. */
static void far_child(char *out, size_t size, const char *path)
{
	snprintf(out, size,
		 "setsid sh -c 'echo $$ >%s.new; mv %s.new %s; exec sleep 1000' & sleep 1000", path,
		 path, path);
}

static pid_t read_pid(const char *path)
{
	for (;;) {
		_cleanup_(fclose_filep) FILE *f = fopen(path, "r");
		char text[32] = "";

		if (f && fgets(text, sizeof(text), f))
			return (pid_t)strtol(text, NULL, 10);
		usleep(1000);
	}
}

/* Returns when it has; there is nothing to assert but that. */
static void wait_gone(pid_t pid)
{
	_cleanup_(close_fdp) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd >= 0)
		assert_int_equal(poll(&p, 1, -1), 1);
}

static void what_a_command_has_started_ends_with_its_time(void **state)
{
	char command[512], path[128];
	struct err e = {};

	snprintf(path, sizeof(path), "%s/pid", tree.root);
	far_child(command, sizeof(command), path);
	/* the time may pass before the shell has begun; then it is tried with more */
	for (uint64_t ns = 50000000; access(path, F_OK) < 0; ns *= 2)
		assert_int_equal(shell_run(command, ns, NULL, &e), -ETIMEDOUT);
	assert_contains(e.msg, "did not end within");
	wait_gone(read_pid(path));
}

static void what_a_command_has_started_ends_with_a_killed_caller(void **state)
{
	char command[512], path[128];
	pid_t caller, far;

	snprintf(path, sizeof(path), "%s/pid", tree.root);
	far_child(command, sizeof(command), path);
	caller = fork();
	if (caller == 0) {
		struct err e = {};

		shell_run(command, LONG_NS, NULL, &e);
		_exit(1);
	}
	assert_true(caller > 0);
	far = read_pid(path);
	assert_int_equal(kill(far, 0), 0);
	assert_int_equal(kill(caller, SIGKILL), 0);
	assert_int_equal(waitpid(caller, NULL, 0), caller);
	wait_gone(far);
}

static void what_a_command_has_left_running_goes_on(void **state)
{
	_cleanup_(freep) char *out = NULL;
	struct err e = {};
	pid_t pid;

	must(shell_run("setsid sleep 1000 >/dev/null 2>&1 & echo $!", LONG_NS, &out, &e), &e);
	pid = (pid_t)strtol(out, NULL, 10);
	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
}

static void a_command_inherits_no_descriptors(void **state)
{
	_cleanup_(close_fdp) int fd = dup2(STDERR_FILENO, 77);

	assert_int_equal(fd, 77);
	run("test ! -e /proc/$$/fd/77 && test ! -e /proc/$$/fd/3");
	run("test \"$(cat)\" = ''");
}

static void a_command_that_cannot_be_run_says_how(void **state)
{
	struct err e = {};

	assert_int_equal(shell_run("no-such-program-here", LONG_NS, NULL, &e), -EIO);
	assert_contains(e.msg, "failed with exit code 127");
	assert_int_equal(shell_run("kill -TERM $$", LONG_NS, NULL, &e), -EIO);
	assert_contains(e.msg, "killed by signal 15");
	/* the process between: the command cannot end it and be taken for done */
	assert_int_equal(shell_run("kill -KILL $PPID; exec sleep 1000", LONG_NS, NULL, &e), -EIO);
	assert_contains(e.msg, "killed by signal 9");
}

static void quoted_words_come_back_as_they_are(void **state)
{
	static const char *const words[] = {
		"",	   "a b",	    "it's", "''",    "$HOME `id` \\",
		"a\nb\tc", "\xc3\xbc*?[~]", "-n",   "\"'\"", "!history;&|"
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		_cleanup_(buf_release) struct buf command = {};
		_cleanup_(freep) char *out = NULL;
		struct err e = {};

		buf_puts(&command, "printf '%s' ");
		shell_quote(&command, words[i]);
		must(shell_run(buf_str(&command), LONG_NS, &out, &e), &e);
		assert_string_equal(out, words[i]);
	}
}

static void a_variable_is_added_to_the_environment(void **state)
{
	_cleanup_(freep) char *out = NULL;
	struct err e = {};

	must(shell_run_env("printf '%s' \"$IRQLAB_OLD\"; test -n \"$PATH\"", "IRQLAB_OLD=a 'b' $c",
			   LONG_NS, &out, &e),
	     &e);
	assert_string_equal(out, "a 'b' $c");
}

/* A file of this test, behind four commands. */
static struct instance quadruple(const char *set, const char *verify)
{
	static char read[128], undo[160];

	snprintf(read, sizeof(read), "cat %s/value", tree.root);
	snprintf(undo, sizeof(undo), "printf '%%s' \"$IRQLAB_OLD\" >%s/value", tree.root);
	return make("command", "set", set, "undo", undo, "read", read, "verify", verify, NULL);
}

static void undo_is_told_what_read_had_printed(void **state)
{
	char set[128], verify[128];
	struct life l;
	struct err e = {};

	tree_write(&tree, "value", "it's 1 $x");
	snprintf(set, sizeof(set), "echo 2 >%s/value", tree.root);
	snprintf(verify, sizeof(verify), "grep -q 2 %s/value", tree.root);
	must(life_begin(&l, &knob_command, quadruple(set, verify), &e), &e);
	tree_expect(&tree, "value", "2\n");
	life_end(&l);
	tree_expect(&tree, "value", "it's 1 $x");
	must(life_begin(&l, &knob_command, quadruple(set, verify), &e), &e);
	life_crash_and_restore(&l);
	tree_expect(&tree, "value", "it's 1 $x");
}

static void what_verify_denies_is_undone(void **state)
{
	char set[128];
	struct life l;
	struct err e = {};

	tree_write(&tree, "value", "1");
	snprintf(set, sizeof(set), "echo 2 >%s/value", tree.root);
	assert_int_equal(life_begin(&l, &knob_command,
				    quadruple(set, "echo nothing happens >&2; exit 1"), &e),
			 -EIO);
	assert_contains(e.msg, "verify says that it is not in effect");
	assert_contains(e.msg, "nothing happens");
	tree_expect(&tree, "value", "1");
}

static struct instance verified(const char *set)
{
	static char undo[128], verify[160];

	snprintf(undo, sizeof(undo), "rm -f %s/flag", tree.root);
	snprintf(verify, sizeof(verify), "[ -e %s/flag ] && echo \"it's there\" && exit 0; exit 9",
		 tree.root);
	return make("command", "set", set, "undo", undo, "verify", verify, NULL);
}

static void verify_alone_reads_back(void **state)
{
	char set[128];
	struct life l;
	struct err e = {};

	snprintf(set, sizeof(set), "touch %s/flag", tree.root);
	must(life_begin(&l, &knob_command, verified(set), &e), &e);
	assert_true(tree_has(&tree, "flag"));
	life_crash_and_restore(&l);
	assert_false(tree_has(&tree, "flag"));
	assert_int_equal(life_begin(&l, &knob_command, verified("true"), &e), -EIO);
	assert_contains(e.msg, "reads back \"not set\"");
	/* in effect already: not set, and not taken away */
	tree_write(&tree, "flag", "");
	must(life_begin(&l, &knob_command, verified("false"), &e), &e);
	life_end(&l);
	assert_true(tree_has(&tree, "flag"));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_a_command_has_started_ends_with_its_time),
		TEST(what_a_command_has_started_ends_with_a_killed_caller),
		TEST(what_a_command_has_left_running_goes_on),
		TEST(a_command_inherits_no_descriptors),
		TEST(a_command_that_cannot_be_run_says_how),
		TEST(quoted_words_come_back_as_they_are),
		TEST(a_variable_is_added_to_the_environment),
		TEST(undo_is_told_what_read_had_printed),
		TEST(what_verify_denies_is_undone),
		TEST(verify_alone_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
