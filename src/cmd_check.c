// SPDX-License-Identifier: GPL-3.0-or-later
/* A bound against a stored run: for CI, and as the command of git bisect run. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "bound.h"
#include "cmd.h"
#include "cmd_output.h"
#include "plan/plan.h"
#include "registry.h"
#include "report/queries.h"
#include "run_plan.h"

/* What git bisect run makes of an exit code. */
#define GIT_GOOD 0
#define GIT_BAD 1
#define GIT_SKIP 125
#define GIT_ABORT 128

#define STEPS_MAX 10

struct bound_cfg {
	bool json, quiet, yes;
	char *baseline, *good, *variant, *db;
	struct str_list losses;
	double alpha;
	uint64_t times;
};

#define COMMON                                                                                   \
	{ { "max-loss", OPT_STRINGS, offsetof(struct bound_cfg, losses), "",                     \
	    "METRIC=SHARE,...: what may not be lost more of" },                                  \
	  0 },                                                                                   \
		{ { "variant", OPT_STRING, offsetof(struct bound_cfg, variant), "",              \
		    "compare this variant of both (the first)" },                                \
		  0 },                                                                           \
		{ { "alpha", OPT_RATIO, offsetof(struct bound_cfg, alpha), "0.05",               \
		    "level over all metrics and looks" },                                        \
		  0 },                                                                           \
		{ { "times", OPT_UINT, offsetof(struct bound_cfg, times), "1",                   \
		    "PLAN: measure it again up to so often while undecided", 1, STEPS_MAX },     \
		  0 },                                                                           \
		{ { "yes", OPT_BOOL, offsetof(struct bound_cfg, yes), "",                        \
		    "PLAN's commands have been read and may run" },                              \
		  'y' },                                                                         \
		{ { "json", OPT_BOOL, offsetof(struct bound_cfg, json), "", "print JSON" }, 0 }, \
		{ { "quiet", OPT_BOOL, offsetof(struct bound_cfg, quiet), "",                    \
		    "no progress line" },                                                        \
		  'q' },                                                                         \
	{                                                                                        \
		{ "db", OPT_STRING, offsetof(struct bound_cfg, db), "",                          \
		  "store to use (see irqlab list --help)" },                                     \
			0                                                                        \
	}

static const struct cmdline_opt check_options[] = {
	{ { "baseline", OPT_STRING, offsetof(struct bound_cfg, baseline), "",
	    "stored run to compare with: id, name or last" },
	  0 },
	COMMON,
	{},
};

static const struct cmdline_opt bisect_options[] = {
	{ { "baseline", OPT_STRING, offsetof(struct bound_cfg, baseline), "",
	    "stored run of a good kernel: id, name or last" },
	  0 },
	{ { "good", OPT_STRING, offsetof(struct bound_cfg, good), "", "the same as --baseline" },
	  0 },
	COMMON,
	{},
};

/* The runs measured so far, and the baseline. */
struct session {
	const struct bound_cfg *cfg;
	struct store *store;
	int64_t baseline;
	int64_t runs[STEPS_MAX];
	size_t nr;
	struct bound_rows rows;
};

static void session_release(struct session *s)
{
	store_close(s->store);
	bound_rows_release(&s->rows);
}

static const char *baseline_of(const struct bound_cfg *cfg)
{
	return *cfg->baseline || !cfg->good ? cfg->baseline : cfg->good;
}

/*
 * Find the baseline, and what to compare with it when that is a run, and refuse a bound that there
 * is no metric for: all that is wrong with the command line, before anything is measured.
 */
static int prepare(struct session *s, const char *arg, struct err *e)
{
	_cleanup_(plan_release) struct plan p = {};
	const char *name = baseline_of(s->cfg);
	int r;

	if (!*name)
		return err_set(e, -EINVAL,
			       "--baseline RUN names what to compare with; irqlab list shows the "
			       "stored runs");
	r = cmd_store_open(&s->store, s->cfg->db, STORE_READ, e);
	if (r >= 0)
		r = store_run_find(s->store, name, &s->baseline, e);
	if (r >= 0)
		r = queries_plan(s->store, s->baseline, &plan_plugins, &p, e);
	if (r >= 0)
		r = bound_check(&s->cfg->losses, p.metrics, p.nr_metrics, e);
	if (r < 0 || access(arg, F_OK) == 0)
		return r;
	r = store_run_find(s->store, arg, &s->runs[0], e);
	if (r < 0)
		return err_wrap(e, "%s is neither a file nor a stored run", arg);
	s->nr = 1;
	return 0;
}

