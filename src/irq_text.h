/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IRQ_TEXT_H
#define IRQ_TEXT_H

/* Tables for a person and documents for a program out of irq_table: pure. */

#include <stdbool.h>

#include "irq_rows.h"

/* Whether the counts of each CPU are shown: irqtop's words. */
enum irq_cpu_stat { IRQ_CPU_AUTO, IRQ_CPU_NEVER, IRQ_CPU_ALWAYS };

struct irq_look {
	unsigned int width;  /* columns; lines are cut there. 0: endless */
	unsigned int height; /* lines at most; 0: all */
	bool colour;
	bool softirqs; /* instead of interrupts */
	bool napis;    /* beside them */
	enum irq_cpu_stat cpu_stat;
	enum irq_sort sort; /* named in the heading */
};

/* Returns 0 or -ENOMEM. */
int irq_text(const struct irq_table *t, const struct irq_look *look, struct buf *out);
/* One JSON document without a newline at its end: docs/schema/irq-1.json; -ENOMEM. */
int irq_json(const struct irq_table *t, bool pretty, struct buf *out);

#endif
