// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/words.h"

/*
 * MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to host () port 0 AF_INET : demo
 * Interim result:    5.41 MBytes/s over 1.35 seconds ending at 1308789765.848
 * Recv   Send    Send
 * Socket Socket  Message  Elapsed
 * Size   Size    Size     Time     Throughput
 * bytes  bytes   bytes    secs.    10^6bits/sec
 *
 *  87380  16384  16384    10.00    9413.55
 *
 * Rows are bare numbers, so the banner says what they are and the last line of the heading in
 * which unit.  UDP has a second row for the receiver, request/response a second one without a
 * result.  The omni tests print "THROUGHPUT=9413.55" (-k), or a line of names and one of values
 * with commas (-o), or several lines of names and one of values (-O), of whatever test they are of.
 * Bytes are of 2^10, 2^20, 2^30 there, bits of 10^3, 10^6, 10^9.
 */

enum netperf_test {
	NETPERF_NONE,
	NETPERF_STREAM,
	NETPERF_UDP,
	NETPERF_RR,
	NETPERF_OMNI,
};

#define COLUMNS_MAX 64

struct netperf_state {
	enum netperf_test test;
	double unit; /* of the throughput, in bit/s; 0: not yet said */
	bool cpu;    /* the heading has utilization */
	unsigned int rows;
	/* -o: what each column is: index into keys + 1, 0 for what we do not want */
	unsigned char column[COLUMNS_MAX];
	size_t nr_columns;
	bool words;  /* -O: columns are words, not parted by commas */
	bool headed; /* the classic heading has come */
	bool lone;   /* -v 0: the result alone */
	bool fresh;  /* a heading without a banner above it: its row begins a run */
};

struct netperf_data {
	struct scan_number omni; /* THROUGHPUT until its unit is known */
	bool has_omni;
	double first_s; /* of the interim results */
};

