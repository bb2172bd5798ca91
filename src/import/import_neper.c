// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/words.h"

/*
 * VERSION=...			tcp_rr, tcp_stream, udp_rr ... print "name=value" lines:
 * total_run_time=10		first every flag, then the results
 * num_transactions=312345
 * throughput=31234.50		tcp_rr: transactions a second; tcp_stream: in throughput_units
 * throughput_units=Mbit/s
 * correlation_coefficient=1.00
 * latency_p99=0.000123456	[s]
 *
 * Flags and results look alike; a run begins with the first name that is neper's alone and ends
 * where a name comes again.  Flags before that are kept for it.
 */

struct neper_data {
	struct scan_number throughput;
	char units[16];
	bool has_throughput, has_transactions;
	uint32_t seen; /* a bit a name */
};

/* Flags that came before a run could begin. */
struct neper_state {
	struct scan_number threads, flows;
	bool has_threads, has_flows;
	bool again;    /* a flag came that the open run has had: it is over */
	uint32_t seen; /* as that of struct neper_data, of these flags */
};

static const struct key {
	const char *name;
	struct cell cell;
	bool weak; /* others have such names too: it begins no run */
} keys[] = {
	{ "num_transactions", { "transactions.total", "count", "", 1, .exact = true } },
	{ "total_run_time", { "duration", "ns", "", 1e9, .exact = true } },
	{ "num_flows", { "flows", "count", "", 1, .exact = true }, true },
	{ "num_threads", { "threads", "count", "", 1, .exact = true }, true },
	{ "num_samples", { "samples", "count", "", 1, .exact = true }, true },
	{ "correlation_coefficient", { "correlation", "ratio", "", 1 } },
	{ "latency_min", { "latency.min", "ns", "", 1e9 }, true },
	{ "latency_max", { "latency.max", "ns", "", 1e9, .key = true }, true },
	{ "latency_mean", { "latency.avg", "ns", "", 1e9, .key = true }, true },
	{ "latency_stddev", { "latency.stddev", "ns", "", 1e9 }, true },
	{ "nvcsw_start", {} },
	{ "nvcsw_end", {} },
	{ "invalid_secret_count", {} },
	{ "start_index", {}, true },
	{ "end_index", {}, true },
	{ "utime_start", {} },
	{ "utime_end", {} },
	{ "stime_start", {} },
	{ "stime_end", {} },
	{ "time_start", {}, true },
	{ "time_end", {}, true },
	{ "dry_run", {}, true },
};

static bool split(const char *line, struct word *ret_name, struct word *ret_value)
{
	size_t n = 0;

	while (islower((unsigned char)line[n]) || isdigit((unsigned char)line[n]) || line[n] == '_')
		n++;
	if (n < 3 || line[n] != '=')
		return false;
	*ret_name = (struct word){ line, n };
	*ret_value = (struct word){ line + n + 1, strlen(line + n + 1) };
	return true;
}

static const struct key *find_key(struct word name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (word_is(name, keys[i].name))
			return &keys[i];
	return NULL;
}

_Static_assert(ARRAY_SIZE(keys) < 31, "a bit a name");

static bool is_quantile(struct word name)
{
	return name.len > 9 && memcmp(name.s, "latency_p", 9) == 0 &&
	       isdigit((unsigned char)name.s[9]);
}

/* Flags that are printed before anything that is neper's alone: no headings. */
static bool is_flag(struct word name)
{
	static const char *const flags[] = {
		"percentiles", "all_samples", "port",	      "host",	      "max_pacing_rate",
		"interval",    "pin_cpu",     "client",	      "buffer_size",  "control_port",
		"help",	       "test_length", "request_size", "response_size"
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (word_is(name, flags[i]))
			return true;
	return false;
}

static enum import_kind neper_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	const struct neper_data *d;
	const struct key *key;
	struct word name, value;

	if (!split(l->s, &name, &value))
		return IMPORT_FOREIGN;
	key = find_key(name);
	if (key && !key->weak)
		return IMPORT_ROW;
	d = f->run ? f->run->data : NULL;
	if (!d || ((const struct neper_state *)f->state)->again ||
	    (key && (d->seen >> (key - keys) & 1)))
		return key || is_flag(name) ? IMPORT_CHATTER : IMPORT_FOREIGN;
	if (key || is_quantile(name) || word_is(name, "throughput") ||
	    word_is(name, "throughput_units"))
		return IMPORT_ROW;
	/* the other flags */
	return IMPORT_CHATTER;
}

static void neper_chatter(struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	struct neper_state *s = f->state;
	struct word name, value;
	const struct key *key;

	if (!split(l->s, &name, &value))
		return;
	key = find_key(name);
	s->again = s->again || (f->run && key);
	s->seen |= key ? UINT32_C(1) << (key - keys) : 0;
	if (word_is(name, "num_threads"))
		s->has_threads = word_number(value, "", &s->threads);
	else if (word_is(name, "num_flows"))
		s->has_flows = word_number(value, "", &s->flows);
}

/* "latency_p99.9": the quantile 0.999. */
static int add_quantile(struct import_feed *f, struct word name, const struct scan_number *v)
{
	struct cell cell = { "latency", "ns", NULL, 1e9 };
	struct scan_number percent;
	char labels[48];

	if (!word_number((struct word){ name.s + 9, name.len - 9 }, "", &percent) ||
	    percent.value > 100)
		return import_bad(f, "a percentile that is none");
	snprintf(labels, sizeof(labels), "q=%.12g", percent.value / 100);
	cell.labels = labels;
	return cell_add(f, &cell, v);
}

