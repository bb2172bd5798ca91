// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/bounds.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"

/*
 * Targets and values:
 *	rt-bandwidth		"RUNTIME/PERIOD" [us], run time -1: without a bound
 *	fair-server cpuN	"RUNTIME/PERIOD" [ns], run time 0: off
 *	preempt			none, voluntary, full, lazy
 *	feature NAME		on, off
 *
 * Sources: Documentation/scheduler/sched-rt-group.rst; kernel/sched/debug.c of 6.12 (fair_server,
 * preempt, features); kernel/sched/rt.c: since 6.12 the sysctls bound real-time threads only where
 * the kernel has real-time groups, and the fair server does it elsewhere.
 */

#define DEBUG_DIR "kernel/debug/sched"
#define RT_RUNTIME "sys/kernel/sched_rt_runtime_us"
#define RT_PERIOD "sys/kernel/sched_rt_period_us"

struct scheduler_cfg {
	char *rt_runtime;
	uint64_t rt_period_ns;
	char *fair_runtime;
	uint64_t fair_period_ns;
	char *cpus;
	int preempt;
	struct str_list features;
};

static const char *const preempt_models[] = { "none", "voluntary", "full", "lazy", NULL };

static const struct opt scheduler_options[] = {
	{ "rt-runtime", OPT_STRING, offsetof(struct scheduler_cfg, rt_runtime), "",
	  "time of each period that real-time threads may take: 950ms, or off for all of it" },
	{ "rt-period", OPT_NS, offsetof(struct scheduler_cfg, rt_period_ns), "0",
	  "that period; 0: not touched", 0, 2147483647000 },
	{ "fair-runtime", OPT_STRING, offsetof(struct scheduler_cfg, fair_runtime), "",
	  "time kept for other threads beside real-time ones (6.12 on): 50ms, or off" },
	{ "fair-period", OPT_NS, offsetof(struct scheduler_cfg, fair_period_ns), "0",
	  "the fair server's period; 0: not touched" },
	{ "cpus", OPT_CPUS, offsetof(struct scheduler_cfg, cpus), "all",
	  "CPUs whose fair server is set" },
	{ "preempt", OPT_ENUM, offsetof(struct scheduler_cfg, preempt), "",
	  "preemption model of a PREEMPT_DYNAMIC kernel; empty: not touched", 0, 0,
	  preempt_models },
	{ "features", OPT_STRINGS, offsetof(struct scheduler_cfg, features), "",
	  "scheduler features such as NO_HRTICK, of /sys/kernel/debug/sched/features" },
	{},
};

/* What a failure at a file of debugfs means, after the kernel's own reason. */
static int explain_debugfs(const struct host *host, int r, const char *needs, struct err *e)
{
	char why[sizeof(e->msg)];

	snprintf(why, sizeof(why), "%s", e->msg);
	if (r == -ENOENT && faccessat(host->sys_fd, DEBUG_DIR, F_OK, 0) < 0)
		return err_set(e, -ENOTSUP,
			       "/sys/%s is not there: debugfs is not mounted (mount -t debugfs "
			       "none /sys/kernel/debug), or this kernel is older than 5.13",
			       DEBUG_DIR);
	if (r == -ENOENT)
		return err_set(e, -ENOTSUP, "%.500s: %s", why, needs);
	if (r == -EPERM)
		return err_set(e, r,
			       "%.500s: the kernel is locked down (boot with lockdown=none), or "
			       "debugfs is closed (debugfs=on)",
			       why);
	return r;
}

/* "fair-server cpu3" to 3; -1: another target. */
static int fair_cpu(const char *target)
{
	uint64_t cpu = 0;

	if (strncmp(target, "fair-server cpu", 15) != 0 || text_u64(target + 15, &cpu) < 0 ||
	    cpu >= CPUSET_MAX)
		return -1;
	return (int)cpu;
}

static const char *feature_name(const char *target)
{
	return strncmp(target, "feature ", 8) == 0 ? target + 8 : NULL;
}

struct fair_paths {
	char runtime[64], period[64];
};

