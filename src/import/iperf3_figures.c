// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "import/iperf3.h"

/* Figures, series and notes out of the rows of a whole iperf3 run. */

#define LABELS 64

/* How far the printed times of one row may be off. */
#define TIME_HALF 0.005

static double seconds(const struct iperf3_row *row)
{
	return (double)(row->end_ns - row->start_ns) / (double)NS_PER_S;
}

const char *iperf3_direction(const struct iperf3_run *run, enum iperf3_role role)
{
	bool sent = false, received = false;

	if (role == IPERF3_ROLE_TX_C || role == IPERF3_ROLE_TX_S)
		return "sent";
	if (role == IPERF3_ROLE_RX_C || role == IPERF3_ROLE_RX_S)
		return "received";
	for (size_t i = 0; i < run->nr; i++) {
		const struct iperf3_row *row = &run->rows[i];

		if (row->kind != IPERF3_INTERVAL)
			continue;
		sent = sent || row->retr >= 0 || (row->packets >= 0 && row->lost < 0);
		received = received || row->lost >= 0;
	}
	if (sent != received)
		return sent ? "sent" : "received";
	if (run->server || run->reverse)
		return run->server == run->reverse ? "sent" : "received";
	return "";
}

/* "direction=sent,role=TX-C,stream=5" of those that are known. */
static void put_labels(char out[LABELS], const char *direction, enum iperf3_role role,
		       int64_t stream)
{
	int n = 0;

	out[0] = '\0';
	if (*direction)
		n = snprintf(out, LABELS, "direction=%s", direction);
	if (role)
		n += snprintf(out + n, LABELS - (size_t)n, "%srole=%s", n ? "," : "",
			      iperf3_role_name(role));
	if (stream >= 0)
		snprintf(out + n, LABELS - (size_t)n, "%sstream=%" PRId64, n ? "," : "", stream);
}

static int figure(struct import_run *run, const char *metric, const char *unit, const char *labels,
		  double value, double half)
{
	return import_figure_add(run, &(struct import_figure){ .metric = metric,
							       .unit = unit,
							       .labels = labels,
							       .value = value,
							       .half = half,
							       .n = -1 });
}

/* ---- what is odd */

/* The power of 1024/1000 by which @ratio is off 1, or 0. */
static int power_of_prefix(double ratio)
{
	for (int k = -4; k <= 4; k++)
		if (k && fabs(ratio / pow(1.024, k) - 1) < 0.006)
			return k;
	return 0;
}

/* Transfer, time and rate of a row must fit, each within its printed digits. */
static int check_rates(struct import_run *run)
{
	const struct iperf3_run *data = run->data;
	size_t wrong = 0, line = 0;
	double worst = 1;

	for (size_t i = 0; i < data->nr; i++) {
		const struct iperf3_row *row = &data->rows[i];
		double s = seconds(row), ratio, slack;

		if (s < 0.5 || !(row->bps > 0) || !(row->bytes > 0))
			continue;
		ratio = row->bytes * 8 / s / row->bps;
		slack = row->bytes_half / row->bytes + row->bps_half / row->bps +
			2 * TIME_HALF / s + 0.002;
		if (fabs(ratio - 1) <= slack)
			continue;
		if (wrong++ == 0) {
			line = row->line;
			worst = ratio;
		}
	}
	if (!wrong)
		return 0;
	if (power_of_prefix(worst))
		return import_note(
			run, line,
			"transfer and rate disagree by a power of 1024/1000 (%+.1f %%) in "
			"%zu row(s): one of them was printed with the other's prefixes; "
			"both are kept as printed",
			100 * (worst - 1), wrong);
	return import_note(run, line,
			   "transfer and rate disagree (%+.1f %%) in %zu row(s); both are kept as "
			   "printed",
			   100 * (worst - 1), wrong);
}

