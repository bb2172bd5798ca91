// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/procthread.h"

/*
 * Targets: "PID:STARTTIME:COMM policy" and "... cpus".  The start time tells a thread from a later
 * one with its number; the name is for people, since kworkers change theirs.
 *
 * Values of policy: "fifo:50", "other:0", and as read "other:0:-5" with the nice value, which
 * comes back with the undo.  Values of cpus: a CPU list.
 */

static const char *const policies[] = { "other", "fifo", "rr", "batch", "idle", NULL };

/* uapi/linux/sched.h; the order of policies[] */
static const int policy_numbers[] = { SCHED_OTHER, SCHED_FIFO, SCHED_RR, SCHED_BATCH, SCHED_IDLE };

struct thread_cfg {
	char *match;
	int policy;
	uint64_t priority;
	char *cpus;
	bool kthreads_only;
};

static const struct opt thread_options[] = {
	{ "match", OPT_STRING, offsetof(struct thread_cfg, match), NULL,
	  "names of the threads, a pattern such as napi/eth0-*" },
	{ "policy", OPT_ENUM, offsetof(struct thread_cfg, policy), "",
	  "scheduling policy; empty: not touched", 0, 0, policies },
	{ "priority", OPT_UINT, offsetof(struct thread_cfg, priority), "0",
	  "1 to 99 with fifo and rr, 0 with the others", 0, 99 },
	{ "cpus", OPT_CPUS, offsetof(struct thread_cfg, cpus), "",
	  "CPUs they may run on; empty: not touched" },
	{ "kthreads-only", OPT_BOOL, offsetof(struct thread_cfg, kthreads_only), "on",
	  "leave threads of programs alone" },
	{},
};

struct target {
	int tid;
	uint64_t start;
	bool cpus; /* else policy */
	char name[64];
};

struct sched {
	size_t policy; /* index */
	int priority;
	bool has_nice;
	int nice;
};

static bool is_rt(size_t policy)
{
	return policy_numbers[policy] == SCHED_FIFO || policy_numbers[policy] == SCHED_RR;
}

static int parse_target(const char *text, struct target *ret, struct err *e)
{
	struct target t = {};
	const char *what = strrchr(text, ' ');
	char *end = NULL, *name = NULL;

	t.tid = (int)strtol(text, &end, 10);
	if (end && *end == ':')
		t.start = strtoull(end + 1, &name, 10);
	if (t.tid <= 0 || !name || *name++ != ':' || !what || what < name ||
	    (strcmp(what, " cpus") != 0 && strcmp(what, " policy") != 0))
		return err_set(e, -EINVAL, "thread target \"%s\" is not PID:STARTTIME:NAME policy",
			       text);
	t.cpus = strcmp(what, " cpus") == 0;
	snprintf(t.name, sizeof(t.name), "%.*s", (int)(what - name), name);
	*ret = t;
	return 0;
}

/* Parse @text and make sure that the thread is still the one it means. */
static int find(const struct host *host, const char *text, struct target *ret, struct err *e)
{
	struct procthread now = {};
	struct target t = {};
	int r = parse_target(text, &t, e);

	if (r >= 0)
		r = procthread_read(host->proc_fd, t.tid, &now, e);
	if (r < 0)
		return r;
	if (now.start != t.start)
		return err_set(e, -ESRCH, "thread %d (%s) has ended; %d is another one (%s) now",
			       t.tid, t.name, t.tid, now.comm);
	*ret = t;
	return 0;
}

static bool parse_sched(const char *text, struct sched *ret)
{
	_cleanup_(freep) char *copy = strdup(text);
	struct sched s = {};
	char *priority = copy ? strchr(copy, ':') : NULL, *nice;
	int64_t n = 0;
	uint64_t p = 0;

	if (!priority)
		return false;
	*priority++ = '\0';
	nice = strchr(priority, ':');
	if (nice)
		*nice++ = '\0';
	while (policies[s.policy] && strcmp(policies[s.policy], copy) != 0)
		s.policy++;
	if (!policies[s.policy] || text_u64(priority, &p) < 0 || p > 99)
		return false;
	if (nice && (text_i64(nice, &n) < 0 || n < -20 || n > 19))
		return false;
	s.priority = (int)p;
	s.has_nice = nice;
	s.nice = (int)n;
	*ret = s;
	return true;
}

