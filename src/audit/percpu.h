/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_PERCPU_H
#define AUDIT_PERCPU_H

/* One file of every CPU that is online: which values, on which CPUs. */

#include <stdbool.h>
#include <stddef.h>

#include "audit/check.h"
#include "base/cpuset.h"

struct percpu_value {
	char *text;
	struct cpuset cpus;
};

struct percpu {
	struct percpu_value *v; /* in the order of their first CPU */
	size_t nr;
};

/*
 * @file below /sys/devices/system/cpu/cpuN.  False with the reason when no CPU has it: -ENODEV
 * ("look_absent") when the CPUs are there, else what kept us from reading.
 */
bool percpu_read(struct look *l, const char *file, struct percpu *ret, struct err *e);
/* "performance", or "performance on CPUs 0-3, powersave on CPUs 4-7". */
void percpu_format(const struct percpu *p, struct buf *out);
void percpu_release(struct percpu *p);

#endif
