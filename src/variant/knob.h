/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_KNOB_H
#define VARIANT_KNOB_H

/*
 * How to write a knob.
 *
 * A knob is one kind of thing that can be read, set and set back.  An instance in a plan
 * ("thread: { match: "napi/dut0-1", policy: other }") resolves to a list of settings on this
 * machine: (target, value) pairs of text.  All else is generic and lives in variant.c: read the old
 * value, journal it (fsync), write the new one, read it back, witness it, and in the end write the
 * old one in reverse order.  After a SIGKILL the journal alone is enough to undo, so read() and
 * write() must work from the target text with no other state.
 *
 * What a pattern names may appear and vanish while a trial runs.  An instance that appears() is
 * resolved again meanwhile and new targets get the value too; a target whose read() says that it is
 * gone is noted and forgotten.  So a target has to say which of several things that bore the same
 * name one after another it means: a thread's start time, not only its number.
 *
 * witness() reads a counter that moves only when the setting has an effect: a napi thread's run
 * time for `threaded`, context switches of a thread whose policy was set.  Reading a setting back
 * proves the setting, not the effect: a veth accepts threaded=1 and ignores it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/plugin.h"

struct buf;
struct err;
struct host;
struct instance;

struct knob_setting {
	char *target; /* "net.core.busy_poll"; self-contained: no state but the machine is needed */
	char *value;
	/* What reads back afterwards cannot be foretold, only that it differs from before. */
	bool blind;
};

struct knob_settings {
	struct knob_setting *v;
	size_t nr;
	char *note; /* how they were found, when not in the plain way; told with the trial; or NULL
		     */
};

/* Appends copies. */
int knob_settings_add(struct knob_settings *l, const char *target, const char *value,
		      struct err *e);
void knob_settings_release(struct knob_settings *l);

/*
 * A counter that proves an effect, and the traffic that should have caused it.  Both are read at
 * the edges of the window; the differences decide:
 *   effect moved by at least min_effect            -> the setting works
 *   not moved, but demand moved by min_demand      -> no effect: the trial is vetoed
 *   neither                                        -> idle: nothing was asked of it, no statement
 * and whatever the effect, more than max_against of what should not have moved is a veto.
 */
struct witness {
	char what[96]; /* "run time of napi/dut0-*" */
	bool is_ns;    /* @effect is a time [ns], else a count */
	uint64_t effect, min_effect;
	char of[96]; /* what the demand counts: "rx_packets of dut0"; "" with min_demand 0 */
	uint64_t demand, min_demand; /* min_demand 0: demand is always there */
	/* What a setting that works lets move by @max_against at most: interrupts elsewhere. */
	char against_of[96];
	uint64_t against, max_against; /* against_of "": nothing speaks against it */
	const char *remedy;	       /* why there may be no effect; static, NULL: unknown */
};

/* As min_demand: nobody knows whether it was asked for, so no movement means idle, never veto. */
#define WITNESS_DEMAND_UNKNOWN UINT64_MAX

/* Messages in @e do not name the knob: variant.c puts "knob NAME: TARGET" in front. */
struct knob_ops {
	struct plugin plugin;
	/* 0, or negative with the reason why it cannot be used here; knob_usable(): always. */
	int (*usable)(const struct host *host, struct err *why);
	/* What the instance means on this machine; -ENOENT when it matches nothing. */
	int (*resolve)(const struct host *host, const struct instance *inst,
		       struct knob_settings *ret, struct err *e);
	/*
	 * Current value as a new string.  -ENODATA: it cannot be read back (a command without
	 * "read").  -ENOENT, -ENODEV, -ESRCH: the target is gone, so nothing is left to undo.
	 */
	int (*read)(const struct host *host, const char *target, char **ret, struct err *e);
	/* To undo, @value is what read() gave before, or "" when that was -ENODATA. */
	int (*write)(const struct host *host, const char *target, const char *value, struct err *e);
	/* NULL: nothing but reading back. -ENOENT: none for this target. */
	int (*witness)(const struct host *host, const char *target, struct witness *ret,
		       struct err *e);
	/* Do two texts mean the same value ("0-3" and "0,1,2,3")? NULL: equal strings. */
	bool (*same)(const char *a, const char *b);
	/* The target ends with the run's namespaces: undo after a crash has nothing to do. NULL:
	 * no. */
	bool (*ephemeral)(const struct host *host, const char *target);
	/*
	 * May the instance come to mean more than it does now, as a pattern of thread names may?
	 * @ret_stamp: a number that differs as soon as something may have appeared since; 0 when
	 * that cannot be told.  Asked several times a second during a trial, and resolve() only
	 * when it changed: it must be cheap.  NULL: never.
	 */
	bool (*appears)(const struct host *host, const struct instance *inst, uint64_t *ret_stamp);
	/* Do two targets name one thing, though not in the same words? NULL: equal strings. */
	bool (*same_target)(const char *a, const char *b);
	/* Append @target as people say it: "policy of thread napi/eth0-9 (tid 123)". NULL: as it
	 * is. */
	void (*describe)(const char *target, struct buf *out);
};

/* The knob called @name in the NULL-terminated @knobs; the error suggests a near name. */
int knob_find(const struct knob_ops *const *knobs, const char *name, const struct knob_ops **ret,
	      struct err *e);
bool knob_same(const struct knob_ops *ops, const char *a, const char *b);
bool knob_same_target(const struct knob_ops *ops, const char *a, const char *b);
void knob_describe(const struct knob_ops *ops, const char *target, struct buf *out);
/* Is @now neither @old nor @ours, the value that was set?  Then somebody else has set it. */
bool knob_is_others(const struct knob_ops *ops, const char *now, const char *old, const char *ours);
/* Does this error of read() mean that the target no longer exists? */
bool knob_is_gone(int r);
int knob_usable(const struct host *host, struct err *why);
/*
 * CPUs as a plan says them, checked against those online, as a new string: "all" becomes these.
 * @cpus NULL or "": NULL.  @option: its name, for the message.
 */
int knob_cpus(const struct host *host, const char *option, const char *cpus, char **ret,
	      struct err *e);
/* 0 when the caller has capability @cap (CAP_NET_ADMIN ...), else -EPERM saying so. */
int knob_needs_cap(const struct host *host, unsigned int cap, const char *cap_name,
		   struct err *why);

#endif
