// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "cmd_output.h"
#include "export/export.h"
#include "file.h"
#include "registry.h"
#include "report/report.h"

struct export_cfg {
	char *db, *format, *output;
	uint64_t trial;
};

static const struct cmdline_opt options[] = {
	{ { "format", OPT_STRING, offsetof(struct export_cfg, format), "",
	    "what to write, one of those below" },
	  'f' },
	{ { "output", OPT_STRING, offsetof(struct export_cfg, output), "-",
	    "file to write (-: standard output)" },
	  'o' },
	{ { "trial", OPT_UINT, offsetof(struct export_cfg, trial), "0",
	    "only this trial, counted from 1 as reports do", .max = UINT32_MAX },
	  0 },
	{ { "db", OPT_STRING, offsetof(struct export_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

/* The trial that --trial names; NULL in @src when none is named. */
static int pick_trial(const struct export_cfg *cfg, const struct export_ops *form, int64_t run,
		      struct export_source *src, struct err *e)
{
	if (cfg->trial == 0 && form->one_trial)
		return err_set(e, -EINVAL,
			       "format %s is of one trial: name it with --trial N (run %" PRId64
			       "'s are in: irqlab export %" PRId64 " --format csv)",
			       form->name, run, run);
	if (cfg->trial == 0)
		return 0;
	src->trial = export_trial(src->report, cfg->trial);
	if (!src->trial)
		return err_set(e, -ENOENT, "run %" PRId64 " has no trial %" PRIu64, run,
			       cfg->trial);
	return 0;
}

static int write_out(const char *path, const struct buf *data, struct err *e)
{
	if (*path && !(path[0] == '-' && !path[1]))
		return file_write(path, data, e);
	/* main() looks at what standard output says */
	fwrite(buf_str(data), 1, data->len, stdout);
	return 0;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct export_cfg *cfg = config;
	const struct export_ops *form = NULL;
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(report_freep) struct report *rep = NULL;
	_cleanup_(buf_release) struct buf out = {};
	struct export_source src = {};
	int64_t id = 0;
	int r;

	if (export_find(cfg->format, &form, e) < 0)
		return EXIT_USAGE;
	r = cmd_store_open(&s, cfg->db, STORE_READ, e);
	if (r >= 0)
		r = store_run_find(s, nr_args ? args[0] : "last", &id, e);
	if (r >= 0)
		r = report_gather(&rep, s, id, &plan_plugins, e);
	if (r < 0)
		return r;
	src = (struct export_source){ .report = rep, .store = s };
	r = pick_trial(cfg, form, id, &src, e);
	if (r == -EINVAL)
		return EXIT_USAGE;
	if (r >= 0)
		r = form->write(&src, &out, e);
	if (r >= 0)
		r = write_out(cfg->output, &out, e);
	return r < 0 ? r : EXIT_DONE;
}

const struct command cmd_export = {
	.name = "export",
	.help = "write a stored run in a form that other systems read",
	.args = "[RUN]",
	.max_args = 1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct export_cfg),
	.example = "irqlab export last --format junit -o irqlab.xml",
	.more = "RUN is an id, a plan's name (its newest run) or \"last\", the default.\n"
		"\n"
		"Formats:\n"
		"  json             verdicts, health, trials; docs/schema/report-1.json\n"
		"  csv              a row per trial, a column per metric of the plan\n"
		"  csv-scalars      a row per trial and number, all that were measured\n"
		"  csv-series       a row per trial, series and point in time\n"
		"  csv-exploratory  a row per number that differs but is not judged\n"
		"  junit            JUnit XML: a test per metric, undecided is skipped\n"
		"  ktap             KTAP: a test per metric, undecided is skipped\n"
		"  kcidb            a report as KernelCI's database takes it (schema 5.0)\n"
		"  openmetrics      OpenMetrics text for Prometheus and its kin\n"
		"  hdr              HdrHistogram V2 log: a line per trial and latency\n"
		"  markdown         Markdown for the text of a pull request\n"
		"  patch            the ten lines that belong into a commit message\n"
		"  iperf3-json      the traffic of --trial N as iperf3 -J writes it\n"
		"  cyclictest-json  the wake-ups of --trial N as cyclictest --json does\n"
		"\n"
		"--trial also restricts csv-scalars, csv-series and hdr. A verdict is no failure\n"
		"here: the exit code is compare's and run's business.",
};
