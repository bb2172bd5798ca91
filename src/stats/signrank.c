// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/stats.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>

#include "base/cleanup.h"
#include "stats/check.h"
#include "stats/invert.h"
#include "stats/ranks.h"

/* Up to so many ranks other than zero their sums are counted one by one. */
#define COUNTED_MAX 200
#define COUNTED_TIED_MAX 100
#define PHI_MAX 128	/* more than SIGNRANK_MAX ranks ever need */
#define EXACT_MIN 1e-12 /* rounding errors may reach smaller tails */
#define NEAR_MIN 1e-6	/* what the normal form leaves out may */

/* @f[0..max]: probability of each sum of a random subset of @w, where zeros take no part. */
static void subset_sums(const unsigned int *w, size_t n, size_t max, double *f)
{
	size_t top = 0;

	memset(f, 0, (max + 1) * sizeof(*f));
	f[0] = 1;
	for (size_t i = 0; i < n; i++) {
		if (w[i] == 0)
			continue;
		top = top + w[i] < max ? top + w[i] : max;
		for (size_t s = top; s >= w[i]; s--)
			f[s] = (f[s] + f[s - w[i]]) / 2;
		for (size_t s = w[i] <= top ? w[i] : top + 1; s-- > 0;)
			f[s] /= 2;
	}
}

/* Without ties all doubled ranks are even: the table may be half as long. */
static void halve(unsigned int *rank, size_t n, size_t *sum)
{
	for (size_t i = 0; i < n; i++)
		if (rank[i] % 2)
			return;
	for (size_t i = 0; i < n; i++)
		rank[i] /= 2;
	*sum /= 2;
}

/* The null: which ranks there are, and their sums. */
struct null {
	const unsigned int *w; /* zeros take no part */
	size_t n, nr;	       /* all, and those that are not zero */
	size_t total;
	double var, fourth; /* cumulants of the sum of a random subset; fourth is below 0 */
	bool tied;
};

static struct null null_of(const unsigned int *w, size_t n)
{
	struct null s = { .w = w, .n = n };
	bool seen[2 * SIGNRANK_MAX + 1] = {};
	unsigned int last = 0;

	for (size_t i = 0; i < n; i++) {
		double v = w[i];

		s.nr += w[i] > 0;
		s.total += w[i];
		s.var += v * v / 4;
		s.fourth -= v * v * v * v / 8;
		last = w[i] > last ? w[i] : last;
		s.tied |= w[i] > 0 && seen[w[i]];
		seen[w[i]] = true;
	}
	/* nor may there be gaps between them: the odd doubled ranks of others that are tied */
	s.tied |= s.total != s.nr * (2 * last - s.nr + 1) / 2;
	return s;
}

/* P(sum <= @most) by the dynamic programme. */
static int tail_counted(const struct null *s, size_t most, double *ret)
{
	_cleanup_(freep) double *f = malloc((most + 1) * sizeof(*f));

	if (!f)
		return -ENOMEM;
	subset_sums(s->w, s->n, most, f);
	*ret = 0;
	for (size_t i = 0; i <= most; i++)
		*ret += f[i];
	return 0;
}

/*
 * P(sum <= @most) of untied ranks by their characteristic function: the sum, centred, has
 * phi(t) = prod cos(w t / 2), and on the lattice 0 .. total the inverse transform is the finite sum
 *
 *	P = 1/N sum_k phi(t_k) cos(t_k (most - total) / 2) sin(t_k (most + 1) / 2) / sin(t_k / 2),
 *
 * t_k = 2 pi k / N, N = total + 1, k = 0 .. N - 1, symmetric in k.  phi is below 1e-18 but for some
 * ten of its own standard deviations around 0; elsewhere untied ranks never all have cosines
 *near 1.
 */
struct transform {
	double phi[PHI_MAX]; /* [0] is 1 */
	size_t nr;
};

static void transform_init(struct transform *t, const struct null *s)
{
	double lattice = (double)s->total + 1;

	t->nr = (size_t)(lattice * 9.2 / (2 * M_PI * sqrt(s->var))) + 2;
	t->nr = t->nr < PHI_MAX ? t->nr : PHI_MAX;
	for (size_t k = 0; k < t->nr; k++) {
		double half = M_PI * (double)k / lattice; /* t_k / 2 */

		t->phi[k] = 1;
		for (size_t i = 0; i < s->n; i++)
			t->phi[k] *= cos(s->w[i] * half);
	}
}

static double tail_transformed(const struct null *s, const struct transform *t, size_t most)
{
	double lattice = (double)s->total + 1, sum = ((double)most + 1) / 2;

	for (size_t k = 1; k < t->nr; k++) {
		double half = M_PI * (double)k / lattice;

		sum += t->phi[k] * cos(half * ((double)most - (double)s->total)) *
		       sin(half * ((double)most + 1)) / sin(half);
	}
	return 2 * sum / lattice;
}

/* The normal distribution with a continuity correction and the term of the fourth cumulant. */
static double tail_normal(const struct null *s, size_t most)
{
	double x = ((double)most + 0.5 - (double)s->total / 2) / sqrt(s->var);

	return gsl_cdf_ugaussian_P(x) -
	       gsl_ran_ugaussian_pdf(x) * s->fourth / (s->var * s->var) / 24 * (x * x * x - 3 * x);
}

