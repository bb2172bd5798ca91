// SPDX-License-Identifier: GPL-3.0-or-later
/* The kernel: what it is, how it was built, what it was told at boot. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "audit/cache.h"
#include "audit/check.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/personal.h"

/* Documentation/admin-guide/tainted-kernels.rst */
#define TAINT_DIE (1U << 7)
#define TAINT_WARN (1U << 9)
#define TAINT_SOFTLOCKUP (1U << 14)

#define EVENTS_MAX 4

/* "model name" (x86), "Processor" or "CPU part" (arm) of /proc/cpuinfo. */
static void add_cpu(struct look *l)
{
	static const char *const keys[] = { "model name", "Processor", "uarch", "CPU part" };
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(cpuset_release) struct cpuset online = {};
	struct err ignored = {};

	if (look_root(l, ROOT_SYS) >= 0 &&
	    cpuset_online(look_root(l, ROOT_SYS), &online, &ignored) == 0)
		look_fact(l, "cpus", "%zu", online.nr);
	if (!look_text(l, ROOT_PROC, "cpuinfo", &text, &ignored))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *at = strstr(buf_str(&text), keys[i]);
		const char *colon = at ? strchr(at, ':') : NULL;

		if (!colon || strcspn(at, "\n") < (size_t)(colon - at))
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		look_fact(l, "cpu_model", "%.*s", (int)strcspn(colon, "\n"), colon);
		break;
	}
}

static void look_taint(struct look *l)
{
	struct err ignored = {};
	uint64_t taint = 0;

	if (!look_u64(l, ROOT_PROC, "sys/kernel/tainted", &taint, &ignored))
		return;
	look_fact(l, "tainted", "%llu", (unsigned long long)taint);
	if (!(taint & (TAINT_DIE | TAINT_WARN | TAINT_SOFTLOCKUP)))
		return;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "the kernel has had %s since it was booted",
		   taint & TAINT_DIE	      ? "an oops"
		   : taint & TAINT_SOFTLOCKUP ? "a soft lock-up"
					      : "a warning");
	look_why(l, "after it, parts of the kernel may not work as they were written");
	look_mend(l, "read it (dmesg | grep -A 30 -E 'WARNING|Oops|BUG'), then reboot");
}

static int look_kernel(struct look *l, struct err *e)
{
	_cleanup_(freep) char *release = look_line(l, ROOT_PROC, "sys/kernel/osrelease", e);
	struct err ignored = {};
	_cleanup_(freep) char *arch = look_line(l, ROOT_PROC, "sys/kernel/arch", &ignored);
	struct utsname u = {};

	if (!release)
		return e->code;
	uname(&u); /* nodename is personal and stays here; kernels before 6.1 have no arch file */
	look_fact_file(l, "sysname", ROOT_PROC, "sys/kernel/ostype");
	look_fact(l, "release", "%s", release);
	look_fact_file(l, "version", ROOT_PROC, "sys/kernel/version");
	look_fact(l, "machine", "%s", arch ? arch : u.machine);
	add_cpu(l);
	look_taint(l);
	return 0;
}

const struct check check_kernel = {
	.name = "kernel",
	.help = "which kernel on which CPUs; oopses and warnings since it was booted",
	.reads = "/proc/sys/kernel/{ostype,osrelease,version,arch,tainted}, /proc/cpuinfo",
	.look = look_kernel,
};

/* FNV-1a: only to see that two differ. */
static unsigned int digest(const char *text)
{
	unsigned int h = 2166136261U;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619U;
	return h;
}

static int look_kconfig(struct look *l, struct err *e)
{
	static const char *const names[] = { "HZ",
					     "HZ_PERIODIC",
					     "NO_HZ_IDLE",
					     "NO_HZ_FULL",
					     "HIGH_RES_TIMERS",
					     "PREEMPT_NONE",
					     "PREEMPT_VOLUNTARY",
					     "PREEMPT",
					     "PREEMPT_LAZY",
					     "PREEMPT_DYNAMIC",
					     "PREEMPT_RT",
					     "IRQ_TIME_ACCOUNTING",
					     "VIRT_CPU_ACCOUNTING_GEN",
					     "IRQ_FORCED_THREADING",
					     "RT_GROUP_SCHED",
					     "RCU_NOCB_CPU",
					     "SCHED_AUTOGROUP",
					     "CC_VERSION_TEXT" };

	if (!look_config(l, e))
		return e->code;
	look_fact(l, "config", "%08x", digest(buf_str(&l->cache->config.text)));
	look_fact(l, "config.from", "%s", l->cache->config.from);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = look_option(l, names[i]);
		_cleanup_(buf_release) struct buf key = {};

		buf_printf(&key, "config.%s", names[i]);
		if (v)
			look_fact(l, buf_str(&key), "%s", v);
	}
	return 0;
}

