// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/accounting.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "probe/procstat.h"

/* In a busy 1000 s even a tick of 100 Hz spends more than one unit in interrupts. */
#define BUSY_ENOUGH 100000

/* Work, and time in interrupts, of all CPUs since the boot [ticks]. */
static uint64_t busy(const struct procstat *s, uint64_t *ret_irq)
{
	uint64_t all = 0;

	*ret_irq = 0;
	for (size_t i = 0; i < s->nr_cpus; i++) {
		const struct procstat_cpu *c = &s->cpus[i];

		all += procstat_sum(c) - c->t[PROCSTAT_IDLE] - c->t[PROCSTAT_IOWAIT] -
		       c->t[PROCSTAT_STEAL];
		*ret_irq += c->t[PROCSTAT_IRQ];
	}
	return all;
}

/* The root folder as this process sees it, below /proc: tests hand in a folder. */
static bool read_config(const struct host *host, const char *before, const char *after,
			struct buf *out)
{
	_cleanup_(freep) char *release = NULL;
	_cleanup_(buf_release) struct buf path = {};
	struct err none = {};

	if (kfile_read_line(host->proc_fd, "sys/kernel/osrelease", &release, &none) < 0 ||
	    strchr(release, '/') || buf_printf(&path, "%s%s%s", before, release, after) < 0)
		return false;
	buf_reset(out);
	return kfile_read(host->proc_fd, buf_str(&path), out, &none) >= 0 && out->len;
}

/* Does a line begin with @text? */
static bool has_line(const struct buf *b, const char *text)
{
	for (const char *p = strstr(buf_str(b), text); p; p = strstr(p + 1, text))
		if (p == b->data || p[-1] == '\n')
			return true;
	return false;
}

static enum accounting from_config(const struct buf *config, const char **ret_why)
{
	if (has_line(config, "CONFIG_IRQ_TIME_ACCOUNTING=y")) {
		*ret_why = "its configuration has IRQ_TIME_ACCOUNTING";
		return ACCOUNTING_MEASURED;
	}
	if (has_line(config, "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y")) {
		*ret_why = "its configuration has VIRT_CPU_ACCOUNTING_NATIVE";
		return ACCOUNTING_MEASURED;
	}
	*ret_why = "its configuration lacks IRQ_TIME_ACCOUNTING";
	return ACCOUNTING_SAMPLED;
}

static enum accounting from_symbols(const struct buf *symbols, const char **ret_why)
{
	const char *text = buf_str(symbols);

	if (strstr(text, " irqtime_account_irq\n") || strstr(text, " vtime_account_hardirq\n")) {
		*ret_why = "its symbols have irqtime_account_irq";
		return ACCOUNTING_MEASURED;
	}
	/* a list without what every kernel has is none */
	if (strstr(text, " account_process_tick\n") || strstr(text, " scheduler_tick\n") ||
	    strstr(text, " sched_tick\n")) {
		*ret_why = "its symbols lack irqtime_account_irq";
		return ACCOUNTING_SAMPLED;
	}
	*ret_why = "neither its configuration nor its symbols can be read";
	return ACCOUNTING_UNKNOWN;
}

enum accounting accounting_of_irqs(const struct host *host, const struct procstat *now,
				   const char **ret_why)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err none = {};
	uint64_t irq;

	if (busy(now, &irq) > BUSY_ENOUGH && !irq) {
		*ret_why = "no time in interrupts since the boot";
		return ACCOUNTING_SAMPLED;
	}
	if (read_config(host, "self/root/boot/config-", "", &text) ||
	    read_config(host, "self/root/lib/modules/", "/config", &text))
		return from_config(&text, ret_why);
	buf_reset(&text);
	kfile_read(host->proc_fd, "kallsyms", &text, &none);
	return from_symbols(&text, ret_why);
}
