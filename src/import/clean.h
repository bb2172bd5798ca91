/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_CLEAN_H
#define IMPORT_CLEAN_H

/*
 * From lines of a text to cleaned lines: without quote marks, terminal control sequences and
 * outer blanks, every run of blanks one space, valid UTF-8 (a byte that is none is taken for
 * Latin-1).  A carriage return, and a control sequence that moves the cursor to another line, end
 * a line too.  Tags of HTML are taken out, those of paragraphs end a line; its entities are the
 * characters that they name.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;

struct line {
	struct buf text;
	size_t nr;    /* in the text, from 1 */
	bool redrawn; /* the cursor had moved to draw this line */
	bool more;    /* the line is longer than a piece: its next piece follows */
	bool rest;    /* ... and this is such a piece */
};

struct cleaner {
	int (*emit)(struct cleaner *c, const struct line *l, struct err *e);
	void *arg;
	bool cr_counts;		/* CR ends lines in the count too */
	bool moved;		/* the cursor has moved since the last line */
	bool rest;		/* the next piece belongs to the line before */
	bool html;		/* tags are HTML: said by the mail, or known from the tags seen */
	bool hidden;		/* inside <style> or <script> */
	unsigned int tag_lines; /* lines in which a tag has not ended; 0: in none */
	size_t tag_nr;		/* the line in which it has begun */
	struct line out;
};

/* Clean the @len bytes of @text, line @nr (they hold no LF) and emit what they give.  @more: the
 * line goes on in the next call.  Return: 0; what emit() returned; -ENOMEM. */
int cleaner_line(struct cleaner *c, const char *text, size_t len, size_t nr, bool more,
		 struct err *e);
void cleaner_release(struct cleaner *c);

#endif
