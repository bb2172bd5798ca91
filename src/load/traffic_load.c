// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/traffic_plugin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/text.h"
#include "load/traffic_load.h"
#include "plan/instance.h"
#include "sample/hist.h"

#define SAMPLE_NS (100 * NS_PER_MS)
#define SPARE_SAMPLES 600	       /* a minute longer than planned */
#define FIRST_BYTES_NS (10 * NS_PER_S) /* a lossy path repeats its first segments */
#define RETRY_NS (5 * NS_PER_S)	       /* the server may still be ending the trial before */
#define SPARE_TIME_S 60		       /* what the server waits beyond the plan */
#define PORT_BLOCKS 32		       /* of local ports that are tried */

const char *const traffic_directions[] = { "to-dut", "from-dut", "both", NULL };
const char *const traffic_arrivals[] = { "even", "poisson", NULL };

int traffic_usable(const struct host *host, struct err *why)
{
	(void)host;
	(void)why;
	return 0;
}

static void free_hists(struct load *l)
{
	for (uint64_t i = 0; l->hist && i < l->cfg.streams; i++)
		hist_free(l->hist[i]);
	free(l->hist);
}

void traffic_close(struct load *l)
{
	if (!l)
		return;
	client_close(l->client);
	free_hists(l);
	opt_release(l->kind->options, &l->cfg);
	free(l->name);
	free(l);
}

static void traffic_closep(struct load **l)
{
	traffic_close(*l);
}

static int parse_cpu(const char *text, int *ret, struct err *e)
{
	uint64_t v = 0;

	*ret = -1;
	if (!text || !*text)
		return 0;
	if (text_u64(text, &v) < 0 || v >= CPUSET_MAX)
		return err_set(e, -EINVAL, "cpu \"%s\": expected the number of one CPU", text);
	*ret = (int)v;
	return 0;
}

static int check_cfg(const struct load *l, const struct load_env *env, struct err *e)
{
	const struct traffic_cfg *c = &l->cfg;

	if (!env->peer || !env->peer->addr)
		return err_set(e, -EINVAL,
			       "it needs a peer; write peer: netns or peer: HOST in the plan");
	if (c->congestion && strlen(c->congestion) > 15)
		return err_set(e, -EINVAL, "congestion \"%s\": at most 15 characters",
			       c->congestion);
	if (c->rate_bps > 0 && c->rate_bps < c->streams)
		return err_set(e, -EINVAL, "rate: less than 1 bit/s for each of %llu streams",
			       (unsigned long long)c->streams);
	if (c->per_s > 0 && c->per_s < c->streams)
		return err_set(e, -EINVAL, "rate: less than 1 a second for each of %llu streams",
			       (unsigned long long)c->streams);
	if (l->kind->udp && c->length_bytes && c->length_bytes < WIRE_UDP_LENGTH_MIN)
		return err_set(e, -EINVAL, "length: a datagram needs %d bytes for its header",
			       WIRE_UDP_LENGTH_MIN);
	return 0;
}

static struct wire_params params_of(const struct load *l, const struct load_env *env)
{
	const struct traffic_cfg *c = &l->cfg;
	uint64_t time_s = env->length_ns / NS_PER_S + SPARE_TIME_S;
	bool round_trips = l->kind->mode != WIRE_BULK;
	struct wire_params p = {
		.udp = l->kind->udp || c->protocol == 1,
		.reverse = !round_trips && c->direction == TO_DUT,
		.bidir = !round_trips && c->direction == BOTH_WAYS,
		.nodelay = c->nodelay || round_trips,
		.zerocopy = c->zerocopy,
		.skip_rx_copy = c->skip_rx_copy,
		.gsro = c->gso,
		.streams = (unsigned int)c->streams,
		.time_s = time_s < WIRE_TIME_MAX_S ? (unsigned int)time_s : WIRE_TIME_MAX_S,
		.rate_bps = c->rate_bps / c->streams,
		/* flood has no such option, and a load never comes in bursts unasked */
		.burst = c->burst ? (unsigned int)c->burst : 1,
		.length_bytes = c->length_bytes,
		.window_bytes = (unsigned int)c->window_bytes,
		.server_cpu = -1,
		.mode = l->kind->mode,
		.arrivals = (enum wire_arrivals)c->arrivals,
		.seed = env->seed,
		.request_bytes = (unsigned int)c->request_bytes,
		.response_bytes = (unsigned int)c->response_bytes,
	};

	if (c->congestion)
		snprintf(p.congestion, sizeof(p.congestion), "%s", c->congestion);
	if (l->kind->flood)
		p.rate_bps = c->per_s / c->streams * c->length_bytes * 8;
	else
		p.rr_per_s = c->per_s / c->streams;
	return p;
}

