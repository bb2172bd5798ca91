// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How late a real-time thread wakes: one SCHED_FIFO thread for each CPU and priority, on absolute
 * timers.  What one lane does is in wakeup_loop.c; this file brings the lanes up and down.
 */
#include "probe/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/wakeup.h"
#include "probe/wakeup_lanes.h"
#include "probe/wakeup_late.h"

/* A window longer than planned still has its maxima second by second for this long. */
#define SPARE_SECONDS 8
#define REMEDY_MLOCK "needs root, CAP_IPC_LOCK or a larger ulimit -l"

enum phase { PHASE_RANDOM, PHASE_ALIGNED };

struct wakeup_cfg {
	uint64_t interval_ns;
	struct uint_list priority;
	char *cpus;
	int policy; /* enum wakeup_policy */
	int phase;  /* enum phase */
	bool hold_latency;
	uint64_t limit_ns, gap_ns; /* of episodes */
};

struct probe {
	struct wakeup_cfg cfg;
	char *name;
	struct cpuset cpus;
	struct wakeup_window window;
	struct wakeup_lanes lanes;
	struct wakeup_hold hold;
	struct wakeup_late late;
};

/* in the order of enum wakeup_policy; those without real time take no priority */
static const char *const policies[] = { "fifo", "rr", "other", NULL };
static const char *const phases[] = { "random", "aligned", NULL };

static const struct opt options[] = {
	{ "interval", OPT_NS, offsetof(struct wakeup_cfg, interval_ns), "250us",
	  "time between two wake-ups of a thread", .min = 10 * NS_PER_US, .max = NS_PER_S },
	{ "priority", OPT_UINTS, offsetof(struct wakeup_cfg, priority), "98",
	  "real-time priorities, a thread on every CPU for each", .min = 1, .max = 99 },
	{ "policy", OPT_ENUM, offsetof(struct wakeup_cfg, policy), "fifo",
	  "fifo, rr, or other: no real time and no privilege", .choices = policies },
	{ "cpus", OPT_CPUS, offsetof(struct wakeup_cfg, cpus), "all",
	  "CPUs with a thread; all: those this process may use" },
	{ "phase", OPT_ENUM, offsetof(struct wakeup_cfg, phase), "random",
	  "random: drawn for each trial and thread; aligned: all threads wake at once",
	  .choices = phases },
	{ "pm-qos", OPT_BOOL, offsetof(struct wakeup_cfg, hold_latency), "on",
	  "hold /dev/cpu_dma_latency at 0, so that deep idle states are off",
	  .fixed = "without it idle states count as latency" },
	{ "limit", OPT_NS, offsetof(struct wakeup_cfg, limit_ns), "",
	  "wake-ups later than this are counted in episodes; not given: none are",
	  .fixed = "with another limit something else is counted" },
	{ "gap", OPT_NS, offsetof(struct wakeup_cfg, gap_ns), "2ms",
	  "late wake-ups of any CPU closer together than this are one episode",
	  .fixed = "with another gap something else is counted" },
	{},
};

#define OF_WAKEUPS .samples = "n", .skipped = "missed"

static const struct metric_desc metrics[] = {
	{ "p50", "ns", BETTER_LOWER, "median of how late the threads woke", .kind = METRIC_QUANTILE,
	  .q = 0.5, OF_WAKEUPS },
	{ "p99", "ns", BETTER_LOWER, "exceeded by 1 % of the wake-ups", .kind = METRIC_QUANTILE,
	  .q = 0.99, OF_WAKEUPS },
	{ "p999", "ns", BETTER_LOWER, "exceeded by 0.1 % of the wake-ups", .kind = METRIC_QUANTILE,
	  .q = 0.999, OF_WAKEUPS },
	{ "p50-corrected", "ns", BETTER_LOWER, "p50 with the skipped wake-ups counted too",
	  .kind = METRIC_QUANTILE, .q = 0.5, OF_WAKEUPS },
	{ "p99-corrected", "ns", BETTER_LOWER, "p99 with the skipped wake-ups counted too",
	  .kind = METRIC_QUANTILE, .q = 0.99, OF_WAKEUPS },
	{ "p999-corrected", "ns", BETTER_LOWER, "p999 with the skipped wake-ups counted too",
	  .kind = METRIC_QUANTILE, .q = 0.999, OF_WAKEUPS },
	{ "avg", "ns", BETTER_LOWER, "mean of how late the threads woke" },
	{ "max", "ns", BETTER_LOWER, "latest wake-up; grows with n", .kind = METRIC_MAXIMUM,
	  OF_WAKEUPS },
	{ "above", "ratio", BETTER_LOWER, "share of wake-ups later than the metric's limit",
	  .kind = METRIC_RATE, .hist = "latency", OF_WAKEUPS },
	{ "episodes", "1/s", BETTER_LOWER, "times that wake-ups were later than the probe's limit",
	  .kind = METRIC_RATE, .needs = "limit" },
	{ "min", "ns", BETTER_NONE, "earliest wake-up" },
	{ "n", "count", BETTER_NONE, "wake-ups measured" },
	{ "missed", "count", BETTER_LOWER, "wake-ups skipped because the thread was still late" },
	{ "missed-ratio", "ratio", BETTER_LOWER, "skipped of all scheduled wake-ups",
	  .kind = METRIC_RATE },
	{ "elsewhere", "count", BETTER_NONE, "wake-ups on another CPU, its own being offline" },
	{ "memory-locked", "count", BETTER_NONE, "1: the probe's memory was locked" },
	{ "pm-qos-held", "count", BETTER_NONE, "1: /dev/cpu_dma_latency was held at 0" },
	{},
};

