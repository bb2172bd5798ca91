// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * irqlab-agent: the privileged half.  Started by `irqlab run` with one end of a socketpair as
 * standard input; users never call it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "registry.h"
#include "trial/agent.h"

/* Signals become a readable descriptor: a trial ends, the machine is given back, then we go. */
static int signals(struct err *e)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
		return err_sys(e, "block signals");
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_sys(e, "ignore SIGPIPE");
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? err_sys(e, "signalfd") : fd;
}

static int serve(struct err *e)
{
	_cleanup_(close_fdp) int signal_fd = -1;

	if (isatty(STDIN_FILENO))
		return err_set(e, -EINVAL, "the agent is started by \"irqlab run\", not by hand");
	signal_fd = signals(e);
	if (signal_fd < 0)
		return signal_fd;
	return agent_serve(STDIN_FILENO, signal_fd, &all_plugins, e);
}

int main(void)
{
	struct err e = {};

	if (serve(&e) >= 0)
		return 0;
	fprintf(stderr, "irqlab-agent: %s\n", e.msg);
	return e.code == -ENOTRECOVERABLE ? 3 : 1;
}
