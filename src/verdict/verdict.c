// SPDX-License-Identifier: GPL-3.0-or-later
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

struct evidence_list {
	struct evidence *v;
	size_t nr;
};

static void evidence_list_release(struct evidence_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		evidence_release(&l->v[i]);
	free(l->v);
	*l = (struct evidence_list){};
}

const char *verdict_word(enum verdict_word w)
{
	switch (w) {
	case VERDICT_BETTER:
		return "better";
	case VERDICT_WORSE:
		return "worse";
	case VERDICT_SAME:
		return "same";
	case VERDICT_UNDECIDED:
		return "undecided";
	case VERDICT_VETOED:
		return "vetoed";
	}
	return "unknown";
}

const char *verdict_scale_word(enum verdict_scale s)
{
	switch (s) {
	case VERDICT_SCALE_RATIO:
		return "ratio";
	case VERDICT_SCALE_MEDIAN:
		return "median";
	case VERDICT_SCALE_MEAN:
		return "mean";
	case VERDICT_SCALE_UNIT:
		return "unit";
	}
	return "unknown";
}

/* A family of metrics of one variant; @ret: one verdict per query. */
static int decide_variant(const struct cells_list *cells, double alpha, struct verdict *ret,
			  struct err *e)
{
	_cleanup_(evidence_list_release) struct evidence_list l = {};
	_cleanup_(freep) double *p = calloc(cells->nr, sizeof(*p));
	_cleanup_(freep) double *level = calloc(cells->nr, sizeof(*level));
	int r = 0;

	l.v = calloc(cells->nr, sizeof(*l.v));
	if (!p || !level || !l.v)
		return err_nomem(e, "verdict");
	while (l.nr < cells->nr) {
		size_t i = l.nr++;

		r = evidence_init(&l.v[i], &cells->v[i], ret[i].variant, UINT_MAX, &ret[i], e);
		if (r == 0)
			r = evidence_p(&l.v[i], &ret[i], e);
		if (r < 0)
			return r;
		p[i] = ret[i].p;
	}
	holm_levels(p, l.nr, alpha, level);
	for (size_t i = 0; i < l.nr && r >= 0; i++) {
		ret[i].alpha = level[i];
		r = evidence_judge(&l.v[i], &ret[i], e);
	}
	return r;
}

int verdict_decide(const struct verdict_query *queries, size_t nr_queries, size_t nr_variants,
		   double alpha, struct verdict *ret, struct err *e)
{
	_cleanup_(cells_list_release) struct cells_list cells = {};
	_cleanup_(freep) struct verdict *out = NULL;
	size_t nr = nr_variants > 1 ? nr_queries * (nr_variants - 1) : 0;
	int r;

	if (!(alpha > 0 && alpha < 1))
		return err_set(e, -EINVAL, "alpha %g: expected a level such as 0.05", alpha);
	if (nr == 0)
		return 0;
	r = cells_list_init(queries, nr_queries, nr_variants, true, &cells, e);
	if (r < 0)
		return r;
	out = calloc(nr, sizeof(*out));
	if (!out)
		return err_nomem(e, "verdict");
	for (size_t i = 0; i < nr; i++) {
		out[i].query = i % nr_queries;
		out[i].variant = (unsigned int)(i / nr_queries) + 1;
	}
	for (size_t i = 0; i < nr && r >= 0; i += nr_queries)
		r = decide_variant(&cells, alpha, &out[i], e);
	if (r < 0)
		return r;
	memcpy(ret, out, nr * sizeof(*ret));
	return 0;
}

int verdict_exit_code(const struct verdict *v, size_t nr)
{
	int code = 0;

	for (size_t i = 0; i < nr; i++) {
		if (v[i].word == VERDICT_WORSE)
			return 5;
		if (v[i].word == VERDICT_UNDECIDED || v[i].word == VERDICT_VETOED)
			code = 4;
	}
	return code;
}
