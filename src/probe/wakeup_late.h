/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_WAKEUP_LATE_H
#define PROBE_WAKEUP_LATE_H

/*
 * How often something made wake-ups late, rather than how many wake-ups it made late: those later
 * than a limit are kept with their times, and such as lie closer together than a gap, on whatever
 * CPU, are one episode.  (Runs declustering; stats/episodes.h.)
 *
 * In the loop this costs a comparison a wake-up, and an atomic addition and a store a late one.
 */

#include "probe/wakeup.h"

struct emit;
struct err;

/* Late wake-ups kept at most: 3 MB.  With more the limit is no rare thing's. */
#define WAKEUP_LATE_MAX 131072

struct wakeup_late {
	uint64_t limit_ns; /* 0: off */
	uint64_t gap_ns;
	struct wakeup_tap *tap; /* one a lane */
	struct wakeup_spikes spikes;
};

/* Give every lane a tap that notes what is later than @limit_ns; before the lanes run. */
int wakeup_late_init(struct wakeup_late *w, struct wakeup_lane *lanes, size_t nr_lanes,
		     struct err *e);
void wakeup_late_release(struct wakeup_late *w);

/*
 * Emit "episodes" [1/s], for each priority as wakeup_report() names them; after the lanes have
 * ended.  Nothing but an event when more came than are kept.
 */
void wakeup_late_report(const struct wakeup_late *w, const struct wakeup_result *res,
			struct emit *m);

#endif
