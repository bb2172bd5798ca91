// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Interrupts and softirqs for each line, vector and CPU: /proc/interrupts and /proc/softirqs are
 * read into memory at the window's edges and understood afterwards.
 */
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/procint.h"

/* A file at both edges. */
struct edges {
	struct buf text[2];
	uint64_t at_ns[2];
};

enum edge { EDGE_START, EDGE_STOP };

struct probe {
	char *name;
	int proc_fd; /* borrowed from the host */
	struct edges interrupts, softirqs;
};

static const struct opt options[] = { {} };

static const struct metric_desc metrics[] = {
	{ "irqs", "1/s", BETTER_NONE, "interrupts over all lines and CPUs" },
	{ "net-rx", "1/s", BETTER_NONE, "NET_RX softirqs over all CPUs" },
	{ "irq", "1/s", BETTER_NONE, "interrupts of one line, labels cpu, irq, name" },
	{ "softirq", "1/s", BETTER_NONE, "softirqs of one vector, labels cpu, vec" },
	{},
};

/* Rows that count something else than interrupts, or interrupts another row has counted. */
static const char *const no_interrupts[] = {
	"MCP", /* polls for machine checks */
	"PMI", /* come as NMI */
	"RTR", /* reads of the local APIC tried again */
	"TLB", /* come as CAL */
};

static int interrupts_usable(const struct host *host, struct err *why)
{
	_cleanup_(buf_release) struct buf text = {};
	int r = kfile_read(host->proc_fd, "interrupts", &text, why);

	return r < 0 ? r : kfile_read(host->proc_fd, "softirqs", &text, why);
}

/* Read once for the size: at the edges nothing is allocated then, unless rows appear. */
static int prepare(struct edges *f, int proc_fd, const char *path, struct err *e)
{
	for (int edge = EDGE_START; edge <= EDGE_STOP; edge++) {
		int r = kfile_read(proc_fd, path, &f->text[edge], e);

		if (r < 0)
			return r;
		if (buf_reserve(&f->text[edge], f->text[edge].len / 4 + 32768) < 0)
			return err_nomem(e, path);
		buf_reset(&f->text[edge]);
	}
	return 0;
}

static void edges_release(struct edges *f)
{
	buf_release(&f->text[EDGE_START]);
	buf_release(&f->text[EDGE_STOP]);
}

static int snap(struct edges *f, enum edge edge, int proc_fd, const char *path, struct err *e)
{
	buf_reset(&f->text[edge]);
	f->at_ns[edge] = clock_mono_ns();
	return kfile_read(proc_fd, path, &f->text[edge], e);
}

static int snap_all(struct probe *p, enum edge edge, struct err *e)
{
	int r = snap(&p->interrupts, edge, p->proc_fd, "interrupts", e);

	if (r >= 0)
		r = snap(&p->softirqs, edge, p->proc_fd, "softirqs", e);
	return r;
}

static void interrupts_close(struct probe *p)
{
	if (!p)
		return;
	edges_release(&p->interrupts);
	edges_release(&p->softirqs);
	free(p->name);
	free(p);
}

static void interrupts_closep(struct probe **p)
{
	interrupts_close(*p);
}

static int interrupts_open(struct probe **ret, const struct probe_env *env,
			   const struct instance *inst, struct err *e)
{
	_cleanup_(interrupts_closep) struct probe *p = calloc(1, sizeof(*p));
	char none;
	int r;

	if (!p)
		return err_nomem(e, inst->name);
	p->proc_fd = env->host->proc_fd;
	p->name = strdup(inst->name);
	if (!p->name)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &none, e);
	if (r >= 0)
		r = prepare(&p->interrupts, p->proc_fd, "interrupts", e);
	if (r >= 0)
		r = prepare(&p->softirqs, p->proc_fd, "softirqs", e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int interrupts_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	return snap_all(p, EDGE_START, e);
}

static int interrupts_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	return snap_all(p, EDGE_STOP, e);
}

static bool counts_interrupts(const struct procint_row *row)
{
	if (row->global)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(no_interrupts); i++)
		if (strcmp(row->id, no_interrupts[i]) == 0)
			return false;
	return true;
}

/* "cpu=0,irq=24,name=eth0-rx-0" or "cpu=0,vec=NET_RX"; a global row has no CPU. */
static int row_labels(const struct procint_row *row, const char *key, unsigned int cpu,
		      struct buf *out)
{
	buf_reset(out);
	if (!row->global)
		buf_printf(out, "cpu=%u,", cpu);
	buf_printf(out, "%s=", key);
	emit_label(out, row->id);
	if (*row->name) {
		buf_puts(out, ",name=");
		emit_label(out, row->name);
	}
	return out->failed ? -ENOMEM : 0;
}

