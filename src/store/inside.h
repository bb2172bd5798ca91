/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORE_INSIDE_H
#define STORE_INSIDE_H

/* What the files of the store share, and its test. */

#include "store/sql.h"
#include "store/store.h"

struct schema;

/* A column: the tags of the row's run, one blank between them. */
#define RUN_TAGS                                                                         \
	"(SELECT group_concat(name, ' ') FROM (SELECT name FROM tag WHERE run = run.id " \
	"ORDER BY name))"

struct store {
	struct sql sql;
};

/* store_open() with another schema: how a migration is tested. */
int store_open_schema(struct store **ret, const char *path, enum store_mode mode,
		      const struct schema *schema, struct err *e);

#endif
