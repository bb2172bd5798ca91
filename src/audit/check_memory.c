// SPDX-License-Identifier: GPL-3.0-or-later
/* Memory, and what else the machine is doing. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/check.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

#define KIB_LOW (64U << 10)

/* [KiB] of /proc/meminfo; false: no such line. */
static bool meminfo(const char *text, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, key);
	char *end;

	if (!at || (at != text && at[-1] != '\n') || at[strlen(key)] != ':')
		return false;
	at += strlen(key) + 1;
	*ret = strtoull(at, &end, 10);
	return end != at;
}

static int look_memory(struct look *l, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	uint64_t total = 0, available = 0, swap = 0, swap_free = 0;

	if (!look_text(l, ROOT_PROC, "meminfo", &text, e))
		return e->code;
	if (!meminfo(buf_str(&text), "MemTotal", &total) ||
	    !meminfo(buf_str(&text), "MemAvailable", &available))
		return err_set(e, -EBADMSG, "/proc/meminfo does not say what is available");
	look_fact(l, "memory_kib", "%" PRIu64, total);
	look_now(l, "memory_available_kib", "%" PRIu64, available);
	if (meminfo(buf_str(&text), "SwapTotal", &swap) &&
	    meminfo(buf_str(&text), "SwapFree", &swap_free)) {
		look_fact(l, "swap", "%s", swap ? "yes" : "no");
		if (swap > swap_free) {
			look_found(l, SEVERITY_NOTE, AFFECTS_LATENCY,
				   "%" PRIu64 " MiB are swapped out", (swap - swap_free) / 1024);
			look_why(l,
				 "a page that comes back from a disk is milliseconds of latency");
			look_mend(l, "swapoff -a");
		}
	}
	if (available >= KIB_LOW && available >= total / 20)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "only %" PRIu64 " MiB of memory are available",
		   available / 1024);
	look_why(l, "the kernel looks for pages to free inside the paths that are measured");
	look_mend(l, "end what is not needed");
	return 0;
}

const struct check check_memory = {
	.name = "memory",
	.help = "free memory and swap",
	.reads = "/proc/meminfo",
	.look = look_memory,
};

static int look_hugepages(struct look *l, struct err *e)
{
	static const char thp[] = "kernel/mm/transparent_hugepage/enabled";
	_cleanup_(freep) char *text = look_line(l, ROOT_SYS, thp, e);
	struct err ignored = {};
	uint64_t ksm = 0;

	if (look_u64(l, ROOT_SYS, "kernel/mm/ksm/run", &ksm, &ignored)) {
		look_fact(l, "ksm", "%" PRIu64, ksm);
		if (ksm == 1) {
			look_found(l, SEVERITY_WARN, AFFECTS_ALL, "equal pages are merged (ksmd)");
			look_why(l, "a thread scans memory all the time and evicts caches");
			look_mend(l, "echo 0 > /sys/kernel/mm/ksm/run");
			look_knob(l, "file", "path", "/sys/kernel/mm/ksm/run", "value", "0", NULL);
		}
	}
	if (!text)
		return look_exists(l, ROOT_SYS, "kernel/mm")
			       ? look_absent(l, e, "the kernel has no transparent huge pages")
			       : e->code;
	look_fact(l, "hugepages", "%s", text);
	if (!strstr(text, "[always]"))
		return 0;
	look_found(l, SEVERITY_NOTE, AFFECTS_LATENCY, "transparent huge pages are \"always\"");
	look_why(l, "khugepaged moves pages of running programs, and a fault may zero 2 MiB");
	look_mend(l, "echo madvise > /sys/%s", thp);
	look_knob(l, "file", "path", "/sys/kernel/mm/transparent_hugepage/enabled", "value",
		  "madvise", NULL);
	return 0;
}

const struct check check_hugepages = {
	.name = "hugepages",
	.help = "transparent huge pages, merging of equal pages",
	.reads = "/sys/kernel/mm/{transparent_hugepage/enabled,ksm/run}",
	.look = look_hugepages,
	.again = true,
};

/* Ticks in use and all ticks of the first line of /proc/stat; guest time is in user already. */
static bool ticks(const char *text, uint64_t *ret_busy, uint64_t *ret_all)
{
	uint64_t busy = 0, all = 0;
	const char *p = text + 4;

	if (strncmp(text, "cpu ", 4) != 0)
		return false;
	for (size_t i = 0; i < 8; i++) {
		char *end;
		uint64_t v = strtoull(p, &end, 10);

		if (end == p)
			return false;
		all += v;
		busy += i == 3 || i == 4 ? 0 : v;
		p = end;
	}
	*ret_busy = busy;
	*ret_all = all;
	return true;
}

static bool read_ticks(struct look *l, uint64_t *busy, uint64_t *all, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};

	return look_text(l, ROOT_PROC, "stat", &text, e) && ticks(buf_str(&text), busy, all);
}

/* Number of lines "cpuN" of /proc/stat. */
static unsigned int cpus_of(struct look *l)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err ignored = {};
	unsigned int nr = 0;

	if (!look_text(l, ROOT_PROC, "stat", &text, &ignored))
		return 0;
	for (const char *p = buf_str(&text); (p = strstr(p, "\ncpu")); p++)
		nr++;
	return nr;
}

static void say_busy(struct look *l, double busy_cpus)
{
	if (busy_cpus < 0.05)
		return;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "other work takes %.2f CPUs just now", busy_cpus);
	look_why(l, "it is in the latencies of whichever variant runs beside it");
	look_mend(l, "end it (top shows what it is), or wait until it has ended");
}

static int look_load(struct look *l, struct err *e)
{
	_cleanup_(freep) char *average = look_line(l, ROOT_PROC, "loadavg", e);
	uint64_t busy[2] = {}, all[2] = {};
	unsigned int cpus = cpus_of(l);
	double load = 0;

	if (!average)
		return e->code;
	load = strtod(average, NULL);
	look_now(l, "load", "%.2f", load);
	if (l->scope->look_ns && read_ticks(l, &busy[0], &all[0], e)) {
		struct timespec t = clock_timespec(l->scope->look_ns);

		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
		if (read_ticks(l, &busy[1], &all[1], e) && all[1] > all[0]) {
			double share = (double)(busy[1] - busy[0]) / (double)(all[1] - all[0]);

			look_now(l, "busy", "%.4f", share);
			say_busy(l, share * cpus);
			return 0;
		}
	}
	if (load < 0.5 || (cpus && load < 0.1 * cpus))
		return 0;
	look_found(l, SEVERITY_NOTE, AFFECTS_ALL, "the load of the last minute was %.2f", load);
	look_why(
		l,
		"if that work goes on, it is in the latencies of whichever variant runs beside it");
	look_mend(l, "end it (top shows what it is), or wait until it has ended");
	return 0;
}

const struct check check_load = {
	.name = "load",
	.help = "other work on the machine: the load, and the use of CPUs in a short look",
	.reads = "/proc/loadavg, /proc/stat",
	.look = look_load,
};
