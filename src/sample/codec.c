// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/codec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "sample/hist.h"
#include "sample/sample.h"

/* What is left to read. Once @bad, every further take_*() yields zero. */
struct reader {
	const unsigned char *at, *end;
	bool bad;
};

static uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static int put_double(struct buf *out, double v)
{
	unsigned char bytes[8];
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	for (unsigned int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(bits >> (8 * i));
	return buf_add(out, bytes, sizeof(bytes));
}

static void put_string(struct buf *out, const char *s)
{
	size_t len = strlen(s);

	buf_varint(out, len);
	buf_add(out, s, len);
}

static uint64_t take_varint(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		unsigned char c;

		if (r->bad || r->at == r->end)
			break;
		c = *r->at++;
		if (shift == 63 && c > 1)
			break;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
	r->bad = true;
	return 0;
}

static double take_double(struct reader *r)
{
	uint64_t bits = 0;
	double v;

	if (r->bad || r->end - r->at < 8) {
		r->bad = true;
		return 0;
	}
	for (unsigned int i = 0; i < 8; i++)
		bits |= (uint64_t)r->at[i] << (8 * i);
	r->at += 8;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* A new string without NUL inside, or NULL with @bad set. */
static char *take_string(struct reader *r)
{
	uint64_t len = take_varint(r);
	char *s;

	if (r->bad || len > (uint64_t)(r->end - r->at) || memchr(r->at, 0, len)) {
		r->bad = true;
		return NULL;
	}
	s = strndup((const char *)r->at, len);
	r->bad = !s;
	r->at += len;
	return s;
}

int codec_hist_encode(const struct hist *h, struct buf *out)
{
	unsigned int last = 0;

	buf_varint(out, HIST_LAYOUT);
	buf_varint(out, h->total);
	buf_varint(out, h->total ? h->min : 0);
	buf_varint(out, h->max);
	put_double(out, h->sum);
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		if (!h->count[i])
			continue;
		buf_varint(out, i - last);
		buf_varint(out, h->count[i]);
		last = i;
	}
	return out->failed ? -ENOMEM : 0;
}

int codec_hist_decode(const void *data, size_t len, struct hist **ret, struct err *e)
{
	_cleanup_(hist_freep) struct hist *h = NULL;
	struct reader r = { .at = data, .end = (const unsigned char *)data + len };
	uint64_t layout = take_varint(&r), index = 0, seen = 0;

	if (!r.bad && layout != HIST_LAYOUT)
		return err_set(e, -ENOTSUP, "histogram of layout %llu: this irqlab reads layout %d",
			       (unsigned long long)layout, HIST_LAYOUT);
	h = hist_new();
	if (!h)
		return err_nomem(e, "histogram");
	h->total = take_varint(&r);
	h->min = take_varint(&r);
	h->max = take_varint(&r);
	h->sum = take_double(&r);
	while (!r.bad && r.at < r.end) {
		uint64_t delta = take_varint(&r), n = take_varint(&r);

		if (r.bad || delta >= HIST_BUCKETS || index + delta >= HIST_BUCKETS ||
		    seen + n < seen)
			r.bad = true;
		else
			h->count[index += delta] += n;
		seen += n;
	}
	if (r.bad || seen != h->total || h->min > h->max)
		return err_set(e, -EBADMSG, "histogram of %zu bytes is damaged", len);
	*ret = take_ptr(h);
	return 0;
}

int codec_series_encode(const struct point *points, size_t nr, struct buf *out)
{
	int64_t last = 0;

	buf_varint(out, nr);
	for (size_t i = 0; i < nr; i++) {
		buf_varint(out, zigzag((int64_t)((uint64_t)points[i].t_ns - (uint64_t)last)));
		put_double(out, points[i].v);
		last = points[i].t_ns;
	}
	return out->failed ? -ENOMEM : 0;
}

static int take_series(struct reader *r, struct point **ret, size_t *ret_nr, struct err *e)
{
	_cleanup_(freep) struct point *v = NULL;
	uint64_t nr = take_varint(r);
	uint64_t t = 0;

	/* a point takes nine bytes at least */
	if (r->bad || nr > (uint64_t)(r->end - r->at) / 9)
		return err_set(e, -EBADMSG, "series is damaged");
	v = calloc(nr ? nr : 1, sizeof(*v));
	if (!v)
		return err_nomem(e, "series");
	for (uint64_t i = 0; i < nr; i++) {
		t += (uint64_t)unzigzag(take_varint(r));
		v[i] = (struct point){ .t_ns = (int64_t)t, .v = take_double(r) };
	}
	if (r->bad)
		return err_set(e, -EBADMSG, "series is damaged");
	*ret = take_ptr(v);
	*ret_nr = nr;
	return 0;
}

int codec_series_decode(const void *data, size_t len, struct point **ret, size_t *ret_nr,
			struct err *e)
{
	_cleanup_(freep) struct point *v = NULL;
	struct reader r = { .at = data, .end = (const unsigned char *)data + len };
	size_t nr = 0;
	int rc = take_series(&r, &v, &nr, e);

	if (rc < 0)
		return rc;
	if (r.at != r.end)
		return err_set(e, -EBADMSG, "series is followed by %td bytes of rubbish",
			       r.end - r.at);
	*ret = take_ptr(v);
	*ret_nr = nr;
	return 0;
}

int codec_record_encode(const struct record *rec, struct buf *out)
{
	buf_varint(out, rec->kind);
	put_string(out, rec->metric);
	put_string(out, rec->unit);
	put_string(out, rec->labels);
	switch (rec->kind) {
	case RECORD_SCALAR:
		put_double(out, rec->value);
		break;
	case RECORD_SERIES:
		codec_series_encode(rec->points, rec->nr_points, out);
		break;
	case RECORD_HIST:
		codec_hist_encode(rec->hist, out);
		break;
	case RECORD_EVENT:
		buf_varint(out, zigzag(rec->t_ns));
		buf_varint(out, rec->severity);
		put_string(out, rec->text);
		break;
	}
	return out->failed ? -ENOMEM : 0;
}

static int take_body(struct reader *r, struct record *rec, struct err *e)
{
	struct point *points = NULL;
	struct hist *h = NULL;
	int rc = 0;

	switch (rec->kind) {
	case RECORD_SCALAR:
		rec->value = take_double(r);
		break;
	case RECORD_SERIES:
		rc = take_series(r, &points, &rec->nr_points, e);
		rec->points = points;
		break;
	case RECORD_HIST:
		rc = codec_hist_decode(r->at, (size_t)(r->end - r->at), &h, e);
		rec->hist = h;
		r->at = r->end;
		break;
	case RECORD_EVENT:
		rec->t_ns = unzigzag(take_varint(r));
		rec->severity = (enum severity)take_varint(r);
		rec->text = take_string(r);
		r->bad |= rec->severity > SEVERITY_VETO;
		break;
	default:
		r->bad = true;
	}
	return rc;
}

int codec_record_decode(const void *data, size_t len, struct record **ret, struct err *e)
{
	_cleanup_(record_freep) struct record *rec = calloc(1, sizeof(*rec));
	struct reader r = { .at = data, .end = (const unsigned char *)data + len };
	int rc;

	if (!rec)
		return err_nomem(e, "record");
	rec->kind = (enum record_kind)take_varint(&r);
	rec->metric = take_string(&r);
	rec->unit = take_string(&r);
	rec->labels = take_string(&r);
	if (r.bad)
		return err_set(e, -EBADMSG, "record of %zu bytes is damaged", len);
	rc = take_body(&r, rec, e);
	if (rc < 0)
		return err_wrap(e, "record %s", rec->metric);
	if (r.bad || r.at != r.end)
		return err_set(e, -EBADMSG, "record %s of %zu bytes is damaged", rec->metric, len);
	*ret = take_ptr(rec);
	return 0;
}
