// SPDX-License-Identifier: GPL-3.0-or-later
/* Quantiles that a plan cannot have: so few samples come in a trial by its own numbers. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "plan/parse.h"

/* 10 samples beyond a quantile are needed; so many are there with room for those that are late. */
#define BEYOND_SAFE 20

static const struct instance *find_instance(const struct instances *list, const char *name)
{
	for (size_t i = 0; i < list->nr; i++)
		if (strcmp(list->v[i].name, name) == 0)
			return &list->v[i];
	return NULL;
}

/* What option @name of @inst is set to or has by default; NULL: no such option of @type. */
static const char *option_text(const struct instance *inst, const struct opt *rows,
			       const char *name, enum opt_type type)
{
	const struct opt *row = rows ? opt_find(rows, name) : NULL;
	const char *value = instance_value(inst, name);

	if (!row || row->type != type)
		return NULL;
	return value ? value : row->def;
}

/* Samples a second that @inst can have, a thread of it with "interval"; 0: not bounded. */
static double samples_per_s(const struct instance *inst, const struct opt *rows)
{
	const char *rate = option_text(inst, rows, "rate", OPT_BPS);
	const char *interval = option_text(inst, rows, "interval", OPT_NS);
	uint64_t v = 0;

	if (rate && text_bps(rate, &v) >= 0)
		return (double)v;
	if (interval && text_ns(interval, &v) >= 0 && v > 0)
		return (double)NS_PER_S / (double)v;
	return 0;
}

/* The smallest rate of samples that @m has in any variant; 0: unknown. */
static int least_per_s(const struct plan *p, const struct plan_registry *reg,
		       const struct plan_metric *m, double *ret, bool *ret_by_thread, struct err *e)
{
	size_t scenario = 0;

	while (scenario < p->nr_scenarios && strcmp(p->scenarios[scenario].name, m->scenario) != 0)
		scenario++;
	*ret = 0;
	for (size_t v = 0; v < p->nr_variants && scenario < p->nr_scenarios; v++) {
		_cleanup_(instances_release) struct instances loads = {}, probes = {};
		const struct instance *inst;
		const struct plugin *plugin;
		double per_s;
		int r = plan_loads(p, v, scenario, &loads, e);

		if (r >= 0)
			r = plan_probes(p, v, &probes, e);
		if (r < 0)
			return r;
		inst = find_instance(&probes, m->owner);
		plugin = inst ? parse_plugin(reg->probes, inst->plugin) : NULL;
		if (!inst) {
			inst = find_instance(&loads, m->owner);
			plugin = inst ? parse_plugin(reg->loads, inst->plugin) : NULL;
		}
		*ret_by_thread = plugin && option_text(inst, plugin->options, "interval", OPT_NS);
		per_s = plugin ? samples_per_s(inst, plugin->options) : 0;
		if (per_s > 0 && (*ret == 0 || per_s < *ret))
			*ret = per_s;
	}
	return 0;
}

int plan_short_tails(const struct plan *p, const struct plan_registry *reg, struct buf *out,
		     struct err *e)
{
	for (size_t i = 0; i < p->nr_metrics; i++) {
		const struct plan_metric *m = &p->metrics[i];
		bool by_thread = false;
		double per_s = 0, n, share;
		int r;

		if (metric_desc_kind(m->desc) != METRIC_QUANTILE)
			continue;
		r = least_per_s(p, reg, m, &per_s, &by_thread, e);
		if (r < 0)
			return r;
		share = fmin(m->desc->q, 1 - m->desc->q);
		n = per_s * (double)p->duration_ns / (double)NS_PER_S;
		/* a hair of slack: 1 - 0.999 is a little more than 0.001 */
		if (per_s <= 0 || n * share >= BEYOND_SAFE * (1 - 1e-12))
			continue;
		buf_printf(
			out,
			"metric %s: a trial has about %.0f samples%s, %.3g beyond the quantile, and "
			"one with less than 10 has no such value; \"duration: %.0fs\" or more "
			"suffices\n",
			m->text, n, by_thread ? " of a thread" : "", n * share,
			ceil(BEYOND_SAFE / share / per_s - 1e-9));
	}
	return out->failed ? err_nomem(e, "plan") : 0;
}
