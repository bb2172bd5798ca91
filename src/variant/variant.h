/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_VARIANT_H
#define VARIANT_VARIANT_H

/*
 * Bring the machine into the state a variant names, prove it, and give it back.
 *
 *	variant_restore(host, dir, knobs, ...);      what an earlier, killed run left behind
 *	journal_open(&journal, dir, e);
 *	variant_apply(&applied, host, journal, knobs, &instances, e);
 *	variant_witness(applied, WITNESS_BEGIN, ...);
 *	measure, and meanwhile now and then variant_refresh(applied, ...);
 *	variant_witness(applied, WITNESS_END, ...);
 *	variant_undo(applied, e);
 *
 * All of it is for the one owner of the machine: hold the lock of lock.h meanwhile.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct applied;
struct buf;
struct err;
struct host;
struct instances;
struct journal;
struct knob_ops;
struct sample_sink;

/*
 * Journal of changes not yet undone: @dir/journal, one line a change, fsynced before the change is
 * made, with the boot id.  @dir is created with mode 0700; one that others can write to is refused.
 * A journal that lists changes of an earlier run is refused with -EUCLEAN: variant_restore() first.
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
 * (may be NULL).  A value that is neither the old one nor ours was changed by somebody else: it is
 * left alone, reported once and forgotten.  What could not be set back stays in the journal.
 * Return: 0; -EIO with a list when something could not be set back (exit code 3), @ret is filled
 * then too.
 */
int variant_restore(const struct host *host, const char *dir, const struct knob_ops *const *knobs,
		    void (*log)(void *arg, const char *line), void *arg, struct restore_report *ret,
		    struct err *e);

/* Forget all that @dir's journal lists, without undoing anything. Only on a person's demand. */
int variant_forget(const char *dir, struct err *e);

/**
 * variant_apply - bring the machine into the state @list names
 * @knobs: NULL-terminated; @host, @j and @knobs must outlive @ret
 *
 * Everything is resolved before anything is changed, so that a mistyped name costs nothing; what
 * matches nothing yet (-ENOENT) may appear through an earlier setting of the list, as napi threads
 * do through `threaded`, and is asked again in its turn.  A setting that already has its value is
 * not written and not undone, but verified and witnessed.  Where two settings have one target, the
 * later one decides.
 *
 * A failed apply has undone what it did; -ENOTRECOVERABLE when that failed too (exit code 3): the
 * journal keeps what is left.
 */
int variant_apply(struct applied **ret, const struct host *host, struct journal *j,
		  const struct knob_ops *const *knobs, const struct instances *list, struct err *e);
/*
 * Is every setting still as set? The error names the one that is not and both values.  What a
 * pattern named and is gone is no error.
 */
int variant_verify(const struct applied *a, struct err *e);

/* May more of what @a names appear?  Without it variant_refresh() has nothing to do.  NULL: no. */
bool variant_appears(const struct applied *a);
/**
 * variant_refresh - what has appeared since gets its setting too
 * @t_ns: time of the events, from the start of the window; negative before it
 *
 * New targets of patterns are journaled, set, read back and, inside the window, witnessed from now
 * on, as the others.  Events: under the metric "variant" a note that names what appeared, and one
 * for what is gone; under "health.variant" a veto when something that appeared could not be set,
 * and a warning when nothing is left of what a pattern named.  @a NULL: nothing to do.
 *
 * Cost: a file when nothing appeared, else what resolve() costs (for threads: a scan of /proc), a
 * few files per target to see whether it is still there, and an fsync per new target.
 * Return: 0, or negative when an event could not be emitted.
 */
int variant_refresh(struct applied *a, int64_t t_ns, struct sample_sink *sink, struct err *e);

enum witness_edge {
	WITNESS_BEGIN,
	WITNESS_END,
};

/*
 * Read every witness.  At WITNESS_END one event per setting is emitted under the metric "witness":
 * a note when it moved (with the numbers), a note when idle or when there is no witness, a veto
 * when the setting had no effect, a warning when its witness could not be read.  @t_ns is the time
 * of the event.  Cost: a scan of /proc per `threaded`, a file per thread.
 * Return: number of vetoes, or negative errno.
 */
int variant_witness(struct applied *a, enum witness_edge edge, int64_t t_ns,
		    struct sample_sink *sink, struct err *e);
/*
 * Set back in reverse, read back, drop from the journal; frees @a (NULL: nothing to do).  Goes on
 * after a failure and returns -EIO with a list of what was not set back (exit code 3); that stays
 * in the journal.  What somebody else has set meanwhile, to neither the old value nor ours, is left
 * alone and is no failure: @others (may be NULL) receives a line for each, with the values.
 */
int variant_give_back(struct applied *a, struct buf *others, struct err *e);
/* The same for who cannot tell anybody about others. */
int variant_undo(struct applied *a, struct err *e);

#endif
