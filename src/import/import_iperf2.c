// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "import/iperf3.h"

/*
 * [  3]  0.0- 1.0 sec   112 MBytes   941 Mbits/sec                          2.0
 * [  1] 0.0000-1.0000 sec  2.37 GBytes  20.4 Gbits/sec                      2.1
 * [  1] 0.0000-1.0000 sec   473 MBytes  3.96 Gbits/sec  3781/0  28  3581K/1958(2822) us  253107
 * [  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec   0.004 ms    0/  893 (0%)
 * [  1] 0.0000-1.0000 sec  1.95 KBytes  16.0 Kbits/sec    10=0.061/0.012/0.479/0.147 ms ...
 * 20261130172812,127.0.0.1,41114,127.0.0.1,15001,1,0.0-1.0,3352035388,26816283104
 *
 * A row that spans all rows before it is the test's summary.  [ *1] counts what the client has
 * received (--reverse, --full-duplex, -d).  2.0.9 to 2.0.13 print two decimals with -e, as iperf3
 * does: then the lines before the table tell which it is.
 */

enum {
	MODE_CONTEXT = 1, /* iperf2's own words came last */
	MODE_NEW = 2,	  /* the next row starts a run */
	MODE_REPORT = 4,  /* "Server Report:": the next row is what the server has received */
	MODE_UDP = 8,
	MODE_SERVER = 16,
};

/* Decimals that only iperf2's intervals have. */
static bool is_own(unsigned int decimals)
{
	return decimals == 1 || decimals == 4 || decimals == 0;
}

struct head {
	int64_t stream;
	bool star;
	struct scan_number from, to;
};

/* "[ *1] 0.0000-1.0000 sec"; @p is behind it then. */
static bool scan_head(const char **p, struct head *h)
{
	const char *s = *p;

	if (!scan_text(&s, "["))
		return false;
	scan_space(&s);
	h->star = scan_text(&s, "*");
	h->stream = IPERF3_SUM;
	if (scan_text(&s, "SUM"))
		scan_text(&s, "-");
	else if (!scan_int(&s, 6, &h->stream) || h->stream < 0)
		return false;
	while (isalnum((unsigned char)*s)) /* [SUM-2] */
		s++;
	scan_space(&s);
	if (!scan_text(&s, "]"))
		return false;
	scan_space(&s);
	if (!scan_number(&s, &h->from))
		return false;
	scan_space(&s);
	if (!scan_text(&s, "-"))
		return false;
	scan_space(&s);
	if (!scan_number(&s, &h->to) || h->to.decimals != h->from.decimals)
		return false;
	scan_space(&s);
	if (!scan_text(&s, "sec"))
		return false;
	scan_space(&s);
	*p = s;
	return true;
}

static const char *find_head(const char *line, struct head *h)
{
	for (const char *s = strchr(line, '['); s; s = strchr(s + 1, '[')) {
		const char *p = s;

		if (scan_head(&p, h))
			return p;
	}
	return NULL;
}

/* "20261130172812," or "20261130172812.123,": where the CSV line begins, or NULL. */
static const char *find_csv(const char *line)
{
	const char *s = line;
	size_t commas = 0;

	if (!strchr(line, ','))
		return NULL;
	while (*s && !(isdigit((unsigned char)*s) && strspn(s, "0123456789") == 14))
		s += strcspn(s, " ") + strspn(s + strcspn(s, " "), " ");
	if (!*s || s - line > 40)
		return NULL;
	for (const char *p = s; *p; p++)
		commas += *p == ',';
	return commas >= 8 && commas <= 24 ? s : NULL;
}

/* ---- iperf2's own words */

static enum import_kind iperf2_sniff(const struct import_feed *f, const struct import_line *l)
{
	static const char *const words[] = { "Client connecting to ",
					     "Server listening on TCP port",
					     "Server listening on UDP port",
					     " connected with ",
					     "Server Report:",
					     "TCP window size:",
					     "UDP buffer size:",
					     "Write buffer size:",
					     "Read buffer size:",
					     "Bounce-back test",
					     "listener bind failed",
					     "Waiting for server threads",
					     "TOS set to ",
					     "IPG target",
					     "Bursting: " };
	struct head h;
	const char *s = find_head(l->s, &h);

