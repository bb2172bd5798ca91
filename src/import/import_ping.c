// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/words.h"

/*
 * PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.
 * 64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.018 ms		iputils, BSD ("seq=0":
 * busybox) [1796078048.581001] 64 bytes from ...				-D 3 packets
 * transmitted, 3 received, +1 duplicates, 0% packet loss, time 408ms rtt min/avg/max/mdev =
 * 0.018/0.030/0.041/0.009 ms, ipg/ewma 0.008/0.002 ms round-trip min/avg/max[/stddev] =
 * 0.023/0.042/0.054[/0.012] ms	busybox, BSD
 *
 * Pinging 10.0.0.1 with 32 bytes of data:				Windows
 * Reply from 10.0.0.1: bytes=32 time<1ms TTL=64			... in its own language
 * Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),
 * Minimum = 0ms, Maximum = 3ms, Average = 1ms
 *
 * Times are round trips, so the metrics are rtt.*.
 */

struct ping_data {
	bool ended;	  /* its statistics have been seen */
	bool stamped;	  /* -D: the points have real times */
	int64_t first_us; /* ... of which this is the first */
	int64_t last_seq; /* -1: none */
	uint64_t below;	  /* Windows: "time<1ms" */
	uint64_t received, duplicates;
	double sent, time_ms; /* of the statistics; 0: not there */
};

static bool is_header(const char *line)
{
	return strncmp(line, "PING ", 5) == 0 && scan_find(line, "bytes");
}

static const char *find_reply(const char *line)
{
	const char *s = scan_find(line, " bytes from ");

	if (!s || s == line || !isdigit((unsigned char)s[-1]))
		return NULL;
	return scan_find(s, "seq=");
}

/* ---- Windows */

/* The number in front of "ms TTL=", and what stands before it: '=' or '<'; 0 when there is none. */
static char find_windows_reply(const char *line, struct scan_number *ret)
{
	const char *s = scan_find(line, "ms TTL="), *p;

	while (s && s > line && isdigit((unsigned char)s[-1]))
		s--;
	p = s;
	if (!s || s == line || (s[-1] != '=' && s[-1] != '<') || !scan_find(line, ": ") ||
	    !scan_number(&p, ret))
		return 0;
	return s[-1];
}

static bool is_windows_statistics(const char *line)
{
	return scan_find(line, "Packets: Sent = ") != NULL;
}

/* "Minimum = 0ms, Maximum = 3ms, Average = 1ms": the three, in any language. */
static bool read_windows_summary(const char *line, struct scan_number ret[3])
{
	const char *p = scan_find(line, "Min"), *s;

	if (!p)
		p = scan_find(line, "M\xc3\xadn");
	for (int i = 0; i < 3; i++) {
		p = p ? scan_find(p, " = ") : NULL;
		if (!p)
			return false;
		p += 3;
		if (!scan_number(&p, &ret[i]) || !scan_text(&p, "ms"))
			return false;
		s = p;
		if (i < 2 && !scan_text(&s, ", "))
			return false;
	}
	return true;
}

static bool is_windows_row(const char *line)
{
	struct scan_number v[3];

	return (strncmp(line, "Pinging ", 8) == 0 && scan_find(line, " bytes of data:")) ||
	       find_windows_reply(line, v) || is_windows_statistics(line) ||
	       read_windows_summary(line, v);
}

static bool is_statistics(const char *line)
{
	return scan_find(line, " packets transmitted, ") != NULL;
}

/* "rtt min/avg/max/mdev = ": what follows, and how many figures. */
static const char *find_summary(const char *line, size_t *ret_nr)
{
	static const struct {
		const char *head;
		size_t nr;
	} heads[] = { { "min/avg/max/mdev = ", 4 },
		      { "min/avg/max/stddev = ", 4 },
		      { "min/avg/max/std-dev = ", 4 },
		      { "min/avg/max = ", 3 } };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		const char *s = scan_find(line, heads[i].head);

		*ret_nr = heads[i].nr;
		if (s)
			return s + strlen(heads[i].head);
	}
	return NULL;
}

static bool is_trouble(const char *line)
{
	return scan_find(line, "Request timeout for icmp_seq") ||
	       scan_find(line, "no answer yet for icmp_seq=") ||
	       (scan_find(line, "From ") && scan_find(line, "icmp_seq="));
}

