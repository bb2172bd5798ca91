// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/client_parts.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "load/dial.h"
#include "load/wire.h"

#define CONNECT_NS (5 * NS_PER_S)
#define RECEIVE_NS (120 * NS_PER_S) /* as stock clients wait for a byte */
#define DRAIN_NS (8 * NS_PER_S)	    /* of a server that does not end: it waits a step for us */
#define FAREWELL_NS (NS_PER_S)	    /* of an interrupted test */
#define LENGTH_DEFAULT (128U << 10)

/* The sides a test has. */
static bool is_used(const struct wire_params *p, enum client_side side)
{
	return p->bidir || (side == CLIENT_RX) == p->reverse;
}

static bool lacks_scope(const struct addrinfo *a)
{
	struct sockaddr_in6 at;

	if (a->ai_family != AF_INET6)
		return false;
	memcpy(&at, a->ai_addr, sizeof(at));
	return IN6_IS_ADDR_LINKLOCAL(&at.sin6_addr) && at.sin6_scope_id == 0;
}

static bool all_lack_scope(const struct client *c)
{
	const struct addrinfo *a = c->addrs;

	while (a && lacks_scope(a))
		a = a->ai_next;
	return !a && !(c->cfg.bind && strchr(c->cfg.bind, '%'));
}

static int resolve(struct client *c, struct err *e)
{
	struct addrinfo hints = { .ai_family = c->cfg.family, .ai_socktype = SOCK_STREAM };
	char port[8];
	int r;

	snprintf(port, sizeof(port), "%u", c->cfg.port);
	snprintf(c->peer, sizeof(c->peer), "server %s:%s", c->cfg.host, port);
	r = getaddrinfo(c->cfg.host, port, &hints, &c->addrs);
	if (r == EAI_SYSTEM)
		return err_sys(e, "host name %s", c->cfg.host);
	if (r != 0)
		return err_set(e, -EHOSTUNREACH, "host name %s: %s%s", c->cfg.host, gai_strerror(r),
			       strchr(c->cfg.host, '%') ? "; is there such a netdev?" : "");
	if (all_lack_scope(c))
		return err_set(e, -EINVAL,
			       "host %s: a link-local address needs its netdev, such as %s%%eth0",
			       c->cfg.host, c->cfg.host);
	return 0;
}

static int check_params(const struct wire_params *p, struct err *e)
{
	const char *only = p->reverse ? "-R" : "--bidir";

	if (p->streams == 0 || p->streams > WIRE_STREAMS_MAX)
		return err_set(e, -EINVAL, "%u streams: 1 to %d are possible", p->streams,
			       WIRE_STREAMS_MAX);
	if (!p->udp && p->length_bytes > WIRE_LENGTH_MAX)
		return err_set(e, -EINVAL, "blocks of %zu bytes: 1 to %u are possible",
			       p->length_bytes, WIRE_LENGTH_MAX);
	if (p->udp && p->length_bytes > 0 &&
	    (p->length_bytes < WIRE_UDP_LENGTH_MIN || p->length_bytes > WIRE_UDP_LENGTH_MAX))
		return err_set(e, -EINVAL, "datagrams of %zu bytes: %d to %d are possible",
			       p->length_bytes, WIRE_UDP_LENGTH_MIN, WIRE_UDP_LENGTH_MAX);
	if (p->reverse && p->bidir)
		return err_set(e, -EINVAL, "either -R or --bidir");
	if (p->mode != WIRE_BULK && (p->reverse || p->bidir))
		return err_set(e, -EINVAL, "requests go to the server: no %s", only);
	if (p->mode != WIRE_BULK && (p->request_bytes == 0 || p->response_bytes == 0))
		return err_set(e, -EINVAL, "requests and responses have at least 1 byte");
	if (p->mode == WIRE_CRR && p->udp)
		return err_set(e, -EINVAL, "crr needs TCP");
	if (p->mode == WIRE_RR && p->udp &&
	    (p->request_bytes < WIRE_RR_UDP_MIN || p->response_bytes < WIRE_RR_UDP_MIN))
		return err_set(e, -EINVAL,
			       "requests and responses over UDP carry a number and have at least "
			       "%d bytes",
			       WIRE_RR_UDP_MIN);
	return 0;
}

static int open_samples(struct client *c, struct err *e)
{
	for (enum client_side i = 0; i < CLIENT_SIDES; i++) {
		c->side[i].is_used = is_used(&c->cfg.params, i);
		c->side[i].samples = calloc(c->cfg.max_samples + 1, sizeof(struct flow_count));
		if (!c->side[i].samples)
			return err_nomem(e, "samples of a client");
	}
	return 0;
}

