/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_JSON_PARSER_H
#define IMPORT_JSON_PARSER_H

/* The pushed half of json.h: bytes in, a tree out, element by element where that is wanted. */

#include "base/buf.h"
#include "import/json.h"

#define JSON_DEPTH 64
#define JSON_MEMORY (64U << 20) /* of one document, less what has been dropped */

struct json_chunk;

/* Memory that is given back in the reverse order. */
struct json_arena {
	struct json_chunk *top, *spare;
	size_t total;
};

struct json_place {
	const struct json_chunk *chunk;
	size_t used;
};

enum json_expect {
	JSON_EXPECT_VALUE,
	JSON_EXPECT_VALUE_OR_END,
	JSON_EXPECT_KEY,
	JSON_EXPECT_KEY_OR_END,
	JSON_EXPECT_COLON,
	JSON_EXPECT_COMMA_OR_END,
};

enum json_token { JSON_TOKEN_NONE, JSON_TOKEN_STRING, JSON_TOKEN_WORD };

struct json_parser {
	struct json_arena arena;
	struct json_val *stack[JSON_DEPTH];
	size_t depth; /* containers that are open; 0: no document */
	enum json_expect expect;
	enum json_token token;
	struct buf text; /* of the token */
	bool escape;	 /* a backslash came last */
	unsigned int hex_left;
	uint32_t hex, high; /* \uXXXX, the first half of a surrogate pair */
	const char *key;    /* of the next value */
	struct json_val *top;
	/* the last element of an array of the top object */
	struct json_val *item, *before_item;
	struct json_place item_place;
	const char *why; /* JSON_BROKEN; static text */
};

enum json_state {
	JSON_MORE,   /* all bytes are read, the document goes on */
	JSON_ITEM,   /* p->item, of array p->stack[1], is whole */
	JSON_DONE,   /* p->top is whole */
	JSON_BROKEN, /* what follows is no JSON: p->why */
};

/* Begin a document; the one before is forgotten. */
void json_start(struct json_parser *p);
/* Read up to the next event; *ret_used: bytes read. */
enum json_state json_feed(struct json_parser *p, const char *s, size_t len, size_t *ret_used);
/* Forget p->item. */
void json_drop_item(struct json_parser *p);
/* The text has ended too early: close what is open, without the element that was under way. */
void json_break(struct json_parser *p);
/* Whether a line that begins with @c can be JSON here. */
bool json_accepts(const struct json_parser *p, char c);
void json_release(struct json_parser *p);

#endif
