// SPDX-License-Identifier: GPL-3.0-or-later
#include "cmd_restore.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "registry.h"
#include "variant/lock.h"
#include "variant/variant.h"

enum {
	EXIT_USAGE = 2,
	EXIT_NOT_RESTORED = 3,
	EXIT_CANNOT_RUN = 77,
};

static const char usage[] = "usage: irqlab restore [--forget]\n"
			    "Undo what a killed run left changed on this machine.\n"
			    "  --forget  drop what could not be undone, after listing it\n"
			    "The journal is in $IRQLAB_STATE_DIR, or else in /var/lib/irqlab.\n";

static void print_line(void *arg, const char *line)
{
	(void)arg;
	printf("%s\n", line);
}

static const char *state_dir(void)
{
	const char *dir =
		getenv("IRQLAB_STATE_DIR"); /* NOLINT(concurrency-mt-unsafe): one thread */

	return dir && *dir ? dir : "/var/lib/irqlab";
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
	if (!forget)
		return EXIT_NOT_RESTORED;
	r = variant_forget(dir, e);
	if (r >= 0)
		printf("%zu forgotten: this machine keeps them as they are\n", report.failed);
	return r;
}

int cmd_restore(int argc, char **argv, struct err *e)
{
	_cleanup_(host_release) struct host host = {};
	_cleanup_(lock_releasep) struct lock *lock = NULL;
	bool forget = argc == 2 && strcmp(argv[1], "--forget") == 0;
	bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
	int r;

	if (argc > 1 && !forget) {
		fputs(usage, help ? stdout : stderr);
		return help ? 0 : EXIT_USAGE;
	}
	r = lock_acquire(&lock, state_dir(), e);
	if (r == -EBUSY || r == -EACCES || r == -EPERM) {
		fprintf(stderr, "irqlab restore: %s\n", e->msg);
		return EXIT_CANNOT_RUN;
	}
	if (r >= 0)
		r = host_open(&host, e);
	return r < 0 ? r : restore(&host, state_dir(), forget, e);
}
