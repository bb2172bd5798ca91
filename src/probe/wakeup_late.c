// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/wakeup_late.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/emit.h"
#include "stats/episodes.h"

int wakeup_late_init(struct wakeup_late *w, struct wakeup_lane *lanes, size_t nr_lanes,
		     struct err *e)
{
	if (!w->limit_ns)
		return 0;
	w->tap = calloc(nr_lanes, sizeof(*w->tap));
	w->spikes.spike = calloc(WAKEUP_LATE_MAX, sizeof(*w->spikes.spike));
	if (!w->tap || !w->spikes.spike)
		return err_nomem(e, "late wake-ups");
	w->spikes.max = WAKEUP_LATE_MAX;
	for (size_t i = 0; i < nr_lanes; i++) {
		w->tap[i] = (struct wakeup_tap){ .lane = (unsigned int)i,
						 .spike_ns = w->limit_ns,
						 .spikes = &w->spikes };
		lanes[i].tap = &w->tap[i];
	}
	return 0;
}

void wakeup_late_release(struct wakeup_late *w)
{
	free(w->tap);
	free(w->spikes.spike);
}

/* Two lanes may have noted theirs the wrong way round. */
static int by_time(const void *a, const void *b)
{
	const struct wakeup_spike *x = a, *y = b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* Late wake-ups of the lanes from @first on that share a priority, in the order of their times. */
struct late_times {
	uint64_t *at_ns;
	double *late_ns;
};

static void late_times_release(struct late_times *t)
{
	free(t->at_ns);
	free(t->late_ns);
}

static int count_episodes(const struct wakeup_late *w, size_t nr, size_t first, size_t nr_cpus,
			  size_t *ret)
{
	_cleanup_(late_times_release) struct late_times t = { calloc(nr + 1, sizeof(*t.at_ns)),
							      calloc(nr + 1, sizeof(*t.late_ns)) };
	struct stamped s = { t.at_ns, t.late_ns, 0 };

	if (!t.at_ns || !t.late_ns)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct wakeup_spike *p = &w->spikes.spike[i];

		if (p->lane < first || p->lane >= first + nr_cpus)
			continue;
		t.at_ns[s.n] = p->at_ns;
		t.late_ns[s.n++] = (double)p->late_ns;
	}
	return tail_episodes(&s, (double)w->limit_ns, w->gap_ns, NULL, ret);
}

void wakeup_late_report(const struct wakeup_late *w, const struct wakeup_result *res,
			struct emit *m)
{
	uint64_t nr = atomic_load(&w->spikes.nr);
	double seconds = (double)(res->end_ns - res->begin_ns) / (double)NS_PER_S;

	if (!w->limit_ns || res->end_ns == UINT64_MAX || !(seconds > 0))
		return;
	if (nr > w->spikes.max) {
		emit_event(m, SEVERITY_WARN, 0,
			   "episodes left out: %" PRIu64 " wake-ups were later than %" PRIu64
			   " us, more than the %zu that are kept; a higher limit or a shorter "
			   "trial gives them",
			   nr, w->limit_ns / NS_PER_US, w->spikes.max);
		return;
	}
	if (nr)
		qsort(w->spikes.spike, nr, sizeof(*w->spikes.spike), by_time);
	for (size_t at = 0; at < res->nr_lanes && m->r >= 0; at += res->nr_cpus) {
		char labels[WAKEUP_LABELS_SIZE];
		size_t episodes = 0;

		wakeup_priority_label(res, at, labels);
		if (count_episodes(w, nr, at, res->nr_cpus, &episodes) < 0)
			m->r = err_nomem(m->e, "late wake-ups");
		else
			emit_scalar(m, "episodes", "1/s", labels, (double)episodes / seconds);
	}
}