/* Units as they stand in headings and interim results. */
static double unit_of(const char *p)
{
	static const struct {
		const char *name;
		double bps;
	} units[] = { { "10^6bits", 1e6 },	   { "10^3bits", 1e3 },
		      { "10^9bits", 1e9 },	   { "KBytes", 8 * 1024.0 },
		      { "MBytes", 8 * 1048576.0 }, { "GBytes", 8 * 1073741824.0 } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (scan_text(&p, units[i].name))
			return *p == '/' ? units[i].bps : 0;
	return 0;
}

static double find_unit(const char *line)
{
	struct word w;

	while (word_next(&line, &w)) {
		double bps = unit_of(w.s);

		if (bps > 0)
			return bps;
	}
	return 0;
}

/* "MIGRATED TCP STREAM TEST from": the classic tests say no MIGRATED. */
static bool read_banner(const char *line, enum netperf_test *ret)
{
	const char *p = line;

	if (!scan_find(line, " TEST from ") && !scan_find(line, " TEST to "))
		return false;
	(void)scan_text(&p, "MIGRATED ");
	if (strncmp(p, "OMNI", 4) == 0)
		*ret = NETPERF_OMNI;
	else if (scan_find(p, "REQUEST/RESPONSE") || scan_find(p, "CONNECT/") ||
		 scan_find(p, "Connect/Request"))
		*ret = NETPERF_RR;
	else if (strncmp(p, "UDP STREAM", 10) == 0)
		*ret = NETPERF_UDP;
	else if (scan_find(p, "STREAM") || scan_find(p, "MAERTS") || scan_find(p, "SENDFILE"))
		*ret = NETPERF_STREAM;
	else
		return false;
	return true;
}

/* What of omni is of interest: the name with -k and the title with -o. */
static const struct omni_key {
	const char *name, *title;
	struct cell cell;
} keys[] = {
	{ "THROUGHPUT", "Throughput", {} },
	{ "THROUGHPUT_UNITS", "Throughput Units", {} },
	{ "ELAPSED_TIME", "Elapsed Time (sec)", { "duration", "ns", "", 1e9 } },
	{ "RT_LATENCY", "Round Trip Latency usec/tran", { "rtt.avg", "ns", "", 1e3, .key = true } },
	{ "TRANSACTION_RATE", "Transaction Rate Tran/s", { "transactions", "1/s", "", 1 } },
	{ "MIN_LATENCY", "Minimum Latency Microseconds", { "latency.min", "ns", "", 1e3 } },
	{ "MEAN_LATENCY", "Mean Latency Microseconds", { "latency.avg", "ns", "", 1e3 } },
	{ "MAX_LATENCY",
	  "Maximum Latency Microseconds",
	  { "latency.max", "ns", "", 1e3, .key = true } },
	{ "STDDEV_LATENCY", "Stddev Latency Microseconds", { "latency.stddev", "ns", "", 1e3 } },
	{ "P50_LATENCY",
	  "50th Percentile Latency Microseconds",
	  { "latency", "ns", "q=0.5", 1e3 } },
	{ "P90_LATENCY",
	  "90th Percentile Latency Microseconds",
	  { "latency", "ns", "q=0.9", 1e3 } },
	{ "P99_LATENCY",
	  "99th Percentile Latency Microseconds",
	  { "latency", "ns", "q=0.99", 1e3 } },
	{ "LOCAL_TRANSPORT_RETRANS",
	  "Local Transport Retransmissions",
	  { "retransmits", "count", "", 1, .exact = true } },
	{ "LOCAL_CPU_UTIL", "Local CPU Util %", { "cpu.local", "ratio", "", 0.01 } },
	{ "REMOTE_CPU_UTIL", "Remote CPU Util %", { "cpu.remote", "ratio", "", 0.01 } },
};

/* "THROUGHPUT=9413.55": a word of capitals, an equal sign, no blank before it. */
static bool is_key_value(const char *line)
{
	size_t n = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n >= 3 && line[n] == '=';
}

/* Commas and at least one title that is known. */
static bool is_titles(const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys) && strchr(line, ','); i++) {
		const char *s = scan_find(line, keys[i].title);
		size_t n = strlen(keys[i].title);

		if (s && (s == line || s[-1] == ',') && (!s[n] || s[n] == ','))
			return true;
	}
	return false;
}

/*
 * -O: what the first line of the names says of each column.  "Throughput" is the value, and where
 * it comes again the unit; "Local", "Remote" and the like are something that we do not want.
 */
static const struct {
	const char *word;
	unsigned char key; /* index into keys + 1 */
} first_words[] = {
	{ "Throughput", 1 }, { "Elapsed", 3 }, { "Round", 4 },	   { "Transaction", 5 },
	{ "Minimum", 6 },    { "Mean", 7 },    { "Maximum", 8 },   { "Stddev", 9 },
	{ "50th", 10 },	     { "90th", 11 },   { "99th", 12 },	   { "Local", 0 },
	{ "Remote", 0 },     { "Result", 0 },  { "Request", 0 },   { "Response", 0 },
	{ "Burst", 0 },	     { "Command", 0 }, { "Direction", 0 }, { "Confidence", 0 },
};

/* Fills @s when it is not NULL. */
static bool read_words(const char *line, struct netperf_state *s)
{
	bool throughput = false, wanted = false;
	struct word w;
	size_t n = 0;

	for (; word_next(&line, &w) && n < COLUMNS_MAX; n++) {
		unsigned char key = 0;
		size_t i = 0;

		while (i < ARRAY_SIZE(first_words) && !word_is(w, first_words[i].word))
			i++;
		if (i == ARRAY_SIZE(first_words))
			return false;
		key = first_words[i].key;
		if (key == 1 && throughput)
			key = 2;
		throughput = throughput || key == 1;
		wanted = wanted || key;
		if (s)
			s->column[n] = key;
	}
	if (s && wanted && n > 1) {
		s->nr_columns = n;
		s->words = true;
	}
	return wanted && n > 1;
}

