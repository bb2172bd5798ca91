// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit/percpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

void percpu_release(struct percpu *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		free(p->v[i].text);
		cpuset_release(&p->v[i].cpus);
	}
	free(p->v);
	*p = (struct percpu){};
}

static struct percpu_value *value_of(struct percpu *p, const char *text)
{
	struct percpu_value *v;
	char *copy;

	for (size_t i = 0; i < p->nr; i++)
		if (strcmp(p->v[i].text, text) == 0)
			return &p->v[i];
	copy = strdup(text);
	v = copy ? realloc(p->v, (p->nr + 1) * sizeof(*v)) : NULL;
	if (!v) {
		free(copy);
		return NULL;
	}
	p->v = v;
	v[p->nr] = (struct percpu_value){ .text = copy };
	return &v[p->nr++];
}

static int add(struct percpu *p, const char *text, unsigned int cpu, struct err *e)
{
	struct percpu_value *v = value_of(p, text);
	unsigned int *cpus = v ? realloc(v->cpus.cpus, (v->cpus.nr + 1) * sizeof(*cpus)) : NULL;

	if (!cpus)
		return err_nomem(e, "CPUs");
	v->cpus.cpus = cpus;
	cpus[v->cpus.nr++] = cpu;
	return 0;
}

bool percpu_read(struct look *l, const char *file, struct percpu *ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {};
	_cleanup_(percpu_release) struct percpu p = {};
	int fd = look_root(l, ROOT_SYS);

	if (fd < 0 || cpuset_online(fd, &online, e) < 0) {
		err_set(e, -ENOENT, "/sys does not say which CPUs are online");
		return false;
	}
	for (size_t i = 0; i < online.nr; i++) {
		_cleanup_(freep) char *text = NULL;
		struct err why = {};
		char path[256];

		snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/%s", online.cpus[i], file);
		text = look_line(l, ROOT_SYS, path, &why);
		if (text && add(&p, text, online.cpus[i], e) < 0)
			return false;
	}
	if (!p.nr) {
		err_set(e, -ENODEV, "no CPU has %s", file);
		return false;
	}
	*ret = p;
	p = (struct percpu){};
	return true;
}

void percpu_format(const struct percpu *p, struct buf *out)
{
	for (size_t i = 0; i < p->nr; i++) {
		buf_printf(out, "%s%s", i ? ", " : "", p->v[i].text);
		if (p->nr == 1)
			return;
		buf_puts(out, " on CPUs ");
		cpuset_format(&p->v[i].cpus, out);
	}
}
