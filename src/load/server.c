// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "load/endpoint.h"
#include "load/session.h"

#define STEP_NS (10 * NS_PER_S)
#define IDLE_NS (120 * NS_PER_S) /* without a byte; as stock servers give */
#define CLIENTS_MAX 1024
#define HELLOS_MAX 64 /* of a door at once, then others have their turn */

struct server {
	struct hub hub;
	int listen_fd;
	struct greeter greeter;
	atomic_bool stop;
	pthread_t thread;
	bool threaded;
};

static void say_about(struct server *s, const char *peer, const char *what)
{
	char line[sizeof(((struct err *)NULL)->msg) + 80];

	snprintf(line, sizeof(line), "%s: %s", peer, what);
	hub_say(&s->hub, line);
}

static struct session *find_cookie(struct hub *h, const char *cookie)
{
	struct session *s = h->first;

	while (s && memcmp(s->client.cookie, cookie, WIRE_COOKIE_SIZE) != 0)
		s = s->next;
	return s;
}

/* A connection with the cookie of a session is one of its streams or a mistake. */
static bool route(struct server *s, struct greeting *x)
{
	bool known, wanted;

	pthread_mutex_lock(&s->hub.lock);
	{
		struct session *owner = find_cookie(&s->hub, x->cookie);

		known = owner != NULL;
		wanted = known && session_offer(owner, x->fd);
	}
	pthread_mutex_unlock(&s->hub.lock);
	if (known && !wanted) {
		say_about(s, x->peer, "refused, a stream that its test has no use for");
		greeting_deny(x);
	}
	return known;
}

static void admit(struct server *s, struct greeting *x)
{
	struct session *new = NULL;
	struct err e = {};

	if (s->hub.nr_sessions >= s->hub.cfg.max_clients) {
		say_about(s, x->peer,
			  s->hub.cfg.one_off ? "refused, another test is running"
					     : "refused, as many clients as allowed are here");
		greeting_deny(x);
		return;
	}
	pthread_mutex_lock(&s->hub.lock);
	if (session_start(&new, &s->hub, x, &e) >= 0) {
		new->next = s->hub.first;
		s->hub.first = new;
		s->hub.nr_sessions++;
	}
	pthread_mutex_unlock(&s->hub.lock);
	if (!new) {
		say_about(s, x->peer, e.msg);
		greeting_deny(x);
	}
}

/* Take out one session whose thread has ended. */
static struct session *unlink_ended(struct hub *h)
{
	struct session *s, **at;

	pthread_mutex_lock(&h->lock);
	for (at = &h->first; *at && !atomic_load(&(*at)->ended);)
		at = &(*at)->next;
	s = *at;
	if (s) {
		*at = s->next;
		h->nr_sessions--;
	}
	pthread_mutex_unlock(&h->lock);
	return s;
}

/* 1: the one test has been made, its result in @e; who did not agree to one has not used it up. */
static int reap(struct server *s, struct err *e)
{
	struct session *ended;
	int r = 0;

	while (r == 0 && (ended = unlink_ended(&s->hub))) {
		if (s->hub.cfg.one_off && (ended->result >= 0 || ended->has_begun))
			r = ended->result < 0 ? ended->result : 1;
		if (r < 0)
			*e = ended->e;
		session_free(ended);
	}
	return r;
}

/* First datagrams: to whom they belong, or nobody. */
static void work_door(struct hub *h, struct door *d)
{
	struct endpoint from = {};

	for (int i = 0; i < HELLOS_MAX && door_read(d, &from) == 0; i++) {
		bool found = false;

		pthread_mutex_lock(&h->lock);
		for (struct session *s = h->first; s && !found; s = s->next)
			found = session_hello(s, d, &from);
		pthread_mutex_unlock(&h->lock);
	}
}

static unsigned int poll_doors(struct hub *h, struct pollfd *p)
{
	unsigned int nr;

	pthread_mutex_lock(&h->lock);
	nr = h->nr_doors;
	pthread_mutex_unlock(&h->lock);
	for (unsigned int i = 0; i < nr; i++)
		p[i] = (struct pollfd){ .fd = h->doors[i].fd, .events = POLLIN };
	return nr;
}

