// SPDX-License-Identifier: GPL-3.0-or-later
/* Knob module against a modprobe and an rmmod of this test's own, good ones and bad ones. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"
#include "knob_test.h"
#include "variant/knob_tables.h"
#include "variant/shell.h"

/*
 * They know: base (no parameters), net (needs base; mode, depth and label, of which label is unset
 * by default), builtin.  Files in $TREE make them lie.
 */
static const char modprobe[] =
	"#!/bin/sh\n"
	"echo \"modprobe $*\" >>$TREE/calls\n"
	"if [ \"$1\" = --show-depends ]; then\n"
	"	case $3 in\n"
	"	base) echo 'insmod /lib/modules/6.1.0/kernel/base.ko ' ;;\n"
	"	net) echo 'insmod /lib/modules/6.1.0/kernel/base.ko.xz '\n"
	"		echo 'insmod /lib/modules/6.1.0/kernel/net.ko.xz mode=0' ;;\n"
	"	always) echo 'builtin always' ;;\n"
	"	*) echo \"modprobe: FATAL: Module $3 not found in directory /lib/modules/6.1.0\" >&2\n"
	"		exit 1 ;;\n"
	"	esac\n"
	"	exit 0\n"
	"fi\n"
	"[ \"$1\" = -- ] && shift\n"
	"name=$1 m=$TREE/sys/module/$1\n"
	"shift\n"
	"[ -e $TREE/broken ] && { echo 'modprobe: ERROR: could not insert: Exec format error' >&2; exit 1; }\n"
	"[ -e $TREE/idle ] && exit 0\n"
	"mkdir -p $m/holders $m/parameters\n"
	"echo live >$m/initstate\n"
	"echo 0 >$m/refcnt\n"
	"[ $name = net ] || exit 0\n"
	"echo 0 >$m/parameters/mode; echo N >$m/parameters/deep; echo '(null)' >$m/parameters/label\n"
	"[ -e $TREE/ignoring ] && exit 0\n"
	"for p; do\n"
	"	v=${p#*=} v=${v#\\\"} v=${v%\\\"}\n"
	"	case ${p%%=*} in deep) case $v in 1 | y) v=Y ;; 0) v=N ;; esac ;; esac\n"
	"	[ -e $m/parameters/${p%%=*} ] && printf '%s\\n' \"$v\" >$m/parameters/${p%%=*}\n"
	"done\n"
	"exit 0\n";

static const char rmmod[] =
	"#!/bin/sh\n"
	"echo \"rmmod $*\" >>$TREE/calls\n"
	"[ -e $TREE/stuck ] && exit 0\n"
	"[ \"$(cat $TREE/sys/module/$1/refcnt)\" = 0 ] || { echo \"rmmod: ERROR: Module $1 is in use\" >&2; exit 1; }\n"
	"rm -r $TREE/sys/module/$1\n";

static void add_tool(const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "bin/%.60s", name);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "%s/bin/%s", tree.root, name);
	assert_int_equal(chmod(path, 0755), 0);
}

