// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/load.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "load/client.h"
#include "load/wire.h"
#include "plan/instance.h"
#include "sample/sample.h"

#define SAMPLE_NS (100 * NS_PER_MS)
#define SPARE_SAMPLES 600	       /* a minute longer than planned */
#define FIRST_BYTES_NS (10 * NS_PER_S) /* a lossy path repeats its first segments */
#define RETRY_NS (5 * NS_PER_S)	       /* the server may still be ending the trial before */
#define SPARE_TIME_S 60		       /* what the server waits beyond the plan */
#define ENOUGH 0.99		       /* of the asked rate */

enum direction {
	TO_DUT,
	FROM_DUT,
};

struct tcp_cfg {
	int direction;
	uint64_t rate_bps;
	uint64_t streams;
	uint64_t length_bytes;
	uint64_t window_bytes;
	char *congestion;
	bool nodelay;
	uint64_t port;
};

struct load {
	struct tcp_cfg cfg;
	char *name;
	struct client *client;
	struct flow_count begin, end;
	uint64_t begin_ns; /* zero of the trial's times */
	bool has_window;
};

static const char *const directions[] = { "to-dut", "from-dut", NULL };

static const struct opt options[] = {
	{ "direction", OPT_ENUM, offsetof(struct tcp_cfg, direction), "to-dut",
	  .choices = directions, .help = "which way the bytes flow" },
	{ "rate", OPT_BPS, offsetof(struct tcp_cfg, rate_bps), "0",
	  .help = "bit rate of all streams together, 0 for flat out" },
	{ "streams", OPT_UINT, offsetof(struct tcp_cfg, streams), "1", .min = 1,
	  .max = WIRE_STREAMS_MAX, .help = "parallel connections" },
	{ "length", OPT_BYTES, offsetof(struct tcp_cfg, length_bytes), "128K", .min = 1,
	  .max = WIRE_LENGTH_MAX, .help = "bytes of one write or read" },
	{ "window", OPT_BYTES, offsetof(struct tcp_cfg, window_bytes), "0", .max = WIRE_WINDOW_MAX,
	  .help = "socket buffers, 0 for the system's" },
	{ "congestion", OPT_STRING, offsetof(struct tcp_cfg, congestion), "",
	  .help = "congestion control, empty for the system's" },
	{ "nodelay", OPT_BOOL, offsetof(struct tcp_cfg, nodelay), "off",
	  .help = "send small segments at once (TCP_NODELAY)" },
	{ "port", OPT_UINT, offsetof(struct tcp_cfg, port), "0", .max = 65535,
	  .help = "port of the server, 0 for the peer's" },
	{},
};

static const struct metric_desc metrics[] = {
	{ "throughput", "bit/s", BETTER_HIGHER,
	  "received by this machine, or confirmed to it by the peer, in the window",
	  .global = true },
	{ "retransmits", "count", BETTER_LOWER,
	  "segments sent again: in the window when this machine sends, else in the whole test" },
	{ "offered-share", "ratio", BETTER_NONE, "achieved of the asked rate, when one is asked" },
	{},
};

static enum client_side side(const struct load *l)
{
	return l->cfg.direction == TO_DUT ? CLIENT_RX : CLIENT_TX;
}

static int tcp_usable(const struct host *host, struct err *why)
{
	(void)host;
	(void)why;
	return 0;
}

static void tcp_close(struct load *l)
{
	if (!l)
		return;
	client_close(l->client);
	opt_release(options, &l->cfg);
	free(l->name);
	free(l);
}

static void tcp_closep(struct load **l)
{
	tcp_close(*l);
}

static int check_cfg(const struct load *l, const struct load_env *env, struct err *e)
{
	if (!env->peer || !env->peer->addr)
		return err_set(e, -EINVAL,
			       "it needs a peer; write peer: netns or peer: HOST in the plan");
	if (strlen(l->cfg.congestion) > 15)
		return err_set(e, -EINVAL, "congestion \"%s\": at most 15 characters",
			       l->cfg.congestion);
	if (l->cfg.rate_bps > 0 && l->cfg.rate_bps < l->cfg.streams)
		return err_set(e, -EINVAL, "rate: less than 1 bit/s for each of %llu streams",
			       (unsigned long long)l->cfg.streams);
	return 0;
}

