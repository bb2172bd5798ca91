// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "import/iperf3.h"

/*
 * [ ID] Interval           Transfer     Bitrate         Retr  Cwnd
 * [  5]   0.00-1.00   sec  3.03 GBytes  26.0 Gbits/sec   14   2.50 MBytes       (omitted)
 * [SUM]   0.00-2.00   sec  1.15 GBytes  4.96 Gbits/sec    2             sender
 *
 * Up to 3.1 the header says Bandwidth.  Transfers and windows have binary prefixes, rates in bits
 * decimal ones, rates in bytes (-f K) binary ones.  Times have two decimals; iperf2, whose rows
 * are alike, prints one or four.
 */

enum {
	MODE_UDP = 1,	   /* the last header announced datagrams */
	MODE_EMBEDDED = 2, /* inside --get-server-output: the same test again */
	MODE_NEW = 4,	   /* the next row starts a run */
	MODE_RETR = 8,	   /* the last header or row has shown TCP's retransmits */
	MODE_REVERSE = 16, /* the far end sends */
	MODE_SERVER = 32,  /* this is the server's output */
	MODE_SENT = 64,	   /* a summary under "Sent" (3.0's first) */
	MODE_RECEIVED = 128,
};

struct unit {
	const char *name;
	double factor;
};

static const char *const role_names[] = { "", "TX-C", "RX-C", "TX-S", "RX-S" };

const struct iperf3_run *import_iperf3(const struct import_run *run)
{
	return run->ops == &import_ops_iperf3 || run->ops == &import_ops_iperf2 ? run->data : NULL;
}

const char *iperf3_role_name(enum iperf3_role role)
{
	return role_names[role];
}

/* ---- one line */

/* "[  4]", "[SUM][TX-C]" and the first number of the interval; @p is behind the brackets then. */
static bool scan_head(const char **p, struct iperf3_row *row)
{
	const char *s = *p, *number;
	int64_t v;

	if (!scan_text(&s, "["))
		return false;
	scan_space(&s);
	row->stream = IPERF3_SUM;
	if (!scan_text(&s, "SUM") && (!scan_int(&s, 9, &row->stream) || row->stream < 0))
		return false;
	scan_space(&s);
	if (!scan_text(&s, "]"))
		return false;
	row->role = IPERF3_ROLE_NONE;
	if (*s == '[') {
		for (int i = 1; i < IPERF3_ROLES; i++)
			if (strncmp(s + 1, role_names[i], 4) == 0 && s[5] == ']')
				row->role = (enum iperf3_role)i;
		if (row->role == IPERF3_ROLE_NONE)
			return false;
		s += 6;
	}
	scan_space(&s);
	number = s;
	/* "0.00-1": a number, perhaps a fraction, and the hyphen */
	if (!scan_int(&s, 9, &v) || v < 0)
		return false;
	if (*s == '.')
		s++;
	for (int i = 0; i < 9 && isdigit((unsigned char)*s); i++)
		s++;
	if (*s != '-' || !isdigit((unsigned char)s[1]))
		return false;
	*p = number;
	return true;
}

/* Behind the head of a row wherever it begins (a prompt or a time may stand before it), or NULL. */
static const char *find_row(const char *line, struct iperf3_row *row)
{
	for (const char *s = strchr(line, '['); s; s = strchr(s + 1, '[')) {
		const char *p = s;

		if (scan_head(&p, row))
			return p;
	}
	return NULL;
}

static bool scan_unit(const char **p, const struct unit *units, struct scan_number *n)
{
	for (; units->name; units++) {
		if (!scan_text(p, units->name))
			continue;
		n->value *= units->factor;
		n->half *= units->factor;
		return true;
	}
	return false;
}

bool iperf3_scan_bytes(const char **p, struct scan_number *n)
{
	static const struct unit units[] = { { "MBytes", 1048576 },	  { "GBytes", 1073741824 },
					     { "KBytes", 1024 },	  { "Bytes", 1 },
					     { "TBytes", 1099511627776 }, {} };
	const char *s = *p;

	scan_space(&s);
	if (!scan_number(&s, n))
		return false;
	scan_space(&s);
	if (!scan_unit(&s, units, n) || (*s && *s != ' '))
		return false;
	*p = s;
	return true;
}

