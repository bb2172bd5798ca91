// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "stored.h"

struct tag_cfg {
	bool remove;
	char *db;
};

static const struct cmdline_opt options[] = {
	{ { "remove", OPT_BOOL, offsetof(struct tag_cfg, remove), "", "take the tags away" }, 'r' },
	{ { "db", OPT_STRING, offsetof(struct tag_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

static int print_tags(struct store *s, int64_t id, struct err *e)
{
	_cleanup_(run_info_release) struct run_info info = {};
	int r = store_run_read(s, id, &info, e);

	if (r < 0)
		return r;
	if (info.tags)
		puts(info.tags);
	return EXIT_DONE;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct tag_cfg *cfg = config;
	_cleanup_(store_closep) struct store *s = NULL;
	int64_t id = 0;
	int r = stored_open(&s, &id, cfg->db, nr_args > 1 ? STORE_WRITE : STORE_READ, args[0], e);

	if (r >= 0 && nr_args == 1)
		return print_tags(s, id, e);
	for (int i = 1; i < nr_args && r >= 0; i++)
		r = store_run_tag(s, id, args[i], !cfg->remove, e);
	return r;
}

const struct command cmd_tag = {
	.name = "tag",
	.help = "tag a stored run, or print its tags",
	.args = "RUN [TAG...]",
	.min_args = 1,
	.max_args = -1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct tag_cfg),
	.example = "irqlab tag last baseline v6.12-rt",
	.more = "A tag may stand wherever a RUN is asked for, and means the newest run that has it:\n"
		"irqlab check plan.yaml --baseline v6.12-rt --max-loss throughput=1%. RUN as in:\n"
		"irqlab show --help",
};
