// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/exchange.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "report/format.h"
#include "report/json_write.h"
#include "report/model.h"
#include "report/text_parts.h"
#include "stats/exchange.h"

/* Value of a verdict's metric with @variant in @block; NAN: none. */
static double value_in(const struct report *rep, const struct verdict *v, unsigned int block,
		       unsigned int variant)
{
	for (size_t i = 0; i < rep->nr_trials; i++) {
		const struct trial_info *t = &rep->trials[i];

		if (t->block == block && t->variant == variant && t->state == TRIAL_OK &&
		    model_is_of(rep, i, v->query))
			return model_value(rep, i, v->query);
	}
	return (double)NAN;
}

/* What the variant changed in @block, as its verdict is scaled; above 0: in @v's direction. */
static double effect_in(const struct report *rep, const struct verdict *v, unsigned int block)
{
	double a = value_in(rep, v, block, 0), b = value_in(rep, v, block, v->variant);
	double d = v->scale == VERDICT_SCALE_RATIO ? log(b) - log(a) : (b - a) / fabs(v->baseline);

	return v->change < 0 ? -d : d;
}

static bool can_be_scaled(const struct verdict *v)
{
	return v->scale != VERDICT_SCALE_UNIT && isfinite(v->change);
}

int exchange_find(const struct report *rep, size_t worse, size_t better, struct exchange *ret)
{
	const struct verdict *w = &rep->verdicts[worse], *b = &rep->verdicts[better];
	_cleanup_(freep) double *cost = calloc(rep->plan->blocks + 1, sizeof(*cost));
	_cleanup_(freep) double *gain = calloc(rep->plan->blocks + 1, sizeof(*gain));
	struct exchange x = { .worse = worse, .better = better };

	if (!cost || !gain)
		return -ENOMEM;
	if (w->variant != b->variant || w->word != VERDICT_WORSE || b->word != VERDICT_BETTER ||
	    !can_be_scaled(w) || !can_be_scaled(b))
		return -ENODATA;
	for (unsigned int k = 0; k < rep->plan->blocks; k++) {
		cost[x.blocks] = effect_in(rep, w, k);
		gain[x.blocks] = effect_in(rep, b, k);
		x.blocks += isfinite(cost[x.blocks]) && isfinite(gain[x.blocks]);
	}
	if (exchange_rate(gain, cost, x.blocks, rep->plan->alpha, &x.rate) < 0)
		return -ENODATA;
	*ret = x;
	return 0;
}

static const char *direction(const struct verdict *v)
{
	return v->change < 0 ? "less" : "more";
}

void format_exchange(struct buf *out, const struct report *rep, size_t worse, size_t better)
{
	const struct verdict *w = &rep->verdicts[worse], *b = &rep->verdicts[better];
	struct exchange x;

	if (exchange_find(rep, worse, better, &x) < 0)
		return;
	buf_printf(out, "with \"%s\" each 1%% %s %s comes with ", model_variant(rep, w->variant),
		   direction(w), rep->plan->metrics[w->query].text);
	format_value(out, x.rate.estimate / 100, "ratio");
	buf_printf(out, " %s %s (%.3g%% interval ", direction(b), rep->plan->metrics[b->query].text,
		   100 * (1 - rep->plan->alpha));
	format_value(out, x.rate.low / 100, "ratio");
	buf_puts(out, " to ");
	format_value(out, x.rate.high / 100, "ratio");
	buf_puts(out, ", ");
	format_count(out, x.blocks, "block");
	buf_putc(out, ')');
}

void text_exchange(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		for (size_t k = 0; k < rep->nr_verdicts; k++) {
			_cleanup_(buf_release) struct buf b = {};

			format_exchange(&b, rep, i, k);
			if (b.len == 0)
				continue;
			format_wrap(out, "exchange: ", 2, buf_str(&b));
			buf_putc(out, '\n');
		}
	}
}

void json_exchange(struct json *j, const struct report *rep)
{
	struct exchange x;

	json_begin(j, "exchange", '[');
	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		for (size_t k = 0; k < rep->nr_verdicts; k++) {
			if (exchange_find(rep, i, k, &x) < 0)
				continue;
			json_begin(j, NULL, '{');
			put_text(j, "variant", model_variant(rep, rep->verdicts[i].variant));
			put_text(j, "worse", rep->plan->metrics[rep->verdicts[i].query].text);
			put_text(j, "better", rep->plan->metrics[rep->verdicts[k].query].text);
			put_number(j, "rate", x.rate.estimate);
			put_number(j, "low", x.rate.low);
			put_number(j, "high", x.rate.high);
			put_count(j, "blocks", x.blocks);
			json_end(j, '}');
		}
	}
	json_end(j, ']');
}
