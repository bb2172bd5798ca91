// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>

#include "load/traffic_plugin.h"

static const struct opt options[] = {
	TRAFFIC_DIRECTION,
	{ "rate", OPT_BPS, offsetof(struct traffic_cfg, rate_bps), "1M",
	  .help = "bit rate of all streams of a direction together, 0 for flat out" },
	TRAFFIC_STREAMS,
	{ "length", OPT_BYTES, offsetof(struct traffic_cfg, length_bytes), "0",
	  .max = WIRE_UDP_LENGTH_MAX,
	  .help = "bytes of a datagram, 0 for what the path carries whole" },
	{ "window", OPT_BYTES, offsetof(struct traffic_cfg, window_bytes), "0",
	  .max = WIRE_WINDOW_MAX, .help = "socket buffers, 0 for the system's" },
	{ "gso", OPT_BOOL, offsetof(struct traffic_cfg, gso), "off",
	  .help = "many datagrams in one call (UDP GSO and GRO)" },
	TRAFFIC_ARRIVALS,
	{ "burst", OPT_UINT, offsetof(struct traffic_cfg, burst), "1", .min = 1,
	  .max = WIRE_BURST_MAX, .help = "datagrams sent at once when paced" },
	TRAFFIC_PORT,
	TRAFFIC_LOCAL_PORT_ROW,
	TRAFFIC_CPU,
	{},
};

static const struct metric_desc metrics[] = {
	{ "throughput", "bit/s", BETTER_HIGHER, "received or sent by this machine in the window",
	  .global = true },
	{ "throughput-to-dut", "bit/s", BETTER_HIGHER, "of a load both ways: received here" },
	{ "throughput-from-dut", "bit/s", BETTER_HIGHER, "of a load both ways: sent from here" },
	{ "packets", "1/s", BETTER_HIGHER, "datagrams received, or sent, in the window" },
	{ "loss", "ratio", BETTER_LOWER,
	  "datagrams lost: in the window when this machine receives, else in the whole test",
	  .kind = METRIC_RATE },
	{ "jitter", "ns", BETTER_LOWER,
	  "RFC 1889 jitter at the window's end, mean of the streams" },
	{ "out-of-order", "count", BETTER_LOWER, "datagrams that came late", .kind = METRIC_RATE },
	{ "offered-share", "ratio", BETTER_NONE, "achieved of the asked rate, when one is asked",
	  .kind = METRIC_RATE },
	{},
};

static const struct traffic_kind kind = { .options = options, .udp = true, .mode = WIRE_BULK };

static int udp_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		    struct err *e)
{
	return traffic_open(ret, env, inst, &kind, e);
}

const struct load_ops load_udp = {
	.plugin = { .name = "udp",
		    .help = "datagrams to or from the peer (iperf3 protocol)",
		    .options = options,
		    .metrics = metrics },
	.open = udp_open,
	TRAFFIC_OPS,
};
