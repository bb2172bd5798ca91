// SPDX-License-Identifier: GPL-3.0-or-later
/* Who may run when: bounds on real time, what runs above, who works on the machine beside us. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/check.h"
#include "audit/threads.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/text.h"

#define NAMES_MAX 5

/* A period is longer than any number in it could be wrong by. */
static bool look_i64(struct look *l, enum root root, const char *path, int64_t *ret, struct err *e)
{
	_cleanup_(freep) char *line = look_line(l, root, path, e);

	if (!line)
		return false;
	if (text_i64(line, ret) >= 0)
		return true;
	err_set(e, -EBADMSG, "%s: \"%.40s\" is no number", path, line);
	return false;
}

static int look_rt_bandwidth(struct look *l, struct err *e)
{
	struct err ignored = {};
	int64_t runtime = 0;
	uint64_t period = 0;

	if (!look_i64(l, ROOT_PROC, "sys/kernel/sched_rt_runtime_us", &runtime, e))
		return e->code;
	if (!look_u64(l, ROOT_PROC, "sys/kernel/sched_rt_period_us", &period, &ignored) || !period)
		period = 1000000;
	look_fact(l, "rt_runtime_us", "%" PRId64, runtime);
	look_fact(l, "rt_period_us", "%" PRIu64, period);
	look_fact_file(l, "fair_server_runtime_ns", ROOT_SYS,
		       "kernel/debug/sched/fair_server/cpu0/runtime");
	if (runtime < 0 || (uint64_t)runtime >= period)
		return 0;
	if (runtime == 0)
		look_found(l, SEVERITY_VETO, AFFECTS_WAKEUP,
			   "real-time threads get no time (sched_rt_runtime_us is 0)");
	else
		look_found(l, (uint64_t)runtime < period / 2 ? SEVERITY_WARN : SEVERITY_NOTE,
			   AFFECTS_WAKEUP,
			   "real-time threads are stopped after %" PRId64 " of every %" PRIu64
			   " us",
			   runtime, period);
	look_why(l, "a CPU that is full of interrupt threads stops them and the probe together");
	look_mend(l, "sysctl -w kernel.sched_rt_runtime_us=-1");
	look_knob(l, "sysctl", "kernel.sched_rt_runtime_us", "-1", NULL);
	return 0;
}

const struct check check_rt_bandwidth = {
	.name = "rt-bandwidth",
	.help = "the share of time that real-time threads may take (RT throttling)",
	.reads = "kernel.sched_rt_runtime_us, kernel.sched_rt_period_us",
	.look = look_rt_bandwidth,
	.again = true,
};

/* Our path in the hierarchy with controller @name, "" being version 2: "/a/b" into @ret. */
static bool cgroup_path(const char *text, const char *name, struct buf *ret)
{
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		const char *list = strchr(p, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		size_t len = path ? (size_t)(path - list - 1) : 0, want = strlen(name);

		if (!path || strcspn(p, "\n") < (size_t)(path - p))
			continue;
		for (const char *q = list + 1; q <= list + 1 + len; q++) {
			size_t n = strcspn(q, ",:");

			if (n == want && strncmp(q, name, n) == 0) {
				buf_add(ret, path + 1, strcspn(path + 1, "\n"));
				return true;
			}
			q += n;
		}
	}
	return false;
}

/* @file of our group in @mount and of each one above it: the first that holds, into @ret. */
static bool in_hierarchy(struct look *l, const char *mount, struct buf *path, const char *file,
			 bool (*holds)(const char *text), char **ret)
{
	for (;;) {
		_cleanup_(buf_release) struct buf name = {};
		_cleanup_(freep) char *text = NULL;
		struct err ignored = {};
		char *slash;

		buf_printf(&name, "fs/cgroup%s%s/%s", mount, buf_str(path), file);
		text = look_line(l, ROOT_SYS, buf_str(&name), &ignored);
		if (text && holds(text)) {
			*ret = take_ptr(text);
			return true;
		}
		slash = path->len ? strrchr(path->data, '/') : NULL;
		if (!slash)
			return false;
		path->len = (size_t)(slash - path->data);
		*slash = '\0';
	}
}

