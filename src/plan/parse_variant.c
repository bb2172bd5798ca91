// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan/parse.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "plan/boot.h"

/*
 * What "load.SCENARIO.INSTANCE.KEY" points at.  Names and keys may hold dots themselves, so the
 * parts are found by comparing with the names that exist, not by splitting.
 */
struct target {
	const struct scenario *scenario; /* NULL: a probe */
	const struct instance *instance;
	const struct plugin *plugin;
	const char *key;
};

/* The search, with what is needed to say where it ended. */
struct search {
	const struct parse *parse;
	const yaml_node_t *at;
	const char *text;		 /* the override's key */
	struct target found;		 /* its last part may still be no option */
	const struct scenario *scenario; /* the last one that fitted */
	const char *rest;		 /* what follows the scenario or "probe." */
	unsigned int nr;		 /* options that fit */
};

/* @text behind "@name.", or NULL. */
static const char *behind(const char *text, const char *name)
{
	size_t len = strlen(name);

	return strncmp(text, name, len) == 0 && text[len] == '.' && text[len + 1] ? text + len + 1
										  : NULL;
}

static void search_instances(struct search *s, const struct plugin *const *plugins,
			     const struct instances *list, const char *rest)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct plugin *plugin = parse_plugin(plugins, list->v[i].plugin);
		const char *key = behind(rest, list->v[i].name);
		bool fits = key && (plugin->free_keys || opt_find(plugin->options, key));

		if (fits || (key && !s->found.instance))
			s->found = (struct target){ s->scenario, &list->v[i], plugin, key };
		s->nr += fits;
	}
}

static int unknown_scenario(const struct search *s, struct err *e)
{
	const struct plan *plan = s->parse->plan;
	_cleanup_(words_release) struct words words = {};
	_cleanup_(buf_release) struct buf hint = {};
	_cleanup_(freep) char *name = strndup(s->rest, strcspn(s->rest, "."));

	for (size_t i = 0; i < plan->nr_scenarios; i++)
		words_add(&words, plan->scenarios[i].name);
	words_hint(&words, name ? name : "", "scenarios are", &hint);
	return tree_refuse(e, s->parse->tree, s->at,
			   "override \"%s\": there is no scenario \"%s\"%s", tree_quote(s->text).s,
			   tree_quote(name ? name : "").s, buf_str(&hint));
}

static int unknown_instance(const struct search *s, struct err *e)
{
	const struct instances *l = s->scenario ? &s->scenario->loads : &s->parse->plan->probes;
	_cleanup_(words_release) struct words words = {};
	_cleanup_(buf_release) struct buf hint = {};
	_cleanup_(freep) char *name = strndup(s->rest, strcspn(s->rest, "."));

	for (size_t i = 0; i < l->nr; i++)
		words_add(&words, l->v[i].name);
	words_hint(&words, name ? name : "", s->scenario ? "its loads are" : "probes are", &hint);
	if (s->scenario)
		return tree_refuse(e, s->parse->tree, s->at,
				   "override \"%s\": scenario \"%s\" has no load \"%s\"%s",
				   tree_quote(s->text).s, s->scenario->name,
				   tree_quote(name ? name : "").s, buf_str(&hint));
	return tree_refuse(e, s->parse->tree, s->at,
			   "override \"%s\": the plan has no probe \"%s\"%s", tree_quote(s->text).s,
			   tree_quote(name ? name : "").s, buf_str(&hint));
}

static int bad_form(const struct search *s, struct err *e)
{
	return tree_refuse(e, s->parse->tree, s->at,
			   "override \"%s\": expected load.SCENARIO.INSTANCE.OPTION or "
			   "probe.INSTANCE.OPTION",
			   tree_quote(s->text).s);
}

/* Enough parts for a message about the first of them? */
static bool has_parts(const char *text, unsigned int nr)
{
	for (; nr > 1; nr--) {
		size_t len = strcspn(text, ".");

		if (len == 0 || !text[len])
			return false;
		text += len + 1;
	}
	return *text;
}

static int find_target(struct search *s, struct target *ret, struct err *e)
{
	const struct plan *plan = s->parse->plan;
	bool is_load = behind(s->text, "load");

	s->rest = behind(s->text, is_load ? "load" : "probe");
	if (!s->rest || !has_parts(s->rest, is_load ? 3 : 2))
		return bad_form(s, e);
	if (!is_load)
		search_instances(s, s->parse->reg->probes, &plan->probes, s->rest);
	for (size_t i = 0; is_load && i < plan->nr_scenarios; i++) {
		const char *rest = behind(s->text + strlen("load."), plan->scenarios[i].name);

		if (!rest)
			continue;
		s->scenario = &plan->scenarios[i];
		s->rest = rest;
		search_instances(s, s->parse->reg->loads, &s->scenario->loads, rest);
	}
	if (s->nr > 1)
		return tree_refuse(e, s->parse->tree, s->at,
				   "override \"%s\" can mean %u options; rename a scenario or "
				   "instance so that it means one",
				   tree_quote(s->text).s, s->nr);
	if (is_load && !s->scenario)
		return unknown_scenario(s, e);
	if (!s->found.instance)
		return unknown_instance(s, e);
	*ret = s->found;
	return 0;
}

