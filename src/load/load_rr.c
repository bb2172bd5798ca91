// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>

#include "load/traffic_plugin.h"

static const char *const protocols[] = { "tcp", "udp", NULL };

static const struct opt options[] = {
	{ "protocol", OPT_ENUM, offsetof(struct traffic_cfg, protocol), "tcp", .choices = protocols,
	  .help = "tcp or udp" },
	{ "rate", OPT_BPS, offsetof(struct traffic_cfg, per_s), "1000",
	  .help = "round trips a second of all streams together, 0 for back to back" },
	TRAFFIC_SIZES,
	TRAFFIC_STREAMS,
	TRAFFIC_ARRIVALS,
	TRAFFIC_PORT,
	{ "local-port", OPT_UINT, offsetof(struct traffic_cfg, local_port), "21000", .max = 65000,
	  .help = "first local port: the same queue in every trial; 0 for any" },
	TRAFFIC_CPU,
	{},
};

static const struct metric_desc metrics[] = {
	{ "p50", "ns", BETTER_LOWER, "median of the round trips, from when they were due",
	  .kind = METRIC_QUANTILE, .q = 0.5, .samples = "n" },
	{ "p99", "ns", BETTER_LOWER, "exceeded by 1 % of the round trips", .kind = METRIC_QUANTILE,
	  .q = 0.99, .samples = "n" },
	{ "p999", "ns", BETTER_LOWER, "exceeded by 0.1 % of the round trips",
	  .kind = METRIC_QUANTILE, .q = 0.999, .samples = "n" },
	{ "avg", "ns", BETTER_LOWER, "mean of the round trips" },
	{ "max", "ns", BETTER_LOWER, "longest round trip; grows with n", .kind = METRIC_MAXIMUM,
	  .samples = "n" },
	{ "above", "ratio", BETTER_LOWER, "share of the round trips later than the metric's limit",
	  .kind = METRIC_RATE, .samples = "n", .hist = "latency" },
	{ "min", "ns", BETTER_NONE, "shortest round trip" },
	{ "n", "count", BETTER_NONE, "round trips measured", .kind = METRIC_RATE },
	{ "rate", "1/s", BETTER_HIGHER, "round trips a second" },
	{ "lost", "count", BETTER_LOWER, "requests without a response", .kind = METRIC_RATE },
	{ "loss", "ratio", BETTER_LOWER, "requests without a response, of all",
	  .kind = METRIC_RATE },
	{},
};

static const struct traffic_kind kind = { .options = options, .mode = WIRE_RR };

static int rr_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		   struct err *e)
{
	return traffic_open(ret, env, inst, &kind, e);
}

const struct load_ops load_rr = {
	.plugin = { .name = "rr",
		    .help = "round trips to the peer, which must be irqlab's server",
		    .options = options,
		    .metrics = metrics },
	.open = rr_open,
	TRAFFIC_OPS,
};
