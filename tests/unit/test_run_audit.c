// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "cmdline.h"
#include "run_audit.h"
#include "run_plan.h"
#include "sample/sample.h"
#include "trial/spec.h"
#include "trial/trial.h"

static void add(struct record_list *l, enum record_kind kind, const char *labels, const char *text)
{
	const struct record rec = {
		.kind = kind, .metric = "kmsg", .unit = "", .labels = labels, .text = text
	};
	struct err e = {};

	assert_int_equal(record_list_take(l, record_copy(&rec), &e), 0);
}

static void what_the_kernel_says_of_cards_is_masked(void **state)
{
	for (int identify = 0; identify < 2; identify++) {
		_cleanup_(record_list_release) struct record_list l = {};
		const struct run_request q = { .identify = identify };
		struct trial_result result = { .state = TRIAL_FAILED };
		struct err e = {};

		add(&l, RECORD_EVENT, "", "br0: own address (addr:52:54:00:01:02:03, vlan:0)");
		add(&l, RECORD_EVENT, "", "nothing to hide");
		add(&l, RECORD_SCALAR, "cpu=0", NULL);
		err_set(&result.reason, -EIO, "usb 1-1: SerialNumber: 4C53 went");
		assert_int_equal(run_audit_mask(&q, &l, &result, &e), 0);
		assert_string_equal(l.v[0]->text,
				    identify ? "br0: own address (addr:52:54:00:01:02:03, vlan:0)"
					     : "br0: own address (addr:(masked), vlan:0)");
		assert_string_equal(l.v[1]->text, "nothing to hide");
		assert_string_equal(l.v[2]->labels, "cpu=0");
		assert_string_equal(result.reason.msg,
				    identify ? "usb 1-1: SerialNumber: 4C53 went"
					     : "usb 1-1: SerialNumber: (masked) went");
		assert_int_equal(result.reason.code, -EIO);
	}
}

static void a_veto_ends_a_run_that_is_not_forced(void **state)
{
	static const char veto[] =
		"{\"audit\":{\"findings\":["
		"{\"severity\":\"warn\",\"what\":\"w\",\"mend\":\"m\"},"
		"{\"severity\":\"veto\",\"what\":\"it ticks\",\"mend\":\"boot\"}]}}";
	struct json_object *env = json_tokener_parse(veto), *none = json_tokener_parse("{}");
	struct run_request q = { .quiet = true };
	struct err e = {};

	assert_int_equal(run_audit_heed(&q, env, &e), EXIT_CANNOT);
	assert_string_equal(e.msg, "audit: it ticks; mend it with: boot; --force runs it all the "
				   "same");
	q.force = true;
	assert_int_equal(run_audit_heed(&q, env, &e), 0);
	q.force = false;
	assert_int_equal(run_audit_heed(&q, none, &e), 0);
	json_object_put(env);
	json_object_put(none);
}

static void a_resumed_run_sets_again_what_it_had_set(void **state)
{
	static const char env[] =
		"{\"governor\":\"performance\",\"audit\":{\"mended\":["
		"{\"knob\":{\"plugin\":\"sysctl\",\"name\":\"sysctl\",\"settings\":{\"a.b\":\"1\"}},"
		"\"refused\":null},"
		"{\"knob\":{\"plugin\":\"sysctl\",\"name\":\"sysctl\",\"settings\":{\"c.d\":\"1\"}},"
		"\"refused\":\"a variant sets it\"}]}}";
	_cleanup_(bench_spec_release) struct bench_spec spec = {}, fresh = {};
	const struct run_request q = { .fix = true, .identify = true };
	struct err e = {};

	assert_int_equal(run_audit_spec(&q, env, &spec, &e), 0);
	assert_false(spec.fix);
	assert_true(spec.identify);
	assert_int_equal(spec.setup.nr, 1);
	assert_string_equal(instance_value(&spec.setup.v[0], "a.b"), "1");
	assert_string_equal(spec.before, env);
	assert_int_equal(run_audit_spec(&q, NULL, &fresh, &e), 0);
	assert_true(fresh.fix);
	assert_null(fresh.before);
	assert_int_equal(fresh.setup.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_says_of_cards_is_masked),
		cmocka_unit_test(a_veto_ends_a_run_that_is_not_forced),
		cmocka_unit_test(a_resumed_run_sets_again_what_it_had_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
