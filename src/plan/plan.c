// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "plan/parse.h"

#define HOUR_NS (3600 * NS_PER_S)
#define IPERF3_PORT 5201
#define MAX_NAME 200
#define MAX_NETDEV 15 /* IFNAMSIZ - 1 */

/*
 * Where the value of a top-level key goes.  The seed has 32 bits because that is what the generator
 * of plan_order() is seeded with, and 0 is no seed of its own there.
 */
static const struct opt trial_rows[] = {
	{ "settle", OPT_NS, offsetof(struct plan, settle_ns), "500ms",
	  "rest after the machine was changed", 0, HOUR_NS },
	{ "warmup", OPT_NS, offsetof(struct plan, warmup_ns), "1s",
	  "load runs, nothing is measured yet", 0, HOUR_NS },
	{ "duration", OPT_NS, offsetof(struct plan, duration_ns), "5s", "what is measured",
	  10 * NS_PER_MS, HOUR_NS },
	{},
};
static const struct opt number_rows[] = {
	{ "seed", OPT_UINT, offsetof(struct plan, seed), "1", "of the order", 1, UINT32_MAX },
	{ "alpha", OPT_RATIO, offsetof(struct plan, alpha), "0.05", "level of the tests" },
	{},
};

int parse_row(const struct parse *p, const struct opt *row, const yaml_node_t *v, struct err *e)
{
	const char *text = NULL;
	int r = tree_scalar(p->tree, v, row->name, &text, e);

	if (r < 0)
		return r;
	return opt_set(row, text, p->plan, e) < 0 ? tree_wrap(e, p->tree, v) : 0;
}

/* A plan without a name has that of its file. */
static char *name_of_file(const char *file)
{
	const char *base = strrchr(file, '/');
	const char *dot;

	base = base ? base + 1 : file;
	dot = strrchr(base, '.');
	return dot && dot != base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

static int parse_title(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	const char *text = NULL;
	int r = v ? tree_scalar(p->tree, v, "name", &text, e) : 0;

	if (r < 0)
		return r;
	if (v && (strlen(text) > MAX_NAME || strpbrk(text, "\n\t")))
		return tree_refuse(e, p->tree, v,
				   "name \"%s\": must be one line of at most %d bytes",
				   tree_quote(text).s, MAX_NAME);
	p->plan->name = v ? strdup(text) : name_of_file(p->tree->file);
	return p->plan->name ? 0 : err_nomem(e, "name");
}

static int bad_peer(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	return tree_refuse(e, p->tree, v,
			   "peer: expected netns, none, HOST, HOST:PORT or, in quotes, "
			   "\"[IPV6-ADDRESS]:PORT\", not %s",
			   tree_show(v).s);
}

/* HOST[:PORT], [ADDRESS][:PORT]; an address with more than one colon needs its brackets. */
static int split_peer(const struct parse *p, const yaml_node_t *v, const char *text, struct err *e)
{
	static const char host_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789.-_";
	static const char addr_chars[] = "0123456789abcdefABCDEF:.";
	bool bracket = *text == '[';
	const char *host = text + bracket;
	size_t len = strspn(host, bracket ? addr_chars : host_chars);
	const char *after = host + len;
	uint64_t port = IPERF3_PORT;

	if (bracket && *after == '%') { /* zone of a link-local address: fe80::1%eth0 */
		len += 1 + strspn(after + 1, host_chars);
		after = host + len;
	}
	if (bracket && *after++ != ']')
		return bad_peer(p, v, e);
	if (len == 0 || len > 253 || (*after && *after != ':'))
		return bad_peer(p, v, e);
	if (*after == ':' && (text_u64(after + 1, &port) < 0 || port < 1 || port > UINT16_MAX))
		return strchr(after + 1, ':')
			       ? bad_peer(p, v, e)
			       : tree_refuse(e, p->tree, v,
					     "peer \"%s\": port \"%s\" is not within 1 to 65535",
					     tree_quote(text).s, tree_quote(after + 1).s);
	p->plan->peer = PEER_HOST;
	p->plan->peer_port = (uint16_t)port;
	p->plan->peer_host = strndup(host, len);
	return p->plan->peer_host ? 0 : err_nomem(e, "peer");
}

static int parse_peer(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	const char *text;

	if (!v)
		return 0;
	if (v->type != YAML_SCALAR_NODE || v->data.scalar.length == 0)
		return bad_peer(p, v, e);
	text = tree_text(v);
	if (strcmp(text, "none") == 0)
		p->plan->peer = PEER_NONE;
	else if (strcmp(text, "netns") == 0)
		p->plan->peer = PEER_NETNS;
	else
		return split_peer(p, v, text, e);
	return 0;
}

static int parse_dut(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	const char *text = NULL;
	int r;

	if (!v)
		return 0;
	r = tree_scalar(p->tree, v, "dut", &text, e);
	if (r < 0)
		return r;
	if (p->plan->peer == PEER_NETNS)
		return tree_refuse(
			e, p->tree, v,
			"dut \"%s\": peer netns makes the netdev that $dut means; remove "
			"dut or name another peer",
			tree_quote(text).s);
	if (strlen(text) > MAX_NETDEV || strpbrk(text, "/: \t\n$") || strcmp(text, ".") == 0 ||
	    strcmp(text, "..") == 0)
		return tree_refuse(
			e, p->tree, v,
			"dut \"%s\": expected the name of a netdev such as eth0, at most "
			"%d bytes",
			tree_quote(text).s, MAX_NETDEV);
	p->plan->dut = strdup(text);
	return p->plan->dut ? 0 : err_nomem(e, "dut");
}

static int parse_setup(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	const struct kind k = { "knob", p->reg->knobs, false };

	return parse_uses(p, &k, v, &p->plan->setup, e);
}

static bool is_among(const char *const *words, const char *word)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words;
}

