// SPDX-License-Identifier: GPL-3.0-or-later
/* The machine below the kernel: clock, hypervisor, CPUs, heat. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/check.h"
#include "audit/percpu.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

#define CLOCKS "devices/system/clocksource/clocksource0/"

static bool is_word_of(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, " "), p += strspn(p, " "))
		if (strncmp(p, word, len) == 0 && (p[len] == ' ' || p[len] == '\0'))
			return true;
	return false;
}

static int look_clocksource(struct look *l, struct err *e)
{
	static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies",
					    "pit" };
	_cleanup_(freep) char *now = look_line(l, ROOT_SYS, CLOCKS "current_clocksource", e);
	struct err ignored = {};
	_cleanup_(freep) char *all =
		look_line(l, ROOT_SYS, CLOCKS "available_clocksource", &ignored);

	if (!now)
		return e->code;
	look_fact(l, "clocksource", "%s", now);
	if (all)
		look_fact(l, "clocksources", "%s", all);
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		if (strcmp(now, slow[i]) != 0)
			continue;
		look_found(l, SEVERITY_WARN, AFFECTS_ALL, "the clock is %s", now);
		look_why(l,
			 "a reading takes a microsecond or more, inside every wake-up and packet");
		if (all && is_word_of(all, "tsc")) {
			look_mend(l, "echo tsc > /sys/" CLOCKS "current_clocksource");
			look_knob(l, "file", "path", "/sys/" CLOCKS "current_clocksource", "value",
				  "tsc", NULL);
		} else {
			look_mend(l, "dmesg | grep -i tsc says why the TSC is not used (unstable)");
		}
		return 0;
	}
	return 0;
}

const struct check check_clocksource = {
	.name = "clocksource",
	.help = "a clock that is slow to read, a TSC that the kernel found unstable",
	.reads = "/sys/" CLOCKS "{current,available}_clocksource",
	.look = look_clocksource,
	.again = true,
};

/* Makers of virtual machines as they write it into their firmware tables. */
static const char *virtual_vendor(const char *vendor)
{
	static const char *const names[] = { "QEMU",  "VMware",	    "innotek",
					     "Xen",   "Amazon EC2", "Google",
					     "Bochs", "Parallels",  "OpenStack" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(vendor, names[i]))
			return names[i];
	return NULL;
}

/* What says that this is a virtual machine, into @out; nothing: nothing does. */
static void signs(struct look *l, struct buf *out)
{
	struct err ignored = {};
	_cleanup_(freep) char *type = look_line(l, ROOT_SYS, "hypervisor/type", &ignored);
	_cleanup_(freep) char *vendor = look_line(l, ROOT_SYS, "class/dmi/id/sys_vendor", &ignored);
	_cleanup_(freep) char *node =
		look_line(l, ROOT_PROC, "device-tree/hypervisor/compatible", &ignored);
	_cleanup_(buf_release) struct buf cpuinfo = {};

	if (type)
		look_fact(l, "hypervisor", "%s", type);
	if (vendor)
		look_fact(l, "vendor", "%s", vendor);
	look_fact_file(l, "product", ROOT_SYS, "class/dmi/id/product_name");
	look_fact_file(l, "board", ROOT_PROC, "device-tree/model");
	look_fact_file(l, "bios", ROOT_SYS, "class/dmi/id/bios_version");
	if (type)
		buf_printf(out, "%s", type);
	else if (vendor && virtual_vendor(vendor))
		buf_printf(out, "%s", virtual_vendor(vendor));
	else if (node)
		buf_printf(out, "%s", node);
	else if (look_text(l, ROOT_PROC, "cpuinfo", &cpuinfo, &ignored)) {
		const char *flags = strstr(buf_str(&cpuinfo), "\nflags");
		_cleanup_(freep) char *line = flags ? strndup(flags + 1, strcspn(flags + 1, "\n"))
						    : NULL;

		if (line && is_word_of(line, "hypervisor"))
			buf_puts(out, "the CPU says so");
	}
}

static int look_hypervisor(struct look *l, struct err *e)
{
	_cleanup_(buf_release) struct buf what = {};

	if (!look_exists(l, ROOT_PROC, "cpuinfo") &&
	    !look_exists(l, ROOT_SYS, "devices/system/cpu"))
		return err_set(e, -ENOENT, "neither /proc/cpuinfo nor /sys can be read");
	signs(l, &what);
	look_fact(l, "virtual", "%s", what.len ? "yes" : "no");
	if (!what.len)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "this is a virtual machine (%s)", buf_str(&what));
	look_why(l, "the hypervisor takes CPUs away unseen: maxima and tails are its, and "
		    "differences need more trials");
	look_mend(l, "measure on hardware, or give the machine CPUs and memory of its own");
	return 0;
}

const struct check check_hypervisor = {
	.name = "hypervisor",
	.help = "a virtual machine",
	.reads = "/sys/hypervisor/type, /sys/class/dmi/id/sys_vendor, device tree, CPU flags",
	.look = look_hypervisor,
};

/* User, nice, system, idle, iowait, irq, softirq, steal: the first line of /proc/stat. */
static bool stat_times(const char *text, uint64_t v[8])
{
	const char *p = text;

	if (strncmp(p, "cpu ", 4) != 0)
		return false;
	p += 4;
	for (size_t i = 0; i < 8; i++) {
		char *end;

		v[i] = strtoull(p, &end, 10);
		if (end == p)
			return false;
		p = end;
	}
	return true;
}

