// SPDX-License-Identifier: GPL-3.0-or-later
/* How many blocks, when they are looked at, what is discarded, what an A/A run makes of a plan. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan/plan.h"
#include "sample/sample.h"
#include "stats/sequential.h"
#include "trial/discard.h"
#include "trial/trial.h"

static const struct opt tcp_rows[] = { { "rate", OPT_BPS, 0, "0", "offered rate" }, {} };
static const struct metric_desc tcp_metrics[] = {
	{ "throughput", "bit/s", BETTER_HIGHER, "goodput", .global = true },
	{ "retransmits", "count", BETTER_LOWER, "segments sent again" },
	{},
};
static const struct metric_desc wakeup_metrics[] = {
	{ "p99", "ns", BETTER_LOWER, "tail", .kind = METRIC_QUANTILE, .q = 0.99, .samples = "n" },
	{ "max", "ns", BETTER_LOWER, "latest", .kind = METRIC_MAXIMUM, .samples = "n" },
	{ "above", "ratio", BETTER_LOWER, "share above a limit", .kind = METRIC_RATE,
	  .samples = "n", .hist = "latency" },
	{},
};
static const struct opt no_rows[] = { {} };
static const struct plugin sysctl = { "sysctl", "sysctls", .free_keys = true };
static const struct plugin tcp = { "tcp", "TCP", tcp_rows, tcp_metrics };
static const struct plugin wakeup = { "wakeup", "latency", no_rows, wakeup_metrics };
static const struct plugin *const knobs[] = { &sysctl, NULL };
static const struct plugin *const loads[] = { &tcp, NULL };
static const struct plugin *const probes[] = { &wakeup, NULL };
static const struct plan_registry reg = { knobs, loads, probes };

static const char head[] = "name: t\npeer: netns\n"
			   "variants:\n  before: [ { sysctl: { a.b: 1 } } ]\n"
			   "  after:\n    - load.net.tcp.rate: 2G\n    - sysctl: { a.b: 2 }\n"
			   "scenarios:\n  net: [ { tcp: { rate: 1G } } ]\nprobes: { wakeup: }\n"
			   "trial: { settle: 0s, warmup: 700ms, duration: 1s }\n";

/* The plan @head and @rest; with one metric when @rest names none. */
static int parse(const char *rest, struct plan *ret, struct err *e)
{
	char text[2000];

	snprintf(text, sizeof(text), "%s%s%s", head, rest,
		 strstr(rest, "metrics:") ? "" : "metrics: { throughput: { margin: 1% } }\n");
	return plan_parse(text, strlen(text), "p.yaml", &reg, ret, e);
}

static void good(const char *rest, struct plan *ret)
{
	struct err e = {};

	if (parse(rest, ret, &e) < 0)
		fail_msg("%s: %s", rest, e.msg);
}

static void bad(const char *rest, const char *why)
{
	struct plan p = {};
	struct err e = {};

	if (parse(rest, &p, &e) == 0)
		fail_msg("taken: %s", rest);
	assert_contains(e.msg, why);
}

static void a_fixed_design_has_no_looks(void **state)
{
	_cleanup_(plan_release) struct plan p = {};

	good("", &p);
	assert_true(!plan_is_sequential(&p) && p.blocks == 8 && p.budget_ns == 0);
	bad("looks: 4\n", "a fixed design is looked at once");
	bad("until: decided\nlooks: [6]\n", "looks: 6: expected numbers of blocks that rise from");
	bad("until: soon\n", "until");
}

/* Every look can decide something, and the one before the first could not. */
static void looks_begin_where_something_can_be_decided(void **state)
{
	for (size_t m = 1; m <= 6; m++) {
		for (unsigned int blocks = 9; blocks <= 60; blocks += 3) {
			unsigned int first = plan_first_look(m, 0.05, blocks);
			double level = 0.05 / (double)m;

			assert_true(first <= blocks);
			assert_true(ldexp(1, 1 - (int)first) <=
				    sequential_spent(SPENDING_OBRIEN_FLEMING, level,
						     (double)first / blocks));
			assert_true(ldexp(1, 2 - (int)first) >
				    sequential_spent(SPENDING_OBRIEN_FLEMING, level,
						     (first - 1.0) / blocks));
		}
	}
}

