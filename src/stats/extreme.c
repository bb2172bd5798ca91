// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/extreme.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/check.h"
#include "stats/extreme_fit.h"
#include "stats/series.h"

#define FIT_MIN 5
#define SHAPE_LOW (-0.5) /* below, the likelihood theory is gone */
#define SHAPE_HIGH 1.0	 /* above, the mean */

static struct extreme_params of_gev(const struct gev *g)
{
	return (struct extreme_params){ g->loc, g->scale, g->shape };
}

static struct extreme_params of_gpd(const struct gpd *g)
{
	return (struct extreme_params){ 1, g->scale, g->shape };
}

double gev_cdf(const struct gev *g, double x)
{
	struct extreme_params p = of_gev(g);

	return extreme_cdf(LAW_GEV, &p, x);
}

double gpd_cdf(const struct gpd *g, double excess)
{
	struct extreme_params p = of_gpd(g);

	return extreme_cdf(LAW_GPD, &p, excess);
}

double gev_level(const struct gev *g, double p)
{
	struct extreme_params params = of_gev(g);
	struct extreme_data d = { .law = LAW_GEV, .period = 1 / p };

	return extreme_level(&d, &params);
}

double gpd_level(const struct gpd *g, double peaks)
{
	struct extreme_params params = of_gpd(g);
	struct extreme_data d = { .law = LAW_GPD, .period = peaks };

	return extreme_level(&d, &params);
}

/* The numbers moved and scaled for the search, with what takes a result back. */
struct scaled {
	struct extreme_data d;
	double *x; /* owned; @d.x */
	double place, unit;
};

static void scaled_release(struct scaled *s)
{
	free(s->x);
}

/* @place: the threshold for LAW_GPD.  -EDOM when all are alike. */
static int scaled_init(struct scaled *s, enum law law, const double *x, size_t n, double place)
{
	double unit = gsl_stats_sd(x, 1, n);

	if (!(gsl_stats_min(x, 1, n) < gsl_stats_max(x, 1, n)) || !(unit > 0) || !isfinite(unit))
		return -EDOM;
	if (law == LAW_GEV)
		place = gsl_stats_mean(x, 1, n);
	else
		unit = gsl_stats_mean(x, 1, n) - place;
	s->x = malloc(n * sizeof(*s->x));
	if (!s->x)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		s->x[i] = (x[i] - place) / unit;
	s->d = (struct extreme_data){ .law = law, .x = s->x, .n = n, .exposure = (double)n };
	s->place = place;
	s->unit = unit;
	return 0;
}

/* Cells start at multiples of @resolution; the likelihood of cells does not change with the unit.
 */
static void scaled_cells(struct scaled *s, double resolution)
{
	s->d.resolution = resolution / s->unit;
	s->d.origin = s->d.law == LAW_GEV ? -s->place / s->unit : 0;
}

static int fit(enum law law, const double *x, size_t n, double resolution,
	       struct extreme_params *ret, double *ret_loglik)
{
	_cleanup_(scaled_release) struct scaled s = {};
	struct extreme_params p;
	double cost;
	int r = check_numbers(x, n);

	if (r < 0 || !(resolution >= 0) || (law == LAW_GPD && gsl_stats_min(x, 1, n) < 0))
		return -EDOM;
	if (n < FIT_MIN)
		return -ERANGE;
	r = scaled_init(&s, law, x, n, 0);
	if (r < 0)
		return r;
	scaled_cells(&s, resolution);
	r = extreme_search(&s.d, NULL, &p, &cost);
	if (r < 0)
		return r;
	if (law == LAW_GPD) /* without the part of the rate, which is 1 here */
		cost -= (double)n;
	if (ret_loglik)
		*ret_loglik = -cost - (resolution > 0 ? 0 : (double)n * log(s.unit));
	*ret = (struct extreme_params){ s.place + s.unit * p.loc, s.unit * p.scale, p.shape };
	return 0;
}

