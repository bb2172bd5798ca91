// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/json_parser.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536U

struct json_chunk {
	struct json_chunk *below;
	size_t size, used;
	max_align_t data[];
};

/* ---- memory */

static void *arena_take(struct json_arena *a, size_t n)
{
	size_t size = n > CHUNK ? n : CHUNK;
	struct json_chunk *c = a->top;
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (!c || c->size - c->used < n) {
		if (a->total + n > JSON_MEMORY)
			return NULL;
		if (a->spare && n <= CHUNK) {
			c = a->spare;
			a->spare = NULL;
		} else {
			size = (size + 15) & ~(size_t)15;
			c = malloc(sizeof(*c) + size);
			if (!c)
				return NULL;
			c->size = size;
		}
		c->used = 0;
		c->below = a->top;
		a->top = c;
		a->total += c->size;
	}
	p = (char *)c->data + c->used;
	c->used += n;
	return p;
}

static struct json_place arena_place(const struct json_arena *a)
{
	return (struct json_place){ a->top, a->top ? a->top->used : 0 };
}

static void arena_return(struct json_arena *a, struct json_place to)
{
	while (a->top && a->top != to.chunk) {
		struct json_chunk *c = a->top;

		a->top = c->below;
		a->total -= c->size;
		if (!a->spare && c->size == CHUNK)
			a->spare = c;
		else
			free(c);
	}
	if (a->top)
		a->top->used = to.used;
}

/* ---- values */

/* A value in the innermost container, or the top one. NULL: no memory left. */
static struct json_val *add_value(struct json_parser *p, enum json_kind kind)
{
	struct json_place place = arena_place(&p->arena);
	struct json_val *v = arena_take(&p->arena, sizeof(*v));
	struct json_val *in = p->depth ? p->stack[p->depth - 1] : NULL;

	if (!v)
		return NULL;
	*v = (struct json_val){ .kind = kind, .key = p->key };
	p->key = NULL;
	if (!in) {
		p->top = v;
		return v;
	}
	if (p->depth == 2 && in->kind == JSON_ARRAY) {
		p->item_place = place;
		p->before_item = in->last;
		p->item = v;
	}
	if (in->last)
		in->last->next = v;
	else
		in->child = v;
	in->last = v;
	return v;
}

/* The token's text in the arena. */
static const char *keep_text(struct json_parser *p)
{
	char *s = arena_take(&p->arena, p->text.len + 1);

	if (s)
		memcpy(s, buf_str(&p->text), p->text.len + 1);
	return s;
}

/* Behind a value: a top array's element is whole, or the document, or neither. */
static enum json_state value_ended(struct json_parser *p)
{
	p->expect = JSON_EXPECT_COMMA_OR_END;
	if (p->depth == 0)
		return JSON_DONE;
	return p->depth == 2 && p->stack[1]->kind == JSON_ARRAY ? JSON_ITEM : JSON_MORE;
}

static enum json_state broken(struct json_parser *p, const char *why)
{
	p->why = why;
	return JSON_BROKEN;
}

static enum json_state no_room(struct json_parser *p)
{
	return broken(p, "the JSON document is too large to be kept");
}

/* ---- tokens */

