/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_SCHEDSTAT_H
#define PROBE_SCHEDSTAT_H

/*
 * What the scheduler says of CPUs and threads: /proc/schedstat (CONFIG_SCHEDSTATS) and
 * /proc/PID/task/TID/schedstat (CONFIG_SCHED_INFO).  Pure: text in, numbers out.
 *
 * Versions 15 (2.6.30), 16 (6.10) and 17 (6.14) of /proc/schedstat differ in the lines of domains
 * only, which are not read.  Times are ns and count always; the other counters count only while
 * kernel.sched_schedstats is 1 (since 4.6).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Columns of a CPU's line. */
enum schedstat_column {
	SCHEDSTAT_YIELDS,
	SCHEDSTAT_LEGACY, /* 0 */
	SCHEDSTAT_SCHEDULED,
	SCHEDSTAT_IDLED, /* ... and found nothing to run */
	SCHEDSTAT_WAKEUPS,
	SCHEDSTAT_WAKEUPS_LOCAL, /* ... by the CPU itself */
	SCHEDSTAT_RUN_NS,
	SCHEDSTAT_WAIT_NS, /* runnable threads waited; added when the wait ends */
	SCHEDSTAT_SLICES,  /* times that a thread got the CPU */
	SCHEDSTAT_NR,
};

struct schedstat_cpu {
	unsigned int cpu;
	uint64_t v[SCHEDSTAT_NR];
};

struct schedstat {
	unsigned int version;
	struct schedstat_cpu *cpus; /* ascending; online ones */
	size_t nr_cpus;
	bool truncated; /* the text ends within a line, which is left out */
};

/**
 * schedstat_parse - text of /proc/schedstat to a table
 * @text: @len bytes; need not end with NUL; borrowed
 *
 * Cost: O(len).  Versions above 17 are taken as long as their lines of CPUs have nine numbers.
 * Return: 0; -ENOTSUP before version 15; -EBADMSG when the text has not the form; -ENOMEM.
 */
int schedstat_parse(const char *text, size_t len, struct schedstat *ret, struct err *e);
void schedstat_release(struct schedstat *s);
/* The row of @cpu or NULL. */
const struct schedstat_cpu *schedstat_cpu(const struct schedstat *s, unsigned int cpu);

struct schedstat_thread {
	uint64_t run_ns, wait_ns, slices;
};

/* "1731707 4156190 3\n" of one thread; false when it is anything else. */
bool schedstat_thread_parse(const char *text, size_t len, struct schedstat_thread *ret);

#endif
