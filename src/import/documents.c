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
	if (failed == 0 && !why && !d->ops && nr > d->line)
		failed = r->sink->remark(r->sink, d->line, "a JSON document that no format knows",
					 e);
	if (failed < 0 || !d->ops)
		return failed;
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

/* Feed bytes of one line. *ret_used: those read; all but where a document has ended or broken. */
static int feed(struct import_reader *r, const char *s, size_t len, size_t nr, size_t *ret_used,
		const char **ret_why, struct err *e)
{
	struct document *d = &r->doc;
	size_t at = 0, used;
	int failed = 0;

	*ret_why = NULL;
	while (failed == 0 && d->open && at < len) {
		enum json_state state = json_feed(&d->parser, s + at, len - at, &used);

		at += used;
		if (state == JSON_ITEM)
			failed = take_item(r, nr, e);
		else if (state == JSON_DONE)
			failed = close_document(r, nr, NULL, e);
		else if (state == JSON_BROKEN)
			*ret_why = d->parser.why;
		if (state == JSON_BROKEN)
			break;
	}
	*ret_used = at;
	return failed;
}

/* Where in the line a document may begin, or NULL. */
static const char *find_start(const char *s, size_t len)
{
	const char *at = memchr(s, '{', len);

	for (; at; at = strchr(at + 1, '{')) {
		const char *p = at + 1;

		if (at > s && at[-1] != ' ' && at[-1] != ':')
			continue;
		p += *p == ' ';
		if (*p == '"' || (*p == '}' && at == s) || (!*p && (at == s || at[-1] == ' ')))
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

/* Line @s while a document is open. *ret_text: it is none of its lines. */
static int go_on(struct import_reader *r, const char *s, size_t len, const struct line *l,
		 size_t *ret_used, bool *ret_text, struct err *e)
{
	struct document *d = &r->doc;
	const char *why = NULL;
	bool string = d->parser.token == JSON_TOKEN_STRING;
	int failed = 0;
	size_t used;

	*ret_used = 0;
	*ret_text = false;
	if (!l->rest && restarts(d, s))
		return close_document(r, l->nr, "another one begins", e);
	if (!l->rest) /* the line before has ended */
		failed = feed(r, "\n", 1, l->nr, &used, &why, e);
	if (failed == 0 && !why && len && !string && !l->rest && !json_accepts(&d->parser, *s)) {
		*ret_text = true;
		if (++d->odd_lines < ODD_LINES)
			return 0;
		return close_document(r, l->nr, "other text follows", e);
	}
	if (string && ++d->odd_lines > STRING_LINES)
		return close_document(r, l->nr, "a string does not end", e);
	if (!string)
		d->odd_lines = 0;
	if (failed == 0 && !why)
		failed = feed(r, s, len, l->nr, ret_used, &why, e);
	if (failed == 0 && why && d->open) {
		*ret_text = true;
		*ret_used = 0;
		return close_document(r, l->nr, why, e);
	}
	return failed;
}

/* A document may begin at @at in @s. *ret_used: how much of @s was read; 0: it is none. */
static int begin(struct import_reader *r, const char *s, const char *at, const struct line *l,
		 size_t *ret_used, struct err *e)
{
	struct document *d = &r->doc;
	size_t used, len = l->text.len - (size_t)(at - buf_str(&l->text));
	const char *why;
	int failed = reader_flush(r, e);

	*ret_used = 0;
	if (failed < 0)
		return failed;
	json_begin(&d->parser);
	d->open = true;
	d->ops = NULL;
	d->line = l->nr;
	d->odd_lines = 0;
	buf_reset(&d->prefix);
	if (buf_add(&d->prefix, s, (size_t)(at - s)) < 0)
		return err_nomem(e, "import");
	failed = feed(r, at, len, l->nr, &used, &why, e);
	if (failed == 0 && why && !d->ops) {
		d->open = false; /* something else in braces */
		return 0;
	}
	if (failed == 0 && why)
		failed = close_document(r, l->nr, why, e);
	*ret_used = (size_t)(at - s) + used;
	return failed;
}

/* @s behind what stood before the document on its first line. */
static const char *behind_prefix(const struct document *d, const char *s)
{
	size_t n = d->prefix.len;

	if (!n || strncmp(s, buf_str(&d->prefix), n) != 0)
		return s;
	return s + n;
}

int document_line(struct import_reader *r, const struct line *l, struct err *e)
{
	struct document *d = &r->doc;
	const char *s = buf_str(&l->text), *end = s + l->text.len;
	bool text = true;
	int failed = 0;

	if (!d->open && !memchr(s, '{', l->text.len))
		return l->rest ? 0 : reader_text(r, s, l->text.len, l, e);
	do {
		size_t used = 0;
		const char *at;

		text = true;
		if (d->open) {
			s = behind_prefix(d, s);
			failed = go_on(r, s, (size_t)(end - s), l, &used, &text, e);
			s += used;
			if (failed < 0 || d->open || text)
				break;
			continue;
		}
		at = find_start(s, (size_t)(end - s));
		if (!at)
			break;
		failed = begin(r, s, at, l, &used, e);
		text = used == 0;
		s += used;
	} while (failed == 0 && !text && !d->open && s < end);
	if (failed < 0 || !text || s == end || l->rest)
		return failed;
	return reader_text(r, s, (size_t)(end - s), l, e);
}

int document_end(struct import_reader *r, struct err *e)
{
	size_t used;
	const char *why = NULL;
	int failed = 0;

	if (r->doc.open) /* a number may end here */
		failed = feed(r, "\n", 1, r->decoder.nr, &used, &why, e);
	if (failed < 0 || !r->doc.open)
		return failed;
	return close_document(r, r->decoder.nr, "the text ends", e);
}

void document_release(struct document *d)
{
	json_release(&d->parser);
	buf_release(&d->prefix);
}
