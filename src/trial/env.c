// SPDX-License-Identifier: GPL-3.0-or-later
#include <json-c/json.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/kfile.h"
#include "trial/bench.h"

/* Files whose one line describes the machine; an absent one is left out. */
static const struct {
	const char *key;
	bool sys; /* below /sys, else below /proc */
	const char *path;
} lines[] = {
	{ "cmdline", false, "cmdline" },
	{ "clocksource", true, "devices/system/clocksource/clocksource0/current_clocksource" },
	{ "governor", true, "devices/system/cpu/cpu0/cpufreq/scaling_governor" },
	{ "realtime", true, "kernel/realtime" },
	{ "congestion", false, "sys/net/ipv4/tcp_congestion_control" },
	{ "rt_runtime_us", false, "sys/kernel/sched_rt_runtime_us" },
	{ "smt", true, "devices/system/cpu/smt/control" },
	{ "hypervisor", true, "hypervisor/type" },
};

static void add_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, json_object_new_string(value));
}

/* "model name" (x86), "Processor" or "CPU implementer" (arm) of /proc/cpuinfo. */
static void add_cpu_model(struct json_object *o, int proc_fd)
{
	static const char *const keys[] = { "model name", "Processor", "uarch", "CPU part" };
	_cleanup_(buf_release) struct buf text = {};
	struct err e = {};

	if (kfile_read(proc_fd, "cpuinfo", &text, &e) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char *at = strstr(buf_str(&text), keys[i]);
		char *colon = at ? strchr(at, ':') : NULL;

		if (!colon || strcspn(at, "\n") < (size_t)(colon - at))
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = '\0';
		add_text(o, "cpu_model", colon);
		return;
	}
}

struct json_object *host_env(const struct host *h)
{
	struct json_object *o = json_object_new_object();
	_cleanup_(cpuset_release) struct cpuset online = {};
	struct utsname u = {};
	struct err e = {};

	if (uname(&u) == 0) { /* nodename is personal and stays here */
		add_text(o, "sysname", u.sysname);
		add_text(o, "release", u.release);
		add_text(o, "version", u.version);
		add_text(o, "machine", u.machine);
	}
	if (cpuset_online(h->sys_fd, &online, &e) == 0)
		json_object_object_add(o, "cpus", json_object_new_uint64(online.nr));
	add_cpu_model(o, h->proc_fd);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_(freep) char *line = NULL;

		if (kfile_read_line(lines[i].sys ? h->sys_fd : h->proc_fd, lines[i].path, &line,
				    &e) == 0)
			add_text(o, lines[i].key, line);
	}
	return o;
}

struct json_object *bench_env(const struct bench *b)
{
	return host_env(&b->host);
}
