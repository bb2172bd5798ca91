// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Why the kernel refuses a real-time thread.  EPERM has five causes with five remedies
 * (kernel/sched/syscalls.c, user_check_sched_setscheduler() and __sched_setscheduler()); /proc and
 * /sys tell which of them hold for this process.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "probe/wakeup_lanes.h"

#define CAP_SYS_NICE_BIT 23
#define OR_OTHER "; or measure without real time: policy other"

struct standing {
	bool has_cap;	    /* CAP_SYS_NICE in force */
	bool in_userns;	    /* capabilities count inside a user namespace only */
	bool has_seccomp;   /* a filter may refuse any system call */
	uint64_t limit;	    /* RLIMIT_RTPRIO, soft */
	bool group_is_zero; /* its cpu cgroup may run no real-time thread */
	char group[256];
	bool is_nested; /* in a group of cgroup v2 */
};

/* The number behind "@key" at the start of a line of @text. */
static bool field(const char *text, const char *key, int base, uint64_t *ret)
{
	size_t len = strlen(key);
	const char *p = text;

	while (p && strncmp(p, key, len) != 0) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		return false;
	p += len;
	p += strspn(p, " \t");
	if (!isxdigit((unsigned char)*p))
		return false;
	*ret = strtoull(p, NULL, base);
	return true;
}

static bool read_self(const struct host *host, const char *path, struct buf *text)
{
	struct err ignored = {};

	return kfile_read(host->proc_fd, path, text, &ignored) >= 0;
}

/* The initial user namespace maps everything onto itself: "0 0 4294967295". */
static bool is_first_userns(const char *map)
{
	char *end = NULL;
	bool same = strtoull(map, &end, 10) == 0 && strtoull(end, &end, 10) == 0;

	return same && strtoull(end, &end, 10) == UINT32_MAX;
}

static void look_at_status(const struct host *host, struct standing *s)
{
	_cleanup_(buf_release) struct buf status = {}, map = {}, limits = {};
	uint64_t v = 0;

	if (read_self(host, "self/status", &status)) {
		s->has_cap = field(buf_str(&status), "CapEff:", 16, &v) &&
			     (v >> CAP_SYS_NICE_BIT & 1);
		s->has_seccomp = field(buf_str(&status), "Seccomp:", 10, &v) && v == 2;
	}
	if (read_self(host, "self/uid_map", &map))
		s->in_userns = !is_first_userns(buf_str(&map));
	if (!read_self(host, "self/limits", &limits))
		return;
	if (field(buf_str(&limits), "Max realtime priority", 10, &v))
		s->limit = v;
	else if (strstr(buf_str(&limits), "Max realtime priority     unlimited"))
		s->limit = 99;
}

/* Does the comma-separated @list have the word "cpu"? */
static bool has_cpu_controller(const char *list, size_t len)
{
	for (const char *end = list + len; list < end;) {
		size_t n = strcspn(list, ",:");

		if (n == 3 && strncmp(list, "cpu", 3) == 0)
			return true;
		list += n + 1;
	}
	return false;
}

/* Where a cgroup hierarchy of version 1 with the controller cpu is mounted, by habit. */
static bool runtime_of(const struct host *host, const char *group, uint64_t *ret)
{
	static const char *const mounts[] = { "cpu,cpuacct", "cpu", "cpuacct,cpu" };

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		char path[400];
		struct err ignored = {};

		snprintf(path, sizeof(path), "fs/cgroup/%s%s/cpu.rt_runtime_us", mounts[i],
			 strcmp(group, "/") == 0 ? "" : group);
		if (kfile_read_u64(host->sys_fd, path, ret, &ignored) >= 0)
			return true;
	}
	return false;
}