static struct bounds_files fair_files(const struct host *host, int cpu, struct fair_paths *p)
{
	snprintf(p->runtime, sizeof(p->runtime), DEBUG_DIR "/fair_server/cpu%d/runtime", cpu);
	snprintf(p->period, sizeof(p->period), DEBUG_DIR "/fair_server/cpu%d/period", cpu);
	return (struct bounds_files){ host->sys_fd, p->runtime, p->period };
}

static struct bounds_files rt_files(const struct host *host)
{
	return (struct bounds_files){ host->proc_fd, RT_RUNTIME, RT_PERIOD };
}

/* "none voluntary (full) lazy" is full. */
static int read_preempt(const struct host *host, char **ret, struct err *e)
{
	_cleanup_(freep) char *line = NULL;
	int r = kfile_read_line(host->sys_fd, DEBUG_DIR "/preempt", &line, e);
	char *open, *close;

	if (r < 0)
		return explain_debugfs(host, r,
				       "this kernel's preemption model is fixed: boot one with "
				       "PREEMPT_DYNAMIC, or name the kernel with boot:",
				       e);
	open = strchr(line, '(');
	close = open ? strchr(open, ')') : NULL;
	if (!close)
		return err_set(e, -EBADMSG,
			       "/sys/" DEBUG_DIR "/preempt is not understood: \"%.80s\"", line);
	*ret = strndup(open + 1, (size_t)(close - open - 1));
	return *ret ? 0 : err_nomem(e, "preempt");
}

/* Is the word @name among those of @text? */
static bool has_word(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (*text) {
		size_t n = strcspn(text, " \t\n");

		if (n == len && memcmp(text, name, len) == 0)
			return true;
		text += n;
		text += strspn(text, " \t\n");
	}
	return false;
}

static int read_feature(const struct host *host, const char *name, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf all = {};
	char off[80];
	bool is_on;
	int r = kfile_read(host->sys_fd, DEBUG_DIR "/features", &all, e);

	if (r < 0)
		return explain_debugfs(host, r, "needs CONFIG_SCHED_DEBUG", e);
	snprintf(off, sizeof(off), "NO_%s", name);
	is_on = has_word(buf_str(&all), name);
	if (!is_on && !has_word(buf_str(&all), off))
		return err_set(e, -EINVAL, "there is no scheduler feature \"%s\"; there are: %s",
			       name, buf_str(&all));
	*ret = strdup(is_on ? "on" : "off");
	return *ret ? 0 : err_nomem(e, name);
}

static int scheduler_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct fair_paths paths;
	int cpu = fair_cpu(target);
	int r;

	if (strcmp(target, "rt-bandwidth") == 0) {
		struct bounds_files f = rt_files(host);

		return bounds_read(&f, ret, e);
	}
	if (cpu >= 0) {
		struct bounds_files f = fair_files(host, cpu, &paths);

		r = bounds_read(&f, ret, e);
		return r < 0 ? explain_debugfs(host, r,
					       "the fair server came with 6.12; on an older kernel "
					       "use rt-runtime and rt-period",
					       e)
			     : r;
	}
	if (strcmp(target, "preempt") == 0)
		return read_preempt(host, ret, e);
	if (feature_name(target))
		return read_feature(host, feature_name(target), ret, e);
	return err_set(e, -EINVAL, "\"%s\" is no target of this knob", target);
}

/* The kernel keeps the share of real-time and deadline threads below that of the machine. */
static int explain_busy(int r, struct err *e)
{
	char why[sizeof(e->msg)];

	if (r != -EBUSY && r != -EINVAL)
		return r;
	snprintf(why, sizeof(why), "%s", e->msg);
	return err_set(e, r,
		       "%.600s: run time must not be above the period, nor below what deadline "
		       "threads and real-time groups have been promised; and the fair server of a "
		       "CPU that a cpuset isolates cannot be set: set it before knob cpuset",
		       why);
}

static int write_feature(const struct host *host, const char *name, const char *value,
			 struct err *e)
{
	char word[80];

