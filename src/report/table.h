/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

/* A table of the text report, laid out when all its cells are known. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define COLUMNS_MAX 8

struct table {
	struct buf cells; /* texts, each with its NUL, row by row */
	unsigned int columns;
	size_t width[COLUMNS_MAX];
};

void table_release(struct table *t);
/* The next cell: @text without anything that could move the cursor. */
void table_cell(struct table *t, unsigned int column, const char *text);
/* First column: a name that is printed whole up to @most columns. */
void table_name(struct table *t, const char *name, size_t most);
void table_value(struct table *t, unsigned int column, double v, const char *unit);
void table_count(struct table *t, unsigned int column, uint64_t n);
/* One row of the cells at *@at.  First column left, last one left when @last_left, the others
 * right; @wide: the first has a line of its own. */
void table_row(struct buf *out, const struct table *t, const char **at, bool wide, bool last_left);
void table_print(struct buf *out, const struct table *t, bool last_left);

#endif
