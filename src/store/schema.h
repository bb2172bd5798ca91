/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

/*
 * The tables and how they change.  Step i brings a file from version i to i + 1; version 0 is the
 * empty file.  A step that was released is never edited: a change is a new step.
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct sql;

/* "irql" big-endian: what `file` and we recognise a store by. */
#define SCHEMA_APPLICATION_ID 0x6972716c

struct schema {
	const char *const *steps;
	size_t nr; /* the version this program writes */
};

extern const struct schema schema_current;

int schema_version(struct sql *s, int64_t *ret, struct err *e);
/*
 * Bring the open file to @schema's version, all steps in one transaction.  A newer file is
 * refused with -ENOTSUP.  @may_write false: an older one is refused too.
 */
int schema_migrate(struct sql *s, const struct schema *schema, int may_write, struct err *e);

#endif
