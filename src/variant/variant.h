/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_VARIANT_H
#define VARIANT_VARIANT_H

/*
 * Bring the machine into the state a variant names, prove it, and give it back.
 *
 *	r = variant_apply(&applied, host, journal, knobs, &instances, e);
 *	...
 *	variant_witness(applied, WITNESS_BEGIN, ...); measure; variant_witness(applied, WITNESS_END,
 *...); r = variant_undo(applied, e);
 *
 * A failed apply has undone what it did.  Undo goes on after a failure and reports all of them.
 */

#include <stddef.h>
#include <stdint.h>

struct applied;
struct err;
struct host;
struct instances;
struct journal;
struct knob_ops;
struct sample_sink;

/*
 * Journal of changes not yet undone: @dir/journal, one line a change, fsynced before the change is
 * made, with the boot id.  Opening a journal that an earlier, killed run left behind replays it.
 */
int journal_open(struct journal **ret, const char *dir, struct err *e);
void journal_close(struct journal *j);
void journal_closep(struct journal **j);

/* What variant_restore() did. */
struct restore_report {
	size_t undone;		  /* set back and verified */
	size_t void_;		  /* gone with a reboot or a namespace: nothing to do */
	size_t changed_by_others; /* not the value we set: left alone, named in the message */
	size_t failed;
};

/*
 * Undo, in reverse order, all that @dir's journal lists.  @log receives a line for each change
 * (may be NULL).  Return: 0; -EIO with a list when something could not be set back (exit code 3).
 */
int variant_restore(const struct host *host, const char *dir, const struct knob_ops *const *knobs,
		    void (*log)(void *arg, const char *line), void *arg, struct restore_report *ret,
		    struct err *e);

int variant_apply(struct applied **ret, const struct host *host, struct journal *j,
		  const struct knob_ops *const *knobs, const struct instances *list, struct err *e);
/* Is every setting still as set? The error names the one that is not and both values. */
int variant_verify(const struct applied *a, struct err *e);

enum witness_edge {
	WITNESS_BEGIN,
	WITNESS_END,
};

/*
 * Read every witness.  At WITNESS_END one event per setting is emitted: a note when it moved (with
 * the numbers), a note when idle or when there is no witness, a veto when the setting had no
 * effect. Return: number of vetoes, or negative errno.
 */
int variant_witness(struct applied *a, enum witness_edge edge, int64_t t_ns,
		    struct sample_sink *sink, struct err *e);
/* Set back in reverse, read back, drop from the journal; frees @a. */
int variant_undo(struct applied *a, struct err *e);

#endif
