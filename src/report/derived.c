// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/derived.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "report/format.h"
#include "report/json_write.h"
#include "report/model.h"
#include "report/text_parts.h"
#include "stats/levels.h"
#include "stats/stats.h"

/* Mean of "PROBE.NAME" over the baseline's good trials of the scenario; NAN: not measured. */
static double baseline_mean(const struct report *rep, const char *scenario, const char *metric)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < rep->explored.nr; i++) {
		const struct explored *x = &rep->explored.v[i];

		if (*x->labels || strcmp(x->metric, metric) != 0 ||
		    strcmp(model_scenario(rep, x->scenario), scenario) != 0)
			continue;
		for (size_t k = 0; k < rep->nr_trials; k++) {
			if (rep->trials[k].variant != 0 || rep->trials[k].state != TRIAL_OK ||
			    !isfinite(x->v[k]))
				continue;
			sum += x->v[k];
			n++;
		}
	}
	return n ? sum / (double)n : (double)NAN;
}

/* ns per interrupt for a change of throughput by @change */
static double cost_of(double change, double irqs)
{
	return (1 / (1 + change) - 1) * (double)NS_PER_S / irqs;
}

int derived_cost(const struct report *rep, const struct verdict *v, struct cost *ret)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	_cleanup_(buf_release) struct buf paced = {};
	struct cost c;

	if (strcmp(m->unit, "bit/s") != 0 || v->scale != VERDICT_SCALE_RATIO || !isfinite(v->low) ||
	    !isfinite(v->high) || v->word == VERDICT_VETOED)
		return -ENODATA;
	c.irqs = baseline_mean(rep, m->scenario, "interrupts.irqs");
	c.idle = 1 - baseline_mean(rep, m->scenario, "cpu.busy");
	/* what is paced is not limited by the CPU */
	if (m->owner)
		buf_printf(&paced, "%s.offered-share", m->owner);
	if (!(c.irqs > 0) || isfinite(baseline_mean(rep, m->scenario, buf_str(&paced))))
		return -ENODATA;
	c.estimate = cost_of(v->change, c.irqs);
	c.low = cost_of(v->high, c.irqs);
	c.high = cost_of(v->low, c.irqs);
	*ret = c;
	return 0;
}

/* The values of a metric, each less its variant's mean, and what they belong to. */
struct nested_values {
	double *x;
	unsigned int *block, *boot; /* boot: pairs of build and boot */
	size_t n;
};

static void nested_values_release(struct nested_values *v)
{
	free(v->x);
	free(v->block);
	free(v->boot);
}

static bool is_positive(const struct report *rep, size_t query)
{
	for (size_t i = 0; i < rep->nr_trials; i++)
		if (model_value(rep, i, query) <= 0)
			return false;
	return true;
}

/* One variant's values less their mean: what is left is not the variant's effect. */
static void take_variant(const struct report *rep, size_t query, unsigned int variant, bool logs,
			 struct nested_values *to)
{
	size_t first = to->n;
	double mean;

	for (size_t i = 0; i < rep->nr_trials; i++) {
		const struct trial_info *t = &rep->trials[i];
		double v = model_value(rep, i, query);

		if (t->variant != variant || t->state != TRIAL_OK || !isfinite(v))
			continue;
		to->x[to->n] = logs ? log(v) : v;
		to->block[to->n] = t->block;
		/* build 0 of one variant is not build 0 of another */
		to->boot[2 * to->n] = variant << 16 | t->build;
		to->boot[2 * to->n + 1] = t->boot;
		to->n++;
	}
	mean = sample_mean(to->x + first, to->n - first);
	for (size_t i = first; i < to->n; i++)
		to->x[i] -= mean;
}

/* Mean variance of the points of a trial's window, as the metric's variance is given. */
static double sample_variance(const struct report *rep, size_t query, bool ratio)
{
	double sum = 0;
	size_t trials = 0;

	for (size_t i = 0; i < rep->over_time.nr; i++) {
		const struct over_time *o = &rep->over_time.v[i];

		for (size_t k = 0; k < o->nr && drift_is_series_of(rep, o, query); k++) {
			double n = 0, mean = 0, m2 = 0;

			for (size_t p = 0; p < o->v[k].nr; p++) {
				double d = o->v[k].points[p].v - mean;

				if (o->v[k].points[p].t_ns <= 0)
					continue;
				n++;
				mean += d / n;
				m2 += d * (o->v[k].points[p].v - mean);
			}
			if (n < 2 || (ratio && !(mean > 0)))
				continue;
			sum += m2 / (n - 1) / (ratio ? mean * mean : 1);
			trials++;
		}
	}
	return trials ? sum / (double)trials : (double)NAN;
}

static bool has_several_boots(const struct report *rep)
{
	for (size_t i = 0; i < rep->nr_trials; i++)
		if (rep->trials[i].boot || rep->trials[i].build)
			return true;
	return false;
}

static int levels_of(const struct report *rep, const struct nested_values *v, struct by_level *ret)
{
	const struct nested blocks = { .x = v->x, .n = v->n, .group = v->block, .nr_levels = 1 };
	const struct nested boots = { .x = v->x, .n = v->n, .group = v->boot, .nr_levels = 2 };
	struct level l[3];
	int r = variance_levels(&blocks, l);

	if (r < 0)
		return r;
	ret->block = l[0].variance;
	ret->trial = l[1].variance;
	if (!has_several_boots(rep))
		return 0;
	r = variance_levels(&boots, l);
	ret->build = l[0].variance;
	ret->boot = l[1].variance;
	return r;
}

