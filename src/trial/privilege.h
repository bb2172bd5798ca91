/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_PRIVILEGE_H
#define TRIAL_PRIVILEGE_H

/*
 * What the agent needs of root, one capability a row, and giving up the rest.
 */

#include <stdbool.h>

struct buf;
struct err;

/*
 * Keep the capabilities of the table that this process has, drop all others.  Programs it starts
 * get no more than that either (no_new_privs), unless @commands: those of a plan that somebody
 * agreed to are root's, whatever they need.  For the calling thread and those it makes later.
 */
int privilege_reduce(bool commands, struct err *e);

/* The table as text, a capability and its reason a line. */
void privilege_print(struct buf *out);

#endif