	snprintf(word, sizeof(word), "%s%s", strcmp(value, "on") == 0 ? "" : "NO_", name);
	return kfile_write(host->sys_fd, DEBUG_DIR "/features", word, e);
}

/*
 * With real-time groups the kernel also refuses to fall below their share in between, so that there
 * may be no valid order but the way over "no bound".
 */
static int write_rt(const struct host *host, const char *value, struct err *e)
{
	struct bounds_files f = rt_files(host);
	const char *slash = strchr(value, '/');
	struct err direct = {};
	char open[48];
	int r = bounds_write(&f, value, &direct);

	if (r == -EINVAL && slash) {
		snprintf(open, sizeof(open), "-1%s", slash);
		r = bounds_write(&f, open, e);
		return r < 0 ? r : bounds_write(&f, value, e);
	}
	if (r < 0)
		*e = direct;
	return r;
}

static int scheduler_write(const struct host *host, const char *target, const char *value,
			   struct err *e)
{
	struct fair_paths paths;
	int cpu = fair_cpu(target);

	if (strcmp(target, "rt-bandwidth") == 0)
		return explain_busy(write_rt(host, value, e), e);
	if (cpu >= 0) {
		struct bounds_files f = fair_files(host, cpu, &paths);

		return explain_busy(bounds_write(&f, value, e), e);
	}
	if (strcmp(target, "preempt") == 0)
		return kfile_write(host->sys_fd, DEBUG_DIR "/preempt", value, e);
	if (feature_name(target))
		return write_feature(host, feature_name(target), value, e);
	return err_set(e, -EINVAL, "\"%s\" is no target of this knob", target);
}

/* Does this kernel still bound real-time threads by the sysctls? */
static int check_rt_bounds(const struct host *host, struct err *e)
{
	_cleanup_(freep) char *release = NULL;
	unsigned long major, minor = 0;
	char *end;
	int r = kfile_read_line(host->proc_fd, "sys/kernel/osrelease", &release, e);

	if (!release)
		return r;
	major = strtoul(release, &end, 10);
	if (*end == '.')
		minor = strtoul(end + 1, NULL, 10);
	if (major < 6 || (major == 6 && minor < 12) ||
	    faccessat(host->sys_fd, "fs/cgroup/cpu/cpu.rt_runtime_us", F_OK, 0) == 0 ||
	    faccessat(host->sys_fd, "fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us", F_OK, 0) == 0)
		return 0;
	return err_set(
		e, -ENOTSUP,
		"this kernel (%.60s) bounds real-time threads by its fair server, and "
		"kernel.sched_rt_runtime_us deadline threads alone: use fair-runtime (off: no "
		"bound), or knob sysctl if deadline threads are meant",
		release);
}

/* "950ms" in units of @unit_ns, or "off" as @off. */
static int runtime_of(const char *text, uint64_t unit_ns, int64_t off, int64_t *ret, struct err *e)
{
	uint64_t ns = 0;

	if (strcmp(text, "off") == 0) {
		*ret = off;
		return 0;
	}
	if (text_ns(text, &ns) < 0 || ns / unit_ns > INT32_MAX * (uint64_t)1000)
		return err_set(e, -EINVAL, "run time \"%s\": expected a time such as 950ms, or off",
			       text);
	*ret = (int64_t)(ns / unit_ns);
	return 0;
}

/* @target's value with @runtime ("" keeps it) and @period (0 keeps it) in place of its own. */
static int add_bounds(const struct host *host, const char *target, const char *runtime,
		      int64_t period, struct knob_settings *l, struct err *e)
{
	bool rt = strcmp(target, "rt-bandwidth") == 0;
	_cleanup_(freep) char *now = NULL;
	int64_t low, high;
	char value[64];
	char *slash;
	int r = scheduler_read(host, target, &now, e);

	if (!now)
		return r;
	low = strtoll(now, &slash, 10);
	high = period ? period : strtoll(slash + 1, NULL, 10);
	if (*runtime)
		r = runtime_of(runtime, rt ? NS_PER_US : 1, rt ? -1 : 0, &low, e);
	if (r < 0)
		return r;
	if (low > high)
		return err_set(e, -EINVAL,
			       "%s: run time %lld is above the period of %lld %s: give both",
			       target, (long long)low, (long long)high, rt ? "us" : "ns");
	snprintf(value, sizeof(value), "%lld/%lld", (long long)low, (long long)high);
	return knob_settings_add(l, target, value, e);
}