static void report_row(struct emit *m, const struct procint_diff *d,
		       const struct procint_delta *row, const char *key, double seconds)
{
	_cleanup_(buf_release) struct buf labels = {};
	const char *metric = strcmp(key, "irq") == 0 ? "irq" : "softirq";
	size_t nr = row->row->global ? 1 : d->nr_cpus;

	for (size_t i = 0; i < nr && m->r >= 0; i++) {
		unsigned int cpu = row->row->global ? 0 : d->cpus[i];

		if (row_labels(row->row, key, cpu, &labels) < 0)
			m->r = err_nomem(m->e, metric);
		emit_scalar(m, metric, "1/s", buf_str(&labels), (double)row->count[i] / seconds);
	}
}

/* A counter that did not simply count is said so, never silent. */
static void say_changes(struct emit *m, const char *path, const struct procint_delta *row)
{
	const char *id = row->row->id, *name = row->row->name, *sep = *name ? " " : "";

	if (row->changes & PROCINT_WRAPPED)
		emit_event(m, SEVERITY_NOTE, 0, "/proc/%s %s%s%s: the counter passed 2^32", path,
			   id, sep, name);
	if (row->changes & PROCINT_RESET)
		emit_event(m, SEVERITY_NOTE, 0,
			   "/proc/%s %s%s%s: the counter began again within the window; its rate "
			   "is a lower bound",
			   path, id, sep, name);
	if (row->changes & PROCINT_APPEARED && row->total)
		emit_event(m, SEVERITY_NOTE, 0,
			   "/proc/%s %s%s%s: appeared within the window; counted from 0", path, id,
			   sep, name);
}

static void say_incomplete(struct emit *m, const char *path, const struct procint *a,
			   const struct procint *b, const struct procint_diff *d)
{
	for (size_t i = 0; i < d->nr_vanished; i++)
		emit_event(m, SEVERITY_NOTE, 0,
			   "/proc/%s %s %s: vanished within the window; its rate is unknown", path,
			   d->vanished[i]->id, d->vanished[i]->name);
	if (d->nr_cpus_changed)
		emit_event(m, SEVERITY_WARN, 0,
			   "/proc/%s: %zu CPUs went on- or offline within the window and are left "
			   "out",
			   path, d->nr_cpus_changed);
	if (a->truncated || b->truncated)
		emit_event(m, SEVERITY_WARN, 0,
			   "/proc/%s: the text ends within a line; rows may be missing", path);
	if (a->nr_bad + b->nr_bad)
		emit_event(m, SEVERITY_NOTE, 0, "/proc/%s: %zu lines were not understood", path,
			   a->nr_bad > b->nr_bad ? a->nr_bad : b->nr_bad);
}

static int parse_edge(const struct edges *f, enum edge edge, const char *path, struct procint *ret,
		      struct err *e)
{
	int r = procint_parse(buf_str(&f->text[edge]), f->text[edge].len, ret, e);

	return r < 0 ? err_wrap(e, "/proc/%s", path) : 0;
}

static double report_rows(struct emit *m, const char *path, const char *key,
			  const struct procint_diff *d, double seconds)
{
	bool is_irq = strcmp(key, "irq") == 0;
	double total = 0;

	for (size_t i = 0; i < d->nr_rows; i++) {
		const struct procint_delta *row = &d->rows[i];

		say_changes(m, path, row);
		if (row->total)
			report_row(m, d, row, key, seconds);
		if (is_irq ? counts_interrupts(row->row) : strcmp(row->row->id, "NET_RX") == 0)
			total += (double)row->total;
	}
	return total;
}

/* All of one file; its total goes to @metric. */
static void report_file(struct emit *m, const struct edges *f, const char *path, const char *key,
			const char *metric)
{
	_cleanup_(procint_release) struct procint before = {}, after = {};
	_cleanup_(procint_diff_release) struct procint_diff d = {};
	double seconds = (double)(f->at_ns[EDGE_STOP] - f->at_ns[EDGE_START]) / (double)NS_PER_S;
	double total;
	int r = parse_edge(f, EDGE_START, path, &before, m->e);

	if (r >= 0)
		r = parse_edge(f, EDGE_STOP, path, &after, m->e);
	if (r >= 0)
		r = procint_subtract(&before, &after, &d, m->e);
	if (r < 0) {
		m->r = r;
		return;
	}
	total = report_rows(m, path, key, &d, seconds);
	emit_scalar(m, metric, "1/s", "", total / seconds);
	say_incomplete(m, path, &before, &after, &d);
}

static int interrupts_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };

	if (!p->interrupts.at_ns[EDGE_STOP] || !p->softirqs.at_ns[EDGE_STOP])
		return err_set(e, -ENODATA, "drained before its window closed");
	report_file(&m, &p->interrupts, "interrupts", "irq", "irqs");
	if (m.r >= 0)
		report_file(&m, &p->softirqs, "softirqs", "vec", "net-rx");
	return m.r;
}

const struct probe_ops probe_interrupts = {
	.plugin = { .name = "interrupts",
		    .help = "interrupts and softirqs a second, by line and CPU",
		    .options = options,
		    .metrics = metrics },
	.usable = interrupts_usable,
	.open = interrupts_open,
	.start = interrupts_start,
	.stop = interrupts_stop,
	.drain = interrupts_drain,
	.close = interrupts_close,
};
