// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/procthread.h"
#include "variant/thread_setting.h"

struct thread_cfg {
	char *match;
	uint64_t pid;
	int policy;
	uint64_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
	char *nice;
	char *cpus;
	bool kthreads_only;
};

static const struct opt thread_options[] = {
	{ "match", OPT_STRING, offsetof(struct thread_cfg, match), "",
	  "names of the threads, a pattern such as napi/eth0-* or ksoftirqd/*" },
	{ "pid", OPT_UINT, offsetof(struct thread_cfg, pid), "0",
	  "all threads of this process, or those of them that match", 0, INT_MAX },
	{ "policy", OPT_ENUM, offsetof(struct thread_cfg, policy), "",
	  "scheduling policy; empty: not touched", 0, 0, thread_policies },
	{ "priority", OPT_UINT, offsetof(struct thread_cfg, priority), "0",
	  "1 to 99 with fifo and rr, 0 with the others", 0, 99 },
	{ "runtime", OPT_NS, offsetof(struct thread_cfg, runtime_ns), "0",
	  "with policy deadline: time it may run in each period" },
	{ "deadline", OPT_NS, offsetof(struct thread_cfg, deadline_ns), "0",
	  "with policy deadline: time from its wake-up by which it has run" },
	{ "period", OPT_NS, offsetof(struct thread_cfg, period_ns), "0",
	  "with policy deadline: time between wake-ups; 0: as the deadline" },
	{ "nice", OPT_STRING, offsetof(struct thread_cfg, nice), "",
	  "nice value, -20 to 19; empty: not touched" },
	{ "cpus", OPT_CPUS, offsetof(struct thread_cfg, cpus), "",
	  "CPUs they may run on; empty: not touched" },
	{ "kthreads-only", OPT_BOOL, offsetof(struct thread_cfg, kthreads_only), "on",
	  "leave threads of programs alone, unless pid names one" },
	{},
};

/* Names that begin like the pattern, or else the nearest, for the message. */
static int nothing_matches(const struct procthreads *l, const struct thread_cfg *cfg, struct err *e)
{
	_cleanup_(buf_release) struct buf similar = {};
	const char *words[257] = {}, *near;
	size_t len = strcspn(cfg->match, "*?["), shown = 0;
	size_t slash = strcspn(cfg->match, "/:");

	len = slash < len ? slash + 1 : len;
	for (size_t i = 0; i < l->nr && len; i++) {
		if (i < ARRAY_SIZE(words) - 1)
			words[i] = l->v[i].comm;
		if (strncmp(l->v[i].comm, cfg->match, len) != 0)
			continue;
		if (shown++ < 6)
			buf_printf(&similar, "%s%s", similar.len ? ", " : "", l->v[i].comm);
	}
	if (shown > 6)
		buf_printf(&similar, " and %zu more", shown - 6);
	near = shown ? NULL : text_nearest(cfg->match, words);
	if (near)
		buf_printf(&similar, "did you mean \"%s\"?", near);
	return err_set(e, -ENOENT, "no %s matches \"%s\"; %s%s",
		       cfg->kthreads_only && !cfg->pid ? "kernel thread" : "thread", cfg->match,
		       shown  ? "similar ones: "
		       : near ? ""
			      : "none has a similar name",
		       buf_str(&similar));
}

static int list_threads(const struct host *host, const struct thread_cfg *cfg,
			struct procthreads *ret, struct err *e)
{
	int r;

	if (!cfg->pid)
		return procthreads_list(host->proc_fd, !cfg->kthreads_only, ret, e);
	r = procthreads_of(host->proc_fd, (int)cfg->pid, ret, e);
	if (r >= 0 && ret->nr == 0)
		return err_set(e, -ENOENT, "pid %" PRIu64 ": there is no such process", cfg->pid);
	return r;
}

static int resolve_values(const struct host *host, const struct thread_cfg *cfg,
			  const struct thread_values *values, struct knob_settings *ret,
			  struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	_cleanup_(procthreads_release) struct procthreads threads = {};
	int r = list_threads(host, cfg, &threads, e);

	for (size_t i = 0; i < threads.nr && r >= 0; i++)
		if (!*cfg->match || fnmatch(cfg->match, threads.v[i].comm, 0) == 0)
			r = thread_add_settings(&threads.v[i], values, &l, e);
	if (r < 0)
		return r;
	if (l.nr == 0)
		return nothing_matches(&threads, cfg, e);
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

static int resolve_cfg(const struct host *host, const struct instance *inst,
		       const struct thread_cfg *cfg, struct knob_settings *ret, struct err *e)
{
	const struct thread_wish wish = { .has_policy = instance_value(inst, "policy"),
					  .policy = cfg->policy,
					  .priority = cfg->priority,
					  .runtime_ns = cfg->runtime_ns,
					  .deadline_ns = cfg->deadline_ns,
					  .period_ns = cfg->period_ns,
					  .nice = cfg->nice,
					  .cpus = cfg->cpus };
	_cleanup_(thread_values_release) struct thread_values values = {};
	int r;

	if (!*cfg->match && !cfg->pid)
		return err_set(e, -EINVAL, "neither match nor pid is given: which threads?");
	r = thread_values_of(host, &wish, &values, e);
	if (r >= 0 && !values.policy[0] && !values.nice[0] && !values.cpus)
		r = err_set(e, -EINVAL, "neither policy nor nice nor cpus is given");
	if (r < 0)
		return *cfg->match ? err_wrap(e, "match \"%s\"", cfg->match) : r;
	return resolve_values(host, cfg, &values, ret, e);
}

static int thread_resolve(const struct host *host, const struct instance *inst,
			  struct knob_settings *ret, struct err *e)
{
	struct thread_cfg cfg = {};
	int r = instance_parse(inst, thread_options, &cfg, e);

	if (r < 0)
		return r;
	r = resolve_cfg(host, inst, &cfg, ret, e);
	opt_release(thread_options, &cfg);
	return r;
}

/* Threads come at any time; the number given last tells whether one has. */
static bool thread_appears(const struct host *host, const struct instance *inst,
			   uint64_t *ret_stamp)
{
	(void)inst;
	*ret_stamp = procthread_last(host->proc_fd);
	return true;
}

const struct knob_ops knob_thread = {
	.plugin = { .name = "thread",
		    .help = "policy, priority, nice value and CPUs of threads, by name",
		    .options = thread_options },
	.usable = thread_usable,
	.resolve = thread_resolve,
	.read = thread_read,
	.write = thread_write,
	.witness = thread_witness,
	.same = thread_same,
	.appears = thread_appears,
	.same_target = thread_same_target,
	.describe = thread_describe,
};
