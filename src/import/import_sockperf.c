// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/words.h"

/*
 * sockperf: ====> avg-latency=54.599 (std-dev=27.219)
 * sockperf: Summary: Latency is 54.599 usec
 * sockperf: ---> <MAX> observation = 1306.598
 * sockperf: ---> percentile 99.999 = 1306.598
 * sockperf: Summary: Message Rate is 404943 [msg/sec]
 * sockperf: Summary: BandWidth is 540.657 MBps (4325.258 Mbps)
 *
 * Latency is half of the round trip but with --full-rtt, which says "Round trip" and avg-rtt.  MB
 * and Mb are of 2^20 there.
 */

#define MIB 1048576.0

struct sockperf_data {
	uint64_t server;			  /* "Server No": 0 for the only one */
	bool rtt;				  /* --full-rtt */
	bool total, statistics, average, summary; /* what has come */
};

static const char *behind_name(const char *line)
{
	const char *s = scan_find(line, "sockperf: ");

	return s ? s + strlen("sockperf: ") : NULL;
}

static const char *const results[] = {
	"====> avg-",	     "Summary: ", "---> ",	"[Total Run] ",
	"[Valid Duration] ", "Total ",	  "# dropped ", "========= Printing statistics"
};

static bool is_result(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (strncmp(s, results[i], strlen(results[i])) == 0)
			return true;
	return false;
}

static enum import_kind sockperf_sniff(const struct import_feed *f, const struct import_line *l)
{
	const char *s = behind_name(l->s);

	if (!s)
		return strncmp(l->s, "sockperf[CLIENT]", 16) == 0 ? IMPORT_CHATTER : IMPORT_FOREIGN;
	/* the first line of a test opens its run: some results would have a label else */
	return is_result(s) || strncmp(s, "== version", 10) == 0 ? IMPORT_ROW : IMPORT_CHATTER;
}

static void labels_of(const struct import_feed *f, char *to, size_t size, const char *quantile)
{
	const struct sockperf_data *d = f->run->data;
	int n = 0;

	to[0] = '\0';
	if (d->server)
		n = snprintf(to, size, "peer=%" PRIu64, d->server);
	if (*quantile)
		snprintf(to + n, size - (size_t)n, "%sq=%s", n ? "," : "", quantile);
}

/* "99.999" per cent as "0.99999". */
static void quantile_text(char *to, size_t size, const struct scan_number *percent)
{
	snprintf(to, size, "%.*f", (int)percent->decimals + 2, percent->value / 100);
	for (size_t n = strlen(to); n > 3 && to[n - 1] == '0'; n--)
		to[n - 1] = '\0';
}

/* "<MAX> observation = 1306.598", "percentile 99.990 = 1304.362" */
static int add_observation(struct import_feed *f, const char *p)
{
	const struct sockperf_data *d = f->run->data;
	struct cell cell = { .unit = "ns", .factor = 1e3 };
	char labels[64], quantile[32] = "";
	struct scan_number percent, v;
	bool max = scan_text(&p, "<MAX> observation"), min = false;

	if (!max)
		min = scan_text(&p, "<MIN> observation");
	if (!max && !min) {
		if (!scan_text(&p, "percentile ") || !scan_number(&p, &percent) ||
		    percent.value > 100)
			return import_bad(f, "neither an observation nor a percentile");
		quantile_text(quantile, sizeof(quantile), &percent);
	}
	scan_space(&p);
	if (!scan_text(&p, "="))
		return import_bad(f, "an observation without a value");
	scan_space(&p);
	if (!scan_number(&p, &v))
		return import_bad(f, "an observation without a value");
	labels_of(f, labels, sizeof(labels), quantile);
	cell.labels = labels;
	cell.key = max;
	if (max)
		cell.metric = d->rtt ? "rtt.max" : "latency.max";
	else if (min)
		cell.metric = d->rtt ? "rtt.min" : "latency.min";
	else
		cell.metric = d->rtt ? "rtt" : "latency";
	return cell_add(f, &cell, &v);
}

