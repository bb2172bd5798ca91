/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IRQ_FRAME_H
#define IRQ_FRAME_H

/* The machine's interrupts at one moment: counters, who is behind them, time spent in them. */

#include "probe/irqmap.h"
#include "probe/irqtime.h"
#include "probe/procint.h"

struct irq_frame {
	uint64_t at_ns; /* CLOCK_MONOTONIC, just before /proc/interrupts was read */
	uint64_t wall_ns;
	struct procint interrupts, softirqs;
	struct irqmap map;
	struct irqtime_table times;
	bool has_times;
};

/*
 * Read @ret (zero-filled) anew.  @times may be NULL.  A kernel without napi-get is a line in
 * @ret->map.lacks, as is all else that could not be read; without /proc/interrupts it fails.
 */
int irq_frame_read(const struct host *host, struct irqtime *times, struct irq_frame *ret,
		   struct err *e);
void irq_frame_release(struct irq_frame *f);

#endif