static int gone_or(struct err *e, const struct target *t, const char *what)
{
	if (errno == ESRCH)
		return err_set(e, -ESRCH, "thread %d (%s) has ended", t->tid, t->name);
	return err_sys(e, "%s of thread %d (%s)", what, t->tid, t->name);
}

static int read_policy(const struct target *t, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};
	struct sched_param param = {};
	size_t i = 0;
	int policy = sched_getscheduler(t->tid), nice;

	if (policy < 0 || sched_getparam(t->tid, &param) < 0)
		return gone_or(e, t, "policy");
	policy &= ~SCHED_RESET_ON_FORK;
	while (i < ARRAY_SIZE(policy_numbers) && policy_numbers[i] != policy)
		i++;
	if (i == ARRAY_SIZE(policy_numbers))
		return err_set(e, -ENOTSUP,
			       "thread %d (%s) has scheduling policy %d (deadline or newer), which "
			       "could not be set back",
			       t->tid, t->name, policy);
	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)t->tid);
	if (nice == -1 && errno)
		return gone_or(e, t, "nice value");
	buf_printf(&b, "%s:%d:%d", policies[i], param.sched_priority, nice);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, t->name);
}

static void free_cpusetp(cpu_set_t **p)
{
	CPU_FREE(*p);
}

static int read_cpus(const struct target *t, char **ret, struct err *e)
{
	_cleanup_(free_cpusetp) cpu_set_t *mask = CPU_ALLOC(CPUSET_MAX);
	_cleanup_(cpuset_release) struct cpuset set = {};
	_cleanup_(buf_release) struct buf b = {};
	size_t size = CPU_ALLOC_SIZE(CPUSET_MAX);

	set.cpus = calloc(CPUSET_MAX, sizeof(*set.cpus));
	if (!mask || !set.cpus)
		return err_nomem(e, t->name);
	CPU_ZERO_S(size, mask);
	if (sched_getaffinity(t->tid, size, mask) < 0)
		return gone_or(e, t, "CPUs");
	for (unsigned int i = 0; i < CPUSET_MAX; i++)
		if (CPU_ISSET_S(i, size, mask))
			set.cpus[set.nr++] = i;
	cpuset_format(&set, &b);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, t->name);
}

static int thread_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct target t = {};
	int r = find(host, target, &t, e);

	if (r < 0)
		return r;
	return t.cpus ? read_cpus(&t, ret, e) : read_policy(&t, ret, e);
}

static int write_policy(const struct target *t, const char *value, struct err *e)
{
	struct sched_param param = {};
	struct sched s = {};
	int before = sched_getscheduler(t->tid), flag;

	if (before < 0)
		return gone_or(e, t, "policy");
	if (!parse_sched(value, &s))
		return err_set(e, -EINVAL, "\"%s\" is not a policy such as fifo:50 or other:0",
			       value);
	flag = before & SCHED_RESET_ON_FORK;
	param.sched_priority = s.priority;
	if (sched_setscheduler(t->tid, policy_numbers[s.policy] | flag, &param) < 0) {
		if (errno == EPERM)
			return err_set(
				e, -EPERM,
				"policy %s of thread %d (%s): not permitted: needs "
				"CAP_SYS_NICE, and with real-time group scheduling a control "
				"group that has real-time run time",
				value, t->tid, t->name);
		return gone_or(e, t, "policy");
	}
	errno = 0;
	if (s.has_nice && getpriority(PRIO_PROCESS, (id_t)t->tid) != s.nice &&
	    setpriority(PRIO_PROCESS, (id_t)t->tid, s.nice) < 0)
		return gone_or(e, t, "nice value");
	return 0;
}

