// SPDX-License-Identifier: GPL-3.0-or-later
/* Which test decides which kind of metric; each with the interval that inverts it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "base/cleanup.h"
#include "stats/signflip.h"
#include "stats/stats.h"
#include "verdict/evidence.h"

/* Of the random signs above SIGNFLIP_EXACT_MAX pairs: the same data, the same verdict. */
#define SIGNS_SEED 1
#define SIGN_MAX 100000

static void free_doublep(double **p)
{
	free(*p);
}

static int rank_p(const struct evidence *v, double *ret)
{
	return signrank_p(v->d, v->pairs.nr, 0, ret);
}

static int rank_interval(const struct evidence *v, double alpha, struct interval *ret)
{
	return signrank_interval(v->d, v->pairs.nr, alpha, ret);
}

static int flip_p(const struct evidence *v, double *ret)
{
	return signflip_p(v->d, v->pairs.nr, 0, SIGNS_SEED, ret);
}

static int flip_interval(const struct evidence *v, double alpha, struct interval *ret)
{
	return signflip_interval(v->d, v->pairs.nr, alpha, SIGNS_SEED, ret);
}

static int sign_at(const double *d, size_t n, double shift, double odds, double *ret)
{
	uint64_t plus = 0, minus = 0;

	for (size_t i = 0; i < n; i++) {
		plus += d[i] > shift;
		minus += d[i] < shift;
	}
	return sign_p(plus, minus, odds, ret);
}

static int maximum_p(const struct evidence *v, double *ret)
{
	return sign_at(v->d, v->pairs.nr, 0, v->pairs.odds, ret);
}

/*
 * Lower end of the closed hull of all shifts that the sign test does not reject: p changes only at
 * the numbers themselves, so the gaps between them and the numbers are tried from below.
 */
static int sign_low(const double *sorted, size_t n, double odds, double alpha, double *ret)
{
	for (size_t i = 0; i < n; i++) {
		double p = 0;
		int r = sign_p(n - i, i, odds, &p);

		/* the gap below sorted[i]; there is none between equal numbers */
		if (r >= 0 && p > alpha && (i == 0 || sorted[i - 1] < sorted[i])) {
			*ret = i == 0 ? -HUGE_VAL : sorted[i - 1];
			return 0;
		}
		if (r >= 0)
			r = sign_at(sorted, n, sorted[i], odds, &p);
		if (r < 0)
			return r;
		if (p > alpha) {
			*ret = sorted[i];
			return 0;
		}
	}
	*ret = HUGE_VAL;
	return 0;
}

static int maximum_interval(const struct evidence *v, double alpha, struct interval *ret)
{
	size_t n = v->pairs.nr;
	_cleanup_(free_doublep) double *d = malloc(n * sizeof(*d));
	struct interval i;
	int r = d ? sample_median(v->d, n, &i.estimate) : -ENOMEM;

	if (r < 0)
		return r;
	memcpy(d, v->d, n * sizeof(*d));
	gsl_sort(d, 1, n);
	r = sign_low(d, n, v->pairs.odds, alpha, &i.low);
	/* the upper end is the lower end of the mirrored data */
	for (size_t k = 0; k < n; k++)
		d[k] = -d[k];
	gsl_sort(d, 1, n);
	if (r >= 0)
		r = sign_low(d, n, v->pairs.odds, alpha, &i.high);
	if (r < 0)
		return r;
	i.high = -i.high;
	if (i.low > i.high) /* everything rejected: alpha next to 1 */
		i.low = i.high = i.estimate;
	*ret = i;
	return 0;
}

static const struct procedure procedures[] = {
	[METRIC_LOCATION] = { "signed-rank", SIGNRANK_MAX, rank_p, rank_interval },
	[METRIC_QUANTILE] = { "signed-rank", SIGNRANK_MAX, rank_p, rank_interval },
	[METRIC_RATE] = { "sign-flip", SIGNFLIP_MAX, flip_p, flip_interval },
	[METRIC_MAXIMUM] = { "sign", SIGN_MAX, maximum_p, maximum_interval },
};

const struct procedure *procedure_of(enum metric_kind kind)
{
	return &procedures[kind];
}

const char *verdict_test(enum metric_kind kind)
{
	return procedures[kind].name;
}
