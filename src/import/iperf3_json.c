// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "import/iperf3.h"
#include "import/json.h"

/*
 * iperf3 -J: { "start": {...}, "intervals": [ {"streams": [...], "sum": {...}} ... ], "end": {...}
 * } and --json-stream (3.17): lines of {"event": "interval", "data": {...}}.
 *
 * A run is opened by its first interval, or by its end.  What is -1, 2^64-1 (3.12 and 3.13 print -1
 * so) or nan is not there.  UDP's "sum" holds the sender's bytes with the receiver's losses: its
 * rate is only used when there is no "sum_sent" beside it.
 */

enum {
	STREAM_OPEN = 1U << 16, /* f->mode: the run is one of --json-stream */
};

/* What stands in "start". */
struct iperf3_start {
	const char *protocol, *host;
	bool server, reverse, bidir, known;
	int64_t streams;
};

bool iperf3_json_sniff(const struct json_val *doc)
{
	static const char *const events[] = { "start", "interval",	     "end",
					      "error", "server_output_text", "server_output_json" };
	const char *event = json_text(doc, "event");
	const struct json_val *start = json_find(doc, "start");

	for (size_t i = 0; event && i < ARRAY_SIZE(events); i++)
		if (strcmp(event, events[i]) == 0)
			return json_find(doc, "data") != NULL;
	if (start && start->kind == JSON_OBJECT)
		return json_find(doc, "intervals") || json_find(start, "version") ||
		       json_find(start, "test_start") || json_find(doc, "end") ||
		       json_find(doc, "error");
	/* its beginning is missing */
	return json_path(doc, "end.sum_sent") || json_path(doc, "end.sum");
}

static bool flag(const struct json_val *o, const char *key)
{
	const struct json_val *v = json_find(o, key);

	return v && (v->kind == JSON_BOOL || v->kind == JSON_NUMBER) && v->number == 1;
}

static struct iperf3_start read_start(const struct json_val *start)
{
	const struct json_val *test = json_find(start, "test_start");
	const struct json_val *to = json_find(start, "connecting_to");
	const struct json_val *from = json_find(start, "accepted_connection");
	struct iperf3_start s = { .protocol = json_text(test, "protocol"),
				  .host = json_text(to ? to : from, "host"),
				  .server = !to && from,
				  .reverse = flag(test, "reverse"),
				  .bidir = flag(test, "bidir"),
				  .known = to || from };

	if (!json_whole(test, "num_streams", &s.streams))
		s.streams = -1;
	return s;
}

/* Give a run without a command or a heading the words that its JSON has for it. */
static int label_run(struct import_run *run, const struct json_val *doc)
{
	const struct json_val *start = json_find(doc, "start");
	struct iperf3_start s = read_start(start ? start : doc);
	const char *title = json_text(doc, "title");
	_cleanup_(buf_release) struct buf text = {};
	char *label;

	if (*run->label && !title)
		return 0;
	if (title)
		buf_puts(&text, title);
	else if (s.protocol || s.host)
		buf_printf(&text, "%s%s%s%s%s", s.protocol ? s.protocol : "",
			   s.protocol && s.host ? " " : "",
			   s.host ? s.server ? "from " : "to " : "", s.host ? s.host : "",
			   s.bidir     ? ", both directions"
			   : s.reverse ? ", reverse"
				       : "");
	else
		return 0;
	label = buf_take(&text);
	if (!label)
		return -ENOMEM;
	free(run->label);
	run->label = label;
	return 0;
}

/* ---- rows */

