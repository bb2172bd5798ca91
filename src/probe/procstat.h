/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_PROCSTAT_H
#define PROBE_PROCSTAT_H

/*
 * /proc/stat: where each online CPU's time went, in ticks of USER_HZ (1/100 s), and counters of the
 * whole machine.  Pure: text in, table out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Columns of a CPU's row in their order (proc(5)), with the kernel that brought them. */
enum procstat_column {
	PROCSTAT_USER, /* with the time of guests */
	PROCSTAT_NICE, /* with that of guests at a nice value */
	PROCSTAT_SYSTEM,
	PROCSTAT_IDLE,
	PROCSTAT_IOWAIT,     /* 2.5.41 */
	PROCSTAT_IRQ,	     /* 2.6.0 */
	PROCSTAT_SOFTIRQ,    /* 2.6.0 */
	PROCSTAT_STEAL,	     /* 2.6.11 */
	PROCSTAT_GUEST,	     /* 2.6.24; a part of user */
	PROCSTAT_GUEST_NICE, /* 2.6.33; a part of nice */
	PROCSTAT_NR,
};

struct procstat_cpu {
	unsigned int cpu;
	uint64_t t[PROCSTAT_NR]; /* 0 where the kernel has no such column */
};

/* A counter or level of the machine; old kernels lack some. */
struct procstat_value {
	bool known;
	uint64_t v;
};

struct procstat {
	struct procstat_cpu *cpus; /* ascending */
	size_t nr_cpus;
	unsigned int nr_columns; /* of the first row; at most PROCSTAT_NR */
	struct procstat_value ctxt, intr, softirq, processes, running, blocked;
	bool truncated; /* the text ends within a line, which is left out */
};

/**
 * procstat_parse - text of /proc/stat to a table
 * @text: @len bytes; need not end with NUL; borrowed
 *
 * Unit: ticks.  Shape: the rows cpu0, cpu1 ...; their sum "cpu" is left out, since it steps when
 * CPUs come and go.  Cost: O(len).
 * Return: 0; -EBADMSG when a CPU's row is none, or there is none; -ENOMEM.
 */
int procstat_parse(const char *text, size_t len, struct procstat *ret, struct err *e);
void procstat_release(struct procstat *s);
/* The row of @cpu or NULL. */
const struct procstat_cpu *procstat_cpu(const struct procstat *s, unsigned int cpu);

/*
 * Ticks between two rows of one CPU, never negative: idle and iowait are known to step back a
 * little, and all may after a CPU was offline.
 */
struct procstat_cpu procstat_subtract(const struct procstat_cpu *before,
				      const struct procstat_cpu *after);
/* All of a difference: guest time is in user and nice already. */
uint64_t procstat_sum(const struct procstat_cpu *d);

#endif
