// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/variant.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"
#include "plan/instance.h"
#include "sample/sample.h"
#include "variant/journal.h"
#include "variant/knob.h"

struct item {
	const struct knob_ops *ops;
	char *target;
	char *value;	 /* what must read back; NULL: it cannot be read */
	char *old;	 /* NULL: it cannot be read */
	uint64_t change; /* id in the journal; 0: nothing was changed */
	bool witnessed;	 /* @begin is filled */
	struct witness begin;
};

struct applied {
	const struct host *host;
	struct journal *journal;
	char *boot;
	char *netns;
	struct item *v;
	size_t nr;
};

static void item_release(struct item *it)
{
	free(it->target);
	free(it->value);
	free(it->old);
	*it = (struct item){};
}

static void applied_free(struct applied *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->nr; i++)
		item_release(&a->v[i]);
	free(a->v);
	free(a->boot);
	free(a->netns);
	free(a);
}

static void applied_freep(struct applied **a)
{
	applied_free(*a);
}

/* Appends a copy of @s; the pointer is valid until the next call. */
static struct item *add_item(struct applied *a, const struct knob_ops *ops,
			     const struct knob_setting *s)
{
	struct item it = { .ops = ops, .target = strdup(s->target), .value = strdup(s->value) };
	struct item *v = realloc(a->v, (a->nr + 1) * sizeof(*v));

	if (v)
		a->v = v;
	if (!v || !it.target || !it.value) {
		item_release(&it);
		return NULL;
	}
	a->v[a->nr] = it;
	return &a->v[a->nr++];
}

/* After the write: does it read back as wanted?  Keeps in @it what must read back from now on. */
static int check_written(const struct applied *a, struct item *it, bool blind, struct err *e)
{
	_cleanup_(freep) char *now = NULL;
	int r = it->ops->read(a->host, it->target, &now, e);

	if (r == -ENODATA) {
		free(it->value);
		it->value = NULL;
		return 0;
	}
	if (r < 0)
		return r;
	if (blind && it->old && knob_same(it->ops, now, it->old))
		return err_set(e, -EIO, "still reads \"%s\" as before", now);
	if (!blind && !knob_same(it->ops, now, it->value))
		return err_set(e, -EIO, "wrote \"%s\", but it reads back \"%s\"", it->value, now);
	if (blind) {
		free(it->value);
		it->value = take_ptr(now);
	}
	return 0;
}

/*
 * Does the target belong to a network namespace, so that elsewhere the same name is another thing?
 * That is what would end with a namespace of the run's own: asked of a host that has one.
 */
static bool is_of_netns(const struct applied *a, const struct item *it)
{
	struct host host = *a->host;

	if (host.dut.netns_fd < 0)
		host.dut.netns_fd = 0; /* only looked at, never used */
	return it->ops->ephemeral && it->ops->ephemeral(&host, it->target);
}

/* Journal, write, read back.  On failure @it->change tells undo whether there is work. */
static int change(struct applied *a, struct item *it, bool blind, struct err *e)
{
	struct change c = { .knob = it->ops->plugin.name,
			    .target = it->target,
			    .old = it->old,
			    .new_value = it->value,
			    .boot = a->boot,
			    .netns = is_of_netns(a, it) ? a->netns : NULL,
			    .ephemeral = it->ops->ephemeral &&
					 it->ops->ephemeral(a->host, it->target),
			    .blind = blind,
			    .pid = getpid() };
	int r = journal_begin(a->journal, &c, e);

	if (r < 0)
		return r;
	it->change = c.id;
	r = it->ops->write(a->host, it->target, it->value, e);
	if (r < 0)
		return r;
	r = check_written(a, it, blind, e);
	if (r < 0)
		return r;
	journal_set(a->journal, c.id);
	return 0;
}

static int apply_setting(struct applied *a, const struct knob_ops *ops,
			 const struct knob_setting *s, struct err *e)
{
	struct item *it = add_item(a, ops, s);
	int r;

	if (!it)
		return err_nomem(e, s->target);
	r = ops->read(a->host, it->target, &it->old, e);
	if (r < 0 && r != -ENODATA)
		return r;
	if (it->old && !s->blind && knob_same(ops, it->old, it->value))
		return 0;
	return change(a, it, s->blind, e);
}

