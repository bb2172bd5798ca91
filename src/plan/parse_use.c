// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

/* A longer list helps nobody. */
#define HINT_WORDS 16

void words_add(struct words *w, const char *word)
{
	char **v, *copy;

	for (size_t i = 0; i < w->nr; i++)
		if (strcmp(w->v[i], word) == 0)
			return;
	v = realloc(w->v, (w->nr + 2) * sizeof(*v));
	copy = strdup(word);
	if (v)
		w->v = v;
	if (!v || !copy) {
		free(copy); /* one suggestion less */
		return;
	}
	w->v[w->nr++] = copy;
	w->v[w->nr] = NULL;
}

void words_release(struct words *w)
{
	for (size_t i = 0; i < w->nr; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct words){};
}

void words_hint(const struct words *w, const char *text, const char *intro, struct buf *out)
{
	const char *near = w->nr ? text_nearest(text, (const char *const *)w->v) : NULL;

	if (near) {
		buf_printf(out, "; did you mean \"%s\"?", near);
		return;
	}
	buf_printf(out, "; %s: ", intro);
	for (size_t i = 0; i < w->nr && i < HINT_WORDS; i++)
		buf_printf(out, "%s%s", i ? ", " : "", w->v[i]);
	if (w->nr == 0)
		buf_puts(out, "none");
	else if (w->nr > HINT_WORDS)
		buf_printf(out, " and %zu more", w->nr - HINT_WORDS);
}

int parse_name(const struct parse *p, const yaml_node_t *at, const char *what, const char *name,
	       struct err *e)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyz0123456789"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
	size_t len = strlen(name);

	if (len && len <= 64 && strspn(name, all) == len && !strchr(all + 36, *name))
		return 0;
	return tree_refuse(e, p->tree, at,
			   "%s \"%s\": a name starts with a small letter or digit and has only "
			   "letters, digits, '.', '_' and '-', at most 64",
			   what, tree_quote(name).s);
}

const struct plugin *parse_plugin(const struct plugin *const *plugins, const char *name)
{
	for (; *plugins; plugins++)
		if (strcmp((*plugins)->name, name) == 0)
			return *plugins;
	return NULL;
}

static int unknown_plugin(const struct parse *p, const struct kind *k, const struct use *u,
			  struct err *e)
{
	_cleanup_(words_release) struct words words = {};
	_cleanup_(buf_release) struct buf hint = {};
	_cleanup_(buf_release) struct buf intro = {};

	for (const struct plugin *const *v = k->plugins; *v; v++)
		words_add(&words, (*v)->name);
	buf_printf(&intro, "%ss are", k->what);
	words_hint(&words, u->plugin, buf_str(&intro), &hint);
	return tree_refuse(e, p->tree, u->at, "there is no %s \"%s\"%s", k->what,
			   tree_quote(u->plugin).s, buf_str(&hint));
}

static int unknown_option(const struct parse *p, const struct plugin *plugin, const char *key,
			  const struct tree_pair *pair, struct err *e)
{
	_cleanup_(words_release) struct words words = {};
	_cleanup_(buf_release) struct buf hint = {};

	for (const struct opt *o = plugin->options; o && o->type != OPT_END; o++)
		words_add(&words, o->name);
	words_hint(&words, key, "it has", &hint);
	/* "{ cpus: 0-3,8 }" has a key "8" with nothing behind it */
	if (tree_is_null(pair->value))
		buf_puts(&hint, "; a comma in { } ends a value, lists stand in [ ]");
	return tree_refuse(e, p->tree, pair->key_node, "%s has no option \"%s\"%s", plugin->name,
			   tree_quote(key).s, buf_str(&hint));
}

