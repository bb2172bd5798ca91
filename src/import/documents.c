// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "import/reader.h"

/*
 * Documents of JSON in a text.  One begins where a line, or what stands behind a prefix on it,
 * begins with "{" and goes on as an object does.  Lines that cannot belong to it (an error message,
 * the kernel's) are given to the text formats and it goes on behind them; where it breaks off, what
 * was there is used and said to be broken off.
 */

#define ODD_LINES 4	/* other lines in a row until a document is given up */
#define STRING_LINES 64 /* lines that one string may be wrapped over */

static int say_broken(struct import_reader *r, size_t line, const char *why, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};

	if (buf_printf(&text, "a JSON document that begins at line %zu breaks off here: %s",
		       r->doc.line, why) < 0)
		return err_nomem(e, "import");
	return r->sink->remark(r->sink, line, buf_str(&text), e);
}

/* Whose document it is, as far as it is there. */
static void recognise(struct import_reader *r)
{
	struct document *d = &r->doc;

	for (size_t i = 0; i < IMPORT_NR_FORMATS && !d->ops; i++) {
		if (!import_formats[i]->json_sniff || !import_formats[i]->json_sniff(d->parser.top))
			continue;
		d->ops = import_formats[i];
		d->feed = &r->f[i].feed;
	}
}

static void tell(const struct document *d, size_t nr)
{
	d->feed->document = d->parser.top;
	d->feed->document_line = d->line;
	d->feed->document_last_line = nr;
}

static void count_row(struct document *d, size_t nr)
{
	if (!d->feed->run)
		return;
	d->feed->run->last_line = nr;
	d->feed->run->rows++;
}

static int hand_item(struct import_reader *r, const char *key, const struct json_val *item,
		     size_t nr, struct err *e)
{
	struct document *d = &r->doc;
	size_t runs = r->nr_opened;
	int took;

	reader_label(r, d->feed);
	tell(d, nr);
	took = d->ops->json_item(d->feed, key, item, nr);
	if (took == 0)
		count_row(d, nr);
	return reader_settle(r, d->feed, runs, nr, took, e);
}

/* An element of a top array is whole. */
static int take_item(struct import_reader *r, size_t nr, struct err *e)
{
	struct document *d = &r->doc;
	const struct json_val *array = d->parser.stack[1];
	int failed;

	if (!d->ops)
		recognise(r);
	if (!d->ops || !d->ops->json_item || !array->key)
		return 0;
	failed = hand_item(r, array->key, d->parser.item, nr, e);
	json_drop_item(&d->parser);
	return failed;
}

/* Elements that came before it was known whose document it is. */
static int hand_late_items(struct import_reader *r, size_t nr, struct err *e)
{
	struct json_val *top = r->doc.parser.top;
	int failed = 0;

	for (struct json_val *v = top->child; v && failed == 0; v = v->next) {
		if (v->kind != JSON_ARRAY)
			continue;
		for (const struct json_val *item = v->child; item && failed == 0; item = item->next)
			failed = hand_item(r, v->key, item, nr, e);
		v->child = v->last = NULL;
	}
	return failed;
}

/* ---- text in strings: what an API says of an issue, what a play book has run */

/* Whether the elements of array @v are lines of a text. */
static bool is_lines(const struct json_val *v)
{
	size_t n = 0;

	for (const struct json_val *item = v->child; item; item = item->next, n++)
		if (item->kind != JSON_STRING)
			return false;
	return n > 1;
}

static void put_lines(struct buf *out, const char *s)
{
	buf_puts(out, s);
	buf_putc(out, '\n');
}

/* Append the strings in @top that hold lines, in their order. */
static void gather_texts(const struct json_val *top, struct buf *out)
{
	const struct json_val *stack[JSON_DEPTH + 1] = { top->child };
	size_t depth = top->child ? 1 : 0;

	while (depth > 0) {
		const struct json_val *v = stack[depth - 1];
		bool lines = v->kind == JSON_ARRAY && is_lines(v);

		stack[depth - 1] = v->next;
		depth -= !v->next;
		if (v->kind == JSON_STRING && strchr(v->text, '\n'))
			put_lines(out, v->text);
		if (v->kind != JSON_ARRAY && v->kind != JSON_OBJECT)
			continue;
		for (const struct json_val *item = v->child; item && lines; item = item->next)
			put_lines(out, item->text);
		if (v->child && !lines && depth <= JSON_DEPTH)
			stack[depth++] = v->child;
	}
}

