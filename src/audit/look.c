// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/cache.h"
#include "audit/check.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "variant/knob.h"

int look_root(const struct look *l, enum root root)
{
	switch (root) {
	case ROOT_PROC:
		return l->scope->host->proc_fd;
	case ROOT_SYS:
		return l->scope->host->sys_fd;
	case ROOT_TOP:
		break;
	}
	return l->scope->root_fd;
}

static const char *root_word(enum root root)
{
	static const char *const words[] = {
		[ROOT_PROC] = "/proc", [ROOT_SYS] = "/sys", [ROOT_TOP] = "/"
	};

	return words[root];
}

bool look_text(struct look *l, enum root root, const char *path, struct buf *out, struct err *e)
{
	int fd = look_root(l, root);

	if (fd < 0) {
		err_set(e, -ENOENT, "%s is not there", root_word(root));
		return false;
	}
	if (kfile_read(fd, path, out, e) >= 0)
		return true;
	/* the same words wherever the tree is */
	err_set(e, e->code, "%s%s%s: %s", root_word(root), root == ROOT_TOP ? "" : "/", path,
		strerrordesc_np(-e->code));
	return false;
}

char *look_line(struct look *l, enum root root, const char *path, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	if (!look_text(l, root, path, &b, e))
		return NULL;
	while (b.len && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == ' '))
		b.data[--b.len] = '\0';
	if (!b.data)
		buf_puts(&b, "");
	return buf_take(&b);
}

bool look_u64(struct look *l, enum root root, const char *path, uint64_t *ret, struct err *e)
{
	_cleanup_(freep) char *line = look_line(l, root, path, e);

	if (!line)
		return false;
	if (text_u64(line, ret) >= 0)
		return true;
	err_set(e, -EBADMSG, "%s%s%s: \"%.40s\" is no number", root_word(root),
		root == ROOT_TOP ? "" : "/", path, line);
	return false;
}

bool look_exists(const struct look *l, enum root root, const char *path)
{
	int fd = look_root(l, root);

	return fd >= 0 && faccessat(fd, path, F_OK, 0) == 0;
}

/* Of what files say: one line that can be printed and put into JSON. NULL without memory. */
__attribute__((format(printf, 1, 0))) static char *clean_text(const char *fmt, va_list ap)
{
	_cleanup_(freep) char *raw = text_vprintf(fmt, ap);
	_cleanup_(buf_release) struct buf b = {};

	if (!raw)
		return NULL;
	for (char *p = raw; *p; p++)
		if (*p == '\t' || *p == '\n')
			*p = ' ';
	if (text_printable(&b, raw, strlen(raw)) < 0 || buf_puts(&b, "") < 0)
		return NULL;
	return buf_take(&b);
}

__attribute__((format(printf, 4, 0))) static void
add_fact(struct look *l, bool passing, const char *key, const char *fmt, va_list ap)
{
	struct audit *a = l->out;
	char *k = strdup(key), *v = clean_text(fmt, ap);
	struct fact *facts = realloc(a->facts, (a->nr_facts + 1) * sizeof(*facts));

	if (facts)
		a->facts = facts;
	if (!k || !v || !facts) {
		free(k);
		free(v);
		a->failed = true;
		return;
	}
	a->facts[a->nr_facts++] = (struct fact){ .key = k, .value = v, .passing = passing };
}

void look_fact(struct look *l, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_fact(l, false, key, fmt, ap);
	va_end(ap);
}

void look_now(struct look *l, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_fact(l, true, key, fmt, ap);
	va_end(ap);
}

void look_fact_file(struct look *l, const char *key, enum root root, const char *path)
{
	struct err ignored = {};
	_cleanup_(freep) char *line = look_line(l, root, path, &ignored);

	if (line)
		look_fact(l, key, "%s", line);
}

void look_found(struct look *l, enum severity severity, unsigned int affects, const char *fmt, ...)
{
	struct audit *a = l->out;
	struct finding *v;
	va_list ap;
	char *what;

	l->last = NULL;
	if (l->facts_only)
		return;
	va_start(ap, fmt);
	what = clean_text(fmt, ap);
	va_end(ap);
	v = what ? realloc(a->findings, (a->nr_findings + 1) * sizeof(*v)) : NULL;
	if (!v) {
		free(what);
		a->failed = true;
		return;
	}
	a->findings = v;
	l->last = &v[a->nr_findings++];
	*l->last = (struct finding){ .check = l->check->name,
				     .severity = affects & l->scope->goal->measures ? severity
										    : SEVERITY_NOTE,
				     .affects = affects,
				     .what = what };
}

