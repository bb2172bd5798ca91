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
#include "load/tcpinfo.h"
#include "load/wire.h"

#define STEP_NS (10 * NS_PER_S)
#define CONNECT_NS (5 * NS_PER_S)
#define RETRY_GAP_NS (50 * NS_PER_MS)
#define DRAIN_NS (2 * NS_PER_S)
#define LOOK_NS (100 * NS_PER_MS) /* between looks at the interruption */
#define FAREWELL_NS (NS_PER_S)	  /* of an interrupted test */
#define REASON_MS 300		  /* for the reason of a broken stream to arrive */

struct client {
	struct client_cfg cfg;
	struct addrinfo *addrs;
	char peer[320]; /* "server 198.18.0.2:5201" */
	char cookie[WIRE_COOKIE_SIZE];
	int fd;
	int wake_fd; /* ends the watching thread */
	struct channel ch;
	struct flow flow;
	struct flow_count *samples;
	_Atomic size_t nr_samples;
	_Atomic size_t lost;
	pthread_t watch;
	bool watching;
	struct err why; /* of @failed; written before it is set */
	atomic_bool failed;
	uint64_t patience_ns; /* until then an interruption does not end a wait */
	bool agreed;	      /* between TEST_RUNNING and the results */
	bool done;
	struct wire_results mine, theirs;
};

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

static int resolve(struct client *c, struct err *e)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	char port[8];
	int r;

	snprintf(port, sizeof(port), "%u", c->cfg.port);
	snprintf(c->peer, sizeof(c->peer), "server %s:%s", c->cfg.host, port);
	r = getaddrinfo(c->cfg.host, port, &hints, &c->addrs);
	if (r == EAI_SYSTEM)
		return err_sys(e, "host name %s", c->cfg.host);
	if (r != 0)
		return err_set(e, -EHOSTUNREACH, "host name %s: %s", c->cfg.host, gai_strerror(r));
	return 0;
}

int client_open(struct client **ret, const struct client_cfg *cfg, struct err *e)
{
	_cleanup_(client_closep) struct client *c = calloc(1, sizeof(*c));
	const struct wire_params *p = &cfg->params;
	struct flow_cfg flow = { .stream = { .sender = !p->reverse,
					     .rate_bps = p->rate_bps,
					     .length_bytes = p->length_bytes },
				 .streams = p->streams,
				 .cpu = cfg->cpu };
	int r;

	if (!c)
		return err_nomem(e, "client");
	c->cfg = *cfg;
	c->fd = c->wake_fd = -1;
	if (p->streams == 0 || p->streams > WIRE_STREAMS_MAX || p->length_bytes == 0 ||
	    p->length_bytes > WIRE_LENGTH_MAX)
		return err_set(e, -EINVAL,
			       "%u streams of blocks of %zu bytes: 1 to %d streams and blocks of 1 "
			       "to %u bytes are possible",
			       p->streams, p->length_bytes, WIRE_STREAMS_MAX, WIRE_LENGTH_MAX);
	c->samples = calloc(cfg->max_samples + 1, sizeof(*c->samples));
	if (!c->samples)
		return err_nomem(e, "samples of a client");
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake_fd < 0)
		return err_sys(e, "eventfd");
	r = flow_init(&c->flow, &flow, e);
	if (r >= 0)
		r = resolve(c, e);
	if (r < 0)
		return r;
	wire_cookie_make(cfg->seed ^ clock_mono_ns(), c->cookie);
	*ret = take_ptr(c);
	return 0;
}

/* Connect a non-blocking socket within CONNECT_NS. */
static int connect_to(struct client *c, const struct addrinfo *a, bool data, int *ret,
		      struct err *e)
{
	_cleanup_(close_fdp) int fd =
		socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct channel ch = channel_of(c, fd);
	const struct wire_params *p = &c->cfg.params;
	struct tcp_options opts = { .nodelay = p->nodelay || !data,
				    .window_bytes = data ? p->window_bytes : 0,
				    .congestion = data ? p->congestion : "" };
	socklen_t len = sizeof(int);
	int error = 0, r;

	if (fd < 0)
		return err_sys(e, "socket");
	r = tcp_options_set(fd, &opts, e);
	if (r < 0)
		return r;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		if (errno != EINPROGRESS)
			return err_sys(e, "connect to %s", c->peer);
		r = channel_wait(&ch, POLLOUT, clock_mono_ns() + CONNECT_NS, e);
		if (r < 0)
			return err_wrap(e, "connect");
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
		errno = error;
		if (error)
			return err_sys(e, "connect to %s", c->peer);
	}
	*ret = take_fd(fd);
	return 0;
}

