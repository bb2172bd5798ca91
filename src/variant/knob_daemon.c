// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/procthread.h"
#include "variant/shell.h"

/*
 * Targets and values:
 *	process PID:STARTTIME:COMM	paused, running
 *	service NAME			inactive, active
 *	no process NAME			absent, present
 *
 * The last stands for a daemon that does not run: that is no error, but it is told with the trial,
 * and when one is started meanwhile the trial does not hold.
 */

#define LIMIT_NS (30 * NS_PER_S)
/* A stopped process is one as soon as each of its threads has left the kernel. */
#define PAUSE_NS (2 * NS_PER_S)

enum daemon_state {
	DAEMON_PAUSED,
	DAEMON_STOPPED,
};

struct daemon_cfg {
	char *name;
	int state;
};

static const char *const states[] = { "paused", "stopped", NULL };

static const struct opt daemon_options[] = {
	{ "name", OPT_STRING, offsetof(struct daemon_cfg, name), NULL,
	  "name of the program or service, such as irqbalance" },
	{ "state", OPT_ENUM, offsetof(struct daemon_cfg, state), "paused",
	  "paused: its processes get SIGSTOP; stopped: by the service manager", 0, 0, states },
	{},
};

struct target {
	int pid;
	uint64_t start;
	const char *name;
};

#define PROCESS "process "
#define SERVICE "service "
#define NONE "no process "

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool parse_process(const char *text, struct target *ret)
{
	char *end, *name;

	if (!begins(text, PROCESS))
		return false;
	ret->pid = (int)strtol(text + strlen(PROCESS), &end, 10);
	if (ret->pid <= 1 || *end != ':')
		return false;
	ret->start = strtoull(end + 1, &name, 10);
	if (*name != ':')
		return false;
	ret->name = name + 1;
	return true;
}

/* Make sure that the process is still the one the target means. */
static int check_process(const struct host *host, const struct target *t, struct err *e)
{
	struct procthread now = {};
	int r = procthread_read(host->proc_fd, t->pid, &now, e);

	if (r < 0)
		return r;
	if (now.start != t->start)
		return err_set(e, -ESRCH, "process %d (%s) has ended; %d is another one (%s) now",
			       t->pid, t->name, t->pid, now.comm);
	return 0;
}

/* What the threads of a process do. */
struct tally {
	size_t nr, stopped;
	uint64_t runtime_ns;
};

/* The state's letter in stat, 0 when the thread has ended. */
static char thread_state(int proc_fd, const char *path)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err ignored = {};
	const char *close;

	if (kfile_read(proc_fd, path, &text, &ignored) < 0)
		return 0;
	close = strrchr(buf_str(&text), ')');
	if (!close || close[1] != ' ')
		return 0;
	return close[2];
}

static int tally_threads(const struct host *host, int pid, struct tally *ret, struct err *e)
{
	_cleanup_(closedir_dirp) DIR *d = NULL;
	const struct dirent *entry;
	struct tally t = {};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%d/task", pid);
	fd = openat(host->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		close_fdp(&fd);
		return err_set(e, -ESRCH, "process %d has ended", pid);
	}
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		int tid = (int)strtol(entry->d_name, NULL, 10);
		struct err ignored = {};
		uint64_t ns = 0;
		char state;

		if (tid <= 0)
			continue;
		snprintf(path, sizeof(path), "%d/task/%d/stat", pid, tid);
		state = thread_state(host->proc_fd, path);
		if (!state || strchr("ZX", state))
			continue;
		t.nr++;
		t.stopped += state == 'T';
		if (procthread_runtime_ns(host->proc_fd, tid, &ns, &ignored) >= 0)
			t.runtime_ns += ns;
	}
	*ret = t;
	return 0;
}

static int read_process(const struct host *host, const struct target *t, char **ret, struct err *e)
{
	struct tally tally = {};
	int r = check_process(host, t, e);

	if (r >= 0)
		r = tally_threads(host, t->pid, &tally, e);
	if (r < 0)
		return r;
	if (tally.nr == 0)
		return err_set(e, -ESRCH, "process %d (%s) has ended", t->pid, t->name);
	*ret = strdup(tally.stopped == tally.nr ? "paused" : "running");
	return *ret ? 0 : err_nomem(e, t->name);
}

