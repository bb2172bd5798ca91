// SPDX-License-Identifier: GPL-3.0-or-later
#include "traffic/lane.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "load/client.h"
#include "traffic/args.h"
#include "traffic/view.h"

#define FIRST_BYTES_NS (10 * NS_PER_S)
#define LOOK_NS (100 * NS_PER_MS)
#define SPENT_LOOK_NS (10 * NS_PER_MS) /* when an amount of bytes ends the test */
#define DRY_NS NS_PER_S		       /* a receiver's rest of an amount that got lost */

struct wire_params lane_load_params(const struct traffic_args *a)
{
	struct wire_params p = a->params;

	p.mode = WIRE_BULK;
	p.rr_per_s = 0;
	p.request_bytes = p.response_bytes = 0;
	if (a->beside == BESIDE_NOTHING)
		return p;
	p.udp = a->beside != BESIDE_TCP;
	if (a->beside == BESIDE_FLOOD) {
		p.length_bytes = WIRE_UDP_LENGTH_MIN;
		if (a->flood_per_s)
			p.rate_bps = a->flood_per_s * p.length_bytes * 8;
	} else if (p.udp && p.length_bytes > WIRE_UDP_LENGTH_MAX) {
		p.length_bytes = 0; /* the default of TCP was filled in */
	} else if (!p.udp && p.length_bytes == 0) {
		p.length_bytes = 128U << 10;
	}
	return p;
}

struct wire_params lane_rr_params(const struct traffic_args *a)
{
	struct wire_params p = a->params;

	if (a->beside == BESIDE_NOTHING)
		return p;
	/* the rest is the load's */
	p.streams = 1;
	p.rate_bps = 0;
	p.burst = 0;
	p.reverse = p.bidir = p.zerocopy = p.skip_rx_copy = p.gsro = false;
	p.window_bytes = 0;
	return p;
}

static struct client_cfg cfg_of(const struct lanes *s, const struct wire_params *p)
{
	const struct traffic_args *a = s->args;

	return (struct client_cfg){ .host = a->host,
				    .port = (uint16_t)a->port,
				    .family = a->v4   ? AF_INET
					      : a->v6 ? AF_INET6
						      : AF_UNSPEC,
				    .bind = a->bind,
				    /* the measured stream's port is a free one beside a load */
				    .local_port = s->nr == 0 ? (uint16_t)a->cport : 0,
				    .params = *p,
				    .cpu = a->cpu,
				    .seed = clock_wall_ns(),
				    .connect_timeout_ns = a->connect_timeout_ms * NS_PER_MS,
				    .receive_timeout_ns = a->receive_timeout_ms * NS_PER_MS,
				    .interrupted = s->interrupted };
}

int lanes_add(struct lanes *s, const struct wire_params *p, const struct out *out, struct err *e)
{
	struct lane *n = &s->v[s->nr];
	struct client_cfg cfg = cfg_of(s, p);
	int r;

	*n = (struct lane){ .params = *p };
	if (out)
		n->out = *out;
	n->view = view_new(s->args, out ? &n->out : NULL, 'C');
	if (!n->view)
		return err_nomem(e, "traffic");
	r = client_open(&n->client, &cfg, e);
	s->nr++;
	return r;
}

void lanes_release(struct lanes *s)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		client_close(s->v[i].client);
		view_free(s->v[i].view);
	}
	s->nr = 0;
}

static struct flow *side_of(const struct lane *n, unsigned int k)
{
	return client_flow(n->client, k == 0 ? CLIENT_TX : CLIENT_RX);
}

static int start(struct lane *n, struct err *e)
{
	int r = client_start(n->client, e);
	struct view_cfg cfg = { .params = client_params(n->client),
				.cookie = client_cookie(n->client) };
	unsigned int nr = 0;

	if (r < 0)
		return r;
	for (unsigned int k = 0; k < 2; k++)
		if (side_of(n, k))
			cfg.flow[nr++] = side_of(n, k);
	view_began(n->view, &cfg);
	/* paced work may begin late */
	if (n->params.rate_bps == 0 && n->params.rr_per_s == 0)
		r = client_wait_bytes(n->client, FIRST_BYTES_NS, e);
	return r;
}

/* How far the running tests are. */
struct progress {
	uint64_t start_ns, end_ns; /* UINT64_MAX: bytes or a person end it */
	uint64_t omit_ns;	   /* 0: none, or done */
	uint64_t tick_ns, interval_ns;
	uint64_t seen_bytes, seen_ns; /* of receivers with an amount to get */
};

static struct progress progress_of(const struct lanes *s)
{
	const struct wire_params *p = &s->v[s->nr - 1].params;
	uint64_t start_ns = s->v[s->nr - 1].view->side[0].flow->start_ns;
	bool timed = p->time_s && !p->bytes && !p->blocks;
	struct progress g = { .start_ns = start_ns,
			      .omit_ns = p->omit_s ? start_ns + p->omit_s * NS_PER_S : 0,
			      .interval_ns = (uint64_t)(s->args->interval_s * 1e9) };

