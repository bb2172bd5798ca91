// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/door.h"

#include <errno.h>
#include <linux/filter.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

static const unsigned char answer[DOOR_HELLO_SIZE] = { 0x36, 0x37, 0x38, 0x39 };

/* Bound to the address of the door, in its group. */
static int open_socket(const struct endpoint *at, struct err *e)
{
	_cleanup_(close_fdp) int fd =
		socket(at->at.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char name[ENDPOINT_NAME_SIZE];
	int one = 1;

	if (fd < 0)
		return err_sys(e, "socket");
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) < 0)
		return err_sys(e, "share a UDP port");
	if (at->at.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, &at->at.any, at->len) < 0) {
		endpoint_name(at, name);
		return err_sys(e, "UDP at %s", name);
	}
	return take_fd(fd);
}

int door_open(struct door *ret, const struct endpoint *at, struct err *e)
{
	struct sock_filter first[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	const struct sock_fprog pick = { .len = ARRAY_SIZE(first), .filter = first };
	int fd = open_socket(at, e);

	if (fd < 0)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &pick, sizeof(pick)) < 0) {
		err_sys(e, "pick among UDP sockets");
		close(fd);
		return e->code;
	}
	*ret = (struct door){ .fd = fd, .at = *at };
	return 0;
}

int door_read(struct door *d, struct endpoint *ret)
{
	for (;;) {
		struct endpoint from = { .len = sizeof(from.at) };
		char hello[DOOR_HELLO_SIZE];
		ssize_t n = recvfrom(d->fd, hello, sizeof(hello), MSG_DONTWAIT | MSG_TRUNC,
				     &from.at.any, &from.len);

		if (n == DOOR_HELLO_SIZE) {
			*ret = from;
			return 0;
		}
		if (n < 0 && errno != EINTR && errno != ECONNREFUSED)
			return -EAGAIN;
	}
}

int door_connect(const struct door *d, const struct endpoint *from, struct err *e)
{
	_cleanup_(close_fdp) int fd = open_socket(&d->at, e);

	if (fd < 0)
		return fd;
	if (connect(fd, &from->at.any, from->len) < 0)
		return err_sys(e, "UDP to a client");
	return take_fd(fd);
}

void door_answer(int connected_fd)
{
	send(connected_fd, answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void door_answer_again(int connected_fd)
{
	char hello[DOOR_HELLO_SIZE];

	while (recv(connected_fd, hello, sizeof(hello), MSG_DONTWAIT | MSG_TRUNC) ==
	       DOOR_HELLO_SIZE)
		door_answer(connected_fd);
}

void door_close(struct door *d)
{
	close_fdp(&d->fd);
	d->fd = -1;
}