static void looks_are_even_or_as_listed(void **state)
{
	_cleanup_(plan_release) struct plan a = {}, b = {}, c = {};

	good("until: decided\n", &a);
	assert_true(plan_is_sequential(&a) && a.blocks == 24 && a.nr_looks == 4);
	assert_int_equal(a.looks[0], plan_first_look(1, 0.05, 24));
	assert_int_equal(a.looks[3], 24);
	good("until: decided\nblocks: 20\nlooks: [12, 15, 20]\n", &b);
	assert_true(b.nr_looks == 3 && b.looks[0] == 12 && b.looks[1] == 15 && b.looks[2] == 20);
	good("until: decided\nblocks: 20\nlooks: 1\n", &c);
	assert_true(c.nr_looks == 1 && c.looks[0] == 20);
	bad("until: decided\nblocks: 20\nlooks: [12, 12, 20]\n", "looks: 12");
	bad("until: decided\nblocks: 20\nlooks: [12, 15]\n", "end with 20");
	bad("until: decided\nblocks: 20\nlooks: [12, 21]\n", "looks: 21");
	bad("until: decided\nblocks: 5\n", "use blocks: 6");
	bad("until: decided\nmetrics: { wakeup.max: { margin: 5% } }\n", "looked at once");
}

/* Two trials of 1.7 s and 0.3 s around each: 4 s a block. */
static void a_budget_buys_blocks(void **state)
{
	_cleanup_(plan_release) struct plan a = {}, b = {};

	good("budget: 2min\n", &a);
	assert_true(plan_is_sequential(&a) && a.blocks == 30 && a.looks[a.nr_looks - 1] == 30);
	good("budget: 2min\nblocks: 12\n", &b);
	assert_int_equal(b.blocks, 12);
	bad("budget: 10s\n",
	    "it pays for 2 blocks of 4 s, and 1 metric at level 0.05 needs at least 6");
	bad("budget: 10s\n", "use budget: 25s");
	bad("budget: 2min\nuntil: blocks\n", "remove one of the two");
}

static void a_share_above_needs_a_limit(void **state)
{
	_cleanup_(plan_release) struct plan p = {};
	const struct metric_desc *d;
	const char *owner = NULL;

	good("metrics: { wakeup.above@net: { limit: 100us, margin: 10% }, tcp.retransmits: { margin: "
	     "1% } }\n",
	     &p);
	assert_string_equal(p.metrics[0].text, "wakeup.above@net > 100us");
	assert_string_equal(p.metrics[0].owner, "wakeup");
	assert_true(p.metrics[0].limit_ns == 100000 && p.metrics[0].margin == 0.1);
	assert_int_equal(metric_desc_kind(p.metrics[0].desc), METRIC_RATE);
	/* a count may be 0 whatever its row says */
	assert_int_equal(metric_desc_kind(p.metrics[1].desc), METRIC_RATE);
	bad("metrics: { wakeup.above: { margin: 10% } }\n", "needs a limit");
	bad("metrics: { throughput: { limit: 1us, margin: 10% } }\n", "has no option \"limit\"");
	bad("metrics: { wakeup.above: { limit: 0us, margin: 10% } }\n", "limit");
	d = plan_find_metric(&p, &reg, 0, "wakeup.p99", &owner);
	assert_non_null(d);
	assert_true(d->q == 0.99);
	assert_string_equal(owner, "wakeup");
	assert_null(plan_find_metric(&p, &reg, 0, "wakeup.p98", &owner));
}

