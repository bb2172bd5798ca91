// SPDX-License-Identifier: GPL-3.0-or-later
/* What a plan's design allows to be said of the trials there are. */
#include "report/queries.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/plan.h"
#include "store/store.h"
#include "verdict/verdict.h"

unsigned int queries_blocks(const struct plan *plan, const struct trial_info *trials, size_t nr)
{
	size_t each = plan->nr_scenarios * plan->nr_variants;
	_cleanup_(freep) unsigned int *count = calloc(plan->blocks + 1, sizeof(*count));
	unsigned int n = 0;

	if (!count)
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (trials[i].block < plan->blocks)
			count[trials[i].block]++;
	while (n < plan->blocks && count[n] >= each)
		n++;
	return n;
}

int queries_read_blocks(struct store *s, int64_t run, const struct plan *plan, unsigned int *ret,
			struct err *e)
{
	struct trial_info *trials = NULL;
	size_t nr = 0;
	int r = store_trials(s, run, &trials, &nr, e);

	if (r >= 0)
		*ret = queries_blocks(plan, trials, nr);
	trials_free(trials, nr);
	return r;
}

/* A fixed design before its end: no numbers, so that nobody stops when they please. */
static void not_yet(const struct queries *q, const struct plan *plan, unsigned int blocks,
		    struct verdict *ret)
{
	for (size_t i = 0; i < q->nr * (plan->nr_variants - 1); i++)
		ret[i] = (struct verdict){ .query = i % q->nr,
					   .variant = (unsigned int)(i / q->nr) + 1,
					   .word = VERDICT_UNDECIDED,
					   .kind = q->v[i % q->nr].kind,
					   .blocks = blocks,
					   .baseline = (double)NAN,
					   .value = (double)NAN,
					   .change = (double)NAN,
					   .low = -HUGE_VAL,
					   .high = HUGE_VAL,
					   .sd = (double)NAN,
					   .p = 1,
					   .alpha = plan->alpha };
}

int queries_decide(const struct queries *q, const struct plan *plan, unsigned int blocks,
		   struct verdict *ret, struct err *e)
{
	struct verdict_looks looks = { .alpha = plan->alpha,
				       .blocks = plan->looks,
				       .nr = plan->nr_looks };

	if (plan->nr_variants < 2)
		return 0;
	while (looks.done < looks.nr && plan->looks[looks.done] <= blocks)
		looks.done++;
	if (plan_is_sequential(plan))
		return verdict_decide_sequential(q->v, q->nr, plan->nr_variants, &looks, ret, e);
	if (blocks < plan->blocks) {
		not_yet(q, plan, blocks, ret);
		return 0;
	}
	return verdict_decide(q->v, q->nr, plan->nr_variants, plan->alpha, ret, e);
}
