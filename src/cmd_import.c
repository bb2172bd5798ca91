// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "import/import.h"
#include "import_list.h"

#define PIECE (256U << 10)

struct import_cfg {
	bool list, json;
};

static const struct cmdline_opt options[] = {
	{ { "list", OPT_BOOL, offsetof(struct import_cfg, list), "",
	    "say what is found and what is skipped, where and why (the default)" },
	  'l' },
	{ { "json", OPT_BOOL, offsetof(struct import_cfg, json), "", "print JSON" }, 0 },
	{},
};

/* Read @path to its end into @reader. */
static int read_file(const char *path, struct import_reader *reader, struct err *e)
{
	_cleanup_(freep) char *piece = malloc(PIECE);
	_cleanup_(close_fdp) int fd = -1;
	int r = 0;

	if (!piece)
		return err_nomem(e, path);
	fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s", path);
	while (r == 0) {
		ssize_t n = read(fd, piece, PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "read %s", path);
		if (n == 0)
			return import_end(reader, e);
		r = import_add(reader, piece, (size_t)n, e);
	}
	return r;
}

static int import_file(const char *path, struct import_list *list, struct err *e)
{
	_cleanup_(import_freep) struct import_reader *reader = NULL;
	int r = import_new(&reader, &list->sink, e);

	if (r == 0)
		r = import_list_begin(list, path, e);
	if (r == 0)
		r = read_file(path, reader, e);
	if (r < 0)
		return r;
	return import_list_end(list, import_lines(reader), e);
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct import_cfg *cfg = config;
	_cleanup_(import_list_release) struct import_list list = {};
	int r = import_list_init(&list, stdout, cfg->json);

	for (int i = 0; i < nr_args && r == 0; i++)
		r = import_file(args[i], &list, e);
	if (r == 0)
		r = import_list_finish(&list, e);
	return r;
}

const struct command cmd_import = {
	.name = "import",
	.help = "results of other programs out of their outputs and out of mails",
	.args = "FILE...",
	.min_args = 1,
	.max_args = -1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct import_cfg),
	.example = "irqlab import --list mail.txt",
	.more = "FILE is any text, - is standard input: mails (mbox, MIME, HTML, quoted at any depth),\n"
		"terminal logs, JSON.  What stands in it is found by its form, not by its name.\n"
		"Exit codes: 0 done, 1 failed, or no result in one of the files.",
};
