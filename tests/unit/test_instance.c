// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <json-c/json.h>

#include "base/opt.h"
#include "plan/instance.h"

struct cfg {
	uint64_t rate;
	char *direction;
};

static const struct opt rows[] = {
	{ "direction", OPT_STRING, offsetof(struct cfg, direction), NULL, "which way" },
	{ "rate", OPT_BPS, offsetof(struct cfg, rate), "0", "offered rate" },
	{},
};

static struct instance tcp(void)
{
	return (struct instance){ .plugin = strdup("tcp"), .name = strdup("tcp") };
}

static void settings_are_parsed_by_rows(void **state)
{
	_cleanup_(instance_release) struct instance inst = tcp();
	struct cfg c = {};
	struct err e = {};

	instance_set(&inst, "direction", "to-dut", 3, &e);
	instance_set(&inst, "rate", "4G", 4, &e);
	assert_int_equal(instance_parse(&inst, rows, &c, &e), 0);
	assert_int_equal(c.rate, 4000000000);
	assert_string_equal(c.direction, "to-dut");
	opt_release(rows, &c);
}

static void missing_and_unknown_options_are_named(void **state)
{
	_cleanup_(instance_release) struct instance inst = tcp();
	struct cfg c = {};
	struct err e = {};

	assert_int_equal(instance_parse(&inst, rows, &c, &e), -EINVAL);
	assert_string_equal(e.msg, "tcp needs the option \"direction\" (which way)");
	instance_set(&inst, "direction", "to-dut", 3, &e);
	instance_set(&inst, "rat", "4G", 4, &e);
	assert_int_equal(instance_parse(&inst, rows, &c, &e), -EINVAL);
	assert_string_equal(e.msg, "tcp has no option \"rat\"; did you mean \"rate\"?");
	assert_null(c.direction);
}

static void json_round_trips(void **state)
{
	_cleanup_(instance_release) struct instance inst = tcp();
	_cleanup_(instances_release) struct instances list = {}, back = {};
	struct json_object *o;
	struct err e = {};

	instance_set(&inst, "rate", "3.8G", 4, &e);
	assert_int_equal(instances_add(&list, &inst, &e), 0);
	o = instances_to_json(&list);
	assert_int_equal(instances_from_json(o, &back, &e), 0);
	assert_int_equal(back.nr, 1);
	assert_string_equal(instance_value(&back.v[0], "rate"), "3.8G");
	json_object_put(o);
	o = json_tokener_parse("[{\"plugin\":\"tcp\",\"name\":\"x\",\"settings\":{\"a\":1}}]");
	assert_int_equal(instances_from_json(o, &back, &e), -EBADMSG);
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_parsed_by_rows),
		cmocka_unit_test(missing_and_unknown_options_are_named),
		cmocka_unit_test(json_round_trips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
