// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/invert.h"

#include <math.h>
#include <stdbool.h>

/* Is the candidate rejected? @stat2 is the most its doubled statistic can be. */
static int is_rejected(const struct inversion *v, size_t i, enum side side, size_t stat2, bool *ret)
{
	double p;
	int r;

	if ((int64_t)stat2 <= v->crit2) {
		*ret = true;
		return 0;
	}
	r = v->p(v->data, v->points[i], side, &p);
	if (r == 0)
		*ret = p <= v->alpha;
	return r;
}

int invert_low(const struct inversion *v, double *ret_low)
{
	bool rejected = false;
	double p;
	int r = v->p(v->data, v->points[0], SIDE_BELOW, &p);

	if (r < 0)
		return r;
	if (p > v->alpha) {
		*ret_low = -HUGE_VAL;
		return 0;
	}
	for (size_t i = 0, next; i < v->nr; i = next) {
		for (next = i + 1; next < v->nr && v->points[next] == v->points[i];)
			next++;
		r = is_rejected(v, i, SIDE_AT, i + next + v->ties + v->per_point * (next - i),
				&rejected);
		if (r == 0 && rejected)
			r = is_rejected(v, i, SIDE_ABOVE, 2 * next + v->ties, &rejected);
		if (r < 0)
			return r;
		if (!rejected) {
			*ret_low = v->points[i];
			return 0;
		}
	}
	*ret_low = HUGE_VAL;
	return 0;
}
