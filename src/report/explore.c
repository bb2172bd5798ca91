// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/explore.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/json_write.h"
#include "report/model.h"

/* A machine with thousands of interrupt lines has more numbers than anyone looks at. */
#define EXPLORED_MAX 4000

static bool is_same(const struct explored *x, unsigned int scenario, const struct record *rec)
{
	return x->scenario == scenario && strcmp(x->metric, rec->metric) == 0 &&
	       strcmp(x->labels, rec->labels) == 0;
}

/* Trials say the same things in the same order: the search begins where the last one ended. */
static struct explored *find(struct explored_list *l, unsigned int scenario,
			     const struct record *rec)
{
	for (size_t i = 0; i < l->nr; i++) {
		size_t at = (l->next + i) % l->nr;

		if (!is_same(&l->v[at], scenario, rec))
			continue;
		l->next = at + 1;
		return &l->v[at];
	}
	return NULL;
}

static struct explored *add(struct report *rep, unsigned int scenario, const struct record *rec)
{
	struct explored_list *l = &rep->explored;
	struct explored *x;

	if (l->nr == l->size) {
		size_t size = l->size ? 2 * l->size : 64;
		struct explored *v = realloc(l->v, size * sizeof(*v));

		if (!v)
			return NULL;
		l->v = v;
		l->size = size;
	}
	x = &l->v[l->nr++];
	*x = (struct explored){ .metric = strdup(rec->metric),
				.labels = strdup(rec->labels),
				.unit = strdup(rec->unit),
				.scenario = scenario,
				.v = calloc(rep->nr_trials, sizeof(*x->v)) };
	if (!x->metric || !x->labels || !x->unit || !x->v)
		return NULL;
	for (size_t i = 0; i < rep->nr_trials; i++)
		x->v[i] = (double)NAN;
	return x;
}

/* Is it one of those that the verdict is about? */
static bool is_primary(const struct report *rep, unsigned int scenario, const struct record *rec)
{
	for (size_t i = 0; i < rep->plan->nr_metrics; i++) {
		const struct plan_metric *m = &rep->plan->metrics[i];

		if (strcmp(m->metric, rec->metric) == 0 && strcmp(m->labels, rec->labels) == 0 &&
		    strcmp(m->scenario, model_scenario(rep, scenario)) == 0)
			return true;
	}
	return false;
}

int explore_add(struct report *rep, size_t index, const struct record_list *l, struct err *e)
{
	unsigned int scenario = rep->trials[index].scenario;

	for (size_t i = 0; i < l->nr; i++) {
		const struct record *rec = l->v[i];
		struct explored *x;

		if (rec->kind != RECORD_SCALAR || is_primary(rep, scenario, rec))
			continue;
		x = find(&rep->explored, scenario, rec);
		if (!x && rep->explored.nr >= EXPLORED_MAX)
			continue;
		if (!x)
			x = add(rep, scenario, rec);
		if (!x)
			return err_nomem(e, "report");
		x->v[index] = rec->value;
	}
	return 0;
}

static void describe(const struct report *rep, const struct plan_registry *reg, struct explored *x)
{
	const char *owner = NULL;
	const struct metric_desc *d =
		reg ? plan_find_metric(rep->plan, reg, x->scenario, x->metric, &owner) : NULL;

	x->better = d ? d->better : BETTER_NONE;
	/* what the registry does not know (labels make other numbers of it) goes by its unit */
	x->kind = d				  ? metric_desc_kind(d)
		  : strcmp(x->unit, "count") == 0 ? METRIC_RATE
						  : METRIC_LOCATION;
	/* without the number of samples a maximum is compared as any number: no claim rests on it
	 */
	if (x->kind == METRIC_QUANTILE)
		x->kind = METRIC_LOCATION;
}

static size_t observe(const struct report *rep, const struct explored *x, struct observation *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < rep->nr_trials; i++) {
		const struct trial_info *t = &rep->trials[i];

		if (t->scenario == x->scenario)
			ret[nr++] = (struct observation){ .block = t->block,
							  .variant = t->variant,
							  .state = t->state,
							  .reason = t->reason,
							  .has_value = isfinite(x->v[i]),
							  .value = x->v[i] };
	}
	return nr;
}

