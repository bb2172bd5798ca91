// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/greeter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define ACCEPT_MAX 32 /* at once, then others have their turn */
#define SHORT_GAP_NS NS_PER_S

static void say(const struct greeter *g, const char *peer, const char *what)
{
	char line[160];

	if (!g->said)
		return;
	snprintf(line, sizeof(line), "%s: %s", peer, what);
	g->said(g->ctx, line);
}

static void forget(struct greeter *g, unsigned int i)
{
	g->nr--;
	memmove(&g->v[i], &g->v[i + 1], (g->nr - i) * sizeof(g->v[0]));
}

static void drop(struct greeter *g, unsigned int i, const char *why)
{
	if (why)
		say(g, g->v[i].peer, why);
	close(g->v[i].fd);
	forget(g, i);
}

static bool is_complete(const struct greeting *x)
{
	return x->got == sizeof(x->cookie);
}

unsigned int greeter_poll(const struct greeter *g, struct pollfd *p)
{
	p[0] = (struct pollfd){ .fd = g->listen_fd, .events = POLLIN };
	for (unsigned int i = 0; i < g->nr; i++)
		p[i + 1] = (struct pollfd){ .fd = is_complete(&g->v[i]) ? -1 : g->v[i].fd,
					    .events = POLLIN };
	return g->nr + 1;
}

uint64_t greeter_deadline(const struct greeter *g)
{
	return g->nr ? g->v[0].deadline_ns : UINT64_MAX;
}

/* The oldest greeting of the address that has most of them. */
static unsigned int find_greediest(const struct greeter *g)
{
	unsigned int found = 0, most = 0;

	for (unsigned int i = 0; i < g->nr; i++) {
		unsigned int nr = 0;

		for (unsigned int k = i; k < g->nr; k++)
			nr += endpoint_is_same_host(&g->v[i].from, &g->v[k].from);
		if (nr > most) {
			most = nr;
			found = i;
		}
	}
	return found;
}

/* The connection stays in the queue until there is a descriptor; poll() would not wait for that. */
static void await_descriptors(struct greeter *g)
{
	struct timespec gap = clock_timespec(10 * NS_PER_MS);
	uint64_t now = clock_mono_ns();

	if (now - g->short_ns > SHORT_GAP_NS) {
		g->short_ns = now;
		say(g, "new clients", "wait, no more file descriptors or memory (ulimit -n)");
	}
	clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
}

/* True when the greeting stays. */
static bool read_cookie(struct greeter *g, unsigned int i)
{
	struct greeting *x = &g->v[i];
	ssize_t n = recv(x->fd, x->cookie + x->got, sizeof(x->cookie) - x->got, MSG_DONTWAIT);
	const char *why = NULL;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		why = "closed before it sent a cookie";
	else
		x->got += (size_t)n;
	if (!why && is_complete(x) && !wire_cookie_is_valid(x->cookie))
		why = "dropped, what it sent is no iperf3 cookie";
	if (why)
		drop(g, i, why);
	return !why;
}

/* True when another connection may be waiting. */
static bool accept_one(struct greeter *g)
{
	struct greeting x = { .deadline_ns = clock_mono_ns() + g->step_ns };

	x.from.len = sizeof(x.from.at);
	x.fd = accept4(g->listen_fd, &x.from.at.any, &x.from.len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (x.fd < 0) {
		bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				errno == ENOMEM;

		if (is_short && g->nr > 0)
			drop(g, find_greediest(g), "dropped, no more file descriptors");
		else if (is_short)
			await_descriptors(g);
		return errno == ECONNABORTED || errno == EINTR;
	}
	if (g->nr == GREETER_MAX)
		drop(g, find_greediest(g), "dropped, too many connections that send no cookie");
	endpoint_unmap(&x.from);
	endpoint_name(&x.from, x.peer);
	g->v[g->nr++] = x;
	read_cookie(g, g->nr - 1);
	return true;
}

void greeter_work(struct greeter *g, const struct pollfd *p, unsigned int nr)
{
	uint64_t now;

	/* from the last to the first: dropping moves only those already done */
	for (unsigned int i = nr - 1; i > 0; i--)
		if (p[i].revents)
			read_cookie(g, i - 1);
	if (p[0].revents)
		for (unsigned int i = 0; i < ACCEPT_MAX && accept_one(g); i++)
			;
	now = clock_mono_ns();
	while (g->nr > 0 && g->v[0].deadline_ns <= now)
		drop(g, 0, "dropped, sent no cookie in time");
}

int greeter_take(struct greeter *g, struct greeting *ret)
{
	for (unsigned int i = 0; i < g->nr; i++) {
		if (!is_complete(&g->v[i]))
			continue;
		*ret = g->v[i];
		forget(g, i);
		return 0;
	}
	return -ENOENT;
}

void greeting_deny(struct greeting *x)
{
	static const signed char denied = WIRE_ACCESS_DENIED;

	send(x->fd, &denied, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(x->fd);
	x->fd = -1;
}

void greeter_release(struct greeter *g)
{
	while (g->nr > 0)
		drop(g, g->nr - 1, NULL);
}