/* A row of such values: as many words, the first of which is a number. */
static bool is_word_row(const struct netperf_state *s, const char *line)
{
	const char *p = line;
	struct scan_number v;
	struct word w;

	return s->words && word_next(&p, &w) && word_number(w, "", &v) &&
	       word_count(line) == s->nr_columns;
}

/* The first line of the classic headings; the unit comes in the last one. */
static bool read_classic_heading(const char *line, enum netperf_test *ret)
{
	if (strncmp(line, "Recv Send Send", 14) == 0)
		*ret = NETPERF_STREAM;
	else if (strncmp(line, "Socket Message Elapsed Messages", 31) == 0)
		*ret = NETPERF_UDP;
	else if (strncmp(line, "Local /Remote", 13) == 0)
		*ret = NETPERF_RR;
	else
		return false;
	return true;
}

static enum import_kind netperf_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	const struct netperf_state *s = f->state;
	enum netperf_test test;
	size_t nr;

	if (read_banner(l->s, &test) || strncmp(l->s, "Interim result: ", 16) == 0)
		return IMPORT_ROW;
	if (strncmp(l->s, "!!! Confidence intervals: ", 26) == 0 && f->run)
		return IMPORT_ROW;
	if (strncmp(l->s, "!!! ", 4) == 0)
		return IMPORT_CHATTER;
	if (read_classic_heading(l->s, &test))
		return IMPORT_CHATTER;
	if (s->test == NETPERF_NONE)
		return IMPORT_FOREIGN;
	if (f->run && (is_key_value(l->s) || is_titles(l->s) || read_words(l->s, NULL)))
		return IMPORT_ROW;
	if (f->run && s->nr_columns &&
	    (s->words ? is_word_row(s, l->s) : strchr(l->s, ',') != NULL))
		return IMPORT_ROW;
	/* the banner's end, where a mailer has broken it */
	if (strncmp(l->s, "to ", 3) == 0 && scan_find(l->s, " AF_INET"))
		return IMPORT_CHATTER;
	if (find_unit(l->s) > 0 || scan_find(l->s, "Socket") || strncmp(l->s, "Size", 4) == 0 ||
	    strncmp(l->s, "bytes", 5) == 0 || strncmp(l->s, "Send ", 5) == 0 ||
	    strncmp(l->s, "Units", 5) == 0 || scan_find(l->s, "Latency"))
		return IMPORT_CHATTER;
	if (s->test == NETPERF_OMNI || s->nr_columns)
		return IMPORT_FOREIGN;
	return s->rows < 2 && word_all_numbers(l->s, &nr) ? IMPORT_ROW : IMPORT_FOREIGN;
}

static void netperf_chatter(struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	struct netperf_state *s = f->state;
	double bps = find_unit(l->s);
	enum netperf_test test;

	if (read_classic_heading(l->s, &test)) {
		/* without its banner, or of another test than that of the banner */
		if (s->test != test || s->rows || s->headed)
			*s = (struct netperf_state){ .test = test, .fresh = true };
		s->headed = true;
		f->greedy = true;
	}
	if (bps > 0)
		s->unit = bps;
	s->cpu = s->cpu || scan_find(l->s, "% S") || scan_find(l->s, "Utilization");
}

/* The test of "-t TCP_RR". */
static enum netperf_test find_test(const char *call)
{
	const char *t = scan_find(call, " -t ");
	struct word w = { "", 0 };

	if (!t)
		return NETPERF_STREAM;
	t += 4;
	(void)word_next(&t, &w);
	if (w.len > 3 &&
	    (memcmp(w.s + w.len - 3, "_RR", 3) == 0 || memcmp(w.s + w.len - 3, "CRR", 3) == 0))
		return NETPERF_RR;
	if (word_is(w, "UDP_STREAM"))
		return NETPERF_UDP;
	return word_is(w, "TCP_STREAM") || word_is(w, "TCP_MAERTS") || word_is(w, "TCP_SENDFILE")
		       ? NETPERF_STREAM
		       : NETPERF_NONE;
}

