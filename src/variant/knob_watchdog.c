// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
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
#include "variant/knob.h"
#include "variant/knob_tables.h"

/*
 * Targets and values:
 *	detectors	"soft=1 hard=0": which lockup detectors run
 *	cpus		CPU list of kernel.watchdog_cpumask
 *	thresh		kernel.watchdog_thresh [s]
 *	hung-task	kernel.hung_task_timeout_secs [s], 0: off
 *
 * The detectors are one target because their three sysctls are one state: kernel.watchdog is the
 * switch of both, and reads as on when either runs.  A read of soft_watchdog or nmi_watchdog gives
 * what runs, and before 6.16 it also makes that the value that counts: read while kernel.watchdog
 * is 0, a detector stays off when the switch comes back (kernel/watchdog.c, proc_watchdog_common).
 * So a reader of single sysctls cannot set them back; written all three from what ran, in the order
 * below, they can.
 */

#define DIR "sys/kernel/"

struct watchdog_cfg {
	int soft, hard;
	char *cpus;
	uint64_t thresh_ns, hung_task_ns;
};

static const char *const on_off[] = { "off", "on", NULL };

static const struct opt watchdog_options[] = {
	{ "soft", OPT_ENUM, offsetof(struct watchdog_cfg, soft), "",
	  "detector of CPUs that do not schedule; empty: not touched", 0, 0, on_off },
	{ "hard", OPT_ENUM, offsetof(struct watchdog_cfg, hard), "",
	  "detector of CPUs that take no interrupts (NMI watchdog); empty: not touched", 0, 0,
	  on_off },
	{ "cpus", OPT_CPUS, offsetof(struct watchdog_cfg, cpus), "",
	  "CPUs that are watched; empty: not touched" },
	{ "thresh", OPT_NS, offsetof(struct watchdog_cfg, thresh_ns), "0",
	  "after how long a lockup is told, whole seconds; 0: not touched", 0, 60000000000 },
	{ "hung-task", OPT_NS, offsetof(struct watchdog_cfg, hung_task_ns), "0",
	  "after how long a blocked task is told, whole seconds; 0: never" },
	{},
};

static int absent(const char *file, struct err *e)
{
	return err_set(e, -ENOTSUP,
		       "kernel.%s does not exist: this kernel has no such detector "
		       "(CONFIG_SOFTLOCKUP_DETECTOR, CONFIG_HARDLOCKUP_DETECTOR, "
		       "CONFIG_DETECT_HUNG_TASK)",
		       file);
}

static bool exists(const struct host *host, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), DIR "%s", file);
	return faccessat(host->proc_fd, path, F_OK, 0) == 0;
}

static int read_file(const struct host *host, const char *file, char **ret, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), DIR "%s", file);
	return exists(host, file) ? kfile_read_line(host->proc_fd, path, ret, e) : absent(file, e);
}

static int write_file(const struct host *host, const char *file, const char *value, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), DIR "%s", file);
	return exists(host, file) ? kfile_write(host->proc_fd, path, value, e) : absent(file, e);
}

static int read_switch(const struct host *host, const char *file, bool *ret, struct err *e)
{
	_cleanup_(freep) char *line = NULL;
	/* a detector that is not built in does not run */
	int r = exists(host, file) ? read_file(host, file, &line, e) : 0;

	if (r >= 0)
		*ret = line && strcmp(line, "0") != 0;
	return r;
}

static int read_detectors(const struct host *host, char **ret, struct err *e)
{
	bool soft = false, hard = false;
	_cleanup_(buf_release) struct buf b = {};
	int r = read_switch(host, "soft_watchdog", &soft, e);

	if (r >= 0)
		r = read_switch(host, "nmi_watchdog", &hard, e);
	if (r < 0)
		return r;
	buf_printf(&b, "soft=%d hard=%d", soft, hard);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, "detectors");
}

static bool parse_detectors(const char *text, bool *soft, bool *hard)
{
	for (unsigned int i = 0; i < 4; i++) {
		char form[32];

		*soft = i & 1;
		*hard = i & 2;
		snprintf(form, sizeof(form), "soft=%d hard=%d", *soft, *hard);
		if (strcmp(text, form) == 0)
			return true;
	}
	return false;
}

/* nmi_watchdog cannot be written where there is nothing behind it; 0 it is all the same. */
static int write_switch(const struct host *host, const char *file, bool on, struct err *e)
{
	struct err why = {}, ignored = {};
	bool now = false;
	int r;

	if (!on && !exists(host, file))
		return 0;
	r = write_file(host, file, on ? "1" : "0", &why);
	if (r == -EACCES && read_switch(host, file, &now, &ignored) >= 0 && now == on)
		return 0;
	if (r < 0)
		*e = why;
	return r;
}

