// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/model.h"

/* The queries of a plan's metrics, and the observations they point to. */
struct queries {
	struct verdict_query *v;
	struct observation **obs;
	size_t nr;
};

static void queries_release(struct queries *q)
{
	for (size_t i = 0; q->obs && i < q->nr; i++)
		free(q->obs[i]);
	free(q->obs);
	free(q->v);
}

struct owned_plan {
	struct plan *plan;
	bool parsed;
};

static void owned_plan_release(struct owned_plan *o)
{
	if (o->parsed)
		plan_release(o->plan);
	free(o->plan);
}

static void free_verdictp(struct verdict **v)
{
	free(*v);
}

static int scenario_index(const struct plan *plan, const char *name, unsigned int *ret,
			  struct err *e)
{
	for (size_t i = 0; i < plan->nr_scenarios; i++) {
		if (strcmp(plan->scenarios[i].name, name) == 0) {
			*ret = (unsigned int)i;
			return 0;
		}
	}
	return err_set(e, -EBADMSG, "the stored plan has no scenario \"%s\"", name);
}

static int query_metric(struct store *s, int64_t run, const struct plan *plan, struct queries *q,
			struct err *e)
{
	const struct plan_metric *m = &plan->metrics[q->nr];
	struct store_key key = { .metric = m->metric, .labels = m->labels };
	struct observation *obs = NULL;
	size_t nr_obs = 0;
	int r = scenario_index(plan, m->scenario, &key.scenario, e);

	if (r < 0)
		return r;
	r = store_observations(s, run, &key, &obs, &nr_obs, e);
	if (r < 0)
		return r;
	q->obs[q->nr] = obs;
	q->v[q->nr++] = (struct verdict_query){ .metric = m->text,
						.better = m->better,
						.margin = m->margin,
						.obs = obs,
						.nr_obs = nr_obs };
	return 0;
}

static int query_all(struct store *s, int64_t run, const struct plan *plan, struct queries *q,
		     struct err *e)
{
	int r = 0;

	q->v = calloc(plan->nr_metrics + 1, sizeof(*q->v));
	q->obs = calloc(plan->nr_metrics + 1, sizeof(struct observation *));
	if (!q->v || !q->obs)
		return err_nomem(e, "report");
	while (r == 0 && q->nr < plan->nr_metrics)
		r = query_metric(s, run, plan, q, e);
	return r;
}

static int parse_stored(struct store *s, int64_t run, const struct plan_registry *reg,
			struct owned_plan *ret, struct err *e)
{
	_cleanup_(run_info_release) struct run_info info = {};
	int r = store_run_read(s, run, &info, e);

	if (r < 0)
		return r;
	ret->plan = calloc(1, sizeof(*ret->plan));
	if (!ret->plan)
		return err_nomem(e, "report");
	r = plan_parse(info.plan, strlen(info.plan), info.plan_file ? info.plan_file : "plan", reg,
		       ret->plan, e);
	if (r < 0)
		return err_wrap(e, "run %" PRId64 " (stored by irqlab %s)", run, info.version);
	ret->parsed = true;
	return 0;
}

int report_gather(struct report **ret, struct store *s, int64_t run,
		  const struct plan_registry *reg, struct err *e)
{
	_cleanup_(owned_plan_release) struct owned_plan own = {};
	_cleanup_(queries_release) struct queries q = {};
	_cleanup_(free_verdictp) struct verdict *v = NULL;
	struct report_basis basis;
	struct report *rep = NULL;
	size_t nr;
	int r = parse_stored(s, run, reg, &own, e);

	if (r < 0)
		return r;
	r = query_all(s, run, own.plan, &q, e);
	if (r < 0)
		return r;
	nr = q.nr * (own.plan->nr_variants - 1);
	v = calloc(nr + 1, sizeof(*v));
	if (!v)
		return err_nomem(e, "report");
	r = verdict_decide(q.v, q.nr, own.plan->nr_variants, own.plan->alpha, v, e);
	if (r < 0)
		return r;
	basis = (struct report_basis){ .plan = own.plan, .verdicts = v, .nr_verdicts = nr };
	r = report_build(&rep, s, run, &basis, e);
	if (r < 0)
		return r;
	rep->own_plan = take_ptr(own.plan);
	rep->own_release = plan_release;
	own.parsed = false;
	*ret = rep;
	return 0;
}