/* "avg-latency=54.599 (std-dev=27.219)" */
static int add_average(struct import_feed *f, const char *p)
{
	struct sockperf_data *d = f->run->data;
	struct cell avg = { "latency.avg", "ns", NULL, 1e3, .key = true };
	struct cell dev = { "latency.stddev", "ns", NULL, 1e3 };
	struct scan_number v;
	char labels[64];
	int r = 0;

	d->rtt = scan_text(&p, "rtt");
	if (!d->rtt && !scan_text(&p, "latency") && !scan_text(&p, "lat"))
		return import_bad(f, "an average of something unknown");
	labels_of(f, labels, sizeof(labels), "");
	avg.labels = dev.labels = labels;
	avg.metric = d->rtt ? "rtt.avg" : avg.metric;
	dev.metric = d->rtt ? "rtt.stddev" : dev.metric;
	if (!word_after(p, "=", &v))
		return import_bad(f, "an average without a value");
	r = cell_add(f, &avg, &v);
	if (r == 0 && word_after(p, "std-dev=", &v))
		r = cell_add(f, &dev, &v);
	return r;
}

static int add_bandwidth(struct import_feed *f, const struct import_line *l, const char *p)
{
	static const struct cell cell = { "throughput", "bit/s", "", 8 * MIB, .key = true };
	static const struct cell kilo = { "throughput", "bit/s", "", 8 * 1024, .key = true };
	struct scan_number v, bits;
	bool is_kilo;
	int r;

	if (!scan_number(&p, &v))
		return import_bad(f, "a bandwidth without a value");
	scan_space(&p);
	is_kilo = scan_text(&p, "KBps");
	if (!is_kilo && !scan_text(&p, "MBps"))
		return import_bad(f, "a bandwidth in no unit that is known");
	r = cell_add(f, is_kilo ? &kilo : &cell, &v);
	if (r == 0 && word_after(p, "(", &bits) && bits.value > v.value * 8.2)
		return import_note(f->run, l->nr,
				   "the bandwidth in bits does not fit the one in bytes");
	return r < 0 ? r
		     : import_note(f->run, l->nr,
				   "sockperf's MBps and Mbps are of 2^20: in decimal Mbit/s the "
				   "number is 4.9 %% higher than printed");
}

/* "Latency is 54.599 usec": the average, which stands above too if nobody has cut it out. */
static int add_mean(struct import_feed *f, const char *p)
{
	struct sockperf_data *d = f->run->data;
	struct cell cell = { "latency.avg", "ns", NULL, 1e3, .key = true };
	struct scan_number v;
	char labels[64];

	d->rtt = scan_text(&p, "Round trip is ") || scan_text(&p, "Round Trip is ");
	if (!d->rtt && !scan_text(&p, "Latency is "))
		return import_bad(f, "a summary of something unknown");
	if (!scan_number(&p, &v) || !scan_text(&p, " usec"))
		return import_bad(f, "a latency that is not in usec");
	labels_of(f, labels, sizeof(labels), "");
	cell.labels = labels;
	cell.metric = d->rtt ? "rtt.avg" : cell.metric;
	return cell_add(f, &cell, &v);
}

static int add_summary(struct import_feed *f, const struct import_line *l, const char *p)
{
	static const struct cell rate = { "rate", "1/s", "", 1, .exact = true, .key = true };
	struct scan_number v;

	if (scan_text(&p, "Message Rate is "))
		return scan_number(&p, &v) ? cell_add(f, &rate, &v)
					   : import_bad(f, "a rate without a value");
	if (scan_text(&p, "BandWidth is "))
		return add_bandwidth(f, l, p);
	return add_mean(f, p);
}

/* What has come in the run that is open comes again: another test, whose first line is not here. */
static bool begins_again(struct import_feed *f, const char *s)
{
	struct sockperf_data *d = f->run ? f->run->data : NULL;
	struct scan_number server;
	const bool *seen = NULL;

	if (!d || *f->command || strncmp(s, "== version", 10) == 0)
		return true;
	if (strncmp(s, "[Total Run]", 11) == 0 || strncmp(s, "Total of ", 9) == 0)
		seen = &d->total;
	else if (word_after(s, "Server No: ", &server))
		seen = server.value > 0 ? NULL : &d->statistics;
	else if (strncmp(s, "====> avg-", 10) == 0)
		seen = d->server ? NULL : &d->average;
	else if (strncmp(s, "Summary: Latency", 16) == 0 || strncmp(s, "Summary: Round", 14) == 0)
		seen = d->server ? NULL : &d->summary;
	return seen && *seen;
}

