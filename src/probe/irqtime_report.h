/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_IRQTIME_REPORT_H
#define PROBE_IRQTIME_REPORT_H

/* Tables of the BPF accounts to the records of the probe "irqtime".  Pure. */

#include <stddef.h>
#include <stdint.h>

struct emit;
struct err;
struct irqtime_table;

/* What a CPU had done at a reading, since open. */
struct irqtime_cpu_sums {
	uint64_t hard_ns, soft_ns, net_rx_ns, packets;
};

/* Readings one after another; sized at open, what comes when it is full is counted in @dropped. */
struct irqtime_series {
	struct irqtime_cpu_sums *v; /* nr readings of nr_cpus each */
	uint64_t *at_ns;
	size_t nr, size;
	unsigned int nr_cpus; /* 0 to the highest number */
	size_t dropped;
};

int irqtime_series_init(struct irqtime_series *s, unsigned int nr_cpus, size_t size, struct err *e);
void irqtime_series_add(struct irqtime_series *s, const struct irqtime_table *t);
void irqtime_series_release(struct irqtime_series *s);

struct irqtime_window {
	uint64_t begin_ns;	  /* CLOCK_MONOTONIC; times of records are relative to it */
	uint64_t length_ns;	  /* between the tables that were subtracted */
	const unsigned int *cpus; /* online */
	size_t nr_cpus;
};

/* All records of a window; @during is what irqtime_subtract() made of its edges. */
void irqtime_report(struct emit *m, const struct irqtime_window *w,
		    const struct irqtime_table *during, const struct irqtime_series *series);

#endif