static enum import_kind ping_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	size_t nr;

	(void)f;
	if (is_header(l->s) || find_reply(l->s) || is_statistics(l->s) || find_summary(l->s, &nr) ||
	    is_windows_row(l->s))
		return IMPORT_ROW;
	if (is_trouble(l->s) || strcmp(l->s, "Request timed out.") == 0 ||
	    strncmp(l->s, "Ping statistics for ", 20) == 0 ||
	    strncmp(l->s, "Approximate round trip times", 28) == 0 ||
	    scan_find(l->s, " ping statistics ---"))
		return IMPORT_CHATTER;
	return IMPORT_FOREIGN;
}

static int open_ping(struct import_feed *f, size_t nr)
{
	int r = import_open_run(f, nr);

	if (r == 0)
		((struct ping_data *)f->run->data)->last_seq = -1;
	return r;
}

/* "[1796078048.581001] " before the row, in us. */
static bool read_stamp(const char *line, int64_t *ret_us)
{
	int64_t seconds, us;
	const char *p = line;

	if (!scan_text(&p, "[") || !scan_int(&p, 11, &seconds) || seconds < 0 ||
	    !scan_text(&p, ".") || !isdigit((unsigned char)*p) || !scan_int(&p, 6, &us) ||
	    !scan_text(&p, "] "))
		return false;
	*ret_us = seconds * 1000000 + us;
	return true;
}

/* What a reply is: its number and its time, of which the latter may be missing (small packets). */
struct reply {
	int64_t seq;
	struct scan_number rtt;
	double ns;
	bool has_time, duplicate;
};

static int read_reply(struct import_feed *f, const char *p, struct reply *ret)
{
	const char *time = scan_find(p, "time=");
	struct word unit;

	p += strlen("seq=");
	if (!scan_int(&p, 9, &ret->seq) || ret->seq < 0 || (*p != ' ' && *p))
		return import_bad(f, "a reply without its number");
	ret->duplicate = scan_find(p, "DUP!") != NULL;
	if (!time)
		return 0;
	time += strlen("time=");
	if (!scan_number(&time, &ret->rtt) || !word_next(&time, &unit))
		return import_bad(f, "the reply's time ends early");
	ret->ns = word_time_unit(unit);
	if (ret->ns <= 0)
		return import_bad(f, "the reply's time is in no unit that is known");
	ret->has_time = true;
	return 0;
}

static int add_reply(struct import_feed *f, const struct import_line *l, const struct reply *rep)
{
	struct import_point p = { .v = rep->rtt.value * rep->ns,
				  .half = rep->rtt.half * rep->ns,
				  .line = l->nr };
	struct ping_data *d = f->run ? f->run->data : NULL;
	int64_t stamp;
	int r;

	/* numbers begin anew: another ping, whose header is not here */
	if (!d || d->ended || (rep->seq <= d->last_seq && !rep->duplicate && f->text_between)) {
		r = open_ping(f, l->nr);
		if (r < 0)
			return r;
		d = f->run->data;
	}
	if (rep->duplicate) {
		d->duplicates++;
		return 0;
	}
	d->received++;
	if (read_stamp(l->s, &stamp)) {
		d->first_us = d->stamped ? d->first_us : stamp;
		d->stamped = true;
		p.t_ns = word_ns((double)(stamp - d->first_us) / 1e6);
	} else {
		p.t_ns = rep->seq; /* scaled in finish() */
	}
	d->last_seq = rep->seq;
	return rep->has_time ? import_point_add(f->run, "rtt", "ns", "", &p) : 0;
}

