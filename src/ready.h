/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef READY_H
#define READY_H

/* The plans of plans/, compiled in. */

#include <stddef.h>

struct buf;
struct err;

struct ready_plan {
	const char *name; /* that of the file: "coalescing" */
	const char *text;
};

/* All, by name; ends with {}. */
extern const struct ready_plan ready_plans[];

/* NULL when there is none of that name: the error suggests a near one. */
const struct ready_plan *ready_find(const char *name, struct err *e);
/* Append the comment at its top, its first sentence, on one line. */
void ready_about(const struct ready_plan *p, struct buf *out);
/* Append its text with "peer: @peer" and "dut: @dut" in their places; NULL or "": as it is. */
void ready_fill(const struct ready_plan *p, const char *peer, const char *dut, struct buf *out);

#endif
