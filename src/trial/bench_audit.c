// SPDX-License-Identifier: GPL-3.0-or-later
/* The audit of a bench: at its start, what it mends for the run, and what changes meanwhile. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "audit/machine.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "trial/bench.h"
#include "variant/variant.h"

/* So long is the use of CPUs watched before a run. */
#define LOOK_NS (200 * NS_PER_MS)

static struct audit_scope scope_of(struct bench *b, uint64_t look_ns)
{
	return (struct audit_scope){ .host = &b->host,
				     .root_fd = -1,
				     .goal = &b->goal,
				     .knobs = b->plugins->knobs,
				     .look_ns = look_ns,
				     .identify = b->identify };
}

int bench_audit(struct bench *b, struct err *e)
{
	const struct audit_scope scope = scope_of(b, LOOK_NS);
	struct audit a = {};
	int r = machine_audit(&scope, &a, e);

	if (r < 0)
		return r;
	audit_release(&b->audit);
	b->audit = a;
	return 0;
}

static int mend_one(struct bench *b, const char *check, const struct instance *knob, struct err *e)
{
	struct mended *v = realloc(b->mended, (b->nr_mended + 1) * sizeof(*v));
	struct instances list = {};
	const char *forbidden;
	struct err why = {};
	int r;

	if (!v)
		return err_nomem(e, "audit");
	b->mended = v;
	v += b->nr_mended;
	*v = (struct mended){};
	r = instance_copy(knob, &v->knob, e);
	if (r < 0)
		return r;
	b->nr_mended++;
	forbidden = audit_goal_forbids(&b->goal, check, knob);
	if (forbidden) {
		r = err_set(&why, -EBUSY, "%s", forbidden);
	} else {
		r = instances_add(&list, knob, &why);
		if (r >= 0)
			r = bench_apply(b, &list, &v->applied, &why);
		instances_release(&list);
	}
	if (r == -ENOTRECOVERABLE) {
		*e = why;
		return r;
	}
	if (r < 0)
		v->why = strdup(why.msg);
	return r < 0 && !v->why ? err_nomem(e, "audit") : 0;
}

int bench_mend(struct bench *b, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < b->audit.nr_findings && r >= 0; i++) {
		const struct finding *f = &b->audit.findings[i];

		/* a note touches nothing that is measured: the machine stays as it is */
		for (size_t k = 0; k < f->knobs.nr && f->severity != SEVERITY_NOTE && r >= 0; k++)
			r = mend_one(b, f->check, &f->knobs.v[k], e);
	}
	return r < 0 || !b->nr_mended ? r : bench_audit(b, e);
}

int bench_unmend(struct bench *b, struct err *e)
{
	int r = 0;

	while (b->nr_mended > 0) {
		struct mended *m = &b->mended[--b->nr_mended];
		struct err why = {};

		if (m->applied && variant_undo(m->applied, &why) < 0) {
			*e = why;
			r = why.code;
		}
		instance_release(&m->knob);
		free(m->why);
	}
	free(b->mended);
	b->mended = NULL;
	return r;
}

void bench_audit_release(struct bench *b)
{
	audit_release(&b->audit);
	audit_release(&b->facts);
	audit_goal_release(&b->goal);
}

static int say(struct sample_sink *sink, const struct fact *now, const char *before, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};

	buf_printf(&text, "%s was \"%s\" in the trial before, now it is \"%s\"", now->key, before,
		   now->value);
	return sample_event(sink, "environment", SEVERITY_WARN, 0, buf_str(&text), e);
}

int bench_changes(struct bench *b, struct sample_sink *sink, struct err *e)
{
	const struct audit_scope scope = scope_of(b, 0);
	struct audit now = {};
	int r = machine_facts(&scope, &now, e);

	for (size_t i = 0; i < now.nr_facts && r >= 0; i++) {
		const char *before = audit_fact(&b->facts, now.facts[i].key);

		if (before && strcmp(before, now.facts[i].value) != 0)
			r = say(sink, &now.facts[i], before, e);
	}
	audit_release(&b->facts);
	b->facts = now;
	return r;
}

static struct json_object *one_mended(const struct mended *m)
{
	struct json_object *o = json_object_new_object();
	const struct instances list = { .v = (struct instance *)(uintptr_t)&m->knob, .nr = 1 };
	struct json_object *knobs = instances_to_json(&list);

	json_object_object_add(o, "knob", json_object_get(json_object_array_get_idx(knobs, 0)));
	json_object_put(knobs);
	json_object_object_add(o, "refused", m->why ? json_object_new_string(m->why) : NULL);
	return o;
}

struct json_object *bench_env(const struct bench *b)
{
	struct json_object *o = audit_env(&b->audit), *said = NULL;
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < b->nr_mended; i++)
		json_object_array_add(list, one_mended(&b->mended[i]));
	if (json_object_object_get_ex(o, "audit", &said))
		json_object_object_add(said, "mended", list);
	else
		json_object_put(list);
	return o;
}