static int connect_any(struct client *c, bool data, int *ret, struct err *e)
{
	int r = -EHOSTUNREACH;

	for (const struct addrinfo *a = c->addrs; a && r < 0 && r != -ECANCELED; a = a->ai_next)
		r = connect_to(c, a, data, ret, e);
	return r;
}

/* -2 and two numbers: iperf3's own error and errno at the server. */
static int server_error(struct client *c, struct err *e)
{
	uint32_t be[2] = {};
	int r = channel_read(&c->ch, be, sizeof(be), e);
	int code = (int)ntohl(be[0]), sys = (int)ntohl(be[1]);

	if (r < 0)
		return err_wrap(e, "%s reports an error", c->peer);
	errno = sys;
	if (sys > 0)
		return err_sys(e, "%s refuses the test (iperf3 error %d)", c->peer, code);
	return err_set(e, -EREMOTEIO, "%s refuses the test (iperf3 error %d%s)", c->peer, code,
		       code == WIRE_EUNIMP ? ": an option it does not have" : "");
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
	int r;

	close_fdp(&c->fd);
	c->fd = -1;
	r = connect_any(c, false, &c->fd, e);
	if (r < 0)
		return r;
	c->ch = channel_of(c, c->fd);
	r = channel_write(&c->ch, c->cookie, sizeof(c->cookie), e);
	return r < 0 ? r : expect(c, WIRE_PARAM_EXCHANGE, e);
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
			return r == -ECONNREFUSED ? err_wrap(e, "is \"iperf3 -s\" running there?")
						  : r;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
	}
}

static int agree(struct client *c, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	struct wire_params p = c->cfg.params;
	int r;

	snprintf(p.version, sizeof(p.version), "irqlab %s", IRQLAB_VERSION);
	r = wire_params_encode(&p, &text, e);
	if (r >= 0)
		r = channel_write_json(&c->ch, &text, e);
	return r < 0 ? r : expect(c, WIRE_CREATE_STREAMS, e);
}

static int add_stream(struct client *c, struct err *e)
{
	_cleanup_(close_fdp) int fd = -1;
	struct channel ch = channel_of(c, -1);
	int r = connect_any(c, true, &fd, e);

	ch.fd = fd;
	if (r >= 0)
		r = channel_write(&ch, c->cookie, sizeof(c->cookie), e);
	if (r >= 0)
		r = flow_take(&c->flow, fd, e);
	if (r < 0)
		return err_wrap(e, "stream %u of %u", c->flow.have + 1, c->flow.nr);
	take_fd(fd);
	return 0;
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
	else
		unexpected(c, state, WIRE_EXCHANGE_RESULTS, &c->why);
	fail(c);
}

static void take_sample(struct client *c)
{
	size_t nr = atomic_load_explicit(&c->nr_samples, memory_order_relaxed);

	if (nr >= c->cfg.max_samples) {
		atomic_fetch_add_explicit(&c->lost, 1, memory_order_relaxed);
		return;
	}
	flow_read(&c->flow, &c->samples[nr]);
	atomic_store_explicit(&c->nr_samples, nr + 1, memory_order_release);
}

