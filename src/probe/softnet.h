/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_SOFTNET_H
#define PROBE_SOFTNET_H

/*
 * /proc/net/softnet_stat: what the receiving half of the network stack did on each online CPU.
 * Pure: text in, table out.  Numbers are hexadecimal, of 32 bits, and wrap.
 *
 *	column	since
 *	1	always	packets that reached the stack through NAPI or a backlog
 *	2	always	packets dropped because the CPU's backlog was full
 *	3	always	polls that ended with work left: budget or time was used up
 *	4-8	-	0
 *	9	2.6	collisions while sending, 0 since 4.8
 *	10	2.6.35	times the CPU was woken by RPS
 *	11	3.11	packets dropped by the flow limit
 *	12	5.10	packets that wait in the backlog now
 *	13	5.10	the CPU's number; before, rows of offline CPUs are missing without a trace
 *	14, 15	6.4	the two halves of 12
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpuset;
struct err;

enum softnet_column {
	SOFTNET_PROCESSED,
	SOFTNET_DROPPED,
	SOFTNET_SQUEEZED,
	SOFTNET_RPS,
	SOFTNET_FLOW_LIMIT,
	SOFTNET_BACKLOG, /* a level, no counter */
	SOFTNET_NR,
};

struct softnet_row {
	unsigned int cpu; /* the row's place in a table without CPUs */
	uint32_t v[SOFTNET_NR];
};

struct softnet {
	struct softnet_row *rows;
	size_t nr_rows;
	unsigned int nr_columns;
	bool has[SOFTNET_NR]; /* what this kernel writes; the others are 0 in the rows */
	bool has_cpus;
	size_t nr_bad;	/* rows that could not be understood and are left out */
	bool truncated; /* the text ends within a line, which is left out */
};

/**
 * softnet_parse - text of /proc/net/softnet_stat to a table
 * @text: @len bytes; need not end with NUL; borrowed
 *
 * Shape: rows in the order of the text, all as wide as the first.  Cost: O(len).
 * Return: 0; -EBADMSG when the first line is no row of at least 9 numbers; -ENOMEM.
 */
int softnet_parse(const char *text, size_t len, struct softnet *ret, struct err *e);
void softnet_release(struct softnet *s);

/*
 * Give the rows of an older kernel their CPUs: the online ones in their order.  Without effect on a
 * table that has them; false when the numbers of rows and CPUs differ (one went on- or offline
 * between the two readings) or when rows are missing.
 */
bool softnet_name_cpus(struct softnet *s, const struct cpuset *online);
/* The row of @cpu or NULL. */
const struct softnet_row *softnet_row(const struct softnet *s, unsigned int cpu);

#endif
