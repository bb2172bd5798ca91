/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PLAN_PARSE_H
#define PLAN_PARSE_H

/*
 * Inside plan/: the parts of a plan, one file each, filled from the tree.  All of them refuse with
 * "FILE:LINE: message"; what they had put into the plan by then, plan_release() frees.
 */

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"
#include "plan/tree.h"

struct buf;
struct err;

struct parse {
	const struct tree *tree;
	const struct plan_registry *reg;
	struct plan *plan; /* being filled */
};

/* What a list of plug-in uses holds. */
struct kind {
	const char *what; /* "load" */
	const struct plugin *const *plugins;
	bool named; /* the option key "name" names the instance */
};

/* One use of a plug-in as written. */
struct use {
	const yaml_node_t *at; /* for messages */
	const char *plugin;
	const char *name;	    /* NULL: after the plug-in */
	const yaml_node_t *options; /* a mapping or nothing */
};

/* Words that were possible, for a suggestion; NULL-terminated. */
struct words {
	char **v;
	size_t nr;
};

void words_add(struct words *w, const char *word);
void words_release(struct words *w);
/* "; did you mean "x"?" or "; @intro: a, b, c". */
void words_hint(const struct words *w, const char *text, const char *intro, struct buf *out);

/* ^[a-z0-9][A-Za-z0-9._-]{0,63}$ */
int parse_name(const struct parse *p, const yaml_node_t *at, const char *what, const char *name,
	       struct err *e);
/* The list's entries, appended to @ret; nothing written is the empty list. */
int parse_uses(const struct parse *p, const struct kind *k, const yaml_node_t *list,
	       struct instances *ret, struct err *e);
/* One entry: a plug-in's name or { name: { options } }. */
int parse_entry(const struct parse *p, const struct kind *k, const yaml_node_t *entry,
		struct instances *ret, struct err *e);
int parse_use(const struct parse *p, const struct kind *k, const struct use *u,
	      struct instances *ret, struct err *e);
const struct plugin *parse_plugin(const struct plugin *const *plugins, const char *name);
/* The value of option @pair->key as text (free()), checked by @plugin's row for it. */
int parse_value(const struct parse *p, const struct plugin *plugin, const char *key,
		const struct tree_pair *pair, char **ret, struct err *e);

/* One scalar of the plan by its row, whose offset is into struct plan. */
int parse_row(const struct parse *p, const struct opt *row, const yaml_node_t *v, struct err *e);
/* Refuses a key of @map that is none of @known (NULL-terminated). */
int parse_keys(const struct parse *p, const yaml_node_t *map, const char *const *known,
	       const char *what, struct err *e);

/* "loads:" or "scenarios:"; one scenario "default" when neither is there. */
int parse_scenarios(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_loads(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_probes(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_variants(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_metrics(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_discard(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_budget(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_until(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_blocks(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_boots(const struct parse *p, const yaml_node_t *v, struct err *e);
int parse_looks(const struct parse *p, const yaml_node_t *v, struct err *e);

#endif
