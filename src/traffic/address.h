/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRAFFIC_ADDRESS_H
#define TRAFFIC_ADDRESS_H

/* The two ends of a socket in words. */

#include <stdint.h>

struct address {
	char host[64]; /* numeric; an IPv4 address also when the socket is IPv6's */
	uint16_t port;
};

/* "?" and 0 when unknown. */
void address_local(int fd, struct address *ret);
void address_remote(int fd, struct address *ret);
/* "192.0.2.1:40000" and "[2001:db8::1]:40000" in two; what has no port is a host with port 0. */
void address_split(const char *text, struct address *ret);

#endif
