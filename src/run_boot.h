/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RUN_BOOT_H
#define RUN_BOOT_H

/*
 * A run whose variants differ in what is booted: may this boot measure the next trial, and if not,
 * what is to be booted.
 */

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct plan;
struct record_list;
struct store;

/* The running kernel; zero-filled: of no interest. */
struct run_boot {
	char *release, *version, *cmdline;
	char *id; /* of this boot */
};

int run_boot_read(struct run_boot *ret, struct err *e);
void run_boot_release(struct run_boot *b);

/*
 * Does this boot suit @variant?  -EAGAIN when another one is to be booted: @how gets what and how,
 * lines for a person, and @e the short of it.
 */
int run_boot_check(const struct run_boot *b, const struct plan *p, size_t variant, struct buf *how,
		   struct err *e);
/* Put this boot's id into the records of a trial. */
int run_boot_note(const struct run_boot *b, struct record_list *records, struct err *e);
/* Which boot of @variant this is, from 0, by the trials of @run that are stored. */
int run_boot_index(const struct run_boot *b, struct store *s, int64_t run, unsigned int variant,
		   unsigned int *ret, struct err *e);

#endif
