/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_CHECK_H
#define AUDIT_CHECK_H

/*
 * How to write a check.
 *
 * A check is one row and one function in a check_*.c, and a line in checks.def.  The function
 * reads, says facts, and says findings:
 *
 *	static int look_governor(struct look *l, struct err *e)
 *	{
 *		_cleanup_(freep) char *now = look_line(l, ROOT_SYS, "...scaling_governor", e);
 *
 *		if (!now)
 *			return look_unknown(l, e);
 *		look_fact(l, "governor", "%s", now);
 *		if (strcmp(now, "performance") == 0)
 *			return 0;
 *		look_found(l, SEVERITY_WARN, AFFECTS_ALL, "the governor is %s", now);
 *		look_why(l, "the frequency follows the load, and so does every latency");
 *		look_mend(l, "cpupower frequency-set -g performance");
 *		look_knob(l, "file", "path", "...", "value", "performance", NULL);
 *		return 0;
 *	}
 *
 * Memory that runs out is remembered, so that nothing here needs to be looked at; what is read is
 * judged by its contents and never trusted to be well-formed.  Findings name the value found.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"

struct buf;
struct look;
struct look_cache;
struct rt_threads;

struct check {
	const char *name;  /* ^[a-z][a-z0-9-]*$ */
	const char *help;  /* what is looked for, one line, no full stop */
	const char *reads; /* where, for docs/audit.md */
	/* 0, or negative: unknown, with the reason in @e; look_absent() for what does not apply */
	int (*look)(struct look *l, struct err *e);
	bool again; /* cheap, and its facts can change during a run */
};

/* One check at work. */
struct look {
	const struct audit_scope *scope;
	const struct check *check;
	struct audit *out;
	struct look_cache *cache; /* what several checks read */
	struct finding *last;	  /* what why, mend and knob are of */
	bool facts_only;
};

enum root {
	ROOT_PROC,
	ROOT_SYS,
	ROOT_TOP,
};

int look_root(const struct look *l, enum root root);
/* The file's contents without newlines at the end, or NULL with the reason; free(). */
char *look_line(struct look *l, enum root root, const char *path, struct err *e);
bool look_text(struct look *l, enum root root, const char *path, struct buf *out, struct err *e);
bool look_u64(struct look *l, enum root root, const char *path, uint64_t *ret, struct err *e);
bool look_exists(const struct look *l, enum root root, const char *path);

void look_fact(struct look *l, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A fact of this minute. */
void look_now(struct look *l, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A fact that is the contents of a file; nothing when there is none. */
void look_fact_file(struct look *l, const char *key, enum root root, const char *path);

/* A finding; what does not touch anything that is measured becomes a note. */
void look_found(struct look *l, enum severity severity, unsigned int affects, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void look_why(struct look *l, const char *why);
void look_mend(struct look *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * What mends the last finding for a run: knob @plugin with pairs of key and value, ended by NULL.
 * False, and nothing done, when this irqlab has no such knob or the knob no such option.
 */
bool look_knob(struct look *l, const char *plugin, ...) __attribute__((sentinel));

/* This machine has not got what the check is about. */
int look_absent(struct look *l, struct err *e, const char *reason);

/* A list in words: append @word as its @nr-th (from 0); what comes after @max words is "...". */
void look_list(struct buf *out, size_t nr, size_t max, const char *word);

/* Is the kernel's configuration known? */
bool look_config(struct look *l, struct err *e);
/* An option of it: "y", "m", a value without quotes; NULL: not set. Valid until the next call. */
const char *look_option(struct look *l, const char *name);
/* All threads, or NULL with the reason; borrowed. */
const struct rt_threads *look_threads(struct look *l, struct err *e);
/* The value of word @key of the command line ("" for one without), or NULL; free(). */
char *look_boot(struct look *l, const char *key);

#endif
