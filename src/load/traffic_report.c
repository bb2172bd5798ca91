// SPDX-License-Identifier: GPL-3.0-or-later
/* What the loads of the traffic engine say of a window. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "load/traffic_load.h"
#include "sample/hist.h"
#include "sample/sample.h"

#define ENOUGH 0.99 /* of the asked rate */

/* One drain: the first failure sticks. */
struct report {
	const struct load *l;
	struct sample_sink *out;
	struct err *e;
	int r;
};

static void emit(struct report *m, const char *name, struct record *rec)
{
	_cleanup_(buf_release) struct buf full = {};

	if (m->r < 0)
		return;
	buf_printf(&full, "%s.%s", m->l->name, name);
	if (full.failed) {
		m->r = err_nomem(m->e, name);
		return;
	}
	rec->metric = buf_str(&full);
	m->r = m->out->emit(m->out, rec, m->e);
}

static void scalar(struct report *m, const char *name, const char *unit, double v)
{
	struct record rec = { .kind = RECORD_SCALAR, .unit = unit, .labels = "", .value = v };

	emit(m, name, &rec);
}

__attribute__((format(printf, 4, 5))) static void
event(struct report *m, const char *name, enum severity severity, const char *fmt, ...)
{
	const struct load *l = m->l;
	unsigned int k = l->end[CLIENT_TX].t_ns ? CLIENT_TX : CLIENT_RX;
	char text[256];
	struct record rec = { .kind = RECORD_EVENT,
			      .unit = "",
			      .labels = "",
			      .severity = severity,
			      .t_ns = (int64_t)(l->end[k].t_ns - l->begin_ns),
			      .text = text };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	emit(m, name, &rec);
}

static struct flow *side_of(const struct load *l, unsigned int side)
{
	return client_flow(l->client, (enum client_side)side);
}

static bool is_udp(const struct load *l)
{
	return l->client_cfg.params.udp;
}

/* Payload bytes between two readings that count: received, or confirmed by the peer. */
static uint64_t bytes_of(const struct load *l, unsigned int side, const struct flow_count *from,
			 const struct flow_count *to)
{
	if (side == CLIENT_RX || is_udp(l))
		return to->bytes - from->bytes;
	return to->acked_bytes - from->acked_bytes;
}

static double per_s(uint64_t n, const struct flow_count *from, const struct flow_count *to)
{
	return to->t_ns > from->t_ns ? (double)n * 1e9 / (double)(to->t_ns - from->t_ns) : 0;
}

static double rate_of(const struct load *l, unsigned int side, const struct flow_count *from,
		      const struct flow_count *to)
{
	return 8 * per_s(bytes_of(l, side, from, to), from, to);
}

/* A series: a number of every sample but the first, from it and the one before. */
struct column {
	const char *name, *unit;
	double (*value)(const struct load *l, unsigned int side, const struct flow_count *s);
};

static double throughput(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return rate_of(l, side, s - 1, s);
}

static double retransmits(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return (double)(s->retransmits - (s - 1)->retransmits);
}

static double cwnd(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return (double)s->cwnd_bytes;
}

static double rtt(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return (double)s->rtt_ns;
}

static double rttvar(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return (double)s->rttvar_ns;
}

static double delivery(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return (double)s->delivery_bps;
}

static double packets(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return per_s(s->packets - (s - 1)->packets, s - 1, s);
}

static double lost(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return (double)(s->lost - (s - 1)->lost);
}

static double jitter(const struct load *l, unsigned int side, const struct flow_count *s)
{
	return (double)s->jitter_ns;
}

static const struct column received_tcp[] = { { "throughput", "bit/s", throughput }, {} };
static const struct column sent_tcp[] = { { "throughput", "bit/s", throughput },
					  { "retransmits", "count", retransmits },
					  { "cwnd", "byte", cwnd },
					  { "rtt", "ns", rtt },
					  { "rttvar", "ns", rttvar },
					  { "delivery-rate", "bit/s", delivery },
					  {} };
static const struct column sent_udp[] = { { "throughput", "bit/s", throughput },
					  { "packets", "1/s", packets },
					  {} };
static const struct column received_udp[] = { { "throughput", "bit/s", throughput },
					      { "packets", "1/s", packets },
					      { "lost", "count", lost },
					      { "jitter", "ns", jitter },
					      {} };
static const struct column round_trips[] = { { "rate", "1/s", packets },
					     { "lost", "count", lost },
					     {} };

static const struct column *columns_of(const struct load *l, unsigned int side)
{
	if (l->kind->mode != WIRE_BULK)
		return round_trips;
	if (is_udp(l))
		return side == CLIENT_TX ? sent_udp : received_udp;
	return side == CLIENT_TX ? sent_tcp : received_tcp;
}

/* Of a load both ways the series say which way. */
static const char *labels_of(const struct load *l, unsigned int side)
{
	if (!l->client_cfg.params.bidir)
		return "";
	return side == CLIENT_TX ? "direction=from-dut" : "direction=to-dut";
}

