// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/model.h"

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

int report_build(struct report **ret, struct store *s, int64_t run,
		 const struct report_basis *basis, struct err *e)
{
	const struct plan *plan = basis->plan;
	_cleanup_(report_freep) struct report *rep = calloc(1, sizeof(*rep));
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
	rep->values = calloc(rep->nr_trials * plan->nr_metrics + 1, sizeof(*rep->values));
	if (!rep->values)
		return err_nomem(e, "report");
	for (size_t i = 0; r == 0 && i < rep->nr_trials; i++)
		r = add_trial(rep, s, i, e);
	if (r < 0)
		return r;
	model_sort(rep);
	*ret = take_ptr(rep);
	return 0;
}