static int add_statistics(struct import_feed *f, const struct import_line *l)
{
	static const struct cell sent = { "packets.sent", "count", "", 1, .exact = true };
	static const struct cell received = { "packets.received", "count", "", 1, .exact = true };
	static const struct cell dups = { "packets.duplicate", "count", "", 1, .exact = true };
	static const struct cell errors = { "errors", "count", "", 1, .exact = true };
	struct cell loss = { "packets.loss", "ratio", "", 0.01, .key = true };
	const char *p = l->s, *percent = scan_find(l->s, "% packet loss");
	struct scan_number n = {}, got = {}, lost = {}, v = {};
	struct ping_data *d;
	int r = 0;

	if (!scan_number(&p, &n) || !scan_text(&p, " packets transmitted, ") ||
	    !scan_number(&p, &got))
		return import_bad(f, "the statistics end early");
	while (percent && percent > l->s &&
	       (isdigit((unsigned char)percent[-1]) || percent[-1] == '.'))
		percent--;
	if (!percent || !scan_number(&percent, &lost))
		return import_bad(f, "the statistics end before the loss");
	if (got.value > n.value)
		return import_bad(f, "more packets received than sent");
	if (lost.value > 100)
		return import_bad(f, "a loss beyond 100 %");
	d = f->run ? f->run->data : NULL;
	if (!d || d->ended)
		r = open_ping(f, l->nr);
	if (r < 0)
		return r;
	d = f->run->data;
	d->ended = true;
	d->sent = n.value;
	d->received = (uint64_t)got.value;
	if (word_after(l->s, ", time ", &v))
		d->time_ms = v.value;
	loss.n = (int64_t)n.value;
	r = cell_add(f, &sent, &n);
	if (r == 0)
		r = cell_add(f, &received, &got);
	if (r == 0 && n.value > 0)
		r = cell_add(f, &loss, &lost);
	if (r == 0 && word_after(l->s, "received, +", &v) && scan_find(l->s, " duplicates"))
		r = cell_add(f, &dups, &v);
	else if (r == 0 && word_after(l->s, "received, +", &v) && scan_find(l->s, " errors"))
		r = cell_add(f, &errors, &v);
	return r;
}

static int add_summary(struct import_feed *f, const struct import_line *l, const char *p, size_t nr)
{
	static const char *const names[] = { "rtt.min", "rtt.avg", "rtt.max", "rtt.mdev" };
	struct scan_number v[4] = {};
	struct word unit;
	double ns;
	int r = 0;

	for (size_t i = 0; i < nr; i++)
		if ((i && !scan_text(&p, "/")) || !scan_number(&p, &v[i]))
			return import_bad(f, "the summary of the times ends early");
	if (!word_next(&p, &unit))
		return import_bad(f, "the summary of the times has no unit");
	unit.len -= unit.s[unit.len - 1] == ',';
	ns = word_time_unit(unit);
	if (ns <= 0)
		return import_bad(f, "the summary of the times is in no unit that is known");
	if (v[0].value > v[2].value)
		return import_bad(f, "the smallest time is above the largest");
	if (!f->run)
		r = open_ping(f, l->nr);
	for (size_t i = 0; i < nr && r == 0; i++) {
		const struct ping_data *d = f->run->data;
		const struct cell cell = {
			names[i], "ns", "", ns, .key = i == 1 || i == 2, .n = (int64_t)d->received
		};

		r = cell_add(f, &cell, &v[i]);
	}
	return r;
}

/* Replies have no numbers: they are counted. */
static int add_windows_reply(struct import_feed *f, const struct import_line *l, char sign,
			     struct scan_number ms)
{
	struct ping_data *d = f->run ? f->run->data : NULL;
	struct reply rep = { .rtt = ms, .ns = 1e6, .has_time = true };
	int r = 0;

	if (!d || d->ended || f->text_between)
		r = open_ping(f, l->nr);
	if (r < 0)
		return r;
	d = f->run->data;
	rep.seq = d->last_seq + 1;
	if (sign == '<') {
		rep.rtt.value -= ms.half;
		d->below++;
	}
	return add_reply(f, l, &rep);
}

static int add_windows_statistics(struct import_feed *f, const struct import_line *l)
{
	static const struct cell sent = { "packets.sent", "count", "", 1, .exact = true };
	static const struct cell received = { "packets.received", "count", "", 1, .exact = true };
	struct scan_number n, got, lost;
	struct ping_data *d;
	int r = 0;

	if (!word_after(l->s, "Sent = ", &n) || !word_after(l->s, "Received = ", &got) ||
	    !word_after(l->s, "Lost = ", &lost))
		return import_bad(f, "the statistics end early");
	if (got.value > n.value || lost.value > n.value)
		return import_bad(f, "more packets received or lost than sent");
	d = f->run ? f->run->data : NULL;
	if (!d || d->ended)
		r = open_ping(f, l->nr);
	if (r < 0)
		return r;
	d = f->run->data;
	d->ended = true;
	d->received = (uint64_t)got.value;
	r = cell_add(f, &sent, &n);
	if (r == 0)
		r = cell_add(f, &received, &got);
	if (r == 0 && n.value > 0)
		r = import_figure_add(f->run, &(struct import_figure){ "packets.loss", "ratio", "",
								       lost.value / n.value, 0,
								       (int64_t)n.value, true });
	return r;
}

