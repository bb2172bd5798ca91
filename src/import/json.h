/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_JSON_H
#define IMPORT_JSON_H

/*
 * JSON as programs write it into logs: read piece by piece, broken off anywhere, with nan, with
 * numbers beyond 2^53, with the same key twice.  A document becomes a tree of struct json_val
 * whose memory is the parser's: elements of the top object's arrays can be handed over and
 * forgotten one by one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind {
	JSON_NULL,
	JSON_BOOL,   /* number: 0 or 1 */
	JSON_NUMBER, /* number, and text as printed; nan and inf in any spelling are these */
	JSON_STRING, /* text, decoded */
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_val {
	enum json_kind kind;
	const char *key;	       /* in its object; NULL in an array */
	const char *text;	       /* STRING, NUMBER */
	double number;		       /* NUMBER (may be NAN), BOOL */
	struct json_val *child, *last; /* first and last of an ARRAY or OBJECT */
	struct json_val *next;	       /* in the same array or object */
};

/* Member @key of object @o (the last of that name, as parsers do); NULL when there is none, or @o
 * is NULL or no object. */
const struct json_val *json_find(const struct json_val *o, const char *key);
/* The same along "end.sum_sent.bytes". */
const struct json_val *json_path(const struct json_val *o, const char *path);
/* How many members are called @key. */
size_t json_count(const struct json_val *o, const char *key);
/* True and *ret when member @key is a finite number. */
bool json_double(const struct json_val *o, const char *key, double *ret);
/* True and *ret when member @key is a whole number of 0 to 2^63-1: -1 and 2^64-1 are "none". */
bool json_whole(const struct json_val *o, const char *key, int64_t *ret);
/* The string of member @key or NULL. */
const char *json_text(const struct json_val *o, const char *key);
/* Half of the last digit that number @v was printed with. */
double json_half(const struct json_val *v);

#endif
