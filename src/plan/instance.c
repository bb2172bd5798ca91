// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan/instance.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "base/opt.h"
#include "base/text.h"

const char *instance_value(const struct instance *inst, const char *key)
{
	for (size_t i = 0; i < inst->nr_settings; i++)
		if (strcmp(inst->settings[i].key, key) == 0)
			return inst->settings[i].value;
	return NULL;
}

static void setting_release(struct setting *s)
{
	free(s->key);
	free(s->value);
	*s = (struct setting){};
}

static int replace(struct setting *s, const char *value, int line, struct err *e)
{
	char *copy = strdup(value);

	if (!copy)
		return err_nomem(e, s->key);
	free(s->value);
	s->value = copy;
	s->line = line;
	return 0;
}

int instance_set(struct instance *inst, const char *key, const char *value, int line, struct err *e)
{
	_cleanup_(setting_release) struct setting s = {};
	struct setting *v;

	for (size_t i = 0; i < inst->nr_settings; i++)
		if (strcmp(inst->settings[i].key, key) == 0)
			return replace(&inst->settings[i], value, line, e);
	s = (struct setting){ .key = strdup(key), .value = strdup(value), .line = line };
	v = realloc(inst->settings, (inst->nr_settings + 1) * sizeof(*v));
	if (v)
		inst->settings = v;
	if (!v || !s.key || !s.value)
		return err_nomem(e, key);
	inst->settings[inst->nr_settings++] = s;
	s = (struct setting){};
	return 0;
}

static int unknown_key(const struct instance *inst, const struct opt *rows, const char *key,
		       struct err *e)
{
	_cleanup_(buf_release) struct buf all = {};
	const char *words[65] = {};
	const char *near;

	for (size_t i = 0; rows && rows[i].type != OPT_END && i < ARRAY_SIZE(words) - 1; i++) {
		words[i] = rows[i].name;
		buf_printf(&all, "%s%s", i ? ", " : "", rows[i].name);
	}
	near = text_nearest(key, words);
	if (near)
		return err_set(e, -EINVAL, "%s has no option \"%s\"; did you mean \"%s\"?",
			       inst->plugin, key, near);
	return err_set(e, -EINVAL, "%s has no option \"%s\"; it has: %s", inst->plugin, key,
		       all.len ? buf_str(&all) : "none");
}

static int parse_rows(const struct instance *inst, const struct opt *rows, void *cfg, struct err *e)
{
	int r = opt_defaults(rows, cfg, e);

	for (size_t i = 0; i < inst->nr_settings && r >= 0; i++) {
		const struct setting *s = &inst->settings[i];
		const struct opt *row = opt_find(rows, s->key);

		if (!row)
			return unknown_key(inst, rows, s->key, e);
		r = opt_set(row, s->value, cfg, e);
	}
	for (; r >= 0 && rows && rows->type != OPT_END; rows++)
		if (!rows->def && !instance_value(inst, rows->name))
			return err_set(e, -EINVAL, "%s needs the option \"%s\" (%s)", inst->plugin,
				       rows->name, rows->help);
	return r;
}

int instance_parse(const struct instance *inst, const struct opt *rows, void *cfg, struct err *e)
{
	int r = parse_rows(inst, rows, cfg, e);

	if (r < 0)
		opt_release(rows, cfg);
	return r;
}

void instance_release(struct instance *inst)
{
	free(inst->plugin);
	free(inst->name);
	for (size_t i = 0; i < inst->nr_settings; i++)
		setting_release(&inst->settings[i]);
	free(inst->settings);
	*inst = (struct instance){};
}

int instance_copy(const struct instance *from, struct instance *ret, struct err *e)
{
	_cleanup_(instance_release) struct instance c = { .line = from->line };
	int r;

	c.plugin = from->plugin ? strdup(from->plugin) : NULL;
	c.name = from->name ? strdup(from->name) : NULL;
	if (!c.plugin || !c.name)
		return err_nomem(e, "instance");
	for (size_t i = 0; i < from->nr_settings; i++) {
		const struct setting *s = &from->settings[i];

		r = instance_set(&c, s->key, s->value, s->line, e);
		if (r < 0)
			return r;
	}
	*ret = c;
	c = (struct instance){};
	return 0;
}

int instances_add(struct instances *list, const struct instance *inst, struct err *e)
{
	struct instance *v = realloc(list->v, (list->nr + 1) * sizeof(*v));
	int r;

	if (!v)
		return err_nomem(e, inst->plugin);
	list->v = v;
	r = instance_copy(inst, &list->v[list->nr], e);
	if (r < 0)
		return r;
	list->nr++;
	return 0;
}

void instances_release(struct instances *list)
{
	for (size_t i = 0; i < list->nr; i++)
		instance_release(&list->v[i]);
	free(list->v);
	*list = (struct instances){};
}

struct json_object *instances_to_json(const struct instances *list)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < list->nr; i++) {
		const struct instance *inst = &list->v[i];
		struct json_object *o = json_object_new_object();
		struct json_object *settings = json_object_new_object();

		for (size_t k = 0; k < inst->nr_settings; k++)
			json_object_object_add(settings, inst->settings[k].key,
					       json_object_new_string(inst->settings[k].value));
		json_object_object_add(o, "plugin", json_object_new_string(inst->plugin));
		json_object_object_add(o, "name", json_object_new_string(inst->name));
		json_object_object_add(o, "settings", settings);
		json_object_array_add(array, o);
	}
	return array;
}

static int from_json(struct json_object *o, struct instance *ret, struct err *e)
{
	_cleanup_(instance_release) struct instance inst = {};
	const char *plugin = json_field_string(o, "plugin"), *name = json_field_string(o, "name");
	struct json_object *settings = json_field_object(o, "settings");

	if (!plugin || !name || !settings)
		return err_set(e, -EBADMSG,
			       "an instance needs \"plugin\", \"name\" and \"settings\"");
	inst.plugin = strdup(plugin);
	inst.name = strdup(name);
	if (!inst.plugin || !inst.name)
		return err_nomem(e, plugin);
	json_object_object_foreach(settings, key, value)
	{
		int r = json_object_is_type(value, json_type_string)
				? instance_set(&inst, key, json_object_get_string(value), 0, e)
				: err_set(e, -EBADMSG, "%s: \"%s\" is not a string", plugin, key);

		if (r < 0)
			return r;
	}
	*ret = inst;
	inst = (struct instance){};
	return 0;
}

int instances_from_json(struct json_object *o, struct instances *ret, struct err *e)
{
	_cleanup_(instances_release) struct instances list = {};
	size_t nr;

	if (!json_object_is_type(o, json_type_array))
		return err_set(e, -EBADMSG, "instances are not an array");
	nr = json_object_array_length(o);
	for (size_t i = 0; i < nr; i++) {
		_cleanup_(instance_release) struct instance inst = {};
		int r = from_json(json_object_array_get_idx(o, i), &inst, e);

		if (r >= 0)
			r = instances_add(&list, &inst, e);
		if (r < 0)
			return r;
	}
	*ret = list;
	list = (struct instances){};
	return 0;
}