/* [a, b, c] to "a,b,c", the form in which option rows take lists. */
static int join(const struct parse *p, const char *key, const yaml_node_t *list, struct buf *out,
		struct err *e)
{
	for (size_t i = 0; i < tree_count(list); i++) {
		const yaml_node_t *n = tree_item(p->tree, list, i);
		const char *text = NULL;
		int r = tree_scalar(p->tree, n, key, &text, e);

		if (r < 0)
			return r;
		if (strchr(text, ','))
			return tree_refuse(e, p->tree, n,
					   "%s %s: an entry of a list cannot hold a comma; write "
					   "its parts as entries of their own",
					   key, tree_show(n).s);
		buf_printf(out, "%s%s", i ? "," : "", text);
	}
	return 0;
}

static bool takes_list(const struct opt *row)
{
	return row && (row->type == OPT_UINTS || row->type == OPT_STRINGS || row->type == OPT_CPUS);
}

static int value_text(const struct parse *p, const struct opt *row, const char *key,
		      const yaml_node_t *v, struct buf *out, struct err *e)
{
	if (tree_is_null(v))
		return tree_refuse(e, p->tree, v,
				   "%s has no value; write one (\"\" for an empty text) or remove "
				   "the line",
				   tree_quote(key).s);
	if (v->type == YAML_SCALAR_NODE) {
		buf_puts(out, tree_text(v));
		return 0;
	}
	if (v->type == YAML_SEQUENCE_NODE && takes_list(row))
		return join(p, key, v, out, e);
	return tree_refuse(e, p->tree, v, "%s: expected one value%s, not %s%s", tree_quote(key).s,
			   takes_list(row) ? " or a list of values" : "", tree_show(v).s,
			   row ? "" : "; put several numbers into one text in quotes");
}

int parse_value(const struct parse *p, const struct plugin *plugin, const char *key,
		const struct tree_pair *pair, char **ret, struct err *e)
{
	const struct opt *row = opt_find(plugin->options, key);
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(freep) char *s = NULL;
	int r;

	if (!row && !plugin->free_keys)
		return unknown_option(p, plugin, key, pair, e);
	r = value_text(p, row, key, pair->value, &text, e);
	if (r < 0)
		return r;
	buf_puts(&text, ""); /* so that it is not NULL when it is empty */
	s = buf_take(&text);
	if (!s)
		return err_nomem(e, key);
	if (row && opt_check(row, s, e) < 0)
		return tree_wrap(e, p->tree, pair->value);
	*ret = take_ptr(s);
	return 0;
}

static const struct instance *find_instance(const struct instances *l, const char *name)
{
	for (size_t i = 0; i < l->nr; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return &l->v[i];
	return NULL;
}

/* The name as written, or "tcp", "tcp-2" ... whichever is free. */
static int name_use(const struct parse *p, const struct kind *k, const struct use *u,
		    const struct instances *others, struct instance *inst, struct err *e)
{
	const yaml_node_t *n = k->named && u->options ? tree_find(p->tree, u->options, "name")
						      : NULL;
	_cleanup_(buf_release) struct buf free_name = {};
	const char *name = u->name;
	const struct instance *other;
	int r = n ? tree_scalar(p->tree, n, "name", &name, e) : 0;

	buf_puts(&free_name, u->plugin);
	for (unsigned int i = 2; !name && find_instance(others, buf_str(&free_name)); i++) {
		buf_reset(&free_name);
		buf_printf(&free_name, "%s-%u", u->plugin, i);
	}
	name = name ? name : buf_str(&free_name);
	if (r >= 0 && free_name.failed)
		return err_nomem(e, u->plugin);
	if (r >= 0)
		r = parse_name(p, n ? n : u->at, k->what, name, e);
	if (r < 0)
		return r;
	other = find_instance(others, name);
	if (other)
		return tree_refuse(e, p->tree, n ? n : u->at,
				   "%s \"%s\": line %d has that name already; choose another",
				   k->what, name, other->line);
	inst->name = strdup(name);
	return inst->name ? 0 : err_nomem(e, name);
}

/* Keys that say which instance this is rather than how it works. */
static bool is_identity(const struct kind *k, const struct use *u, const char *key)
{
	return k->named && (strcmp(key, "name") == 0 || (u->name && strcmp(key, "plugin") == 0));
}

static int add_settings(const struct parse *p, const struct kind *k, const struct use *u,
			const struct plugin *plugin, struct instance *inst, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < tree_count(u->options) && r >= 0; i++) {
		struct tree_pair pair = tree_pair(p->tree, u->options, i);
		_cleanup_(freep) char *value = NULL;

		if (is_identity(k, u, pair.key))
			continue;
		r = parse_value(p, plugin, pair.key, &pair, &value, e);
		if (r >= 0)
			r = instance_set(inst, pair.key, value, tree_line(pair.key_node), e);
	}
	if (r >= 0 && plugin->free_keys && inst->nr_settings == 0)
		return tree_refuse(e, p->tree, u->at, "%s needs at least one { KEY: VALUE }",
				   plugin->name);
	for (const struct opt *o = plugin->options; r >= 0 && o && o->type != OPT_END; o++)
		if (!o->def && !instance_value(inst, o->name))
			return tree_refuse(e, p->tree, u->at, "%s needs the option \"%s\" (%s)",
					   plugin->name, o->name, o->help);
	return r;
}

