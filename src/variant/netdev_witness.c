// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/netdev_witness.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "variant/knob.h"
#include "variant/netcount.h"
#include "variant/netdev.h"
#include "variant/netdev_features.h"
#include "variant/netdev_queues.h"
#include "variant/procthread.h"

/* Packets that a trial must have had before a missing effect is held against it. */
#define MIN_PACKETS 1000

void witness_futile(struct witness *w, const char *remedy, const char *fmt, ...)
{
	va_list ap;

	*w = (struct witness){ .min_effect = 1, .remedy = remedy };
	va_start(ap, fmt);
	vsnprintf(w->what, sizeof(w->what), fmt, ap);
	va_end(ap);
}

static int demand_packets(const struct netdev_target *t, struct witness *w, struct err *e)
{
	char path[96];
	int root = netdev_sys_root(t->side, t->dev, e);

	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "class/net/%s/statistics/rx_packets", t->dev);
	snprintf(w->of, sizeof(w->of), "rx_packets of %s", t->dev);
	w->min_demand = MIN_PACKETS;
	return kfile_read_u64(root, path, &w->demand, e);
}

/* "napi/DEV-ID", cut to 15 bytes before Linux 5.17. */
static bool is_napi_of(const struct procthread *t, const char *prefix)
{
	size_t len = strlen(prefix);

	if (!t->kernel)
		return false;
	if (strlen(t->comm) == 15 && len > 15)
		len = 15;
	return strncmp(t->comm, prefix, len) == 0;
}

/* Run time of the device's NAPI threads together, or switches where run time is not counted. */
static int napi_effort(const struct host *host, const char *dev, bool runtime, uint64_t *ret,
		       struct err *e)
{
	_cleanup_(procthreads_release) struct procthreads l = {};
	char prefix[IFNAMSIZ + 8];
	uint64_t sum = 0;
	int r = procthreads_list(host->proc_fd, false, &l, e);

	if (r < 0)
		return r;
	snprintf(prefix, sizeof(prefix), "napi/%s-", dev);
	for (size_t i = 0; i < l.nr; i++) {
		uint64_t v = 0;

		if (!is_napi_of(&l.v[i], prefix))
			continue;
		r = runtime ? procthread_runtime_ns(host->proc_fd, l.v[i].tid, &v, e)
			    : procthread_switches(host->proc_fd, l.v[i].tid, &v, e);
		if (r < 0 && r != -ESRCH)
			return r;
		sum += v;
	}
	*ret = sum;
	return 0;
}

int netdev_witness_threaded(const struct host *host, const struct netdev_target *t,
			    struct witness *ret, struct err *e)
{
	bool runtime = procthread_counts_runtime(host->proc_fd);
	struct witness w = { .min_effect = runtime ? NS_PER_MS : 10,
			     .is_ns = runtime,
			     .remedy = "a veth polls in its thread only when it has gro on and its "
				       "peer has tso and gso off" };
	_cleanup_(freep) char *now = NULL;
	int r = netdev_file_read(t->side, t->dev, "threaded", &now, e);

	if (r < 0)
		return r;
	if (strcmp(now, "0") == 0)
		return -ENOENT;
	r = demand_packets(t, &w, e);
	if (r >= 0)
		r = napi_effort(host, t->dev, runtime, &w.effect, e);
	if (r < 0)
		return r;
	snprintf(w.what, sizeof(w.what),
		 runtime ? "run time of napi/%s-*" : "context switches of napi/%s-*", t->dev);
	*ret = w;
	return 0;
}

/* 1: the file holds a number above 0. */
static int is_above_zero(const struct netdev_target *t, const char *file, struct err *e)
{
	_cleanup_(freep) char *text = NULL;
	int r = netdev_file_read(t->side, t->dev, file, &text, e);

	return r < 0 ? r : strcmp(text, "0") != 0;
}

/*
 * napi_complete_done() (net/core/dev.c) arms the timer only when gro_flush_timeout is above 0; it
 * does so for packets that GRO holds back, or while napi_defer_hard_irqs leaves interrupts off.
 */
int netdev_witness_deferral(const struct host *host, const struct netdev_target *t,
			    struct witness *ret, struct err *e)
{
	bool is_defer = strcmp(t->rest, "napi_defer_hard_irqs") == 0;
	int defer = is_above_zero(t, "napi_defer_hard_irqs", e);
	int timeout = defer < 0 ? defer : is_above_zero(t, "gro_flush_timeout", e);
	_cleanup_(freep) char *gro = NULL;