/* Lines "4:cpu,cpuacct:/user.slice" and "0::/user.slice" (cgroups(7)). */
static void look_at_groups(const struct host *host, struct standing *s)
{
	_cleanup_(buf_release) struct buf text = {};
	uint64_t runtime = 0;

	if (!read_self(host, "self/cgroup", &text))
		return;
	for (const char *p = buf_str(&text); *p;) {
		size_t len = strcspn(p, "\n");
		const char *list = memchr(p, ':', len);
		const char *path = list ? memchr(list + 1, ':', len - (size_t)(list + 1 - p))
					: NULL;

		if (path) {
			size_t n = len - (size_t)(path + 1 - p);
			char group[256];

			snprintf(group, sizeof(group), "%.*s", (int)n, path + 1);
			if (has_cpu_controller(list + 1, (size_t)(path - list - 1)) &&
			    runtime_of(host, group, &runtime) && runtime == 0) {
				s->group_is_zero = true;
				snprintf(s->group, sizeof(s->group), "%s", group);
			}
			if (path == list + 1 && strcmp(group, "/") != 0) {
				s->is_nested = true;
				if (!s->group_is_zero)
					snprintf(s->group, sizeof(s->group), "%s", group);
			}
		}
		p += len + (p[len] == '\n');
	}
}

static int not_permitted(const struct host *host, unsigned int priority, const char *what,
			 struct err *e)
{
	struct standing s = {};

	look_at_status(host, &s);
	look_at_groups(host, &s);
	if ((!s.has_cap || s.in_userns) && s.limit < priority) {
		if (s.has_cap)
			return err_set(e, -EPERM,
				       "%s was refused: CAP_SYS_NICE of a user namespace does not "
				       "count, and RLIMIT_RTPRIO allows %" PRIu64
				       " at most; start the container with --ulimit rtprio=99 or "
				       "outside a user namespace" OR_OTHER,
				       what, s.limit);
		return err_set(e, -EPERM,
			       "%s was refused: no CAP_SYS_NICE, and RLIMIT_RTPRIO allows priority "
			       "%" PRIu64 " at most; run as root, or set rtprio in "
			       "/etc/security/limits.conf, LimitRTPRIO= in a unit, --ulimit "
			       "rtprio=99 for a container" OR_OTHER,
			       what, s.limit);
	}
	if (s.group_is_zero)
		return err_set(e, -EPERM,
			       "%s was refused: its cpu cgroup %.200s has cpu.rt_runtime_us 0 "
			       "(CONFIG_RT_GROUP_SCHED); write 950000 there and into each group "
			       "above it, or leave the group: echo $$ > "
			       "/sys/fs/cgroup/cpu/tasks" OR_OTHER,
			       what, s.group);
	if (s.has_seccomp)
		return err_set(
			e, -EPERM,
			"%s was refused though this process may have it: a seccomp filter is "
			"active; a container needs --cap-add sys_nice or --security-opt "
			"seccomp=unconfined" OR_OTHER,
			what);
	if (s.is_nested)
		return err_set(
			e, -EPERM,
			"%s was refused though this process may have it: with "
			"CONFIG_RT_GROUP_SCHED and cgroup v2 only the root group runs "
			"real-time threads, and this is %.200s; echo $$ > "
			"/sys/fs/cgroup/cgroup.procs, or boot with rt_group_sched=0" OR_OTHER,
			what, s.group);
	return err_set(
		e, -EPERM,
		"%s was refused: it needs root, CAP_SYS_NICE or an RLIMIT_RTPRIO that allows "
		"it; with CONFIG_RT_GROUP_SCHED also a cpu cgroup whose cpu.rt_runtime_us is "
		"not 0" OR_OTHER,
		what);
}

int wakeup_refused(const struct host *host, const struct wakeup_ask *ask, int error, struct err *e)
{
	char where[24] = "", what[64];

	if (ask->cpu >= 0)
		snprintf(where, sizeof(where), " on CPU %d", ask->cpu);
	snprintf(what, sizeof(what), "SCHED_%s %u%s", ask->policy == WAKEUP_RR ? "RR" : "FIFO",
		 ask->priority, where);
	if (error == EPERM)
		return not_permitted(host, ask->priority, what, e);
	if (error == EINVAL)
		return err_set(e, -error,
			       "thread%s was refused: the CPU went offline or is outside this "
			       "process's cpuset; name other cpus",
			       where);
	if (error == EAGAIN || error == ENOMEM)
		return err_set(
			e, -error,
			"thread of priority %u%s: no room for its locked stack of 256 KB or no "
			"more threads allowed; raise ulimit -l and -u",
			ask->priority, where);
	errno = error;
	return err_sys(e, "thread of priority %u%s", ask->priority, where);
}
