// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "load/channel.h"
#include "load/greeter.h"
#include "load/tcpinfo.h"

#define STEP_NS (10 * NS_PER_S)
#define DRAIN_NS (2 * NS_PER_S)
#define GRACE_NS (40 * NS_PER_S)  /* after the agreed time, as stock servers give */
#define IDLE_NS (120 * NS_PER_S)  /* without a byte; as stock servers give */
#define LOOK_NS (500 * NS_PER_MS) /* between looks at progress */
#define BROKEN_NS NS_PER_S	  /* for a TEST_END that a stream's end overtook */
#define DEFAULT_LENGTH (128U << 10)

/* What to do with a connection that brings a cookie while a test is on. */
enum strangers {
	STRANGERS_WAIT, /* the test is all but over */
	STRANGERS_DENY,
	STRANGERS_MAY_JOIN, /* they may be the streams */
};

struct server {
	struct server_cfg cfg;
	int listen_fd;
	int wake_fd;
	uint16_t port;
	struct greeter greeter;
	enum strangers strangers;
	pthread_t thread;
	bool threaded;
	/* the test going on */
	struct greeting client;
	struct wire_params params;
	struct flow flow;
	struct server_test test;
	struct wire_results mine, theirs;
};

static void say(const struct server *s, const char *line)
{
	if (s->cfg.watch.said)
		s->cfg.watch.said(s->cfg.watch.ctx, line);
}

/*
 * One round of waiting for @fd (-1: nothing) until @until_ns at most, while others may come.
 * Returns 1 when @fd is ready, 0 when not yet, -ECANCELED when the server has been woken.
 */
static int wait_round(struct server *s, int fd, short events, uint64_t until_ns, struct err *e)
{
	struct pollfd p[GREETER_MAX + 3] = { { .fd = s->wake_fd, .events = POLLIN },
					     { .fd = fd, .events = events } };
	unsigned int nr = greeter_poll(&s->greeter, p + 2);
	uint64_t late = greeter_deadline(&s->greeter);
	uint64_t now = clock_mono_ns();
	uint64_t until = late < until_ns ? late : until_ns;
	struct timespec left = clock_timespec(until > now ? until - now : 0);
	int r = ppoll(p, nr + 2, until == UINT64_MAX ? NULL : &left, NULL);

	if (r < 0 && errno != EINTR)
		return err_sys(e, "wait for clients");
	if (r < 0)
		return 0;
	if (p[0].revents)
		return err_set(e, -ECANCELED, "the server was told to stop");
	greeter_work(&s->greeter, p + 2, nr);
	if (s->strangers == STRANGERS_DENY)
		greeter_deny(&s->greeter);
	return p[1].revents != 0;
}

/* How the control connection waits. */
static int wait_control(struct channel *ch, short events, uint64_t deadline_ns, struct err *e)
{
	struct server *s = ch->ctx;

	for (;;) {
		int r = wait_round(s, ch->fd, events, deadline_ns, e);

		if (r != 0)
			return r < 0 ? r : 0;
		if (clock_mono_ns() >= deadline_ns)
			return err_set(e, -ETIMEDOUT, "%s is silent", ch->peer);
	}
}

/* -2, iperf3's own number and errno: a stock client prints a sentence for it. */
static void refuse(struct channel *ch, int code, int sys)
{
	uint32_t be[2] = { htonl((uint32_t)code), htonl((uint32_t)sys) };
	struct err ignored = {};

	if (channel_write_state(ch, WIRE_SERVER_ERROR, &ignored) >= 0)
		channel_write(ch, be, sizeof(be), &ignored);
}

