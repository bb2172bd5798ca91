// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Apply and undo settings, again and again, until killed:
 *
 *	kill_main STATE-DIR KNOB KEY VALUE [KEY VALUE]... [-- KNOB KEY VALUE...]...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/host.h"
#include "plan/instance.h"
#include "registry.h"
#include "variant/knob.h"
#include "variant/variant.h"

static int read_settings(char **word, struct instances *ret, struct err *e)
{
	while (*word) {
		struct instance inst = { .plugin = strdup(*word), .name = strdup(*word) };
		int r = 0;

		for (word++; r >= 0 && word[0] && word[1] && strcmp(*word, "--") != 0; word += 2)
			r = instance_set(&inst, word[0], word[1], 0, e);
		if (r >= 0)
			r = instances_add(ret, &inst, e);
		instance_release(&inst);
		if (r < 0)
			return r;
		if (*word)
			word++;
	}
	return 0;
}

static int once(const struct host *host, const char *dir, const struct instances *list,
		struct err *e)
{
	struct journal *j = NULL;
	struct applied *a = NULL;
	int r = journal_open(&j, dir, e);

	if (r >= 0)
		r = variant_apply(&a, host, j, all_knobs, list, e);
	if (r >= 0)
		r = variant_verify(a, e);
	if (a) {
		struct err why = {};
		int undone = variant_undo(a, r < 0 ? &why : e);

		r = r < 0 ? r : undone;
	}
	journal_close(j);
	return r;
}

int main(int argc, char **argv)
{
	struct instances list = {};
	struct host host = {};
	struct err e = {};

	if (argc < 3 || host_open(&host, &e) < 0 || read_settings(argv + 2, &list, &e) < 0) {
		fprintf(stderr, "kill_main: %s\n", e.msg);
		return 2;
	}
	while (once(&host, argv[1], &list, &e) >= 0)
		;
	fprintf(stderr, "kill_main: %s\n", e.msg);
	return 1;
}