bool iperf3_scan_rate(const char **p, struct scan_number *n)
{
	static const struct unit units[] = { { "bits/sec", 1 },
					     { "Kbits/sec", 1e3 },
					     { "Mbits/sec", 1e6 },
					     { "Gbits/sec", 1e9 },
					     { "Tbits/sec", 1e12 },
					     { "Bytes/sec", 8 },
					     { "KBytes/sec", 8 * 1024.0 },
					     { "MBytes/sec", 8 * 1048576.0 },
					     { "GBytes/sec", 8 * 1073741824.0 },
					     { "TBytes/sec", 8 * 1099511627776.0 },
					     {} };
	const char *s = *p;

	scan_space(&s);
	if (!scan_number(&s, n))
		return false;
	scan_space(&s);
	if (!scan_unit(&s, units, n) || (*s && *s != ' '))
		return false;
	*p = s;
	return true;
}

/* NULL, or why "0.00-1.00 sec" at @p is none. */
static const char *scan_interval(const char **p, struct iperf3_row *row)
{
	struct scan_number from, to;

	if (!scan_number(p, &from) || !scan_text(p, "-") || !scan_number(p, &to))
		return "no interval such as 0.00-1.00";
	scan_space(p);
	if (!scan_text(p, "sec"))
		return "no \"sec\" after the interval";
	if (from.decimals != 2 || to.decimals != 2)
		return "an interval without two decimals: not iperf3's (iperf2?)";
	if (to.value < from.value || to.value > 1e9)
		return "the interval ends before it begins";
	row->start_ns = (uint64_t)(from.value * 100 + 0.5) * (NS_PER_S / 100);
	row->end_ns = (uint64_t)(to.value * 100 + 0.5) * (NS_PER_S / 100);
	return NULL;
}

/* "0.009 ms  0/382 (0%)": UDP's receiver. NULL or why not; @p is left when it is none. */
static const char *scan_loss(const char **p, struct iperf3_row *row)
{
	const char *s = *p;
	struct scan_number jitter, percent;
	int64_t lost, packets;

	if (!scan_number(&s, &jitter) || !scan_text(&s, " ms"))
		return NULL;
	*p = s;
	scan_space(p);
	if (!scan_int(p, 15, &lost) || !scan_text(p, "/") || !scan_int(p, 15, &packets))
		return "no lost/total datagrams after the jitter";
	if (lost < 0 || packets < 0)
		return "a count of datagrams that went backwards";
	row->jitter_s = jitter.value / 1e3;
	row->lost = lost;
	row->packets = packets;
	scan_space(p);
	if (!scan_text(p, "("))
		return NULL;
	if (!scan_text(p, "-nan%)") && !scan_text(p, "nan%)") && !scan_text(p, "Unknown)")) {
		scan_text(p, "-");
		if (!scan_number(p, &percent) ||
		    (!scan_text(p, "%)") &&
		     /* "1e-05%" */
		     (!scan_text(p, "e-") || !scan_number(p, &percent) || !scan_text(p, "%)"))))
			return "no percentage after the lost datagrams";
	}
	return NULL;
}

/* What may follow the rate: retransmits, window, one word; UDP's counts. NULL or why not. */
static const char *scan_rest(const char **p, struct iperf3_row *row)
{
	struct scan_number n;
	const char *why;

	row->kind = IPERF3_INTERVAL;
	scan_space(p);
	why = scan_loss(p, row);
	if (why)
		return why;
	if (row->packets < 0 && scan_int(p, 12, &row->retr)) {
		if (**p == '.' || **p == '/' || row->retr < 0)
			return "neither retransmits nor datagrams after the rate";
		if (iperf3_scan_bytes(p, &n))
			row->cwnd_bytes = n.value;
	}
	scan_space(p);
	if (scan_text(p, "(omitted)"))
		row->omitted = true;
	else if (scan_text(p, "sender"))
		row->kind = IPERF3_SENDER;
	else if (scan_text(p, "receiver"))
		row->kind = IPERF3_RECEIVER;
	*p += strspn(*p, " `|"); /* a cell of somebody's table ends */
	return **p ? "unknown text after the rate" : NULL;
}

/* NULL or why the text behind the head is no row; @p stays where it stopped. */
static const char *scan_row(const char **p, struct iperf3_row *row)
{
	struct scan_number bytes = {}, rate = {};
	const char *why = scan_interval(p, row);

	if (why)
		return why;
	if (!iperf3_scan_bytes(p, &bytes))
		return "no transfer such as 106 MBytes after the interval";
	if (!iperf3_scan_rate(p, &rate))
		return "no rate such as 888 Mbits/sec after the transfer";
	row->bytes = bytes.value;
	row->bytes_half = bytes.half;
	row->bps = rate.value;
	row->bps_half = rate.half;
	return scan_rest(p, row);
}

