// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/procthread.h"

/*
 * Targets and values, in the order in which they are set:
 *	controller			on, off: cpuset in the root's cgroup.subtree_control
 *	group NAME			present, absent
 *	cpus NAME			CPU list of cpuset.cpus
 *	partition NAME			member, root, isolated
 *	process PID:STARTTIME:COMM	path of the group it is in
 *
 * NAME is "irqlab-" and the instance's name.  Source: Documentation/admin-guide/cgroup-v2.rst.
 */

#define PREFIX "irqlab-"
#define PATH_SIZE 512

struct cpuset_cfg {
	char *name;
	char *cpus;
	int partition;
	struct str_list move;
};

static const char *const partitions[] = { "member", "root", "isolated", NULL };

static const struct opt cpuset_options[] = {
	{ "name", OPT_STRING, offsetof(struct cpuset_cfg, name), "shield",
	  "name of the group, which is made as irqlab-NAME" },
	{ "cpus", OPT_CPUS, offsetof(struct cpuset_cfg, cpus), NULL, "its CPUs" },
	{ "partition", OPT_ENUM, offsetof(struct cpuset_cfg, partition), "member",
	  "isolated: nobody else runs there, and no load balancing; root: nobody else", 0, 0,
	  partitions },
	{ "move", OPT_STRINGS, offsetof(struct cpuset_cfg, move), "",
	  "names of the processes to move there, patterns" },
	{},
};

/* Where cgroup v2 is mounted, below /sys; NULL: nowhere. */
static const char *find_root(const struct host *host)
{
	static const char *const places[] = { "fs/cgroup", "fs/cgroup/unified" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), "%s/cgroup.controllers", places[i]);
		if (faccessat(host->sys_fd, path, F_OK, 0) == 0)
			return places[i];
	}
	return NULL;
}

static int no_root(struct err *e)
{
	return err_set(e, -ENOTSUP,
		       "cgroup v2 is not mounted on /sys/fs/cgroup: mount -t cgroup2 none "
		       "/sys/fs/cgroup; until then knob thread sets the CPUs of threads");
}

/* The path of @file in group @group ("" is the root); false when there is no cgroup v2. */
static bool group_path(const struct host *host, const char *group, const char *file,
		       char ret[static PATH_SIZE])
{
	const char *root = find_root(host);

	while (*group == '/')
		group++;
	if (root)
		snprintf(ret, PATH_SIZE, "%s/%s%s%s", root, group, *group && *file ? "/" : "",
			 file);
	return root;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	while (*text) {
		size_t n = strcspn(text, " \n");

		if (n == len && memcmp(text, word, len) == 0)
			return true;
		text += n + strspn(text + n, " \n");
	}
	return false;
}

static int read_group_file(const struct host *host, const char *group, const char *file, char **ret,
			   struct err *e)
{
	char path[PATH_SIZE];

	return group_path(host, group, file, path) ? kfile_read_line(host->sys_fd, path, ret, e)
						   : no_root(e);
}

static int write_group_file(const struct host *host, const char *group, const char *file,
			    const char *value, struct err *e)
{
	char path[PATH_SIZE];

	/* a write of no bytes does nothing */
	return group_path(host, group, file, path)
		       ? kfile_write(host->sys_fd, path, *value ? value : "\n", e)
		       : no_root(e);
}

struct target {
	enum {
		TARGET_CONTROLLER,
		TARGET_GROUP,
		TARGET_CPUS,
		TARGET_PARTITION,
		TARGET_PROCESS,
	} kind;
	const char *name; /* of the group or the process */
	int pid;
	uint64_t start;
};

static const struct {
	const char *word, *file;
} kinds[] = {
	[TARGET_CONTROLLER] = { "controller", "cgroup.subtree_control" },
	[TARGET_GROUP] = { "group ", "" },
	[TARGET_CPUS] = { "cpus ", "cpuset.cpus" },
	[TARGET_PARTITION] = { "partition ", "cpuset.cpus.partition" },
	[TARGET_PROCESS] = { "process ", "cgroup.procs" },
};