/* Read the counts of @o into @row. NULL or why they cannot be. */
static const char *read_counts(const struct json_val *o, struct iperf3_row *row)
{
	double start, end, v;

	if (!json_double(o, "bytes", &row->bytes) || !json_double(o, "bits_per_second", &row->bps))
		return "no bytes and bits_per_second in it";
	if (row->bytes < 0 || row->bps < 0)
		return "a negative transfer: the count went backwards";
	if (!json_double(o, "start", &start))
		start = 0;
	if (!json_double(o, "end", &end))
		return "no end time in it";
	if (start < 0 || end < start || end > 1e9)
		return "the interval ends before it begins";
	row->start_ns = (uint64_t)(start * 1e9 + 0.5);
	row->end_ns = (uint64_t)(end * 1e9 + 0.5);
	json_whole(o, "retransmits", &row->retr);
	json_whole(o, "packets", &row->packets);
	if (json_double(o, "lost_packets", &v)) {
		if (v < 0)
			return "a count of lost datagrams that went backwards";
		row->lost = (int64_t)v;
	}
	if (json_double(o, "jitter_ms", &v) && v >= 0)
		row->jitter_s = v / 1e3;
	if (json_double(o, "snd_cwnd", &v) && v >= 0)
		row->cwnd_bytes = v;
	if (json_double(o, "lost_percent", &v) && v > 100)
		return "more than 100 % lost";
	row->omitted = flag(o, "omitted");
	return iperf3_impossible(row);
}

/* Which column of a test in both directions @o belongs to; the end that speaks is in @run. */
static enum iperf3_role role_of(const struct iperf3_run *run, bool sender)
{
	if (run->server)
		return sender ? IPERF3_ROLE_TX_S : IPERF3_ROLE_RX_S;
	return sender ? IPERF3_ROLE_TX_C : IPERF3_ROLE_RX_C;
}

static int take_row(struct import_feed *f, const struct json_val *o, struct iperf3_row *row)
{
	const char *why = read_counts(o, row);

	if (why)
		return import_bad(f, why);
	if (row->packets >= 0)
		((struct iperf3_run *)f->run->data)->udp = true;
	return iperf3_add_row(f->run, row);
}

static int take_rtt(struct import_feed *f, const struct json_val *o, const struct iperf3_row *row)
{
	struct import_point p = { .t_ns = (int64_t)row->start_ns,
				  .length_ns = row->end_ns - row->start_ns,
				  .line = row->line };
	char labels[48];
	double us;

	if (!json_double(o, "rtt", &us) || us < 0 || row->omitted)
		return 0;
	snprintf(labels, sizeof(labels), "stream=%lld", (long long)row->stream);
	p.v = us * 1e3;
	return import_point_add(f->run, "rtt", "ns", labels, &p);
}

/* The streams of an interval. */
static int take_streams(struct import_feed *f, const struct json_val *item, bool bidir, size_t nr,
			size_t *ret_nr)
{
	const struct iperf3_run *run = f->run->data;
	const struct json_val *streams = json_find(item, "streams");
	int r = 0;

	*ret_nr = 0;
	for (const struct json_val *s = streams ? streams->child : NULL; s && r == 0; s = s->next) {
		struct iperf3_row row = iperf3_empty_row(nr);

		if (!json_whole(s, "socket", &row.stream))
			row.stream = (int64_t)*ret_nr + 1;
		if (bidir)
			row.role = role_of(run, flag(s, "sender"));
		r = take_row(f, s, &row);
		if (r == 0)
			r = take_rtt(f, s, &row);
		++*ret_nr;
	}
	return r;
}

/* The only stream of @role, whose sums are those of the test; IPERF3_SUM when there are more. */
static int64_t sole_stream(const struct iperf3_run *run, enum iperf3_role role)
{
	int64_t stream = IPERF3_SUM;

	for (size_t i = 0; i < run->nr; i++) {
		const struct iperf3_row *row = &run->rows[i];

		if (row->role != role || iperf3_is_summary(row))
			continue;
		if (row->stream == IPERF3_SUM || (stream >= 0 && row->stream != stream))
			return IPERF3_SUM;
		stream = row->stream;
	}
	return stream;
}