	if (s && strstr(s, "datagrams received out-of-order"))
		return IMPORT_CHATTER;
	if (s && (is_own(h.from.decimals) || f->mode & MODE_CONTEXT))
		return IMPORT_ROW;
	if (s)
		return IMPORT_FOREIGN; /* iperf3's */
	if (find_csv(l->s))
		return IMPORT_ROW;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(l->s, words[i]))
			return IMPORT_CHATTER;
	if (strstr(l->s, "] Sent ") && strstr(l->s, " datagrams"))
		return IMPORT_CHATTER;
	/* iperf3's words end the context; they are not this format's */
	if (strstr(l->s, "Connecting to host ") || strstr(l->s, "Accepted connection from "))
		return f->mode & MODE_CONTEXT ? IMPORT_CHATTER : IMPORT_FOREIGN;
	return IMPORT_FOREIGN;
}

static void iperf2_chatter(struct import_feed *f, const struct import_line *l)
{
	const struct iperf3_run *run = f->run ? f->run->data : NULL;
	bool udp = strstr(l->s, "UDP port") != NULL;

	if (strstr(l->s, "Connecting to host ") || strstr(l->s, "Accepted connection from ")) {
		f->mode = 0;
		return;
	}
	f->mode |= MODE_CONTEXT;
	if (strstr(l->s, "Server Report:"))
		f->mode |= MODE_REPORT;
	if (strstr(l->s, "Client connecting to ") || strstr(l->s, "Server listening on ")) {
		f->mode = MODE_CONTEXT | (udp ? MODE_UDP : 0) |
			  (strstr(l->s, "Server listening on ") ? MODE_SERVER : 0);
		if (!run || run->seen.intervals || run->seen.summaries)
			f->mode |= MODE_NEW;
	}
	/* another connection behind a test that has ended */
	if (strstr(l->s, " connected with ") && run && run->seen.summaries)
		f->mode |= MODE_NEW;
}

/* ---- rows */

/* "3581K/1958(2822) us": the window and the round-trip time behind Write/Err and Rtry. */
static void scan_window(const char *s, struct iperf3_row *row, double *ret_rtt_ns)
{
	struct scan_number n;
	double factor = 1;

	scan_space(&s);
	if (!scan_number(&s, &n))
		return;
	if (scan_text(&s, "K"))
		factor = 1024;
	else if (scan_text(&s, "M"))
		factor = 1048576;
	if (!scan_text(&s, "/"))
		return;
	row->cwnd_bytes = n.value * factor;
	if (!scan_number(&s, &n))
		return;
	if (*s == '(')
		s += strcspn(s, ")") + (strchr(s, ')') != NULL);
	scan_space(&s);
	if (scan_text(&s, "us"))
		*ret_rtt_ns = n.value * 1e3;
	else if (scan_text(&s, "ms"))
		*ret_rtt_ns = n.value * 1e6;
}

/* What stands behind the rate. */
struct rest {
	double rtt_ns;	       /* -1: not there */
	int64_t bb_nr;	       /* bounces; -1: none */
	double bb[4], bb_half; /* average, smallest, largest, deviation [ms] */
	double rps;	       /* -1: not there */
};

/* "10=0.061/0.012/0.479/0.147 ms 0 576K/13 us 16340 rps" */
static bool scan_bounce(const char *s, struct rest *rest)
{
	struct scan_number n;
	const char *rps;

	if (!scan_int(&s, 12, &rest->bb_nr) || rest->bb_nr < 0 || !scan_text(&s, "="))
		return false;
	for (int i = 0; i < 4; i++) {
		if (!scan_number(&s, &n) || (i < 3 && !scan_text(&s, "/")))
			return false;
		rest->bb[i] = n.value;
		rest->bb_half = n.half;
	}
	if (!scan_text(&s, " ms"))
		return false;
	rps = strstr(s, " rps");
	while (rps && rps > s && isdigit((unsigned char)rps[-1]))
		rps--;
	if (rps && scan_number(&rps, &n))
		rest->rps = n.value;
	return true;
}

