/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PLAN_TREE_H
#define PLAN_TREE_H

/*
 * The YAML text as a tree that is safe to walk.  tree_load() accepts only what a plan can need, so
 * that its callers need no checks of their own: one document, keys that are plain words and stand
 * once, no tags, no control characters, bounded depth and size with every alias expanded (which
 * also excludes cycles).
 */

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

struct err;

/* What a plan may measure. A large one has some hundred nodes. */
#define TREE_MAX_TEXT ((size_t)1 << 20)
#define TREE_MAX_DEPTH 12
#define TREE_MAX_NODES 10000
#define TREE_MAX_BYTES ((size_t)4 << 20)

struct tree {
	yaml_document_t doc;
	bool loaded;
	const char *file; /* for messages; borrowed */
};

struct tree_pair {
	const char *key;
	const yaml_node_t *key_node;
	const yaml_node_t *value;
};

/* Text cut and cleaned for a message. */
struct quote {
	char s[80];
};

/* Parse @len bytes of @text; errors name @file, which must outlive the tree. */
int tree_load(const char *text, size_t len, const char *file, struct tree *ret, struct err *e);
void tree_release(struct tree *t);

const yaml_node_t *tree_root(const struct tree *t);
/* Pairs of a mapping, items of a sequence, 0 of anything else or NULL. */
size_t tree_count(const yaml_node_t *n);
struct tree_pair tree_pair(const struct tree *t, const yaml_node_t *map, size_t i);
const yaml_node_t *tree_item(const struct tree *t, const yaml_node_t *seq, size_t i);
/* The value of @key or NULL. */
const yaml_node_t *tree_find(const struct tree *t, const yaml_node_t *map, const char *key);
/* The text of a scalar. */
const char *tree_text(const yaml_node_t *n);
/* Nothing written where a value belongs: "key:". */
static inline bool tree_is_null(const yaml_node_t *n)
{
	return !n || (n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0 &&
		      n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
}
/* From 1. */
int tree_line(const yaml_node_t *n);
struct quote tree_quote(const char *s);
/* @n as a message shows it: its text in quotes, "a list", "a mapping", "nothing". */
struct quote tree_show(const yaml_node_t *n);

/* Set "FILE:LINE: message" for @n; returns -EINVAL. */
int tree_refuse(struct err *e, const struct tree *t, const yaml_node_t *n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Put "FILE:LINE: " of @n in front of a message, and that on one line. */
int tree_wrap(struct err *e, const struct tree *t, const yaml_node_t *n);
/* A scalar with text in it; @what is for the message: "name", "option rate". */
int tree_scalar(const struct tree *t, const yaml_node_t *n, const char *what, const char **ret,
		struct err *e);

#endif
