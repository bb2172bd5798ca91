// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd.h"
#include "file.h"
#include "registry.h"

static const struct cmdline_opt options[] = { {} };

static void free_slotp(struct slot **p)
{
	free(*p);
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

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(plan_release) struct plan p = {};
	_cleanup_(free_slotp) struct slot *slots = NULL;
	size_t nr = 0, per_block;
	uint64_t seconds;
	int r = file_read(args[0], 1U << 20, &text, e);

	if (r >= 0)
		r = plan_parse(buf_str(&text), text.len, args[0], &plan_plugins, &p, e);
	if (r < 0)
		return EXIT_USAGE;
	r = plan_order(&p, &slots, &nr, e);
	if (r < 0)
		return r;
	per_block = p.nr_variants * p.nr_scenarios;
	seconds = plan_length_ns(&p) / NS_PER_S;
	printf("%s: %u blocks of %zu trials, about %llu min %llu s\n", p.name, p.blocks, per_block,
	       (unsigned long long)(seconds / 60), (unsigned long long)(seconds % 60));
	for (size_t i = 0; i < p.nr_metrics; i++)
		printf("metric %s: margin %.3g %%, smallest number of blocks for %zu metrics: %u\n",
		       p.metrics[i].text, p.metrics[i].margin * 100, p.nr_metrics,
		       plan_min_blocks(p.nr_metrics, p.alpha));
	for (unsigned int b = 0; b < p.blocks; b++)
		print_block(&p, slots + b * per_block, per_block, b);
	return EXIT_DONE;
}

const struct command cmd_plan = {
	.name = "plan",
	.help = "check a plan and show the order of its trials and their duration",
	.args = "PLAN",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
	.example = "irqlab plan plans/demo.yaml",
};
