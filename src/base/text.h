/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/*
 * Numbers and units as people write them.  The parsers take the whole string or refuse it: no
 * trailing rubbish, no sign where none belongs, no silent overflow.  They return 0, -EINVAL when
 * the text has not the form, -ERANGE when the number does not fit; *ret is untouched on failure.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

int text_u64(const char *s, uint64_t *ret);
int text_i64(const char *s, int64_t *ret);
int text_double(const char *s, double *ret);
/* "250us", "1.5s", "10min", "0": [ns]; units ns us ms s min h; a bare number but 0 is refused. */
int text_ns(const char *s, uint64_t *ret);
/* "128K", "1M", "64": [bytes], binary prefixes K M G T as iperf3's -w and -l. */
int text_bytes(const char *s, uint64_t *ret);
/* "3.8G", "950M", "0": [bits/s], decimal prefixes K M G T as iperf3's -b. */
int text_bps(const char *s, uint64_t *ret);
/* "5%" or "0.05": a ratio, never percent. */
int text_ratio(const char *s, double *ret);
/* on/off, yes/no, true/false, 1/0 */
int text_bool(const char *s, bool *ret);

/*
 * The next number of a table of the kernel's, after blanks and before @end; *p goes behind it.
 * False, and nothing moves, when none is there, more than 64 bits, or something behind it that is
 * no blank.
 */
bool text_next_u64(const char **p, const char *end, uint64_t *ret);

/* Append @s as a JSON string with quotes, all control characters and invalid UTF-8 escaped. */
int text_json(struct buf *out, const char *s);
/* Append @s with everything that is not printable ASCII or valid UTF-8 as \xNN: safe to print. */
int text_printable(struct buf *out, const char *s, size_t len);
/* Append "1.59 Gbit/s", "4.2 us": @v with three significant digits and the fitting prefix. */
int text_si(struct buf *out, double v, const char *unit);
/* A new string, or NULL without memory. */
__attribute__((format(printf, 1, 0))) char *text_vprintf(const char *fmt, va_list ap);
/* The word of @words (NULL-terminated) nearest to @s, or NULL when none is near. */
const char *text_nearest(const char *s, const char *const *words);

#endif
