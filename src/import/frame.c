// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/frame.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "import/import_ops.h"

#define FRAME_AHEAD 100 /* lines by which the number of the next line may jump */

static const char digits[] = "0123456789";

/* ---- one prefix: bytes of it, with the blank behind it, or 0 */

static size_t find_bar(const char *s)
{
	static const char *const bars[] = { "| ", "* ", "# ", "// ", "; ", "% ", "\xe2\x80\xa2 ",
					    "> " };

	for (size_t i = 0; i < ARRAY_SIZE(bars); i++) {
		size_t n = strlen(bars[i]);

		if (strncmp(s, bars[i], n) == 0)
			return n;
	}
	return 0;
}

static size_t find_change(const char *s)
{
	if ((*s != '+' && *s != '-') || s[1] == *s)
		return 0;
	return s[1] == ' ' ? 2 : 1;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-' || c == '/' ||
	       c == '@';
}

static size_t name_len(const char *s)
{
	size_t n = 0;

	while (is_name(s[n]))
		n++;
	return n <= 64 ? n : 0;
}

static size_t find_quoter(const char *s)
{
	size_t n = name_len(s);

	return n && n <= 20 && s[n] == '>' && s[n + 1] == ' ' ? n + 2 : 0;
}

/* "22:17:01", with a fraction or not */
static size_t clock_len(const char *s)
{
	size_t n = 0;

	for (int i = 0; i < 3; i++) {
		if (strspn(s + n, digits) != 2 || (i < 2 && s[n + 2] != ':'))
			return 0;
		n += i < 2 ? 3 : 2;
	}
	if ((s[n] == '.' || s[n] == ',') && isdigit((unsigned char)s[n + 1]))
		n += 1 + strspn(s + n + 1, digits);
	return n;
}

/* "Mon ", "Nov " */
static size_t name_of_time(const char *s)
{
	return isupper((unsigned char)s[0]) && islower((unsigned char)s[1]) &&
			       islower((unsigned char)s[2]) && s[3] == ' '
		       ? 4
		       : 0;
}

/* "Mon Nov 30 ", "2026-11-30T", "2026/11/30 ", "30.11.2026 " */
static size_t date_len(const char *s)
{
	size_t n = name_of_time(s), day;

	if (n) {
		n += name_of_time(s + n);
		day = strspn(s + n, digits);
		return day && day <= 2 && s[n + day] == ' ' ? n + day + 1 : 0;
	}
	for (int i = 0; i < 3; i++) {
		day = strspn(s + n, digits);
		if (!day || day > 4)
			return 0;
		n += day;
		if (i < 2 && (!s[n] || !strchr("-/.", s[n])))
			return 0;
		n += i < 2;
	}
	return s[n] == ' ' || s[n] == 'T' || s[n] == '_' ? n + 1 : 0;
}

/* "Z", "+0100", "+01:00", " 2026", " UTC" */
static size_t zone_len(const char *s)
{
	size_t n;

	if (*s == 'Z')
		return 1;
	if (*s == '+' || *s == '-') {
		n = strspn(s + 1, "0123456789:");
		return n == 2 || n == 4 || n == 5 ? n + 1 : 0;
	}
	if (strncmp(s, " UTC", 4) == 0)
		return 4;
	return *s == ' ' && strspn(s + 1, digits) == 4 && s[1] == '2' && strchr(" ]:", s[5]) ? 5
											     : 0;
}

/* "1796078048.581001" */
static size_t epoch_len(const char *s)
{
	size_t n = strspn(s, digits), decimals;

	if (n < 9 || n > 10 || s[n] != '.')
		return 0;
	decimals = strspn(s + n + 1, digits);
	return decimals >= 3 && decimals <= 9 ? n + 1 + decimals : 0;
}

static size_t find_stamp(const char *s)
{
	size_t open = *s == '[' || *s == '(', n = open, date, t;

	n += open && s[n] == ' ';
	date = date_len(s + n);
	t = clock_len(s + n + date);
	if (t)
		n += date + t + zone_len(s + n + date + t);
	else if ((t = epoch_len(s + n)) != 0)
		n += t;
	else
		return 0;
	if (open && s[n] != ']' && s[n] != ')')
		return 0;
	n += open;
	n += s[n] == ':' || s[n] == ',';
	return s[n] == ' ' ? n + 1 : 0;
}

