// SPDX-License-Identifier: GPL-3.0-or-later
/* How many blocks, when the verdict is looked at, which trials do not count. */
#include "plan/parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "plan/boot.h"

#define DEFAULT_BLOCKS 8
/* A sequential design without a budget ends here at the latest. */
#define DEFAULT_UNTIL_BLOCKS 24
#define DEFAULT_LOOKS 4
#define MAX_BLOCKS 10000
/* 24 bytes each in plan_order(); over eleven days of trials of one second. */
#define MAX_TRIALS 1000000
/* What starting and ending a trial takes besides, roughly: a budget counts it. */
#define TRIAL_EXTRA_NS (300 * NS_PER_MS)
#define DAY_NS (24 * 3600 * NS_PER_S)

static const char *const on_off[] = { "off", "on", NULL };

/* "25%", or "off" for no bound; a share above 1 makes no sense. */
static int parse_bound(const struct parse *p, const yaml_node_t *v, const char *key, double *ret,
		       struct err *e)
{
	const struct opt row = { key, OPT_RATIO, 0, NULL, "share of a trial" };
	const char *text = NULL;
	int r = tree_scalar(p->tree, v, key, &text, e);

	if (r < 0)
		return r;
	if (strcmp(text, "off") == 0) {
		*ret = 1;
		return 0;
	}
	if (opt_set(&row, text, ret, e) < 0)
		return tree_wrap(e, p->tree, v);
	if (!(*ret >= 0 && *ret <= 1))
		return tree_refuse(e, p->tree, v,
				   "%s \"%s\": expected a share from 0%% to 100%%, or off", key,
				   tree_quote(text).s);
	return 0;
}

static int parse_kernel(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	const struct opt row = { "kernel", OPT_ENUM, 0, NULL, "", .choices = on_off };
	const char *text = NULL;
	int on = 0;
	int r = tree_scalar(p->tree, v, "kernel", &text, e);

	if (r < 0)
		return r;
	if (opt_set(&row, text, &on, e) < 0)
		return tree_wrap(e, p->tree, v);
	p->plan->discard.kernel = on;
	return 0;
}

int parse_discard(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	static const char *const known[] = { "steal", "missed", "kernel", NULL };
	struct discard *d = &p->plan->discard;
	const yaml_node_t *n;
	int r;

	*d = (struct discard){ .steal = 0.25, .missed = 1 };
	if (!v)
		return 0;
	if (v->type != YAML_MAPPING_NODE)
		return tree_refuse(e, p->tree, v,
				   "discard: expected { steal: 25%%, missed: off, kernel: off }, "
				   "not %s",
				   tree_show(v).s);
	r = parse_keys(p, v, known, "discard", e);
	n = tree_find(p->tree, v, "steal");
	if (r >= 0 && n)
		r = parse_bound(p, n, "steal", &d->steal, e);
	n = tree_find(p->tree, v, "missed");
	if (r >= 0 && n)
		r = parse_bound(p, n, "missed", &d->missed, e);
	n = tree_find(p->tree, v, "kernel");
	return r >= 0 && n ? parse_kernel(p, n, e) : r;
}

int parse_budget(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	static const struct opt row = {
		"budget", OPT_NS,     offsetof(struct plan, budget_ns), NULL, "time for all trials",
		NS_PER_S, 30 * DAY_NS
	};
	int r = v ? parse_row(p, &row, v, e) : 0;

	if (r >= 0)
		p->plan->until_decided = v;
	return r;
}

int parse_until(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	static const char *const words[] = { "blocks", "decided", NULL };
	static const struct opt row = { "until", OPT_ENUM, 0, NULL, "", .choices = words };
	const char *text = NULL;
	int decided = 0;
	int r = v ? tree_scalar(p->tree, v, "until", &text, e) : 0;

	if (r < 0 || !v)
		return r;
	if (opt_set(&row, text, &decided, e) < 0)
		return tree_wrap(e, p->tree, v);
	if (!decided && p->plan->budget_ns)
		return tree_refuse(e, p->tree, v,
				   "until \"blocks\": a budget ends when all is decided; remove "
				   "one of the two");
	p->plan->until_decided = decided;
	return 0;
}

