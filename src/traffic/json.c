// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The JSON document with iperf3's keys (those of 3.12 to 3.21 together) and ours beside them:
 * t_ns, delivery_bps, packets_per_second, loss_episodes, incoming_cpu, undelivered_packets, rr.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "sample/hist.h"
#include "traffic/args.h"
#include "traffic/address.h"
#include "traffic/out.h"
#include "traffic/view.h"

static void put_int(struct json_object *o, const char *key, int64_t v)
{
	json_object_object_add(o, key, json_object_new_int64(v));
}

static void put_uint(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

/* No nan, no inf: JSON has none. */
static void put_double(struct json_object *o, const char *key, double v)
{
	json_object_object_add(o, key, json_object_new_double(isfinite(v) ? v : 0));
}

static void put_bool(struct json_object *o, const char *key, bool v)
{
	json_object_object_add(o, key, json_object_new_boolean(v));
}

static void put_text(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

void json_event(struct view *v, const char *name, struct json_object *data)
{
	struct json_object *o;

	if (!v->args->json_stream) {
		json_object_put(data);
		return;
	}
	o = json_object_new_object();
	put_text(o, "event", name);
	if (v->nr)
		put_uint(o, "test", v->nr);
	json_object_object_add(o, "data", data);
	fprintf(v->out->f, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
	out_flush(v->out);
}

static struct json_object *connection(int fd)
{
	struct json_object *o = json_object_new_object();
	struct address local, remote;

	address_local(fd, &local);
	address_remote(fd, &remote);
	put_int(o, "socket", fd);
	put_text(o, "local_host", local.host);
	put_int(o, "local_port", local.port);
	put_text(o, "remote_host", remote.host);
	put_int(o, "remote_port", remote.port);
	return o;
}

static struct json_object *timestamp(void)
{
	struct json_object *o = json_object_new_object();
	uint64_t ms = clock_wall_ns() / NS_PER_MS;
	time_t now = (time_t)(ms / 1000);
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	put_text(o, "time", text);
	put_int(o, "timesecs", now);
	put_uint(o, "timemillisecs", ms);
	return o;
}

static const char *mode_name(enum wire_mode m)
{
	switch (m) {
	case WIRE_BULK:
		break;
	case WIRE_RR:
		return "rr";
	case WIRE_CRR:
		return "crr";
	}
	return "bulk";
}

static struct json_object *test_start(const struct view *v)
{
	struct json_object *o = json_object_new_object();
	const struct wire_params *p = v->params;

	put_text(o, "protocol", p->udp ? "UDP" : "TCP");
	put_uint(o, "num_streams", p->streams);
	put_uint(o, "blksize", view_is_rr(v) ? p->request_bytes : p->length_bytes);
	put_uint(o, "omit", p->omit_s);
	put_uint(o, "duration", p->time_s);
	put_uint(o, "bytes", p->bytes);
	put_uint(o, "blocks", p->blocks);
	put_int(o, "reverse", p->reverse);
	put_uint(o, "tos", p->tos);
	put_uint(o, "target_bitrate", p->rate_bps);
	put_int(o, "bidir", p->bidir);
	put_int(o, "fqrate", 0);
	put_double(o, "interval", v->interval_s);
	put_int(o, "gso", p->gsro);
	put_int(o, "gro", p->gsro);
	if (p->mode == WIRE_BULK)
		return o;
	put_text(o, "mode", mode_name(p->mode));
	put_uint(o, "rr_per_s", p->rr_per_s);
	put_uint(o, "request_bytes", p->request_bytes);
	put_uint(o, "response_bytes", p->response_bytes);
	put_text(o, "arrivals", p->arrivals == WIRE_POISSON ? "poisson" : "even");
	put_uint(o, "seed", p->seed);
	return o;
}

static int64_t option_of(int fd, int level, int name)
{
	int v = 0;
	socklen_t len = sizeof(v);

	return getsockopt(fd, level, name, &v, &len) == 0 ? v : 0;
}

static void put_sockets(struct json_object *o, const struct view *v)
{
	const struct wire_params *p = v->params;
	int fd = v->nr_sides ? v->side[0].fd[0] : -1;

	if (!p->udp && p->mss_bytes)
		put_uint(o, "tcp_mss", p->mss_bytes);
	else if (!p->udp)
		put_int(o, "tcp_mss_default", option_of(fd, IPPROTO_TCP, TCP_MAXSEG));
	put_uint(o, "target_bitrate", p->rate_bps);
	put_int(o, "fq_rate", 0);
	put_uint(o, "sock_bufsize", p->window_bytes);
	put_int(o, "sndbuf_actual", option_of(fd, SOL_SOCKET, SO_SNDBUF));
	put_int(o, "rcvbuf_actual", option_of(fd, SOL_SOCKET, SO_RCVBUF));
}

static struct json_object *peer(const struct view *v)
{
	struct json_object *o = json_object_new_object();
	struct address a = {};

	if (v->who == 'C') {
		put_text(o, "host", v->args->host);
		put_uint(o, "port", v->args->port);
		return o;
	}
	address_split(v->peer ? v->peer : "", &a);
	put_text(o, "host", a.host);
	put_int(o, "port", a.port);
	return o;
}

void json_began(struct view *v)
{
	struct json_object *connected = json_object_new_array();
	struct utsname u = {};
	char text[5 * sizeof(u.sysname) + 8];

	uname(&u);
	snprintf(text, sizeof(text), "%s %s %s %s %s", u.sysname, u.nodename, u.release, u.version,
		 u.machine);
	for (unsigned int k = 0; k < v->nr_sides; k++)
		for (unsigned int i = 0; i < v->side[k].nr; i++)
			json_object_array_add(connected, connection(v->side[k].fd[i]));
	json_object_object_add(v->start, "connected", connected);
	put_text(v->start, "version", "irqlab " IRQLAB_VERSION);
	put_text(v->start, "system_info", text);
	json_object_object_add(v->start, "timestamp", timestamp());
	json_object_object_add(v->start, v->who == 'C' ? "connecting_to" : "accepted_connection",
			       peer(v));
	put_text(v->start, "cookie", v->cookie ? v->cookie : "");
	put_sockets(v->start, v);
	json_object_object_add(v->start, "test_start", test_start(v));
	if (v->args->title)
		put_text(v->root, "title", v->args->title);
	else if (*v->params->title)
		put_text(v->root, "title", v->params->title);
	if (*v->params->extra_data)
		put_text(v->root, "extra_data", v->params->extra_data);
	json_event(v, "start", json_object_get(v->start));
}

static struct json_object *times(const struct view_row *r)
{
	struct json_object *o = json_object_new_object();

	put_double(o, "start", r->start_s);
	put_double(o, "end", r->end_s);
	put_double(o, "seconds", r->end_s - r->start_s);
	put_uint(o, "bytes", r->bytes);
	put_double(o, "bits_per_second", view_bps(r));
	return o;
}

static void put_loss(struct json_object *o, const struct view_row *r)
{
	put_double(o, "jitter_ms", r->jitter_s * 1e3);
	put_int(o, "lost_packets", r->lost);
	put_uint(o, "packets", r->packets);
	put_double(o, "lost_percent", view_lost_percent(r));
}

static void put_tcp_sender(struct json_object *o, const struct view_row *r)
{
	put_uint(o, "snd_cwnd", r->cwnd_bytes);
	put_uint(o, "snd_wnd", r->snd_wnd_bytes);
	put_uint(o, "rtt", r->rtt_ns / NS_PER_US);
	put_uint(o, "rttvar", r->rttvar_ns / NS_PER_US);
	put_uint(o, "pmtu", r->pmtu_bytes);
	put_uint(o, "reorder", r->reorder);
	put_uint(o, "delivery_bps", r->delivery_bps);
	put_uint(o, "loss_episodes", r->loss_episodes);
}

static struct json_object *interval_row(const struct view *v, const struct view_row *r, int socket)
{
	struct json_object *o = times(r);

	if (socket >= 0)
		put_int(o, "socket", socket);
	if (v->params->udp)
		put_double(o, "packets_per_second", view_pps(r));
	if (v->params->udp && r->sender)
		put_uint(o, "packets", r->packets);
	else if (v->params->udp)
		put_loss(o, r);
	else if (r->retransmits != WIRE_UNKNOWN)
		put_int(o, "retransmits", r->retransmits);
	if (socket >= 0 && r->retransmits != WIRE_UNKNOWN)
		put_tcp_sender(o, r);
	put_uint(o, "t_ns", r->t_ns);
	if (socket >= 0 && r->cpu >= 0)
		put_int(o, "incoming_cpu", r->cpu);
	put_bool(o, "omitted", r->omitted);
	put_bool(o, "sender", r->sender);
	return o;
}

static void put_quantiles(struct json_object *o, const struct hist *h)
{
	static const struct {
		const char *key;
		double q;
	} qs[] = { { "p50_ns", 0.5 }, { "p90_ns", 0.9 }, { "p99_ns", 0.99 }, { "p999_ns", 0.999 } };

	put_uint(o, "transactions", h->total);
	if (h->total == 0)
		return;
	put_uint(o, "min_ns", h->min);
	put_double(o, "mean_ns", h->sum / (double)h->total);
	for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
		uint64_t ns = 0;

		hist_quantile(h, qs[i].q, &ns);
		put_uint(o, qs[i].key, ns);
	}
	put_uint(o, "max_ns", h->max);
}

/* [lowest, highest, count] of each bucket that has samples [ns]. */
static struct json_object *histogram(const struct hist *h)
{
	struct json_object *all = json_object_new_array();

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		struct json_object *o;

		if (!h->count[i])
			continue;
		o = json_object_new_array();
		json_object_array_add(o, json_object_new_uint64(hist_lower(i)));
		json_object_array_add(o, json_object_new_uint64(hist_upper(i)));
		json_object_array_add(o, json_object_new_uint64(h->count[i]));
		json_object_array_add(all, o);
	}
	return all;
}

struct json_object *view_rr_json(const struct hist *h, double seconds, int64_t lost)
{
	struct json_object *o = json_object_new_object();

	put_quantiles(o, h);
	put_double(o, "rate_per_s", seconds > 0 ? (double)h->total / seconds : 0);
	put_int(o, "lost", lost);
	return o;
}

struct json_object *json_interval(struct view *v, struct json_object *o, unsigned int side,
				  const struct view_row *rows, const struct view_row *sum)
{
	const struct view_side *s = &v->side[side];
	struct json_object *streams = json_object_object_get(o, "streams");

	if (!streams) {
		streams = json_object_new_array();
		json_object_object_add(o, "streams", streams);
	}
	for (unsigned int i = 0; i < s->nr; i++)
		json_object_array_add(streams, interval_row(v, &rows[i], s->fd[i]));
	json_object_object_add(o, side == 0 ? "sum" : "sum_bidir_reverse",
			       interval_row(v, sum, -1));
	if (s->interval)
		json_object_object_add(
			o, "rr", view_rr_json(s->interval, sum->end_s - sum->start_s, sum->lost));
	return o;
}

void json_interval_end(struct view *v, struct json_object *o)
{
	json_event(v, "interval", json_object_get(o));
	if (v->args->json_stream && !v->args->json_full)
		json_object_put(o);
	else
		json_object_array_add(v->intervals, o);
}

static struct json_object *tcp_total(const struct view_row *r, const struct view_stream *s,
				     int socket)
{
	struct json_object *o = times(r);

	if (socket >= 0)
		put_int(o, "socket", socket);
	if (r->retransmits != WIRE_UNKNOWN)
		put_int(o, "retransmits", r->retransmits);
	/* what only the end that sends knows of its stream */
	if (s && s->nr_rtt) {
		put_uint(o, "reorder", s->reorder);
		put_uint(o, "max_snd_cwnd", s->max_cwnd_bytes);
		put_uint(o, "max_snd_wnd", s->max_snd_wnd_bytes);
		put_uint(o, "max_rtt", s->max_rtt_ns / NS_PER_US);
		put_uint(o, "min_rtt", s->min_rtt_ns / NS_PER_US);
		put_uint(o, "mean_rtt", s->sum_rtt_ns / s->nr_rtt / NS_PER_US);
		put_uint(o, "loss_episodes", s->loss_episodes);
	} else if (s) {
		put_uint(o, "max_snd_cwnd", 0);
		put_uint(o, "max_snd_wnd", 0);
		put_uint(o, "max_rtt", 0);
		put_uint(o, "min_rtt", 0);
		put_uint(o, "mean_rtt", 0);
	}
	if (socket >= 0 && r->cpu >= 0)
		put_int(o, "incoming_cpu", r->cpu);
	put_bool(o, "sender", r->sender);
	return o;
}

/* @sender: which end's figures these are. */
static struct json_object *udp_total(const struct view_row *r, bool sender)
{
	struct json_object *o = times(r);

	put_loss(o, r);
	put_double(o, "packets_per_second", view_pps(r));
	put_bool(o, "sender", sender);
	return o;
}

/* All figures are the receiver's when it said them: one end's alone, never of both. */
static struct json_object *udp_both(const struct view_row *sent, const struct view_row *received)
{
	const struct view_row *r = received ? received : sent;
	struct json_object *o = udp_total(r, r->sender);

	if (sent && received)
		put_int(o, "undelivered_packets",
			(int64_t)sent->packets - ((int64_t)received->packets - received->lost));
	return o;
}

struct pair {
	struct view_row sent, received;
	bool has_sent, has_received;
};

static struct pair pair_of(const struct view *v, unsigned int side, unsigned int i,
			   const struct view_end *end)
{
	bool sends = v->side[side].sender, sum = i == v->side[side].nr;
	const struct wire_results *from = sends ? end->mine : end->theirs;
	const struct wire_results *to = sends ? end->theirs : end->mine;
	struct pair p = {};

	p.has_sent = sum ? view_sum(v, side, from, true, &p.sent)
			 : view_total(v, side, i, from, true, &p.sent);
	p.has_received = sum ? view_sum(v, side, to, false, &p.received)
			     : view_total(v, side, i, to, false, &p.received);
	return p;
}

static struct json_object *stream_total(const struct view *v, unsigned int side, unsigned int i,
					const struct view_end *end)
{
	const struct view_side *s = &v->side[side];
	struct pair p = pair_of(v, side, i, end);
	struct json_object *o = json_object_new_object(), *udp;
	int fd = s->fd[i];

	if (v->params->udp && (p.has_sent || p.has_received)) {
		udp = udp_both(p.has_sent ? &p.sent : NULL, p.has_received ? &p.received : NULL);
		put_int(udp, "socket", fd);
		put_uint(udp, "out_of_order", p.has_received ? p.received.out_of_order : 0);
		if (p.received.cpu >= 0)
			put_int(udp, "incoming_cpu", p.received.cpu);
		json_object_object_add(o, "udp", udp);
		return o;
	}
	if (p.has_sent)
		json_object_object_add(o, "sender", tcp_total(&p.sent, &s->v[i], fd));
	if (p.has_received)
		json_object_object_add(o, "receiver", tcp_total(&p.received, NULL, fd));
	return o;
}

static void put_sums(struct json_object *o, const struct view *v, unsigned int side,
		     const struct view_end *end)
{
	static const char *const keys[][3] = {
		{ "sum_sent", "sum_received", "sum" },
		{ "sum_sent_bidir_reverse", "sum_received_bidir_reverse", "sum_bidir_reverse" },
	};
	struct pair p = pair_of(v, side, v->side[side].nr, end);
	bool udp = v->params->udp;

	if (udp && (p.has_sent || p.has_received))
		json_object_object_add(o, keys[side][2],
				       udp_both(p.has_sent ? &p.sent : NULL,
						p.has_received ? &p.received : NULL));
	if (p.has_sent)
		json_object_object_add(o, keys[side][0],
				       udp ? udp_total(&p.sent, true)
					   : tcp_total(&p.sent, NULL, -1));
	if (p.has_received)
		json_object_object_add(o, keys[side][1],
				       udp ? udp_total(&p.received, false)
					   : tcp_total(&p.received, NULL, -1));
}

static struct json_object *cpu_of(const struct wire_results *mine,
				  const struct wire_results *theirs)
{
	static const struct wire_results none;
	struct json_object *o = json_object_new_object();

	theirs = theirs ? theirs : &none;
	put_double(o, "host_total", mine->cpu_total);
	put_double(o, "host_user", mine->cpu_user);
	put_double(o, "host_system", mine->cpu_system);
	put_double(o, "remote_total", theirs->cpu_total);
	put_double(o, "remote_user", theirs->cpu_user);
	put_double(o, "remote_system", theirs->cpu_system);
	return o;
}

static void put_congestion(struct json_object *o, const struct view *v, const struct view_end *end)
{
	bool sends = v->nr_sides && v->side[0].sender;
	const struct wire_results *from = sends ? end->mine : end->theirs;
	const struct wire_results *to = sends ? end->theirs : end->mine;

	if (from && *from->congestion)
		put_text(o, "sender_tcp_congestion", from->congestion);
	if (to && *to->congestion)
		put_text(o, "receiver_tcp_congestion", to->congestion);
}

static void put_rr(struct json_object *o, const struct view *v, const struct view_end *end)
{
	const struct view_side *s = &v->side[0];
	struct json_object *rr;
	struct view_row sum = {};

	if (!s->whole)
		return;
	if (!view_sum(v, 0, end->mine, true, &sum))
		return;
	rr = view_rr_json(s->whole, sum.end_s - sum.start_s, view_rr_lost(v));
	json_object_object_add(rr, "histogram_ns", histogram(s->whole));
	json_object_object_add(o, "rr", rr);
}

void json_ended(struct view *v, const struct view_end *end)
{
	struct json_object *o = json_object_new_object(), *streams = json_object_new_array();

	for (unsigned int k = 0; k < v->nr_sides; k++)
		for (unsigned int i = 0; i < v->side[k].nr; i++)
			json_object_array_add(streams, stream_total(v, k, i, end));
	json_object_object_add(o, "streams", streams);
	for (unsigned int k = 0; k < v->nr_sides; k++)
		put_sums(o, v, k, end);
	json_object_object_add(o, "cpu_utilization_percent", cpu_of(end->mine, end->theirs));
	if (!v->params->udp)
		put_congestion(o, v, end);
	put_rr(o, v, end);
	if (!v->ended || v->who == 'C')
		json_event(v, "end", json_object_get(o));
	json_object_object_add(v->root, "end", o);
}

void json_server_output(struct view *v, const char *text, bool is_json)
{
	const char *key = is_json ? "server_output_json" : "server_output_text";
	struct json_object *o = is_json ? json_tokener_parse(text) : json_object_new_string(text);

	if (!o)
		return;
	json_event(v, key, json_object_get(o));
	json_object_object_add(v->root, key, o);
}