/* The number in @s when it is one of JSON's or nearly so; exact below 2^53 and 10^22. */
static bool number_of(const char *s, size_t len, double *ret)
{
	static const double tens[] = { 1,   1e1, 1e2,  1e3,  1e4,  1e5,	 1e6,  1e7,
				       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
	const char *p = s + (*s == '-');
	uint64_t mantissa = 0;
	size_t digits = 0, decimals = 0;
	bool point = false;
	char *end;

	for (; isdigit((unsigned char)*p) || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		mantissa = mantissa * 10 + (uint64_t)(*p - '0');
		decimals += point;
		if (++digits > 15)
			break;
	}
	if (!*p && digits) {
		*ret = (*s == '-' ? -1 : 1) * ((double)mantissa / tens[decimals]);
		return true;
	}
	if (len > 64 || (!isdigit((unsigned char)*s) && !strchr("-+niNI", *s)))
		return false;
	if (strpbrk(s, "xXpP"))
		return false;
	*ret = strtod(s, &end);
	return *end == '\0';
}

static enum json_state end_word(struct json_parser *p)
{
	const char *s = buf_str(&p->text);
	struct json_val *v;
	double n = 0;
	enum json_kind kind = JSON_NUMBER;

	p->token = JSON_TOKEN_NONE;
	if (strcmp(s, "null") == 0)
		kind = JSON_NULL;
	else if (strcmp(s, "true") == 0 || strcmp(s, "false") == 0)
		kind = JSON_BOOL;
	else if (!number_of(s, p->text.len, &n))
		return broken(p, "a word that is no value of JSON");
	v = add_value(p, kind);
	if (!v)
		return no_room(p);
	v->number = kind == JSON_BOOL ? *s == 't' : n;
	v->text = kind == JSON_NUMBER ? keep_text(p) : NULL;
	if (kind == JSON_NUMBER && !v->text)
		return no_room(p);
	return value_ended(p);
}

static enum json_state end_string(struct json_parser *p)
{
	bool key = p->expect == JSON_EXPECT_KEY || p->expect == JSON_EXPECT_KEY_OR_END;
	struct json_val *v = key ? NULL : add_value(p, JSON_STRING);
	const char *s = key || v ? keep_text(p) : NULL;

	p->token = JSON_TOKEN_NONE;
	if (!s)
		return no_room(p);
	if (key) {
		p->key = s;
		p->expect = JSON_EXPECT_COLON;
		return JSON_MORE;
	}
	v->text = s;
	return value_ended(p);
}

static void put_utf8(struct buf *b, uint32_t c)
{
	if (c == 0)
		c = 0xfffd; /* text ends at NUL here */
	if (c < 0x80) {
		buf_putc(b, (char)c);
	} else if (c < 0x800) {
		buf_putc(b, (char)(0xc0 | c >> 6));
		buf_putc(b, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_putc(b, (char)(0xe0 | c >> 12));
		buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_putc(b, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_putc(b, (char)(0xf0 | c >> 18));
		buf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_putc(b, (char)(0x80 | (c & 0x3f)));
	}
}

/* A whole \uXXXX. */
static void end_hex(struct json_parser *p)
{
	uint32_t c = p->hex;

	if (c >= 0xdc00 && c < 0xe000 && p->high)
		c = 0x10000 + ((p->high - 0xd800) << 10) + (c - 0xdc00);
	else if (p->high || (c >= 0xdc00 && c < 0xe000))
		put_utf8(&p->text, 0xfffd);
	p->high = 0;
	if (c >= 0xd800 && c < 0xdc00)
		p->high = c;
	else if (c < 0xdc00 || c >= 0xe000)
		put_utf8(&p->text, c);
}

static bool hex_digit(struct json_parser *p, char c)
{
	if (!isxdigit((unsigned char)c))
		return false;
	p->hex = p->hex << 4 |
		 (uint32_t)(isdigit((unsigned char)c) ? c - '0'
						      : tolower((unsigned char)c) - 'a' + 10);
	if (--p->hex_left == 0)
		end_hex(p);
	return true;
}

/* Half of a pair whose other half has not come. */
static void end_half(struct json_parser *p)
{
	if (p->high)
		put_utf8(&p->text, 0xfffd);
	p->high = 0;
}

static bool escaped(struct json_parser *p, char c)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *s;

	if (p->hex_left)
		return hex_digit(p, c);
	p->escape = false;
	if (c == 'u') {
		p->hex_left = 4;
		p->hex = 0;
		return true;
	}
	end_half(p);
	s = c ? strchr(from, c) : NULL;
	if (s)
		buf_putc(&p->text, to[s - from]);
	return s != NULL;
}

/* Inside a string. *i: the byte to read; behind the last that was read afterwards. */
static enum json_state in_string(struct json_parser *p, const char *s, size_t len, size_t *i)
{
	while (*i < len) {
		size_t n = *i;

		if (p->escape || p->hex_left) {
			if (!escaped(p, s[(*i)++]))
				return broken(p, "an escape in a string that JSON does not know");
			continue;
		}
		while (n < len && s[n] != '"' && s[n] != '\\')
			n++;
		if (n > *i || (n < len && s[n] == '"'))
			end_half(p);
		if (buf_add(&p->text, s + *i, n - *i) < 0 || p->text.len > JSON_MEMORY / 4)
			return no_room(p);
		*i = n + (n < len);
		if (n == len)
			break;
		if (s[n] == '"')
			return end_string(p);
		p->escape = true;
	}
	return JSON_MORE;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '+' || c == '.';
}

static enum json_state in_word(struct json_parser *p, const char *s, size_t len, size_t *i)
{
	size_t n = *i;

	while (n < len && is_word(s[n]))
		n++;
	if (p->text.len + n - *i > 400)
		return broken(p, "a word that is no value of JSON");
	if (buf_add(&p->text, s + *i, n - *i) < 0)
		return no_room(p);
	*i = n;
	return n < len ? end_word(p) : JSON_MORE;
}

/* ---- structure */

static enum json_state open_container(struct json_parser *p, enum json_kind kind)
{
	struct json_val *v;

	if (p->depth == JSON_DEPTH)
		return broken(p, "JSON nested too deeply");
	v = add_value(p, kind);
	if (!v)
		return no_room(p);
	p->stack[p->depth++] = v;
	p->expect = kind == JSON_OBJECT ? JSON_EXPECT_KEY_OR_END : JSON_EXPECT_VALUE_OR_END;
	return JSON_MORE;
}

static enum json_state close_container(struct json_parser *p, enum json_kind kind)
{
	if (p->stack[p->depth - 1]->kind != kind)
		return broken(p, "a bracket of JSON that closes another one");
	p->depth--;
	return value_ended(p);
}

static enum json_state open_token(struct json_parser *p, char c)
{
	buf_reset(&p->text);
	p->escape = false;
	p->hex_left = 0;
	p->high = 0;
	p->token = c == '"' ? JSON_TOKEN_STRING : JSON_TOKEN_WORD;
	if (c != '"')
		buf_putc(&p->text, c);
	return JSON_MORE;
}

static enum json_state structure(struct json_parser *p, char c)
{
	bool object = p->depth && p->stack[p->depth - 1]->kind == JSON_OBJECT;

	if (!json_accepts(p, c))
		return broken(p, "no JSON any more");
	switch (c) {
	case '{':
		return open_container(p, JSON_OBJECT);
	case '[':
		return open_container(p, JSON_ARRAY);
	case '}':
		return close_container(p, JSON_OBJECT);
	case ']':
		return close_container(p, JSON_ARRAY);
	case ':':
		p->expect = JSON_EXPECT_VALUE;
		return JSON_MORE;
	case ',':
		p->expect = object ? JSON_EXPECT_KEY : JSON_EXPECT_VALUE;
		return JSON_MORE;
	default:
		return open_token(p, c);
	}
}

bool json_accepts(const struct json_parser *p, char c)
{
	switch (p->expect) {
	case JSON_EXPECT_COLON:
		return c == ':';
	case JSON_EXPECT_COMMA_OR_END:
		return c == ',' || c == '}' || c == ']';
	case JSON_EXPECT_KEY: /* a comma too many is forgiven */
	case JSON_EXPECT_KEY_OR_END:
		return c == '"' || c == '}';
	case JSON_EXPECT_VALUE_OR_END:
	case JSON_EXPECT_VALUE:
		break;
	}
	if (c == ']')
		return p->depth && p->stack[p->depth - 1]->kind == JSON_ARRAY;
	if (c == '{' || (p->depth && c && strchr("[\"-+tfniNI", c)))
		return true;
	return p->depth && isdigit((unsigned char)c);
}

enum json_state json_feed(struct json_parser *p, const char *s, size_t len, size_t *ret_used)
{
	enum json_state state = JSON_MORE;
	size_t i = 0;

	while (i < len && state == JSON_MORE) {
		if (p->token == JSON_TOKEN_STRING)
			state = in_string(p, s, len, &i);
		else if (p->token == JSON_TOKEN_WORD)
			state = in_word(p, s, len, &i);
		else if (s[i] == ' ' || s[i] == '\n')
			i++;
		else
			state = structure(p, s[i++]);
	}
	*ret_used = i;
	return state;
}

void json_start(struct json_parser *p)
{
	arena_return(&p->arena, (struct json_place){});
	p->depth = 0;
	p->expect = JSON_EXPECT_VALUE;
	p->token = JSON_TOKEN_NONE;
	p->key = NULL;
	p->top = p->item = NULL;
}

void json_drop_item(struct json_parser *p)
{
	struct json_val *in = p->stack[1];

	if (!p->item || p->depth < 2)
		return;
	in->last = p->before_item;
	if (in->last)
		in->last->next = NULL;
	else
		in->child = NULL;
	p->item = NULL;
	arena_return(&p->arena, p->item_place);
}

void json_break(struct json_parser *p)
{
	if (p->depth > 2 && p->stack[1]->kind == JSON_ARRAY)
		json_drop_item(p);
	p->depth = 0;
}

void json_release(struct json_parser *p)
{
	arena_return(&p->arena, (struct json_place){});
	free(p->arena.spare);
	buf_release(&p->text);
	*p = (struct json_parser){};
}