const struct check check_config = {
	.name = "config",
	.help = "the options the kernel was built with that decide about latency",
	.reads = "/proc/config.gz, /boot/config-RELEASE, /lib/modules/RELEASE/config",
	.look = look_kconfig,
};

static int look_cmdline(struct look *l, struct err *e)
{
	_cleanup_(freep) char *line = look_line(l, ROOT_PROC, "cmdline", e);
	struct err ignored = {};
	_cleanup_(freep) char *name = look_line(l, ROOT_PROC, "sys/kernel/hostname", &ignored);
	_cleanup_(freep) char *mitigations = look_boot(l, "mitigations");
	_cleanup_(freep) char *idle = look_boot(l, "idle");
	_cleanup_(buf_release) struct buf masked = {};

	if (!line)
		return e->code;
	personal_mask_cmdline(&masked, line, name);
	/* the same with --identify, so that such runs can be told from others by it */
	look_fact(l, "cmdline", "%s", buf_str(&masked));
	if (l->scope->identify)
		look_fact(l, "cmdline_whole", "%s", line);
	if (mitigations && strncmp(mitigations, "off", 3) == 0) {
		look_found(l, SEVERITY_NOTE, AFFECTS_ALL, "mitigations=off at boot");
		look_why(l, "entry into the kernel is cheaper than on the machines of most others");
	}
	if (idle && strcmp(idle, "poll") == 0) {
		look_found(l, SEVERITY_NOTE, AFFECTS_ALL, "idle=poll at boot");
		look_why(l, "no idle exit is in any latency, and the CPUs run at one temperature");
	}
	return 0;
}

const struct check check_cmdline = {
	.name = "cmdline",
	.help = "what the kernel was told at boot (addresses and identifiers are masked)",
	.reads = "/proc/cmdline",
	.look = look_cmdline,
};

/* The word in brackets of "none voluntary (full) lazy". */
static char *chosen(const char *text)
{
	const char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;

	return close ? strndup(open + 1, (size_t)(close - open - 1)) : NULL;
}

static bool is_rt(struct look *l, const char *version)
{
	struct err ignored = {};
	uint64_t rt = 0;

	if (look_u64(l, ROOT_SYS, "kernel/realtime", &rt, &ignored))
		return rt == 1;
	return strstr(version, "PREEMPT_RT") || strstr(version, "PREEMPT RT");
}

/* The live model, or what is known of it without debugfs: NULL when nothing is. */
static char *model_of(struct look *l, const char *version, struct err *e)
{
	_cleanup_(freep) char *live = look_line(l, ROOT_SYS, "kernel/debug/sched/preempt", e);
	_cleanup_(freep) char *boot = look_boot(l, "preempt");
	struct err ignored = {};

	if (live)
		return chosen(live);
	if (strstr(version, "PREEMPT_DYNAMIC")) {
		if (boot)
			return strdup(boot);
		if (!look_config(l, &ignored))
			return NULL;
		return strdup(look_option(l, "PREEMPT_NONE")	    ? "none"
			      : look_option(l, "PREEMPT_VOLUNTARY") ? "voluntary"
			      : look_option(l, "PREEMPT_LAZY")	    ? "lazy"
								    : "full");
	}
	if (strstr(version, " PREEMPT"))
		return strdup("full");
	if (!look_config(l, e))
		return NULL;
	return strdup(look_option(l, "PREEMPT_VOLUNTARY") ? "voluntary" : "none");
}