int client_open(struct client **ret, const struct client_cfg *cfg, struct err *e)
{
	_cleanup_(client_closep) struct client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_nomem(e, "client");
	c->cfg = *cfg;
	c->fd = c->wake_fd = -1;
	if (c->cfg.connect_timeout_ns == 0)
		c->cfg.connect_timeout_ns = CONNECT_NS;
	if (c->cfg.receive_timeout_ns == 0)
		c->cfg.receive_timeout_ns = RECEIVE_NS;
	if (c->cfg.params.length_bytes == 0 && !c->cfg.params.udp)
		c->cfg.params.length_bytes = LENGTH_DEFAULT;
	r = check_params(&c->cfg.params, e);
	if (r >= 0)
		r = open_samples(c, e);
	if (r < 0)
		return r;
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake_fd < 0)
		return err_sys(e, "eventfd");
	r = resolve(c, e);
	if (r < 0)
		return r;
	wire_cookie_make(cfg->seed ^ clock_mono_ns(), c->cookie);
	*ret = take_ptr(c);
	return 0;
}

static int start_flows(struct client *c, struct err *e)
{
	int r = 0;

	for (enum client_side i = CLIENT_SIDES; i-- > 0 && r >= 0;)
		if (c->side[i].is_used)
			r = flow_start(&c->side[i].flow, e);
	c->start_ns = c->received_ns = clock_mono_ns();
	if (c->cfg.params.omit_s)
		c->omit_due_ns = c->start_ns + c->cfg.params.omit_s * NS_PER_S;
	atomic_store(&c->counts, c->cfg.params.omit_s == 0);
	return r;
}

int client_start(struct client *c, struct err *e)
{
	int r = client_greet(c, e);

	if (r >= 0 && c->cfg.params.length_bytes == 0)
		c->cfg.params.length_bytes = dial_udp_length(c->fd);
	if (r >= 0)
		r = client_agree(c, e);
	if (r >= 0)
		r = client_init_flows(c, e);
	if (r >= 0)
		r = client_add_streams(c, e);
	if (r >= 0)
		r = client_expect(c, WIRE_TEST_START, e);
	if (r >= 0)
		r = client_expect(c, WIRE_TEST_RUNNING, e);
	if (r >= 0)
		r = start_flows(c, e);
	if (r < 0)
		return r;
	c->agreed = true;
	return client_start_watch(c, e);
}

int client_check(struct client *c, struct err *e)
{
	struct timespec gap = clock_timespec(NS_PER_MS);

	/* the watching thread, which may not have looked yet, knows more of the reason */
	while (!atomic_load_explicit(&c->failed, memory_order_acquire)) {
		if (client_check_flows(c, e) == 0)
			return 0;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
	}
	*e = c->why;
	return e->code;
}

/* Of an amount that is shared one stream may have taken all before another one began. */
static bool has_bytes(const struct client *c)
{
	const bool shared = client_limit_bytes(&c->cfg.params) > 0;

	for (enum client_side side = 0; side < CLIENT_SIDES; side++) {
		const struct flow *f = &c->side[side].flow;
		unsigned int moving = 0;

		for (unsigned int i = 0; i < f->have; i++)
			moving += flow_bytes(f, i) > 0;
		if (moving < (shared && f->have > 1 ? 1 : f->have))
			return false;
	}
	return true;
}

bool client_counts(const struct client *c)
{
	return atomic_load_explicit(&c->counts, memory_order_acquire);
}

bool client_is_spent(const struct client *c)
{
	uint64_t limit = client_limit_bytes(&c->cfg.params);

	if (limit == 0 || !c->agreed || !atomic_load_explicit(&c->counts, memory_order_acquire))
		return false;
	for (enum client_side side = 0; side < CLIENT_SIDES; side++) {
		const struct flow *f = &c->side[side].flow;
		uint64_t omitted = 0;

		for (unsigned int i = 0; i < f->have; i++)
			omitted += f->omit[i].bytes;
		if (c->side[side].is_used && flow_sum_bytes(f) - omitted < limit)
			return false;
	}
	return true;
}

int client_wait_bytes(struct client *c, uint64_t bound_ns, struct err *e)
{
	uint64_t until = clock_mono_ns() + bound_ns;

	while (!has_bytes(c)) {
		struct timespec gap = clock_timespec(NS_PER_MS);
		int r = client_check(c, e);

		if (r < 0)
			return r;
		if (client_is_interrupted(c))
			return client_say_interrupted(e);
		if (clock_mono_ns() >= until)
			return err_set(e, -ETIMEDOUT,
				       "%s agreed to a test but not every stream moves bytes; look "
				       "at firewalls and at the path's MTU",
				       c->peer);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
	}
	return 0;
}

/* Senders first: the other end waits for the end of what they sent. */
static void finish_flows(struct client *c, uint64_t bound_ns)
{
	memset(&c->mine, 0, sizeof(c->mine));
	for (enum client_side i = 0; i < CLIENT_SIDES; i++) {
		if (!c->side[i].is_used)
			continue;
		flow_finish(&c->side[i].flow, bound_ns);
		flow_results(&c->side[i].flow, &c->mine);
	}
	c->ended = true;
}

