/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_EXTREME_FIT_H
#define STATS_EXTREME_FIT_H

/*
 * What the two laws of extremes share: a likelihood that is maximised freely, or with the return
 * level held, and the profile interval.  Internal to stats/.
 */

#include <stddef.h>

#include "stats/extreme.h"

enum law {
	LAW_GEV, /* loc, scale, shape */
	LAW_GPD, /* rate, scale, shape; the threshold is subtracted from the numbers */
};

/*
 * The numbers are moved and scaled by the caller so that one search suits all: about 1 wide, around
 * 0 for LAW_GEV, from 0 on for LAW_GPD.
 */
struct extreme_data {
	enum law law;
	const double *x;
	size_t n;
	double resolution; /* width of a cell; 0: none */
	double origin;	   /* where a cell starts */
	double exposure;   /* LAW_GPD */
	double period;	   /* of the level */
};

/* loc is the rate for LAW_GPD. */
struct extreme_params {
	double loc, scale, shape;
};

/* -loglikelihood; HUGE_VAL outside the support. */
double extreme_cost(const struct extreme_data *d, const struct extreme_params *p);
/* The level passed once in the period. */
double extreme_level(const struct extreme_data *d, const struct extreme_params *p);
/*
 * Maximum likelihood: from @start, coarsely, or (NULL) from several places, finely.
 * -ERANGE: there is no maximum; -ENOMEM.
 */
int extreme_search(const struct extreme_data *d, const struct extreme_params *start,
		   struct extreme_params *ret, double *ret_cost);
/* The level with its profile-likelihood interval; @best is the maximum. */
int extreme_profile(const struct extreme_data *d, const struct extreme_params *best, double alpha,
		    struct interval *ret);
/* Probability of at most @x, and the number it belongs to. */
double extreme_cdf(enum law law, const struct extreme_params *p, double x);
double extreme_quantile(enum law law, const struct extreme_params *p, double u);

#endif
