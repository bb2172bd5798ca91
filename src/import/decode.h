/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_DECODE_H
#define IMPORT_DECODE_H

/* From pieces of a text to its lines. */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;

struct decoder {
	/* A line without its LF. @more: it is longer than DECODE_PIECE, its next piece follows. */
	int (*emit)(struct decoder *d, const char *s, size_t len, size_t nr, bool more,
		    struct err *e);
	void *arg;
	size_t nr;	/* lines begun so far */
	bool cr_counts; /* CR ends lines: the text begins with a long piece that has no LF */
	bool begun;
	bool rest;	 /* the next piece belongs to line @nr */
	struct buf held; /* the beginning of a line whose end is not there yet */
};

#define DECODE_PIECE 65536U

int decoder_add(struct decoder *d, const char *data, size_t len, struct err *e);
int decoder_end(struct decoder *d, struct err *e);
void decoder_release(struct decoder *d);

#endif
