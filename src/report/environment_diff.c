// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/environment.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_field.h"

static bool is_fact(const char *key)
{
	return strcmp(key, "now") != 0 && strcmp(key, "audit") != 0;
}

static void add_pair(struct json_object *out, const char *key, struct json_object *a,
		     struct json_object *b)
{
	struct json_object *pair = json_object_new_array();

	json_object_array_add(pair, json_object_get(a));
	json_object_array_add(pair, json_object_get(b));
	json_object_object_add(out, key, pair);
}

static void facts(struct json_object *a, struct json_object *b, struct json_object *out)
{
	json_object_object_foreach(a, key, value)
	{
		struct json_object *other = NULL;

		if (is_fact(key) &&
		    !(json_object_object_get_ex(b, key, &other) && json_object_equal(value, other)))
			add_pair(out, key, value, other);
	}
	json_object_object_foreach(b, key_b, value_b)
	{
		struct json_object *other = NULL;

		if (is_fact(key_b) && !json_object_object_get_ex(a, key_b, &other))
			add_pair(out, key_b, NULL, value_b);
	}
}

static struct json_object *list_of(struct json_object *env, const char *name)
{
	return json_field_array(json_field_object(env, "audit"), name);
}

static bool is_warned(struct json_object *finding)
{
	const char *s = json_field_string(finding, "severity");

	return s && strcmp(s, "note") != 0;
}

/* By the check's name: the words hold numbers that always differ. */
static bool has_finding(struct json_object *env, const char *check)
{
	struct json_object *list = list_of(env, "findings");

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *f = json_object_array_get_idx(list, i);
		const char *c = json_field_string(f, "check");

		if (c && strcmp(c, check) == 0 && is_warned(f))
			return true;
	}
	return false;
}

static struct json_object *only(struct json_object *a, struct json_object *b)
{
	struct json_object *out = json_object_new_array(), *list = list_of(a, "findings");

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *f = json_object_array_get_idx(list, i);
		const char *check = json_field_string(f, "check"),
			   *what = json_field_string(f, "what");

		if (check && what && is_warned(f) && !has_finding(b, check))
			json_object_array_add(out, json_object_new_string(what));
	}
	return out;
}

/* The knobs that were set for the run. */
static struct json_object *mended(struct json_object *env)
{
	struct json_object *out = json_object_new_array(), *list = list_of(env, "mended");

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);

		if (!json_field_string(m, "refused"))
			json_object_array_add(out, json_object_get(json_field_object(m, "knob")));
	}
	return out;
}

struct json_object *environment_diff(const char *env_a, const char *env_b)
{
	_cleanup_(json_putp) struct json_object *a = json_tokener_parse(env_a ? env_a : "{}");
	_cleanup_(json_putp) struct json_object *b = json_tokener_parse(env_b ? env_b : "{}");
	struct json_object *out = json_object_new_object(), *list = json_object_new_object();
	bool both = json_object_is_type(a, json_type_object) &&
		    json_object_is_type(b, json_type_object);

	json_object_object_add(out, "facts", list);
	if (!both)
		return out;
	facts(a, b, list);
	/* a run stored before there was an audit says nothing, not that all was well */
	if (list_of(a, "findings") && list_of(b, "findings")) {
		_cleanup_(json_putp) struct json_object *ma = mended(a), *mb = mended(b);

		json_object_object_add(out, "only_a", only(a, b));
		json_object_object_add(out, "only_b", only(b, a));
		if (!json_object_equal(ma, mb))
			add_pair(list, "mended", ma, mb);
	}
	return out;
}
