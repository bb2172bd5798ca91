// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/shell.h"

/*
 * Target: the module as the kernel names it ("snd_hda_intel").  Values: "unloaded", "builtin", and
 * "loaded KEY=VALUE ..." with every parameter that the kernel shows, blanks and % of a value as
 * %XX. Two of them are the same when they agree on what both name.
 *
 * A parameter that the kernel does not know is logged and ignored by it, so one that cannot be read
 * back is refused.  Modules go by rmmod, one by one: modprobe -r would take others along that
 * nobody uses any more, but that were there before.
 *
 * Source: Documentation/ABI/stable/sysfs-module, modprobe(8), rmmod(8) of kmod 30.
 */

#define LIMIT_NS (30 * NS_PER_S)
#define LOADED "loaded"
#define UNLOADED "unloaded"
#define BUILTIN "builtin"
#define NAME_MAX_LEN 64

enum module_state {
	MODULE_LOADED,
	MODULE_UNLOADED,
};

struct module_cfg {
	char *name;
	int state;
	struct str_list params;
};

static const char *const states[] = { LOADED, UNLOADED, NULL };

static const struct opt module_options[] = {
	{ "name", OPT_STRING, offsetof(struct module_cfg, name), NULL,
	  "name of the module, such as veth" },
	{ "state", OPT_ENUM, offsetof(struct module_cfg, state), LOADED,
	  "loaded, with what it depends on, or unloaded", 0, 0, states },
	{ "params", OPT_STRINGS, offsetof(struct module_cfg, params), "",
	  "its parameters, [key=value, ...]; with others it is loaded anew" },
	{},
};

/* "snd-hda-intel" is snd_hda_intel to the kernel. */
static int kernel_name(const char *name, char ret[static NAME_MAX_LEN], struct err *e)
{
	size_t len = strlen(name);

	bool good = len > 0 && len < NAME_MAX_LEN;

	for (size_t i = 0; i < len && good; i++)
		good = isalnum((unsigned char)name[i]) || name[i] == '_' || name[i] == '-';
	if (!good)
		return err_set(e, -EINVAL, "\"%.80s\" is no name of a module", name);
	memcpy(ret, name, len + 1);
	for (char *dash; (dash = strchr(ret, '-'));)
		*dash = '_';
	return 0;
}

static void put_escaped(struct buf *out, const char *value)
{
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c <= ' ' || c == '%' || c == 0x7f)
			buf_printf(out, "%%%02x", c);
		else
			buf_putc(out, *value);
	}
}

/* The reverse, in place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		char hex[3] = "";

		if (*s == '%')
			memcpy(hex, s + 1, strnlen(s + 1, 2));
		if (isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1])) {
			*to++ = (char)strtoul(hex, NULL, 16);
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static bool has_file(const struct host *host, const char *name, const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), "module/%s/%s", name, file);
	return faccessat(host->sys_fd, path, F_OK, 0) == 0;
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

struct names {
	struct dirent **v;
	int nr;
};

static void names_release(struct names *n)
{
	for (int i = 0; i < n->nr; i++)
		free(n->v[i]);
	free(n->v);
}

/* What can be read and given again; an unset string shows as "(null)". */
static void put_params(const struct host *host, const char *name, struct buf *out)
{
	_cleanup_(names_release) struct names n = {};
	char path[384];

	snprintf(path, sizeof(path), "module/%s/parameters", name);
	n.nr = scandirat(host->sys_fd, path, &n.v, is_visible, alphasort);
	for (int i = 0; i < n.nr; i++) {
		_cleanup_(freep) char *value = NULL;
		struct err ignored = {};

		snprintf(path, sizeof(path), "module/%s/parameters/%s", name, n.v[i]->d_name);
		if (kfile_read_line(host->sys_fd, path, &value, &ignored) < 0 ||
		    strcmp(value, "(null)") == 0)
			continue;
		buf_printf(out, " %s=", n.v[i]->d_name);
		put_escaped(out, value);
	}
}

