// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "base/text.h"

static void add_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

static struct json_object *affects(unsigned int mask)
{
	static const char *const words[] = { "wakeup", "rr", "throughput", "interrupts", "cpu" };
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (mask & 1U << i)
			json_object_array_add(list, json_object_new_string(words[i]));
	return list;
}

static struct json_object *finding(const struct finding *f)
{
	struct json_object *o = json_object_new_object();

	add_text(o, "check", f->check);
	add_text(o, "severity", audit_severity_word(f->severity));
	json_object_object_add(o, "affects", affects(f->affects));
	add_text(o, "what", f->what);
	add_text(o, "why", f->why);
	add_text(o, "mend", f->mend);
	json_object_object_add(o, "knobs", instances_to_json(&f->knobs));
	return o;
}

static struct json_object *findings(const struct audit *a)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < a->nr_findings; i++)
		json_object_array_add(list, finding(&a->findings[i]));
	return list;
}

static struct json_object *checks(const struct audit *a)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < a->nr_checks; i++) {
		struct json_object *o = json_object_new_object();

		add_text(o, "check", a->checks[i].name);
		add_text(o, "state", audit_state_word(a->checks[i].state));
		add_text(o, "reason", a->checks[i].reason);
		json_object_array_add(list, o);
	}
	return list;
}

static void add_facts(const struct audit *a, bool passing, struct json_object *o)
{
	for (size_t i = 0; i < a->nr_facts; i++) {
		const struct fact *f = &a->facts[i];
		uint64_t v = 0;

		if (f->passing != passing)
			continue;
		/* a number since before there was an audit: runs stored then are compared */
		if (strcmp(f->key, "cpus") == 0 && text_u64(f->value, &v) >= 0)
			json_object_object_add(o, f->key, json_object_new_uint64(v));
		else
			add_text(o, f->key, f->value);
	}
}

struct json_object *audit_env(const struct audit *a)
{
	struct json_object *o = json_object_new_object(), *now = json_object_new_object(),
			   *said = json_object_new_object();

	add_facts(a, false, o);
	add_facts(a, true, now);
	json_object_object_add(o, "now", now);
	json_object_object_add(said, "findings", findings(a));
	json_object_object_add(said, "checks", checks(a));
	json_object_object_add(o, "audit", said);
	return o;
}

int audit_of_env(const char *env, struct audit *ret, struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = json_tokener_parse(env);
	_cleanup_(audit_release) struct audit a = {};

	if (!json_object_is_type(o, json_type_object))
		return err_set(e, -EBADMSG, "the environment of the run is no JSON object");
	a.facts = calloc((size_t)json_object_object_length(o) + 1, sizeof(*a.facts));
	if (!a.facts)
		return err_nomem(e, "environment");
	json_object_object_foreach(o, key, value)
	{
		struct fact *f = &a.facts[a.nr_facts];

		if (!json_object_is_type(value, json_type_string))
			continue;
		f->key = strdup(key);
		f->value = strdup(json_object_get_string(value));
		a.nr_facts++;
		if (!f->key || !f->value)
			return err_nomem(e, "environment");
	}
	*ret = a;
	a = (struct audit){};
	return 0;
}

struct json_object *audit_json(const struct audit *a)
{
	struct json_object *o = json_object_new_object(), *facts = json_object_new_object(),
			   *now = json_object_new_object();

	add_facts(a, false, facts);
	add_facts(a, true, now);
	json_object_object_add(o, "schema", json_object_new_int(AUDIT_JSON_SCHEMA));
	json_object_object_add(o, "vetoes", json_object_new_uint64(audit_count(a, SEVERITY_VETO)));
	json_object_object_add(o, "warnings",
			       json_object_new_uint64(audit_count(a, SEVERITY_WARN)));
	json_object_object_add(o, "facts", facts);
	json_object_object_add(o, "now", now);
	json_object_object_add(o, "findings", findings(a));
	json_object_object_add(o, "checks", checks(a));
	return o;
}