static int write_cpus(const struct target *t, const char *value, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	int r = cpuset_parse(value, &set, e);

	if (r < 0)
		return r;
	r = cpuset_pin(t->tid, &set, e);
	if (r == -EINVAL)
		return err_set(e, r,
			       "thread %d (%s) cannot be moved to CPUs %s: the kernel has bound it "
			       "to its CPU, or none of them is online",
			       t->tid, t->name, value);
	return r;
}

static int thread_write(const struct host *host, const char *target, const char *value,
			struct err *e)
{
	struct target t = {};
	int r = find(host, target, &t, e);

	if (r < 0)
		return r;
	return t.cpus ? write_cpus(&t, value, e) : write_policy(&t, value, e);
}

static bool same_cpus(const char *a, const char *b)
{
	_cleanup_(cpuset_release) struct cpuset x = {}, y = {};
	struct err ignored = {};

	return cpuset_parse(a, &x, &ignored) >= 0 && cpuset_parse(b, &y, &ignored) >= 0 &&
	       x.nr == y.nr && (x.nr == 0 || memcmp(x.cpus, y.cpus, x.nr * sizeof(*x.cpus)) == 0);
}

static bool thread_same(const char *a, const char *b)
{
	struct sched x = {}, y = {};

	if (!parse_sched(a, &x) || !parse_sched(b, &y))
		return same_cpus(a, b);
	return x.policy == y.policy && x.priority == y.priority &&
	       (!x.has_nice || !y.has_nice || x.nice == y.nice);
}

static int check_options(const struct instance *inst, const struct thread_cfg *cfg, struct err *e)
{
	bool policy = instance_value(inst, "policy");

	if (!policy && !cfg->cpus)
		return err_set(e, -EINVAL, "match \"%s\": neither policy nor cpus is given",
			       cfg->match);
	if (policy && is_rt((size_t)cfg->policy) && cfg->priority == 0)
		return err_set(e, -EINVAL, "match \"%s\": policy %s needs a priority of 1 to 99",
			       cfg->match, policies[cfg->policy]);
	if (cfg->priority && (!policy || !is_rt((size_t)cfg->policy)))
		return err_set(e, -EINVAL,
			       "match \"%s\": priority %" PRIu64 " goes with policy fifo or rr",
			       cfg->match, cfg->priority);
	return 0;
}

/* Names that begin like the pattern, or else the nearest, for the message. */
static int nothing_matches(const struct procthreads *l, const struct thread_cfg *cfg, struct err *e)
{
	_cleanup_(buf_release) struct buf similar = {};
	size_t len = strcspn(cfg->match, "*?["), shown = 0;
	size_t slash = strcspn(cfg->match, "/:");

	len = slash < len ? slash + 1 : len;
	for (size_t i = 0; i < l->nr && len; i++) {
		if (strncmp(l->v[i].comm, cfg->match, len) != 0)
			continue;
		if (shown++ < 6)
			buf_printf(&similar, "%s%s", similar.len ? ", " : "", l->v[i].comm);
	}
	if (shown > 6)
		buf_printf(&similar, " and %zu more", shown - 6);
	return err_set(e, -ENOENT, "no %s matches \"%s\"; %s%s",
		       cfg->kthreads_only ? "kernel thread" : "thread", cfg->match,
		       shown ? "similar ones: " : "none has a similar name", buf_str(&similar));
}

static int add_thread(const struct procthread *t, const char *policy, const char *cpus,
		      struct knob_settings *l, struct err *e)
{
	char target[128];
	int r = 0;

	if (policy) {
		snprintf(target, sizeof(target), "%d:%" PRIu64 ":%s policy", t->tid, t->start,
			 t->comm);
		r = knob_settings_add(l, target, policy, e);
	}
	if (cpus && r >= 0) {
		snprintf(target, sizeof(target), "%d:%" PRIu64 ":%s cpus", t->tid, t->start,
			 t->comm);
		r = knob_settings_add(l, target, cpus, e);
	}
	return r;
}

