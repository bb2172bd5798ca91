/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

/*
 * Allocations of our own code that fail on demand; those of libraries do not.  The test's
 * executable is linked with alloc_args (tests/unit/meson.build).
 *
 *	for (size_t n = 1;; n++) {
 *		alloc_fails_at = n;
 *		r = function_under_test();
 *		if (alloc_fails_at)	// fewer than n were made: nothing failed
 *			break;
 *		...
 *	}
 *	alloc_fails_at = 0;
 */

#include <stdbool.h>
#include <stddef.h>

/* Fail the n-th allocation from now on, 0: none; 0 again once it has failed. */
static size_t alloc_fails_at;

static bool alloc_fails(void)
{
	return alloc_fails_at && --alloc_fails_at == 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__real_strndup(const char *s, size_t len);
char *__wrap_strndup(const char *s, size_t len);

void *__wrap_malloc(size_t size)
{
	return alloc_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return alloc_fails() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return alloc_fails() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
	return alloc_fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t len)
{
	return alloc_fails() ? NULL : __real_strndup(s, len);
}

#endif
