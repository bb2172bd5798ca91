// SPDX-License-Identifier: GPL-3.0-or-later
/* What looking before the end costs: bounds and drifts of a Brownian motion seen at some times. */
#include "stats/power.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>

#include "stats/sequential.h"

#define POINTS 121 /* of the density between the bounds, odd for Simpson's rule */
#define FAR 8	   /* deviations beyond which there is nothing */

/* The density of the motion at one look, of what has not been stopped; between -@bound and it. */
struct density {
	double bound;
	double f[POINTS];
};

static double place(const struct density *d, size_t i)
{
	return d->bound * (2 * (double)i / (POINTS - 1) - 1);
}

static double weight(const struct density *d, size_t i)
{
	double h = 2 * d->bound / (POINTS - 1);

	return h / 3 * (i == 0 || i == POINTS - 1 ? 1 : i % 2 ? 4 : 2);
}

/* One step of the motion: of length @t with drift @drift. */
struct step {
	double t, drift;
};

/* Probability to end beyond @bound on either side after a step from @before; NULL: from 0. */
static double beyond(const struct density *before, const struct step *s, double bound)
{
	double sd = sqrt(s->t), mean = s->drift * s->t, sum = 0;

	if (!before)
		return gsl_cdf_ugaussian_Q((bound - mean) / sd) +
		       gsl_cdf_ugaussian_P((-bound - mean) / sd);
	for (size_t i = 0; i < POINTS; i++) {
		double u = place(before, i) + mean;

		sum += weight(before, i) * before->f[i] *
		       (gsl_cdf_ugaussian_Q((bound - u) / sd) +
			gsl_cdf_ugaussian_P((-bound - u) / sd));
	}
	return sum;
}

static void move(const struct density *before, const struct step *s, double bound,
		 struct density *ret)
{
	double sd = sqrt(s->t), mean = s->drift * s->t;

	ret->bound = bound;
	for (size_t i = 0; i < POINTS; i++) {
		double x = place(ret, i) - mean, sum = 0;

		if (!before) {
			ret->f[i] = gsl_ran_gaussian_pdf(x, sd);
			continue;
		}
		for (size_t k = 0; k < POINTS; k++)
			sum += weight(before, k) * before->f[k] *
			       gsl_ran_gaussian_pdf(x - place(before, k), sd);
		ret->f[i] = sum;
	}
}

/* The bound beyond which a step ends with probability @spent; all of it is rejected there. */
static double bound_for(const struct density *before, const struct step *s, double spent,
			double total)
{
	double low = 0, high = FAR * sqrt(total);

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if (beyond(before, s, mid) > spent)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* Bounds of the motion itself at each look. */
static void find_bounds(const struct power_design *d, double bound[POWER_LOOKS_MAX])
{
	struct density at[2];
	const struct density *before = NULL;
	double last_t = 0, last_spent = 0;

	for (size_t k = 0; k < d->nr_looks; k++) {
		double t = d->information[k];
		double spent = sequential_spent(SPENDING_OBRIEN_FLEMING, d->alpha, t);
		struct step s = { t - last_t, 0 };

		bound[k] = bound_for(before, &s, spent - last_spent, t);
		move(before, &s, bound[k], &at[k % 2]);
		before = &at[k % 2];
		last_t = t;
		last_spent = spent;
	}
}

/* Probability to reject at any look under @drift, and the share measured in the mean. */
static double rejected(const struct power_design *d, const double *bound, double drift,
		       double *ret_expected)
{
	struct density at[2];
	const struct density *before = NULL;
	double last_t = 0, sum = 0, expected = 0;

	for (size_t k = 0; k < d->nr_looks; k++) {
		double t = d->information[k], p;
		struct step s = { t - last_t, drift };

		p = beyond(before, &s, bound[k]);
		sum += p;
		expected += t * p;
		move(before, &s, bound[k], &at[k % 2]);
		before = &at[k % 2];
		last_t = t;
	}
	*ret_expected = expected + (1 - sum);
	return sum;
}

static bool is_ascending(const struct power_design *d)
{
	double last = 0;

	if (d->nr_looks > POWER_LOOKS_MAX)
		return false;
	for (size_t k = 0; k < d->nr_looks; k++) {
		if (!(d->information[k] > last))
			return false;
		last = d->information[k];
	}
	return fabs(last - 1) < 1e-9;
}

int power_looks(const struct power_design *design, struct power_looks *ret)
{
	double bound[POWER_LOOKS_MAX], fixed, low, high, expected = 1;

	*ret = (struct power_looks){ 1, 1 };
	if (design->nr_looks == 0)
		return 0;
	if (!is_ascending(design))
		return -EDOM;
	find_bounds(design, bound);
	fixed = gsl_cdf_ugaussian_Qinv(design->alpha / 2) + gsl_cdf_ugaussian_Pinv(design->power);
	low = fixed / 2;
	high = 2 * fixed;
	for (int i = 0; i < 20; i++) {
		double mid = (low + high) / 2;

		if (rejected(design, bound, mid, &expected) < design->power)
			low = mid;
		else
			high = mid;
	}
	ret->factor = fmax(high / fixed, 1);
	ret->expected = expected;
	return 0;
}
