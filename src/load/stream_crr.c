// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/stream_loop.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "load/tcpinfo.h"

/*
 * Connect, request, response, close; one connection of a thread at a time.  The client ends each
 * with a reset once it has the response: an orderly close would leave every connection in TIME_WAIT
 * for a minute, and some 28,000 of them use up the ports towards a server within seconds.
 */

static size_t request_of(const struct stream *s)
{
	return s->cfg->request_bytes ? s->cfg->request_bytes : 1;
}

static size_t response_of(const struct stream *s)
{
	return s->cfg->response_bytes ? s->cfg->response_bytes : 1;
}

/* Until @fd is ready: 1; 0 when @until_ns came before; -1 when the phase changed. */
static int await(struct stream *s, int fd, short events, uint64_t until_ns)
{
	struct pollfd p = { .fd = fd, .events = events };

	while (stream_phase(s) != STREAM_QUIT) {
		struct timespec step = clock_timespec(STREAM_WAIT_NS);

		if (ppoll(&p, 1, &step, NULL) > 0)
			return 1;
		if (s->cfg->sender) {
			stream_change_hist(s);
			if (!stream_runs(s))
				return -1;
		}
		if (clock_mono_ns() >= until_ns)
			return 0;
	}
	return -1;
}

/* @len bytes out of or into the block, tried before waited for; as await(), -1 on errors too. */
static int move(struct stream *s, int fd, bool out, size_t len, uint64_t until_ns)
{
	while (len > 0) {
		ssize_t n = out ? send(fd, s->block, len, MSG_NOSIGNAL | MSG_DONTWAIT)
				: recv(fd, s->block, len, MSG_DONTWAIT);
		int r;

		if (n > 0) {
			len -= (size_t)n;
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return -1;
		r = await(s, fd, out ? POLLOUT : POLLIN, until_ns);
		if (r <= 0)
			return r;
	}
	return 1;
}

/* A connected socket, negative errno. */
static int dial(struct stream *s, uint64_t until_ns)
{
	const struct linger reset = { .l_onoff = 1 };
	_cleanup_(close_fdp) int fd =
		socket(s->cfg->peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(int);
	int error = 0;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0)
		return -errno;
	if (s->cfg->local_len &&
	    bind(fd, (const struct sockaddr *)&s->cfg->local, s->cfg->local_len) < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&s->cfg->peer, s->cfg->peer_len) == 0)
		return take_fd(fd);
	if (errno != EINPROGRESS)
		return -errno;
	if (await(s, fd, POLLOUT, until_ns) <= 0)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return error ? -error : take_fd(fd);
}

/* 1: done; 0: lost; negative errno. */
static int transact(struct stream *s, uint64_t until_ns)
{
	_cleanup_(close_fdp) int fd = dial(s, until_ns);
	int r;

	if (fd < 0)
		return fd == -ETIMEDOUT ? 0 : fd;
	r = move(s, fd, true, request_of(s), until_ns);
	if (r > 0)
		r = move(s, fd, false, response_of(s), until_ns);
	return r > 0;
}

void stream_ask_anew(struct stream *s)
{
	struct pacer p;
	uint64_t due;

	stream_pace_requests(s, &p);
	for (due = clock_mono_ns(); stream_runs(s); due = clock_mono_ns()) {
		uint64_t now = due;
		int r;

		stream_change_hist(s);
		if (s->cfg->rr_per_s) {
			due = pacer_due(&p);
			if (now < due) {
				stream_sleep(now, due);
				continue;
			}
			pacer_step(&p, now);
		}
		r = transact(s, now + STREAM_LOST_NS);
		if (r > 0) {
			stream_record(s, clock_mono_ns() - due);
			stream_add(&s->bytes, request_of(s) + response_of(s));
		} else if (r == 0 && stream_runs(s)) {
			stream_lose(s, 1);
		} else if (r < 0) {
			stream_break(s, -r);
			return;
		}
	}
}

static void serve(struct stream *s, int fd)
{
	uint64_t until = clock_mono_ns() + STREAM_LOST_NS;

	if (move(s, fd, false, request_of(s), until) <= 0 ||
	    move(s, fd, true, response_of(s), until) <= 0)
		return;
	stream_add(&s->packets, 1);
	stream_add(&s->bytes, request_of(s) + response_of(s));
	/* the client closes first: its reset leaves nothing behind here either */
	move(s, fd, false, 1, until);
}

void stream_answer_anew(struct stream *s)
{
	int idle = 0;

	/* twice idle, since the first wait may have begun before the peer ended */
	while (stream_phase(s) != STREAM_QUIT && idle < 2) {
		_cleanup_(close_fdp) int fd =
			accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			serve(s, fd);
			idle = 0;
		} else if (errno == EAGAIN) {
			idle += stream_settles(s);
		} else if (errno != EINTR && errno != ECONNABORTED) {
			stream_break(s, errno);
			return;
		}
	}
}
