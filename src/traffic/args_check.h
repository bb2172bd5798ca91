/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRAFFIC_ARGS_CHECK_H
#define TRAFFIC_ARGS_CHECK_H

/* Inside of args.h: whether what a client was told goes together, and what it was not told. */

#include "traffic/args.h"

struct err;

int args_check_client(const struct traffic_args *a, struct err *e);
/* What is left open, by what is asked for. */
void args_fill_in(struct traffic_args *a);
/* After args_fill_in(): random times need something that has a rate. */
int args_check_arrivals(const struct traffic_args *a, struct err *e);

#endif
