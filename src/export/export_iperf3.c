// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "export/forms.h"
#include "export/outcome.h"

/*
 * What a trial's traffic loads measured, in the form of "iperf3 -J": for scripts that read that.
 * A document per load, one after another as iperf3's server writes them.  Only what was measured is
 * in it; warm-up is "omitted", and as with iperf3 the time begins anew after it.
 */

/* One load of the trial. */
struct flow {
	const struct export_source *src;
	const struct record_list *records;
	const struct record *rates; /* "tcp.throughput" */
	char *name;		    /* "tcp" */
	uint64_t streams;
	bool to_dut, alone;
	double total_bps; /* over the window; NAN: not known */
};

static const struct record *find(const struct record_list *l, enum record_kind kind,
				 const char *name, const char *what)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_printf(&b, "%s%s%s", name, *name ? "." : "", what);
	for (size_t i = 0; i < l->nr; i++)
		if (l->v[i]->kind == kind && !*l->v[i]->labels &&
		    strcmp(l->v[i]->metric, buf_str(&b)) == 0)
			return l->v[i];
	return NULL;
}

/* What the plan says of the load, as the trial's variant has it. */
static int read_options(struct flow *f, struct err *e)
{
	const struct trial_info *t = f->src->trial;
	_cleanup_(instances_release) struct instances loads = {};
	int r = plan_loads(f->src->report->plan, t->variant, t->scenario, &loads, e);

	f->streams = 1;
	f->to_dut = true;
	for (size_t i = 0; i < loads.nr && r >= 0; i++) {
		const char *way, *streams;

		if (strcmp(loads.v[i].name, f->name) != 0)
			continue;
		way = instance_value(&loads.v[i], "direction");
		streams = instance_value(&loads.v[i], "streams");
		f->to_dut = !way || strcmp(way, "to-dut") == 0;
		if (streams)
			(void)text_u64(streams, &f->streams);
	}
	return r;
}

static int64_t interval_start(const struct record *rec, size_t i)
{
	if (i > 0)
		return rec->points[i - 1].t_ns;
	/* the sampler's step, from the second interval */
	return rec->nr_points > 1 ? 2 * rec->points[0].t_ns - rec->points[1].t_ns : 0;
}

/* The interval in which the window begins belongs to what comes before it: its rate is of both. */
static bool is_omitted(const struct record *rec, size_t i)
{
	return interval_start(rec, i) < 0;
}

/* start, end, seconds, bytes, bits_per_second as every row of iperf3 has them. */
static struct json_object *row(double start, double end, double bps)
{
	struct json_object *o = json_object_new_object();

	json_put_number(o, "start", start);
	json_put_number(o, "end", end);
	json_put_number(o, "seconds", end - start);
	json_object_object_add(o, "bytes", json_object_new_int64(llround(bps * (end - start) / 8)));
	json_put_number(o, "bits_per_second", bps);
	return o;
}

/* The point of "tcp.@what" at the same moment. */
static void put_beside(struct json_object *o, const struct flow *f, size_t i, const char *what,
		       const char *key, double divisor)
{
	const struct record *rec = find(f->records, RECORD_SERIES, f->name, what);

	if (rec && i < rec->nr_points && rec->points[i].t_ns == f->rates->points[i].t_ns &&
	    isfinite(rec->points[i].v))
		json_object_object_add(o, key,
				       json_object_new_int64(llround(rec->points[i].v / divisor)));
}

static struct json_object *interval_row(const struct flow *f, size_t i)
{
	bool omitted = is_omitted(f->rates, i);
	int64_t zero = omitted ? interval_start(f->rates, 0) : 0;
	struct json_object *o = row((double)(interval_start(f->rates, i) - zero) / (double)NS_PER_S,
				    (double)(f->rates->points[i].t_ns - zero) / (double)NS_PER_S,
				    f->rates->points[i].v);

	put_beside(o, f, i, "retransmits", "retransmits", 1);
	json_object_object_add(o, "omitted", json_object_new_boolean(omitted));
	json_object_object_add(o, "sender", json_object_new_boolean(!f->to_dut));
	return o;
}

static struct json_object *interval(const struct flow *f, size_t i)
{
	struct json_object *o = json_object_new_object(), *streams = json_object_new_array();

	/* per stream nothing is stored, so with several there is only their sum */
	if (f->streams == 1) {
		struct json_object *one = interval_row(f, i);

		json_object_object_add(one, "socket", json_object_new_int(1));
		put_beside(one, f, i, "cwnd", "snd_cwnd", 1);
		put_beside(one, f, i, "rtt", "rtt", (double)NS_PER_US);
		json_object_array_add(streams, one);
	}
	json_object_object_add(o, "streams", streams);
	json_object_object_add(o, "sum", interval_row(f, i));
	return o;
}

/* Whole seconds are whole numbers, as iperf3 has them. */
static void put_seconds(struct json_object *o, const char *key, uint64_t ns)
{
	if (ns % NS_PER_S)
		json_put_number(o, key, (double)ns / (double)NS_PER_S);
	else
		json_object_object_add(o, key, json_object_new_uint64(ns / NS_PER_S));
}

