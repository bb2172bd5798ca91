/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_GREETER_H
#define LOAD_GREETER_H

/*
 * Connections that have not said who they are.  Control and data connections arrive at one port
 * and differ only by the cookie they send first; a silent one must not keep others waiting, so
 * many are read side by side.  When there are too many, the address that has most loses its oldest.
 */

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "load/endpoint.h"
#include "load/wire.h"

#define GREETER_MAX 160

struct greeting {
	int fd;
	size_t got; /* bytes of @cookie */
	uint64_t deadline_ns;
	char cookie[WIRE_COOKIE_SIZE];
	struct endpoint from;
	char peer[ENDPOINT_NAME_SIZE]; /* "192.0.2.1:40000" */
};

struct greeter {
	int listen_fd;
	uint64_t step_ns;
	unsigned int nr;
	struct greeting v[GREETER_MAX]; /* in order of arrival */
	uint64_t short_ns;		/* when descriptors were last said to be short */
	void *ctx;
	void (*said)(void *ctx, const char *line);
};

/* Fill @p (room for GREETER_MAX + 1) with what to poll; returns how many. */
unsigned int greeter_poll(const struct greeter *g, struct pollfd *p);
/* When the first greeting runs out; UINT64_MAX when none can. */
uint64_t greeter_deadline(const struct greeter *g);
/* After poll(): accept, read, drop the broken and the late. */
void greeter_work(struct greeter *g, const struct pollfd *p, unsigned int nr);
/* Take the first complete greeting out of @g; the caller closes ret->fd.  0, or -ENOENT. */
int greeter_take(struct greeter *g, struct greeting *ret);
/* Answer ACCESS_DENIED and close. */
void greeting_deny(struct greeting *x);
void greeter_release(struct greeter *g);

#endif
