// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
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
 *	dma-latency			what /dev/cpu_dma_latency is held at [us]
 *	cpuN/cpuidle/stateM		on, off
 *	cpufreq/policyN governor	performance ...
 *	cpufreq/policyN preference	performance, balance_performance ... (EPP)
 *	cpufreq/policyN range		"MIN/MAX" [kHz]
 *	boost				on, off
 *
 * Sources: Documentation/admin-guide/pm/{cpuidle,cpufreq,intel_pstate,amd-pstate}.rst and
 * Documentation/power/pm_qos_interface.rst.
 */

#define CPU_DIR "devices/system/cpu/"
#define PATH_SIZE 320
/* PM_QOS_CPU_LATENCY_DEFAULT_VALUE: nobody asks for anything */
#define LATENCY_FREE 2000000000

struct power_cfg {
	uint64_t dma_latency_ns;
	struct str_list idle_disable;
	char *governor;
	char *min_freq;
	char *max_freq;
	char *preference;
	int boost;
	char *cpus;
};

static const char *const on_off[] = { "off", "on", NULL };

static const struct opt power_options[] = {
	{ "dma-latency", OPT_NS, offsetof(struct power_cfg, dma_latency_ns), "0",
	  "bound for leaving idle states, held by /dev/cpu_dma_latency; 0: no idle at all", 0,
	  2000000000000 },
	{ "idle-disable", OPT_STRINGS, offsetof(struct power_cfg, idle_disable), "",
	  "names of idle states to switch off, patterns such as C6 or C[2-9]*" },
	{ "governor", OPT_STRING, offsetof(struct power_cfg, governor), "",
	  "cpufreq governor such as performance" },
	{ "min-freq", OPT_STRING, offsetof(struct power_cfg, min_freq), "",
	  "lower frequency bound: 1.2GHz, 800MHz, 800000kHz, min or max" },
	{ "max-freq", OPT_STRING, offsetof(struct power_cfg, max_freq), "",
	  "upper frequency bound, the same" },
	{ "preference", OPT_STRING, offsetof(struct power_cfg, preference), "",
	  "energy_performance_preference such as performance" },
	{ "boost", OPT_ENUM, offsetof(struct power_cfg, boost), "",
	  "turbo or core performance boost; empty: not touched", 0, 0, on_off },
	{ "cpus", OPT_CPUS, offsetof(struct power_cfg, cpus), "all",
	  "CPUs whose idle states and frequencies are set" },
	{},
};

/* The request of this process; it ends with the process, whatever ends that. */
static int latency_fd = -1;

static int read_latency(const struct host *host, char **ret, struct err *e)
{
	_cleanup_(close_fdp) int fd = openat(host->dev_fd, "cpu_dma_latency", O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_release) struct buf b = {};
	int32_t us = 0;

	if (fd < 0)
		return err_sys(e, "open /dev/cpu_dma_latency");
	if (read(fd, &us, sizeof(us)) != (ssize_t)sizeof(us))
		return err_sys(e, "read /dev/cpu_dma_latency");
	buf_printf(&b, "%d", us);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, "cpu_dma_latency");
}

/*
 * The old value was the lowest of what others ask for, or of this process.  Without our request it
 * comes back by itself, unless it was ours.
 */
static int write_latency(const struct host *host, const char *value, struct err *e)
{
	_cleanup_(freep) char *now = NULL;
	_cleanup_(close_fdp) int fd = -1;
	uint64_t v = 0;
	int32_t us;
	int r;

	if (text_u64(value, &v) < 0 || v > LATENCY_FREE)
		return err_set(e, -EINVAL, "\"%s\" is no latency in us", value);
	us = (int32_t)v;
	close_fdp(&latency_fd);
	latency_fd = -1;
	r = read_latency(host, &now, e);
	if (!now || strcmp(now, value) == 0 || us == LATENCY_FREE)
		return r;
	fd = openat(host->dev_fd, "cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open /dev/cpu_dma_latency");
	if (write(fd, &us, sizeof(us)) != (ssize_t)sizeof(us))
		return err_sys(e, "write %d us to /dev/cpu_dma_latency", us);
	latency_fd = take_fd(fd);
	return 0;
}

/* "cpu0/cpuidle/state2"? */
static bool is_idle(const char *target)
{
	return strncmp(target, "cpu", 3) == 0 && isdigit((unsigned char)target[3]) &&
	       strstr(target, "/cpuidle/state") && !strchr(target, ' ');
}

