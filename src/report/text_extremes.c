// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/text_parts.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "report/format.h"
#include "report/model.h"

static void name(struct buf *out, const struct report *rep, const struct extremes *x)
{
	buf_printf(out, "%s%s%s%s@%s, %s", x->metric, *x->labels ? "[" : "", x->labels,
		   *x->labels ? "]" : "", model_scenario(rep, x->scenario),
		   model_variant(rep, x->variant));
}

static void number_of(struct buf *out, const struct extremes *x)
{
	buf_printf(out, "N = %zu maxima of ", x->is.n);
	format_count(out, x->block_s, "second");
}

static void good(struct buf *out, const struct report *rep, const struct extremes *x)
{
	_cleanup_(buf_release) struct buf b = {};

	name(&b, rep, x);
	buf_puts(&b, ": ");
	format_value(&b, x->is.level.estimate, "ns");
	buf_printf(&b, ", %.0f%% profile interval ", 100 * (1 - EXTREMES_ALPHA));
	format_value(&b, x->is.level.low, "ns");
	buf_puts(&b, " to ");
	format_value(&b, x->is.level.high, "ns");
	buf_puts(&b, " (");
	number_of(&b, x);
	buf_puts(&b, ", the largest ");
	format_value(&b, x->largest, "ns");
	buf_puts(&b, ")");
	format_wrap(out, "  ", 4, buf_str(&b));
}

static size_t count_of(const struct extremes_list *l, enum extreme_word w)
{
	size_t n = 0;

	for (size_t i = 0; i < l->nr; i++)
		n += l->v[i].is.word == w;
	return n;
}

/* Which gate stood in the way: one line for all that one did. */
static void refused(struct buf *out, const struct report *rep, enum extreme_word w)
{
	const struct extremes_list *l = &rep->extremes;
	size_t nr = count_of(l, w), most = 0, shown = 0;
	_cleanup_(buf_release) struct buf b = {};

	if (nr == 0)
		return;
	for (size_t i = 0; i < l->nr; i++)
		most = l->v[i].is.word == w && l->v[i].is.n > most ? l->v[i].is.n : most;
	buf_printf(&b, "no extrapolation of maxima, %s", extreme_word(w));
	if (w == EXTREME_FEW)
		buf_printf(&b, " (at most %zu, of %d needed)", most, EXTREME_MIN);
	/* where it is the same everywhere the names say nothing */
	for (size_t i = 0; i < l->nr && nr < l->nr; i++) {
		if (l->v[i].is.word != w)
			continue;
		buf_puts(&b, shown++ ? "; " : ": ");
		name(&b, rep, &l->v[i]);
	}
	format_wrap(out, "", 2, buf_str(&b));
}

void text_extremes(const struct report *rep, struct buf *out)
{
	const struct extremes_list *l = &rep->extremes;

	if (l->nr == 0)
		return;
	if (count_of(l, EXTREME_GOOD))
		format_wrap(out, "EXTRAPOLATION ", 2,
			    "beyond what was measured, no part of any verdict: the latency passed "
			    "once an hour, should things go on as in these trials (extreme value "
			    "law of the maxima):");
	for (size_t i = 0; i < l->nr; i++)
		if (l->v[i].is.word == EXTREME_GOOD)
			good(out, rep, &l->v[i]);
	for (int w = EXTREME_GOOD + 1; w <= EXTREME_MISFIT; w++)
		refused(out, rep, (enum extreme_word)w);
	buf_putc(out, '\n');
}