/* A tail below @least is not to be relied on: Hoeffding's bound instead, which is never below p. */
static double or_bound(const struct null *s, size_t most, double tail, double least)
{
	double x = ((double)s->total / 2 - (double)most) / sqrt(s->var);

	if (tail > least)
		return tail;
	return fmax(fmin(least, exp(-x * x / 2)), ldexp(1, -(int)s->nr));
}

/* P(sum <= @most) in the lower half. */
static int lower_tail(const struct null *s, size_t most, double *ret)
{
	struct transform t;

	if (s->nr <= (s->tied ? COUNTED_TIED_MAX : COUNTED_MAX))
		return tail_counted(s, most, ret);
	if (s->tied) {
		*ret = or_bound(s, most, tail_normal(s, most), NEAR_MIN);
		return 0;
	}
	transform_init(&t, s);
	*ret = or_bound(s, most, tail_transformed(s, &t, most), EXACT_MIN);
	return 0;
}

static int p_at(const void *data, double shift, enum side side, double *ret_p)
{
	const struct paired *s = data;
	_cleanup_(freep) unsigned int *rank = calloc(s->n, sizeof(*rank));
	struct null null;
	size_t below, total = 0;
	double tail;
	int r;

	if (!rank)
		return -ENOMEM;
	below = signed_ranks(s, shift, side, rank);
	for (size_t i = 0; i < s->n; i++)
		total += rank[i];
	if (below > total - below)
		below = total - below; /* the null is symmetric */
	halve(rank, s->n, &below);
	null = null_of(rank, s->n);
	r = lower_tail(&null, below, &tail);
	if (r == 0)
		*ret_p = tail < 0.5 ? 2 * tail : 1;
	return r;
}

/* The largest sum of the ranks 1 .. n whose doubled tail is at most @alpha; -1: none. */
static int critical_counted(const struct null *s, double alpha, int64_t *ret)
{
	size_t max = s->total / 2;
	_cleanup_(freep) double *f = malloc((max + 1) * sizeof(*f));
	double tail = 0;

	if (!f)
		return -ENOMEM;
	subset_sums(s->w, s->n, max, f);
	*ret = -1;
	for (size_t i = 0; i <= max; i++) {
		tail += f[i];
		if (2 * tail > alpha)
			break;
		*ret = (int64_t)i;
	}
	return 0;
}

static void critical_searched(const struct null *s, double alpha, int64_t *ret)
{
	int64_t fits = -1, fails = (int64_t)s->total / 2 + 1;
	struct transform t;

	transform_init(&t, s);
	while (fails - fits > 1) {
		int64_t mid = fits + (fails - fits) / 2;
		double tail = tail_transformed(s, &t, (size_t)mid);

		if (2 * or_bound(s, (size_t)mid, tail, EXACT_MIN) <= alpha)
			fits = mid;
		else
			fails = mid;
	}
	*ret = fits;
}

int signrank_critical2(size_t n, double alpha, int64_t *ret)
{
	_cleanup_(freep) unsigned int *rank = calloc(n, sizeof(*rank));
	struct null null;
	int64_t c = -1;
	int r = 0;

	if (!rank)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		rank[i] = (unsigned int)i + 1;
	null = null_of(rank, n);
	if (n <= COUNTED_MAX)
		r = critical_counted(&null, alpha, &c);
	else
		critical_searched(&null, alpha, &c);
	if (r == 0)
		*ret = c < 0 ? -1 : 2 * c + 1;
	return r;
}

static int check(const double *d, size_t n)
{
	if (n > SIGNRANK_MAX)
		return -E2BIG;
	return check_numbers(d, n);
}

int signrank_p(const double *d, size_t n, double shift, double *ret_p)
{
	_cleanup_(freep) double *sorted = NULL;
	int r = check(d, n);

	if (r == 0)
		r = check_numbers(&shift, 1);
	if (r < 0)
		return r;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, d, n * sizeof(*sorted));
	gsl_sort(sorted, 1, n);
	return p_at(&(struct paired){ sorted, n }, shift, SIDE_AT, ret_p);
}

int signrank_interval(const double *d, size_t n, double alpha, struct interval *ret)
{
	_cleanup_(freep) double *sorted = NULL;
	struct paired s = { .n = n };
	struct inversion v = { .alpha = alpha, .p = p_at };
	struct interval out;
	int r = check(d, n);

	if (r < 0 || !(alpha > 0 && alpha < 1))
		return r < 0 ? r : -EDOM;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, d, n * sizeof(*sorted));
	gsl_sort(sorted, 1, n);
	s.d = sorted;
	walsh_points(&s, &v);
	out.estimate = invert_median(&v);
	r = signrank_critical2(n, alpha, &v.crit2);
	if (r == 0)
		r = invert_low(&v, &out.low);
	if (r < 0)
		return r;
	/* the upper end is the lower end of the mirrored data */
	mirror(sorted, n);
	r = invert_low(&v, &out.high);
	if (r < 0)
		return r;
	out.high = -out.high;
	if (out.low > out.high) /* everything rejected: alpha next to 1 */
		out.low = out.high = out.estimate;
	*ret = out;
	return 0;
}
