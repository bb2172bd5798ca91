// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/mime.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- encodings */

static unsigned int hex(char c)
{
	if (isdigit((unsigned char)c))
		return (unsigned int)(c - '0');
	return (unsigned int)(tolower((unsigned char)c) - 'a' + 10);
}

bool mime_printable(const char *s, size_t len, struct buf *out)
{
	const char *end = s + len;

	while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--; /* added on the way */
	while (s < end) {
		const char *p = memchr(s, '=', (size_t)(end - s));

		if (!p)
			p = end;
		buf_add(out, s, (size_t)(p - s));
		if (p == end)
			break;
		if (p + 1 == end)
			return false;
		if (end - p >= 3 && isxdigit((unsigned char)p[1]) &&
		    isxdigit((unsigned char)p[2])) {
			buf_putc(out, (char)(hex(p[1]) << 4 | hex(p[2])));
			s = p + 3;
		} else {
			buf_putc(out, '=');
			s = p + 1;
		}
	}
	return true;
}

static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (isdigit((unsigned char)c))
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

void mime_base64(const char *s, size_t len, struct buf *out)
{
	unsigned int bits = 0, n = 0;

	for (size_t i = 0; i < len; i++) {
		int v = base64_value(s[i]);

		if (v < 0)
			continue;
		bits = bits << 6 | (unsigned int)v;
		if (++n < 4)
			continue;
		buf_putc(out, (char)(bits >> 16));
		buf_putc(out, (char)(bits >> 8));
		buf_putc(out, (char)bits);
		bits = n = 0;
	}
	if (n >= 2) {
		bits <<= 6 * (4 - n);
		buf_putc(out, (char)(bits >> 16));
		if (n == 3)
			buf_putc(out, (char)(bits >> 8));
	}
}

/* ---- headers */

/* "Name:" at the beginning of the line: the name's length, or 0. */
static size_t header_name(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && n < 40 && (isalnum((unsigned char)s[n]) || s[n] == '-'))
		n++;
	if (n < 2 || n == len || s[n] != ':' || !isalpha((unsigned char)*s))
		return 0;
	return n + 1 == len || s[n + 1] == ' ' || s[n + 1] == '\t' || s[n + 1] == '\r' ? n : 0;
}

static bool is_named(const char *s, size_t n, const char *name)
{
	return n == strlen(name) && strncasecmp(s, name, n) == 0;
}

/* The value of parameter @name in "text/plain; charset=utf-8; boundary="x"" into @ret. */
static size_t parameter(const char *field, const char *name, char *ret, size_t size)
{
	size_t n = strlen(name), len = 0;

	for (const char *s = strchr(field, ';'); s; s = strchr(s, ';')) {
		bool quoted;

		s++;
		s += strspn(s, " \t");
		if (strncasecmp(s, name, n) != 0 || s[n] != '=')
			continue;
		s += n + 1;
		quoted = *s == '"';
		s += quoted;
		while (*s && len + 1 < size && (quoted ? *s != '"' : !strchr("; \t", *s)))
			ret[len++] = *s++;
		break;
	}
	ret[len] = '\0';
	return len;
}

static void take_type(struct mime *m, const char *s)
{
	static const char *const texts[] = { "text/",
					     "multipart/",
					     "message/",
					     "application/json",
					     "application/octet-stream",
					     "application/x-" };
	bool known = false;

	m->next_html = strncasecmp(s, "text/html", 9) == 0;
	m->next_plain = strncasecmp(s, "text/plain", 10) == 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		known = known || strncasecmp(s, texts[i], strlen(texts[i])) == 0;
	m->next_binary = !known;
	if (strncasecmp(s, "multipart/", 10) == 0 && m->depth < MIME_DEPTH) {
		struct mime_boundary *b = &m->stack[m->depth];

		*b = (struct mime_boundary){ .alternative =
						     strncasecmp(s + 10, "alternative", 11) == 0 };
		b->len = parameter(s, "boundary", b->text, sizeof(b->text));
		m->depth += b->len > 0;
	}
}

/* The header in m->field is whole. */
static void end_field(struct mime *m)
{
	const char *s = buf_str(&m->field), *value;
	size_t n = header_name(s, m->field.len);

	if (!n)
		return;
	value = s + n + 1;
	value += strspn(value, " \t");
	if (is_named(s, n, "Content-Type")) {
		m->any = true;
		take_type(m, value);
	} else if (is_named(s, n, "Content-Transfer-Encoding")) {
		m->any = true;
		if (strncasecmp(value, "quoted-printable", 16) == 0)
			m->next_encoding = MIME_PRINTABLE;
		else if (strncasecmp(value, "base64", 6) == 0)
			m->next_encoding = MIME_BASE64;
	} else if (is_named(s, n, "Content-Disposition")) {
		m->next_attachment = strncasecmp(value, "attachment", 10) == 0;
	}
	buf_reset(&m->field);
}

