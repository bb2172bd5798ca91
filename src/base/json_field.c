// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/json_field.h"

#include <errno.h>
#include <json-c/json.h>

static struct json_object *typed(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *v = NULL;

	if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, key, &v))
		return NULL;
	return json_object_is_type(v, type) ? v : NULL;
}

const char *json_field_string(struct json_object *o, const char *key)
{
	struct json_object *v = typed(o, key, json_type_string);

	return v ? json_object_get_string(v) : NULL;
}

bool json_field_u64(struct json_object *o, const char *key, uint64_t *ret)
{
	struct json_object *v = typed(o, key, json_type_int);
	uint64_t u;

	/* json-c clamps a negative number to 0 here and says nothing: ask for its sign first */
	if (!v || json_object_get_int64(v) < 0)
		return false;
	errno = 0;
	u = json_object_get_uint64(v);
	if (errno)
		return false;
	*ret = u;
	return true;
}

struct json_object *json_field_object(struct json_object *o, const char *key)
{
	return typed(o, key, json_type_object);
}

struct json_object *json_field_array(struct json_object *o, const char *key)
{
	return typed(o, key, json_type_array);
}

void json_putp(struct json_object **o)
{
	json_object_put(*o);
}

void json_tokener_freep(struct json_tokener **t)
{
	if (*t) /* unlike json_object_put() it takes no NULL */
		json_tokener_free(*t);
}