static int write_detectors(const struct host *host, const char *value, struct err *e)
{
	bool soft, hard;
	int r = 0;

	if (!parse_detectors(value, &soft, &hard))
		return err_set(e, -EINVAL, "\"%.60s\" is not such as \"soft=1 hard=0\"", value);
	/* the switch last: with it off, the others are noted only */
	r = write_switch(host, "soft_watchdog", soft, e);
	if (r >= 0)
		r = write_switch(host, "nmi_watchdog", hard, e);
	if (r >= 0)
		r = write_file(host, "watchdog", soft || hard ? "1" : "0", e);
	return r;
}

/* The sysctl of a target that is one; NULL: the detectors. */
static const char *file_of(const char *target)
{
	static const char *const names[][2] = { { "cpus", "watchdog_cpumask" },
						{ "thresh", "watchdog_thresh" },
						{ "hung-task", "hung_task_timeout_secs" } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(target, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

static int watchdog_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	const char *file = file_of(target);

	return file ? read_file(host, file, ret, e) : read_detectors(host, ret, e);
}

static int watchdog_write(const struct host *host, const char *target, const char *value,
			  struct err *e)
{
	const char *file = file_of(target);

	return file ? write_file(host, file, value, e) : write_detectors(host, value, e);
}

static bool watchdog_same(const char *a, const char *b)
{
	_cleanup_(cpuset_release) struct cpuset x = {}, y = {};
	struct err ignored = {};

	if (strcmp(a, b) == 0)
		return true;
	return cpuset_parse(a, &x, &ignored) >= 0 && cpuset_parse(b, &y, &ignored) >= 0 &&
	       x.nr == y.nr && x.nr && memcmp(x.cpus, y.cpus, x.nr * sizeof(*x.cpus)) == 0;
}

static int add_detectors(const struct host *host, const struct instance *inst,
			 const struct watchdog_cfg *cfg, struct knob_settings *l, struct err *e)
{
	bool soft = false, hard = false;
	char value[32];
	int r = exists(host, "watchdog") ? read_switch(host, "soft_watchdog", &soft, e)
					 : absent("watchdog", e);

	if (r >= 0)
		r = read_switch(host, "nmi_watchdog", &hard, e);
	if (r < 0)
		return r;
	if (instance_value(inst, "soft"))
		soft = cfg->soft;
	if (instance_value(inst, "hard"))
		hard = cfg->hard;
	snprintf(value, sizeof(value), "soft=%d hard=%d", soft, hard);
	return knob_settings_add(l, "detectors", value, e);
}

static int add_seconds(const struct host *host, const char *target, uint64_t ns,
		       struct knob_settings *l, struct err *e)
{
	char value[32];

	if (!exists(host, file_of(target)))
		return absent(file_of(target), e);
	if (ns % NS_PER_S)
		return err_set(e, -EINVAL, "%s: the kernel counts whole seconds", target);
	snprintf(value, sizeof(value), "%" PRIu64, ns / NS_PER_S);
	return knob_settings_add(l, target, value, e);
}

static int add_cpus(const struct host *host, const char *cpus, struct knob_settings *l,
		    struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	_cleanup_(buf_release) struct buf b = {};
	int r = exists(host, "watchdog_cpumask") ? cpuset_choose(host->sys_fd, cpus, &set, e)
						 : absent("watchdog_cpumask", e);

	if (r < 0)
		return r;
	cpuset_format(&set, &b);
	return knob_settings_add(l, "cpus", buf_str(&b), e);
}

static int resolve_cfg(const struct host *host, const struct instance *inst,
		       const struct watchdog_cfg *cfg, struct knob_settings *l, struct err *e)
{
	int r = 0;

	if (instance_value(inst, "soft") || instance_value(inst, "hard"))
		r = add_detectors(host, inst, cfg, l, e);
	if (r >= 0 && cfg->cpus && *cfg->cpus)
		r = add_cpus(host, cfg->cpus, l, e);
	if (r >= 0 && cfg->thresh_ns)
		r = add_seconds(host, "thresh", cfg->thresh_ns, l, e);
	if (r >= 0 && instance_value(inst, "hung-task"))
		r = add_seconds(host, "hung-task", cfg->hung_task_ns, l, e);
	if (r >= 0 && l->nr == 0)
		return err_set(e, -EINVAL,
			       "nothing to set: give soft, hard, cpus, thresh or hung-task");
	return r;
}

static int watchdog_resolve(const struct host *host, const struct instance *inst,
			    struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct watchdog_cfg cfg = {};
	int r = instance_parse(inst, watchdog_options, &cfg, e);

	if (r < 0)
		return r;
	r = resolve_cfg(host, inst, &cfg, &l, e);
	opt_release(watchdog_options, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

const struct knob_ops knob_watchdog = {
	.plugin = { .name = "watchdog",
		    .help = "lockup detectors and the hung task detector",
		    .options = watchdog_options },
	.usable = knob_usable,
	.resolve = watchdog_resolve,
	.read = watchdog_read,
	.write = watchdog_write,
	.same = watchdog_same,
};
