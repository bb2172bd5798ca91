// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "report/format.h"

void table_release(struct table *t)
{
	buf_release(&t->cells);
}

/* The next cell: @text without anything that could move the cursor. */
void table_cell(struct table *t, unsigned int column, const char *text)
{
	_cleanup_(buf_release) struct buf clean = {};
	size_t w;

	text_printable(&clean, text, strlen(text));
	w = format_columns(buf_str(&clean));
	if (w > t->width[column])
		t->width[column] = w;
	buf_add(&t->cells, buf_str(&clean), clean.len + 1);
}

static void pad(struct buf *out, size_t have, size_t want)
{
	if (have < want)
		buf_printf(out, "%*s", (int)(want - have), "");
}

/* First column left, last one left when @last_left, the others right. */
void table_row(struct buf *out, const struct table *t, const char **at, bool wide, bool last_left)
{
	buf_puts(out, "  ");
	for (unsigned int i = 0; i < t->columns; i++) {
		size_t w = format_columns(*at);
		bool left = i == 0 || (last_left && i + 1 == t->columns);

		if (i == 0 && wide) {
			/* names that leave no room for the numbers get a line of their own */
			buf_puts(out, *at);
			buf_puts(out, "\n    ");
		} else {
			if (!left)
				pad(out, w, t->width[i]);
			buf_puts(out, *at);
			if (left && i + 1 < t->columns)
				pad(out, w, t->width[i]);
			if (i + 1 < t->columns)
				buf_puts(out, "  ");
		}
		*at += strlen(*at) + 1;
	}
	buf_putc(out, '\n');
}

void table_print(struct buf *out, const struct table *t, bool last_left)
{
	const char *at = buf_str(&t->cells), *end = at + t->cells.len;
	size_t total = 2;
	bool wide;

	for (unsigned int i = 0; i < t->columns; i++)
		total += t->width[i] + (i ? 2 : 0);
	wide = total > FORMAT_COLUMNS;
	while (at < end)
		table_row(out, t, &at, wide, last_left);
}

/* A name that is printed whole up to @most columns. */
void table_name(struct table *t, const char *name, size_t most)
{
	_cleanup_(buf_release) struct buf clean = {}, cut = {};

	text_printable(&clean, name, strlen(name));
	format_cut(&cut, buf_str(&clean), most);
	table_cell(t, 0, buf_str(&cut));
}

void table_value(struct table *t, unsigned int column, double v, const char *unit)
{
	_cleanup_(buf_release) struct buf b = {};

	format_value(&b, v, unit);
	table_cell(t, column, buf_str(&b));
}

void table_count(struct table *t, unsigned int column, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	table_cell(t, column, text);
}
