/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_IRQTIME_H
#define PROBE_IRQTIME_H

/*
 * Exact count and time of every interrupt handler, softirq vector, NAPI poll and thread, by BPF
 * programs on the kernel's own tracepoints (raw, BTF-typed: no kprobes, no perf events).
 *
 *	r = irqtime_open(&t, &(struct irqtime_opts){ .hardirqs = true, .softirqs = true }, e);
 *	r = irqtime_read(t, &before, e);
 *	... sleep ...
 *	r = irqtime_read(t, &after, e);
 *	r = irqtime_subtract(&before, &after, &during, e);
 *
 * Time is exclusive: an interrupt that hit a softirq is in its handler's row alone, and what
 * softirqs took is not in the thread that they ran on top of.  NAPI polls are the exception: they
 * are parts of the NET_RX softirq (or of a napi/ thread) and their time is in both.  What the
 * kernel does before a handler's tracepoint and after it (entry code, flow handler,
 * acknowledgement) belongs to what was interrupted.
 *
 * Where several handlers share a line each has a row of its own; an interrupt of that line calls
 * and counts all of them.  All idle tasks have tid 0: there is one row for each CPU's.
 *
 * Each program is loaded only if the kernel's BTF has its tracepoint; irqtime_lacks() says what
 * this kernel has not.  Events under way when it was opened are not counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct irqtime;

enum irqtime_kind {
	IRQTIME_HARDIRQ, /* a handler of a numbered interrupt */
	IRQTIME_VECTOR,	 /* x86 vectors without a number: local timer, IPIs, irq work */
	IRQTIME_SOFTIRQ, /* a softirq vector */
	IRQTIME_NAPI,	 /* polls of a NAPI instance; parts of NET_RX or of a napi/ thread */
	IRQTIME_THREAD,	 /* a thread; tid 0 are the idle tasks */
};
#define IRQTIME_KINDS 5

/* One thing on one CPU, since irqtime_open() or between two tables. */
struct irqtime_row {
	enum irqtime_kind kind;
	unsigned int cpu;
	uint64_t id;	 /* interrupt, vector, softirq vector, NAPI id (0: it has none) or tid */
	char name[32];	 /* handler, "local_timer", "NET_RX", the NAPI's netdev, comm */
	uint64_t count;	 /* handler calls, softirqs, polls; times a thread was switched to */
	uint64_t ns;	 /* exclusive time [ns] */
	uint64_t max_ns; /* longest single one that ended since open [ns] */
	uint64_t extra;	 /* NAPI: packets; softirq with latency: sum of ns from raise to entry */
	uint64_t extra2; /* NAPI: polls that used up their budget; softirq: entries in @extra */
};

/*
 * Rows that counted anything, by kind, id, name, cpu: each at most once.  Threads are by tid and
 * CPU alone, as names change; threads that had a tid one after another are one row.
 */
struct irqtime_table {
	struct irqtime_row *v;
	size_t nr;
	uint64_t at_ns; /* CLOCK_MONOTONIC when it was read */
	uint64_t lost;	/* events in no row: no room for more things, or the kernel hid one */
};

/* What to account; what is not asked for costs nothing. */
struct irqtime_opts {
	bool hardirqs; /* HARDIRQ and VECTOR */
	bool softirqs;
	bool napi;
	bool threads;
	bool latency; /* time from raise to entry of softirqs; implies softirqs */
};

/*
 * Whether accounts can be taken here: built with BPF, privileges, a kernel with BTF.
 * Return: 0, or negative errno with the reason and the remedy in @why.
 */
int irqtime_usable(struct err *why);

/**
 * irqtime_open - load and attach the programs that @opts needs
 * @ret: closed with irqtime_close(), which detaches them
 *
 * Exclusive time of softirqs needs the hard interrupts' programs, that of threads needs both: they
 * are loaded then, too, and their rows appear in the table.  Any number may be open at a time, in
 * any process; each costs its own.
 *
 * Cost: about 0.1 s of CPU time, most of it for the kernel's type information.
 * Return: 0; -EOPNOTSUPP, -EPERM or what the kernel said.
 */
int irqtime_open(struct irqtime **ret, const struct irqtime_opts *opts, struct err *e);

/**
 * irqtime_read - what was counted since irqtime_open()
 * @ret: replaced; irqtime_table_release()
 *
 * May be called at any time by one thread at a time.  What runs at that moment is counted when it
 * ends, but for threads: their time up to now is in.  Count and time of one row may be one event
 * apart.
 *
 * Cost: O(rows), some system calls; nothing on the measured CPUs.
 */
int irqtime_read(struct irqtime *t, struct irqtime_table *ret, struct err *e);

/* What was asked for and this kernel lacks, one line each, NULL-terminated; lives as long as @t. */
const char *const *irqtime_lacks(const struct irqtime *t);

void irqtime_close(struct irqtime *t);
void irqtime_closep(struct irqtime **t);

/**
 * irqtime_subtract - what was counted between two tables of one irqtime
 * @ret: new table, rows that moved; max_ns is @after's: the longest since open; replaced
 *
 * A value that is smaller than before did not move: the time of a thread that runs at the moment of
 * reading is an estimate.  Cost: O(rows).
 */
int irqtime_subtract(const struct irqtime_table *before, const struct irqtime_table *after,
		     struct irqtime_table *ret, struct err *e);

void irqtime_table_release(struct irqtime_table *t);
/* Sort as a table is, and add up rows of the same thing and CPU. */
void irqtime_table_sort(struct irqtime_table *t);

/* "hardirq", "vector", "softirq", "napi", "thread" */
const char *irqtime_kind_name(enum irqtime_kind kind);
/* "NET_RX" as in /proc/softirqs; "?" for a vector that no kernel had when this was written. */
const char *irqtime_softirq_name(unsigned int vector);

#endif
