/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_LIST_H
#define IMPORT_LIST_H

/*
 * What is found in texts, as "irqlab import --list" prints it while it reads: a line a run, then
 * what was skipped, where and why.  Memory does not grow with the text.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "import/import.h"

#define IMPORT_LIST_SKIPS 20 /* lines about skips per file */

/* One reason for which lines were skipped. */
struct import_list_skip {
	char *tool, *reason;
	size_t line, last_line, count;
};

struct import_list_seen {
	uint64_t hash; /* of a run; 0: free */
	size_t number;
};

struct import_list {
	struct import_sink sink;
	FILE *out;
	bool json;
	const char *file;
	size_t files;
	size_t runs, total_runs; /* of this file, of all */
	struct import_list_skip skips[IMPORT_LIST_SKIPS];
	size_t nr_skips, more_skips; /* kinds kept; lines of kinds that are not */
	struct buf remarks;	     /* lines, or JSON */
	size_t nr_remarks;
	struct import_list_seen *seen; /* to know a run that is quoted again */
	size_t nr_seen;
	char *empty; /* the first file without any result */
};

int import_list_init(struct import_list *l, FILE *out, bool json);
int import_list_begin(struct import_list *l, const char *file, struct err *e);
int import_list_end(struct import_list *l, size_t lines, struct err *e);
/* After the last file. Return: 0; -ENODATA when a file held no result. */
int import_list_finish(struct import_list *l, struct err *e);
void import_list_release(struct import_list *l);

#endif
