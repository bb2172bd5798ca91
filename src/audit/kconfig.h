/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_KCONFIG_H
#define AUDIT_KCONFIG_H

/* The configuration the running kernel was built with, from wherever this machine keeps it. */

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct kconfig {
	bool tried, there;
	struct err why;	  /* when it is not there */
	const char *from; /* "/proc/config.gz" */
	struct buf text;
};

/*
 * From /proc/config.gz, else /boot/config-RELEASE, else /lib/modules/RELEASE/config (or build/
 * .config there).  Reads once. -ENOENT: none of them can be read.
 */
int kconfig_read(struct kconfig *c, int proc_fd, int root_fd, struct err *e);
/* Value of CONFIG_@name into @ret, at most @size; false when it is not set. */
bool kconfig_value(const struct kconfig *c, const char *name, char *ret, size_t size);
void kconfig_release(struct kconfig *c);

#endif