static void an_aa_plan_repeats_the_baseline(void **state)
{
	_cleanup_(plan_release) struct plan p = {};
	_cleanup_(instances_release) struct instances a = {}, b = {};
	struct err e = {};

	good("", &p);
	assert_int_equal(plan_make_aa(&p, &e), 0);
	assert_int_equal(p.nr_variants, 2);
	assert_string_equal(p.variants[1].name, "after");
	assert_int_equal(p.variants[1].nr_overrides, 0);
	assert_int_equal(p.variants[1].knobs.nr, 1);
	assert_string_equal(instance_value(&p.variants[1].knobs.v[0], "a.b"), "1");
	assert_int_equal(plan_loads(&p, 0, 0, &a, &e), 0);
	assert_int_equal(plan_loads(&p, 1, 0, &b, &e), 0);
	assert_string_equal(instance_value(&a.v[0], "rate"), instance_value(&b.v[0], "rate"));
}

/* ---- which trials count ---- */

static void record(struct record_list *l, const char *metric, const char *labels, double v)
{
	const struct record rec = { .kind = RECORD_SCALAR,
				    .metric = metric,
				    .unit = "ratio",
				    .labels = labels,
				    .value = v };
	struct err e = {};

	assert_int_equal(record_list_take(l, record_copy(&rec), &e), 0);
}

static struct trial_result checked(const struct plan *p, const char *metric, const char *labels,
				   double v)
{
	_cleanup_(record_list_release) struct record_list l = {};
	struct trial_result r = { .state = TRIAL_OK };

	record(&l, "throughput", "", 1e9);
	record(&l, metric, labels, v);
	discard_check(p, &l, &r);
	return r;
}

static void trials_beyond_the_rules_are_discarded_by_name(void **state)
{
	_cleanup_(plan_release) struct plan p = {}, strict = {};
	struct trial_result r;

	good("", &p);
	assert_true(p.discard.steal == 0.25 && p.discard.missed == 1 && !p.discard.kernel);
	assert_int_equal(checked(&p, "cpu.steal", "", 0.25).state, TRIAL_OK);
	r = checked(&p, "cpu.steal", "", 0.311);
	assert_int_equal(r.state, TRIAL_VETOED);
	assert_string_equal(r.reason.msg, "discarded: the hypervisor took 31.1 % of the CPU time, "
					  "above the plan's 25 %");
	/* of one CPU, of another probe: not what the rule is about */
	assert_int_equal(checked(&p, "cpu.steal", "cpu=1", 0.9).state, TRIAL_OK);
	assert_int_equal(checked(&p, "wakeup.missed-ratio", "", 0.9).state, TRIAL_OK);
	assert_int_equal(checked(&p, "kmsg.warnings", "", 3).state, TRIAL_OK);
	good("discard: { steal: off, missed: 5%, kernel: on }\n", &strict);
	assert_int_equal(checked(&strict, "cpu.steal", "", 0.9).state, TRIAL_OK);
	r = checked(&strict, "wakeup.missed-ratio", "", 0.06);
	assert_contains(r.reason.msg, "6.0 % of the wake-ups were skipped");
	r = checked(&strict, "kmsg.warnings", "", 3);
	assert_contains(r.reason.msg, "3 lines");
	bad("discard: { steel: 1% }\n", "did you mean \"steal\"?");
	bad("discard: { steal: 120% }\n", "from 0% to 100%");
	bad("discard: 5%\n", "discard: expected { steal: 25%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fixed_design_has_no_looks),
		cmocka_unit_test(looks_begin_where_something_can_be_decided),
		cmocka_unit_test(looks_are_even_or_as_listed),
		cmocka_unit_test(a_budget_buys_blocks),
		cmocka_unit_test(a_share_above_needs_a_limit),
		cmocka_unit_test(an_aa_plan_repeats_the_baseline),
		cmocka_unit_test(trials_beyond_the_rules_are_discarded_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
