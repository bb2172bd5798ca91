// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "export/forms.h"
#include "export/outcome.h"
#include "sample/hist.h"

/*
 * OpenMetrics 1.0 text.  Names end in their unit, which is a base unit there: seconds, not ns.  A
 * family's samples stand together, so each family is one pass over the report.
 */

/* How the metrics of a unit are called; several units share the last, which has none. */
struct base_unit {
	const char *ours, *theirs;
	double factor;
};

static const struct base_unit units[] = {
	{ "ns", "seconds", 1e-9 }, { "bit/s", "bits_per_second", 1 }, { "byte", "bytes", 1 },
	{ "ratio", "ratio", 1 },   { "1/s", "per_second", 1 },	      { NULL, NULL, 1 },
};

static const struct base_unit *unit_of(const char *ours)
{
	const struct base_unit *u = units;

	while (u->ours && strcmp(u->ours, ours) != 0)
		u++;
	return u;
}

static void head(struct buf *out, const char *family, const char *type, const char *unit,
		 const char *help)
{
	buf_printf(out, "# TYPE %s %s\n", family, type);
	if (unit)
		buf_printf(out, "# UNIT %s %s\n", family, unit);
	buf_printf(out, "# HELP %s %s\n", family, help);
}

/* {a="x",b="y"}: begun by the first label. */
static void label(struct buf *out, bool *first, const char *key, const char *value)
{
	_cleanup_(buf_release) struct buf clean = {};

	text_printable(&clean, value, strlen(value));
	buf_printf(out, "%s%s=\"", *first ? "{" : ",", key);
	for (const char *p = buf_str(&clean); *p; p++) {
		if (*p == '\\' || *p == '"')
			buf_putc(out, '\\');
		buf_putc(out, *p);
	}
	buf_putc(out, '"');
	*first = false;
	out->failed |= clean.failed;
}

static void run_label(struct buf *out, const struct report *rep, bool *first)
{
	char id[24];

	snprintf(id, sizeof(id), "%" PRId64, rep->run.id);
	label(out, first, "run", id);
}

static void metric_labels(struct buf *out, const struct report *rep, const struct plan_metric *m,
			  unsigned int variant, bool *first)
{
	run_label(out, rep, first);
	label(out, first, "metric", m->metric);
	if (*m->labels)
		label(out, first, "labels", m->labels);
	label(out, first, "scenario", m->scenario);
	label(out, first, "variant", model_variant(rep, variant));
}

static void value(struct buf *out, double v)
{
	if (isfinite(v))
		buf_printf(out, "} %.17g\n", v);
	else
		buf_printf(out, "} %s\n", isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
}

static void put_info(struct buf *out, const struct report *rep)
{
	static const char *const keys[] = { "release", "machine", "cpu_model" };
	bool first = true;

	head(out, "irqlab_run", "info", NULL, "The run and the machine it was made on.");
	buf_puts(out, "irqlab_run_info");
	run_label(out, rep, &first);
	label(out, &first, "plan", rep->run.name);
	label(out, &first, "irqlab", rep->run.version);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		_cleanup_(buf_release) struct buf b = {};

		outcome_env(&b, rep, keys[i]);
		if (b.len)
			label(out, &first, keys[i], buf_str(&b));
	}
	buf_puts(out, "} 1\n");
}

static void put_verdict(struct buf *out, const struct report *rep, const struct verdict *v)
{
	for (int w = VERDICT_BETTER; w <= VERDICT_VETOED; w++) {
		bool first = true;

		buf_puts(out, "irqlab_verdict");
		metric_labels(out, rep, &rep->plan->metrics[v->query], v->variant, &first);
		label(out, &first, "irqlab_verdict", verdict_word((enum verdict_word)w));
		buf_printf(out, "} %d\n", v->word == (enum verdict_word)w);
	}
}

/* Estimate and ends of the interval; what is not known is left out. */
static void put_change(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	const struct {
		const char *bound;
		double v;
	} rows[] = { { "estimate", v->change }, { "low", v->low }, { "high", v->high } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool first = true;

		if (!isfinite(rows[i].v))
			continue;
		buf_puts(out, "irqlab_change");
		metric_labels(out, rep, m, v->variant, &first);
		label(out, &first, "bound", rows[i].bound);
		label(out, &first, "scale", verdict_scale_word(v->scale));
		value(out, v->scale == VERDICT_SCALE_UNIT ? rows[i].v * unit_of(m->unit)->factor
							  : rows[i].v);
	}
}

