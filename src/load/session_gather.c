// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How the streams of a session come together.  TCP streams bring the cookie.  UDP streams bring
 * nothing: they belong to the session of the same client address that gathers, and the sessions of
 * an address take turns.
 */
#include "load/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define AGAIN_NS (200 * NS_PER_MS) /* between looks for hellos that came again */
#define TURNS 6			   /* in steps: how long a session waits for its turn */

/* The flow that takes the next stream: the client's sending ones come first. */
static struct flow *next_flow(struct session *s)
{
	return s->rx.have < s->rx.nr ? &s->rx : &s->tx;
}

static bool is_complete(const struct session *s)
{
	return s->rx.have == s->rx.nr && s->tx.have == s->tx.nr;
}

static int add_stream(struct session *s, int fd, struct err *e)
{
	int r = endpoint_options(fd, &s->params, e);

	if (r < 0) {
		session_refuse(s,
			       r == -ENOBUFS		 ? WIRE_ESETBUF2
			       : s->params.congestion[0] ? WIRE_ESETCONGESTION
							 : WIRE_ECREATESTREAM,
			       -r);
		return r;
	}
	if (s->params.udp)
		door_answer(fd);
	r = flow_take(next_flow(s), fd, e);
	if (r < 0)
		session_refuse(s, WIRE_ECREATESTREAM, -r);
	return r;
}

/* The next offered descriptor, -1 when there is none. */
static int take_offered(struct session *s)
{
	int fd = -1;

	pthread_mutex_lock(&s->hub->lock);
	if (s->nr_taken < s->nr_offered)
		fd = s->offered[s->nr_taken++];
	pthread_mutex_unlock(&s->hub->lock);
	return fd;
}

static int take_streams(struct session *s, struct err *e)
{
	int fd = take_offered(s), r = 0;

	for (; fd >= 0; fd = take_offered(s)) {
		r = add_stream(s, fd, e);
		if (r < 0) {
			close(fd);
			return r;
		}
	}
	return 0;
}

static void answer_again(const struct flow *f)
{
	for (unsigned int i = 0; i < f->have; i++)
		door_answer_again(flow_fd(f, i));
}

static int await_streams(struct session *s, struct err *e)
{
	uint64_t deadline = clock_mono_ns() + s->hub->cfg.step_ns;
	int r = 0;

	while (r >= 0 && !is_complete(s)) {
		uint64_t now = clock_mono_ns(), next = deadline;

		if (s->params.udp && now + AGAIN_NS < next)
			next = now + AGAIN_NS;
		r = session_wait(s, POLLIN, next, e);
		if (r > 0)
			return err_set(e, -EPROTO, "gave up or sent rubbish instead of streams");
		if (r == 0)
			r = take_streams(s, e);
		if (r == 0 && s->params.udp) {
			answer_again(&s->rx);
			answer_again(&s->tx);
		}
		if (r == 0 && !is_complete(s) && clock_mono_ns() >= deadline)
			return err_set(e, -ETIMEDOUT, "opened %u of %u streams in time",
				       s->rx.have + s->tx.have, s->rx.nr + s->tx.nr);
	}
	return r;
}

static void set_gathering(struct session *s, enum gathering g)
{
	pthread_mutex_lock(&s->hub->lock);
	s->gathering = g;
	s->nr_wanted = s->rx.nr + s->tx.nr;
	if (g == GATHER_QUEUED)
		s->ticket = s->hub->nr_tickets++;
	pthread_mutex_unlock(&s->hub->lock);
}

void session_end_gathering(struct session *s)
{
	pthread_mutex_lock(&s->hub->lock);
	for (; s->nr_taken < s->nr_offered; s->nr_taken++)
		close(s->offered[s->nr_taken]);
	if (s->gathering == GATHER_QUEUED || s->gathering == GATHER_UDP)
		for (const struct session *o = s->hub->first; o; o = o->next)
			if (o->gathering == GATHER_QUEUED)
				eventfd_write(o->wake_fd, 1);
	s->gathering = GATHER_NONE;
	pthread_mutex_unlock(&s->hub->lock);
}

/* Whether nobody of the same address gathers or has waited longer. */
static bool take_turn(struct session *s)
{
	bool mine = true;

	pthread_mutex_lock(&s->hub->lock);
	for (const struct session *o = s->hub->first; o && mine; o = o->next)
		if (o != s && (o->gathering == GATHER_UDP || o->gathering == GATHER_QUEUED) &&
		    o->ticket < s->ticket &&
		    endpoint_is_same_host(&o->client.from, &s->client.from))
			mine = false;
	if (mine)
		s->gathering = GATHER_UDP;
	pthread_mutex_unlock(&s->hub->lock);
	return mine;
}