static int look_preemption(struct look *l, struct err *e)
{
	_cleanup_(freep) char *version = look_line(l, ROOT_PROC, "sys/kernel/version", e);
	_cleanup_(freep) char *model = NULL, *live = NULL;
	struct err ignored = {};

	if (!version)
		return e->code;
	look_fact_file(l, "realtime", ROOT_SYS, "kernel/realtime");
	if (is_rt(l, version)) {
		look_fact(l, "preemption", "rt");
		live = look_line(l, ROOT_SYS, "kernel/debug/sched/preempt", &ignored);
		model = live ? chosen(live) : NULL;
		if (model) /* how ordinary threads are preempted: lazily or at once */
			look_fact(l, "preemption.others", "%s", model);
		return 0;
	}
	model = model_of(l, version, e);
	if (!model)
		return err_set(e, -ENODATA,
			       "the preemption model is not shown: /sys/kernel/debug/sched/preempt "
			       "cannot be read, and the configuration is not known");
	look_fact(l, "preemption", "%s", model);
	if (strcmp(model, "none") == 0 || strcmp(model, "voluntary") == 0) {
		look_found(l, SEVERITY_WARN, AFFECTS_WAKEUP, "the preemption model is \"%s\"",
			   model);
		look_why(l, "a wake-up waits until the kernel gives way by itself: milliseconds");
		if (strstr(version, "PREEMPT_DYNAMIC"))
			look_mend(l, "echo full > /sys/kernel/debug/sched/preempt");
		else
			look_mend(l, "boot a kernel with CONFIG_PREEMPT or CONFIG_PREEMPT_RT");
		return 0;
	}
	look_found(l, SEVERITY_NOTE, AFFECTS_WAKEUP,
		   "the preemption model is \"%s\", not PREEMPT_RT", model);
	look_why(l, "softirqs and spinlocks delay a wake-up without a bound: no maximum is one");
	look_mend(l, "boot a kernel with CONFIG_PREEMPT_RT");
	return 0;
}

const struct check check_preemption = {
	.name = "preemption",
	.help = "PREEMPT_RT, or the live preemption model",
	.reads = "/sys/kernel/realtime, /sys/kernel/debug/sched/preempt, /proc/sys/kernel/version",
	.look = look_preemption,
	.again = true,
};

static int look_debugging(struct look *l, struct err *e)
{
	static const char *const names[] = { "PROVE_LOCKING",
					     "LOCKDEP",
					     "DEBUG_LOCK_ALLOC",
					     "LOCK_STAT",
					     "KASAN",
					     "KCSAN",
					     "KMSAN",
					     "UBSAN",
					     "DEBUG_KMEMLEAK",
					     "DEBUG_PAGEALLOC",
					     "SLUB_DEBUG_ON",
					     "DEBUG_OBJECTS",
					     "DEBUG_ATOMIC_SLEEP",
					     "DEBUG_PREEMPT",
					     "DEBUG_IRQFLAGS",
					     "DEBUG_SPINLOCK",
					     "DEBUG_MUTEXES",
					     "PROVE_RCU",
					     "GCOV_KERNEL",
					     "FAULT_INJECTION" };
	_cleanup_(buf_release) struct buf set = {};
	size_t nr = 0;

	if (!look_config(l, e))
		return e->code;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (look_option(l, names[i]))
			look_list(&set, nr++, 6, names[i]);
	if (nr) {
		look_found(l, SEVERITY_WARN, AFFECTS_ALL, "the kernel is built with debugging: %s",
			   buf_str(&set));
		look_why(l, "it slows the paths under test, some far more than others");
		look_mend(l, "boot a kernel without these options");
	}
	return 0;
}

const struct check check_debugging = {
	.name = "debugging",
	.help = "lockdep, KASAN and other debugging built into the kernel",
	.reads = "/proc/config.gz and its like",
	.look = look_debugging,
};

static const char *tracing_root(struct look *l)
{
	return look_exists(l, ROOT_SYS, "kernel/tracing/current_tracer") ? "kernel/tracing"
									 : "kernel/debug/tracing";
}

static void look_tracer(struct look *l, const char *tracer, const char *root)
{
	_cleanup_(buf_release) struct buf file = {};

	if (strcmp(tracer, "nop") == 0)
		return;
	buf_printf(&file, "/sys/%s/current_tracer", root);
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "the tracer %s is running", tracer);
	look_why(l, "every function or switch it records takes time inside what is measured");
	look_mend(l, "echo nop > %s", buf_str(&file));
	look_knob(l, "file", "path", buf_str(&file), "value", "nop", NULL);
}

/* "0": none; "X": some, which set_event lists as "sched:sched_switch", one a line. */
static void look_events(struct look *l, const char *root)
{
	_cleanup_(buf_release) struct buf path = {}, list = {}, names = {};
	_cleanup_(freep) char *enabled = NULL;
	struct err ignored = {};
	size_t nr = 0;

	buf_printf(&path, "%s/events/enable", root);
	enabled = look_line(l, ROOT_SYS, buf_str(&path), &ignored);
	if (!enabled || strcmp(enabled, "0") == 0)
		return;
	buf_reset(&path);
	buf_printf(&path, "%s/set_event", root);
	look_text(l, ROOT_SYS, buf_str(&path), &list, &ignored);
	for (const char *p = buf_str(&list); *p; p += strcspn(p, "\n"), p += *p == '\n') {
		_cleanup_(freep) char *name = strndup(p, strcspn(p, "\n"));

		/* on for ever once a BPF program that may print was loaded; free until it prints */
		if (name && strcmp(name, "bpf_trace:bpf_trace_printk") != 0)
			look_list(&names, nr++, EVENTS_MAX, name);
	}
	if (list.len && !nr)
		return;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "trace events are enabled%s%s", nr ? ": " : "",
		   buf_str(&names));
	look_why(l, "each of them is written to a buffer inside what is measured");
	look_mend(l, "echo > /sys/%s/set_event", root);
}

