// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/decode.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

/* ---- lines in their encoding */

static int hand(struct decoder *d, const char *s, size_t len, size_t nr, bool more, struct err *e)
{
	d->html = d->mime.html;
	return d->emit(d, s, len, nr, more, e);
}

/* Lines that are whole in d->plain; with @all what is left too. */
static int hand_plain(struct decoder *d, bool all, struct err *e)
{
	const char *s = buf_str(&d->plain), *end = s + d->plain.len, *lf;
	size_t done;
	int r = 0;

	if (d->plain.failed)
		return err_nomem(e, "import");
	while (r == 0 && (lf = memchr(s, '\n', (size_t)(end - s)))) {
		r = hand(d, s, (size_t)(lf - s), d->plain_nr, false, e);
		s = lf + 1;
		d->plain_nr = d->nr;
	}
	if (r == 0 && s < end && (all || end - s > DECODE_PIECE)) {
		r = hand(d, s, (size_t)(end - s), d->plain_nr, !all, e);
		s = end;
	}
	done = (size_t)(s - buf_str(&d->plain));
	if (done) {
		memmove(d->plain.data, s, (size_t)(end - s) + 1);
		d->plain.len -= done;
	}
	return r;
}

static int put_decoded(struct decoder *d, const char *s, size_t len, enum mime_encoding encoding,
		       bool more, struct err *e)
{
	if (!d->plain.len)
		d->plain_nr = d->nr;
	if (encoding == MIME_BASE64)
		mime_base64(s, len, &d->plain);
	else if (mime_printable(s, len, &d->plain) && !more)
		buf_putc(&d->plain, '\n');
	return hand_plain(d, false, e);
}

/* Line @s as it came, or a piece of it. */
static int put(struct decoder *d, const char *s, size_t len, bool more, struct err *e)
{
	enum mime_encoding before = d->mime.encoding, encoding;
	bool rest = d->rest;
	const char *skipped = NULL;
	enum mime_line kind = MIME_BODY;
	int r = 0;

	d->nr += !rest;
	d->rest = more;
	if (!rest && !more)
		kind = mime_line(&d->mime, s, len, &skipped);
	encoding = d->printable && d->mime.encoding == MIME_PLAIN ? MIME_PRINTABLE
								  : d->mime.encoding;
	if (d->plain.len && (kind != MIME_BODY || d->mime.encoding != before))
		r = hand_plain(d, true, e);
	if (r == 0 && skipped)
		r = d->remark(d, d->nr, skipped, e);
	if (r < 0 || kind == MIME_HEADER || encoding == MIME_SKIPPED)
		return r;
	if (kind == MIME_BODY && encoding != MIME_PLAIN)
		return put_decoded(d, s, len, encoding, more, e);
	return hand(d, s, len, d->nr, more, e);
}

/* Where to cut a line that is too long: behind the last CR, else behind the last blank. */
static size_t cut(const char *s, size_t len)
{
	static const char where[] = { '\r', ' ' };

	for (size_t k = 0; k < sizeof(where); k++)
		for (size_t i = len; i > 0; i--)
			if (s[i - 1] == where[k])
				return i;
	return len;
}

/* All lines that end in [@s, @s + @len). Return: 0, or what emit returned; *ret_used: bytes done
 * with. */
static int take(struct decoder *d, const char *s, size_t len, size_t *ret_used, struct err *e)
{
	const char *start = s, *end = s + len;
	int r = 0;

	while (r == 0 && s < end) {
		const char *lf = memchr(s, '\n', (size_t)(end - s));

		if (lf && lf - s < (ptrdiff_t)DECODE_PIECE) {
			r = put(d, s, (size_t)(lf - s), false, e);
			s = lf + 1;
		} else if ((size_t)(end - s) >= DECODE_PIECE) {
			size_t n = cut(s, DECODE_PIECE);

			r = put(d, s, n, true, e);
			s += n;
		} else {
			break;
		}
	}
	*ret_used = (size_t)(s - start);
	return r;
}

/* Bytes in UTF-8, or what passes for it. */
static int add_bytes(struct decoder *d, const char *data, size_t len, struct err *e)
{
	size_t used, n;
	int r;

	if (d->held.len) {
		const char *lf = memchr(data, '\n', len);

		n = lf ? (size_t)(lf + 1 - data) : len;
		if (buf_add(&d->held, data, n) < 0)
			return err_nomem(e, "import");
		r = take(d, buf_str(&d->held), d->held.len, &used, e);
		memmove(d->held.data, d->held.data + used, d->held.len - used + 1);
		d->held.len -= used;
		if (r < 0 || !lf)
			return r;
		data += n;
		len -= n;
	}
	r = take(d, data, len, &used, e);
	if (r == 0 && used < len && buf_add(&d->held, data + used, len - used) < 0)
		return err_nomem(e, "import");
	return r;
}

/* ---- UTF-16 */

static void put_unit(struct buf *out, unsigned int c)
{
	if (c < 0x80) {
		buf_putc(out, (char)c);
	} else if (c < 0x800) {
		buf_putc(out, (char)(0xc0 | c >> 6));
		buf_putc(out, (char)(0x80 | (c & 0x3f)));
	} else if (c >= 0xd800 && c < 0xe000) {
		buf_putc(out, '?'); /* half of a character beyond the plane that tables use */
	} else {
		buf_putc(out, (char)(0xe0 | c >> 12));
		buf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_putc(out, (char)(0x80 | (c & 0x3f)));
	}
}

