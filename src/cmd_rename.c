// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "stored.h"

struct rename_cfg {
	char *db;
};

static const struct cmdline_opt options[] = {
	{ { "db", OPT_STRING, offsetof(struct rename_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct rename_cfg *cfg = config;
	_cleanup_(store_closep) struct store *s = NULL;
	int64_t id = 0;
	int r = stored_open(&s, &id, cfg->db, STORE_WRITE, args[0], e);

	(void)nr_args;
	return r < 0 ? r : store_run_rename(s, id, args[1], e);
}

const struct command cmd_rename = {
	.name = "rename",
	.help = "give a stored run another name",
	.args = "RUN NAME",
	.min_args = 2,
	.max_args = 2,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct rename_cfg),
	.example = "irqlab rename last \"threaded NAPI, second board\"",
	.more = "Reports show the name; the plan's text keeps its own. RUN as in: irqlab show --help",
};
