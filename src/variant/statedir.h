/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_STATEDIR_H
#define VARIANT_STATEDIR_H

#include <stdbool.h>

struct err;

/*
 * Open the directory of the journal and the lock; @create makes it, and those above it, with mode
 * 0700.  Whoever can write the journal makes root write anything: a directory that belongs to
 * another user, or that others can write to, is refused with -EPERM.
 * Return: the descriptor.
 */
int statedir_open(const char *dir, bool create, struct err *e);

#endif