static int wait_paused(const struct host *host, const struct target *t, bool paused, struct err *e)
{
	const struct timespec step = { 0, NS_PER_MS };
	uint64_t end = clock_mono_ns() + PAUSE_NS;

	for (;;) {
		struct tally tally = {};
		int r = tally_threads(host, t->pid, &tally, e);

		if (r < 0)
			return r;
		if (paused ? tally.stopped == tally.nr : tally.stopped == 0)
			return 0;
		if (clock_mono_ns() > end)
			return err_set(e, -EIO,
				       "process %d (%s): %zu of %zu threads are stopped after 2 s: "
				       "one sleeps uninterruptibly in the kernel, or somebody else "
				       "sends it signals",
				       t->pid, t->name, tally.stopped, tally.nr);
		nanosleep(&step, NULL);
	}
}

static int write_process(const struct host *host, const struct target *t, const char *value,
			 struct err *e)
{
	/* opened before the check: from then on the number cannot mean another process */
	_cleanup_(close_fdp) int fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	bool pause = strcmp(value, "paused") == 0;
	int r;

	if (fd < 0)
		return err_sys(e, "process %d (%s)", t->pid, t->name);
	r = check_process(host, t, e);
	if (r < 0)
		return r;
	if (syscall(SYS_pidfd_send_signal, fd, pause ? SIGSTOP : SIGCONT, NULL, 0) < 0)
		return errno == EPERM
			       ? err_set(e, -EPERM,
					 "process %d (%s) may not be signalled: needs CAP_KILL: "
					 "run as root",
					 t->pid, t->name)
			       : err_sys(e, "signal process %d (%s)", t->pid, t->name);
	return wait_paused(host, t, pause, e);
}

/* Commands of the service manager that rules this machine. */
struct manager {
	const char *read, *start, *stop; /* %s: the quoted name */
};

static const struct manager systemd = { "systemctl show -p LoadState,ActiveState -- ",
					"systemctl start -- ", "systemctl stop -- " };
static const struct manager openrc = { "rc-service --ifexists -- ", "rc-service -- ",
				       "rc-service -- " };

/* NULL with @e set when there is none. */
static const struct manager *find_manager(const struct host *host, struct err *e)
{
	_cleanup_(freep) char *comm = NULL;

	if (kfile_read_line(host->proc_fd, "1/comm", &comm, e) < 0)
		return NULL;
	if (strcmp(comm, "systemd") == 0)
		return &systemd;
	if (strncmp(comm, "openrc", 6) == 0 ||
	    faccessat(host->proc_fd, "1/root/run/openrc/softlevel", F_OK, 0) == 0)
		return &openrc;
	err_set(e, -ENOTSUP,
		"state: stopped needs systemd or OpenRC, and process 1 is \"%s\" here: use "
		"state: paused, or knob command",
		comm);
	return NULL;
}

/* Run @verb on @name; OpenRC wants its own verb behind the name. */
static int run_manager(const char *verb, const char *name, const char *behind, char **ret,
		       struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_puts(&b, verb);
	shell_quote(&b, name);
	buf_puts(&b, behind);
	return b.failed ? err_nomem(e, name) : shell_run(buf_str(&b), LIMIT_NS, ret, e);
}

static int read_service(const struct host *host, const char *name, char **ret, struct err *e)
{
	static const char *const up[] = { "ActiveState=active", "ActiveState=reloading",
					  "ActiveState=activating", "started" };
	const struct manager *m = find_manager(host, e);
	_cleanup_(freep) char *out = NULL;
	bool active = false;
	int r = m ? 0 : e->code;

	if (m)
		r = run_manager(m->read, name, m == &openrc ? " status 2>&1 || :" : "", &out, e);
	if (r < 0)
		return r;
	if (m == &systemd && (!out || !strstr(out, "ActiveState=")))
		return err_set(e, -EBADMSG, "systemctl show of %s is not understood: \"%.80s\"",
			       name, out ? out : "");
	for (size_t i = 0; i < ARRAY_SIZE(up); i++)
		active |= out && strstr(out, up[i]);
	*ret = strdup(active ? "active" : "inactive");
	return *ret ? 0 : err_nomem(e, name);
}

