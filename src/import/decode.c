// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/decode.h"

#include <string.h>

#include "base/err.h"

static int put(struct decoder *d, const char *s, size_t len, bool more, struct err *e)
{
	d->nr += !d->rest;
	d->rest = more;
	return d->emit(d, s, len, d->nr, more, e);
}

/* Where to cut a line that is too long: behind the last CR, else behind the last blank. */
static size_t cut(const char *s, size_t len)
{
	const char *at = memrchr(s, '\r', len);

	if (!at)
		at = memrchr(s, ' ', len);
	return at ? (size_t)(at + 1 - s) : len;
}

/* All lines that end in [@s, @s + @len). Return: 0, or what emit returned; *ret_used: bytes done
 * with. */
static int take(struct decoder *d, const char *s, size_t len, size_t *ret_used, struct err *e)
{
	const char *start = s, *end = s + len;
	int r = 0;

	while (r == 0 && s < end) {
		const char *lf = memchr(s, '\n', (size_t)(end - s));

		if (lf) {
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

int decoder_add(struct decoder *d, const char *data, size_t len, struct err *e)
{
	size_t used, n;
	int r;

	if (!d->begun && len) {
		d->begun = true;
		d->cr_counts = !memchr(data, '\n', len);
	}
	if (d->held.len) {
		const char *lf = memchr(data, '\n', len);

		n = lf ? (size_t)(lf + 1 - data) : len;
		if (buf_add(&d->held, data, n) < 0)
			return err_nomem(e, "import");
		r = take(d, d->held.data, d->held.len, &used, e);
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

int decoder_end(struct decoder *d, struct err *e)
{
	if (!d->held.len && !d->rest)
		return 0;
	return put(d, buf_str(&d->held), d->held.len, false, e);
}

void decoder_release(struct decoder *d)
{
	buf_release(&d->held);
}
