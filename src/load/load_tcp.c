// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>

#include "load/traffic_plugin.h"

static const struct opt options[] = {
	TRAFFIC_DIRECTION,
	{ "rate", OPT_BPS, offsetof(struct traffic_cfg, rate_bps), "0",
	  .help = "bit rate of all streams of a direction together, 0 for flat out" },
	TRAFFIC_STREAMS,
	{ "length", OPT_BYTES, offsetof(struct traffic_cfg, length_bytes), "128K", .min = 1,
	  .max = WIRE_LENGTH_MAX, .help = "bytes of one write or read" },
	{ "window", OPT_BYTES, offsetof(struct traffic_cfg, window_bytes), "0",
	  .max = WIRE_WINDOW_MAX, .help = "socket buffers, 0 for the system's" },
	{ "congestion", OPT_STRING, offsetof(struct traffic_cfg, congestion), "",
	  .help = "congestion control, empty for the system's" },
	{ "nodelay", OPT_BOOL, offsetof(struct traffic_cfg, nodelay), "off",
	  .help = "send small segments at once (TCP_NODELAY)" },
	{ "zerocopy", OPT_BOOL, offsetof(struct traffic_cfg, zerocopy), "off",
	  .help = "the sender does not copy" },
	{ "skip-rx-copy", OPT_BOOL, offsetof(struct traffic_cfg, skip_rx_copy), "off",
	  .help = "the receiver does not copy (MSG_TRUNC)" },
	TRAFFIC_ARRIVALS,
	{ "burst", OPT_UINT, offsetof(struct traffic_cfg, burst), "1", .min = 1,
	  .max = WIRE_BURST_MAX, .help = "blocks sent at once when paced" },
	TRAFFIC_PORT,
	TRAFFIC_LOCAL_PORT_ROW,
	TRAFFIC_CPU,
	{},
};

static const struct metric_desc metrics[] = {
	{ "throughput", "bit/s", BETTER_HIGHER,
	  "received by this machine, or confirmed to it by the peer, in the window",
	  .global = true },
	{ "throughput-to-dut", "bit/s", BETTER_HIGHER, "of a load both ways: received here" },
	{ "throughput-from-dut", "bit/s", BETTER_HIGHER, "of a load both ways: confirmed to here" },
	{ "retransmits", "count", BETTER_LOWER,
	  "segments sent again: in the window when this machine sends, else in the whole test",
	  .kind = METRIC_RATE },
	{ "loss-episodes", "count", BETTER_LOWER,
	  "samples with retransmits after one without; only when this machine sends",
	  .kind = METRIC_RATE },
	{ "offered-share", "ratio", BETTER_NONE, "achieved of the asked rate, when one is asked",
	  .kind = METRIC_RATE },
	{},
};

static const struct traffic_kind kind = { .options = options, .mode = WIRE_BULK };

static int tcp_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		    struct err *e)
{
	return traffic_open(ret, env, inst, &kind, e);
}

const struct load_ops load_tcp = {
	.plugin = { .name = "tcp",
		    .help = "TCP streams to or from the peer (iperf3 protocol)",
		    .options = options,
		    .metrics = metrics },
	.open = tcp_open,
	TRAFFIC_OPS,
};