static int read_params(struct server *s, struct channel *ch, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	int r = channel_write_state(ch, WIRE_PARAM_EXCHANGE, e);

	if (r >= 0)
		r = channel_read_json(ch, WIRE_PARAMS_MAX, &text, e);
	if (r < 0)
		return r;
	r = wire_params_decode(buf_str(&text), text.len, &s->params, e);
	if (r < 0) {
		refuse(ch, WIRE_ERECVPARAMS, 0);
		return r;
	}
	if (s->params.udp || s->params.bidir) {
		refuse(ch, WIRE_EUNIMP, 0);
		return err_set(e, -ENOTSUP, "asks for %s, which this server does not have",
			       s->params.udp ? "UDP" : "both directions at once");
	}
	if (s->params.length_bytes == 0)
		s->params.length_bytes = DEFAULT_LENGTH;
	return 0;
}

/*
 * The window must be known before a connection is made, so the listening socket carries it for
 * the while.  SO_BUF_LOCK (Linux 5.14) gives it back its automatic size; without SO_BUF_LOCK it is
 * left alone, and the accepted sockets alone get the window.
 */
static int set_listen_window(const struct server *s, int window_bytes)
{
#ifdef SO_BUF_LOCK
	int none = 0, old = 0;
	socklen_t len = sizeof(old);

	if (setsockopt(s->listen_fd, SOL_SOCKET, SO_BUF_LOCK, &none, sizeof(none)) < 0 ||
	    getsockopt(s->listen_fd, SOL_SOCKET, SO_RCVBUF, &old, &len) < 0)
		return 0;
	setsockopt(s->listen_fd, SOL_SOCKET, SO_RCVBUF, &window_bytes, sizeof(window_bytes));
	return old / 2; /* the kernel doubles what it is told */
#else
	return 0;
#endif
}

static void reset_listen_window(const struct server *s, int old_bytes)
{
#ifdef SO_BUF_LOCK
	int none = 0;

	if (old_bytes == 0)
		return;
	setsockopt(s->listen_fd, SOL_SOCKET, SO_RCVBUF, &old_bytes, sizeof(old_bytes));
	setsockopt(s->listen_fd, SOL_SOCKET, SO_BUF_LOCK, &none, sizeof(none));
#endif
}

static int add_stream(struct server *s, struct channel *ch, int fd, struct err *e)
{
	struct tcp_options opts = { .nodelay = s->params.nodelay,
				    .window_bytes = s->params.window_bytes,
				    .congestion = s->params.congestion };
	int r = tcp_options_set(fd, &opts, e);

	if (r < 0) {
		refuse(ch, WIRE_ESETCONGESTION, -r);
		return r;
	}
	return flow_take(&s->flow, fd, e);
}

static int gather_streams(struct server *s, struct channel *ch, struct err *e)
{
	uint64_t deadline = clock_mono_ns() + s->cfg.step_ns;
	int r = channel_write_state(ch, WIRE_CREATE_STREAMS, e);

	while (r >= 0 && s->flow.have < s->flow.nr) {
		struct greeting x = { .fd = -1 };

		r = wait_round(s, ch->fd, POLLIN, deadline, e);
		if (r > 0)
			return err_set(e, -EPROTO, "gave up or sent rubbish instead of streams");
		if (r == 0 && clock_mono_ns() >= deadline)
			return err_set(e, -ETIMEDOUT, "opened %u of %u streams in time",
				       s->flow.have, s->flow.nr);
		while (r >= 0 && s->flow.have < s->flow.nr &&
		       greeter_take(&s->greeter, s->client.cookie, &x) == 0) {
			r = add_stream(s, ch, x.fd, e);
			if (r < 0)
				close_fdp(&x.fd);
		}
		greeter_deny(&s->greeter);
	}
	return r;
}

/* When the client must have ended the test; UINT64_MAX when it did not say a time. */
static uint64_t last_moment(const struct server *s)
{
	const struct wire_params *p = &s->params;

	if (p->time_s == 0 || p->bytes || p->blocks)
		return UINT64_MAX;
	return s->flow.start_ns + (p->time_s + p->omit_s) * NS_PER_S + GRACE_NS;
}

struct progress {
	uint64_t bytes, moved_ns; /* the last time bytes moved */
	uint64_t tick_ns;	  /* the next one */
	uint64_t omit_ns;	  /* 0 when done */
	uint64_t broken_ns;	  /* when a stream was found ended; 0: none */
};