int parse_use(const struct parse *p, const struct kind *k, const struct use *u,
	      struct instances *ret, struct err *e)
{
	_cleanup_(instance_release) struct instance inst = { .line = tree_line(u->at) };
	const struct plugin *plugin = parse_plugin(k->plugins, u->plugin);
	int r;

	if (!plugin)
		return unknown_plugin(p, k, u, e);
	if (!tree_is_null(u->options) && u->options->type != YAML_MAPPING_NODE)
		return tree_refuse(
			e, p->tree, u->options,
			"%s: expected its options such as { %s: ... }, not %s", u->plugin,
			plugin->options && plugin->options->name ? plugin->options->name : "key",
			tree_show(u->options).s);
	inst.plugin = strdup(u->plugin);
	if (!inst.plugin)
		return err_nomem(e, u->plugin);
	r = name_use(p, k, u, ret, &inst, e);
	if (r >= 0)
		r = add_settings(p, k, u, plugin, &inst, e);
	return r < 0 ? r : instances_add(ret, &inst, e);
}

int parse_entry(const struct parse *p, const struct kind *k, const yaml_node_t *entry,
		struct instances *ret, struct err *e)
{
	struct use u = { .at = entry };

	if (entry->type == YAML_SCALAR_NODE && entry->data.scalar.length) {
		u.plugin = tree_text(entry);
	} else if (entry->type == YAML_MAPPING_NODE && tree_count(entry) == 1) {
		struct tree_pair pair = tree_pair(p->tree, entry, 0);

		u = (struct use){ pair.key_node, pair.key, NULL, pair.value };
	} else if (entry->type == YAML_MAPPING_NODE && tree_count(entry) > 1) {
		return tree_refuse(e, p->tree, entry,
				   "an entry holds one %s, this one has %zu keys; start each %s "
				   "with its own \"- \" and put its options into { }",
				   k->what, tree_count(entry), k->what);
	} else {
		return tree_refuse(e, p->tree, entry,
				   "expected a %s such as \"%s: { ... }\", not %s", k->what,
				   k->plugins[0] ? k->plugins[0]->name : k->what,
				   tree_show(entry).s);
	}
	return parse_use(p, k, &u, ret, e);
}

int parse_uses(const struct parse *p, const struct kind *k, const yaml_node_t *list,
	       struct instances *ret, struct err *e)
{
	int r = 0;

	if (!tree_is_null(list) && list->type != YAML_SEQUENCE_NODE)
		return tree_refuse(e, p->tree, list,
				   "expected a list of %ss, each line starting with \"- \", or [] "
				   "for none; not %s",
				   k->what, tree_show(list).s);
	for (size_t i = 0; i < tree_count(list) && r >= 0; i++)
		r = parse_entry(p, k, tree_item(p->tree, list, i), ret, e);
	return r;
}
