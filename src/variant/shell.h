/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_SHELL_H
#define VARIANT_SHELL_H

#include <stdint.h>

struct buf;
struct err;

/*
 * Run @command with /bin/sh -c and wait for it, at most @limit_ns; then it and all that it has
 * started are killed, whatever group or session they are in.  The same happens when the calling
 * process dies, even by SIGKILL.  What a command that has ended left running goes on.  Standard
 * input is empty; no descriptors of the caller are inherited.
 * @ret_output: what it wrote to standard output, the newlines at the end cut off (may be NULL).
 * Return: 0; -EIO when it failed, with how it ended and the end of what it wrote; -ETIMEDOUT.
 */
int shell_run(const char *command, uint64_t limit_ns, char **ret_output, struct err *e);
/* The same with one more variable, "NAME=VALUE", in its environment. */
int shell_run_env(const char *command, const char *extra, uint64_t limit_ns, char **ret_output,
		  struct err *e);
/* Append @word so that the shell takes it as one word and as it is. */
int shell_quote(struct buf *out, const char *word);

#endif
