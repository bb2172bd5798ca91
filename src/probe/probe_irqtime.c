// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where interrupts' and softirqs' time went, exactly, by BPF (irqtime.h): read at the window's
 * edges, and by a thread of its own once an interval for the course of it.
 */
#include "probe/probe.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/irqtime.h"
#include "probe/irqtime_report.h"

/* Intervals of a window that is longer than planned. */
#define SPARE_INTERVALS 8

struct irqtime_cfg {
	uint64_t interval_ns;
	bool napi, threads, wait;
};

struct probe {
	struct irqtime_cfg cfg;
	char *name;
	struct cpuset online;
	struct irqtime *accounts;
	struct irqtime_table edges[2], during;
	struct irqtime_series series;
	uint64_t begin_ns;

	/* the thread that reads once an interval */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;	       /* under @lock */
	struct err sampling_e; /* read when it has ended */
	int sampling_r;
};

static const struct opt options[] = {
	{ "interval", OPT_NS, offsetof(struct irqtime_cfg, interval_ns), "1s",
	  "between two points of the series", .min = 10 * NS_PER_MS, .max = 3600 * NS_PER_S },
	{ "napi", OPT_BOOL, offsetof(struct irqtime_cfg, napi), "on",
	  "NAPI polls: time, packets, exhausted budgets" },
	{ "threads", OPT_BOOL, offsetof(struct irqtime_cfg, threads), "off",
	  "threads: share of each CPU, by name; costs at every switch" },
	{ "wait", OPT_BOOL, offsetof(struct irqtime_cfg, wait), "off",
	  "from the raise of a softirq to its start" },
	{},
};

static const struct metric_desc metrics[] = {
	{ "hardirq", "ratio", BETTER_NONE, "CPU time in interrupt handlers and vectors",
	  .kind = METRIC_RATE },
	{ "softirq", "ratio", BETTER_NONE, "CPU time in softirqs, hard interrupts taken off",
	  .kind = METRIC_RATE },
	{ "net-rx", "ratio", BETTER_NONE, "CPU time in the NET_RX softirq", .kind = METRIC_RATE },
	{ "irqs", "1/s", BETTER_NONE, "calls of interrupt handlers, and vectors" },
	{ "softirqs", "1/s", BETTER_NONE, "softirqs run" },
	{ "irq-ns", "ns", BETTER_LOWER, "mean time of an interrupt handler or vector" },
	{ "softirq-ns", "ns", BETTER_LOWER, "mean time of a softirq" },
	{ "net-rx-ns", "ns", BETTER_NONE, "mean time of a NET_RX softirq" },
	{ "raise-wait", "ns", BETTER_LOWER, "mean time from a softirq's raise to its start" },
	{ "net-rx-wait", "ns", BETTER_LOWER, "the same of NET_RX" },
	{ "polls", "1/s", BETTER_NONE, "NAPI polls" },
	{ "packets", "1/s", BETTER_NONE, "packets that NAPI polls took" },
	{ "packets-per-poll", "count", BETTER_NONE, "mean of a poll" },
	{ "budget-exhausted", "ratio", BETTER_LOWER, "polls that used up their budget",
	  .kind = METRIC_RATE },
	{ "poll-ns", "ns", BETTER_NONE, "mean time of a NAPI poll" },
	{ "thread", "ratio", BETTER_NONE, "CPU time of threads of a name, labels cpu, thread",
	  .kind = METRIC_RATE },
	{ "lost", "count", BETTER_NONE, "events that could not be accounted" },
	{},
};

static int probe_usable(const struct host *host, struct err *why)
{
	return irqtime_usable(why);
}

/* Wait until @at_ns or the end; true at the end. */
static bool wait_until(struct probe *p, uint64_t at_ns)
{
	struct timespec at = clock_timespec(at_ns);
	bool stop;

	pthread_mutex_lock(&p->lock);
	while (!p->stop && clock_mono_ns() < at_ns)
		pthread_cond_timedwait(&p->wake, &p->lock, &at);
	stop = p->stop;
	pthread_mutex_unlock(&p->lock);
	return stop;
}

