// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

/* Of each stream at most this is kept; the rest is read and dropped. */
#define KEEP 65536

struct child {
	pid_t pid;
	int pidfd;
	int out, err, status; /* read ends */
	struct buf text[2];
};

static void child_release(struct child *c)
{
	close_fdp(&c->pidfd);
	close_fdp(&c->out);
	close_fdp(&c->err);
	close_fdp(&c->status);
	buf_release(&c->text[0]);
	buf_release(&c->text[1]);
}

struct pipe {
	int fd[2];
};

static void pipe_release(const struct pipe *p)
{
	close_fdp(&p->fd[0]);
	close_fdp(&p->fd[1]);
}

/* What the processes between this one and the command need; all made before fork(). */
struct job {
	const char *command;
	char **env;
	pid_t parent;
	int out, err, status; /* write ends */
};

/*
 * From here to the end of supervise() only calls that are safe after fork() in a process with
 * threads: system calls.
 */
static void exec_shell(const struct job *j, pid_t parent)
{
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)j->command, NULL };
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execve("/bin/sh", argv, j->env);
	_exit(126);
}

/*
 * Descriptors 0 to 3 for the command and the status, all others closed: whatever the agent holds,
 * its lock above all, must not outlive it here.
 */
static bool arrange_files(const struct job *j)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = fcntl(j->out, F_DUPFD_CLOEXEC, 16), err = fcntl(j->err, F_DUPFD_CLOEXEC, 16);
	int status = fcntl(j->status, F_DUPFD_CLOEXEC, 16);

	return null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 &&
	       dup2(status, 3) >= 0 && fcntl(3, F_SETFD, FD_CLOEXEC) >= 0 &&
	       syscall(SYS_close_range, 4, ~0U, 0) == 0;
}

/* SIGKILL to each of our children: false when their list cannot be had (CONFIG_PROC_CHILDREN). */
static bool kill_children(void)
{
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	pid_t pid = 0;

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
			continue;
		}
		if (pid > 0)
			kill(pid, SIGKILL);
		pid = 0;
	}
	return n >= 0;
}

/*
 * Whatever group or session they moved to, descendants whose parent died become our children; so
 * killing children again and again ends them all.  What sleeps uninterruptibly is given up.
 */
static void end_all(pid_t shell)
{
	const struct timespec step = { 0, NS_PER_MS };

	kill(-shell, SIGKILL);
	for (int i = 0; i < 5000; i++) {
		bool known = kill_children();
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 || !known)
			return;
		nanosleep(&step, NULL);
	}
}

/*
 * A process between the agent and the command, which nobody kills with the agent: SIGKILL gives the
 * agent no chance to end what it has started, and the kernel's "parent died" signal reaches
 * children alone, not theirs.  When the command has ended, what it left running goes on.
 */
static void supervise(const struct job *j)
{
	struct pollfd fds[3] = { { .events = POLLIN }, { .events = POLLIN }, { .events = POLLIN } };
	pid_t self = getpid(), shell;
	int status = 0;
	sigset_t term;

	setpgid(0, 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	if (!arrange_files(j) || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    pthread_sigmask(SIG_BLOCK, &term, NULL) != 0)
		_exit(126);
	fds[0].fd = (int)syscall(SYS_pidfd_open, j->parent, 0);
	fds[1].fd = signalfd(-1, &term, SFD_CLOEXEC);
	if (fds[0].fd < 0 || fds[1].fd < 0 || getppid() != j->parent)
		_exit(126);
	shell = _Fork();
	if (shell == 0)
		exec_shell(j, self);
	fds[2].fd = shell > 0 ? (int)syscall(SYS_pidfd_open, shell, 0) : -1;
	if (fds[2].fd < 0)
		_exit(126);
	while (poll(fds, 3, -1) < 0 && errno == EINTR)
		;
	if (fds[2].revents && waitpid(shell, &status, 0) == shell) {
		ssize_t ignored = write(3, &status, sizeof(status));

		(void)ignored;
		_exit(0);
	}
	end_all(shell);
	_exit(0);
}

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

/* The environment with @extra ("NAME=VALUE", may be NULL); the strings are borrowed. */
static char **make_env(const char *extra)
{
	size_t n = count(environ);
	char **env = calloc(n + 2, sizeof(*env));

	if (!env)
		return NULL;
	memcpy(env, environ, n * sizeof(*env));
	env[n] = (char *)(uintptr_t)extra;
	return env;
}

static int start(struct child *c, const char *command, const char *extra, struct err *e)
{
	_cleanup_(pipe_release) struct pipe out = { { -1, -1 } }, err = { { -1, -1 } };
	_cleanup_(pipe_release) struct pipe status = { { -1, -1 } };
	_cleanup_(freep) char **env = make_env(extra);
	struct job job = { .command = command, .env = env, .parent = getpid() };

	if (!env)
		return err_nomem(e, command);
	if (pipe2(out.fd, O_CLOEXEC) < 0 || pipe2(err.fd, O_CLOEXEC) < 0 ||
	    pipe2(status.fd, O_CLOEXEC) < 0)
		return err_sys(e, "pipe to a command");
	job.out = out.fd[1];
	job.err = err.fd[1];
	job.status = status.fd[1];
	c->pid = fork();
	if (c->pid == 0)
		supervise(&job);
	if (c->pid < 0)
		return err_sys(e, "start a command");
	c->out = take_fd(out.fd[0]);
	c->err = take_fd(err.fd[0]);
	c->status = take_fd(status.fd[0]);
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	fcntl(c->err, F_SETFL, O_NONBLOCK);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd >= 0)
		return 0;
	err_sys(e, "watch a command");
	kill(c->pid, SIGTERM);
	waitpid(c->pid, NULL, 0);
	return e->code;
}

