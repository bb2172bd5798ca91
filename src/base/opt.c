// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/opt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/text.h"

/* Where a value of any type can be parsed to and thrown away. */
union any {
	bool flag;
	uint64_t u;
	double ratio;
	char *string;
	int index;
	struct uint_list uints;
	struct str_list strings;
};

const struct opt *opt_find(const struct opt *rows, const char *name)
{
	for (; rows && rows->type != OPT_END; rows++)
		if (strcmp(rows->name, name) == 0)
			return rows;
	return NULL;
}

static void *field(const struct opt *row, void *cfg)
{
	return (char *)cfg + row->offset;
}

/* What a value of @row looks like, for messages. */
static const char *form(const struct opt *row)
{
	static const char *const forms[] = {
		[OPT_END] = "nothing",
		[OPT_BOOL] = "on or off",
		[OPT_UINT] = "a whole number",
		[OPT_NS] = "a time with its unit such as 250us, 5s",
		[OPT_BYTES] = "a size such as 128K, 1M",
		[OPT_BPS] = "a bit rate such as 950M, 3.8G, or 0 for no limit",
		[OPT_RATIO] = "a share such as 5% or 0.05",
		[OPT_STRING] = "a text",
		[OPT_COMMAND] = "a command line",
		[OPT_ENUM] = "one of a list",
		[OPT_UINTS] = "whole numbers such as 98 or [98, 40]",
		[OPT_STRINGS] = "texts such as a or [a, b]",
		[OPT_CPUS] = "all or a CPU list such as 0-3,8",
	};

	return forms[row->type];
}

static int refuse(const struct opt *row, const char *text, int r, struct err *e)
{
	if (r == -ERANGE)
		return err_set(e, r, "%s \"%s\": the number is too large", row->name, text);
	return err_set(e, -EINVAL, "%s \"%s\": expected %s", row->name, text, form(row));
}

/* A bound as the user would write it: times in the largest unit that leaves a whole number. */
static const char *bound(const struct opt *row, uint64_t v, char ret[32])
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "h", 3600000000000 }, { "min", 60000000000 }, { "s", 1000000000 },
		      { "ms", 1000000 },      { "us", 1000 },	      { "ns", 1 } };
	size_t i = 0;

	if (row->type != OPT_NS || v == 0) {
		snprintf(ret, 32, "%" PRIu64, v);
		return ret;
	}
	while (v % units[i].ns)
		i++;
	snprintf(ret, 32, "%" PRIu64 "%s", v / units[i].ns, units[i].name);
	return ret;
}

static int out_of_range(const struct opt *row, const char *text, struct err *e)
{
	char min[32], max[32];

	bound(row, row->min, min);
	bound(row, row->max, max);
	if (row->max == 0)
		return err_set(e, -ERANGE, "%s \"%s\": must be at least %s", row->name, text, min);
	return err_set(e, -ERANGE, "%s \"%s\": must be within %s to %s", row->name, text, min, max);
}

static bool in_range(const struct opt *row, uint64_t v)
{
	return v >= row->min && (row->max == 0 || v <= row->max);
}

static int set_number(const struct opt *row, const char *text, uint64_t *ret, struct err *e)
{
	uint64_t v = 0;
	int r;

	if (row->type == OPT_NS)
		r = text_ns(text, &v);
	else if (row->type == OPT_BYTES)
		r = text_bytes(text, &v);
	else if (row->type == OPT_BPS)
		r = text_bps(text, &v);
	else
		r = text_u64(text, &v);
	if (r < 0)
		return refuse(row, text, r, e);
	if (!in_range(row, v))
		return out_of_range(row, text, e);
	*ret = v;
	return 0;
}

static int set_string(const char *text, char **ret, struct err *e)
{
	char *copy = strdup(text);

	if (!copy)
		return err_nomem(e, "option");
	free(*ret);
	*ret = copy;
	return 0;
}

static int set_enum(const struct opt *row, const char *text, int *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf all = {};

	for (int i = 0; row->choices[i]; i++) {
		if (strcmp(row->choices[i], text) == 0) {
			*ret = i;
			return 0;
		}
		buf_printf(&all, "%s%s", i ? ", " : "", row->choices[i]);
	}
	return err_set(e, -EINVAL, "%s \"%s\": expected one of %s", row->name, text, buf_str(&all));
}

