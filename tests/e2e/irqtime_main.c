// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The BPF accounts in lines: a table for each line on standard input, until it ends.
 *
 *	READ before_ns after_ns lost
 *	kind cpu id count ns max_ns extra extra2 name
 *	END
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "probe/irqtime.h"

static void print_table(const struct irqtime_table *t, uint64_t before_ns, uint64_t after_ns)
{
	printf("READ %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", before_ns, after_ns, t->lost);
	for (size_t i = 0; i < t->nr; i++) {
		const struct irqtime_row *r = &t->v[i];

		printf("%s %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		       " %s\n",
		       irqtime_kind_name(r->kind), r->cpu, r->id, r->count, r->ns, r->max_ns,
		       r->extra, r->extra2, r->name);
	}
	puts("END");
	fflush(stdout);
}

static int fail(const struct err *e)
{
	fprintf(stderr, "%s\n", e->msg);
	return 77;
}

int main(int argc, char **argv)
{
	_cleanup_(irqtime_closep) struct irqtime *t = NULL;
	_cleanup_(irqtime_table_release) struct irqtime_table table = {};
	struct irqtime_opts opts = {};
	struct err e = {};
	char line[16];

	for (int i = 1; i < argc; i++) {
		opts.hardirqs |= !strcmp(argv[i], "hardirqs");
		opts.softirqs |= !strcmp(argv[i], "softirqs");
		opts.napi |= !strcmp(argv[i], "napi");
		opts.threads |= !strcmp(argv[i], "threads");
		opts.latency |= !strcmp(argv[i], "latency");
	}
	if (irqtime_usable(&e) < 0 || irqtime_open(&t, &opts, &e) < 0)
		return fail(&e);
	for (const char *const *l = irqtime_lacks(t); *l; l++)
		printf("LACK %s\n", *l);
	puts("READY");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t before_ns = clock_mono_ns();

		if (irqtime_read(t, &table, &e) < 0)
			return fail(&e);
		print_table(&table, before_ns, clock_mono_ns());
	}
	return 0;
}
