// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define GRACE_NS (40 * NS_PER_S)	/* after the agreed time, as stock servers give */
#define DAY_NS (24 * 3600 * NS_PER_S)	/* of a test that does not say how long it takes */
#define LOOK_NS (500 * NS_PER_MS)	/* between looks at progress */
#define BROKEN_NS NS_PER_S		/* for a TEST_END that a stream's end overtook */
#define RATE_NS (250 * NS_PER_MS)	/* how far a client may be ahead of the rate, or behind */
#define RATE_LOOK_NS (50 * NS_PER_MS)	/* between looks at it */
#define RATE_SLACK 1.1			/* clocks and timers differ */
#define STACK_BYTES ((size_t)512 << 10) /* json-c and getnameinfo() take most of it */
#define TCP_LENGTH_DEFAULT (128U << 10)
#define UDP_LENGTH_DEFAULT 1460

void hub_say(struct hub *h, const char *line)
{
	if (!h->cfg.watch.said)
		return;
	pthread_mutex_lock(&h->watch_lock);
	h->cfg.watch.said(h->cfg.watch.ctx, line);
	pthread_mutex_unlock(&h->watch_lock);
}

void hub_wake(struct hub *h)
{
	eventfd_write(h->wake_fd, 1);
}

/* One of the watcher's functions that see a test. */
static void tell(struct session *s, void (*f)(void *ctx, struct server_test *t))
{
	if (!f)
		return;
	pthread_mutex_lock(&s->hub->watch_lock);
	f(s->hub->cfg.watch.ctx, &s->test);
	pthread_mutex_unlock(&s->hub->watch_lock);
}

int session_wait(struct session *s, short events, uint64_t until_ns, struct err *e)
{
	struct pollfd p[] = { { .fd = s->ch.fd, .events = events },
			      { .fd = s->wake_fd, .events = POLLIN } };
	uint64_t now = clock_mono_ns();
	struct timespec left = clock_timespec(until_ns > now ? until_ns - now : 0);
	eventfd_t ignored;
	int r = ppoll(p, 2, &left, NULL);

	if (r < 0 && errno != EINTR)
		return err_sys(e, "wait for %s", s->ch.peer);
	if (r > 0 && p[1].revents)
		eventfd_read(s->wake_fd, &ignored);
	if (atomic_load(&s->stop))
		return err_set(e, -ECANCELED, "the server was told to stop");
	return r > 0 && p[0].revents;
}

/* How the control connection waits. */
static int wait_control(struct channel *ch, short events, uint64_t deadline_ns, struct err *e)
{
	for (;;) {
		int r = session_wait(ch->ctx, events, deadline_ns, e);

		if (r != 0)
			return r < 0 ? r : 0;
		if (clock_mono_ns() >= deadline_ns)
			return err_set(e, -ETIMEDOUT, "%s is silent", ch->peer);
	}
}

void session_refuse(struct session *s, int code, int sys)
{
	uint32_t be[2] = { htonl((uint32_t)code), htonl((uint32_t)sys) };
	struct err ignored = {};

	if (channel_write_state(&s->ch, WIRE_SERVER_ERROR, &ignored) >= 0)
		channel_write(&s->ch, be, sizeof(be), &ignored);
}

static bool has_cpu(int cpu)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_ISSET(cpu, &set);
}

/* What this server's owner does not allow. */
static int check_limits(struct session *s, struct err *e)
{
	const struct server_cfg *cfg = &s->hub->cfg;
	const struct wire_params *p = &s->params;
	unsigned __int128 bps = (unsigned __int128)p->rate_bps * p->streams * (p->bidir ? 2 : 1);

	if (cfg->max_duration_ns && (p->time_s + p->omit_s) * NS_PER_S > cfg->max_duration_ns) {
		session_refuse(s, WIRE_EMAXDURATION, 0);
		return err_set(e, -EPERM, "asks for %u s, at most %.0f s are allowed",
			       p->time_s + p->omit_s, (double)cfg->max_duration_ns / 1e9);
	}
	if (cfg->max_bps && bps > cfg->max_bps) {
		session_refuse(s, WIRE_ETOTALRATE, 0);
		return err_set(e, -EPERM, "asks for %.0f bit/s, at most %.0f are allowed",
			       (double)bps, (double)cfg->max_bps);
	}
	if (p->server_cpu >= 0 && !has_cpu(p->server_cpu)) {
		session_refuse(s, WIRE_EAFFINITY, EINVAL);
		return err_set(e, -EINVAL, "asks for CPU %d, which this server may not use",
			       p->server_cpu);
	}
	return 0;
}

