// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/greeter.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

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
	/* in order of arrival: the first is the oldest */
	return g->nr ? g->v[0].deadline_ns : UINT64_MAX;
}

static void name_peer(const struct sockaddr_storage *a, socklen_t len, char ret[64])
{
	char host[46], port[8];
	const char *bare = host;

	if (getnameinfo((const struct sockaddr *)a, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
		snprintf(ret, 64, "a client");
		return;
	}
	/* an IPv4 client of a socket for both */
	if (strncmp(host, "::ffff:", 7) == 0 && strchr(host, '.'))
		bare = host + 7;
	snprintf(ret, 64, strchr(bare, ':') ? "[%s]:%s" : "%s:%s", bare, port);
}

static void accept_one(struct greeter *g)
{
	struct sockaddr_storage from = {};
	socklen_t len = sizeof(from);
	struct greeting *x;
	int fd;

	if (g->nr == GREETER_MAX)
		drop(g, 0, "dropped, too many connections that send no cookie");
	fd = accept4(g->listen_fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		struct timespec gap = clock_timespec(10 * NS_PER_MS);

		if ((errno == EMFILE || errno == ENFILE) && g->nr > 0)
			drop(g, 0, "dropped, no more file descriptors");
		else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
		return;
	}
	x = &g->v[g->nr++];
	*x = (struct greeting){ .fd = fd, .deadline_ns = clock_mono_ns() + g->step_ns };
	name_peer(&from, len, x->peer);
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

void greeter_work(struct greeter *g, const struct pollfd *p, unsigned int nr)
{
	uint64_t now;

	/* from the last to the first: dropping moves only those already done */
	for (unsigned int i = nr - 1; i > 0; i--)
		if (p[i].revents)
			read_cookie(g, i - 1);
	if (p[0].revents)
		accept_one(g);
	now = clock_mono_ns();
	while (g->nr > 0 && g->v[0].deadline_ns <= now)
		drop(g, 0,
		     is_complete(&g->v[0]) ? "dropped, its turn did not come"
					   : "dropped, sent no cookie in time");
}

int greeter_take(struct greeter *g, const char *cookie, struct greeting *ret)
{
	for (unsigned int i = 0; i < g->nr; i++) {
		if (!is_complete(&g->v[i]) ||
		    (cookie && memcmp(cookie, g->v[i].cookie, WIRE_COOKIE_SIZE) != 0))
			continue;
		*ret = g->v[i];
		forget(g, i);
		return 0;
	}
	return -ENOENT;
}

void greeter_deny(struct greeter *g)
{
	static const signed char denied = WIRE_ACCESS_DENIED;

	for (unsigned int i = g->nr; i-- > 0;) {
		if (!is_complete(&g->v[i]))
			continue;
		send(g->v[i].fd, &denied, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		drop(g, i, "refused, another test is running");
	}
}

void greeter_release(struct greeter *g)
{
	while (g->nr > 0)
		drop(g, g->nr - 1, NULL);
}
