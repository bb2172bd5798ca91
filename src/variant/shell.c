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
	int out, err; /* read ends */
	struct buf text[2];
};

static void child_release(struct child *c)
{
	close_fdp(&c->pidfd);
	close_fdp(&c->out);
	close_fdp(&c->err);
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

/* In the child: only calls that are safe after fork() in a process with threads. */
static void exec_shell(const char *command, pid_t parent, int out, int err)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(126);
}

static int start(struct child *c, const char *command, struct err *e)
{
	_cleanup_(pipe_release) struct pipe out = { { -1, -1 } }, err = { { -1, -1 } };
	pid_t parent = getpid();

	if (pipe2(out.fd, O_CLOEXEC) < 0 || pipe2(err.fd, O_CLOEXEC) < 0)
		return err_sys(e, "pipe to a command");
	c->pid = fork();
	if (c->pid == 0)
		exec_shell(command, parent, out.fd[1], err.fd[1]);
	if (c->pid < 0)
		return err_sys(e, "start a command");
	setpgid(c->pid, c->pid);
	c->out = take_fd(out.fd[0]);
	c->err = take_fd(err.fd[0]);
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	fcntl(c->err, F_SETFL, O_NONBLOCK);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd >= 0)
		return 0;
	err_sys(e, "watch a command");
	kill(-c->pid, SIGKILL);
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

static int wait_reaped(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int shell_run(const char *command, uint64_t limit_ns, char **ret_output, struct err *e)
{
	_cleanup_(child_release) struct child c = { .pidfd = -1, .out = -1, .err = -1 };
	int r = start(&c, command, e), status;
	bool ended;

	if (r < 0)
		return r;
	ended = wait_end(&c, limit_ns);
	if (!ended)
		kill(-c.pid, SIGKILL);
	status = wait_reaped(c.pid);
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