static bool is_override(const char *key)
{
	return strncmp(key, "load.", 5) == 0 || strncmp(key, "probe.", 6) == 0;
}

static void override_release(struct override *o)
{
	free(o->scenario);
	free(o->instance);
	free(o->key);
	free(o->value);
	*o = (struct override){};
}

static const struct override *find_override(const struct variant *v, const struct target *t)
{
	for (size_t i = 0; i < v->nr_overrides; i++) {
		const struct override *o = &v->overrides[i];

		if (!o->scenario == !t->scenario &&
		    (!o->scenario || strcmp(o->scenario, t->scenario->name) == 0) &&
		    strcmp(o->instance, t->instance->name) == 0 && strcmp(o->key, t->key) == 0)
			return o;
	}
	return NULL;
}

/* What would make the trials of a variant incomparable must not be a variant. */
static int check_fixed(const struct search *s, const struct target *t, struct err *e)
{
	const struct opt *row = t->plugin ? opt_find(t->plugin->options, t->key) : NULL;

	if (!row || !row->fixed)
		return 0;
	return tree_refuse(e, s->parse->tree, s->at,
			   "override \"%s\": %s must be the same in every variant (%s); remove the "
			   "override and set it under %s",
			   tree_quote(s->text).s, t->key, row->fixed,
			   t->scenario ? "scenarios" : "probes");
}

static int parse_override(const struct parse *p, const struct tree_pair *pair, struct variant *v,
			  struct err *e)
{
	struct search s = { .parse = p, .at = pair->key_node, .text = pair->key };
	_cleanup_(override_release) struct override o = { .line = tree_line(pair->key_node) };
	struct override *grown;
	const struct override *earlier;
	struct target t = {};
	int r = find_target(&s, &t, e);

	if (r >= 0)
		r = check_fixed(&s, &t, e);
	if (r >= 0)
		r = parse_value(p, t.plugin, t.key, pair, &o.value, e);
	if (r < 0)
		return r;
	assert(t.instance);
	earlier = find_override(v, &t);
	if (earlier)
		return tree_refuse(
			e, p->tree, pair->key_node,
			"override \"%s\" stands here twice, first in line %d; remove one",
			tree_quote(pair->key).s, earlier->line);
	o.scenario = t.scenario ? strdup(t.scenario->name) : NULL;
	o.instance = strdup(t.instance->name);
	o.key = strdup(t.key);
	grown = realloc(v->overrides, (v->nr_overrides + 1) * sizeof(*grown));
	if (grown)
		v->overrides = grown;
	if (!grown || !o.instance || !o.key || (t.scenario && !o.scenario))
		return err_nomem(e, "override");
	v->overrides[v->nr_overrides++] = o;
	o = (struct override){};
	return 0;
}

static const struct plugin *const boot_plugins[] = { &plan_boot_plugin, NULL };

static int parse_variant(const struct parse *p, const yaml_node_t *list, struct variant *v,
			 struct err *e)
{
	const struct kind knob = { "knob", p->reg->knobs, false };
	const struct kind boot = { "boot", boot_plugins, false };
	int r = 0;

	if (!tree_is_null(list) && list->type != YAML_SEQUENCE_NODE)
		return tree_refuse(e, p->tree, list,
				   "variant \"%s\": expected a list of knobs, each line starting "
				   "with \"- \", or [] for none; not %s",
				   v->name, tree_show(list).s);
	for (size_t i = 0; i < tree_count(list) && r >= 0; i++) {
		const yaml_node_t *entry = tree_item(p->tree, list, i);
		bool is_pair = entry->type == YAML_MAPPING_NODE && tree_count(entry) == 1;
		struct tree_pair pair = {};

		if (is_pair)
			pair = tree_pair(p->tree, entry, 0);
		if (is_pair && is_override(pair.key))
			r = parse_override(p, &pair, v, e);
		else if (is_pair && strcmp(pair.key, plan_boot_plugin.name) == 0)
			r = parse_entry(p, &boot, entry, &v->boot, e);
		else
			r = parse_entry(p, &knob, entry, &v->knobs, e);
	}
	return r;
}

int parse_variants(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	struct plan *plan = p->plan;
	int r = 0;

	if (v && v->type != YAML_MAPPING_NODE)
		return tree_refuse(e, p->tree, v,
				   "variants: expected \"NAME: [knobs]\" lines, not %s",
				   tree_show(v).s);
	if (tree_count(v) < 2)
		return tree_refuse(e, p->tree, v ? v : tree_root(p->tree),
				   "variants: a comparison needs at least two, this plan has %zu; "
				   "write \"before: []\" and \"after:\" with what differs",
				   tree_count(v));
	plan->variants = calloc(tree_count(v), sizeof(*plan->variants));
	if (!plan->variants)
		return err_nomem(e, "variants");
	for (size_t i = 0; i < tree_count(v) && r >= 0; i++) {
		struct tree_pair pair = tree_pair(p->tree, v, i);
		struct variant *variant = &plan->variants[i];

		plan->nr_variants = i + 1;
		variant->line = tree_line(pair.key_node);
		r = parse_name(p, pair.key_node, "variant", pair.key, e);
		if (r < 0)
			return r;
		variant->name = strdup(pair.key);
		if (!variant->name)
			return err_nomem(e, pair.key);
		r = parse_variant(p, pair.value, variant, e);
	}
	return r;
}