static int too_few_blocks(const struct parse *p, const yaml_node_t *at, struct err *e)
{
	const struct plan *plan = p->plan;
	unsigned int least = plan_min_blocks(plan->nr_metrics, plan->alpha);
	double reach = 2;

	for (unsigned int i = 0; i < plan->blocks; i++)
		reach /= 2;
	return tree_refuse(e, p->tree, at,
			   "blocks %u: %zu metric%s at level %g need%s at least %u (the exact test "
			   "cannot go below 2/2^%u = %g); use blocks: %u",
			   plan->blocks, plan->nr_metrics, plan->nr_metrics == 1 ? "" : "s",
			   plan->alpha, plan->nr_metrics == 1 ? "s" : "", least, plan->blocks,
			   reach, least);
}

/* How many blocks the budget pays for, as many as there may be at the most. */
static uint64_t blocks_of_budget(const struct plan *plan)
{
	uint64_t trials = (uint64_t)plan->nr_scenarios * plan->nr_variants;
	uint64_t most = MAX_TRIALS / trials < MAX_BLOCKS ? MAX_TRIALS / trials : MAX_BLOCKS;
	uint64_t n = plan->budget_ns / (plan_block_ns(plan) + trials * TRIAL_EXTRA_NS);

	return n < most ? n : most;
}

static uint64_t default_blocks(const struct plan *plan)
{
	unsigned int least = plan_min_blocks(plan->nr_metrics, plan->alpha);

	if (plan->budget_ns)
		return blocks_of_budget(plan);
	if (plan->until_decided)
		return DEFAULT_UNTIL_BLOCKS;
	return least > DEFAULT_BLOCKS ? least : DEFAULT_BLOCKS;
}

static int small_budget(const struct parse *p, const yaml_node_t *at, struct err *e)
{
	const struct plan *plan = p->plan;
	unsigned int least = plan_min_blocks(plan->nr_metrics, plan->alpha);
	uint64_t trials = (uint64_t)plan->nr_scenarios * plan->nr_variants;
	uint64_t each = plan_block_ns(plan) + trials * TRIAL_EXTRA_NS, need_s;

	while (plan_first_look(plan->nr_metrics, plan->alpha, least) > least)
		least++;
	need_s = least * each / NS_PER_S + 1;
	return tree_refuse(e, p->tree, at,
			   "budget: it pays for %u blocks of %llu s, and %zu metric%s at level %g "
			   "need%s at least %u; use budget: %" PRIu64 "s or shorter trials",
			   plan->blocks, (unsigned long long)(each / NS_PER_S), plan->nr_metrics,
			   plan->nr_metrics == 1 ? "" : "s", plan->alpha,
			   plan->nr_metrics == 1 ? "s" : "", least, need_s);
}

int parse_blocks(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	static const struct opt row = { "blocks", OPT_UINT, 0, NULL, "", 1, MAX_BLOCKS };
	struct plan *plan = p->plan;
	unsigned int least = plan_min_blocks(plan->nr_metrics, plan->alpha);
	uint64_t blocks = default_blocks(plan);
	const yaml_node_t *at = v ? v : tree_root(p->tree);
	const char *text = NULL;
	int r = v ? tree_scalar(p->tree, v, "blocks", &text, e) : 0;

	if (r < 0)
		return r;
	if (v && opt_set(&row, text, &blocks, e) < 0)
		return tree_wrap(e, p->tree, v);
	if (plan->budget_ns && blocks_of_budget(plan) < blocks)
		blocks = blocks_of_budget(plan);
	plan->blocks = (unsigned int)blocks;
	if (plan->blocks < least)
		return plan->budget_ns
			       ? small_budget(p, tree_find(p->tree, tree_root(p->tree), "budget"),
					      e)
			       : too_few_blocks(p, at, e);
	if (blocks * plan->nr_scenarios * plan->nr_variants > MAX_TRIALS)
		return tree_refuse(e, p->tree, at,
				   "blocks %u: with %zu scenarios and %zu variants these are more "
				   "than %d trials; use fewer",
				   plan->blocks, plan->nr_scenarios, plan->nr_variants, MAX_TRIALS);
	return 0;
}

/* A sign test has no sequential form here. */
static int refuse_maxima(const struct parse *p, const yaml_node_t *at, struct err *e)
{
	for (size_t i = 0; i < p->plan->nr_metrics; i++)
		if (p->plan->metrics[i].desc->kind == METRIC_MAXIMUM)
			return tree_refuse(
				e, p->tree, at,
				"metric \"%s\": a maximum is looked at once, after all "
				"blocks; remove until and budget, or choose a quantile or "
				"what is above a limit",
				tree_quote(p->plan->metrics[i].text).s);
	return 0;
}

/* @nr looks at even distances from the first that can decide to the last block. */
static void even_looks(struct plan *plan, unsigned int first, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int n = nr == 1 ? plan->blocks
					 : first + (plan->blocks - first) * i / (nr - 1);

		if (plan->nr_looks == 0 || plan->looks[plan->nr_looks - 1] < n)
			plan->looks[plan->nr_looks++] = n;
	}
}

