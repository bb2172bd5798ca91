/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_MIME_H
#define IMPORT_MIME_H

/*
 * Which encoding holds for a line of a text that is a mail, several (mbox), or none: headers are
 * known by their form at the text's beginning, behind a blank line, a "From " line or a boundary.
 * Without a header that says so nothing is decoded.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum mime_encoding { MIME_PLAIN, MIME_PRINTABLE, MIME_BASE64, MIME_SKIPPED };

#define MIME_DEPTH 8

struct mime_boundary {
	char text[128];
	size_t len;
	bool alternative; /* of its parts one is read */
	bool taken;	  /* ... and has been */
	bool refused;	  /* what begins now repeats it */
};

struct mime {
	enum mime_encoding encoding;
	bool html;
	const char *skipped; /* why the part is not read, when it is not */
	/* while headers are read */
	bool headers, any; /* a block of headers may go on; it says something about the body */
	struct buf field;  /* of Content-Type and the like, unfolded */
	enum mime_encoding next_encoding;
	bool next_html, next_binary, next_plain, next_attachment;
	struct mime_boundary stack[MIME_DEPTH];
	size_t depth;
	bool blank; /* the line before was blank, or there was none */
};

enum mime_line {
	MIME_BODY,   /* a line of text, in m->encoding */
	MIME_HEADER, /* said something about encodings and the like: nobody's text */
	MIME_TEXT,   /* of a header, to be read like text */
};

/* Look at a line as it came. *ret_skipped: a part that is not read begins here, and why. */
enum mime_line mime_line(struct mime *m, const char *s, size_t len, const char **ret_skipped);
void mime_release(struct mime *m);

/* Decode a line of quoted-printable. Return: whether a line ends with it (no soft break);
 * a byte that is no code is kept. */
bool mime_printable(const char *s, size_t len, struct buf *out);
/* Decode a line of base64: whole groups of four. */
void mime_base64(const char *s, size_t len, struct buf *out);

#endif
