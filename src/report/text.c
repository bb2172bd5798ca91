// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "report/format.h"
#include "report/model.h"
#include "report/table.h"
#include "report/text_parts.h"
#include "sample/hist.h"

static void text_head(const struct report *rep, struct buf *out)
{
	_cleanup_(buf_release) struct buf b = {};

	format_wrap(out, "", 0, rep->run.name);
	buf_printf(&b, "run %" PRId64 " of ", rep->run.id);
	format_wall(&b, rep->run.started_ns);
	buf_printf(&b, ", %zu trials in ", rep->nr_trials);
	format_blocks(&b, rep);
	if (rep->run.aa)
		buf_printf(&b, "; A/A: every variant was \"%s\"", model_variant(rep, 0));
	if (rep->run.state != RUN_DONE)
		buf_puts(&b, ", not complete (irqlab run --resume goes on)");
	format_wrap(out, "", 0, buf_str(&b));
	buf_putc(out, '\n');
}

static void text_ergo(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		_cleanup_(buf_release) struct buf b = {};

		format_ergo(&b, rep, &rep->verdicts[i]);
		format_wrap(out, "ergo: ", 6, buf_str(&b));
	}
	if (rep->nr_verdicts == 0)
		buf_puts(out, "ergo: the plan names no metric to judge.\n");
	buf_putc(out, '\n');
}

static void verdict_cells(const struct report *rep, struct table *t, const struct verdict *v)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	_cleanup_(buf_release) struct buf b = {};

	table_name(t, m->text, FORMAT_COLUMNS - 2);
	table_value(t, 1, v->baseline, m->unit);
	table_value(t, 2, v->value, m->unit);
	format_effect(&b, rep->plan->metrics[v->query].unit, v);
	table_cell(t, 3, buf_str(&b));
	buf_reset(&b);
	format_interval(&b, rep->plan->metrics[v->query].unit, v);
	table_cell(t, 4, v->word == VERDICT_VETOED ? "-" : buf_str(&b));
	table_count(t, 5, v->blocks);
	table_cell(t, 6, verdict_word(v->word));
}

static void text_scales(const struct report *rep, unsigned int variant, struct buf *out)
{
	for (int scale = VERDICT_SCALE_RATIO; scale <= VERDICT_SCALE_UNIT; scale++) {
		_cleanup_(buf_release) struct buf b = {};

		format_scale(&b, rep, (enum verdict_scale)scale, variant);
		if (b.len)
			format_wrap(out, "  ", 4, buf_str(&b));
	}
}

static void text_verdicts(const struct report *rep, struct buf *out)
{
	for (unsigned int variant = 1; variant < rep->plan->nr_variants; variant++) {
		_cleanup_(table_release) struct table t = { .columns = 7 };
		_cleanup_(buf_release) struct buf head = {};
		bool any = false;

		buf_printf(&head, "metric (%s)", format_centre(rep, variant));
		table_cell(&t, 0, buf_str(&head));
		/* names of variants as headings: long ones would push the numbers off the line */
		table_cell(&t, 1,
			   strlen(model_variant(rep, 0)) <= 11 ? model_variant(rep, 0)
							       : "baseline");
		table_cell(&t, 2,
			   strlen(model_variant(rep, variant)) <= 11 ? model_variant(rep, variant)
								     : "variant");
		table_cell(&t, 3, "change");
		table_cell(&t, 4, "interval");
		table_cell(&t, 5, "n");
		table_cell(&t, 6, "verdict");
		for (size_t i = 0; i < rep->nr_verdicts; i++) {
			if (rep->verdicts[i].variant != variant)
				continue;
			verdict_cells(rep, &t, &rep->verdicts[i]);
			any = true;
		}
		if (any) {
			table_print(out, &t, true);
			text_scales(rep, variant, out);
			buf_putc(out, '\n');
		}
	}
}

static void text_totals(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->totals.nr; i++) {
		const struct total *t = &rep->totals.v[i];
		bool ratio = strcmp(t->unit, "ratio") == 0;
		_cleanup_(buf_release) struct buf b = {};

		buf_printf(&b, "%s (%s): ", model_health(t->metric), t->metric);
		for (unsigned int k = 0; k < rep->plan->nr_variants; k++) {
			const struct total_cell *c = &t->cell[k];

			buf_printf(&b, "%s%s ", k ? ", " : "", model_variant(rep, k));
			if (!c->trials) {
				buf_puts(&b, "not measured");
				continue;
			}
			format_value(&b, ratio ? c->sum / (double)c->trials : c->sum, t->unit);
			buf_puts(&b, ratio ? " (at most " : "");
			if (ratio)
				format_value(&b, c->max, t->unit);
			buf_puts(&b, ratio ? ")" : "");
		}
		format_wrap(out, "  ", 4, buf_str(&b));
	}
}

/* Lists longer than this go on in the JSON. */
#define NOTES_MAX 12

static void text_more(const struct note_list *l, const char *noun, struct buf *out)
{
	_cleanup_(buf_release) struct buf b = {};

	if (l->nr <= NOTES_MAX)
		return;
	buf_puts(&b, "and ");
	format_count(&b, l->nr - NOTES_MAX, noun);
	buf_puts(&b, ": irqlab report --json has them all");
	format_wrap(out, "  ", 4, buf_str(&b));
}