static int read_params(struct session *s, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	int r = channel_write_state(&s->ch, WIRE_PARAM_EXCHANGE, e);

	if (r >= 0)
		r = channel_read_json(&s->ch, WIRE_PARAMS_MAX, &text, e);
	if (r < 0)
		return r;
	r = wire_params_decode(buf_str(&text), text.len, &s->params, e);
	if (r < 0) {
		session_refuse(s, WIRE_ERECVPARAMS, 0);
		return r;
	}
	if (s->params.length_bytes == 0)
		s->params.length_bytes = s->params.udp ? UDP_LENGTH_DEFAULT : TCP_LENGTH_DEFAULT;
	return check_limits(s, e);
}

/*
 * What this end sends at most.  A client that receives decides when it has enough: only over TCP
 * does all of it arrive, and what is omitted does not count.
 */
static uint64_t limit_bytes(const struct wire_params *p)
{
	if (p->udp || p->omit_s)
		return 0;
	if (p->bytes)
		return p->bytes <= INT64_MAX ? p->bytes : 0;
	return p->blocks > INT64_MAX / p->length_bytes ? 0 : p->blocks * p->length_bytes;
}

/* A few bytes of parameters ask for much memory: not from all clients at once. */
static int reserve(struct session *s, uint64_t bytes, struct err *e)
{
	struct hub *h = s->hub;
	bool fits;

	pthread_mutex_lock(&h->lock);
	fits = bytes <= HUB_BLOCKS_MAX - h->block_bytes;
	if (fits) {
		h->block_bytes += bytes;
		s->block_bytes += bytes;
	}
	pthread_mutex_unlock(&h->lock);
	if (fits)
		return 0;
	return err_set(e, -ENOMEM, "asks for %.0f MB of blocks, more than the others leave",
		       (double)bytes / 1e6);
}

/* Who asks for no rate gets what is allowed, as far as it is this end's to keep. */
static uint64_t rate_of(const struct session *s, bool sender)
{
	const struct wire_params *p = &s->params;
	uint64_t share = s->hub->cfg.max_bps / p->streams / (p->bidir ? 2 : 1);

	if (p->rate_bps || !sender || s->hub->cfg.max_bps == 0)
		return p->rate_bps;
	return share ? share : 1;
}

static int init_flow(struct session *s, struct flow *f, unsigned int first, struct err *e)
{
	const struct wire_params *p = &s->params;
	bool sender = f == &s->tx;
	struct flow_cfg cfg = { .stream = stream_cfg_of(p, sender),
				.streams = p->streams,
				.first_index = first,
				.limit_bytes = sender ? limit_bytes(p) : 0,
				.cpu = p->server_cpu >= 0 ? p->server_cpu : s->hub->cfg.cpu };
	int r;

	cfg.stream.rate_bps = rate_of(s, sender);
	/* stock clients keep them open until the results */
	cfg.stream.has_end = strncmp(p->version, WIRE_IRQLAB, strlen(WIRE_IRQLAB)) == 0;
	r = reserve(s, p->streams * (uint64_t)stream_block_bytes(&cfg.stream), e);
	return r < 0 ? r : flow_init(f, &cfg, e);
}

