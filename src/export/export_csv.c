// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "export/forms.h"
#include "report/model.h"

/*
 * RFC 4180, but for the line ends, which are those of this system.  Numbers are as the records
 * have them (ns, bit/s), undivided; what is not there is an empty cell.
 */

/* A cell and the comma before it. */
static void cell(struct buf *out, bool first, const char *text)
{
	if (!first)
		buf_putc(out, ',');
	if (!strpbrk(text, ",\"\r\n")) {
		buf_puts(out, text);
		return;
	}
	buf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_putc(out, '"');
		buf_putc(out, *text);
	}
	buf_putc(out, '"');
}

static void cell_number(struct buf *out, double v)
{
	buf_putc(out, ',');
	if (isfinite(v))
		buf_printf(out, "%.17g", v);
}

/* What every row begins with: trial,block,scenario,variant,state */
static void trial_cells(struct buf *out, const struct report *rep, const struct trial_info *t)
{
	buf_printf(out, "%u,%u", t->position + 1, t->block + 1);
	cell(out, false, model_scenario(rep, t->scenario));
	cell(out, false, model_variant(rep, t->variant));
	cell(out, false, model_state_word(t->state));
}

static void trials_head(struct buf *out, const struct report *rep)
{
	buf_puts(out, "trial,block,scenario,variant,state,reason,started_ns,window_ns,seed");
	for (size_t i = 0; i < rep->plan->nr_metrics; i++) {
		const struct plan_metric *m = &rep->plan->metrics[i];
		_cleanup_(buf_release) struct buf name = {};

		buf_printf(&name, "%s (%s)", m->text, m->unit);
		cell(out, false, buf_str(&name));
	}
	buf_putc(out, '\n');
}

static int write_trials(const struct export_source *src, struct buf *out, struct err *e)
{
	const struct report *rep = src->report;

	trials_head(out, rep);
	for (size_t i = 0; i < rep->nr_trials; i++) {
		const struct trial_info *t = &rep->trials[i];

		trial_cells(out, rep, t);
		cell(out, false, t->reason ? t->reason : "");
		buf_printf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, t->started_ns, t->window_ns,
			   t->seed);
		for (size_t k = 0; k < rep->plan->nr_metrics; k++)
			cell_number(out,
				    model_is_of(rep, i, k) ? model_value(rep, i, k) : (double)NAN);
		buf_putc(out, '\n');
	}
	return out->failed ? err_nomem(e, "CSV") : 0;
}

static void scalar_row(struct buf *out, const struct report *rep, const struct trial_info *t,
		       const struct record *rec)
{
	trial_cells(out, rep, t);
	cell(out, false, rec->metric);
	cell(out, false, rec->labels);
	cell(out, false, rec->unit);
	cell_number(out, rec->value);
	buf_putc(out, '\n');
}

static void series_rows(struct buf *out, const struct report *rep, const struct trial_info *t,
			const struct record *rec)
{
	for (size_t i = 0; i < rec->nr_points; i++) {
		trial_cells(out, rep, t);
		cell(out, false, rec->metric);
		cell(out, false, rec->labels);
		cell(out, false, rec->unit);
		buf_printf(out, ",%" PRId64, rec->points[i].t_ns);
		cell_number(out, rec->points[i].v);
		buf_putc(out, '\n');
	}
}

/* Rows of every record of @kind, of one trial at a time: a run's series need not fit in memory. */
static int write_records(const struct export_source *src, enum record_kind kind, struct buf *out,
			 struct err *e)
{
	const struct report *rep = src->report;

	for (size_t i = 0; i < rep->nr_trials; i++) {
		const struct trial_info *t = &rep->trials[i];
		_cleanup_(record_list_release) struct record_list l = {};
		int r;

		if (src->trial && src->trial != t)
			continue;
		r = store_records(src->store, t->id, kind, NULL, &l, e);
		if (r < 0)
			return err_wrap(e, "trial %u", t->position + 1);
		for (size_t k = 0; k < l.nr; k++) {
			if (kind == RECORD_SCALAR)
				scalar_row(out, rep, t, l.v[k]);
			else
				series_rows(out, rep, t, l.v[k]);
		}
	}
	return out->failed ? err_nomem(e, "CSV") : 0;
}

static int write_scalars(const struct export_source *src, struct buf *out, struct err *e)
{
	buf_puts(out, "trial,block,scenario,variant,state,metric,labels,unit,value\n");
	return write_records(src, RECORD_SCALAR, out, e);
}

static int write_series(const struct export_source *src, struct buf *out, struct err *e)
{
	buf_puts(out, "trial,block,scenario,variant,state,metric,labels,unit,t_ns,value\n");
	return write_records(src, RECORD_SERIES, out, e);
}

static int write_exploratory(const struct export_source *src, struct buf *out, struct err *e)
{
	const struct report *rep = src->report;
	const struct explored_list *l = &rep->explored;

	buf_puts(out, "metric,labels,scenario,unit,variant,test,scale,"
		      "baseline,value,change,low,high,p,alpha,blocks\n");
	for (size_t i = 0; i < l->nr_results; i++) {
		const struct verdict *v = &l->results[i].v;
		const struct explored *x = &l->v[v->query];
		const double numbers[] = { v->baseline, v->value, v->change, v->low,
					   v->high,	v->p,	  v->alpha };

		cell(out, true, x->metric);
		cell(out, false, x->labels);
		cell(out, false, model_scenario(rep, x->scenario));
		cell(out, false, x->unit);
		cell(out, false, model_variant(rep, v->variant));
		cell(out, false, verdict_test(v->kind));
		cell(out, false, verdict_scale_word(v->scale));
		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
			cell_number(out, numbers[k]);
		buf_printf(out, ",%zu\n", v->blocks);
	}
	return out->failed ? err_nomem(e, "CSV") : 0;
}

const struct export_ops export_csv_exploratory = {
	.name = "csv-exploratory",
	.help = "a row per number that differs but is not judged",
	.write = write_exploratory,
};

const struct export_ops export_csv = {
	.name = "csv",
	.help = "a row per trial, a column per metric of the plan",
	.write = write_trials,
};

const struct export_ops export_csv_scalars = {
	.name = "csv-scalars",
	.help = "a row per trial and number, all that were measured",
	.write = write_scalars,
};

const struct export_ops export_csv_series = {
	.name = "csv-series",
	.help = "a row per trial, series and point in time",
	.write = write_series,
};