/* "0.004 ms 0/ 893 (0%)". NULL or why it cannot be; @s may hold something else. */
static const char *scan_loss(const char *s, struct iperf3_row *row)
{
	struct scan_number jitter = {};
	int64_t lost = 0, packets = 0;

	if (!scan_number(&s, &jitter) || !scan_text(&s, " ms"))
		return NULL;
	scan_space(&s);
	if (!scan_int(&s, 12, &lost))
		return "no lost/total datagrams after the jitter";
	scan_space(&s);
	if (!scan_text(&s, "/"))
		return "no lost/total datagrams after the jitter";
	scan_space(&s);
	if (!scan_int(&s, 12, &packets))
		return "no lost/total datagrams after the jitter";
	if (lost < 0 || packets < 0)
		return "a count of datagrams that went backwards";
	row->jitter_s = jitter.value / 1e3;
	row->lost = lost;
	row->packets = packets;
	return iperf3_impossible(row);
}

static const char *scan_rest(const char *s, struct iperf3_row *row, struct rest *rest)
{
	int64_t a = 0, b = 0, retr = 0;
	const char *p = s;

	*rest = (struct rest){ .rtt_ns = -1, .bb_nr = -1, .rps = -1 };
	if (scan_bounce(s, rest))
		return NULL;
	rest->bb_nr = -1;
	if (scan_int(&p, 12, &a) && scan_text(&p, "/") && scan_int(&p, 12, &b) && a >= 0) {
		scan_space(&p);
		s = p;
		if (scan_int(&p, 12, &retr) && retr >= 0 && *p == ' ' && strchr(p, '/')) {
			row->retr = retr;
			scan_window(p, row, &rest->rtt_ns);
		}
		return NULL;
	}
	return scan_loss(s, row);
}

/* NULL or why the text behind the head is no row. */
static const char *scan_row(const char **p, struct iperf3_row *row, struct rest *rest)
{
	struct scan_number bytes = {}, rate = {};
	const char *why;

	if (!iperf3_scan_bytes(p, &bytes))
		return "no transfer such as 106 MBytes after the interval";
	if (!iperf3_scan_rate(p, &rate))
		return "no rate such as 888 Mbits/sec after the transfer";
	row->bytes = bytes.value;
	row->bytes_half = bytes.half;
	row->bps = rate.value;
	row->bps_half = rate.half;
	scan_space(p);
	why = scan_rest(*p, row, rest);
	if (!why)
		*p += strlen(*p);
	return why;
}

static const char *take_head(const struct head *h, struct iperf3_row *row)
{
	if (h->to.value < h->from.value || h->to.value > 1e9)
		return "the interval ends before it begins";
	row->stream = h->stream;
	row->role = h->star ? IPERF3_ROLE_RX_C : IPERF3_ROLE_NONE;
	row->start_ns = (uint64_t)(h->from.value * 1e4 + 0.5) * (NS_PER_S / 10000);
	row->end_ns = (uint64_t)(h->to.value * 1e4 + 0.5) * (NS_PER_S / 10000);
	return NULL;
}