static bool parse_process(struct target *t)
{
	char *end, *name;

	t->pid = (int)strtol(t->name, &end, 10);
	if (t->pid <= 0 || *end != ':')
		return false;
	t->start = strtoull(end + 1, &name, 10);
	t->name = name + 1;
	return *name == ':';
}

static int parse_target(const char *text, struct target *ret, struct err *e)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t len = strlen(kinds[i].word);
		struct target t = { .kind = i, .name = text + len };
		bool ours;

		if (strncmp(text, kinds[i].word, len) != 0)
			continue;
		if (i == TARGET_CONTROLLER)
			ours = !*t.name;
		else if (i == TARGET_PROCESS)
			ours = parse_process(&t);
		else
			ours = strncmp(t.name, PREFIX, strlen(PREFIX)) == 0 && !strchr(t.name, '/');
		if (!ours)
			break;
		*ret = t;
		return 0;
	}
	return err_set(e, -EINVAL, "\"%s\" is no target of this knob", text);
}

static int read_controller(const struct host *host, char **ret, struct err *e)
{
	_cleanup_(freep) char *on = NULL;
	int r = read_group_file(host, "", "cgroup.subtree_control", &on, e);

	if (!on)
		return r;
	*ret = strdup(has_word(on, "cpuset") ? "on" : "off");
	return *ret ? 0 : err_nomem(e, "controller");
}

static int read_group(const struct host *host, const char *name, char **ret, struct err *e)
{
	char path[PATH_SIZE];

	if (!group_path(host, name, "", path))
		return no_root(e);
	*ret = strdup(faccessat(host->sys_fd, path, F_OK, 0) == 0 ? "present" : "absent");
	return *ret ? 0 : err_nomem(e, name);
}

static int check_process(const struct host *host, const struct target *t, struct err *e)
{
	struct procthread now = {};
	int r = procthread_read(host->proc_fd, t->pid, &now, e);

	if (r >= 0 && now.start != t->start)
		return err_set(e, -ESRCH, "process %d (%s) has ended; %d is another one (%s) now",
			       t->pid, t->name, t->pid, now.comm);
	return r;
}

/* The line "0::PATH" of its cgroup file. */
static int read_process(const struct host *host, const struct target *t, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	char path[64];
	const char *line;
	int r = check_process(host, t, e);

	snprintf(path, sizeof(path), "%d/cgroup", t->pid);
	if (r >= 0)
		r = kfile_read(host->proc_fd, path, &text, e);
	if (r < 0)
		return r;
	line = buf_str(&text);
	line = strncmp(line, "0::", 3) == 0 ? line : strstr(line, "\n0::");
	if (!line)
		return err_set(e, -ENOTSUP, "process %d (%s) is in no group of cgroup v2", t->pid,
			       t->name);
	line = strchr(line, '/');
	if (!line || strstr(line, "/../"))
		return err_set(e, -ENOTSUP,
			       "the group of process %d (%s) lies outside this cgroup namespace",
			       t->pid, t->name);
	*ret = strndup(line, strcspn(line, "\n"));
	return *ret ? 0 : err_nomem(e, t->name);
}

static int cpuset_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct target t = {};
	int r = parse_target(target, &t, e);

	if (r < 0)
		return r;
	switch (t.kind) {
	case TARGET_CONTROLLER:
		return read_controller(host, ret, e);
	case TARGET_GROUP:
		return read_group(host, t.name, ret, e);
	case TARGET_CPUS:
	case TARGET_PARTITION:
		return read_group_file(host, t.name, kinds[t.kind].file, ret, e);
	case TARGET_PROCESS:
		return read_process(host, &t, ret, e);
	}
	return -EINVAL;
}

