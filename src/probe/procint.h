/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_PROCINT_H
#define PROBE_PROCINT_H

/*
 * /proc/interrupts and /proc/softirqs: a header with the online CPUs (their numbers may have gaps),
 * then rows of one counter a CPU.  Pure: text in, table out; and the difference of two tables.
 *
 * Layouts differ by architecture: numbered rows end with chip, hardware number, trigger and the
 * handlers' names; x86's LOC and RES, arm's IPI0 and riscv's IPI0 end with words; ERR, MIS and Err
 * have one counter for the whole machine; softirqs end after the counters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct procint_row {
	char *id;    /* "24", "LOC", "NET_RX" */
	char *name;  /* handlers ("eth0-rx-0") or words ("Local timer interrupts"); "" for none */
	bool global; /* one counter for the machine, in count[0] */
	uint64_t *count; /* one a CPU, in the order of the table's cpus */
};

struct procint {
	unsigned int *cpus;
	size_t nr_cpus;
	struct procint_row *rows;
	size_t nr_rows;
	size_t nr_bad;	/* rows that could not be understood and are left out */
	bool truncated; /* the text ends within a line, which is left out */
};

/**
 * procint_parse - text of /proc/interrupts or /proc/softirqs to a table
 * @text: @len bytes; need not end with NUL; borrowed
 *
 * Shape: rows in the order of the text.  Cost: O(len).
 * Return: 0; -EBADMSG when the first line names no CPUs; -ENOMEM.
 */
int procint_parse(const char *text, size_t len, struct procint *ret, struct err *e);
void procint_release(struct procint *p);

/*
 * What happened to the counters of one row between two tables.  A counter of the kernel has 32
 * bits here and wraps; one that restarts (its interrupt was freed and requested again) falls, too.
 */
enum procint_change {
	PROCINT_SAME = 0,
	PROCINT_WRAPPED = 1 << 0,  /* passed 2^32: the difference is exact */
	PROCINT_RESET = 1 << 1,	   /* began again at 0: the difference is a lower bound */
	PROCINT_APPEARED = 1 << 2, /* not in the first table: counted from 0 */
};

struct procint_delta {
	const struct procint_row *row; /* of the second table */
	uint64_t *count; /* one a CPU of the delta; [0] alone when the row is global */
	uint64_t total;
	unsigned int changes; /* enum procint_change, or'ed */
};

struct procint_diff {
	unsigned int *cpus; /* in both tables */
	size_t nr_cpus;
	struct procint_delta *rows; /* every row of the second table */
	size_t nr_rows;
	const struct procint_row **vanished; /* rows of the first table alone */
	size_t nr_vanished;
	size_t nr_cpus_changed; /* CPUs in one table only: left out */
};

/* @before and @after must outlive @ret, which points into them. */
int procint_subtract(const struct procint *before, const struct procint *after,
		     struct procint_diff *ret, struct err *e);
void procint_diff_release(struct procint_diff *d);

#endif
