/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

/*
 * A stored run in the forms that other systems read.  Adding one: a file export_<name>.c with its
 * struct export_ops, and a line in the table of export.c and in meson.build.
 *
 * A form is written from a report (what was gathered and judged once, in report/) and, where it
 * wants single trials, from the store.  Writing is pure but for reading the store: the same run
 * gives the same bytes.
 */

#include <stddef.h>

#include "report/report.h"
#include "store/store.h"

struct buf;
struct err;

struct export_source {
	const struct report *report;
	struct store *store;
	const struct trial_info *trial; /* NULL: none was named */
};

struct export_ops {
	const char *name; /* "junit": what the user types */
	const char *help; /* one line, no full stop, <= 60 characters */
	bool one_trial;	  /* is of one trial: export_source.trial is never NULL */
	/*
	 * Append the whole document to @out.  Return: 0; -ENODATA when the run holds nothing that
	 * this form could say; -ENOMEM; what the store says.
	 */
	int (*write)(const struct export_source *src, struct buf *out, struct err *e);
};

extern const struct export_ops *const export_forms[]; /* ends with NULL */

/* The form called @name; -EINVAL with the nearest name and all of them. */
int export_find(const char *name, const struct export_ops **ret, struct err *e);
/* The trial @number (from 1, as reports count) of a report; NULL when there is none. */
const struct trial_info *export_trial(const struct report *rep, uint64_t number);

#endif