static int write_service(const struct host *host, const char *name, const char *value,
			 struct err *e)
{
	bool start = strcmp(value, "active") == 0;
	const struct manager *m = find_manager(host, e);

	if (!m)
		return e->code;
	return run_manager(start ? m->start : m->stop, name,
			   m == &systemd ? ""
			   : start	 ? " start"
					 : " stop",
			   NULL, e);
}

/* Is it the program @name?  The kernel's name of it holds 15 bytes. */
static bool is_program(const struct host *host, const struct procthread *t, const char *name)
{
	static const char deleted[] = " (deleted)";
	char path[32], exe[PATH_MAX];
	const char *base;
	ssize_t n;

	if (t->kernel)
		return false;
	if (strncmp(t->comm, name, 15) == 0 && strlen(t->comm) == strnlen(name, 15))
		return true;
	snprintf(path, sizeof(path), "%d/exe", t->tid);
	n = readlinkat(host->proc_fd, path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return false;
	exe[n] = '\0';
	if ((size_t)n > strlen(deleted) && strcmp(exe + n - strlen(deleted), deleted) == 0)
		exe[(size_t)n - strlen(deleted)] = '\0';
	base = strrchr(exe, '/');
	return base && strcmp(base + 1, name) == 0;
}

/* The parent of @pid; 0 when there is none. */
static int parent_of(const struct host *host, int pid)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err ignored = {};
	const char *line;
	char path[32];

	snprintf(path, sizeof(path), "%d/status", pid);
	if (kfile_read(host->proc_fd, path, &text, &ignored) < 0)
		return 0;
	line = strstr(buf_str(&text), "\nPPid:");
	return line ? (int)strtol(line + 6, NULL, 10) : 0;
}

/* Who is stopped can neither wait for us nor let us go on. */
static bool is_ancestor(const struct host *host, int pid)
{
	for (int at = getpid(); at > 0; at = parent_of(host, at))
		if (at == pid)
			return true;
	return pid == 1;
}

/* Call @add for each process of the program @name. */
static int each_process(const struct host *host, const char *name,
			int (*add)(void *arg, const struct procthread *t, struct err *e), void *arg,
			struct err *e)
{
	_cleanup_(closedir_dirp) DIR *d = NULL;
	int fd = openat(host->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;

	d = fd < 0 ? NULL : fdopendir(fd);
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
		if (r == -ESRCH || (r >= 0 && !is_program(host, &t, name)))
			continue;
		if (r >= 0)
			r = add(arg, &t, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int count_one(void *arg, const struct procthread *t, struct err *e)
{
	(void)t;
	(void)e;
	++*(size_t *)arg;
	return 0;
}

static int read_none(const struct host *host, const char *name, char **ret, struct err *e)
{
	size_t nr = 0;
	int r = each_process(host, name, count_one, &nr, e);

	if (r < 0)
		return r;
	*ret = strdup(nr ? "present" : "absent");
	return *ret ? 0 : err_nomem(e, name);
}

static int unknown_target(const char *target, struct err *e)
{
	return err_set(e, -EINVAL, "\"%s\" is no target of this knob", target);
}

static int daemon_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct target t = {};

	if (parse_process(target, &t))
		return read_process(host, &t, ret, e);
	if (begins(target, SERVICE))
		return read_service(host, target + strlen(SERVICE), ret, e);
	if (begins(target, NONE))
		return read_none(host, target + strlen(NONE), ret, e);
	return unknown_target(target, e);
}

static int daemon_write(const struct host *host, const char *target, const char *value,
			struct err *e)
{
	struct target t = {};

	if (parse_process(target, &t))
		return write_process(host, &t, value, e);
	if (begins(target, SERVICE))
		return write_service(host, target + strlen(SERVICE), value, e);
	return begins(target, NONE) ? err_set(e, -EAGAIN, "a process of it was born just now")
				    : unknown_target(target, e);
}

struct pausing {
	const struct host *host;
	struct knob_settings l;
};

static int pause_one(void *arg, const struct procthread *t, struct err *e)
{
	struct pausing *p = arg;
	char target[128];

	if (is_ancestor(p->host, t->tid))
		return err_set(e, -EINVAL,
			       "process %d (%s) is this run's own or started it: paused, it could "
			       "not go on",
			       t->tid, t->comm);
	snprintf(target, sizeof(target), PROCESS "%d:%" PRIu64 ":%s", t->tid, t->start, t->comm);
	return knob_settings_add(&p->l, target, "paused", e);
}

static void pausing_release(struct pausing *p)
{
	knob_settings_release(&p->l);
}

static int resolve_paused(const struct host *host, const char *name, struct knob_settings *ret,
			  struct err *e)
{
	_cleanup_(pausing_release) struct pausing p = { .host = host };
	_cleanup_(buf_release) struct buf none = {};
	int r = each_process(host, name, pause_one, &p, e);

	if (r >= 0 && p.l.nr == 0) {
		buf_printf(&none, NONE "%s", name);
		r = none.failed ? err_nomem(e, name)
				: knob_settings_add(&p.l, buf_str(&none), "absent", e);
	}
	if (r < 0)
		return r;
	*ret = p.l;
	p.l = (struct knob_settings){};
	return 0;
}

static int resolve_stopped(const struct host *host, const char *name, struct knob_settings *ret,
			   struct err *e)
{
	_cleanup_(buf_release) struct buf target = {};

	if (!find_manager(host, e))
		return e->code;
	buf_printf(&target, SERVICE "%s", name);
	return target.failed ? err_nomem(e, name)
			     : knob_settings_add(ret, buf_str(&target), "inactive", e);
}

static int check_name(const char *name, struct err *e)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-@:+", *p))
			return err_set(e, -EINVAL,
				       "name \"%s\": expected the name of a program or service, no "
				       "path and no pattern",
				       name);
	return *name ? 0 : err_set(e, -EINVAL, "name is empty");
}

static int daemon_resolve(const struct host *host, const struct instance *inst,
			  struct knob_settings *ret, struct err *e)
{
	struct daemon_cfg cfg = {};
	int r = instance_parse(inst, daemon_options, &cfg, e);