static int module_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};
	_cleanup_(freep) char *state = NULL;
	char path[256];
	int r;

	if (!has_file(host, target, "initstate")) {
		buf_puts(&b, has_file(host, target, "") ? BUILTIN : UNLOADED);
	} else {
		snprintf(path, sizeof(path), "module/%s/initstate", target);
		r = kfile_read_line(host->sys_fd, path, &state, e);
		if (!state)
			return r;
		if (strcmp(state, "live") != 0)
			return err_set(e, -EBUSY, "module %s is %s: loading or unloading hangs",
				       target, state);
		buf_puts(&b, LOADED);
		put_params(host, target, &b);
	}
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, target);
}

/* The value of @key in "loaded a=1 b=2" with its length; NULL: not named. */
static const char *find_param(const char *text, const char *key, size_t key_len, size_t *ret_len)
{
	while ((text = strchr(text, ' '))) {
		text++;
		if (strncmp(text, key, key_len) == 0 && text[key_len] == '=') {
			*ret_len = strcspn(text + key_len + 1, " ");
			return text + key_len + 1;
		}
	}
	return NULL;
}

/* bool takes 1, y and Y and shows Y */
static char plain_bool(const char *s, size_t len)
{
	if (len != 1 || !strchr("YyNn10", *s))
		return 0;
	return strchr("Yy1", *s) ? '1' : '0';
}

static bool same_value(const char *a, size_t a_len, const char *b, size_t b_len)
{
	char x = plain_bool(a, a_len), y = plain_bool(b, b_len);

	return (a_len == b_len && memcmp(a, b, a_len) == 0) || (x && x == y);
}

static bool module_same(const char *a, const char *b)
{
	size_t a_len = strcspn(a, " "), b_len = strcspn(b, " ");
	const char *p = a;

	if (a_len != b_len || memcmp(a, b, a_len) != 0)
		return false;
	while ((p = strchr(p, ' '))) {
		const char *key = ++p, *value, *other;
		size_t key_len = strcspn(key, "= "), len, other_len = 0;

		if (key[key_len] != '=')
			continue;
		value = key + key_len + 1;
		len = strcspn(value, " ");
		other = find_param(b, key, key_len, &other_len);
		if (other && !same_value(value, len, other, other_len))
			return false;
	}
	return true;
}

/* Who would be hurt by unloading it. */
static int check_unused(const struct host *host, const char *name, struct err *e)
{
	_cleanup_(names_release) struct names n = {};
	_cleanup_(buf_release) struct buf holders = {};
	_cleanup_(freep) char *count = NULL;
	struct err ignored = {};
	char path[256];

	snprintf(path, sizeof(path), "module/%s/refcnt", name);
	if (kfile_read_line(host->sys_fd, path, &count, &ignored) < 0 || strcmp(count, "0") == 0)
		return 0;
	snprintf(path, sizeof(path), "module/%s/holders", name);
	n.nr = scandirat(host->sys_fd, path, &n.v, is_visible, alphasort);
	for (int i = 0; i < n.nr; i++)
		buf_printf(&holders, "%s%s", i ? ", " : " of modules ", n.v[i]->d_name);
	return err_set(e, -EBUSY,
		       "module %s is in use (%s uses%s): what uses it must go first (lsmod; for a "
		       "driver its interfaces)",
		       name, count, holders.len ? buf_str(&holders) : "");
}

static int run_tool(const char *tool, const char *name, const char *rest, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_printf(&b, "%s %s%s", tool, name, rest);
	return b.failed ? err_nomem(e, name) : shell_run(buf_str(&b), LIMIT_NS, ret, e);
}

static int unload(const struct host *host, const char *name, struct err *e)
{
	int r = check_unused(host, name, e);

	if (r >= 0)
		r = run_tool("rmmod", name, "", NULL, e);
	if (r >= 0 && has_file(host, name, "initstate"))
		return err_set(e, -EIO, "rmmod was content, but module %s is still loaded", name);
	return r;
}