static int open_client(struct load *l, const struct load_env *env, struct err *e)
{
	uint64_t time_s = env->length_ns / NS_PER_S + SPARE_TIME_S;
	struct client_cfg cfg = {
		.host = env->peer->addr,
		.port = l->cfg.port ? (uint16_t)l->cfg.port : env->peer->port,
		.params = { .streams = (unsigned int)l->cfg.streams,
			    .reverse = l->cfg.direction == TO_DUT,
			    .nodelay = l->cfg.nodelay,
			    .rate_bps = l->cfg.rate_bps / l->cfg.streams,
			    .time_s = time_s < WIRE_TIME_MAX_S ? (unsigned int)time_s
							       : WIRE_TIME_MAX_S,
			    .length_bytes = l->cfg.length_bytes,
			    .window_bytes = (unsigned int)l->cfg.window_bytes,
			    .server_cpu = -1 },
		.cpu = -1,
		.seed = env->seed,
		.retry_ns = RETRY_NS,
		.sample_ns = SAMPLE_NS,
		.max_samples = env->length_ns / SAMPLE_NS + SPARE_SAMPLES,
	};

	snprintf(cfg.params.congestion, sizeof(cfg.params.congestion), "%s", l->cfg.congestion);
	return client_open(&l->client, &cfg, e);
}

static int tcp_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		    struct err *e)
{
	_cleanup_(tcp_closep) struct load *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_nomem(e, "load");
	r = instance_parse(inst, options, &l->cfg, e);
	if (r < 0)
		return r;
	l->name = strdup(inst->name);
	if (!l->name)
		return err_nomem(e, inst->name);
	r = check_cfg(l, env, e);
	if (r >= 0)
		r = open_client(l, env, e);
	if (r < 0)
		return r;
	*ret = take_ptr(l);
	return 0;
}

static int tcp_start(struct load *l, struct err *e)
{
	int r = client_start(l->client, e);

	if (r >= 0)
		r = client_wait_bytes(l->client, FIRST_BYTES_NS, e);
	return r;
}

static int tcp_begin(struct load *l, uint64_t now_ns, struct err *e)
{
	int r = client_check(l->client, e);

	if (r < 0)
		return r;
	l->begin_ns = now_ns;
	flow_read(client_flow(l->client, side(l)), &l->begin);
	return 0;
}

static int tcp_end(struct load *l, uint64_t now_ns, struct err *e)
{
	int r;

	(void)now_ns; /* the counters' own time is nearer to them */
	flow_read(client_flow(l->client, side(l)), &l->end);
	r = client_check(l->client, e);
	if (r < 0)
		return r;
	l->has_window = true;
	return 0;
}

static int tcp_stop(struct load *l, struct err *e)
{
	int r = client_stop(l->client, e);

	return r;
}

static double rate_of(const struct load *l, const struct flow_count *from,
		      const struct flow_count *to)
{
	bool received = l->cfg.direction == TO_DUT;
	uint64_t bytes = received ? to->bytes - from->bytes : to->acked_bytes - from->acked_bytes;
	uint64_t ns = to->t_ns - from->t_ns;

	return ns ? (double)bytes * 8e9 / (double)ns : 0;
}

enum column { COLUMN_RATE, COLUMN_RETRANSMITS, COLUMN_CWND, COLUMN_RTT };

static double column(const struct load *l, const struct flow_count *s, enum column which)
{
	switch (which) {
	case COLUMN_RATE:
		return rate_of(l, s - 1, s);
	case COLUMN_RETRANSMITS:
		return (double)(s->retransmits - (s - 1)->retransmits);
	case COLUMN_CWND:
		return (double)s->cwnd_bytes;
	case COLUMN_RTT:
		return (double)s->rtt_ns;
	}
	return 0;
}

static const char *full_name(const struct load *l, struct buf *b, const char *name)
{
	buf_reset(b);
	buf_printf(b, "%s.%s", l->name, name);
	return buf_str(b);
}

/* Each point stands at the end of the interval it is the mean of, or at its moment. */
static int emit_series(const struct load *l, enum column which, struct sample_sink *out,
		       struct err *e)
{
	static const struct {
		const char *name, *unit;
	} columns[] = { [COLUMN_RATE] = { "throughput", "bit/s" },
			[COLUMN_RETRANSMITS] = { "retransmits", "count" },
			[COLUMN_CWND] = { "cwnd", "byte" },
			[COLUMN_RTT] = { "rtt", "ns" } };
	_cleanup_(buf_release) struct buf name = {};
	_cleanup_(free_charp) char *owner = NULL;
	size_t nr, lost;
	const struct flow_count *s = client_samples(l->client, side(l), &nr, &lost);
	struct point *points = calloc(nr + 1, sizeof(*points));
	struct record rec = { .kind = RECORD_SERIES, .labels = "", .points = points };

