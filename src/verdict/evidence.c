// SPDX-License-Identifier: GPL-3.0-or-later
#include "verdict/evidence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

/* A forecast over more than this many times the blocks there are says nothing. */
#define FORECAST_MAX 100

void evidence_release(struct evidence *v)
{
	pairs_release(&v->pairs);
	free(v->d);
	*v = (struct evidence){};
}

/* Smallest number of pairs with which any of the tests can reject at @level: 2/2^n <= level. */
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
	bool ratio = positive && v->query->kind != METRIC_RATE;

	if (ratio) {
		ret->scale = VERDICT_SCALE_RATIO;
		v->same_low = m < 1 ? log1p(-m) : -HUGE_VAL;
		v->same_high = log1p(m);
	} else if (unit > 0) {
		ret->scale = v->query->kind == METRIC_RATE ? VERDICT_SCALE_MEAN
							   : VERDICT_SCALE_MEDIAN;
		v->same_low = -m;
		v->same_high = m;
	} else {
		ret->scale = VERDICT_SCALE_UNIT;
		unit = 1;
	}
	for (size_t i = 0; i < v->pairs.nr; i++) {
		double a = v->pairs.baseline[i], b = v->pairs.value[i];

		/* a difference of logarithms: swapping the two only changes its sign */
		v->d[i] = ratio ? log(b) - log(a) : (b - a) / unit;
	}
}

static int describe(const struct evidence *v, struct verdict *ret)
{
	const struct pairs *p = &v->pairs;
	int r;

	if (v->query->kind == METRIC_RATE) {
		ret->baseline = sample_mean(p->baseline, p->nr);
		ret->value = sample_mean(p->value, p->nr);
		return isfinite(ret->baseline) && isfinite(ret->value) ? 0 : -EDOM;
	}
	r = sample_median(p->baseline, p->nr, &ret->baseline);
	return r < 0 ? r : sample_median(p->value, p->nr, &ret->value);
}

/* Of single pairs, as the metric's change is given. */
static double spread(const struct evidence *v)
{
	double mean = sample_mean(v->d, v->pairs.nr), sum = 0;

	if (v->pairs.nr < 2)
		return (double)NAN;
	for (size_t i = 0; i < v->pairs.nr; i++)
		sum += (v->d[i] - mean) * (v->d[i] - mean);
	return sqrt(sum / (double)(v->pairs.nr - 1));
}

int evidence_refuse(const struct evidence *v, int code, struct err *e)
{
	if (code == -ENOMEM)
		return err_nomem(e, v->query->metric);
	if (code == -E2BIG)
		return err_set(e, code, "%s: %zu blocks: the exact test takes at most %zu",
			       v->query->metric, v->pairs.nr, procedure_of(v->query->kind)->most);
	return err_set(e, code, "%s: the values span more than a double can hold",
		       v->query->metric);
}

int evidence_init(struct evidence *v, const struct cells *c, unsigned int variant, unsigned int end,
		  struct verdict *ret, struct err *e)
{
	int r;

	*v = (struct evidence){ .query = c->query };
	r = pairs_init(c, variant, end, &v->pairs, e);
	if (r < 0)
		return r;
	*ret = (struct verdict){ .query = ret->query,
				 .variant = variant,
				 .kind = c->query->kind,
				 .blocks = v->pairs.nr,
				 .lost = v->pairs.lost,
				 .n_baseline = v->pairs.n_baseline,
				 .n_value = v->pairs.n_value,
				 .p = 1,
				 .baseline = (double)NAN,
				 .value = (double)NAN,
				 .sd = (double)NAN };
	if (v->pairs.nr == 0)
		return 0;
	v->d = calloc(v->pairs.nr, sizeof(*v->d));
	if (!v->d)
		return err_nomem(e, v->query->metric);
	r = describe(v, ret);
	if (r < 0)
		return evidence_refuse(v, r, e);
	scale_pairs(v, v->pairs.positive, ret);
	ret->sd = spread(v);
	return 0;
}

int evidence_p(const struct evidence *v, struct verdict *ret, struct err *e)
{
	int r = v->pairs.nr ? procedure_of(v->query->kind)->p(v, &ret->p) : 0;

	return r < 0 ? evidence_refuse(v, r, e) : 0;
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

void evidence_word(const struct evidence *v, const struct interval *i, struct verdict *ret)
{
	ret->change = to_change(i->estimate, ret->scale);
	ret->low = to_change(i->low, ret->scale);
	ret->high = to_change(i->high, ret->scale);
	ret->word = word(v, i);
	if (ret->word == VERDICT_UNDECIDED && v->pairs.nr > 0)
		ret->more_blocks = forecast(v, i);
}

int evidence_is_short(const struct evidence *v, struct verdict *ret)
{
	size_t least = smallest_n(ret->alpha);

	if (v->pairs.nr >= least)
		return false;
	ret->reason = pairs_reason(&v->pairs);
	ret->word = ret->reason ? VERDICT_VETOED : VERDICT_UNDECIDED;
	ret->more_blocks = 0;
	/* where no block gave a pair, more of them would not either */
	if (v->pairs.nr > 0 || !ret->reason)
		ret->more_blocks = (unsigned int)(least - v->pairs.nr);
	return true;
}

int evidence_judge(const struct evidence *v, struct verdict *ret, struct err *e)
{
	const struct procedure *p = procedure_of(v->query->kind);
	struct interval i = { .estimate = (double)NAN, .low = -HUGE_VAL, .high = HUGE_VAL };
	int r = v->pairs.nr ? p->interval(v, ret->alpha, &i) : 0;

	if (r < 0)
		return evidence_refuse(v, r, e);
	evidence_word(v, &i, ret);
	evidence_is_short(v, ret);
	return 0;
}

static int check(const struct verdict_query *q, bool direction, struct err *e)
{
	if (direction && q->better == BETTER_NONE)
		return err_set(e, -EINVAL,
			       "%s: neither more nor less of it is better; take it "
			       "off the plan's metrics",
			       q->metric);
	if (!(q->margin >= 0 && isfinite(q->margin)))
		return err_set(e, -EINVAL, "%s: margin %g: expected a share such as 5%%", q->metric,
			       q->margin);
	return 0;
}

int cells_list_init(const struct verdict_query *queries, size_t nr_queries, size_t nr_variants,
		    bool direction, struct cells_list *ret, struct err *e)
{
	_cleanup_(cells_list_release) struct cells_list l = {};
	int r;

	l.v = calloc(nr_queries + 1, sizeof(*l.v));
	if (!l.v)
		return err_nomem(e, "verdict");
	for (; l.nr < nr_queries; l.nr++) {
		r = check(&queries[l.nr], direction, e);
		if (r == 0)
			r = cells_init(&queries[l.nr], nr_variants, &l.v[l.nr], e);
		if (r < 0)
			return r;
	}
	*ret = l;
	l = (struct cells_list){};
	return 0;
}

void cells_list_release(struct cells_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		cells_release(&l->v[i]);
	free(l->v);
	*l = (struct cells_list){};
}