/* A document that is no program's.  Its strings may hold another one, but no third. */
static int take_foreign(struct import_reader *r, bool whole, size_t nr, struct err *e)
{
	struct document *d = &r->doc;
	size_t before = r->texts.len;

	if (!r->in_texts)
		gather_texts(d->parser.top, &r->texts);
	if (r->texts.failed)
		return err_nomem(e, "import");
	r->texts_line = nr; /* behind all lines that have come */
	if (r->texts.len > before)
		return r->sink->remark(r->sink, d->line,
				       "the text in the strings of a JSON document is read", e);
	if (!whole || nr == d->line)
		return 0;
	return r->sink->remark(r->sink, d->line, "a JSON document that no format knows", e);
}

/* The document is whole, or @why it is not. */
static int close_document(struct import_reader *r, size_t nr, const char *why, struct err *e)
{
	struct document *d = &r->doc;
	size_t runs;
	int failed = 0, took;

	if (why)
		json_break(&d->parser);
	d->open = false;
	if (!d->parser.top)
		return 0;
	if (!d->ops)
		recognise(r);
	if (why && (d->ops || nr > d->line + 2))
		failed = say_broken(r, nr, why, e);
	if (failed < 0)
		return failed;
	if (!d->ops)
		return take_foreign(r, !why, nr, e);
	if (d->ops->json_item)
		failed = hand_late_items(r, nr, e);
	if (failed < 0)
		return failed;
	runs = r->nr_opened;
	reader_label(r, d->feed);
	tell(d, nr);
	took = d->ops->json_doc(d->feed, d->parser.top, d->line, why != NULL);
	if (took == 0 && d->feed->run)
		d->feed->run->last_line = nr;
	failed = reader_settle(r, d->feed, runs, d->line, took, e);
	d->feed->text_between = false;
	d->feed->text_line = 0;
	return failed < 0 ? failed : reader_deliver(r, e);
}

/* A line, or what is left of it, and what became of it. */
struct part {
	const char *s;
	size_t len, nr;
	size_t used;	 /* bytes read; all but where a document has ended or broken */
	const char *why; /* ... broken: why */
	bool text;	 /* it is none of the document's lines */
};

static int feed(struct import_reader *r, struct part *p, struct err *e)
{
	struct document *d = &r->doc;
	int failed = 0;

	p->why = NULL;
	p->used = 0;
	while (failed == 0 && d->open && !p->why && p->used < p->len) {
		size_t used;
		enum json_state state =
			json_feed(&d->parser, p->s + p->used, p->len - p->used, &used);

		p->used += used;
		if (state == JSON_ITEM)
			failed = take_item(r, p->nr, e);
		else if (state == JSON_DONE)
			failed = close_document(r, p->nr, NULL, e);
		else if (state == JSON_BROKEN)
			p->why = d->parser.why;
	}
	return failed;
}

/* The end of a line that the document goes on behind. */
static int feed_end(struct import_reader *r, size_t nr, const char **ret_why, struct err *e)
{
	struct part end = { .s = "\n", .len = 1, .nr = nr };
	int failed = feed(r, &end, e);

	*ret_why = end.why;
	return failed;
}

/* Where in the line a document may begin, or NULL. */
static const char *find_start(const char *s, size_t len)
{
	const char *at = memchr(s, '{', len);
	struct frame frame;

	for (; at; at = strchr(at + 1, '{')) {
		const char *p = at + 1;
		bool apart = at == s || at[-1] == ' ' || at[-1] == ':';

		p += *p == ' ';
		if (*p != '"' && *p != '}' && *p)
			continue;
		if (*p == '"' ? apart : *p == '}' ? at == s : at == s || at[-1] == ' ')
			return at;
		if (*p != '}' && frame_of(s, (size_t)(at - s), &frame))
			return at;
	}
	return NULL;
}

/* Whether an object begins here whatever was open before: it had broken off. */
static bool restarts(const struct document *d, const char *s)
{
	if (*s != '{' || (s[1] && s[1] != '"' && s[1] != ' '))
		return false;
	return d->parser.token == JSON_TOKEN_STRING ||
	       d->parser.expect == JSON_EXPECT_COMMA_OR_END || d->parser.expect == JSON_EXPECT_KEY;
}

/* Why line @p cannot go on with the document that is open, or NULL; it may be one of a few other
 * lines between then (p->text). */
static const char *check_line(struct document *d, struct part *p)
{
	if (d->parser.token == JSON_TOKEN_STRING)
		return ++d->odd_lines > STRING_LINES ? "a string does not end" : NULL;
	if (!p->len || json_accepts(&d->parser, *p->s)) {
		d->odd_lines = 0;
		return NULL;
	}
	p->text = true;
	return ++d->odd_lines < ODD_LINES ? NULL : "other text follows";
}

