// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "load/channel.h"
#include "load/dial.h"
#include "load/wire.h"

#define STEP_NS (10 * NS_PER_S)
#define CONNECT_NS (5 * NS_PER_S)
#define RECEIVE_NS (120 * NS_PER_S) /* as stock clients wait for a byte */
#define RETRY_GAP_NS (50 * NS_PER_MS)
#define DRAIN_NS (8 * NS_PER_S)	  /* of a server that does not end: it waits a step for us */
#define LOOK_NS (100 * NS_PER_MS) /* between looks at the interruption */
#define FAREWELL_NS (NS_PER_S)	  /* of an interrupted test */
#define REASON_MS 300		  /* for the reason of a broken stream to arrive */
#define LENGTH_DEFAULT (128U << 10)

/* One direction of the test. */
struct side {
	bool is_used;
	struct flow flow;
	struct flow_count *samples;
	_Atomic size_t nr_samples;
	_Atomic size_t lost;
};

struct client {
	struct client_cfg cfg;
	struct addrinfo *addrs;
	char peer[320]; /* "server 198.18.0.2:5201" */
	char cookie[WIRE_COOKIE_SIZE];
	int fd;
	int wake_fd; /* ends the watching thread */
	struct channel ch;
	struct endpoint server; /* where the control connection went */
	struct wire_extended extended;
	unsigned int nr_dialled; /* streams */
	struct side side[CLIENT_SIDES];
	uint64_t start_ns;
	pthread_t watch;
	bool watching;
	/* of the watching thread */
	uint64_t omit_due_ns; /* 0: done, or nothing to omit */
	atomic_bool counts;   /* nothing is omitted any more */
	uint64_t received;
	uint64_t received_ns; /* when that grew last */
	struct err why;	      /* of @failed; written before it is set */
	atomic_bool failed;
	uint64_t patience_ns; /* until then an interruption does not end a wait */
	bool agreed;	      /* between TEST_RUNNING and the results */
	bool ended;	      /* @mine is there */
	bool done;	      /* and @theirs */
	struct wire_results mine, theirs;
	struct wire_output output;
};

/* The sides a test has. */
static bool is_used(const struct wire_params *p, enum client_side side)
{
	return p->bidir || (side == CLIENT_RX) == p->reverse;
}

static bool is_interrupted(const struct client *c)
{
	return c->cfg.interrupted && atomic_load(c->cfg.interrupted) &&
	       clock_mono_ns() >= c->patience_ns;
}

static int say_interrupted(struct err *e)
{
	return err_set(e, -ECANCELED, "interrupted");
}

/* How the client's connections wait. */
static int wait_client(struct channel *ch, short events, uint64_t deadline_ns, struct err *e)
{
	while (!is_interrupted(ch->ctx)) {
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
	return say_interrupted(e);
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
static int unexpected(struct client *c, int state, int want, struct err *e)
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

static int expect(struct client *c, int want, struct err *e)
{
	int state = 0;
	int r = channel_read_state(&c->ch, &state, e);

	if (r < 0)
		return err_wrap(e, "waiting for %s", wire_state_name(want));
	return state == want ? 0 : unexpected(c, state, want, e);
}

static int greet(struct client *c, struct err *e)
{
	int r = connect_control(c, e);

	if (r < 0)
		return r;
	c->ch = channel_of(c, c->fd);
	r = channel_write(&c->ch, c->cookie, sizeof(c->cookie), e);
	return r < 0 ? r : expect(c, WIRE_PARAM_EXCHANGE, e);
}

static int say_absent(struct err *e)
{
	struct err why = *e;

	return err_set(e, why.code,
		       "%.900s; is \"irqlab traffic -s\" or \"iperf3 -s\" running there?", why.msg);
}

/* A server between two tests is busy or not listening for some milliseconds. */
static int greet_patiently(struct client *c, struct err *e)
{
	uint64_t until = clock_mono_ns() + c->cfg.retry_ns;

	for (;;) {
		struct timespec gap = clock_timespec(RETRY_GAP_NS);
		int r = greet(c, e);

		if (r != -EBUSY && r != -ECONNREFUSED && r != -ECONNRESET)
			return r;
		if (is_interrupted(c))
			return say_interrupted(e);
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
		return unexpected(c, state, WIRE_EXTENDED, e);
	r = channel_read_json(&c->ch, WIRE_PARAMS_MAX, &text, e);
	if (r >= 0)
		r = wire_extended_decode(buf_str(&text), text.len, &c->extended, e);
	if (r >= 0 && c->cfg.params.mode == WIRE_CRR && c->extended.port == 0)
		r = err_set(e, -EPROTO, "no port for the connections");
	return r < 0 ? err_wrap(e, "%s", c->peer) : 0;
}

static int agree(struct client *c, struct err *e)
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
	return r < 0 ? r : expect(c, WIRE_CREATE_STREAMS, e);
}

/* -n and -k, in bytes; 0: none. */
static uint64_t limit_bytes(const struct wire_params *p)
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
				.limit_bytes = p->omit_s ? 0 : limit_bytes(p),
				.cpu = c->cfg.cpu };
	int r = p->mode == WIRE_CRR ? set_crr_ends(c, &cfg.stream, e) : 0;

	cfg.stream.has_end = !p->udp; /* all close at TEST_END */
	return r < 0 ? r : flow_init(&c->side[side].flow, &cfg, e);
}