/* One round of waiting for anybody. */
static int work(struct server *s, struct err *e)
{
	struct pollfd p[1 + HUB_DOORS_MAX + 1 + GREETER_MAX] = { { .fd = s->hub.wake_fd,
								   .events = POLLIN } };
	unsigned int doors = poll_doors(&s->hub, p + 1);
	unsigned int greetings = greeter_poll(&s->greeter, p + 1 + doors);
	uint64_t until = greeter_deadline(&s->greeter), now = clock_mono_ns();
	struct timespec left = clock_timespec(until > now ? until - now : 0);
	struct greeting x = {};
	eventfd_t ignored;
	int r = ppoll(p, 1 + doors + greetings, until == UINT64_MAX ? NULL : &left, NULL);

	if (r < 0 && errno != EINTR)
		return err_sys(e, "wait for clients");
	if (r < 0)
		return 0;
	if (p[0].revents)
		eventfd_read(s->hub.wake_fd, &ignored);
	r = reap(s, e);
	if (r != 0)
		return r;
	for (unsigned int i = 0; i < doors; i++)
		if (p[1 + i].revents)
			work_door(&s->hub, &s->hub.doors[i]);
	greeter_work(&s->greeter, p + 1 + doors, greetings);
	while (greeter_take(&s->greeter, &x) == 0)
		if (!route(s, &x))
			admit(s, &x);
	return 0;
}

static void end_sessions(struct server *s)
{
	pthread_mutex_lock(&s->hub.lock);
	for (struct session *x = s->hub.first; x; x = x->next)
		session_stop(x);
	pthread_mutex_unlock(&s->hub.lock);
	while (s->hub.first) {
		struct session *x = s->hub.first;

		s->hub.first = x->next;
		session_free(x);
	}
	s->hub.nr_sessions = 0;
}

int server_run(struct server *s, struct err *e)
{
	int r = 0;

	while (r == 0 && !atomic_load(&s->stop))
		r = work(s, e);
	end_sessions(s);
	return r < 0 ? r : 0;
}

static int open_hub(struct hub *h, const struct server_cfg *cfg, struct err *e)
{
	h->cfg = *cfg;
	if (h->cfg.step_ns == 0)
		h->cfg.step_ns = STEP_NS;
	if (h->cfg.idle_ns == 0)
		h->cfg.idle_ns = IDLE_NS;
	if (h->cfg.max_clients == 0)
		h->cfg.max_clients = CLIENTS_MAX;
	if (h->cfg.one_off)
		h->cfg.max_clients = 1;
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->wake_fd < 0)
		return err_sys(e, "eventfd");
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->watch_lock, NULL);
	return 0;
}

static void greeter_said(void *ctx, const char *line)
{
	hub_say(ctx, line);
}

/* The socket that was handed over must be one that connections can be taken from. */
static int listen_somewhere(struct server *s, const struct server_cfg *cfg, struct err *e)
{
	struct endpoint at = {};
	int listens = 0, r;
	socklen_t len = sizeof(listens);

	s->listen_fd = cfg->listen_fd >= 0 ? cfg->listen_fd
					   : endpoint_listen(cfg->bind, cfg->family, cfg->port, e);
	if (s->listen_fd < 0)
		return s->listen_fd;
	if (cfg->listen_fd >= 0) {
		int flags = fcntl(s->listen_fd, F_GETFL);

		if (getsockopt(s->listen_fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 ||
		    !listens)
			return err_set(e, -EINVAL, "descriptor %d is no listening socket",
				       s->listen_fd);
		if (flags < 0 || fcntl(s->listen_fd, F_SETFL, flags | O_NONBLOCK) < 0)
			return err_sys(e, "socket that was handed over");
	}
	r = endpoint_of(s->listen_fd, &at, e);
	s->hub.port = endpoint_port(&at);
	return r;
}

int server_open(struct server **ret, const struct server_cfg *cfg, struct err *e)
{
	_cleanup_(server_closep) struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_nomem(e, "server");
	s->listen_fd = cfg->listen_fd;
	s->hub.wake_fd = -1;
	r = open_hub(&s->hub, cfg, e);
	if (r >= 0)
		r = listen_somewhere(s, cfg, e);
	if (r < 0)
		return r;
	s->greeter.listen_fd = s->listen_fd;
	s->greeter.step_ns = s->hub.cfg.step_ns;
	s->greeter.ctx = &s->hub;
	s->greeter.said = greeter_said;
	*ret = take_ptr(s);
	return 0;
}

uint16_t server_port(const struct server *s)
{
	return s->hub.port;
}

static void *serve_thread(void *server)
{
	struct server *s = server;
	struct err e = {};

	if (server_run(s, &e) < 0)
		hub_say(&s->hub, e.msg);
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
		return err_set(e, -r, "thread of the server: %s", strerrordesc_np(r));
	s->threaded = true;
	return 0;
}

void server_wake(struct server *s)
{
	atomic_store(&s->stop, true);
	hub_wake(&s->hub);
}

void server_close(struct server *s)
{
	if (!s)
		return;
	if (s->threaded) {
		server_wake(s);
		pthread_join(s->thread, NULL);
	}
	end_sessions(s);
	greeter_release(&s->greeter);
	for (unsigned int i = 0; i < s->hub.nr_doors; i++)
		door_close(&s->hub.doors[i]);
	close_fdp(&s->listen_fd);
	close_fdp(&s->hub.wake_fd);
	free(s);
}

void server_closep(struct server **s)
{
	server_close(*s);
}