int gev_fit(const double *x, size_t n, double resolution, struct gev *ret, double *ret_loglik)
{
	struct extreme_params p;
	int r = fit(LAW_GEV, x, n, resolution, &p, ret_loglik);

	if (r == 0)
		*ret = (struct gev){ p.loc, p.scale, p.shape };
	return r;
}

int gpd_fit(const double *x, size_t n, double resolution, struct gpd *ret, double *ret_loglik)
{
	struct extreme_params p;
	int r = fit(LAW_GPD, x, n, resolution, &p, ret_loglik);

	if (r == 0)
		*ret = (struct gpd){ p.scale, p.shape };
	return r;
}

const char *extreme_word(enum extreme_word w)
{
	static const char *const words[] = { "good",  "too few maxima", "trend", "dependent maxima",
					     "shape", "misfit" };

	return words[w];
}

/* A^2 of the numbers, each at the middle of its cell in probability; @u is space for them. */
static double anderson_darling(const struct extreme_data *d, const struct extreme_params *p,
			       double *u)
{
	double sum = 0, n = (double)d->n;

	for (size_t i = 0; i < d->n; i++) {
		u[i] = extreme_cdf(d->law, p, d->x[i]);
		if (d->resolution > 0)
			u[i] = (u[i] + extreme_cdf(d->law, p, d->x[i] + d->resolution)) / 2;
		u[i] = fmin(fmax(u[i], 1e-15), 1 - 1e-15);
	}
	gsl_sort(u, 1, d->n);
	for (size_t i = 0; i < d->n; i++)
		sum += (2 * (double)i + 1) * (log(u[i]) + log1p(-u[d->n - 1 - i]));
	return -n - sum / n;
}

/* As many numbers from the fitted law, put into the same cells. */
static void draw(const struct extreme_data *d, const struct extreme_params *p, uint64_t *rng,
		 double *ret)
{
	for (size_t i = 0; i < d->n; i++) {
		double u = ((double)(rng_next(rng) >> 12) + 0.5) * 0x1p-52;
		double x = extreme_quantile(d->law, p, u);

		if (d->resolution > 0)
			x = d->origin + floor((x - d->origin) / d->resolution) * d->resolution;
		ret[i] = d->law == LAW_GPD ? fmax(x, 0) : x;
	}
}

/* p of the fit: how often the law's own samples, fitted in their turn, fit no better. */
static int fit_p(const struct extreme_data *d, const struct extreme_params *p, uint64_t seed,
		 double *ret)
{
	_cleanup_(freep) double *x = malloc(d->n * sizeof(*x));
	_cleanup_(freep) double *u = malloc(d->n * sizeof(*u));
	struct extreme_data again = *d;
	size_t hits = 1, nr = 1;
	double seen, cost;

	if (!x || !u)
		return -ENOMEM;
	again.x = x;
	seen = anderson_darling(d, p, u);
	for (size_t i = 0; i < EXTREME_REFITS; i++) {
		struct extreme_params q;
		int r;

		draw(d, p, &seed, x);
		r = extreme_search(&again, p, &q, &cost);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		nr++;
		hits += anderson_darling(&again, &q, u) >= seen;
	}
	*ret = (double)hits / (double)nr;
	return 0;
}

/* The gates that need no fit; the word stays good when they are passed. */
static int check_order(const double *x, size_t n, struct extreme_report *out)
{
	size_t lags = n / 5 < 10 ? n / 5 : 10;
	struct trend trend;
	int r;

	if (n < EXTREME_MIN || !(gsl_stats_min(x, 1, n) < gsl_stats_max(x, 1, n))) {
		out->word = EXTREME_FEW;
		return 0;
	}
	r = trend_test(x, n, EXTREME_GATE, &trend);
	if (r == 0)
		r = ljung_box_ranks(x, n, lags, &out->p_dependence);
	if (r < 0)
		return r;
	out->p_trend = trend.p;
	if (out->p_trend <= EXTREME_GATE)
		out->word = EXTREME_TREND;
	else if (out->p_dependence <= EXTREME_GATE)
		out->word = EXTREME_DEPENDENT;
	return 0;
}