/* A stream that ended although the test goes on. */
static int look_at_streams(struct server *s, struct channel *ch, struct progress *p, struct err *e)
{
	uint64_t now = clock_mono_ns();
	struct err why = {};
	int r = flow_check(&s->flow, &why);

	if (r < 0 && p->broken_ns == 0)
		p->broken_ns = now;
	if (r >= 0 || now - p->broken_ns < BROKEN_NS)
		return 0;
	refuse(ch, s->flow.cfg.sender ? WIRE_ESTREAMWRITE : WIRE_ESTREAMREAD, -r);
	*e = why;
	return r;
}

/* What is due while the test runs; the time of the next look. */
static int look(struct server *s, struct progress *p, uint64_t *ret_next, struct err *e)
{
	uint64_t now = clock_mono_ns(), bytes = 0, next = now + LOOK_NS;

	for (unsigned int i = 0; i < s->flow.have; i++)
		bytes += flow_bytes(&s->flow, i);
	if (bytes != p->bytes)
		p->moved_ns = now;
	p->bytes = bytes;
	if (now - p->moved_ns > IDLE_NS)
		return err_set(e, -ETIMEDOUT, "moved no byte for 120 s");
	if (now > last_moment(s))
		return err_set(e, -ETIMEDOUT, "did not end the test in time");
	if (p->omit_ns && now >= p->omit_ns) {
		flow_omit(&s->flow);
		p->omit_ns = 0;
	}
	if (now >= p->tick_ns) {
		if (s->cfg.watch.tick)
			s->cfg.watch.tick(s->cfg.watch.ctx, &s->test);
		p->tick_ns += s->cfg.interval_ns;
	}
	next = p->tick_ns < next ? p->tick_ns : next;
	*ret_next = p->omit_ns && p->omit_ns < next ? p->omit_ns : next;
	return 0;
}

/* TEST_RUNNING until the client says TEST_END. */
static int watch_test(struct server *s, struct channel *ch, struct err *e)
{
	uint64_t start = s->flow.start_ns, next = 0;
	struct progress p = {
		.moved_ns = start,
		.tick_ns = s->cfg.interval_ns ? start + s->cfg.interval_ns : UINT64_MAX,
		.omit_ns = s->params.omit_s ? start + s->params.omit_s * NS_PER_S : 0
	};
	int state = 0, r;

	do {
		r = look_at_streams(s, ch, &p, e);
		if (r >= 0)
			r = look(s, &p, &next, e);
		if (r >= 0)
			r = wait_round(s, ch->fd, POLLIN, next, e);
	} while (r == 0);
	if (r > 0)
		r = channel_read_state(ch, &state, e);
	if (r < 0)
		return r;
	if (state == WIRE_TEST_END)
		return 0;
	if (state == WIRE_CLIENT_TERMINATE || state == WIRE_DONE)
		return err_set(e, -ECONNABORTED, "ended the test early");
	return err_set(e, -EPROTO, "sent %d (%s) during the test", state, wire_state_name(state));
}

static int run_test(struct server *s, struct channel *ch, struct err *e)
{
	int r = channel_write_state(ch, WIRE_TEST_START, e);

	if (r >= 0)
		r = channel_write_state(ch, WIRE_TEST_RUNNING, e);
	if (r < 0)
		return r;
	r = flow_start(&s->flow, e);
	if (r < 0) {
		refuse(ch, WIRE_ECREATESTREAM, -r);
		return r;
	}
	s->test = (struct server_test){ .nr = s->test.nr + 1,
					.client = s->client.peer,
					.cookie = s->client.cookie,
					.params = &s->params };
	if (s->flow.cfg.sender)
		s->test.tx = &s->flow;
	else
		s->test.rx = &s->flow;
	if (s->cfg.watch.began)
		s->cfg.watch.began(s->cfg.watch.ctx, &s->test);
	r = watch_test(s, ch, e);
	flow_quiet(&s->flow);
	flow_finish(&s->flow, r < 0 ? 0 : DRAIN_NS);
	memset(&s->mine, 0, sizeof(s->mine));
	flow_results(&s->flow, &s->mine);
	return r;
}

