// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "import/import_ops.h"

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
};

struct unit {
	const char *name;
	double factor;
};

static const char *const role_names[] = { "", "TX-C", "RX-C", "TX-S", "RX-S" };

const struct iperf3_run *import_iperf3(const struct import_run *run)
{
	return run->ops == &import_ops_iperf3 ? run->data : NULL;
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

static bool scan_bytes(const char **p, struct scan_number *n)
{
	static const struct unit units[] = {
		{ "Bytes", 1 },		  { "KBytes", 1024 },	       { "MBytes", 1048576 },
		{ "GBytes", 1073741824 }, { "TBytes", 1099511627776 }, {}
	};
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

static bool scan_rate(const char **p, struct scan_number *n)
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

/* What may follow the rate: retransmits, window, one word. NULL or why not. */
static const char *scan_rest(const char **p, struct iperf3_row *row)
{
	struct scan_number n;

	row->kind = IPERF3_INTERVAL;
	row->retr = -1;
	row->cwnd_bytes = -1;
	scan_space(p);
	if (scan_int(p, 12, &row->retr)) {
		if (**p == '.' || **p == '/' || row->retr < 0)
			return "a UDP row: only TCP tables are read";
		if (scan_bytes(p, &n))
			row->cwnd_bytes = n.value;
	}
	scan_space(p);
	if (scan_text(p, "(omitted)"))
		row->omitted = true;
	else if (scan_text(p, "sender"))
		row->kind = IPERF3_SENDER;
	else if (scan_text(p, "receiver"))
		row->kind = IPERF3_RECEIVER;
	scan_space(p);
	return **p ? "unknown text after the rate" : NULL;
}

/* NULL or why the text behind the head is no row; @p stays where it stopped. */
static const char *scan_row(const char **p, struct iperf3_row *row)
{
	struct scan_number bytes = {}, rate = {};
	const char *why = scan_interval(p, row);

	if (why)
		return why;
	if (!scan_bytes(p, &bytes))
		return "no transfer such as 106 MBytes after the interval";
	if (!scan_rate(p, &rate))
		return "no rate such as 888 Mbits/sec after the transfer";
	row->bytes = bytes.value;
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

	if (!scan_bytes(&line, &n) && scan_int(&line, 12, &retr) && !scan_bytes(&line, &n) &&
	    *line != ' ')
		return false; /* a number alone may be anything */
	scan_space(&line);
	if (!*line)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(line, words[i]) == 0)
			return true;
	return false;
}

/* The whole row from @line, or from it and @next. Return: 0, 1 or -EBADMSG. */
static int read_row(struct import_feed *f, const char *line, const char *next,
		    struct iperf3_row *row)
{
	_cleanup_(buf_release) struct buf joined = {};
	struct iperf3_row ignored;
	const char *s = find_row(line, row), *p = s, *why = scan_row(&p, row);

	if (why ? !*next || strlen(p) > 40 || find_row(next, &ignored) : !*next || !is_rest(next))
		return why ? import_bad(f, why) : 0;
	if (buf_printf(&joined, "%s %s", s, next) < 0)
		return -ENOMEM;
	p = buf_str(&joined);
	if (!scan_row(&p, row))
		return 1;
	if (why)
		return import_bad(f, why);
	scan_row(&s, row);
	return 0;
}

/* ---- the text around the rows */

enum words {
	WORDS_NONE,
	WORDS_HEADER, /* "[ ID] Interval ..." */
	WORDS_SERVER, /* "Server output:" */
	WORDS_BEGIN,
	WORDS_END,
	WORDS_PEER, /* accepted, or connected: a server's test begins */
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
	{ "Accepted connection from ", ", port ", WORDS_PEER },
	{ "] local ", " connected to ", WORDS_PEER },
	{ "Server listening on ", "", WORDS_OTHER },
	{ "Reverse mode, ", "remote host", WORDS_OTHER },
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
	return WORDS_NONE;
}

static enum import_kind iperf3_sniff(const struct import_feed *f, const struct import_line *l)
{
	struct iperf3_row row;

	if (find_row(l->s, &row))
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
	else if (words == WORDS_PEER)
		f->mode |= MODE_NEW;
}

/* ---- where a row belongs */

static bool is_summary(const struct iperf3_row *row)
{
	return row->kind == IPERF3_SENDER || row->kind == IPERF3_RECEIVER ||
	       row->kind == IPERF3_SUMMARY;
}

static bool same_column(const struct iperf3_row *a, const struct iperf3_row *b)
{
	return a->stream == b->stream && a->role == b->role;
}

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
	return row->start_ns < prev->start_ns ||
	       (row->start_ns == prev->start_ns && same_column(row, &run->rows[0]));
}

