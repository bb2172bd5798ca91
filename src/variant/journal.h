/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_JOURNAL_H
#define VARIANT_JOURNAL_H

/*
 * The journal's own interface, for variant.c and restore.c.
 *
 * The file is text, one JSON object a line:
 *
 *	{"id":1,"knob":"sysctl","target":"net.core.busy_poll","old":"0","new":"50",
 *	 "boot":"6f0c...","netns":null,"ephemeral":false,"blind":false,"pid":4711}
 *			before the change; fsync
 *	{"set":1}	the change was made and read back
 *	{"undoing":1}	it is being set back: what is found may be neither value
 *	{"done":1}	it was undone and read back; fsync
 *
 * Bytes outside printable ASCII are written \u00XX, a byte each, so that any value comes back
 * exactly.  A last line without its newline was cut by a crash: its change was not made.  The file
 * is removed when nothing is open.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "variant/variant.h"

struct change {
	uint64_t id;	  /* given by journal_begin() */
	const char *knob; /* owned when it comes from journal_load() */
	const char *target;
	const char *old; /* NULL: it could not be read */
	const char *new_value;
	const char *boot;
	const char *netns; /* network namespace the target belongs to, as "net:[4026531840]"; NULL:
			      to none, or it is not known */
	bool ephemeral;
	bool blind;
	bool set; /* made and read back; else it may have been made, halfway, or not */
	int64_t pid;
};

struct changes {
	struct change *v;
	size_t nr;
	size_t nr_damaged;	 /* lines that cannot be understood */
	size_t first_damaged;	 /* line number of the first of them */
	bool all_of_other_boots; /* there are intact changes, done ones too, none of @boot */
};

void changes_release(struct changes *c);

/*
 * Open @dir's journal and list what is open, oldest first.  @create: make @dir when absent; without
 * it an absent @dir is an empty journal.  @boot is this boot's id.
 */
int journal_load(struct journal **ret, const char *dir, bool create, const char *boot,
		 struct changes *ret_open, struct err *e);
/* Write down @c and wait until it is on the disk; only then make the change. */
int journal_begin(struct journal *j, struct change *c, struct err *e);
/* The change was made and read back. Not synced: a killed process does not lose it. */
void journal_set(struct journal *j, uint64_t id);
/*
 * Before the old value is written: a setting of several files may stop halfway, and what a restore
 * finds then is not somebody else's doing.  Not synced, as journal_set().
 */
void journal_undoing(struct journal *j, uint64_t id);
/*
 * The change was undone.  When its line cannot be written this is no failure: the machine is as it
 * was, and a restore finds the old value there; but a file that cannot be removed is.
 */
int journal_done(struct journal *j, uint64_t id, struct err *e);
/* Remove the file whatever it lists. */
int journal_remove(struct journal *j, struct err *e);

/* The caller's network namespace, "net:[4026531840]"; NULL when /proc does not say (a fixture). */
char *journal_netns(int proc_fd);
/* This boot's id, from @proc_fd sys/kernel/random/boot_id. */
int journal_boot_id(int proc_fd, char **ret, struct err *e);

#endif
