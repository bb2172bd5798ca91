// SPDX-License-Identifier: GPL-3.0-or-later
/* The network: the card, the pair of namespaces, the protocols. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/check.h"
#include "audit/nic.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"

static const char no_dut[] = "no netdev is named (irqlab audit --dev DEV, or a plan)";

/* A file of the netdev under test, in whatever namespace it lives; NULL: not there. */
static char *dut_line(struct look *l, const char *file)
{
	const struct host *h = l->scope->host;
	int root = h->dut.sys_fd >= 0 ? h->dut.sys_fd : h->sys_fd;
	struct err ignored = {};
	char path[128], *line = NULL;

	snprintf(path, sizeof(path), "class/net/%s/%s", h->dut.ifname, file);
	if (root < 0 || kfile_read_line(root, path, &line, &ignored) < 0)
		return NULL;
	return line;
}

static void number(struct look *l, const char *key, int64_t v)
{
	if (v != NIC_UNKNOWN)
		look_fact(l, key, "%" PRId64, v);
}

static const char *on_off(int64_t v)
{
	return v == NIC_UNKNOWN ? "?" : v ? "on" : "off";
}

static void look_link(struct look *l)
{
	_cleanup_(freep) char *speed = dut_line(l, "speed"), *duplex = dut_line(l, "duplex"),
			      *mtu = dut_line(l, "mtu");
	const struct nic *n = l->scope->dut;

	/* what is down or virtual has speed -1 */
	if (speed && *speed != '-')
		look_fact(l, "dut.speed_mbit", "%s", speed);
	if (duplex)
		look_fact(l, "dut.duplex", "%s", duplex);
	if (mtu)
		look_fact(l, "dut.mtu", "%s", mtu);
	if (duplex && strcmp(duplex, "half") == 0) {
		look_found(l, SEVERITY_WARN, AFFECTS_NETWORK, "the link runs at half duplex");
		look_why(l,
			 "both directions share the wire: collisions set throughput and latency");
		look_mend(l, "ethtool -s DEV autoneg on, and the same on the switch");
	}
	if (n->pause_rx == 1) {
		look_found(l, SEVERITY_NOTE, AFFECTS_NETWORK, "the link obeys pause frames");
		look_why(l, "a receiver that is behind stops the sender: losses become delay");
		look_mend(l, "ethtool -A DEV rx off tx off");
		look_knob(l, "pause", "dev", "$dut", "rx", "off", NULL);
	}
	if (n->eee == 1) {
		look_found(l, SEVERITY_WARN, AFFECTS_RTT, "energy-efficient Ethernet is active");
		look_why(l, "an idle link sleeps: tens of microseconds before the first packet");
		look_mend(l, "ethtool --set-eee DEV eee off");
	}
}

static int look_nic(struct look *l, struct err *e)
{
	const struct nic *n = l->scope->dut;

	if (!n)
		return look_absent(l, e, no_dut);
	look_fact(l, "dut.driver", "%s", *n->driver ? n->driver : "?");
	if (*n->firmware && strcmp(n->firmware, "N/A") != 0)
		look_fact(l, "dut.firmware", "%s", n->firmware);
	number(l, "dut.rx_ring", n->rx_ring);
	number(l, "dut.tx_ring", n->tx_ring);
	number(l, "dut.rx_queues", n->rx_queues);
	number(l, "dut.tx_queues", n->tx_queues);
	number(l, "dut.combined_queues", n->combined_queues);
	if (n->pause_rx != NIC_UNKNOWN)
		look_fact(l, "dut.pause", "rx %s, tx %s", on_off(n->pause_rx), on_off(n->pause_tx));
	look_link(l);
	return 0;
}

const struct check check_nic = {
	.name = "nic",
	.help = "driver, firmware, speed, duplex, pause frames and rings of the netdev under test",
	.reads = "ethtool ioctls, /sys/class/net/DEV/{speed,duplex,mtu}",
	.look = look_nic,
};

static int look_offloads(struct look *l, struct err *e)
{
	const struct nic *n = l->scope->dut;

	if (!n)
		return look_absent(l, e, no_dut);
	look_fact(l, "dut.offloads", "gro %s, gso %s, tso %s, lro %s, rx %s, tx %s", on_off(n->gro),
		  on_off(n->gso), on_off(n->tso), on_off(n->lro), on_off(n->rx_checksum),
		  on_off(n->tx_checksum));
	if (n->lro != 1)
		return 0;
	look_found(l, SEVERITY_NOTE, AFFECTS_NETWORK | AFFECTS_INTERRUPTS, "LRO is on");
	look_why(l, "packets are joined by the card before the path under test sees them");
	look_mend(l, "ethtool -K DEV lro off");
	look_knob(l, "netdev", "dev", "$dut", "lro", "off", NULL);
	return 0;
}

