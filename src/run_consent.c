// SPDX-License-Identifier: GPL-3.0-or-later
#include "run_consent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "plan/plan.h"
#include "registry.h"

static bool is_yes(const char *answer)
{
	size_t len = strcspn(answer, "\r\n");

	return (len == 1 && strncasecmp(answer, "y", len) == 0) ||
	       (len == 3 && strncasecmp(answer, "yes", len) == 0);
}

static int ask(struct err *e)
{
	char answer[16] = "";

	fputs("Have all of this run as root? [y/N] ", stderr);
	fflush(stderr);
	if (fgets(answer, sizeof(answer), stdin) && is_yes(answer))
		return 0;
	return err_set(e, -ECANCELED, "the plan's commands were not agreed to: nothing was done");
}

int run_consent(const struct plan *p, bool yes, struct err *e)
{
	_cleanup_(buf_release) struct buf list = {};
	int r = plan_commands(p, &plan_plugins, &list, e);

	if (r < 0 || list.len == 0 || yes)
		return r;
	fprintf(stderr, "This plan has a shell run:\n%s", buf_str(&list));
	if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
		return ask(e);
	return err_set(
		e, -EPERM,
		"the plan runs commands as root, shown above, and there is no terminal to ask "
		"on: read them, then say --yes");
}
