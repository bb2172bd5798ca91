// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "stored.h"

struct rm_cfg {
	bool force;
	char *db;
};

static const struct cmdline_opt options[] = {
	{ { "force", OPT_BOOL, offsetof(struct rm_cfg, force), "", "also a run that is not ended" },
	  'f' },
	{ { "db", OPT_STRING, offsetof(struct rm_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

/* A run that is open may be under way: its trials would have nowhere to go. */
static int check_state(const struct rm_cfg *cfg, struct store *s, int64_t id, struct err *e)
{
	_cleanup_(run_info_release) struct run_info info = {};
	int r = store_run_read(s, id, &info, e);

	if (r >= 0 && info.state == RUN_OPEN && !cfg->force)
		return err_set(
			e, -EBUSY,
			"run %lld is open: it is under way, or was killed and can be resumed; "
			"--force removes it nevertheless",
			(long long)id);
	return r;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct rm_cfg *cfg = config;
	int r = 0;

	/* one after another: "rm last last" removes two */
	for (int i = 0; i < nr_args && r >= 0; i++) {
		_cleanup_(store_closep) struct store *s = NULL;
		int64_t id = 0;

		r = stored_open(&s, &id, cfg->db, STORE_WRITE, args[i], e);
		if (r >= 0)
			r = check_state(cfg, s, id, e);
		if (r >= 0)
			r = store_run_remove(s, id, e);
	}
	return r;
}

const struct command cmd_rm = {
	.name = "rm",
	.help = "remove stored runs with all their trials",
	.args = "RUN...",
	.min_args = 1,
	.max_args = -1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct rm_cfg),
	.example = "irqlab rm 17 18",
	.more = "There is no way back. The file keeps its size, the space is used again. RUN as in:\n"
		"irqlab show --help",
};
