// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "base/cleanup.h"
#include "stats/binomial.h"
#include "stats/check.h"
#include "stats/signflip.h"

int sign_p(uint64_t plus, uint64_t minus, double most, double *ret_p)
{
	uint64_t more = plus > minus ? plus : minus;

	if (!(most >= 0.5 && most < 1))
		return -EDOM;
	*ret_p = fmin(1, 2 * binomial_upper(plus + minus, most, more));
	return 0;
}

int sign_shift_p(const double *d, size_t n, double shift, double most, double *ret_p)
{
	uint64_t plus = 0, minus = 0;

	for (size_t i = 0; i < n; i++) {
		plus += d[i] > shift;
		minus += d[i] < shift;
	}
	return sign_p(plus, minus, most, ret_p);
}

/*
 * Lower end of the closed hull of all shifts that the sign test does not reject: p changes only at
 * the numbers themselves, so the gaps between them and the numbers are tried from below.
 */
static int sign_low(const double *sorted, size_t n, double most, double alpha, double *ret)
{
	for (size_t i = 0; i < n; i++) {
		double p = 0;
		int r = sign_p(n - i, i, most, &p);

		/* the gap below sorted[i]; there is none between equal numbers */
		if (r >= 0 && p > alpha && (i == 0 || sorted[i - 1] < sorted[i])) {
			*ret = i == 0 ? -HUGE_VAL : sorted[i - 1];
			return 0;
		}
		if (r >= 0)
			r = sign_shift_p(sorted, n, sorted[i], most, &p);
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

int sign_interval(const double *d, size_t n, double most, double alpha, struct interval *ret)
{
	_cleanup_(freep) double *sorted = malloc(n * sizeof(*sorted));
	struct interval i;
	int r = sorted ? sample_median(d, n, &i.estimate) : -ENOMEM;

	if (r < 0)
		return r;
	memcpy(sorted, d, n * sizeof(*sorted));
	gsl_sort(sorted, 1, n);
	r = sign_low(sorted, n, most, alpha, &i.low);
	/* the upper end is the lower end of the mirrored data */
	mirror(sorted, n);
	if (r >= 0)
		r = sign_low(sorted, n, most, alpha, &i.high);
	if (r < 0)
		return r;
	i.high = -i.high;
	if (i.low > i.high) /* everything rejected: alpha next to 1 */
		i.low = i.high = i.estimate;
	*ret = i;
	return 0;
}