int parse_keys(const struct parse *p, const yaml_node_t *map, const char *const *known,
	       const char *what, struct err *e)
{
	for (size_t i = 0; i < tree_count(map); i++) {
		struct tree_pair pair = tree_pair(p->tree, map, i);
		_cleanup_(words_release) struct words words = {};
		_cleanup_(buf_release) struct buf hint = {};

		if (is_among(known, pair.key))
			continue;
		while (*known)
			words_add(&words, *known++);
		words_hint(&words, pair.key, "it has", &hint);
		return tree_refuse(e, p->tree, pair.key_node, "%s has no key \"%s\"%s", what,
				   tree_quote(pair.key).s, buf_str(&hint));
	}
	return 0;
}

static int parse_trial(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	const char *known[ARRAY_SIZE(trial_rows)] = {};
	int r = opt_defaults(trial_rows, p->plan, e);

	if (r < 0 || !v)
		return r;
	if (v->type != YAML_MAPPING_NODE)
		return tree_refuse(e, p->tree, v,
				   "trial: expected { settle: 500ms, warmup: 1s, duration: 5s }, "
				   "not %s",
				   tree_show(v).s);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		known[i] = trial_rows[i].name;
	r = parse_keys(p, v, known, "trial", e);
	for (const struct opt *o = trial_rows; r >= 0 && o->type != OPT_END; o++) {
		const yaml_node_t *n = tree_find(p->tree, v, o->name);

		r = n ? parse_row(p, o, n, e) : 0;
	}
	return r;
}

static int parse_seed(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	int r = opt_defaults(number_rows, p->plan, e); /* of alpha too: it comes next */

	return r < 0 || !v ? r : parse_row(p, opt_find(number_rows, "seed"), v, e);
}

static int parse_alpha(const struct parse *p, const yaml_node_t *v, struct err *e)
{
	int r = v ? parse_row(p, opt_find(number_rows, "alpha"), v, e) : 0;

	if (r < 0)
		return r;
	if (!(p->plan->alpha >= 1e-6 && p->plan->alpha <= 0.5))
		return tree_refuse(e, p->tree, v ? v : tree_root(p->tree),
				   "alpha %s: must be within 0.000001 to 0.5; 0.05 is usual",
				   tree_show(v).s);
	return 0;
}

/* In this order: a later one may need what an earlier one found. @v is NULL for an absent key. */
static const struct section {
	const char *key;
	int (*parse)(const struct parse *p, const yaml_node_t *v, struct err *e);
} sections[] = {
	{ "name", parse_title },
	{ "peer", parse_peer },
	{ "dut", parse_dut },
	{ "setup", parse_setup },
	{ "loads", parse_loads },
	{ "scenarios", parse_scenarios },
	{ "probes", parse_probes },
	{ "variants", parse_variants }, /* overrides of loads and probes */
	{ "trial", parse_trial },
	{ "seed", parse_seed },
	{ "alpha", parse_alpha },
	{ "metrics", parse_metrics },
	{ "discard", parse_discard },
	{ "budget", parse_budget },
	{ "until", parse_until },
	{ "blocks", parse_blocks }, /* how many depends on metrics, alpha and budget */
	{ "looks", parse_looks },
	{ "boots", parse_boots },
};

static int parse_sections(const struct parse *p, struct err *e)
{
	const yaml_node_t *root = tree_root(p->tree);
	const char *known[ARRAY_SIZE(sections) + 1] = {};
	int r;

	if (root->type != YAML_MAPPING_NODE)
		return tree_refuse(e, p->tree, root,
				   "expected a plan with keys such as variants and metrics, not %s",
				   tree_show(root).s);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		known[i] = sections[i].key;
	r = parse_keys(p, root, known, "a plan", e);
	for (size_t i = 0; i < ARRAY_SIZE(sections) && r >= 0; i++)
		r = sections[i].parse(p, tree_find(p->tree, root, sections[i].key), e);
	return r;
}

int plan_parse(const char *text, size_t len, const char *file, const struct plan_registry *reg,
	       struct plan *ret, struct err *e)
{
	_cleanup_(tree_release) struct tree tree = {};
	_cleanup_(plan_release) struct plan plan = {};
	struct parse p = { .tree = &tree, .reg = reg, .plan = &plan };
	int r = tree_load(text, len, file, &tree, e);

	if (r >= 0)
		r = parse_sections(&p, e);
	if (r < 0)
		return r;
	*ret = plan;
	plan = (struct plan){};
	return 0;
}

void variant_release(struct variant *v)
{
	free(v->name);
	instances_release(&v->knobs);
	instances_release(&v->boot);
	for (size_t i = 0; i < v->nr_overrides; i++) {
		free(v->overrides[i].scenario);
		free(v->overrides[i].instance);
		free(v->overrides[i].key);
		free(v->overrides[i].value);
	}
	free(v->overrides);
}

void plan_release(struct plan *p)
{
	for (size_t i = 0; i < p->nr_variants; i++)
		variant_release(&p->variants[i]);
	for (size_t i = 0; i < p->nr_scenarios; i++) {
		free(p->scenarios[i].name);
		instances_release(&p->scenarios[i].loads);
	}
	for (size_t i = 0; i < p->nr_metrics; i++) {
		free(p->metrics[i].text);
		free(p->metrics[i].metric);
		free(p->metrics[i].labels);
		free(p->metrics[i].scenario);
		free(p->metrics[i].owner);
	}
	instances_release(&p->setup);
	instances_release(&p->probes);
	free(p->variants);
	free(p->scenarios);
	free(p->metrics);
	free(p->name);
	free(p->peer_host);
	free(p->dut);
	*p = (struct plan){};
}