	(void)host;
	if (timeout < 0)
		return timeout;
	if (is_defer && defer && !timeout) {
		witness_futile(ret,
			       "without gro-flush-timeout the kernel defers no interrupt: set both",
			       "deferred interrupts of %s", t->dev);
		return 0;
	}
	if (!is_defer && timeout && !defer &&
	    netdev_feature_read(t, netdev_feature_find("gro"), &gro, e) >= 0 &&
	    strcmp(gro, "off") == 0) {
		witness_futile(ret,
			       "gro is off and napi-defer-hard-irqs is 0, so there is nothing to "
			       "wait for: set one of them",
			       "timed flushes of %s", t->dev);
		return 0;
	}
	return -ENOENT;
}

/* Run time or switches of the threads that poll the backlogs of @cpus; -ENOENT: no such threads. */
static int backlog_effort(const struct host *host, const struct cpuset *cpus, bool runtime,
			  uint64_t *ret, struct err *e)
{
	static const char prefix[] = "backlog_napi/";
	_cleanup_(procthreads_release) struct procthreads l = {};
	size_t found = 0;
	uint64_t sum = 0;
	int r = procthreads_list(host->proc_fd, false, &l, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < l.nr; i++) {
		const char *number = l.v[i].comm + strlen(prefix);
		uint64_t cpu = 0, v = 0;

		if (!l.v[i].kernel || strncmp(l.v[i].comm, prefix, strlen(prefix)) != 0 ||
		    text_u64(number, &cpu) < 0)
			continue;
		found++;
		if (cpu >= CPUSET_MAX || !cpuset_has(cpus, (unsigned int)cpu))
			continue;
		r = runtime ? procthread_runtime_ns(host->proc_fd, l.v[i].tid, &v, e)
			    : procthread_switches(host->proc_fd, l.v[i].tid, &v, e);
		if (r < 0 && r != -ESRCH)
			return r;
		sum += v;
	}
	*ret = sum;
	return found ? 0 : -ENOENT;
}

/*
 * Where backlogs are polled by threads (PREEMPT_RT, thread_backlog_napi), these are woken and no
 * interrupt is sent, which is what received_rps counts.  They run for other packets too, and on
 * what CPU these came nobody knows: no veto then.
 */
static int count_rps(const struct host *host, const struct cpuset *cpus, const char *list,
		     struct witness *w, struct err *e)
{
	bool runtime = procthread_counts_runtime(host->proc_fd);
	int r = backlog_effort(host, cpus, runtime, &w->effect, e);

	if (r != -ENOENT) {
		w->is_ns = runtime;
		w->min_effect = runtime ? NS_PER_MS : 10;
		w->min_demand = WITNESS_DEMAND_UNKNOWN;
		snprintf(w->what, sizeof(w->what), "%s of backlog_napi/ of CPUs %.40s",
			 runtime ? "run time" : "context switches", list);
		return r;
	}
	snprintf(w->what, sizeof(w->what), "received_rps of CPUs %.60s", list);
	return netcount_softnet(host->proc_fd, SOFTNET_RECEIVED_RPS, cpus, &w->effect, e);
}

static int witness_rps(const struct host *host, const struct netdev_target *t, const char *cpus,
		       struct witness *ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	struct witness w = { .min_effect = 10,
			     .remedy = "the interrupt's CPU kept all packets: let the mask name "
				       "other CPUs, or let there be more flows" };
	int r = cpuset_parse(cpus, &set, e);

	if (r >= 0)
		r = demand_packets(t, &w, e);
	if (r >= 0)
		r = count_rps(host, &set, cpus, &w, e);
	if (r < 0)
		return r;
	*ret = w;
	return 0;
}

/* RFS has a table of the whole machine beside the one of each queue; both are needed. */
static int witness_rfs(const struct host *host, const struct netdev_target *t, struct witness *ret,
		       struct err *e)
{
	struct err unseen = {};
	uint64_t entries = 0;

	(void)e;
	/* another network namespace than the first does not show it */
	if (kfile_read_u64(host->proc_fd, "sys/net/core/rps_sock_flow_entries", &entries, &unseen) <
		    0 ||
	    entries > 0)
		return -ENOENT;
	witness_futile(ret,
		       "net.core.rps_sock_flow_entries is 0, so no flow is followed: set it "
		       "too, by the knob sysctl",
		       "flows of %s that follow their program", t->dev);
	return 0;
}

int netdev_witness_queue(const struct host *host, const struct netdev_target *t,
			 const struct netdev_queue_file *f, struct witness *ret, struct err *e)
{
	_cleanup_(freep) char *now = NULL;
	int r = netdev_queue_read(t, f, &now, e);

	if (r < 0)
		return r;
	if (strcmp(now, "none") == 0 || strcmp(now, "0") == 0 || f->is_tx)
		return -ENOENT;
	return f->is_cpus ? witness_rps(host, t, now, ret, e) : witness_rfs(host, t, ret, e);
}