static void remember(struct import_feed *f, const char *s)
{
	struct sockperf_data *d = f->run->data;

	d->total = d->total || strncmp(s, "[Total Run]", 11) == 0 ||
		   strncmp(s, "Total of ", 9) == 0;
	d->statistics = d->statistics || scan_find(s, "Server No: ");
	d->average = d->average || strncmp(s, "====> avg-", 10) == 0;
	d->summary = d->summary || strncmp(s, "Summary: Latency", 16) == 0 ||
		     strncmp(s, "Summary: Round", 14) == 0;
}

static int add_counts(struct import_feed *f, const char *s)
{
	static const struct pair whole[] = {
		{ "SentMessages=", { "messages.sent", "count", "", 1, .exact = true } },
		{ "ReceivedMessages=", { "messages.received", "count", "", 1, .exact = true } },
		{ "dropped messages = ", { "messages.dropped", "count", "", 1, .exact = true } },
		{ "duplicated messages = ",
		  { "messages.duplicate", "count", "", 1, .exact = true } },
		{ "out-of-order messages = ",
		  { "messages.reordered", "count", "", 1, .exact = true } },
		{ "RunTime=", { "duration", "ns", "", 1e9 } },
		{ "Total of ", { "messages.sent", "count", "", 1, .exact = true } },
		{ "sent in ", { "duration", "ns", "", 1e9 } },
	};
	static const struct cell observations = { "observations", "count", "", 1, .exact = true };
	struct scan_number v;
	int found = pairs_add(f, s, whole, ARRAY_SIZE(whole));

	if (found == 0 && scan_find(s, " observations") && word_after(s, "Total ", &v))
		return cell_add(f, &observations, &v);
	return found < 0 ? found : 0;
}

static int read_row(struct import_feed *f, const struct import_line *l)
{
	const char *s = behind_name(l->s);
	bool version = s && strncmp(s, "== version", 10) == 0;
	struct scan_number server;
	int r = 0;

	if (!s)
		return import_bad(f, "not a line of sockperf");
	if (begins_again(f, s))
		r = import_open_run(f, l->nr);
	if (r < 0 || version)
		return r;
	remember(f, s);
	if (scan_text(&s, "====> avg-"))
		return add_average(f, s);
	if (scan_text(&s, "Summary: "))
		return add_summary(f, l, s);
	if (scan_text(&s, "---> "))
		return add_observation(f, s);
	if (word_after(s, "Server No: ", &server)) {
		((struct sockperf_data *)f->run->data)->server = (uint64_t)server.value;
		return 0;
	}
	return add_counts(f, s);
}

/* Is the number missing that such a line ends with, or its unit? */
static bool ends_early(const char *line)
{
	const char *s = behind_name(line);
	struct scan_number v;
	struct word last;

	if (!s)
		return false;
	last = word_last(s);
	if (strncmp(s, "Summary: ", 9) == 0)
		return word_number(last, "", &v) || word_is(last, "is");
	if (*s == '[' || strncmp(s, "# ", 2) == 0)
		return last.len && (last.s[last.len - 1] < '0' || last.s[last.len - 1] > '9');
	return strncmp(s, "---> ", 5) == 0 && !word_number(last, "", &v);
}

static int sockperf_row(struct import_feed *f, const struct import_line *l,
			const struct import_line *next)
{
	return row_joined(f, l, next, ends_early(l->s), read_row);
}

static const char *const sockperf_marks[] = { "sockperf: ", "sockperf[CLIENT]", NULL };

const struct import_ops import_ops_sockperf = {
	.name = "sockperf",
	.marks = sockperf_marks,
	.data_size = sizeof(struct sockperf_data),
	.sniff = sockperf_sniff,
	.row = sockperf_row,
};