static int apply_instance(struct applied *a, const struct knob_ops *const *knobs,
			  const struct instance *inst, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	const struct knob_ops *ops = NULL;
	int r = knob_find(knobs, inst->plugin, &ops, e);

	if (r >= 0)
		r = ops->resolve(a->host, inst, &l, e);
	if (r < 0)
		return err_wrap(e, "knob %s", inst->plugin);
	for (size_t i = 0; i < l.nr; i++) {
		r = apply_setting(a, ops, &l.v[i], e);
		if (r < 0)
			return err_wrap(e, "knob %s: %s = \"%s\"", inst->plugin, l.v[i].target,
					l.v[i].value);
	}
	return 0;
}

/* Find mistakes before anything is changed. */
static int resolve_all(const struct host *host, const struct knob_ops *const *knobs,
		       const struct instances *list, struct err *e)
{
	for (size_t i = 0; i < list->nr; i++) {
		_cleanup_(knob_settings_release) struct knob_settings l = {};
		const struct knob_ops *ops = NULL;
		int r = knob_find(knobs, list->v[i].plugin, &ops, e);

		if (r < 0)
			return r;
		r = ops->usable(host, e);
		if (r >= 0)
			r = ops->resolve(host, &list->v[i], &l, e);
		if (r < 0 && !(r == -ENOENT && i > 0))
			return err_wrap(e, "knob %s", list->v[i].plugin);
	}
	return 0;
}

/* Set back and read back, whatever it is now: during the run the setting is ours. */
static int undo_item(const struct applied *a, const struct item *it, struct err *e)
{
	_cleanup_(freep) char *now = NULL, *after = NULL;
	int r = it->ops->read(a->host, it->target, &now, e);

	if (knob_is_gone(r) || (r >= 0 && it->old && knob_same(it->ops, now, it->old)))
		return 0;
	r = it->ops->write(a->host, it->target, it->old ? it->old : "", e);
	if (r < 0)
		return r;
	r = it->ops->read(a->host, it->target, &after, e);
	if (r == -ENODATA || knob_is_gone(r))
		return 0;
	if (r < 0)
		return r;
	if (it->old && !knob_same(it->ops, after, it->old))
		return err_set(e, -EIO, "wrote \"%s\", but it reads back \"%s\"", it->old, after);
	return 0;
}

static int undo_all(const struct applied *a, struct err *e)
{
	_cleanup_(buf_release) struct buf list = {};
	size_t failed = 0;

	for (size_t i = a->nr; i-- > 0;) {
		const struct item *it = &a->v[i];
		struct err why = {};
		int r;

		if (!it->change)
			continue;
		r = undo_item(a, it, &why);
		if (r >= 0)
			r = journal_done(a->journal, it->change, &why);
		if (r >= 0)
			continue;
		buf_printf(&list, "%s%s %s = \"%s\": %s", failed++ ? "; " : "",
			   it->ops->plugin.name, it->target, it->old ? it->old : "", why.msg);
	}
	if (failed)
		return err_set(e, -EIO,
			       "%zu settings were not set back (irqlab restore tries again): %s",
			       failed, buf_str(&list));
	return 0;
}

int variant_undo(struct applied *a, struct err *e)
{
	int r = a ? undo_all(a, e) : 0;

	applied_free(a);
	return r;
}

static int undo_after_failure(struct applied *a, int r, struct err *e)
{
	struct err undo = {};

	if (variant_undo(a, &undo) >= 0)
		return r;
	err_wrap(e, "%s; this came after", undo.msg);
	e->code = -ENOTRECOVERABLE;
	return e->code;
}

int variant_apply(struct applied **ret, const struct host *host, struct journal *j,
		  const struct knob_ops *const *knobs, const struct instances *list, struct err *e)
{
	_cleanup_(applied_freep) struct applied *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_nomem(e, "variant");
	a->host = host;
	a->journal = j;
	a->netns = journal_netns(host->proc_fd);
	r = journal_boot_id(host->proc_fd, &a->boot, e);
	if (r >= 0)
		r = resolve_all(host, knobs, list, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < list->nr; i++) {
		r = apply_instance(a, knobs, &list->v[i], e);
		if (r < 0)
			return undo_after_failure(take_ptr(a), r, e);
	}
	*ret = take_ptr(a);
	return 0;
}

