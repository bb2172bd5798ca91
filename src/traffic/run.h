/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRAFFIC_RUN_H
#define TRAFFIC_RUN_H

/* The two ends of "irqlab traffic". */

#include <stdatomic.h>
#include <stdio.h>

struct err;
struct traffic_args;

struct traffic_run {
	const struct traffic_args *args;
	FILE *f;
	/* set by a signal handler, which then calls traffic_wake() */
	const atomic_bool *interrupted;
};

int traffic_client(const struct traffic_run *run, struct err *e);
/* The curve of --sweep. */
int traffic_sweep(const struct traffic_run *run, struct err *e);
/* 0 after an interruption. */
int traffic_server(const struct traffic_run *run, struct err *e);
/* Async-signal-safe: end the server that runs, if any. */
void traffic_wake(void);

#endif
