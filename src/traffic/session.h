/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRAFFIC_SESSION_H
#define TRAFFIC_SESSION_H

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

#define SESSION_MAX 2

struct session {
	struct client *client;
	struct view *view;
	struct wire_params params;
	struct out out;
};

struct sessions {
	const struct traffic_args *args;
	const atomic_bool *interrupted;
	struct session v[SESSION_MAX]; /* the last is the one measured */
	unsigned int nr;
};

/* The parameters of the load of @args, and of the round trips beside it. */
struct wire_params session_load_params(const struct traffic_args *a);
struct wire_params session_rr_params(const struct traffic_args *a);

/* One more, not connected yet; @out NULL: it shows nothing. */
int sessions_add(struct sessions *s, const struct wire_params *p, const struct out *out,
		 struct err *e);
/* Connect all and run them for their time, or until interrupted; totals are known afterwards. */
int sessions_run(struct sessions *s, struct err *e);
void sessions_release(struct sessions *s);

#endif
