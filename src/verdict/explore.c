// SPDX-License-Identifier: GPL-3.0-or-later
/* The many metrics that no plan names: Benjamini-Hochberg over their p-values. */
#include "verdict/verdict.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "stats/stats.h"
#include "verdict/evidence.h"

static int weigh(const struct cells *c, unsigned int variant, struct exploration *ret,
		 struct err *e)
{
	_cleanup_(evidence_release) struct evidence v = {};
	int r = evidence_init(&v, c, variant, UINT_MAX, &ret->v, e);

	return r < 0 ? r : evidence_p(&v, &ret->v, e);
}

/* Change and interval at @alpha; the word is nobody's business here. */
static int measure(const struct cells *c, double alpha, struct exploration *ret, struct err *e)
{
	_cleanup_(evidence_release) struct evidence v = {};
	double p = ret->v.p;
	int r = evidence_init(&v, c, ret->v.variant, UINT_MAX, &ret->v, e);

	ret->v.p = p;
	ret->v.alpha = alpha;
	if (r >= 0)
		r = evidence_judge(&v, &ret->v, e);
	ret->v.word = VERDICT_UNDECIDED;
	ret->v.more_blocks = 0;
	return r;
}

static int explore_variant(const struct cells_list *cells, double rate, struct exploration *ret,
			   struct err *e)
{
	_cleanup_(freep) double *p = calloc(cells->nr, sizeof(*p));
	_cleanup_(freep) double *adjusted = calloc(cells->nr, sizeof(*adjusted));
	size_t found = 0;
	int r = 0;

	if (!p || !adjusted)
		return err_nomem(e, "exploration");
	for (size_t i = 0; i < cells->nr && r >= 0; i++) {
		r = weigh(&cells->v[i], ret[i].v.variant, &ret[i], e);
		p[i] = ret[i].v.p;
	}
	if (r < 0)
		return r;
	bh_adjusted(p, cells->nr, adjusted);
	for (size_t i = 0; i < cells->nr; i++) {
		ret[i].differs = adjusted[i] <= rate;
		found += ret[i].differs;
	}
	for (size_t i = 0; i < cells->nr && r >= 0; i++) {
		double share = ret[i].differs ? (double)found / (double)cells->nr : 1;

		r = measure(&cells->v[i], rate * share, &ret[i], e);
	}
	return r;
}

int verdict_explore(const struct verdict_query *queries, size_t nr_queries, size_t nr_variants,
		    double rate, struct exploration *ret, struct err *e)
{
	_cleanup_(cells_list_release) struct cells_list cells = {};
	size_t nr = nr_variants > 1 ? nr_queries * (nr_variants - 1) : 0;
	int r;

	if (!(rate > 0 && rate < 1))
		return err_set(e, -EINVAL, "rate %g: expected a level such as 0.05", rate);
	if (nr == 0)
		return 0;
	r = cells_list_init(queries, nr_queries, nr_variants, false, &cells, e);
	for (size_t i = 0; i < nr && r >= 0; i++) {
		ret[i] = (struct exploration){};
		ret[i].v.query = i % nr_queries;
		ret[i].v.variant = (unsigned int)(i / nr_queries) + 1;
	}
	for (size_t i = 0; i < nr && r >= 0; i += nr_queries)
		r = explore_variant(&cells, rate, &ret[i], e);
	return r;
}
