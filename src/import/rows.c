// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/label.h"
#include "import/reader.h"

/* All the ways in which a row may be whole: alone, with the lines behind it, without what others
 * have written into it, before it or behind it. */

struct import_line rows_view(const struct slot *s)
{
	return (struct import_line){ buf_str(&s->line.text) + s->skip, s->line.text.len - s->skip,
				     s->line.nr, s->line.redrawn };
}

struct slot *rows_following(struct import_reader *r, size_t i)
{
	while (++i < r->nr_ahead)
		if (!r->ahead[i].kernel)
			return &r->ahead[i];
	return NULL;
}

/* A line behind the row, without what stands in front of the row too. */
static struct import_line view_behind(const struct import_reader *r, struct slot *s)
{
	uint64_t number;

	if (!s)
		return (struct import_line){ .s = "" };
	s->skip = frame_match(&r->frame, buf_str(&s->line.text), &number);
	return rows_view(s);
}

/* The same row without the prompt that a shell has printed into it. */
static int try_without_prompt(struct import_feed *f, const struct import_line *l,
			      const struct import_line *next)
{
	_cleanup_(buf_release) struct buf mended = {};
	struct import_line line = *l;
	const char *at;
	size_t n = label_find_prompt(l->s, &at);

	if (!n)
		return -EBADMSG;
	buf_add(&mended, l->s, (size_t)(at - l->s));
	buf_puts(&mended, at + n);
	if (mended.failed)
		return -ENOMEM;
	line.s = buf_str(&mended);
	line.len = mended.len;
	return f->ops->sniff(f, &line) == IMPORT_ROW ? f->ops->row(f, &line, next) : -EBADMSG;
}

/* The same row with two lines behind it. */
static int try_two_more(struct import_feed *f, const struct import_line *l,
			const struct import_line *next, const struct import_line *last)
{
	_cleanup_(buf_release) struct buf joined = {};
	struct import_line both = *next;

	if (!next->len || !last->len)
		return -EBADMSG;
	if (buf_printf(&joined, "%s %s", next->s, last->s) < 0)
		return -ENOMEM;
	both.s = buf_str(&joined);
	both.len = joined.len;
	return f->ops->row(f, l, &both);
}

/* The same row without what its reader has written behind it. */
static int try_without_note(struct import_feed *f, const struct import_line *l)
{
	static const struct import_line none = { .s = "" };
	_cleanup_(buf_release) struct buf cut = {};
	struct import_line line = *l;
	const char *note = frame_find_note(l->s);

	if (!note)
		return -EBADMSG;
	buf_add(&cut, l->s, (size_t)(note - l->s));
	if (cut.failed)
		return -ENOMEM;
	line.s = buf_str(&cut);
	line.len = cut.len;
	return f->ops->sniff(f, &line) == IMPORT_ROW ? f->ops->row(f, &line, &none) : -EBADMSG;
}

/* The same row behind what stands in front of it. */
static int try_behind(struct import_reader *r, struct import_feed *f, struct slot *s)
{
	const char *text = buf_str(&s->line.text);
	struct frame frame = {};
	int took = -EBADMSG;
	size_t n;

	while (took == -EBADMSG && (n = frame_more(&frame, text)) != 0) {
		struct import_line l, next;
		struct frame before = r->frame;

		if (n <= s->skip)
			continue;
		r->frame = frame;
		l = (struct import_line){ text + n, s->line.text.len - n, s->line.nr,
					  s->line.redrawn };
		next = view_behind(r, rows_following(r, 0));
		if (f->ops->sniff(f, &l) == IMPORT_ROW)
			took = f->ops->row(f, &l, &next);
		if (took == -EBADMSG)
			r->frame = before;
	}
	return took;
}

int rows_read(struct import_reader *r, struct import_feed *f, size_t *ret_used)
{
	struct slot *s = &r->ahead[0], *second = rows_following(r, 0);
	struct slot *third = second ? rows_following(r, (size_t)(second - r->ahead)) : NULL;
	struct import_line l = rows_view(s);
	struct import_line next = view_behind(r, second), last = view_behind(r, third);
	const char *reason;
	int took = f->ops->row(f, &l, &next);

	*ret_used = took == 1;
	if (took != -EBADMSG)
		return took;
	reason = f->reason;
	took = try_without_prompt(f, &l, &next);
	*ret_used = took == 1;
	if (took == -EBADMSG) {
		took = try_two_more(f, &l, &next, &last);
		*ret_used = took == 1 ? 2 : 0;
		if (took == 0) /* it was whole before: cannot be */
			took = -EBADMSG;
	}
	if (took == -EBADMSG)
		took = try_without_note(f, &l);
	if (took == -EBADMSG && (s->marks & ((1ULL << IMPORT_NR_FORMATS) - 1))) {
		took = try_behind(r, f, s);
		*ret_used = took == 1;
	}
	if (took == -EBADMSG)
		f->reason = reason;
	return took;
}