static int set_uints(const struct opt *row, const char *text, struct uint_list *ret, struct err *e)
{
	_cleanup_(str_list_release) struct str_list words = {};
	_cleanup_(uint_list_release) struct uint_list l = {};
	int r = str_list_split(text, &words, e);

	if (r < 0)
		return r;
	l.v = calloc(words.nr ? words.nr : 1, sizeof(*l.v));
	if (!l.v)
		return err_nomem(e, row->name);
	for (; l.nr < words.nr; l.nr++) {
		r = text_u64(words.v[l.nr], &l.v[l.nr]);
		if (r < 0)
			return refuse(row, text, r, e);
		if (!in_range(row, l.v[l.nr]))
			return out_of_range(row, text, e);
	}
	uint_list_release(ret);
	*ret = l;
	l = (struct uint_list){};
	return 0;
}

static int set_strings(const char *text, struct str_list *ret, struct err *e)
{
	struct str_list l = {};
	int r = str_list_split(text, &l, e);

	if (r < 0)
		return r;
	str_list_release(ret);
	*ret = l;
	return 0;
}

static int set_cpus(const struct opt *row, const char *text, char **ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};

	int r = strcmp(text, "all") == 0 ? 0 : cpuset_parse(text, &set, e);

	if (r < 0)
		return r == -ENOMEM ? r : refuse(row, text, r, e);
	return set_string(text, ret, e);
}

static int set_bool(const struct opt *row, const char *text, bool *ret, struct err *e)
{
	return text_bool(text, ret) < 0 ? refuse(row, text, -EINVAL, e) : 0;
}

static int set_ratio(const struct opt *row, const char *text, double *ret, struct err *e)
{
	int r = text_ratio(text, ret);

	return r < 0 ? refuse(row, text, r, e) : 0;
}

int opt_set(const struct opt *row, const char *text, void *cfg, struct err *e)
{
	void *at = field(row, cfg);

	switch (row->type) {
	case OPT_BOOL:
		return set_bool(row, text, at, e);
	case OPT_UINT:
	case OPT_NS:
	case OPT_BYTES:
	case OPT_BPS:
		return set_number(row, text, at, e);
	case OPT_RATIO:
		return set_ratio(row, text, at, e);
	case OPT_STRING:
	case OPT_COMMAND:
		return set_string(text, at, e);
	case OPT_ENUM:
		return set_enum(row, text, at, e);
	case OPT_UINTS:
		return set_uints(row, text, at, e);
	case OPT_STRINGS:
		return set_strings(text, at, e);
	case OPT_CPUS:
		return set_cpus(row, text, at, e);
	case OPT_END:
		break;
	}
	return err_set(e, -EINVAL, "option \"%s\" has no type", row->name);
}

/* Is an empty value of @row the empty text? */
static bool is_text(const struct opt *row)
{
	return row->type == OPT_STRING || row->type == OPT_COMMAND;
}

int opt_defaults(const struct opt *rows, void *cfg, struct err *e)
{
	for (; rows && rows->type != OPT_END; rows++) {
		bool empty = !rows->def || !*rows->def;
		int r = empty && !is_text(rows) ? 0 : opt_set(rows, empty ? "" : rows->def, cfg, e);

		if (r < 0)
			return err_wrap(e, "default");
	}
	return 0;
}

static void release_row(const struct opt *row, void *cfg)
{
	char **string = field(row, cfg);

	if (is_text(row) || row->type == OPT_CPUS) {
		free(*string);
		*string = NULL;
	} else if (row->type == OPT_UINTS) {
		uint_list_release(field(row, cfg));
	} else if (row->type == OPT_STRINGS) {
		str_list_release(field(row, cfg));
	}
}

void opt_release(const struct opt *rows, void *cfg)
{
	for (; rows && rows->type != OPT_END; rows++)
		release_row(rows, cfg);
}

int opt_check(const struct opt *row, const char *text, struct err *e)
{
	union any scratch = {};
	struct opt at_zero = *row;
	int r;

	at_zero.offset = 0;
	r = opt_set(&at_zero, text, &scratch, e);
	release_row(&at_zero, &scratch);
	return r;
}

void uint_list_release(struct uint_list *l)
{
	free(l->v);
	*l = (struct uint_list){};
}

void str_list_release(struct str_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct str_list){};
}

int str_list_split(const char *text, struct str_list *ret, struct err *e)
{
	_cleanup_(str_list_release) struct str_list l = {};
	size_t most = 1;

	for (const char *p = text; *p; p++)
		most += *p == ',';
	l.v = calloc(most, sizeof(*l.v));
	if (!l.v)
		return err_nomem(e, "list");
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, ",");

		l.v[l.nr] = strndup(p, len);
		if (!l.v[l.nr++])
			return err_nomem(e, "list");
		p += len;
		if (*p == ',')
			p++;
	}
	*ret = l;
	l = (struct str_list){};
	return 0;
}
