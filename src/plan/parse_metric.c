// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan/parse.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

/* Metrics that a scenario's loads and the probes produce, one after another. */
struct cursor {
	const struct parse *parse;
	const struct scenario *scenario;
	size_t instance; /* probes first, then loads */
	size_t row;
	const struct instance *inst; /* of the metric at hand */
	const struct metric_desc *desc;
};

static bool next_metric(struct cursor *c)
{
	const struct instances *probes = &c->parse->plan->probes;
	const struct instances *loads = &c->scenario->loads;

	for (; c->instance < probes->nr + loads->nr; c->instance++, c->row = 0) {
		bool is_probe = c->instance < probes->nr;
		const struct plugin *plugin;

		c->inst = is_probe ? &probes->v[c->instance] : &loads->v[c->instance - probes->nr];
		plugin = parse_plugin(is_probe ? c->parse->reg->probes : c->parse->reg->loads,
				      c->inst->plugin);
		if (!plugin->metrics || !plugin->metrics[c->row].name)
			continue;
		c->desc = &plugin->metrics[c->row++];
		return true;
	}
	return false;
}

static void full_name(const struct cursor *c, struct buf *out)
{
	buf_reset(out);
	if (!c->desc->global)
		buf_printf(out, "%s.", c->inst->name);
	buf_puts(out, c->desc->name);
}

/* Names a metric may have in @scenario, or in all (NULL), then with "@scenario" if several. */
static void possible(const struct parse *p, const struct scenario *scenario, struct words *ret)
{
	const struct plan *plan = p->plan;

	for (size_t i = 0; i < plan->nr_scenarios; i++) {
		struct cursor c = { .parse = p, .scenario = &plan->scenarios[i] };
		_cleanup_(buf_release) struct buf name = {};

		if (scenario && scenario != c.scenario)
			continue;
		while (next_metric(&c)) {
			full_name(&c, &name);
			if (!scenario && plan->nr_scenarios > 1)
				buf_printf(&name, "@%s", c.scenario->name);
			if (c.desc->better != BETTER_NONE &&
			    (!c.desc->needs || instance_value(c.inst, c.desc->needs)))
				words_add(ret, buf_str(&name));
		}
	}
}

static int no_metrics(const struct parse *p, const yaml_node_t *at, struct err *e)
{
	_cleanup_(words_release) struct words words = {};
	_cleanup_(buf_release) struct buf hint = {};

	possible(p, NULL, &words);
	if (words.nr == 0)
		return tree_refuse(e, p->tree, at,
				   "metrics: none, and no load or probe of the plan measures one; "
				   "add a probe such as wakeup, then a metric");
	words_hint(&words, "", "this plan can have", &hint);
	return tree_refuse(e, p->tree, at,
			   "metrics: none, so there is nothing to decide; write such as \"%s: { "
			   "margin: 5%% }\"%s",
			   words.v[0], buf_str(&hint));
}

static int unknown_metric(const struct parse *p, const yaml_node_t *at, const struct plan_metric *m,
			  const struct scenario *s, struct err *e)
{
	_cleanup_(words_release) struct words words = {};
	_cleanup_(buf_release) struct buf hint = {};

	possible(p, s, &words);
	words_hint(&words, m->metric, "it can be", &hint);
	return tree_refuse(
		e, p->tree, at,
		"metric \"%s\": no probe and no load of scenario \"%s\" measures \"%s\"%s",
		tree_quote(m->text).s, s->name, tree_quote(m->metric).s, buf_str(&hint));
}

static int undirected_metric(const struct parse *p, const yaml_node_t *at,
			     const struct plan_metric *m, const struct scenario *s, struct err *e)
{
	_cleanup_(words_release) struct words words = {};
	_cleanup_(buf_release) struct buf hint = {};

	possible(p, s, &words);
	words_hint(&words, "", "metrics with one are", &hint);
	return tree_refuse(e, p->tree, at,
			   "metric \"%s\": it describes, neither more nor less of it is better, so "
			   "there is no verdict on it%s",
			   tree_quote(m->text).s, buf_str(&hint));
}