static int by_p(const void *a, const void *b)
{
	const struct exploration *x = a, *y = b;

	if (x->differs != y->differs)
		return x->differs ? -1 : 1;
	if (x->v.p != y->v.p)
		return x->v.p < y->v.p ? -1 : 1;
	if (x->v.query != y->v.query)
		return x->v.query < y->v.query ? -1 : 1;
	return (x->v.variant > y->v.variant) - (x->v.variant < y->v.variant);
}

static int compare(struct report *rep, const struct verdict_query *queries, size_t nr,
		   struct err *e)
{
	struct explored_list *l = &rep->explored;
	int r;

	l->nr_tested = nr * (rep->plan->nr_variants - 1);
	l->results = calloc(l->nr_tested + 1, sizeof(*l->results));
	if (!l->results)
		return err_nomem(e, "report");
	r = verdict_explore(queries, nr, rep->plan->nr_variants, EXPLORE_RATE, l->results, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l->nr_tested; i++)
		l->nr_results += l->results[i].differs;
	qsort(l->results, l->nr_tested, sizeof(*l->results), by_p);
	/* reasons are borrowed from observations that go away */
	for (size_t i = 0; i < l->nr_tested; i++)
		l->results[i].v.reason = NULL;
	return 0;
}

int explore_judge(struct report *rep, const struct plan_registry *reg, struct err *e)
{
	struct explored_list *l = &rep->explored;
	size_t nr = l->nr, each = rep->nr_trials;
	_cleanup_(freep) struct observation *obs = calloc(nr * each + 1, sizeof(*obs));
	_cleanup_(freep) struct verdict_query *q = calloc(nr + 1, sizeof(*q));

	if (!obs || !q)
		return err_nomem(e, "report");
	/* nobody looks before the end, not even at this */
	if (rep->plan->nr_variants < 2 || nr == 0 || model_is_partial(rep))
		return 0;
	for (size_t i = 0; i < nr; i++) {
		struct observation *at = obs + i * each;

		describe(rep, reg, &l->v[i]);
		q[i] = (struct verdict_query){ .metric = l->v[i].metric,
					       .better = l->v[i].better,
					       .kind = l->v[i].kind,
					       .obs = at,
					       .nr_obs = observe(rep, &l->v[i], at) };
	}
	return compare(rep, q, nr, e);
}

void explore_release(struct report *rep)
{
	for (size_t i = 0; i < rep->explored.nr; i++) {
		free(rep->explored.v[i].metric);
		free(rep->explored.v[i].labels);
		free(rep->explored.v[i].unit);
		free(rep->explored.v[i].v);
	}
	free(rep->explored.v);
	free(rep->explored.results);
}

void explore_name(const struct report *rep, const struct explored *x, struct buf *out)
{
	buf_printf(out, "%s%s%s%s", x->metric, *x->labels ? "[" : "", x->labels,
		   *x->labels ? "]" : "");
	if (rep->plan->nr_scenarios > 1)
		buf_printf(out, "@%s", model_scenario(rep, x->scenario));
}

void json_explore(struct json *j, const struct report *rep)
{
	const struct explored_list *l = &rep->explored;

	json_begin(j, "exploratory", '{');
	put_number(j, "false_discovery_rate", EXPLORE_RATE);
	put_count(j, "compared", l->nr_tested);
	json_begin(j, "differ", '[');
	for (size_t i = 0; i < l->nr_results; i++) {
		const struct verdict *v = &l->results[i].v;
		const struct explored *x = &l->v[v->query];

		json_begin(j, NULL, '{');
		put_text(j, "metric", x->metric);
		put_text(j, "labels", x->labels);
		put_text(j, "scenario", model_scenario(rep, x->scenario));
		put_text(j, "unit", x->unit);
		put_text(j, "variant", model_variant(rep, v->variant));
		put_text(j, "test", verdict_test(v->kind));
		put_text(j, "scale", verdict_scale_word(v->scale));
		put_number(j, "baseline", v->baseline);
		put_number(j, "value", v->value);
		put_number(j, "change", v->change);
		put_number(j, "low", v->low);
		put_number(j, "high", v->high);
		put_number(j, "p", v->p);
		put_number(j, "alpha", v->alpha);
		put_count(j, "blocks", v->blocks);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
}
