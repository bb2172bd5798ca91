// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "sample/sample.h"
#include "variant/variant_parts.h"

/* Of what appears or goes at once, so many are named; the others are counted. */
#define NAMED_MAX 4

/* "napi/eth0-9 (tid 5), ... and 3 more", as it grows. */
struct names {
	struct buf text;
	size_t nr;
};

static void names_release(struct names *n)
{
	buf_release(&n->text);
}

static void add_name(struct names *n, const struct item *it)
{
	if (n->nr++ >= NAMED_MAX)
		return;
	if (n->nr > 1)
		buf_puts(&n->text, ", ");
	knob_describe(it->ops, it->target, &n->text);
	buf_printf(&n->text, " = \"%s\"", it->value ? it->value : "");
}

/* "1.2 s into the window" */
static void put_time(struct buf *out, int64_t t_ns)
{
	if (t_ns < 0) {
		buf_puts(out, "before the window");
		return;
	}
	text_si(out, (double)t_ns * 1e-9, "s");
	buf_puts(out, " into the window");
}

/* What one call of variant_refresh() works on. */
struct round {
	struct applied *a;
	int64_t t_ns;
	struct sample_sink *sink;
};

static int emit(const struct round *r, enum severity severity, struct buf *text, struct err *e)
{
	if (text->failed)
		return err_nomem(e, "variant");
	return sample_event(r->sink, severity == SEVERITY_NOTE ? "variant" : "health.variant",
			    severity, r->t_ns, buf_str(text), e);
}

static int emit_names(const struct round *r, const struct names *n, const char *what, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};

	if (n->nr == 0)
		return 0;
	buf_printf(&text, "%s ", what);
	put_time(&text, r->t_ns);
	buf_printf(&text, ": %s", buf_str(&n->text));
	if (n->nr > NAMED_MAX)
		buf_printf(&text, " and %zu more", n->nr - NAMED_MAX);
	text.failed |= n->text.failed;
	return emit(r, SEVERITY_NOTE, &text, e);
}

static bool is_known(const struct applied *a, size_t use, const char *target)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->v[i].use == use && knob_same_target(a->v[i].ops, a->v[i].target, target))
			return true;
	return false;
}

/* Some of the trial was measured with a part of the machine in another state. */
static int refuse(const struct round *r, const struct knob_ops *ops, const struct knob_setting *s,
		  const struct err *why, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};

	knob_describe(ops, s->target, &text);
	buf_puts(&text, " appeared ");
	put_time(&text, r->t_ns);
	buf_printf(&text, " and could not be set to \"%s\": %s", s->value, why->msg);
	return emit(r, SEVERITY_VETO, &text, e);
}

static int set_new(const struct round *r, size_t use, const struct knob_setting *s,
		   struct names *names, struct err *e)
{
	struct applied *a = r->a;
	size_t before = a->nr;
	struct err why = {};
	struct item *it;
	int set = applied_set(a, use, s, &why);

	if (a->nr == before)
		return set < 0 ? refuse(r, a->uses[use].ops, s, &why, e) : 0;
	it = &a->v[before];
	if (set < 0) {
		it->refused = true;
		return refuse(r, it->ops, s, &why, e);
	}
	if (set == 0)
		return 0;
	it->settled = it->change && it->value;
	add_name(names, it);
	if (r->a->in_window)
		witness_begin_item(a, it, &why);
	return 0;
}

/* Only the first time: it would be the same some times a second. */
static int cannot_ask(const struct round *r, struct use *u, const struct err *why, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};

	if (u->failed)
		return 0;
	u->failed = true;
	buf_printf(&text, "knob %s: whether more has appeared could not be found out: %s",
		   u->ops->plugin.name, why->msg);
	return emit(r, SEVERITY_WARN, &text, e);
}

static bool is_due(const struct applied *a, struct use *u)
{
	uint64_t stamp = 0;
	bool due = u->again;

	if (!u->appears || !u->ops->appears(a->host, &u->inst, &stamp))
		return false;
	/* a thread has its name a moment after its number */
	u->again = stamp == 0 || stamp != u->stamp;
	u->stamp = stamp;
	return due || u->again;
}

static int refresh_use(const struct round *r, size_t use, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	_cleanup_(names_release) struct names names = {};
	struct use *u = &r->a->uses[use];
	struct err why = {};
	int rc;

	if (!is_due(r->a, u))
		return 0;
	rc = u->ops->resolve(r->a->host, &u->inst, &l, &why);
	if (rc < 0)
		return rc == -ENOENT ? 0 : cannot_ask(r, u, &why, e);
	for (size_t i = 0; i < l.nr; i++) {
		if (is_known(r->a, use, l.v[i].target))
			continue;
		rc = set_new(r, use, &l.v[i], &names, e);
		if (rc < 0)
			return rc;
	}
	return emit_names(r, &names, "appeared", e);
}

static bool is_gone(const struct applied *a, const struct item *it)
{
	_cleanup_(freep) char *now = NULL;
	struct err ignored = {};

	return knob_is_gone(it->ops->read(a->host, it->target, &now, &ignored));
}

/* One warning when the last of what a pattern named is gone. */
static int note_all_gone(const struct round *r, size_t use, size_t alive, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	struct use *u = &r->a->uses[use];
	bool before = u->all_gone;

	u->all_gone = alive == 0;
	if (alive || before)
		return 0;
	buf_printf(&text, "knob %s: nothing is left", u->ops->plugin.name);
	for (size_t i = 0; i < u->inst.nr_settings; i++)
		buf_printf(&text, "%s%s: %s", i ? ", " : " of { ", u->inst.settings[i].key,
			   u->inst.settings[i].value);
	buf_puts(&text, " }: what was set has no effect any more");
	return emit(r, SEVERITY_WARN, &text, e);
}

static int note_gone_of(const struct round *r, size_t use, struct err *e)
{
	_cleanup_(names_release) struct names names = {};
	size_t alive = 0;
	int rc;

	for (size_t i = 0; i < r->a->nr; i++) {
		struct item *it = &r->a->v[i];

		if (it->use != use || it->gone)
			continue;
		it->gone = is_gone(r->a, it);
		if (it->gone)
			add_name(&names, it);
		else
			alive++;
	}
	rc = emit_names(r, &names, "gone", e);
	return rc < 0 ? rc : note_all_gone(r, use, alive, e);
}

int applied_note_gone(struct applied *a, int64_t t_ns, struct sample_sink *sink, struct err *e)
{
	const struct round r = { .a = a, .t_ns = t_ns, .sink = sink };
	int rc = 0;

	for (size_t i = 0; i < a->nr_uses && rc >= 0; i++)
		if (a->uses[i].appears)
			rc = note_gone_of(&r, i, e);
	return rc;
}

bool variant_appears(const struct applied *a)
{
	for (size_t i = 0; a && i < a->nr_uses; i++)
		if (a->uses[i].appears)
			return true;
	return false;
}

int variant_refresh(struct applied *a, int64_t t_ns, struct sample_sink *sink, struct err *e)
{
	const struct round r = { .a = a, .t_ns = t_ns, .sink = sink };
	int rc = 0;

	if (!a)
		return 0;
	for (size_t i = 0; i < a->nr_uses && rc >= 0; i++)
		rc = refresh_use(&r, i, e);
	return rc < 0 ? rc : applied_note_gone(a, t_ns, sink, e);
}