static struct json_object *start(const struct flow *f)
{
	const struct report *rep = f->src->report;
	const struct trial_info *t = f->src->trial;
	struct json_object *o = json_object_new_object(), *stamp = json_object_new_object();
	struct json_object *test = json_object_new_object();
	_cleanup_(buf_release) struct buf b = {};

	buf_printf(&b, "irqlab %s", rep->run.version);
	json_put_text(o, "version", buf_str(&b));
	buf_reset(&b);
	outcome_env(&b, rep, "sysname");
	buf_putc(&b, ' ');
	outcome_env(&b, rep, "release");
	json_put_text(o, "system_info", buf_str(&b));
	json_object_object_add(stamp, "timesecs",
			       json_object_new_int64((int64_t)(t->started_ns / NS_PER_S)));
	json_object_object_add(o, "timestamp", stamp);
	json_put_text(test, "protocol", "TCP");
	json_object_object_add(test, "num_streams", json_object_new_uint64(f->streams));
	put_seconds(test, "omit", rep->plan->warmup_ns);
	put_seconds(test, "duration", rep->plan->duration_ns);
	json_object_object_add(test, "reverse", json_object_new_int(f->to_dut));
	json_object_object_add(o, "test_start", test);
	return o;
}

/* The mean over the window, by time. */
static double mean_bps(const struct record *rec)
{
	double bits = 0, seconds = 0;

	for (size_t i = 0; i < rec->nr_points; i++) {
		double s =
			(double)(rec->points[i].t_ns - interval_start(rec, i)) / (double)NS_PER_S;

		if (is_omitted(rec, i))
			continue;
		bits += rec->points[i].v * s;
		seconds += s;
	}
	return seconds > 0 ? bits / seconds : (double)NAN;
}

static struct json_object *end(const struct flow *f)
{
	const struct record *retransmits = find(f->records, RECORD_SCALAR, f->name, "retransmits");
	double seconds = (double)f->src->trial->window_ns / (double)NS_PER_S;
	struct json_object *o = json_object_new_object();

	if (!isfinite(f->total_bps))
		return o;
	/* this machine's bytes were counted as the peer confirmed them: so many arrived */
	json_object_object_add(o, "sum_received", row(0, seconds, f->total_bps));
	if (!f->to_dut) {
		struct json_object *sent = row(0, seconds, f->total_bps);

		if (retransmits && isfinite(retransmits->value))
			json_object_object_add(sent, "retransmits",
					       json_object_new_int64(llround(retransmits->value)));
		json_object_object_add(o, "sum_sent", sent);
	}
	return o;
}

static int put_flow(struct buf *out, struct flow *f, struct err *e)
{
	const struct record *whole = find(f->records, RECORD_SCALAR, "", "throughput");
	struct json_object *o, *intervals;
	int r = read_options(f, e);

	if (r < 0)
		return r;
	f->total_bps = f->alone && whole ? whole->value : mean_bps(f->rates);
	o = json_object_new_object();
	intervals = json_object_new_array();
	json_object_object_add(o, "start", start(f));
	for (size_t i = 0; i < f->rates->nr_points; i++)
		if (isfinite(f->rates->points[i].v))
			json_object_array_add(intervals, interval(f, i));
	json_object_object_add(o, "intervals", intervals);
	json_object_object_add(o, "end", end(f));
	json_put_text(o, "title", f->name);
	json_print(out, o);
	return 0;
}

static bool is_flow(const struct record *rec)
{
	size_t len = strlen(rec->metric);

	return rec->kind == RECORD_SERIES && !*rec->labels && len > strlen(".throughput") &&
	       strcmp(rec->metric + len - strlen(".throughput"), ".throughput") == 0;
}

static int write_iperf3(const struct export_source *src, struct buf *out, struct err *e)
{
	_cleanup_(record_list_release) struct record_list l = {};
	size_t nr = 0;
	int r = store_records(src->store, src->trial->id, 0, NULL, &l, e);

	for (size_t i = 0; i < l.nr; i++)
		nr += is_flow(l.v[i]);
	for (size_t i = 0; i < l.nr && r >= 0; i++) {
		const char *metric = l.v[i]->metric;
		_cleanup_(freep) char *name = NULL;
		struct flow f = { .src = src, .records = &l, .rates = l.v[i], .alone = nr == 1 };

		if (!is_flow(l.v[i]))
			continue;
		name = strndup(metric, strlen(metric) - strlen(".throughput"));
		f.name = name;
		r = name ? put_flow(out, &f, e) : err_nomem(e, "iperf3 JSON");
	}
	if (r < 0)
		return err_wrap(e, "trial %u", src->trial->position + 1);
	if (!nr)
		return err_set(
			e, -ENODATA,
			"trial %u has no traffic over time: its scenario \"%s\" has no tcp load",
			src->trial->position + 1,
			model_scenario(src->report, src->trial->scenario));
	return out->failed ? err_nomem(e, "iperf3 JSON") : 0;
}

const struct export_ops export_iperf3_json = {
	.name = "iperf3-json",
	.help = "the traffic of --trial N as iperf3 -J writes it",
	.one_trial = true,
	.write = write_iperf3,
};
