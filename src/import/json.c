// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/json.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- looking things up */

const struct json_val *json_find(const struct json_val *o, const char *key)
{
	const struct json_val *found = NULL;

	if (!o || o->kind != JSON_OBJECT)
		return NULL;
	for (const struct json_val *v = o->child; v; v = v->next)
		if (strcmp(v->key, key) == 0)
			found = v;
	return found;
}

const struct json_val *json_path(const struct json_val *o, const char *path)
{
	char key[64];

	while (o && *path) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof(key))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		o = json_find(o, key);
		path += n + (path[n] == '.');
	}
	return o;
}

size_t json_count(const struct json_val *o, const char *key)
{
	size_t n = 0;

	if (!o || o->kind != JSON_OBJECT)
		return 0;
	for (const struct json_val *v = o->child; v; v = v->next)
		n += strcmp(v->key, key) == 0;
	return n;
}

bool json_double(const struct json_val *o, const char *key, double *ret)
{
	const struct json_val *v = json_find(o, key);

	if (!v || v->kind != JSON_NUMBER || !isfinite(v->number))
		return false;
	*ret = v->number;
	return true;
}

bool json_whole(const struct json_val *o, const char *key, int64_t *ret)
{
	const struct json_val *v = json_find(o, key);
	int64_t n = 0;

	if (!v || v->kind != JSON_NUMBER)
		return false;
	if (v->text[strspn(v->text, "0123456789")]) { /* "1.23e+15": whole all the same? */
		if (!(v->number >= 0 && v->number < 0x1p63) || v->number != floor(v->number))
			return false;
		*ret = (int64_t)v->number;
		return true;
	}
	for (const char *s = v->text; *s; s++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s - '0', &n))
			return false;
	*ret = n;
	return true;
}

const char *json_text(const struct json_val *o, const char *key)
{
	const struct json_val *v = json_find(o, key);

	return v && v->kind == JSON_STRING ? v->text : NULL;
}

double json_half(const struct json_val *v)
{
	const char *point, *e;
	double half = 0.5;

	if (v->kind != JSON_NUMBER)
		return 0;
	e = strpbrk(v->text, "eE");
	point = strchr(v->text, '.');
	if (!point && !e)
		return 0; /* a count, exact */
	for (const char *s = point ? point + 1 : e; isdigit((unsigned char)*s); s++)
		half /= 10;
	if (e) {
		int exponent = 0;
		bool minus = e[1] == '-';

		for (const char *s = e + 1 + (e[1] == '-' || e[1] == '+');
		     isdigit((unsigned char)*s) && exponent < 1000; s++)
			exponent = exponent * 10 + (*s - '0');
		half *= pow(10, minus ? -exponent : exponent);
	}
	return half;
}
