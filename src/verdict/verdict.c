// SPDX-License-Identifier: GPL-3.0-or-later
#include "verdict/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "stats/stats.h"
#include "verdict/pairs.h"

/* A forecast over more than this many times the blocks there are says nothing. */
#define FORECAST_MAX 100

/* What one metric of one variant is decided on. */
struct evidence {
	const struct verdict_query *query;
	struct pairs pairs;
	double *d;	 /* log ratios or scaled differences, one per pair */
	double same_low; /* the margin on the scale of @d */
	double same_high;
};

struct evidence_list {
	struct evidence *v;
	size_t nr;
};

struct cells_list {
	struct cells *v;
	size_t nr;
};

static void evidence_list_release(struct evidence_list *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		pairs_release(&l->v[i].pairs);
		free(l->v[i].d);
	}
	free(l->v);
	*l = (struct evidence_list){};
}

static void cells_list_release(struct cells_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		cells_release(&l->v[i]);
	free(l->v);
	*l = (struct cells_list){};
}

static void free_doublep(double **p)
{
	free(*p);
}

static void free_verdictp(struct verdict **p)
{
	free(*p);
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

/* Smallest number of pairs with which the signed-rank test can reject at @level: 2/2^n <= level. */
static size_t smallest_n(double level)
{
	size_t n = 1;

	while (n < SIGNRANK_MAX && ldexp(1, 1 - (int)n) > level)
		n++;
	return n;
}

/* Put the pairs on the scale on which they are compared, and the margin with them. */
static void scale_pairs(struct evidence *v, bool positive, struct verdict *ret)
{
	double m = v->query->margin, unit = fabs(ret->baseline);

	if (positive) {
		ret->scale = VERDICT_SCALE_RATIO;
		v->same_low = m < 1 ? log1p(-m) : -HUGE_VAL;
		v->same_high = log1p(m);
	} else if (unit > 0) {
		ret->scale = VERDICT_SCALE_MEDIAN;
		v->same_low = -m;
		v->same_high = m;
	} else {
		ret->scale = VERDICT_SCALE_UNIT;
		unit = 1;
	}
	for (size_t i = 0; i < v->pairs.nr; i++) {
		double a = v->pairs.baseline[i], b = v->pairs.value[i];

		/* a difference of logarithms: swapping the two only changes its sign */
		v->d[i] = positive ? log(b) - log(a) : (b - a) / unit;
	}
}

static int describe(const struct evidence *v, struct verdict *ret)
{
	int r = sample_median(v->pairs.baseline, v->pairs.nr, &ret->baseline);

	return r < 0 ? r : sample_median(v->pairs.value, v->pairs.nr, &ret->value);
}

static int refuse(const struct evidence *v, int code, struct err *e)
{
	if (code == -ENOMEM)
		return err_nomem(e, v->query->metric);
	if (code == -E2BIG)
		return err_set(e, code, "%s: %zu blocks: the exact test takes at most %d",
			       v->query->metric, v->pairs.nr, SIGNRANK_MAX);
	return err_set(e, code, "%s: the values span more than a double can hold",
		       v->query->metric);
}

/* First half: pairs, medians and the p that Holm's procedure needs of all metrics. */
static int weigh(struct evidence *v, const struct cells *c, struct verdict *ret, struct err *e)
{
	int r = pairs_init(c, ret->variant, &v->pairs, e);

	if (r < 0)
		return r;
	ret->blocks = v->pairs.nr;
	ret->lost = v->pairs.lost;
	ret->p = 1;
	ret->baseline = ret->value = (double)NAN;
	if (v->pairs.nr == 0)
		return 0;
	v->d = calloc(v->pairs.nr, sizeof(*v->d));
	if (!v->d)
		return err_nomem(e, v->query->metric);
	r = describe(v, ret);
	if (r == 0) {
		scale_pairs(v, c->positive, ret);
		r = signrank_p(v->d, v->pairs.nr, 0, &ret->p);
	}
	return r < 0 ? refuse(v, r, e) : 0;
}

/* Pairs that shrink a half-width of @half at @n pairs to @room; the width goes as 1/sqrt(n). */
static double pairs_for(size_t n, double half, double room)
{
	return room > 0 ? (double)n * pow(half / room, 2) : HUGE_VAL;
}

/* About how many more pairs reach the nearer decision: off zero, or inside the margin. */
static unsigned int forecast(const struct evidence *v, const struct interval *i)
{
	size_t n = v->pairs.nr;
	double c = i->estimate, want;
	double off_zero = c > 0 ? pairs_for(n, c - i->low, c) : pairs_for(n, i->high - c, -c);
	double inside = fmax(pairs_for(n, i->high - c, v->same_high - c),
			     pairs_for(n, c - i->low, c - v->same_low));

	want = ceil(fmin(off_zero, inside));
	if (!(want <= FORECAST_MAX * (double)n))
		return 0;
	return want > (double)n + 1 ? (unsigned int)want - (unsigned int)n : 1;
}

static enum verdict_word word(const struct evidence *v, const struct interval *i)
{
	bool higher = v->query->better == BETTER_HIGHER;

	if (i->low >= v->same_low && i->high <= v->same_high)
		return VERDICT_SAME;
	if (i->low > 0)
		return higher ? VERDICT_BETTER : VERDICT_WORSE;
	if (i->high < 0)
		return higher ? VERDICT_WORSE : VERDICT_BETTER;
	return VERDICT_UNDECIDED;
}

/* Back from the scale of the comparison to a ratio; an open end stays open. */
static double to_change(double d, enum verdict_scale scale)
{
	return scale == VERDICT_SCALE_RATIO && isfinite(d) ? expm1(d) : d;
}

/* Second half: the interval at the level that Holm gave, and the word that follows from it. */
static int judge(const struct evidence *v, struct verdict *ret, struct err *e)
{
	size_t least = smallest_n(ret->alpha);
	struct interval i = { .estimate = (double)NAN, .low = -HUGE_VAL, .high = HUGE_VAL };
	int r;

	if (v->pairs.nr > 0) {
		r = signrank_interval(v->d, v->pairs.nr, ret->alpha, &i);
		if (r < 0)
			return refuse(v, r, e);
	}
	ret->change = to_change(i.estimate, ret->scale);
	ret->low = to_change(i.low, ret->scale);
	ret->high = to_change(i.high, ret->scale);
	if (v->pairs.nr < least) {
		ret->reason = pairs_reason(&v->pairs);
		ret->word = ret->reason ? VERDICT_VETOED : VERDICT_UNDECIDED;
		/* where no block gave a pair, more of them would not either */
		if (v->pairs.nr > 0 || !ret->reason)
			ret->more_blocks = (unsigned int)(least - v->pairs.nr);
		return 0;
	}
	ret->word = word(v, &i);
	if (ret->word == VERDICT_UNDECIDED)
		ret->more_blocks = forecast(v, &i);
	return 0;
}

/* @ret: one verdict per query. */
static int decide_variant(const struct cells_list *cells, const struct verdict_query *queries,
			  double alpha, struct verdict *ret, struct err *e)
{
	_cleanup_(evidence_list_release) struct evidence_list l = {};
	_cleanup_(free_doublep) double *p = calloc(cells->nr, sizeof(*p));
	_cleanup_(free_doublep) double *level = calloc(cells->nr, sizeof(*level));
	int r;

	l.v = calloc(cells->nr, sizeof(*l.v));
	if (!p || !level || !l.v)
		return err_nomem(e, "verdict");
	for (; l.nr < cells->nr; l.nr++) {
		l.v[l.nr].query = &queries[l.nr];
		r = weigh(&l.v[l.nr], &cells->v[l.nr], &ret[l.nr], e);
		if (r < 0) {
			l.nr++;
			return r;
		}
		p[l.nr] = ret[l.nr].p;
	}
	holm_levels(p, l.nr, alpha, level);
	for (size_t i = 0; i < l.nr; i++) {
		ret[i].alpha = level[i];
		r = judge(&l.v[i], &ret[i], e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check(const struct verdict_query *q, struct err *e)
{
	if (q->better == BETTER_NONE)
		return err_set(e, -EINVAL,
			       "%s: neither more nor less of it is better; take it "
			       "off the plan's metrics",
			       q->metric);
	if (!(q->margin >= 0 && isfinite(q->margin)))
		return err_set(e, -EINVAL, "%s: margin %g: expected a share such as 5%%", q->metric,
			       q->margin);
	return 0;
}

int verdict_decide(const struct verdict_query *queries, size_t nr_queries, size_t nr_variants,
		   double alpha, struct verdict *ret, struct err *e)
{
	_cleanup_(cells_list_release) struct cells_list cells = {};
	_cleanup_(free_verdictp) struct verdict *out = NULL;
	size_t nr = nr_variants > 1 ? nr_queries * (nr_variants - 1) : 0;
	int r = 0;

	if (!(alpha > 0 && alpha < 1))
		return err_set(e, -EINVAL, "alpha %g: expected a level such as 0.05", alpha);
	if (nr == 0)
		return 0;
	cells.v = calloc(nr_queries, sizeof(*cells.v));
	out = calloc(nr, sizeof(*out));
	if (!cells.v || !out)
		return err_nomem(e, "verdict");
	for (; cells.nr < nr_queries; cells.nr++) {
		r = check(&queries[cells.nr], e);
		if (r == 0)
			r = cells_init(&queries[cells.nr], nr_variants, &cells.v[cells.nr], e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < nr; i++) {
		out[i].query = i % nr_queries;
		out[i].variant = (unsigned int)(i / nr_queries) + 1;
	}
	for (size_t i = 0; i < nr && r == 0; i += nr_queries)
		r = decide_variant(&cells, queries, alpha, &out[i], e);
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
