/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_SHELL_H
#define VARIANT_SHELL_H

#include <stdint.h>

struct err;

/*
 * Run @command with /bin/sh -c and wait for it, at most @limit_ns; then it and its process group
 * are killed.  It dies with the calling thread.  Standard input is empty.
 * @ret_output: what it wrote to standard output, the newlines at the end cut off (may be NULL).
 * Return: 0; -EIO when it failed, with how it ended and the end of what it wrote; -ETIMEDOUT.
 */
int shell_run(const char *command, uint64_t limit_ns, char **ret_output, struct err *e);

#endif
