// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "compare_parts.h"

/* Figures of any tool side by side. */

#define FIGURES_SHOWN 24

static const struct import_figure *partner(const struct compare_pair *p, size_t i)
{
	const struct import_figure *f = &p->a->figures[i];
	const struct import_figure *g = import_figure_find(p->b, f->metric, f->labels);

	return g && strcmp(f->unit, g->unit) == 0 ? g : NULL;
}

static double change(const struct import_figure *a, const struct import_figure *b)
{
	return a->value > 0 ? b->value / a->value - 1 : (double)NAN;
}

/* How far the printed digits leave the change open. */
static double change_half(const struct import_figure *a, const struct import_figure *b)
{
	if (!(a->value > a->half))
		return (double)NAN;
	return (b->value + b->half) / (a->value - a->half) - b->value / a->value;
}

static void put_row(const struct import_figure *a, const struct import_figure *b, struct buf *out)
{
	_cleanup_(buf_release) struct buf name = {}, va = {}, vb = {};
	double c = change(a, b), half = change_half(a, b);

	buf_puts(&name, a->metric);
	if (*a->labels)
		buf_printf(&name, " %s", a->labels);
	import_value_format(&va, a->unit, a->value);
	import_value_format(&vb, b->unit, b->value);
	buf_printf(out, "  %-34.34s %12s %12s", buf_str(&name), buf_str(&va), buf_str(&vb));
	if (isfinite(c))
		buf_printf(out, " %+8.2f %%", 100 * c);
	if (isfinite(c) && half > 0.0005)
		buf_printf(out, " +-%.1f", 100 * half);
	buf_putc(out, '\n');
	out->failed = out->failed || name.failed || va.failed || vb.failed;
}

static void put_text(const struct compare_pair *p, struct buf *out)
{
	size_t shown = 0, all = 0;

	buf_printf(out, "  %-34s %12s %12s %10s\n", "", "A", "B", "change");
	for (int key = 1; key >= 0; key--)
		for (size_t i = 0; i < p->a->nr_figures; i++) {
			const struct import_figure *g = partner(p, i);

			if (!g || p->a->figures[i].key != (key == 1))
				continue;
			if (all++ < FIGURES_SHOWN) {
				put_row(&p->a->figures[i], g, out);
				shown++;
			}
		}
	if (all > shown)
		buf_printf(out, "  and %zu more figures (--json has them)\n", all - shown);
	buf_putc(out, '\n');
	compare_para(
		out,
		"Changes are B's figure against A's; +- is what the printed digits leave open.");
}

static void put_json(const struct compare_pair *p, struct buf *out)
{
	buf_puts(out, ",\"figures\":[");
	for (size_t i = 0; i < p->a->nr_figures; i++) {
		const struct import_figure *f = &p->a->figures[i], *g = partner(p, i);

		if (!g)
			continue;
		compare_json_comma(out);
		buf_putc(out, '{');
		compare_json_text(out, "metric", f->metric);
		compare_json_text(out, "labels", f->labels);
		compare_json_text(out, "unit", f->unit);
		compare_json_number(out, "a", f->value);
		compare_json_number(out, "b", g->value);
		compare_json_number(out, "change", change(f, g));
		compare_json_number(out, "change_rounding", change_half(f, g));
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

int compare_figures(const struct compare_pair *p, const struct compare_opts *opts, struct buf *out,
		    struct err *e)
{
	size_t common = 0;

	for (size_t i = 0; i < p->a->nr_figures; i++)
		common += partner(p, i) != NULL;
	if (!common)
		return err_set(e, -EINVAL, "they have no figure in common");
	if (opts->json)
		put_json(p, out);
	else
		put_text(p, out);
	return 0;
}