/* Of a metric that no pair of trials has, a spread of the odd rest would claim more. */
static bool is_judged(const struct report *rep, size_t query)
{
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		if (rep->verdicts[i].query == query && rep->verdicts[i].blocks > 0)
			return true;
	return false;
}

int derived_levels(const struct report *rep, size_t query, struct by_level *ret)
{
	_cleanup_(nested_values_release) struct nested_values v = {
		.x = calloc(rep->nr_trials + 1, sizeof(*v.x)),
		.block = calloc(rep->nr_trials + 1, sizeof(*v.block)),
		.boot = calloc(2 * rep->nr_trials + 1, sizeof(*v.boot)),
	};
	const double none = (double)NAN;
	struct by_level l = { is_positive(rep, query), none, none, none, none, none };

	if (!v.x || !v.block || !v.boot)
		return -ENOMEM;
	for (unsigned int k = 0; k < rep->plan->nr_variants; k++)
		take_variant(rep, query, k, l.ratio, &v);
	if (v.n < 2 * rep->plan->nr_variants || !is_judged(rep, query))
		return -ENODATA;
	l.sample = sample_variance(rep, query, l.ratio);
	*ret = l;
	return levels_of(rep, &v, ret);
}

static void print_cost(struct buf *out, const struct report *rep, const struct verdict *v,
		       const struct cost *c)
{
	buf_printf(out, "if the CPU limits %s, an interrupt costs ",
		   rep->plan->metrics[v->query].text);
	format_value(out, fabs(c->estimate), "ns");
	buf_printf(out, " %s with \"%s\" (", c->estimate < 0 ? "less" : "more",
		   model_variant(rep, v->variant));
	format_value(out, c->low, "ns");
	buf_puts(out, " to ");
	format_value(out, c->high, "ns");
	buf_printf(out, ", at %.0f a second)", c->irqs);
	if (isfinite(c->idle))
		buf_printf(out, "; measured idle was %.1f%%: %s", 100 * c->idle,
			   c->idle < 0.05 ? "the assumption holds" : "it is not known to hold");
}

void format_cost(struct buf *out, const struct report *rep, const struct verdict *v)
{
	struct cost c;

	/* a cost of what is the same within the margin is nobody's finding */
	if ((v->word == VERDICT_BETTER || v->word == VERDICT_WORSE) &&
	    derived_cost(rep, v, &c) == 0)
		print_cost(out, rep, v, &c);
}

void text_derived(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		_cleanup_(buf_release) struct buf b = {};

		format_cost(&b, rep, &rep->verdicts[i]);
		if (b.len == 0)
			continue;
		format_wrap(out, "implied: ", 2, buf_str(&b));
		buf_putc(out, '\n');
	}
}

/* Square root of a variance, of which an estimate may be below 0: none seen. */
static void put_sd(struct buf *out, const char *what, double variance, const char *unit)
{
	if (!isfinite(variance))
		return;
	buf_printf(out, ", %s ", what);
	format_value(out, variance > 0 ? sqrt(variance) : 0, unit);
}

void format_levels(struct buf *out, const struct report *rep, size_t query)
{
	struct by_level l;
	const char *unit;

	if (model_is_partial(rep) || derived_levels(rep, query, &l) < 0)
		return;
	unit = l.ratio ? "ratio" : rep->plan->metrics[query].unit;
	buf_printf(out, "spread (sd) of %s", rep->plan->metrics[query].text);
	put_sd(out, "builds", l.build, unit);
	put_sd(out, "boots", l.boot, unit);
	put_sd(out, "blocks", l.block, unit);
	put_sd(out, "trials of a block", l.trial, unit);
	put_sd(out, "samples of a trial", l.sample, unit);
}

void text_levels(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->plan->nr_metrics; i++) {
		_cleanup_(buf_release) struct buf b = {};

		format_levels(&b, rep, i);
		if (b.len)
			format_wrap(out, "  ", 4, buf_str(&b));
	}
}

static void json_cost(struct json *j, const struct report *rep, const struct verdict *v,
		      const struct cost *c)
{
	json_begin(j, NULL, '{');
	put_text(j, "metric", rep->plan->metrics[v->query].text);
	put_text(j, "variant", model_variant(rep, v->variant));
	put_number(j, "ns_per_interrupt", c->estimate);
	put_number(j, "low", c->low);
	put_number(j, "high", c->high);
	put_number(j, "interrupts_per_second", c->irqs);
	put_text(j, "assumption", "CPU-bound");
	put_number(j, "idle", c->idle);
	json_end(j, '}');
}

static void json_levels(struct json *j, const struct report *rep, size_t query)
{
	struct by_level l;

	if (derived_levels(rep, query, &l) < 0)
		return;
	json_begin(j, NULL, '{');
	put_text(j, "metric", rep->plan->metrics[query].text);
	put_text(j, "of", l.ratio ? "ratio" : rep->plan->metrics[query].unit);
	put_number(j, "build", l.build);
	put_number(j, "boot", l.boot);
	put_number(j, "block", l.block);
	put_number(j, "trial", l.trial);
	put_number(j, "sample", l.sample);
	json_end(j, '}');
}

void json_derived(struct json *j, const struct report *rep)
{
	json_begin(j, "implied_cost", '[');
	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		struct cost c;

		if (derived_cost(rep, &rep->verdicts[i], &c) == 0)
			json_cost(j, rep, &rep->verdicts[i], &c);
	}
	json_end(j, ']');
	json_begin(j, "variance_by_level", '[');
	for (size_t i = 0; i < rep->plan->nr_metrics && !model_is_partial(rep); i++)
		json_levels(j, rep, i);
	json_end(j, ']');
}
