// SPDX-License-Identifier: GPL-3.0-or-later
/* The tables, as iperf 3.12 prints them to the blank; what is of round trips is ours. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "sample/hist.h"
#include "traffic/args.h"
#include "traffic/address.h"
#include "traffic/out.h"
#include "traffic/view.h"

#define RULE "- - - - - - - - - - - - - - - - - - - - - - - - -"

static char unit_of(const struct view *v)
{
	if (v->args->format)
		return v->args->format;
	return 'a';
}

static void show_connection(struct view *v, int fd)
{
	struct address local, remote;

	if (fd < 0 || v->params->mode == WIRE_CRR)
		return; /* a new one each time */
	address_local(fd, &local);
	address_remote(fd, &remote);
	out_line(v->out, "[%3d] local %s port %u connected to %s port %u", fd, local.host,
		 local.port, remote.host, remote.port);
}

static void say_start(struct view *v)
{
	const struct wire_params *p = v->params;
	char end[48], what[64];

	if (view_is_rr(v))
		snprintf(what, sizeof(what), "%u byte requests, %u byte responses",
			 p->request_bytes, p->response_bytes);
	else
		snprintf(what, sizeof(what), "%zu byte blocks", p->length_bytes);
	if (p->bytes)
		snprintf(end, sizeof(end), "%llu bytes to send", (unsigned long long)p->bytes);
	else if (p->blocks)
		snprintf(end, sizeof(end), "%llu blocks to send", (unsigned long long)p->blocks);
	else
		snprintf(end, sizeof(end), "%u second test", p->time_s);
	out_line(v->out,
		 "Starting Test: protocol: %s, %u streams, %s, omitting %u seconds, "
		 "%s, tos %u",
		 p->udp ? "UDP" : "TCP", p->streams, what, p->omit_s, end, p->tos);
}

static void say_parameters(struct view *v)
{
	const struct wire_params *p = v->params;
	int mss = 0;
	socklen_t len = sizeof(mss);

	out_line(v->out, "      Cookie: %s", v->cookie ? v->cookie : "");
	if (!p->udp && p->mss_bytes)
		out_line(v->out, "      TCP MSS: %u", p->mss_bytes);
	else if (!p->udp && getsockopt(v->side[0].fd[0], IPPROTO_TCP, TCP_MAXSEG, &mss, &len) == 0)
		out_line(v->out, "      TCP MSS: %d (default)", mss);
	if (p->rate_bps)
		out_line(v->out, "      Target Bitrate: %llu", (unsigned long long)p->rate_bps);
}

void text_began(struct view *v)
{
	if (v->args->verbose && v->who == 'C')
		say_parameters(v);
	for (unsigned int k = 0; k < v->nr_sides; k++)
		for (unsigned int i = 0; i < v->side[k].nr; i++)
			show_connection(v, v->side[k].fd[i]);
	if (v->args->verbose)
		say_start(v);
}

static const char *title_of(const struct view *v, bool summary)
{
	bool sends = v->side[0].sender || v->params->bidir;

	if (view_is_flood(v) && !summary)
		return sends && !v->params->bidir ? "         Datagrams"
						  : "         Datagrams       Lost/Total";
	if (v->params->udp)
		return !summary && v->side[0].sender && !v->params->bidir
			       ? "         Total Datagrams"
			       : "         Jitter    Lost/Total Datagrams";
	if (!sends && (v->who == 'S' || !summary))
		return "";
	return summary ? "         Retr" : "         Retr  Cwnd";
}

static void rr_title(struct view *v)
{
	out_line(v->out, "[ ID] Interval           Round trips  Rate            p50       p99     "
			 "p99.9       max  (us)");
}

/* Before the first interval the head, before every other a rule when there are several rows. */
void text_header(struct view *v)
{
	if (v->nr_intervals > 0) {
		if (v->params->streams > 1)
			out_line(v->out, RULE);
		return;
	}
	if (view_is_rr(v) && v->who == 'C')
		rr_title(v);
	else
		out_line(v->out, "[ ID]%s Interval           Transfer     Bitrate%s",
			 v->params->bidir ? "[Role]" : "", title_of(v, false));
}

static const char *role_of(const struct view *v, unsigned int side, char ret[8])
{
	ret[0] = '\0';
	if (v->params->bidir)
		snprintf(ret, 8, "[%s-%c]", v->side[side].sender ? "TX" : "RX", v->who);
	return ret;
}

/* "[  5][TX-C]   0.00-1.00   sec  1.25 MBytes  10.5 Mbits/sec" */
static void head_of(const struct view *v, unsigned int side, const char *id,
		    const struct view_row *r, char ret[128])
{
	char role[8], bytes[32], rate[32];

	snprintf(ret, 128, "[%3s]%s %6.2f-%-6.2f sec  %s  %s/sec", id, role_of(v, side, role),
		 r->start_s, r->end_s, out_unit(bytes, (double)r->bytes, 'A'),
		 out_unit(rate, view_bps(r) / 8, unit_of(v)));
}

