// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "sample/sample.h"
#include "variant/variant_parts.h"

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
	uint64_t against = moved(it->begin.against, end->against);
	bool asked = end->min_demand == 0 || demand >= end->min_demand;

	if (end->against_of[0] && against > end->max_against) {
		buf_puts(text, "has not the effect it should have: ");
		put_effect(text, end, effect);
		buf_printf(text, ", and %s by %" PRIu64, end->against_of, against);
		if (end->remedy)
			buf_printf(text, "; %s", end->remedy);
		return SEVERITY_VETO;
	}
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

int witness_begin_item(const struct applied *a, struct item *it, struct err *why)
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
	} else if (knob_is_gone(r) && a->uses[it->use].appears && r != -ENOENT) {
		buf_puts(&text, "was set, and is gone since");
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

static int emit_notes(const struct applied *a, int64_t t_ns, struct sample_sink *sink,
		      struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < a->nr_uses && r >= 0; i++) {
		_cleanup_(buf_release) struct buf text = {};

		if (!a->uses[i].note)
			continue;
		buf_printf(&text, "knob %s: %s", a->uses[i].ops->plugin.name, a->uses[i].note);
		r = text.failed
			    ? err_nomem(e, "variant")
			    : sample_event(sink, "variant", SEVERITY_NOTE, t_ns, buf_str(&text), e);
	}
	return r;
}

int variant_witness(struct applied *a, enum witness_edge edge, int64_t t_ns,
		    struct sample_sink *sink, struct err *e)
{
	int vetoes = 0, r = 0;

	a->in_window = edge == WITNESS_BEGIN;
	if (edge == WITNESS_END)
		r = emit_notes(a, t_ns, sink, e);
	if (edge == WITNESS_END && r >= 0)
		r = applied_note_gone(a, t_ns, sink, e);
	for (size_t i = 0; i < a->nr && r >= 0; i++) {
		struct item *it = &a->v[i];
		struct err why = {};

		if (it->gone || it->refused || applied_is_superseded(a, i))
			continue;
		if (edge == WITNESS_BEGIN) {
			witness_begin_item(a, it, &why);
			continue;
		}
		r = end_witness(a, it, t_ns, sink, e);
		vetoes += r > 0;
	}
	return r < 0 ? r : vetoes;
}