const struct check check_offloads = {
	.name = "offloads",
	.help = "what the netdev does instead of the kernel",
	.reads = "ethtool ioctls",
	.look = look_offloads,
};

static int look_coalescing(struct look *l, struct err *e)
{
	const struct nic *n = l->scope->dut;

	if (!n)
		return look_absent(l, e, no_dut);
	if (n->rx_usecs == NIC_UNKNOWN)
		return look_absent(l, e, "the netdev does not coalesce interrupts");
	look_fact(l, "dut.coalescing",
		  "adaptive rx %s, tx %s; rx %" PRId64 " us %" PRId64 " frames, tx %" PRId64
		  " us %" PRId64 " frames",
		  on_off(n->adaptive_rx), on_off(n->adaptive_tx), n->rx_usecs, n->rx_frames,
		  n->tx_usecs, n->tx_frames);
	if (n->adaptive_rx != 1 && n->adaptive_tx != 1)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_NETWORK | AFFECTS_INTERRUPTS,
		   "interrupt coalescing is adaptive");
	look_why(l,
		 "interrupts per second follow the traffic of the last moment: a variant changes "
		 "them by being faster");
	look_mend(l, "ethtool -C DEV adaptive-rx off adaptive-tx off rx-usecs N");
	if (n->adaptive_rx == 1)
		look_knob(l, "coalesce", "dev", "$dut", "adaptive-rx", "off", NULL);
	if (n->adaptive_tx == 1)
		look_knob(l, "coalesce", "dev", "$dut", "adaptive-tx", "off", NULL);
	return 0;
}

const struct check check_coalescing = {
	.name = "coalescing",
	.help = "interrupt coalescing, adaptive or fixed",
	.reads = "ethtool ioctls",
	.look = look_coalescing,
};

/* The last value the setup gives to @key of a netdev named @dev; NULL: none. */
static const char *setup_says(const struct instances *setup, const char *dev, const char *key)
{
	const char *v = NULL;

	for (size_t i = 0; i < setup->nr; i++) {
		const struct instance *k = &setup->v[i];
		const char *devs = instance_value(k, "dev"), *value = instance_value(k, key);

		if (strcmp(k->plugin, "netdev") == 0 && value && devs && strstr(devs, dev))
			v = value;
	}
	return v;
}

static bool has_command(const struct instances *setup)
{
	for (size_t i = 0; i < setup->nr; i++)
		if (strcmp(setup->v[i].plugin, "command") == 0)
			return true;
	return false;
}

static int64_t says(const struct instances *setup, const char *dev, const char *key,
		    int64_t fallback)
{
	const char *v = setup_says(setup, dev, key);
	bool on = false;

	return v && text_bool(v, &on) >= 0 ? on : fallback;
}

/*
 * drivers/net/veth.c, veth_xmit(): packets go through the receiver's NAPI only when it has GRO (or
 * XDP) and the sender has no TSO.  A new pair has TSO and no GRO.
 */
static int look_veth(struct look *l, struct err *e)
{
	const struct audit_goal *g = l->scope->goal;
	const struct nic *n = l->scope->dut, *far = l->scope->far;
	int64_t gro, tso;
	bool is_pair = n && far && strcmp(n->driver, "veth") == 0;

	if (!g->netns && !is_pair)
		return look_absent(l, e, "the path is no veth pair");
	gro = is_pair && n->gro != NIC_UNKNOWN ? n->gro : says(&g->setup, "$dut", "gro", 0);
	tso = is_pair && far->tso != NIC_UNKNOWN ? far->tso : says(&g->setup, "$far", "tso", 1);
	look_fact(l, "veth_polls", "%s", gro && !tso ? "yes" : "no");
	if (gro && !tso)
		return 0;
	/* a command may have attached an XDP program, which polls as well */
	look_found(l, g->gives_veth_napi && !has_command(&g->setup) ? SEVERITY_VETO : SEVERITY_NOTE,
		   AFFECTS_ALL, "the veth pair will not poll: GRO is %s at $dut, TSO is %s at $far",
		   on_off(gro), on_off(tso));
	look_why(l, "packets pass its NAPI by, so that \"threaded\" has nothing to act on and "
		    "softirqs are those of the sender");
	look_mend(l, "setup: [{ netdev: { dev: [$dut, $far], gro: on, tso: off, gso: off } }]");
	if (g->netns)
		look_knob(l, "netdev", "dev", "$dut,$far", "gro", "on", "tso", "off", "gso", "off",
			  NULL);
	return 0;
}