/* The path of @file of an idle state. */
static void idle_path(const char *target, const char *file, char ret[static PATH_SIZE])
{
	snprintf(ret, PATH_SIZE, CPU_DIR "%s/%s", target, file);
}

static int read_idle(const struct host *host, const char *target, char **ret, struct err *e)
{
	char path[PATH_SIZE];
	uint64_t v = 0;
	int r;

	idle_path(target, "disable", path);
	r = kfile_read_u64(host->sys_fd, path, &v, e);
	if (r < 0)
		return r;
	/* bits of who has disabled it; any of them is enough */
	*ret = strdup(v ? "off" : "on");
	return *ret ? 0 : err_nomem(e, target);
}

static int write_idle(const struct host *host, const char *target, const char *value, struct err *e)
{
	char path[PATH_SIZE];

	idle_path(target, "disable", path);
	return kfile_write(host->sys_fd, path, strcmp(value, "off") == 0 ? "1" : "0", e);
}

/* Where boost is switched on this machine. */
struct boost {
	const char *path; /* NULL: nowhere */
	bool inverted;
};

static struct boost find_boost(const struct host *host)
{
	static const struct boost places[] = {
		{ CPU_DIR "intel_pstate/no_turbo", true },
		{ CPU_DIR "cpufreq/boost", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (faccessat(host->sys_fd, places[i].path, F_OK, 0) == 0)
			return places[i];
	return (struct boost){};
}

static int no_boost(struct err *e)
{
	return err_set(e, -ENOTSUP,
		       "boost cannot be switched here: neither " CPU_DIR
		       "cpufreq/boost nor " CPU_DIR
		       "intel_pstate/no_turbo is in /sys (a guest, or a driver without it)");
}

static int read_boost(const struct host *host, char **ret, struct err *e)
{
	struct boost b = find_boost(host);
	uint64_t v = 0;
	int r = b.path ? kfile_read_u64(host->sys_fd, b.path, &v, e) : no_boost(e);

	if (r < 0)
		return r;
	*ret = strdup(on_off[(v != 0) != b.inverted]);
	return *ret ? 0 : err_nomem(e, "boost");
}

static int write_boost(const struct host *host, const char *value, struct err *e)
{
	struct boost b = find_boost(host);
	bool on = strcmp(value, "on") == 0;
	char why[sizeof(e->msg)];
	int r = b.path ? kfile_write(host->sys_fd, b.path, on != b.inverted ? "1" : "0", e)
		       : no_boost(e);

	if (r != -EPERM || geteuid() != 0)
		return r;
	snprintf(why, sizeof(why), "%s", e->msg);
	return err_set(e, r, "%.800s: the firmware has switched it off", why);
}

/* "cpufreq/policy0 governor" */
struct policy_target {
	char policy[24]; /* "policy0" */
	char what[16];
};

static bool parse_policy(const char *target, struct policy_target *ret)
{
	char extra;

	return sscanf(target, "cpufreq/%23[a-z0-9] %15[a-z]%c", ret->policy, ret->what, &extra) ==
		       2 &&
	       strncmp(ret->policy, "policy", 6) == 0;
}

static void policy_path(const char *policy, const char *file, char ret[static PATH_SIZE])
{
	snprintf(ret, PATH_SIZE, CPU_DIR "cpufreq/%s/%s", policy, file);
}

struct range_paths {
	char min[PATH_SIZE], max[PATH_SIZE];
};

static struct bounds_files range_files(const struct host *host, const char *policy,
				       struct range_paths *p)
{
	policy_path(policy, "scaling_min_freq", p->min);
	policy_path(policy, "scaling_max_freq", p->max);
	return (struct bounds_files){ host->sys_fd, p->min, p->max };
}

/* The file of what is one word. */
static const char *word_file(const char *what)
{
	if (strcmp(what, "governor") == 0)
		return "scaling_governor";
	return strcmp(what, "preference") == 0 ? "energy_performance_preference" : NULL;
}

static int not_ours(const char *target, struct err *e)
{
	return err_set(e, -EINVAL, "\"%s\" is no target of this knob", target);
}

static int read_policy(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct policy_target t = {};
	struct range_paths paths;
	char path[PATH_SIZE];

	if (!parse_policy(target, &t))
		return not_ours(target, e);
	if (strcmp(t.what, "range") == 0) {
		struct bounds_files f = range_files(host, t.policy, &paths);

		return bounds_read(&f, ret, e);
	}
	if (!word_file(t.what))
		return not_ours(target, e);
	policy_path(t.policy, word_file(t.what), path);
	return kfile_read_line(host->sys_fd, path, ret, e);
}

/* What a refused word could have been. */
static int explain_word(const struct host *host, const struct policy_target *t, int r,
			struct err *e)
{
	_cleanup_(freep) char *all = NULL;
	char path[PATH_SIZE], why[sizeof(e->msg)];
	bool governor = strcmp(t->what, "governor") == 0;
	struct err unread = {};

	snprintf(why, sizeof(why), "%s", e->msg);
	if (r == -EBUSY && !governor)
		return err_set(e, r,
			       "%.700s: under governor performance the driver takes no other "
			       "preference: set governor: powersave before it",
			       why);
	policy_path(t->policy,
		    governor ? "scaling_available_governors"
			     : "energy_performance_available_preferences",
		    path);
	if (r != -EINVAL || kfile_read_line(host->sys_fd, path, &all, &unread) < 0)
		return r;
	return err_set(e, r, "%.500s; %s has: %.300s", why, t->policy, all);
}

static int write_policy(const struct host *host, const char *target, const char *value,
			struct err *e)
{
	struct policy_target t = {};
	struct range_paths paths;
	char path[PATH_SIZE];

	if (!parse_policy(target, &t))
		return not_ours(target, e);
	if (strcmp(t.what, "range") == 0) {
		struct bounds_files f = range_files(host, t.policy, &paths);

		return bounds_write(&f, value, e);
	}
	if (!word_file(t.what))
		return not_ours(target, e);
	policy_path(t.policy, word_file(t.what), path);
	return explain_word(host, &t, kfile_write(host->sys_fd, path, value, e), e);
}

static int power_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	if (strcmp(target, "dma-latency") == 0)
		return read_latency(host, ret, e);
	if (strcmp(target, "boost") == 0)
		return read_boost(host, ret, e);
	return is_idle(target) ? read_idle(host, target, ret, e)
			       : read_policy(host, target, ret, e);
}

static int power_write(const struct host *host, const char *target, const char *value,
		       struct err *e)
{
	if (strcmp(target, "dma-latency") == 0)
		return write_latency(host, value, e);
	if (strcmp(target, "boost") == 0)
		return write_boost(host, value, e);
	return is_idle(target) ? write_idle(host, target, value, e)
			       : write_policy(host, target, value, e);
}

static int add_latency(const struct power_cfg *cfg, struct knob_settings *l, struct err *e)
{
	char value[32];

	if (cfg->dma_latency_ns % NS_PER_US)
		return err_set(e, -EINVAL,
			       "dma-latency of %" PRIu64 " ns: the kernel counts whole us",
			       cfg->dma_latency_ns);
	snprintf(value, sizeof(value), "%" PRIu64, cfg->dma_latency_ns / NS_PER_US);
	return knob_settings_add(l, "dma-latency", value, e);
}

/* Which idle states are wanted, and what was found on the way. */
struct idle_choice {
	const struct str_list *patterns;
	bool *used;	  /* per pattern: a state has such a name */
	struct buf names; /* of all states, for a message */
};

static bool is_wanted(struct idle_choice *c, const char *name)
{
	bool wanted = false;

	if (!strstr(buf_str(&c->names), name))
		buf_printf(&c->names, "%s%s", c->names.len ? ", " : "", name);
	for (size_t i = 0; i < c->patterns->nr; i++) {
		if (fnmatch(c->patterns->v[i], name, 0) != 0)
			continue;
		c->used[i] = true;
		wanted = true;
	}
	return wanted;
}

/* The states of one CPU are numbered without gaps. */
static int add_idle_of(const struct host *host, unsigned int cpu, struct idle_choice *c,
		       struct knob_settings *l, struct err *e)
{
	for (unsigned int i = 0;; i++) {
		_cleanup_(freep) char *name = NULL;
		char target[64], path[PATH_SIZE];
		struct err why = {};
		int r;

		snprintf(target, sizeof(target), "cpu%u/cpuidle/state%u", cpu, i);
		idle_path(target, "name", path);
		r = kfile_read_line(host->sys_fd, path, &name, &why);
		if (r == -ENOENT)
			return 0;
		if (!name) {
			*e = why;
			return r;
		}
		r = is_wanted(c, name) ? knob_settings_add(l, target, "off", e) : 0;
		if (r < 0)
			return r;
	}
}

static void choice_release(struct idle_choice *c)
{
	free(c->used);
	buf_release(&c->names);
}

static int add_idle(const struct host *host, const struct cpuset *cpus,
		    const struct str_list *patterns, struct knob_settings *l, struct err *e)
{
	_cleanup_(choice_release) struct idle_choice c = {
		.patterns = patterns, .used = calloc(patterns->nr + 1, sizeof(*c.used))
	};
	int r = 0;

	if (!c.used)
		return err_nomem(e, "idle states");
	for (size_t i = 0; i < cpus->nr && r >= 0; i++)
		r = add_idle_of(host, cpus->cpus[i], &c, l, e);
	if (r >= 0 && c.names.len == 0)
		return err_set(e, -ENOTSUP,
			       "no CPU has idle states in /sys/devices/system/cpu/cpu*/cpuidle: "
			       "cpuidle is off (idle=poll, cpuidle.off=1), or a guest without it");
	for (size_t i = 0; i < patterns->nr && r >= 0; i++)
		if (!c.used[i])
			return err_set(e, -EINVAL, "no idle state is called \"%s\"; there are: %s",
				       patterns->v[i], buf_str(&c.names));
	return r;
}

/* "1.2GHz", "min": [kHz] */
static int freq_of(const struct host *host, const char *policy, const char *text, int64_t *ret,
		   struct err *e)
{
	static const struct {
		const char *unit;
		double khz;
	} units[] = { { "kHz", 1 }, { "MHz", 1e3 }, { "GHz", 1e6 } };
	char path[PATH_SIZE], number[32];
	size_t digits = strspn(text, "0123456789.");
	uint64_t limit = 0;
	double v = 0;
	int r;