/* The fit and the gates after it, then the level. */
static int extrapolate(const struct scaled *s, const struct extreme_query *q,
		       struct extreme_report *out)
{
	struct extreme_params p;
	struct interval level;
	double cost;
	int r = extreme_search(&s->d, NULL, &p, &cost);

	if (r == -ERANGE) {
		out->word = EXTREME_SHAPE;
		return 0;
	}
	if (r < 0)
		return r;
	out->scale = s->unit * p.scale;
	out->shape = p.shape;
	if (s->d.law == LAW_GEV)
		out->loc = s->place + s->unit * p.loc;
	if (!(p.shape > SHAPE_LOW && p.shape < SHAPE_HIGH)) {
		out->word = EXTREME_SHAPE;
		return 0;
	}
	r = fit_p(&s->d, &p, q->seed, &out->p_fit);
	if (r < 0)
		return r;
	if (out->p_fit <= EXTREME_GATE) {
		out->word = EXTREME_MISFIT;
		return 0;
	}
	r = extreme_profile(&s->d, &p, q->alpha, &level);
	if (r == 0)
		out->level = (struct interval){ s->place + s->unit * level.estimate,
						s->place + s->unit * level.low,
						s->place + s->unit * level.high };
	return r;
}

static int check_query(const double *x, size_t n, const struct extreme_query *q)
{
	if (n > EXTREME_MAX)
		return -E2BIG;
	if (check_numbers(x, n) < 0 || !(q->resolution >= 0) || !(q->alpha > 0 && q->alpha < 1))
		return -EDOM;
	return 0;
}

static struct extreme_report empty_report(size_t n, double loc, double rate)
{
	double nan = (double)NAN;

	return (struct extreme_report){ EXTREME_GOOD,	   n,	nan, nan, loc, rate,
					{ nan, nan, nan }, nan, nan, nan };
}

int extreme_maxima(const double *x, size_t n, const struct extreme_query *q,
		   struct extreme_report *ret)
{
	_cleanup_(scaled_release) struct scaled s = {};
	struct extreme_report out = empty_report(n, (double)NAN, 1);
	int r = check_query(x, n, q);

	if (r < 0 || !(q->period > 1))
		return r < 0 ? r : -EDOM;
	r = check_order(x, n, &out);
	if (r == 0 && out.word == EXTREME_GOOD) {
		r = scaled_init(&s, LAW_GEV, x, n, 0);
		if (r < 0)
			return r;
		scaled_cells(&s, q->resolution);
		s.d.period = q->period;
		r = extrapolate(&s, q, &out);
	}
	if (r == 0)
		*ret = out;
	return r;
}

int extreme_peaks(const double *x, size_t n, const struct extreme_query *q,
		  struct extreme_report *ret)
{
	_cleanup_(scaled_release) struct scaled s = {};
	struct extreme_report out;
	double threshold = q->threshold;
	int r = check_query(x, n, q);

	if (r < 0 || !(q->exposure > 0) || !(q->period > 0) || check_numbers(&threshold, 1) < 0)
		return r < 0 ? r : -EDOM;
	if (!(gsl_stats_min(x, 1, n) > threshold))
		return -EDOM;
	/* what lies above the threshold begins with the next cell */
	if (q->resolution > 0)
		threshold = (floor(threshold / q->resolution) + 1) * q->resolution;
	out = empty_report(n, threshold, (double)n / q->exposure);
	if (!(out.rate * q->period > 1))
		return -EDOM;
	r = check_order(x, n, &out);
	if (r == 0 && out.word == EXTREME_GOOD) {
		r = scaled_init(&s, LAW_GPD, x, n, threshold);
		if (r < 0)
			return r;
		scaled_cells(&s, q->resolution);
		s.d.exposure = q->exposure;
		s.d.period = q->period;
		r = extrapolate(&s, q, &out);
	}
	if (r == 0)
		*ret = out;
	return r;
}
