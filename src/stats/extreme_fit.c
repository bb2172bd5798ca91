// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/extreme_fit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>

#include "base/cleanup.h"

#define NEVER 1e100 /* cost outside the support; GSL wants finite numbers */
#define SHAPE_MIN (-1.0)
#define SHAPE_MAX 5.0
#define STEPS_MAX 2000
#define FINE 1e-7 /* size of the last simplex */
#define COARSE 1e-3
#define WIDER 60 /* steps away from the estimate, each 1.6 times as long */
#define HALVINGS 30

/* log(1 + shape s) / shape, which is s at shape 0; INFINITY or -INFINITY outside the support. */
static double reduced(double shape, double s)
{
	double y = shape * s;

	if (y <= -1)
		return shape < 0 ? HUGE_VAL : -HUGE_VAL;
	return fabs(shape) < 1e-12 ? s : log1p(y) / shape;
}

/* -log of the probability of a cell, or of the density, without the scale's part. */
static double gev_cost1(double low, double high, double shape, bool cell)
{
	double t_low = exp(-low), t_high = exp(-high);

	if (!cell)
		return isinf(low) ? NEVER : (1 + shape) * low + t_low;
	return t_high < t_low ? t_high - log(-expm1(t_high - t_low)) : NEVER;
}

static double gpd_cost1(double low, double high, double shape, bool cell)
{
	if (!cell)
		return isinf(low) ? NEVER : (1 + shape) * low;
	return low < high && low >= 0 ? low - log(-expm1(low - high)) : NEVER;
}

double extreme_cost(const struct extreme_data *d, const struct extreme_params *p)
{
	double place = d->law == LAW_GEV ? p->loc : 0, cost = 0;
	bool cell = d->resolution > 0;

	if (!(p->scale > 0) || !(p->shape > SHAPE_MIN && p->shape < SHAPE_MAX))
		return NEVER;
	for (size_t i = 0; i < d->n; i++) {
		double low = reduced(p->shape, (d->x[i] - place) / p->scale), high = 0, c;

		if (cell)
			high = reduced(p->shape, (d->x[i] + d->resolution - place) / p->scale);
		c = d->law == LAW_GEV ? gev_cost1(low, high, p->shape, cell)
				      : gpd_cost1(low, high, p->shape, cell);
		if (!(c < NEVER))
			return NEVER;
		cost += c;
	}
	if (!cell)
		cost += (double)d->n * log(p->scale);
	if (d->law == LAW_GPD)
		cost += p->loc * d->exposure - (double)d->n * log(p->loc);
	return cost < NEVER ? cost : NEVER;
}

/* The level lies this many scales above loc, or above the threshold. */
static double level_scales(const struct extreme_data *d, double rate, double shape)
{
	double times = d->law == LAW_GEV ? -1 / log1p(-1 / d->period) : rate * d->period;

	return fabs(shape) < 1e-12 ? log(times) : expm1(shape * log(times)) / shape;
}

double extreme_level(const struct extreme_data *d, const struct extreme_params *p)
{
	double level = p->scale * level_scales(d, p->loc, p->shape);

	return d->law == LAW_GEV ? p->loc + level : level;
}

/* What is searched over: two or three numbers; the others follow. */
struct search {
	const struct extreme_data *d;
	bool at_level; /* hold the level at */
	double level;
};

static bool params_of(const struct search *s, const gsl_vector *v, struct extreme_params *ret)
{
	double a = gsl_vector_get(v, 0), shape = gsl_vector_get(v, 1), scales;

	*ret = (struct extreme_params){ .shape = shape };
	if (!(shape > SHAPE_MIN && shape < SHAPE_MAX) || !(fabs(a) < 300))
		return false;
	if (s->d->law == LAW_GEV) {
		ret->scale = exp(a);
		if (s->at_level)
			ret->loc = s->level - ret->scale * level_scales(s->d, 1, shape);
		else
			ret->loc = gsl_vector_get(v, 2);
		return true;
	}
	if (!s->at_level) {
		ret->scale = exp(a);
		ret->loc = (double)s->d->n / s->d->exposure;
		return true;
	}
	ret->loc = exp(a);
	scales = level_scales(s->d, ret->loc, shape);
	ret->scale = s->level / scales;
	return scales > 0;
}

static void vector_of(const struct search *s, const struct extreme_params *p, gsl_vector *v)
{
	bool by_rate = s->d->law == LAW_GPD && s->at_level;

	gsl_vector_set(v, 0, log(by_rate ? p->loc : p->scale));
	gsl_vector_set(v, 1, p->shape);
	if (v->size > 2)
		gsl_vector_set(v, 2, p->loc);
}

static double cost_of(const gsl_vector *v, void *data)
{
	const struct search *s = data;
	struct extreme_params p;

	return params_of(s, v, &p) ? extreme_cost(s->d, &p) : NEVER;
}

static void minimizer_freep(gsl_multimin_fminimizer **m)
{
	if (*m)
		gsl_multimin_fminimizer_free(*m);
}

/* One descent from @p, which it improves. */
static int descend(const struct search *s, double size, struct extreme_params *p, double *ret_cost)
{
	size_t dims = s->d->law == LAW_GEV && !s->at_level ? 3 : 2;
	double start[3], step[3] = { 0.2, 0.1, 0.2 };
	gsl_vector_view at = gsl_vector_view_array(start, dims);
	gsl_vector_view steps = gsl_vector_view_array(step, dims);
	gsl_multimin_function f = { cost_of, dims, (void *)(uintptr_t)s };
	_cleanup_(minimizer_freep) gsl_multimin_fminimizer *m =
		gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, dims);

	if (!m)
		return -ENOMEM;
	vector_of(s, p, &at.vector);
	if (gsl_multimin_fminimizer_set(m, &f, &at.vector, &steps.vector) != GSL_SUCCESS)
		return -ERANGE;
	for (int i = 0; i < STEPS_MAX; i++)
		if (gsl_multimin_fminimizer_iterate(m) != GSL_SUCCESS ||
		    gsl_multimin_fminimizer_size(m) < size)
			break;
	*ret_cost = m->fval;
	return params_of(s, m->x, p) && m->fval < NEVER ? 0 : -ERANGE;
}

