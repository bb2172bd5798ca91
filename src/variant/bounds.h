/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_BOUNDS_H
#define VARIANT_BOUNDS_H

/*
 * Two files of the kernel that hold a lower and an upper number, and that it checks against each
 * other at every write: run time and period of a scheduler, the two ends of a frequency range.
 * Written one after the other there is always an order that is valid in between, and always one
 * that may not be.  As one text: "LOWER/UPPER".
 */

struct err;

struct bounds_files {
	int root_fd;
	const char *lower, *upper; /* paths below it */
};

/* Both numbers as a new string. */
int bounds_read(const struct bounds_files *f, char **ret, struct err *e);
/*
 * Write what of @text differs, in the order that is valid in between.  A lower number of -1 means
 * "without a bound", as in sched_rt_runtime_us, and goes with any upper one.
 */
int bounds_write(const struct bounds_files *f, const char *text, struct err *e);

#endif
