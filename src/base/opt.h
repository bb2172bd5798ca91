/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_OPT_H
#define BASE_OPT_H

/*
 * Options are rows.  A plug-in describes its options once; the plan parser validates them, the
 * plug-in reads them, the help prints them.
 *
 *	struct wakeup_cfg { uint64_t interval_ns; struct uint_list priority; };
 *	static const struct opt options[] = {
 *		{ "interval", OPT_NS, offsetof(struct wakeup_cfg, interval_ns), "250us",
 *		  .min = 10000, .max = 1000000000, .help = "time between wake-ups" },
 *		{ "priority", OPT_UINTS, offsetof(struct wakeup_cfg, priority), "98", ... },
 *		{} };
 *
 * A row whose default is NULL is required; "" is the empty or zero value.  Lists are written
 * "a,b,c" here; the plan's [a, b, c] arrives in that form.
 */

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum opt_type {
	OPT_END,     /* ends a table: {} */
	OPT_BOOL,    /* bool */
	OPT_UINT,    /* uint64_t, within min..max */
	OPT_NS,	     /* uint64_t [ns], "250us" */
	OPT_BYTES,   /* uint64_t [bytes], "128K" */
	OPT_BPS,     /* uint64_t [bits/s], "3.8G" */
	OPT_RATIO,   /* double, "5%" or "0.05" */
	OPT_STRING,  /* char * */
	OPT_COMMAND, /* char *: a shell runs it, so a person agrees to it before a run */
	OPT_ENUM,    /* int: index into choices */
	OPT_UINTS,   /* struct uint_list, each within min..max */
	OPT_STRINGS, /* struct str_list */
	OPT_CPUS,    /* char *: "all" or a CPU list; whether the CPUs exist is asked later */
};

struct opt {
	const char *name;
	enum opt_type type;
	size_t offset;
	const char *def;
	const char *help;	    /* one line, no full stop */
	uint64_t min, max;	    /* inclusive; max 0 means no bound */
	const char *const *choices; /* OPT_ENUM: NULL-terminated */
	const char *fixed;	    /* why no variant may override it; NULL: variants may differ */
};

struct uint_list {
	uint64_t *v;
	size_t nr;
};

struct str_list {
	char **v;
	size_t nr;
};

/* The row called @name or NULL. */
const struct opt *opt_find(const struct opt *rows, const char *name);
/* Fill @cfg (zero-filled before) with the defaults; required rows stay zero. */
int opt_defaults(const struct opt *rows, void *cfg, struct err *e);
/* Parse @text into @cfg; replaces the old value. The error quotes the text and says what is
 * allowed. */
int opt_set(const struct opt *row, const char *text, void *cfg, struct err *e);
/* Free what opt_set allocated; @cfg is zero afterwards where it owned something. */
void opt_release(const struct opt *rows, void *cfg);
/* Parse into nothing: only whether @text is allowed. */
int opt_check(const struct opt *row, const char *text, struct err *e);

void uint_list_release(struct uint_list *l);
void str_list_release(struct str_list *l);
/* Split "a,b,c" (empty text: empty list). */
int str_list_split(const char *text, struct str_list *ret, struct err *e);

#endif
