// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/model.h"
#include "report/queries.h"

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

static int parse_stored(struct store *s, int64_t run, const struct plan_registry *reg,
			struct owned_plan *ret, struct err *e)
{
	int r;

	ret->plan = calloc(1, sizeof(*ret->plan));
	if (!ret->plan)
		return err_nomem(e, "report");
	r = queries_plan(s, run, reg, ret->plan, e);
	ret->parsed = r >= 0;
	return r;
}

int report_gather(struct report **ret, struct store *s, int64_t run,
		  const struct plan_registry *reg, struct err *e)
{
	_cleanup_(owned_plan_release) struct owned_plan own = {};
	_cleanup_(queries_release) struct queries q = {};
	_cleanup_(freep) struct verdict *v = NULL;
	struct report_basis basis;
	struct report *rep = NULL;
	unsigned int blocks = 0;
	size_t nr;
	int r = parse_stored(s, run, reg, &own, e);

	if (r < 0)
		return r;
	r = queries_read(s, run, own.plan, &q, e);
	if (r >= 0)
		r = queries_read_blocks(s, run, own.plan, &blocks, e);
	if (r < 0)
		return r;
	nr = q.nr * (own.plan->nr_variants - 1);
	v = calloc(nr + 1, sizeof(*v));
	if (!v)
		return err_nomem(e, "report");
	r = queries_decide(&q, own.plan, blocks, v, e);
	if (r < 0)
		return r;
	basis = (struct report_basis){
		.plan = own.plan, .verdicts = v, .nr_verdicts = nr, .queries = &q, .reg = reg
	};
	r = report_build(&rep, s, run, &basis, e);
	if (r < 0)
		return r;
	rep->own_plan = take_ptr(own.plan);
	rep->own_release = plan_release;
	own.parsed = false;
	*ret = rep;
	return 0;
}
