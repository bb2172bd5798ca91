// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan/tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

/* The way from the root to the node at hand, and what was seen on all ways so far. */
struct walk {
	const struct tree *t;
	const yaml_node_t *path[TREE_MAX_DEPTH];
	size_t next[TREE_MAX_DEPTH]; /* child to visit next */
	size_t depth;
	size_t nodes, bytes;
};

static const yaml_node_t *node(const struct tree *t, int index)
{
	return t->doc.nodes.start + index - 1;
}

const yaml_node_t *tree_root(const struct tree *t)
{
	return node(t, 1);
}

size_t tree_count(const yaml_node_t *n)
{
	if (n && n->type == YAML_MAPPING_NODE)
		return (size_t)(n->data.mapping.pairs.top - n->data.mapping.pairs.start);
	if (n && n->type == YAML_SEQUENCE_NODE)
		return (size_t)(n->data.sequence.items.top - n->data.sequence.items.start);
	return 0;
}

const char *tree_text(const yaml_node_t *n)
{
	return (const char *)n->data.scalar.value;
}

struct tree_pair tree_pair(const struct tree *t, const yaml_node_t *map, size_t i)
{
	const yaml_node_pair_t *p = map->data.mapping.pairs.start + i;
	const yaml_node_t *key = node(t, p->key);

	return (struct tree_pair){
		.key = tree_text(key),
		.key_node = key,
		.value = node(t, p->value),
	};
}

const yaml_node_t *tree_item(const struct tree *t, const yaml_node_t *seq, size_t i)
{
	return node(t, seq->data.sequence.items.start[i]);
}

const yaml_node_t *tree_find(const struct tree *t, const yaml_node_t *map, const char *key)
{
	for (size_t i = 0; map->type == YAML_MAPPING_NODE && i < tree_count(map); i++) {
		struct tree_pair p = tree_pair(t, map, i);

		if (strcmp(p.key, key) == 0)
			return p.value;
	}
	return NULL;
}

int tree_line(const yaml_node_t *n)
{
	return (int)n->start_mark.line + 1;
}

struct quote tree_quote(const char *s)
{
	_cleanup_(buf_release) struct buf b = {};
	struct quote q = {};
	size_t len = strcspn(s, "\n");
	bool cut = s[len] || len > 60;

	len = len > 60 ? 60 : len;
	while (cut && len && ((unsigned char)s[len] & 0xc0) == 0x80)
		len--; /* do not cut a character */
	text_printable(&b, s, len);
	snprintf(q.s, sizeof(q.s), "%.70s%s", buf_str(&b), cut ? "..." : "");
	return q;
}

struct quote tree_show(const yaml_node_t *n)
{
	struct quote q = {};
	const char *word = "nothing";

	if (n && n->type == YAML_SEQUENCE_NODE)
		word = "a list";
	else if (n && n->type == YAML_MAPPING_NODE)
		word = "a mapping";
	else if (!tree_is_null(n))
		word = NULL;
	if (word)
		snprintf(q.s, sizeof(q.s), "%s", word);
	else
		snprintf(q.s, sizeof(q.s), "\"%.76s\"", tree_quote(tree_text(n)).s);
	return q;
}

int tree_refuse(struct err *e, const struct tree *t, const yaml_node_t *n, const char *fmt, ...)
{
	char msg[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	return err_set(e, -EINVAL, "%s:%d: %s", t->file, tree_line(n), msg);
}

int tree_wrap(struct err *e, const struct tree *t, const yaml_node_t *n)
{
	for (char *p = e->msg; *p; p++) /* values of several lines that it quotes */
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	return err_wrap(e, "%s:%d", t->file, tree_line(n));
}

int tree_scalar(const struct tree *t, const yaml_node_t *n, const char *what, const char **ret,
		struct err *e)
{
	if (n->type != YAML_SCALAR_NODE)
		return tree_refuse(e, t, n, "%s: expected one value, not %s", what, tree_show(n).s);
	if (n->data.scalar.length == 0)
		return tree_refuse(e, t, n, "%s has no value; write one or remove the line", what);
	*ret = tree_text(n);
	return 0;
}

/* Checks */

static int check_scalar(const struct tree *t, const yaml_node_t *n, bool is_key, struct err *e)
{
	const unsigned char *s = n->data.scalar.value;

	for (size_t i = 0; i < n->data.scalar.length; i++) {
		bool blank = !is_key && (s[i] == '\n' || s[i] == '\t');
		bool c1 = s[i] == 0xc2 && s[i + 1] < 0xa0;

		if ((s[i] < 0x20 && !blank) || s[i] == 0x7f || c1)
			return tree_refuse(e, t, n, "\"%s\" has a control character; remove it",
					   tree_quote(tree_text(n)).s);
	}
	return 0;
}

static int check_keys(const struct tree *t, const yaml_node_t *map, struct err *e)
{
	for (size_t i = 0; i < tree_count(map); i++) {
		struct tree_pair p = tree_pair(t, map, i);

		if (p.key_node->type != YAML_SCALAR_NODE || p.key_node->data.scalar.length == 0)
			return tree_refuse(e, t, p.key_node, "%s as a key: a key is a plain word",
					   tree_show(p.key_node).s);
		for (size_t k = 0; k < i; k++)
			if (strcmp(tree_pair(t, map, k).key, p.key) == 0)
				return tree_refuse(e, t, p.key_node,
						   "\"%s\" stands here twice, first in line %d; "
						   "rename or remove one",
						   tree_quote(p.key).s,
						   tree_line(tree_pair(t, map, k).key_node));
	}
	return 0;
}

static int check_tag(const struct tree *t, const yaml_node_t *n, struct err *e)
{
	const char *tag = (const char *)n->tag;

	if (!tag || strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, YAML_SEQ_TAG) == 0 ||
	    strcmp(tag, YAML_MAP_TAG) == 0)
		return 0;
	return tree_refuse(e, t, n, "tag \"%s\": a plan has no tags; remove it", tree_quote(tag).s);
}