static int open_client(struct load *l, const struct load_env *env, struct err *e)
{
	int cpu = -1;
	int r = parse_cpu(l->cfg.cpu, &cpu, e);

	if (r < 0)
		return r;
	l->client_cfg = (struct client_cfg){
		.host = env->peer->addr,
		.port = l->cfg.port ? (uint16_t)l->cfg.port : env->peer->port,
		.local_port = (uint16_t)l->cfg.local_port,
		.params = params_of(l, env),
		.cpu = cpu,
		.seed = env->seed,
		.retry_ns = RETRY_NS,
		.sample_ns = SAMPLE_NS,
		.max_samples = env->length_ns / SAMPLE_NS + SPARE_SAMPLES,
	};
	return client_open(&l->client, &l->client_cfg, e);
}

static int make_hists(struct load *l, struct err *e)
{
	if (l->kind->mode == WIRE_BULK)
		return 0;
	l->hist = calloc(l->cfg.streams, sizeof(struct hist *));
	for (uint64_t i = 0; l->hist && i < l->cfg.streams; i++) {
		l->hist[i] = hist_new();
		if (!l->hist[i])
			return err_nomem(e, "histogram of the round trips");
	}
	return l->hist ? 0 : err_nomem(e, "histograms of the round trips");
}

int traffic_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		 const struct traffic_kind *kind, struct err *e)
{
	_cleanup_(traffic_closep) struct load *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_nomem(e, "load");
	l->kind = kind;
	r = instance_parse(inst, kind->options, &l->cfg, e);
	if (r < 0)
		return r;
	l->name = strdup(inst->name);
	if (!l->name)
		return err_nomem(e, inst->name);
	r = check_cfg(l, env, e);
	if (r >= 0)
		r = make_hists(l, e);
	if (r >= 0)
		r = open_client(l, env, e);
	if (r < 0)
		return r;
	*ret = take_ptr(l);
	return 0;
}

/* The next block of local ports, when the last one was taken by somebody. */
static int move_ports(struct load *l, struct err *e)
{
	unsigned int nr = (unsigned int)l->cfg.streams * (l->client_cfg.params.bidir ? 2 : 1);
	unsigned int next = l->client_cfg.local_port + nr;

	client_close(l->client);
	l->client = NULL;
	l->port_moved = true;
	if (next + nr > 65536)
		next = 1024;
	l->client_cfg.local_port = (uint16_t)next;
	return client_open(&l->client, &l->client_cfg, e);
}

/* -EADDRNOTAVAIL: the port is free, but its connection to this server exists. */
static bool is_taken(const struct load *l, int r)
{
	return l->client_cfg.local_port && (r == -EADDRINUSE || r == -EADDRNOTAVAIL);
}

int traffic_start(struct load *l, struct err *e)
{
	int r = client_start(l->client, e);

	for (int i = 0; is_taken(l, r) && i < PORT_BLOCKS; i++) {
		r = move_ports(l, e);
		if (r >= 0)
			r = client_start(l->client, e);
	}
	if (r >= 0)
		r = client_wait_bytes(l->client, FIRST_BYTES_NS, e);
	return r;
}

static struct flow *side_of(const struct load *l, unsigned int side)
{
	return l->client ? client_flow(l->client, (enum client_side)side) : NULL;
}

static void read_counters(const struct load *l, struct flow_count *ret)
{
	for (unsigned int k = 0; k < CLIENT_SIDES; k++)
		if (side_of(l, k))
			flow_read(side_of(l, k), &ret[k]);
}

/* What was recorded so far goes to the histograms of the window. */
static void take_hists(const struct load *l)
{
	struct flow *f = side_of(l, CLIENT_TX);

	for (uint64_t i = 0; l->hist && f && i < l->cfg.streams; i++)
		flow_take_hist(f, (unsigned int)i, l->hist[i]);
}

int traffic_begin(struct load *l, uint64_t now_ns, struct err *e)
{
	int r = client_check(l->client, e);

	if (r < 0)
		return r;
	l->begin_ns = now_ns;
	client_align_samples(l->client, now_ns);
	take_hists(l);
	for (uint64_t i = 0; l->hist && i < l->cfg.streams; i++)
		*l->hist[i] = (struct hist){};
	read_counters(l, l->begin);
	return 0;
}

int traffic_end(struct load *l, uint64_t now_ns, struct err *e)
{
	int r;

	(void)now_ns; /* the counters' own time is nearer to them */
	read_counters(l, l->end);
	take_hists(l);
	for (unsigned int k = 0; k < CLIENT_SIDES; k++)
		for (unsigned int i = 0; side_of(l, k) && i < side_of(l, k)->nr; i++)
			l->cpu[k][i] = flow_incoming_cpu(side_of(l, k), i);
	r = client_check(l->client, e);
	if (r < 0)
		return r;
	l->has_window = true;
	return 0;
}

int traffic_stop(struct load *l, struct err *e)
{
	return client_stop(l->client, e);
}

int traffic_drain(struct load *l, struct sample_sink *out, struct err *e)
{
	if (!l->has_window)
		return err_set(e, -ENODATA, "the window was never measured");
	return traffic_report(l, out, e);
}