/* A "sum": of all streams; or of one direction. */
static int take_sum(struct import_feed *f, const struct json_val *o, enum iperf3_role role,
		    enum iperf3_kind kind, size_t nr)
{
	struct iperf3_row row = iperf3_empty_row(nr);

	row.stream = kind == IPERF3_INTERVAL ? IPERF3_SUM : sole_stream(f->run->data, role);
	row.role = role;
	row.kind = kind;
	return take_row(f, o, &row);
}

/* Sums of an interval; up to 3.9 both directions' have the same key. */
static int take_interval(struct import_feed *f, const struct json_val *item, size_t nr)
{
	const struct iperf3_run *run = f->run->data;
	size_t sums = json_count(item, "sum"), streams, seen = 0;
	bool bidir = sums > 1 || json_find(item, "sum_bidir_reverse");
	int r = take_streams(f, item, bidir, nr, &streams);

	for (const struct json_val *v = item->child; v && r == 0; v = v->next) {
		bool reverse = strcmp(v->key, "sum_bidir_reverse") == 0;

		if (!reverse && strcmp(v->key, "sum") != 0)
			continue;
		reverse = reverse || seen++ > 0;
		if (streams == 1 || (bidir && streams == 2))
			continue; /* the same numbers as the stream's */
		r = take_sum(f, v,
			     !bidir ? IPERF3_ROLE_NONE : role_of(run, !reverse != run->server),
			     IPERF3_INTERVAL, nr);
	}
	return r;
}

/* ---- the document */

static int open_run(struct import_feed *f, const struct json_val *start)
{
	struct iperf3_start s = read_start(start);
	struct iperf3_run *data;
	int r = import_open_run(f, f->document_line);

	if (r < 0)
		return r;
	data = f->run->data;
	data->json = true;
	data->server = s.server;
	data->reverse = s.reverse;
	data->udp = s.protocol && strcmp(s.protocol, "UDP") == 0;
	return 0;
}

/* The run that the document has opened already. */
static bool is_open(const struct import_feed *f)
{
	return f->run && ((const struct iperf3_run *)f->run->data)->json &&
	       f->run->line == f->document_line;
}

int iperf3_json_item(struct import_feed *f, const char *key, const struct json_val *item, size_t nr)
{
	int r = 0;

	if (strcmp(key, "intervals") != 0)
		return 0;
	if (item->kind != JSON_OBJECT)
		return import_bad(f, "an element of \"intervals\" that is no object");
	if (!is_open(f))
		r = open_run(f, f->document ? json_find(f->document, "start") : NULL);
	return r < 0 ? r : take_interval(f, item, nr);
}

/* One of the end's sums; the streams' rows are the same when there is but one. */
static int take_end_sums(struct import_feed *f, const struct json_val *end, size_t nr)
{
	static const struct {
		const char *key;
		enum iperf3_kind kind;
		bool reverse;
	} sums[] = { { "sum_sent", IPERF3_SENDER, false },
		     { "sum_received", IPERF3_RECEIVER, false },
		     { "sum_sent_bidir_reverse", IPERF3_SENDER, true },
		     { "sum_received_bidir_reverse", IPERF3_RECEIVER, true } };
	const struct iperf3_run *run = f->run->data;
	bool bidir = json_find(end, "sum_sent_bidir_reverse") != NULL, any = false;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sums) && r == 0; i++) {
		const struct json_val *v = json_find(end, sums[i].key);
		double bytes;

		/* an end that was never told of the other's count says 0 */
		if (!v || !json_double(v, "bytes", &bytes))
			continue;
		any = true;
		r = take_sum(f, v,
			     !bidir ? IPERF3_ROLE_NONE
				    : role_of(run, !sums[i].reverse != run->server),
			     sums[i].kind, nr);
	}
	if (r == 0 && !any && json_find(end, "sum")) {
		r = take_sum(f, json_find(end, "sum"), IPERF3_ROLE_NONE, IPERF3_SUMMARY, nr);
		if (r == 0 && run->udp)
			r = import_note(f->run, nr,
					"its \"sum\" holds the sender's bytes and the receiver's "
					"losses");
	}
	return r;
}