/* GSL's default error handler aborts the program, which would leave the machine as it is. */
static int descend_quietly(const struct search *s, double size, struct extreme_params *p,
			   double *ret_cost)
{
	gsl_error_handler_t *old = gsl_set_error_handler_off();
	int r = descend(s, size, p, ret_cost);

	gsl_set_error_handler(old);
	return r;
}

static struct extreme_params usual_start(const struct extreme_data *d, double shape)
{
	if (d->law == LAW_GEV) /* mean 0, deviation 1 at shape 0 */
		return (struct extreme_params){ -0.45, 0.78, shape };
	return (struct extreme_params){ (double)d->n / d->exposure, 1, shape };
}

/* Twice from where the first descent ended: a simplex may have collapsed on its way. */
static int search_finely(const struct search *s, struct extreme_params *ret, double *ret_cost)
{
	static const double shapes[] = { 0.1, 0.001, -0.2 };
	double best = NEVER;

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct extreme_params p = usual_start(s->d, shapes[i]);
		double cost = NEVER;
		int r = descend_quietly(s, COARSE, &p, &cost);

		if (r == 0)
			r = descend_quietly(s, FINE, &p, &cost);
		if (r == -ENOMEM)
			return r;
		if (r == 0 && cost < best) {
			best = cost;
			*ret = p;
		}
	}
	*ret_cost = best;
	return best < NEVER ? 0 : -ERANGE;
}

int extreme_search(const struct extreme_data *d, const struct extreme_params *start,
		   struct extreme_params *ret, double *ret_cost)
{
	struct search s = { .d = d };
	struct extreme_params p = {};
	double cost = NEVER;
	int r;

	if (start) {
		p = *start;
		r = descend_quietly(&s, COARSE, &p, &cost);
	} else {
		r = search_finely(&s, &p, &cost);
	}
	if (r < 0)
		return r;
	if (p.shape < SHAPE_MIN + 1e-3 || p.shape > SHAPE_MAX - 1e-3)
		return -ERANGE;
	*ret = p;
	*ret_cost = cost;
	return 0;
}

/* What the level costs above the maximum; the nuisance parameters go on from @p. */
static int deviance(const struct extreme_data *d, double level, double best,
		    struct extreme_params *p, double *ret)
{
	struct search s = { .d = d, .at_level = true, .level = level };
	double cost = NEVER;
	int r = descend_quietly(&s, 1e-5, p, &cost);

	*ret = 2 * (cost - best);
	return r == -ENOMEM ? r : 0;
}

/* A level inside the interval, with its nuisance parameters, and one that may be outside. */
struct bracket {
	double in, out, cost; /* cost: at the maximum */
	struct extreme_params p;
};

/* Try @level: it becomes the inner end or the outer one. */
static int narrow(const struct extreme_data *d, struct bracket *b, double level, double limit,
		  bool *ret_in)
{
	struct extreme_params p = b->p;
	double over = 0;
	int r = deviance(d, level, b->cost, &p, &over);

	if (r < 0)
		return r;
	*ret_in = over <= limit;
	if (*ret_in) {
		b->in = level;
		b->p = p;
	} else {
		b->out = level;
	}
	return 0;
}

/* Where the deviance passes @limit on the side of @step; infinite when it never does. */
static int profile_end(const struct extreme_data *d, const struct extreme_params *best,
		       double limit, double step, double *ret)
{
	struct bracket b = { .cost = extreme_cost(d, best), .p = *best };
	bool inside = true;

	b.in = b.out = extreme_level(d, best);
	for (int i = 0; i < WIDER && inside; i++) {
		double level = b.in + step * pow(1.6, i);
		int r;

		if (d->law == LAW_GPD && level <= 0)
			level = b.in / 2;
		r = narrow(d, &b, level, limit, &inside);
		if (r < 0)
			return r;
	}
	for (int i = 0; i < HALVINGS && !inside; i++) {
		bool ignored = false;
		int r = narrow(d, &b, (b.in + b.out) / 2, limit, &ignored);

		if (r < 0)
			return r;
	}
	*ret = inside ? copysign(HUGE_VAL, step) : b.in;
	return 0;
}

int extreme_profile(const struct extreme_data *d, const struct extreme_params *best, double alpha,
		    struct interval *ret)
{
	double limit = gsl_cdf_chisq_Qinv(alpha, 1), step = 0.1 * best->scale;
	struct interval out = { .estimate = extreme_level(d, best) };
	int r = profile_end(d, best, limit, -step, &out.low);

	if (r == 0)
		r = profile_end(d, best, limit, step, &out.high);
	if (r == 0)
		*ret = out;
	return r;
}

double extreme_cdf(enum law law, const struct extreme_params *p, double x)
{
	if (law == LAW_GEV)
		return exp(-exp(-reduced(p->shape, (x - p->loc) / p->scale)));
	return x <= 0 ? 0 : -expm1(-reduced(p->shape, x / p->scale));
}

double extreme_quantile(enum law law, const struct extreme_params *p, double u)
{
	double w = law == LAW_GEV ? -log(-log(u)) : -log1p(-u);
	double s = fabs(p->shape) < 1e-12 ? w : expm1(p->shape * w) / p->shape;

	return (law == LAW_GEV ? p->loc : 0) + p->scale * s;
}
