/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_JSON_FIELD_H
#define BASE_JSON_FIELD_H

/* Fields of a JSON object that came from outside: absent and of another type are the same thing. */

#include <stdbool.h>
#include <stdint.h>

struct json_object;
struct json_tokener;

/* The string of @key, borrowed from @o, or NULL. */
const char *json_field_string(struct json_object *o, const char *key);
/* True and *ret when @key is a whole number that fits into a uint64_t. */
bool json_field_u64(struct json_object *o, const char *key, uint64_t *ret);
/* The object or array of @key, borrowed, or NULL. */
struct json_object *json_field_object(struct json_object *o, const char *key);
struct json_object *json_field_array(struct json_object *o, const char *key);

/* for _cleanup_ */
void json_putp(struct json_object **o);
void json_tokener_freep(struct json_tokener **t);

#endif
