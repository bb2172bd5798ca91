// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan/parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static struct kind loads(const struct parse *p)
{
	return (struct kind){ "load", p->reg->loads, true };
}

/* Names known to be good; @list may be nothing. */
static int add_scenario(const struct parse *p, const char *name, const yaml_node_t *list, int line,
			struct err *e)
{
	struct plan *plan = p->plan;
	const struct kind k = loads(p);
	struct scenario *grown =
		realloc(plan->scenarios, (plan->nr_scenarios + 1) * sizeof(*grown));
	struct scenario *s;

	if (!grown)
		return err_nomem(e, name);
	plan->scenarios = grown;
	s = &grown[plan->nr_scenarios];
	*s = (struct scenario){ .name = strdup(name), .line = line };
	if (!s->name)
		return err_nomem(e, name);
	plan->nr_scenarios++;
	return parse_uses(p, &k, list, &s->loads, e);
}

int parse_loads(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	const yaml_node_t *scenarios = tree_find(p->tree, tree_root(p->tree), "scenarios");

	if (v && scenarios)
		return tree_refuse(e, p->tree, v,
				   "loads beside scenarios (line %d): name them there as one more "
				   "scenario, or remove scenarios",
				   tree_line(scenarios));
	return scenarios ? 0 : add_scenario(p, "default", v, v ? tree_line(v) : 1, e);
}

int parse_scenarios(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	int r = 0;

	if (!v)
		return 0;
	if (v->type != YAML_MAPPING_NODE || tree_count(v) == 0)
		return tree_refuse(e, p->tree, v,
				   "scenarios: expected \"NAME: [loads]\" lines, not %s; without "
				   "loads remove the key",
				   v->type == YAML_MAPPING_NODE ? "an empty mapping"
								: tree_show(v).s);
	for (size_t i = 0; i < tree_count(v) && r >= 0; i++) {
		struct tree_pair pair = tree_pair(p->tree, v, i);

		r = parse_name(p, pair.key_node, "scenario", pair.key, e);
		if (r >= 0)
			r = add_scenario(p, pair.key, pair.value, tree_line(pair.key_node), e);
	}
	return r;
}

static int parse_probe(const struct parse *p, const struct tree_pair *pair, struct err *e)
{
	const struct kind k = { "probe", p->reg->probes, true };
	struct use u = { pair->key_node, pair->key, pair->key, pair->value };
	const yaml_node_t *plugin = tree_find(p->tree, pair->value, "plugin");
	int r = plugin ? tree_scalar(p->tree, plugin, "plugin", &u.plugin, e) : 0;

	return r < 0 ? r : parse_use(p, &k, &u, &p->plan->probes, e);
}

int parse_probes(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	int r = 0;

	if (!tree_is_null(v) && v->type != YAML_MAPPING_NODE)
		return tree_refuse(e, p->tree, v,
				   "probes: expected \"NAME: { options }\" lines without \"- \", "
				   "not %s",
				   tree_show(v).s);
	for (size_t i = 0; i < tree_count(v) && r >= 0; i++) {
		struct tree_pair pair = tree_pair(p->tree, v, i);

		r = parse_probe(p, &pair, e);
	}
	return r;
}
