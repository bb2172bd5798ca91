// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/text_parts.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "report/format.h"
#include "report/model.h"
#include "report/table.h"

/* The rest is in the JSON. */
#define ROWS_MAX 10

static void row(const struct report *rep, struct table *t, const struct exploration *x)
{
	const struct explored *what = &rep->explored.v[x->v.query];
	_cleanup_(buf_release) struct buf b = {};

	explore_name(rep, what, &b);
	if (rep->plan->nr_variants > 2)
		buf_printf(&b, ", %s", model_variant(rep, x->v.variant));
	table_name(t, buf_str(&b), FORMAT_COLUMNS - 2);
	table_value(t, 1, x->v.baseline, what->unit);
	table_value(t, 2, x->v.value, what->unit);
	buf_reset(&b);
	format_effect(&b, what->unit, &x->v);
	table_cell(t, 3, buf_str(&b));
	buf_reset(&b);
	format_interval(&b, what->unit, &x->v);
	table_cell(t, 4, buf_str(&b));
}

void text_explore(const struct report *rep, struct buf *out)
{
	static const char *const heads[] = { "metric", "baseline", "variant", "change",
					     "interval" };
	const struct explored_list *l = &rep->explored;
	_cleanup_(table_release) struct table t = { .columns = ARRAY_SIZE(heads) };
	_cleanup_(buf_release) struct buf b = {};

	if (l->nr_tested == 0)
		return;
	buf_printf(&b, "%zu of %zu other comparisons differ", l->nr_results, l->nr_tested);
	if (l->nr_results)
		buf_printf(&b,
			   ", of which about %.0f%% are expected to be false (Benjamini-Hochberg); "
			   "none of them is part of the verdict:",
			   100 * EXPLORE_RATE);
	else
		buf_putc(&b, '.');
	format_wrap(out, "exploratory: ", 2, buf_str(&b));
	for (unsigned int i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&t, i, heads[i]);
	for (size_t i = 0; i < l->nr_results && i < ROWS_MAX; i++)
		row(rep, &t, &l->results[i]);
	if (l->nr_results)
		table_print(out, &t, false);
	if (l->nr_results > ROWS_MAX)
		buf_printf(out, "  and %zu more: irqlab report --json has them all\n",
			   l->nr_results - ROWS_MAX);
	buf_putc(out, '\n');
}