/* Count @n and check it; step into it when it has children. */
static int enter(struct walk *w, const yaml_node_t *n, bool is_key, struct err *e)
{
	const struct tree *t = w->t;
	size_t children = tree_count(n);
	int r = check_tag(t, n, e);

	w->nodes++;
	if (n->type == YAML_SCALAR_NODE)
		w->bytes += n->data.scalar.length;
	if (w->nodes + children > TREE_MAX_NODES || w->bytes > TREE_MAX_BYTES)
		return tree_refuse(e, t, n,
				   "the plan is too large with its aliases expanded (over %d "
				   "values or %zu MiB of text); write a smaller one",
				   TREE_MAX_NODES, TREE_MAX_BYTES >> 20);
	if (r >= 0 && n->type == YAML_SCALAR_NODE)
		r = check_scalar(t, n, is_key, e);
	if (r >= 0 && n->type == YAML_MAPPING_NODE)
		r = check_keys(t, n, e);
	if (r < 0 || children == 0)
		return r;
	if (w->depth == TREE_MAX_DEPTH)
		return tree_refuse(e, t, n,
				   "nested more than %d deep; no part of a plan needs that",
				   TREE_MAX_DEPTH);
	w->path[w->depth] = n;
	w->next[w->depth++] = 0;
	return 0;
}

static int check(const struct tree *t, struct err *e)
{
	struct walk w = { .t = t };
	int r = enter(&w, tree_root(t), false, e);

	while (r >= 0 && w.depth) {
		const yaml_node_t *n = w.path[w.depth - 1];
		size_t *next = &w.next[w.depth - 1];
		bool is_map = n->type == YAML_MAPPING_NODE;

		if (*next == tree_count(n) * (is_map ? 2 : 1)) {
			w.depth--;
		} else if (is_map) {
			struct tree_pair p = tree_pair(t, n, *next / 2);
			bool is_key = *next % 2 == 0;

			++*next;
			r = enter(&w, is_key ? p.key_node : p.value, is_key, e);
		} else {
			r = enter(&w, tree_item(t, n, (*next)++), false, e);
		}
	}
	return r;
}

/* Loading */

static size_t line_at(const char *text, size_t offset)
{
	size_t line = 1;

	for (const char *p = text; (p = memchr(p, '\n', offset - (size_t)(p - text))); p++)
		line++;
	return line;
}

/* Line @line of @text (from 1) without its indentation. */
static struct quote line_text(const char *text, size_t len, size_t line)
{
	_cleanup_(freep) char *copy = NULL;
	const char *end = text + len, *stop;

	for (; text && line > 1; line--) {
		text = memchr(text, '\n', (size_t)(end - text));
		text = text ? text + 1 : NULL;
	}
	while (text && text < end && *text == ' ')
		text++;
	if (!text)
		return (struct quote){};
	stop = memchr(text, '\n', (size_t)(end - text));
	copy = strndup(text, (size_t)((stop ? stop : end) - text));
	return copy ? tree_quote(copy) : (struct quote){};
}