/* Read what is there; closes *fd at its end. */
static void take_output(int *fd, struct buf *text)
{
	char chunk[2048];
	ssize_t n;

	while ((n = read(*fd, chunk, sizeof(chunk))) > 0)
		if (text->len < KEEP)
			buf_add(text, chunk, (size_t)n);
	if (n == 0) {
		close_fdp(fd);
		*fd = -1;
	}
}

/* Until it ends, whoever else may hold its pipes open. Return: false when time ran out. */
static bool wait_end(struct child *c, uint64_t limit_ns)
{
	uint64_t end = clock_mono_ns() + limit_ns;

	for (;;) {
		struct pollfd fds[] = { { .fd = c->pidfd, .events = POLLIN },
					{ .fd = c->out, .events = POLLIN },
					{ .fd = c->err, .events = POLLIN } };
		uint64_t now = clock_mono_ns();
		struct timespec left = clock_timespec(now < end ? end - now : 0);

		if (ppoll(fds, ARRAY_SIZE(fds), &left, NULL) < 0 && errno != EINTR)
			return false;
		if (c->out >= 0)
			take_output(&c->out, &c->text[0]);
		if (c->err >= 0)
			take_output(&c->err, &c->text[1]);
		if (fds[0].revents)
			return true;
		if (now >= end)
			return false;
	}
}

static void trim(struct buf *b)
{
	while (b->len && b->data[b->len - 1] == '\n')
		b->data[--b->len] = '\0';
}

/* The end of what it wrote, on one line fit to print. */
static int failed(struct child *c, const char *command, int status, struct err *e)
{
	_cleanup_(buf_release) struct buf said = {}, how = {};
	struct buf *text = c->text[1].len ? &c->text[1] : &c->text[0];
	size_t from;

	trim(text);
	from = text->len > 300 ? text->len - 300 : 0;
	text_printable(&said, buf_str(text) + from, text->len - from);
	if (WIFSIGNALED(status))
		buf_printf(&how, "was killed by signal %d", WTERMSIG(status));
	else
		buf_printf(&how, "failed with exit code %d", WEXITSTATUS(status));
	return err_set(e, -EIO, "command \"%s\" %s%s%s", command, buf_str(&how),
		       said.len ? ": " : "", buf_str(&said));
}

/* Reap the supervisor; what it says of the command's end, or that it was killed itself. */
static int take_status(struct child *c)
{
	int status = 0, own = 0;

	while (waitpid(c->pid, &own, 0) < 0 && errno == EINTR)
		;
	/* its write end is closed by now, unless another child was forked meanwhile */
	fcntl(c->status, F_SETFL, O_NONBLOCK);
	return read(c->status, &status, sizeof(status)) == (ssize_t)sizeof(status) ? status
	       : WIFEXITED(own) && WEXITSTATUS(own)				   ? own
										   : SIGKILL;
}

int shell_run_env(const char *command, const char *extra, uint64_t limit_ns, char **ret_output,
		  struct err *e)
{
	_cleanup_(
		child_release) struct child c = { .pidfd = -1, .out = -1, .err = -1, .status = -1 };
	int r = start(&c, command, extra, e), status;
	bool ended;

	if (r < 0)
		return r;
	ended = wait_end(&c, limit_ns);
	if (!ended)
		kill(c.pid, SIGTERM);
	status = take_status(&c);
	if (!ended)
		return err_set(e, -ETIMEDOUT, "command \"%s\" did not end within %g s: killed",
			       command, (double)limit_ns * 1e-9);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return failed(&c, command, status, e);
	if (!ret_output)
		return 0;
	trim(&c.text[0]);
	*ret_output = buf_take(&c.text[0]);
	return *ret_output ? 0 : err_nomem(e, command);
}

int shell_run(const char *command, uint64_t limit_ns, char **ret_output, struct err *e)
{
	return shell_run_env(command, NULL, limit_ns, ret_output, e);
}

int shell_quote(struct buf *out, const char *word)
{
	buf_putc(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *word);
	}
	return buf_putc(out, '\'');
}
