// SPDX-License-Identifier: GPL-3.0-or-later
/* Variants that differ in what is booted: their wishes, their order, their boots in the store. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plan/boot.h"
#include "plan/plan.h"
#include "registry.h"
#include "run_boot.h"
#include "store/store.h"

static int parse(const char *variants, const char *rest, struct plan *ret, struct err *e)
{
	char text[2000];

	snprintf(
		text, sizeof(text),
		"name: t\npeer: none\nvariants:\n%sscenarios: { quiet: [], also: [] }\n"
		"probes: { wakeup: { interval: 1ms } }\nmetrics: { wakeup.p99@quiet: { margin: 5%% } }\n"
		"%s",
		variants, rest);
	return plan_parse(text, strlen(text), "p.yaml", &plan_plugins, ret, e);
}

static void good(const char *variants, const char *rest, struct plan *ret)
{
	struct err e = {};

	if (parse(variants, rest, ret, &e) < 0)
		fail_msg("%s", e.msg);
}

static void bad(const char *variants, const char *rest, const char *why)
{
	_cleanup_(plan_release) struct plan p = {};
	struct err e = {};

	assert_int_equal(parse(variants, rest, &p, &e), -EINVAL);
	assert_contains(e.msg, why);
	assert_contains(e.msg, "p.yaml:");
}

#define TWO              \
	"  before: []\n" \
	"  after:\n    - boot: { cmdline: \"threadirqs isolcpus=managed_irq,1\" }\n"

/* Without boots nothing of a plan's order changes. */
static void plans_without_boots_have_none(void **state)
{
	_cleanup_(plan_release) struct plan p = {};

	good("  a: []\n  b: []\n", "blocks: 6\n", &p);
	assert_false(plan_has_boots(&p));
	assert_int_equal(p.boots, 0);
}

static void wishes_that_do_not_fit_are_refused(void **state)
{
	bad("  a: []\n  b:\n    - boot: { cmdline: x }\n    - boot: { cmdline: y }\n", "",
	    "boot stands twice");
	bad("  a: []\n  b:\n    - boot: { cmdline: \"\" }\n", "", "needs kernel or cmdline");
	bad("  a: []\n  b:\n    - boot: { kernel: 6.1.0 }\n", "",
	    "variant \"a\" names no kernel, others do");
	bad("  a: []\n  b:\n    - boot: { cmdline: \"preempt=full x preempt=none\" }\n", "",
	    "has \"preempt\" more than once");
	bad("  a: []\n  b:\n    - boot: { cmdline: \"x -- y\" }\n", "", "is init's");
	bad("  a: []\n  b:\n    - boot: { cmdlin: x }\n", "", "boot has no option \"cmdlin\"");
	bad("  a: []\n  b: []\n", "boots: 2\n", "no variant has a boot");
	bad(TWO, "boots: 9\nblocks: 8\n", "more than there are blocks");
	bad(TWO, "boots: 2\nuntil: decided\n", "needs one for each block");
}