/* "[stdout] ", "(client) " */
static size_t find_tag(const char *s)
{
	size_t n = 1;

	if ((*s != '[' && *s != '(') || !isalpha((unsigned char)s[1]))
		return 0;
	while (is_name(s[n]))
		n++;
	if (n > 32 || s[n] != (*s == '[' ? ']' : ')'))
		return 0;
	n++;
	n += s[n] == ':';
	return s[n] == ' ' ? n + 1 : 0;
}

static size_t find_level(const char *s)
{
	static const char *const levels[] = { "DEBUG",	  "INFO", "NOTICE", "WARNING",
					      "CRITICAL", "WARN", "ERROR",  "TRACE" };
	size_t n, m;

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		n = strlen(levels[i]);
		if (strncasecmp(s, levels[i], n) != 0)
			continue;
		if (s[n] == ' ')
			return n + 1;
		if (s[n] != ':')
			continue;
		n++;
		if (s[n] == ' ')
			return n + 1;
		m = name_len(s + n);
		return m && s[n + m] == ':' ? n + m + 1 : n;
	}
	return 0;
}

/* "box bench[12]: ", "bench[12]: ", "box kernel: " */
static size_t find_process(const char *s)
{
	size_t n = name_len(s), m;

	if (!n || !isalpha((unsigned char)*s))
		return 0;
	if (s[n] == ' ') {
		m = name_len(s + n + 1);
		if (!m)
			return 0;
		n += 1 + m;
	} else if (s[n] != '[') {
		return 0;
	}
	if (s[n] == '[') {
		m = strspn(s + n + 1, digits);
		if (!m || s[n + 1 + m] != ']')
			return 0;
		n += m + 2;
	}
	return s[n] == ':' && s[n + 1] == ' ' ? n + 2 : 0;
}

/* "out.txt-12-": the name goes on behind it. */
static size_t find_context(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		size_t m = s[i] == '-' ? strspn(s + i + 1, digits) : 0;

		if (m && s[i + 1 + m] == '-' && memchr(s, '.', i))
			return i + m + 2;
	}
	return 0;
}

/* "node1: ", "logs/a.txt:" */
static size_t find_place(const char *s)
{
	size_t n = name_len(s);

	if (!n || strspn(s, digits) == n || s[n] != ':')
		return 0;
	if (strncmp(s, "Average:", 8) == 0 || strncmp(s, "Summary:", 8) == 0)
		return 0; /* stands in the time's place in tables of sar and mpstat */
	if (s[n + 1] == ' ')
		return n + 2;
	return memchr(s, '.', n) || memchr(s, '/', n) ? n + 1 : 0;
}

/* "out.txt:12:", "out.txt-12-", "root:bench.py:42 " */
static size_t find_numbered_place(const char *s)
{
	size_t n = name_len(s), m, t, context = find_context(s, n);
	bool nested;

	if (context)
		return context + (s[context] == ' ');
	if (!n || strspn(s, digits) == n || s[n] != ':')
		return 0;
	n++;
	m = name_len(s + n);
	nested = m && s[n + m] == ':' && strspn(s + n, digits) != m;
	if (nested)
		n += m + 1;
	m = strspn(s + n, digits);
	t = clock_len(s + n);
	if (!m || (t && s[n + t] != ':') || (s[n + m] != ':' && (!nested || s[n + m] != ' ')))
		return 0;
	n += m + 1;
	return n + (s[n] == ' ');
}

static size_t find_service(const char *s)
{
	size_t n = name_len(s);

	if (!n || strspn(s, digits) == n || s[n] != ' ' || (s[n + 1] != '|' && s[n + 1] != '-'))
		return 0;
	return s[n + 2] == ' ' ? n + 3 : 0;
}

static size_t find_number(const char *s, uint64_t *ret)
{
	const char *p = s;
	int64_t v;

	if (!isdigit((unsigned char)*s) || !scan_int(&p, 7, &v))
		return 0;
	*ret = (uint64_t)v;
	if (*p == ' ')
		return (size_t)(p + 1 - s);
	if (!*p || !strchr(":.)-|", *p) || (*p != ':' && *p != '-' && p[1] != ' '))
		return 0;
	p++;
	return (size_t)(p - s) + (*p == ' ');
}

