// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>

#include "load/traffic_plugin.h"

static const struct opt options[] = {
	{ "rate", OPT_BPS, offsetof(struct traffic_cfg, per_s), "200",
	  .help = "round trips a second of all streams together, 0 for back to back" },
	TRAFFIC_SIZES,
	TRAFFIC_STREAMS,
	TRAFFIC_ARRIVALS,
	TRAFFIC_PORT,
	TRAFFIC_CPU,
	{},
};

static const struct metric_desc metrics[] = {
	{ "p50", "ns", BETTER_LOWER, "median from when a connection was due to its response",
	  .kind = METRIC_QUANTILE, .q = 0.5, .samples = "n" },
	{ "p99", "ns", BETTER_LOWER, "exceeded by 1 % of them", .kind = METRIC_QUANTILE, .q = 0.99,
	  .samples = "n" },
	{ "p999", "ns", BETTER_LOWER, "exceeded by 0.1 % of them", .kind = METRIC_QUANTILE,
	  .q = 0.999, .samples = "n" },
	{ "avg", "ns", BETTER_LOWER, "mean" },
	{ "max", "ns", BETTER_LOWER, "longest; grows with n", .kind = METRIC_MAXIMUM,
	  .samples = "n" },
	{ "above", "ratio", BETTER_LOWER, "share of the connections later than the metric's limit",
	  .kind = METRIC_RATE, .samples = "n", .hist = "latency" },
	{ "min", "ns", BETTER_NONE, "shortest" },
	{ "n", "count", BETTER_NONE, "connections measured", .kind = METRIC_RATE },
	{ "rate", "1/s", BETTER_HIGHER, "connections a second" },
	{ "lost", "count", BETTER_LOWER, "connections without a response", .kind = METRIC_RATE },
	{ "loss", "ratio", BETTER_LOWER, "connections without a response, of all",
	  .kind = METRIC_RATE },
	{},
};

static const struct traffic_kind kind = { .options = options, .mode = WIRE_CRR };

static int crr_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		    struct err *e)
{
	return traffic_open(ret, env, inst, &kind, e);
}

const struct load_ops load_crr = {
	.plugin = { .name = "crr",
		    .help = "connect, request, response, close; needs irqlab's server",
		    .options = options,
		    .metrics = metrics },
	.open = crr_open,
	TRAFFIC_OPS,
};
