/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_DECODE_H
#define IMPORT_DECODE_H

/*
 * From pieces of a text to its lines in UTF-8, as far as mail and editors have dressed it:
 *
 *	UTF-16 with or without a byte order mark
 *	MIME parts (mime.h says which encoding holds): quoted-printable, base64
 *	quoted-printable without headers, when the beginning of the text shows nothing else
 *
 * The first DECODE_WINDOW bytes are looked at before anything is handed on.  Line numbers are
 * those of the text as it came: what a line of base64 holds has that line's number.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "import/mime.h"

struct err;

enum wide { WIDE_NO, WIDE_LE, WIDE_BE };

struct decoder {
	/* A line without its LF. @more: it is longer than DECODE_PIECE, its next piece follows. */
	int (*emit)(struct decoder *d, const char *s, size_t len, size_t nr, bool more,
		    struct err *e);
	/* Something that a reader should know about the text, at line @nr. */
	int (*remark)(struct decoder *d, size_t nr, const char *text, struct err *e);
	void *arg;
	size_t nr;	 /* lines begun so far */
	bool cr_counts;	 /* CR ends lines: the text begins with a long piece that has no LF */
	bool begun;	 /* the window has been looked at */
	bool rest;	 /* the next piece belongs to line @nr */
	bool html;	 /* the lines handed on are HTML */
	struct buf held; /* bytes of the window, then the beginning of a line */
	enum wide wide;
	unsigned char odd; /* of UTF-16: a byte that waits for its second */
	bool has_odd;
	struct buf narrow; /* UTF-16 as UTF-8 */
	bool printable;	   /* quoted-printable from beginning to end */
	struct mime mime;
	struct buf plain; /* decoded bytes of a line that is not whole yet */
	size_t plain_nr;  /* the text's line in which that line began */
};

#define DECODE_PIECE 65536U
#define DECODE_WINDOW (256U << 10)

int decoder_add(struct decoder *d, const char *data, size_t len, struct err *e);
int decoder_end(struct decoder *d, struct err *e);
void decoder_release(struct decoder *d);

#endif
