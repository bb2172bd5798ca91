/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

/* What several commands do with a stored run: open the store, print the verdict, write the report.
 */

#include <stdint.h>

#include "store/store.h"

struct err;

enum output {
	OUTPUT_TEXT,
	OUTPUT_JSON,
};

/* @db: as given on the command line; "" is the default. */
int cmd_store_open(struct store **ret, const char *db, enum store_mode mode, struct err *e);

/*
 * Print the verdict of @run to standard output; with @html not NULL write the report, "" meaning
 * irqlab-ID.html in the current folder, and print its path.  Returns the verdict's exit code.
 */
int cmd_verdict(struct store *s, int64_t run, enum output form, const char *html, struct err *e);

#endif
