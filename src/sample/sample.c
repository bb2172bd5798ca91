// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sample/hist.h"

int sample_scalar(struct sample_sink *sink, const char *metric, const char *unit,
		  const char *labels, double value, struct err *e)
{
	struct record rec = { .kind = RECORD_SCALAR,
			      .metric = metric,
			      .unit = unit,
			      .labels = labels,
			      .value = value };

	return sink->emit(sink, &rec, e);
}

int sample_hist(struct sample_sink *sink, const char *metric, const char *labels,
		const struct hist *h, struct err *e)
{
	struct record rec = {
		.kind = RECORD_HIST, .metric = metric, .unit = "ns", .labels = labels, .hist = h
	};

	return sink->emit(sink, &rec, e);
}

int sample_event(struct sample_sink *sink, const char *metric, enum severity severity, int64_t t_ns,
		 const char *text, struct err *e)
{
	struct record rec = { .kind = RECORD_EVENT,
			      .metric = metric,
			      .unit = "",
			      .labels = "",
			      .severity = severity,
			      .t_ns = t_ns,
			      .text = text };

	return sink->emit(sink, &rec, e);
}

static int copy_string(const char **s)
{
	*s = *s ? strdup(*s) : NULL;
	return *s ? 0 : -ENOMEM;
}

static int copy_bytes(const void **p, size_t len)
{
	void *copy = malloc(len ? len : 1);

	if (copy && len)
		memcpy(copy, *p, len);
	*p = copy;
	return copy ? 0 : -ENOMEM;
}

struct record *record_copy(const struct record *rec)
{
	_cleanup_(record_freep) struct record *c = malloc(sizeof(*c));
	int r;

	if (!c)
		return NULL;
	*c = *rec;
	/* every pointer becomes a copy or NULL before anything can fail and free */
	r = copy_string(&c->metric) | copy_string(&c->unit) | copy_string(&c->labels);
	if (rec->text)
		r |= copy_string(&c->text);
	if (rec->points)
		r |= copy_bytes((const void **)&c->points, rec->nr_points * sizeof(*rec->points));
	if (rec->hist)
		r |= copy_bytes((const void **)&c->hist, sizeof(*rec->hist));
	return r < 0 ? NULL : take_ptr(c);
}

void record_free(struct record *rec)
{
	if (!rec)
		return;
	free((void *)(uintptr_t)rec->metric);
	free((void *)(uintptr_t)rec->unit);
	free((void *)(uintptr_t)rec->labels);
	free((void *)(uintptr_t)rec->text);
	free((void *)(uintptr_t)rec->points);
	free((void *)(uintptr_t)rec->hist);
	free(rec);
}

void record_freep(struct record **rec)
{
	record_free(*rec);
}

int record_list_take(struct record_list *l, struct record *rec, struct err *e)
{
	_cleanup_(record_freep) struct record *mine = rec;

	if (!mine)
		return err_nomem(e, "record");
	if (l->nr == l->size) {
		size_t size = l->size ? l->size * 2 : 64;
		struct record **v = realloc(l->v, size * sizeof(struct record *));

		if (!v)
			return err_nomem(e, "record list");
		l->v = v;
		l->size = size;
	}
	l->v[l->nr++] = take_ptr(mine);
	return 0;
}

void record_list_release(struct record_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		record_free(l->v[i]);
	free(l->v);
	*l = (struct record_list){};
}