static int look_steal(struct look *l, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	uint64_t v[8] = {}, busy;
	double share;

	if (!look_text(l, ROOT_PROC, "stat", &text, e))
		return e->code;
	if (!stat_times(buf_str(&text), v))
		return err_set(e, -EBADMSG, "/proc/stat has no line of all CPUs");
	busy = v[0] + v[1] + v[2] + v[5] + v[6] + v[7];
	share = busy ? (double)v[7] / (double)busy : 0;
	look_now(l, "steal", "%.4f", share);
	if (share < 0.001)
		return 0;
	look_found(l, share < 0.02 ? SEVERITY_NOTE : SEVERITY_WARN, AFFECTS_ALL,
		   "the hypervisor took %.1f %% of the busy time since boot (steal)", share * 100);
	look_why(l, "stolen time is in every latency, and no variant caused it");
	look_mend(l,
		  "less on the host, or CPUs of its own; \"discard: { steal: 1%% }\" in the plan");
	return 0;
}

const struct check check_steal = {
	.name = "steal",
	.help = "CPU time that a hypervisor has taken",
	.reads = "/proc/stat",
	.look = look_steal,
};

static int look_mitigations(struct look *l, struct err *e)
{
	static const char *const names[] = { "meltdown",
					     "spectre_v1",
					     "spectre_v2",
					     "mds",
					     "retbleed",
					     "srbds",
					     "l1tf",
					     "spec_store_bypass",
					     "mmio_stale_data",
					     "gather_data_sampling",
					     "tsa",
					     "indirect_target_selection",
					     "vmscape" };
	size_t nr = 0;

	look_fact_file(l, "microcode", ROOT_SYS, "devices/system/cpu/cpu0/microcode/version");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(buf_release) struct buf path = {}, key = {};

		buf_printf(&path, "devices/system/cpu/vulnerabilities/%s", names[i]);
		buf_printf(&key, "mitigation.%s", names[i]);
		if (!look_exists(l, ROOT_SYS, buf_str(&path)))
			continue;
		look_fact_file(l, buf_str(&key), ROOT_SYS, buf_str(&path));
		nr++;
	}
	return nr ? 0 : err_set(e, -ENOENT, "/sys/devices/system/cpu/vulnerabilities is not there");
}

const struct check check_mitigations = {
	.name = "mitigations",
	.help = "mitigations of CPU faults and microcode, for the difference between two runs",
	.reads = "/sys/devices/system/cpu/vulnerabilities, .../cpu0/microcode/version",
	.look = look_mitigations,
};

static int look_smt(struct look *l, struct err *e)
{
	uint64_t active = 0;

	if (!look_u64(l, ROOT_SYS, "devices/system/cpu/smt/active", &active, e))
		return e->code;
	look_fact_file(l, "smt", ROOT_SYS, "devices/system/cpu/smt/control");
	look_fact(l, "smt_active", "%llu", (unsigned long long)active);
	if (!active)
		return 0;
	look_found(l, SEVERITY_NOTE, AFFECTS_ALL, "two threads share each core (SMT)");
	look_why(l, "what the neighbour does slows the CPU under test by up to a half");
	look_mend(l, "echo off > /sys/devices/system/cpu/smt/control");
	return 0;
}

const struct check check_smt = {
	.name = "smt",
	.help = "threads that share a core",
	.reads = "/sys/devices/system/cpu/smt/{active,control}",
	.look = look_smt,
	.again = true,
};

static int look_numa(struct look *l, struct err *e)
{
	_cleanup_(freep) char *nodes = look_line(l, ROOT_SYS, "devices/system/node/online", e);
	struct err ignored = {};
	uint64_t balancing = 0;

	if (!nodes)
		return look_absent(l, e, "the machine has no NUMA nodes");
	look_fact(l, "numa_nodes", "%s", nodes);
	look_fact_file(l, "numa_balancing", ROOT_PROC, "sys/kernel/numa_balancing");
	if (strcmp(nodes, "0") == 0 ||
	    !look_u64(l, ROOT_PROC, "sys/kernel/numa_balancing", &balancing, &ignored) ||
	    !balancing)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "memory is moved between NUMA nodes %s", nodes);
	look_why(l, "pages of the programs measured are unmapped and moved while they run");
	look_mend(l, "sysctl -w kernel.numa_balancing=0");
	look_knob(l, "sysctl", "kernel.numa_balancing", "0", NULL);
	return 0;
}

const struct check check_numa = {
	.name = "numa",
	.help = "NUMA nodes and the moving of memory between them",
	.reads = "/sys/devices/system/node/online, kernel.numa_balancing",
	.look = look_numa,
	.again = true,
};

static uint64_t sum_of(const struct percpu *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr; i++) {
		uint64_t v = 0;

		if (text_u64(p->v[i].text, &v) >= 0)
			sum += v * p->v[i].cpus.nr;
	}
	return sum;
}

/* On arm there is no counter; the heat itself is there. */
static int look_thermal(struct look *l, struct err *e)
{
	_cleanup_(percpu_release) struct percpu core = {}, package = {};
	struct err ignored = {};
	uint64_t sum;

	if (!percpu_read(l, "thermal_throttle/core_throttle_count", &core, e))
		return e->code;
	percpu_read(l, "thermal_throttle/package_throttle_count", &package, &ignored);
	sum = sum_of(&core) + sum_of(&package);
	look_now(l, "thermal_throttles", "%llu", (unsigned long long)sum);
	if (!sum)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL,
		   "CPUs were slowed by heat since boot (counted %llu times over all CPUs)",
		   (unsigned long long)sum);
	look_why(l,
		 "a slowed CPU looks like a worse variant; blocks pair trials, but not within one");
	look_mend(l, "cool it, or bound the frequency: cpupower frequency-set -u FREQUENCY");
	return 0;
}

const struct check check_thermal = {
	.name = "thermal",
	.help = "CPUs that were slowed by heat so far",
	.reads = "/sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count",
	.look = look_thermal,
	.again = true,
};