static int add_windows_summary(struct import_feed *f, const struct import_line *l,
			       const struct scan_number v[3])
{
	static const char *const names[] = { "rtt.min", "rtt.max", "rtt.avg" };
	int r = f->run ? 0 : open_ping(f, l->nr);

	if (v[0].value > v[1].value)
		return import_bad(f, "the smallest time is above the largest");
	for (int i = 0; i < 3 && r == 0; i++) {
		const struct ping_data *d = f->run->data;
		const struct cell cell = { names[i], "ns",	   "",
					   1e6,	     .key = i > 0, .n = (int64_t)d->received };

		r = cell_add(f, &cell, &v[i]);
	}
	if (f->run)
		((struct ping_data *)f->run->data)->ended = true;
	return r;
}

static int read_windows_row(struct import_feed *f, const struct import_line *l)
{
	struct scan_number v[3];
	char sign = find_windows_reply(l->s, v);

	if (sign)
		return add_windows_reply(f, l, sign, *v);
	if (is_windows_statistics(l->s))
		return add_windows_statistics(f, l);
	if (read_windows_summary(l->s, v))
		return add_windows_summary(f, l, v);
	return open_ping(f, l->nr);
}

static int read_row(struct import_feed *f, const struct import_line *l)
{
	const char *reply = find_reply(l->s), *summary;
	struct reply rep = {};
	size_t nr;
	int r;

	if (is_windows_row(l->s))
		return read_windows_row(f, l);
	if (is_header(l->s))
		return open_ping(f, l->nr);
	if (reply) {
		r = read_reply(f, reply, &rep);
		return r < 0 ? r : add_reply(f, l, &rep);
	}
	if (is_statistics(l->s))
		return add_statistics(f, l);
	summary = find_summary(l->s, &nr);
	return summary ? add_summary(f, l, summary, nr) : import_bad(f, "not a row of ping");
}

static int ping_row(struct import_feed *f, const struct import_line *raw,
		    const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, true);

	return row_joined(f, &bare, next, bare.len && bare.s[bare.len - 1] == ',', read_row);
}

/* Replies have numbers, no times: iputils says how long all took, else they stay at 0. */
static int ping_finish(struct import_run *run)
{
	const struct ping_data *d = run->data;
	double step = d->sent > 1 && d->time_ms > 0 ? d->time_ms * 1e6 / (d->sent - 1) : 0;
	int64_t first;
	int r = 0;

	if (d->duplicates)
		r = import_note(run, run->line,
				"%" PRIu64 " duplicate replies are not in the series",
				d->duplicates);
	if (r == 0 && d->below)
		r = import_note(run, run->line,
				"%" PRIu64 " time(s) below a millisecond are taken as half of one",
				d->below);
	if (!run->nr_series || d->stamped)
		return r;
	first = run->series[0].nr ? run->series[0].points[0].t_ns : 0;
	for (size_t i = 0; i < run->series[0].nr; i++) {
		struct import_point *p = &run->series[0].points[i];

		p->t_ns = word_ns((double)(p->t_ns - first) * step / 1e9);
	}
	return r;
}

static const char *const ping_marks[] = { "PING ",
					  " bytes from ",
					  " packets transmitted",
					  "min/avg/max",
					  "icmp_seq",
					  "ping statistics",
					  "ms TTL=",
					  "Pinging ",
					  "Packets: Sent = ",
					  "ms, M",
					  "Request timed out",
					  "Ping statistics for",
					  "Approximate round",
					  NULL };

const struct import_ops import_ops_ping = {
	.name = "ping",
	.marks = ping_marks,
	.data_size = sizeof(struct ping_data),
	.sniff = ping_sniff,
	.row = ping_row,
	.finish = ping_finish,
};
