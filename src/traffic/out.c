// SPDX-License-Identifier: GPL-3.0-or-later
#include "traffic/out.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

/* "" without a wish. */
static void stamp(const char *format, char *ret, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;

	ret[0] = '\0';
	if (!format || !localtime_r(&now, &tm))
		return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the user's own, for strftime() alone */
	if (strftime(ret, size, format, &tm) == 0)
		ret[0] = '\0';
#pragma GCC diagnostic pop
}

void out_line(struct out *o, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	char when[128];
	va_list ap;

	va_start(ap, fmt);
	text = text_vprintf(fmt, ap);
	va_end(ap);
	if (!text)
		return;
	stamp(o->timestamps, when, sizeof(when));
	fprintf(o->f, "%s%s%s%s%s\n", o->session, when, o->title ? o->title : "",
		o->title ? ":  " : "", text);
	if (o->copy)
		buf_printf(o->copy, "%s%s%s%s\n", when, o->title ? o->title : "",
			   o->title ? ":  " : "", text);
}

void out_flush(struct out *o)
{
	fflush(o->f);
}

/* How often @v can be divided by @step; four prefixes exist. */
static size_t fitting(double v, double step)
{
	size_t i = 0;

	while (v >= step && i < 4) {
		v /= step;
		i++;
	}
	return i;
}

const char *out_unit(char ret[32], double bytes, char format)
{
	static const char prefixes[] = "-KMGT";
	bool bits = !isupper((unsigned char)format);
	double v = bits ? bytes * 8 : bytes, step = bits ? 1000 : 1024;
	char want = (char)toupper((unsigned char)format);
	size_t i = 0;

	if (want == 'A')
		i = fitting(v, step);
	else
		i = (size_t)(strchr(prefixes, want) - prefixes);
	for (size_t k = 0; k < i; k++)
		v /= step;
	snprintf(ret, 32, "%4.*f %.*s%s",
		 v < 9.995   ? 2
		 : v < 99.95 ? 1
			     : 0,
		 v, i > 0, prefixes + i, bits ? "bits" : "Bytes");
	return ret;
}