static bool is_zero(const char *text)
{
	return strcmp(text, "0") == 0;
}

static int look_rt_group(struct look *l, struct err *e)
{
	_cleanup_(buf_release) struct buf groups = {}, path = {};
	_cleanup_(freep) char *runtime = NULL;
	_cleanup_(freep) char *off = look_boot(l, "rt_group_sched");
	bool built;

	if (!look_config(l, e) || !look_text(l, ROOT_PROC, "self/cgroup", &groups, e))
		return e->code;
	built = look_option(l, "RT_GROUP_SCHED");
	if (!built || (off && strcmp(off, "0") == 0))
		return 0;
	if (cgroup_path(buf_str(&groups), "cpu", &path)) {
		if (strcmp(buf_str(&path), "/") == 0 ||
		    !in_hierarchy(l, "/cpu", &path, "cpu.rt_runtime_us", is_zero, &runtime))
			return 0;
		look_found(l, SEVERITY_VETO, AFFECTS_WAKEUP,
			   "our control group gives real-time threads no time (cpu.rt_runtime_us)");
		look_why(l, "SCHED_FIFO is refused, and there is no wake-up probe without it");
		look_mend(l, "run from the root group: echo $$ > /sys/fs/cgroup/cpu/cgroup.procs");
		return 0;
	}
	if (!cgroup_path(buf_str(&groups), "", &path) || strcmp(buf_str(&path), "/") == 0)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_WAKEUP,
		   "the kernel has CONFIG_RT_GROUP_SCHED and we are not in the root group");
	look_why(l, "SCHED_FIFO may be refused, or bounded for the group");
	look_mend(l, "run from the root group: echo $$ > /sys/fs/cgroup/cgroup.procs");
	return 0;
}

const struct check check_rt_group = {
	.name = "rt-group",
	.help = "control groups that give real-time threads no time (CONFIG_RT_GROUP_SCHED)",
	.reads = "/proc/self/cgroup, /sys/fs/cgroup/cpu/.../cpu.rt_runtime_us",
	.look = look_rt_group,
};

static int look_watchdogs(struct look *l, struct err *e)
{
	const struct rt_threads *t = look_threads(l, e);
	struct err ignored = {};
	uint64_t nmi = 0, soft = 0;

	if (look_u64(l, ROOT_PROC, "sys/kernel/nmi_watchdog", &nmi, &ignored))
		look_fact(l, "nmi_watchdog", "%" PRIu64, nmi);
	if (look_u64(l, ROOT_PROC, "sys/kernel/soft_watchdog", &soft, &ignored))
		look_fact(l, "soft_watchdog", "%" PRIu64, soft);
	if (nmi) {
		look_found(l, SEVERITY_WARN, AFFECTS_WAKEUP, "the NMI watchdog is on");
		look_why(l, "it takes a performance counter and interrupts each CPU through every "
			    "lock");
		look_mend(l, "sysctl -w kernel.nmi_watchdog=0");
		look_knob(l, "sysctl", "kernel.nmi_watchdog", "0", NULL);
	}
	if (soft) {
		look_found(l, SEVERITY_NOTE, AFFECTS_WAKEUP, "the soft lock-up watchdog is on");
		look_why(l, "every four seconds it runs on each CPU above every priority");
		look_mend(l, "sysctl -w kernel.soft_watchdog=0");
		look_knob(l, "sysctl", "kernel.soft_watchdog", "0", NULL);
	}
	for (size_t i = 0; t && i < t->nr; i++) {
		if (strncmp(t->v[i].comm, "watchdog/", 9) != 0)
			continue;
		look_found(l, SEVERITY_WARN, AFFECTS_WAKEUP,
			   "watchdog threads run with priority %u on each CPU", t->v[i].priority);
		look_why(l, "the kernel's watchdogs run above the probe");
		look_mend(l, "sysctl -w kernel.watchdog=0");
		look_knob(l, "sysctl", "kernel.watchdog", "0", NULL);
		break;
	}
	return t ? 0 : e->code;
}

