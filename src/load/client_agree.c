// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/client_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "load/dial.h"
#include "load/wire.h"

#define STEP_NS (10 * NS_PER_S)
#define RETRY_GAP_NS (50 * NS_PER_MS)
#define LOOK_NS (100 * NS_PER_MS) /* between looks at the interruption */

bool client_is_interrupted(const struct client *c)
{
	return c->cfg.interrupted && atomic_load(c->cfg.interrupted) &&
	       clock_mono_ns() >= c->patience_ns;
}

int client_say_interrupted(struct err *e)
{
	return err_set(e, -ECANCELED, "interrupted");
}

/* How the client's connections wait. */
static int wait_client(struct channel *ch, short events, uint64_t deadline_ns, struct err *e)
{
	while (!client_is_interrupted(ch->ctx)) {
		struct pollfd p = { .fd = ch->fd, .events = events };
		uint64_t now = clock_mono_ns();
		uint64_t left_ns = deadline_ns > now ? deadline_ns - now : 0;
		struct timespec left = clock_timespec(left_ns < LOOK_NS ? left_ns : LOOK_NS);
		int r = ppoll(&p, 1, &left, NULL);

		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return err_sys(e, "wait for %s", ch->peer);
		if (now >= deadline_ns)
			return err_set(e, -ETIMEDOUT, "%s is silent", ch->peer);
	}
	return client_say_interrupted(e);
}

static struct channel channel_of(struct client *c, int fd)
{
	return (struct channel){
		.fd = fd, .step_ns = STEP_NS, .peer = c->peer, .wait = wait_client, .ctx = c
	};
}

static struct dial dial_of(struct client *c, bool data)
{
	return (struct dial){ .ch = channel_of(c, -1),
			      .bind = c->cfg.bind,
			      .timeout_ns = c->cfg.connect_timeout_ns,
			      .params = data ? &c->cfg.params : NULL };
}

/* fe80::1 is on every link: without a netdev the kernel says no more than "invalid argument". */
/* The control connection, to the first address that answers; the streams go there too. */
static int connect_control(struct client *c, struct err *e)
{
	struct dial d = dial_of(c, false);
	int r = -EHOSTUNREACH;

	close_fdp(&c->fd);
	c->fd = -1;
	for (const struct addrinfo *a = c->addrs; a && r < 0 && r != -ECANCELED; a = a->ai_next) {
		struct endpoint to = { .len = a->ai_addrlen };

		if (a->ai_addrlen > sizeof(to.at))
			continue;
		memcpy(&to.at, a->ai_addr, a->ai_addrlen);
		r = dial_tcp(&d, &to, 0, &c->fd, e);
		if (r >= 0)
			c->server = to;
	}
	return r;
}

/* -2 and two numbers: iperf3's own error and errno at the server. */
static int server_error(struct client *c, struct err *e)
{
	uint32_t be[2] = {};
	int r = channel_read(&c->ch, be, sizeof(be), e);
	int code = (int)ntohl(be[0]), sys = (int)ntohl(be[1]);
	const char *verb = c->start_ns ? "ended" : "refuses";

	if (r < 0)
		return err_wrap(e, "%s reports an error", c->peer);
	errno = sys;
	if (sys > 0)
		return err_sys(e, "%s %s the test: %s (iperf3 error %d)", c->peer, verb,
			       wire_error_text(code), code);
	return err_set(e, -EREMOTEIO, "%s %s the test: %s (iperf3 error %d)", c->peer, verb,
		       wire_error_text(code), code);
}

/* The reason in a control byte that does not let the test go on. */
int client_unexpected(struct client *c, int state, int want, struct err *e)
{
	if (state == WIRE_ACCESS_DENIED)
		return err_set(e, -EBUSY,
			       "%s is busy with another test; wait or use another server or port",
			       c->peer);
	if (state == WIRE_SERVER_ERROR)
		return server_error(c, e);
	if (state == WIRE_SERVER_TERMINATE)
		return err_set(e, -ECONNABORTED, "%s ended the test", c->peer);
	return err_set(e, -EPROTO, "%s sent %d (%s) instead of %d (%s); is it an iperf3 server?",
		       c->peer, state, wire_state_name(state), want, wire_state_name(want));
}

int client_expect(struct client *c, int want, struct err *e)
{
	int state = 0;
	int r = channel_read_state(&c->ch, &state, e);

	if (r < 0)
		return err_wrap(e, "waiting for %s", wire_state_name(want));
	return state == want ? 0 : client_unexpected(c, state, want, e);
}

static int greet(struct client *c, struct err *e)
{
	int r = connect_control(c, e);

	if (r < 0)
		return r;
	c->ch = channel_of(c, c->fd);
	r = channel_write(&c->ch, c->cookie, sizeof(c->cookie), e);
	return r < 0 ? r : client_expect(c, WIRE_PARAM_EXCHANGE, e);
}

static int say_absent(struct err *e)
{
	struct err why = *e;

	return err_set(e, why.code,
		       "%.900s; is \"irqlab traffic -s\" or \"iperf3 -s\" running there?", why.msg);
}

