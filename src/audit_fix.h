/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_FIX_H
#define AUDIT_FIX_H

struct err;

/*
 * Set what the audit finds and a knob mends, run @argv (NULL-terminated), set it back.  What is
 * set and what is not is said on standard error.  Returns the command's exit code, 128 + N when
 * signal N ended it; EXIT_CANNOT, EXIT_NOT_RESTORED, or negative errno.
 */
int audit_fix(char **argv, const char *dev, struct err *e);

#endif
