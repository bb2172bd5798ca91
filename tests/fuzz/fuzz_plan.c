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

	if (r == 0)
		use(&p);
	else
		require(e.code == r && strncmp(e.msg, "plan.yaml:", 10) == 0 &&
			!strpbrk(e.msg, "\n\t\x1b"));
	plan_release(&p);
	return 0;
}
