// SPDX-License-Identifier: GPL-3.0-or-later
/* The verdict of a design that is looked at before its end. */
#include "stats/sequential.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "verdict/evidence.h"

/* Less chance than this to be decided by the last look is none worth waiting for. */
#define FUTILE_CHANCE 0.05
#define PATHS_SEED 1

/* One metric of one variant on its way through the looks. */
struct course {
	const struct cells *cells;
	const struct verdict_looks *looks;
	double alpha; /* of this metric for all looks together */
	size_t pairs[SEQUENTIAL_LOOKS_MAX];
};

static bool is_decided(const struct verdict *v)
{
	return v->word == VERDICT_BETTER || v->word == VERDICT_WORSE || v->word == VERDICT_SAME;
}

static void nothing_yet(const struct course *c, struct verdict *ret)
{
	ret->alpha = c->alpha;
	ret->low = -HUGE_VAL;
	ret->high = HUGE_VAL;
	ret->change = (double)NAN;
	ret->word = VERDICT_UNDECIDED;
	ret->looks = c->looks->nr;
}

/* Looks that trials have been lost to, so that they add no pair, do not count as looks. */
static size_t usable_looks(const struct course *c, size_t k, size_t *ret_pairs)
{
	size_t nr = 0;

	for (size_t i = 0; i <= k; i++)
		if (c->pairs[i] > (nr ? ret_pairs[nr - 1] : 0))
			ret_pairs[nr++] = c->pairs[i];
	return nr;
}

static int is_futile(const struct course *c, const struct evidence *v, double alpha,
		     struct verdict *ret, struct err *e)
{
	struct interval now = {};
	double chance = 1, t = (double)v->pairs.nr / c->looks->blocks[c->looks->nr - 1];
	int r = procedure_of(v->query->kind)->interval(v, alpha, &now);

	if (r >= 0 && t < 1)
		r = sequential_chance(&now, alpha, t, v->same_low, v->same_high, &chance);
	if (r < 0)
		return evidence_refuse(v, r, e);
	ret->futile = chance < FUTILE_CHANCE;
	return 0;
}

/* Judge look @k of the pairs in @v. */
static int look(const struct course *c, const struct evidence *v, size_t k, struct verdict *ret,
		struct err *e)
{
	size_t pairs[SEQUENTIAL_LOOKS_MAX];
	size_t nr = usable_looks(c, k, pairs);
	const unsigned int *planned = c->looks->blocks;
	struct sequential s = { .test = v->query->kind == METRIC_RATE ? SEQUENTIAL_SIGNFLIP
								      : SEQUENTIAL_SIGNRANK,
				.spending = SPENDING_OBRIEN_FLEMING,
				.alpha = c->alpha,
				.looks = pairs,
				.nr_looks = nr,
				.most = planned[c->looks->nr - 1],
				.seed = PATHS_SEED };
	struct sequential_look at = {};
	int r;

	if (nr == 0 || v->pairs.nr < pairs[nr - 1] || (k > 0 && c->pairs[k] == c->pairs[k - 1]))
		return 0;
	/* looks to come, so that this one is not taken for the last */
	for (size_t i = k + 1; i < c->looks->nr; i++)
		if (planned[i] > pairs[s.nr_looks - 1])
			pairs[s.nr_looks++] = planned[i];
	r = sequential_look(&s, v->d, nr - 1, &at);
	if (r < 0)
		return evidence_refuse(v, r, e);
	ret->p = at.p;
	ret->look = k + 1;
	ret->looks = c->looks->nr;
	evidence_word(v, &at.interval, ret);
	if (isinf(at.interval.low) && isinf(at.interval.high))
		evidence_is_short(v, ret);
	if (ret->word == VERDICT_UNDECIDED && k + 1 < c->looks->nr)
		return is_futile(c, v, c->alpha, ret, e);
	return 0;
}

static int follow(struct course *c, struct verdict *ret, struct err *e)
{
	struct verdict now = *ret;
	int r = 0;

	nothing_yet(c, &now);
	for (size_t k = 0; k < c->looks->done && r >= 0; k++) {
		_cleanup_(evidence_release) struct evidence v = {};

		r = evidence_init(&v, c->cells, ret->variant, c->looks->blocks[k], &now, e);
		if (r < 0)
			return r;
		c->pairs[k] = v.pairs.nr;
		nothing_yet(c, &now);
		now.look = k + 1;
		if (evidence_is_short(&v, &now))
			continue;
		r = look(c, &v, k, &now, e);
		if (is_decided(&now))
			break;
	}
	*ret = now;
	return r;
}

static int check(const struct verdict_query *queries, size_t nr, const struct verdict_looks *l,
		 struct err *e)
{
	if (!(l->alpha > 0 && l->alpha < 1))
		return err_set(e, -EINVAL, "alpha %g: expected a level such as 0.05", l->alpha);
	if (l->nr == 0 || l->nr > SEQUENTIAL_LOOKS_MAX || l->done > l->nr)
		return err_set(e, -EINVAL, "%zu looks, %zu of them due: expected up to %d", l->nr,
			       l->done, SEQUENTIAL_LOOKS_MAX);
	for (size_t i = 0; i < nr; i++)
		if (queries[i].kind == METRIC_MAXIMUM)
			return err_set(
				e, -EINVAL,
				"%s: a maximum is decided by a sign test, which is looked at "
				"once: use a fixed number of blocks",
				queries[i].metric);
	return 0;
}

int verdict_decide_sequential(const struct verdict_query *queries, size_t nr_queries,
			      size_t nr_variants, const struct verdict_looks *looks,
			      struct verdict *ret, struct err *e)
{
	_cleanup_(cells_list_release) struct cells_list cells = {};
	size_t nr = nr_variants > 1 ? nr_queries * (nr_variants - 1) : 0;
	int r = check(queries, nr_queries, looks, e);

	if (r >= 0)
		r = cells_list_init(queries, nr_queries, nr_variants, true, &cells, e);
	for (size_t i = 0; i < nr && r >= 0; i++) {
		struct course c = { .cells = &cells.v[i % nr_queries],
				    .looks = looks,
				    .alpha = looks->alpha / (double)nr_queries };

		ret[i] = (struct verdict){ .query = i % nr_queries,
					   .variant = (unsigned int)(i / nr_queries) + 1,
					   .kind = queries[i % nr_queries].kind };
		r = follow(&c, &ret[i], e);
	}
	return r;
}

bool verdict_is_settled(const struct verdict *v, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!is_decided(&v[i]) && !v[i].futile)
			return false;
	return true;
}