static void put_blocks(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct {
		const char *state;
		size_t n;
	} rows[] = { { "used", v->blocks }, { "lost", v->lost } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool first = true;

		buf_puts(out, "irqlab_blocks");
		metric_labels(out, rep, &rep->plan->metrics[v->query], v->variant, &first);
		label(out, &first, "state", rows[i].state);
		value(out, (double)rows[i].n);
	}
}

/* What the bench does when nothing is changed; nothing where no A/A run is stored. */
static void put_noise(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	const struct noise *n = &rep->noise[v->query];
	bool first = true;

	if (!n->run || !isfinite(n->sd))
		return;
	buf_puts(out, "irqlab_noise_floor");
	metric_labels(out, rep, m, v->variant, &first);
	label(out, &first, "scale", verdict_scale_word(n->scale));
	value(out, n->scale == VERDICT_SCALE_UNIT ? n->sd * unit_of(m->unit)->factor : n->sd);
}

/* Without its N a maximum, or a share of 0, means nothing; 0: not known, left out. */
static void put_samples(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct {
		const char *of;
		double n;
	} rows[] = { { "baseline", v->n_baseline }, { "variant", v->n_value } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool first = true;

		if (!(rows[i].n > 0))
			continue;
		buf_puts(out, "irqlab_samples");
		metric_labels(out, rep, &rep->plan->metrics[v->query], v->variant, &first);
		label(out, &first, "of", rows[i].of);
		value(out, rows[i].n);
	}
}

/* Of a sequential design alone. */
static void put_looks(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct {
		const char *is;
		double n;
	} rows[] = { { "at", (double)v->look },
		     { "planned", (double)v->looks },
		     { "futile", v->futile } };

	for (size_t i = 0; i < ARRAY_SIZE(rows) && v->looks; i++) {
		bool first = true;

		buf_puts(out, "irqlab_looks");
		metric_labels(out, rep, &rep->plan->metrics[v->query], v->variant, &first);
		label(out, &first, "state", rows[i].is);
		value(out, rows[i].n);
	}
}

/* A family of gauges that not every verdict has, or none. */
static void put_family(struct buf *out, const struct report *rep, const char *name,
		       void (*put)(struct buf *out, const struct report *rep,
				   const struct verdict *v),
		       const char *help)
{
	_cleanup_(buf_release) struct buf rows = {};

	for (size_t i = 0; i < rep->nr_verdicts; i++)
		put(&rows, rep, &rep->verdicts[i]);
	if (rows.len)
		head(out, name, "gauge", NULL, help);
	buf_add(out, buf_str(&rows), rows.len);
	out->failed |= rows.failed;
}

static void put_verdicts(struct buf *out, const struct report *rep)
{
	head(out, "irqlab_verdict", "stateset", NULL, "The verdict on each metric of the plan.");
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		put_verdict(out, rep, &rep->verdicts[i]);
	head(out, "irqlab_change", "gauge", NULL,
	     "Change against the baseline and its interval; scale says of what.");
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		put_change(out, rep, &rep->verdicts[i]);
	head(out, "irqlab_blocks", "gauge", NULL, "Blocks behind the verdict.");
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		put_blocks(out, rep, &rep->verdicts[i]);
	put_family(out, rep, "irqlab_samples", put_samples,
		   "Samples behind the values, over all trials.");
	put_family(out, rep, "irqlab_looks", put_looks,
		   "Of a sequential design: look of the verdict, looks planned, 1 when futile.");
	put_family(out, rep, "irqlab_noise_floor", put_noise,
		   "Standard deviation of a pair's change when nothing is changed (A/A run).");
}

