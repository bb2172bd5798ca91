/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_FRAME_H
#define IMPORT_FRAME_H

/*
 * What loggers, terminals, diffs and people put in front of every line of a program's output:
 * times, hosts and processes, levels, file names and line numbers, bars, bullets, initials.
 * A frame is the kinds of such prefixes in their order; their texts differ from line to line.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_DEPTH 6

enum frame_kind {
	FRAME_BAR,	/* "| ", "* ", "# ", "// " */
	FRAME_CHANGE,	/* "+" or "-" of a diff, "- " of a list */
	FRAME_QUOTER,	/* "JD> " */
	FRAME_STAMP,	/* "Nov 30 22:17:01 ", "[2026-11-30T22:17:01Z] ", "1796078048.581 " */
	FRAME_TAG,	/* "[stdout] " */
	FRAME_LEVEL,	/* "INFO ", "DEBUG:root:" */
	FRAME_NUMBERED, /* "out.txt:12:", "out.txt-12-", "bench:bench.py:42 " */
	FRAME_PROCESS,	/* "box bench[12]: " */
	FRAME_PLACE,	/* "node1: ", "logs/a.txt:" */
	FRAME_SERVICE,	/* "client-1 | ", "bench - " */
	FRAME_NUMBER,	/* "12: ", "12. ", "12 ": the line's number */
};

struct frame {
	unsigned char kinds[FRAME_DEPTH];
	size_t nr;	 /* 0: none */
	uint64_t number; /* of the last line, with FRAME_NUMBER */
};

/* The frame of line @s with one prefix more than @f has, which it replaces.  Return: bytes of
 * all its prefixes; 0 when there is no further one. */
size_t frame_more(struct frame *f, const char *s);
/* Bytes in front of @s that are of the same kinds as @f's, its number one of the next; 0 when
 * the line is not in that frame.  *ret_number: the line's number. */
size_t frame_match(const struct frame *f, const char *s, uint64_t *ret_number);
/* The same whatever the number is. */
size_t frame_skip(const struct frame *f, const char *s);
/* Bytes of a time in front of @s and of the host, process or level behind it; 0: no time. */
size_t frame_skip_stamp(const char *s);
/* Whether the first @len bytes of @s are such prefixes and nothing else: *ret. */
bool frame_of(const char *s, size_t len, struct frame *ret);
bool frame_has(const struct frame *f, enum frame_kind kind);

/* Where a reader's own remark behind the row begins: " <-- here", " # worst", " |"; or NULL. */
const char *frame_find_note(const char *line);
/* The same for arrows, which no program prints behind its rows: " <-- here". */
const char *frame_find_arrow(const char *line);

#endif
