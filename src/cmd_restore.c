// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "cmd.h"
#include "registry.h"
#include "variant/lock.h"
#include "variant/variant.h"

struct restore_cfg {
	bool forget;
};

static const struct cmdline_opt options[] = {
	{ { "forget", OPT_BOOL, offsetof(struct restore_cfg, forget), "",
	    "drop what could not be undone, after listing it" },
	  0 },
	{},
};

static void print_line(void *arg, const char *line)
{
	printf("%s\n", line);
}

static int restore(const struct host *host, const char *dir, bool forget, struct err *e)
{
	struct restore_report report = {};
	int r = variant_restore(host, dir, all_knobs, print_line, NULL, &report, e);
	size_t nr = report.undone + report.void_ + report.changed_by_others + report.failed;

	if (r < 0 && report.failed == 0)
		return r;
	if (nr == 0)
		printf("nothing to undo in %s\n", dir);
	else
		printf("%zu undone, %zu with nothing left to undo, %zu changed by others, %zu "
		       "failed\n",
		       report.undone, report.void_, report.changed_by_others, report.failed);
	if (report.failed == 0)
		return 0;
	if (!forget) {
		err_set(e, -EIO,
			"%zu changes are not undone; mend what is in their way and run it again, "
			"or give them up with: irqlab restore --forget",
			report.failed);
		return EXIT_NOT_RESTORED;
	}
	r = variant_forget(dir, e);
	if (r >= 0)
		printf("%zu forgotten: this machine keeps them as they are\n", report.failed);
	return r;
}

static void need_root(struct err *e)
{
	char why[sizeof(e->msg)];

	snprintf(why, sizeof(why), "%s", e->msg);
	err_set(e, e->code, "%.900s; run it as root: sudo irqlab restore", why);
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct restore_cfg *cfg = config;
	_cleanup_(host_release) struct host host = {};
	_cleanup_(lock_releasep) struct lock *lock = NULL;
	int r = lock_acquire(&lock, bench_state_dir(), e);

	if ((r == -EACCES || r == -EPERM) && geteuid() != 0)
		need_root(e);
	if (r == -EBUSY || r == -EACCES || r == -EPERM)
		return EXIT_CANNOT;
	if (r >= 0)
		r = host_open(&host, e);
	return r < 0 ? r : restore(&host, bench_state_dir(), cfg->forget, e);
}

const struct command cmd_restore = {
	.name = "restore",
	.help = "undo what a killed run left changed on this machine",
	.args = "",
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct restore_cfg),
	.example = "irqlab restore",
	.more = "The journal is in $IRQLAB_STATE_DIR, else in /var/lib/irqlab. The next run does the\n"
		"same by itself. Exit code 3: something could not be set back; it is listed.",
};
