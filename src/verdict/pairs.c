// SPDX-License-Identifier: GPL-3.0-or-later
#include "verdict/pairs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sample/observation.h"
#include "verdict/verdict.h"

static bool is_usable(const struct observation *o)
{
	return o->state == TRIAL_OK && o->has_value && isfinite(o->value);
}

/* Why an observation that is not usable was lost. */
static const char *loss(const struct observation *o)
{
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
	return o->has_value ? "the value is not a finite number"
			    : "the trial gave no such number (a quantile may need a longer trial)";
}

static int by_cell(const void *a, const void *b)
{
	const struct observation *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return (x->variant > y->variant) - (x->variant < y->variant);
}

int cells_init(const struct verdict_query *q, size_t nr_variants, struct cells *ret, struct err *e)
{
	_cleanup_(cells_release) struct cells c = { .positive = true };

	c.v = calloc(q->nr_obs ? q->nr_obs : 1, sizeof(*c.v));
	if (!c.v)
		return err_nomem(e, q->metric);
	for (; c.nr < q->nr_obs; c.nr++) {
		const struct observation *o = &q->obs[c.nr];

		if (o->variant >= nr_variants)
			return err_set(e, -EINVAL,
				       "%s: block %u: variant %u: the run has %zu variants",
				       q->metric, o->block, o->variant, nr_variants);
		if (is_usable(o) && o->value <= 0)
			c.positive = false;
		c.v[c.nr] = *o;
	}
	qsort(c.v, c.nr, sizeof(*c.v), by_cell);
	for (size_t i = 1; i < c.nr; i++)
		if (by_cell(&c.v[i - 1], &c.v[i]) == 0)
			return err_set(e, -EINVAL,
				       "%s: block %u: variant %u has two values where one trial "
				       "gives one; compare one run at a time",
				       q->metric, c.v[i].block, c.v[i].variant);
	*ret = c;
	c = (struct cells){};
	return 0;
}

void cells_release(struct cells *c)
{
	free(c->v);
	*c = (struct cells){};
}

/* Add a block's two observations, either of which may be missing. */
static void add_block(struct pairs *p, const struct observation *baseline,
		      const struct observation *variant)
{
	const struct observation *const both[] = { baseline, variant };

	if (baseline && variant && is_usable(baseline) && is_usable(variant)) {
		p->baseline[p->nr] = baseline->value;
		p->value[p->nr++] = variant->value;
		return;
	}
	p->lost++;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		const char *why = both[i] && !is_usable(both[i]) ? loss(both[i]) : NULL;

		if (why)
			p->reasons[p->nr_reasons++] = why;
	}
}

int pairs_init(const struct cells *c, unsigned int variant, struct pairs *ret, struct err *e)
{
	size_t size = c->nr ? c->nr : 1;
	_cleanup_(pairs_release) struct pairs p = {};

	p.baseline = calloc(size, sizeof(*p.baseline));
	p.value = calloc(size, sizeof(*p.value));
	p.reasons = calloc(size, sizeof(*p.reasons));
	if (!p.baseline || !p.value || !p.reasons)
		return err_nomem(e, "pairs");
	for (size_t i = 0, next; i < c->nr; i = next) {
		const struct observation *base = NULL, *other = NULL;

		for (next = i; next < c->nr && c->v[next].block == c->v[i].block; next++) {
			if (c->v[next].variant == 0)
				base = &c->v[next];
			if (c->v[next].variant == variant)
				other = &c->v[next];
		}
		add_block(&p, base, other);
	}
	*ret = p;
	p = (struct pairs){};
	return 0;
}

void pairs_release(struct pairs *p)
{
	free(p->baseline);
	free(p->value);
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