/* The same counts in CSV. NULL or why not. */
static const char *scan_csv(const char *s, struct iperf3_row *row)
{
	const char *field[24] = {};
	struct head h = {};
	struct scan_number n = {};
	size_t nr = 0;
	int64_t lost = 0, packets = 0;

	for (field[nr++] = s; (s = strchr(s, ',')) && nr < ARRAY_SIZE(field);)
		field[nr++] = ++s;
	if (nr < 9)
		return "less than nine columns";
	s = field[5];
	if (!scan_int(&s, 6, &h.stream))
		return "no stream in the sixth column";
	s = field[6];
	if (!scan_number(&s, &h.from) || !scan_text(&s, "-") || !scan_number(&s, &h.to))
		return "no interval in the seventh column";
	if (h.stream < 0)
		h.stream = IPERF3_SUM;
	s = field[7];
	if (!scan_number(&s, &n))
		return "no bytes in the eighth column";
	row->bytes = n.value;
	s = field[8];
	if (!scan_number(&s, &n))
		return "no rate in the ninth column";
	row->bps = n.value;
	if (nr >= 12) {
		s = field[9];
		if (scan_number(&s, &n))
			row->jitter_s = n.value / 1e3;
		s = field[10];
		if (!scan_int(&s, 15, &lost) || lost < 0)
			return "a count of lost datagrams that went backwards";
		s = field[11];
		if (scan_int(&s, 15, &packets) && packets >= 0) {
			row->lost = lost;
			row->packets = packets;
		}
	}
	return take_head(&h, row) ? "the interval ends before it begins" : iperf3_impossible(row);
}

/* ---- where a row belongs */

/* Whether @row spans what the rows of its column before it have said. */
static bool spans(const struct iperf3_run *run, const struct iperf3_row *row)
{
	size_t look = run->nr < 512 ? run->nr : 512;

	for (size_t i = run->nr; i-- > run->nr - look;) {
		const struct iperf3_row *old = &run->rows[i];

		if (!iperf3_same_column(old, row))
			continue;
		return !iperf3_is_summary(old) && row->start_ns == 0 &&
		       row->end_ns + NS_PER_S / 10 >= old->end_ns &&
		       (old->start_ns > 0 || row->end_ns - old->end_ns < NS_PER_S / 2);
	}
	return false;
}

/* Whether interval @row is of another test: the time of its column went back. */
static bool restarts(const struct iperf3_run *run, const struct iperf3_row *row)
{
	size_t look = run->nr < 512 ? run->nr : 512;

	for (size_t i = run->nr; i-- > run->nr - look;)
		if (iperf3_same_column(&run->rows[i], row))
			return row->start_ns < run->rows[i].start_ns ||
			       iperf3_is_summary(&run->rows[i]);
	return false;
}

/* Whether a row that spans a test of its own stands behind other text. */
static bool is_other(const struct import_feed *f, const struct iperf3_run *run,
		     const struct iperf3_row *row)
{
	const struct iperf3_row *last = run->nr ? &run->rows[run->nr - 1] : NULL;

	return f->text_between && last && row->start_ns == 0 &&
	       (row->end_ns > last->end_ns + NS_PER_S / 2 ||
		last->end_ns > row->end_ns + NS_PER_S / 2);
}

static int place(struct import_feed *f, struct iperf3_row *row)
{
	struct iperf3_run *run = f->run ? f->run->data : NULL;
	int r = 0;

	if (f->mode & MODE_REPORT) {
		row->kind = IPERF3_RECEIVER;
		f->mode &= ~(unsigned int)MODE_REPORT;
	} else if (run && !(f->mode & MODE_NEW) && spans(run, row)) {
		row->kind = IPERF3_SUMMARY;
	}
	if (!run || (f->mode & MODE_NEW && row->kind == IPERF3_INTERVAL) ||
	    (row->kind == IPERF3_INTERVAL &&
	     (*f->command || restarts(run, row) || is_other(f, run, row)))) {
		r = import_open_run(f, row->line);
		if (r < 0)
			return r;
		run = f->run->data;
		run->udp = f->mode & MODE_UDP || row->packets >= 0;
		run->server = f->mode & MODE_SERVER;
		f->mode &= ~(unsigned int)MODE_NEW;
	}
	return iperf3_add_row(f->run, row);
}

