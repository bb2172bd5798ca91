/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRAFFIC_LANE_H
#define TRAFFIC_LANE_H

/*
 * A client's test with its view.  Several run side by side: the load, and the round trips measured
 * while it runs.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "load/wire.h"
#include "traffic/out.h"

struct client;
struct err;
struct traffic_args;
struct view;

#define LANE_MAX 2

struct lane {
	struct client *client;
	struct view *view;
	struct wire_params params;
	struct out out;
};

struct lanes {
	const struct traffic_args *args;
	const atomic_bool *interrupted;
	struct lane v[LANE_MAX]; /* the last is the one measured */
	unsigned int nr;
};

/* The parameters of the load of @args, and of the round trips beside it. */
struct wire_params lane_load_params(const struct traffic_args *a);
struct wire_params lane_rr_params(const struct traffic_args *a);

/* One more, not connected yet; @out NULL: it shows nothing. */
int lanes_add(struct lanes *s, const struct wire_params *p, const struct out *out, struct err *e);
/* Connect all and run them for their time, or until interrupted; totals are known afterwards. */
int lanes_run(struct lanes *s, struct err *e);
void lanes_release(struct lanes *s);

#endif
