// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/html.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static const struct {
	const char *name;
	enum html_tag tag;
} tags[] = {
	{ "a", HTML_INLINE },	   { "abbr", HTML_INLINE },	 { "article", HTML_BLOCK },
	{ "b", HTML_INLINE },	   { "blockquote", HTML_BLOCK }, { "body", HTML_BLOCK },
	{ "br", HTML_BLOCK },	   { "button", HTML_INLINE },	 { "center", HTML_BLOCK },
	{ "code", HTML_INLINE },   { "dd", HTML_BLOCK },	 { "del", HTML_INLINE },
	{ "details", HTML_BLOCK }, { "div", HTML_BLOCK },	 { "dl", HTML_BLOCK },
	{ "dt", HTML_BLOCK },	   { "em", HTML_INLINE },	 { "font", HTML_INLINE },
	{ "footer", HTML_BLOCK },  { "h1", HTML_BLOCK },	 { "h2", HTML_BLOCK },
	{ "h3", HTML_BLOCK },	   { "h4", HTML_BLOCK },	 { "h5", HTML_BLOCK },
	{ "h6", HTML_BLOCK },	   { "head", HTML_BLOCK },	 { "header", HTML_BLOCK },
	{ "hr", HTML_BLOCK },	   { "html", HTML_BLOCK },	 { "i", HTML_INLINE },
	{ "img", HTML_INLINE },	   { "ins", HTML_INLINE },	 { "kbd", HTML_INLINE },
	{ "li", HTML_BLOCK },	   { "link", HTML_INLINE },	 { "main", HTML_BLOCK },
	{ "mark", HTML_INLINE },   { "meta", HTML_INLINE },	 { "nav", HTML_BLOCK },
	{ "o:p", HTML_INLINE },	   { "ol", HTML_BLOCK },	 { "p", HTML_BLOCK },
	{ "pre", HTML_BLOCK },	   { "s", HTML_INLINE },	 { "samp", HTML_INLINE },
	{ "script", HTML_HIDE },   { "section", HTML_BLOCK },	 { "small", HTML_INLINE },
	{ "span", HTML_INLINE },   { "strong", HTML_INLINE },	 { "style", HTML_HIDE },
	{ "sub", HTML_INLINE },	   { "summary", HTML_BLOCK },	 { "sup", HTML_INLINE },
	{ "table", HTML_BLOCK },   { "tbody", HTML_BLOCK },	 { "td", HTML_CELL },
	{ "th", HTML_CELL },	   { "thead", HTML_BLOCK },	 { "title", HTML_BLOCK },
	{ "tr", HTML_BLOCK },	   { "tt", HTML_INLINE },	 { "u", HTML_INLINE },
	{ "ul", HTML_BLOCK },	   { "wbr", HTML_INLINE },
};

enum html_tag html_tag(const char *s, const char *end, bool html, size_t *ret_len)
{
	const char *name = s + 1, *close = memchr(s, '>', (size_t)(end - s));
	bool closes = name < end && *name == '/';
	size_t n = 0;

	*ret_len = close ? (size_t)(close + 1 - s) : 0;
	name += closes;
	while (name + n < end && (isalnum((unsigned char)name[n]) || name[n] == ':'))
		n++;
	if (name + n < end && *name == '!' && end - name > 8)
		return strncasecmp(name, "!doctype", 8) == 0 || (html && name[1] == '-')
			       ? HTML_INLINE
			       : HTML_NONE;
	if (n == 0 || (n == 1 && !html) || (!close && !html))
		return HTML_NONE;
	if (name + n < end && !strchr(" \t\r>/", name[n]))
		return HTML_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (strlen(tags[i].name) != n || strncasecmp(tags[i].name, name, n) != 0)
			continue;
		if (tags[i].tag == HTML_HIDE && closes)
			return HTML_SHOW;
		return tags[i].tag;
	}
	return HTML_NONE;
}

static const struct {
	const char *name;
	unsigned int c;
} entities[] = {
	{ "amp", '&' },	      { "apos", '\'' },	    { "emsp", 0x2003 },	 { "ensp", 0x2002 },
	{ "gt", '>' },	      { "hellip", 0x2026 }, { "lt", '<' },	 { "mdash", 0x2014 },
	{ "micro", 0xb5 },    { "middot", 0xb7 },   { "minus", 0x2212 }, { "nbsp", 0xa0 },
	{ "ndash", 0x2013 },  { "plusmn", 0xb1 },   { "quot", '"' },	 { "shy", 0xad },
	{ "thinsp", 0x2009 }, { "times", 0xd7 },    { "zwnj", 0x200c },
};

/* The value of digit @c, or -1. */
static int digit(char c, bool hex)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return hex && isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

static bool is_character(unsigned int c)
{
	return c < 0xd800 || (c >= 0xe000 && c < 0x110000);
}

/* "#160;" or "#xa0;" at @s: its bytes, or 0. */
static size_t numbered(const char *s, const char *end, unsigned int *ret)
{
	const char *p = s + 1;
	bool hex = p < end && (*p == 'x' || *p == 'X');
	unsigned int c = 0;
	size_t n = 0;

	for (p += hex; p < end && n < 7 && digit(*p, hex) >= 0; p++, n++)
		c = c * (hex ? 16 : 10) + (unsigned int)digit(*p, hex);
	if (!n || p >= end || *p != ';' || !is_character(c))
		return 0;
	*ret = c;
	return (size_t)(p + 1 - s);
}

size_t html_entity(const char *s, const char *end, unsigned int *ret)
{
	const char *p = s + 1;
	size_t n = 0;

	if (p < end && *p == '#') {
		n = numbered(p, end, ret);
		return n ? n + 1 : 0;
	}
	while (p + n < end && n < 8 && isalpha((unsigned char)p[n]))
		n++;
	if (p + n >= end || p[n] != ';')
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
		if (strlen(entities[i].name) != n || memcmp(entities[i].name, p, n) != 0)
			continue;
		*ret = entities[i].c;
		return n + 2;
	}
	return 0;
}