	if (strcmp(text, "min") == 0 || strcmp(text, "max") == 0) {
		policy_path(policy, text[1] == 'i' ? "cpuinfo_min_freq" : "cpuinfo_max_freq", path);
		r = kfile_read_u64(host->sys_fd, path, &limit, e);
		*ret = (int64_t)limit;
		return r;
	}
	snprintf(number, sizeof(number), "%.*s", (int)digits, text);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + digits, units[i].unit) != 0 || text_double(number, &v) < 0 ||
		    v * units[i].khz > 1e9)
			continue;
		*ret = (int64_t)(v * units[i].khz + 0.5);
		return 0;
	}
	return err_set(e, -EINVAL, "frequency \"%s\": expected such as 2.4GHz, 800MHz, min or max",
		       text);
}

static int add_range(const struct host *host, const char *policy, const struct power_cfg *cfg,
		     struct knob_settings *l, struct err *e)
{
	struct range_paths paths;
	struct bounds_files f = range_files(host, policy, &paths);
	_cleanup_(freep) char *now = NULL;
	int64_t min, max;
	char target[320], value[64], *slash;
	int r = bounds_read(&f, &now, e);

	if (r < 0)
		return r;
	min = strtoll(now, &slash, 10);
	max = strtoll(slash + 1, NULL, 10);
	if (*cfg->min_freq)
		r = freq_of(host, policy, cfg->min_freq, &min, e);
	if (r >= 0 && *cfg->max_freq)
		r = freq_of(host, policy, cfg->max_freq, &max, e);
	if (r < 0)
		return r;
	if (min > max)
		return err_set(e, -EINVAL,
			       "%s: min-freq %" PRId64 " kHz is above max-freq %" PRId64
			       " kHz: give both",
			       policy, min, max);
	snprintf(target, sizeof(target), "cpufreq/%s range", policy);
	snprintf(value, sizeof(value), "%" PRId64 "/%" PRId64, min, max);
	return knob_settings_add(l, target, value, e);
}