const struct metric_desc *plan_find_metric(const struct plan *p, const struct plan_registry *reg,
					   size_t scenario, const char *metric,
					   const char **ret_owner)
{
	/* the cursor reads only */
	const struct parse parse = { .reg = reg, .plan = (struct plan *)(uintptr_t)p };
	struct cursor c = { .parse = &parse, .scenario = &p->scenarios[scenario] };
	_cleanup_(buf_release) struct buf name = {};

	while (next_metric(&c)) {
		full_name(&c, &name);
		if (name.failed || strcmp(buf_str(&name), metric) != 0)
			continue;
		*ret_owner = c.inst->name;
		return c.desc;
	}
	return NULL;
}

/* Who produces @m, and which way is better. */
static int describe(const struct parse *p, const yaml_node_t *at, const struct scenario *s,
		    struct plan_metric *m, struct err *e)
{
	struct cursor c = { .parse = p, .scenario = s };
	_cleanup_(buf_release) struct buf name = {};
	const struct instance *by = NULL;

	while (next_metric(&c)) {
		full_name(&c, &name);
		if (name.failed)
			return err_nomem(e, m->text);
		if (strcmp(buf_str(&name), m->metric) != 0)
			continue;
		if (by)
			return tree_refuse(e, p->tree, at,
					   "metric \"%s\": both %s and %s of scenario \"%s\" "
					   "measure it; keep one of them",
					   tree_quote(m->text).s, by->name, c.inst->name, s->name);
		by = c.inst;
		m->desc = c.desc;
		m->better = c.desc->better;
		m->unit = c.desc->unit;
	}
	if (!by)
		return unknown_metric(p, at, m, s, e);
	if (m->desc->needs && !instance_value(by, m->desc->needs))
		return tree_refuse(
			e, p->tree, at,
			"metric \"%s\" is measured only with the option \"%s\" of \"%s\", "
			"which the plan does not give",
			tree_quote(m->text).s, m->desc->needs, by->name);
	m->owner = strdup(by->name);
	if (!m->owner)
		return err_nomem(e, m->text);
	return m->better == BETTER_NONE ? undirected_metric(p, at, m, s, e) : 0;
}

static int pick_scenario(const struct parse *p, const yaml_node_t *at, const char *text,
			 const struct scenario **ret, struct err *e)
{
	const struct plan *plan = p->plan;
	const char *name = strchr(text, '@');
	_cleanup_(words_release) struct words words = {};
	_cleanup_(buf_release) struct buf hint = {};

	if (!name && plan->nr_scenarios == 1) {
		*ret = plan->scenarios;
		return 0;
	}
	for (size_t i = 0; i < plan->nr_scenarios; i++) {
		if (name && strcmp(plan->scenarios[i].name, name + 1) == 0) {
			*ret = &plan->scenarios[i];
			return 0;
		}
	}
	for (size_t i = 0; i < plan->nr_scenarios; i++)
		words_add(&words, plan->scenarios[i].name);
	words_hint(&words, name ? name + 1 : "", "scenarios are", &hint);
	if (name)
		return tree_refuse(e, p->tree, at, "metric \"%s\": there is no scenario \"%s\"%s",
				   tree_quote(text).s, tree_quote(name + 1).s, buf_str(&hint));
	return tree_refuse(e, p->tree, at, "metric \"%s\": say in which scenario, \"%s@%s\"%s",
			   tree_quote(text).s, tree_quote(text).s, plan->scenarios[0].name,
			   buf_str(&hint));
}

static int by_key(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t nx = strcspn(x, "="), ny = strcspn(y, "=");
	int r = strncmp(x, y, nx < ny ? nx : ny);

	return r ? r : (nx > ny) - (nx < ny);
}

