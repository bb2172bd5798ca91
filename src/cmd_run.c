// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "cmd_output.h"
#include "run_plan.h"

struct run_cfg {
	bool resume, quiet, json, aa, yes, fix, force, identify;
	char *db, *output;
};

static const struct cmdline_opt options[] = {
	{ { "output", OPT_STRING, offsetof(struct run_cfg, output), "",
	    "HTML report to write (irqlab-ID.html)" },
	  'o' },
	{ { "resume", OPT_BOOL, offsetof(struct run_cfg, resume), "",
	    "go on with the newest run (of PLAN) that did not end" },
	  0 },
	{ { "aa", OPT_BOOL, offsetof(struct run_cfg, aa), "",
	    "the baseline against itself: finds the noise floor" },
	  0 },
	{ { "yes", OPT_BOOL, offsetof(struct run_cfg, yes), "",
	    "the plan's commands have been read and may run" },
	  'y' },
	{ { "fix", OPT_BOOL, offsetof(struct run_cfg, fix), "",
	    "set what irqlab audit would mend, for the length of the run" },
	  0 },
	{ { "force", OPT_BOOL, offsetof(struct run_cfg, force), "",
	    "run although the audit finds that it would say nothing" },
	  0 },
	{ { "identify", OPT_BOOL, offsetof(struct run_cfg, identify), "",
	    "store host name, serial number and addresses too" },
	  0 },
	{ { "json", OPT_BOOL, offsetof(struct run_cfg, json), "", "print the verdict as JSON" },
	  0 },
	{ { "quiet", OPT_BOOL, offsetof(struct run_cfg, quiet), "", "no progress line" }, 'q' },
	{ { "db", OPT_STRING, offsetof(struct run_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct run_cfg *cfg = config;
	const struct run_request q = { .file = nr_args ? args[0] : NULL,
				       .output = cfg->output,
				       .db = cfg->db,
				       .resume = cfg->resume,
				       .quiet = cfg->quiet,
				       .yes = cfg->yes,
				       .aa = cfg->aa,
				       .force = cfg->force,
				       .fix = cfg->fix,
				       .identify = cfg->identify };
	_cleanup_(run_outcome_release) struct run_outcome done = {};
	struct err ignored = {};
	int rc = run_plan(&q, &done, e);
	int verdict = EXIT_DONE;

	if (done.complete)
		verdict = cmd_verdict(done.store, done.id, cfg->json ? OUTPUT_JSON : OUTPUT_TEXT,
				      cfg->output, rc == 0 ? e : &ignored);
	return rc == 0 ? verdict : rc;
}

const struct command cmd_run = {
	.name = "run",
	.help = "run the experiment of a plan, print the verdict, write the report",
	.args = "[PLAN]",
	.min_args = 0,
	.max_args = 1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct run_cfg),
	.example = "irqlab run plans/demo.yaml -o demo.html",
	.more = "A plan with \"until: decided\" or \"budget: 10min\" ends at the first of its looks at which\n"
		"all is decided, or nothing more can be hoped for (docs/method.md, section 10).\n"
		"--aa makes every variant a copy of the first: what then differs is this bench's noise. Later\n"
		"reports print it beside every effect: irqlab run --aa plans/demo.yaml\n"
		"Commands of a plan run as root: they are shown, and a person is asked, unless --yes.\n"
		"Before the first trial the machine is audited (irqlab audit PLAN); a veto ends the run there.\n"
		"Addresses of network cards, serial numbers and the host name are not stored.\n"
		"Exit codes: 0 better or same, 4 undecided or vetoed, 5 worse, 3 machine not restored,\n"
		"77 cannot run here (no root, another run has the machine, the audit has a veto, or a variant\n"
		"wants another boot: irqlab run --resume goes on after it).",
};
