// SPDX-License-Identifier: GPL-3.0-or-later
/* What the plan does not name, and what this bench does when nothing is changed. */
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "report/format.h"
#include "report/model.h"
#include "report/page.h"
#include "report/svg.h"

/* The rest is in the JSON. */
#define ROWS_MAX 60

static void cell(struct buf *out, const char *name, const struct buf *text)
{
	buf_printf(out, "<td data-name=\"%s\">", name);
	svg_escape(out, buf_str(text));
	buf_puts(out, "</td>");
}

static void value(struct buf *out, const char *name, double v, const char *unit)
{
	_cleanup_(buf_release) struct buf b = {};

	format_value(&b, v, unit);
	cell(out, name, &b);
}

static void row(const struct report *rep, const struct exploration *x, struct buf *out)
{
	const struct explored *what = &rep->explored.v[x->v.query];
	_cleanup_(buf_release) struct buf name = {}, effect = {}, interval = {}, p = {};

	explore_name(rep, what, &name);
	buf_puts(out, "<tr><th scope=\"row\" class=\"text\">");
	svg_escape(out, buf_str(&name));
	buf_puts(out, "</th>");
	if (rep->plan->nr_variants > 2) {
		buf_puts(out, "<td class=\"left\" data-name=\"variant\">");
		page_variant(rep, x->v.variant, out);
		buf_puts(out, "</td>");
	}
	value(out, "baseline", x->v.baseline, what->unit);
	value(out, "variant", x->v.value, what->unit);
	format_effect(&effect, what->unit, &x->v);
	cell(out, "change", &effect);
	format_interval(&interval, what->unit, &x->v);
	cell(out, "interval", &interval);
	buf_printf(&p, "%.3g", x->v.p);
	cell(out, "p", &p);
	buf_puts(out, "</tr>\n");
}

static void head(const struct report *rep, struct buf *out)
{
	static const char *const heads[] = { "with baseline", "with variant", "change", "interval",
					     "p" };

	buf_puts(out, "<thead><tr><th scope=\"col\" class=\"left\">metric</th>");
	if (rep->plan->nr_variants > 2)
		buf_puts(out, "<th scope=\"col\" class=\"left\">variant</th>");
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		buf_printf(out, "<th scope=\"col\">%s</th>", heads[i]);
	buf_puts(out, "</tr></thead>");
}

void section_explore(const struct report *rep, struct buf *out)
{
	const struct explored_list *l = &rep->explored;

	buf_puts(out, "<section id=\"exploratory\"><h2>Exploratory</h2>\n");
	buf_printf(out,
		   "<p class=\"hint\">None of this is part of the verdict. %zu of %zu other "
		   "comparisons differ; about %.0f%% of those are expected to be false "
		   "(Benjamini-Hochberg).</p>\n",
		   l->nr_results, l->nr_tested, 100 * EXPLORE_RATE);
	if (l->nr_results) {
		buf_puts(out, "<div class=\"scroll\"><table class=\"stack\">");
		head(rep, out);
		buf_puts(out, "<tbody>\n");
		for (size_t i = 0; i < l->nr_results && i < ROWS_MAX; i++)
			row(rep, &l->results[i], out);
		buf_puts(out, "</tbody></table></div>\n");
	}
	if (l->nr_results > ROWS_MAX)
		buf_printf(out, "<p class=\"hint after\">and %zu more: irqlab report --json</p>\n",
			   l->nr_results - ROWS_MAX);
	buf_puts(out, "</section>\n");
}

void section_noise(const struct report *rep, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		const struct verdict *v = &rep->verdicts[i];
		_cleanup_(buf_release) struct buf b = {};

		format_noise(&b, rep, v);
		if (b.len == 0)
			continue;
		buf_puts(out,
			 any ? "" : "<h3>Noise floor of this bench</h3><ul class=\"notes\">\n");
		any = true;
		buf_puts(out, "<li><div><code>");
		svg_escape(out, rep->plan->metrics[v->query].text);
		buf_puts(out, "</code> ");
		if (rep->plan->nr_variants > 2)
			page_variant(rep, v->variant, out);
		svg_escape(out, buf_str(&b));
		buf_puts(out, "</div></li>\n");
	}
	buf_puts(out, any ? "</ul>\n" : "");
}