static int judge(struct session *s, struct err *e)
{
	const struct bound_query q = { .baseline = s->baseline,
				       .variant = s->cfg->variant,
				       .runs = s->runs,
				       .nr_runs = s->nr,
				       .losses = &s->cfg->losses,
				       .alpha = s->cfg->alpha,
				       .steps = s->cfg->times };

	bound_rows_release(&s->rows);
	return bound_compare(s->store, &q, &s->rows, e);
}

/*
 * Measure the plan, and again while a bound is open, up to the times declared: the level is shared
 * out over them, so that asking again costs no honesty.  Exit code or negative errno.
 */
static int measure(struct session *s, const char *file, struct err *e)
{
	const struct run_request q = { .file = file,
				       .output = "",
				       .db = s->cfg->db,
				       .quiet = s->cfg->quiet,
				       .yes = s->cfg->yes };
	int rc = 0;

	while (s->nr < s->cfg->times && rc == 0) {
		_cleanup_(run_outcome_release) struct run_outcome done = {};

		rc = run_plan(&q, &done, e);
		if (rc != 0)
			break;
		s->runs[s->nr++] = done.id;
		rc = judge(s, e);
		if (rc < 0 || bound_word_of(&s->rows) != BOUND_OPEN)
			break;
	}
	return rc;
}

/* PLAN is measured, RUN is taken from the store. */
static int look(struct session *s, const char *arg, struct err *e)
{
	return s->nr ? judge(s, e) : measure(s, arg, e);
}

static void print(const struct session *s)
{
	_cleanup_(buf_release) struct buf out = {};

	bound_print(&s->rows, s->cfg->json, &out);
	fputs(buf_str(&out), stdout);
}

static int check(const void *config, char **args, int nr_args, struct err *e)
{
	_cleanup_(session_release) struct session s = { .cfg = config };
	int r = prepare(&s, args[0], e);

	(void)nr_args;
	if (r < 0)
		return EXIT_USAGE;
	r = look(&s, args[0], e);
	if (r != 0)
		return r;
	print(&s);
	switch (bound_word_of(&s.rows)) {
	case BOUND_WITHIN:
		return EXIT_DONE;
	case BOUND_BEYOND:
		return EXIT_WORSE;
	case BOUND_OPEN:
		break;
	}
	return EXIT_UNDECIDED;
}

static int bisect(const void *config, char **args, int nr_args, struct err *e)
{
	_cleanup_(session_release) struct session s = { .cfg = config };
	int r = prepare(&s, args[0], e);

	(void)nr_args;
	if (r < 0) /* it would be so for every kernel */
		return GIT_ABORT;
	r = look(&s, args[0], e);
	if (r == EXIT_USAGE || r == EXIT_CANNOT || r == -ENOTRECOVERABLE)
		return GIT_ABORT;
	if (r != 0)
		return GIT_SKIP;
	print(&s);
	switch (bound_word_of(&s.rows)) {
	case BOUND_WITHIN:
		return GIT_GOOD;
	case BOUND_BEYOND:
		return GIT_BAD;
	case BOUND_OPEN:
		break;
	}
	return GIT_SKIP;
}

const struct command cmd_check = {
	.name = "check",
	.help = "whether a plan or stored run loses more than allowed against a stored one, for CI",
	.args = "PLAN|RUN",
	.min_args = 1,
	.max_args = 1,
	.options = check_options,
	.run = check,
	.cfg_size = sizeof(struct bound_cfg),
	.example = "irqlab check ci.yaml --baseline 12 --max-loss throughput=1%,wakeup.p99=10%",
	.more = "PLAN is measured now and stored; RUN is an id, a name or \"last\".  The first variant of both\n"
		"is compared by the exact rank-sum test.  A metric is within its bound when its whole interval\n"
		"is, beyond it when its whole interval is, undecided otherwise; --times 3 measures PLAN again\n"
		"while undecided, at a third of the level each.\n"
		"Exit codes: 0 within, 5 beyond, 4 undecided, 1 failed, 2 usage, 77 cannot run here.",
};

const struct command cmd_bisect = {
	.name = "bisect",
	.help = "the command for git bisect run: 0 good, 1 bad, 125 cannot decide",
	.args = "PLAN|RUN",
	.min_args = 1,
	.max_args = 1,
	.options = bisect_options,
	.run = bisect,
	.cfg_size = sizeof(struct bound_cfg),
	.example =
		"git bisect run irqlab bisect plan.yaml --good 12 --max-loss throughput=3% --times 3",
	.more = "With the kernel or driver under test running, PLAN is measured and compared with the stored\n"
		"run of a good one, as irqlab check does.  While the bound is undecided PLAN is measured again,\n"
		"up to --times; after that the revision is skipped (125).\n"
		"Exit codes: 0 good, 1 bad, 125 skip, 128 ends the bisection (no baseline, bad plan, no root).",
};