static void text_warnings(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->warnings.nr && i < NOTES_MAX; i++) {
		const struct note *n = &rep->warnings.v[i];
		_cleanup_(buf_release) struct buf b = {};

		buf_printf(&b, "%s, %zu x in ", n->severity == SEVERITY_VETO ? "veto" : "warning",
			   n->count);
		format_trials(&b, rep, n->trials, n->nr_trials);
		buf_printf(&b, "%s: %s", n->texts_differ ? ", such as" : "", n->text);
		format_wrap(out, "  ", 4, buf_str(&b));
	}
	text_more(&rep->warnings, "other warning", out);
}

static void text_rejected(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->rejected.nr && i < NOTES_MAX; i++) {
		const struct note *n = &rep->rejected.v[i];
		_cleanup_(buf_release) struct buf b = {};

		buf_printf(&b, "%s: ", n->state == TRIAL_FAILED ? "failed" : "vetoed");
		format_trials(&b, rep, n->trials, n->nr_trials);
		buf_printf(&b, "%s: %s", n->texts_differ ? ", such as" : "", n->text);
		format_wrap(out, "  ", 4, buf_str(&b));
	}
	text_more(&rep->rejected, "other reason", out);
}

static void text_witnesses(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->witnesses.nr && i < NOTES_MAX; i++) {
		const struct note *n = &rep->witnesses.v[i];
		_cleanup_(buf_release) struct buf b = {};

		buf_printf(&b, "witness: %s: %s (%zu of ", model_variant(rep, n->variant), n->text,
			   n->nr_trials);
		format_count(&b, model_trials(rep, n->variant), "trial");
		if (n->texts_differ)
			buf_printf(&b, "; numbers of trial %u",
				   rep->trials[n->example].position + 1);
		buf_putc(&b, ')');
		format_wrap(out, "  ", 4, buf_str(&b));
	}
	text_more(&rep->witnesses, "other witness line", out);
}

static void text_beside(const struct report *rep, struct buf *out)
{
	size_t before;

	buf_puts(out, "beside it:\n");
	before = out->len;
	text_totals(rep, out);
	text_rejected(rep, out);
	for (size_t i = 0; i < rep->drift.nr; i++)
		format_wrap(out, "  ", 4, rep->drift.v[i].text);
	text_levels(rep, out);
	text_witnesses(rep, out);
	text_warnings(rep, out);
	text_environment(rep, out);
	if (out->len == before)
		buf_puts(out,
			 "  nothing: no missed wake-ups or steal were measured, no warnings\n");
	buf_putc(out, '\n');
}

static void dist_cells(struct table *t, const struct hist *h)
{
	static const double fractions[] = { 0.5, 0.99, 0.999, 1 };

	table_count(t, 1, h->total);
	for (unsigned int i = 0; i < ARRAY_SIZE(fractions); i++) {
		uint64_t ns = 0;

		if (hist_quantile(h, fractions[i], &ns) < 0)
			table_cell(t, 2 + i, "-");
		else
			table_value(t, 2 + i, (double)ns, "ns");
	}
}

static void dist_name(const struct report *rep, const struct dist *d, struct buf *out)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_printf(&b, "%s%s%s%s@%s", d->metric, *d->labels ? "[" : "", d->labels,
		   *d->labels ? "]" : "", model_scenario(rep, d->scenario));
	format_wrap(out, "  ", 4, buf_str(&b));
}

static void text_dists(const struct report *rep, struct buf *out)
{
	static const char *const heads[] = { "", "n", "p50", "p99", "p99.9", "max" };
	_cleanup_(table_release) struct table t = { .columns = ARRAY_SIZE(heads) };
	const char *at;

	if (rep->dists.nr == 0)
		return;
	buf_puts(out, "latency over all good trials; a maximum grows with its n:\n");
	for (unsigned int i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&t, i, heads[i]);
	for (size_t i = 0; i < rep->dists.nr; i++) {
		for (unsigned int k = 0; k < rep->plan->nr_variants; k++) {
			/* 60 columns at most are left by numbers of any size */
			table_name(&t, model_variant(rep, k), 18);
			dist_cells(&t, rep->dists.v[i].hist[k]);
		}
	}
	at = buf_str(&t.cells);
	table_row(out, &t, &at, false, false);
	for (size_t i = 0; i < rep->dists.nr; i++) {
		dist_name(rep, &rep->dists.v[i], out);
		for (unsigned int k = 0; k < rep->plan->nr_variants; k++)
			table_row(out, &t, &at, false, false);
	}
	format_wrap(out, "  ", 4, "pooled over trials, so that one bad trial can make a tail");
	buf_putc(out, '\n');
}

int report_text(const struct report *rep, struct buf *out, struct err *e)
{
	_cleanup_(buf_release) struct buf repeat = {};

	text_head(rep, out);
	text_ergo(rep, out);
	text_verdicts(rep, out);
	text_derived(rep, out);
	text_exchange(rep, out);
	text_noise(rep, out);
	text_beside(rep, out);
	text_dists(rep, out);
	text_extremes(rep, out);
	text_explore(rep, out);
	format_repeat(&repeat, rep);
	format_wrap(out, "repeat: ", 8, buf_str(&repeat));
	return out->failed ? err_nomem(e, "report") : 0;
}