static int add_wide(struct decoder *d, const char *data, size_t len, struct err *e)
{
	buf_reset(&d->narrow);
	for (size_t i = 0; i < len; i++) {
		unsigned int byte = (unsigned char)data[i];

		if (d->has_odd)
			put_unit(&d->narrow, d->wide == WIDE_LE ? byte << 8 | d->odd
								: (unsigned int)d->odd << 8 | byte);
		d->has_odd = !d->has_odd;
		d->odd = (unsigned char)byte;
	}
	if (d->narrow.failed)
		return err_nomem(e, "import");
	return add_bytes(d, buf_str(&d->narrow), d->narrow.len, e);
}

/* Every second byte of ASCII in UTF-16 is 0. */
static enum wide find_wide(const char *s, size_t len)
{
	size_t zeros[2] = {}, n = len < 256 ? len : 256;

	if (len >= 2 && memcmp(s, "\xff\xfe", 2) == 0)
		return WIDE_LE;
	if (len >= 2 && memcmp(s, "\xfe\xff", 2) == 0)
		return WIDE_BE;
	for (size_t i = 0; i < n; i++)
		zeros[i % 2] += s[i] == '\0';
	if (n < 8)
		return WIDE_NO;
	if (zeros[1] > n / 2 * 4 / 5 && zeros[0] < n / 16)
		return WIDE_LE;
	return zeros[0] > n / 2 * 4 / 5 && zeros[1] < n / 16 ? WIDE_BE : WIDE_NO;
}

/* ---- the beginning of the text */

static bool is_upper_hex(char c)
{
	return isdigit((unsigned char)c) || (c >= 'A' && c <= 'F');
}

/*
 * Whether the text is quoted-printable although nothing says so: every "=" in it begins a code or
 * ends a line, some are the codes that mailers write ("=3D", "=20" at a line's end, UTF-8), and
 * lines that end in "=" are about as long as mailers make them.  "key=value" is none of these.
 */
static bool is_printable(const char *s, size_t len)
{
	const char *end = s + len, *line = s;
	size_t sure = 0;

	for (const char *p = memchr(s, '=', len); p; p = memchr(p, '=', (size_t)(end - p))) {
		const char *lf;

		p++;
		lf = memrchr(line, '\n', (size_t)(p - line));
		line = lf ? lf + 1 : line;
		if (p == end)
			break;
		if (*p == '\n' || (*p == '\r' && p + 1 < end && p[1] == '\n')) {
			if (p - line < 40 || p - line > 80)
				return false;
			sure++;
			continue;
		}
		if (end - p < 2)
			break;
		if (!is_upper_hex(p[0]) || !is_upper_hex(p[1]))
			return false;
		sure += memcmp(p, "3D", 2) == 0 || (p[0] >= 'C' && end - p > 2 && p[2] == '=') ||
			(memcmp(p, "20", 2) == 0 && end - p > 2 && strchr("\r\n", p[2]));
	}
	return sure >= 2;
}

/* A mail says itself how it is encoded. */
static bool says_encoding(const struct buf *held)
{
	return memmem(held->data, held->len, "Content-Transfer-Encoding:", 26) ||
	       memmem(held->data, held->len, "Content-transfer-encoding:", 26);
}

static int add(struct decoder *d, const char *data, size_t len, struct err *e)
{
	return d->wide ? add_wide(d, data, len, e) : add_bytes(d, data, len, e);
}

static int begin(struct decoder *d, struct err *e)
{
	struct buf first = d->held;
	int r;

	d->begun = true;
	d->mime.blank = true;
	d->held = (struct buf){};
	if (!first.len)
		return 0;
	d->wide = find_wide(first.data, first.len);
	d->cr_counts = !memchr(first.data, '\n', first.len);
	if (d->wide == WIDE_NO)
		d->printable = !says_encoding(&first) && is_printable(first.data, first.len);
	r = d->printable
		    ? d->remark(d, 1,
				"the text is read as quoted-printable: all \"=\" in it are codes",
				e)
		    : 0;
	if (r == 0)
		r = add(d, first.data, first.len, e);
	buf_release(&first);
	return r;
}

int decoder_add(struct decoder *d, const char *data, size_t len, struct err *e)
{
	size_t n;
	int r;

	if (d->begun)
		return add(d, data, len, e);
	n = DECODE_WINDOW - d->held.len;
	n = len < n ? len : n;
	if (buf_add(&d->held, data, n) < 0)
		return err_nomem(e, "import");
	if (d->held.len < DECODE_WINDOW)
		return 0;
	r = begin(d, e);
	return r < 0 || n == len ? r : add(d, data + n, len - n, e);
}

int decoder_end(struct decoder *d, struct err *e)
{
	int r = d->begun ? 0 : begin(d, e);

	if (r == 0 && (d->held.len || d->rest))
		r = put(d, buf_str(&d->held), d->held.len, false, e);
	return r < 0 ? r : hand_plain(d, true, e);
}

void decoder_release(struct decoder *d)
{
	buf_release(&d->held);
	buf_release(&d->narrow);
	buf_release(&d->plain);
	mime_release(&d->mime);
}
