// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan/plan.h"

#include <errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

/* @list with what @variant says of its instances; @scenario is NULL for the probes. */
static int overridden(const struct plan *p, size_t variant, const struct instances *list,
		      const char *scenario, struct instances *ret, struct err *e)
{
	_cleanup_(instances_release) struct instances copy = {};
	const struct variant *v = &p->variants[variant];
	int r = 0;

	for (size_t i = 0; i < list->nr && r >= 0; i++)
		r = instances_add(&copy, &list->v[i], e);
	for (size_t i = 0; i < copy.nr && r >= 0; i++) {
		for (size_t k = 0; k < v->nr_overrides && r >= 0; k++) {
			const struct override *o = &v->overrides[k];
			bool here = scenario ? o->scenario && strcmp(o->scenario, scenario) == 0
					     : !o->scenario;

			if (here && strcmp(o->instance, copy.v[i].name) == 0)
				r = instance_set(&copy.v[i], o->key, o->value, o->line, e);
		}
	}
	if (r < 0)
		return r;
	*ret = copy;
	copy = (struct instances){};
	return 0;
}

int plan_loads(const struct plan *p, size_t variant, size_t scenario, struct instances *ret,
	       struct err *e)
{
	const struct scenario *s = &p->scenarios[scenario];

	return overridden(p, variant, &s->loads, s->name, ret, e);
}

int plan_probes(const struct plan *p, size_t variant, struct instances *ret, struct err *e)
{
	return overridden(p, variant, &p->probes, NULL, ret, e);
}

static void free_rngp(gsl_rng **r)
{
	gsl_rng_free(*r);
}

static uint64_t draw_seed(gsl_rng *rng)
{
	uint64_t high = gsl_rng_get(rng);

	return high << 32 | gsl_rng_get(rng);
}

static void draw_order(gsl_rng *rng, unsigned int *order, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		order[i] = (unsigned int)i;
	gsl_ran_shuffle(rng, order, nr, sizeof(*order));
}

struct drawing {
	gsl_rng *rng;
	unsigned int *scenarios, *variants;
	struct slot *at;
};

static void add_slot(struct drawing *d, unsigned int block, unsigned int scenario,
		     unsigned int variant)
{
	*d->at++ = (struct slot){ block, scenario, variant, draw_seed(d->rng) };
}

static void draw_block(const struct plan *p, struct drawing *d, unsigned int block)
{
	draw_order(d->rng, d->scenarios, p->nr_scenarios);
	for (size_t s = 0; s < p->nr_scenarios; s++) {
		draw_order(d->rng, d->variants, p->nr_variants);
		for (size_t v = 0; v < p->nr_variants; v++)
			add_slot(d, block, d->scenarios[s], d->variants[v]);
	}
}

/* Blocks from @first up to @end under one boot of each variant. */
static void draw_round(const struct plan *p, struct drawing *d, unsigned int first,
		       unsigned int end)
{
	draw_order(d->rng, d->variants, p->nr_variants);
	for (size_t v = 0; v < p->nr_variants; v++) {
		for (unsigned int b = first; b < end; b++) {
			draw_order(d->rng, d->scenarios, p->nr_scenarios);
			for (size_t s = 0; s < p->nr_scenarios; s++)
				add_slot(d, b, d->scenarios[s], d->variants[v]);
		}
	}
}

int plan_order(const struct plan *p, struct slot **ret, size_t *ret_nr, struct err *e)
{
	size_t nr = (size_t)p->blocks * p->nr_scenarios * p->nr_variants;
	_cleanup_(free_rngp) gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	_cleanup_(freep) unsigned int *scenarios = calloc(p->nr_scenarios + 1, sizeof(*scenarios));
	_cleanup_(freep) unsigned int *variants = calloc(p->nr_variants + 1, sizeof(*variants));
	struct slot *slots = calloc(nr + 1, sizeof(*slots));
	struct drawing d = { rng, scenarios, variants, slots };

	if (!rng || !scenarios || !variants || !slots) {
		free(slots);
		return err_nomem(e, "order");
	}
	gsl_rng_set(rng, p->seed);
	for (unsigned int b = 0; b < p->blocks && !p->boots; b++)
		draw_block(p, &d, b);
	for (unsigned int i = 0; i < p->boots; i++)
		draw_round(p, &d, (unsigned int)((uint64_t)i * p->blocks / p->boots),
			   (unsigned int)((uint64_t)(i + 1) * p->blocks / p->boots));
	*ret = slots;
	*ret_nr = nr;
	return 0;
}
