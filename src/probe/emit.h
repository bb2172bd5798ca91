/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_EMIT_H
#define PROBE_EMIT_H

/*
 * How a probe hands out its records: names are "<instance>.<statistic>", and the first failure
 * sticks, so that a drain emits in a row and looks once at its end.
 *
 *	struct emit m = { .out = out, .instance = p->name, .e = e };
 *
 *	emit_scalar(&m, "busy", "ratio", "cpu=0", 0.25);
 *	emit_event(&m, SEVERITY_WARN, t_ns, "stolen CPU time %.1f %%", 3.2);
 *	return m.r;
 *
 * An event belongs to the instance itself ("kmsg").
 */

#include <stdint.h>

#include "sample/sample.h"

struct buf;
struct err;
struct hist;

struct emit {
	struct sample_sink *out;
	const char *instance;
	struct err *e;
	int r; /* 0, or the first failure */
};

void emit_scalar(struct emit *m, const char *name, const char *unit, const char *labels,
		 double value);
void emit_series(struct emit *m, const char *name, const char *unit, const char *labels,
		 const struct point *points, size_t nr);
void emit_hist(struct emit *m, const char *name, const char *labels, const struct hist *h);
void emit_event(struct emit *m, enum severity severity, int64_t t_ns, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Append @value as the value of a label: blanks, ',' '=' and what is not printable become '_'. */
int emit_label(struct buf *labels, const char *value);

#endif
