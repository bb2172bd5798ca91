// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/series.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/cleanup.h"
#include "stats/check.h"

/* Sum of v(v - 1)(2v + 5) over the groups of equal numbers; @sorted. */
static double tie_term(const double *sorted, size_t n)
{
	double sum = 0;

	for (size_t i = 0, next; i < n; i = next) {
		double t;

		for (next = i + 1; next < n && sorted[next] == sorted[i];)
			next++;
		t = (double)(next - i);
		sum += t * (t - 1) * (2 * t + 5);
	}
	return sum;
}

/* Two-sided p of @s = pairs that rise - pairs that fall, by the numbers of inversions. */
static int exact_p(size_t n, double s, double *ret_p)
{
	size_t pairs = n * (n - 1) / 2;
	size_t falls = (size_t)(((double)pairs - fabs(s)) / 2); /* as few as seen, or as rises */
	_cleanup_(freep) double *f = calloc(pairs + 1, sizeof(*f));
	_cleanup_(freep) double *g = calloc(pairs + 1, sizeof(*g));
	double tail = 0;

	if (!f || !g)
		return -ENOMEM;
	/* putting the i-th row in makes 0..i-1 falls, all as likely */
	f[0] = 1;
	for (size_t i = 2; i <= n; i++) {
		double window = 0;

		for (size_t k = 0; k <= falls; k++) {
			window += f[k];
			if (k >= i)
				window -= f[k - i];
			g[k] = fmax(window, 0) / (double)i;
		}
		memcpy(f, g, (falls + 1) * sizeof(*f));
	}
	for (size_t k = 0; k <= falls; k++)
		tail += f[k];
	*ret_p = fmin(1, 2 * tail);
	return 0;
}

static double normal_p(double s, double sd)
{
	return fabs(s) > 1 && sd > 0 ? 2 * gsl_cdf_ugaussian_Q((fabs(s) - 1) / sd) : 1;
}

/*
 * Rising and falling pairs of x - slope i are counted by where the pair's own slope lies, so the
 * interval lies between two of the sorted slopes (Sen 1968): moving past one changes s by 2.
 * @least: the least |s| that is rejected.
 */
static int slopes(const double *x, size_t n, double least, struct interval *ret)
{
	size_t nr = 0, pairs = n * (n - 1) / 2, cut;
	_cleanup_(freep) double *b = malloc(pairs * sizeof(*b));

	if (!b)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			b[nr++] = (x[j] - x[i]) / (double)(j - i);
	gsl_sort(b, 1, nr);
	ret->estimate = gsl_stats_median_from_sorted_data(b, 1, nr);
	ret->low = -HUGE_VAL;
	ret->high = HUGE_VAL;
	if (least > (double)pairs)
		return 0;
	cut = (size_t)(((double)pairs - least) / 2);
	ret->low = fmin(b[cut], ret->estimate);
	ret->high = fmax(b[nr - 1 - cut], ret->estimate);
	return 0;
}

/* The least |s| that is rejected: where the interval of the slope ends; more than all: none is. */
static int critical(size_t n, double sd, bool exact, double alpha, double *ret)
{
	size_t pairs = n * (n - 1) / 2, least = 0, most = pairs / 2 + 1; /* in steps of 2 */

	while (least < most) {
		size_t mid = least + (most - least) / 2;
		double s = (double)(pairs % 2 + 2 * mid), p = normal_p(s, sd);
		int r = exact ? exact_p(n, s, &p) : 0;

		if (r < 0)
			return r;
		if (p <= alpha)
			most = mid;
		else
			least = mid + 1;
	}
	*ret = (double)(pairs % 2 + 2 * least);
	return 0;
}

int trend_test(const double *x, size_t n, double alpha, struct trend *ret)
{
	_cleanup_(freep) double *sorted = NULL;
	struct trend out = {};
	double ties, sd, pairs = (double)n * ((double)n - 1) / 2, least;
	bool exact;
	int r = check_numbers(x, n);

	if (r < 0 || n < 3 || !(alpha > 0 && alpha < 1))
		return -EDOM;
	if (n > TREND_MAX)
		return -E2BIG;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, x, n * sizeof(*sorted));
	gsl_sort(sorted, 1, n);
	ties = tie_term(sorted, n);
	sd = sqrt(((double)n * ((double)n - 1) * (2 * (double)n + 5) - ties) / 18);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			out.s += (x[j] > x[i]) - (x[j] < x[i]);
	out.tau = out.s / pairs;
	exact = ties == 0 && n <= TREND_EXACT_MAX;
	out.p = normal_p(out.s, sd);
	r = exact ? exact_p(n, out.s, &out.p) : 0;
	if (r == 0)
		r = critical(n, sd, exact, alpha, &least);
	if (r == 0)
		r = slopes(x, n, least, &out.slope);
	if (r == 0)
		*ret = out;
	return r;
}

int drift_test(const double *x, size_t n, double alpha, struct trend *ret)
{
	_cleanup_(freep) double *means = NULL;
	struct trend out;
	double block = 1;
	size_t length, nr;
	int r = bootstrap_block(x, n, &block);

	if (r < 0)
		return r;
	length = block > 1 ? (size_t)ceil(2 * block) : 1;
	if (n / length > TREND_MAX)
		length = (n + TREND_MAX - 1) / TREND_MAX;
	if (n >= 3 && n / length < 3)
		length = n / 3;
	nr = n / length;
	means = malloc(nr * sizeof(*means));
	if (!means)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		means[i] = gsl_stats_mean(x + i * length, 1, length);
	r = trend_test(means, nr, alpha, &out);
	if (r < 0)
		return r;
	out.slope.estimate /= (double)length;
	out.slope.low /= (double)length;
	out.slope.high /= (double)length;
	*ret = out;
	return 0;
}

int ljung_box(const double *x, size_t n, size_t lags, double *ret_p)
{
	double mean, c0 = 0, q = 0;

	if (check_numbers(x, n) < 0 || lags < 1 || lags >= n)
		return -EDOM;
	mean = gsl_stats_mean(x, 1, n);
	for (size_t i = 0; i < n; i++)
		c0 += (x[i] - mean) * (x[i] - mean);
	for (size_t k = 1; k <= lags && c0 > 0; k++) {
		double c = 0;

		for (size_t i = k; i < n; i++)
			c += (x[i] - mean) * (x[i - k] - mean);
		q += c / c0 * (c / c0) / (double)(n - k);
	}
	q *= (double)n * ((double)n + 2);
	*ret_p = gsl_cdf_chisq_Q(q, (double)lags);
	return 0;
}

int ljung_box_ranks(const double *x, size_t n, size_t lags, double *ret_p)
{
	_cleanup_(freep) double *rank = NULL;
	size_t *order;

	if (check_numbers(x, n) < 0)
		return -EDOM;
	rank = malloc(n * sizeof(*rank));
	order = malloc(n * sizeof(*order));
	if (!rank || !order) {
		free(order);
		return -ENOMEM;
	}
	gsl_sort_index(order, x, 1, n);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && x[order[next]] == x[order[i]];)
			next++;
		for (size_t k = i; k < next; k++)
			rank[order[k]] = (double)(i + next - 1) / 2;
	}
	free(order);
	return ljung_box(rank, n, lags, ret_p);
}