static bool begins_run(const struct import_feed *f, const struct iperf3_row *row)
{
	const struct iperf3_run *run;

	if (!f->run || f->mode & MODE_NEW)
		return true;
	run = import_run_open(f)->data;
	if (row->kind == IPERF3_INTERVAL) /* a new command line behind the rows ends them */
		return restarts(run, row) || (*f->command && run->seen.intervals);
	return run->seen.summaries && same_column(row, &run->seen.first_summary) &&
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

static int add_row(struct iperf3_run *run, const struct iperf3_row *row)
{
	if (run->nr == run->size) {
		size_t size = run->size ? run->size * 2 : 4;
		struct iperf3_row *p = reallocarray(run->rows, size, sizeof(*p));

		if (!p)
			return -ENOMEM;
		run->rows = p;
		run->size = size;
	}
	run->rows[run->nr++] = *row;
	if (is_summary(row)) {
		if (run->seen.summaries++ == 0)
			run->seen.first_summary = *row;
		return 0;
	}
	/* the spans of a run are those after the omitted rows */
	if (run->seen.intervals == 0 || (run->seen.prev.omitted && !row->omitted)) {
		run->seen.first_start_ns = row->start_ns;
		run->seen.last_end_ns = row->end_ns;
	}
	if (row->end_ns > run->seen.last_end_ns)
		run->seen.last_end_ns = row->end_ns;
	run->seen.intervals++;
	run->seen.prev = *row;
	return 0;
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

static int iperf3_row(struct import_feed *f, const struct import_line *l,
		      const struct import_line *next)
{
	struct iperf3_row row = { .line = l->nr };
	int took = read_row(f, l->s, next->s, &row);
	int r;

	if (took < 0)
		return took;
	if (f->mode & MODE_UDP)
		return import_bad(f, "a UDP row: only TCP tables are read");
	if (f->mode & MODE_EMBEDDED)
		return import_bad(f, "the server's table of the same test");
	if (f->run && !(f->mode & MODE_NEW) && row.kind == IPERF3_INTERVAL && !row.omitted &&
	    spans(import_run_open(f)->data, &row))
		row.kind = IPERF3_SUMMARY;
	if (may_be_udp(f, &row))
		return import_bad(f, "a count without a window behind the rate: it cannot be told "
				     "from UDP without its header line");
	if (row.retr >= 0)
		f->mode |= MODE_RETR;
	f->text_since = false;
	if (begins_run(f, &row)) {
		r = import_open_run(f, l->nr);
		if (r < 0)
			return r;
		f->mode &= ~(unsigned int)MODE_NEW;
	}
	mark_text(f, &row);
	r = add_row(import_run_open(f)->data, &row);
	return r < 0 ? r : took;
}

/* ---- the whole run */

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
 * clock had run out (the server prints such a row): their rate is no sample of an interval.
 */
static int iperf3_finish(struct import_run *run)
{
	struct iperf3_run *data = run->data;
	_cleanup_(free_charp) char *owner = NULL;
	uint64_t *lengths, typical = 0;
	size_t nr = 0;

	lengths = calloc(data->nr ? data->nr : 1, sizeof(*lengths));
	owner = (char *)lengths;
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

		if (row->kind == IPERF3_INTERVAL && !row->omitted &&
		    (duration(row) == 0 || duration(row) < typical / 4 * 3))
			row->kind = IPERF3_TAIL;
	}
	return 0;
}

static void iperf3_release(void *data)
{
	struct iperf3_run *run = data;

	free(run->rows);
	*run = (struct iperf3_run){};
}

static const char *const iperf3_marks[] = { "]",
					    "Server output:",
					    "Connecting to host ",
					    "iperf Done.",
					    "Accepted connection from ",
					    "Server listening on ",
					    "Reverse mode, ",
					    "Test Complete.",
					    "- - - - - - -",
					    NULL };

const struct import_ops import_ops_iperf3 = {
	.name = "iperf3",
	.marks = iperf3_marks,
	.data_size = sizeof(struct iperf3_run),
	.sniff = iperf3_sniff,
	.chatter = iperf3_chatter,
	.row = iperf3_row,
	.finish = iperf3_finish,
	.release = iperf3_release,
};

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
		if (is_summary(row) && row->bps > 0 && run->seen.intervals == 0 &&
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
	_cleanup_(free_charp) char *owner = NULL;
	struct iperf3_row *rows = calloc(run->nr + 1, sizeof(*rows));
	size_t nr = 0;
	bool sum = false;
	int r;

	owner = (char *)rows;
	r = rows ? count_streams(run, role, &s.streams) : -ENOMEM;
	if (r < 0)
		return r;
	for (size_t i = 0; i < run->nr; i++)
		sum = sum || is_used(&run->rows[i], role, true);
	for (size_t i = 0; i < run->nr; i++) {
		const struct iperf3_row *row = &run->rows[i];

		if (!is_used(row, role, sum) || is_summary(row))
			continue;
		s.tail += row->kind == IPERF3_TAIL;
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