	owner = (char *)points;
	if (!points)
		return err_nomem(e, columns[which].name);
	for (size_t i = 1; i < nr; i++)
		points[rec.nr_points++] =
			(struct point){ .t_ns = (int64_t)(s[i].t_ns - l->begin_ns),
					.v = column(l, &s[i], which) };
	rec.metric = full_name(l, &name, columns[which].name);
	rec.unit = columns[which].unit;
	if (name.failed)
		return err_nomem(e, columns[which].name);
	return out->emit(out, &rec, e);
}

static int emit_retransmits(const struct load *l, struct sample_sink *out, struct err *e)
{
	const struct wire_results *theirs = client_theirs(l->client);
	_cleanup_(buf_release) struct buf name = {};
	double v = (double)(l->end.retransmits - l->begin.retransmits);

	if (l->cfg.direction == TO_DUT) {
		v = 0;
		if (!theirs)
			return 0;
		for (unsigned int i = 0; i < theirs->nr; i++) {
			if (theirs->streams[i].retransmits == WIRE_UNKNOWN)
				return 0;
			v += (double)theirs->streams[i].retransmits;
		}
	}
	return sample_scalar(out, full_name(l, &name, "retransmits"), "count", "", v, e);
}

/* A comparison at equal work needs equal work. */
static int emit_share(const struct load *l, double rate, struct sample_sink *out, struct err *e)
{
	_cleanup_(buf_release) struct buf name = {};
	_cleanup_(buf_release) struct buf text = {};
	uint64_t each_bps = l->cfg.rate_bps / l->cfg.streams; /* whole bits, as the wire has it */
	double asked = (double)(each_bps * l->cfg.streams);
	/* whether a block comes before or after the window's end says nothing about the rate */
	double edge = (double)(l->cfg.streams * l->cfg.length_bytes) * 8e9 /
		      (double)(l->end.t_ns - l->begin.t_ns);
	int r;

	if (l->cfg.rate_bps == 0 || l->end.t_ns <= l->begin.t_ns)
		return 0;
	r = sample_scalar(out, full_name(l, &name, "offered-share"), "ratio", "", rate / asked, e);
	if (r < 0 || rate + edge >= ENOUGH * asked)
		return r;
	buf_puts(&text, l->cfg.direction == TO_DUT ? "peer" : "this machine");
	buf_puts(&text, " sent less than asked: ");
	text_si(&text, rate, "bit/s");
	buf_puts(&text, " of ");
	text_si(&text, asked, "bit/s");
	return sample_event(out, full_name(l, &name, "offered-share"), SEVERITY_WARN,
			    (int64_t)(l->end.t_ns - l->begin_ns), buf_str(&text), e);
}

static int emit_lost(const struct load *l, struct sample_sink *out, struct err *e)
{
	_cleanup_(buf_release) struct buf name = {};
	char text[96];
	size_t nr, lost;

	client_samples(l->client, side(l), &nr, &lost);
	if (lost == 0)
		return 0;
	snprintf(text, sizeof(text), "the last %zu points of the series found no room", lost);
	return sample_event(out, full_name(l, &name, "throughput"), SEVERITY_WARN,
			    (int64_t)(l->end.t_ns - l->begin_ns), text, e);
}

static int tcp_drain(struct load *l, struct sample_sink *out, struct err *e)
{
	bool sender = l->cfg.direction == FROM_DUT;
	double rate;
	int r;

	if (!l->has_window)
		return err_set(e, -ENODATA, "the window was never measured");
	rate = rate_of(l, &l->begin, &l->end);
	r = sample_scalar(out, "throughput", "bit/s", "", rate, e);
	if (r >= 0)
		r = emit_series(l, COLUMN_RATE, out, e);
	/* the rest is TCP's knowledge of what it sends */
	for (enum column c = COLUMN_RETRANSMITS; r >= 0 && sender && c <= COLUMN_RTT; c++)
		r = emit_series(l, c, out, e);
	if (r >= 0)
		r = emit_retransmits(l, out, e);
	if (r >= 0)
		r = emit_share(l, rate, out, e);
	return r < 0 ? r : emit_lost(l, out, e);
}

const struct load_ops load_tcp = {
	.plugin = { .name = "tcp",
		    .help = "TCP streams to or from the peer (iperf3 protocol)",
		    .options = options,
		    .metrics = metrics },
	.usable = tcp_usable,
	.open = tcp_open,
	.start = tcp_start,
	.begin = tcp_begin,
	.end = tcp_end,
	.stop = tcp_stop,
	.drain = tcp_drain,
	.close = tcp_close,
};