static int init_flows(struct client *c, struct err *e)
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
static int add_streams(struct client *c, struct err *e)
{
	int r = 0;

	for (enum client_side i = 0; i < CLIENT_SIDES; i++)
		while (r >= 0 && c->side[i].flow.have < c->side[i].flow.nr)
			r = add_stream(c, &c->side[i].flow, e);
	return r;
}

static void fail(struct client *c)
{
	atomic_store_explicit(&c->failed, true, memory_order_release);
}

/* Nothing may come from the server while the test runs. */
static void judge_control(struct client *c)
{
	signed char state = 0;
	ssize_t n = recv(c->fd, &state, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		err_sys(&c->why, "read from %s", c->peer);
	else if (n == 0)
		err_set(&c->why, -ECONNRESET, "%s closed the connection during the test", c->peer);
	else if (state < 0 || state == WIRE_SERVER_TERMINATE)
		unexpected(c, state, WIRE_EXCHANGE_RESULTS, &c->why);
	else
		err_set(&c->why, -EPROTO, "%s sent %d (%s) during the test", c->peer, state,
			wire_state_name(state));
	fail(c);
}

static void take_sample(struct side *s, size_t max)
{
	size_t nr = atomic_load_explicit(&s->nr_samples, memory_order_relaxed);

	if (nr >= max) {
		atomic_fetch_add_explicit(&s->lost, 1, memory_order_relaxed);
		return;
	}
	flow_read(&s->flow, &s->samples[nr]);
	atomic_store_explicit(&s->nr_samples, nr + 1, memory_order_release);
}

/* The first stream that broke. */
static int check_flows(struct client *c, struct err *e)
{
	int r = 0;

	for (enum client_side i = 0; i < CLIENT_SIDES && r >= 0; i++)
		if (c->side[i].is_used)
			r = flow_check(&c->side[i].flow, e);
	return r;
}

static void judge_streams(struct client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct err why = {};

	if (atomic_load_explicit(&c->failed, memory_order_relaxed) || check_flows(c, &why) == 0)
		return;
	/* a server that ends a test says why on the control connection */
	if (poll(&p, 1, REASON_MS) > 0)
		judge_control(c);
	if (atomic_load_explicit(&c->failed, memory_order_relaxed))
		return;
	c->why = why;
	err_wrap(&c->why, "%s", c->peer);
	fail(c);
}

static uint64_t sum_bytes(const struct flow *f)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < f->have; i++)
		bytes += flow_bytes(f, i);
	return bytes;
}

/* Who only receives would wait for a server that has gone without a word. */
static void judge_silence(struct client *c)
{
	uint64_t now = clock_mono_ns(), bytes;

	if (!c->cfg.params.reverse || atomic_load_explicit(&c->failed, memory_order_relaxed))
		return;
	bytes = sum_bytes(&c->side[CLIENT_RX].flow);
	if (bytes != c->received)
		c->received_ns = now;
	c->received = bytes;
	if (now - c->received_ns < c->cfg.receive_timeout_ns)
		return;
	err_set(&c->why, -ETIMEDOUT, "%s sent nothing for %.1f s", c->peer,
		(double)c->cfg.receive_timeout_ns / 1e9);
	fail(c);
}

static void omit_when_due(struct client *c)
{
	if (c->omit_due_ns == 0 || clock_mono_ns() < c->omit_due_ns)
		return;
	c->omit_due_ns = 0;
	for (enum client_side i = 0; i < CLIENT_SIDES; i++)
		if (c->side[i].is_used)
			flow_omit(&c->side[i].flow);
	atomic_store_explicit(&c->counts, true, memory_order_release);
}

