// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit/nic.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

struct asked {
	int fd;
	const char *ifname;
};

static bool ask(const struct asked *a, void *cmd)
{
	struct ifreq req = { .ifr_data = cmd };

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", a->ifname);
	return ioctl(a->fd, SIOCETHTOOL, &req) == 0;
}

static int64_t ask_value(const struct asked *a, uint32_t cmd, uint32_t mask)
{
	struct ethtool_value v = { .cmd = cmd };

	if (!ask(a, &v))
		return NIC_UNKNOWN;
	return (v.data & mask) != 0;
}

static void read_driver(const struct asked *a, struct nic *n)
{
	struct ethtool_drvinfo d = { .cmd = ETHTOOL_GDRVINFO };

	if (!ask(a, &d))
		return;
	snprintf(n->driver, sizeof(n->driver), "%.31s", d.driver);
	snprintf(n->firmware, sizeof(n->firmware), "%.31s", d.fw_version);
}

static void read_coalesce(const struct asked *a, struct nic *n)
{
	struct ethtool_coalesce c = { .cmd = ETHTOOL_GCOALESCE };

	if (!ask(a, &c))
		return;
	n->adaptive_rx = c.use_adaptive_rx_coalesce != 0;
	n->adaptive_tx = c.use_adaptive_tx_coalesce != 0;
	n->rx_usecs = c.rx_coalesce_usecs;
	n->rx_frames = c.rx_max_coalesced_frames;
	n->tx_usecs = c.tx_coalesce_usecs;
	n->tx_frames = c.tx_max_coalesced_frames;
}

static void read_link(const struct asked *a, struct nic *n)
{
	struct ethtool_pauseparam p = { .cmd = ETHTOOL_GPAUSEPARAM };
	struct ethtool_eee eee = { .cmd = ETHTOOL_GEEE };

	if (ask(a, &p)) {
		n->pause_rx = p.rx_pause != 0;
		n->pause_tx = p.tx_pause != 0;
	}
	if (ask(a, &eee))
		n->eee = eee.eee_active != 0;
}

static void read_queues(const struct asked *a, struct nic *n)
{
	struct ethtool_ringparam r = { .cmd = ETHTOOL_GRINGPARAM };
	struct ethtool_channels c = { .cmd = ETHTOOL_GCHANNELS };

	if (ask(a, &r)) {
		n->rx_ring = r.rx_pending;
		n->tx_ring = r.tx_pending;
	}
	if (ask(a, &c)) {
		n->rx_queues = c.rx_count;
		n->tx_queues = c.tx_count;
		n->combined_queues = c.combined_count;
	}
}

static void read_address(const struct asked *a, struct nic *n)
{
	struct ifreq req = {};
	const unsigned char *p = (const unsigned char *)req.ifr_hwaddr.sa_data;

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", a->ifname);
	if (ioctl(a->fd, SIOCGIFHWADDR, &req) == 0)
		snprintf(n->address, sizeof(n->address), "%02x:%02x:%02x:%02x:%02x:%02x", p[0],
			 p[1], p[2], p[3], p[4], p[5]);
}

int nic_read(const struct host_side *side, struct nic *ret)
{
	struct nic n = { .gro = NIC_UNKNOWN,
			 .gso = NIC_UNKNOWN,
			 .tso = NIC_UNKNOWN,
			 .lro = NIC_UNKNOWN,
			 .rx_checksum = NIC_UNKNOWN,
			 .tx_checksum = NIC_UNKNOWN,
			 .adaptive_rx = NIC_UNKNOWN,
			 .adaptive_tx = NIC_UNKNOWN,
			 .rx_usecs = NIC_UNKNOWN,
			 .rx_frames = NIC_UNKNOWN,
			 .tx_usecs = NIC_UNKNOWN,
			 .tx_frames = NIC_UNKNOWN,
			 .pause_rx = NIC_UNKNOWN,
			 .pause_tx = NIC_UNKNOWN,
			 .eee = NIC_UNKNOWN,
			 .rx_ring = NIC_UNKNOWN,
			 .tx_ring = NIC_UNKNOWN,
			 .rx_queues = NIC_UNKNOWN,
			 .tx_queues = NIC_UNKNOWN,
			 .combined_queues = NIC_UNKNOWN };
	struct err ignored = {};
	_cleanup_(close_fdp) int fd = host_socket(side, AF_INET, SOCK_DGRAM, 0, &ignored);
	const struct asked a = { .fd = fd, .ifname = side->ifname };

	if (fd < 0)
		return fd;
	read_driver(&a, &n);
	n.gro = ask_value(&a, ETHTOOL_GGRO, UINT32_MAX);
	n.gso = ask_value(&a, ETHTOOL_GGSO, UINT32_MAX);
	n.tso = ask_value(&a, ETHTOOL_GTSO, UINT32_MAX);
	n.lro = ask_value(&a, ETHTOOL_GFLAGS, ETH_FLAG_LRO);
	n.rx_checksum = ask_value(&a, ETHTOOL_GRXCSUM, UINT32_MAX);
	n.tx_checksum = ask_value(&a, ETHTOOL_GTXCSUM, UINT32_MAX);
	read_coalesce(&a, &n);
	read_link(&a, &n);
	read_queues(&a, &n);
	read_address(&a, &n);
	*ret = n;
	return 0;
}
