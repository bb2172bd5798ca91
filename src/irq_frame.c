// SPDX-License-Identifier: GPL-3.0-or-later
#include "irq_frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"

void irq_frame_release(struct irq_frame *f)
{
	procint_release(&f->interrupts);
	procint_release(&f->softirqs);
	irqmap_release(&f->map);
	irqtime_table_release(&f->times);
	*f = (struct irq_frame){};
}

static int lack(struct irqmap *m, const char *sentence)
{
	char **v = reallocarray(m->lacks.v, m->lacks.nr + 1, sizeof(*v));
	char *copy = strdup(sentence);

	if (v)
		m->lacks.v = v;
	if (!v || !copy) {
		free(copy);
		return -ENOMEM;
	}
	m->lacks.v[m->lacks.nr++] = copy;
	return 0;
}

static int parse(const char *path, const struct buf *text, struct procint *ret, struct err *e)
{
	int r = procint_parse(buf_str(text), text->len, ret, e);

	return r < 0 ? err_wrap(e, "/proc/%s", path) : 0;
}

/* Both texts first, understood afterwards: the moment is short. */
static int read_counters(const struct host *host, struct irq_frame *f, struct err *e)
{
	_cleanup_(buf_release) struct buf interrupts = {}, softirqs = {};
	int r;

	f->wall_ns = clock_wall_ns();
	f->at_ns = clock_mono_ns();
	r = kfile_read(host->proc_fd, "interrupts", &interrupts, e);
	if (r >= 0)
		r = kfile_read(host->proc_fd, "softirqs", &softirqs, e);
	if (r < 0)
		return err_wrap(e, "/proc");
	r = parse("interrupts", &interrupts, &f->interrupts, e);
	if (r >= 0)
		r = parse("softirqs", &softirqs, &f->softirqs, e);
	return r;
}

static int read_map(const struct host *host, struct irq_frame *f, struct err *e)
{
	_cleanup_(netdev_napis_release) struct netdev_napis napis = {};
	struct err why = {};
	bool told = netdev_genl_napis(&host->dut, 0, &napis, &why) >= 0;
	int r = irqmap_read(host, told ? &napis : NULL, &f->map, e);

	if (r >= 0 && !told && lack(&f->map, why.msg) < 0)
		return err_nomem(e, "map of interrupts");
	return r;
}

int irq_frame_read(const struct host *host, struct irqtime *times, struct irq_frame *ret,
		   struct err *e)
{
	_cleanup_(irq_frame_release) struct irq_frame f = {};
	int r = read_counters(host, &f, e);

	if (r >= 0 && times) {
		r = irqtime_read(times, &f.times, e);
		f.has_times = r >= 0;
	}
	if (r >= 0)
		r = read_map(host, &f, e);
	if (r < 0)
		return r;
	irq_frame_release(ret);
	*ret = f;
	f = (struct irq_frame){};
	return 0;
}
