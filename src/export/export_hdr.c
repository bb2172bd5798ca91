// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "export/forms.h"
#include "report/model.h"
#include "sample/hist.h"

/*
 * HdrHistogram's interval log, format 1.3, payload V2: a line per trial and latency, tagged with
 * scenario, variant, metric and labels.
 *
 * HdrHistogram with two significant digits and a lowest value of 1 has 256 values in its first
 * bucket and 128 in each further one: the layout of struct hist.  So counts go over one to one and
 * nothing is lost.
 *
 * Layout of the payload (all big-endian): cookie, length of the rest; deflated: cookie, payload
 * length, normalizing index offset 0, digits 2, lowest 1, highest, ratio 1.0, then counts as
 * ZigZag LEB128 of at most 9 bytes, a run of n empty ones as -n.
 * Source: HdrHistogram's EncodableHistogram and AbstractHistogram, V2 encoding.
 */
#define COOKIE_COMPRESSED 0x1c849314U
#define COOKIE 0x1c849313U
#define DIGITS 2
_Static_assert(HIST_SUB == 128, "the layout of two significant digits");

static void put_be(struct buf *out, uint64_t v, unsigned int bytes)
{
	while (bytes-- > 0)
		buf_putc(out, (char)(v >> (8 * bytes)));
}

/* The ninth byte holds eight bits: 64 in all. */
static void put_zigzag(struct buf *out, int64_t v)
{
	uint64_t z = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);

	for (int i = 0; i < 8 && z >= 0x80; i++, z >>= 7)
		buf_putc(out, (char)(z | 0x80));
	buf_putc(out, (char)z);
}

static void put_counts(struct buf *out, const struct hist *h)
{
	unsigned int last = hist_index(h->max);

	for (unsigned int i = 0; i <= last; i++) {
		unsigned int empty = 0;

		while (i + empty <= last && !h->count[i + empty])
			empty++;
		if (empty) {
			put_zigzag(out, empty > 1 ? -(int64_t)empty : 0);
			i += empty - 1;
		} else {
			put_zigzag(out, (int64_t)h->count[i]);
		}
	}
}

static void put_payload(struct buf *out, const struct hist *h)
{
	_cleanup_(buf_release) struct buf counts = {};
	uint64_t highest = hist_upper(hist_index(h->max));
	union {
		double d;
		uint64_t bits;
	} ratio = { .d = 1 };

	put_counts(&counts, h);
	put_be(out, COOKIE, 4);
	put_be(out, counts.len, 4);
	put_be(out, 0, 4);
	put_be(out, DIGITS, 4);
	put_be(out, 1, 8);
	put_be(out, highest < 2 ? 2 : highest, 8);
	put_be(out, ratio.bits, 8);
	buf_add(out, buf_str(&counts), counts.len);
	out->failed |= counts.failed;
}

static void put_base64(struct buf *out, const unsigned char *p, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i < 3 ? len - i : 3;
		uint32_t v = 0;

		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (k < have ? p[i + k] : 0U);
		for (size_t k = 0; k < 4; k++) {
			if (k <= have)
				buf_putc(out, digits[v >> (18 - 6 * k) & 63]);
			else
				buf_putc(out, '=');
		}
	}
}

static int put_hist(struct buf *out, const struct hist *h, struct err *e)
{
	_cleanup_(buf_release) struct buf plain = {}, packed = {};
	_cleanup_(freep) Bytef *deflated = NULL;
	uLongf len;

	if (h->max > INT64_MAX)
		return err_set(e, -ERANGE, "a latency of %" PRIu64 " ns does not fit", h->max);
	put_payload(&plain, h);
	len = compressBound(plain.len);
	deflated = malloc(len);
	if (plain.failed || !deflated ||
	    compress2(deflated, &len, (const Bytef *)plain.data, plain.len, Z_BEST_COMPRESSION) !=
		    Z_OK)
		return err_nomem(e, "histogram");
	put_be(&packed, COOKIE_COMPRESSED, 4);
	put_be(&packed, len, 4);
	buf_add(&packed, deflated, len);
	if (packed.failed)
		return err_nomem(e, "histogram");
	put_base64(out, (const unsigned char *)packed.data, packed.len);
	return 0;
}

/* Commas and blanks end a field of the log. */
static void put_tag(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == ',')
			buf_putc(out, ';');
		else if ((unsigned char)*text <= ' ')
			buf_putc(out, '_');
		else
			buf_putc(out, *text);
	}
}

static int put_line(struct buf *out, const struct report *rep, const struct trial_info *t,
		    const struct record *rec, struct err *e)
{
	double start = t->started_ns > rep->run.started_ns
			       ? (double)(t->started_ns - rep->run.started_ns) / (double)NS_PER_S
			       : 0;
	int r;

	buf_puts(out, "Tag=");
	put_tag(out, model_scenario(rep, t->scenario));
	buf_putc(out, '/');
	put_tag(out, model_variant(rep, t->variant));
	buf_putc(out, '/');
	put_tag(out, rec->metric);
	if (*rec->labels) {
		buf_putc(out, '/');
		put_tag(out, rec->labels);
	}
	buf_printf(out, ",%.3f,%.3f,%.6f,", start, (double)t->window_ns / (double)NS_PER_S,
		   (double)rec->hist->max / 1e6);
	r = put_hist(out, rec->hist, e);
	buf_putc(out, '\n');
	return r;
}

/* Lines of the histograms of trial @t; counts them in @nr. */
static int put_trial(struct buf *out, const struct export_source *src, const struct trial_info *t,
		     size_t *nr, struct err *e)
{
	_cleanup_(record_list_release) struct record_list l = {};
	int r = store_records(src->store, t->id, RECORD_HIST, NULL, &l, e);

	for (size_t i = 0; i < l.nr && r >= 0; i++) {
		if (!l.v[i]->hist->total)
			continue;
		r = put_line(out, src->report, t, l.v[i], e);
		(*nr)++;
	}
	return r < 0 ? err_wrap(e, "trial %u", t->position + 1) : 0;
}

static int write_hdr(const struct export_source *src, struct buf *out, struct err *e)
{
	const struct report *rep = src->report;
	double began = (double)rep->run.started_ns / (double)NS_PER_S;
	size_t nr = 0;

	buf_puts(out, "#[Histogram log format version 1.3]\n");
	buf_printf(out, "#[BaseTime: %.3f (seconds since epoch)]\n", began);
	buf_printf(out, "#[StartTime: %.3f (seconds since epoch)]\n", began);
	buf_puts(out,
		 "#[values in ns, Interval_Max in ms; tags are SCENARIO/VARIANT/METRIC/LABELS; "
		 "trials that were vetoed or failed are left out]\n");
	buf_puts(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
		      "\"Interval_Compressed_Histogram\"\n");
	for (size_t i = 0; i < rep->nr_trials; i++) {
		const struct trial_info *t = &rep->trials[i];
		int r = 0;

		if (src->trial ? src->trial == t : t->state == TRIAL_OK)
			r = put_trial(out, src, t, &nr, e);
		if (r < 0)
			return r;
	}
	if (out->failed)
		return err_nomem(e, "histogram log");
	return nr ? 0 : err_set(e, -ENODATA, "run %" PRId64 " has no histogram", rep->run.id);
}

const struct export_ops export_hdr = {
	.name = "hdr",
	.help = "HdrHistogram V2 log: a line per trial and latency",
	.write = write_hdr,
};