static int add_rt(const struct host *host, const struct scheduler_cfg *cfg, struct knob_settings *l,
		  struct err *e)
{
	int r = check_rt_bounds(host, e);

	return r < 0 ? r
		     : add_bounds(host, "rt-bandwidth", cfg->rt_runtime,
				  (int64_t)(cfg->rt_period_ns / NS_PER_US), l, e);
}

static int add_fair(const struct host *host, const struct scheduler_cfg *cfg,
		    struct knob_settings *l, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset cpus = {};
	int r = cpuset_choose(host->sys_fd, cfg->cpus, &cpus, e);

	for (size_t i = 0; i < cpus.nr && r >= 0; i++) {
		char target[64];

		snprintf(target, sizeof(target), "fair-server cpu%u", cpus.cpus[i]);
		r = add_bounds(host, target, cfg->fair_runtime, (int64_t)cfg->fair_period_ns, l, e);
	}
	return r;
}

static int add_feature(const struct host *host, const char *word, struct knob_settings *l,
		       struct err *e)
{
	bool off = strncmp(word, "NO_", 3) == 0;
	_cleanup_(freep) char *now = NULL;
	char target[80];
	int r;

	if ((size_t)snprintf(target, sizeof(target), "feature %s", off ? word + 3 : word) >=
	    sizeof(target))
		return err_set(e, -EINVAL, "\"%.40s...\" is no scheduler feature", word);
	r = scheduler_read(host, target, &now, e);
	return r < 0 ? r : knob_settings_add(l, target, off ? "off" : "on", e);
}

static int add_preempt(const struct host *host, const char *model, struct knob_settings *l,
		       struct err *e)
{
	_cleanup_(freep) char *now = NULL, *all = NULL;
	int r = scheduler_read(host, "preempt", &now, e);

	if (r >= 0)
		r = kfile_read_line(host->sys_fd, DEBUG_DIR "/preempt", &all, e);
	if (!now || !all)
		return r;
	if (strcmp(now, model) != 0 && !has_word(all, model))
		return err_set(e, -ENOTSUP, "preempt \"%s\": this kernel has %s", model, all);
	return knob_settings_add(l, "preempt", model, e);
}

static int resolve_cfg(const struct host *host, const struct instance *inst,
		       const struct scheduler_cfg *cfg, struct knob_settings *l, struct err *e)
{
	int r = 0;

	if (*cfg->rt_runtime || cfg->rt_period_ns)
		r = add_rt(host, cfg, l, e);
	if (r >= 0 && (*cfg->fair_runtime || cfg->fair_period_ns))
		r = add_fair(host, cfg, l, e);
	if (r >= 0 && instance_value(inst, "preempt"))
		r = add_preempt(host, preempt_models[cfg->preempt], l, e);
	for (size_t i = 0; i < cfg->features.nr && r >= 0; i++)
		r = add_feature(host, cfg->features.v[i], l, e);
	if (r >= 0 && l->nr == 0)
		return err_set(
			e, -EINVAL,
			"nothing to set: give rt-runtime, fair-runtime, preempt or features");
	return r;
}

static int scheduler_resolve(const struct host *host, const struct instance *inst,
			     struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct scheduler_cfg cfg = {};
	int r = instance_parse(inst, scheduler_options, &cfg, e);

	if (r < 0)
		return r;
	r = resolve_cfg(host, inst, &cfg, &l, e);
	opt_release(scheduler_options, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

const struct knob_ops knob_scheduler = {
	.plugin = { .name = "scheduler",
		    .help = "real-time bounds, fair server, preemption model",
		    .options = scheduler_options },
	.usable = knob_usable,
	.resolve = scheduler_resolve,
	.read = scheduler_read,
	.write = scheduler_write,
};
