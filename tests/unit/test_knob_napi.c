// SPDX-License-Identifier: GPL-3.0-or-later
/* Knob napi: targets, and real instances of a veth that come, go and come back with other ids. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>

#include "netns.h"
#include "plan/instance.h"
#include "tree.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/variant.h"

static struct tree tree;

static int setup(void **state)
{
	tree_make(&tree);
	return 0;
}

static int teardown(void **state)
{
	tree_remove(&tree);
	return 0;
}

static void must(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

/* An instance of knob napi from "key", "value", ..., NULL. */
static struct instance make(const char *key, ...)
{
	struct instance inst = { .plugin = strdup("napi"), .name = strdup("napi") };
	struct err e = {};
	va_list ap;

	va_start(ap, key);
	for (; key; key = va_arg(ap, const char *))
		must(instance_set(&inst, key, va_arg(ap, const char *), 0, &e), &e);
	va_end(ap);
	return inst;
}

static int resolve(struct instance inst, struct knob_settings *ret, struct err *e)
{
	int r = knob_napi.resolve(&netns_host, &inst, ret, e);

	instance_release(&inst);
	return r;
}

static void expect_here(const char *target, const char *value)
{
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	must(knob_napi.read(&netns_host, target, &now, &e), &e);
	assert_string_equal(now, value);
}

#define DEVICES                                                                 \
	"ip link add va numtxqueues 2 numrxqueues 2 type veth peer name vb && " \
	"ip link set va up && ip link set vb up && ethtool -K va gro on && "    \
	"ip link add lo2 type veth peer name lo3"

/* The devices, on a kernel that can set single instances; else the reason is printed. */
static bool enter(void)
{
	struct err e = {};
	int r;

	if (!netns_enter(DEVICES))
		return false;
	r = knob_napi.write(&netns_host, "va napi-0 gro-flush-timeout", "0", &e);
	if (r >= 0)
		return true;
	print_message("# %s\n", e.msg);
	assert_contains(e.msg, "use the knob netdev");
	netns_leave();
	return false;
}

