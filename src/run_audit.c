// SPDX-License-Identifier: GPL-3.0-or-later
#include "run_audit.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "base/personal.h"
#include "cmdline.h"
#include "run_plan.h"
#include "run_view.h"
#include "sample/sample.h"
#include "trial/spec.h"
#include "trial/trial.h"

/* The knobs that @env says were set for the run, added to the setup. */
static int take_mended(const char *env, struct instances *setup, struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = json_tokener_parse(env);
	struct json_object *list = json_field_array(json_field_object(o, "audit"), "mended");
	size_t nr = list ? json_object_array_length(list) : 0;
	int r = 0;

	for (size_t i = 0; i < nr && r >= 0; i++) {
		_cleanup_(instances_release) struct instances one = {};
		_cleanup_(json_putp) struct json_object *as_list = json_object_new_array();
		struct json_object *m = json_object_array_get_idx(list, i);

		if (json_field_string(m, "refused"))
			continue;
		json_object_array_add(as_list, json_object_get(json_field_object(m, "knob")));
		r = instances_from_json(as_list, &one, e);
		for (size_t k = 0; k < one.nr && r >= 0; k++)
			r = instances_add(setup, &one.v[k], e);
	}
	return r;
}

int run_audit_spec(const struct run_request *q, const char *env, struct bench_spec *spec,
		   struct err *e)
{
	spec->fix = q->fix && !env;
	spec->identify = q->identify;
	if (!env)
		return 0;
	spec->before = strdup(env);
	return spec->before ? take_mended(env, &spec->setup, e) : err_nomem(e, "run");
}

int run_audit_heed(const struct run_request *q, struct json_object *env, struct err *e)
{
	struct json_object *list = json_field_array(json_field_object(env, "audit"), "findings");
	size_t nr = list ? json_object_array_length(list) : 0;
	char line[96];
	size_t warnings = 0;

	for (size_t i = 0; i < nr; i++) {
		struct json_object *f = json_object_array_get_idx(list, i);
		const char *severity = json_field_string(f, "severity"),
			   *what = json_field_string(f, "what"),
			   *mend = json_field_string(f, "mend");

		if (!severity || !what)
			continue;
		warnings += strcmp(severity, "warn") == 0;
		if (strcmp(severity, "veto") != 0 || q->force)
			continue;
		err_set(e, -ENOTSUP, "audit: %s%s%s; --force runs it all the same", what,
			mend ? "; mend it with: " : "", mend ? mend : "");
		return EXIT_CANNOT;
	}
	if (warnings && !q->quiet && isatty(STDERR_FILENO)) {
		snprintf(line, sizeof(line),
			 "audit: %zu warning%s, stored with the run; see: "
			 "irqlab audit\n",
			 warnings, warnings == 1 ? "" : "s");
		run_view_warn(line);
	}
	return 0;
}

/* Replaces *text by its masked form, when that is another. */
static int mask(const char **text, const char *host, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};
	char *masked;

	if (!*text || !**text)
		return 0;
	personal_mask(&b, *text, host);
	if (!b.failed && strcmp(buf_str(&b), *text) == 0)
		return 0;
	masked = buf_take(&b);
	if (!masked)
		return err_nomem(e, "record");
	/* a record of a list owns its strings */
	free((char *)(uintptr_t)*text);
	*text = masked;
	return 0;
}

int run_audit_mask(const struct run_request *q, struct record_list *records,
		   struct trial_result *result, struct err *e)
{
	struct utsname u = {};
	int r = 0;

	if (q->identify)
		return 0;
	uname(&u);
	for (size_t i = 0; i < records->nr && r >= 0; i++) {
		if (records->v[i]->kind == RECORD_EVENT)
			r = mask(&records->v[i]->text, u.nodename, e);
	}
	if (r >= 0 && result->state != TRIAL_OK) {
		_cleanup_(buf_release) struct buf b = {};

		personal_mask(&b, result->reason.msg, u.nodename);
		err_set(&result->reason, result->reason.code, "%s", buf_str(&b));
	}
	return r;
}
