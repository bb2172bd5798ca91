/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_ACCOUNTING_H
#define PROBE_ACCOUNTING_H

/*
 * Whether the kernel's times in interrupts and softirqs (/proc/stat) are measured or sampled.
 *
 * A kernel with IRQ_TIME_ACCOUNTING (or VIRT_CPU_ACCOUNTING_NATIVE) reads a clock whenever an
 * interrupt begins and ends.  Any other looks, once a tick, at what the tick interrupted: a softirq
 * shows as far as it is hit, an interrupt nearly never, as the tick does not interrupt it; its time
 * counts to whatever ran below.
 */

struct host;
struct procstat;

enum accounting {
	ACCOUNTING_UNKNOWN,
	ACCOUNTING_SAMPLED,
	ACCOUNTING_MEASURED,
};

/**
 * accounting_of_irqs - are irq and softirq times of @now measured?
 * @now: /proc/stat; its counters reach back to the boot
 * @ret_why: what tells so, a static string
 *
 * In this order, since what is compiled in may still be switched off (an unstable clock,
 * tsc=noirqtime): no interrupt time at all after 1000 s of work; the kernel's configuration
 * (/boot/config-RELEASE, /lib/modules/RELEASE/config); its symbols (/proc/kallsyms).
 * Cost: nothing in the first case, reading the files named otherwise; the symbols take some 40 ms.
 */
enum accounting accounting_of_irqs(const struct host *host, const struct procstat *now,
				   const char **ret_why);

#endif
