// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/load.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "plan/instance.h"
#include "sample/sample.h"

struct command_cfg {
	char *run;
};

struct load {
	struct command_cfg cfg;
	char *name;
	pid_t pid;	/* the shell; 0: none. Also its process group */
	bool ended;	/* before the window did */
	siginfo_t info; /* how, when @ended */
	uint64_t begin_ns, end_ns;
	double cpu_s;
	bool has_cpu;
};

static const struct opt options[] = {
	{ "run", OPT_COMMAND, offsetof(struct command_cfg, run), NULL,
	  .help = "command line for /bin/sh, its output is thrown away" },
	{},
};

static const struct metric_desc metrics[] = {
	{ "cpu", "s", BETTER_NONE, "user and system time of the command, from start to stop" },
	{},
};

static int command_usable(const struct host *host, struct err *why)
{
	(void)host;
	if (access("/bin/sh", X_OK) < 0)
		return err_sys(why, "/bin/sh");
	return 0;
}

static void command_kill(struct load *l)
{
	struct rusage usage = {};

	if (l->pid <= 0)
		return;
	/* the shell is process 1 of its namespace: everything in there dies with it */
	kill(-l->pid, SIGKILL);
	kill(l->pid, SIGKILL);
	while (wait4(l->pid, NULL, 0, &usage) < 0 && errno == EINTR)
		;
	l->pid = 0;
	l->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	l->has_cpu = true;
}

static void command_close(struct load *l)
{
	if (!l)
		return;
	command_kill(l);
	opt_release(options, &l->cfg);
	free(l->name);
	free(l);
}

static void command_closep(struct load **l)
{
	command_close(*l);
}

static int command_open(struct load **ret, const struct load_env *env, const struct instance *inst,
			struct err *e)
{
	_cleanup_(command_closep) struct load *l = calloc(1, sizeof(*l));
	int r;

	(void)env;
	if (!l)
		return err_nomem(e, "load");
	r = instance_parse(inst, options, &l->cfg, e);
	if (r < 0)
		return r;
	l->name = strdup(inst->name);
	if (!l->name)
		return err_nomem(e, inst->name);
	if (!*l->cfg.run)
		return err_set(e, -EINVAL, "run is empty");
	*ret = take_ptr(l);
	return 0;
}

/*
 * fork() into a new PID namespace where that is allowed: the kernel kills all of it with its first
 * process, whatever process groups and daemons the command makes.
 */
static pid_t fork_contained(void)
{
	struct clone_args args = { .flags = CLONE_NEWPID, .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? fork() : (pid_t)pid;
}

/* In the child: only what is safe after fork() in a process with threads. Returns errno. */
static int become(const char *run, int parent_fd)
{
	struct pollfd parent = { .fd = parent_fd, .events = POLLIN };
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)run, NULL };
	sigset_t none;
	int null;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the parent may have died before it could be told to */
	if (parent_fd >= 0 && poll(&parent, 1, 0) != 0)
		return ESRCH;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return errno;
	execv("/bin/sh", argv);
	return errno;
}

static void child(const char *run, int parent_fd, int report_fd)
{
	int error = become(run, parent_fd);
	ssize_t n = write(report_fd, &error, sizeof(error));

	_exit(n < 0 ? 126 : 127);
}

static int command_start(struct load *l, struct err *e)
{
	_cleanup_(close_fdp) int parent = (int)syscall(SYS_pidfd_open, getpid(), 0);
	_cleanup_(close_fdp) int report = -1;
	_cleanup_(close_fdp) int report_child = -1;
	int fds[2], error = 0;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	report = fds[0];
	report_child = fds[1];
	l->pid = fork_contained();
	if (l->pid == 0)
		child(l->cfg.run, parent, report_child);
	if (l->pid < 0)
		return err_sys(e, "fork");
	setpgid(l->pid, l->pid);
	close_fdp(&report_child);
	report_child = -1;
	do {
		n = read(report, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	command_kill(l);
	errno = n == sizeof(error) ? error : EIO;
	return err_sys(e, "run /bin/sh");
}

/* Whether the command is over; its status stays for whoever reaps it. */
static bool has_ended(struct load *l)
{
	siginfo_t info = {};

	if (l->pid <= 0)
		return true;
	if (waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return true;
	l->info = info;
	return info.si_pid != 0;
}

static int command_begin(struct load *l, uint64_t now_ns, struct err *e)
{
	l->begin_ns = now_ns;
	/* 126 and 127 are the shell's: cannot run, not found */
	if (has_ended(l) && l->info.si_code == CLD_EXITED &&
	    (l->info.si_status == 126 || l->info.si_status == 127))
		return err_set(e, -ENOENT,
			       "\"%s\" could not be run (exit status %d); is it installed?",
			       l->cfg.run, l->info.si_status);
	return 0;
}

static int command_end(struct load *l, uint64_t now_ns, struct err *e)
{
	(void)e;
	l->end_ns = now_ns;
	l->ended = has_ended(l);
	return 0;
}

static int command_stop(struct load *l, struct err *e)
{
	(void)e;
	command_kill(l);
	return 0;
}

static int command_drain(struct load *l, struct sample_sink *out, struct err *e)
{
	_cleanup_(buf_release) struct buf name = {};
	_cleanup_(buf_release) struct buf text = {};
	int r = 0;

	buf_printf(&name, "%s.cpu", l->name);
	if (l->ended) {
		/* a trial that was partly without its load is none under that load */
		buf_printf(&text,
			   "\"%s\" ended before the window did (%s %d): the load must run for the "
			   "whole window, so let the command last longer than duration",
			   l->cfg.run, l->info.si_code == CLD_EXITED ? "exit status" : "signal",
			   l->info.si_status);
		r = sample_event(out, buf_str(&name), SEVERITY_VETO,
				 (int64_t)(l->end_ns - l->begin_ns), buf_str(&text), e);
	}
	if (r >= 0 && l->has_cpu)
		r = sample_scalar(out, buf_str(&name), "s", "", l->cpu_s, e);
	return r;
}

const struct load_ops load_command = {
	.plugin = { .name = "command",
		    .help = "any program, for as long as the trial lasts",
		    .options = options,
		    .metrics = metrics },
	.usable = command_usable,
	.open = command_open,
	.start = command_start,
	.begin = command_begin,
	.end = command_end,
	.stop = command_stop,
	.drain = command_drain,
	.close = command_close,
};
