/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_MACHINE_H
#define AUDIT_MACHINE_H

/* The audit of the machine itself: opens what audit.h takes as given. */

#include "audit/audit.h"

/*
 * /proc, /sys and /dev where they are; roots that are missing are -1 (a chroot has often no /sys,
 * and that is a finding, not an error).  host_release().
 */
void machine_open(struct host *ret);

/* The netdev of the default route (@proc_fd net/route), "" when there is none. */
void machine_default_dev(int proc_fd, char ret[static 16]);

/* audit_run() and audit_facts() of @scope, with root_fd, dut and far filled in from its host. */
int machine_audit(const struct audit_scope *scope, struct audit *ret, struct err *e);
int machine_facts(const struct audit_scope *scope, struct audit *ret, struct err *e);

#endif