void look_why(struct look *l, const char *why)
{
	if (!l->last)
		return;
	l->last->why = strdup(why);
	l->out->failed |= !l->last->why;
}

void look_mend(struct look *l, const char *fmt, ...)
{
	va_list ap;

	if (!l->last)
		return;
	va_start(ap, fmt);
	free(l->last->mend);
	l->last->mend = text_vprintf(fmt, ap);
	va_end(ap);
	l->out->failed |= !l->last->mend;
}

static const struct knob_ops *knob_called(const struct look *l, const char *name)
{
	const struct knob_ops *const *k = l->scope->knobs;

	while (k && *k && strcmp((*k)->plugin.name, name) != 0)
		k++;
	return k ? *k : NULL;
}

/* Options of @ops cover @inst: a knob of another version may lack one. */
static bool is_taken(const struct knob_ops *ops, const struct instance *inst)
{
	if (ops->plugin.free_keys)
		return true;
	for (size_t i = 0; i < inst->nr_settings; i++) {
		const struct setting *s = &inst->settings[i];
		const struct opt *row = ops->plugin.options ? opt_find(ops->plugin.options, s->key)
							    : NULL;
		struct err ignored = {};

		/* names such as $dut are filled in later */
		if (!row || (!strchr(s->value, '$') && opt_check(row, s->value, &ignored) < 0))
			return false;
	}
	return true;
}

bool look_knob(struct look *l, const char *plugin, ...)
{
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup(plugin),
							     .name = strdup(plugin) };
	const struct knob_ops *ops = knob_called(l, plugin);
	struct err ignored = {};
	const char *key;
	va_list ap;
	int r = inst.plugin && inst.name ? 0 : -ENOMEM;

	if (!l->last || !ops)
		return false;
	va_start(ap, plugin);
	while (r >= 0 && (key = va_arg(ap, const char *)))
		r = instance_set(&inst, key, va_arg(ap, const char *), 0, &ignored);
	va_end(ap);
	if (r >= 0 && !is_taken(ops, &inst))
		return false;
	if (r >= 0)
		r = instances_add(&l->last->knobs, &inst, &ignored);
	l->out->failed |= r < 0;
	return r >= 0;
}

int look_absent(struct look *l, struct err *e, const char *reason)
{
	return err_set(e, -ENODEV, "%s", reason);
}

void look_list(struct buf *out, size_t nr, size_t max, const char *word)
{
	if (nr < max)
		buf_printf(out, "%s%s", nr ? ", " : "", word);
	else if (nr == max)
		buf_puts(out, " ...");
}

char *look_boot(struct look *l, const char *key)
{
	struct err ignored = {};
	_cleanup_(freep) char *line = look_line(l, ROOT_PROC, "cmdline", &ignored);
	size_t len = strlen(key);
	char *found = NULL;

	/* the last one counts */
	for (const char *p = line; p && *p;) {
		size_t n = strcspn(p, " \n");

		if (n >= len && strncmp(p, key, len) == 0 && (n == len || p[len] == '=')) {
			free(found);
			found = n == len ? strdup("") : strndup(p + len + 1, n - len - 1);
		}
		p += n;
		p += strspn(p, " \n");
	}
	return found;
}

bool look_config(struct look *l, struct err *e)
{
	return kconfig_read(&l->cache->config, l->scope->host->proc_fd, l->scope->root_fd, e) >= 0;
}

const char *look_option(struct look *l, const char *name)
{
	struct look_cache *c = l->cache;

	return kconfig_value(&c->config, name, c->option, sizeof(c->option)) ? c->option : NULL;
}

const struct rt_threads *look_threads(struct look *l, struct err *e)
{
	struct look_cache *c = l->cache;

	if (l->scope->host->proc_fd < 0) {
		err_set(e, -ENOENT, "/proc is not there");
		return NULL;
	}
	if (!c->threads_there && rt_threads_list(l->scope->host->proc_fd, &c->threads, e) < 0)
		return NULL;
	c->threads_there = true;
	return &c->threads;
}
