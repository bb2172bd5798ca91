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
 * {"set":"...","undo":"...","read":"...","expect":"...","verify":"...","witness":"..."}.
 * Values: "set" for what the set command makes, "reads TEXT" for what the read command prints; with
 * verify and no read, "set" and "not set" for what verify says.
 */

#define LIMIT_NS (30 * NS_PER_S)
#define VALUE_SET "set"
#define VALUE_NOT_SET "not set"
#define VALUE_READS "reads "
/* The variable that gives undo what read had printed before. */
#define OLD "IRQLAB_OLD"

struct command_cfg {
	char *set;
	char *undo;
	char *read;
	char *expect;
	char *verify;
	char *witness;
};

static const struct opt command_options[] = {
	{ "set", OPT_COMMAND, offsetof(struct command_cfg, set), NULL,
	  "shell command that makes the change, within 30 s" },
	{ "undo", OPT_COMMAND, offsetof(struct command_cfg, undo), NULL,
	  "shell command that takes it back, also twice; $IRQLAB_OLD is what read had printed" },
	{ "read", OPT_COMMAND, offsetof(struct command_cfg, read), "",
	  "shell command that prints the current value" },
	{ "expect", OPT_STRING, offsetof(struct command_cfg, expect), "",
	  "what read prints after set; without it: anything else than before" },
	{ "verify", OPT_COMMAND, offsetof(struct command_cfg, verify), "",
	  "shell command that succeeds when the setting is in effect, and only then" },
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
	/* what verify says is known beforehand; what read prints only with expect */
	if (r >= 0)
		ret->v[ret->nr - 1].blind = !*cfg.expect && !(*cfg.verify && !*cfg.read);
	return r;
}

/* Does verify succeed?  Asked of a shell of its own, so that it may say "exit". */
static int read_verify(const struct command_cfg *cfg, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_puts(&b, "if sh -c ");
	shell_quote(&b, cfg->verify);
	buf_puts(&b, " >&2; then echo " VALUE_SET "; else echo " VALUE_NOT_SET "; fi");
	return b.failed ? err_nomem(e, cfg->verify) : shell_run(buf_str(&b), LIMIT_NS, ret, e);
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
	if (!*cfg.read && *cfg.verify)
		return read_verify(&cfg, ret, e);
	if (!*cfg.read)
		return err_set(e, -ENODATA, "\"%s\" has no read", cfg.set);
	r = shell_run(cfg.read, LIMIT_NS, &text, e);
	if (r < 0)
		return r;
	buf_printf(&b, VALUE_READS "%s", text);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, target);
}

static bool reads(const char *value, const char *text)
{
	return strncmp(value, VALUE_READS, strlen(VALUE_READS)) == 0 &&
	       strcmp(value + strlen(VALUE_READS), text) == 0;
}

static int run_set(const struct command_cfg *cfg, struct err *e)
{
	int r = shell_run(cfg->set, LIMIT_NS, NULL, e);

	/* with no read, verify is what reads back */
	if (r >= 0 && *cfg->verify && *cfg->read) {
		r = shell_run(cfg->verify, LIMIT_NS, NULL, e);
		if (r < 0)
			err_wrap(e, "was set, but verify says that it is not in effect");
	}
	return r;
}

static int run_undo(const struct command_cfg *cfg, const char *value, struct err *e)
{
	_cleanup_(buf_release) struct buf old = {};

	if (strncmp(value, VALUE_READS, strlen(VALUE_READS)) == 0)
		buf_printf(&old, OLD "=%s", value + strlen(VALUE_READS));
	else
		buf_puts(&old, OLD "=");
	return old.failed ? err_nomem(e, cfg->undo)
			  : shell_run_env(cfg->undo, buf_str(&old), LIMIT_NS, NULL, e);
}

static int command_write(const struct host *host, const char *target, const char *value,
			 struct err *e)
{
	_cleanup_(cfg_release) struct command_cfg cfg = {};
	int r = parse_target(target, &cfg, e);

	(void)host;
	if (r < 0)
		return r;
	if (strcmp(value, VALUE_SET) == 0 || (*cfg.expect && reads(value, cfg.expect)))
		return run_set(&cfg, e);
	return run_undo(&cfg, value, e);
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
		    .help = "shell commands: set and undo, read, verify, witness",
		    .options = command_options },
	.usable = command_usable,
	.resolve = command_resolve,
	.read = command_read,
	.write = command_write,
	.witness = command_witness,
};
