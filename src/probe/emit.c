// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/emit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

static void emit(struct emit *m, const char *name, struct record *rec)
{
	_cleanup_(buf_release) struct buf metric = {};

	if (m->r < 0)
		return;
	if (buf_printf(&metric, "%s%s%s", m->instance, *name ? "." : "", name) < 0) {
		m->r = err_nomem(m->e, name);
		return;
	}
	rec->metric = buf_str(&metric);
	m->r = m->out->emit(m->out, rec, m->e);
}

void emit_scalar(struct emit *m, const char *name, const char *unit, const char *labels,
		 double value)
{
	struct record rec = {
		.kind = RECORD_SCALAR, .unit = unit, .labels = labels, .value = value
	};

	emit(m, name, &rec);
}

void emit_series(struct emit *m, const char *name, const char *unit, const char *labels,
		 const struct point *points, size_t nr)
{
	struct record rec = { .kind = RECORD_SERIES,
			      .unit = unit,
			      .labels = labels,
			      .points = points,
			      .nr_points = nr };

	emit(m, name, &rec);
}

void emit_hist(struct emit *m, const char *name, const char *labels, const struct hist *h)
{
	struct record rec = { .kind = RECORD_HIST, .unit = "ns", .labels = labels, .hist = h };

	emit(m, name, &rec);
}

void emit_event(struct emit *m, enum severity severity, int64_t t_ns, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	struct record rec = {
		.kind = RECORD_EVENT, .unit = "", .labels = "", .severity = severity, .t_ns = t_ns
	};
	va_list ap;

	if (m->r < 0)
		return;
	va_start(ap, fmt);
	text = text_vprintf(fmt, ap);
	va_end(ap);
	if (!text) {
		m->r = err_nomem(m->e, "event");
		return;
	}
	rec.text = text;
	emit(m, "", &rec);
}

int emit_label(struct buf *labels, const char *value)
{
	for (; *value; value++) {
		char c = *value;

		if (c <= ' ' || c > '~' || c == ',' || c == '=')
			c = '_';
		if (buf_putc(labels, c) < 0)
			return -ENOMEM;
	}
	return 0;
}
