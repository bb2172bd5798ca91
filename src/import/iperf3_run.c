// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "import/iperf3.h"

/* What is made of the rows of a whole iperf3 run, wherever they came from. */

struct iperf3_row iperf3_empty_row(size_t line)
{
	return (struct iperf3_row){ .line = line,
				    .retr = -1,
				    .cwnd_bytes = -1,
				    .jitter_s = -1,
				    .lost = -1,
				    .packets = -1 };
}

bool iperf3_is_summary(const struct iperf3_row *row)
{
	return row->kind == IPERF3_SENDER || row->kind == IPERF3_RECEIVER ||
	       row->kind == IPERF3_SUMMARY;
}

bool iperf3_same_column(const struct iperf3_row *a, const struct iperf3_row *b)
{
	return a->stream == b->stream && a->role == b->role;
}

bool iperf3_is_repeat(const struct iperf3_row *a, const struct iperf3_row *b)
{
	return iperf3_same_column(a, b) && a->kind == b->kind && a->omitted == b->omitted &&
	       a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->bytes == b->bytes &&
	       a->bps == b->bps && a->retr == b->retr && a->lost == b->lost;
}

const char *iperf3_impossible(const struct iperf3_row *row)
{
	if (row->lost < -1 || row->packets < -1)
		return "a count of datagrams that went backwards";
	if (row->lost >= 0 && row->lost > row->packets)
		return "more datagrams lost than sent";
	return NULL;
}

void iperf3_total_add(struct iperf3_total *t, const struct iperf3_row *row)
{
	double s = (double)(row->end_ns - row->start_ns) / (double)NS_PER_S;

	t->rows++;
	t->bytes += row->bytes;
	t->bytes_half += row->bytes_half;
	t->seconds += s;
	t->bits += row->bps * s;
	t->bits_half += row->bps_half * s;
	t->no_retr = t->no_retr || row->retr < 0;
	t->retr += row->retr > 0 ? row->retr : 0;
}

/* There is no room for an interval row. */
static int count_beyond(struct import_run *run, const struct iperf3_row *row)
{
	struct iperf3_run *data = run->data;

	if (!row->omitted)
		iperf3_total_add(&data->beyond[row->role][row->stream == IPERF3_SUM], row);
	data->seen.prev = *row;
	if (row->end_ns > data->seen.last_end_ns)
		data->seen.last_end_ns = row->end_ns;
	return data->dropped++
		       ? 0
		       : import_note(run, row->line,
				     "more than %u rows: those from here on are in the means "
				     "and sums, but not kept one by one",
				     IMPORT_POINTS_MAX);
}

int iperf3_add_row(struct import_run *run, const struct iperf3_row *row)
{
	struct iperf3_run *data = run->data;
	const struct iperf3_row *last = data->nr ? &data->rows[data->nr - 1] : NULL;

	if (last && row->end_ns > row->start_ns && iperf3_is_repeat(last, row)) {
		data->duplicates++;
		return 0;
	}
	if (data->nr == IMPORT_POINTS_MAX && !iperf3_is_summary(row))
		return count_beyond(run, row);
	if (data->nr >= 2 * IMPORT_POINTS_MAX)
		return 0;
	if (data->nr == data->size || !data->rows) {
		size_t size = data->size ? data->size * 2 : 4;
		struct iperf3_row *p = reallocarray(data->rows, size, sizeof(*p));

		if (!p)
			return -ENOMEM;
		data->rows = p;
		data->size = size;
	}
	data->rows[data->nr++] = *row;
	if (iperf3_is_summary(row)) {
		if (data->seen.summaries++ == 0)
			data->seen.first_summary = *row;
		return 0;
	}
	/* the spans of a run are those after the omitted rows */
	if (data->seen.intervals == 0 || (data->seen.prev.omitted && !row->omitted)) {
		data->seen.first_start_ns = row->start_ns;
		data->seen.last_end_ns = row->end_ns;
	}
	if (row->end_ns > data->seen.last_end_ns)
		data->seen.last_end_ns = row->end_ns;
	data->seen.intervals++;
	data->seen.prev = *row;
	return 0;
}

/* ---- which rows are samples */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static uint64_t duration(const struct iperf3_row *row)
{
	return row->end_ns - row->start_ns;
}

/*
 * Rows shorter than three quarters of the median one, or of no length, hold what was left when the
 * clock had run out (the server prints such a row): their rate is no sample of an interval.  Nor is
 * that of a row much longer than the others.
 */
int iperf3_sort_out(struct iperf3_run *data)
{
	_cleanup_(freep) uint64_t *lengths = calloc(data->nr ? data->nr : 1, sizeof(*lengths));
	uint64_t typical = 0;
	size_t nr = 0;

	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < data->nr; i++)
		if (data->rows[i].kind == IPERF3_INTERVAL && !data->rows[i].omitted)
			lengths[nr++] = duration(&data->rows[i]);
	qsort(lengths, nr, sizeof(*lengths), compare_u64);
	if (nr)
		typical = lengths[nr / 2];
	for (size_t i = 0; i < data->nr; i++) {
		struct iperf3_row *row = &data->rows[i];

		if (row->kind != IPERF3_INTERVAL || row->omitted)
			continue;
		if (duration(row) == 0 || duration(row) < typical / 4 * 3)
			row->kind = IPERF3_TAIL;
		else if (nr > 2 && duration(row) > typical / 4 * 5)
			row->kind = IPERF3_ODD;
	}
	return 0;
}

/* ---- what a comparison may use */

bool iperf3_has_role(const struct iperf3_run *run, enum iperf3_role role)
{
	for (size_t i = 0; i < run->nr; i++)
		if (run->rows[i].role == role)
			return true;
	return false;
}

