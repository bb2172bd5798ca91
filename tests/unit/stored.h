/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORED_H
#define STORED_H

/*
 * A run made up by rule and stored for real: two variants, three scenarios, eight blocks, and one
 * metric for each word of the verdict.  Names carry what an attacker would put there.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/plan.h"
#include "registry.h"
#include "sample/hist.h"
#include "sample/sample.h"
#include "store/store.h"

#define STORED_BLOCKS 8
#define STORED_HOSTILE "<script>alert(1)</script> \"|`@x` & #1"
#define STORED_STARTED UINT64_C(1700000000123000000)

static const char stored_plan[] = "name: '" STORED_HOSTILE "'\n"
				  "peer: netns\n"
				  "variants:\n"
				  "  before: []\n"
				  "  after:\n"
				  "    - netdev: { dev: $dut, threaded: 1 }\n"
				  "scenarios:\n"
				  "  flat-out:\n"
				  "    - tcp: { direction: from-dut }\n"
				  "  net:\n"
				  "    - tcp: { direction: to-dut, rate: 4G, streams: 4 }\n"
				  "  broken:\n"
				  "    - tcp: { direction: to-dut }\n"
				  "probes:\n"
				  "  wakeup: { interval: 250us, priority: [98], cpus: all }\n"
				  "trial: { settle: 100ms, warmup: 500ms, duration: 2s }\n"
				  "blocks: 8\n"
				  "metrics:\n"
				  "  throughput@flat-out: { margin: 5% }\n"
				  "  tcp.retransmits@flat-out: { margin: 10% }\n"
				  "  wakeup.p99@net: { margin: 10% }\n"
				  "  wakeup.p50@net: { margin: 10% }\n"
				  "  throughput@broken: { margin: 5% }\n"
				  "seed: 1\n";

static inline int stored_take(struct record_list *l, const struct record *rec)
{
	struct err e = {};

	return record_list_take(l, record_copy(rec), &e);
}

static inline int stored_scalar(struct record_list *l, const char *metric, const char *unit,
				double v)
{
	const struct record rec = {
		.kind = RECORD_SCALAR, .metric = metric, .unit = unit, .labels = "", .value = v
	};

	return stored_take(l, &rec);
}

/* 25 points of 100 ms, of which five lie before the window. */
static inline int stored_series(struct record_list *l, const char *metric, const char *unit,
				double v)
{
	struct point points[25];
	const struct record rec = { .kind = RECORD_SERIES,
				    .metric = metric,
				    .unit = unit,
				    .labels = "",
				    .points = points,
				    .nr_points = 25 };

	for (int i = 0; i < 25; i++)
		points[i] = (struct point){ .t_ns = (i - 4) * INT64_C(100000000), .v = v };
	return stored_take(l, &rec);
}

/* 4000 latencies of each CPU, from 3 us on, the last one of 1.2 ms. */
static inline int stored_hist(struct record_list *l, int cpu, double scale)
{
	static struct hist h;
	char labels[32];
	const struct record rec = { .kind = RECORD_HIST,
				    .metric = "wakeup.latency",
				    .unit = "ns",
				    .labels = labels,
				    .hist = &h };

	memset(&h, 0, sizeof(h));
	for (int i = 0; i < 3999; i++)
		hist_add(&h, (uint64_t)(scale * (3000 + i % 700 * 11 + cpu)));
	hist_add(&h, (uint64_t)(scale * 1200000));
	snprintf(labels, sizeof(labels), "cpu=%d,prio=98", cpu);
	return stored_take(l, &rec);
}

static inline int stored_records(const struct trial_info *t, struct record_list *l)
{
	double drift = 1 + 0.002 * (t->block * 7 % 5), after = t->variant ? 1 : 0;
	double bps = t->scenario == 1 ? 4e9 : 23.4e9 * drift * (1 - 0.06 * after);
	/* higher and lower in turn */
	double again = 25 + 10 * after * (t->block % 2 ? 1 : -1) + t->block;
	int r = stored_scalar(l, "throughput", "bit/s", bps);

	r |= stored_series(l, "tcp.throughput", "bit/s", bps);
	if (t->scenario == 0) {
		r |= stored_scalar(l, "tcp.retransmits", "count", again);
		r |= stored_series(l, "tcp.retransmits", "count", 1);
		r |= stored_series(l, "tcp.cwnd", "byte", 2621440);
		r |= stored_series(l, "tcp.rtt", "ns", 87000);
	}
	r |= stored_scalar(l, "wakeup.p99", "ns", 48000 * drift * (1 - 0.5 * after));
	r |= stored_scalar(l, "wakeup.p50", "ns", 9000 * drift * (1 + 0.01 * after));
	r |= stored_hist(l, 0, drift) | stored_hist(l, 1, drift);
	return r;
}

static inline int stored_trial(struct store *s, int64_t run, unsigned int position, struct err *e)
{
	_cleanup_(record_list_release) struct record_list l = {};
	struct trial_info t = { .block = position / 6,
				.scenario = position % 6 / 2,
				.variant = position % 2,
				.position = position,
				.seed = 1000 + position,
				.window_ns = 2000000000,
				.started_ns = STORED_STARTED + position * UINT64_C(3000000000) };

	if (t.scenario == 2 && t.variant == 1 && t.block > 1) {
		t.state = TRIAL_VETOED;
		t.reason = (char *)(uintptr_t) "no effect: run time did not move, " STORED_HOSTILE;
	}
	if (stored_records(&t, &l) != 0)
		return err_nomem(e, "records");
	return store_trial_add(s, run, &t, &l, e);
}

/* A new run in the store @s, of which @blocks have been measured; fewer than all: still open. */
static inline int stored_make(struct store *s, unsigned int blocks, int64_t *ret_run, struct err *e)
{
	static const char *const variants[] = { "before", "after", NULL };
	static const char *const scenarios[] = { "flat-out", "net", "broken", NULL };
	const struct run_info run = {
		.name = (char *)(uintptr_t)STORED_HOSTILE,
		.plan = (char *)(uintptr_t)stored_plan,
		.plan_file = (char *)(uintptr_t) "plans/napi.yaml",
		.version = (char *)(uintptr_t) "0.1.0",
		.env = (char *)(uintptr_t) "{\"sysname\":\"Linux\",\"release\":\"6.1.0-13-rt-amd64\","
					   "\"machine\":\"x86_64\",\"cpus\":2,\"realtime\":\"1\","
					   "\"cpu_model\":\"Example CPU @ 2.40GHz\"}",
		.seed = 1,
		.started_ns = STORED_STARTED
	};
	int r = store_run_add(s, &run, variants, scenarios, ret_run, e);

	for (unsigned int i = 0; i < blocks * 6 && r >= 0; i++)
		r = stored_trial(s, *ret_run, i, e);
	if (r < 0 || blocks < STORED_BLOCKS)
		return r;
	return store_run_end(s, *ret_run, RUN_DONE, STORED_STARTED + UINT64_C(144000000000), e);
}

#endif
