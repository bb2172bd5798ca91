// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/words.h"

/*
 *  1149.6250 MB /   1.00 sec = 9643.1556 Mbps     0 retrans
 *  3265.2500 MB /   3.00 sec = 9132.3525 Mbps 97 %TX 29 %RX 0 retrans 0.09 msRTT
 *    23.8359 MB /   2.00 sec =   99.9755 Mbps 99 %TX 1 %RX 0 / 3051 drop/pkt 0.00 %loss
 * megabytes=1841.0625 real_seconds=2.00 rate_Mbps=7721.5241 tx_cpu=97 rx_cpu=28 retrans=0
 * rtt_ms=0.09 nuttcp-r: 2662.7468 MB in 2.00 real seconds = 1363350.23 KB/sec = 11168.5651 Mbps
 *
 * MB and KB are of 2^20 and 2^10, Mbps of 10^6: they are checked against each other.
 */

struct nuttcp_data {
	bool ended; /* the whole test's row has been read */
	double t_s;
};

/* A row of any of the forms. */
struct nuttcp_row {
	struct scan_number megabytes, seconds, mbps;
	const char *tail;	/* what follows */
	const char *labels;	/* "direction=sent" of -v */
	bool whole, parse_form; /* of the whole test; key=value */
};

static const char *skip_title(const char *line)
{
	const char *s = scan_find(line, " MB / ");

	if (!s)
		return NULL;
	/* back over the number before: a title ("-I") may stand in front of it */
	while (s > line && s[-1] != ' ')
		s--;
	return s;
}

static bool find_verbose(const char *line)
{
	return strncmp(line, "nuttcp-", 7) == 0 && scan_find(line, " MB in ") &&
	       scan_find(line, " real seconds = ");
}

static enum import_kind nuttcp_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	const char *s = skip_title(l->s);

	(void)f;
	if ((s && scan_find(s, " sec = ")) || find_verbose(l->s))
		return IMPORT_ROW;
	if (scan_find(l->s, "megabytes=") && scan_find(l->s, "rate_Mbps="))
		return IMPORT_ROW;
	return strncmp(l->s, "nuttcp-", 7) == 0 ? IMPORT_CHATTER : IMPORT_FOREIGN;
}

static bool read_plain(const char *p, struct nuttcp_row *ret)
{
	const char *cpu;

	if (!scan_number(&p, &ret->megabytes) || !scan_text(&p, " MB / ") ||
	    !scan_number(&p, &ret->seconds) || !scan_text(&p, " sec = ") ||
	    !scan_number(&p, &ret->mbps) || !scan_text(&p, " Mbps"))
		return false;
	ret->tail = p;
	cpu = scan_find(p, "%TX");
	ret->whole = cpu != NULL;
	return !*p || *p == ' ';
}

static bool read_parsed(const char *s, struct nuttcp_row *ret)
{
	ret->parse_form = true;
	ret->whole = scan_find(s, "real_seconds=") != NULL;
	ret->tail = s;
	return word_after(s, "megabytes=", &ret->megabytes) &&
	       (word_after(s, "real_seconds=", &ret->seconds) ||
		word_after(s, "real_sec=", &ret->seconds)) &&
	       word_after(s, "rate_Mbps=", &ret->mbps);
}

static bool read_verbose(const char *p, struct nuttcp_row *ret)
{
	struct scan_number kb;

	ret->labels = strncmp(p, "nuttcp-t", 8) == 0 ? "direction=sent" : "direction=received";
	ret->whole = true;
	ret->tail = "";
	p = strchr(p, ':');
	if (!p)
		return false;
	p++;
	scan_space(&p);
	return scan_number(&p, &ret->megabytes) && scan_text(&p, " MB in ") &&
	       scan_number(&p, &ret->seconds) && scan_text(&p, " real seconds = ") &&
	       scan_number(&p, &kb) && scan_text(&p, " KB/sec = ") && scan_number(&p, &ret->mbps) &&
	       scan_text(&p, " Mbps");
}

