/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SAMPLE_CODEC_H
#define SAMPLE_CODEC_H

/*
 * Bytes of records: what travels from the agent to the conductor, and the blobs of the store.
 * Integers are unsigned LEB128 (zigzag where signed), doubles their IEEE 754 bits little-endian,
 * strings a length and bytes.  Decoders accept any input: they return -EBADMSG with the reason
 * rather than read outside @data, and allocate no more than the input can justify.
 *
 *   hist blob:    layout, total, min, max, sum, then (index delta, count) pairs of non-empty
 * buckets series blob:  number of points, then per point (time delta zigzag, value as 8 bytes)
 */

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct hist;
struct point;
struct record;

int codec_hist_encode(const struct hist *h, struct buf *out);
/* New histogram (hist_free); -EBADMSG on damage, -ENOTSUP on another layout id. */
int codec_hist_decode(const void *data, size_t len, struct hist **ret, struct err *e);
int codec_series_encode(const struct point *points, size_t nr, struct buf *out);
/* New array (free()), possibly of zero points. */
int codec_series_decode(const void *data, size_t len, struct point **ret, size_t *ret_nr,
			struct err *e);
int codec_record_encode(const struct record *rec, struct buf *out);
/* New record that owns all it points to (record_free). */
int codec_record_decode(const void *data, size_t len, struct record **ret, struct err *e);

#endif