static int setup_machine(void **state)
{
	char path[128];

	setup(state);
	tree_write(&tree, "proc/modules", "");
	tree_write(&tree, "proc/thread-self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
	tree_write(&tree, "sys/module/kernel/parameters/panic", "0\n");
	add_tool("modprobe", modprobe);
	add_tool("rmmod", rmmod);
	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", tree.root);
	setenv("PATH", path, 1);
	setenv("TREE", tree.root, 1);
	return 0;
}

static struct instance module(const char *name, const char *state, const char *params)
{
	return make("module", "name", name, "state", state, "params", params, NULL);
}

/* Load it as a person did before. */
static void load(const char *command)
{
	struct err e = {};

	must(shell_run(command, 1000000000000, NULL, &e), &e);
}

static void a_module_is_loaded_with_what_it_needs_and_unloaded(void **state)
{
	struct life l;
	struct err e = {};

	expect_means(&knob_module, module("net", "loaded", "mode=2,deep=1"),
		     "base=loaded\nnet=loaded mode=2 deep=1\n");
	must(life_begin(&l, &knob_module, module("net", "loaded", "mode=2,deep=1"), &e), &e);
	tree_expect(&tree, "sys/module/net/parameters/mode", "2\n");
	tree_expect(&tree, "sys/module/net/parameters/deep", "Y\n");
	assert_true(tree_has(&tree, "sys/module/base"));
	life_end(&l);
	assert_false(tree_has(&tree, "sys/module/net"));
	assert_false(tree_has(&tree, "sys/module/base"));
	must(life_begin(&l, &knob_module, module("net", "loaded", ""), &e), &e);
	life_crash_and_restore(&l);
	assert_false(tree_has(&tree, "sys/module/net"));
	assert_false(tree_has(&tree, "sys/module/base"));
}

static void what_was_loaded_before_stays(void **state)
{
	struct life l;
	struct err e = {};

	load("modprobe base");
	must(life_begin(&l, &knob_module, module("net", "loaded", ""), &e), &e);
	life_end(&l);
	assert_true(tree_has(&tree, "sys/module/base"));
	assert_false(tree_has(&tree, "sys/module/net"));
}

static void other_parameters_mean_loading_anew_and_back(void **state)
{
	struct life l;
	struct err e = {};

	load("modprobe base; modprobe net mode=7 deep=1 'label=\"a b%c\"'");
	expect_reads(&knob_module, "net", "loaded deep=Y label=a%20b%25c mode=7");
	must(life_begin(&l, &knob_module, module("net", "loaded", "mode=9"), &e), &e);
	tree_expect(&tree, "sys/module/net/parameters/mode", "9\n");
	life_crash_and_restore(&l);
	expect_reads(&knob_module, "net", "loaded deep=Y label=a%20b%25c mode=7");
	/* as it is already: nobody touches it */
	tree_write(&tree, "calls", "");
	must(life_begin(&l, &knob_module, module("net", "loaded", "mode=7,deep=y"), &e), &e);
	life_end(&l);
	tree_expect(&tree, "calls",
		    "modprobe --show-depends -- net\n"
		    "modprobe --show-depends -- net\n");
}

static void a_module_is_unloaded_and_comes_back_with_its_parameters(void **state)
{
	struct life l;
	struct err e = {};

	load("modprobe net mode=7 'label=\"two words\"'");
	must(life_begin(&l, &knob_module, module("net", "unloaded", ""), &e), &e);
	assert_false(tree_has(&tree, "sys/module/net"));
	life_end(&l);
	expect_reads(&knob_module, "net", "loaded deep=N label=two%20words mode=7");
}

static void what_is_in_use_is_refused(void **state)
{
	struct life l;
	struct err e = {};

	load("modprobe net");
	tree_write(&tree, "sys/module/net/refcnt", "2\n");
	tree_write(&tree, "sys/module/net/holders/bridge", "");
	expect_refused(&knob_module, module("net", "unloaded", ""), -EBUSY,
		       "module net is in use (2 uses of modules bridge)");
	assert_int_equal(life_begin(&l, &knob_module, module("net", "loaded", "mode=1"), &e),
			 -EBUSY);
	assert_contains(e.msg, "what uses it must go first");
	/* in use meanwhile: it stays in the journal, and restore tries again */
	tree_write(&tree, "sys/module/net/refcnt", "0\n");
	load("rmmod net");
	must(life_begin(&l, &knob_module, module("net", "loaded", ""), &e), &e);
	tree_write(&tree, "sys/module/net/refcnt", "1\n");
	assert_int_equal(variant_undo(l.applied, &e), -EIO);
	assert_contains(e.msg, "module net is in use (1 uses)");
	journal_close(l.journal);
}

static void builtin_modules_are_refused(void **state)
{
	expect_refused(&knob_module, module("always", "loaded", ""), -ENOTSUP,
		       "is built into this kernel");
	expect_refused(&knob_module, module("kernel", "unloaded", ""), -ENOTSUP,
		       "is built into this kernel: it cannot be unloaded");
	expect_reads(&knob_module, "kernel", "builtin");
}

static void what_cannot_be_meant_is_refused(void **state)
{
	expect_refused(&knob_module, module("nosuch", "loaded", ""), -EIO,
		       "Module nosuch not found in directory");
	expect_refused(&knob_module, module("net; reboot", "loaded", ""), -EINVAL,
		       "is no name of a module");
	expect_refused(&knob_module, module("../net", "unloaded", ""), -EINVAL, "is no name");
	expect_refused(&knob_module, module("net", "loaded", "mode"), -EINVAL,
		       "expected key=value");
	expect_refused(&knob_module, module("net", "unloaded", "mode=1"), -EINVAL,
		       "params go with state: loaded");
}

static void fail_with(const char *lie, const char *params, const char *message)
{
	struct life l;
	struct err e = {};

	tree_write(&tree, lie, "");
	assert_true(life_begin(&l, &knob_module, module("net", "loaded", params), &e) < 0);
	assert_contains(e.msg, message);
	assert_int_not_equal(e.code, -ENOTRECOVERABLE);
	assert_false(tree_has(&tree, "sys/module/net"));
	assert_false(tree_has(&tree, "sys/module/base"));
}

static void a_modprobe_that_fails_is_quoted(void **state)
{
	fail_with("broken", "", "could not insert: Exec format error");
}

static void a_modprobe_that_does_nothing_is_caught(void **state)
{
	fail_with("idle", "", "modprobe was content, but module base is not loaded");
}

static void a_parameter_that_is_not_taken_is_caught(void **state)
{
	fail_with("ignoring", "mode=3", "reads back \"loaded deep=N mode=0\"");
}

/* The kernel logs a parameter that it does not know, and loads the module all the same. */
static void a_parameter_that_is_not_shown_is_caught(void **state)
{
	fail_with("unused", "moed=3", "shows no parameter \"moed\"");
}

static void an_rmmod_that_does_nothing_is_caught(void **state)
{
	struct life l;
	struct err e = {};

	load("modprobe net");
	tree_write(&tree, "stuck", "");
	assert_true(life_begin(&l, &knob_module, module("net", "unloaded", ""), &e) < 0);
	assert_contains(e.msg, "rmmod was content, but module net is still loaded");
}

static void a_kernel_without_modules_says_so(void **state)
{
	char path[128];
	struct err e = {};

	must(knob_module.usable(&tree.host, &e), &e);
	tree_write(&tree, "proc/sys/kernel/modules_disabled", "1\n");
	assert_int_equal(knob_module.usable(&tree.host, &e), -EPERM);
	assert_contains(e.msg, "until the next boot");
	tree_write(&tree, "proc/sys/kernel/modules_disabled", "0\n");
	tree_write(&tree, "proc/thread-self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	assert_int_equal(knob_module.usable(&tree.host, &e), -EPERM);
	assert_contains(e.msg, "CAP_SYS_MODULE");
	snprintf(path, sizeof(path), "%s/proc/modules", tree.root);
	unlink(path);
	assert_int_equal(knob_module.usable(&tree.host, &e), -ENOTSUP);
	assert_contains(e.msg, "this kernel takes no modules");
}

static void values_are_the_same_where_both_speak(void **state)
{
	assert_true(knob_same(&knob_module, "loaded a=1 b=2", "loaded b=2"));
	assert_true(knob_same(&knob_module, "loaded b=Y", "loaded a=1 b=1"));
	assert_false(knob_same(&knob_module, "loaded a=1", "loaded a=10"));
	assert_false(knob_same(&knob_module, "loaded", "unloaded"));
	assert_false(knob_same(&knob_module, "loaded ab=1 b=2", "loaded b=3"));
	assert_true(knob_same(&knob_module, "loaded ab=1", "loaded b=1"));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup_machine, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_module_is_loaded_with_what_it_needs_and_unloaded),
		TEST(what_was_loaded_before_stays),
		TEST(other_parameters_mean_loading_anew_and_back),
		TEST(a_module_is_unloaded_and_comes_back_with_its_parameters),
		TEST(what_is_in_use_is_refused),
		TEST(builtin_modules_are_refused),
		TEST(what_cannot_be_meant_is_refused),
		TEST(a_modprobe_that_fails_is_quoted),
		TEST(a_modprobe_that_does_nothing_is_caught),
		TEST(a_parameter_that_is_not_taken_is_caught),
		TEST(a_parameter_that_is_not_shown_is_caught),
		TEST(an_rmmod_that_does_nothing_is_caught),
		TEST(a_kernel_without_modules_says_so),
		TEST(values_are_the_same_where_both_speak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