/* Does the rate follow from the bytes and the time, as far as these are rounded? */
static bool rate_fits(const struct nuttcp_row *row)
{
	double bits = row->megabytes.value * 1048576 * 8 / 1e6;
	double low = row->seconds.value - 2 * row->seconds.half;
	double high = row->seconds.value + 2 * row->seconds.half;

	return low <= 0 || (row->mbps.value * low <= bits * 1.001 + 0.001 &&
			    row->mbps.value * high >= bits * 0.999 - 0.001);
}

/* "97 %TX", "0 retrans", "0 / 3051 drop/pkt", "0.09 msRTT": a number, then what it is of. */
static int add_tail(struct import_feed *f, const char *p)
{
	static const struct pair units[] = {
		{ "%TX", { "cpu.sent", "ratio", "", 0.01 } },
		{ "%RX", { "cpu.received", "ratio", "", 0.01 } },
		{ "retrans", { "retransmits", "count", "", 1, .exact = true, .key = true } },
		{ "msRTT", { "rtt", "ns", "", 1e6 } },
		{ "%loss", { "packets.loss", "ratio", "", 0.01, .key = true } },
	};
	struct scan_number last = {}, v;
	bool have = false;
	struct word w;
	int r = 0;

	while (r == 0 && word_next(&p, &w)) {
		if (word_number(w, "", &v)) {
			last = v;
			have = true;
			continue;
		}
		for (size_t i = 0; i < ARRAY_SIZE(units) && have && r == 0; i++)
			if (word_is(w, units[i].name))
				r = cell_add(f, &units[i].cell, &last);
		have = have && word_is(w, "/");
	}
	return r;
}

static int add_lost(struct import_feed *f, const char *p)
{
	static const struct cell lost = { "packets.lost", "count", "", 1, .exact = true };
	static const struct cell sent = { "packets.sent", "count", "", 1, .exact = true };
	const char *s = scan_find(p, " / ");
	struct scan_number a, b;
	const char *end;
	int r;

	if (!s || !scan_find(s, " drop/pkt"))
		return 0;
	end = s + 3;
	while (s > p && s[-1] != ' ')
		s--;
	if (!scan_number(&s, &a) || !scan_number(&end, &b))
		return 0;
	if (a.value > b.value)
		return import_note(f->run, f->run->last_line,
				   "more packets dropped than there were: neither is used");
	r = cell_add(f, &lost, &a);
	return r < 0 ? r : cell_add(f, &sent, &b);
}

static int add_parsed(struct import_feed *f, const char *s)
{
	static const struct pair pairs[] = {
		{ "tx_cpu=", { "cpu.sent", "ratio", "", 0.01 } },
		{ "rx_cpu=", { "cpu.received", "ratio", "", 0.01 } },
		{ "retrans=", { "retransmits", "count", "", 1, .exact = true, .key = true } },
		{ "rtt_ms=", { "rtt", "ns", "", 1e6 } },
		{ "data_loss=", { "packets.loss", "ratio", "", 0.01, .key = true } },
		{ "drop=", { "packets.lost", "count", "", 1, .exact = true } },
		{ "pkt=", { "packets.sent", "count", "", 1, .exact = true } },
	};
	int found = pairs_add(f, s, pairs, ARRAY_SIZE(pairs));

	return found < 0 ? found : 0;
}