static int look_tracing(struct look *l, struct err *e)
{
	const char *root = tracing_root(l);
	_cleanup_(buf_release) struct buf path = {};
	_cleanup_(freep) char *tracer = NULL;
	struct err ignored = {};
	uint64_t stats = 0;

	if (look_u64(l, ROOT_PROC, "sys/kernel/bpf_stats_enabled", &stats, &ignored) && stats) {
		look_found(l, SEVERITY_NOTE, AFFECTS_ALL, "statistics of BPF programs are on");
		look_why(l, "two readings of the clock are added to every run of a BPF program");
		look_mend(l, "sysctl -w kernel.bpf_stats_enabled=0");
		look_knob(l, "sysctl", "kernel.bpf_stats_enabled", "0", NULL);
	}
	buf_printf(&path, "%s/current_tracer", root);
	tracer = look_line(l, ROOT_SYS, buf_str(&path), e);
	if (!tracer)
		return e->code;
	look_fact(l, "tracer", "%s", tracer);
	look_tracer(l, tracer, root);
	look_events(l, root);
	return 0;
}

const struct check check_tracing = {
	.name = "tracing",
	.help = "ftrace tracers and events, BPF statistics that are left on",
	.reads =
		"/sys/kernel/tracing/{current_tracer,events/enable,set_event}, kernel.bpf_stats_enabled",
	.look = look_tracing,
	.again = true,
};

/* [ns] of the first clock; 0: it is not said. */
static uint64_t resolution_of(const char *text)
{
	const char *at = strstr(text, ".resolution:");

	return at ? strtoull(at + strlen(".resolution:"), NULL, 10) : 0;
}

static int look_timers(struct look *l, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	uint64_t ns;

	look_fact_file(l, "timer_migration", ROOT_PROC, "sys/kernel/timer_migration");
	if (!look_text(l, ROOT_PROC, "timer_list", &text, e))
		return e->code;
	ns = resolution_of(buf_str(&text));
	if (!ns)
		return err_set(e, -EBADMSG, "/proc/timer_list does not say the resolution");
	look_fact(l, "timer_resolution_ns", "%llu", (unsigned long long)ns);
	if (ns < 100000)
		return 0;
	look_found(l, SEVERITY_VETO, AFFECTS_WAKEUP, "timers have a resolution of %llu us",
		   (unsigned long long)(ns / 1000));
	look_why(l, "wake-ups come with the tick: their latency is that of the tick");
	look_mend(l, "boot without highres=off, on a kernel with CONFIG_HIGH_RES_TIMERS");
	return 0;
}

const struct check check_timers = {
	.name = "timers",
	.help = "high-resolution timers",
	.reads = "/proc/timer_list (root)",
	.look = look_timers,
};

static int look_irq_time(struct look *l, struct err *e)
{
	_cleanup_(freep) char *tsc = look_boot(l, "tsc");
	bool gen, native, exact;

	if (!look_config(l, e))
		return e->code;
	gen = look_option(l, "VIRT_CPU_ACCOUNTING_GEN");
	native = look_option(l, "VIRT_CPU_ACCOUNTING_NATIVE");
	exact = native ||
		(look_option(l, "IRQ_TIME_ACCOUNTING") && !(tsc && strstr(tsc, "noirqtime")));
	look_fact(l, "irq_time", "%s", exact ? "exact" : "sampled at ticks");
	if (exact)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_CPU, "time in interrupts is sampled at ticks%s",
		   gen ? " (CONFIG_VIRT_CPU_ACCOUNTING_GEN counts tasks exactly, interrupts not)"
		       : "");
	look_why(l, "cpu.irq and cpu.softirq miss what begins and ends between two ticks");
	look_mend(l, "boot a kernel with CONFIG_IRQ_TIME_ACCOUNTING, without tsc=noirqtime");
	return 0;
}

const struct check check_irq_time = {
	.name = "irq-time",
	.help = "whether time in interrupts and softirqs is measured or sampled",
	.reads = "/proc/config.gz and its like, /proc/cmdline",
	.look = look_irq_time,
};