/* Does the name begin another run: is it there already?  Sets its bit in @ret_bit. */
static bool begins_again(const struct import_feed *f, struct word name, const struct key *key,
			 uint32_t *ret_bit)
{
	const struct neper_data *d = f->run ? f->run->data : NULL;

	*ret_bit = 0;
	if (key)
		*ret_bit = UINT32_C(1) << (key - keys);
	else if (word_is(name, "throughput"))
		*ret_bit = UINT32_C(1) << ARRAY_SIZE(keys);
	return !d || *f->command || ((const struct neper_state *)f->state)->again ||
	       (d->seen & *ret_bit);
}

static int open_neper(struct import_feed *f, size_t nr)
{
	static const struct cell threads = { "threads", "count", "", 1, .exact = true };
	static const struct cell flows = { "flows", "count", "", 1, .exact = true };
	struct neper_state *s = f->state;
	int r = import_open_run(f, nr);

	if (r == 0)
		((struct neper_data *)f->run->data)->seen = s->seen;
	if (r == 0 && s->has_threads)
		r = cell_add(f, &threads, &s->threads);
	if (r == 0 && s->has_flows)
		r = cell_add(f, &flows, &s->flows);
	*s = (struct neper_state){};
	return r;
}

static int neper_row(struct import_feed *f, const struct import_line *raw,
		     const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	struct word name, value;
	struct neper_data *d;
	const struct key *key;
	struct scan_number v = {};
	uint32_t bit;
	int r = 0;

	(void)next;
	if (!split(l->s, &name, &value))
		return import_bad(f, "not name=value");
	key = find_key(name);
	if (!word_is(name, "throughput_units") && !(key && !key->cell.metric) &&
	    !word_number(value, "", &v))
		return import_bad(f, "a value that is no number");
	if (begins_again(f, name, key, &bit))
		r = open_neper(f, l->nr);
	if (r < 0)
		return r;
	d = f->run->data;
	d->seen |= bit;
	if (word_is(name, "throughput_units")) {
		snprintf(d->units, sizeof(d->units), "%.*s", (int)(value.len < 15 ? value.len : 15),
			 value.s);
		return 0;
	}
	if (word_is(name, "throughput")) {
		d->throughput = v;
		d->has_throughput = true;
		return 0;
	}
	d->has_transactions = d->has_transactions || word_is(name, "num_transactions");
	if (is_quantile(name))
		return add_quantile(f, name, &v);
	return key && key->cell.metric ? cell_add(f, &key->cell, &v) : 0;
}

static double unit_of(const char *units)
{
	static const struct {
		const char *name;
		double bps;
	} known[] = { { "bit/s", 1 },	     { "Kbit/s", 1e3 },	    { "Mbit/s", 1e6 },
		      { "Gbit/s", 1e9 },     { "Kibit/s", 0x1p10 }, { "Mibit/s", 0x1p20 },
		      { "Gibit/s", 0x1p30 }, { "B/s", 8 },	    { "KB/s", 8e3 },
		      { "MB/s", 8e6 },	     { "GB/s", 8e9 },	    { "KiB/s", 0x1p13 },
		      { "MiB/s", 0x1p23 },   { "GiB/s", 0x1p33 },   { "MBytes/s", 0x1p23 } };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(units, known[i].name) == 0)
			return known[i].bps;
	return 0;
}

static int neper_finish(struct import_run *run)
{
	const struct neper_data *d = run->data;
	struct import_figure fig = { "transactions", "1/s", "", .n = -1, .key = true };
	double bps;

	if (!d->has_throughput)
		return 0;
	fig.value = d->throughput.value;
	fig.half = d->throughput.half;
	if (!*d->units && !d->has_transactions)
		return import_note(run, run->last_line,
				   "the throughput is not used: throughput_units is missing");
	if (!*d->units)
		return import_figure_add(run, &fig);
	bps = unit_of(d->units);
	if (bps <= 0)
		return import_note(run, run->last_line,
				   "the throughput is not used: unit \"%s\" is not known",
				   d->units);
	fig.metric = "throughput";
	fig.unit = "bit/s";
	fig.value *= bps;
	fig.half *= bps;
	return import_figure_add(run, &fig);
}

static const char *const neper_marks[] = { "num_transactions=",
					   "total_run_time=",
					   "num_flows=",
					   "num_threads=",
					   "num_samples=",
					   "correlation_coefficient=",
					   "latency_",
					   "throughput",
					   "_start=",
					   "_end=",
					   "_index=",
					   "dry_run=",
					   "percentiles=",
					   "all_samples=",
					   "port=",
					   "interval=",
					   "client=",
					   "help=",
					   "request_size=",
					   "response_size=",
					   "test_length=",
					   "buffer_size=",
					   "max_pacing_rate=",
					   "pin_cpu=",
					   "invalid_secret_count=",
					   NULL };

const struct import_ops import_ops_neper = {
	.name = "neper",
	.marks = neper_marks,
	.data_size = sizeof(struct neper_data),
	.state_size = sizeof(struct neper_state),
	.sniff = neper_sniff,
	.chatter = neper_chatter,
	.row = neper_row,
	.finish = neper_finish,
};