/* The unit of "-f M"; without it that of the headings that are not printed. */
static double find_format(const char *call, enum netperf_test test)
{
	static const struct {
		char c;
		double bps;
	} formats[] = { { 'k', 1e3 },	     { 'm', 1e6 },	     { 'g', 1e9 },
			{ 'K', 8 * 1024.0 }, { 'M', 8 * 1048576.0 }, { 'G', 8 * 1073741824.0 } };
	const char *s = scan_find(call, " -f ");

	for (size_t i = 0; i < ARRAY_SIZE(formats) && s; i++)
		if (s[4] == formats[i].c)
			return formats[i].bps;
	return s || test == NETPERF_RR ? 0 : 1e6;
}

/* "-P 0": rows without headings, of which only the command says what they are. */
static void netperf_called(struct import_feed *f, const char *call)
{
	struct netperf_state *s = f->state;
	bool lone = scan_find(call, " -v 0") || scan_find(call, " -v0");
	enum netperf_test test = find_test(call);

	if (test == NETPERF_NONE ||
	    (!lone && !scan_find(call, " -P 0") && !scan_find(call, " -P0")))
		return;
	*s = (struct netperf_state){ .test = test,
				     .unit = find_format(call, test),
				     .cpu = scan_find(call, " -c") || scan_find(call, " -C"),
				     .lone = lone,
				     .headed = true,
				     .fresh = true };
	f->greedy = true;
}

static int open_test(struct import_feed *f, const struct import_line *l, enum netperf_test test)
{
	struct netperf_state *s = f->state;

	*s = (struct netperf_state){ .test = test };
	f->greedy = true;
	return import_open_run(f, l->nr);
}

static int read_interim(struct import_feed *f, const struct import_line *l)
{
	const char *p = l->s + strlen("Interim result: ");
	struct import_point point = { .line = l->nr };
	struct scan_number v, seconds;
	const char *end;
	double bps;
	struct netperf_data *d;
	int r = 0;

	if (!scan_number(&p, &v))
		return import_bad(f, "an interim result without a value");
	scan_space(&p);
	bps = unit_of(p);
	if (bps <= 0)
		return import_bad(f, "an interim result in no unit of throughput that is known");
	if (!word_after(p, " over ", &seconds) || seconds.value <= 0)
		return import_bad(f, "an interim result without its length");
	end = scan_find(p, "ending at ");
	if (!f->run)
		r = import_open_run(f, l->nr);
	if (r < 0)
		return r;
	d = f->run->data;
	if (end) {
		const char *q = end + strlen("ending at ");
		int64_t whole = 0, milli = 0;
		double at;

		if (scan_int(&q, 12, &whole) && scan_text(&q, ".") && !scan_int(&q, 3, &milli))
			milli = 0;
		at = (double)whole + (double)milli / 1e3 - seconds.value;
		d->first_s = d->first_s > 0 ? d->first_s : at;
		point.t_ns = word_ns(at - d->first_s);
	}
	point.v = v.value * bps;
	point.half = v.half * bps;
	point.length_ns = (uint64_t)word_ns(seconds.value);
	return import_point_add(f->run, "throughput", "bit/s", "", &point);
}

/* "!!! Confidence intervals: Throughput : 6.578%" */
static int read_confidence(struct import_feed *f, const struct import_line *l)
{
	struct scan_number v;

	if (!word_after(l->s, "Throughput : ", &v) && !word_after(l->s, "Throughput: ", &v))
		return import_bad(f, "a confidence interval without a value");
	return import_note(f->run, l->nr,
			   "netperf did not reach the confidence that was asked for: its interval "
			   "is %g %% of the throughput wide",
			   v.value);
}