/* " 'a=1' 'b="x y"'": as words for the shell, blanks as the kernel wants them. */
static int format_params(const char *value, struct buf *out)
{
	const char *p = value;

	while ((p = strchr(p, ' '))) {
		_cleanup_(freep) char *word = strndup(p + 1, strcspn(p + 1, " "));
		_cleanup_(buf_release) struct buf plain = {};
		char *equals = word ? strchr(word, '=') : NULL;

		p++;
		if (!equals)
			continue;
		*equals++ = '\0';
		unescape(equals);
		buf_printf(&plain, strpbrk(equals, " \t") ? "%s=\"%s\"" : "%s=%s", word, equals);
		buf_putc(out, ' ');
		shell_quote(out, buf_str(&plain));
	}
	return out->failed ? -ENOMEM : 0;
}

/* Every parameter that was given is one that the kernel shows. */
static int check_params(const struct host *host, const char *name, const char *value, struct err *e)
{
	const char *p = value;

	while ((p = strchr(p, ' '))) {
		char file[128];

		p++;
		snprintf(file, sizeof(file), "parameters/%.*s", (int)strcspn(p, "= "), p);
		if (!has_file(host, name, file))
			return err_set(e, -EINVAL,
				       "module %s shows no parameter \"%s\" in /sys/module/%s/"
				       "parameters: it is misspelt (the kernel ignores such), or "
				       "hidden, so that it cannot be verified",
				       name, file + strlen("parameters/"), name);
	}
	return 0;
}

static int load(const struct host *host, const char *name, const char *value, struct err *e)
{
	_cleanup_(buf_release) struct buf params = {};
	int r = format_params(value, &params) < 0 ? err_nomem(e, name) : 0;

	if (r >= 0)
		r = run_tool("modprobe --", name, buf_str(&params), NULL, e);
	if (r < 0)
		return r;
	if (!has_file(host, name, "initstate"))
		return err_set(
			e, -EIO,
			"modprobe was content, but module %s is not loaded: it is built into "
			"the kernel, or an \"install\" line of modprobe.d replaces it",
			name);
	return check_params(host, name, value, e);
}

static int module_write(const struct host *host, const char *target, const char *value,
			struct err *e)
{
	bool is_loaded = has_file(host, target, "initstate");
	int r = 0;

	if (strcmp(value, BUILTIN) == 0)
		return err_set(e, -EINVAL, "module %s was built in and is not now", target);
	/* parameters are given at loading, so that other ones mean loading anew */
	if (is_loaded)
		r = unload(host, target, e);
	if (r < 0 || strcmp(value, UNLOADED) == 0)
		return r;
	return load(host, target, value, e);
}

/* "key=value" of the plan into @out. */
static int put_wanted(const struct str_list *params, struct buf *out, struct err *e)
{
	buf_puts(out, LOADED);
	for (size_t i = 0; i < params->nr; i++) {
		const char *p = params->v[i];
		size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_.-");

		if (len == 0 || len > 100 || p[len] != '=')
			return err_set(e, -EINVAL, "params \"%s\": expected key=value", p);
		buf_printf(out, " %.*s=", (int)len, p);
		put_escaped(out, p + len + 1);
	}
	return out->failed ? err_nomem(e, "params") : 0;
}

/* The module of "insmod /lib/modules/6.1.0/kernel/drivers/net/veth.ko.xz a=1". */
static int inserted_name(const char *line, char ret[static NAME_MAX_LEN], struct err *e)
{
	_cleanup_(freep) char *path = strndup(line, strcspn(line, " "));
	char *base = path ? strrchr(path, '/') : NULL, *dot;

	if (!base)
		return err_set(e, -EBADMSG, "modprobe --show-depends is not understood: \"%.80s\"",
			       line);
	dot = strstr(base, ".ko");
	if (dot)
		*dot = '\0';
	return kernel_name(base + 1, ret, e);
}

