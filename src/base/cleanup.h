/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

/*
 * Ownership of locals.  An owning local carries _cleanup_(function) and an initial value, so that
 * one function can be judged for leaks without reading its callees.  Ownership leaves a local only
 * through take_ptr() or take_fd(), which leave the empty value behind.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For a variable that points to anything from malloc(). */
static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void close_fdp(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclose_filep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void closedir_dirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define _cleanup_(f) __attribute__((cleanup(f)))
#define take_ptr(p)                     \
	({                              \
		__typeof__(p) p_ = (p); \
		(p) = NULL;             \
		p_;                     \
	})
#define take_fd(fd)             \
	({                      \
		int fd_ = (fd); \
		(fd) = -1;      \
		fd_;            \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