/* As captured: state bytes, results of the client, results of the server, farewell. */
static int exchange(struct client *c, struct err *e)
{
	const bool udp = c->cfg.params.udp;
	int r = channel_write_state(&c->ch, WIRE_TEST_END, e);

	/* datagrams have no end: the server sends none after it has said so */
	if (r >= 0 && udp)
		r = client_expect(c, WIRE_EXCHANGE_RESULTS, e);
	finish_flows(c, r < 0 ? 0 : DRAIN_NS);
	if (r >= 0 && !udp)
		r = client_expect(c, WIRE_EXCHANGE_RESULTS, e);
	if (r >= 0)
		r = channel_write_results(&c->ch, &c->mine, NULL, e);
	if (r >= 0)
		r = channel_read_results(&c->ch, &c->theirs,
					 c->cfg.params.get_server_output ? &c->output : NULL, e);
	if (r >= 0)
		r = client_expect(c, WIRE_DISPLAY_RESULTS, e);
	for (enum client_side i = 0; r >= 0 && c->cfg.local_port && i < CLIENT_SIDES; i++)
		if (c->side[i].is_used)
			flow_reset(&c->side[i].flow);
	if (r >= 0)
		r = channel_write_state(&c->ch, WIRE_DONE, e);
	return r;
}

/* Put their streams in the order of ours. */
static int match_streams(struct client *c, struct err *e)
{
	struct wire_stream *v = c->theirs.streams;

	if (c->theirs.nr != c->mine.nr)
		return err_set(e, -EPROTO, "%s reports %u streams instead of %u", c->peer,
			       c->theirs.nr, c->mine.nr);
	for (unsigned int i = 0; i < c->mine.nr; i++) {
		unsigned int k = i;
		struct wire_stream found;

		while (k < c->theirs.nr && v[k].id != c->mine.streams[i].id)
			k++;
		if (k == c->theirs.nr)
			return err_set(e, -EPROTO, "%s does not report stream %u", c->peer,
				       c->mine.streams[i].id);
		found = v[k];
		v[k] = v[i];
		v[i] = found;
	}
	return 0;
}

static void quiet_flows(struct client *c)
{
	for (enum client_side i = 0; i < CLIENT_SIDES; i++)
		if (c->side[i].is_used)
			flow_quiet(&c->side[i].flow);
}

int client_stop(struct client *c, struct err *e)
{
	struct err ignored = {};
	int r;

	client_end_watch(c);
	if (!c->agreed)
		return 0;
	client_omit_when_due(c); /* when the watching thread had no time for it */
	c->agreed = false;
	if (client_is_interrupted(c))
		c->patience_ns = clock_mono_ns() + FAREWELL_NS;
	quiet_flows(c);
	client_judge_streams(c);
	r = client_check(c, e);
	if (r < 0) {
		channel_write_state(&c->ch, WIRE_CLIENT_TERMINATE, &ignored);
		finish_flows(c, 0);
		return r;
	}
	r = exchange(c, e);
	if (r >= 0)
		r = match_streams(c, e);
	c->done = r >= 0;
	return r < 0 ? err_wrap(e, "end of the test") : 0;
}

static void release_side(struct side *s)
{
	if (s->flow.v)
		flow_release(&s->flow);
	free(s->samples);
}

void client_close(struct client *c)
{
	struct err ignored = {};

	if (!c)
		return;
	client_end_watch(c);
	if (c->agreed && c->ch.fd >= 0)
		channel_write_state(&c->ch, WIRE_CLIENT_TERMINATE, &ignored);
	for (enum client_side i = 0; i < CLIENT_SIDES; i++)
		release_side(&c->side[i]);
	close_fdp(&c->fd);
	close_fdp(&c->wake_fd);
	if (c->addrs)
		freeaddrinfo(c->addrs);
	buf_release(&c->output.text);
	free(c);
}

void client_closep(struct client **c)
{
	client_close(*c);
}

struct flow *client_flow(struct client *c, enum client_side side)
{
	return c->side[side].is_used && c->side[side].flow.v ? &c->side[side].flow : NULL;
}

const struct wire_params *client_params(const struct client *c)
{
	return &c->cfg.params;
}

const struct flow_count *client_samples(const struct client *c, enum client_side side,
					size_t *ret_nr, size_t *ret_lost)
{
	const struct side *s = &c->side[side];

	*ret_nr = atomic_load_explicit(&s->nr_samples, memory_order_acquire);
	*ret_lost = atomic_load_explicit(&s->lost, memory_order_relaxed);
	return s->samples;
}

const struct wire_results *client_mine(const struct client *c)
{
	return c->ended ? &c->mine : NULL;
}

const struct wire_results *client_theirs(const struct client *c)
{
	return c->done ? &c->theirs : NULL;
}

const char *client_server_output(const struct client *c, bool *ret_is_json)
{
	*ret_is_json = c->output.is_json;
	return c->output.text.data;
}

const char *client_cookie(const struct client *c)
{
	return c->cookie;
}
