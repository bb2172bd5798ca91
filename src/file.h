/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FILE_H
#define FILE_H

/* Whole files of the user, as commands read and write them. */

#include <stddef.h>

struct buf;
struct err;

/* Append @path ("-": standard input) to @out; refused above @max bytes. */
int file_read(const char *path, size_t max, struct buf *out, struct err *e);
/* Could file_write() create @path ("": a file in the current folder)? */
int file_can_write(const char *path, struct err *e);
/* Write @path by way of a temporary file beside it: whole or not at all. */
int file_write(const char *path, const struct buf *data, struct err *e);

#endif