static int init_flows(struct session *s, struct err *e)
{
	const struct wire_params *p = &s->params;
	int r = 0;

	if (!p->reverse)
		r = init_flow(s, &s->rx, 0, e);
	if (r >= 0 && (p->reverse || p->bidir))
		r = init_flow(s, &s->tx, p->bidir ? p->streams : 0, e);
	if (r < 0)
		session_refuse(s, WIRE_ECREATESTREAM, -r);
	return r;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When the client must have ended the test: TEST_END is on its way for a step at most. */
static uint64_t last_moment(const struct session *s, uint64_t start_ns)
{
	const struct wire_params *p = &s->params;
	uint64_t max = s->hub->cfg.max_duration_ns, length = DAY_NS;

	if (p->time_s && !p->bytes && !p->blocks)
		length = (p->time_s + p->omit_s) * NS_PER_S + GRACE_NS;
	if (max)
		length = earlier(length, max + s->hub->cfg.step_ns);
	return start_ns + length;
}

struct progress {
	uint64_t last_ns;	  /* the test must have ended */
	uint64_t bytes, moved_ns; /* the last time bytes moved */
	uint64_t tick_ns;	  /* the next one */
	uint64_t omit_ns;	  /* 0 when done */
	uint64_t broken_ns;	  /* when a stream was found ended; 0: none */
	uint64_t mark, mark_ns;	  /* bytes when the rate was looked at */
	double ahead;		  /* bytes more than the rate allows; less: saved */
};

static int check_flows(struct session *s, bool *ret_sender, struct err *e)
{
	int r = s->rx.nr ? flow_check(&s->rx, e) : 0;

	*ret_sender = r >= 0;
	return r >= 0 && s->tx.nr ? flow_check(&s->tx, e) : r;
}

/* A stream that ended although the test goes on. */
static int look_at_streams(struct session *s, struct progress *p, struct err *e)
{
	uint64_t now = clock_mono_ns();
	struct err why = {};
	bool sender = false;
	int r = check_flows(s, &sender, &why);

	if (r < 0 && p->broken_ns == 0)
		p->broken_ns = now;
	if (r >= 0 || now - p->broken_ns < BROKEN_NS)
		return 0;
	session_refuse(s, sender ? WIRE_ESTREAMWRITE : WIRE_ESTREAMREAD, -r);
	*e = why;
	return r;
}

/* What a client that keeps its rate has sent ahead: blocks are sent whole. */
static double blocks_ahead(const struct wire_params *p)
{
	if (p->rate_bps == 0)
		return 0;
	return (double)p->length_bytes * p->streams * (p->bidir ? 2 : 1) *
	       (p->burst ? p->burst : 1);
}

/*
 * What moves beyond the rate adds up, what moves below it is credit; both are bounded, so that a
 * burst of RATE_NS is the most that comes of it and a test shorter than that is judged too.
 */
static int look_at_rate(struct session *s, struct progress *p, uint64_t now, struct err *e)
{
	const double bps = (double)s->hub->cfg.max_bps, most = bps / 8 * (double)RATE_NS / 1e9;
	const double moved = (double)(p->bytes - p->mark), passed = (double)(now - p->mark_ns);

	if (s->hub->cfg.max_bps == 0)
		return 0;
	p->ahead += moved - bps * RATE_SLACK / 8 * passed / 1e9;
	if (p->ahead < -most)
		p->ahead = -most;
	p->mark = p->bytes;
	p->mark_ns = now;
	if (p->ahead <= most + blocks_ahead(&s->params))
		return 0;
	session_refuse(s, WIRE_ETOTALRATE, 0);
	return err_set(e, -EPERM,
		       "moved %.0f bytes more than the %.0f bit/s that are allowed, at most a "
		       "quarter of a second's may be ahead",
		       p->ahead, bps);
}

/* Whether the client uses what it has been given, and no more. */
static int look_at_bytes(struct session *s, struct progress *p, uint64_t now, struct err *e)
{
	uint64_t bytes = flow_sum_bytes(&s->rx) + flow_sum_bytes(&s->tx);

	if (bytes != p->bytes)
		p->moved_ns = now;
	p->bytes = bytes;
	if (now - p->moved_ns > s->hub->cfg.idle_ns) {
		session_refuse(s, WIRE_ENOMSG, 0);
		return err_set(e, -ETIMEDOUT, "moved no byte for %.1f s",
			       (double)s->hub->cfg.idle_ns / 1e9);
	}
	if (now > p->last_ns) {
		session_refuse(s, WIRE_EDURATION_EXPIRED, 0);
		return err_set(e, -ETIMEDOUT, "did not end the test in time");
	}
	return look_at_rate(s, p, now, e);
}

static void omit_when_due(struct session *s, struct progress *p, uint64_t now)
{
	if (p->omit_ns == 0 || now < p->omit_ns)
		return;
	if (s->rx.nr)
		flow_omit(&s->rx);
	if (s->tx.nr)
		flow_omit(&s->tx);
	p->omit_ns = 0;
}

/* What is due while the test runs; the time of the next look. */
static int look(struct session *s, struct progress *p, uint64_t *ret_next, struct err *e)
{
	const uint64_t gap = s->hub->cfg.max_bps ? RATE_LOOK_NS : LOOK_NS;
	uint64_t now = clock_mono_ns();
	int r = look_at_streams(s, p, e);

	if (r >= 0)
		r = look_at_bytes(s, p, now, e);
	if (r < 0)
		return r;
	omit_when_due(s, p, now);
	if (now >= p->tick_ns) {
		tell(s, s->hub->cfg.watch.tick);
		p->tick_ns += s->hub->cfg.interval_ns;
	}
	*ret_next = earlier(earlier(p->tick_ns, now + earlier(gap, s->hub->cfg.idle_ns)),
			    p->omit_ns ? p->omit_ns : UINT64_MAX);
	return 0;
}

/* TEST_RUNNING until the client says TEST_END. */
static int watch_test(struct session *s, struct err *e)
{
	uint64_t start = clock_mono_ns(), next = 0, tick = s->hub->cfg.interval_ns;
	struct progress p = { .last_ns = last_moment(s, start),
			      .moved_ns = start,
			      .mark_ns = start,
			      .tick_ns = tick ? start + tick : UINT64_MAX,
			      .omit_ns = s->params.omit_s ? start + s->params.omit_s * NS_PER_S
							  : 0 };
	int state = 0, r;

	do {
		r = look(s, &p, &next, e);
		if (r >= 0)
			r = session_wait(s, POLLIN, next, e);
	} while (r == 0);
	omit_when_due(s, &p, clock_mono_ns());
	if (r > 0)
		r = channel_read_state(&s->ch, &state, e);
	if (r < 0)
		return r;
	if (state == WIRE_TEST_END) {
		p.bytes = flow_sum_bytes(&s->rx) + flow_sum_bytes(&s->tx);
		return look_at_rate(s, &p, clock_mono_ns(), e);
	}
	if (state == WIRE_CLIENT_TERMINATE || state == WIRE_DONE)
		return err_set(e, -ECONNABORTED, "ended the test early");
	return err_set(e, -EPROTO, "sent %d (%s) during the test", state, wire_state_name(state));
}

static int start_flows(struct session *s, struct err *e)
{
	int r = s->rx.nr ? flow_start(&s->rx, e) : 0;

	if (r >= 0 && s->tx.nr)
		r = flow_start(&s->tx, e);
	if (r < 0)
		session_refuse(s, WIRE_ECREATESTREAM, -r);
	return r;
}

/* Senders first: the other end waits for the end of what they sent. */
static void finish_flows(struct session *s, uint64_t bound_ns)
{
	struct flow *v[] = { &s->tx, &s->rx };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (v[i]->nr)
			flow_quiet(v[i]);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (v[i]->nr)
			flow_finish(v[i], bound_ns);
	if (s->rx.nr)
		flow_results(&s->rx, &s->mine);
	if (s->tx.nr)
		flow_results(&s->tx, &s->mine);
}

static int run_test(struct session *s, struct err *e)
{
	int r = channel_write_state(&s->ch, WIRE_TEST_START, e);

	if (r >= 0)
		r = channel_write_state(&s->ch, WIRE_TEST_RUNNING, e);
	if (r >= 0)
		r = start_flows(s, e);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->hub->lock);
	s->test = (struct server_test){ .nr = ++s->hub->nr_tests,
					.client = s->client.peer,
					.cookie = s->client.cookie,
					.params = &s->params,
					.rx = s->rx.nr ? &s->rx : NULL,
					.tx = s->tx.nr ? &s->tx : NULL };
	pthread_mutex_unlock(&s->hub->lock);
	s->has_begun = true;
	tell(s, s->hub->cfg.watch.began);
	r = watch_test(s, e);
	/* the client waits for a step, and shall not have given up by then */
	finish_flows(s, r < 0 ? 0 : s->hub->cfg.step_ns / 5 * 4);
	s->test.mine = &s->mine;
	return r;
}

