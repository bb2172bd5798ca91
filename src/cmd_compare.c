// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd.h"
#include "cmd_output.h"
#include "compare_files.h"
#include "compare_runs.h"
#include "file.h"
#include "import/import.h"

#define TEXT_MAX (64U << 20)

struct compare_cfg {
	bool json;
	uint64_t irq_rate, seed;
	char *db;
};

static const struct cmdline_opt options[] = {
	{ { "json", OPT_BOOL, offsetof(struct compare_cfg, json), "", "print JSON" }, 0 },
	{ { "irq-rate", OPT_UINT, offsetof(struct compare_cfg, irq_rate), "0",
	    "files: interrupts per second, for the cost per interrupt" },
	  0 },
	{ { "seed", OPT_UINT, offsetof(struct compare_cfg, seed), "1",
	    "files: seed of the resampling" },
	  0 },
	{ { "db", OPT_STRING, offsetof(struct compare_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

/* "FILE" or "FILE#N". */
struct operand {
	char *path;
	unsigned int pick; /* 0: none */
	struct buf text;
};

static void operand_release(struct operand *o)
{
	free(o->path);
	buf_release(&o->text);
}

static int operand_of(const char *arg, struct operand *ret, struct err *e)
{
	if (access(arg, F_OK) < 0)
		return import_pick(arg, &ret->path, &ret->pick, e);
	ret->path = strdup(arg); /* a file that is called like a pick */
	return ret->path ? 0 : err_nomem(e, arg);
}

/* An argument means a file when there is one of that name, or "-"; else a stored run. */
static bool is_file(const char *arg)
{
	struct operand o = {};
	struct err e = {};
	bool yes = operand_of(arg, &o, &e) == 0 &&
		   (strcmp(o.path, "-") == 0 || access(o.path, F_OK) == 0);

	operand_release(&o);
	return yes;
}

/* Whether @arg is an existing FILE with a "#" after it that is followed by no number of a run. */
static bool is_bad_pick(const char *arg, struct err *e)
{
	const char *hash = strrchr(arg, '#');
	_cleanup_(freep) char *file = hash ? strndup(arg, (size_t)(hash - arg)) : NULL;
	uint64_t nr = 0;

	if (!file || access(arg, F_OK) == 0 || (strcmp(file, "-") != 0 && access(file, F_OK) < 0))
		return false;
	if (text_u64(hash + 1, &nr) == 0 && nr > 0 && nr <= UINT32_MAX)
		return false;
	err_set(e, -EINVAL,
		"\"%s\": after # comes the number of a run in %s; it counts from 1, as in %s#1",
		arg, strcmp(file, "-") == 0 ? "standard input" : file, file);
	return true;
}

static int files(const struct compare_cfg *cfg, char **args, int nr, struct err *e)
{
	_cleanup_(operand_release) struct operand a = {}, b = {};
	_cleanup_(buf_release) struct buf out = {};
	struct compare_opts opts = { .irq_rate = (double)cfg->irq_rate,
				     .json = cfg->json,
				     .seed = cfg->seed };
	int r = operand_of(args[0], &a, e);
	bool alone = nr < 2;

	if (r >= 0)
		r = file_read(a.path, TEXT_MAX, &a.text, e);
	if (r >= 0 && nr > 1)
		r = operand_of(args[1], &b, e);
	/* standard input can be read once: two picks of it are of one text */
	if (r >= 0 && nr > 1 && strcmp(a.path, "-") == 0 && strcmp(b.path, "-") == 0)
		alone = true;
	if (r >= 0 && !alone)
		r = file_read(b.path, TEXT_MAX, &b.text, e);
	if (r < 0)
		return r;
	opts.pick_a = a.pick;
	opts.pick_b = b.pick;
	r = compare_files(a.path, buf_str(&a.text), a.text.len, b.path,
			  alone ? NULL : buf_str(&b.text), b.text.len, &opts, &out, e);
	fputs(buf_str(&out), stdout);
	return r;
}

static int stored(const struct compare_cfg *cfg, char **args, int nr, struct err *e)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(buf_release) struct buf out = {};
	int64_t a = 0, b = 0;
	int r = cmd_store_open(&s, cfg->db, STORE_READ, e);

	if (r >= 0)
		r = store_run_find(s, nr ? args[0] : "last", &a, e);
	if (r < 0)
		return r == -ENOENT && nr
			       ? err_wrap(e, "%s is neither a file nor a stored run", args[0])
			       : r;
	if (nr < 2)
		return cmd_verdict(s, a, cfg->json ? OUTPUT_JSON : OUTPUT_TEXT, NULL, e);
	r = store_run_find(s, args[1], &b, e);
	if (r < 0)
		return err_wrap(e, "%s is neither a file nor a stored run", args[1]);
	r = compare_runs(s, a, b, cfg->json, &out, e);
	fputs(buf_str(&out), stdout);
	return r;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	bool a_file = nr_args > 0 && is_file(args[0]), b_file = nr_args > 1 && is_file(args[1]);

	for (int i = 0; i < nr_args; i++)
		if (is_bad_pick(args[i], e))
			return EXIT_USAGE;
	if (nr_args == 2 && a_file != b_file) {
		err_set(e, -EINVAL,
			"compare takes two files or two stored runs: there is no file \"%s\"",
			a_file ? args[1] : args[0]);
		return EXIT_USAGE;
	}
	return a_file ? files(config, args, nr_args, e) : stored(config, args, nr_args, e);
}

const struct command cmd_compare = {
	.name = "compare",
	.help = "the verdict of stored runs, or what two pasted texts can bear",
	.args = "[RUN | RUN RUN | FILE[#N] [FILE[#N]]]",
	.max_args = 2,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct compare_cfg),
	.example = "irqlab compare before.txt after.txt --irq-rate 80000",
	.more = "RUN is an id, a plan's name or \"last\", the default: its verdict is computed again.\n"
		"FILE is text that holds iperf3 TCP tables or cyclictest \"T:\" lines, mail quoting\n"
		"included; FILE#2 is the second run found in it, - is standard input.\n"
		"Exit codes: 0 better or same, 1 failed, 4 undecided, 5 worse.",
};
