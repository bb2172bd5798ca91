/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_CYCLICTEST_H
#define IMPORT_CYCLICTEST_H

/* Between the parts of the cyclictest format: T: lines, histograms, JSON, the whole run. */

#include "import/import_ops.h"

/* f->mode */
enum {
	CYCLICTEST_HIST = 1,	/* behind "# Histogram" */
	CYCLICTEST_VERBOSE = 2, /* behind "Thread 0 Interval: 1000" */
};

/* Make @run one of command @command: its unit is known from it. */
void cyclictest_take_command(struct cyclictest_run *run, const char *command);
int cyclictest_add_thread(struct cyclictest_run *run, const struct cyclictest_thread *t);

/* "000005 000123 000099" or a "# ..." line of a histogram. */
bool cyclictest_is_hist(const struct import_feed *f, const char *line);
int cyclictest_hist_row(struct import_feed *f, const struct import_line *l);

bool cyclictest_json_sniff(const struct json_val *doc);
int cyclictest_json_doc(struct import_feed *f, const struct json_val *doc, size_t nr,
			bool truncated);

int cyclictest_finish(struct import_run *run);

#endif
