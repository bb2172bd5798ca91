// SPDX-License-Identifier: GPL-3.0-or-later
/* Any bytes as a plan: refused with a message that names the place, or good in all its parts. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/plan.h"

#include "fake_registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		__builtin_trap();
}

/* A sequential design is looked at in ascending order, the last time after all blocks, never before
 * anything can be decided; a maximum has no such test. */
static void use_looks(const struct plan *p)
{
	require(p->nr_looks <= PLAN_LOOKS_MAX && plan_is_sequential(p) == p->until_decided);
	require(!p->budget_ns || p->until_decided);
	for (size_t i = 0; i < p->nr_looks; i++)
		require(p->looks[i] > (i ? p->looks[i - 1] : 0));
	require(!p->nr_looks || p->looks[p->nr_looks - 1] == p->blocks);
	for (size_t i = 0; i < p->nr_metrics; i++) {
		const struct plan_metric *m = &p->metrics[i];

		require(!p->nr_looks || metric_desc_kind(m->desc) != METRIC_MAXIMUM);
		require(!m->desc->hist == (m->limit_ns == 0));
	}
	require(p->discard.steal >= 0 && p->discard.steal <= 1);
	require(p->discard.missed >= 0 && p->discard.missed <= 1);
}

/* All variants are the baseline then: its loads, its probes, nothing of their own. */
static void use_aa(struct plan *p)
{
	struct err e = {};

	require(plan_make_aa(p, &e) == 0);
	for (size_t v = 0; v < p->nr_variants; v++)
		require(p->variants[v].knobs.nr == p->variants[0].knobs.nr &&
			p->variants[v].nr_overrides == p->variants[0].nr_overrides);
}

static void use(const struct plan *p)
{
	struct slot *slots = NULL;
	struct err e = {};
	size_t nr = 0;

	require(p->name && p->nr_variants >= 2 && p->nr_scenarios >= 1 && p->nr_metrics >= 1);
	require(p->blocks >= plan_min_blocks(p->nr_metrics, p->alpha));
	for (size_t v = 0; v < p->nr_variants; v++) {
		struct instances l = {};

		require(plan_loads(p, v, p->nr_scenarios - 1, &l, &e) == 0);
		instances_release(&l);
		require(plan_probes(p, v, &l, &e) == 0);
		instances_release(&l);
	}
	use_looks(p);
	require(plan_length_ns(p) >= 1000000);
	if (p->blocks > 100)
		return;
	require(plan_order(p, &slots, &nr, &e) == 0);
	require(nr == p->blocks * p->nr_scenarios * p->nr_variants);
	free(slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan p = {};
	struct err e = {};
	int r = plan_parse((const char *)data, size, "plan.yaml", &fake_registry, &p, &e);

	if (r == 0) {
		use(&p);
		use_aa(&p);
	} else {
		require(e.code == r && strncmp(e.msg, "plan.yaml:", 10) == 0 &&
			!strpbrk(e.msg, "\n\t\x1b"));
	}
	plan_release(&p);
	return 0;
}
