// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/dial.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "load/wire.h"

#define HELLO_GAP_NS NS_PER_S	/* a stock server may take a repeated hello for data */
#define UDP_LENGTH_DEFAULT 1460 /* Ethernet, when the path does not say */

static int open_socket(const struct dial *d, struct endpoint *to, int type, uint16_t local_port,
		       struct err *e)
{
	_cleanup_(close_fdp) int fd =
		socket(to->at.any.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, r;

	if (fd < 0)
		return err_sys(e, "socket");
	if (!d->params)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	r = d->params ? endpoint_options(fd, d->params, e) : 0;
	if (r >= 0 && d->params)
		r = endpoint_flowlabel(fd, to, d->params->flowlabel, e);
	if (r >= 0)
		r = endpoint_bind(fd, to->at.any.sa_family, d->bind, local_port, e);
	return r < 0 ? r : take_fd(fd);
}

int dial_tcp(const struct dial *d, const struct endpoint *to, uint16_t local_port, int *ret,
	     struct err *e)
{
	struct endpoint at = *to;
	_cleanup_(close_fdp) int fd = open_socket(d, &at, SOCK_STREAM, local_port, e);
	struct channel ch = d->ch;
	socklen_t len = sizeof(int);
	int error = 0, r;

	if (fd < 0)
		return fd;
	ch.fd = fd;
	if (connect(fd, &at.at.any, at.len) < 0) {
		if (errno != EINPROGRESS)
			return err_sys(e, "connect to %s", ch.peer);
		r = channel_wait(&ch, POLLOUT, clock_mono_ns() + d->timeout_ns, e);
		if (r < 0)
			return err_wrap(e, "connect");
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
		errno = error;
		if (error)
			return err_sys(e, "connect to %s", ch.peer);
	}
	*ret = take_fd(fd);
	return 0;
}

/*
 * Whether the answer has come: 1; 0 not yet.  Other sizes are data that overtook it.  A refusal by
 * ICMP is not believed at once: a stock server opens its next socket only after an answer.
 */
static int read_answer(struct channel *ch, struct err *e)
{
	char answer[4];
	ssize_t n;

	do
		n = recv(ch->fd, answer, sizeof(answer), MSG_DONTWAIT | MSG_TRUNC);
	while (n >= 0 && n != sizeof(answer));
	if (n >= 0)
		return 1;
	if (errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED)
		return 0;
	return err_sys(e, "read from %s", ch->peer);
}

static int shake_hands(struct channel *ch, uint64_t timeout_ns, struct err *e)
{
	static const unsigned char hello[] = { 0x39, 0x38, 0x37, 0x36 };
	uint64_t until = clock_mono_ns() + timeout_ns;
	int r = 0;

	while (r == 0) {
		uint64_t now = clock_mono_ns();
		uint64_t next = now + HELLO_GAP_NS < until ? now + HELLO_GAP_NS : until;
		struct err silent = {};

		if (now >= until)
			return err_set(e, -ETIMEDOUT,
				       "%s does not answer over UDP; look at firewalls", ch->peer);
		if (send(ch->fd, hello, sizeof(hello), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
			return err_sys(e, "send to %s", ch->peer);
		do {
			r = channel_wait(ch, POLLIN, next, &silent);
			if (r == 0)
				r = read_answer(ch, &silent);
		} while (r == 0 && clock_mono_ns() < next);
		if (r < 0 && r != -ETIMEDOUT) {
			*e = silent;
			return r;
		}
		r = r > 0;
	}
	return 0;
}

int dial_udp(const struct dial *d, const struct endpoint *to, uint16_t local_port, int *ret,
	     struct err *e)
{
	struct endpoint at = *to;
	_cleanup_(close_fdp) int fd = open_socket(d, &at, SOCK_DGRAM, local_port, e);
	struct channel ch = d->ch;
	int r;

	if (fd < 0)
		return fd;
	ch.fd = fd;
	if (connect(fd, &at.at.any, at.len) < 0)
		return err_sys(e, "UDP to %s", ch.peer);
	r = shake_hands(&ch, d->timeout_ns, e);
	if (r >= 0)
		*ret = take_fd(fd);
	return r;
}

size_t dial_udp_length(int control_fd)
{
	int mss = 0;
	socklen_t len = sizeof(mss);

	if (getsockopt(control_fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len) < 0 ||
	    mss < WIRE_UDP_LENGTH_MIN)
		return UDP_LENGTH_DEFAULT;
	return mss > WIRE_UDP_LENGTH_MAX ? WIRE_UDP_LENGTH_MAX : (size_t)mss;
}