static void put_trial(struct buf *out, const struct report *rep, size_t index, size_t query,
		      const char *family)
{
	const struct trial_info *t = &rep->trials[index];
	const struct plan_metric *m = &rep->plan->metrics[query];
	double v = model_value(rep, index, query);
	char number[24];
	bool first = true;

	if (!model_is_of(rep, index, query) || !isfinite(v) || t->state != TRIAL_OK)
		return;
	buf_puts(out, family);
	metric_labels(out, rep, m, t->variant, &first);
	snprintf(number, sizeof(number), "%u", t->block + 1);
	label(out, &first, "block", number);
	snprintf(number, sizeof(number), "%u", t->position + 1);
	label(out, &first, "trial", number);
	value(out, v * unit_of(m->unit)->factor);
}

/* A family per unit, of the metrics that have it. */
static void put_trials(struct buf *out, const struct report *rep)
{
	for (size_t u = 0; u < ARRAY_SIZE(units); u++) {
		char family[64];
		bool any = false;

		for (size_t m = 0; m < rep->plan->nr_metrics && !any; m++)
			any = unit_of(rep->plan->metrics[m].unit) == &units[u];
		if (!any)
			continue;
		snprintf(family, sizeof(family), "irqlab_trial%s%s", units[u].theirs ? "_" : "",
			 units[u].theirs ? units[u].theirs : "");
		head(out, family, "gauge", units[u].theirs,
		     "A metric of the plan in each trial that can be used.");
		for (size_t i = 0; i < rep->nr_trials; i++)
			for (size_t m = 0; m < rep->plan->nr_metrics; m++)
				if (unit_of(rep->plan->metrics[m].unit) == &units[u])
					put_trial(out, rep, i, m, family);
	}
}

static void dist_labels(struct buf *out, const struct report *rep, const struct dist *d,
			unsigned int variant, bool *first)
{
	run_label(out, rep, first);
	label(out, first, "metric", d->metric);
	if (*d->labels)
		label(out, first, "labels", d->labels);
	label(out, first, "scenario", model_scenario(rep, d->scenario));
	label(out, first, "variant", model_variant(rep, variant));
}

/* Bounds at 2^k - 1 ns: there the counts are exact, whatever the width of the buckets between. */
static void put_dist(struct buf *out, const struct report *rep, const struct dist *d,
		     unsigned int variant)
{
	const struct hist *h = d->hist[variant];
	bool first = true;

	for (unsigned int k = 8; k < 63 && h->total; k++) {
		uint64_t bound = (UINT64_C(1) << k) - 1;
		char le[32];

		first = true;
		buf_puts(out, "irqlab_latency_seconds_bucket");
		dist_labels(out, rep, d, variant, &first);
		snprintf(le, sizeof(le), "%.12g", (double)bound / (double)NS_PER_S);
		label(out, &first, "le", le);
		buf_printf(out, "} %" PRIu64 "\n", h->total - hist_above(h, bound));
		if (bound >= h->max)
			break;
	}
	first = true;
	buf_puts(out, "irqlab_latency_seconds_bucket");
	dist_labels(out, rep, d, variant, &first);
	label(out, &first, "le", "+Inf");
	buf_printf(out, "} %" PRIu64 "\n", h->total);
	first = true;
	buf_puts(out, "irqlab_latency_seconds_count");
	dist_labels(out, rep, d, variant, &first);
	buf_printf(out, "} %" PRIu64 "\n", h->total);
	first = true;
	buf_puts(out, "irqlab_latency_seconds_sum");
	dist_labels(out, rep, d, variant, &first);
	value(out, h->sum / (double)NS_PER_S);
}

static void put_dists(struct buf *out, const struct report *rep)
{
	if (!rep->dists.nr)
		return;
	head(out, "irqlab_latency_seconds", "histogram", "seconds",
	     "Latencies over all trials that can be used.");
	for (size_t i = 0; i < rep->dists.nr; i++)
		for (unsigned int k = 0; k < rep->plan->nr_variants; k++)
			put_dist(out, rep, &rep->dists.v[i], k);
}

static int write_openmetrics(const struct export_source *src, struct buf *out, struct err *e)
{
	put_info(out, src->report);
	put_verdicts(out, src->report);
	put_trials(out, src->report);
	put_dists(out, src->report);
	buf_puts(out, "# EOF\n");
	return out->failed ? err_nomem(e, "OpenMetrics") : 0;
}

const struct export_ops export_openmetrics = {
	.name = "openmetrics",
	.help = "OpenMetrics text for Prometheus and its kin",
	.write = write_openmetrics,
};