static int add_word(const struct host *host, const char *policy, const char *what,
		    const char *value, struct knob_settings *l, struct err *e)
{
	char path[PATH_SIZE], target[320];

	policy_path(policy, word_file(what), path);
	if (faccessat(host->sys_fd, path, F_OK, 0) < 0)
		return err_set(e, -ENOTSUP,
			       "%s has no %s: its driver has none (energy_performance_preference "
			       "needs intel_pstate or amd-pstate in active mode)",
			       policy, word_file(what));
	snprintf(target, sizeof(target), "cpufreq/%s %s", policy, what);
	return knob_settings_add(l, target, value, e);
}

/* The governor first: it decides which preferences are taken, and may set one itself. */
static int add_policy(const struct host *host, const char *policy, const struct power_cfg *cfg,
		      struct knob_settings *l, struct err *e)
{
	int r = 0;

	if (*cfg->governor)
		r = add_word(host, policy, "governor", cfg->governor, l, e);
	if (r >= 0 && *cfg->preference)
		r = add_word(host, policy, "preference", cfg->preference, l, e);
	if (r >= 0 && (*cfg->min_freq || *cfg->max_freq))
		r = add_range(host, policy, cfg, l, e);
	return r;
}

/* related_cpus and affected_cpus are separated by blanks. */
static int policy_cpus(const struct host *host, const char *policy, struct cpuset *ret,
		       struct err *e)
{
	_cleanup_(freep) char *line = NULL;
	char path[PATH_SIZE];
	int r;