/* "all" becomes the CPUs online; a list is checked against them. NULL: not touched. */
static int cpus_text(const struct host *host, const char *cpus, char **ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {}, wanted = {};
	_cleanup_(buf_release) struct buf b = {};
	int r;

	if (!cpus)
		return 0;
	r = cpuset_online(host->sys_fd, &online, e);
	if (r >= 0)
		r = strcmp(cpus, "all") == 0 ? 0 : cpuset_parse(cpus, &wanted, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < wanted.nr; i++) {
		if (cpuset_has(&online, wanted.cpus[i]))
			continue;
		cpuset_format(&online, &b);
		return err_set(e, -EINVAL, "cpus \"%s\": this machine has CPUs %s online", cpus,
			       buf_str(&b));
	}
	cpuset_format(wanted.nr ? &wanted : &online, &b);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, "cpus");
}

static int resolve_cfg(const struct host *host, const struct thread_cfg *cfg, const char *policy,
		       struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	_cleanup_(procthreads_release) struct procthreads threads = {};
	_cleanup_(freep) char *cpus = NULL;
	int r = cpus_text(host, cfg->cpus, &cpus, e);

	if (r >= 0)
		r = procthreads_list(host->proc_fd, !cfg->kthreads_only, &threads, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < threads.nr; i++) {
		if (fnmatch(cfg->match, threads.v[i].comm, 0) != 0)
			continue;
		r = add_thread(&threads.v[i], policy, cpus, &l, e);
		if (r < 0)
			return r;
	}
	if (l.nr == 0)
		return nothing_matches(&threads, cfg, e);
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

static int thread_resolve(const struct host *host, const struct instance *inst,
			  struct knob_settings *ret, struct err *e)
{
	struct thread_cfg cfg = {};
	char policy[32];
	int r = instance_parse(inst, thread_options, &cfg, e);

	if (r < 0)
		return r;
	snprintf(policy, sizeof(policy), "%s:%" PRIu64, policies[cfg.policy], cfg.priority);
	r = check_options(inst, &cfg, e);
	if (r >= 0)
		r = resolve_cfg(host, &cfg, instance_value(inst, "policy") ? policy : NULL, ret, e);
	opt_release(thread_options, &cfg);
	return r;
}

/* A thread that never ran cannot show an effect, but nobody knows whether it was asked to run. */
static int thread_witness(const struct host *host, const char *target, struct witness *ret,
			  struct err *e)
{
	struct witness w = { .min_effect = 1, .min_demand = WITNESS_DEMAND_UNKNOWN };
	struct target t = {};
	int r = find(host, target, &t, e);

	if (r >= 0)
		r = procthread_switches(host->proc_fd, t.tid, &w.effect, e);
	if (r < 0)
		return r;
	snprintf(w.what, sizeof(w.what), "context switches of %s", t.name);
	*ret = w;
	return 0;
}

static bool thread_same_target(const char *a, const char *b)
{
	struct target x = {}, y = {};
	struct err ignored = {};

	/* the name is no part of it: kworkers and programs change theirs */
	return parse_target(a, &x, &ignored) >= 0 && parse_target(b, &y, &ignored) >= 0 &&
	       x.tid == y.tid && x.start == y.start && x.cpus == y.cpus;
}

static void thread_describe(const char *target, struct buf *out)
{
	struct target t = {};
	struct err ignored = {};

	if (parse_target(target, &t, &ignored) < 0)
		buf_puts(out, target);
	else
		buf_printf(out, "%s of thread %s (tid %d)", t.cpus ? "CPUs" : "policy", t.name,
			   t.tid);
}

/* Threads come at any time; the number given last tells whether one has. */
static bool thread_appears(const struct host *host, const struct instance *inst,
			   uint64_t *ret_stamp)
{
	(void)inst;
	*ret_stamp = procthread_last(host->proc_fd);
	return true;
}

static int thread_usable(const struct host *host, struct err *why)
{
	return knob_needs_cap(host, CAP_SYS_NICE, "CAP_SYS_NICE", why);
}

const struct knob_ops knob_thread = {
	.plugin = { .name = "thread",
		    .help = "policy, priority and CPUs of threads, by name",
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