/* Round trips of --bounceback; a later row replaces the one before, the last is the summary. */
static int take_bounces(struct import_run *run, const struct iperf3_row *row,
			const struct rest *rest)
{
	static const char *const names[] = { "rtt.avg", "rtt.min", "rtt.max", "rtt.stdev" };
	struct import_point p = { .t_ns = (int64_t)row->start_ns,
				  .length_ns = row->end_ns - row->start_ns,
				  .v = rest->bb[0] * 1e6,
				  .half = rest->bb_half * 1e6,
				  .line = row->line };
	struct import_figure f = { .unit = "ns", .labels = "", .half = p.half, .n = rest->bb_nr };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0 && rest->bb_nr > 0; i++) {
		f.metric = names[i];
		f.value = rest->bb[i] * 1e6;
		f.key = i != 3;
		r = import_figure_add(run, &f);
	}
	if (r == 0 && rest->rps >= 0)
		r = import_figure_add(run, &(struct import_figure){ .metric = "transactions",
								    .unit = "1/s",
								    .labels = "",
								    .value = rest->rps,
								    .half = 0.5,
								    .n = rest->bb_nr,
								    .key = true });
	if (r == 0 && row->kind == IPERF3_INTERVAL && rest->bb_nr > 0)
		r = import_point_add(run, "rtt", "ns", "", &p);
	return r;
}

static int take_rest(struct import_run *run, const struct iperf3_row *row, const struct rest *rest)
{
	struct import_point p = { .t_ns = (int64_t)row->start_ns,
				  .length_ns = row->end_ns - row->start_ns,
				  .v = rest->rtt_ns,
				  .half = 500,
				  .line = row->line };
	char labels[32];

	if (rest->bb_nr >= 0)
		return take_bounces(run, row, rest);
	if (rest->rtt_ns < 0 || row->kind != IPERF3_INTERVAL || row->stream < 0)
		return 0;
	snprintf(labels, sizeof(labels), "stream=%" PRId64, row->stream);
	return import_point_add(run, "rtt", "ns", labels, &p);
}

/* "BB8-PDF: bin(w=100us):cnt(20)=1:18,2:1,5:1 (...": bin n ends at n times w. */
static int take_pdf(struct import_feed *f, const char *s)
{
	struct import_hist *h;
	struct scan_number width;
	double scale;
	int64_t bin, count;

	s = strstr(s, "bin(w=");
	if (!s || !f->run)
		return import_bad(f, "a histogram without a row before it");
	s += 6;
	if (!scan_number(&s, &width))
		return import_bad(f, "a histogram without a width");
	scale = scan_text(&s, "us") ? 1e3 : scan_text(&s, "ms") ? 1e6 : 0;
	s = strchr(s, '=');
	if (!s || !(scale > 0))
		return import_bad(f, "a histogram without a width or counts");
	if (import_hist_of(f->run, "rtt", "ns", "", &h) < 0)
		return -ENOMEM;
	h->width = width.value * scale;
	for (s++; scan_int(&s, 9, &bin) && scan_text(&s, ":") && scan_int(&s, 15, &count); s++) {
		if (bin > 0 && count > 0 &&
		    import_bar_add(h, (double)(bin - 1) * h->width, (uint64_t)count) < 0)
			return -ENOMEM;
		if (*s != ',')
			break;
	}
	return 0;
}

/* How much of what may stand behind the rate is there. */
static int richness(const struct iperf3_row *row, const struct rest *rest)
{
	return (row->retr >= 0) + (row->cwnd_bytes >= 0) + (row->jitter_s >= 0) +
	       (rest->rtt_ns >= 0) + (rest->bb_nr >= 0) + (rest->rps >= 0);
}

/* A row that is whole alone may still go on in the next line. */
static int text_row(struct import_feed *f, const char *line, const char *next,
		    struct iperf3_row *row, struct rest *rest)
{
	_cleanup_(buf_release) struct buf joined = {};
	struct iperf3_row longer = *row;
	struct rest longer_rest = {};
	struct head h = {}, other;
	const char *s = find_head(line, &h), *p = s, *why;

	why = take_head(&h, row);
	if (!why)
		why = scan_row(&p, row, rest);
	if (!why && !isdigit((unsigned char)*next))
		return 0;
	if (!*next || find_head(next, &other))
		return why ? import_bad(f, why) : 0;
	if (buf_printf(&joined, "%s %s", s, next) < 0)
		return -ENOMEM;
	p = buf_str(&joined);
	if (take_head(&h, &longer) || scan_row(&p, &longer, &longer_rest))
		return why ? import_bad(f, why) : 0;
	if (!why && richness(&longer, &longer_rest) <= richness(row, rest))
		return 0;
	*row = longer;
	*rest = longer_rest;
	return 1;
}

