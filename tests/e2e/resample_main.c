// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * resample DB RUN N BLOCKS SEED: N verdicts from the stored trials of an A/A run, each from BLOCKS
 * blocks drawn without replacement, with the two variants' names drawn anew in every block.
 * Prints per metric: "METRIC false of N".
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/rng.h"
#include "plan/plan.h"
#include "registry.h"
#include "store/store.h"
#include "verdict/verdict.h"

struct series {
	struct observation *obs;
	size_t nr;
};

/* Keep BLOCKS of the blocks and swap names at random; the draw is shared by all metrics. */
static size_t draw(const struct series *s, unsigned int blocks, unsigned int keep, uint64_t seed,
		   struct observation *out)
{
	_cleanup_(freep) char *taken = calloc(blocks, 1), *swap = calloc(blocks, 1);
	size_t nr = 0;

	for (unsigned int k = 0; k < keep; k++) {
		uint64_t b = rng_below(&seed, blocks);

		while (taken[b])
			b = (b + 1) % blocks;
		taken[b] = 1;
		swap[b] = (char)rng_below(&seed, 2);
	}
	for (size_t i = 0; i < s->nr; i++) {
		if (!taken[s->obs[i].block])
			continue;
		out[nr] = s->obs[i];
		if (swap[s->obs[i].block])
			out[nr].variant = 1 - out[nr].variant;
		nr++;
	}
	return nr;
}

static int resample(struct store *s, int64_t run, const struct plan *p, unsigned int n,
		    unsigned int keep, uint64_t seed, struct err *e)
{
	struct series series[8] = {};
	unsigned int wrong[8] = {};
	struct verdict_query q[8] = {};
	struct verdict v[8];

	for (size_t m = 0; m < p->nr_metrics; m++) {
		const struct plan_metric *pm = &p->metrics[m];
		const struct store_key key = { .scenario = 0,
					       .metric = pm->metric,
					       .labels = pm->labels };
		int r = store_observations(s, run, &key, &series[m].obs, &series[m].nr, e);

		if (r < 0)
			return r;
		q[m] = (struct verdict_query){ .metric = pm->text,
					       .better = pm->better,
					       .margin = pm->margin };
		q[m].obs = calloc(series[m].nr, sizeof(*q[m].obs));
	}
	for (unsigned int i = 0; i < n; i++) {
		for (size_t m = 0; m < p->nr_metrics; m++)
			q[m].nr_obs = draw(&series[m], p->blocks, keep, seed + i,
					   (struct observation *)(uintptr_t)q[m].obs);
		if (verdict_decide(q, p->nr_metrics, 2, p->alpha, v, e) < 0)
			return e->code;
		for (size_t m = 0; m < p->nr_metrics; m++)
			wrong[m] += v[m].word == VERDICT_BETTER || v[m].word == VERDICT_WORSE;
	}
	for (size_t m = 0; m < p->nr_metrics; m++) {
		printf("%s %u of %u\n", q[m].metric, wrong[m], n);
		free((void *)(uintptr_t)q[m].obs);
		free(series[m].obs);
	}
	return 0;
}

static unsigned int number(const char *s)
{
	return (unsigned int)strtoul(s, NULL, 10);
}

int main(int argc, char **argv)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(run_info_release) struct run_info info = {};
	_cleanup_(plan_release) struct plan p = {};
	struct err e = {};
	int64_t run = 0;
	int r;

	if (argc != 6)
		return 2;
	r = store_open(&s, argv[1], STORE_READ, &e);
	if (r >= 0)
		r = store_run_find(s, argv[2], &run, &e);
	if (r >= 0)
		r = store_run_read(s, run, &info, &e);
	if (r >= 0)
		r = plan_parse(info.plan, strlen(info.plan), "plan", &plan_plugins, &p, &e);
	if (r >= 0 && p.nr_metrics <= 8)
		r = resample(s, run, &p, number(argv[3]), number(argv[4]), number(argv[5]), &e);
	if (r < 0)
		fprintf(stderr, "resample: %s\n", e.msg);
	return r < 0;
}
