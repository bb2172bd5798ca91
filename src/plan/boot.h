/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PLAN_BOOT_H
#define PLAN_BOOT_H

/*
 * Variants that differ in what the machine is booted with:
 *
 *	variants:
 *	  before: []
 *	  after:
 *	    - boot: { cmdline: "threadirqs isolcpus=1" }
 *
 * A variant wants its own words of the command line in effect (of several with one key the last one
 * counts), and none of those that other variants ask for; with "kernel" that release, which then
 * every variant names.  Pure: the running kernel comes in as text.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;
struct plan;
struct plugin;

/* The rows of "boot:". */
extern const struct plugin plan_boot_plugin;

/* The running kernel. */
struct boot_state {
	const char *release; /* uname -r */
	const char *version; /* uname -v: holds PREEMPT_DYNAMIC, PREEMPT_RT */
	const char *cmdline; /* /proc/cmdline */
};

/* What is to be booted for a variant. */
struct boot_wish {
	bool met;	    /* the running kernel is that; the rest is empty then */
	const char *kernel; /* release to boot, of the plan; NULL: the running one */
	struct buf missing; /* words that are to be added */
	struct buf extra;   /* words that are to go */
	struct buf cmdline; /* the whole line to boot, without the loader's own words */
};

/* Does any variant ask something of the boot? */
bool plan_has_boots(const struct plan *p);
/* Do the wishes fit together?  The error names the variant, whose index is @ret_variant. */
int plan_check_boots(const struct plan *p, size_t *ret_variant, struct err *e);
/*
 * Is @now what @variant wants?  -ENOTSUP when it is by its words, but this kernel ignores them.
 */
int plan_boot_check(const struct plan *p, size_t variant, const struct boot_state *now,
		    struct boot_wish *ret, struct err *e);
void boot_wish_release(struct boot_wish *w);

#endif
