/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_TRAFFIC_LOAD_H
#define LOAD_TRAFFIC_LOAD_H

/* Inside of the loads of the traffic engine: what the trial's part and the reporting part share. */

#include "load/client.h"
#include "load/traffic_plugin.h"

struct hist;

struct load {
	const struct traffic_kind *kind;
	struct traffic_cfg cfg;
	char *name;
	struct client_cfg client_cfg;
	struct client *client;
	struct flow_count begin[CLIENT_SIDES], end[CLIENT_SIDES];
	uint64_t begin_ns; /* zero of the trial's times */
	bool has_window;
	bool port_moved;    /* the ports asked for were taken */
	struct hist **hist; /* of each stream of round trips: the window's; NULL: none */
	int cpu[CLIENT_SIDES][WIRE_STREAMS_MAX]; /* that received the packets; -1: unknown */
};

/* Everything after the window. */
int traffic_report(const struct load *l, struct sample_sink *out, struct err *e);

#endif
