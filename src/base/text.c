// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct unit {
	const char *name;
	double factor;
};

int text_u64(const char *s, uint64_t *ret)
{
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*ret = v;
	return 0;
}

bool text_next_u64(const char **p, const char *end, uint64_t *ret)
{
	uint64_t v = 0;
	const char *at = *p;

	while (at < end && *at == ' ')
		at++;
	if (at == end || !isdigit((unsigned char)*at))
		return false;
	for (; at < end && isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*at - '0'), &v))
			return false;
	if (at < end && *at != ' ')
		return false;
	*ret = v;
	*p = at;
	return true;
}

int text_i64(const char *s, int64_t *ret)
{
	long long v;
	char *end;

	if (!isdigit((unsigned char)s[*s == '-']))
		return -EINVAL;
	errno = 0;
	v = strtoll(s, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*ret = v;
	return 0;
}

/* A decimal number in front of @s: no hexadecimal, no infinity, no NaN. */
static int number(const char *s, double *ret, const char **end)
{
	const char *digits = s + (*s == '-');
	double v;
	char *stop;

	if (!isdigit((unsigned char)*digits) || (digits[0] == '0' && (digits[1] | 0x20) == 'x'))
		return -EINVAL;
	errno = 0;
	v = strtod(s, &stop);
	if (errno == ERANGE || !isfinite(v))
		return -ERANGE;
	*ret = v;
	*end = stop;
	return 0;
}

int text_double(const char *s, double *ret)
{
	const char *end;
	double v;
	int r = number(s, &v, &end);

	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* Number and unit to an unsigned integer; a bare number takes the unit named "". */
static int scaled(const char *s, const struct unit *units, uint64_t *ret)
{
	const char *end;
	double v;
	int r = number(s, &v, &end);

	if (r < 0)
		return r;
	if (v < 0)
		return -EINVAL;
	while (*end == ' ')
		end++;
	for (; units->name; units++) {
		if (strcmp(units->name, end) != 0)
			continue;
		v *= units->factor;
		if (v >= 18446744073709549568.0)
			return -ERANGE;
		*ret = (uint64_t)llround(v);
		return 0;
	}
	return -EINVAL;
}

int text_ns(const char *s, uint64_t *ret)
{
	static const struct unit units[] = { { "ns", 1 },     { "us", 1e3 },   { "ms", 1e6 },
					     { "s", 1e9 },    { "min", 60e9 }, { "m", 60e9 },
					     { "h", 3600e9 }, { NULL, 0 } };

	if (strcmp(s, "0") == 0) {
		*ret = 0;
		return 0;
	}
	return scaled(s, units, ret);
}

int text_bytes(const char *s, uint64_t *ret)
{
	static const struct unit units[] = { { "", 1 },
					     { "B", 1 },
					     { "K", 1024 },
					     { "k", 1024 },
					     { "M", 1048576 },
					     { "m", 1048576 },
					     { "G", 1073741824 },
					     { "g", 1073741824 },
					     { "T", 1099511627776 },
					     { "t", 1099511627776 },
					     { NULL, 0 } };

	return scaled(s, units, ret);
}

int text_bps(const char *s, uint64_t *ret)
{
	static const struct unit units[] = { { "", 1 },	   { "K", 1e3 },  { "k", 1e3 },
					     { "M", 1e6 }, { "m", 1e6 },  { "G", 1e9 },
					     { "g", 1e9 }, { "T", 1e12 }, { "t", 1e12 },
					     { NULL, 0 } };

	return scaled(s, units, ret);
}

int text_ratio(const char *s, double *ret)
{
	const char *end;
	double v;
	int r = number(s, &v, &end);

	if (r < 0)
		return r;
	if (strcmp(end, "%") == 0)
		v /= 100;
	else if (*end)
		return -EINVAL;
	*ret = v;
	return 0;
}

int text_bool(const char *s, bool *ret)
{
	static const char *const yes[] = { "on", "yes", "true", "1", NULL };
	static const char *const no[] = { "off", "no", "false", "0", NULL };

	for (size_t i = 0; yes[i]; i++) {
		if (strcmp(s, yes[i]) == 0 || strcmp(s, no[i]) == 0) {
			*ret = strcmp(s, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

/* Length of the valid UTF-8 sequence at @s (Unicode 15, table 3-7), 0 when there is none. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	size_t n;
	unsigned char lo = 0x80, hi = 0xbf;

	if (left == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		n = 2;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		n = 3;
		lo = s[0] == 0xe0 ? 0xa0 : 0x80;
		hi = s[0] == 0xed ? 0x9f : 0xbf;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		n = 4;
		lo = s[0] == 0xf0 ? 0x90 : 0x80;
		hi = s[0] == 0xf4 ? 0x8f : 0xbf;
	} else {
		return 0;
	}
	if (left < n || s[1] < lo || s[1] > hi)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

int text_json(struct buf *out, const char *s)
{
	size_t left = strlen(s);

	buf_putc(out, '"');
	while (left) {
		const unsigned char *u = (const unsigned char *)s;
		size_t n = utf8_len(u, left);

		if (n == 0)
			buf_printf(out, "\\u%04x", 0xdc00U + *u);
		else if (*u == '"' || *u == '\\')
			buf_printf(out, "\\%c", *u);
		else if (*u < 0x20 || *u == 0x7f)
			buf_printf(out, "\\u%04x", *u);
		else
			buf_add(out, s, n);
		n = n ? n : 1;
		s += n;
		left -= n;
	}
	buf_putc(out, '"');
	return out->failed ? -ENOMEM : 0;
}

int text_printable(struct buf *out, const char *s, size_t len)
{
	while (len) {
		const unsigned char *u = (const unsigned char *)s;
		size_t n = utf8_len(u, len);
		bool c1 = n == 2 && u[0] == 0xc2 && u[1] < 0xa0; /* C1 controls drive terminals */

		if (n == 0 || *u < 0x20 || *u == 0x7f || c1) {
			buf_printf(out, "\\x%02x", *u);
			n = 1;
		} else {
			buf_add(out, s, n);
		}
		s += n;
		len -= n;
	}
	return out->failed ? -ENOMEM : 0;
}

int text_si(struct buf *out, double v, const char *unit)
{
	static const struct unit prefixes[] = { { "T", 1e12 }, { "G", 1e9 },  { "M", 1e6 },
						{ "k", 1e3 },  { "", 1 },     { "m", 1e-3 },
						{ "u", 1e-6 }, { "n", 1e-9 }, { NULL, 0 } };
	double a = fabs(v);
	const struct unit *p = prefixes;

	if (a == 0 || !isfinite(v))
		return buf_printf(out, "%g %s", v, unit);
	/* 999.5 prints as 1000 with three digits: it belongs to the next prefix */
	while (p[1].name && a < 0.9995 * p->factor)
		p++;
	a /= p->factor;
	return buf_printf(out, "%.*f %s%s",
			  a < 9.995   ? 2
			  : a < 99.95 ? 1
				      : 0,
			  v / p->factor, p->name, unit);
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein distance (Wagner & Fischer 1974); strings over 63 bytes count as far. */
static size_t distance(const char *a, const char *b)
{
	size_t row[64];
	size_t nb = strlen(b);

	if (nb >= ARRAY_SIZE(row) || strlen(a) >= ARRAY_SIZE(row))
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t up = row[j];

			row[j] = min3(up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = up;
		}
	}
	return row[nb];
}

const char *text_nearest(const char *s, const char *const *words)
{
	const char *best = NULL;
	size_t limit = strlen(s) / 3 + 1;

	for (; *words; words++) {
		size_t d = distance(s, *words);

		if (d <= limit) {
			limit = d ? d - 1 : 0;
			best = *words;
			if (d == 0)
				break;
		}
	}
	return best;
}

char *text_vprintf(const char *fmt, va_list ap)
{
	char *text = NULL;

	/* what is in @text after a failure is undefined */
	return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}
