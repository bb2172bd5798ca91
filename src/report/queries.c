// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/queries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/plan.h"
#include "report/labels.h"
#include "sample/hist.h"
#include "sample/sample.h"
#include "store/store.h"
#include "verdict/verdict.h"

/* Where the observations of one metric come from. */
struct source {
	struct store *store;
	int64_t run;
	const struct plan_metric *metric;
	unsigned int scenario;
};

struct trials {
	struct trial_info *v;
	size_t nr;
};

static void trials_release(struct trials *t)
{
	trials_free(t->v, t->nr);
}

void queries_release(struct queries *q)
{
	for (size_t i = 0; i < q->nr; i++) {
		free(q->obs[i]);
		free(q->counts[i]);
	}
	free(q->obs);
	free(q->counts);
	free(q->v);
	*q = (struct queries){};
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

/* The scalar "OWNER.NAME" with the metric's labels. */
static int read_sibling(const struct source *src, const char *name, struct observation **ret,
			size_t *ret_nr, struct err *e)
{
	_cleanup_(freep) char *full = NULL;
	struct store_key key = { .scenario = src->scenario, .labels = src->metric->labels };

	if (asprintf(&full, "%s.%s", src->metric->owner, name) < 0)
		return err_nomem(e, src->metric->text);
	key.metric = full;
	return store_observations(src->store, src->run, &key, ret, ret_nr, e);
}

/* How many samples were due in each trial: those taken and those skipped. */
static int read_counts(const struct source *src, struct observation **ret, size_t *ret_nr,
		       struct err *e)
{
	_cleanup_(freep) struct observation *taken = NULL, *skipped = NULL;
	const struct metric_desc *d = src->metric->desc;
	size_t nr = 0, nr_skipped = 0;
	int r = read_sibling(src, d->samples, &taken, &nr, e);

	if (r >= 0 && d->skipped)
		r = read_sibling(src, d->skipped, &skipped, &nr_skipped, e);
	if (r < 0)
		return r;
	/* both have one observation for every trial, by position */
	for (size_t i = 0; i < nr && i < nr_skipped; i++)
		if (skipped[i].has_value)
			taken[i].value += skipped[i].value;
	*ret = take_ptr(taken);
	*ret_nr = nr;
	return 0;
}

/* Is the label @key the same in both, or not asked for by @want? */
static bool label_fits(const char *want, const char *have, const char *key)
{
	const char *a = labels_value(want, key), *b = labels_value(have, key);
	size_t len = a ? strcspn(a, ",") : 0;

	return !a || (b && strcspn(b, ",") == len && memcmp(a, b, len) == 0);
}

/*
 * The histograms of one trial that the metric's labels mean, merged.  A metric without a priority
 * means the probe's first, which is the first that it reports.
 */
static int merge_hists(const struct record_list *l, const char *labels, struct hist *ret)
{
	const char *first = l->nr ? l->v[0]->labels : "";
	bool any = false;

	for (size_t i = 0; i < l->nr; i++) {
		const char *have = l->v[i]->labels;

		if (!label_fits(labels, have, "cpu") || !label_fits(labels, have, "prio") ||
		    !label_fits(labels, have, "stream"))
			continue;
		if (!labels_value(labels, "prio") && !label_fits(first, have, "prio"))
			continue;
		hist_merge(ret, l->v[i]->hist);
		any = true;
	}
	return any ? 0 : -ENODATA;
}

/* The share of the samples due that are above the limit, in one trial. */
static int observe_above(const struct source *src, int64_t trial, const struct observation *count,
			 struct observation *ret, struct err *e)
{
	_cleanup_(record_list_release) struct record_list l = {};
	_cleanup_(hist_freep) struct hist *h = hist_new();
	_cleanup_(freep) char *name = NULL;
	double due;
	int r;

	if (!h || asprintf(&name, "%s.%s", src->metric->owner, src->metric->desc->hist) < 0)
		return err_nomem(e, src->metric->text);
	r = store_records(src->store, trial, RECORD_HIST, name, &l, e);
	if (r < 0)
		return r;
	if (merge_hists(&l, src->metric->labels, h) < 0)
		return 0;
	due = count && count->has_value ? count->value : (double)h->total;
	ret->has_value = due > 0;
	ret->value = due > 0 ? (double)hist_above(h, src->metric->limit_ns) / due : 0;
	return 0;
}

/* @obs: those of a metric that the store does not have, so they say only which trials there are. */
static int derive(const struct source *src, struct observation *obs, size_t nr,
		  const struct observation *counts, size_t nr_counts, struct err *e)
{
	_cleanup_(trials_release) struct trials t = {};
	int r = store_trials(src->store, src->run, &t.v, &t.nr, e);
	size_t at = 0;

	for (size_t i = 0; i < t.nr && r >= 0; i++) {
		if (t.v[i].scenario != src->scenario || at == nr)
			continue;
		r = observe_above(src, t.v[i].id, at < nr_counts ? &counts[at] : NULL, &obs[at], e);
		at++;
	}
	return r;
}

static int query_metric(struct source *src, struct queries *q, const struct plan *plan,
			struct err *e)
{
	const struct plan_metric *m = src->metric;
	const struct metric_desc *d = m->desc;
	_cleanup_(freep) struct observation *obs = NULL, *counts = NULL;
	struct store_key key = { .metric = m->metric, .labels = m->labels };
	size_t nr = 0, nr_counts = 0;
	int r = scenario_index(plan, m->scenario, &src->scenario, e);

	key.scenario = src->scenario;
	if (r >= 0)
		r = store_observations(src->store, src->run, &key, &obs, &nr, e);
	if (r >= 0 && d && d->samples)
		r = read_counts(src, &counts, &nr_counts, e);
	if (r >= 0 && d && d->hist)
		r = derive(src, obs, nr, counts, nr_counts, e);
	if (r < 0)
		return r;
	q->v[q->nr] = (struct verdict_query){ .metric = m->text,
					      .better = m->better,
					      .margin = m->margin,
					      .kind = d ? metric_desc_kind(d) : METRIC_LOCATION,
					      .q = d ? d->q : 0,
					      .obs = obs,
					      .nr_obs = nr,
					      .counts = counts,
					      .nr_counts = nr_counts };
	q->obs[q->nr] = take_ptr(obs);
	q->counts[q->nr++] = take_ptr(counts);
	return 0;
}

int queries_read(struct store *s, int64_t run, const struct plan *plan, struct queries *ret,
		 struct err *e)
{
	_cleanup_(queries_release) struct queries q = {};
	int r = 0;

	q.v = calloc(plan->nr_metrics + 1, sizeof(*q.v));
	q.obs = calloc(plan->nr_metrics + 1, sizeof(struct observation *));
	q.counts = calloc(plan->nr_metrics + 1, sizeof(struct observation *));
	if (!q.v || !q.obs || !q.counts)
		return err_nomem(e, "metrics");
	while (r >= 0 && q.nr < plan->nr_metrics) {
		struct source src = { .store = s, .run = run, .metric = &plan->metrics[q.nr] };

		r = query_metric(&src, &q, plan, e);
	}
	if (r < 0)
		return r;
	*ret = q;
	q = (struct queries){};
	return 0;
}

int queries_plan(struct store *s, int64_t run, const struct plan_registry *reg, struct plan *ret,
		 struct err *e)
{
	_cleanup_(run_info_release) struct run_info info = {};
	int r = store_run_read(s, run, &info, e);

	if (r < 0)
		return r;
	r = plan_parse(info.plan, strlen(info.plan), info.plan_file ? info.plan_file : "plan", reg,
		       ret, e);
	if (r >= 0 && info.aa) {
		r = plan_make_aa(ret, e);
		if (r < 0)
			plan_release(ret);
	}
	if (r < 0)
		return err_wrap(e, "run %" PRId64 " (stored by irqlab %s)", run, info.version);
	return 0;
}