/* A server between two tests is busy or not listening for some milliseconds. */
int client_greet(struct client *c, struct err *e)
{
	uint64_t until = clock_mono_ns() + c->cfg.retry_ns;

	for (;;) {
		struct timespec gap = clock_timespec(RETRY_GAP_NS);
		int r = greet(c, e);

		if (r != -EBUSY && r != -ECONNREFUSED && r != -ECONNRESET)
			return r;
		if (client_is_interrupted(c))
			return client_say_interrupted(e);
		if (clock_mono_ns() >= until)
			return r == -ECONNREFUSED ? say_absent(e) : r;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
	}
}

/* What only an irqlab server has: one that has not goes on as if nothing had been asked. */
static int expect_extended(struct client *c, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	int state = 0;
	int r = channel_read_state(&c->ch, &state, e);

	if (r < 0)
		return err_wrap(e, "waiting for %s", wire_state_name(WIRE_EXTENDED));
	if (state == WIRE_CREATE_STREAMS)
		return err_set(e, -EOPNOTSUPP,
			       "%s is a stock iperf3, which cannot do this; start \"irqlab "
			       "traffic -s\" there",
			       c->peer);
	if (state != WIRE_EXTENDED)
		return client_unexpected(c, state, WIRE_EXTENDED, e);
	r = channel_read_json(&c->ch, WIRE_PARAMS_MAX, &text, e);
	if (r >= 0)
		r = wire_extended_decode(buf_str(&text), text.len, &c->extended, e);
	if (r >= 0 && c->cfg.params.mode == WIRE_CRR && c->extended.port == 0)
		r = err_set(e, -EPROTO, "no port for the connections");
	return r < 0 ? err_wrap(e, "%s", c->peer) : 0;
}

int client_agree(struct client *c, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	struct wire_params p = c->cfg.params;
	int r;

	snprintf(p.version, sizeof(p.version), WIRE_IRQLAB "%s", IRQLAB_VERSION);
	r = wire_params_encode(&p, &text, e);
	if (r >= 0)
		r = channel_write_json(&c->ch, &text, e);
	if (r >= 0 && wire_params_are_extended(&p))
		r = expect_extended(c, e);
	return r < 0 ? r : client_expect(c, WIRE_CREATE_STREAMS, e);
}

/* -n and -k, in bytes; 0: none. */
uint64_t client_limit_bytes(const struct wire_params *p)
{
	if (p->bytes)
		return p->bytes < INT64_MAX ? p->bytes : INT64_MAX;
	return p->blocks > INT64_MAX / p->length_bytes ? INT64_MAX : p->blocks * p->length_bytes;
}

/* crr: the streams connect by themselves, to a port that the server named. */
static int set_crr_ends(const struct client *c, struct stream_cfg *cfg, struct err *e)
{
	struct endpoint to = c->server, from = {};
	int r = endpoint_parse_local(c->cfg.bind, to.at.any.sa_family, &from, e);

	if (r < 0)
		return r;
	endpoint_set_port(&to, c->extended.port);
	memcpy(&cfg->peer, &to.at, to.len);
	cfg->peer_len = to.len;
	memcpy(&cfg->local, &from.at, from.len);
	cfg->local_len = from.len;
	return 0;
}

static int init_side(struct client *c, enum client_side side, struct err *e)
{
	const struct wire_params *p = &c->cfg.params;
	struct flow_cfg cfg = { .stream = stream_cfg_of(p, side == CLIENT_TX),
				.streams = p->streams,
				.first_index = p->bidir && side == CLIENT_RX ? p->streams : 0,
				/* what is omitted does not count towards the limit */
				.limit_bytes = p->omit_s ? 0 : client_limit_bytes(p),
				.cpu = c->cfg.cpu };
	int r = p->mode == WIRE_CRR ? set_crr_ends(c, &cfg.stream, e) : 0;

	cfg.stream.has_end = !p->udp; /* all close at TEST_END */
	return r < 0 ? r : flow_init(&c->side[side].flow, &cfg, e);
}

int client_init_flows(struct client *c, struct err *e)
{
	int r = 0;

	for (enum client_side i = 0; i < CLIENT_SIDES && r >= 0; i++)
		if (c->side[i].is_used)
			r = init_side(c, i, e);
	return r;
}

static int add_stream(struct client *c, struct flow *f, struct err *e)
{
	_cleanup_(close_fdp) int fd = -1;
	uint16_t port = c->cfg.local_port ? (uint16_t)(c->cfg.local_port + c->nr_dialled) : 0;
	struct dial d = dial_of(c, true);
	struct channel ch = channel_of(c, -1);
	int r;

	if (c->cfg.params.udp) {
		r = dial_udp(&d, &c->server, port, &fd, e);
	} else {
		r = dial_tcp(&d, &c->server, port, &fd, e);
		ch.fd = fd;
		if (r >= 0)
			r = channel_write(&ch, c->cookie, sizeof(c->cookie), e);
	}
	if (r >= 0)
		r = flow_take(f, fd, e);
	if (r < 0)
		return err_wrap(e, "stream %u of %u", f->have + 1, f->nr);
	take_fd(fd);
	c->nr_dialled++;
	return 0;
}

/* In the order that both ends count: first those the client sends on. */
int client_add_streams(struct client *c, struct err *e)
{
	int r = 0;

	for (enum client_side i = 0; i < CLIENT_SIDES; i++)
		while (r >= 0 && c->side[i].flow.have < c->side[i].flow.nr)
			r = add_stream(c, &c->side[i].flow, e);
	return r;
}
