/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMDLINE_H
#define CMDLINE_H

/*
 * Commands are rows: name, options, arguments, one example.  Help is printed from the row, so it
 * cannot differ from what is parsed.
 */

#include "base/opt.h"

struct buf;
struct err;

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_RESTORED = 3,
	EXIT_UNDECIDED = 4,
	EXIT_WORSE = 5,
	EXIT_CANNOT = 77,
};

struct cmdline_opt {
	struct opt opt; /* OPT_BOOL takes no argument on the command line */
	char letter;	/* 0: only --name */
};

struct command {
	const char *name;
	const char *help;		   /* one line, no full stop */
	const char *args;		   /* "PLAN", "[RUN]" */
	int min_args, max_args;		   /* max -1: any number */
	const struct cmdline_opt *options; /* ends with {}; NULL with raw */
	/*
	 * @cfg: filled by the options; @args: what remains.  Returns an exit code, or negative
	 * errno (exit 1).  A message in @e is printed by main() for any result but 0.
	 */
	int (*run)(const void *cfg, char **args, int nr_args, struct err *e);
	size_t cfg_size;
	/* parses its arguments itself (argv[0] is the command's name) */
	int (*raw)(int argc, char **argv, struct err *e);
	int (*raw_help)(struct buf *out); /* its help text, with raw */
	const char *example;
	const char *more; /* further help text, or NULL */
};

/* Parse and run; handles --help. */
int cmdline_run(const struct command *cmd, int argc, char **argv, struct err *e);
/* The help text of one command; a line begins with each option. */
int cmdline_help(const struct command *cmd, struct buf *out);

#endif