static void judge_streams(struct client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct err why = {};

	if (atomic_load_explicit(&c->failed, memory_order_relaxed) ||
	    flow_check(&c->flow, &why) == 0)
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

/* The watching thread: samples on an absolute grid, control connection, broken streams. */
static void *watch_run(void *client)
{
	struct client *c = client;
	uint64_t period = c->cfg.sample_ns ? c->cfg.sample_ns : 100 * NS_PER_MS;
	uint64_t next = c->flow.start_ns;

	while (!atomic_load_explicit(&c->failed, memory_order_relaxed)) {
		struct pollfd p[] = { { .fd = c->fd, .events = POLLIN },
				      { .fd = c->wake_fd, .events = POLLIN } };
		uint64_t now = clock_mono_ns();
		struct timespec left = clock_timespec(next > now ? next - now : 0);
		int r = ppoll(p, 2, &left, NULL);

		if (r > 0 && p[1].revents)
			break;
		if (r > 0 && p[0].revents)
			judge_control(c);
		if (clock_mono_ns() < next)
			continue;
		if (c->cfg.sample_ns)
			take_sample(c);
		judge_streams(c);
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

int client_start(struct client *c, struct err *e)
{
	int r = greet_patiently(c, e);

	if (r >= 0)
		r = agree(c, e);
	while (r >= 0 && c->flow.have < c->flow.nr)
		r = add_stream(c, e);
	if (r >= 0)
		r = expect(c, WIRE_TEST_START, e);
	if (r >= 0)
		r = expect(c, WIRE_TEST_RUNNING, e);
	if (r >= 0)
		r = flow_start(&c->flow, e);
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
		if (flow_check(&c->flow, e) == 0)
			return 0;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
	}
	*e = c->why;
	return e->code;
}

static bool has_bytes(const struct client *c)
{
	for (unsigned int i = 0; i < c->flow.nr; i++)
		if (flow_bytes(&c->flow, i) == 0)
			return false;
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

/* As captured: state bytes, results of the client, results of the server, farewell. */
static int exchange(struct client *c, struct err *e)
{
	int r = channel_write_state(&c->ch, WIRE_TEST_END, e);

	flow_finish(&c->flow, DRAIN_NS);
	memset(&c->mine, 0, sizeof(c->mine));
	flow_results(&c->flow, &c->mine);
	if (r >= 0)
		r = expect(c, WIRE_EXCHANGE_RESULTS, e);
	if (r >= 0)
		r = channel_write_results(&c->ch, &c->mine, e);
	if (r >= 0)
		r = channel_read_results(&c->ch, &c->theirs, e);
	if (r >= 0)
		r = expect(c, WIRE_DISPLAY_RESULTS, e);
	if (r >= 0)
		r = channel_write_state(&c->ch, WIRE_DONE, e);
	return r;
}

static int same_streams(const struct client *c, struct err *e)
{
	if (c->theirs.nr != c->mine.nr)
		return err_set(e, -EPROTO, "%s reports %u streams instead of %u", c->peer,
			       c->theirs.nr, c->mine.nr);
	for (unsigned int i = 0; i < c->mine.nr; i++)
		if (c->theirs.streams[i].id != c->mine.streams[i].id)
			return err_set(e, -EPROTO, "%s reports stream %u instead of %u", c->peer,
				       c->theirs.streams[i].id, c->mine.streams[i].id);
	return 0;
}

int client_stop(struct client *c, struct err *e)
{
	struct err ignored = {};
	int r;

	end_watch(c);
	if (!c->agreed)
		return 0;
	c->agreed = false;
	if (is_interrupted(c))
		c->patience_ns = clock_mono_ns() + FAREWELL_NS;
	flow_quiet(&c->flow);
	judge_streams(c);
	r = client_check(c, e);
	if (r < 0) {
		channel_write_state(&c->ch, WIRE_CLIENT_TERMINATE, &ignored);
		flow_finish(&c->flow, 0);
		memset(&c->mine, 0, sizeof(c->mine));
		flow_results(&c->flow, &c->mine);
		return r;
	}
	r = exchange(c, e);
	if (r >= 0)
		r = same_streams(c, e);
	c->done = r >= 0;
	return r < 0 ? err_wrap(e, "end of the test") : 0;
}

void client_close(struct client *c)
{
	struct err ignored = {};

	if (!c)
		return;
	end_watch(c);
	if (c->agreed && c->ch.fd >= 0)
		channel_write_state(&c->ch, WIRE_CLIENT_TERMINATE, &ignored);
	flow_release(&c->flow);
	close_fdp(&c->fd);
	close_fdp(&c->wake_fd);
	if (c->addrs)
		freeaddrinfo(c->addrs);
	free(c->samples);
	free(c);
}

void client_closep(struct client **c)
{
	client_close(*c);
}

struct flow *client_flow(struct client *c, enum client_side side)
{
	return (side == CLIENT_TX) == c->flow.cfg.sender ? &c->flow : NULL;
}

const struct wire_params *client_params(const struct client *c)
{
	return &c->cfg.params;
}

const struct flow_count *client_samples(const struct client *c, enum client_side side,
					size_t *ret_nr, size_t *ret_lost)
{
	(void)side;
	*ret_nr = atomic_load_explicit(&c->nr_samples, memory_order_acquire);
	*ret_lost = atomic_load_explicit(&c->lost, memory_order_relaxed);
	return c->samples;
}

const struct wire_results *client_mine(const struct client *c)
{
	return c->done ? &c->mine : NULL;
}

const struct wire_results *client_theirs(const struct client *c)
{
	return c->done ? &c->theirs : NULL;
}

const char *client_server_output(const struct client *c, bool *ret_is_json)
{
	(void)c;
	*ret_is_json = false;
	return NULL;
}

const char *client_cookie(const struct client *c)
{
	return c->cookie;
}