/* What is due at every point of the grid. */
static void look(struct client *c)
{
	for (enum client_side i = 0; c->cfg.sample_ns && i < CLIENT_SIDES; i++)
		if (c->side[i].is_used)
			take_sample(&c->side[i], c->cfg.max_samples);
	judge_streams(c);
	judge_silence(c);
}

/* The watching thread: samples on an absolute grid, control connection, broken streams. */
static void *watch_run(void *client)
{
	struct client *c = client;
	uint64_t period = c->cfg.sample_ns ? c->cfg.sample_ns : 100 * NS_PER_MS;
	uint64_t next = c->start_ns;

	while (!atomic_load_explicit(&c->failed, memory_order_relaxed)) {
		struct pollfd p[] = { { .fd = c->fd, .events = POLLIN },
				      { .fd = c->wake_fd, .events = POLLIN } };
		uint64_t due = c->omit_due_ns && c->omit_due_ns < next ? c->omit_due_ns : next;
		uint64_t now = clock_mono_ns();
		struct timespec left = clock_timespec(due > now ? due - now : 0);
		int r = ppoll(p, 2, &left, NULL);

		if (r > 0 && p[1].revents)
			break;
		if (r > 0 && p[0].revents)
			judge_control(c);
		omit_when_due(c);
		if (clock_mono_ns() < next)
			continue;
		look(c);
		/* a late sample is not made up for: its own time stands in it */
		while (next <= clock_mono_ns())
			next += period;
	}
	return NULL;
}

static int start_watch(struct client *c, struct err *e)
{
	int r = pthread_create(&c->watch, NULL, watch_run, c);

	if (r != 0)
		return err_set(e, -r, "thread that watches a test");
	c->watching = true;
	return 0;
}

static void end_watch(struct client *c)
{
	if (!c->watching)
		return;
	eventfd_write(c->wake_fd, 1);
	pthread_join(c->watch, NULL);
	c->watching = false;
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
	int r = greet_patiently(c, e);

	if (r >= 0 && c->cfg.params.length_bytes == 0)
		c->cfg.params.length_bytes = dial_udp_length(c->fd);
	if (r >= 0)
		r = agree(c, e);
	if (r >= 0)
		r = init_flows(c, e);
	if (r >= 0)
		r = add_streams(c, e);
	if (r >= 0)
		r = expect(c, WIRE_TEST_START, e);
	if (r >= 0)
		r = expect(c, WIRE_TEST_RUNNING, e);
	if (r >= 0)
		r = start_flows(c, e);
	if (r < 0)
		return r;
	c->agreed = true;
	return start_watch(c, e);
}

int client_check(struct client *c, struct err *e)
{
	struct timespec gap = clock_timespec(NS_PER_MS);

	/* the watching thread, which may not have looked yet, knows more of the reason */
	while (!atomic_load_explicit(&c->failed, memory_order_acquire)) {
		if (check_flows(c, e) == 0)
			return 0;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
	}
	*e = c->why;
	return e->code;
}

/* Of an amount that is shared one stream may have taken all before another one began. */
static bool has_bytes(const struct client *c)
{
	const bool shared = limit_bytes(&c->cfg.params) > 0;

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
	uint64_t limit = limit_bytes(&c->cfg.params);

	if (limit == 0 || !c->agreed || !atomic_load_explicit(&c->counts, memory_order_acquire))
		return false;
	for (enum client_side side = 0; side < CLIENT_SIDES; side++) {
		const struct flow *f = &c->side[side].flow;
		uint64_t omitted = 0;

		for (unsigned int i = 0; i < f->have; i++)
			omitted += f->omit[i].bytes;
		if (c->side[side].is_used && sum_bytes(f) - omitted < limit)
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
		if (is_interrupted(c))
			return say_interrupted(e);
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
		r = expect(c, WIRE_EXCHANGE_RESULTS, e);
	finish_flows(c, r < 0 ? 0 : DRAIN_NS);
	if (r >= 0 && !udp)
		r = expect(c, WIRE_EXCHANGE_RESULTS, e);
	if (r >= 0)
		r = channel_write_results(&c->ch, &c->mine, NULL, e);
	if (r >= 0)
		r = channel_read_results(&c->ch, &c->theirs,
					 c->cfg.params.get_server_output ? &c->output : NULL, e);
	if (r >= 0)
		r = expect(c, WIRE_DISPLAY_RESULTS, e);
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

	end_watch(c);
	if (!c->agreed)
		return 0;
	omit_when_due(c); /* when the watching thread had no time for it */
	c->agreed = false;
	if (is_interrupted(c))
		c->patience_ns = clock_mono_ns() + FAREWELL_NS;
	quiet_flows(c);
	judge_streams(c);
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
	end_watch(c);
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