static int check_priorities(const struct uint_list *l, struct err *e)
{
	if (!l->nr)
		return err_set(e, -EINVAL, "priority: name one at least, such as 98");
	for (size_t i = 0; i < l->nr; i++)
		for (size_t k = 0; k < i; k++)
			if (l->v[i] == l->v[k])
				return err_set(e, -EINVAL, "priority: %" PRIu64 " stands twice",
					       l->v[i]);
	return 0;
}

/* The threads of policy other have no priority, so one on each CPU is all there is. */
static size_t nr_priorities(const struct probe *p)
{
	return p->cfg.policy == WAKEUP_OTHER ? 1 : p->cfg.priority.nr;
}

static int make_lanes(struct probe *p, const struct probe_env *env, struct err *e)
{
	size_t nr = p->cpus.nr * nr_priorities(p);
	uint64_t common = env->seed;
	int r = wakeup_lanes_init(&p->lanes, nr,
				  (size_t)(env->duration_ns / NS_PER_S) + SPARE_SECONDS, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < nr; i++) {
		struct wakeup_lane *l = &p->lanes.lane[i];
		uint64_t phase;

		l->cpu = p->cpus.cpus[i % p->cpus.nr];
		l->pinned = true;
		l->policy = (enum wakeup_policy)p->cfg.policy;
		if (l->policy != WAKEUP_OTHER)
			l->priority = (unsigned int)p->cfg.priority.v[i / p->cpus.nr];
		l->interval_ns = p->cfg.interval_ns;
		l->clock = CLOCK_MONOTONIC;
		l->window = &p->window;
		phase = p->cfg.phase == PHASE_ALIGNED
				? wakeup_phase(common, 0, 0, l->interval_ns)
				: wakeup_phase(env->seed, l->cpu, l->priority, l->interval_ns);
		l->next_ns = wakeup_first(clock_mono_ns(), phase, l->interval_ns);
	}
	return 0;
}

static void wakeup_close(struct probe *p)
{
	if (!p)
		return;
	wakeup_lanes_release(&p->lanes);
	wakeup_hold_release(&p->hold);
	wakeup_late_release(&p->late);
	cpuset_release(&p->cpus);
	opt_release(options, &p->cfg);
	free(p->name);
	free(p);
}

static void wakeup_closep(struct probe **p)
{
	wakeup_close(*p);
}

static int wakeup_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		       struct err *e)
{
	_cleanup_(wakeup_closep) struct probe *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_nomem(e, inst->name);
	p->hold.latency_fd = -1;
	atomic_store(&p->window.begin_ns, UINT64_MAX);
	atomic_store(&p->window.end_ns, UINT64_MAX);
	p->name = strdup(inst->name);
	if (!p->name)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &p->cfg, e);
	if (r >= 0)
		r = check_priorities(&p->cfg.priority, e);
	if (r >= 0)
		r = wakeup_cpus(p->cfg.cpus, env->host, &p->cpus, e);
	if (r >= 0)
		r = make_lanes(p, env, e);
	p->late.limit_ns = p->cfg.limit_ns;
	p->late.gap_ns = p->cfg.gap_ns;
	if (r >= 0)
		r = wakeup_late_init(&p->late, p->lanes.lane, p->lanes.nr, e);
	if (r < 0)
		return r;
	wakeup_hold_memory(&p->hold);
	if (p->cfg.hold_latency)
		wakeup_hold_latency(&p->hold, env->host, 0);
	r = wakeup_lanes_run(&p->lanes, env->host, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int wakeup_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	atomic_store(&p->window.begin_ns, now_ns);
	return 0;
}

static int wakeup_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	atomic_store(&p->window.end_ns, now_ns);
	wakeup_lanes_join(&p->lanes);
	return 0;
}

/* What was held, in every trial: variants that differ in it are not compared. */
static void report_hold(const struct probe *p, struct emit *m)
{
	bool held = p->hold.latency_fd >= 0;
	char why[128];

	emit_scalar(m, "memory-locked", "count", "", p->hold.locked);
	emit_scalar(m, "pm-qos-held", "count", "", held);
	if (!p->hold.locked)
		emit_event(m, SEVERITY_WARN, 0,
			   "memory is not locked (%s): page faults may count as latency; "
			   "it " REMEDY_MLOCK,
			   strerror_r(p->hold.lock_errno, why, sizeof(why)));
	if (!p->cfg.hold_latency)
		emit_event(m, SEVERITY_NOTE, 0,
			   "/dev/cpu_dma_latency is not held (pm-qos: off): leaving deep idle "
			   "states counts as latency");
	else if (!held)
		emit_event(m, SEVERITY_WARN, 0,
			   "/dev/cpu_dma_latency could not be held (%s): leaving deep idle states "
			   "counts as latency; it needs root or write access to that file",
			   strerror_r(p->hold.latency_errno, why, sizeof(why)));
}

static int wakeup_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };
	struct wakeup_result res = { .lanes = p->lanes.lane,
				     .nr_lanes = p->lanes.nr,
				     .nr_cpus = p->cpus.nr,
				     .begin_ns = atomic_load(&p->window.begin_ns),
				     .end_ns = atomic_load(&p->window.end_ns) };

	report_hold(p, &m);
	wakeup_report(&res, &m);
	wakeup_late_report(&p->late, &res, &m);
	return m.r;
}

const struct probe_ops probe_wakeup = {
	.plugin = { .name = "wakeup",
		    .help = "how late a real-time thread wakes",
		    .options = options,
		    .metrics = metrics },
	.usable = wakeup_usable,
	.open = wakeup_open,
	.start = wakeup_start,
	.stop = wakeup_stop,
	.drain = wakeup_drain,
	.close = wakeup_close,
};
