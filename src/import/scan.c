// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <string.h>

#include "import/import_ops.h"

void scan_space(const char **p)
{
	while (**p == ' ')
		(*p)++;
}

bool scan_text(const char **p, const char *text)
{
	const char *s = *p;

	while (*text)
		if (*s++ != *text++)
			return false;
	*p = s;
	return true;
}

const char *scan_find(const char *s, const char *needle)
{
	size_t n = strlen(needle);

	for (s = strchr(s, *needle); s; s = strchr(s + 1, *needle))
		if (strncmp(s, needle, n) == 0)
			return s;
	return NULL;
}

bool scan_number(const char **p, struct scan_number *ret)
{
	static const double tens[] = { 1,   1e1, 1e2,  1e3,  1e4,  1e5,	 1e6,  1e7,
				       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
	const char *s = *p;
	uint64_t mantissa = 0;
	unsigned int digits = 0, decimals = 0;
	bool point = false;

	for (; (*s >= '0' && *s <= '9') || (*s == '.' && digits && !point); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		if (++digits > 15)
			return false;
		mantissa = mantissa * 10 + (uint64_t)(*s - '0');
		decimals += point;
	}
	if (digits == 0 || s[-1] == '.')
		return false;
	*ret = (struct scan_number){ (double)mantissa / tens[decimals], 0.5 / tens[decimals],
				     decimals };
	*p = s;
	return true;
}

bool scan_int(const char **p, unsigned int digits, int64_t *ret)
{
	const char *s = *p;
	bool minus = *s == '-';
	int64_t v = 0;
	unsigned int n = 0;

	for (s += minus; isdigit((unsigned char)*s); s++, n++) {
		if (n == digits)
			return false;
		v = v * 10 + (*s - '0');
	}
	if (n == 0)
		return false;
	*ret = minus ? -v : v;
	*p = s;
	return true;
}