const struct check check_veth = {
	.name = "veth",
	.help = "a veth pair that will not poll, where a variant is about NAPI",
	.reads = "ethtool ioctls, the plan's setup",
	.look = look_veth,
};

static int look_congestion(struct look *l, struct err *e)
{
	_cleanup_(freep) char *name =
		look_line(l, ROOT_PROC, "sys/net/ipv4/tcp_congestion_control", e);
	struct err ignored = {};
	uint64_t no_save = 0;

	if (!name)
		return e->code;
	look_fact(l, "congestion", "%s", name);
	if (!look_u64(l, ROOT_PROC, "sys/net/ipv4/tcp_no_metrics_save", &no_save, &ignored))
		return 0;
	look_fact(l, "tcp_no_metrics_save", "%" PRIu64, no_save);
	if (no_save)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_THROUGHPUT,
		   "TCP remembers what earlier connections found (tcp_no_metrics_save is 0)");
	look_why(l, "a trial begins with the slow-start threshold that the one before it left");
	look_mend(l, "sysctl -w net.ipv4.tcp_no_metrics_save=1");
	look_knob(l, "sysctl", "net.ipv4.tcp_no_metrics_save", "1", NULL);
	return 0;
}

const struct check check_congestion = {
	.name = "congestion",
	.help = "TCP's congestion control, and what it remembers from trial to trial",
	.reads = "net.ipv4.tcp_congestion_control, net.ipv4.tcp_no_metrics_save",
	.look = look_congestion,
	.again = true,
};

static int look_net_tunables(struct look *l, struct err *e)
{
	static const char *const names[] = {
		"core/netdev_budget",	   "core/netdev_budget_usecs",
		"core/dev_weight",	   "core/busy_poll",
		"core/busy_read",	   "core/default_qdisc",
		"core/rmem_max",	   "core/wmem_max",
		"core/netdev_max_backlog", "ipv4/tcp_rmem",
		"ipv4/tcp_wmem",	   "ipv4/tcp_slow_start_after_idle"
	};
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[64], key[64];

		snprintf(path, sizeof(path), "sys/net/%s", names[i]);
		snprintf(key, sizeof(key), "net.%s", names[i]);
		*strchr(key, '/') = '.';
		if (!look_exists(l, ROOT_PROC, path))
			continue;
		look_fact_file(l, key, ROOT_PROC, path);
		nr++;
	}
	return nr ? 0 : err_set(e, -ENOENT, "/proc/sys/net cannot be read");
}

const struct check check_net_tunables = {
	.name = "net-tunables",
	.help = "sysctls of the network path, for the difference between two runs",
	.reads = "/proc/sys/net/{core,ipv4}",
	.look = look_net_tunables,
	.again = true,
};

/* Lines but the first of /proc/net/packet. */
static size_t lines_below_head(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += *text == '\n' && text[1];
	return nr;
}

static int look_sniffers(struct look *l, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err ignored = {};
	uint64_t tracked = 0;
	size_t nr;

	if (look_u64(l, ROOT_PROC, "sys/net/netfilter/nf_conntrack_count", &tracked, &ignored)) {
		look_fact(l, "conntrack", "yes");
		if (tracked) {
			look_found(l, SEVERITY_NOTE, AFFECTS_NETWORK,
				   "connections are tracked by netfilter");
			look_why(l, "every packet is looked up in a table once more");
			look_mend(l, "rules without connection state, or NOTRACK for the load");
		}
	}
	if (!look_text(l, ROOT_PROC, "net/packet", &text, e))
		return e->code;
	nr = lines_below_head(buf_str(&text));
	look_now(l, "packet_sockets", "%zu", nr);
	if (!nr)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_NETWORK | AFFECTS_CPU,
		   "%zu packet socket%s: someone may be capturing (tcpdump, a DHCP client)", nr,
		   nr == 1 ? " is open" : "s are open");
	look_why(l, "each packet is offered to, and mostly copied for, every one of them");
	look_mend(l, "ss -0 -p lists them");
	return 0;
}

const struct check check_sniffers = {
	.name = "sniffers",
	.help = "packet sockets and connection tracking on the path",
	.reads = "/proc/net/packet, /proc/sys/net/netfilter/nf_conntrack_count",
	.look = look_sniffers,
};