/* Line or piece @p while a document is open. @rest: it is no line's beginning. */
static int go_on(struct import_reader *r, struct part *p, bool rest, struct err *e)
{
	struct document *d = &r->doc;
	const char *why = NULL;
	int failed = 0;

	p->used = 0;
	p->text = false;
	if (!rest && restarts(d, p->s))
		return close_document(r, p->nr, "another one begins", e);
	if (!rest) /* the line before has ended */
		failed = feed_end(r, p->nr, &why, e);
	if (failed == 0 && !why && !rest)
		why = check_line(d, p);
	if (failed < 0 || (p->text && !why))
		return failed;
	if (!why) {
		failed = feed(r, p, e);
		why = p->why;
	}
	if (failed < 0 || !why || !d->open)
		return failed;
	p->text = true;
	p->used = 0;
	return close_document(r, p->nr, why, e);
}

/* A document may begin at @at in @p. p->used: how much was read; 0: it is none. */
static int begin(struct import_reader *r, struct part *p, const char *at, struct err *e)
{
	struct document *d = &r->doc;
	struct part body = { .s = at, .len = p->len - (size_t)(at - p->s), .nr = p->nr };
	int failed = reader_flush(r, e);

	p->used = 0;
	if (failed < 0)
		return failed;
	json_start(&d->parser);
	d->open = true;
	d->ops = NULL;
	d->line = p->nr;
	d->odd_lines = 0;
	buf_reset(&d->prefix);
	if (buf_add(&d->prefix, p->s, (size_t)(at - p->s)) < 0)
		return err_nomem(e, "import");
	d->frame = (struct frame){};
	(void)frame_of(p->s, d->prefix.len, &d->frame);
	failed = feed(r, &body, e);
	if (failed == 0 && body.why && !d->ops) {
		d->open = false; /* something else in braces */
		return 0;
	}
	if (failed == 0 && body.why)
		failed = close_document(r, p->nr, body.why, e);
	p->used = (size_t)(at - p->s) + body.used;
	return failed;
}

/* @s behind what stood before the document on its first line, or the like of it. */
static const char *behind_prefix(struct document *d, const char *s)
{
	size_t n = d->prefix.len;

	if (!n)
		return s;
	if (strncmp(s, buf_str(&d->prefix), n) == 0)
		return s + n + (s[n] == ' ');
	return s + frame_match(&d->frame, s, &d->frame.number);
}

/* The lines that documents have held. */
static int read_texts(struct import_reader *r, size_t nr, struct err *e)
{
	int failed = 0;

	if (!r->texts.len || r->in_texts)
		return 0;
	r->in_texts = true;
	for (const char *s = buf_str(&r->texts); *s && failed == 0;) {
		size_t n = strcspn(s, "\n");

		failed = cleaner_line(&r->inner, s, n, r->texts_line, false, e);
		s += n + (s[n] == '\n');
	}
	if (failed == 0 && r->doc.open)
		failed = close_document(r, nr, "the string that it stands in ends", e);
	r->in_texts = false;
	buf_reset(&r->texts);
	return failed;
}

int document_line(struct import_reader *r, const struct line *l, struct err *e)
{
	struct document *d = &r->doc;
	struct part p = { .s = buf_str(&l->text), .len = l->text.len, .nr = l->nr };
	int failed = 0;

	if (!d->open && !memchr(p.s, '{', p.len))
		return l->rest ? 0 : reader_text(r, p.s, p.len, l, e);
	do {
		const char *s = d->open ? behind_prefix(d, p.s) : p.s, *at;

		p.len -= (size_t)(s - p.s);
		p.s = s;
		p.text = true;
		if (d->open) {
			failed = go_on(r, &p, l->rest, e);
		} else {
			at = find_start(p.s, p.len);
			if (!at)
				break;
			failed = begin(r, &p, at, e);
			p.text = p.used == 0;
		}
		p.s += p.used;
		p.len -= p.used;
		p.used = 0;
	} while (failed == 0 && !p.text && !d->open && p.len);
	if (failed == 0 && r->texts.len)
		failed = read_texts(r, l->nr, e);
	if (failed < 0 || !p.text || !p.len || l->rest)
		return failed;
	return reader_text(r, p.s, p.len, l, e);
}

int document_end(struct import_reader *r, struct err *e)
{
	const char *why;
	int failed = r->doc.open ? feed_end(r, r->decoder.nr, &why, e) : 0;

	if (failed < 0 || !r->doc.open)
		return failed;
	failed = close_document(r, r->decoder.nr, "the text ends", e);
	return failed < 0 ? failed : read_texts(r, r->decoder.nr, e);
}

void document_release(struct document *d)
{
	json_release(&d->parser);
	buf_release(&d->prefix);
}