static int exchange(struct server *s, struct channel *ch, bool *ret_theirs, struct err *e)
{
	int state = 0;
	int r = channel_write_state(ch, WIRE_EXCHANGE_RESULTS, e);

	if (r >= 0)
		r = channel_read_results(ch, &s->theirs, e);
	if (r < 0)
		return r;
	*ret_theirs = true;
	/* the next test may begin as soon as this client has all it needs */
	s->strangers = STRANGERS_WAIT;
	r = channel_write_results(ch, &s->mine, e);
	if (r >= 0)
		r = channel_write_state(ch, WIRE_DISPLAY_RESULTS, e);
	ch->step_ns /= 4; /* whoever waits now would be served next */
	if (r >= 0)
		r = channel_read_state(ch, &state, e);
	if (r >= 0 && state != WIRE_DONE)
		r = err_set(e, -EPROTO, "sent %d (%s) instead of IPERF_DONE", state,
			    wire_state_name(state));
	return r;
}

static int serve_streams(struct server *s, struct channel *ch, struct err *e)
{
	bool has_theirs = false;
	int window = 0, r;

	if (s->params.window_bytes)
		window = set_listen_window(s, (int)s->params.window_bytes);
	s->strangers = STRANGERS_MAY_JOIN;
	r = gather_streams(s, ch, e);
	s->strangers = STRANGERS_DENY;
	reset_listen_window(s, window);
	if (r >= 0)
		r = run_test(s, ch, e);
	if (r >= 0)
		r = exchange(s, ch, &has_theirs, e);
	s->test.mine = &s->mine;
	s->test.theirs = has_theirs ? &s->theirs : NULL;
	if (r < 0)
		s->test.why = e->msg;
	if (s->flow.start_ns && s->cfg.watch.ended)
		s->cfg.watch.ended(s->cfg.watch.ctx, &s->test);
	return r;
}

