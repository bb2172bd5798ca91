// SPDX-License-Identifier: GPL-3.0-or-later
#include "cmdline.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

#define MAX_OPTIONS 32
#define LONG_BASE 256 /* getopt values of options: LONG_BASE + row */

int cmdline_help(const struct command *cmd, struct buf *out)
{
	if (cmd->raw_help)
		return cmd->raw_help(out);
	buf_printf(out, "usage: irqlab %s%s%s%s\n\n%s.\n", cmd->name,
		   cmd->options ? " [OPTION...]" : "", *cmd->args ? " " : "", cmd->args, cmd->help);
	if (cmd->options && cmd->options->opt.type != OPT_END)
		buf_puts(out, "\n");
	for (const struct cmdline_opt *o = cmd->options; o && o->opt.type != OPT_END; o++) {
		char letter[6] = "    ", name[48];

		if (o->letter)
			snprintf(letter, sizeof(letter), "-%c, ", o->letter);
		snprintf(name, sizeof(name), "%s%s", o->opt.name,
			 o->opt.type == OPT_BOOL ? "" : "=...");
		buf_printf(out, "  %s--%-20s %s", letter, name, o->opt.help);
		if (o->opt.def && *o->opt.def && o->opt.type != OPT_BOOL)
			buf_printf(out, " (%s)", o->opt.def);
		buf_puts(out, "\n");
	}
	if (cmd->more)
		buf_printf(out, "\n%s\n", cmd->more);
	buf_printf(out, "\nExample: %s\n", cmd->example);
	return out->failed ? -ENOMEM : 0;
}

static void defaults(const struct command *cmd, void *cfg, struct err *e)
{
	for (const struct cmdline_opt *o = cmd->options; o && o->opt.type != OPT_END; o++) {
		struct opt rows[] = { o->opt, {} };

		opt_defaults(rows, cfg, e);
	}
}

static void release(const struct command *cmd, void *cfg)
{
	for (const struct cmdline_opt *o = cmd->options; o && o->opt.type != OPT_END; o++) {
		struct opt rows[] = { o->opt, {} };

		opt_release(rows, cfg);
	}
}

static int unknown(const struct command *cmd, const char *arg, struct err *e)
{
	const char *words[MAX_OPTIONS + 1] = {};
	const char *near;

	for (size_t i = 0; cmd->options[i].opt.type != OPT_END && i < MAX_OPTIONS; i++)
		words[i] = cmd->options[i].opt.name;
	near = strncmp(arg, "--", 2) == 0 ? text_nearest(arg + 2, words) : NULL;
	if (near)
		err_set(e, -EINVAL, "%s has no option \"%s\"; did you mean --%s?", cmd->name, arg,
			near);
	else
		err_set(e, -EINVAL, "%s has no option \"%s\"; see: irqlab %s --help", cmd->name,
			arg, cmd->name);
	return EXIT_USAGE;
}

/* From "NAME "x": expected ..." to "option --NAME "x": expected ...". */
static void name_option(const struct opt *row, struct err *e)
{
	size_t n = strlen(row->name);
	char why[sizeof(e->msg)];

	snprintf(why, sizeof(why), "%s", e->msg);
	if (strncmp(why, row->name, n) == 0 && why[n] == ' ')
		err_set(e, e->code, "option --%.900s", why);
	else
		err_wrap(e, "option --%s", row->name);
}

/* One option that getopt_long() found as @c in @arg; an exit code, 0 when all is well. */
static int take_option(const struct command *cmd, int c, const char *arg, void *cfg, struct err *e)
{
	const struct cmdline_opt *o = c >= LONG_BASE ? &cmd->options[c - LONG_BASE] : cmd->options;

	if (c == 'h')
		return EXIT_DONE;
	if (c == ':') {
		err_set(e, -EINVAL, "%s: option \"%s\" needs a value", cmd->name, arg);
		return EXIT_USAGE;
	}
	if (c == '?')
		return unknown(cmd, arg, e);
	while (c < LONG_BASE && o->letter != c)
		o++;
	if (opt_set(&o->opt, o->opt.type == OPT_BOOL ? "on" : optarg, cfg, e) >= 0)
		return EXIT_DONE;
	name_option(&o->opt, e);
	return EXIT_USAGE;
}

/* Fill @cfg; returns the index of the first argument, or -1 with the exit code in *ret. */
static int parse(const struct command *cmd, int argc, char **argv, void *cfg, int *ret,
		 struct err *e)
{
	struct option longs[MAX_OPTIONS + 2] = {};
	char letters[2 * MAX_OPTIONS + 4] = ":h";
	size_t used = 2, nr = 0;
	int c;

	for (const struct cmdline_opt *o = cmd->options; o->opt.type != OPT_END && nr < MAX_OPTIONS;
	     o++, nr++) {
		bool flag = o->opt.type == OPT_BOOL;

		longs[nr] = (struct option){ o->opt.name, flag ? no_argument : required_argument,
					     NULL, LONG_BASE + (int)nr };
		if (o->letter)
			used += (size_t)snprintf(letters + used, sizeof(letters) - used, "%c%s",
						 o->letter, flag ? "" : ":");
	}
	longs[nr] = (struct option){ "help", no_argument, NULL, 'h' };
	opterr = 0;
	optind = 1;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		*ret = take_option(cmd, c, argv[optind - 1], cfg, e);
		if (*ret != EXIT_DONE || c == 'h')
			return -1;
	}
	return optind;
}

static int count_args(const struct command *cmd, int nr, struct err *e)
{
	if (nr < cmd->min_args)
		err_set(e, -EINVAL, "%s needs %s; see: irqlab %s --help", cmd->name, cmd->args,
			cmd->name);
	else if (cmd->max_args >= 0 && nr > cmd->max_args)
		err_set(e, -EINVAL, "%s takes %s and no more; see: irqlab %s --help", cmd->name,
			*cmd->args ? cmd->args : "no argument", cmd->name);
	else
		return 0;
	return EXIT_USAGE;
}

int cmdline_run(const struct command *cmd, int argc, char **argv, struct err *e)
{
	_cleanup_(freep) void *cfg = NULL;
	int first, ret = 0;

	if (cmd->raw)
		return cmd->raw(argc, argv, e);
	cfg = calloc(1, cmd->cfg_size ? cmd->cfg_size : 1);
	if (!cfg)
		return err_nomem(e, cmd->name);
	defaults(cmd, cfg, e);
	first = parse(cmd, argc, argv, cfg, &ret, e);
	if (first < 0 && ret == EXIT_DONE) {
		_cleanup_(buf_release) struct buf help = {};

		cmdline_help(cmd, &help);
		fputs(buf_str(&help), stdout);
	} else if (first >= 0) {
		ret = count_args(cmd, argc - first, e);
		if (ret == 0)
			ret = cmd->run(cfg, argv + first, argc - first, e);
	}
	release(cmd, cfg);
	return ret;
}
