/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_EXTREME_H
#define STATS_EXTREME_H

/*
 * Extrapolation beyond the largest sample: "the level passed once an hour".  An aid, never a
 * verdict, and only for maxima that pass every gate.
 *
 * Block maxima follow the generalised extreme value law, with s = (x - loc) / scale,
 *
 *	F(x) = exp(-(1 + shape s)^(-1/shape)),   shape = 0: exp(-exp(-s)),
 *
 * peaks over a threshold (one per episode) the generalised Pareto law,
 *
 *	F(x) = 1 - (1 + shape s)^(-1/shape),     s = (x - threshold) / scale,
 *
 * and arrive as a Poisson process.  A value measured with a resolution r > 0 stands for the cell
 * x .. x + r (cyclictest truncates to 1 us), so its likelihood is F(x + r) - F(x); with r = 0 it is
 * the density.  Fits are by maximum likelihood, intervals by profile likelihood: all levels z with
 * 2 (l_max - l_profile(z)) <= the 1 - alpha quantile of chi-squared with one degree of freedom.
 *
 * Gates, all at EXTREME_GATE, in time order:
 *	trend        Mann-Kendall of the maxima
 *	dependence   Ljung-Box of their ranks, lags 1 .. min(10, n/5)
 *	fit          Anderson-Darling with the null by parametric bootstrap (parameters refitted);
 *	             probabilities are taken at the middle of a value's cell, in data and null alike
 *	shape        outside -0.5 .. 1 the likelihood theory, or the mean, is gone
 *
 * Sources: Coles 2001, chapters 3, 4 and 6; Smith 1985 (shape > -0.5); Stephens 1974; Stute,
 * Gonzalez Manteiga & Presedo Quindimil 1993 (the bootstrap); for timing data Silva et al. 2017.
 * -EDOM, -ENOMEM and "untouched on failure" as in stats/stats.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "stats/stats.h"

#define EXTREME_MIN 30	   /* maxima or peaks */
#define EXTREME_MAX 1000   /* keep larger blocks, or a higher threshold */
#define EXTREME_GATE 0.05  /* level of every gate */
#define EXTREME_REFITS 199 /* of the parametric bootstrap */

struct gev {
	double loc, scale, shape;
};

struct gpd {
	double scale, shape;
};

/* Distribution functions; 0 and 1 outside the support. */
double gev_cdf(const struct gev *g, double x);
double gpd_cdf(const struct gpd *g, double excess);
/* The level that one block's maximum passes with probability @p. */
double gev_level(const struct gev *g, double p);
/* The excess passed once in @peaks peaks. */
double gpd_level(const struct gpd *g, double peaks);

/**
 * gev_fit, gpd_fit - maximum likelihood
 * @x: maxima; excesses over the threshold, none below 0
 * @resolution: width of a value's cell, 0 for none; in the unit of @x
 * @ret_loglik: may be NULL
 *
 * Cost: some hundred times n logarithms.
 * Return: 0; -EDOM, also for numbers that are all alike; -ERANGE for fewer than 5 numbers or a
 * likelihood without a maximum at -1 < shape < 5; -ENOMEM.
 */
int gev_fit(const double *x, size_t n, double resolution, struct gev *ret, double *ret_loglik);
int gpd_fit(const double *x, size_t n, double resolution, struct gpd *ret, double *ret_loglik);

enum extreme_word {
	EXTREME_GOOD,
	EXTREME_FEW,	   /* fewer than EXTREME_MIN, or all alike */
	EXTREME_TREND,	   /* not stationary */
	EXTREME_DEPENDENT, /* not independent */
	EXTREME_SHAPE,	   /* no fit, or one outside the theory */
	EXTREME_MISFIT,	   /* goodness of fit */
};

/* "good", "too few", "trend", ... */
const char *extreme_word(enum extreme_word w);

struct extreme_query {
	double resolution; /* see above */
	double period;	   /* of the level: in blocks (> 1); for peaks in the unit of @exposure */
	double threshold;  /* peaks only */
	double exposure;   /* peaks only: how long they were collected */
	double alpha;	   /* of the interval */
	uint64_t seed;	   /* of the bootstrap */
};

struct extreme_report {
	enum extreme_word word; /* the first gate that failed */
	size_t n;
	double scale, shape, loc; /* loc: the threshold, for peaks; NAN before a fit */
	double rate;		  /* peaks per unit of exposure; 1 for block maxima */
	struct interval level;	  /* passed once in the period; all NAN unless the word is good */
	double p_trend, p_dependence, p_fit; /* NAN: not tested */
};

/**
 * extreme_maxima - the level that block maxima @x, in time order, pass once in a period
 *
 * Cost: EXTREME_REFITS fits: 0.3 s at n = 200.
 * Return: 0, whatever the word; -EDOM; -E2BIG above EXTREME_MAX; -ENOMEM.
 */
int extreme_maxima(const double *x, size_t n, const struct extreme_query *q,
		   struct extreme_report *ret);

/**
 * extreme_peaks - the same from the peaks of episodes above a threshold, in time order
 *
 * The interval includes what the number of peaks leaves open about their rate.
 */
int extreme_peaks(const double *x, size_t n, const struct extreme_query *q,
		  struct extreme_report *ret);

#endif