int variant_verify(const struct applied *a, struct err *e)
{
	for (size_t i = 0; i < a->nr; i++) {
		_cleanup_(freep) char *now = NULL;
		const struct item *it = &a->v[i];
		int r = it->value ? it->ops->read(a->host, it->target, &now, e) : -ENODATA;

		if (r == -ENODATA)
			continue;
		if (r < 0)
			return err_wrap(e, "knob %s: %s", it->ops->plugin.name, it->target);
		if (!knob_same(it->ops, now, it->value))
			return err_set(e, -EIO,
				       "knob %s: %s was set to \"%s\" and is \"%s\" now: something "
				       "else on this machine changes it",
				       it->ops->plugin.name, it->target, it->value, now);
	}
	return 0;
}

static uint64_t moved(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* "run time of napi/dut0-* moved by 763 ms" */
static void put_effect(struct buf *text, const struct witness *w, uint64_t effect)
{
	buf_printf(text, "%s moved by ", w->what);
	if (w->is_ns)
		text_si(text, (double)effect * 1e-9, "s");
	else
		buf_printf(text, "%" PRIu64, effect);
}

/* One sentence on what the witness saw between the edges. */
static enum severity judge(const struct item *it, const struct witness *end, struct buf *text)
{
	uint64_t effect = moved(it->begin.effect, end->effect);
	uint64_t demand = moved(it->begin.demand, end->demand);
	bool asked = end->min_demand == 0 || demand >= end->min_demand;

	if (effect >= end->min_effect) {
		buf_puts(text, "works: ");
		put_effect(text, end, effect);
		return SEVERITY_NOTE;
	}
	if (!asked || end->min_demand == WITNESS_DEMAND_UNKNOWN) {
		buf_puts(text, "idle, so nothing is known of its effect: ");
		put_effect(text, end, effect);
		if (end->of[0])
			buf_printf(text, ", %s by %" PRIu64, end->of, demand);
		return SEVERITY_NOTE;
	}
	buf_puts(text, "had no effect: ");
	put_effect(text, end, effect);
	if (end->of[0])
		buf_printf(text, " while %s moved by %" PRIu64, end->of, demand);
	if (end->remedy)
		buf_printf(text, "; %s", end->remedy);
	return SEVERITY_VETO;
}

static int begin_witness(const struct applied *a, struct item *it, struct err *why)
{
	int r;

	it->witnessed = false;
	it->begin = (struct witness){};
	r = it->ops->witness ? it->ops->witness(a->host, it->target, &it->begin, why) : -ENOENT;
	it->witnessed = r >= 0;
	return r;
}

/* Return: 1 for a veto, 0, or negative when the event could not be emitted. */
static int end_witness(const struct applied *a, const struct item *it, int64_t t_ns,
		       struct sample_sink *sink, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	struct witness end = {};
	struct err why = {};
	enum severity severity = SEVERITY_NOTE;
	int r = it->ops->witness ? it->ops->witness(a->host, it->target, &end, &why) : -ENOENT;

	buf_printf(&text, "%s %s = \"%s\" ", it->ops->plugin.name, it->target,
		   it->value ? it->value : "");
	if (r >= 0 && it->witnessed) {
		severity = judge(it, &end, &text);
	} else if (r == -ENOENT && !it->witnessed) {
		buf_puts(&text, it->value ? "is set; nothing counts its effect"
					  : "was run; nothing reads or counts its effect");
	} else {
		severity = SEVERITY_WARN;
		buf_printf(&text, "is set, but its effect could not be counted: %s",
			   why.msg[0] ? why.msg : "it could not be at the start of the window");
	}
	if (text.failed)
		return err_nomem(e, "witness");
	r = sample_event(sink, "witness", severity, t_ns, buf_str(&text), e);
	return r < 0 ? r : severity == SEVERITY_VETO;
}

int variant_witness(struct applied *a, enum witness_edge edge, int64_t t_ns,
		    struct sample_sink *sink, struct err *e)
{
	int vetoes = 0;

	for (size_t i = 0; i < a->nr; i++) {
		struct err why = {};
		int r;

		if (edge == WITNESS_BEGIN) {
			begin_witness(a, &a->v[i], &why);
			continue;
		}
		r = end_witness(a, &a->v[i], t_ns, sink, e);
		if (r < 0)
			return r;
		vetoes += r;
	}
	return vetoes;
}