/* What was started in the group goes to the root, as when its parent had not been moved. */
static void empty_group(const struct host *host, const char *name)
{
	_cleanup_(freep) char *pids = NULL;
	struct err ignored = {};
	char *rest = NULL;

	if (read_group_file(host, name, "cgroup.procs", &pids, &ignored) < 0)
		return;
	for (char *pid = strtok_r(pids, "\n", &rest); pid; pid = strtok_r(NULL, "\n", &rest))
		write_group_file(host, "", "cgroup.procs", pid, &ignored);
}

static int write_group(const struct host *host, const char *name, bool present, struct err *e)
{
	char path[PATH_SIZE];

	if (!group_path(host, name, "", path))
		return no_root(e);
	if (present)
		return mkdirat(host->sys_fd, path, 0755) < 0 && errno != EEXIST
			       ? err_sys(e, "make control group /sys/%s", path)
			       : 0;
	/* processes may be born meanwhile */
	for (int i = 0; i < 10; i++) {
		if (unlinkat(host->sys_fd, path, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		empty_group(host, name);
	}
	return err_sys(e, "remove control group /sys/%s", path);
}

static int write_process(const struct host *host, const struct target *t, const char *group,
			 struct err *e)
{
	char pid[32], why[sizeof(e->msg)];
	int r = check_process(host, t, e);

	if (r < 0)
		return r;
	snprintf(pid, sizeof(pid), "%d", t->pid);
	r = write_group_file(host, group, "cgroup.procs", pid, e);
	if (r != -EINVAL)
		return r;
	snprintf(why, sizeof(why), "%s", e->msg);
	return err_set(e, r, "%.700s: the kernel has bound process %d (%s) to its CPUs", why,
		       t->pid, t->name);
}

static int cpuset_write(const struct host *host, const char *target, const char *value,
			struct err *e)
{
	struct target t = {};
	int r = parse_target(target, &t, e);

	if (r < 0)
		return r;
	switch (t.kind) {
	case TARGET_CONTROLLER:
		return write_group_file(host, "", kinds[t.kind].file,
					strcmp(value, "on") == 0 ? "+cpuset" : "-cpuset", e);
	case TARGET_GROUP:
		return write_group(host, t.name, strcmp(value, "present") == 0, e);
	case TARGET_CPUS:
	case TARGET_PARTITION:
		return write_group_file(host, t.name, kinds[t.kind].file, value, e);
	case TARGET_PROCESS:
		return write_process(host, &t, value, e);
	}
	return -EINVAL;
}

/* A partition is a word, the rest are lists. */
static bool setting_same(const char *a, const char *b)
{
	return strcmp(a, b) == 0 || cpuset_same(a, b);
}

static int add_process(const struct procthread *t, const char *group, struct knob_settings *l,
		       struct err *e)
{
	char target[128], path[128];

	snprintf(target, sizeof(target), "process %d:%" PRIu64 ":%s", t->tid, t->start, t->comm);
	snprintf(path, sizeof(path), "/%s", group);
	return knob_settings_add(l, target, path, e);
}

static bool is_wanted(const struct str_list *patterns, const char *comm)
{
	for (size_t i = 0; i < patterns->nr; i++)
		if (fnmatch(patterns->v[i], comm, 0) == 0)
			return true;
	return false;
}

static int add_processes(const struct host *host, const struct str_list *patterns,
			 const char *group, struct knob_settings *l, struct err *e)
{
	int fd = openat(host->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedir_dirp) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!d) {
		close_fdp(&fd);
		return err_sys(e, "open /proc");
	}
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		struct procthread t = {};
		uint64_t pid = 0;
		int r;

		if (text_u64(entry->d_name, &pid) < 0 || pid > INT_MAX)
			continue;
		r = procthread_read(host->proc_fd, (int)pid, &t, e);
		if (r == -ESRCH || (r >= 0 && !is_wanted(patterns, t.comm)))
			continue;
		if (r >= 0)
			r = add_process(&t, group, l, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* May cpusets be made here at all? */
static int check_controller(const struct host *host, struct err *e)
{
	_cleanup_(freep) char *all = NULL;
	int r = read_group_file(host, "", "cgroup.controllers", &all, e);

	if (!all)
		return r;
	if (has_word(all, "cpuset"))
		return 0;
	if (faccessat(host->sys_fd, "fs/cgroup/cpuset", F_OK, 0) == 0)
		return err_set(e, -ENOTSUP,
			       "cpusets belong to cgroup v1 on this machine: boot with "
			       "cgroup_no_v1=cpuset or systemd.unified_cgroup_hierarchy=1; until "
			       "then knob thread sets the CPUs of threads");
	return err_set(e, -ENOTSUP,
		       "cgroup v2 has no controller cpuset here (it has: %s): CONFIG_CPUSETS is "
		       "off, or this is a container that was not given it",
		       all);
}

static int resolve_cfg(const struct host *host, const struct cpuset_cfg *cfg,
		       struct knob_settings *l, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset cpus = {};
	_cleanup_(buf_release) struct buf list = {};
	char group[64], target[80];
	int r = check_controller(host, e);

	for (const char *p = cfg->name; *p && r >= 0; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_-", *p))
			r = err_set(e, -EINVAL, "name \"%s\": letters, digits, _ and - only",
				    cfg->name);
	if (r >= 0 && (!*cfg->name || strlen(cfg->name) > 40))
		r = err_set(e, -EINVAL, "name \"%s\": 1 to 40 letters", cfg->name);
	if (r >= 0)
		r = cpuset_choose(host->sys_fd, cfg->cpus, &cpus, e);
	if (r < 0)
		return r;
	cpuset_format(&cpus, &list);
	snprintf(group, sizeof(group), PREFIX "%.40s", cfg->name);
	r = knob_settings_add(l, "controller", "on", e);
	snprintf(target, sizeof(target), "group %s", group);
	if (r >= 0)
		r = knob_settings_add(l, target, "present", e);
	snprintf(target, sizeof(target), "cpus %s", group);
	if (r >= 0)
		r = knob_settings_add(l, target, buf_str(&list), e);
	snprintf(target, sizeof(target), "partition %s", group);
	if (r >= 0)
		r = knob_settings_add(l, target, partitions[cfg->partition], e);
	return r < 0 || cfg->move.nr == 0 ? r : add_processes(host, &cfg->move, group, l, e);
}

static int cpuset_resolve(const struct host *host, const struct instance *inst,
			  struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct cpuset_cfg cfg = {};
	int r = instance_parse(inst, cpuset_options, &cfg, e);

	if (r < 0)
		return r;
	r = resolve_cfg(host, &cfg, &l, e);
	opt_release(cpuset_options, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

/* A process that was moved and never ran shows nothing, but nobody knows whether it should have. */
static int cpuset_witness(const struct host *host, const char *target, struct witness *ret,
			  struct err *e)
{
	struct witness w = { .min_effect = 1, .min_demand = WITNESS_DEMAND_UNKNOWN };
	struct target t = {};
	int r = parse_target(target, &t, e);

	if (r >= 0 && t.kind != TARGET_PROCESS)
		return -ENOENT;
	if (r >= 0)
		r = check_process(host, &t, e);
	if (r >= 0)
		r = procthread_switches(host->proc_fd, t.pid, &w.effect, e);
	if (r < 0)
		return r;
	snprintf(w.what, sizeof(w.what), "context switches of %s", t.name);
	*ret = w;
	return 0;
}

static bool cpuset_appears(const struct host *host, const struct instance *inst,
			   uint64_t *ret_stamp)
{
	const char *move = instance_value(inst, "move");

	*ret_stamp = procthread_last(host->proc_fd);
	return move && *move;
}

const struct knob_ops knob_cpuset = {
	.plugin = { .name = "cpuset",
		    .help = "a group of CPUs, isolated, with processes moved to it",
		    .options = cpuset_options },
	.usable = knob_usable,
	.resolve = cpuset_resolve,
	.read = cpuset_read,
	.write = cpuset_write,
	.witness = cpuset_witness,
	.same = setting_same,
	.appears = cpuset_appears,
};