static size_t find_prefix(const char *s, enum frame_kind kind, uint64_t *ret_number)
{
	switch (kind) {
	case FRAME_BAR:
		return find_bar(s);
	case FRAME_CHANGE:
		return find_change(s);
	case FRAME_QUOTER:
		return find_quoter(s);
	case FRAME_STAMP:
		return find_stamp(s);
	case FRAME_TAG:
		return find_tag(s);
	case FRAME_LEVEL:
		return find_level(s);
	case FRAME_PROCESS:
		return find_process(s);
	case FRAME_NUMBERED:
		return find_numbered_place(s);
	case FRAME_PLACE:
		return find_place(s);
	case FRAME_SERVICE:
		return find_service(s);
	case FRAME_NUMBER:
		break;
	}
	return find_number(s, ret_number);
}

/* ---- frames */

/* A prefix behind which nothing stands, so that it has lost its blank. */
static size_t find_last(const char *s, enum frame_kind kind, uint64_t *ret_number)
{
	char whole[80];
	size_t n = strlen(s);

	if (!n || n > sizeof(whole) - 2)
		return 0;
	snprintf(whole, sizeof(whole), "%s ", s);
	return find_prefix(whole, kind, ret_number) == n + 1 ? n : 0;
}

/* Behind the prefixes of @f in @s, or 0. */
static size_t walk(const struct frame *f, const char *s, uint64_t *ret_number)
{
	size_t at = 0;

	for (size_t i = 0; i < f->nr; i++) {
		enum frame_kind kind = (enum frame_kind)f->kinds[i];
		size_t n = find_prefix(s + at, kind, ret_number);

		if (!n && i + 1 == f->nr)
			n = find_last(s + at, kind, ret_number);
		if (!n)
			return 0;
		at += n;
	}
	return at;
}

size_t frame_more(struct frame *f, const char *s)
{
	size_t at = walk(f, s, &f->number);

	if (f->nr == FRAME_DEPTH || (f->nr && !at))
		return 0;
	for (unsigned int kind = FRAME_BAR; kind <= FRAME_NUMBER; kind++) {
		size_t n = find_prefix(s + at, (enum frame_kind)kind, &f->number);

		if (!n || !s[at + n])
			continue;
		/* two words and a colon are a host and a process behind a time only */
		if (kind == FRAME_PROCESS && !memchr(s + at, '[', n) &&
		    (!f->nr || f->kinds[f->nr - 1] != FRAME_STAMP))
			continue;
		f->kinds[f->nr++] = (unsigned char)kind;
		return at + n;
	}
	return 0;
}

size_t frame_match(const struct frame *f, const char *s, uint64_t *ret_number)
{
	uint64_t number = f->number;
	size_t at = f->nr ? walk(f, s, &number) : 0;

	if (at && frame_has(f, FRAME_NUMBER) &&
	    (number <= f->number || number > f->number + FRAME_AHEAD))
		return 0;
	*ret_number = number;
	return at;
}

size_t frame_skip(const struct frame *f, const char *s)
{
	uint64_t number;

	return f->nr ? walk(f, s, &number) : 0;
}

size_t frame_skip_stamp(const char *s)
{
	size_t at = find_stamp(s), n;

	if (!at)
		return 0;
	n = find_process(s + at);
	at += n ? n : find_level(s + at);
	return s[at] ? at : 0;
}

bool frame_of(const char *s, size_t len, struct frame *ret)
{
	struct frame f = {};
	size_t n = 0;

	while (n < len)
		if ((n = frame_more(&f, s)) == 0)
			return false;
	if (n != len)
		return false;
	*ret = f;
	return true;
}

bool frame_has(const struct frame *f, enum frame_kind kind)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->kinds[i] == kind)
			return true;
	return false;
}

const char *frame_find_arrow(const char *line)
{
	static const char *const arrows[] = { "<--", "<==", "<<<", "\xe2\x86\x90" };

	for (const char *s = strchr(line, ' '); s; s = strchr(s + 1, ' '))
		for (size_t i = 0; i < ARRAY_SIZE(arrows) && (s[1] == '<' || s[1] & 0x80); i++)
			if (s > line && strncmp(s + 1, arrows[i], strlen(arrows[i])) == 0)
				return s;
	return NULL;
}

const char *frame_find_note(const char *line)
{
	static const char *const marks[] = { "<--", "<-", "<==", "<=",	"<<",	       "# ",
					     "// ", "^^", "!!",	 "(!)", "\xe2\x86\x90" };
	size_t len = strlen(line);

	for (const char *s = strchr(line, ' '); s; s = strchr(s + 1, ' '))
		for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
			if (s > line && strncmp(s + 1, marks[i], strlen(marks[i])) == 0)
				return s;
	return len > 2 && strcmp(line + len - 2, " |") == 0 ? line + len - 2 : NULL;
}
