/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TEST_H
#define TEST_H

/* What every unit test includes first: cmocka needs these four in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#define assert_contains(haystack, needle)                                                 \
	do {                                                                              \
		if (!strstr((haystack), (needle)))                                        \
			fail_msg("\"%s\" does not contain \"%s\"", (haystack), (needle)); \
	} while (0)

/* @a within @tol of @b, absolutely. */
#define assert_near(a, b, tol)                                                   \
	do {                                                                     \
		double a_ = (a), b_ = (b), t_ = (tol);                           \
		if (!(fabs(a_ - b_) <= t_))                                      \
			fail_msg("%.17g is not within %g of %.17g", a_, t_, b_); \
	} while (0)

#endif
