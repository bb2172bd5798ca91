// SPDX-License-Identifier: GPL-3.0-or-later
#include "export/outcome.h"

#include <json-c/json.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_field.h"
#include "base/text.h"
#include "report/format.h"

enum outcome outcome_of(const struct verdict *v)
{
	switch (v->word) {
	case VERDICT_BETTER:
	case VERDICT_SAME:
		return OUTCOME_PASS;
	case VERDICT_WORSE:
		return OUTCOME_FAIL;
	case VERDICT_UNDECIDED:
	case VERDICT_VETOED:
		break;
	}
	return OUTCOME_SKIP;
}

void outcome_name(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const char *metric = rep->plan->metrics[v->query].text;
	const char *variant = model_variant(rep, v->variant);

	if (rep->plan->nr_variants > 2) {
		text_printable(out, variant, strlen(variant));
		buf_puts(out, ": ");
	}
	text_printable(out, metric, strlen(metric));
}

void outcome_sentence(struct buf *out, const struct report *rep, const struct verdict *v)
{
	_cleanup_(buf_release) struct buf raw = {};

	format_ergo(&raw, rep, v);
	text_printable(out, buf_str(&raw), raw.len);
	out->failed |= raw.failed;
}

void outcome_time(struct buf *out, uint64_t ns)
{
	time_t t = (time_t)(ns / NS_PER_S);
	struct tm tm;
	char text[40];

	if (gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S+00:00", &tm))
		buf_puts(out, text);
}

double outcome_seconds(const struct report *rep)
{
	const struct run_info *run = &rep->run;

	return run->ended_ns > run->started_ns
		       ? (double)(run->ended_ns - run->started_ns) / (double)NS_PER_S
		       : 0;
}

void outcome_env(struct buf *out, const struct report *rep, const char *key)
{
	_cleanup_(json_putp) struct json_object *env =
		rep->run.env ? json_tokener_parse(rep->run.env) : NULL;
	struct json_object *v = NULL;
	const char *text;

	if (!env || !json_object_is_type(env, json_type_object) ||
	    !json_object_object_get_ex(env, key, &v) || !v ||
	    json_object_is_type(v, json_type_object) || json_object_is_type(v, json_type_array))
		return;
	text = json_object_get_string(v);
	text_printable(out, text, strlen(text));
}

static void put_instance(struct buf *out, const struct instance *inst)
{
	buf_printf(out, "%s%s", out->len ? "; " : "", inst->plugin);
	for (size_t i = 0; i < inst->nr_settings; i++)
		buf_printf(out, " %s=%s", inst->settings[i].key, inst->settings[i].value);
}

void outcome_settings(struct buf *out, const struct report *rep, unsigned int variant)
{
	const struct variant *v = &rep->plan->variants[variant];
	_cleanup_(buf_release) struct buf raw = {};

	for (size_t i = 0; i < v->knobs.nr; i++)
		put_instance(&raw, &v->knobs.v[i]);
	for (size_t i = 0; i < v->nr_overrides; i++) {
		const struct override *o = &v->overrides[i];

		buf_printf(&raw, "%s%s%s%s%s.%s=%s", raw.len ? "; " : "",
			   o->scenario ? "load." : "probe.", o->scenario ? o->scenario : "",
			   o->scenario ? "." : "", o->instance, o->key, o->value);
	}
	text_printable(out, buf_str(&raw), raw.len);
	out->failed |= raw.failed;
}

void json_put_text(struct json_object *o, const char *key, const char *text)
{
	_cleanup_(buf_release) struct buf clean = {};

	text_printable(&clean, text, strlen(text));
	json_object_object_add(o, key, json_object_new_string(buf_str(&clean)));
}

void json_put_number(struct json_object *o, const char *key, double v)
{
	if (isfinite(v))
		json_object_object_add(o, key, json_object_new_double(v));
}

void json_print(struct buf *out, struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(
		o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (text) {
		buf_puts(out, text);
		buf_putc(out, '\n');
	} else {
		out->failed = true;
	}
	json_object_put(o);
}