static int iperf2_row(struct import_feed *f, const struct import_line *l,
		      const struct import_line *next)
{
	struct iperf3_row row = iperf3_empty_row(l->nr);
	struct rest rest = { .rtt_ns = -1, .bb_nr = -1, .rps = -1 };
	struct head h;
	const char *s = find_head(l->s, &h), *why;
	int took = 0, r;

	if (s && strstr(s, "-PDF: bin(w="))
		return take_pdf(f, s);
	if (s) {
		took = text_row(f, l->s, next->s, &row, &rest);
	} else {
		why = scan_csv(find_csv(l->s), &row);
		if (why)
			return import_bad(f, why);
	}
	if (took < 0)
		return took;
	r = place(f, &row);
	if (r == 0)
		r = take_rest(f->run, &row, &rest);
	return r < 0 ? r : took;
}

/* The CSV of UDP's sender has zeros for what only the receiver knows, and no total at its end. */
static void forget_losses(struct iperf3_run *data)
{
	bool sender = false;

	for (size_t i = 0; i < data->nr; i++)
		sender = sender || (data->rows[i].jitter_s >= 0 && data->rows[i].packets < 0);
	for (size_t i = 0; i < data->nr && sender; i++) {
		data->rows[i].lost = -1;
		data->rows[i].jitter_s = -1;
	}
}

#define ROWS_ALONE 256 /* of which any may be alone: a run of more has intervals */

/* Whether row @i is the only interval of its column: then it spans the test. */
static bool is_alone(const struct iperf3_run *data, size_t i)
{
	const struct iperf3_row *row = &data->rows[i];

	if (row->kind != IPERF3_INTERVAL || row->start_ns || data->nr > ROWS_ALONE)
		return false;
	for (size_t k = 0; k < data->nr; k++)
		if (k != i && !iperf3_is_summary(&data->rows[k]) &&
		    iperf3_same_column(&data->rows[k], row))
			return false;
	return true;
}

/* What only the whole run tells: a row alone is the summary; beside [ *1] the others are sent. */
static int iperf2_finish(struct import_run *run)
{
	struct iperf3_run *data = run->data;
	bool star = false;

	forget_losses(data);
	for (size_t i = 0; i < data->nr; i++) {
		star = star || data->rows[i].role == IPERF3_ROLE_RX_C;
		if (is_alone(data, i))
			data->rows[i].kind = IPERF3_SUMMARY;
	}
	for (size_t i = 0; i < data->nr && star; i++)
		if (data->rows[i].role == IPERF3_ROLE_NONE)
			data->rows[i].role = data->server ? IPERF3_ROLE_RX_S : IPERF3_ROLE_TX_C;
	return iperf3_finish(run);
}

static const char *const iperf2_marks[] = {
	"] 0",
	"] 1",
	"] 2",
	"] 3",
	"] 4",
	"] 5",
	"] 6",
	"] 7",
	"] 8",
	"] 9",
	".0-",
	".5-",
	"Client connecting to ",
	"Server listening on ",
	" connected with ",
	"Server Report:",
	"TCP window size:",
	"UDP buffer size:",
	" buffer size:",
	"Bounce-back test",
	"TOS set to ",
	"IPG target",
	"Bursting: ",
	"listener bind failed",
	"Waiting for server threads",
	"] Sent ",
	"received out-of-order",
	"Connecting to host ",
	"Accepted connection from ",
	NULL,
};

const struct import_ops import_ops_iperf2 = {
	.name = "iperf2",
	.program = "iperf",
	.marks = iperf2_marks,
	.data_size = sizeof(struct iperf3_run),
	.sniff = iperf2_sniff,
	.chatter = iperf2_chatter,
	.row = iperf2_row,
	.finish = iperf2_finish,
	.release = iperf3_release,
};