/* Whether @line holds nothing but what mailers push to a line of its own from the end of a row. */
static bool is_rest(const char *line)
{
	static const char *const words[] = { "sender", "receiver", "(omitted)", "Bytes",
					     "KBytes", "MBytes",   "GBytes" };
	struct scan_number n;
	int64_t retr;

	if (*line == '(' || strncmp(line, "ms ", 3) == 0)
		return true; /* of UDP's loss */
	if (!iperf3_scan_bytes(&line, &n) && scan_int(&line, 12, &retr) &&
	    !iperf3_scan_bytes(&line, &n) && *line != ' ' && *line != '/')
		return false; /* a number alone may be anything */
	if (*line == '/')
		return true;
	scan_space(&line);
	if (!*line)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(line, words[i]) == 0)
			return true;
	return false;
}

/* The row @s with @next behind it. Return: whether it is one; -ENOMEM. */
static int scan_joined(const char *s, const char *between, const char *next, struct iperf3_row *row)
{
	_cleanup_(buf_release) struct buf joined = {};
	struct iperf3_row more = *row;
	const char *p;

	if (buf_printf(&joined, "%s%s%s", s, between, next) < 0)
		return -ENOMEM;
	p = buf_str(&joined);
	if (scan_row(&p, &more))
		return 0;
	*row = more;
	return 1;
}

/* The whole row from @line, or from it and @next. Return: 0, 1 or -EBADMSG. */
static int read_row(struct import_feed *f, const char *line, const char *next,
		    struct iperf3_row *row)
{
	struct iperf3_row ignored, whole;
	const char *s = find_row(line, row), *p = s, *why;
	int r = 0;

	whole = *row;
	why = scan_row(&p, &whole);

	if (why ? !*next || strlen(p) > 40 || find_row(next, &ignored) : !*next || !is_rest(next))
		next = "";
	if (*next)
		r = scan_joined(s, " ", next, row);
	if (r == 0 && why && *next) /* inside a word, as terminals break lines */
		r = scan_joined(s, "", next, row);
	if (r)
		return r;
	*row = whole;
	return why ? import_bad(f, why) : 0;
}

/* ---- the text around the rows */

enum words {
	WORDS_NONE,
	WORDS_HEADER, /* "[ ID] Interval ..." */
	WORDS_SERVER, /* "Server output:" */
	WORDS_BEGIN,
	WORDS_END,
	WORDS_PEER, /* connected: a server's test begins */
	WORDS_ACCEPTED,
	WORDS_REVERSE,
	WORDS_SENT,
	WORDS_RECEIVED,
	WORDS_ERROR,
	WORDS_OTHER,
};

/* @start, and @rest somewhere behind it; NULL: @start ends the line. */
static const struct {
	const char *start, *rest;
	enum words words;
} phrases[] = {
	{ "[ ID]", "", WORDS_HEADER },
	{ "Server output:", NULL, WORDS_SERVER },
	{ "Connecting to host ", ", port ", WORDS_BEGIN },
	{ "iperf Done.", NULL, WORDS_END },
	{ "Accepted connection from ", ", port ", WORDS_ACCEPTED },
	{ "] local ", " connected to ", WORDS_PEER },
	{ "Server listening on ", "", WORDS_OTHER },
	{ "Reverse mode, ", "remote host", WORDS_REVERSE },
	{ "iperf3: ", "", WORDS_ERROR },
	{ "Starting Test: protocol: ", "", WORDS_OTHER },
	{ "CPU Utilization: ", "", WORDS_OTHER },
	{ "TCP MSS: ", "", WORDS_OTHER },
	{ "Control connection MSS ", "", WORDS_OTHER },
	{ "snd_tcp_congestion ", "", WORDS_OTHER },
	{ "rcv_tcp_congestion ", "", WORDS_OTHER },
	{ "datagrams received out-of-order", NULL, WORDS_OTHER },
	{ "] Sent ", " datagrams", WORDS_OTHER },
	{ "Test Complete. Summary Results:", NULL, WORDS_OTHER },
	{ "- - - - - - - - - - - -", "", WORDS_OTHER },
};

/* iperf3's own words wherever they begin: -T, --timestamps, a prompt or a quoter's name may stand
 * before them as before the rows. */
static enum words find_words(const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
		const char *s = scan_find(line, phrases[i].start);

		if (!s)
			continue;
		s += strlen(phrases[i].start);
		if (!phrases[i].rest ? !*s : !*phrases[i].rest || scan_find(s, phrases[i].rest))
			return phrases[i].words;
	}
	if (strcmp(line, "Sent") == 0)
		return WORDS_SENT;
	return strcmp(line, "Received") == 0 ? WORDS_RECEIVED : WORDS_NONE;
}

static enum import_kind iperf3_sniff(const struct import_feed *f, const struct import_line *l)
{
	struct iperf3_row row;