	if (r < 0)
		return r;
	r = check_name(cfg.name, e);
	if (r >= 0)
		r = (cfg.state == DAEMON_PAUSED ? resolve_paused : resolve_stopped)(host, cfg.name,
										    ret, e);
	opt_release(daemon_options, &cfg);
	return r;
}

/* What is paused must not run. */
static int daemon_witness(const struct host *host, const char *target, struct witness *ret,
			  struct err *e)
{
	struct witness w = { .is_ns = true, .remedy = "somebody else continues it" };
	struct tally tally = {};
	struct target t = {};
	int r;

	if (!parse_process(target, &t) || !procthread_counts_runtime(host->proc_fd))
		return -ENOENT;
	r = check_process(host, &t, e);
	if (r >= 0)
		r = tally_threads(host, t.pid, &tally, e);
	if (r < 0)
		return r;
	w.effect = w.against = tally.runtime_ns;
	snprintf(w.what, sizeof(w.what), "run time of %s", t.name);
	snprintf(w.against_of, sizeof(w.against_of), "that [ns]");
	*ret = w;
	return 0;
}

/* A daemon that is started again is another process. */
static bool daemon_appears(const struct host *host, const struct instance *inst,
			   uint64_t *ret_stamp)
{
	const char *state = instance_value(inst, "state");

	*ret_stamp = procthread_last(host->proc_fd);
	return !state || strcmp(state, states[DAEMON_PAUSED]) == 0;
}

static bool daemon_same_target(const char *a, const char *b)
{
	struct target x = {}, y = {};

	if (!parse_process(a, &x) || !parse_process(b, &y))
		return strcmp(a, b) == 0;
	return x.pid == y.pid && x.start == y.start;
}

static void daemon_describe(const char *target, struct buf *out)
{
	struct target t = {};

	if (parse_process(target, &t))
		buf_printf(out, "process %s (pid %d)", t.name, t.pid);
	else
		buf_puts(out, target);
}

const struct knob_ops knob_daemon = {
	.plugin = { .name = "daemon",
		    .help = "programs such as irqbalance: paused or stopped",
		    .options = daemon_options },
	.usable = knob_usable,
	.resolve = daemon_resolve,
	.read = daemon_read,
	.write = daemon_write,
	.witness = daemon_witness,
	.appears = daemon_appears,
	.same_target = daemon_same_target,
	.describe = daemon_describe,
};