/* The numbers of a row. Return: how many; 0 when they are too many. */
static size_t read_numbers(const char *line, struct scan_number *v, size_t most)
{
	struct word w;
	size_t n = 0;

	while (word_next(&line, &w)) {
		if (n == most || !word_number(w, "", &v[n]))
			return 0;
		n++;
	}
	return n;
}

static int add_throughput(struct import_feed *f, const struct scan_number *v, const char *labels)
{
	const struct netperf_state *s = f->state;
	const struct cell cell = { "throughput", "bit/s", labels, s->unit, .key = true };

	return cell_add(f, &cell, v);
}

static int add_duration(struct import_feed *f, const struct scan_number *v)
{
	static const struct cell cell = { "duration", "ns", "", 1e9 };

	return cell_add(f, &cell, v);
}

/* Two columns of utilization; netperf says -1 for a CPU that it did not measure. */
static int add_cpu(struct import_feed *f, const struct scan_number *v, size_t have)
{
	static const struct cell cells[] = { { "cpu.local", "ratio", "", 0.01 },
					     { "cpu.remote", "ratio", "", 0.01 } };
	const struct netperf_state *s = f->state;
	int r = 0;

	for (size_t i = 0; s->cpu && i < 2 && i < have && r == 0; i++) {
		if (v[i].value > 100)
			return import_note(f->run, f->run->last_line,
					   "a utilization beyond 100 %% is not used");
		r = cell_add(f, &cells[i], &v[i]);
	}
	return r;
}

/* sizes, message, time, throughput [, utilization ...] */
static int read_stream(struct import_feed *f, const struct scan_number *v, size_t n)
{
	int r;

	if (n < 5)
		return import_bad(f, "a row of a stream test has five numbers or more");
	r = add_duration(f, &v[3]);
	if (r == 0)
		r = add_throughput(f, &v[4], "");
	return r < 0 ? r : add_cpu(f, &v[5], n - 5);
}

/* size, message, time, okay, errors, throughput; then: size, time, okay, throughput */
static int read_udp(struct import_feed *f, const struct scan_number *v, size_t n)
{
	static const struct cell sent = { "messages", "count", "direction=sent", 1, .exact = true };
	static const struct cell errors = { "errors", "count", "direction=sent", 1, .exact = true };
	static const struct cell received = { "messages", "count", "direction=received", 1,
					      .exact = true };
	const struct netperf_state *s = f->state;
	int r;

	if (s->rows == 0 && n >= 6) {
		r = add_duration(f, &v[2]);
		if (r == 0)
			r = cell_add(f, &sent, &v[3]);
		if (r == 0)
			r = cell_add(f, &errors, &v[4]);
		return r < 0 ? r : add_throughput(f, &v[5], "direction=sent");
	}
	if (s->rows == 1 && n >= 4) {
		r = cell_add(f, &received, &v[2]);
		return r < 0 ? r : add_throughput(f, &v[3], "direction=received");
	}
	return import_bad(f, "not a row of a UDP stream test");
}

/* sizes, request, response, time, rate [, utilization ...]; the second row has the far sizes */
static int read_rr(struct import_feed *f, const struct scan_number *v, size_t n)
{
	static const struct cell rate = { "transactions", "1/s", "", 1, .key = true };
	const struct netperf_state *s = f->state;
	int r;

	if (s->rows > 0)
		return n == 2 ? 0 : import_bad(f, "not the second row of a request/response test");
	if (n < 6)
		return import_bad(f, "a row of a request/response test has six numbers or more");
	r = add_duration(f, &v[4]);
	if (r < 0)
		return r;
	r = s->unit > 0 ? add_throughput(f, &v[5], "") : cell_add(f, &rate, &v[5]);
	return r < 0 ? r : add_cpu(f, &v[6], n - 6);
}