static int add_interval(struct import_feed *f, const struct nuttcp_row *row, size_t line)
{
	struct nuttcp_data *d = f->run->data;
	struct import_point p = { .t_ns = word_ns(d->t_s),
				  .length_ns = (uint64_t)word_ns(row->seconds.value),
				  .v = row->mbps.value * 1e6,
				  .half = row->mbps.half * 1e6,
				  .line = line };
	struct scan_number again;
	int r = import_point_add(f->run, "throughput", "bit/s", "", &p);

	d->t_s += row->seconds.value;
	if (r == 0 && row->parse_form && word_after(row->tail, "retrans=", &again)) {
		p.v = again.value;
		p.half = 0;
		return import_point_add(f->run, "retransmits", "count", "", &p);
	}
	if (r == 0 && !row->parse_form && scan_find(row->tail, " retrans")) {
		const char *q = row->tail;

		scan_space(&q);
		if (scan_number(&q, &again) && scan_text(&q, " retrans")) {
			p.v = again.value;
			p.half = 0;
			r = import_point_add(f->run, "retransmits", "count", "", &p);
		}
	}
	return r;
}

static int add_whole(struct import_feed *f, const struct nuttcp_row *row)
{
	const char *labels = row->labels ? row->labels : "";
	const struct cell rate = { "throughput", "bit/s", labels, 1e6, .key = true };
	const struct cell bytes = { "bytes", "byte", labels, 1048576 };
	const struct cell time = { "duration", "ns", labels, 1e9 };
	struct nuttcp_data *d = f->run->data;
	int r = cell_add(f, &rate, &row->mbps);

	/* -v has a row of either side */
	d->ended = !row->labels || strcmp(row->labels, "direction=received") == 0;
	if (r == 0)
		r = cell_add(f, &bytes, &row->megabytes);
	if (r == 0)
		r = cell_add(f, &time, &row->seconds);
	if (r == 0)
		r = row->parse_form ? add_parsed(f, row->tail) : add_tail(f, row->tail);
	return r < 0 || row->parse_form ? r : add_lost(f, row->tail);
}

/* Does the line begin with what belongs behind a row, or behind a number at its end? */
static bool goes_on(const char *next)
{
	static const char *const words[] = { "retrans", "%TX",	  "%RX", "msRTT",    "Mbps",
					     "%loss",	"~%loss", "/",	 "drop/pkt", "~drop/pkt" };
	static const char *const keys[] = { "rate_Mbps=", "tx_cpu=",	"rx_cpu=", "retrans=",
					    "rtt_ms=",	  "data_loss=", "drop=",   "pkt=" };
	struct scan_number v;
	struct word w;

	if (!word_next(&next, &w) || (word_number(w, "", &v) && !word_next(&next, &w)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (word_is(w, words[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strncmp(w.s, keys[i], strlen(keys[i])) == 0)
			return true;
	return false;
}

static int read_row(struct import_feed *f, const struct import_line *l)
{
	const char *plain = skip_title(l->s);
	struct nuttcp_row row = {};
	bool is;
	int r = 0;

	if (find_verbose(l->s))
		is = read_verbose(l->s, &row);
	else if (plain)
		is = read_plain(plain, &row);
	else
		is = read_parsed(l->s, &row);
	if (!is)
		return import_bad(f, "not the fields of a row of nuttcp");
	if (row.mbps.value > 1e9)
		return import_bad(f, "a rate beyond any link's");
	if (!f->run || ((struct nuttcp_data *)f->run->data)->ended || *f->command)
		r = import_open_run(f, l->nr);
	if (r == 0 && !rate_fits(&row))
		r = import_note(f->run, l->nr, "the rate does not fit the bytes and the time");
	if (r < 0)
		return r;
	return row.whole ? add_whole(f, &row) : add_interval(f, &row, l->nr);
}

static int nuttcp_row(struct import_feed *f, const struct import_line *raw,
		      const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, true);

	return row_joined(f, &bare, next, goes_on(next->s), read_row);
}

static const char *const nuttcp_marks[] = { " MB / ", "nuttcp-", "rate_Mbps=", NULL };

const struct import_ops import_ops_nuttcp = {
	.name = "nuttcp",
	.marks = nuttcp_marks,
	.data_size = sizeof(struct nuttcp_data),
	.sniff = nuttcp_sniff,
	.row = nuttcp_row,
};
