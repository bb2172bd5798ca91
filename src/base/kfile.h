/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_KFILE_H
#define BASE_KFILE_H

/*
 * Files of the kernel (procfs, sysfs) and files that behave like them.  Every function takes the
 * descriptor of a root directory, so that tests hand in a fixture tree and namespaces their own
 * sysfs; @path is relative to it and may not climb out ("..") of it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;

/* Whole contents, appended to @out. Cost: one open, reads until end of file. */
int kfile_read(int root_fd, const char *path, struct buf *out, struct err *e);
/* The same without the trailing newlines, as a new string (free()). */
int kfile_read_line(int root_fd, const char *path, char **ret, struct err *e);
int kfile_read_u64(int root_fd, const char *path, uint64_t *ret, struct err *e);
/* One write() of the whole value, as the kernel's files demand; no newline is added. */
int kfile_write(int root_fd, const char *path, const char *value, struct err *e);

#endif