static void begin_headers(struct mime *m)
{
	m->headers = true;
	m->any = false;
	m->next_encoding = MIME_PLAIN;
	m->next_html = m->next_plain = m->next_binary = m->next_attachment = false;
	buf_reset(&m->field);
}

/* Behind the headers of a part. *ret_skipped: why it is not read. */
static void begin_body(struct mime *m, const char **ret_skipped)
{
	bool refused = false;

	m->headers = false;
	if (!m->any)
		return;
	m->encoding = m->next_encoding;
	m->html = m->next_html;
	m->skipped = NULL;
	if (m->next_binary)
		m->skipped = "a part of the mail that is no text: not read";
	for (size_t i = 0; i < m->depth; i++)
		refused = refused || m->stack[i].refused;
	if (!m->skipped && refused && !m->next_attachment)
		m->skipped =
			"a part of the mail that repeats the one before in another form: not read";
	for (size_t i = 0; i < m->depth && (m->next_plain || m->next_html); i++)
		m->stack[i].taken = true;
	if (m->skipped) {
		m->encoding = MIME_SKIPPED;
		*ret_skipped = m->skipped;
	}
}

/* Whether the line is a boundary of the mail; what belonged to it is over then. */
static bool take_boundary(struct mime *m, const char *s, size_t len)
{
	while (len && (s[len - 1] == '\r' || s[len - 1] == ' '))
		len--;
	for (size_t i = m->depth; i-- > 0;) {
		struct mime_boundary *b = &m->stack[i];
		bool last = len == b->len + 4 && memcmp(s + len - 2, "--", 2) == 0;

		if ((len != b->len + 2 && !last) || memcmp(s + 2, b->text, b->len) != 0)
			continue;
		m->encoding = MIME_PLAIN;
		m->html = false;
		m->depth = last ? i : i + 1;
		b->refused = b->alternative && b->taken;
		if (!last)
			begin_headers(m);
		else
			m->headers = false;
		return true;
	}
	return false;
}

/* Whether nobody would write the field below a table: it is none of the text. */
static bool says_something(const struct buf *field)
{
	const char *s = buf_str(field);

	return strncasecmp(s, "Content-", 8) == 0 || strncasecmp(s, "MIME-Version:", 13) == 0;
}

/* A line that may be one of a block of headers. */
static enum mime_line take_header(struct mime *m, const char *s, size_t len)
{
	static const char *const shown[] = { "Subject" };
	size_t n;

	if ((*s == ' ' || *s == '\t') && m->field.len) {
		while (len && (*s == ' ' || *s == '\t')) {
			s++;
			len--;
		}
		buf_putc(&m->field, ' ');
		if (m->field.len < 4096)
			buf_add(&m->field, s, len);
		/* "duration: 10 s" is no header of a mail, and what is indented below it text */
		return m->any || says_something(&m->field) ? MIME_HEADER : MIME_TEXT;
	}
	end_field(m);
	n = header_name(s, len);
	if (!n && !(len > 5 && memcmp(s, "From ", 5) == 0)) {
		m->headers = false;
		return MIME_BODY;
	}
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		if (is_named(s, n, shown[i]))
			return MIME_TEXT;
	while (len && (s[len - 1] == '\r' || s[len - 1] == ' '))
		len--;
	buf_add(&m->field, s, len);
	return m->any || says_something(&m->field) ? MIME_HEADER : MIME_TEXT;
}

static bool is_blank(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
			return false;
	return true;
}

enum mime_line mime_line(struct mime *m, const char *s, size_t len, const char **ret_skipped)
{
	bool blank = is_blank(s, len), start = m->blank;

	*ret_skipped = NULL;
	m->blank = blank;
	if (m->headers && blank) {
		end_field(m);
		begin_body(m, ret_skipped);
		return MIME_HEADER;
	}
	if (len > 2 && s[0] == '-' && s[1] == '-' && m->depth && take_boundary(m, s, len))
		return MIME_HEADER;
	if (m->headers)
		return take_header(m, s, len);
	if (!start || !len)
		return MIME_BODY;
	if (len > 5 && memcmp(s, "From ", 5) == 0 && memchr(s, '@', len)) {
		/* another mail of an mbox */
		m->encoding = MIME_PLAIN;
		m->html = false;
		m->depth = 0;
		begin_headers(m);
		return MIME_HEADER;
	}
	if (m->encoding != MIME_PLAIN || !header_name(s, len))
		return MIME_BODY;
	begin_headers(m);
	return take_header(m, s, len);
}

void mime_release(struct mime *m)
{
	buf_release(&m->field);
}
