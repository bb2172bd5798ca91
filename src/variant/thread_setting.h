/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_THREAD_SETTING_H
#define VARIANT_THREAD_SETTING_H

/*
 * One setting of one thread, for every knob that is about threads.
 *
 * Targets: "PID:STARTTIME:COMM policy", "... nice" and "... cpus".  The start time tells a thread
 * from a later one with its number; the name is for people, since kworkers change theirs.
 *
 * Values:
 *	policy	"fifo:50", "other:0"; as read "other:0:-5", with the nice value, which comes back
 *with the undo; "deadline:RUNTIME:DEADLINE:PERIOD" in ns, as read with flags and nice value nice
 *"-5" cpus	a CPU list
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct host;
struct knob_settings;
struct procthread;
struct witness;

/* Policies that a plan may set, NULL-terminated; the index is that of struct thread_wish. */
extern const char *const thread_policies[];

/* What a plan wants of threads, whichever they are.  Zero-filled: nothing. */
struct thread_wish {
	bool has_policy;
	int policy; /* of thread_policies[] */
	uint64_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
	const char *nice; /* NULL or "": not touched */
	const char *cpus; /* NULL or "": not touched; "all" or a list */
};

/*
 * The wish as settings' values; "" for what is not wished.  The error names what does not fit
 * together, or CPUs that are not online.
 */
struct thread_values {
	char policy[96];
	char nice[8];
	char *cpus;
};
int thread_values_of(const struct host *host, const struct thread_wish *wish,
		     struct thread_values *ret, struct err *e);
void thread_values_release(struct thread_values *v);
/*
 * Append what @v means for thread @t.  A thread that the kernel has bound to its CPU is refused
 * when its CPUs would change.
 */
int thread_add_settings(const struct procthread *t, const struct thread_values *v,
			struct knob_settings *l, struct err *e);

/* As those of struct knob_ops. */
int thread_read(const struct host *host, const char *target, char **ret, struct err *e);
int thread_write(const struct host *host, const char *target, const char *value, struct err *e);
int thread_witness(const struct host *host, const char *target, struct witness *ret, struct err *e);
bool thread_same(const char *a, const char *b);
bool thread_same_target(const char *a, const char *b);
void thread_describe(const char *target, struct buf *out);
/* May threads be changed here? */
int thread_usable(const struct host *host, struct err *why);

#endif
