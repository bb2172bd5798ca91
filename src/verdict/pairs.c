// SPDX-License-Identifier: GPL-3.0-or-later
#include "verdict/pairs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sample/observation.h"
#include "stats/tails.h"
#include "verdict/verdict.h"

static const char few_samples[] = "the quantile needs 10/(1 - p) samples a trial and had fewer: a "
				  "longer trial gives them";
static const char unequal_samples[] = "the maxima come from numbers of samples that differ by more "
				      "than 1 %: they are not compared";

/* Too few samples for the quantile that the metric is?  Unknown numbers are taken on trust. */
static bool is_short(const struct verdict_query *q, const struct cell *c)
{
	return q->kind == METRIC_QUANTILE && c->n > 0 && !tail_is_enough((uint64_t)c->n, q->q);
}

static bool is_usable(const struct verdict_query *q, const struct cell *c)
{
	return c->o.state == TRIAL_OK && c->o.has_value && isfinite(c->o.value) && !is_short(q, c);
}

/* Why a cell that is not usable was lost. */
static const char *loss(const struct verdict_query *q, const struct cell *c)
{
	const struct observation *o = &c->o;

	if (o->state != TRIAL_OK && o->reason)
		return o->reason;
	switch (o->state) {
	case TRIAL_VETOED:
		return "vetoed, no reason recorded";
	case TRIAL_FAILED:
		return "failed, no reason recorded";
	case TRIAL_OK:
		break;
	}
	if (is_short(q, c))
		return few_samples;
	if (o->has_value)
		return "the value is not a finite number";
	return q->kind == METRIC_QUANTILE
		       ? "the trial gave no such number (a quantile may need a longer trial)"
		       : "the trial gave no such number (what measures it says why, or its labels "
			 "are missing)";
}

static int by_cell(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->o.block != y->o.block)
		return x->o.block < y->o.block ? -1 : 1;
	return (x->o.variant > y->o.variant) - (x->o.variant < y->o.variant);
}

/* Put the number of samples beside each cell; @c is sorted. */
static void add_counts(const struct verdict_query *q, struct cells *c)
{
	for (size_t i = 0; i < q->nr_counts; i++) {
		const struct cell key = { .o = q->counts[i] };
		struct cell *at = c->nr ? bsearch(&key, c->v, c->nr, sizeof(*c->v), by_cell) : NULL;

		if (at && key.o.has_value && isfinite(key.o.value) && key.o.value > 0)
			at->n = key.o.value;
	}
}

static int check_once(const struct cells *c, struct err *e)
{
	for (size_t i = 1; i < c->nr; i++)
		if (by_cell(&c->v[i - 1], &c->v[i]) == 0)
			return err_set(e, -EINVAL,
				       "%s: block %u: variant %u has two values where one trial "
				       "gives one; compare one run at a time",
				       c->query->metric, c->v[i].o.block, c->v[i].o.variant);
	return 0;
}

int cells_init(const struct verdict_query *q, size_t nr_variants, struct cells *ret, struct err *e)
{
	_cleanup_(cells_release) struct cells c = { .query = q };
	int r;

	c.v = calloc(q->nr_obs ? q->nr_obs : 1, sizeof(*c.v));
	if (!c.v)
		return err_nomem(e, q->metric);
	for (; c.nr < q->nr_obs; c.nr++) {
		const struct observation *o = &q->obs[c.nr];

		if (o->variant >= nr_variants)
			return err_set(e, -EINVAL,
				       "%s: block %u: variant %u: the run has %zu variants",
				       q->metric, o->block, o->variant, nr_variants);
		c.v[c.nr].o = *o;
	}
	qsort(c.v, c.nr, sizeof(*c.v), by_cell);
	r = check_once(&c, e);
	if (r < 0)
		return r;
	add_counts(q, &c);
	*ret = c;
	c = (struct cells){};
	return 0;
}

void cells_release(struct cells *c)
{
	free(c->v);
	*c = (struct cells){};
}

/* Are these two maxima of about as many samples?  Unknown numbers are taken on trust. */
static bool is_comparable(struct pairs *p, const struct verdict_query *q, const struct cell *a,
			  const struct cell *b)
{
	if (q->kind != METRIC_MAXIMUM || a->n == 0 || b->n == 0)
		return true;
	if (!maxima_comparable((uint64_t)a->n, (uint64_t)b->n, MAXIMA_TOLERANCE))
		return false;
	p->odds = fmax(p->odds, maxima_odds((uint64_t)a->n, (uint64_t)b->n));
	return true;
}

static void lose(struct pairs *p, const char *why)
{
	if (why)
		p->reasons[p->nr_reasons++] = why;
}

/* Add a block's two observations, either of which may be missing. */
static void add_block(struct pairs *p, const struct verdict_query *q, const struct cell *baseline,
		      const struct cell *variant)
{
	bool both = baseline && variant && is_usable(q, baseline) && is_usable(q, variant);

	if (both && is_comparable(p, q, baseline, variant)) {
		p->baseline[p->nr] = baseline->o.value;
		p->value[p->nr] = variant->o.value;
		p->block[p->nr++] = baseline->o.block;
		p->n_baseline += baseline->n;
		p->n_value += variant->n;
		return;
	}
	p->lost++;
	lose(p, both ? unequal_samples : NULL);
	lose(p, baseline && !is_usable(q, baseline) ? loss(q, baseline) : NULL);
	lose(p, variant && !is_usable(q, variant) ? loss(q, variant) : NULL);
}

int pairs_init(const struct cells *c, unsigned int variant, unsigned int end, struct pairs *ret,
	       struct err *e)
{
	size_t size = c->nr ? c->nr : 1;
	_cleanup_(pairs_release) struct pairs p = { .odds = 0.5, .positive = true };

	p.baseline = calloc(size, sizeof(*p.baseline));
	p.value = calloc(size, sizeof(*p.value));
	p.block = calloc(size, sizeof(*p.block));
	p.reasons = calloc(size, sizeof(*p.reasons));
	if (!p.baseline || !p.value || !p.block || !p.reasons)
		return err_nomem(e, "pairs");
	for (size_t i = 0, next; i < c->nr && c->v[i].o.block < end; i = next) {
		const struct cell *base = NULL, *other = NULL;

		for (next = i; next < c->nr && c->v[next].o.block == c->v[i].o.block; next++) {
			if (is_usable(c->query, &c->v[next]) && c->v[next].o.value <= 0)
				p.positive = false;
			if (c->v[next].o.variant == 0)
				base = &c->v[next];
			if (c->v[next].o.variant == variant)
				other = &c->v[next];
		}
		add_block(&p, c->query, base, other);
	}
	*ret = p;
	p = (struct pairs){};
	return 0;
}

void pairs_release(struct pairs *p)
{
	free(p->baseline);
	free(p->value);
	free(p->block);
	free(p->reasons);
	*p = (struct pairs){};
}

const char *pairs_reason(const struct pairs *p)
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < p->nr_reasons; i++) {
		size_t same = 0;

		for (size_t j = i; j < p->nr_reasons; j++)
			same += strcmp(p->reasons[i], p->reasons[j]) == 0;
		if (same > most) {
			most = same;
			best = p->reasons[i];
		}
	}
	return best;
}
