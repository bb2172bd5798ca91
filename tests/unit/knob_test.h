/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef KNOB_TEST_H
#define KNOB_TEST_H

/*
 * One knob on a fixture tree: what its instances mean, and whole lives of them through variant.c.
 * Included after test.h and tree.h.
 */

#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/variant.h"

#define UNUSED __attribute__((unused))

static struct tree tree;

static UNUSED int setup(void **state)
{
	tree_make(&tree);
	return 0;
}

static UNUSED int teardown(void **state)
{
	tree_remove(&tree);
	return 0;
}

static void must(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

/* "scheduler", "rt-runtime", "off", ..., NULL; not inlined: struct err is large */
static UNUSED __attribute__((noinline)) struct instance make(const char *plugin, ...)
{
	struct instance inst = { .plugin = strdup(plugin), .name = strdup(plugin) };
	struct err e = {};
	const char *key;
	va_list ap;

	va_start(ap, plugin);
	while ((key = va_arg(ap, const char *)))
		must(instance_set(&inst, key, va_arg(ap, const char *), 0, &e), &e);
	va_end(ap);
	return inst;
}

/* What @inst means here, as "target=value" lines; releases @inst. */
static UNUSED __attribute__((noinline)) void expect_means(const struct knob_ops *ops,
							  struct instance inst, const char *want)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	_cleanup_(buf_release) struct buf b = {};
	struct err e = {};

	must(ops->resolve(&tree.host, &inst, &l, &e), &e);
	instance_release(&inst);
	for (size_t i = 0; i < l.nr; i++)
		buf_printf(&b, "%s=%s\n", l.v[i].target, l.v[i].value);
	assert_string_equal(buf_str(&b), want);
}

/* @inst is refused with @code and a message that has @text in it; releases @inst. */
static UNUSED __attribute__((noinline)) void
expect_refused(const struct knob_ops *ops, struct instance inst, int code, const char *text)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};
	int r = ops->resolve(&tree.host, &inst, &l, &e);

	instance_release(&inst);
	assert_contains(e.msg, text);
	assert_int_equal(r, code);
	assert_int_equal(l.nr, 0);
}

static UNUSED __attribute__((noinline)) void expect_reads(const struct knob_ops *ops,
							  const char *target, const char *want)
{
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	must(ops->read(&tree.host, target, &now, &e), &e);
	assert_string_equal(now, want);
}

/* One variant of one knob under way. */
struct life {
	const struct knob_ops *knobs[2];
	struct journal *journal;
	struct applied *applied;
};

/* Return: what variant_apply() returned; releases @inst. */
static UNUSED __attribute__((noinline)) int life_begin(struct life *l, const struct knob_ops *ops,
						       struct instance inst, struct err *e)
{
	struct instances list = { &inst, 1 };
	int r;

	*l = (struct life){ .knobs = { ops, NULL } };
	must(journal_open(&l->journal, tree.state, e), e);
	r = variant_apply(&l->applied, &tree.host, l->journal, l->knobs, &list, e);
	instance_release(&inst);
	if (r < 0) {
		journal_close(l->journal);
		l->journal = NULL;
	}
	return r;
}

static UNUSED __attribute__((noinline)) void life_end(struct life *l)
{
	struct err e = {};

	must(variant_verify(l->applied, &e), &e);
	must(variant_undo(l->applied, &e), &e);
	journal_close(l->journal);
	*l = (struct life){};
}

/* As if the process were gone: undo from its journal alone. */
static UNUSED __attribute__((noinline)) void life_crash_and_restore(struct life *l)
{
	struct restore_report report = {};
	struct err e = {};

	must(variant_restore(&tree.host, tree.state, l->knobs, NULL, NULL, &report, &e), &e);
	assert_int_equal(report.failed + report.changed_by_others, 0);
	assert_true(report.undone > 0);
	/* frees what a process that is gone would not have; finds everything undone */
	must(variant_undo(l->applied, &e), &e);
	journal_close(l->journal);
	*l = (struct life){};
}

#endif
