/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRAFFIC_ARGS_H
#define TRAFFIC_ARGS_H

/*
 * The options of "irqlab traffic": iperf3's letters and names, and what iperf3 has not.  One table
 * of rows (args.c) is all there is: parsing, checks, help and errors come from it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "load/wire.h"

struct buf;
struct err;

/* What runs beside the round trips. */
enum beside {
	BESIDE_NOTHING,
	BESIDE_TCP,
	BESIDE_UDP,
	BESIDE_FLOOD,
};

struct traffic_args {
	bool server, help, version;
	const char *host; /* texts are borrowed from the command line */
	uint64_t port;
	const char *bind, *bind_dev; /* the latter is the end of @bind when all is parsed */
	bool v4, v6;
	/* the test */
	struct wire_params params;
	bool has_rate, has_rr_rate, has_time, flood;
	uint64_t flood_per_s; /* of each stream; 0: flat out */
	int cpu;	      /* -A n; -1: anywhere */
	uint64_t cport;
	uint64_t connect_timeout_ms, receive_timeout_ms;
	enum beside beside;
	bool sweep;
	unsigned int sweep_from, sweep_to, sweep_step; /* [percent] */
	/* what is printed, and how */
	double interval_s;
	char format; /* as iperf3's -f; 0: adaptive bits */
	bool verbose, json, json_stream, json_full, flush;
	const char *title, *timestamps, *logfile, *pidfile;
	/* the server */
	bool one_off;
	uint64_t max_clients, max_duration_s, max_bps, idle_s;
	char host_text[256], bind_text[128]; /* where @host and @bind were put together */
};

/* Defaults, what @argv says, and whether that goes together; -EINVAL with the reason. */
int args_parse(int argc, char **argv, struct traffic_args *a, struct err *e);
int args_help(struct buf *out);
/* A line for each option given that does nothing in this test: scripts may pass it, but not
 * unheard.
 */
void args_idle(const struct traffic_args *a, struct buf *out);

#endif
