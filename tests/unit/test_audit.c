// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The audit over trees: a machine that is in order, from which each case changes one thing; trees
 * of other machines (tests/fixtures/audit); trees where nothing can be read.
 */
#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <json-c/json.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/check.h"
#include "audit/nic.h"
#include "audit/percpu.h"
#include "audit/threads.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/json_field.h"
#include "fixture.h"
#include "registry.h"
#include "trial/bench.h"

struct file {
	const char *path;     /* "proc/...", "sys/...", "root/..." */
	const char *contents; /* NULL: the file goes */
};

/* A server that is in order: 6.12 RT, four CPUs, two of them isolated and measured. */
static const struct file in_order[] = {
	{ "proc/sys/kernel/ostype", "Linux\n" },
	{ "proc/sys/kernel/osrelease", "6.12.117+deb12-rt-amd64\n" },
	{ "proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian 6.12.117-1~deb12u1 (2026-11-20)\n" },
	{ "proc/sys/kernel/arch", "x86_64\n" },
	{ "proc/sys/kernel/tainted", "0\n" },
	{ "proc/sys/kernel/hostname", "lab-seven\n" },
	{ "proc/sys/kernel/timer_migration", "0\n" },
	{ "proc/sys/kernel/bpf_stats_enabled", "0\n" },
	{ "proc/sys/kernel/sched_rt_runtime_us", "-1\n" },
	{ "proc/sys/kernel/sched_rt_period_us", "1000000\n" },
	{ "proc/sys/kernel/nmi_watchdog", "0\n" },
	{ "proc/sys/kernel/soft_watchdog", "0\n" },
	{ "proc/sys/kernel/numa_balancing", "0\n" },
	{ "proc/sys/net/ipv4/tcp_congestion_control", "cubic\n" },
	{ "proc/sys/net/ipv4/tcp_no_metrics_save", "1\n" },
	{ "proc/sys/net/core/netdev_budget", "300\n" },
	{ "proc/cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=0f1e2d3c-1111-2222-3333-444455556666 ro "
			  "isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3 tsc=reliable\n" },
	{ "proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) E-2388G CPU @ 3.20GHz\n"
			  "flags\t\t: fpu vme constant_tsc nonstop_tsc\n" },
	{ "proc/timer_list", "Timer List Version: v0.10\n clock 0:\n  .resolution: 1 nsecs\n" },
	{ "proc/stat", "cpu  1000 0 500 900000 10 5 6 0 0 0\ncpu0 1 0 1 1 1 1 1 0 0 0\n"
		       "cpu1 1 0 1 1 1 1 1 0 0 0\n" },
	{ "proc/loadavg", "0.02 0.01 0.00 1/200 4711\n" },
	{ "proc/meminfo", "MemTotal:       16000000 kB\nMemFree:        9000000 kB\n"
			  "MemAvailable:   12000000 kB\nSwapTotal:       1000000 kB\n"
			  "SwapFree:        1000000 kB\n" },
	{ "proc/net/packet", "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n" },
	{ "proc/self/cgroup", "0::/system.slice/lab.scope\n" },
	{ "proc/self/status", "Name:\tirqlab\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n" },
	{ "proc/irq/default_smp_affinity", "3\n" },
	{ "proc/irq/24/effective_affinity_list", "0\n" },
	{ "proc/irq/25/effective_affinity_list", "1\n" },
	{ "proc/1/stat",
	  "1 (systemd) S 0 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 5 1 1 1 1 1 1 1 "
	  "1 0 1 1 1 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n" },
	{ "proc/1/task/1/stat", "1 (systemd) S 0 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 5 1 1 1 "
				"1 1 1 1 1 0 1 1 1 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n" },
	{ "proc/20/stat", "20 (migration/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 -100 0 1 0 5 0 0 "
			  "0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 99 1 0 0 0 0 0 0 0 0 0 0 0\n" },
	{ "proc/21/stat", "21 (irq/24-eth0-rx-) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -51 0 1 0 9 0 "
			  "0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 50 1 0 0 0 0 0 0 0 0 0 0 0\n" },
	{ "sys/kernel/realtime", "1\n" },
	{ "sys/kernel/tracing/current_tracer", "nop\n" },
	{ "sys/kernel/tracing/events/enable", "0\n" },
	{ "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n" },
	{ "sys/kernel/mm/ksm/run", "0\n" },
	{ "sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n" },
	{ "sys/devices/system/clocksource/clocksource0/available_clocksource",
	  "tsc hpet acpi_pm \n" },
	{ "sys/devices/system/cpu/online", "0-3\n" },
	{ "sys/devices/system/cpu/isolated", "2-3\n" },
	{ "sys/devices/system/cpu/nohz_full", "2-3\n" },
	{ "sys/devices/system/cpu/smt/active", "0\n" },
	{ "sys/devices/system/cpu/smt/control", "off\n" },
	{ "sys/devices/system/cpu/intel_pstate/no_turbo", "1\n" },
	{ "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n" },
	{ "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n" },
	{ "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n" },
	{ "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n" },
	{ "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "0\n" },
	{ "sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n" },
	{ "sys/devices/system/node/online", "0\n" },
	{ "sys/class/dmi/id/sys_vendor", "Supermicro\n" },
	{ "sys/class/dmi/id/product_serial", "S4711\n" },
	{ "sys/fs/cgroup/system.slice/lab.scope/cpu.max", "max 100000\n" },
	{ "root/boot/config-6.12.117+deb12-rt-amd64",
	  "CONFIG_HZ=250\nCONFIG_NO_HZ_FULL=y\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_PREEMPT_RT=y\n"
	  "CONFIG_IRQ_TIME_ACCOUNTING=y\n# CONFIG_KASAN is not set\n"
	  "CONFIG_CC_VERSION_TEXT=\"gcc-12 (Debian 12.2.0-14) 12.2.0\"\n" },
	{}
};

/* One machine, or what is made of it. */
struct tree {
	char dir[64];
	struct host host;
	int root_fd;
	struct audit_goal goal;
	struct nic dut, far;
	bool has_dut, has_far, identify;
	struct audit a;
};

static void put(const struct tree *t, const char *path, const char *contents)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", t->dir, path);
	if (!contents) {
		assert_int_equal(unlink(full), 0);
		return;
	}
	for (char *p = full + strlen(t->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
		*p = '/';
	}
	FILE *f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(contents, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int open_in(const struct tree *t, const char *name)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", t->dir, name);
	return open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void tree_open(struct tree *t)
{
	struct err e = {};

	t->host = (struct host){ .proc_fd = open_in(t, "proc"),
				 .sys_fd = open_in(t, "sys"),
				 .dev_fd = -1,
				 .dut = { .netns_fd = -1, .sys_fd = -1 },
				 .far = { .netns_fd = -1, .sys_fd = -1 } };
	t->root_fd = open_in(t, "root");
	if (!t->goal.measures)
		assert_int_equal(audit_goal_any(&t->goal, &e), 0);
}

static void tree_make(struct tree *t, const struct file *files)
{
	*t = (struct tree){ .dir = "/tmp/irqlab-audit-XXXXXX", .root_fd = -1 };
	assert_non_null(mkdtemp(t->dir));
	for (; files->path; files++)
		put(t, files->path, files->contents);
}

static void tree_close(struct tree *t)
{
	host_release(&t->host);
	close_fdp(&t->root_fd);
	audit_goal_release(&t->goal);
	audit_release(&t->a);
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

static void tree_remove(struct tree *t)
{
	tree_close(t);
	nftw(t->dir, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static void tree_audit(struct tree *t)
{
	struct audit_scope scope = { .host = &t->host,
				     .root_fd = t->root_fd,
				     .goal = &t->goal,
				     .knobs = all_knobs,
				     .dut = t->has_dut ? &t->dut : NULL,
				     .far = t->has_far ? &t->far : NULL,
				     .identify = t->identify };
	struct err e = {};

	audit_release(&t->a);
	if (audit_run(&scope, &t->a, &e) < 0)
		fail_msg("%s", e.msg);
}

static const struct finding *found(const struct audit *a, const char *check)
{
	for (size_t i = 0; i < a->nr_findings; i++)
		if (strcmp(a->findings[i].check, check) == 0)
			return &a->findings[i];
	return NULL;
}

static const struct check_result *state_of(const struct audit *a, const char *check)
{
	for (size_t i = 0; i < a->nr_checks; i++)
		if (strcmp(a->checks[i].name, check) == 0)
			return &a->checks[i];
	fail_msg("no check %s", check);
	return NULL;
}

static void a_machine_in_order_has_no_finding(void **state)
{
	struct tree t;

	tree_make(&t, in_order);
	tree_open(&t);
	free(t.goal.cpus);
	t.goal.cpus = strdup("2-3");
	tree_audit(&t);
	for (size_t i = 0; i < t.a.nr_findings; i++)
		fail_msg("%s: %s", t.a.findings[i].check, t.a.findings[i].what);
	for (size_t i = 0; i < t.a.nr_checks; i++)
		if (t.a.checks[i].state == CHECK_UNKNOWN)
			fail_msg("%s: %s", t.a.checks[i].name, t.a.checks[i].reason);
	assert_string_equal(audit_fact(&t.a, "governor"), "performance");
	assert_string_equal(audit_fact(&t.a, "preemption"), "rt");
	assert_string_equal(audit_fact(&t.a, "isolated"), "2-3");
	assert_string_equal(audit_fact(&t.a, "config.HZ"), "250");
	assert_string_equal(audit_fact(&t.a, "config.CC_VERSION_TEXT"),
			    "gcc-12 (Debian 12.2.0-14) 12.2.0");
	assert_string_equal(audit_fact(&t.a, "irq_time"), "exact");
	assert_string_equal(audit_fact(&t.a, "virtual"), "no");
	tree_remove(&t);
}

/* One thing changed in the tree of the machine in order. */
struct change {
	const char *check;
	struct file files[4];
	enum severity severity;
	const char *what; /* part of it */
	const char *knob; /* its plugin: the first of these names there is; NULL: none */
};

#define CPU "sys/devices/system/cpu/"
#define CLOCKS "sys/devices/system/clocksource/clocksource0/"
#define THREAD(comm, flags, priority, policy)                                                  \
	"77 (" comm ") S 2 0 0 0 -1 " flags " 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 " \
	"0 0 0 0 0 17 0 " priority " " policy " 0 0 0 0 0 0 0 0 0 0 0\n"

static const struct change changes[] = {
	{ "kernel", { { "proc/sys/kernel/tainted", "512\n" } }, SEVERITY_WARN, "a warning since" },
	{ "kernel", { { "proc/sys/kernel/tainted", "128\n" } }, SEVERITY_WARN, "an oops since" },
	{ "cmdline",
	  { { "proc/cmdline", "quiet mitigations=off\n" } },
	  SEVERITY_NOTE,
	  "mitigations=off" },
	{ "cmdline", { { "proc/cmdline", "idle=poll\n" } }, SEVERITY_NOTE, "idle=poll" },
	{ "preemption",
	  { { "sys/kernel/realtime", NULL },
	    { "proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian\n" },
	    { "sys/kernel/debug/sched/preempt", "none (voluntary) full lazy\n" } },
	  SEVERITY_WARN,
	  "\"voluntary\"" },
	{ "preemption",
	  { { "sys/kernel/realtime", NULL },
	    { "proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian\n" },
	    { "sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n" } },
	  SEVERITY_NOTE,
	  "\"full\", not PREEMPT_RT" },
	{ "preemption",
	  { { "sys/kernel/realtime", "0\n" },
	    { "proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian\n" },
	    { "proc/cmdline", "preempt=none\n" } },
	  SEVERITY_WARN,
	  "\"none\"" },
	{ "debugging",
	  { { "root/boot/config-6.12.117+deb12-rt-amd64",
	      "CONFIG_PROVE_LOCKING=y\nCONFIG_KASAN=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n" } },
	  SEVERITY_WARN,
	  "PROVE_LOCKING, KASAN" },
	{ "tracing",
	  { { "sys/kernel/tracing/current_tracer", "function_graph\n" } },
	  SEVERITY_WARN,
	  "function_graph",
	  "file" },
	{ "tracing",
	  { { "sys/kernel/tracing/events/enable", "X\n" } },
	  SEVERITY_WARN,
	  "events are enabled" },
	{ "tracing",
	  { { "sys/kernel/tracing/events/enable", "X\n" },
	    { "sys/kernel/tracing/set_event", "a:b\nc:d\ne:f\ng:h\ni:j\nk:l\n" } },
	  SEVERITY_WARN,
	  "events are enabled: a:b, c:d, e:f, g:h ..." },
	{ "tracing",
	  { { "proc/sys/kernel/bpf_stats_enabled", "1\n" } },
	  SEVERITY_NOTE,
	  "BPF programs",
	  "sysctl" },
	{ "timers",
	  { { "proc/timer_list", "clock 0:\n  .resolution: 4000000 nsecs\n" } },
	  SEVERITY_VETO,
	  "4000 us" },
	{ "irq-time",
	  { { "root/boot/config-6.12.117+deb12-rt-amd64", "CONFIG_TICK_CPU_ACCOUNTING=y\n" } },
	  SEVERITY_WARN,
	  "sampled" },
	{ "irq-time", { { "proc/cmdline", "tsc=noirqtime\n" } }, SEVERITY_WARN, "sampled" },
	{ "clocksource",
	  { { CLOCKS "current_clocksource", "hpet\n" } },
	  SEVERITY_WARN,
	  "hpet",
	  "file" },
	{ "clocksource",
	  { { CLOCKS "current_clocksource", "acpi_pm\n" },
	    { CLOCKS "available_clocksource", "hpet acpi_pm\n" } },
	  SEVERITY_WARN,
	  "acpi_pm" },
	{ "hypervisor", { { "sys/class/dmi/id/sys_vendor", "QEMU\n" } }, SEVERITY_WARN, "QEMU" },
	{ "hypervisor", { { "sys/hypervisor/type", "xen\n" } }, SEVERITY_WARN, "xen" },
	{ "hypervisor",
	  { { "proc/cpuinfo", "model name\t: X\nflags\t\t: fpu hypervisor vme\n" } },
	  SEVERITY_WARN,
	  "the CPU says so" },
	{ "steal",
	  { { "proc/stat", "cpu  1000 0 500 900000 10 5 6 100 0 0\n" } },
	  SEVERITY_WARN,
	  "6.2 %" },
	{ "steal",
	  { { "proc/stat", "cpu  1000 0 500 900000 10 5 6 10 0 0\n" } },
	  SEVERITY_NOTE,
	  "0.7 %" },
	{ "governor",
	  { { CPU "cpu2/cpufreq/scaling_governor", "schedutil\n" } },
	  SEVERITY_WARN,
	  "performance on CPUs 0-1,3, schedutil on CPUs 2",
	  "power file" },
	{ "turbo",
	  { { CPU "intel_pstate/no_turbo", "0\n" } },
	  SEVERITY_WARN,
	  "turbo",
	  "power file" },
	{ "turbo",
	  { { CPU "intel_pstate/no_turbo", NULL }, { CPU "cpufreq/boost", "1\n" } },
	  SEVERITY_WARN,
	  "turbo",
	  "power file" },
	{ "idle-states",
	  { { CPU "cpu0/cpuidle/state2/name", "C6\n" },
	    { CPU "cpu0/cpuidle/state2/latency", "170\n" } },
	  SEVERITY_WARN,
	  "C6, whose exit takes 170 us",
	  "power" },
	{ "thermal",
	  { { CPU "cpu0/thermal_throttle/core_throttle_count", "7\n" } },
	  SEVERITY_WARN,
	  "counted 7 times" },
	{ "smt", { { CPU "smt/active", "1\n" } }, SEVERITY_NOTE, "share each core" },
	{ "numa",
	  { { "sys/devices/system/node/online", "0-1\n" },
	    { "proc/sys/kernel/numa_balancing", "1\n" } },
	  SEVERITY_WARN,
	  "nodes 0-1",
	  "sysctl" },
	{ "rt-bandwidth",
	  { { "proc/sys/kernel/sched_rt_runtime_us", "950000\n" } },
	  SEVERITY_NOTE,
	  "950000 of every 1000000 us",
	  "sysctl" },
	{ "rt-bandwidth",
	  { { "proc/sys/kernel/sched_rt_runtime_us", "0\n" } },
	  SEVERITY_VETO,
	  "no time",
	  "sysctl" },
	{ "rt-group",
	  { { "root/boot/config-6.12.117+deb12-rt-amd64", "CONFIG_RT_GROUP_SCHED=y\n" } },
	  SEVERITY_WARN,
	  "not in the root group" },
	{ "rt-group",
	  { { "root/boot/config-6.12.117+deb12-rt-amd64", "CONFIG_RT_GROUP_SCHED=y\n" },
	    { "proc/self/cgroup", "4:cpu,cpuacct:/user/lab\n1:name=systemd:/\n0::/\n" },
	    { "sys/fs/cgroup/cpu/user/lab/cpu.rt_runtime_us", "0\n" } },
	  SEVERITY_VETO,
	  "no time" },
	{ "watchdogs",
	  { { "proc/sys/kernel/nmi_watchdog", "1\n" } },
	  SEVERITY_WARN,
	  "NMI",
	  "sysctl" },
	{ "watchdogs",
	  { { "proc/sys/kernel/soft_watchdog", "1\n" } },
	  SEVERITY_NOTE,
	  "soft lock-up",
	  "sysctl" },
	{ "watchdogs",
	  { { "proc/77/stat", THREAD("watchdog/0", "2129984", "99", "1") } },
	  SEVERITY_WARN,
	  "priority 99",
	  "sysctl" },
	{ "above",
	  { { "proc/77/stat", THREAD("irq/16-ahci", "2129984", "98", "1") } },
	  SEVERITY_WARN,
	  "1 thread may run above the probe's priority 98: irq/16-ahci (98)" },
	{ "above",
	  { { "proc/77/stat", THREAD("jackd", "4194304", "0", "6") },
	    { "proc/77/task/77/stat", THREAD("jackd", "4194304", "0", "6") } },
	  SEVERITY_WARN,
	  "jackd (deadline)" },
	{ "cgroup",
	  { { "sys/fs/cgroup/system.slice/cpu.max", "50000 100000\n" } },
	  SEVERITY_WARN,
	  "50000 100000" },
	{ "cgroup",
	  { { "proc/self/cgroup", "4:cpu,cpuacct:/user\n0::/\n" },
	    { "sys/fs/cgroup/cpu/user/cpu.cfs_quota_us", "20000\n" } },
	  SEVERITY_WARN,
	  "20000" },
	{ "cgroup",
	  { { "proc/self/status", "Cpus_allowed_list:\t0-1\n" } },
	  SEVERITY_WARN,
	  "CPUs 2-3 are online and we may not run on them" },
	{ "isolation",
	  { { CPU "isolated", "1\n" } },
	  SEVERITY_WARN,
	  "CPUs 1 are isolated, and the probe runs on others" },
	{ "isolation",
	  { { CPU "isolated", "2\n" } },
	  SEVERITY_NOTE,
	  "isolated CPUs (2) and on others" },
	{ "irq-placement",
	  { { "proc/irq/26/effective_affinity_list", "3\n" } },
	  SEVERITY_WARN,
	  "isolated CPUs take 1 interrupt: 26" },
	{ "irq-placement",
	  { { "proc/irq/27/smp_affinity_list", "0-3\n" } },
	  SEVERITY_WARN,
	  "isolated CPUs take 1 interrupt: 27" },
	{ "daemons",
	  { { "proc/77/stat", THREAD("irqbalance", "4194304", "0", "0") },
	    { "proc/77/task/77/stat", THREAD("irqbalance", "4194304", "0", "0") } },
	  SEVERITY_WARN,
	  "irqbalance is running",
	  "daemon" },
	{ "congestion",
	  { { "proc/sys/net/ipv4/tcp_no_metrics_save", "0\n" } },
	  SEVERITY_WARN,
	  "remembers",
	  "sysctl" },
	{ "sniffers",
	  { { "proc/net/packet", "sk RefCnt\n0000 3 3 0003 2 1 0 0 4711\n" } },
	  SEVERITY_WARN,
	  "1 packet socket is open" },
	{ "sniffers",
	  { { "proc/sys/net/netfilter/nf_conntrack_count", "12\n" } },
	  SEVERITY_NOTE,
	  "tracked" },
	{ "memory",
	  { { "proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 60000 kB\n" } },
	  SEVERITY_WARN,
	  "only 58 MiB" },
	{ "memory",
	  { { "proc/meminfo", "MemTotal: 16000 kB\nMemAvailable: 160000 kB\nSwapTotal: 20480 kB\n"
			      "SwapFree: 10240 kB\n" } },
	  SEVERITY_NOTE,
	  "10 MiB are swapped out" },
	{ "hugepages",
	  { { "sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n" } },
	  SEVERITY_NOTE,
	  "always",
	  "file" },
	{ "hugepages", { { "sys/kernel/mm/ksm/run", "1\n" } }, SEVERITY_WARN, "merged", "file" },
	{ "load", { { "proc/loadavg", "3.50 2.00 1.00 4/200 4711\n" } }, SEVERITY_NOTE, "3.50" },
};

/* The tree as it was before @c. */
static void undo(const struct tree *t, const struct change *c)
{
	for (size_t k = 0; k < ARRAY_SIZE(c->files) && c->files[k].path; k++) {
		const struct file *f = in_order;

		while (f->path && strcmp(f->path, c->files[k].path) != 0)
			f++;
		put(t, c->files[k].path, f->path ? f->contents : NULL);
	}
}

static bool is_there(const char *knob, size_t len)
{
	for (size_t i = 0; all_knobs[i]; i++)
		if (strncmp(all_knobs[i]->plugin.name, knob, len) == 0 &&
		    all_knobs[i]->plugin.name[len] == '\0')
			return true;
	return false;
}

/* The first of the words of @names that is a knob of this irqlab, or NULL. */
static const char *first_there(const char *names)
{
	static char name[32];

	for (; names && *names; names += strcspn(names, " "), names += strspn(names, " ")) {
		size_t len = strcspn(names, " ");

		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		if (is_there(names, len))
			return name;
	}
	return NULL;
}

static void each_change_is_found_with_its_value(void **state)
{
	struct tree t;

	tree_make(&t, in_order);
	tree_open(&t);
	free(t.goal.cpus);
	t.goal.cpus = strdup("2-3");
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		const struct change *c = &changes[i];
		const struct finding *f;
		const char *knob;

		for (size_t k = 0; k < ARRAY_SIZE(c->files) && c->files[k].path; k++)
			put(&t, c->files[k].path, c->files[k].contents);
		tree_audit(&t);
		f = found(&t.a, c->check);
		if (!f)
			fail_msg("case %zu: %s was not found", i, c->check);
		assert_contains(f->what, c->what);
		assert_int_equal(f->severity, c->severity);
		assert_true(f->affects && f->why && *f->why);
		assert_int_equal(state_of(&t.a, c->check)->state, CHECK_FOUND);
		knob = first_there(c->knob);
		if (!knob != !f->knobs.nr)
			fail_msg("case %zu: %s: %zu knobs", i, f->what, f->knobs.nr);
		if (knob)
			assert_string_equal(f->knobs.v[0].plugin, knob);
		undo(&t, c);
	}
	tree_audit(&t);
	assert_int_equal(t.a.nr_findings, 0);
	tree_remove(&t);
}

static const struct {
	const char *check;
	struct file files[3];
	const char *reason;
	enum check_state state;
} unknowns[] = {
	{ "kernel", { { "proc/sys/kernel/osrelease", NULL } }, "osrelease", CHECK_UNKNOWN },
	{ "config",
	  { { "root/boot/config-6.12.117+deb12-rt-amd64", NULL } },
	  "/boot",
	  CHECK_UNKNOWN },
	{ "config", { { "proc/config.gz", "rubbish that is no gzip file" } }, NULL, CHECK_FINE },
	{ "irq-time",
	  { { "root/boot/config-6.12.117+deb12-rt-amd64", NULL } },
	  "/boot",
	  CHECK_UNKNOWN },
	{ "preemption",
	  { { "sys/kernel/realtime", NULL },
	    { "proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n" },
	    { "root/boot/config-6.12.117+deb12-rt-amd64", NULL } },
	  "preemption model is not shown",
	  CHECK_UNKNOWN },
	{ "timers", { { "proc/timer_list", "nothing\n" } }, "resolution", CHECK_UNKNOWN },
	{ "steal", { { "proc/stat", "cpu 1 2\n" } }, "/proc/stat", CHECK_UNKNOWN },
	{ "tracing", { { "sys/kernel/tracing/current_tracer", NULL } }, "tracing", CHECK_UNKNOWN },
	{ "rt-bandwidth",
	  { { "proc/sys/kernel/sched_rt_runtime_us", "much\n" } },
	  "no number",
	  CHECK_UNKNOWN },
	{ "memory", { { "proc/meminfo", "MemTotal: 5 kB\n" } }, "available", CHECK_UNKNOWN },
	{ "isolation", { { CPU "isolated", "2-x\n" } }, "2-x", CHECK_UNKNOWN },
	{ "smt", { { CPU "smt/active", NULL } }, "smt/active", CHECK_UNKNOWN },
	{ "thermal",
	  { { CPU "cpu0/thermal_throttle/core_throttle_count", NULL } },
	  "no CPU has",
	  CHECK_ABSENT },
	{ "turbo", { { CPU "intel_pstate/no_turbo", NULL } }, "no turbo", CHECK_ABSENT },
	{ "numa", { { "sys/devices/system/node/online", NULL } }, "NUMA", CHECK_ABSENT },
	{ "nic", {}, "no netdev is named", CHECK_ABSENT },
	{ "veth", {}, "no veth pair", CHECK_ABSENT },
	{ "identity", {}, "--identify", CHECK_ABSENT },
};

static void what_cannot_be_read_is_unknown_with_the_reason(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(unknowns); i++) {
		const struct check_result *res;
		struct tree t;

		tree_make(&t, in_order);
		for (size_t k = 0; k < ARRAY_SIZE(unknowns[i].files) && unknowns[i].files[k].path;
		     k++)
			put(&t, unknowns[i].files[k].path, unknowns[i].files[k].contents);
		tree_open(&t);
		tree_audit(&t);
		res = state_of(&t.a, unknowns[i].check);
		if (res->state != unknowns[i].state)
			fail_msg("%s is %s (%s)", res->name, audit_state_word(res->state),
				 res->reason ? res->reason : "");
		if (unknowns[i].reason)
			assert_contains(res->reason, unknowns[i].reason);
		tree_remove(&t);
	}
}

/* A laptop as it comes: intel_pstate with its powersave governor, turbo, deep idle states. */
static const struct file laptop[] = {
	{ "proc/sys/kernel/osrelease", "6.1.0-57-amd64\n" },
	{ "proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-10-01)\n" },
	{ "proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet\n" },
	{ "proc/cpuinfo", "model name\t: 11th Gen Intel(R) Core(TM) i5-1135G7\nflags\t\t: fpu\n" },
	{ "proc/sys/kernel/nmi_watchdog", "1\n" },
	{ "proc/sys/kernel/sched_rt_runtime_us", "950000\n" },
	{ "proc/sys/net/ipv4/tcp_congestion_control", "cubic\n" },
	{ "proc/sys/net/ipv4/tcp_no_metrics_save", "0\n" },
	{ "proc/900/stat", THREAD("thermald", "4194304", "0", "0") },
	{ "proc/900/task/900/stat", THREAD("thermald", "4194304", "0", "0") },
	{ "sys/kernel/debug/sched/preempt", "none (voluntary) full\n" },
	{ "sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n" },
	{ CLOCKS "current_clocksource", "tsc\n" },
	{ CPU "online", "0-1\n" },
	{ CPU "isolated", "\n" },
	{ CPU "smt/active", "1\n" },
	{ CPU "smt/control", "on\n" },
	{ CPU "intel_pstate/no_turbo", "0\n" },
	{ CPU "cpu0/cpufreq/scaling_governor", "powersave\n" },
	{ CPU "cpu1/cpufreq/scaling_governor", "powersave\n" },
	{ CPU "cpu0/cpufreq/scaling_driver", "intel_pstate\n" },
	{ CPU "cpu0/cpuidle/state0/name", "POLL\n" },
	{ CPU "cpu0/cpuidle/state0/latency", "0\n" },
	{ CPU "cpu0/cpuidle/state1/name", "C10\n" },
	{ CPU "cpu0/cpuidle/state1/latency", "890\n" },
	{ CPU "cpu0/thermal_throttle/core_throttle_count", "3\n" },
	{ CPU "cpu1/thermal_throttle/core_throttle_count", "3\n" },
	{ "sys/class/dmi/id/sys_vendor", "LENOVO\n" },
	{}
};

/* A board of arm64: schedutil, a device tree, no turbo, no thermal counters, no SMT. */
static const struct file board[] = {
	{ "proc/sys/kernel/osrelease", "6.6.51+rpt-rpi-2712\n" },
	{ "proc/sys/kernel/version", "#1 SMP PREEMPT Debian 1:6.6.51-1+rpt3 (2024-10-08)\n" },
	{ "proc/sys/kernel/arch", "aarch64\n" },
	{ "proc/cmdline", "8250.nr_uarts=1 smsc95xx.macaddr=DC:A6:32:01:02:03 "
			  "root=PARTUUID=4e639091-02 ip=192.168.7.2\n" },
	{ "proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 108.00\nCPU part\t: 0xd0b\n\n"
			  "Serial\t\t: 10000000abcdef01\n" },
	{ "proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0" },
	{ "proc/sys/net/ipv4/tcp_congestion_control", "cubic\n" },
	{ CLOCKS "current_clocksource", "arch_sys_counter\n" },
	{ CLOCKS "available_clocksource", "arch_sys_counter \n" },
	{ CPU "online", "0\n" },
	{ CPU "cpu0/cpufreq/scaling_governor", "schedutil\n" },
	{ CPU "cpu0/cpufreq/scaling_driver", "cpufreq-dt\n" },
	{}
};

struct expected {
	const char *check;
	enum check_state state;
	const char *what;
};

static void expect(const struct tree *t, const struct expected *want)
{
	for (; want->check; want++) {
		const struct check_result *res = state_of(&t->a, want->check);
		const struct finding *f = found(&t->a, want->check);

		if (res->state != want->state)
			fail_msg("%s is %s (%s)", want->check, audit_state_word(res->state),
				 res->reason ? res->reason : "");
		if (want->what && f)
			assert_contains(f->what, want->what);
	}
}

static void a_laptop_is_seen_for_what_it_is(void **state)
{
	static const struct expected want[] = { { "governor", CHECK_FOUND, "powersave" },
						{ "turbo", CHECK_FOUND, "turbo" },
						{ "idle-states", CHECK_FOUND,
						  "C10, whose exit takes 890 us" },
						{ "thermal", CHECK_FOUND, "counted 6 times" },
						{ "smt", CHECK_FOUND, "share" },
						{ "preemption", CHECK_FOUND, "voluntary" },
						{ "watchdogs", CHECK_FOUND, "NMI" },
						{ "daemons", CHECK_FOUND, "thermald" },
						{ "hugepages", CHECK_FOUND, "always" },
						{ "clocksource", CHECK_FINE, NULL },
						{ "hypervisor", CHECK_FINE, NULL },
						{ "config", CHECK_UNKNOWN, NULL },
						{} };
	struct tree t;

	tree_make(&t, laptop);
	tree_open(&t);
	tree_audit(&t);
	expect(&t, want);
	/* both CPUs are mended, file by file where no knob does it at once */
	assert_int_equal(found(&t.a, "governor")->knobs.nr, is_there("power", 5) ? 1 : 2);
	assert_string_equal(audit_fact(&t.a, "freq_driver"), "intel_pstate");
	tree_remove(&t);
}

static void a_board_is_no_worse_for_what_it_lacks(void **state)
{
	static const struct expected want[] = {
		{ "governor", CHECK_FOUND, "schedutil" },
		{ "preemption", CHECK_FOUND, "\"full\", not PREEMPT_RT" },
		{ "turbo", CHECK_ABSENT, NULL },
		{ "thermal", CHECK_ABSENT, NULL },
		{ "idle-states", CHECK_ABSENT, NULL },
		{ "hypervisor", CHECK_FINE, NULL },
		{ "clocksource", CHECK_FINE, NULL },
		{}
	};
	struct tree t;

	tree_make(&t, board);
	tree_open(&t);
	tree_audit(&t);
	expect(&t, want);
	assert_string_equal(audit_fact(&t.a, "cpu_model"), "0xd0b");
	assert_string_equal(audit_fact(&t.a, "board"), "Raspberry Pi 5 Model B Rev 1.0");
	assert_string_equal(audit_fact(&t.a, "cmdline"),
			    "8250.nr_uarts=1 smsc95xx.macaddr=(masked) root=PARTUUID=(masked) "
			    "ip=(masked)");
	tree_remove(&t);
}

/* Captured by tests/fixtures/audit/capture.sh. */
static void a_virtual_machine_as_it_was_captured(void **state)
{
	static const struct expected want[] = { { "config", CHECK_FINE,
						  NULL }, /* out of its /proc/config.gz */
						{ "preemption", CHECK_FOUND, "\"none\"" },
						{ "hypervisor", CHECK_FOUND, "the CPU says so" },
						{ "irq-time", CHECK_FOUND, "sampled" },
						{ "rt-bandwidth", CHECK_FOUND, "950000" },
						{ "governor", CHECK_ABSENT, NULL },
						{ "rt-group", CHECK_FINE, NULL },
						{ "idle-states", CHECK_FINE, NULL },
						{ "above", CHECK_FINE, NULL },
						{ "timers", CHECK_FINE, NULL },
						{} };
	struct tree t = { .dir = "tests/fixtures/audit/vm" };

	tree_open(&t);
	tree_audit(&t);
	expect(&t, want);
	assert_string_equal(audit_fact(&t.a, "config.HZ"), "250");
	assert_string_equal(audit_fact(&t.a, "config.RT_GROUP_SCHED"), "y");
	assert_string_equal(audit_fact(&t.a, "release"), "6.18.44-fc-v669");
	assert_string_equal(audit_fact(&t.a, "memory_kib"), "24684084");
	tree_close(&t);
}

/* The tree of a guest says what irqlab said inside the guest: tests/fixtures/audit/guest.sh. */
static void a_guest_of_preempt_rt_as_it_was_captured(void **state)
{
	static const struct expected want[] = {
		{ "preemption", CHECK_FINE, NULL }, { "hypervisor", CHECK_FOUND, "QEMU" },
		{ "timers", CHECK_FINE, NULL },	    { "hugepages", CHECK_ABSENT, NULL },
		{ "config", CHECK_FINE, NULL },	    {}
	};
	_cleanup_(buf_release) struct buf text = {};
	struct tree t = { .dir = "tests/fixtures/audit/rt-guest" };
	struct json_object *said, *list;

	tree_open(&t);
	tree_audit(&t);
	expect(&t, want);
	assert_string_equal(audit_fact(&t.a, "preemption"), "rt");
	assert_string_equal(audit_fact(&t.a, "release"), "6.12.117+deb12-rt-amd64");
	assert_string_equal(audit_fact(&t.a, "config.PREEMPT_RT"), "y");
	assert_string_equal(audit_fact(&t.a, "preemption.others"), "lazy");
	fixture_read("tests/fixtures/audit/rt-guest/audit.json", &text);
	said = json_tokener_parse(buf_str(&text));
	list = json_field_array(said, "checks");
	assert_int_equal(json_object_array_length(list), t.a.nr_checks);
	for (size_t i = 0; i < t.a.nr_checks; i++) {
		struct json_object *c = json_object_array_get_idx(list, i);
		const char *name = json_field_string(c, "check");

		/* the tree has no second look at the CPUs */
		if (strcmp(name, "load") != 0)
			assert_string_equal(audit_state_word(state_of(&t.a, name)->state),
					    json_field_string(c, "state"));
	}
	list = json_field_array(said, "findings");
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *f = json_object_array_get_idx(list, i);
		const char *name = json_field_string(f, "check");

		if (strcmp(name, "load") != 0)
			assert_string_equal(found(&t.a, name)->what, json_field_string(f, "what"));
	}
	json_object_put(said);
	/* interrupt threads run at 50 there: above a probe of 40 */
	t.goal.priority = 40;
	tree_audit(&t);
	assert_contains(found(&t.a, "above")->what, "irq/");
	tree_close(&t);
}

static void where_nothing_is_mounted_all_is_unknown(void **state)
{
	static const struct file nothing[] = { { "empty", "" }, {} };
	struct tree t;

	tree_make(&t, nothing);
	tree_open(&t);
	tree_audit(&t);
	assert_int_equal(t.a.nr_findings, 0);
	for (size_t i = 0; i < t.a.nr_checks; i++)
		if (t.a.checks[i].state != CHECK_UNKNOWN && t.a.checks[i].state != CHECK_ABSENT)
			fail_msg("%s is %s", t.a.checks[i].name,
				 audit_state_word(t.a.checks[i].state));
	tree_remove(&t);
}

static void without_sys_the_rest_is_still_said(void **state)
{
	static const struct expected want[] = { { "governor", CHECK_UNKNOWN, NULL },
						{ "clocksource", CHECK_UNKNOWN, NULL },
						{ "turbo", CHECK_UNKNOWN, NULL },
						{ "rt-bandwidth", CHECK_FOUND, "950000" },
						{ "congestion", CHECK_FOUND, "remembers" },
						{} };
	struct tree t;

	tree_make(&t, laptop);
	tree_open(&t);
	close_fdp(&t.host.sys_fd);
	t.host.sys_fd = -1;
	tree_audit(&t);
	expect(&t, want);
	assert_contains(state_of(&t.a, "clocksource")->reason, "/sys is not there");
	tree_remove(&t);
}

static void what_is_not_measured_is_a_note(void **state)
{
	struct tree t;

	tree_make(&t, laptop);
	tree_open(&t);
	t.goal.measures = AFFECTS_THROUGHPUT;
	tree_audit(&t);
	assert_int_equal(found(&t.a, "idle-states")->severity, SEVERITY_NOTE);
	assert_int_equal(found(&t.a, "watchdogs")->severity, SEVERITY_NOTE);
	assert_int_equal(found(&t.a, "governor")->severity, SEVERITY_WARN);
	assert_int_equal(found(&t.a, "congestion")->severity, SEVERITY_WARN);
	/* worst first */
	for (size_t i = 1; i < t.a.nr_findings; i++)
		assert_true(t.a.findings[i - 1].severity >= t.a.findings[i].severity);
	tree_remove(&t);
}

static void the_priority_of_the_probe_decides_what_is_above(void **state)
{
	struct tree t;

	tree_make(&t, in_order);
	tree_open(&t);
	t.goal.priority = 50;
	tree_audit(&t);
	assert_contains(found(&t.a, "above")->what, "priority 50: irq/24-eth0-rx- (50)");
	t.goal.priority = 0;
	tree_audit(&t);
	assert_int_equal(state_of(&t.a, "above")->state, CHECK_ABSENT);
	tree_remove(&t);
}

static struct nic plain_nic(const char *driver)
{
	struct nic n = { .gro = 1, .gso = 1, .tso = 1, .rx_usecs = NIC_UNKNOWN };

	snprintf(n.driver, sizeof(n.driver), "%s", driver);
	snprintf(n.firmware, sizeof(n.firmware), "5.6-2");
	snprintf(n.address, sizeof(n.address), "52:54:00:aa:bb:cc");
	n.rx_ring = n.tx_ring = n.rx_queues = n.tx_queues = n.combined_queues = NIC_UNKNOWN;
	n.eee = n.pause_rx = NIC_UNKNOWN;
	return n;
}

static void a_card_is_described_and_judged(void **state)
{
	static const struct file link[] = { { "sys/class/net/eth0/speed", "100\n" },
					    { "sys/class/net/eth0/duplex", "half\n" },
					    { "sys/class/net/eth0/mtu", "1500\n" },
					    { "sys/class/net/eth0/device/msi_irqs/24", "msi\n" },
					    { "proc/irq/24/effective_affinity_list", "0-1\n" },
					    {} };
	struct tree t;

	tree_make(&t, in_order);
	for (const struct file *f = link; f->path; f++)
		put(&t, f->path, f->contents);
	tree_open(&t);
	free(t.goal.cpus);
	t.goal.cpus = strdup("2-3");
	snprintf(t.host.dut.ifname, sizeof(t.host.dut.ifname), "eth0");
	t.dut = plain_nic("igb");
	t.dut.adaptive_rx = 1;
	t.dut.rx_usecs = 3;
	t.dut.lro = 1;
	t.has_dut = true;
	tree_audit(&t);
	assert_contains(found(&t.a, "nic")->what, "half duplex");
	assert_contains(found(&t.a, "coalescing")->what, "adaptive");
	assert_contains(found(&t.a, "offloads")->what, "LRO");
	assert_contains(found(&t.a, "irq-placement")->what, "go to CPUs 0-1, and the probe");
	assert_string_equal(audit_fact(&t.a, "dut.driver"), "igb");
	assert_string_equal(audit_fact(&t.a, "dut.speed_mbit"), "100");
	assert_string_equal(audit_fact(&t.a, "dut.irqs"), "1 on CPUs 0-1");
	assert_null(audit_fact(&t.a, "dut.address"));
	t.dut.adaptive_rx = 0;
	t.dut.lro = 0;
	put(&t, "sys/class/net/eth0/duplex", "full\n");
	put(&t, "proc/irq/24/effective_affinity_list", "2\n");
	put(&t, CPU "isolated", "\n");
	tree_audit(&t);
	assert_null(found(&t.a, "nic"));
	assert_null(found(&t.a, "coalescing"));
	assert_null(found(&t.a, "offloads"));
	assert_null(found(&t.a, "irq-placement"));
	tree_remove(&t);
}

static void add_knob(struct instances *l, const char *key, const char *value)
{
	struct instance k = { .plugin = strdup("netdev"), .name = strdup("netdev") };
	struct err e = {};

	assert_int_equal(instance_set(&k, "dev", "$dut,$far", 0, &e), 0);
	assert_int_equal(instance_set(&k, key, value, 0, &e), 0);
	assert_int_equal(instances_add(l, &k, &e), 0);
	instance_release(&k);
}

static void a_veth_that_will_not_poll_is_a_veto_only_where_it_matters(void **state)
{
	struct tree t;

	tree_make(&t, in_order);
	tree_open(&t);
	t.goal.netns = true;
	tree_audit(&t);
	assert_int_equal(found(&t.a, "veth")->severity, SEVERITY_NOTE);
	t.goal.gives_veth_napi = true;
	tree_audit(&t);
	assert_int_equal(found(&t.a, "veth")->severity, SEVERITY_VETO);
	assert_string_equal(instance_value(&found(&t.a, "veth")->knobs.v[0], "gro"), "on");
	/* GRO alone does not make it poll */
	add_knob(&t.goal.setup, "gro", "on");
	tree_audit(&t);
	assert_contains(found(&t.a, "veth")->what, "GRO is on at $dut, TSO is on at $far");
	add_knob(&t.goal.setup, "tso", "off");
	tree_audit(&t);
	assert_null(found(&t.a, "veth"));
	/* what is there counts for more than what the setup says */
	t.has_dut = t.has_far = true;
	t.dut = t.far = plain_nic("veth");
	tree_audit(&t);
	assert_non_null(found(&t.a, "veth"));
	t.far.tso = 0;
	tree_audit(&t);
	assert_null(found(&t.a, "veth"));
	tree_remove(&t);
}

static void what_a_variant_sets_is_not_mended(void **state)
{
	struct audit_goal g = {};
	struct instances knobs = {}, other = {}, file = {};

	add_knob(&file, "governor", "performance");
	add_knob(&knobs, "gro", "on");
	add_knob(&other, "tso", "off");
	assert_null(audit_goal_forbids(&g, "veth", &knobs.v[0]));
	add_knob(&g.setup, "gro", "on");
	assert_null(audit_goal_forbids(&g, "veth", &knobs.v[0]));
	add_knob(&g.setup, "gro", "off");
	assert_contains(audit_goal_forbids(&g, "veth", &knobs.v[0]), "setup");
	add_knob(&g.varied, "tso", "off");
	assert_contains(audit_goal_forbids(&g, "veth", &other.v[0]), "a variant sets it");
	/* by another knob, about the same thing */
	assert_null(audit_goal_forbids(&g, "governor", &file.v[0]));
	add_knob(&g.varied, "path", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	assert_contains(audit_goal_forbids(&g, "governor", &file.v[0]), "a variant sets it");
	free(g.varied.v[0].plugin);
	g.varied.v[0].plugin = strdup("command");
	assert_contains(audit_goal_forbids(&g, "veth", &other.v[0]), "command");
	instances_release(&knobs);
	instances_release(&other);
	instances_release(&file);
	audit_goal_release(&g);
}

static void a_goal_survives_the_journey_to_the_agent(void **state)
{
	struct audit_goal g = { .planned = true,
				.measures = AFFECTS_RTT,
				.priority = 42,
				.netns = true,
				.gives_veth_napi = true },
			  back = {}, none = {};
	struct json_object *o;
	struct err e = {};

	g.cpus = strdup("1-3");
	add_knob(&g.setup, "gro", "on");
	add_knob(&g.varied, "threaded", "1");
	o = audit_goal_to_json(&g);
	assert_int_equal(audit_goal_from_json(o, &back, &e), 0);
	assert_int_equal(back.measures, AFFECTS_RTT);
	assert_int_equal(back.priority, 42);
	assert_true(back.planned && back.netns && back.gives_veth_napi);
	assert_string_equal(back.cpus, "1-3");
	assert_string_equal(instance_value(&back.varied.v[0], "threaded"), "1");
	assert_int_equal(back.setup.nr, 1);
	json_object_object_del(o, "measures");
	assert_int_equal(audit_goal_from_json(o, &none, &e), -EBADMSG);
	json_object_put(o);
	audit_goal_release(&g);
	audit_goal_release(&back);
}

static void nothing_personal_is_said_unless_asked(void **state)
{
	static const char *const personal[] = { "lab-seven", "S4711", "52:54:00:aa:bb:cc",
						"0f1e2d3c-1111-2222-3333-444455556666" };
	struct tree t;

	tree_make(&t, in_order);
	tree_open(&t);
	t.dut = plain_nic("igb");
	t.has_dut = true;
	for (int asked = 0; asked < 2; asked++) {
		struct json_object *o;
		const char *text;

		t.identify = asked;
		tree_audit(&t);
		o = audit_env(&t.a);
		text = json_object_to_json_string(o);
		for (size_t i = 0; i < ARRAY_SIZE(personal); i++)
			if (!strstr(text, personal[i]) != !asked)
				fail_msg("%s: %s", personal[i], text);
		json_object_put(o);
	}
	tree_remove(&t);
}

static void the_cpus_are_a_number_as_runs_of_before_have_it(void **state)
{
	struct json_object *o, *v = NULL, *said;
	struct audit back = {};
	struct err e = {};
	struct tree t;

	tree_make(&t, in_order);
	tree_open(&t);
	tree_audit(&t);
	o = audit_env(&t.a);
	assert_true(json_object_object_get_ex(o, "cpus", &v));
	assert_true(json_object_is_type(v, json_type_int));
	assert_int_equal(json_object_get_int(v), 4);
	assert_int_equal(audit_of_env(json_object_to_json_string(o), &back, &e), 0);
	assert_string_equal(audit_fact(&back, "governor"), "performance");
	assert_null(audit_fact(&back, "load"));
	audit_release(&back);
	assert_int_equal(audit_of_env("[1]", &back, &e), -EBADMSG);
	/* what passes is apart, so that no two runs differ by it */
	assert_non_null(json_field_string(json_field_object(o, "now"), "load"));
	said = json_field_object(o, "audit");
	assert_int_equal(json_object_array_length(json_field_array(said, "checks")), t.a.nr_checks);
	json_object_put(o);
	tree_remove(&t);
}

static void the_facts_alone_are_those_that_can_change(void **state)
{
	struct audit_scope scope;
	struct audit a = {};
	struct err e = {};
	struct tree t;

	tree_make(&t, laptop);
	tree_open(&t);
	scope = (struct audit_scope){ .host = &t.host, .root_fd = t.root_fd, .goal = &t.goal };
	assert_int_equal(audit_facts(&scope, &a, &e), 0);
	assert_int_equal(a.nr_findings, 0);
	assert_string_equal(audit_fact(&a, "governor"), "powersave");
	assert_string_equal(audit_fact(&a, "thermal_throttles"), "6");
	assert_null(audit_fact(&a, "release"));
	assert_null(audit_fact(&a, "load"));
	audit_release(&a);
	tree_remove(&t);
}

/* What bench_changes() said last. */
struct heard {
	struct sample_sink sink;
	size_t nr;
	char text[256];
};

static int hear(struct sample_sink *s, const struct record *rec, struct err *e)
{
	struct heard *h = (struct heard *)s;

	assert_string_equal(rec->metric, "environment");
	assert_int_equal(rec->severity, SEVERITY_WARN);
	snprintf(h->text, sizeof(h->text), "%s", rec->text);
	h->nr++;
	return 0;
}

static void what_changes_between_two_trials_is_said_once(void **state)
{
	struct trial_plugins plugins = { .knobs = all_knobs };
	struct heard h = { .sink = { .emit = hear } };
	struct bench b = { .plugins = &plugins };
	struct err e = {};
	struct tree t;

	tree_make(&t, laptop);
	tree_open(&t);
	b.host = t.host;
	b.goal = t.goal;
	for (int i = 0; i < 2; i++)
		assert_int_equal(bench_changes(&b, &h.sink, &e), 0);
	assert_int_equal(h.nr, 0);
	put(&t, CPU "cpu1/cpufreq/scaling_governor", "performance\n");
	assert_int_equal(bench_changes(&b, &h.sink, &e), 0);
	assert_int_equal(h.nr, 1);
	assert_string_equal(h.text, "governor was \"powersave\" in the trial before, now it is "
				    "\"powersave on CPUs 0, performance on CPUs 1\"");
	put(&t, CPU "cpu0/thermal_throttle/core_throttle_count", "4\n");
	assert_int_equal(bench_changes(&b, &h.sink, &e), 0);
	assert_int_equal(h.nr, 2);
	assert_contains(h.text, "thermal_throttles was \"6\"");
	assert_int_equal(bench_changes(&b, &h.sink, &e), 0);
	assert_int_equal(h.nr, 2);
	audit_release(&b.facts);
	tree_remove(&t);
}

static void what_files_say_can_be_printed(void **state)
{
	struct tree t;

	tree_make(&t, in_order);
	put(&t, "proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
	put(&t, "sys/class/dmi/id/sys_vendor", "QEMU \033[31m\377\n");
	put(&t, "sys/hypervisor/type", "a\nb\033c\n");
	tree_open(&t);
	tree_audit(&t);
	assert_string_equal(audit_fact(&t.a, "net.ipv4.tcp_rmem"), "4096 131072 6291456");
	assert_string_equal(audit_fact(&t.a, "vendor"), "QEMU \\x1b[31m\\xff");
	assert_contains(found(&t.a, "hypervisor")->what, "(a b\\x1bc)");
	tree_remove(&t);
}

static void the_event_that_bpf_leaves_on_is_none(void **state)
{
	struct tree t;

	tree_make(&t, in_order);
	put(&t, "sys/kernel/tracing/events/enable", "X\n");
	put(&t, "sys/kernel/tracing/set_event", "bpf_trace:bpf_trace_printk\n");
	tree_open(&t);
	tree_audit(&t);
	assert_null(found(&t.a, "tracing"));
	tree_remove(&t);
}

static void a_thread_is_read_whatever_its_name_holds(void **state)
{
	struct rt_thread t = {};

	assert_true(rt_thread_parse(THREAD(") S 2 (", "0", "77", "2"), &t));
	assert_int_equal(t.priority, 77);
	assert_int_equal(t.policy, 2);
	assert_false(rt_thread_parse("1 (short) S 0", &t));
	assert_false(rt_thread_parse("", &t));
}

static void the_list_names_every_check_once(void **state)
{
	_cleanup_(buf_release) struct buf list = {};
	struct tree t;

	audit_list(&list);
	tree_make(&t, in_order);
	tree_open(&t);
	tree_audit(&t);
	for (size_t i = 0; i < t.a.nr_checks; i++) {
		_cleanup_(buf_release) struct buf row = {};
		const char *at;

		buf_printf(&row, "\n| %s | ", t.a.checks[i].name);
		at = strstr(buf_str(&list), buf_str(&row));
		assert_non_null(at);
		assert_null(strstr(at + 1, buf_str(&row)));
	}
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_in_order_has_no_finding),
		cmocka_unit_test(each_change_is_found_with_its_value),
		cmocka_unit_test(what_cannot_be_read_is_unknown_with_the_reason),
		cmocka_unit_test(a_laptop_is_seen_for_what_it_is),
		cmocka_unit_test(a_board_is_no_worse_for_what_it_lacks),
		cmocka_unit_test(a_virtual_machine_as_it_was_captured),
		cmocka_unit_test(a_guest_of_preempt_rt_as_it_was_captured),
		cmocka_unit_test(where_nothing_is_mounted_all_is_unknown),
		cmocka_unit_test(without_sys_the_rest_is_still_said),
		cmocka_unit_test(what_is_not_measured_is_a_note),
		cmocka_unit_test(the_priority_of_the_probe_decides_what_is_above),
		cmocka_unit_test(a_card_is_described_and_judged),
		cmocka_unit_test(a_veth_that_will_not_poll_is_a_veto_only_where_it_matters),
		cmocka_unit_test(what_a_variant_sets_is_not_mended),
		cmocka_unit_test(a_goal_survives_the_journey_to_the_agent),
		cmocka_unit_test(nothing_personal_is_said_unless_asked),
		cmocka_unit_test(the_cpus_are_a_number_as_runs_of_before_have_it),
		cmocka_unit_test(the_facts_alone_are_those_that_can_change),
		cmocka_unit_test(what_changes_between_two_trials_is_said_once),
		cmocka_unit_test(what_files_say_can_be_printed),
		cmocka_unit_test(the_event_that_bpf_leaves_on_is_none),
		cmocka_unit_test(a_thread_is_read_whatever_its_name_holds),
		cmocka_unit_test(the_list_names_every_check_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