static int await_turn(struct session *s, struct err *e)
{
	uint64_t deadline = clock_mono_ns() + TURNS * s->hub->cfg.step_ns;

	set_gathering(s, GATHER_QUEUED);
	while (!take_turn(s)) {
		int r = session_wait(s, POLLIN, deadline, e);

		if (r < 0)
			return r;
		if (r > 0)
			return err_set(e, -EPROTO, "gave up before its turn came");
		if (clock_mono_ns() < deadline)
			continue;
		session_refuse(s, WIRE_ESTREAMACCEPT, EBUSY);
		return err_set(e, -EBUSY,
			       "other tests from the same address took all the time; UDP streams "
			       "of one address are taken one test after another");
	}
	return 0;
}

/* The door of the address that the client came to. */
static int open_door(struct session *s, struct err *e)
{
	struct hub *h = s->hub;
	int r = 0;

	pthread_mutex_lock(&h->lock);
	for (unsigned int i = 0; i < h->nr_doors && r == 0; i++)
		r = endpoint_is_same_host(&h->doors[i].at, &s->local);
	if (r == 0 && h->nr_doors == HUB_DOORS_MAX)
		r = err_set(e, -EMFILE, "tests over UDP came to %d addresses already",
			    HUB_DOORS_MAX);
	if (r == 0) {
		r = door_open(&h->doors[h->nr_doors], &s->local, e);
		h->nr_doors += r == 0;
	}
	pthread_mutex_unlock(&h->lock);
	if (r < 0)
		session_refuse(s, WIRE_ESTREAMLISTEN, -r);
	else
		hub_wake(h); /* it polls the doors */
	return r < 0 ? r : 0;
}

/* crr: each stream of the server takes connections from one socket that is this session's own. */
static int open_listener(struct session *s, uint16_t *ret_port, struct err *e)
{
	struct endpoint at = s->local;
	_cleanup_(close_fdp) int fd = -1;
	int r;

	endpoint_set_port(&at, 0);
	fd = endpoint_listen_at(&at, e);
	r = fd < 0 ? fd : endpoint_of(fd, &at, e);
	if (r >= 0)
		r = endpoint_options(fd, &s->params, e);
	while (r >= 0 && !is_complete(s)) {
		int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		r = copy < 0 ? err_sys(e, "socket of a stream") : flow_take(&s->rx, copy, e);
		if (r < 0)
			close_fdp(&copy);
	}
	*ret_port = endpoint_port(&at);
	return r;
}

static int answer_extension(struct session *s, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	struct wire_extended x = { .version = IRQLAB_VERSION };
	int r = 0;

	if (!wire_params_are_extended(&s->params))
		return 0;
	if (s->params.mode == WIRE_CRR)
		r = open_listener(s, &x.port, e);
	if (r < 0) {
		session_refuse(s, WIRE_ESTREAMLISTEN, -r);
		return r;
	}
	r = wire_extended_encode(&x, &text, e);
	if (r >= 0)
		r = channel_write_state(&s->ch, WIRE_EXTENDED, e);
	return r < 0 ? r : channel_write_json(&s->ch, &text, e);
}

int session_gather(struct session *s, struct err *e)
{
	int r = 0;

	if (s->params.udp)
		r = open_door(s, e);
	if (r >= 0)
		r = answer_extension(s, e);
	if (r >= 0 && s->params.udp)
		r = await_turn(s, e);
	else if (r >= 0)
		set_gathering(s, GATHER_TCP);
	if (r >= 0)
		r = channel_write_state(&s->ch, WIRE_CREATE_STREAMS, e);
	if (r >= 0)
		r = await_streams(s, e);
	session_end_gathering(s);
	return r;
}

bool session_offer(struct session *s, int fd)
{
	if (s->gathering != GATHER_TCP || s->nr_offered >= s->nr_wanted)
		return false;
	s->offered[s->nr_offered++] = fd;
	eventfd_write(s->wake_fd, 1);
	return true;
}

bool session_hello(struct session *s, const struct door *d, const struct endpoint *from)
{
	struct err e = {};
	int fd;

	if (s->gathering != GATHER_UDP || !endpoint_is_same_host(&s->client.from, from) ||
	    !endpoint_is_same_host(&s->local, &d->at))
		return false;
	/* came again while its socket was being made */
	for (unsigned int i = 0; i < s->nr_offered; i++)
		if (s->ports[i] == endpoint_port(from))
			return true;
	if (s->nr_offered >= s->nr_wanted)
		return true;
	fd = door_connect(d, from, &e);
	if (fd < 0)
		return true; /* the session will say which streams it misses */
	s->ports[s->nr_offered] = endpoint_port(from);
	s->offered[s->nr_offered++] = fd;
	eventfd_write(s->wake_fd, 1);
	return true;
}