	policy_path(policy, "affected_cpus", path);
	r = kfile_read_line(host->sys_fd, path, &line, e);
	if (r < 0)
		return r;
	for (size_t len = strlen(line); len && isspace((unsigned char)line[len - 1]);)
		line[--len] = '\0';
	for (char *p = line; *p; p++)
		if (*p == ' ')
			*p = ',';
	return cpuset_parse(line, ret, e);
}

/* 1: @policy is of @cpus alone, 0: of others alone. */
static int covers(const struct host *host, const char *policy, const struct cpuset *cpus,
		  struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset its = {};
	_cleanup_(buf_release) struct buf list = {};
	int r = policy_cpus(host, policy, &its, e);
	size_t in = 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < its.nr; i++)
		in += cpuset_has(cpus, its.cpus[i]);
	if (in == 0 || in == its.nr)
		return in > 0;
	cpuset_format(&its, &list);
	return err_set(e, -EINVAL, "CPUs %s share one clock (%s): name all of them or none in cpus",
		       buf_str(&list), policy);
}

static int compare_policies(const struct dirent **a, const struct dirent **b)
{
	unsigned long x = strtoul((*a)->d_name + 6, NULL, 10);
	unsigned long y = strtoul((*b)->d_name + 6, NULL, 10);

	return x < y ? -1 : x > y;
}

static int is_policy(const struct dirent *d)
{
	return strncmp(d->d_name, "policy", 6) == 0 && isdigit((unsigned char)d->d_name[6]);
}

struct policies {
	struct dirent **v;
	int nr;
};

static void policies_release(struct policies *p)
{
	for (int i = 0; i < p->nr; i++)
		free(p->v[i]);
	free(p->v);
}

static int add_policies(const struct host *host, const struct cpuset *cpus,
			const struct power_cfg *cfg, struct knob_settings *l, struct err *e)
{
	_cleanup_(policies_release) struct policies p = {};
	size_t before = l->nr;

	p.nr = scandirat(host->sys_fd, CPU_DIR "cpufreq", &p.v, is_policy, compare_policies);
	if (p.nr <= 0)
		return err_set(e, -ENOTSUP,
			       "no CPU has a frequency policy in /sys/devices/system/cpu/cpufreq: "
			       "no cpufreq driver is loaded (a guest, or frequency left to the "
			       "firmware)");
	for (int i = 0; i < p.nr; i++) {
		int r = covers(host, p.v[i]->d_name, cpus, e);

		if (r > 0)
			r = add_policy(host, p.v[i]->d_name, cfg, l, e);
		if (r < 0)
			return r;
	}
	return l->nr > before ? 0
			      : err_set(e, -EINVAL, "none of the CPUs %s has a frequency policy",
					cfg->cpus);
}

static int resolve_cfg(const struct host *host, const struct instance *inst,
		       const struct power_cfg *cfg, struct knob_settings *l, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset cpus = {};
	int r = cpuset_choose(host->sys_fd, cfg->cpus, &cpus, e);

	if (r >= 0 && instance_value(inst, "dma-latency"))
		r = add_latency(cfg, l, e);
	if (r >= 0 && cfg->idle_disable.nr)
		r = add_idle(host, &cpus, &cfg->idle_disable, l, e);
	/* before the range, whose upper end it may move */
	if (r >= 0 && instance_value(inst, "boost"))
		r = find_boost(host).path ? knob_settings_add(l, "boost", on_off[cfg->boost], e)
					  : no_boost(e);
	if (r >= 0 && (*cfg->governor || *cfg->preference || *cfg->min_freq || *cfg->max_freq))
		r = add_policies(host, &cpus, cfg, l, e);
	if (r >= 0 && l->nr == 0)
		return err_set(
			e, -EINVAL,
			"nothing to set: give dma-latency, idle-disable, governor, min-freq, "
			"max-freq, preference or boost");
	return r;
}