static void udp_tail(const struct view_row *r, char ret[80])
{
	snprintf(ret, 80, "%5.3f ms  %lld/%llu (%.2g%%)", r->jitter_s * 1e3, (long long)r->lost,
		 (unsigned long long)r->packets, view_lost_percent(r));
}

/* "  543210/sec", and at a receiver what was lost. */
static void flood_tail(const struct view_row *r, char ret[80])
{
	int n = snprintf(ret, 80, "%10.0f/sec", view_pps(r));

	if (!r->sender)
		snprintf(ret + n, 80 - (size_t)n, "  %lld/%llu (%.2g%%)", (long long)r->lost,
			 (unsigned long long)r->packets, view_lost_percent(r));
}

static void interval_row(struct view *v, unsigned int side, const char *id,
			 const struct view_row *r)
{
	const char *omitted = r->omitted ? "(omitted)" : "";
	char head[128], tail[80];

	head_of(v, side, id, r, head);
	if (view_is_flood(v)) {
		flood_tail(r, tail);
		out_line(v->out, "%s  %s%s%s", head, tail, *omitted ? "  " : "", omitted);
	} else if (v->params->udp && r->sender) {
		out_line(v->out, "%s %s %llu  %s", head, v->params->bidir ? "          " : "",
			 (unsigned long long)r->packets, omitted);
	} else if (v->params->udp) {
		udp_tail(r, tail);
		out_line(v->out, "%s  %s  %s", head, tail, omitted);
	} else if (r->retransmits == WIRE_UNKNOWN) {
		out_line(v->out, "%s                  %s", head, omitted);
	} else if (strcmp(id, "SUM") == 0) {
		out_line(v->out, "%s  %3lld             %s", head, (long long)r->retransmits,
			 omitted);
	} else {
		out_line(v->out, "%s  %3lld   %s       %s", head, (long long)r->retransmits,
			 out_unit(tail, (double)r->cwnd_bytes, 'A'), omitted);
	}
}

static void quantiles(const struct hist *h, char ret[80])
{
	static const double qs[] = { 0.5, 0.99, 0.999 };
	size_t used = 0;

	if (h->total == 0) {
		snprintf(ret, 80, "%9s %9s %9s %9s", "-", "-", "-", "-");
		return;
	}
	for (size_t i = 0; i < 3; i++) {
		uint64_t ns = 0;

		hist_quantile(h, qs[i], &ns);
		used += (size_t)snprintf(ret + used, 80 - used, "%9.1f ", (double)ns / 1e3);
	}
	snprintf(ret + used, 80 - used, "%9.1f", (double)h->max / 1e3);
}

/* What stands in the brackets of round trips: rows are of all streams together. */
static const char *rr_id(const struct view *v, char ret[12])
{
	const struct view_side *s = &v->side[0];

	if (s->nr > 1)
		return "SUM";
	if (v->params->mode == WIRE_CRR)
		return "crr";
	snprintf(ret, 12, "%3d", s->fd[0]);
	return ret;
}

static void rr_row(struct view *v, const struct view_row *r, const struct hist *h)
{
	double s = r->end_s - r->start_s;
	char q[80], id[12];

	quantiles(h, q);
	out_line(v->out, "[%3s] %6.2f-%-6.2f sec  %11llu  %8.0f/sec %s%s", rr_id(v, id), r->start_s,
		 r->end_s, (unsigned long long)r->packets, s > 0 ? (double)r->packets / s : 0, q,
		 r->omitted ? "  (omitted)" : "");
}

void text_interval(struct view *v, unsigned int side, const struct view_row *rows,
		   const struct view_row *sum)
{
	const struct view_side *s = &v->side[side];

	/* the distribution is of all streams together: rows of single ones would claim more */
	if (s->interval) {
		rr_row(v, sum, s->interval);
		return;
	}
	for (unsigned int i = 0; i < s->nr; i++) {
		char id[12];

		snprintf(id, sizeof(id), "%3d", s->fd[i]);
		interval_row(v, side, id, &rows[i]);
	}
	if (s->nr > 1)
		interval_row(v, side, "SUM", sum);
}

/* Bytes of round trips went both ways: neither end's are a receiver's. */
static const char *role_of_end(const struct view *v, bool of_sender)
{
	if (view_is_rr(v))
		return "requests and responses";
	return of_sender ? "sender" : "receiver";
}

static void total_row(struct view *v, unsigned int side, const char *id, const struct view_row *r,
		      bool of_sender)
{
	const char *role = role_of_end(v, of_sender);
	char head[128], tail[80];

	head_of(v, side, id, r, head);
	if (v->params->udp) {
		udp_tail(r, tail);
		out_line(v->out, "%s  %s  %s", head, tail, role);
	} else if (of_sender && r->retransmits != WIRE_UNKNOWN) {
		out_line(v->out, "%s  %3lld             %s", head, (long long)r->retransmits, role);
	} else {
		out_line(v->out, "%s                  %s", head, role);
	}
}

