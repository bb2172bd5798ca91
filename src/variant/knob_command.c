// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <json-c/json.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json_field.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/shell.h"

/*
 * The target is the instance itself as JSON, so that the journal alone can run the undo:
 * {"set":"...","undo":"...","read":"...","expect":"...","witness":"..."}.
 * Values: "set" for what the set command makes, "reads TEXT" for what the read command prints.
 */

#define LIMIT_NS (30 * NS_PER_S)
#define VALUE_SET "set"
#define VALUE_READS "reads "

struct command_cfg {
	char *set;
	char *undo;
	char *read;
	char *expect;
	char *witness;
};

static const struct opt command_options[] = {
	{ "set", OPT_COMMAND, offsetof(struct command_cfg, set), NULL,
	  "shell command that makes the change, within 30 s" },
	{ "undo", OPT_COMMAND, offsetof(struct command_cfg, undo), NULL,
	  "shell command that takes it back; must bear being run twice" },
	{ "read", OPT_COMMAND, offsetof(struct command_cfg, read), "",
	  "shell command that prints the current value" },
	{ "expect", OPT_STRING, offsetof(struct command_cfg, expect), "",
	  "what read prints after set; without it: anything else than before" },
	{ "witness", OPT_COMMAND, offsetof(struct command_cfg, witness), "",
	  "shell command that prints a number that grows when the change works" },
	{},
};

static void cfg_release(struct command_cfg *cfg)
{
	opt_release(command_options, cfg);
}

static char **field(struct command_cfg *cfg, const struct opt *row)
{
	return (char **)(void *)((char *)cfg + row->offset);
}

static int format_target(struct command_cfg *cfg, struct buf *out)
{
	for (const struct opt *row = command_options; row->name; row++) {
		const char *text = *field(cfg, row);

		if (!*text)
			continue;
		buf_putc(out, out->len ? ',' : '{');
		text_json(out, row->name);
		buf_putc(out, ':');
		text_json(out, text);
	}
	return buf_putc(out, '}');
}

static int parse_target(const char *target, struct command_cfg *ret, struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = json_tokener_parse(target);
	_cleanup_(cfg_release) struct command_cfg cfg = {};

	for (const struct opt *row = command_options; row->name; row++) {
		struct json_object *v = NULL;
		const char *text;

		json_object_object_get_ex(o, row->name, &v);
		text = v ? json_object_get_string(v) : row->def;
		if (!text)
			return err_set(e, -EINVAL, "%s: no \"%s\"", target, row->name);
		*field(&cfg, row) = strdup(text);
		if (!*field(&cfg, row))
			return err_nomem(e, target);
	}
	*ret = cfg;
	cfg = (struct command_cfg){};
	return 0;
}

static int command_resolve(const struct host *host, const struct instance *inst,
			   struct knob_settings *ret, struct err *e)
{
	_cleanup_(cfg_release) struct command_cfg cfg = {};
	_cleanup_(buf_release) struct buf target = {}, value = {};
	int r = instance_parse(inst, command_options, &cfg, e);

	(void)host;
	if (r < 0)
		return r;
	if (!*cfg.set || !*cfg.undo)
		return err_set(e, -EINVAL, "needs both set and undo");
	if (*cfg.expect && !*cfg.read)
		return err_set(e, -EINVAL, "\"%s\": expect needs read", cfg.set);
	format_target(&cfg, &target);
	buf_printf(&value, "%s%s", *cfg.expect ? VALUE_READS : VALUE_SET, cfg.expect);
	if (target.failed || value.failed)
		return err_nomem(e, cfg.set);
	r = knob_settings_add(ret, buf_str(&target), buf_str(&value), e);
	if (r >= 0)
		ret->v[ret->nr - 1].blind = !*cfg.expect;
	return r;
}

static int command_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	_cleanup_(cfg_release) struct command_cfg cfg = {};
	_cleanup_(freep) char *text = NULL;
	_cleanup_(buf_release) struct buf b = {};
	int r = parse_target(target, &cfg, e);

	(void)host;
	if (r < 0)
		return r;
	if (!*cfg.read)
		return err_set(e, -ENODATA, "\"%s\" has no read", cfg.set);
	r = shell_run(cfg.read, LIMIT_NS, &text, e);
	if (r < 0)
		return r;
	buf_printf(&b, VALUE_READS "%s", text);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, target);
}

static int command_write(const struct host *host, const char *target, const char *value,
			 struct err *e)
{
	_cleanup_(cfg_release) struct command_cfg cfg = {};
	int r = parse_target(target, &cfg, e);
	bool set;

	(void)host;
	if (r < 0)
		return r;
	set = strcmp(value, VALUE_SET) == 0 ||
	      (*cfg.expect && strncmp(value, VALUE_READS, strlen(VALUE_READS)) == 0 &&
	       strcmp(value + strlen(VALUE_READS), cfg.expect) == 0);
	return shell_run(set ? cfg.set : cfg.undo, LIMIT_NS, NULL, e);
}

static int command_witness(const struct host *host, const char *target, struct witness *ret,
			   struct err *e)
{
	_cleanup_(cfg_release) struct command_cfg cfg = {};
	_cleanup_(freep) char *text = NULL;
	struct witness w = { .what = "the number its witness prints", .min_effect = 1 };
	int r = parse_target(target, &cfg, e);

	(void)host;
	if (r < 0 || !cfg.witness)
		return r;
	if (!*cfg.witness)
		return -ENOENT;
	r = shell_run(cfg.witness, LIMIT_NS, &text, e);
	if (r < 0)
		return r;
	if (text_u64(text, &w.effect) < 0)
		return err_set(e, -EINVAL, "witness \"%s\" printed \"%.60s\", not a number",
			       cfg.witness, text);
	*ret = w;
	return 0;
}

static int command_usable(const struct host *host, struct err *why)
{
	(void)host;
	return access("/bin/sh", X_OK) < 0 ? err_sys(why, "/bin/sh") : 0;
}

const struct knob_ops knob_command = {
	.plugin = { .name = "command",
		    .help = "a pair of shell commands, one to set and one to undo",
		    .options = command_options },
	.usable = command_usable,
	.resolve = command_resolve,
	.read = command_read,
	.write = command_write,
	.witness = command_witness,
};
