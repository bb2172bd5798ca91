// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/bounds.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/kfile.h"
#include "base/text.h"

static int read_number(int root_fd, const char *path, int64_t *ret, struct err *e)
{
	_cleanup_(freep) char *line = NULL;
	int r = kfile_read_line(root_fd, path, &line, e);

	if (r < 0)
		return r;
	if (text_i64(line, ret) < 0)
		return err_set(e, -EINVAL, "read %s: \"%.60s\" is not a number", path, line);
	return 0;
}

static int read_both(const struct bounds_files *f, int64_t *lower, int64_t *upper, struct err *e)
{
	int r = read_number(f->root_fd, f->lower, lower, e);

	return r < 0 ? r : read_number(f->root_fd, f->upper, upper, e);
}

static int write_number(int root_fd, const char *path, int64_t v, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)v);
	return kfile_write(root_fd, path, text, e);
}

static bool parse(const char *text, int64_t *lower, int64_t *upper)
{
	char copy[64];
	char *slash;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return false;
	slash = strchr(copy, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return text_i64(copy, lower) == 0 && text_i64(slash + 1, upper) == 0;
}

int bounds_read(const struct bounds_files *f, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};
	int64_t lower = 0, upper = 0;
	int r = read_both(f, &lower, &upper, e);

	if (r < 0)
		return r;
	buf_printf(&b, "%lld/%lld", (long long)lower, (long long)upper);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, f->lower);
}

int bounds_write(const struct bounds_files *f, const char *text, struct err *e)
{
	int64_t old_lower = 0, old_upper = 0, lower = 0, upper = 0;
	bool lower_first;
	int r = 0;

	if (!parse(text, &lower, &upper) || lower > upper)
		return err_set(e, -EINVAL, "\"%.60s\" is not LOWER/UPPER with LOWER <= UPPER",
			       text);
	r = read_both(f, &old_lower, &old_upper, e);
	lower_first = lower <= old_upper;
	for (int i = 0; i < 2 && r >= 0; i++) {
		if ((i == 0) == lower_first)
			r = lower == old_lower ? 0 : write_number(f->root_fd, f->lower, lower, e);
		else
			r = upper == old_upper ? 0 : write_number(f->root_fd, f->upper, upper, e);
	}
	return r;
}
