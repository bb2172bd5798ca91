// SPDX-License-Identifier: GPL-3.0-or-later
/* Frequency and idle states. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit/check.h"
#include "audit/percpu.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#define CPU "devices/system/cpu/"

/* The knob of this name, where there is one; else a file for each CPU. */
static void mend_governor(struct look *l, const struct percpu *p)
{
	look_mend(l, "cpupower frequency-set -g performance");
	if (look_knob(l, "power", "governor", "performance", NULL))
		return;
	for (size_t i = 0; i < p->nr; i++) {
		if (strcmp(p->v[i].text, "performance") == 0)
			continue;
		for (size_t k = 0; k < p->v[i].cpus.nr; k++) {
			char path[128];

			snprintf(path, sizeof(path), "/sys/" CPU "cpu%u/cpufreq/scaling_governor",
				 p->v[i].cpus.cpus[k]);
			look_knob(l, "file", "path", path, "value", "performance", NULL);
		}
	}
}

static int look_governor(struct look *l, struct err *e)
{
	_cleanup_(percpu_release) struct percpu p = {};
	_cleanup_(buf_release) struct buf text = {};

	if (!percpu_read(l, "cpufreq/scaling_governor", &p, e))
		return e->code == -ENODEV
			       ? look_absent(l, e, "no frequency can be set here (no cpufreq)")
			       : e->code;
	percpu_format(&p, &text);
	look_fact(l, "governor", "%s", buf_str(&text));
	look_fact_file(l, "freq_driver", ROOT_SYS, CPU "cpu0/cpufreq/scaling_driver");
	look_fact_file(l, "freq_min_khz", ROOT_SYS, CPU "cpu0/cpufreq/scaling_min_freq");
	look_fact_file(l, "freq_max_khz", ROOT_SYS, CPU "cpu0/cpufreq/scaling_max_freq");
	look_fact_file(l, "energy_preference", ROOT_SYS,
		       CPU "cpu0/cpufreq/energy_performance_preference");
	if (p.nr == 1 && strcmp(p.v[0].text, "performance") == 0)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_ALL, "the frequency governor is %s", buf_str(&text));
	look_why(l, "the frequency follows the load: a variant that loads a CPU more may look "
		    "faster for it");
	mend_governor(l, &p);
	return 0;
}

const struct check check_governor = {
	.name = "governor",
	.help = "the governor of CPU frequencies, its driver and bounds",
	.reads = "/sys/" CPU "cpu*/cpufreq/scaling_*",
	.look = look_governor,
	.again = true,
};

static int look_turbo(struct look *l, struct err *e)
{
	static const struct {
		const char *path;
		uint64_t on;
		const char *off;
	} places[] = {
		{ CPU "intel_pstate/no_turbo", 0, "1" },
		{ CPU "cpufreq/boost", 1, "0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_(buf_release) struct buf file = {};
		struct err ignored = {};
		uint64_t v = 0;

		if (!look_u64(l, ROOT_SYS, places[i].path, &v, &ignored))
			continue;
		look_fact(l, "turbo", "%s", v == places[i].on ? "on" : "off");
		if (v != places[i].on)
			return 0;
		buf_printf(&file, "/sys/%s", places[i].path);
		look_found(l, SEVERITY_WARN, AFFECTS_ALL, "turbo frequencies are on");
		look_why(l, "the frequency depends on heat and on how many cores are awake");
		look_mend(l, "echo %s > %s", places[i].off, buf_str(&file));
		if (!look_knob(l, "power", "boost", "off", NULL))
			look_knob(l, "file", "path", buf_str(&file), "value", places[i].off, NULL);
		return 0;
	}
	if (!look_exists(l, ROOT_SYS, CPU "online"))
		return err_set(e, -ENOENT, "/sys/" CPU "cpufreq cannot be read");
	return look_absent(l, e, "no turbo frequency can be set here");
}

const struct check check_turbo = {
	.name = "turbo",
	.help = "turbo (boost) frequencies",
	.reads = "/sys/" CPU "{intel_pstate/no_turbo,cpufreq/boost}",
	.look = look_turbo,
	.again = true,
};

/* An exit that takes longer than a usual wake-up does. */
#define EXIT_US 10

/* The deepest state of CPU 0 that is not disabled; false: it has no states. */
static bool deepest(struct look *l, struct buf *name, uint64_t *ret_us)
{
	bool any = false;

	for (unsigned int i = 0; i < 16; i++) {
		_cleanup_(freep) char *text = NULL;
		struct err ignored = {};
		uint64_t us = 0, disabled = 0;
		char path[128];

		snprintf(path, sizeof(path), CPU "cpu0/cpuidle/state%u/latency", i);
		if (!look_u64(l, ROOT_SYS, path, &us, &ignored))
			break;
		any = true;
		snprintf(path, sizeof(path), CPU "cpu0/cpuidle/state%u/disable", i);
		if (look_u64(l, ROOT_SYS, path, &disabled, &ignored) && disabled)
			continue;
		snprintf(path, sizeof(path), CPU "cpu0/cpuidle/state%u/name", i);
		text = look_line(l, ROOT_SYS, path, &ignored);
		buf_reset(name);
		buf_puts(name, text ? text : "?");
		*ret_us = us;
	}
	return any;
}

static int look_idle_states(struct look *l, struct err *e)
{
	_cleanup_(buf_release) struct buf name = {};
	uint64_t us = 0;

	if (!look_exists(l, ROOT_SYS, CPU "online"))
		return err_set(e, -ENOENT, "/sys/" CPU " cannot be read");
	look_fact_file(l, "idle_driver", ROOT_SYS, CPU "cpuidle/current_driver");
	look_fact_file(l, "idle_governor", ROOT_SYS, CPU "cpuidle/current_governor");
	if (!deepest(l, &name, &us))
		return look_absent(l, e, "the CPUs have no idle states to choose from");
	look_fact(l, "idle_deepest", "%s, exit %llu us", buf_str(&name), (unsigned long long)us);
	if (us < EXIT_US)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_LATENCY,
		   "idle CPUs may sleep in %s, whose exit takes %llu us", buf_str(&name),
		   (unsigned long long)us);
	look_why(l, "an idle exit is in each latency, and a busier variant has fewer of them; the "
		    "probe wakeup holds CPUs awake with pm-qos, the round trips do not");
	look_mend(l, "cpupower idle-set -D %d, or the option pm-qos of the probe wakeup", EXIT_US);
	look_knob(l, "power", "dma-latency", "0", NULL);
	return 0;
}

const struct check check_idle_states = {
	.name = "idle-states",
	.help = "idle states (C-states) that take long to leave",
	.reads = "/sys/" CPU "cpu0/cpuidle/state*/{name,latency,disable}",
	.look = look_idle_states,
	.again = true,
};
