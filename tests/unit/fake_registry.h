/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FAKE_REGISTRY_H
#define FAKE_REGISTRY_H

/*
 * Plug-ins to parse plans against: of each kind of option and metric one.  What the real ones are
 * called and have is not what these tests are about.
 */

#include "plan/plan.h"

static const char *const directions[] = { "to-dut", "from-dut", NULL };
static const char *const policies[] = { "other", "fifo", "rr", NULL };

static const struct opt netdev_rows[] = {
	{ "dev", OPT_STRINGS, 0, NULL, "which netdevs" }, { "gro", OPT_STRING, 0, "", "on or off" },
	{ "tso", OPT_STRING, 0, "", "on or off" },	  { "gso", OPT_STRING, 0, "", "on or off" },
	{ "threaded", OPT_STRING, 0, "", "0 or 1" },	  {},
};
static const struct opt thread_rows[] = {
	{ "match", OPT_STRING, 0, NULL, "name of the threads" },
	{ "policy", OPT_ENUM, 0, "other", "scheduling policy", .choices = policies },
	{ "priority", OPT_UINT, 0, "0", "priority", 0, 99 },
	{ "cpus", OPT_CPUS, 0, "all", "where it may run" },
	{},
};
static const struct opt tcp_rows[] = {
	{ "direction", OPT_ENUM, 0, "to-dut", "which way", .choices = directions },
	{ "rate", OPT_BPS, 0, "0", "offered rate" },
	{ "streams", OPT_UINT, 0, "1", "connections", 1, 64 },
	{ "window", OPT_BYTES, 0, "0", "socket buffer" },
	{},
};
static const struct opt command_rows[] = {
	{ "cmd", OPT_COMMAND, 0, NULL, "what to run" },
	{},
};
static const struct opt wakeup_rows[] = {
	{ "interval", OPT_NS, 0, "250us", "time between wake-ups", 10000, 1000000000 },
	{ "priority", OPT_UINTS, 0, "98", "SCHED_FIFO priorities", 1, 99 },
	{ "cpus", OPT_CPUS, 0, "all", "where" },
	{ "lock", OPT_BOOL, 0, "on", "lock memory", .fixed = "page faults count" },
	{ "limit", OPT_NS, 0, "", "of episodes" },
	{},
};

static const struct metric_desc tcp_metrics[] = {
	{ "throughput", "bit/s", BETTER_HIGHER, "goodput", .global = true },
	{ "retransmits", "count", BETTER_LOWER, "segments sent again" },
	{ "cwnd", "byte", BETTER_NONE, "congestion window" },
	{},
};
static const struct metric_desc wakeup_metrics[] = {
	{ "p99", "ns", BETTER_LOWER, "99 % of latencies are below" },
	{ "max", "ns", BETTER_LOWER, "longest latency", .kind = METRIC_MAXIMUM },
	{ "above", "ratio", BETTER_LOWER, "share above the limit", .kind = METRIC_RATE,
	  .hist = "latency" },
	{ "episodes", "1/s", BETTER_LOWER, "later than a limit", .kind = METRIC_RATE,
	  .needs = "limit" },
	{ "cycles", "count", BETTER_NONE, "how many" },
	{},
};
static const struct metric_desc interrupts_metrics[] = {
	{ "rate", "1/s", BETTER_LOWER, "interrupts" },
	{ "net-rx", "1/s", BETTER_NONE, "NET_RX softirqs" },
	{},
};

static const struct plugin knob_netdev = { "netdev", "features of a netdev", netdev_rows };
static const struct plugin knob_sysctl = { "sysctl", "sysctls", .free_keys = true };
static const struct plugin knob_thread = { "thread", "policy of threads", thread_rows };
static const struct plugin load_tcp = { "tcp", "TCP", tcp_rows, tcp_metrics };
static const struct plugin load_command = { "command", "a program", command_rows };
static const struct plugin probe_wakeup = { "wakeup", "latency", wakeup_rows, wakeup_metrics };
static const struct plugin probe_interrupts = { "interrupts", "counts", NULL, interrupts_metrics };
static const struct plugin probe_softnet = { "softnet", "packets", NULL, NULL };
static const struct plugin probe_cpu = { "cpu", "time of the CPUs", NULL, NULL };
static const struct plugin probe_kmsg = { "kmsg", "kernel lines", NULL, NULL };

static const struct plugin *const fake_knobs[] = { &knob_netdev, &knob_sysctl, &knob_thread, NULL };
static const struct plugin *const fake_loads[] = { &load_tcp, &load_command, NULL };
static const struct plugin *const fake_probes[] = { &probe_wakeup,  &probe_interrupts,
						    &probe_softnet, &probe_cpu,
						    &probe_kmsg,    NULL };

static const struct plan_registry fake_registry = { fake_knobs, fake_loads, fake_probes };

#endif
