// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "ready.h"
#include "report/format.h"

static const struct cmdline_opt options[] = { {} };

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	_cleanup_(buf_release) struct buf out = {};

	(void)config;
	if (nr_args) {
		const struct ready_plan *p = ready_find(args[0], e);

		if (!p)
			return EXIT_USAGE;
		fputs(p->text, stdout);
		return EXIT_DONE;
	}
	for (const struct ready_plan *p = ready_plans; p->name; p++) {
		_cleanup_(buf_release) struct buf about = {}, head = {};

		buf_printf(&head, "  %-18s ", p->name);
		ready_about(p, &about);
		format_wrap(&out, buf_str(&head), 21, buf_str(&about));
	}
	if (out.failed)
		return err_nomem(e, "plans");
	fputs(buf_str(&out), stdout);
	return EXIT_DONE;
}

const struct command cmd_plans = {
	.name = "plans",
	.help = "the ready plans, or the text of one",
	.args = "[NAME]",
	.max_args = 1,
	.options = options,
	.run = run,
	.example = "irqlab plans coalescing",
	.more = "irqlab init NAME writes one for this machine.",
};
