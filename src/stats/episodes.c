// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/episodes.h"

#include <errno.h>
#include <math.h>

int tail_episodes(const struct stamped *s, double limit, uint64_t gap_ns, struct episode *ret,
		  size_t *ret_nr)
{
	struct episode now = {};
	size_t nr = 0;

	for (size_t i = 0; i < s->n; i++)
		if (isnan(s->x[i]) || (i > 0 && s->at_ns[i] < s->at_ns[i - 1]))
			return -EDOM;
	for (size_t i = 0; i < s->n; i++) {
		if (!(s->x[i] > limit))
			continue;
		if (nr == 0 || s->at_ns[i] - now.last_ns > gap_ns) {
			now = (struct episode){ .first_ns = s->at_ns[i], .peak = s->x[i] };
			nr++;
		}
		now.last_ns = s->at_ns[i];
		now.exceedances++;
		now.peak = fmax(now.peak, s->x[i]);
		if (ret)
			ret[nr - 1] = now;
	}
	*ret_nr = nr;
	return 0;
}
