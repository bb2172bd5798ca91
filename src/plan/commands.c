// SPDX-License-Identifier: GPL-3.0-or-later
/* What of a plan is run by a shell. */
#include "plan/plan.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "plan/parse.h"

/* Where an instance stands: "scenario net", "setup". */
struct place {
	const char *what, *name;
};

/* "kernel.core_pattern: |/tmp/x" runs a program as surely as a command does. */
static bool names_a_program(const struct plugin *plugin, const char *key, const char *value)
{
	bool any_setting = plugin->free_keys || strcmp(key, "value") == 0;

	return any_setting && (*value == '/' || *value == '|');
}

static bool is_run(const struct plugin *plugin, const char *key, const char *value)
{
	const struct opt *row = opt_find(plugin->options, key);

	return *value && ((row && row->type == OPT_COMMAND) || names_a_program(plugin, key, value));
}

static void add_line(const struct place *at, const char *instance, const char *key,
		     const char *value, struct buf *out)
{
	buf_printf(out, "%s%s%s, %s: %s: ", at->what, *at->name ? " " : "", at->name, instance,
		   key);
	/* a terminal must not be told what to show by what it shows */
	text_printable(out, value, strlen(value));
	buf_putc(out, '\n');
}

static void add_instances(const struct plugin *const *plugins, const struct instances *list,
			  const struct place *at, struct buf *out)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct instance *inst = &list->v[i];
		const struct plugin *plugin = parse_plugin(plugins, inst->plugin);

		for (size_t k = 0; plugin && k < inst->nr_settings; k++)
			if (is_run(plugin, inst->settings[k].key, inst->settings[k].value))
				add_line(at, inst->name, inst->settings[k].key,
					 inst->settings[k].value, out);
	}
}

/* The plug-in that an override is of: the probe, or a load of its scenario. */
static const struct plugin *overridden(const struct plan *p, const struct plan_registry *reg,
				       const struct override *o)
{
	const struct instances *list = o->scenario ? NULL : &p->probes;

	for (size_t i = 0; o->scenario && i < p->nr_scenarios; i++)
		if (strcmp(p->scenarios[i].name, o->scenario) == 0)
			list = &p->scenarios[i].loads;
	for (size_t i = 0; list && i < list->nr; i++)
		if (strcmp(list->v[i].name, o->instance) == 0)
			return parse_plugin(o->scenario ? reg->loads : reg->probes,
					    list->v[i].plugin);
	return NULL;
}

static void add_variant(const struct plan *p, const struct plan_registry *reg,
			const struct variant *v, struct buf *out)
{
	const struct place at = { "variant", v->name };

	add_instances(reg->knobs, &v->knobs, &at, out);
	for (size_t i = 0; i < v->nr_overrides; i++) {
		const struct override *o = &v->overrides[i];
		const struct plugin *plugin = overridden(p, reg, o);

		if (plugin && is_run(plugin, o->key, o->value))
			add_line(&at, o->instance, o->key, o->value, out);
	}
}

int plan_commands(const struct plan *p, const struct plan_registry *reg, struct buf *out,
		  struct err *e)
{
	add_instances(reg->knobs, &p->setup, &(struct place){ "setup", "" }, out);
	for (size_t i = 0; i < p->nr_variants; i++)
		add_variant(p, reg, &p->variants[i], out);
	for (size_t i = 0; i < p->nr_scenarios; i++)
		add_instances(reg->loads, &p->scenarios[i].loads,
			      &(struct place){ "scenario", p->scenarios[i].name }, out);
	add_instances(reg->probes, &p->probes, &(struct place){ "probes", "" }, out);
	return out->failed ? err_nomem(e, "commands of the plan") : 0;
}