	/* "[ 5] 0.0-2.0 sec  5 datagrams received out-of-order" is no row */
	if (find_row(l->s, &row) &&
	    !(l->len && l->s[l->len - 1] == 'r' && strstr(l->s, "datagrams received out-of-order")))
		return IMPORT_ROW;
	return find_words(l->s) ? IMPORT_CHATTER : IMPORT_FOREIGN;
}

/* What the columns under header @line are. */
static void take_header(struct import_feed *f, const char *line)
{
	const char *s = scan_find(line, "[ ID]");

	f->mode &= ~(unsigned int)(MODE_UDP | MODE_RETR);
	/* a mailer may have cut the header's end */
	if (strstr(s, "Datagrams") || strstr(s, "Total") || strstr(s, "Jitter"))
		f->mode |= MODE_UDP;
	else if (strstr(s, "Retr"))
		f->mode |= MODE_RETR;
	f->text_since = false;
}

/* "iperf3: error - unable to connect to server: Connection refused" */
static void take_error(struct import_feed *f, const struct import_line *l)
{
	const char *s = scan_find(l->s, "iperf3: ");

	if (f->run && !(f->mode & MODE_NEW))
		import_note(f->run, l->nr, "%s", s);
	else
		import_remark(f, l->nr, "%s", s);
}

static void iperf3_chatter(struct import_feed *f, const struct import_line *l)
{
	const char *line = l->s;
	enum words words = find_words(line);

	if (words == WORDS_HEADER)
		take_header(f, line);
	else if (words == WORDS_SERVER)
		f->mode |= MODE_EMBEDDED;
	else if (words == WORDS_BEGIN || words == WORDS_END)
		f->mode = MODE_NEW;
	else if (words == WORDS_ACCEPTED && !(f->mode & MODE_EMBEDDED))
		f->mode = MODE_NEW | MODE_SERVER;
	else if (words == WORDS_PEER)
		f->mode |= MODE_NEW;
	else if (words == WORDS_REVERSE)
		f->mode |= MODE_REVERSE;
	else if (words == WORDS_ERROR)
		take_error(f, l);
	f->mode &= ~(unsigned int)(MODE_SENT | MODE_RECEIVED);
	if (words == WORDS_SENT)
		f->mode |= MODE_SENT;
	else if (words == WORDS_RECEIVED)
		f->mode |= MODE_RECEIVED;
}

/* ---- where a row belongs */

/* Whether @row, which has lost its last word, spans all intervals of @run. */
static bool spans(const struct iperf3_run *run, const struct iperf3_row *row)
{
	return run->seen.intervals >= 2 && row->start_ns <= run->seen.first_start_ns &&
	       row->end_ns + NS_PER_S / 2 >= run->seen.last_end_ns &&
	       row->end_ns - row->start_ns >
		       (run->seen.prev.end_ns - run->seen.prev.start_ns) * 3 / 2;
}

/* Whether interval @row begins another run: the time went back. */
static bool restarts(const struct iperf3_run *run, const struct iperf3_row *row)
{
	const struct iperf3_row *prev = &run->seen.prev;

	if (run->seen.summaries)
		return true;
	if (run->seen.intervals == 0 || (prev->omitted && !row->omitted))
		return false; /* the time starts again behind the omitted rows */
	if (row->omitted && !prev->omitted)
		return true;
	if (iperf3_is_repeat(row, prev))
		return false; /* the same line twice */
	return row->start_ns < prev->start_ns ||
	       (row->start_ns == prev->start_ns && iperf3_same_column(row, &run->rows[0]));
}

static bool begins_run(const struct import_feed *f, const struct iperf3_row *row)
{
	const struct iperf3_run *run;

	if (!f->run || f->mode & MODE_NEW)
		return true;
	run = import_run_open(f)->data;
	if (row->kind == IPERF3_INTERVAL) /* a new command line behind the rows ends them */
		return restarts(run, row) || (*f->command && run->seen.intervals);
	return run->seen.summaries && iperf3_same_column(row, &run->seen.first_summary) &&
	       row->kind == run->seen.first_summary.kind;
}

/*
 * Whether a count behind the rate may be one of datagrams: UDP's senders print nothing else there,
 * TCP's a window too but in rows of [SUM].  Only TCP's summary ends in a count and "sender".
 */
