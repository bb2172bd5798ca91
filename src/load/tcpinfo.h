/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_TCPINFO_H
#define LOAD_TCPINFO_H

/* What the kernel knows about a TCP connection (TCP_INFO, linux/tcp.h of 6.1). */

#include <stdbool.h>
#include <stdint.h>

struct err;

struct tcpinfo {
	uint64_t acked_bytes; /* tcpi_bytes_acked: what the peer has confirmed */
	uint64_t retransmits; /* tcpi_total_retrans [segments] */
	uint64_t cwnd_bytes;  /* tcpi_snd_cwnd * tcpi_snd_mss */
	uint64_t rtt_ns;      /* smoothed */
	uint64_t rttvar_ns;
	uint64_t pmtu_bytes;
	uint64_t snd_wnd_bytes; /* tcpi_snd_wnd: what the peer has room for; since 5.4 */
	uint64_t reorder;	/* tcpi_reord_seen: reordering events; since 4.19 */
	uint64_t delivery_bps;	/* tcpi_delivery_rate, the latest; since 4.9 */
};

/* One getsockopt(); fields an old kernel lacks are 0. Returns 0 or negative errno. */
int tcpinfo_read(int fd, struct tcpinfo *ret);

/* Options of a data socket, set before connect() or after accept(). */
struct tcp_options {
	bool nodelay;
	unsigned int window_bytes; /* SO_SNDBUF and SO_RCVBUF; 0: the system's */
	const char *congestion;	   /* "": the system's */
};

int tcp_options_set(int fd, const struct tcp_options *opts, struct err *e);
/* The congestion control in use, "" when unknown. */
void tcp_congestion(int fd, char ret[16]);
/* Bound every send() and recv() that has nothing to do. */
int tcp_bound_waits(int fd, uint64_t wait_ns, struct err *e);

#endif
