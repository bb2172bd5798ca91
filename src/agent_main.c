// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * irqlab-agent: the privileged half.  Started by `irqlab run` with one end of a socketpair as
 * standard input; users never call it, but with --capabilities it says what it needs of root.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/signals.h"
#include "registry.h"
#include "trial/agent.h"
#include "trial/privilege.h"

static int serve(struct err *e)
{
	_cleanup_(close_fdp) int signal_fd = -1;

	if (isatty(STDIN_FILENO))
		return err_set(e, -EINVAL, "the agent is started by \"irqlab run\", not by hand");
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_sys(e, "ignore SIGPIPE");
	/* a trial ends, the machine is given back, then we go */
	signal_fd = signals_open(e);
	if (signal_fd < 0)
		return signal_fd;
	return agent_serve(STDIN_FILENO, signal_fd, &all_plugins, e);
}

int main(int argc, char **argv)
{
	struct err e = {};

	if (argc == 2 && strcmp(argv[1], "--capabilities") == 0) {
		_cleanup_(buf_release) struct buf out = {};

		privilege_print(&out);
		fputs(buf_str(&out), stdout);
		return 0;
	}
	if (serve(&e) >= 0)
		return 0;
	fprintf(stderr, "irqlab-agent: %s\n", e.msg);
	return e.code == -ENOTRECOVERABLE ? 3 : 1;
}