static void check(const struct plan *p, size_t variant, const char *cmdline, const char *missing,
		  const char *extra, const char *line)
{
	const struct boot_state now = { "6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC", cmdline };
	_cleanup_(boot_wish_release) struct boot_wish w = {};
	struct err e = {};

	if (plan_boot_check(p, variant, &now, &w, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(buf_str(&w.missing), missing);
	assert_string_equal(buf_str(&w.extra), extra);
	assert_string_equal(buf_str(&w.cmdline), line);
	assert_int_equal(w.met, !*missing && !*extra);
}

static void a_variant_wants_its_words_and_none_of_the_others(void **state)
{
	_cleanup_(plan_release) struct plan p = {};

	good(TWO, "", &p);
	check(&p, 0, "quiet\n", "", "", "");
	check(&p, 1, "BOOT_IMAGE=/vmlinuz quiet\n", "threadirqs isolcpus=managed_irq,1", "",
	      "quiet threadirqs isolcpus=managed_irq,1");
	check(&p, 1, "quiet threadirqs isolcpus=managed_irq,1", "", "", "");
	check(&p, 0, "ro threadirqs quiet", "", "threadirqs", "ro quiet");
	/* of the same key another value: replaced, and the last one counts */
	check(&p, 1, "threadirqs isolcpus=3 quiet", "isolcpus=managed_irq,1", "",
	      "quiet threadirqs isolcpus=managed_irq,1");
	check(&p, 1, "threadirqs isolcpus=managed_irq,1 isolcpus=3", "isolcpus=managed_irq,1", "",
	      "threadirqs isolcpus=managed_irq,1");
	check(&p, 1, "threadirqs isolcpus=3 isolcpus=managed_irq,1", "", "", "");
	/* a part of a word is none, and what follows "--" is init's */
	check(&p, 1, "nothreadirqs isolcpus=managed_irq,10 -- threadirqs single",
	      "threadirqs isolcpus=managed_irq,1", "",
	      "nothreadirqs threadirqs isolcpus=managed_irq,1 -- threadirqs single");
}

static void values_of_variants_replace_each_other(void **state)
{
	_cleanup_(plan_release) struct plan p = {};

	good("  a:\n    - boot: { cmdline: preempt=none }\n"
	     "  b:\n    - boot: { cmdline: \"preempt=full rcu-nocbs=1\" }\n",
	     "", &p);
	check(&p, 0, "preempt=full", "preempt=none", "", "preempt=none");
	check(&p, 0, "preempt=none rcu_nocbs=1", "", "rcu_nocbs=1", "preempt=none");
	check(&p, 1, "preempt=full rcu_nocbs=1", "", "", "");
	check(&p, 1, "dyndbg=\"file a.c +p\" preempt=none", "preempt=full rcu-nocbs=1", "",
	      "dyndbg=\"file a.c +p\" preempt=full rcu-nocbs=1");
}

static void kernels_go_by_release(void **state)
{
	const struct boot_state now = { "6.1.0-9-amd64", "#1 SMP", "quiet" };
	_cleanup_(boot_wish_release) struct boot_wish a = {}, b = {};
	_cleanup_(plan_release) struct plan p = {};
	struct err e = {};

	good("  a:\n    - boot: { kernel: 6.1.*-amd64 }\n  b:\n    - boot: { kernel: 6.12.1-rt }\n",
	     "", &p);
	assert_int_equal(plan_boot_check(&p, 0, &now, &a, &e), 0);
	assert_true(a.met);
	assert_int_equal(plan_boot_check(&p, 1, &now, &b, &e), 0);
	assert_false(b.met);
	assert_string_equal(b.kernel, "6.12.1-rt");
	assert_string_equal(buf_str(&b.cmdline), "quiet");
}

/* The word is there and means nothing: the two variants would be one. */
static void a_word_that_the_kernel_ignores_is_refused(void **state)
{
	const struct boot_state now = { "6.1.0", "#1 SMP PREEMPT_RT", "preempt=full" };
	_cleanup_(boot_wish_release) struct boot_wish w = {};
	_cleanup_(plan_release) struct plan p = {};
	struct err e = {};

	good("  a:\n    - boot: { cmdline: preempt=none }\n"
	     "  b:\n    - boot: { cmdline: preempt=full }\n",
	     "", &p);
	assert_int_equal(plan_boot_check(&p, 1, &now, &w, &e), -ENOTSUP);
	assert_contains(e.msg, "needs PREEMPT_DYNAMIC");
}

/* Every cell once, as many boots of each variant as asked for, pairs in the same round. */
static void check_order(unsigned int boots, unsigned int blocks)
{
	_cleanup_(plan_release) struct plan p = {};
	_cleanup_(freep) struct slot *slots = NULL, *again = NULL;
	bool seen[16][2][2] = {};
	unsigned int turns[2] = {}, round_of[16][2] = {};
	char rest[64];
	struct err e = {};
	size_t nr = 0;

	snprintf(rest, sizeof(rest), "blocks: %u\nboots: %u\n", blocks, boots);
	good(TWO, rest, &p);
	assert_int_equal(plan_order(&p, &slots, &nr, &e), 0);
	assert_int_equal(plan_order(&p, &again, &nr, &e), 0);
	assert_int_equal(nr, blocks * 4);
	assert_memory_equal(slots, again, nr * sizeof(*slots));
	for (size_t i = 0; i < nr; i++) {
		const struct slot *s = &slots[i];

		assert_false(seen[s->block][s->scenario][s->variant]);
		seen[s->block][s->scenario][s->variant] = true;
		/* a variant's turn is a round, also where two turns of it touch */
		if (!s->scenario && !round_of[s->block][s->variant])
			round_of[s->block][s->variant] = 1 + s->block * boots / blocks;
		turns[s->variant] += i == 0 || slots[i - 1].variant != s->variant;
	}
	assert_true(turns[0] <= boots && turns[1] <= boots && turns[0] + turns[1] > boots / 2);
	for (unsigned int b = 0; b < blocks; b++)
		assert_int_equal(round_of[b][0], round_of[b][1]);
}

static void blocks_are_grouped_by_boot(void **state)
{
	check_order(1, 6);
	check_order(2, 6);
	check_order(4, 6); /* not a divisor */
	check_order(6, 6);
	check_order(16, 16);
}

static void an_aa_run_needs_one_boot(void **state)
{
	_cleanup_(plan_release) struct plan p = {};
	struct err e = {};

	good(TWO, "boots: 2\n", &p);
	assert_int_equal(plan_make_aa(&p, &e), 0);
	assert_false(plan_has_boots(&p));
	assert_int_equal(p.boots, 0);
}

/* Boots of a variant are counted by the ids in the store, over any number of runs of irqlab. */
static void boots_are_counted_by_variant(void **state)
{
	static const struct {
		unsigned int variant;
		const char *id;
		unsigned int want;
	} steps[] = {
		{ 0, "aaaa", 0 }, { 0, "aaaa", 0 }, { 1, "bbbb", 0 }, { 1, "bbbb", 0 },
		{ 0, "cccc", 1 }, { 1, "cccc", 1 }, { 0, "cccc", 1 }, { 0, "dddd", 2 },
	};
	const char *const variants[] = { "a", "b", NULL }, *const scenarios[] = { "s", NULL };
	char path[] = "/tmp/irqlab-test-XXXXXX", file[64], text[] = "x", env[] = "{}";
	struct run_info info = { .name = text, .plan = text, .version = text, .env = env };
	_cleanup_(store_closep) struct store *s = NULL;
	struct err e = {};
	int64_t run = 0;

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/x.db", path);
	assert_int_equal(store_open(&s, file, STORE_WRITE, &e), 0);
	assert_int_equal(store_run_add(s, &info, variants, scenarios, &run, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		_cleanup_(record_list_release) struct record_list records = {};
		struct trial_info t = { .block = (unsigned int)i,
					.variant = steps[i].variant,
					.position = (unsigned int)i };
		char id[16];
		const struct run_boot boot = { .id = id };

		snprintf(id, sizeof(id), "%s", steps[i].id);
		assert_int_equal(run_boot_index(&boot, s, run, t.variant, &t.boot, &e), 0);
		assert_int_equal(t.boot, steps[i].want);
		assert_int_equal(run_boot_note(&boot, &records, &e), 0);
		if (store_trial_add(s, run, &t, &records, &e) < 0)
			fail_msg("%s", e.msg);
	}
	store_close(take_ptr(s));
	unlink(file);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_without_boots_have_none),
		cmocka_unit_test(wishes_that_do_not_fit_are_refused),
		cmocka_unit_test(a_variant_wants_its_words_and_none_of_the_others),
		cmocka_unit_test(values_of_variants_replace_each_other),
		cmocka_unit_test(kernels_go_by_release),
		cmocka_unit_test(a_word_that_the_kernel_ignores_is_refused),
		cmocka_unit_test(blocks_are_grouped_by_boot),
		cmocka_unit_test(an_aa_run_needs_one_boot),
		cmocka_unit_test(boots_are_counted_by_variant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