static int read_lone(struct import_feed *f, const struct scan_number *v, size_t n)
{
	static const struct cell rate = { "transactions", "1/s", "", 1, .key = true };
	const struct netperf_state *s = f->state;

	if (s->test == NETPERF_RR && s->unit <= 0)
		return cell_add(f, &rate, v);
	return add_throughput(f, v, s->test == NETPERF_UDP ? "direction=received" : "");
}

static int read_classic(struct import_feed *f, const struct import_line *l)
{
	struct netperf_state *s = f->state;
	struct scan_number v[12];
	size_t n = read_numbers(l->s, v, ARRAY_SIZE(v));
	int r;

	if (n == 0)
		return import_bad(f, "not the numbers of a row");
	if (s->unit <= 0 && s->test != NETPERF_RR)
		return import_bad(f, "the heading with the unit is missing");
	if (s->lone && n != 1)
		return import_bad(f, "-v 0 prints one number");
	if (s->fresh || !f->run) {
		r = import_open_run(f, l->nr);
		if (r < 0)
			return r;
		s->fresh = false;
	}
	if (s->lone)
		r = read_lone(f, v, n);
	else if (s->test == NETPERF_RR)
		r = read_rr(f, v, n);
	else if (s->test == NETPERF_UDP)
		r = read_udp(f, v, n);
	else
		r = read_stream(f, v, n);
	if (r < 0)
		return r;
	s->rows++;
	/* a stream has one row, the others two */
	if (s->test == NETPERF_STREAM || s->lone || s->rows == 2) {
		s->test = NETPERF_NONE;
		f->greedy = false;
	}
	return 0;
}

/* The unit of THROUGHPUT has come, or the value has, or both. */
static int settle_omni(struct import_feed *f, struct word unit)
{
	static const struct cell rate = { "transactions", "1/s", "", 1, .key = true };
	struct netperf_data *d = f->run->data;
	struct netperf_state *s = f->state;

	if (unit.len) {
		s->unit = unit_of(unit.s);
		if (s->unit <= 0)
			s->unit = strncmp(unit.s, "Trans/s", 7) == 0 ? -1 : 0;
		if (s->unit == 0)
			return import_note(f->run, f->run->last_line,
					   "a throughput in no unit that is known is not used");
	}
	if (!d->has_omni || s->unit == 0)
		return 0;
	d->has_omni = false;
	return s->unit > 0 ? add_throughput(f, &d->omni, "") : cell_add(f, &rate, &d->omni);
}

static int add_omni(struct import_feed *f, size_t key, struct word value)
{
	struct netperf_data *d = f->run->data;
	struct scan_number v;

	if (key == 1)
		return settle_omni(f, value);
	/* "-1", "" and the like: not measured */
	if (!word_number(value, "", &v))
		return 0;
	if (key == 0) {
		d->omni = v;
		d->has_omni = true;
		return settle_omni(f, (struct word){ "", 0 });
	}
	return cell_add(f, &keys[key].cell, &v);
}

static int read_key_value(struct import_feed *f, const struct import_line *l)
{
	size_t n = strcspn(l->s, "=");

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].name) == n && strncmp(l->s, keys[i].name, n) == 0)
			return add_omni(f, i, (struct word){ l->s + n + 1, l->len - n - 1 });
	return 0;
}

/* The next of the columns at *@p; blanks around it do not count. */
static bool next_column(const char **p, struct word *ret)
{
	if (!*p)
		return false;
	scan_space(p);
	*ret = (struct word){ *p, strcspn(*p, ",") };
	*p = (*p)[ret->len] ? *p + ret->len + 1 : NULL;
	while (ret->len && ret->s[ret->len - 1] == ' ')
		ret->len--;
	return true;
}

static int read_titles(struct import_feed *f, const struct import_line *l)
{
	struct netperf_state *s = f->state;
	const char *p = l->s;
	struct word w;

	s->words = false;
	for (s->nr_columns = 0; next_column(&p, &w) && s->nr_columns < COLUMNS_MAX;
	     s->nr_columns++) {
		s->column[s->nr_columns] = 0;
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			if (word_is(w, keys[i].title))
				s->column[s->nr_columns] = (unsigned char)(i + 1);
	}
	return 0;
}

