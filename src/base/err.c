// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 0))) static void store(struct err *e, const char *fmt, va_list ap)
{
	int n = vsnprintf(e->msg, sizeof(e->msg), fmt, ap);

	if (n < 0)
		n = 0;
	e->len = (size_t)n < sizeof(e->msg) ? (size_t)n : sizeof(e->msg) - 1;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	e->code = code;
	va_start(ap, fmt);
	store(e, fmt, ap);
	va_end(ap);
	return code;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	e->code = saved ? -saved : -EIO;
	va_start(ap, fmt);
	store(e, fmt, ap);
	va_end(ap);
	errno = saved;
	e->len += (size_t)snprintf(e->msg + e->len, sizeof(e->msg) - e->len, ": %m");
	if (e->len >= sizeof(e->msg))
		e->len = sizeof(e->msg) - 1;
	return e->code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char head[sizeof(e->msg)];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n + 2 >= sizeof(head))
		return e->code;
	if (e->len + (size_t)n + 2 >= sizeof(e->msg))
		e->len = sizeof(e->msg) - (size_t)n - 3;
	memmove(e->msg + n + 2, e->msg, e->len);
	memcpy(e->msg, head, (size_t)n);
	memcpy(e->msg + n, ": ", 2);
	e->len += (size_t)n + 2;
	e->msg[e->len] = '\0';
	return e->code;
}

int err_nomem(struct err *e, const char *what)
{
	return err_set(e, -ENOMEM, "%s: out of memory", what);
}
