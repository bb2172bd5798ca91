/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/*
 * Errors.  A fallible function returns int: >= 0 success, negative errno otherwise, and takes a
 * struct err last.  The message is set once where the failure happens (err_set, err_sys), wrapped
 * by callers that know more (err_wrap puts context in front), and printed by main.c alone.
 *
 *	fd = openat(root, path, O_WRONLY | O_CLOEXEC);
 *	if (fd < 0)
 *		return err_sys(e, "open %s", path);
 *	r = kfile_write(fd, value, e);
 *	if (r < 0)
 *		return err_wrap(e, "knob %s = '%s'", name, value);
 *
 * On failure output parameters are untouched and everything taken has been released.
 * A message names the thing, the place, the reason and, where known, the remedy.
 */

#include <stddef.h>

/**
 * struct err - why an operation failed, outermost context first
 * @code: negative errno of the root cause; 0 means "no error"
 * @len:  bytes used in @msg, without the terminating NUL
 * @msg:  "trial 3: variant after: open /proc/irq/24/smp_affinity: Permission denied"
 *
 * Zero-filled is the valid empty state: struct err e = {};
 */
struct err {
	int code;
	size_t len;
	char msg[1024];
};

/* Set message and code; returns @code. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same with the code from errno and its text appended; returns -errno. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Put context in front of the message; returns the code already set. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Out of memory while doing @what; returns -ENOMEM. */
int err_nomem(struct err *e, const char *what);

#endif
