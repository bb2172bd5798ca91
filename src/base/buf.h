/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_BUF_H
#define BASE_BUF_H

/*
 * A growable byte string.  Invariant: @data is NULL (empty) or NUL-terminated at @len, so a buf
 * of text can be passed to anything that takes a string through buf_str().
 *
 *	_cleanup_(buf_release) struct buf b = {};
 *	r = buf_printf(&b, "cpu=%u", cpu);
 *
 * Functions return 0 or -ENOMEM; a failed call leaves the contents as they were, and sets the
 * sticky @failed so that a long sequence can be checked once at its end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data;
	size_t len;
	size_t size;
	bool failed;
};

int buf_reserve(struct buf *b, size_t extra);
int buf_add(struct buf *b, const void *data, size_t len);
int buf_puts(struct buf *b, const char *s);
int buf_putc(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Unsigned LEB128. */
int buf_varint(struct buf *b, uint64_t v);
/* Contents as a string, "" when empty; valid until the next call. */
const char *buf_str(const struct buf *b);
/* Hand the string to the caller (free()); NULL when the buf had failed. */
char *buf_take(struct buf *b);
void buf_reset(struct buf *b);
void buf_release(struct buf *b);

#endif