/* What the client asked to see of this server's own view. */
static void make_output(struct session *s)
{
	const struct server_watch *w = &s->hub->cfg.watch;

	if (!s->params.get_server_output || !w->output)
		return;
	pthread_mutex_lock(&s->hub->watch_lock);
	w->output(w->ctx, &s->test, &s->output.text, &s->output.is_json);
	pthread_mutex_unlock(&s->hub->watch_lock);
}

static int exchange(struct session *s, struct err *e)
{
	int state = 0;
	int r = channel_write_state(&s->ch, WIRE_EXCHANGE_RESULTS, e);

	if (r >= 0)
		r = channel_read_results(&s->ch, &s->theirs, NULL, e);
	if (r < 0)
		return r;
	s->test.theirs = &s->theirs;
	make_output(s);
	r = channel_write_results(&s->ch, &s->mine, &s->output, e);
	if (r >= 0)
		r = channel_write_state(&s->ch, WIRE_DISPLAY_RESULTS, e);
	if (r >= 0)
		r = channel_read_state(&s->ch, &state, e);
	if (r >= 0 && state != WIRE_DONE)
		r = err_set(e, -EPROTO, "sent %d (%s) instead of IPERF_DONE", state,
			    wire_state_name(state));
	return r;
}

static int serve(struct session *s, struct err *e)
{
	int one = 1, r;

	setsockopt(s->ch.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	r = endpoint_of(s->ch.fd, &s->local, e);
	if (r >= 0)
		r = read_params(s, e);
	if (r >= 0)
		r = init_flows(s, e);
	if (r >= 0)
		r = session_gather(s, e);
	if (r >= 0)
		r = run_test(s, e);
	if (r >= 0)
		r = exchange(s, e);
	return r;
}

static void release_flows(struct session *s)
{
	if (s->rx.nr)
		flow_release(&s->rx);
	if (s->tx.nr)
		flow_release(&s->tx);
	pthread_mutex_lock(&s->hub->lock);
	s->hub->block_bytes -= s->block_bytes;
	pthread_mutex_unlock(&s->hub->lock);
}

static void *session_run(void *session)
{
	struct session *s = session;
	char line[sizeof(s->e.msg) + 80];
	struct err last = {};

	s->result = serve(s, &s->e);
	if (s->result == -ECANCELED)
		channel_write_state(&s->ch, WIRE_SERVER_TERMINATE, &last);
	if (s->result < 0)
		s->test.why = s->e.msg;
	/* before the end of it: what is said then is of the next one */
	if (s->result < 0 && s->result != -ECANCELED) {
		snprintf(line, sizeof(line), "%s: test dropped: %s", s->client.peer, s->e.msg);
		hub_say(s->hub, line);
	}
	if (s->has_begun)
		tell(s, s->hub->cfg.watch.ended);
	release_flows(s);
	close(s->client.fd);
	atomic_store(&s->ended, true);
	hub_wake(s->hub);
	return NULL;
}

/* Signals are for the thread that conducts. */
static int start_thread(struct session *s)
{
	const size_t stack = STACK_BYTES;
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	if (pthread_attr_init(&attr) != 0)
		return ENOMEM;
	pthread_attr_setstacksize(&attr, stack);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&s->thread, &attr, session_run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

int session_start(struct session **ret, struct hub *h, const struct greeting *client, struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_nomem(e, "session");
	s->hub = h;
	s->client = *client;
	s->ch = (struct channel){ .fd = client->fd,
				  .step_ns = h->cfg.step_ns,
				  .peer = "the client", /* its address stands before */
				  .wait = wait_control,
				  .ctx = s };
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0) {
		free(s);
		return err_sys(e, "eventfd");
	}
	r = start_thread(s);
	if (r != 0) {
		close_fdp(&s->wake_fd);
		free(s);
		errno = r;
		return err_sys(e, "thread of a client");
	}
	*ret = s;
	return 0;
}

void session_stop(struct session *s)
{
	atomic_store(&s->stop, true);
	eventfd_write(s->wake_fd, 1);
}

void session_free(struct session *s)
{
	pthread_join(s->thread, NULL);
	close_fdp(&s->wake_fd);
	buf_release(&s->output.text);
	free(s);
}
