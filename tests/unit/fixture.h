/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <fcntl.h>
#include <unistd.h>

#include "base/kfile.h"

/* The contents of @path (from the top of the repository) into @out. Not inlined: struct err is
 * large. */
__attribute__((noinline, unused)) static void fixture_read(const char *path, struct buf *out)
{
	_cleanup_(close_fdp) int root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e = {};

	assert_true(root >= 0);
	if (kfile_read(root, path, out, &e) < 0)
		fail_msg("%s", e.msg);
}

#endif
