// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/model.h"
#include "report/queries.h"

void report_free(struct report *rep)
{
	if (!rep)
		return;
	model_release(rep);
	for (size_t i = 0; rep->reasons && i < rep->nr_verdicts; i++)
		free(rep->reasons[i]);
	free(rep->reasons);
	free(rep->verdicts);
	free(rep->good);
	trials_free(rep->trials, rep->nr_trials);
	run_info_release(&rep->run);
	if (rep->own_plan) {
		rep->own_release(rep->own_plan);
		free(rep->own_plan);
	}
	free(rep);
}

void report_freep(struct report **rep)
{
	report_free(*rep);
}

const struct verdict *report_verdicts(const struct report *rep, size_t *ret_nr)
{
	*ret_nr = rep->nr_verdicts;
	return rep->verdicts;
}

static int copy_verdicts(struct report *rep, const struct verdict *v, size_t nr, struct err *e)
{
	rep->verdicts = calloc(nr ? nr : 1, sizeof(*rep->verdicts));
	rep->reasons = calloc(nr ? nr : 1, sizeof(char *));
	if (!rep->verdicts || !rep->reasons)
		return err_nomem(e, "report");
	for (; rep->nr_verdicts < nr; rep->nr_verdicts++) {
		struct verdict *to = &rep->verdicts[rep->nr_verdicts];

		*to = v[rep->nr_verdicts];
		if (!to->reason)
			continue;
		rep->reasons[rep->nr_verdicts] = strdup(to->reason);
		to->reason = rep->reasons[rep->nr_verdicts];
		if (!to->reason)
			return err_nomem(e, "report");
	}
	return 0;
}

static int check_trial(const struct report *rep, const struct trial_info *t, struct err *e)
{
	if (t->variant < rep->plan->nr_variants && t->scenario < rep->plan->nr_scenarios)
		return 0;
	return err_set(e, -EBADMSG,
		       "run %" PRId64 ": trial %u is of variant %u under scenario %u, which its "
		       "plan does not have",
		       rep->run.id, t->position + 1, t->variant, t->scenario);
}

static int add_trial(struct report *rep, struct store *s, size_t index, struct err *e)
{
	_cleanup_(record_list_release) struct record_list l = {};
	const struct trial_info *t = &rep->trials[index];
	int r = check_trial(rep, t, e);

	if (r < 0)
		return r;
	if (t->state == TRIAL_OK)
		rep->good[t->scenario * rep->plan->nr_variants + t->variant]++;
	else
		r = model_add_rejected(rep, index, e);
	if (r < 0)
		return r;
	r = store_records(s, t->id, 0, NULL, &l, e);
	if (r < 0)
		return err_wrap(e, "run %" PRId64 ", trial %u", rep->run.id, t->position + 1);
	return model_add_records(rep, index, &l, e);
}

/* The store has no scalar of a metric that is derived from a histogram. */
static void fill_derived(struct report *rep, const struct queries *q)
{
	for (size_t m = 0; q && m < q->nr; m++) {
		const struct metric_desc *d = rep->plan->metrics[m].desc;

		for (size_t i = 0; d && d->hist && i < rep->nr_trials; i++) {
			double *v = &rep->values[i * rep->plan->nr_metrics + m];

			*v = (double)NAN;
			for (size_t k = 0; model_is_of(rep, i, m) && k < q->v[m].nr_obs; k++) {
				const struct observation *o = &q->obs[m][k];

				if (o->block == rep->trials[i].block &&
				    o->variant == rep->trials[i].variant && o->has_value)
					*v = o->value;
			}
		}
	}
}

int report_build(struct report **ret, struct store *s, int64_t run,
		 const struct report_basis *basis, struct err *e)
{
	const struct plan *plan = basis->plan;
	_cleanup_(report_freep) struct report *rep = calloc(1, sizeof(*rep));
	struct noise_query noise;
	int r;

	if (!rep)
		return err_nomem(e, "report");
	rep->plan = plan;
	rep->good = calloc(plan->nr_scenarios * plan->nr_variants + 1, sizeof(*rep->good));
	if (!rep->good)
		return err_nomem(e, "report");
	r = copy_verdicts(rep, basis->verdicts, basis->nr_verdicts, e);
	if (r < 0)
		return r;
	r = store_run_read(s, run, &rep->run, e);
	if (r < 0)
		return r;
	r = store_trials(s, run, &rep->trials, &rep->nr_trials, e);
	if (r < 0)
		return r;
	rep->noise = calloc(plan->nr_metrics + 1, sizeof(*rep->noise));
	rep->values = calloc(rep->nr_trials * plan->nr_metrics + 1, sizeof(*rep->values));
	if (!rep->values || !rep->noise)
		return err_nomem(e, "report");
	for (size_t i = 0; r == 0 && i < rep->nr_trials; i++)
		r = add_trial(rep, s, i, e);
	noise = (struct noise_query){ .env = rep->run.env, .plan = plan };
	if (r >= 0 && basis->reg && plan->nr_metrics)
		r = noise_find(s, basis->reg, &noise, rep->noise, e);
	if (r >= 0)
		r = explore_judge(rep, basis->reg, e);
	if (r < 0)
		return r;
	fill_derived(rep, basis->queries);
	r = drift_find(rep, e);
	if (r < 0)
		return r;
	model_sort(rep);
	r = extremes_find(rep, e);
	if (r < 0)
		return r;
	*ret = take_ptr(rep);
	return 0;
}