/* One client from its cookie to its farewell. */
static int serve(struct server *s, struct err *e)
{
	struct channel ch = { .fd = s->client.fd,
			      .step_ns = s->cfg.step_ns,
			      .peer = s->client.peer,
			      .wait = wait_control,
			      .ctx = s };
	struct err last = {};
	int one = 1, r;

	setsockopt(ch.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	s->strangers = STRANGERS_DENY;
	s->mine.nr = 0;
	r = read_params(s, &ch, e);
	if (r >= 0) {
		struct flow_cfg cfg = { .stream = { .sender = s->params.reverse,
						    .rate_bps = s->params.rate_bps,
						    .length_bytes = s->params.length_bytes },
					.streams = s->params.streams,
					.cpu = s->cfg.cpu };

		r = flow_init(&s->flow, &cfg, e);
		if (r < 0)
			refuse(&ch, WIRE_ECREATESTREAM, -r);
		else
			r = serve_streams(s, &ch, e);
	}
	if (r == -ECANCELED)
		channel_write_state(&ch, WIRE_SERVER_TERMINATE, &last);
	flow_release(&s->flow);
	close_fdp(&s->client.fd);
	s->client.fd = -1;
	s->strangers = STRANGERS_WAIT;
	return r;
}

int server_run(struct server *s, struct err *e)
{
	for (;;) {
		char line[sizeof(e->msg) + 80];
		int r = 0;

		/* who waited during the last test raises no event any more */
		while (r >= 0 && greeter_take(&s->greeter, NULL, &s->client) < 0)
			r = wait_round(s, -1, 0, UINT64_MAX, e);
		if (r >= 0)
			r = serve(s, e);
		else if (r != -ECANCELED)
			return r;
		if (r == -ECANCELED)
			return 0;
		if (r < 0) {
			snprintf(line, sizeof(line), "%s: test dropped: %s", s->client.peer,
				 e->msg);
			say(s, line);
		}
		/* who did not even agree to a test has not used up the one */
		if (s->cfg.one_off && (r >= 0 || s->mine.nr > 0))
			return r;
	}
}

/* "::" takes IPv4 clients too; without IPv6 "0.0.0.0". */
static int listen_at(const struct server_cfg *cfg, struct sockaddr_storage *at, socklen_t len,
		     struct err *e)
{
	_cleanup_(close_fdp) int fd =
		socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const char *where = cfg->bind ? cfg->bind : "all addresses";
	int one = 1, zero = 0;

	if (fd < 0)
		return err_sys(e, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (at->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, (struct sockaddr *)at, len) < 0 || listen(fd, SOMAXCONN) < 0) {
		err_sys(e, "listen on %s, port %u", where, cfg->port);
		return e->code == -EADDRINUSE
			       ? err_wrap(e, "another server has the port; choose one with -p")
			       : e->code;
	}
	return take_fd(fd);
}

static int listen_anywhere(const struct server_cfg *cfg, struct err *e)
{
	struct sockaddr_storage at = {};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&at;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at;
	int fd;

	if (cfg->bind && inet_pton(AF_INET, cfg->bind, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(cfg->port);
		return listen_at(cfg, &at, sizeof(*v4), e);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(cfg->port);
	if (cfg->bind && inet_pton(AF_INET6, cfg->bind, &v6->sin6_addr) != 1)
		return err_set(e, -EINVAL,
			       "address \"%s\": expected a numeric one such as 192.0.2.1",
			       cfg->bind);
	fd = listen_at(cfg, &at, sizeof(*v6), e);
	if (cfg->bind || (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL))
		return fd;
	memset(&at, 0, sizeof(at));
	v4->sin_family = AF_INET;
	v4->sin_port = htons(cfg->port);
	return listen_at(cfg, &at, sizeof(*v4), e);
}

static int bound_port(int fd, uint16_t *ret, struct err *e)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {};
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len) < 0)
		return err_sys(e, "port of the server");
	*ret = ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
	return 0;
}

int server_open(struct server **ret, const struct server_cfg *cfg, struct err *e)
{
	_cleanup_(server_closep) struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_nomem(e, "server");
	s->cfg = *cfg;
	s->listen_fd = s->wake_fd = s->client.fd = -1;
	if (s->cfg.step_ns == 0)
		s->cfg.step_ns = STEP_NS;
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0)
		return err_sys(e, "eventfd");
	s->listen_fd = listen_anywhere(cfg, e);
	if (s->listen_fd < 0)
		return s->listen_fd;
	r = bound_port(s->listen_fd, &s->port, e);
	if (r < 0)
		return r;
	s->greeter.listen_fd = s->listen_fd;
	s->greeter.step_ns = s->cfg.step_ns;
	s->greeter.ctx = cfg->watch.ctx;
	s->greeter.said = cfg->watch.said;
	*ret = take_ptr(s);
	return 0;
}

uint16_t server_port(const struct server *s)
{
	return s->port;
}

static void *serve_thread(void *server)
{
	struct server *s = server;
	struct err e = {};

	if (server_run(s, &e) < 0)
		say(s, e.msg);
	return NULL;
}

int server_start(struct server *s, struct err *e)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&s->thread, NULL, serve_thread, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		return err_set(e, -r, "thread of the server");
	s->threaded = true;
	return 0;
}

void server_wake(struct server *s)
{
	uint64_t one = 1;
	ssize_t n = write(s->wake_fd, &one, sizeof(one));

	(void)n; /* a full counter wakes as well */
}

void server_close(struct server *s)
{
	if (!s)
		return;
	if (s->threaded) {
		server_wake(s);
		pthread_join(s->thread, NULL);
	}
	greeter_release(&s->greeter);
	flow_release(&s->flow);
	close_fdp(&s->client.fd);
	close_fdp(&s->listen_fd);
	close_fdp(&s->wake_fd);
	free(s);
}

void server_closep(struct server **s)
{
	server_close(*s);
}
