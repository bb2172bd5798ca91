// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/noise.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "plan/plan.h"
#include "report/queries.h"
#include "stats/power.h"
#include "store/store.h"

/* Four experiments of five. */

bool noise_same_machine(const char *env_a, const char *env_b)
{
	static const char *const keys[] = { "release", "version", "machine", "cpu_model",
					    "cmdline" };
	_cleanup_(json_putp) struct json_object *a = json_tokener_parse(env_a ? env_a : "{}");
	_cleanup_(json_putp) struct json_object *b = json_tokener_parse(env_b ? env_b : "{}");
	struct json_object *na = NULL, *nb = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *x = json_field_string(a, keys[i]), *y = json_field_string(b, keys[i]);

		if (x && y && strcmp(x, y) != 0)
			return false;
	}
	return !json_object_object_get_ex(a, "cpus", &na) ||
	       !json_object_object_get_ex(b, "cpus", &nb) || json_object_equal(na, nb);
}

static bool same_settings(const struct instances *a, const struct instances *b)
{
	if (a->nr != b->nr)
		return false;
	for (size_t i = 0; i < a->nr; i++) {
		const struct instance *x = &a->v[i], *y = &b->v[i];

		if (strcmp(x->plugin, y->plugin) != 0 || strcmp(x->name, y->name) != 0 ||
		    x->nr_settings != y->nr_settings)
			return false;
		for (size_t k = 0; k < x->nr_settings; k++) {
			const char *other = instance_value(y, x->settings[k].key);

			if (!other || strcmp(other, x->settings[k].value) != 0)
				return false;
		}
	}
	return true;
}

static const struct scenario *find_scenario(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->nr_scenarios; i++)
		if (strcmp(p->scenarios[i].name, name) == 0)
			return &p->scenarios[i];
	return NULL;
}

/* The metric of @other that is @m, measured in the same way; -1: none. */
static long same_metric(const struct plan *plan, const struct plan_metric *m,
			const struct plan *other)
{
	const struct scenario *a = find_scenario(plan, m->scenario),
			      *b = find_scenario(other, m->scenario);

	if (!a || !b || plan->duration_ns != other->duration_ns || plan->peer != other->peer ||
	    !same_settings(&a->loads, &b->loads) || !same_settings(&plan->setup, &other->setup))
		return -1;
	for (size_t i = 0; i < other->nr_metrics; i++) {
		const struct plan_metric *o = &other->metrics[i];

		if (strcmp(o->metric, m->metric) == 0 && strcmp(o->labels, m->labels) == 0 &&
		    strcmp(o->scenario, m->scenario) == 0 && o->limit_ns == m->limit_ns)
			return (long)i;
	}
	return -1;
}

/* Fill what @ret lacks from the verdicts of a run whose plan is @other. */
static void take(const struct plan *plan, const struct plan *other, int64_t run,
		 const struct verdict *v, struct noise *ret)
{
	for (size_t i = 0; i < plan->nr_metrics; i++) {
		long at = same_metric(plan, &plan->metrics[i], other);

		/* the first variant's pairs: with several, those are as good as any */
		if (at >= 0 && ret[i].run == 0 && isfinite(v[at].sd))
			ret[i] = (struct noise){ run, v[at].sd, v[at].scale, v[at].blocks };
	}
}

static int add_run(struct store *s, int64_t run, const struct plan_registry *reg,
		   const struct plan *plan, struct noise *ret, struct err *e)
{
	_cleanup_(plan_release) struct plan other = {};
	_cleanup_(queries_release) struct queries q = {};
	_cleanup_(freep) struct verdict *v = NULL;
	bool any = false;
	int r = queries_plan(s, run, reg, &other, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->nr_metrics; i++)
		any |= ret[i].run == 0 && same_metric(plan, &plan->metrics[i], &other) >= 0;
	if (!any || other.nr_variants < 2)
		return 0;
	v = calloc(other.nr_metrics * (other.nr_variants - 1) + 1, sizeof(*v));
	if (!v)
		return err_nomem(e, "noise floor");
	r = queries_read(s, run, &other, &q, e);
	if (r >= 0)
		r = verdict_decide(q.v, q.nr, other.nr_variants, other.alpha, v, e);
	if (r >= 0)
		take(plan, &other, run, v, ret);
	return r;
}

int noise_of_run(struct store *s, int64_t run, const struct plan_registry *reg,
		 const struct plan *plan, struct noise *ret, struct err *e)
{
	memset(ret, 0, plan->nr_metrics * sizeof(*ret));
	return add_run(s, run, reg, plan, ret, e);
}

static bool is_complete(const struct noise *v, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (v[i].run == 0)
			return false;
	return true;
}

int noise_find(struct store *s, const struct plan_registry *reg, const struct noise_query *q,
	       struct noise *ret, struct err *e)
{
	const struct plan *plan = q->plan;
	struct run_info *runs = NULL;
	size_t nr = 0;
	int r = store_runs(s, &runs, &nr, e);

	memset(ret, 0, plan->nr_metrics * sizeof(*ret));
	/* A/A runs first, newest first */
	for (int aa = 1; aa >= (q->any ? 0 : 1) && r >= 0; aa--) {
		for (size_t i = 0; i < nr && !is_complete(ret, plan->nr_metrics); i++) {
			struct err ignored = {};

			/* a run whose plan this irqlab no longer reads is none that fits */
			if (runs[i].state == RUN_DONE && runs[i].aa == aa &&
			    noise_same_machine(q->env, runs[i].env))
				add_run(s, runs[i].id, reg, plan, ret, &ignored);
		}
	}
	runs_free(runs, nr);
	return r;
}

enum power_test noise_test(enum metric_kind kind)
{
	switch (kind) {
	case METRIC_LOCATION:
	case METRIC_QUANTILE:
		return POWER_SIGNRANK;
	case METRIC_RATE:
		return POWER_SIGNFLIP;
	case METRIC_MAXIMUM:
		return POWER_SIGN;
	}
	return POWER_SIGNRANK;
}

double noise_visible(const struct noise *n, const struct verdict *v)
{
	const struct power_design design = { .test = noise_test(v->kind),
					     .alpha = v->alpha,
					     .power = NOISE_POWER };
	double effect = (double)NAN;

	if (n->run == 0 || v->blocks == 0 || power_effect(&design, v->blocks, n->sd, &effect) < 0)
		return (double)NAN;
	/* from a log ratio to the ratio that is shown */
	return n->scale == VERDICT_SCALE_RATIO ? expm1(effect) : effect;
}
