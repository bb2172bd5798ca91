// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/clean.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "import/html.h"

/* What the first byte of a character tells. */
enum byte_class {
	BYTE_SPECIAL, /* looked at more closely */
	BYTE_TEXT,    /* printable ASCII, but for what may begin a control sequence, tag, entity */
	BYTE_BLANK,   /* space, tab */
};

static const unsigned char byte_classes[256] = {
	['!' ... '%'] = BYTE_TEXT, ['\'' ... ';'] = BYTE_TEXT, ['=' ... ']'] = BYTE_TEXT,
	['_' ... '~'] = BYTE_TEXT, [' '] = BYTE_BLANK,	       ['\t'] = BYTE_BLANK,
};

/* Bytes of the UTF-8 sequence that begins at @s, 0 when it is none. */
static size_t sequence_len(const unsigned char *s, const unsigned char *end)
{
	size_t n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;

	if (*s < 0xc2 || *s > 0xf4 || (size_t)(end - s) < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xed && s[1] > 0x9f) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

enum glyph { GLYPH_TEXT, GLYPH_BLANK, GLYPH_NOTHING };

/* No-break and other wide blanks, zero-width marks, control characters; the lines that terminals
 * draw around and between their panes are blanks too. */
static enum glyph classify(const unsigned char *s, size_t n)
{
	if (n == 2)
		return s[0] != 0xc2 || s[1] > 0xa0 ? GLYPH_TEXT
		       : s[1] == 0xa0		   ? GLYPH_BLANK
						   : GLYPH_NOTHING;
	if (n == 3 && s[0] == 0xe2 && s[1] == 0x80) {
		if (s[2] <= 0x8a || s[2] == 0xaf)
			return GLYPH_BLANK;
		return s[2] <= 0x8f ? GLYPH_NOTHING : GLYPH_TEXT;
	}
	if (n == 3 &&
	    (memcmp(s, "\xe3\x80\x80", 3) == 0 || (s[0] == 0xe2 && (s[1] == 0x94 || s[1] == 0x95))))
		return GLYPH_BLANK;
	return n == 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0 ? GLYPH_NOTHING : GLYPH_TEXT;
}

static bool is_control(const unsigned char *s, const unsigned char *end)
{
	if (*s == '\x1b')
		return true;
	return end - s >= 3 && memcmp(s, "^[[", 3) == 0;
}

/*
 * Behind the terminal control sequence at @s (ECMA-48: CSI, or ESC and one byte; OSC up to BEL),
 * also where a program has written ESC as "^[".  *ret_moves: it moves the cursor to another line.
 */
static const unsigned char *skip_control(const unsigned char *s, const unsigned char *end,
					 bool *ret_moves)
{
	s += *s == '^' ? 2 : 1;
	*ret_moves = false;
	if (s < end && *s == ']') {
		const unsigned char *bell =
			memchr(s, '\a', end - s < 256 ? (size_t)(end - s) : 256);

		return bell ? bell + 1 : s + 1;
	}
	if (s == end || *s != '[')
		return s < end && *s >= 0x20 ? s + 1 : s;
	s++;
	while (s < end && *s >= 0x20 && *s < 0x40)
		s++;
	if (s == end || *s < 0x40 || *s >= 0x7f)
		return s;
	*ret_moves = strchr("ABEFHJdf", *s) != NULL;
	return s + 1;
}

static int emit(struct cleaner *c, size_t nr, bool more, struct err *e)
{
	struct line *l = &c->out;
	size_t quotes = 0;
	int r;

	if (!c->rest) /* quote marks of any depth */
		quotes = strspn(buf_str(&l->text), "> ");
	if (quotes) {
		memmove(l->text.data, l->text.data + quotes, l->text.len - quotes + 1);
		l->text.len -= quotes;
	}
	if (l->text.failed)
		return err_nomem(e, "import");
	l->nr = nr;
	l->rest = c->rest;
	l->more = more;
	c->rest = more;
	r = c->emit(c, l, e);
	buf_reset(&l->text);
	l->redrawn = false;
	return r;
}

static void put_bytes(struct line *l, const unsigned char *s, size_t n, bool blank)
{
	if (blank && l->text.len)
		buf_putc(&l->text, ' ');
	buf_add(&l->text, s, n);
}

/* Word processors write "0.00-1.00" with a dash or a minus. */
static bool is_dash(const struct line *l, const unsigned char *s, const unsigned char *end)
{
	if (memcmp(s, "\xe2\x88\x92", 3) != 0 &&
	    (s[0] != 0xe2 || s[1] != 0x80 || s[2] < 0x90 || s[2] > 0x95))
		return false;
	return l->text.len && isdigit((unsigned char)l->text.data[l->text.len - 1]) &&
	       end - s > 3 && isdigit(s[3]);
}

/* One character, as it stands in the text or as an entity has named it. */
static const unsigned char *character(struct cleaner *c, const unsigned char *s,
				      const unsigned char *end, bool *blank)
{
	size_t n = *s < 0x80 ? 1 : sequence_len(s, end);
	unsigned char latin[2] = { (unsigned char)(0xc0 | *s >> 6),
				   (unsigned char)(0x80 | (*s & 0x3f)) };
	enum glyph g = GLYPH_TEXT;

	if (n > 1)
		g = classify(s, n);
	else if (n == 0)
		g = classify(latin, 2);
	else if (*s < 0x20 || *s == 0x7f)
		g = GLYPH_NOTHING;
	if (n == 3 && !*blank && is_dash(&c->out, s, end))
		buf_putc(&c->out.text, '-');
	else if (g == GLYPH_TEXT)
		put_bytes(&c->out, n ? s : latin, n ? n : 2, *blank);
	if (g != GLYPH_NOTHING)
		*blank = g == GLYPH_BLANK;
	return s + (n ? n : 1);
}

static const unsigned char *entity(struct cleaner *c, const unsigned char *s,
				   const unsigned char *end, bool *blank)
{
	unsigned int v;
	size_t n = html_entity((const char *)s, (const char *)end, &v);
	unsigned char utf8[4] = { '&' };
	size_t len = 1;

	if (n && v < 0x80) {
		utf8[0] = (unsigned char)v;
	} else if (n && v < 0x800) {
		len = 2;
		utf8[0] = (unsigned char)(0xc0 | v >> 6);
		utf8[1] = (unsigned char)(0x80 | (v & 0x3f));
	} else if (n) {
		len = v < 0x10000 ? 3 : 4;
		utf8[0] = (unsigned char)(len == 3 ? 0xe0 | v >> 12 : 0xf0 | v >> 18);
		for (size_t i = 1; i < len; i++)
			utf8[i] = (unsigned char)(0x80 | (v >> 6 * (len - 1 - i) & 0x3f));
	}
	if (*utf8 == ' ' || *utf8 == '\t' || *utf8 == '\n' || *utf8 == '\r')
		*blank = true;
	else
		character(c, utf8, utf8 + len, blank);
	return s + (n ? n : 1);
}

/* A tag, or "<". Return: behind it. */
static const unsigned char *tag(struct cleaner *c, const unsigned char *s, const unsigned char *end,
				bool *blank, bool *ret_ends)
{
	size_t n;
	enum html_tag t = html_tag((const char *)s, (const char *)end, c->html, &n);

	if (t == HTML_NONE)
		return character(c, s, end, blank);
	c->html = true;
	if (t == HTML_BLOCK && c->out.text.len)
		*ret_ends = true;
	if (t == HTML_CELL)
		*blank = true;
	if (t == HTML_HIDE)
		c->hidden = true;
	else if (t == HTML_SHOW)
		c->hidden = false;
	if (n)
		return s + n;
	c->tag_lines = 1;
	return end;
}

/* The next character from @s on. Return: behind it; *ret_ends: the line ends with it. */
static const unsigned char *special(struct cleaner *c, const unsigned char *s,
				    const unsigned char *end, bool *blank, bool *ret_ends)
{
	struct line *l = &c->out;

	*ret_ends = false;
	if (*s == '\r') {
		*ret_ends = true;
		return s + 1;
	}
	if (*s == '<')
		return tag(c, s, end, blank, ret_ends);
	if (*s == '&')
		return entity(c, s, end, blank);
	if (is_control(s, end)) {
		bool moves;

		s = skip_control(s, end, &moves);
		if (!moves)
			return s;
		*ret_ends = l->text.len > 0;
		c->moved = *ret_ends;
		l->redrawn = l->redrawn || !*ret_ends;
		return s;
	}
	return character(c, s, end, blank);
}

#define STEP 16

typedef unsigned char bytes __attribute__((vector_size(STEP)));

/* Copy plain text with single spaces between, as far as STEP bytes can be read.  Return: bytes
 * (those behind them in @to are written too). */
static size_t copy_plain(char *to, const unsigned char *s, const unsigned char *end)
{
	size_t n = 0;

	for (; end - (s + n) > STEP; n += STEP) {
		bytes v, next, odd;
		uint64_t any[STEP / 8];

		memcpy(&v, s + n, STEP);
		memcpy(&next, s + n + 1, STEP);
		odd = (bytes)((v < 0x20) | (v > 0x7e) | (v == '&') | (v == '<') | (v == '^') |
			      ((v == ' ') & (next == ' ')));
		memcpy(any, &odd, STEP);
		memcpy(to + n, &v, STEP);
		if (!(any[0] | any[1]))
			continue;
		for (size_t k = 0; !odd[k]; k++)
			n++;
		break;
	}
	return n;
}

/* Copy plain characters, every run of blanks one space. Return: where they end. */
static const unsigned char *plain(struct buf *out, const unsigned char *s, const unsigned char *end,
				  bool *blank)
{
	char *p = out->data + out->len;
	const char *begin = out->data;

	while (s < end) {
		unsigned char class = byte_classes[*s];

		if (class == BYTE_TEXT) {
			size_t n;

			if (*blank && p > begin)
				*p++ = ' ';
			n = copy_plain(p, s, end);
			if (n) {
				p += n;
				s += n;
				*blank = p[-1] == ' ';
				p -= *blank;
				continue;
			}
			*blank = false;
			*p++ = (char)*s++;
		} else if (class == BYTE_BLANK) {
			*blank = true;
			s++;
		} else {
			break;
		}
	}
	*p = '\0';
	out->len = (size_t)(p - begin);
	return s;
}

#define TAG_LINES 16 /* over which one tag may reach */

/* Where the text begins behind a tag of the lines before, or behind hidden text. */
static const unsigned char *resume(struct cleaner *c, const unsigned char *s,
				   const unsigned char *end)
{
	if (c->tag_lines) {
		const unsigned char *close = memchr(s, '>', (size_t)(end - s));

		if (!close && ++c->tag_lines < TAG_LINES)
			return end;
		c->tag_lines = 0;
		s = close ? close + 1 : s;
	}
	while (c->hidden && s < end) {
		size_t n;

		s = memchr(s, '<', (size_t)(end - s));
		if (!s)
			return end;
		if (html_tag((const char *)s, (const char *)end, true, &n) == HTML_SHOW) {
			c->hidden = false;
			return s + n;
		}
		s++;
	}
	return s;
}

int cleaner_line(struct cleaner *c, const char *text, size_t len, size_t nr, bool more,
		 struct err *e)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;
	bool blank = false, ends = false;
	int r = 0;

	while (!more && end > s && end[-1] == '\r')
		end--;
	if (c->tag_lines) {
		nr = c->tag_nr; /* the line goes on behind the tag */
	} else {
		c->out.redrawn = c->moved;
		c->moved = false;
	}
	c->tag_nr = nr;
	/* each byte gives two at most (Latin-1), and a blank stands before a character */
	if (buf_reserve(&c->out.text, 2 * len + 2 + STEP) < 0)
		return err_nomem(e, "import");
	if (c->tag_lines || c->hidden)
		s = resume(c, s, end);
	while (s < end && r == 0) {
		s = plain(&c->out.text, s, end, &blank);
		if (s == end)
			break;
		s = special(c, s, end, &blank, &ends);
		if (c->hidden)
			s = resume(c, s, end);
		if (!ends)
			continue;
		while (s < end && s[-1] == '\r' && *s == '\r')
			s++;
		r = emit(c, nr, false, e);
		nr += c->cr_counts;
		blank = false;
		c->out.redrawn = c->moved;
		c->moved = false;
	}
	/* between HTML's lines an empty one means nothing, and none ends inside a tag */
	if (r < 0 || c->tag_lines || (c->html && !c->out.text.len && !more && !c->rest))
		return r;
	return emit(c, nr, more, e);
}

void cleaner_release(struct cleaner *c)
{
	buf_release(&c->out.text);
}