/* Each point stands at the end of the interval it is of, or at its moment. */
static void series(struct report *m, unsigned int side)
{
	size_t nr = 0, missed = 0;
	const struct flow_count *s =
		client_samples(m->l->client, (enum client_side)side, &nr, &missed);
	_cleanup_(freep) struct point *points = calloc(nr + 1, sizeof(*points));

	if (!points) {
		m->r = m->r < 0 ? m->r : err_nomem(m->e, "series of a load");
		return;
	}
	for (const struct column *c = columns_of(m->l, side); m->r >= 0 && c->name; c++) {
		struct record rec = { .kind = RECORD_SERIES,
				      .unit = c->unit,
				      .labels = labels_of(m->l, side),
				      .points = points };

		for (size_t i = 1; i < nr; i++)
			points[rec.nr_points++] =
				(struct point){ .t_ns = (int64_t)(s[i].t_ns - m->l->begin_ns),
						.v = c->value(m->l, side, &s[i]) };
		emit(m, c->name, &rec);
	}
	if (missed)
		event(m, "throughput", SEVERITY_WARN,
		      "the last %zu points of the series found no room", missed);
}

/* Samples of the window in which retransmits grew after one in which they did not. */
static void loss_episodes(struct report *m)
{
	const struct load *l = m->l;
	size_t nr = 0, missed = 0;
	const struct flow_count *s = client_samples(l->client, CLIENT_TX, &nr, &missed);
	bool losing = false;
	unsigned int episodes = 0;

	for (size_t i = 1; i < nr; i++) {
		bool grew = s[i].retransmits > s[i - 1].retransmits;

		if (grew && !losing && s[i].t_ns > l->begin[CLIENT_TX].t_ns &&
		    s[i - 1].t_ns < l->end[CLIENT_TX].t_ns)
			episodes++;
		losing = grew;
	}
	scalar(m, "loss-episodes", "count", episodes);
}

/* Streams in the results of either end, those of the client's sending side first. */
static const struct wire_stream *streams_of(const struct load *l, const struct wire_results *res,
					    unsigned int side)
{
	unsigned int first =
		l->client_cfg.params.bidir && side == CLIENT_RX ? (unsigned int)l->cfg.streams : 0;

	return res && res->nr >= first + l->cfg.streams ? &res->streams[first] : NULL;
}

/* In the window when this machine sends; what the peer sent again is known of the whole test. */
static void tcp_retransmits(struct report *m)
{
	const struct load *l = m->l;
	const struct wire_stream *theirs;
	double v = 0;

	if (side_of(l, CLIENT_TX)) {
		scalar(m, "retransmits", "count",
		       (double)(l->end[CLIENT_TX].retransmits - l->begin[CLIENT_TX].retransmits));
		loss_episodes(m);
		return;
	}
	theirs = streams_of(l, client_theirs(l->client), CLIENT_RX);
	for (uint64_t i = 0; theirs && i < l->cfg.streams; i++) {
		if (theirs[i].retransmits == WIRE_UNKNOWN)
			return;
		v += (double)theirs[i].retransmits;
	}
	if (theirs)
		scalar(m, "retransmits", "count", v);
}

static void loss(struct report *m, double lost_packets, double all)
{
	double ratio = all > 0 ? lost_packets / all : 0;

	scalar(m, "loss", "ratio", ratio < 0 ? 0 : ratio > 1 ? 1 : ratio);
}

/* In the window when this machine receives; of what it sends the peer knows the whole test. */
static void udp_loss(struct report *m)
{
	const struct load *l = m->l;
	const struct flow_count *from = &l->begin[CLIENT_RX], *to = &l->end[CLIENT_RX];
	const struct wire_stream *theirs;
	double missing = 0, all = 0;

	if (side_of(l, CLIENT_RX)) {
		scalar(m, "packets", "1/s", per_s(to->received - from->received, from, to));
		loss(m, (double)(to->lost - from->lost), (double)(to->packets - from->packets));
		scalar(m, "jitter", "ns", (double)to->jitter_ns);
		scalar(m, "out-of-order", "count", (double)(to->out_of_order - from->out_of_order));
		return;
	}
	from = &l->begin[CLIENT_TX];
	to = &l->end[CLIENT_TX];
	scalar(m, "packets", "1/s", per_s(to->packets - from->packets, from, to));
	theirs = streams_of(l, client_theirs(l->client), CLIENT_TX);
	for (uint64_t i = 0; theirs && i < l->cfg.streams; i++) {
		missing += (double)theirs[i].errors;
		all += (double)theirs[i].packets;
	}
	if (theirs)
		loss(m, missing, all);
}

/* A comparison at equal work needs equal work. */
static void offered_share(struct report *m, unsigned int side, double rate)
{
	const struct load *l = m->l;
	const struct wire_params *p = &l->client_cfg.params;
	double asked = (double)(p->rate_bps * p->streams); /* whole bits, as the wire has it */
	double ns = (double)(l->end[side].t_ns - l->begin[side].t_ns);
	/* whether a block comes before or after the window's end says nothing about the rate */
	double edge = (double)(p->streams * client_params(l->client)->length_bytes) * 8e9 / ns;
	_cleanup_(buf_release) struct buf text = {};

	if (p->rate_bps == 0 || ns <= 0)
		return;
	if (side == CLIENT_RX || !p->bidir)
		scalar(m, "offered-share", "ratio", rate / asked);
	if (rate + edge >= ENOUGH * asked)
		return;
	buf_puts(&text, side == CLIENT_RX ? "peer" : "this machine");
	buf_puts(&text, " sent less than asked: ");
	text_si(&text, rate, "bit/s");
	buf_puts(&text, " of ");
	text_si(&text, asked, "bit/s");
	event(m, "offered-share", SEVERITY_WARN, "%s", buf_str(&text));
}