	g.end_ns = timed ? start_ns + (p->time_s + p->omit_s) * NS_PER_S : UINT64_MAX;
	g.tick_ns = g.interval_ns ? start_ns + g.interval_ns : UINT64_MAX;
	return g;
}

/* A receiver gets no more of an amount whose rest was lost. */
static bool is_dry(const struct lane *n, struct progress *g, uint64_t now)
{
	struct flow *tx = side_of(n, 0), *rx = side_of(n, 1);
	uint64_t got = 0;

	if (!n->params.udp || !rx || !(n->params.bytes || n->params.blocks) ||
	    (tx && !flow_is_spent(tx)))
		return false;
	for (unsigned int i = 0; i < rx->have; i++)
		got += flow_bytes(rx, i);
	if (got != g->seen_bytes) {
		g->seen_bytes = got;
		g->seen_ns = now;
	}
	return got > 0 && now - g->seen_ns > DRY_NS;
}

/* True once, when the omitted seconds are over in all lanes. */
static bool pass_omitted(const struct lanes *s, struct progress *g)
{
	uint64_t from;

	if (g->omit_ns == 0)
		return false;
	for (unsigned int i = 0; i < s->nr; i++)
		if (!client_counts(s->v[i].client))
			return false;
	for (unsigned int i = 0; i < s->nr; i++)
		view_omitted(s->v[i].view);
	g->omit_ns = 0;
	from = s->v[s->nr - 1].view->side[0].flow->omit_ns;
	if (g->interval_ns)
		g->tick_ns = from + g->interval_ns;
	if (g->end_ns != UINT64_MAX)
		g->end_ns = from + s->v[s->nr - 1].params.time_s * NS_PER_S;
	return true;
}

/* What is due at @now; true at the end of the test. */
static bool work(const struct lanes *s, struct progress *g, uint64_t now)
{
	const struct lane *last = &s->v[s->nr - 1];

	if (!pass_omitted(s, g) && now >= g->tick_ns) {
		for (unsigned int i = 0; i < s->nr; i++)
			view_interval(s->v[i].view);
		g->tick_ns += g->interval_ns;
	}
	return now >= g->end_ns || client_is_spent(last->client) || is_dry(last, g, now);
}

/* When to look again. */
static uint64_t next_look(const struct progress *g, uint64_t now, uint64_t step)
{
	uint64_t next = now + step;

	next = g->end_ns < next ? g->end_ns : next;
	next = g->tick_ns < next ? g->tick_ns : next;
	/* the client's own thread ends the omitted seconds, a little after they are over */
	if (g->omit_ns && g->omit_ns < next)
		next = g->omit_ns > now ? g->omit_ns : now + NS_PER_MS;
	return next;
}

static int watch(const struct lanes *s, struct err *e)
{
	const struct wire_params *p = &s->v[s->nr - 1].params;
	uint64_t step = p->bytes || p->blocks ? SPENT_LOOK_NS : LOOK_NS;
	struct progress g = progress_of(s);
	uint64_t now = clock_mono_ns();

	while (!atomic_load(s->interrupted)) {
		struct timespec until;
		int r = 0;

		for (unsigned int i = 0; i < s->nr && r >= 0; i++)
			r = client_check(s->v[i].client, e);
		if (r < 0)
			return r;
		if (work(s, &g, now))
			break;
		until = clock_timespec(next_look(&g, now, step));
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		now = clock_mono_ns();
	}
	return 0;
}

static void show_server_output(struct lane *n)
{
	bool is_json = false;
	const char *text = client_server_output(n->client, &is_json);

	if (!text || !n->view->out)
		return;
	if (n->view->args->json)
		json_server_output(n->view, text, is_json);
	else
		out_line(&n->out, "\n%s:\n%s", is_json ? "Server JSON output" : "Server output",
			 text);
}

/* What there is of it: a test that broke has this end's totals. */
static void show_totals(struct lane *n)
{
	if (!n->view->nr_sides || !client_mine(n->client))
		return;
	view_ended(n->view, client_mine(n->client), client_theirs(n->client));
	show_server_output(n);
}

int lanes_run(struct lanes *s, struct err *e)
{
	int r = 0;

	for (unsigned int i = 0; i < s->nr && r >= 0; i++)
		r = start(&s->v[i], e);
	if (r >= 0)
		r = watch(s, e);
	for (unsigned int i = 0; i < s->nr; i++)
		if (s->v[i].view->nr_sides)
			view_tail(s->v[i].view);
	/* what is measured ends first, so that the load is there all the time */
	for (unsigned int i = s->nr; i-- > 0;) {
		struct err why = {};
		int stopped = client_stop(s->v[i].client, &why);

		if (r < 0 || stopped >= 0)
			continue;
		*e = why;
		r = stopped;
	}
	for (unsigned int i = 0; i < s->nr; i++)
		show_totals(&s->v[i]);
	return r;
}