static bool may_be_udp(const struct import_feed *f, const struct iperf3_row *row)
{
	const struct iperf3_row *prev;

	if (row->retr < 0 || row->cwnd_bytes >= 0 || row->kind != IPERF3_INTERVAL)
		return false;
	if (f->mode & MODE_RETR && !f->text_since)
		return false;
	if (row->stream != IPERF3_SUM || !f->run || f->mode & MODE_NEW)
		return true;
	prev = &((const struct iperf3_run *)import_run_open(f)->data)->seen.prev;
	return prev->cwnd_bytes < 0 || prev->start_ns != row->start_ns;
}

/* Remember text between two intervals of one run: its writer may have meant two. */
static void mark_text(const struct import_feed *f, const struct iperf3_row *row)
{
	struct import_run *run = import_run_open(f);
	const struct iperf3_run *data = run->data;

	if (row->kind != IPERF3_INTERVAL || data->seen.intervals == 0 || !f->text_line ||
	    run->text_line)
		return;
	run->text_line = f->text_line;
	run->text_row_line = row->line;
}

/* What the words around a row say of it. */
static const char *judge(const struct import_feed *f, struct iperf3_row *row)
{
	if (f->mode & MODE_EMBEDDED)
		return "the server's table of the same test";
	if (row->packets >= 0)
		return iperf3_impossible(row);
	if (f->mode & MODE_UDP) { /* UDP's sender prints how many datagrams it has sent */
		row->packets = row->retr;
		row->retr = -1;
		return iperf3_impossible(row);
	}
	if (may_be_udp(f, row))
		return "a count without a window behind the rate: it cannot be told from UDP "
		       "without its header line";
	return NULL;
}

/* A summary that has not said whose it is. */
static void name_summary(const struct import_feed *f, struct iperf3_row *row)
{
	if (row->kind != IPERF3_INTERVAL || row->omitted)
		return;
	if (f->mode & MODE_SENT)
		row->kind = IPERF3_SENDER;
	else if (f->mode & MODE_RECEIVED)
		row->kind = IPERF3_RECEIVER;
	else if (f->run && !(f->mode & MODE_NEW) && spans(f->run->data, row))
		row->kind = IPERF3_SUMMARY;
}

/* Start a run with the first of its rows. */
static int begin_run(struct import_feed *f, const struct iperf3_row *row)
{
	int r = import_open_run(f, row->line);
	struct iperf3_run *data;

	if (r < 0)
		return r;
	data = f->run->data;
	data->udp = row->packets >= 0;
	data->reverse = f->mode & MODE_REVERSE;
	data->server = f->mode & MODE_SERVER;
	f->mode &= ~(unsigned int)MODE_NEW;
	return 0;
}

static int iperf3_row(struct import_feed *f, const struct import_line *l,
		      const struct import_line *next)
{
	struct iperf3_row row = iperf3_empty_row(l->nr);
	int took = read_row(f, l->s, next->s, &row);
	const char *why;
	int r = 0;

	if (took < 0)
		return took;
	name_summary(f, &row);
	why = judge(f, &row);
	if (why)
		return import_bad(f, why);
	if (row.packets >= 0)
		f->mode |= MODE_UDP;
	else if (row.retr >= 0)
		f->mode |= MODE_RETR;
	f->text_since = false;
	if (begins_run(f, &row))
		r = begin_run(f, &row);
	if (r < 0)
		return r;
	mark_text(f, &row);
	r = iperf3_add_row(f->run, &row);
	return r < 0 ? r : took;
}

void iperf3_release(void *data)
{
	struct iperf3_run *run = data;

	free(run->rows);
	*run = (struct iperf3_run){};
}

static const char *const iperf3_marks[] = {
	"] 0", /* "[  5]   0.00-1.00", with any digit */
	"] 1",
	"] 2",
	"] 3",
	"] 4",
	"] 5",
	"] 6",
	"] 7",
	"] 8",
	"] 9",
	"[ ID]",
	"] local ",
	"] Sent ",
	"Server output:",
	"Connecting to host ",
	"iperf Done.",
	"Accepted connection from ",
	"Server listening on ",
	"Reverse mode, ",
	"Test Complete.",
	"- - - - - - -",
	"iperf3: ",
	"Starting Test: ",
	"CPU Utilization: ",
	"TCP MSS: ",
	"Control connection MSS ",
	"_tcp_congestion ",
	"Sent",
	"Received",
	NULL,
};

const struct import_ops import_ops_iperf3 = {
	.name = "iperf3",
	.marks = iperf3_marks,
	.data_size = sizeof(struct iperf3_run),
	.sniff = iperf3_sniff,
	.chatter = iperf3_chatter,
	.row = iperf3_row,
	.json_sniff = iperf3_json_sniff,
	.json_item = iperf3_json_item,
	.json_doc = iperf3_json_doc,
	.finish = iperf3_finish,
	.release = iperf3_release,
};