static int power_resolve(const struct host *host, const struct instance *inst,
			 struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct power_cfg cfg = {};
	int r = instance_parse(inst, power_options, &cfg, e);

	if (r < 0)
		return r;
	r = resolve_cfg(host, inst, &cfg, &l, e);
	opt_release(power_options, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

/* A disabled state must not be entered; that others are shows that the CPU was idle at all. */
static int witness_idle(const struct host *host, const char *target, struct witness *ret,
			struct err *e)
{
	struct witness w = { .min_effect = 1,
			     .min_demand = WITNESS_DEMAND_UNKNOWN,
			     .max_against = 1, /* the one under way when the window began */
			     .remedy = "the idle driver ignores it" };
	_cleanup_(freep) char *off = NULL, *name = NULL;
	const char *slash = strrchr(target, '/');
	char path[PATH_SIZE];
	int r = read_idle(host, target, &off, e);

	if (r < 0)
		return r;
	if (strcmp(off, "off") != 0)
		return -ENOENT;
	idle_path(target, "name", path);
	r = kfile_read_line(host->sys_fd, path, &name, e);
	for (unsigned int i = 0; r >= 0; i++) {
		char other[64];
		uint64_t n = 0;

		snprintf(other, sizeof(other), "%.*s/state%u", (int)(slash - target), target, i);
		idle_path(other, "usage", path);
		if (faccessat(host->sys_fd, path, F_OK, 0) < 0)
			break;
		r = kfile_read_u64(host->sys_fd, path, &n, e);
		*(strcmp(other, target) == 0 ? &w.against : &w.effect) += n;
	}
	if (r < 0)
		return r;
	snprintf(w.what, sizeof(w.what), "entries of cpu%lu into other idle states",
		 strtoul(target + 3, NULL, 10));
	snprintf(w.against_of, sizeof(w.against_of), "entries into %s", name);
	*ret = w;
	return 0;
}

/* Time at frequencies within the range, and against it the time outside. */
static int witness_range(const struct host *host, const char *policy, struct witness *ret,
			 struct err *e)
{
	struct witness w = { .min_effect = 1,
			     .max_against = 2, /* of 10 ms each */
			     .remedy = "firmware, heat or the hypervisor decides otherwise" };
	struct range_paths paths;
	struct bounds_files f = range_files(host, policy, &paths);
	_cleanup_(buf_release) struct buf times = {};
	_cleanup_(freep) char *range = NULL;
	char path[PATH_SIZE], *rest = NULL;
	unsigned long long min, max;
	int r = bounds_read(&f, &range, e);

	if (r < 0)
		return r;
	policy_path(policy, "stats/time_in_state", path);
	r = kfile_read(host->sys_fd, path, &times, e);
	if (r < 0)
		return r == -ENOENT ? -ENOENT : r; /* CONFIG_CPU_FREQ_STAT is off */
	min = strtoull(range, &rest, 10);
	max = strtoull(rest + 1, NULL, 10);
	for (char *line = strtok_r(times.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *second = NULL;
		unsigned long long freq = strtoull(line, &second, 10);

		*(freq >= min && freq <= max ? &w.effect : &w.against) +=
			strtoull(second, NULL, 10);
	}
	snprintf(w.what, sizeof(w.what), "10 ms steps of %s at %s kHz", policy, range);
	snprintf(w.against_of, sizeof(w.against_of), "steps outside");
	*ret = w;
	return 0;
}

static int power_witness(const struct host *host, const char *target, struct witness *ret,
			 struct err *e)
{
	struct policy_target t = {};

	if (is_idle(target))
		return witness_idle(host, target, ret, e);
	if (parse_policy(target, &t) && strcmp(t.what, "range") == 0)
		return witness_range(host, t.policy, ret, e);
	return -ENOENT;
}

/* The request ends with the process that holds it. */
static bool power_ephemeral(const struct host *host, const char *target)
{
	(void)host;
	return strcmp(target, "dma-latency") == 0;
}

const struct knob_ops knob_power = {
	.plugin = { .name = "power",
		    .help = "idle states, frequencies, boost, latency bound",
		    .options = power_options },
	.usable = knob_usable,
	.resolve = power_resolve,
	.read = power_read,
	.write = power_write,
	.witness = power_witness,
	.ephemeral = power_ephemeral,
};
