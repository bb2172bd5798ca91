/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_ENDPOINT_H
#define LOAD_ENDPOINT_H

/* Addresses and socket options of both ends: what the kernel is told before bytes move. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct err;
struct wire_params;

#define ENDPOINT_NAME_SIZE 64

struct endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	} at;
	socklen_t len;
};

/* "192.0.2.1:40000", "[2001:db8::1]:40000", "[fe80::1%eth0]:40000". */
void endpoint_name(const struct endpoint *p, char ret[ENDPOINT_NAME_SIZE]);
/* The same address, whatever the port. */
bool endpoint_is_same_host(const struct endpoint *a, const struct endpoint *b);
bool endpoint_is_same(const struct endpoint *a, const struct endpoint *b);
uint16_t endpoint_port(const struct endpoint *p);
void endpoint_set_port(struct endpoint *p, uint16_t port);
/* Address and port of a socket's own end, of its peer; an IPv4 client of an IPv6 socket is IPv4. */
int endpoint_of(int fd, struct endpoint *ret, struct err *e);
int endpoint_of_peer(int fd, struct endpoint *ret, struct err *e);
void endpoint_unmap(struct endpoint *p);

/*
 * A listening TCP socket, non-blocking, at numeric @bind (NULL: all addresses, with AF_UNSPEC both
 * IPv6 and IPv4).  Returns the descriptor.
 */
int endpoint_listen(const char *bind, int family, uint16_t port, struct err *e);
/* The same at an address. */
int endpoint_listen_at(const struct endpoint *at, struct err *e);
/* Bind @fd to "ADDRESS", "ADDRESS%NETDEV" or "%NETDEV" (may be NULL) and @port (0: any). */
int endpoint_bind(int fd, int family, const char *address, uint16_t port, struct err *e);
/* The same without a socket: the address alone; ret->len is 0 when @address names none. */
int endpoint_parse_local(const char *address, int family, struct endpoint *ret, struct err *e);
/* What @p asks of a data socket, before connect() or after accept(). */
int endpoint_options(int fd, const struct wire_params *p, struct err *e);
/* Linux takes the flow label with the address: before connect() of an IPv6 socket. */
int endpoint_flowlabel(int fd, struct endpoint *to, unsigned int label, struct err *e);

#endif
