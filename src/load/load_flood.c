// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>

#include "load/traffic_plugin.h"

static const struct opt options[] = {
	TRAFFIC_DIRECTION,
	{ "rate", OPT_BPS, offsetof(struct traffic_cfg, per_s), "0",
	  .help = "datagrams a second of all streams of a direction, 0 for flat out" },
	TRAFFIC_STREAMS,
	{ "length", OPT_BYTES, offsetof(struct traffic_cfg, length_bytes), "16",
	  .min = WIRE_UDP_LENGTH_MIN, .max = WIRE_UDP_LENGTH_MAX, .help = "bytes of a datagram" },
	{ "gso", OPT_BOOL, offsetof(struct traffic_cfg, gso), "off",
	  .help = "many datagrams in one call (UDP GSO and GRO)" },
	TRAFFIC_ARRIVALS,
	TRAFFIC_PORT,
	TRAFFIC_LOCAL_PORT_ROW,
	TRAFFIC_CPU,
	{},
};

static const struct metric_desc metrics[] = {
	{ "throughput", "bit/s", BETTER_HIGHER, "received or sent by this machine in the window",
	  .global = true },
	{ "packets", "1/s", BETTER_HIGHER, "datagrams received, or sent, in the window" },
	{ "loss", "ratio", BETTER_LOWER,
	  "datagrams lost: in the window when this machine receives, else in the whole test",
	  .kind = METRIC_RATE },
	{ "jitter", "ns", BETTER_NONE, "RFC 1889 jitter at the window's end, mean of the streams" },
	{ "out-of-order", "count", BETTER_NONE, "datagrams that came late", .kind = METRIC_RATE },
	{ "offered-share", "ratio", BETTER_NONE, "achieved of the asked rate, when one is asked",
	  .kind = METRIC_RATE },
	{},
};

static const struct traffic_kind kind = {
	.options = options, .udp = true, .flood = true, .mode = WIRE_BULK
};

static int flood_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		      struct err *e)
{
	return traffic_open(ret, env, inst, &kind, e);
}

const struct load_ops load_flood = {
	.plugin = { .name = "flood",
		    .help = "smallest datagrams, paced or flat out (iperf3 protocol)",
		    .options = options,
		    .metrics = metrics },
	.open = flood_open,
	TRAFFIC_OPS,
};
