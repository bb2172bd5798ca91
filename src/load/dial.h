/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_DIAL_H
#define LOAD_DIAL_H

/* How a client's connections come about, each within a time. */

#include <stdint.h>

#include "load/channel.h"
#include "load/endpoint.h"

struct dial {
	struct channel ch; /* how to wait; its descriptor is not used */
	const char *bind;  /* as endpoint_bind(); NULL: anywhere */
	uint64_t timeout_ns;
	const struct wire_params *params; /* of data sockets; NULL for the control connection */
};

/* A connected TCP socket, non-blocking; @local_port 0: any. */
int dial_tcp(const struct dial *d, const struct endpoint *to, uint16_t local_port, int *ret,
	     struct err *e);
/*
 * A connected UDP socket that the server has answered on: iperf3's hello is sent again while no
 * answer comes, for a lost one would otherwise hang both ends.
 */
int dial_udp(const struct dial *d, const struct endpoint *to, uint16_t local_port, int *ret,
	     struct err *e);
/* What a UDP block has at most without fragments, from the control connection; as stock clients. */
size_t dial_udp_length(int control_fd);

#endif