/* Stream @i, or with @i = nr the sum, as both ends saw it; a server knows its own end. */
static void totals_of(struct view *v, unsigned int side, unsigned int i, const struct view_end *end)
{
	const struct view_side *s = &v->side[side];
	char id[12] = "SUM";

	if (i < s->nr)
		snprintf(id, sizeof(id), "%3d", s->fd[i]);
	for (int k = 0; k < 2; k++) {
		bool of_sender = k == 0, own = of_sender == s->sender;
		const struct wire_results *res = own ? end->mine : end->theirs;
		struct view_row r;

		if (v->who == 'S' && !own)
			continue;
		if (i < s->nr ? view_total(v, side, i, res, of_sender, &r)
			      : view_sum(v, side, res, of_sender, &r))
			total_row(v, side, id, &r, of_sender);
		else
			out_line(v->out, "[%3s] (%s statistics not available)", id,
				 of_sender ? "sender" : "receiver");
	}
}

static void say_cpu(struct view *v, const struct view_end *end)
{
	const struct wire_results *m = end->mine, *t = end->theirs;
	bool sends = v->side[0].sender, rr = view_is_rr(v);

	out_line(v->out,
		 "CPU Utilization: local/%s %.1f%% (%.1f%%u/%.1f%%s), remote/%s %.1f%% "
		 "(%.1f%%u/%.1f%%s)",
		 rr	 ? "client"
		 : sends ? "sender"
			 : "receiver",
		 m->cpu_total, m->cpu_user, m->cpu_system,
		 rr	 ? "server"
		 : sends ? "receiver"
			 : "sender",
		 t ? t->cpu_total : 0, t ? t->cpu_user : 0, t ? t->cpu_system : 0);
	/* of connections that are closed by now an end may not know it */
	if (v->params->udp || v->params->mode == WIRE_CRR)
		return;
	out_line(v->out, "snd_tcp_congestion %s", sends ? m->congestion : t ? t->congestion : "");
	out_line(v->out, "rcv_tcp_congestion %s", sends ? t ? t->congestion : "" : m->congestion);
}

static void rr_total(struct view *v, const struct view_end *end)
{
	const struct view_side *s = &v->side[0];
	const struct hist *h = s->whole;
	struct view_row sum = {};
	char q[80], id[12];
	double seconds;
	int64_t lost;

	if (!view_sum(v, 0, end->mine, true, &sum))
		return;
	seconds = sum.end_s - sum.start_s;
	out_line(v->out, "[ ID] Interval           Round trips  Rate            p50       p99     "
			 "p99.9       max       min      mean  (us)");
	quantiles(h, q);
	out_line(v->out, "[%3s] %6.2f-%-6.2f sec  %11llu  %8.0f/sec %s %9.1f %9.1f  %s",
		 rr_id(v, id), sum.start_s, sum.end_s, (unsigned long long)h->total,
		 seconds > 0 ? (double)h->total / seconds : 0, q,
		 h->total ? (double)h->min / 1e3 : 0,
		 h->total ? h->sum / (double)h->total / 1e3 : 0,
		 v->params->mode == WIRE_CRR ? "connections" : "round trips");
	lost = view_rr_lost(v);
	if (lost > 0 || v->params->udp)
		out_line(v->out, "lost: %lld of %lld requests", (long long)lost,
			 (long long)h->total + (long long)lost);
}

/* Datagrams a second, what a flood is about and iperf3's layout has no room for. */
static void say_packets(struct view *v, unsigned int side, const struct view_end *end)
{
	bool sends = v->side[side].sender;
	const struct wire_results *from = sends ? end->mine : end->theirs;
	const struct wire_results *to = sends ? end->theirs : end->mine;
	char sent[32] = "unknown", received[32] = "unknown", role[8];
	struct view_row r;

	if (view_sum(v, side, from, true, &r))
		snprintf(sent, sizeof(sent), "%.0f", view_pps(&r));
	if (view_sum(v, side, to, false, &r))
		snprintf(received, sizeof(received), "%.0f", view_pps(&r));
	role_of(v, side, role);
	out_line(v->out, "%s%sDatagrams per second: %s sent, %s received", role, *role ? " " : "",
		 sent, received);
}

static void bulk_totals(struct view *v, const struct view_end *end)
{
	out_line(v->out, "[ ID]%s Interval           Transfer     Bitrate%s",
		 v->params->bidir ? "[Role]" : "",
		 v->who == 'C' && !v->params->udp ? "         Retr" : title_of(v, true));
	for (unsigned int k = 0; k < v->nr_sides; k++) {
		for (unsigned int i = 0; i < v->side[k].nr; i++)
			totals_of(v, k, i, end);
		if (v->side[k].nr > 1)
			totals_of(v, k, v->side[k].nr, end);
	}
	if (view_is_flood(v))
		for (unsigned int k = 0; k < v->nr_sides; k++)
			say_packets(v, k, end);
}

void text_ended(struct view *v, const struct view_end *end)
{
	out_line(v->out, RULE);
	if (v->args->verbose)
		out_line(v->out, "Test Complete. Summary Results:");
	if (view_is_rr(v) && v->who == 'C')
		rr_total(v, end);
	else
		bulk_totals(v, end);
	if (v->args->verbose && v->who == 'C')
		say_cpu(v, end);
}