static int take_cpu(struct import_run *run, const struct json_val *end)
{
	static const char *const keys[2][2] = { { "host_total", "side=local" },
						{ "remote_total", "side=remote" } };
	const struct json_val *cpu = json_find(end, "cpu_utilization_percent");
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		double v;

		if (json_double(cpu, keys[i][0], &v) && v >= 0)
			r = import_figure_add(run, &(struct import_figure){ .metric = "cpu",
									    .unit = "ratio",
									    .labels = keys[i][1],
									    .value = v / 100,
									    .n = -1 });
	}
	return r;
}

static int take_end(struct import_feed *f, const struct json_val *end, size_t nr)
{
	int r = take_end_sums(f, end, nr);

	return r < 0 ? r : take_cpu(f->run, end);
}

/* ---- --json-stream */

static int take_event(struct import_feed *f, const char *event, const struct json_val *data,
		      size_t nr)
{
	bool open = f->run && f->mode & STREAM_OPEN;
	int r = 0;

	if (strcmp(event, "error") == 0) {
		const char *text = data->kind == JSON_STRING ? data->text : "an error";

		if (open)
			return import_note(f->run, nr, "iperf3 says: %s", text);
		import_remark(f, nr, "iperf3 says: %s", text);
		return 0;
	}
	if (data->kind != JSON_OBJECT) {
		import_remark(f, nr, "the server's output of the same test is not read");
		return 0;
	}
	if (strncmp(event, "server_output", 13) == 0) {
		import_remark(f, nr, "the server's output of the same test is not read");
		return 0;
	}
	if (strcmp(event, "start") == 0 || !open)
		r = open_run(f, strcmp(event, "start") == 0 ? data : NULL);
	if (r < 0)
		return r;
	f->mode |= STREAM_OPEN;
	if (strcmp(event, "start") == 0)
		return label_run(f->run, data);
	if (strcmp(event, "interval") == 0) {
		f->run->rows++;
		return take_interval(f, data, nr);
	}
	r = take_end(f, data, nr);
	f->run->last_line = nr;
	import_close_run(f);
	f->mode &= ~(unsigned int)STREAM_OPEN;
	return r;
}

int iperf3_json_doc(struct import_feed *f, const struct json_val *doc, size_t nr, bool truncated)
{
	const char *event = json_text(doc, "event"), *error = json_text(doc, "error");
	const struct json_val *data = json_find(doc, "data"), *end = json_find(doc, "end");
	int r = 0, bad = 0;

	if (event && data)
		return take_event(f, event, data, nr);
	if (!is_open(f) && end && end->child)
		r = open_run(f, json_find(doc, "start"));
	else if (!is_open(f) && error)
		return import_badf(f, "the test has failed, iperf3 says: %s", error);
	else if (!is_open(f))
		return import_bad(f, "no interval and no end in the JSON document");
	if (r == 0)
		r = label_run(f->run, doc);
	if (r == 0 && end && end->child)
		r = bad = take_end(f, end, nr);
	if (bad == -EBADMSG) /* the rows before it hold all the same */
		r = 0;
	if (r == 0 && truncated)
		r = import_note(f->run, nr, "the JSON document breaks off");
	if (r == 0 && error)
		r = import_note(f->run, nr, "iperf3 says: %s", error);
	if (json_find(doc, "server_output_text") || json_find(doc, "server_output_json"))
		import_remark(f, nr, "the server's output of the same test is not read");
	if (r < 0)
		return r;
	f->run->last_line = f->document_last_line;
	import_close_run(f);
	f->mode &= 0xffff;
	return truncated ? 0 : bad; /* what has broken off is no mistake in the text */
}
