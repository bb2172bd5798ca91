// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/tcpinfo.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"

int tcpinfo_read(int fd, struct tcpinfo *ret)
{
	struct tcp_info k = {}; /* an older kernel fills less of it */
	socklen_t len = sizeof(k);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &k, &len) < 0)
		return -errno;
	*ret = (struct tcpinfo){
		.acked_bytes = k.tcpi_bytes_acked,
		.retransmits = k.tcpi_total_retrans,
		.cwnd_bytes = (uint64_t)k.tcpi_snd_cwnd * k.tcpi_snd_mss,
		.rtt_ns = k.tcpi_rtt * NS_PER_US,
		.rttvar_ns = k.tcpi_rttvar * NS_PER_US,
		.pmtu_bytes = k.tcpi_pmtu,
		.snd_wnd_bytes = k.tcpi_snd_wnd,
		.reorder = k.tcpi_reord_seen,
		.delivery_bps = k.tcpi_delivery_rate * 8,
	};
	return 0;
}

int tcp_options_set(int fd, const struct tcp_options *opts, struct err *e)
{
	int one = 1, window = (int)opts->window_bytes;

	if (opts->nodelay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		return err_sys(e, "TCP_NODELAY");
	if (window && (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &window, sizeof(window)) < 0 ||
		       setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)) < 0))
		return err_sys(e, "window of %d bytes", window);
	if (*opts->congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, opts->congestion,
					    (socklen_t)strlen(opts->congestion)) < 0)
		return err_sys(e,
			       "congestion control \"%s\" (see "
			       "/proc/sys/net/ipv4/tcp_available_congestion_control)",
			       opts->congestion);
	return 0;
}

void tcp_congestion(int fd, char ret[16])
{
	socklen_t len = 15;

	memset(ret, 0, 16);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, ret, &len) < 0)
		ret[0] = '\0';
}

int tcp_bound_waits(int fd, uint64_t wait_ns, struct err *e)
{
	struct timeval tv = { .tv_sec = (time_t)(wait_ns / NS_PER_S),
			      .tv_usec = (suseconds_t)(wait_ns % NS_PER_S / NS_PER_US) };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0)
		return err_sys(e, "bound the waits of a data socket");
	return 0;
}
