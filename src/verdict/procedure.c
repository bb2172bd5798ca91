// SPDX-License-Identifier: GPL-3.0-or-later
/* Which test decides which kind of metric; each with the interval that inverts it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stats/signflip.h"
#include "stats/stats.h"
#include "verdict/evidence.h"

/* Of the random signs above SIGNFLIP_EXACT_MAX pairs: the same data, the same verdict. */
#define SIGNS_SEED 1
#define SIGN_MAX 100000

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

static int maximum_p(const struct evidence *v, double *ret)
{
	return sign_shift_p(v->d, v->pairs.nr, 0, v->pairs.odds, ret);
}

static int maximum_interval(const struct evidence *v, double alpha, struct interval *ret)
{
	return sign_interval(v->d, v->pairs.nr, v->pairs.odds, alpha, ret);
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