/* All interval rows of @role in the column that the summary sums: [SUM] or the only stream. */
static struct iperf3_total add_up(const struct iperf3_run *run, enum iperf3_role role, bool sum)
{
	struct iperf3_total t = run->beyond[role][sum];

	for (size_t i = 0; i < run->nr; i++) {
		const struct iperf3_row *row = &run->rows[i];

		if (row->role == role && !row->omitted && !iperf3_is_summary(row) &&
		    (row->stream == IPERF3_SUM) == sum)
			iperf3_total_add(&t, row);
	}
	return t;
}

/* The summary against the rows. */
static int check_total(struct import_run *run, const struct iperf3_row *summary, bool sum,
		       const struct iperf3_series *s)
{
	struct iperf3_total t = add_up(run->data, summary->role, sum);
	double spread = summary->bytes > 0 ? t.bytes / summary->bytes - 1 : 0;
	int r = 0;

	/* rows of the other end's direction, rows that are missing, one row: nothing to add */
	if (t.rows < 2 || s->gaps ||
	    (summary->kind == IPERF3_RECEIVER &&
	     strcmp(iperf3_direction(run->data, summary->role), "sent") == 0))
		return 0;
	if (fabs(spread) > 0.02 + (t.bytes_half + summary->bytes_half) / summary->bytes)
		r = import_note(run, summary->line,
				"the rows add up to %+.1f %% of what the summary says: rows are "
				"missing or of another test",
				100 * spread);
	if (r == 0 && !t.no_retr && summary->retr >= 0 && t.retr != summary->retr && !s->omitted)
		r = import_note(run, summary->line,
				"the rows count %" PRId64 " retransmits, the summary %" PRId64,
				t.retr, summary->retr);
	return r;
}

static int check_series(struct import_run *run, const struct iperf3_series *s,
			enum iperf3_role role)
{
	const struct iperf3_run *data = run->data;
	const char *of = role ? iperf3_role_name(role) : "", *blank = role ? " " : "";
	int r = 0;

	if (s->gaps)
		r = import_note(run, run->line,
				"%s%sthe time jumps in %zu place(s): rows are missing", of, blank,
				s->gaps);
	if (r == 0 && s->odd)
		r = import_note(
			run, run->line,
			"%s%s%zu row(s) are longer than the others: weighed by their length, "
			"no samples",
			of, blank, s->odd);
	if (r == 0 && s->tail)
		r = import_note(run, run->line,
				"%s%s%zu row(s) are shorter than the others, what was left at the "
				"end: weighed by their length, no samples",
				of, blank, s->tail);
	if (r == 0 && s->omitted)
		r = import_note(run, run->line, "%s%s%zu row(s) are marked as omitted (-O)", of,
				blank, s->omitted);
	if (r == 0 && s->streams_differ)
		r = import_note(run, run->line,
				"%s%sseveral streams without [SUM] rows whose intervals do not "
				"match: they are not added up",
				of, blank);
	if (r == 0 && data->duplicates && role == data->rows[0].role)
		r = import_note(run, run->line, "%zu row(s) stand there twice: used once",
				data->duplicates);
	return r;
}

/* ---- figures */

static int add_loss(struct import_run *run, const struct iperf3_row *row, const char *labels)
{
	int r = 0;

	if (row->jitter_s >= 0)
		r = figure(run, "jitter", "ns", labels, row->jitter_s * 1e9,
			   ((const struct iperf3_run *)run->data)->json ? 0 : 500);
	if (r == 0 && row->packets >= 0)
		r = figure(run, "datagrams", "count", labels, (double)row->packets, 0);
	if (r == 0 && row->lost >= 0)
		r = figure(run, "lost", "count", labels, (double)row->lost, 0);
	if (r == 0 && row->lost >= 0 && row->packets > 0)
		r = import_figure_add(run, &(struct import_figure){ .metric = "loss",
								    .unit = "ratio",
								    .labels = labels,
								    .value = (double)row->lost /
									     (double)row->packets,
								    .n = row->packets,
								    .key = true });
	return r;
}