static int read_values(struct import_feed *f, const struct import_line *l)
{
	struct netperf_state *s = f->state;
	const char *p = l->s;
	struct word w;
	size_t n = 0;
	int r = 0;

	for (const char *c = l->s; c; c = strchr(c, ','), c = c ? c + 1 : NULL)
		n++;
	if (n != s->nr_columns && s->nr_columns < COLUMNS_MAX)
		return import_bad(f, "not as many values as there are names above them");
	for (size_t i = 0; i < s->nr_columns && r == 0 && next_column(&p, &w); i++)
		if (s->column[i])
			r = add_omni(f, s->column[i] - 1U, w);
	s->test = NETPERF_NONE;
	f->greedy = false;
	return r;
}

static int read_word_values(struct import_feed *f, const struct import_line *l)
{
	struct netperf_state *s = f->state;
	const char *p = l->s;
	struct word w;
	int r = 0;

	for (size_t i = 0; i < s->nr_columns && r == 0 && word_next(&p, &w); i++)
		if (s->column[i])
			r = add_omni(f, s->column[i] - 1U, w);
	s->test = NETPERF_NONE;
	s->nr_columns = 0;
	f->greedy = false;
	return r;
}

/* Output that was selected with -k, -o or -O. */
static int read_selected(struct import_feed *f, const struct import_line *l)
{
	struct netperf_state *s = f->state;

	if (is_key_value(l->s))
		return read_key_value(f, l);
	if (is_titles(l->s))
		return read_titles(f, l);
	if (s->words && is_word_row(s, l->s))
		return read_word_values(f, l);
	if (read_words(l->s, NULL)) {
		(void)read_words(l->s, s);
		return 0;
	}
	return s->nr_columns ? read_values(f, l) : import_bad(f, "not a row of netperf");
}

static int read_row(struct import_feed *f, const struct import_line *l)
{
	const struct netperf_state *s = f->state;
	enum netperf_test test;
	size_t nr;

	if (read_banner(l->s, &test))
		return open_test(f, l, test);
	if (strncmp(l->s, "Interim result: ", 16) == 0)
		return read_interim(f, l);
	if (strncmp(l->s, "!!! Confidence", 14) == 0)
		return f->run ? read_confidence(f, l) : import_bad(f, "of no test that is here");
	if (s->test != NETPERF_OMNI && !s->nr_columns && word_all_numbers(l->s, &nr))
		return read_classic(f, l);
	if (!f->run)
		return import_bad(f, "a row without the banner that says what it is of");
	return read_selected(f, l);
}

static int netperf_row(struct import_feed *f, const struct import_line *raw,
		       const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, true);

	return row_joined(f, &bare, next, false, read_row);
}

static int netperf_finish(struct import_run *run)
{
	const struct netperf_data *d = run->data;

	if (d->has_omni)
		return import_note(run, run->last_line,
				   "the throughput is not used: THROUGHPUT_UNITS is missing");
	if (run->nr_figures == 0)
		return import_note(run, run->last_line,
				   "no result was found behind the test's banner");
	return 0;
}

static const char *const netperf_marks[] = {
	" TEST from ", " TEST to ",	 "Interim result: ",	   "!!! ",
	"THROUGHPUT",  "Recv Send Send", "Socket Message Elapsed", "Local /Remote",
	NULL
};

const struct import_ops import_ops_netperf = {
	.name = "netperf",
	.marks = netperf_marks,
	.data_size = sizeof(struct netperf_data),
	.state_size = sizeof(struct netperf_state),
	.sniff = netperf_sniff,
	.called = netperf_called,
	.chatter = netperf_chatter,
	.row = netperf_row,
	.finish = netperf_finish,
};