/*
 * What modprobe would load, in its order.  Each is a setting of its own, so that each that was
 * loaded for it is unloaded again and no other; the last one is what was asked for.
 */
static int add_depends(const char *name, char *text, const char *value, struct knob_settings *l,
		       struct err *e)
{
	char *rest = NULL, last[NAME_MAX_LEN] = "";
	int r = 0;

	for (char *line = strtok_r(text, "\n", &rest); line && r >= 0;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "insmod ", 7) != 0)
			continue;
		if (*last)
			r = knob_settings_add(l, last, LOADED, e);
		if (r >= 0)
			r = inserted_name(line + 7, last, e);
	}
	if (r < 0)
		return r;
	if (!*last)
		return err_set(e, -ENOTSUP,
			       "module %s is built into this kernel: it is always there, and its "
			       "parameters are set at boot; leave it out",
			       name);
	return knob_settings_add(l, last, value, e);
}

static int resolve_loaded(const char *name, const struct module_cfg *cfg, struct knob_settings *l,
			  struct err *e)
{
	_cleanup_(buf_release) struct buf value = {};
	_cleanup_(freep) char *text = NULL;
	int r = put_wanted(&cfg->params, &value, e);

	if (r >= 0)
		r = run_tool("modprobe --show-depends --", name, "", &text, e);
	if (r < 0)
		return r;
	return text ? add_depends(name, text, buf_str(&value), l, e) : err_nomem(e, name);
}

static int resolve_unloaded(const struct host *host, const char *name, const struct module_cfg *cfg,
			    struct knob_settings *l, struct err *e)
{
	int r = cfg->params.nr ? err_set(e, -EINVAL, "params go with state: loaded")
			       : check_unused(host, name, e);

	if (r >= 0 && has_file(host, name, "") && !has_file(host, name, "initstate"))
		return err_set(e, -ENOTSUP,
			       "module %s is built into this kernel: it cannot be unloaded", name);
	return r < 0 ? r : knob_settings_add(l, name, UNLOADED, e);
}

static int module_resolve(const struct host *host, const struct instance *inst,
			  struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	char name[NAME_MAX_LEN];
	struct module_cfg cfg = {};
	int r = instance_parse(inst, module_options, &cfg, e);

	if (r < 0)
		return r;
	r = kernel_name(cfg.name, name, e);
	if (r >= 0)
		r = cfg.state == MODULE_LOADED ? resolve_loaded(name, &cfg, &l, e)
					       : resolve_unloaded(host, name, &cfg, &l, e);
	opt_release(module_options, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

static int module_usable(const struct host *host, struct err *why)
{
	_cleanup_(freep) char *disabled = NULL;
	struct err ignored = {};
	int r;

	if (faccessat(host->proc_fd, "modules", F_OK, 0) < 0)
		return err_set(why, -ENOTSUP,
			       "this kernel takes no modules (/proc/modules is not there: "
			       "CONFIG_MODULES is off)");
	kfile_read_line(host->proc_fd, "sys/kernel/modules_disabled", &disabled, &ignored);
	if (disabled && strcmp(disabled, "0") != 0)
		return err_set(why, -EPERM,
			       "kernel.modules_disabled is 1: no module can be loaded or unloaded "
			       "until the next boot");
	r = knob_needs_cap(host, CAP_SYS_MODULE, "CAP_SYS_MODULE", why);
	if (r >= 0 &&
	    shell_run("command -v modprobe && command -v rmmod", LIMIT_NS, NULL, &ignored) < 0)
		return err_set(why, -ENOENT, "needs modprobe and rmmod: install kmod");
	return r;
}

const struct knob_ops knob_module = {
	.plugin = { .name = "module",
		    .help = "kernel modules, loaded with parameters or unloaded",
		    .options = module_options },
	.usable = module_usable,
	.resolve = module_resolve,
	.read = module_read,
	.write = module_write,
	.same = module_same,
};