static void *sample(void *arg)
{
	struct probe *p = arg;
	struct irqtime_table t = {};

	for (uint64_t i = 1; !wait_until(p, p->begin_ns + i * p->cfg.interval_ns); i++) {
		p->sampling_r = irqtime_read(p->accounts, &t, &p->sampling_e);
		if (p->sampling_r < 0)
			break;
		irqtime_series_add(&p->series, &t);
	}
	irqtime_table_release(&t);
	return NULL;
}

static void end_sampling(struct probe *p)
{
	if (!p->has_thread)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	p->has_thread = false;
}

static void probe_close(struct probe *p)
{
	if (!p)
		return;
	end_sampling(p);
	irqtime_close(p->accounts);
	irqtime_table_release(&p->edges[0]);
	irqtime_table_release(&p->edges[1]);
	irqtime_table_release(&p->during);
	irqtime_series_release(&p->series);
	cpuset_release(&p->online);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	opt_release(options, &p->cfg);
	free(p->name);
	free(p);
}

static void probe_closep(struct probe **p)
{
	probe_close(*p);
}

static void init_lock(struct probe *p)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, &attr);
	pthread_condattr_destroy(&attr);
}

static int open_accounts(struct probe *p, struct err *e)
{
	const struct irqtime_opts opts = { .hardirqs = true,
					   .softirqs = true,
					   .napi = p->cfg.napi,
					   .threads = p->cfg.threads,
					   .latency = p->cfg.wait };

	return irqtime_open(&p->accounts, &opts, e);
}

static int probe_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		      struct err *e)
{
	_cleanup_(probe_closep) struct probe *p = calloc(1, sizeof(*p));
	size_t intervals;
	int r;

	if (!p)
		return err_nomem(e, inst->name);
	init_lock(p);
	p->name = strdup(inst->name);
	if (!p->name)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &p->cfg, e);
	if (r >= 0)
		r = cpuset_online(env->host->sys_fd, &p->online, e);
	if (r < 0)
		return r;
	intervals = (size_t)(env->duration_ns / p->cfg.interval_ns) + SPARE_INTERVALS;
	r = irqtime_series_init(&p->series, p->online.cpus[p->online.nr - 1] + 1, intervals, e);
	if (r >= 0)
		r = open_accounts(p, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int probe_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	int r = irqtime_read(p->accounts, &p->edges[0], e);

	if (r < 0)
		return r;
	p->begin_ns = now_ns;
	irqtime_series_add(&p->series, &p->edges[0]);
	r = pthread_create(&p->thread, NULL, sample, p);
	if (r)
		return err_set(e, -r, "thread for the series: %s", strerrordesc_np(r));
	p->has_thread = true;
	return 0;
}

static int probe_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	end_sampling(p);
	if (p->sampling_r < 0) {
		*e = p->sampling_e;
		return p->sampling_r;
	}
	return irqtime_read(p->accounts, &p->edges[1], e);
}

static int probe_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };
	const struct irqtime_window w = { .begin_ns = p->begin_ns,
					  .length_ns = p->edges[1].at_ns - p->edges[0].at_ns,
					  .cpus = p->online.cpus,
					  .nr_cpus = p->online.nr };
	int r;

	if (!p->edges[1].at_ns)
		return err_set(e, -ENODATA, "drained before its window closed");
	r = irqtime_subtract(&p->edges[0], &p->edges[1], &p->during, e);
	if (r < 0)
		return r;
	irqtime_report(&m, &w, &p->during, &p->series);
	for (const char *const *lack = irqtime_lacks(p->accounts); *lack; lack++)
		emit_event(&m, SEVERITY_NOTE, 0, "%s", *lack);
	return m.r;
}

const struct probe_ops probe_irqtime = {
	.plugin = { .name = "irqtime",
		    .help = "exact irq time by BPF; cost: docs/performance-probe.md",
		    .options = options,
		    .metrics = metrics },
	.usable = probe_usable,
	.open = probe_open,
	.start = probe_start,
	.stop = probe_stop,
	.drain = probe_drain,
	.close = probe_close,
};
