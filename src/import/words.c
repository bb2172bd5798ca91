// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/words.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

int row_joined(struct import_feed *f, const struct import_line *l, const struct import_line *next,
	       bool ends_early, int (*row)(struct import_feed *f, const struct import_line *l))
{
	_cleanup_(buf_release) struct buf joined = {};
	const struct import_line rest = line_bare(next, true);
	struct import_line both = *l;
	int r = ends_early && rest.len ? -EBADMSG : row(f, l);

	if (r != -EBADMSG || !rest.len)
		return r;
	if (buf_printf(&joined, "%s %s", l->s, rest.s) < 0)
		return -ENOMEM;
	both.s = buf_str(&joined);
	both.len = joined.len;
	r = row(f, &both);
	if (r == -EBADMSG)
		return row(f, l); /* with its own reason */
	return r < 0 ? r : 1;
}

/* "JD> " */
static bool skip_initials(const char **p)
{
	size_t n = 0;

	while (n < 4 && isupper((unsigned char)(*p)[n]))
		n++;
	if (n == 0 || (*p)[n] != '>' || (*p)[n + 1] != ' ')
		return false;
	*p += n + 2;
	return true;
}

/* "Nov 30 22:17:01 ", "2026-11-30 22:17:01 ", "22:17:01 ", with a fraction or not */
static bool skip_stamp(const char **p)
{
	static const char digits[] = "0123456789";
	const char *s = *p;

	if (isupper((unsigned char)s[0]) && islower((unsigned char)s[1]) &&
	    islower((unsigned char)s[2]) && s[3] == ' ') {
		s += 4;
		s += strspn(s, digits);
		s += *s == ' ';
	} else if (strspn(s, digits) == 4 && s[4] == '-' && s[7] == '-') {
		s += 10;
		s += *s == ' ' || *s == 'T';
	}
	for (int i = 0; i < 3; i++) {
		if (strspn(s, digits) != 2 || (i < 2 && s[2] != ':'))
			return false;
		s += i < 2 ? 3 : 2;
	}
	s += *s == '.' ? 1 + strspn(s + 1, digits) : 0;
	if (*s != ' ')
		return false;
	*p = s + 1;
	return true;
}

/* "[STDOUT] ", "DEBUG:root:" */
static bool skip_logger(const char **p)
{
	static const char *const levels[] = { "DEBUG:", "INFO:", "WARNING:", "ERROR:" };
	const char *s = *p;
	size_t n = 1;

	while (*s == '[' && isupper((unsigned char)s[n]))
		n++;
	if (n > 2 && s[n] == ']' && s[n + 1] == ' ') {
		*p += n + 2;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (!scan_text(&s, levels[i]))
			continue;
		n = strcspn(s, ": ");
		if (s[n] != ':')
			return false;
		*p = s + n + 1;
		return true;
	}
	return false;
}

struct import_line line_bare(const struct import_line *l, bool stamps)
{
	struct import_line ret = *l;
	const char *p = l->s;

	while (scan_text(&p, "| ") || skip_initials(&p) || skip_logger(&p) ||
	       (stamps && skip_stamp(&p)))
		;
	ret.len -= (size_t)(p - l->s);
	ret.s = p;
	return ret;
}

bool word_next(const char **p, struct word *ret)
{
	scan_space(p);
	if (!**p)
		return false;
	*ret = (struct word){ *p, strcspn(*p, " ") };
	*p += ret->len;
	return true;
}

bool word_is(struct word w, const char *text)
{
	return strlen(text) == w.len && memcmp(w.s, text, w.len) == 0;
}

struct word word_last(const char *line)
{
	struct word w = { line, 0 };

	while (word_next(&line, &w))
		;
	return w;
}

size_t word_count(const char *line)
{
	struct word w;
	size_t n = 0;

	while (word_next(&line, &w))
		n++;
	return n;
}

bool word_number(struct word w, const char *suffix, struct scan_number *ret)
{
	const char *p = w.s;
	size_t n = strlen(suffix);

	return scan_number(&p, ret) && (size_t)(p - w.s) + n == w.len && memcmp(p, suffix, n) == 0;
}

bool word_whole(struct word w, uint64_t *ret)
{
	const char *p = w.s;
	int64_t v;

	if (!isdigit((unsigned char)*p) || !scan_int(&p, 18, &v) || p != w.s + w.len)
		return false;
	*ret = (uint64_t)v;
	return true;
}

bool word_all_numbers(const char *line, size_t *ret_nr)
{
	struct scan_number v;
	struct word w;

	for (*ret_nr = 0; word_next(&line, &w); (*ret_nr)++)
		if (!word_is(w, "-") && !word_number(w, "", &v))
			return false;
	return *ret_nr > 0;
}

double word_time_unit(struct word unit)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 },	   { "nsec", 1 },      { "us", 1e3 },
		      { "usec", 1e3 },	   { "usecs", 1e3 },   { "ms", 1e6 },
		      { "msec", 1e6 },	   { "s", 1e9 },       { "sec", 1e9 },
		      { "secs", 1e9 },	   { "seconds", 1e9 }, { "\xc2\xb5s", 1e3 },
		      { "\xce\xbcs", 1e3 } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (word_is(unit, units[i].name))
			return units[i].ns;
	return 0;
}

int64_t word_ns(double s)
{
	double ns = s * 1e9;

	if (!(ns > 0))
		return 0;
	return ns < 9e18 ? (int64_t)ns : INT64_C(9000000000000000000);
}

bool word_after(const char *line, const char *name, struct scan_number *ret)
{
	const char *p = scan_find(line, name);

	if (!p)
		return false;
	p += strlen(name);
	scan_space(&p);
	return scan_number(&p, ret);
}

void word_label(char *to, size_t size, struct word w)
{
	size_t n = w.len < size - 1 ? w.len : size - 1;

	/* not in the middle of a character */
	while (n < w.len && n > 0 && ((unsigned char)w.s[n] & 0xc0) == 0x80)
		n--;
	memcpy(to, w.s, n);
	to[n] = '\0';
	for (char *at = strpbrk(to, " ,="); at; at = strpbrk(at, " ,="))
		*at = '_';
}

int cell_add(struct import_feed *f, const struct cell *c, const struct scan_number *v)
{
	const struct import_figure fig = { .metric = c->metric,
					   .unit = c->unit,
					   .labels = c->labels,
					   .value = v->value * c->factor,
					   .half = c->exact ? 0 : v->half * c->factor,
					   .n = c->n ? c->n : -1,
					   .key = c->key };

	return import_figure_add(import_run_open(f), &fig);
}

int pairs_add(struct import_feed *f, const char *line, const struct pair *pairs, size_t nr)
{
	int found = 0;

	for (size_t i = 0; i < nr; i++) {
		struct scan_number v;

		if (!word_after(line, pairs[i].name, &v))
			continue;
		if (cell_add(f, &pairs[i].cell, &v) < 0)
			return -ENOMEM;
		found++;
	}
	return found;
}
