// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/signflip.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_statistics_double.h>

#include "base/cleanup.h"
#include "stats/binomial.h"
#include "stats/check.h"
#include "stats/flips.h"
#include "stats/order.h"

#define TIE 1e-12 /* of sum |d - shift| */
#define MEANS (2 * (size_t)SIGNFLIP_DRAWS)

/* All sums of subsets of @d, ascending: every number merges the sums with and without it. */
static void subset_sums(const double *d, size_t n, double *sums, double *spare)
{
	size_t nr = 1;

	sums[0] = 0;
	for (size_t i = 0; i < n; i++) {
		size_t with = 0, without = 0;

		memcpy(spare, sums, nr * sizeof(*spare));
		for (size_t k = 0; k < 2 * nr; k++) {
			if (without == nr || (with < nr && spare[with] + d[i] < spare[without]))
				sums[k] = spare[with++] + d[i];
			else
				sums[k] = spare[without++];
		}
		nr *= 2;
	}
}

/* For the count of all signs: the shifted numbers, and the sums of either half's subsets. */
struct halves {
	const double *d;
	size_t n;
	double *moved; /* owns the memory of all */
	double *left, *right, *spare;
};

static void halves_release(struct halves *h)
{
	free(h->moved);
}

static int halves_init(struct halves *h, const double *d, size_t n)
{
	size_t most = (size_t)1 << (n - n / 2);
	double *memory = malloc((n + 3 * most) * sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	*h = (struct halves){ d, n, memory, memory + n, memory + n + most, memory + n + 2 * most };
	return 0;
}

/* Pairs of a left and a right sum that together are at most @limit. */
static double pairs_below(const struct halves *h, double limit)
{
	size_t nl = (size_t)1 << (h->n / 2), k = (size_t)1 << (h->n - h->n / 2);
	double pairs = 0;

	for (size_t i = 0; i < nl; i++) {
		while (k > 0 && h->left[i] + h->right[k - 1] > limit)
			k--;
		pairs += (double)k;
	}
	return pairs;
}

/*
 * Flipping the subset I of the shifted numbers takes 2 sum_I from their sum S, so for S > 0 the new
 * sum is at least as large when sum_I <= 0; as many signs make it at most -S.
 */
static double exact_p(const struct halves *h, double shift)
{
	double sum = 0, size = 0;

	for (size_t i = 0; i < h->n; i++) {
		h->moved[i] = h->d[i] - shift;
		sum += h->moved[i];
		size += fabs(h->moved[i]);
	}
	if (fabs(sum) <= TIE * size)
		return 1;
	for (size_t i = 0; i < h->n && sum < 0; i++)
		h->moved[i] = -h->moved[i];
	subset_sums(h->moved, h->n / 2, h->left, h->spare);
	subset_sums(h->moved + h->n / 2, h->n - h->n / 2, h->right, h->spare);
	return fmin(1, ldexp(pairs_below(h, TIE / 2 * size), 1 - (int)h->n));
}

/* The shift next to the mean, from the rejected @far on, at which p first exceeds @alpha. */
static double exact_end(const struct halves *h, double alpha, double far, double mean)
{
	int64_t out = to_order(far), in = to_order(mean);

	while (out + 1 < in || in + 1 < out) {
		int64_t mid = order_middle(out, in);

		if (exact_p(h, from_order(mid)) > alpha)
			in = mid;
		else
			out = mid;
	}
	return from_order(in);
}

static int exact_interval(const double *d, size_t n, double alpha, struct interval *ret)
{
	_cleanup_(halves_release) struct halves h = {};
	double low, high, mean = gsl_stats_mean(d, 1, n);
	int r = halves_init(&h, d, n);

	if (r < 0)
		return r;
	gsl_stats_minmax(&low, &high, d, 1, n);
	*ret = (struct interval){ mean, -HUGE_VAL, HUGE_VAL };
	if (ldexp(1, 1 - (int)n) > alpha)
		return 0;
	/* the smallest subset mean is the least number: nothing below it is kept */
	ret->low = low < high ? exact_end(&h, alpha, nextafter(low, -HUGE_VAL), mean) : mean;
	ret->high = low < high ? exact_end(&h, alpha, nextafter(high, HUGE_VAL), mean) : mean;
	return 0;
}

/*
 * Random signs, for numbers around their mean.  Every draw splits them into those flipped and those
 * not; for a shift s below the mean it counts when the mean of either part is at most s (both
 * cannot be), above the mean when it is at least s.  So one sorted array of the means of all parts
 * holds p of every shift, and the ends of the interval are two of them.
 */
struct drawn {
	double *means; /* MEANS of them, in any order */
	double mean, tie;
};

static void drawn_release(struct drawn *w)
{
	free(w->means);
}

static int draw_means(const double *centred, size_t n, uint64_t seed, double *means)
{
	_cleanup_(flips_release) struct flips sums = {};
	uint64_t words[FLIPS_WORDS(SIGNFLIP_MAX)];
	double all = 0;
	int r = flips_init(&sums, centred, n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		all += centred[i];
	for (size_t k = 0; k < SIGNFLIP_DRAWS; k++) {
		double sum, count;

		flips_draw(seed, k, words, FLIPS_WORDS(n));
		sum = flips_sum(&sums, words);
		count = (double)flips_count(words, n);
		/* nobody flipped, or all: the observed signs, as far for every shift */
		if (count < 1 || count > (double)n - 1) {
			means[2 * k] = -HUGE_VAL;
			means[2 * k + 1] = HUGE_VAL;
		} else {
			means[2 * k] = sum / count;
			means[2 * k + 1] = (all - sum) / ((double)n - count);
		}
	}
	return 0;
}

static int drawn_init(struct drawn *w, const double *d, size_t n, uint64_t seed)
{
	_cleanup_(freep) double *centred = malloc(n * sizeof(*centred));
	_cleanup_(freep) double *means = malloc(MEANS * sizeof(*means));
	double mean = gsl_stats_mean(d, 1, n), size = 0;
	int r;

	if (!centred || !means)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		centred[i] = d[i] - mean;
		size += fabs(centred[i]) / (double)n;
	}
	r = draw_means(centred, n, seed, means);
	if (r < 0)
		return r;
	*w = (struct drawn){ take_ptr(means), mean, TIE * size + 8 * DBL_EPSILON * fabs(mean) };
	return 0;
}

static double drawn_p(const struct drawn *w, double shift)
{
	double s = shift - w->mean;
	size_t hits = 1; /* the observed signs */

	if (fabs(s) <= w->tie)
		return 1;
	for (size_t k = 0; k < MEANS; k++)
		hits += s < 0 ? w->means[k] <= s + w->tie : w->means[k] >= s - w->tie;
	return fmin(1, (double)hits / (SIGNFLIP_DRAWS + 1));
}

static int drawn_interval(const double *d, size_t n, double alpha, uint64_t seed,
			  struct interval *ret)
{
	_cleanup_(drawn_release) struct drawn w = {};
	size_t hits = 0; /* the fewest means with p = (1 + hits) / (1 + draws) > alpha */
	int r = drawn_init(&w, d, n, seed);

	if (r < 0)
		return r;
	while ((double)(1 + hits) / (SIGNFLIP_DRAWS + 1) <= alpha)
		hits++;
	*ret = (struct interval){ w.mean, -HUGE_VAL, HUGE_VAL };
	if (hits > 0 && hits <= MEANS) {
		ret->low = fmin(w.mean,
				w.mean + gsl_stats_select(w.means, 1, MEANS, hits - 1) - w.tie);
		ret->high = fmax(
			w.mean, w.mean + gsl_stats_select(w.means, 1, MEANS, MEANS - hits) + w.tie);
	}
	return 0;
}

static int check(const double *d, size_t n)
{
	return n > SIGNFLIP_MAX ? -E2BIG : check_numbers(d, n);
}

static int p_of_all(const double *d, size_t n, double shift, double *ret_p)
{
	_cleanup_(halves_release) struct halves h = {};
	int r = halves_init(&h, d, n);

	if (r < 0)
		return r;
	*ret_p = exact_p(&h, shift);
	return 0;
}

static int p_of_drawn(const double *d, size_t n, double shift, uint64_t seed, double *ret_p)
{
	_cleanup_(drawn_release) struct drawn w = {};
	int r = drawn_init(&w, d, n, seed);

	if (r < 0)
		return r;
	*ret_p = drawn_p(&w, shift);
	return 0;
}

int signflip_p(const double *d, size_t n, double shift, uint64_t seed, double *ret_p)
{
	int r = check(d, n);

	if (r == 0)
		r = check_numbers(&shift, 1);
	if (r < 0)
		return r;
	if (signflip_is_exact(n))
		return p_of_all(d, n, shift, ret_p);
	return p_of_drawn(d, n, shift, seed, ret_p);
}

int signflip_interval(const double *d, size_t n, double alpha, uint64_t seed, struct interval *ret)
{
	int r = check(d, n);

	if (r < 0 || !(alpha > 0 && alpha < 1))
		return r < 0 ? r : -EDOM;
	if (signflip_is_exact(n))
		return exact_interval(d, n, alpha, ret);
	return drawn_interval(d, n, alpha, seed, ret);
}
