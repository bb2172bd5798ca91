// SPDX-License-Identifier: GPL-3.0-or-later
/* How many blocks, when they are looked at, and what an A/A run makes of a plan. */
#include "plan/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/boot.h"
#include "stats/sequential.h"

unsigned int plan_min_blocks(size_t nr_metrics, double alpha)
{
	double level = alpha / (double)(nr_metrics ? nr_metrics : 1);
	double reach = 1; /* 2/2^n */
	unsigned int n = 1;

	/* the smallest double ends it when there is no level to reach */
	for (; reach > level && reach > 0; n++)
		reach /= 2;
	return n;
}

unsigned int plan_first_look(size_t nr_metrics, double alpha, unsigned int blocks)
{
	double level = alpha / (double)(nr_metrics ? nr_metrics : 1);
	unsigned int n = 1;

	while (n <= blocks && ldexp(1, 1 - (int)n) > sequential_spent(SPENDING_OBRIEN_FLEMING,
								      level, (double)n / blocks))
		n++;
	return n;
}

uint64_t plan_block_ns(const struct plan *p)
{
	uint64_t trials = (uint64_t)p->nr_scenarios * p->nr_variants;

	return trials * (p->settle_ns + p->warmup_ns + p->duration_ns);
}

uint64_t plan_length_ns(const struct plan *p)
{
	return p->blocks * plan_block_ns(p);
}

static int add_variant(struct plan *p, const char *name, struct err *e)
{
	struct variant *v = realloc(p->variants, (p->nr_variants + 1) * sizeof(*v));

	if (!v)
		return err_nomem(e, name);
	p->variants = v;
	v[p->nr_variants] = (struct variant){ .name = strdup(name) };
	return v[p->nr_variants++].name ? 0 : err_nomem(e, name);
}

static int copy_override(const struct override *from, struct override *to, struct err *e)
{
	*to = (struct override){ .scenario = from->scenario ? strdup(from->scenario) : NULL,
				 .instance = strdup(from->instance),
				 .key = strdup(from->key),
				 .value = strdup(from->value),
				 .line = from->line };
	if ((from->scenario && !to->scenario) || !to->instance || !to->key || !to->value)
		return err_nomem(e, "variant");
	return 0;
}

static int copy_variant(const struct variant *from, struct variant *to, struct err *e)
{
	int r = 0;

	to->line = from->line;
	for (size_t i = 0; i < from->knobs.nr && r >= 0; i++)
		r = instances_add(&to->knobs, &from->knobs.v[i], e);
	for (size_t i = 0; i < from->boot.nr && r >= 0; i++)
		r = instances_add(&to->boot, &from->boot.v[i], e);
	if (r < 0 || from->nr_overrides == 0)
		return r;
	to->overrides = calloc(from->nr_overrides, sizeof(*to->overrides));
	if (!to->overrides)
		return err_nomem(e, "variant");
	while (r >= 0 && to->nr_overrides < from->nr_overrides) {
		r = copy_override(&from->overrides[to->nr_overrides],
				  &to->overrides[to->nr_overrides], e);
		to->nr_overrides++;
	}
	return r;
}

int plan_make_aa(struct plan *p, struct err *e)
{
	int r = p->nr_variants < 2 ? add_variant(p, "again", e) : 0;

	for (size_t i = 1; i < p->nr_variants && r >= 0; i++) {
		struct variant *v = &p->variants[i];
		char *name = take_ptr(v->name);

		variant_release(v);
		*v = (struct variant){ .name = name };
		r = copy_variant(&p->variants[0], v, e);
	}
	if (!plan_has_boots(p))
		p->boots = 0;
	return r;
}
