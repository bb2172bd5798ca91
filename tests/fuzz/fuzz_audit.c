// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The audit of a machine whose every file has the input as its contents; then the parsers that take
 * a text alone.  Whatever is in it, the audit ends, says something of every check, and masking what
 * is masked changes nothing.
 */
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/inflate.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/personal.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
	"proc/sys/kernel/osrelease",
	"proc/sys/kernel/version",
	"proc/sys/kernel/tainted",
	"proc/sys/kernel/hostname",
	"proc/sys/kernel/sched_rt_runtime_us",
	"proc/sys/kernel/sched_rt_period_us",
	"proc/sys/kernel/nmi_watchdog",
	"proc/sys/kernel/numa_balancing",
	"proc/sys/net/ipv4/tcp_congestion_control",
	"proc/sys/net/ipv4/tcp_no_metrics_save",
	"proc/sys/net/netfilter/nf_conntrack_count",
	"proc/config.gz",
	"proc/cmdline",
	"proc/cpuinfo",
	"proc/timer_list",
	"proc/stat",
	"proc/loadavg",
	"proc/meminfo",
	"proc/net/packet",
	"proc/self/cgroup",
	"proc/self/status",
	"proc/irq/24/effective_affinity_list",
	"proc/77/stat",
	"proc/77/task/77/stat",
	"proc/device-tree/model",
	"sys/kernel/realtime",
	"sys/kernel/debug/sched/preempt",
	"sys/kernel/tracing/current_tracer",
	"sys/kernel/tracing/events/enable",
	"sys/kernel/mm/transparent_hugepage/enabled",
	"sys/kernel/mm/ksm/run",
	"sys/devices/system/clocksource/clocksource0/current_clocksource",
	"sys/devices/system/clocksource/clocksource0/available_clocksource",
	"sys/devices/system/cpu/online",
	"sys/devices/system/cpu/isolated",
	"sys/devices/system/cpu/smt/active",
	"sys/devices/system/cpu/intel_pstate/no_turbo",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
	"sys/devices/system/cpu/cpu0/cpuidle/state0/name",
	"sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
	"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
	"sys/devices/system/node/online",
	"sys/class/dmi/id/sys_vendor",
	"sys/fs/cgroup/cpu.max",
};

static const struct knob_ops *const knobs[] = { &knob_sysctl, &knob_file, &knob_netdev, NULL };

static char dir[] = "/tmp/irqlab-fuzz-XXXXXX";
static int contents_fd = -1;
static struct host host = { .dev_fd = -1,
			    .dut = { .netns_fd = -1, .sys_fd = -1 },
			    .far = { .netns_fd = -1, .sys_fd = -1 } };

static int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

static void remove_tree(void)
{
	nftw(dir, drop, 16, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char full[512], target[64];

	contents_fd = memfd_create("input", MFD_CLOEXEC);
	if (contents_fd < 0 || !mkdtemp(dir))
		abort();
	atexit(remove_tree);
	snprintf(target, sizeof(target), "/proc/self/fd/%d", contents_fd);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		snprintf(full, sizeof(full), "%s/%s", dir, paths[i]);
		for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
			*p = '\0';
			mkdir(full, 0700);
			*p = '/';
		}
		if (symlink(target, full) < 0)
			abort();
	}
	snprintf(full, sizeof(full), "%s/proc", dir);
	host.proc_fd = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(full, sizeof(full), "%s/sys", dir);
	host.sys_fd = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return host.proc_fd < 0 || host.sys_fd < 0 ? -1 : 0;
}

static void whole_audit(const uint8_t *data, size_t size)
{
	_cleanup_(audit_goal_release) struct audit_goal any = {};
	_cleanup_(audit_release) struct audit a = {};
	const struct audit_scope scope = {
		.host = &host, .root_fd = -1, .goal = &any, .knobs = knobs
	};
	struct json_object *o;
	struct err e = {};

	if (ftruncate(contents_fd, 0) < 0 || pwrite(contents_fd, data, size, 0) != (ssize_t)size)
		abort();
	assert(audit_goal_any(&any, &e) == 0);
	assert(audit_run(&scope, &a, &e) == 0);
	for (size_t i = 0; i < a.nr_checks; i++)
		assert((a.checks[i].state != CHECK_UNKNOWN && a.checks[i].state != CHECK_ABSENT) ||
		       a.checks[i].reason);
	for (size_t i = 0; i < a.nr_findings; i++)
		assert(a.findings[i].what && a.findings[i].why && a.findings[i].affects);
	o = audit_json(&a);
	assert(json_object_to_json_string(o));
	json_object_put(o);
}

static void masks(const char *text)
{
	_cleanup_(buf_release) struct buf once = {}, twice = {}, cmdline = {};

	personal_mask(&once, text, "host-name");
	personal_mask(&twice, buf_str(&once), "host-name");
	assert(strcmp(buf_str(&once), buf_str(&twice)) == 0);
	personal_mask_cmdline(&cmdline, text, "host-name");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *text = strndup((const char *)data, size);
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	if (!text)
		abort();
	if (gunzip(data, size, 1U << 20, &out, &e) < 0)
		assert(out.len == 0 && e.len);
	masks(text);
	if (size < 65536)
		whole_audit(data, size);
	return 0;
}