static void targets_and_values_are_checked(void **state)
{
	static const char *const bad[][2] = {
		{ "va", "1" },
		{ "va napi-0", "1" },
		{ "va napi-0 nothing", "1" },
		{ "va a-queue-with-a-long-name threaded", "1" },
		{ "va  threaded", "1" },
		{ "va napi-0 threaded", "2" },
		{ "va napi-0 threaded", "" },
		{ "va napi-0 defer-hard-irqs", "2147483648" },
		{ "va napi-0 defer-hard-irqs", "-1" },
		{ "va napi-0 gro-flush-timeout", "20us" },
		{ "va napi-0 gro-flush-timeout", "busy-poll" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = {};

		if (knob_napi.write(&tree.host, bad[i][0], bad[i][1], &e) != -EINVAL)
			fail_msg("\"%s\" = \"%s\": %s", bad[i][0], bad[i][1], e.msg);
	}
}

static void every_instance_or_the_named_ones(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	if (!enter())
		skip();
	must(resolve(make("dev", "va", "gro-flush-timeout", "20us", "defer-hard-irqs", "2", NULL),
		     &l, &e),
	     &e);
	assert_int_equal(l.nr, 4);
	assert_string_equal(l.v[0].target, "va napi-0 defer-hard-irqs");
	assert_string_equal(l.v[1].target, "va napi-0 gro-flush-timeout");
	assert_string_equal(l.v[1].value, "20000");
	assert_string_equal(l.v[2].target, "va napi-1 defer-hard-irqs");
	knob_settings_release(&l);
	assert_int_equal(resolve(make("dev", "va", "id", "77", "threaded", "on", NULL), &l, &e),
			 -ENOENT);
	assert_contains(e.msg, "va has 2 NAPI instances, ");
	assert_int_equal(resolve(make("dev", "va", "id", "x", "threaded", "on", NULL), &l, &e),
			 -EINVAL);
	assert_int_equal(resolve(make("dev", "va", NULL), &l, &e), -EINVAL);
	assert_contains(e.msg, "nothing to set");
	assert_int_equal(resolve(make("dev", "lo2", "threaded", "on", NULL), &l, &e), -ENOENT);
	assert_contains(e.msg, "lo2 has no NAPI instance: it is down");
	assert_int_equal(l.nr, 0);
	netns_leave();
}

/* sysfs sets all instances of the device: what it wrote is read of each, and the other way. */
static void sysfs_and_netlink_agree(void **state)
{
	static const char levels[] = "gro_flush_timeout of NAPI instance ";
	struct err e = {};

	if (!enter())
		skip();
	must(knob_netdev.write(&netns_host, "va gro_flush_timeout", "30000", &e), &e);
	must(knob_netdev.write(&netns_host, "va napi_defer_hard_irqs", "3", &e), &e);
	expect_here("va napi-0 gro-flush-timeout", "30000");
	expect_here("va napi-1 gro-flush-timeout", "30000");
	expect_here("va napi-1 defer-hard-irqs", "3");
	must(knob_napi.write(&netns_host, "va napi-1 gro-flush-timeout", "50000", &e), &e);
	must(knob_napi.write(&netns_host, "va napi-1 irq-suspend-timeout", "7000", &e), &e);
	expect_here("va napi-0 gro-flush-timeout", "30000");
	expect_here("va napi-1 gro-flush-timeout", "50000");
	expect_here("va napi-0 irq-suspend-timeout", "0");
	expect_here("va napi-1 irq-suspend-timeout", "7000");
	/* what one instance has of its own is not levelled by the device's file */
	assert_int_equal(knob_netdev.write(&netns_host, "va gro_flush_timeout", "0", &e), -EINVAL);
	assert_contains(e.msg, levels);
	assert_contains(e.msg, "is 50000 and not 30000 as the device's, and would be lost");
	must(knob_netdev.write(&netns_host, "va napi_defer_hard_irqs", "0", &e), &e);
	netns_leave();
}

/* The old ids are gone, and yet all is given back. */
static void an_instance_is_known_by_its_place_when_its_id_changed(void **state)
{
	static const struct knob_ops *const knobs[] = { &knob_napi, NULL };
	_cleanup_(journal_closep) struct journal *j = NULL;
	_cleanup_(instances_release) struct instances l = {};
	struct instance inst;
	struct applied *a = NULL;
	struct err e = {};

	if (!enter())
		skip();
	must(knob_napi.write(&netns_host, "va napi-1 defer-hard-irqs", "9", &e), &e);
	must(journal_open(&j, tree.state, &e), &e);
	inst = make("dev", "va", "defer-hard-irqs", "2", "gro-flush-timeout", "20us", NULL);
	must(instances_add(&l, &inst, &e), &e);
	instance_release(&inst);
	must(variant_apply(&a, &netns_host, j, knobs, &l, &e), &e);
	expect_here("va napi-1 defer-hard-irqs", "2");
	expect_here("va napi-1 gro-flush-timeout", "20000");
	free(netns_output("ip link set va down && ip link set va up"));
	/* the device has given the new instances values of its own: they are no longer ours to undo
	 */
	must(variant_undo(a, &e), &e);
	expect_here("va napi-0 defer-hard-irqs", "0");
	expect_here("va napi-1 defer-hard-irqs", "0");
	expect_here("va napi-1 gro-flush-timeout", "0");
	assert_false(tree_has(&tree, "state/journal"));
	free(netns_output("ip link set va down"));
	assert_true(knob_is_gone(
		knob_napi.read(&netns_host, "va napi-1 defer-hard-irqs", &(char *){ NULL }, &e)));
	netns_leave();
}

static void a_single_instance_gets_its_thread(void **state)
{
	_cleanup_(freep) char *threads = NULL, *none = NULL;
	char command[160];
	struct witness w = {};
	struct err e = {};
	int r;

	if (!enter())
		skip();
	r = knob_napi.read(&netns_host, "va napi-1 threaded", &none, &e);
	if (r < 0) {
		assert_contains(e.msg, "Linux 6.17 has");
		print_message("# %s\n", e.msg);
		netns_leave();
		skip();
	}
	assert_string_equal(none, "0");
	assert_int_equal(knob_napi.witness(&netns_host, "va napi-1 threaded", &w, &e), -ENOENT);
	must(knob_napi.write(&netns_host, "va napi-1 threaded", "1", &e), &e);
	expect_here("va napi-1 threaded", "1");
	expect_here("va napi-0 threaded", "0");
	must(knob_napi.witness(&netns_host, "va napi-1 threaded", &w, &e), &e);
	assert_contains(w.what, "of napi/va-");
	/* ids are of the whole machine, so nobody else has a thread of this name */
	snprintf(command, sizeof(command), "grep -lsx '%s' /proc/[0-9]*/comm | wc -l",
		 strstr(w.what, "napi/"));
	threads = netns_output(command);
	assert_string_equal(threads, "1");
	/* of two instances nobody knows which one the packets came to */
	assert_true(w.min_demand == WITNESS_DEMAND_UNKNOWN);
	r = knob_napi.write(&netns_host, "va napi-1 threaded", "busy-poll", &e);
	if (r < 0)
		assert_contains(e.msg, "Linux 6.19 has");
	must(knob_napi.write(&netns_host, "va napi-1 threaded", "0", &e), &e);
	free(threads);
	threads = netns_output(command);
	assert_string_equal(threads, "0");
	netns_leave();
}

static void a_deferral_without_its_timeout_is_futile(void **state)
{
	struct witness w = {};
	struct err e = {};

	if (!enter())
		skip();
	must(knob_napi.write(&netns_host, "va napi-0 defer-hard-irqs", "2", &e), &e);
	must(knob_napi.witness(&netns_host, "va napi-0 defer-hard-irqs", &w, &e), &e);
	assert_int_equal(w.min_effect, 1);
	assert_contains(w.remedy, "gro-flush-timeout");
	must(knob_napi.write(&netns_host, "va napi-0 gro-flush-timeout", "1000", &e), &e);
	assert_int_equal(knob_napi.witness(&netns_host, "va napi-0 defer-hard-irqs", &w, &e),
			 -ENOENT);
	netns_leave();
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(targets_and_values_are_checked),
		cmocka_unit_test(every_instance_or_the_named_ones),
		cmocka_unit_test(sysfs_and_netlink_agree),
		with_tree(an_instance_is_known_by_its_place_when_its_id_changed),
		cmocka_unit_test(a_single_instance_gets_its_thread),
		cmocka_unit_test(a_deferral_without_its_timeout_is_futile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