/* One direction of a run. */
struct side {
	enum iperf3_role role;
	const char *direction; /* of its interval rows */
	bool sum;	       /* there are rows of [SUM] */
	bool single;	       /* there is one stream */
	bool few;	       /* there are few, and no [SUM]: each is worth a line of a list */
};

/* Whether @row speaks of the whole direction. */
static bool is_whole(const struct side *side, const struct iperf3_row *row)
{
	return side->sum ? row->stream == IPERF3_SUM : side->single;
}

static bool has_bytes(const struct iperf3_run *run, enum iperf3_role role)
{
	for (size_t i = 0; i < run->nr && i < 64; i++)
		if (run->rows[i].role == role && run->rows[i].bytes > 0)
			return true;
	return false;
}

static int add_summary(struct import_run *run, const struct iperf3_row *row,
		       const struct side *side)
{
	const char *direction = row->kind == IPERF3_SENDER     ? "sent"
				: row->kind == IPERF3_RECEIVER ? "received"
							       : side->direction;
	bool whole = is_whole(side, row);
	char labels[LABELS];
	int r;

	put_labels(labels, direction, row->role, whole ? -1 : row->stream);
	if (row->bytes == 0 && has_bytes(run->data, row->role))
		return import_note(run, row->line,
				   "a summary of 0 bytes%s%s: not known at this end, left out",
				   *direction ? ", " : "", direction);
	r = import_figure_add(run, &(struct import_figure){ .metric = "throughput",
							    .unit = "bit/s",
							    .labels = labels,
							    .value = row->bps,
							    .half = row->bps_half,
							    .n = -1,
							    .key = whole || side->few });
	if (r == 0)
		r = figure(run, "transfer", "byte", labels, row->bytes, row->bytes_half);
	if (r == 0 && row->retr >= 0)
		r = import_figure_add(run, &(struct import_figure){ .metric = "retransmits",
								    .unit = "count",
								    .labels = labels,
								    .value = (double)row->retr,
								    .n = -1,
								    .key = whole || side->few });
	/* the sender's line repeats what the receiver counted, or holds zeros */
	if (r == 0 && row->kind != IPERF3_SENDER) {
		put_labels(labels, row->lost >= 0 ? "received" : direction, row->role,
			   whole ? -1 : row->stream);
		r = add_loss(run, row, labels);
	}
	if (r == 0 && row->kind == IPERF3_SUMMARY && row->lost >= 0 &&
	    strcmp(direction, "sent") == 0)
		r = import_note(run, row->line,
				"the summary holds the sender's bytes and the receiver's losses");
	return r;
}

/* The mean of all rows that are not omitted, each weighed by its length. */
static int add_mean(struct import_run *run, const struct iperf3_series *s, const struct side *side,
		    bool has_summary)
{
	struct iperf3_total t = add_up(run->data, side->role, side->sum);
	char labels[LABELS];
	int r;

	put_labels(labels, side->direction, side->role, -1);
	if (!t.rows || !(t.seconds > 0) || s->streams_differ)
		return 0;
	if (s->added_up)
		t.seconds /= (double)s->streams;
	r = import_figure_add(run, &(struct import_figure){ .metric = "throughput.rows",
							    .unit = "bit/s",
							    .labels = labels,
							    .value = t.bits / t.seconds,
							    .half = t.bits_half / t.seconds,
							    .n = (int64_t)t.rows,
							    .key = !has_summary });
	if (r == 0 && !t.no_retr)
		r = import_figure_add(run, &(struct import_figure){ .metric = "retransmits.rows",
								    .unit = "count",
								    .labels = labels,
								    .value = (double)t.retr,
								    .n = (int64_t)t.rows,
								    .key = !has_summary });
	return r;
}

/* ---- series */