/* What to do about libyaml's complaints that people meet most. */
static const char *remedy(const char *problem, const char *line)
{
	static const struct {
		const char *problem, *remedy;
	} known[] = {
		{ "mapping values are not allowed",
		  "; put quotes around a text with \": \" in it" },
		{ "cannot start any token", "; put quotes around the text" },
		{ "could not find expected ':'", "; a key ends with a colon and a blank" },
		{ "did not find expected key", "; keys of one mapping are indented alike" },
		{ "undefined alias", "; put quotes around a text that starts with *" },
	};

	if (strncmp(line, "\\x09", 4) == 0)
		return "; indent with blanks, not with tabs";
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strstr(problem, known[i].problem))
			return known[i].remedy;
	return "";
}

static int syntax_error(const yaml_parser_t *y, const char *text, size_t len, const char *file,
			struct err *e)
{
	const char *problem = y->problem ? y->problem : "not YAML";
	size_t line = y->problem_mark.line + 1;
	const char *fix;
	struct quote q;

	if (y->error == YAML_MEMORY_ERROR)
		return err_nomem(e, file);
	if (y->error == YAML_READER_ERROR)
		line = line_at(text, y->problem_offset < len ? y->problem_offset : len);
	if (line > line_at(text, len) || !*line_text(text, len, line).s)
		line = y->context ? y->context_mark.line + 1 : line; /* the end of the text */
	q = line_text(text, len, line);
	fix = remedy(problem, q.s);
	if (y->context)
		return err_set(e, -EINVAL, "%s:%zu: \"%s\": %s %s that starts in line %zu%s", file,
			       line, q.s, problem, y->context, y->context_mark.line + 1, fix);
	return err_set(e, -EINVAL, "%s:%zu: \"%s\": %s%s", file, line, q.s, problem, fix);
}

/* The next document of the text must be the end of it. */
static int check_last(yaml_parser_t *y, const char *text, size_t len, const char *file,
		      struct err *e)
{
	yaml_document_t next;
	size_t line;
	bool more;

	if (!yaml_parser_load(y, &next))
		return syntax_error(y, text, len, file, e);
	more = next.nodes.top != next.nodes.start;
	line = next.start_mark.line + 1;
	yaml_document_delete(&next);
	if (more)
		return err_set(e, -EINVAL,
			       "%s:%zu: a second document starts here; a file holds one plan", file,
			       line);
	return 0;
}

/* libyaml's time grows with the square of the depth: no plan needs one that could be felt. */
#define NESTING_MAX 64

/* Depth of brackets, whatever they stand in; strings that hold so many are no plan either. */
static int check_nesting(const char *text, size_t len, const char *file, struct err *e)
{
	size_t depth = 0, line = 1;

	for (size_t i = 0; i < len; i++) {
		line += text[i] == '\n';
		if (text[i] == '[' || text[i] == '{')
			depth++;
		else if ((text[i] == ']' || text[i] == '}') && depth)
			depth--;
		if (depth > NESTING_MAX)
			return err_set(
				e, -EINVAL,
				"%s:%zu: nested more than %d deep; no part of a plan needs that",
				file, line, TREE_MAX_DEPTH);
	}
	return 0;
}

static int load(yaml_parser_t *y, const char *text, size_t len, struct tree *t, struct err *e)
{
	int r = check_nesting(text, len, t->file, e);

	if (r < 0)
		return r;
	yaml_parser_set_encoding(y, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(y, (const unsigned char *)(len ? text : ""), len);
	if (!yaml_parser_load(y, &t->doc))
		return syntax_error(y, text, len, t->file, e);
	t->loaded = true;
	if (t->doc.nodes.top == t->doc.nodes.start)
		return err_set(e, -EINVAL, "%s:1: the file is empty; start from plans/demo.yaml",
			       t->file);
	return check_last(y, text, len, t->file, e);
}

int tree_load(const char *text, size_t len, const char *file, struct tree *ret, struct err *e)
{
	_cleanup_(tree_release) struct tree t = { .file = file };
	const char *nul = len ? memchr(text, 0, len) : NULL;
	yaml_parser_t y;
	int r;

	if (len > TREE_MAX_TEXT)
		return err_set(e, -EFBIG, "%s:1: %zu bytes; a plan has at most 1 MiB", file, len);
	if (nul)
		return err_set(e, -EINVAL, "%s:%zu: a NUL byte; a plan is UTF-8 text", file,
			       line_at(text, (size_t)(nul - text)));
	if (!yaml_parser_initialize(&y))
		return err_nomem(e, file);
	r = load(&y, text, len, &t, e);
	yaml_parser_delete(&y);
	if (r >= 0)
		r = check(&t, e);
	if (r < 0)
		return r;
	*ret = t;
	t = (struct tree){};
	return 0;
}

void tree_release(struct tree *t)
{
	if (t->loaded)
		yaml_document_delete(&t->doc);
	*t = (struct tree){};
}
