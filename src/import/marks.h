/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_MARKS_H
#define IMPORT_MARKS_H

/*
 * Many literal texts looked for at once (Aho & Corasick 1975): one table look-up a byte, however
 * many there are.  Where none can begin, as two bytes tell, no state is followed: in prose that is
 * most of the text, and the look-ups do not wait for each other.
 */

#include <stddef.h>
#include <stdint.h>

#define MARKS_STATES 8192

struct marks {
	uint16_t next[MARKS_STATES][128];
	uint16_t fail[MARKS_STATES];
	uint64_t found[MARKS_STATES];
	size_t nr;
	uint8_t pairs[65536]; /* by the first two bytes of a text: one begins so */
};

/* @text, ASCII, of two bytes at least, shall give @bits. */
void marks_add(struct marks *m, const char *text, uint64_t bits);
/* All have been added. */
void marks_link(struct marks *m);
/* The bits of all texts that stand in @text. */
uint64_t marks_find(const struct marks *m, const char *text, size_t len);

#endif
