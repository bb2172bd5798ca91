/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_JSON_WRITE_H
#define REPORT_JSON_WRITE_H

/*
 * Writes values in order and puts the commas; @name NULL inside an array.  Text goes through
 * text_json(): any bytes are safe.  The buffer remembers a failure by itself.
 */

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct report;

struct json {
	struct buf *out;
	bool comma;
};

void json_key(struct json *j, const char *name);
/* '{' or '[' */
void json_begin(struct json *j, const char *name, char bracket);
void json_end(struct json *j, char bracket);
void put_text(struct json *j, const char *name, const char *v);
/* JSON has no infinity: an interval without an end is null there. */
void put_number(struct json *j, const char *name, double v);
void put_count(struct json *j, const char *name, uint64_t v);
void put_bool(struct json *j, const char *name, bool v);

/* Parts of the report's object that have a file of their own. */
void json_derived(struct json *j, const struct report *rep);
void json_exchange(struct json *j, const struct report *rep);
void json_extremes(struct json *j, const struct report *rep);
void json_explore(struct json *j, const struct report *rep);

#endif
