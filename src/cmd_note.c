// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "stored.h"

struct note_cfg {
	char *db;
};

static const struct cmdline_opt options[] = {
	{ { "db", OPT_STRING, offsetof(struct note_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

static int print_note(struct store *s, int64_t id, struct err *e)
{
	_cleanup_(run_info_release) struct run_info info = {};
	int r = store_run_read(s, id, &info, e);

	if (r < 0)
		return r;
	if (*info.note)
		puts(info.note);
	return EXIT_DONE;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct note_cfg *cfg = config;
	_cleanup_(store_closep) struct store *s = NULL;
	int64_t id = 0;
	int r = stored_open(&s, &id, cfg->db, nr_args > 1 ? STORE_WRITE : STORE_READ, args[0], e);

	if (r < 0)
		return r;
	return nr_args > 1 ? store_run_note(s, id, args[1], e) : print_note(s, id, e);
}

const struct command cmd_note = {
	.name = "note",
	.help = "write a note beside a stored run, or print it",
	.args = "RUN [TEXT]",
	.min_args = 1,
	.max_args = 2,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct note_cfg),
	.example = "irqlab note last \"fan replaced, BIOS 1.17\"",
	.more = "TEXT replaces the note that was there; \"\" removes it. RUN as in: irqlab show --help",
};
