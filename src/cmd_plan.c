// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd.h"
#include "file.h"
#include "plan_power.h"
#include "registry.h"

struct plan_cfg {
	bool plugins;
	double detect;
	char *pilot, *db;
};

static const struct cmdline_opt options[] = {
	{ { "plugins", OPT_BOOL, offsetof(struct plan_cfg, plugins), "",
	    "list the knobs, loads and probes with their options and metrics" },
	  0 },
	{ { "detect", OPT_RATIO, offsetof(struct plan_cfg, detect), "0",
	    "how many blocks a change of this size takes, such as 1%" },
	  0 },
	{ { "pilot", OPT_STRING, offsetof(struct plan_cfg, pilot), "",
	    "stored run to take the noise from" },
	  0 },
	{ { "db", OPT_STRING, offsetof(struct plan_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

static void print_options(const struct opt *o)
{
	for (; o && o->type != OPT_END; o++) {
		printf("      %-16s %s", o->name, o->help);
		if (!o->def)
			printf(" (required)");
		else if (*o->def)
			printf(" (%s)", o->def);
		for (size_t i = 0; o->type == OPT_ENUM && o->choices[i]; i++)
			printf("%s%s", i ? " | " : ": ", *o->choices[i] ? o->choices[i] : "-");
		printf("\n");
	}
}

static void print_metrics(const struct plugin *p)
{
	static const char *const better[] = { [BETTER_NONE] = "describes",
					      [BETTER_HIGHER] = "higher is better",
					      [BETTER_LOWER] = "lower is better" };

	for (const struct metric_desc *m = p->metrics; m && m->name; m++)
		printf("      %s%s%-*s %s [%s], %s\n", m->global ? "" : p->name,
		       m->global ? "" : ".", m->global ? 16 : 15 - (int)strlen(p->name), m->name,
		       m->help, m->unit, better[m->better]);
}

static void print_kind(const char *kind, const struct plugin *const *list)
{
	printf("%s\n", kind);
	for (; *list; list++) {
		printf("  %s: %s\n", (*list)->name, (*list)->help);
		if ((*list)->free_keys)
			printf("      NAME: VALUE      any name\n");
		print_options((*list)->options);
		if ((*list)->metrics && (*list)->metrics->name)
			printf("    metrics\n");
		print_metrics(*list);
	}
}

static void print_plugins(void)
{
	print_kind("knobs (setup, variants)", plan_plugins.knobs);
	print_kind("\nloads (scenarios)", plan_plugins.loads);
	print_kind("\nprobes", plan_plugins.probes);
}

static void print_block(const struct plan *p, const struct slot *slots, size_t per_block,
			unsigned int block)
{
	printf("block %3u:", block + 1);
	for (size_t i = 0; i < per_block; i++)
		printf(" %s@%s", p->variants[slots[i].variant].name,
		       p->scenarios[slots[i].scenario].name);
	printf("\n");
}

/* Trials under one boot on a line. */
static void print_boots(const struct plan *p, const struct slot *slots, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct slot *s = &slots[i];

		if (i == 0 || s->variant != s[-1].variant)
			printf("%sboot of %s:", i ? "\n" : "", p->variants[s->variant].name);
		printf(" %u@%s", s->block + 1, p->scenarios[s->scenario].name);
	}
	printf("\n");
}

static void print_length(const struct plan *p)
{
	uint64_t seconds = plan_length_ns(p) / NS_PER_S;

	printf("%s: %s%u blocks of %zu trials, about ", p->name,
	       plan_is_sequential(p) ? "at most " : "", p->blocks,
	       p->nr_variants * p->nr_scenarios);
	if (seconds >= 60)
		printf("%llu min ", (unsigned long long)(seconds / 60));
	printf("%llu s\n", (unsigned long long)(seconds % 60));
	if (!plan_is_sequential(p))
		return;
	printf("looks after blocks");
	for (size_t i = 0; i < p->nr_looks; i++)
		printf(" %u", p->looks[i]);
	printf("; it ends at the first that decides all\n");
}

static void print_metrics_of(const struct plan *p)
{
	for (size_t i = 0; i < p->nr_metrics; i++)
		printf("metric %s: margin %.3g %%, smallest number of blocks for %zu metric%s: %u\n",
		       p->metrics[i].text, p->metrics[i].margin * 100, p->nr_metrics,
		       p->nr_metrics == 1 ? "" : "s", plan_min_blocks(p->nr_metrics, p->alpha));
}

static int print_short_tails(const struct plan *p, struct err *e)
{
	_cleanup_(buf_release) struct buf out = {};
	int r = plan_short_tails(p, &plan_plugins, &out, e);

	fputs(buf_str(&out), stdout);
	return r;
}

static int print_power(const struct plan *p, const struct plan_cfg *cfg, const char *file,
		       struct err *e)
{
	const struct power_question q = {
		.db = cfg->db, .pilot = cfg->pilot, .file = file, .detect = cfg->detect
	};
	_cleanup_(buf_release) struct buf out = {};
	int r = plan_power(p, &q, &out, e);

	fputs(buf_str(&out), stdout);
	return r;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(plan_release) struct plan p = {};
	_cleanup_(freep) struct slot *slots = NULL;
	size_t nr = 0, per_block;
	const struct plan_cfg *cfg = config;
	int r;

	if (cfg->plugins) {
		print_plugins();
		return EXIT_DONE;
	}
	if (!nr_args) {
		err_set(e, -EINVAL, "plan needs PLAN; see: irqlab plan --help");
		return EXIT_USAGE;
	}
	r = file_read(args[0], 1U << 20, &text, e);
	if (r >= 0)
		r = plan_parse(buf_str(&text), text.len, args[0], &plan_plugins, &p, e);
	if (r < 0)
		return EXIT_USAGE;
	r = plan_order(&p, &slots, &nr, e);
	if (r < 0)
		return r;
	per_block = p.nr_variants * p.nr_scenarios;
	print_length(&p);
	print_metrics_of(&p);
	r = print_short_tails(&p, e);
	if (r < 0)
		return r;
	r = print_power(&p, cfg, args[0], e);
	if (p.boots && r >= 0)
		print_boots(&p, slots, nr);
	for (unsigned int b = 0; b < p.blocks && r >= 0 && !p.boots; b++)
		print_block(&p, slots + b * per_block, per_block, b);
	return r < 0 ? r : EXIT_DONE;
}

const struct command cmd_plan = {
	.name = "plan",
	.help = "check a plan; show the order of its trials, their duration and what they can see",
	.args = "[PLAN]",
	.max_args = 1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct plan_cfg),
	.example = "irqlab plan plans/demo.yaml --detect 1%",
	.more = "What a number of blocks can see follows from how much single pairs of trials differ. That is\n"
		"taken from the newest A/A run of this machine (irqlab run --aa PLAN), else from any run of it\n"
		"that measured the same metric under the same loads, or from the one that --pilot names.",
};
