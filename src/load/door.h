/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_DOOR_H
#define LOAD_DOOR_H

/*
 * Where UDP streams come in: a socket at the server's port that no client is connected to.  A first
 * datagram makes a socket at the same address and port, connected to its sender; the kernel gives a
 * datagram to the connected one where there is one.  Between bind() and connect() the new socket
 * would take the first datagrams of others; both are in one SO_REUSEPORT group whose program always
 * picks the door.
 */

#include "load/endpoint.h"

struct err;

#define DOOR_HELLO_SIZE 4

struct door {
	int fd;
	struct endpoint at; /* never a wildcard: answers must come from where the client sent to */
};

int door_open(struct door *ret, const struct endpoint *at, struct err *e);
/* The next hello, or -EAGAIN; what is no hello is dropped (data of a test that ended). */
int door_read(struct door *d, struct endpoint *ret);
/* A socket connected to @from, non-blocking; returns the descriptor. */
int door_connect(const struct door *d, const struct endpoint *from, struct err *e);
/* Tell a client that its stream is there; lost like any datagram. */
void door_answer(int connected_fd);
/* Hellos that came again, for the answer was lost: answer again. */
void door_answer_again(int connected_fd);
void door_close(struct door *d);

#endif