const struct check check_watchdogs = {
	.name = "watchdogs",
	.help = "lock-up watchdogs, which run above every priority",
	.reads = "kernel.nmi_watchdog, kernel.soft_watchdog, /proc/*/stat",
	.look = look_watchdogs,
};

/* In every kernel, asleep until a CPU is stopped or a machine check comes. */
static bool is_always_there(const char *comm)
{
	static const char *const names[] = { "migration/", "idle_inject/", "watchdog/",
					     "posixcputmr/" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(comm, names[i], strlen(names[i])) == 0)
			return true;
	return strcmp(comm, "watchdogd") == 0;
}

static bool runs_above(const struct rt_thread *t, uint64_t priority)
{
	if (is_always_there(t->comm))
		return false;
	if (t->policy == SCHED_DEADLINE)
		return true;
	return (t->policy == SCHED_FIFO || t->policy == SCHED_RR) && t->priority >= priority;
}

static int look_above(struct look *l, struct err *e)
{
	uint64_t priority = l->scope->goal->priority;
	const struct rt_threads *t;
	_cleanup_(buf_release) struct buf names = {};
	size_t nr = 0;

	if (!priority)
		return look_absent(l, e, "the plan has no wake-up probe");
	t = look_threads(l, e);
	if (!t)
		return e->code;
	for (size_t i = 0; i < t->nr; i++) {
		_cleanup_(buf_release) struct buf word = {};

		if (!runs_above(&t->v[i], priority))
			continue;
		text_printable(&word, t->v[i].comm, strlen(t->v[i].comm));
		if (t->v[i].policy == SCHED_DEADLINE)
			buf_puts(&word, " (deadline)");
		else
			buf_printf(&word, " (%u)", t->v[i].priority);
		look_list(&names, nr++, NAMES_MAX, buf_str(&word));
	}
	if (!nr)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_WAKEUP,
		   "%zu thread%s may run above the probe's priority %" PRIu64 ": %s", nr,
		   nr == 1 ? "" : "s", priority, buf_str(&names));
	look_why(l, "the latency of the probe includes all that they do");
	look_mend(l, "lower them (chrt -p -f 50 TID), or raise the probe's priority");
	return 0;
}

const struct check check_above = {
	.name = "above",
	.help = "threads at or above the priority of the wake-up probe",
	.reads = "/proc/*/stat",
	.look = look_above,
};

/* "max 100000": no limit. */
static bool is_limit(const char *text)
{
	return *text && strncmp(text, "max", 3) != 0 && strncmp(text, "-1", 2) != 0;
}

static void look_quota(struct look *l, const char *groups)
{
	_cleanup_(buf_release) struct buf path = {};
	_cleanup_(freep) char *limit = NULL;
	bool found = false;

	if (cgroup_path(groups, "cpu", &path))
		found = in_hierarchy(l, "/cpu", &path, "cpu.cfs_quota_us", is_limit, &limit);
	else if (cgroup_path(groups, "", &path))
		found = in_hierarchy(l, "", &path, "cpu.max", is_limit, &limit);
	look_fact(l, "cpu_quota", "%s", found ? limit : "none");
	if (!found)
		return;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL,
		   "our control group bounds the use of CPUs to %s us", limit);
	look_why(l, "when it is spent the load stops for the rest of the period");
	look_mend(l, "run from a group without a limit (systemd-run --scope irqlab ...)");
}

