// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/knob.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"

static void setting_release(struct knob_setting *s)
{
	free(s->target);
	free(s->value);
	*s = (struct knob_setting){};
}

int knob_settings_add(struct knob_settings *l, const char *target, const char *value, struct err *e)
{
	_cleanup_(setting_release) struct knob_setting s = { .target = strdup(target),
							     .value = strdup(value) };
	struct knob_setting *v = realloc(l->v, (l->nr + 1) * sizeof(*v));

	if (v)
		l->v = v;
	if (!v || !s.target || !s.value)
		return err_nomem(e, target);
	l->v[l->nr++] = s;
	s = (struct knob_setting){};
	return 0;
}

void knob_settings_release(struct knob_settings *l)
{
	for (size_t i = 0; i < l->nr; i++)
		setting_release(&l->v[i]);
	free(l->v);
	free(l->note);
	*l = (struct knob_settings){};
}

int knob_find(const struct knob_ops *const *knobs, const char *name, const struct knob_ops **ret,
	      struct err *e)
{
	_cleanup_(buf_release) struct buf all = {};
	const char *words[65] = {};
	const char *near;

	for (size_t i = 0; knobs[i]; i++) {
		if (strcmp(knobs[i]->plugin.name, name) == 0) {
			*ret = knobs[i];
			return 0;
		}
		if (i < ARRAY_SIZE(words) - 1)
			words[i] = knobs[i]->plugin.name;
		buf_printf(&all, "%s%s", i ? ", " : "", knobs[i]->plugin.name);
	}
	near = text_nearest(name, words);
	if (near)
		return err_set(e, -EINVAL, "there is no knob \"%s\"; did you mean \"%s\"?", name,
			       near);
	return err_set(e, -EINVAL, "there is no knob \"%s\"; there are: %s", name, buf_str(&all));
}

bool knob_same(const struct knob_ops *ops, const char *a, const char *b)
{
	return ops->same ? ops->same(a, b) : strcmp(a, b) == 0;
}

bool knob_same_target(const struct knob_ops *ops, const char *a, const char *b)
{
	return ops->same_target ? ops->same_target(a, b) : strcmp(a, b) == 0;
}

void knob_describe(const struct knob_ops *ops, const char *target, struct buf *out)
{
	if (ops->describe)
		ops->describe(target, out);
	else
		buf_puts(out, target);
}

bool knob_is_others(const struct knob_ops *ops, const char *now, const char *old, const char *ours)
{
	return now && old && ours && !knob_same(ops, now, old) && !knob_same(ops, now, ours);
}

bool knob_is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV || r == -ESRCH;
}

int knob_usable(const struct host *host, struct err *why)
{
	(void)host;
	(void)why;
	return 0;
}

int knob_needs_cap(const struct host *host, unsigned int cap, const char *cap_name, struct err *why)
{
	_cleanup_(buf_release) struct buf status = {};
	int r = kfile_read(host->proc_fd, "thread-self/status", &status, why);
	const char *line;

	if (r < 0)
		return r;
	line = strstr(buf_str(&status), "\nCapEff:");
	if (line && strtoull(line + strlen("\nCapEff:"), NULL, 16) >> cap & 1)
		return 0;
	return err_set(why, -EPERM, "needs %s: run as root", cap_name);
}

int knob_cpus(const struct host *host, const char *option, const char *cpus, char **ret,
	      struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {}, wanted = {};
	_cleanup_(buf_release) struct buf b = {};
	int r;

	if (!cpus || !*cpus)
		return 0;
	r = cpuset_online(host->sys_fd, &online, e);
	if (r >= 0)
		r = strcmp(cpus, "all") == 0 ? 0 : cpuset_parse(cpus, &wanted, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < wanted.nr; i++) {
		if (cpuset_has(&online, wanted.cpus[i]))
			continue;
		cpuset_format(&online, &b);
		return err_set(e, -EINVAL, "%s \"%s\": this machine has CPUs %s online", option,
			       cpus, buf_str(&b));
	}
	cpuset_format(wanted.nr ? &wanted : &online, &b);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, option);
}
