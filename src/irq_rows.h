/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IRQ_ROWS_H
#define IRQ_ROWS_H

/*
 * What happened between two frames, as rows: pure.  Rows point into the second frame, which must
 * outlive them.
 */

#include "base/cpuset.h"
#include "irq_frame.h"

enum irq_sort { IRQ_SORT_DELTA, IRQ_SORT_TOTAL, IRQ_SORT_IRQ, IRQ_SORT_NAME };

struct irq_choice {
	const struct cpuset *cpus; /* NULL: all */
	enum irq_sort sort;
	uint64_t threshold; /* rows with a total above it alone; 0: all */
};

/* One row of /proc/interrupts or /proc/softirqs. */
struct irq_row {
	const char *id, *name;
	bool global; /* one counter for the machine: @cpu_delta is NULL */
	uint64_t total, delta;
	uint64_t *cpu_delta;		/* in the order of the table's cpus */
	unsigned int changes;		/* enum procint_change */
	size_t busiest;			/* index of the CPU with the most of @delta */
	bool has_time;			/* @ns holds something */
	uint64_t ns, max_ns;		/* in its handlers; longest one since the accounts began */
	const struct irqmap_line *line; /* NULL: no numbered interrupt, or it has just come */
};

struct irq_napi_row {
	const struct irqmap_napi *napi; /* NULL: seen by the accounts alone */
	uint32_t id;
	const char *netdev;
	bool has_time;
	uint64_t polls, packets, exhausted, ns;
};

struct irq_rows {
	struct irq_row *v;
	size_t nr;
	uint64_t delta; /* of all rows that count interrupts, softirqs */
};

struct irq_table {
	double seconds;
	unsigned int *cpus;
	size_t nr_cpus;
	struct irq_rows interrupts, softirqs;
	struct irq_napi_row *napis;
	size_t nr_napis;
	bool has_times;
	uint64_t lost;		/* events that the accounts had no room for */
	size_t nr_cpus_changed; /* CPUs that came or went and are left out */
	size_t nr_vanished;	/* rows of the first frame alone */
	const struct irq_frame *before, *after;
};

/* -ENODATA when none of the chosen CPUs is online; -ENOMEM. */
int irq_table_make(const struct irq_frame *before, const struct irq_frame *after,
		   const struct irq_choice *choice, struct irq_table *ret, struct err *e);
void irq_table_release(struct irq_table *t);

/*
 * Share of one CPU that thread @t took between the frames of @table, 0 and up; negative when it
 * cannot be known (it has just come; the kernel does not count run time).
 */
double irq_thread_share(const struct irq_table *table, const struct irqmap_thread *t);

#endif