/* Cpus_allowed_list of /proc/self/status. */
static int look_allowed(struct look *l, struct err *e)
{
	static const char key[] = "Cpus_allowed_list:";
	_cleanup_(buf_release) struct buf status = {}, missing = {};
	_cleanup_(cpuset_release) struct cpuset online = {}, allowed = {}, lacking = {};
	const char *at;
	char list[256];

	if (!look_text(l, ROOT_PROC, "self/status", &status, e))
		return e->code;
	at = strstr(buf_str(&status), key);
	if (!at || look_root(l, ROOT_SYS) < 0 ||
	    cpuset_online(look_root(l, ROOT_SYS), &online, e) < 0)
		return err_set(e, -ENOENT, "the CPUs we may use cannot be read");
	at += strlen(key);
	at += strspn(at, " \t");
	snprintf(list, sizeof(list), "%.*s", (int)strcspn(at, "\n"), at);
	if (cpuset_parse(list, &allowed, e) < 0)
		return e->code;
	lacking.cpus = calloc(online.nr ? online.nr : 1, sizeof(*lacking.cpus));
	if (!lacking.cpus)
		return err_nomem(e, "CPUs");
	for (size_t i = 0; i < online.nr; i++)
		if (!cpuset_has(&allowed, online.cpus[i]))
			lacking.cpus[lacking.nr++] = online.cpus[i];
	if (!lacking.nr)
		return 0;
	cpuset_format(&lacking, &missing);
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "CPUs %s are online and we may not run on them",
		   buf_str(&missing));
	look_why(l, "the load and unpinned threads share what is left; a probe there fails");
	look_mend(l, "taskset -c %s irqlab ..., or a cpuset without this bound", buf_str(&missing));
	return 0;
}

static int look_cgroup(struct look *l, struct err *e)
{
	_cleanup_(buf_release) struct buf groups = {};

	if (!look_text(l, ROOT_PROC, "self/cgroup", &groups, e))
		return e->code;
	look_quota(l, buf_str(&groups));
	return look_allowed(l, e);
}

const struct check check_cgroup = {
	.name = "cgroup",
	.help = "limits of our own control group: CPU time, CPUs",
	.reads = "/proc/self/{cgroup,status}, /sys/fs/cgroup/.../{cpu.max,cpu.cfs_quota_us}",
	.look = look_cgroup,
};

static const struct {
	const char *comm, *what, *why;
	enum severity severity;
	unsigned int affects;
} daemons[] = {
	{ "irqbalance", "irqbalance", "it moves interrupts to other CPUs while a trial runs",
	  SEVERITY_WARN, AFFECTS_ALL },
	{ "tuned", "tuned", "it sets what a variant sets, whenever it thinks it should",
	  SEVERITY_WARN, AFFECTS_ALL },
	{ "stalld", "stalld", "it boosts starved threads, against the policies of a variant",
	  SEVERITY_WARN, AFFECTS_WAKEUP },
	{ "power-profiles-", "power-profiles-daemon", "it sets governors and preferences",
	  SEVERITY_WARN, AFFECTS_ALL },
	{ "thermald", "thermald", "it lowers frequencies when it gets warm", SEVERITY_WARN,
	  AFFECTS_ALL },
	{ "auto-cpufreq", "auto-cpufreq", "it sets governors by the load", SEVERITY_WARN,
	  AFFECTS_ALL },
	{ "numad", "numad", "it moves processes between NUMA nodes", SEVERITY_WARN, AFFECTS_ALL },
	{ "ksmtuned", "ksmtuned", "it starts the merging of pages by the free memory",
	  SEVERITY_NOTE, AFFECTS_ALL },
};

static int look_daemons(struct look *l, struct err *e)
{
	const struct rt_threads *t = look_threads(l, e);
	_cleanup_(buf_release) struct buf all = {};
	size_t nr = 0;

	if (!t)
		return e->code;
	for (size_t d = 0; d < ARRAY_SIZE(daemons); d++) {
		size_t i = 0;

		while (i < t->nr && (t->v[i].kernel || !t->v[i].leader ||
				     strcmp(t->v[i].comm, daemons[d].comm) != 0))
			i++;
		if (i == t->nr)
			continue;
		look_list(&all, nr++, ARRAY_SIZE(daemons), daemons[d].what);
		look_found(l, daemons[d].severity, daemons[d].affects, "%s is running",
			   daemons[d].what);
		look_why(l, daemons[d].why);
		look_mend(l, "systemctl stop %s", daemons[d].what);
		look_knob(l, "daemon", "name", daemons[d].what, "state", "paused", NULL);
	}
	look_fact(l, "daemons", "%s", nr ? buf_str(&all) : "none");
	return 0;
}

const struct check check_daemons = {
	.name = "daemons",
	.help = "programs that change settings by themselves: irqbalance, tuned, stalld ...",
	.reads = "/proc/*/stat",
	.look = look_daemons,
	.again = true,
};
