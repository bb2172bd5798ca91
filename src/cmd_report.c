// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "cmd_output.h"

struct report_cfg {
	bool json;
	char *db, *output;
};

static const struct cmdline_opt options[] = {
	{ { "output", OPT_STRING, offsetof(struct report_cfg, output), "", "HTML report to write" },
	  'o' },
	{ { "json", OPT_BOOL, offsetof(struct report_cfg, json), "", "print JSON instead of text" },
	  0 },
	{ { "db", OPT_STRING, offsetof(struct report_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

/* The verdict's exit code is compare's business; a report that was written is a success. */
static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct report_cfg *cfg = config;
	_cleanup_(store_closep) struct store *s = NULL;
	int64_t id = 0;
	int r = cmd_store_open(&s, cfg->db, STORE_READ, e);

	if (r >= 0)
		r = store_run_find(s, nr_args ? args[0] : "last", &id, e);
	if (r >= 0)
		r = cmd_verdict(s, id, cfg->json ? OUTPUT_JSON : OUTPUT_TEXT,
				*cfg->output ? cfg->output : NULL, e);
	return r < 0 ? r : EXIT_DONE;
}

const struct command cmd_report = {
	.name = "report",
	.help = "print a stored run fit for a mail, or write its HTML report",
	.args = "[RUN]",
	.max_args = 1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct report_cfg),
	.example = "irqlab report last -o report.html",
	.more = "RUN is an id, a plan's name (its newest run) or \"last\", the default.",
};