static void report_bulk(struct report *m)
{
	const struct load *l = m->l;
	double all = 0, rate[CLIENT_SIDES] = {};

	for (unsigned int k = 0; k < CLIENT_SIDES; k++) {
		if (!side_of(l, k))
			continue;
		rate[k] = rate_of(l, k, &l->begin[k], &l->end[k]);
		all += rate[k];
	}
	/* belongs to no instance */
	if (m->r >= 0)
		m->r = sample_scalar(m->out, "throughput", "bit/s", "", all, m->e);
	if (l->client_cfg.params.bidir) {
		scalar(m, "throughput-to-dut", "bit/s", rate[CLIENT_RX]);
		scalar(m, "throughput-from-dut", "bit/s", rate[CLIENT_TX]);
	}
	if (is_udp(l))
		udp_loss(m);
	else
		tcp_retransmits(m);
	for (unsigned int k = 0; k < CLIENT_SIDES; k++)
		if (side_of(l, k))
			offered_share(m, k, rate[k]);
}

/*
 * A quantile is given when ten of the round trips lie above it, N (1 - q) >= 10: below that it is
 * noise.
 */
static void quantile(struct report *m, const struct hist *h, const char *name, double q)
{
	uint64_t v = 0;
	double needs = 10 / (1 - q);

	if ((double)h->total >= needs - 0.5 && hist_quantile(h, q, &v) == 0)
		scalar(m, name, "ns", (double)v);
	else
		event(m, name, SEVERITY_NOTE,
		      "left out: %" PRIu64 " round trips in the window, %.0f needed", h->total,
		      needs);
}

static void report_round_trips(struct report *m)
{
	const struct load *l = m->l;
	const struct flow_count *from = &l->begin[CLIENT_TX], *to = &l->end[CLIENT_TX];
	_cleanup_(hist_freep) struct hist *all = hist_new();
	double missing = (double)(to->lost - from->lost), n;

	if (!all) {
		m->r = err_nomem(m->e, "histogram of the round trips");
		return;
	}
	for (uint64_t i = 0; i < l->cfg.streams; i++) {
		char labels[32];
		struct record rec = {
			.kind = RECORD_HIST, .unit = "ns", .labels = labels, .hist = l->hist[i]
		};

		snprintf(labels, sizeof(labels), "stream=%" PRIu64, i);
		if (l->hist[i]->total)
			emit(m, "latency", &rec);
		hist_merge(all, l->hist[i]);
	}
	n = (double)all->total;
	scalar(m, "n", "count", n);
	scalar(m, "rate", "1/s", per_s(all->total, from, to));
	scalar(m, "lost", "count", missing);
	scalar(m, "loss", "ratio", n + missing > 0 ? missing / (n + missing) : 0);
	if (all->total == 0) {
		event(m, "n", SEVERITY_WARN, "no round trip was measured");
		return;
	}
	scalar(m, "min", "ns", (double)all->min);
	scalar(m, "avg", "ns", all->sum / n);
	scalar(m, "max", "ns", (double)all->max);
	quantile(m, all, "p50", 0.5);
	quantile(m, all, "p99", 0.99);
	quantile(m, all, "p999", 0.999);
}

/* Which queue got a flow decides much: it is known from the CPU that took its packets. */
static void say_cpus(struct report *m)
{
	const struct load *l = m->l;
	_cleanup_(buf_release) struct buf text = {};

	for (unsigned int k = 0; k < CLIENT_SIDES; k++)
		for (unsigned int i = 0; side_of(l, k) && i < side_of(l, k)->nr; i++)
			if (l->cpu[k][i] >= 0)
				buf_printf(&text, "%s%d", text.len ? "," : "", l->cpu[k][i]);
	if (text.len && !text.failed)
		event(m, "rx-cpu", SEVERITY_NOTE, "packets of the streams came on CPU %.200s",
		      buf_str(&text));
	if (l->port_moved)
		event(m, "local-port", SEVERITY_NOTE,
		      "local ports from %" PRIu64 " were taken, those from %u were used: RSS may "
		      "pick other queues than in other trials",
		      l->cfg.local_port, l->client_cfg.local_port);
}

int traffic_report(const struct load *l, struct sample_sink *out, struct err *e)
{
	struct report m = { .l = l, .out = out, .e = e };

	if (l->kind->mode == WIRE_BULK)
		report_bulk(&m);
	else
		report_round_trips(&m);
	for (unsigned int k = 0; k < CLIENT_SIDES; k++)
		if (side_of(l, k))
			series(&m, k);
	say_cpus(&m);
	return m.r;
}