static int add_points(struct import_run *run, const struct iperf3_row *row, const struct side *side)
{
	struct import_point p = { .t_ns = (int64_t)row->start_ns,
				  .length_ns = row->end_ns - row->start_ns,
				  .v = row->bps,
				  .half = row->bps_half,
				  .line = row->line };
	char labels[LABELS];
	int r;

	put_labels(labels, side->direction, row->role, is_whole(side, row) ? -1 : row->stream);
	r = import_point_add(run, "throughput", "bit/s", labels, &p);
	p.half = 0;
	if (r == 0 && row->retr >= 0) {
		p.v = (double)row->retr;
		r = import_point_add(run, "retransmits", "count", labels, &p);
	}
	if (r == 0 && row->jitter_s >= 0) {
		p.v = row->jitter_s * 1e9;
		r = import_point_add(run, "jitter", "ns", labels, &p);
	}
	if (r == 0 && row->lost >= 0) {
		p.v = (double)row->lost;
		r = import_point_add(run, "lost", "count", labels, &p);
	}
	return r;
}

static bool has_sum(const struct iperf3_run *run, enum iperf3_role role)
{
	for (size_t i = 0; i < run->nr; i++)
		if (run->rows[i].role == role && run->rows[i].stream == IPERF3_SUM)
			return true;
	return false;
}

static int finish_role(struct import_run *run, enum iperf3_role role)
{
	const struct iperf3_run *data = run->data;
	_cleanup_(iperf3_series_release) struct iperf3_series s = {};
	struct side side = { role, iperf3_direction(data, role), has_sum(data, role) };
	bool has_summary = false;
	size_t checked = 0;
	int r = iperf3_series(data, role, &s);

	side.single = s.streams <= 1;
	side.few = !side.sum && s.streams <= 4;
	for (size_t i = 0; i < data->nr && r == 0; i++) {
		const struct iperf3_row *row = &data->rows[i];

		if (row->role != role)
			continue;
		if (!iperf3_is_summary(row)) {
			if (!row->omitted)
				r = add_points(run, row, &side);
			continue;
		}
		has_summary = true;
		r = add_summary(run, row, &side);
		if (r == 0 && is_whole(&side, row) && checked++ < 4)
			r = check_total(run, row, side.sum, &s);
	}
	if (r == 0)
		r = add_mean(run, &s, &side, has_summary);
	return r < 0 ? r : check_series(run, &s, role);
}

static int compare_ids(const void *a, const void *b)
{
	int64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static int count_streams(struct import_run *run)
{
	const struct iperf3_run *data = run->data;
	_cleanup_(freep) int64_t *ids = calloc(data->nr + 1, sizeof(*ids));
	size_t nr = 0, distinct = 0;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < data->nr; i++)
		if (data->rows[i].stream != IPERF3_SUM)
			ids[nr++] = data->rows[i].stream;
	qsort(ids, nr, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < nr; i++)
		distinct += i == 0 || ids[i] != ids[i - 1];
	return distinct ? figure(run, "streams", "count", "", (double)distinct, 0) : 0;
}

/* Rows of the table's main column: of a role that has the most, [SUM] or the only stream. */
static size_t count_rows(const struct iperf3_run *run)
{
	size_t most = 0;

	for (int role = 0; role < IPERF3_ROLES; role++) {
		bool sum = has_sum(run, (enum iperf3_role)role);
		size_t nr = add_up(run, (enum iperf3_role)role, sum).rows;

		most = nr > most ? nr : most;
	}
	return most;
}

int iperf3_finish(struct import_run *run)
{
	struct iperf3_run *data = run->data;
	int r = iperf3_sort_out(data);

	run->rows = count_rows(data);

	for (int role = 0; role < IPERF3_ROLES && r == 0; role++)
		if (iperf3_has_role(data, (enum iperf3_role)role))
			r = finish_role(run, (enum iperf3_role)role);
	if (r == 0)
		r = count_streams(run);
	return r < 0 ? r : check_rates(run);
}