static int compare_rows(const void *a, const void *b)
{
	const struct iperf3_row *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return (x->stream > y->stream) - (x->stream < y->stream);
}

static int compare_streams(const void *a, const void *b)
{
	int64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* Number of distinct streams (without [SUM]) of @role. */
static int count_streams(const struct iperf3_run *run, enum iperf3_role role, size_t *ret)
{
	int64_t *ids = calloc(run->nr + 1, sizeof(*ids));
	size_t nr = 0, distinct = 0;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < run->nr; i++)
		if (run->rows[i].role == role && run->rows[i].stream != IPERF3_SUM)
			ids[nr++] = run->rows[i].stream;
	qsort(ids, nr, sizeof(*ids), compare_streams);
	for (size_t i = 0; i < nr; i++)
		distinct += i == 0 || ids[i] != ids[i - 1];
	free(ids);
	*ret = distinct;
	return 0;
}

static void take_summary(const struct iperf3_run *run, enum iperf3_role role, int64_t stream,
			 struct iperf3_series *s)
{
	for (size_t i = 0; i < run->nr; i++) {
		const struct iperf3_row *row = &run->rows[i];

		if (row->role != role || (stream == IPERF3_SUM && row->stream != IPERF3_SUM))
			continue;
		if (row->kind == IPERF3_SENDER || row->kind == IPERF3_SUMMARY) {
			s->sender_bps = row->bps;
			s->sender_retr = row->retr;
		} else if (row->kind == IPERF3_RECEIVER) {
			s->receiver_bps = row->bps;
		}
		if (iperf3_is_summary(row) && row->bps > 0 && run->seen.intervals == 0 &&
		    row->bps_half / row->bps > s->half_ratio)
			s->half_ratio = row->bps_half / row->bps;
	}
}

/* Rows of @group streams with one interval into one sample; false when they do not match. */
static bool add_group(struct iperf3_series *s, const struct iperf3_row *rows, size_t group,
		      const struct iperf3_row *first)
{
	double bps = 0, half = 0;
	int64_t retr = 0;

	for (size_t i = 0; i < group; i++) {
		if (rows[i].stream != first[i].stream || rows[i].start_ns != rows[0].start_ns ||
		    rows[i].end_ns != rows[0].end_ns || (i && rows[i].stream == rows[i - 1].stream))
			return false;
		bps += rows[i].bps;
		half += rows[i].bps_half;
		if (rows[i].retr < 0)
			s->has_retr = false;
		else
			retr += rows[i].retr;
	}
	s->seconds += (double)duration(rows) / (double)NS_PER_S;
	s->half_bps += (half - s->half_bps) / (double)(s->nr + 1);
	s->bps[s->nr] = bps;
	s->retr[s->nr++] = retr;
	if (bps > 0 && half / bps > s->half_ratio)
		s->half_ratio = half / bps;
	return true;
}

/* The @nr sorted @rows, @group streams each, into samples. */
static int collect(struct iperf3_series *s, const struct iperf3_row *rows, size_t nr, size_t group)
{
	s->bps = calloc(nr + 1, sizeof(*s->bps));
	s->retr = calloc(nr + 1, sizeof(*s->retr));
	if (!s->bps || !s->retr)
		return -ENOMEM;
	s->has_retr = nr > 0;
	for (size_t i = 0; i < nr; i += group) {
		if (i + group > nr || !add_group(s, rows + i, group, rows)) {
			s->streams_differ = true;
			s->has_retr = false;
			s->nr = 0;
			return 0;
		}
		/* ends and starts are printed from the same clock reading */
		s->gaps += i && rows[i].start_ns > rows[i - 1].end_ns + NS_PER_S / 20;
	}
	return 0;
}

static bool is_used(const struct iperf3_row *row, enum iperf3_role role, bool sum)
{
	return row->role == role && (row->stream == IPERF3_SUM) == sum;
}

int iperf3_series(const struct iperf3_run *run, enum iperf3_role role, struct iperf3_series *ret)
{
	_cleanup_(iperf3_series_release) struct iperf3_series s = { .sender_bps = -1,
								    .receiver_bps = -1,
								    .sender_retr = -1 };
	_cleanup_(freep) struct iperf3_row *rows = calloc(run->nr + 1, sizeof(*rows));
	size_t nr = 0;
	bool sum = false;
	int r;

	r = rows ? count_streams(run, role, &s.streams) : -ENOMEM;
	if (r < 0)
		return r;
	for (size_t i = 0; i < run->nr; i++)
		sum = sum || is_used(&run->rows[i], role, true);
	for (size_t i = 0; i < run->nr; i++) {
		const struct iperf3_row *row = &run->rows[i];

		if (!is_used(row, role, sum) || iperf3_is_summary(row))
			continue;
		s.tail += row->kind == IPERF3_TAIL;
		s.odd += row->kind == IPERF3_ODD;
		s.omitted += row->omitted;
		if (row->kind == IPERF3_INTERVAL && !row->omitted)
			rows[nr++] = *row;
	}
	s.added_up = !sum && s.streams > 1;
	qsort(rows, nr, sizeof(*rows), compare_rows);
	r = collect(&s, rows, nr, s.added_up ? s.streams : 1);
	if (r < 0)
		return r;
	if (!s.added_up)
		take_summary(run, role, sum ? IPERF3_SUM : 0, &s);
	*ret = s;
	s = (struct iperf3_series){};
	return 0;
}

void iperf3_series_release(struct iperf3_series *s)
{
	free(s->bps);
	free(s->retr);
	*s = (struct iperf3_series){};
}
