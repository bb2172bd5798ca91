// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <gsl/gsl_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd.h"
#include "complete.h"
#include "manual.h"

static const struct command *const commands[] = {
#define COMMAND(name) &cmd_##name,
#include "commands.def"
#undef COMMAND
	NULL,
};

#define NR_COMMANDS (ARRAY_SIZE(commands) - 1)

static void usage(FILE *to)
{
	fputs("usage: irqlab COMMAND [OPTION...] [ARGUMENT...]\n\n"
	      "An A/B laboratory for the Linux interrupt and network path.\n\n",
	      to);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->help);
	fputs("\nEach has --help.  Exit codes: 0 done, 1 failed, 2 usage, 3 machine not restored,\n"
	      "4 undecided, 5 a variant is worse, 77 cannot run here.\n\n"
	      "Example: irqlab run plans/demo.yaml\n",
	      to);
}

static const struct command *find(const char *name, struct err *e)
{
	const char *words[NR_COMMANDS + 1] = {};
	const char *near;

	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
		words[i] = commands[i]->name;
	}
	near = text_nearest(name, words);
	if (near)
		err_set(e, -EINVAL, "no command \"%s\"; did you mean \"%s\"?", name, near);
	else
		err_set(e, -EINVAL, "no command \"%s\"; see: irqlab --help", name);
	return NULL;
}

static int manual(const char *name, struct buf *out, struct err *e)
{
	const struct command *cmd;

	if (!name)
		return manual_main(commands, out);
	if (strcmp(name, "plugins") == 0)
		return manual_plugins(out);
	cmd = find(name, e);
	return cmd ? manual_command(cmd, out) : e->code;
}

/* What packagers and shells ask: --man [COMMAND], --completion SHELL, --complete WORD... */
static int print_page(int argc, char **argv, struct err *e)
{
	_cleanup_(buf_release) struct buf out = {};
	int r = 0;

	if (strcmp(argv[1], "--man") == 0)
		r = manual(argc > 2 ? argv[2] : NULL, &out, e);
	else if (strcmp(argv[1], "--completion") == 0)
		r = complete_script(argc > 2 ? argv[2] : "", &out, e);
	else
		complete_words(commands, argc - 2, argv + 2, &out);
	if (r < 0)
		return EXIT_USAGE;
	fputs(buf_str(&out), stdout);
	return EXIT_DONE;
}

static bool is_page(const char *arg)
{
	return strcmp(arg, "--man") == 0 || strcmp(arg, "--completion") == 0 ||
	       strcmp(arg, "--complete") == 0;
}

static int run(int argc, char **argv, struct err *e)
{
	const struct command *cmd;
	int r;

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		usage(stdout);
		return EXIT_DONE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("irqlab " IRQLAB_VERSION);
		return EXIT_DONE;
	}
	if (is_page(argv[1]))
		return print_page(argc, argv, e);
	cmd = find(argv[1], e);
	if (!cmd)
		return EXIT_USAGE;
	r = cmdline_run(cmd, argc - 1, argv + 1, e);
	if (r == -ENOTRECOVERABLE)
		return EXIT_NOT_RESTORED;
	return r < 0 ? EXIT_FAILED : r;
}

int main(int argc, char **argv)
{
	struct err e = {};
	int code;

	gsl_set_error_handler_off(); /* its default aborts; we look at what it returns */
	code = run(argc, argv, &e);

	if (code != EXIT_DONE && e.len)
		fprintf(stderr, "irqlab: %s\n", e.msg);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		fprintf(stderr, "irqlab: standard output: %m\n");
		return code ? code : EXIT_FAILED;
	}
	return code;
}