/* One of "looks: [8, 12, 16]". */
static int one_look(const struct parse *p, const yaml_node_t *item, unsigned int first,
		    struct err *e)
{
	static const struct opt row = { "looks", OPT_UINT, 0, NULL, "", 1, MAX_BLOCKS };
	struct plan *plan = p->plan;
	unsigned int least = plan->nr_looks ? plan->looks[plan->nr_looks - 1] + 1 : first;
	const char *text = NULL;
	uint64_t n = 0;
	int r = tree_scalar(p->tree, item, "looks", &text, e);

	if (r < 0)
		return r;
	if (opt_set(&row, text, &n, e) < 0)
		return tree_wrap(e, p->tree, item);
	if (plan->nr_looks == PLAN_LOOKS_MAX)
		return tree_refuse(e, p->tree, item, "looks: %d at the most", PLAN_LOOKS_MAX);
	if (n < least || n > plan->blocks)
		return tree_refuse(e, p->tree, item,
				   "looks: %llu: expected numbers of blocks that rise from %u (a "
				   "look before it could decide nothing) to %u",
				   (unsigned long long)n, first, plan->blocks);
	plan->looks[plan->nr_looks++] = (unsigned int)n;
	return 0;
}

static int listed_looks(const struct parse *p, const yaml_node_t *v, unsigned int first,
			struct err *e)
{
	struct plan *plan = p->plan;
	int r = 0;

	for (size_t i = 0; i < tree_count(v) && r >= 0; i++)
		r = one_look(p, tree_item(p->tree, v, i), first, e);
	if (r >= 0 && (plan->nr_looks == 0 || plan->looks[plan->nr_looks - 1] != plan->blocks))
		r = tree_refuse(e, p->tree, v,
				"looks: the last one is after all blocks: end with %u",
				plan->blocks);
	return r;
}

int parse_looks(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	static const struct opt row = { "looks", OPT_UINT, 0, NULL, "", 1, PLAN_LOOKS_MAX };
	struct plan *plan = p->plan;
	unsigned int first = plan_first_look(plan->nr_metrics, plan->alpha, plan->blocks);
	uint64_t nr = DEFAULT_LOOKS;
	const char *text = NULL;
	int r;

	if (v && !plan->until_decided)
		return tree_refuse(e, p->tree, v,
				   "looks: a fixed design is looked at once, after its last block; "
				   "write until: decided, or remove looks");
	if (!plan->until_decided)
		return 0;
	r = refuse_maxima(p, v ? v : tree_root(p->tree), e);
	if (r < 0)
		return r;
	/* the last look has the whole level, so it always can; an earlier one perhaps not */
	if (v && v->type == YAML_SEQUENCE_NODE)
		return listed_looks(p, v, first, e);
	if (v) {
		r = tree_scalar(p->tree, v, "looks", &text, e);
		if (r < 0)
			return r;
		if (opt_set(&row, text, &nr, e) < 0)
			return tree_wrap(e, p->tree, v);
	}
	even_looks(plan, first, (unsigned int)nr);
	return 0;
}

/* A boot of each variant for each block unless the plan says less. */
int parse_boots(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	static const struct opt row = { "boots", OPT_UINT, 0, NULL, "", 1, MAX_BLOCKS };
	struct plan *plan = p->plan;
	uint64_t boots = plan->blocks;
	const char *text = NULL;
	size_t variant = 0;
	int r = plan_check_boots(plan, &variant, e);

	if (r < 0)
		return err_wrap(e, "%s:%d", p->tree->file, plan->variants[variant].line);
	if (v && !plan_has_boots(plan))
		return tree_refuse(e, p->tree, v,
				   "boots: no variant has a boot: { kernel: ..., cmdline: ... }");
	r = v ? tree_scalar(p->tree, v, "boots", &text, e) : 0;
	if (r < 0)
		return r;
	if (v && opt_set(&row, text, &boots, e) < 0)
		return tree_wrap(e, p->tree, v);
	if (boots > plan->blocks || (boots < plan->blocks && plan_is_sequential(plan)))
		return tree_refuse(
			e, p->tree, v, "boots %s: %s", tree_quote(text).s,
			boots > plan->blocks
				? "more than there are blocks"
				: "a design that may end early needs one for each block; "
				  "remove boots");
	plan->boots = plan_has_boots(plan) ? (unsigned int)boots : 0;
	return 0;
}