/* "prio=98,cpu=1" to the canonical "cpu=1,prio=98"; false when it is not of that form. */
static bool canonical(struct str_list *l, struct buf *out)
{
	static const char key[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

	if (l->nr)
		qsort(l->v, l->nr, sizeof(*l->v), by_key);
	for (size_t i = 0; i < l->nr; i++) {
		const char *s = l->v[i];
		size_t len = strspn(s, key);

		if (len == 0 || s[len] != '=' || !s[len + 1] || strpbrk(s, " \t\n[]@"))
			return false;
		if (i && by_key(&l->v[i - 1], &l->v[i]) == 0)
			return false;
		buf_printf(out, "%s%s", i ? "," : "", s);
	}
	return l->nr > 0; /* whether @out failed, buf_take() says */
}

static int parse_labels(const struct parse *p, const yaml_node_t *at, struct plan_metric *m,
			struct err *e)
{
	const char *text = tree_text(at);
	const char *open = strchr(text, '[');
	size_t len = open ? strcspn(open + 1, "]") : 0;
	_cleanup_(freep) char *inside = strndup(open ? open + 1 : "", len);
	_cleanup_(str_list_release) struct str_list l = {};
	_cleanup_(buf_release) struct buf labels = {};
	int r = inside ? str_list_split(inside, &l, e) : err_nomem(e, "labels");

	if (r < 0)
		return r;
	if (open && (memchr(text, '@', (size_t)(open - text)) || open[len + 1] != ']' ||
		     (open[len + 2] && open[len + 2] != '@') || !canonical(&l, &labels)))
		return tree_refuse(
			e, p->tree, at,
			"metric \"%s\": expected METRIC[LABEL=VALUE,...]@SCENARIO such as "
			"wakeup.p99[cpu=1,prio=98]@net, each label once",
			tree_quote(m->text).s);
	buf_puts(&labels, "");
	m->labels = buf_take(&labels);
	return m->labels ? 0 : err_nomem(e, "labels");
}

static const struct opt margin_row = { "margin", OPT_RATIO, offsetof(struct plan_metric, margin),
				       NULL, "change that does not matter" };
static const struct opt limit_row = { "limit",
				      OPT_NS,
				      offsetof(struct plan_metric, limit_ns),
				      NULL,
				      "what later than this counts",
				      1,
				      UINT64_MAX / 2 };

static int check_options(const struct parse *p, const yaml_node_t *v, const struct plan_metric *m,
			 struct err *e)
{
	bool has_limit = m->desc->hist;

	for (size_t i = 0; v->type == YAML_MAPPING_NODE && i < tree_count(v); i++) {
		struct tree_pair pair = tree_pair(p->tree, v, i);

		if (strcmp(pair.key, "margin") != 0 &&
		    !(has_limit && strcmp(pair.key, "limit") == 0))
			return tree_refuse(e, p->tree, pair.key_node,
					   "metric \"%s\" has no option \"%s\"; it has: %s",
					   tree_quote(m->text).s, tree_quote(pair.key).s,
					   has_limit ? "limit, margin" : "margin");
	}
	return 0;
}

static int parse_margin(const struct parse *p, const yaml_node_t *at, const yaml_node_t *v,
			struct plan_metric *m, struct err *e)
{
	const yaml_node_t *margin = tree_find(p->tree, v, "margin");
	const char *text = NULL;
	int r;

	if (!margin)
		return tree_refuse(e, p->tree, v->type == YAML_MAPPING_NODE ? at : v,
				   "metric \"%s\" needs a margin, the change below which nobody "
				   "cares: { margin: 5%% }",
				   tree_quote(m->text).s);
	r = tree_scalar(p->tree, margin, "margin", &text, e);
	if (r < 0)
		return r;
	if (opt_set(&margin_row, text, m, e) < 0)
		return tree_wrap(e, p->tree, margin);
	if (m->margin < 0 || m->margin >= 1)
		return tree_refuse(e, p->tree, margin,
				   "margin \"%s\": must be at least 0 and below 100%%",
				   tree_quote(text).s);
	return 0;
}

/* "limit: 100us" becomes a part of the metric's text: one probe can have several. */
static int parse_limit(const struct parse *p, const yaml_node_t *at, const yaml_node_t *v,
		       struct plan_metric *m, struct err *e)
{
	const yaml_node_t *limit = m->desc->hist ? tree_find(p->tree, v, "limit") : NULL;
	const char *text = NULL;
	char *full = NULL;
	int r;

	if (!m->desc->hist)
		return 0;
	if (!limit)
		return tree_refuse(e, p->tree, v->type == YAML_MAPPING_NODE ? at : v,
				   "metric \"%s\" needs a limit: { limit: 100us, margin: 10%% }",
				   tree_quote(m->text).s);
	r = tree_scalar(p->tree, limit, "limit", &text, e);
	if (r < 0)
		return r;
	if (opt_set(&limit_row, text, m, e) < 0)
		return tree_wrap(e, p->tree, limit);
	if (asprintf(&full, "%s > %s", m->text, text) < 0)
		return err_nomem(e, m->text);
	free(m->text);
	m->text = full;
	return 0;
}

static void metric_release(struct plan_metric *m)
{
	free(m->text);
	free(m->metric);
	free(m->labels);
	free(m->scenario);
	free(m->owner);
	*m = (struct plan_metric){};
}

static int check_once(const struct parse *p, const yaml_node_t *at, const struct plan_metric *m,
		      struct err *e)
{
	for (size_t i = 0; i < p->plan->nr_metrics; i++) {
		const struct plan_metric *o = &p->plan->metrics[i];

		assert(o->metric && o->labels && o->scenario);
		if (strcmp(o->metric, m->metric) == 0 && strcmp(o->labels, m->labels) == 0 &&
		    strcmp(o->scenario, m->scenario) == 0 && o->limit_ns == m->limit_ns)
			return tree_refuse(e, p->tree, at,
					   "metric \"%s\" is \"%s\" of line %d again; remove one",
					   tree_quote(m->text).s, tree_quote(o->text).s, o->line);
	}
	return 0;
}

static int parse_metric(const struct parse *p, const struct tree_pair *pair,
			struct plan_metric *ret, struct err *e)
{
	_cleanup_(metric_release) struct plan_metric m = { .line = tree_line(pair->key_node) };
	const struct scenario *s = NULL;
	int r;

	m.text = strdup(pair->key);
	m.metric = strndup(pair->key, strcspn(pair->key, "[@"));
	if (!m.text || !m.metric)
		return err_nomem(e, pair->key);
	r = parse_labels(p, pair->key_node, &m, e);
	if (r >= 0)
		r = pick_scenario(p, pair->key_node, pair->key, &s, e);
	if (r < 0)
		return r;
	assert(s);
	m.scenario = strdup(s->name);
	if (!m.scenario)
		return err_nomem(e, s->name);
	r = describe(p, pair->key_node, s, &m, e);
	if (r < 0)
		return r;
	assert(m.desc);
	r = check_options(p, pair->value, &m, e);
	if (r >= 0)
		r = parse_margin(p, pair->key_node, pair->value, &m, e);
	if (r >= 0)
		r = parse_limit(p, pair->key_node, pair->value, &m, e);
	if (r >= 0)
		r = check_once(p, pair->key_node, &m, e);
	if (r < 0)
		return r;
	*ret = m;
	m = (struct plan_metric){};
	return 0;
}

int parse_metrics(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	struct plan *plan = p->plan;
	int r = 0;

	if (!tree_is_null(v) && v->type != YAML_MAPPING_NODE)
		return tree_refuse(
			e, p->tree, v,
			"metrics: expected lines such as \"wakeup.p99@net: { margin: 10%% "
			"}\" without \"- \", not %s",
			tree_show(v).s);
	if (tree_count(v) == 0)
		return no_metrics(p, v ? v : tree_root(p->tree), e);
	plan->metrics = calloc(tree_count(v), sizeof(*plan->metrics));
	if (!plan->metrics)
		return err_nomem(e, "metrics");
	for (size_t i = 0; i < tree_count(v) && r >= 0; i++) {
		struct tree_pair pair = tree_pair(p->tree, v, i);

		r = parse_metric(p, &pair, &plan->metrics[plan->nr_metrics], e);
		plan->nr_metrics += r >= 0;
	}
	return r;
}
