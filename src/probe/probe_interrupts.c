// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Interrupts and softirqs for each line, vector and CPU: /proc/interrupts and /proc/softirqs are
 * read into memory at the window's edges and at the boundaries of its intervals, and understood
 * afterwards.
 */
#include "probe/probe.h"

#include <errno.h>
#include <stddef.h>
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
#include "probe/tally.h"
#include "probe/ticker.h"

/* Rows appear while modules load and links come up; each is a line of some hundred bytes. */
#define ROOM 4096

struct interrupts_cfg {
	uint64_t interval_ns;
	uint64_t series;
};

struct probe {
	char *name;
	struct interrupts_cfg cfg;
	struct ticker *ticker;
	int interrupts, softirqs; /* of the ticker */
};

/* One of the two files and what its rows are called. */
struct table {
	const char *path; /* below /proc */
	const char *key;  /* label of a row's id */
	const char *row;  /* metric of one row */
	const char *total;
};

static const struct table interrupts = { "interrupts", "irq", "irq", "irqs" };
static const struct table softirqs = { "softirqs", "vec", "softirq", "net-rx" };

static const struct opt options[] = {
	{ "interval", OPT_NS, offsetof(struct interrupts_cfg, interval_ns), "1s",
	  .help = "length of the intervals of the series", .min = 10 * NS_PER_MS,
	  .max = 3600 * NS_PER_S,
	  .fixed = "a reading takes time, which each variant must bear alike" },
	{ "series", OPT_UINT, offsetof(struct interrupts_cfg, series), "512",
	  .help = "at most so many series of single lines and CPUs, the busiest", .max = 100000 },
	{},
};

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

static void interrupts_close(struct probe *p)
{
	if (!p)
		return;
	ticker_free(p->ticker);
	opt_release(options, &p->cfg);
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
	int fd = env->host->proc_fd, r;

	if (!p)
		return err_nomem(e, inst->name);
	p->name = strdup(inst->name);
	if (!p->name)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &p->cfg, e);
	if (r >= 0)
		r = ticker_new(&p->ticker, p->cfg.interval_ns, env->duration_ns, e);
	if (r >= 0)
		r = p->interrupts =
			ticker_add(p->ticker, fd, interrupts.path, ROOM, TICKER_REQUIRED, e);
	if (r >= 0)
		r = p->softirqs =
			ticker_add(p->ticker, fd, softirqs.path, ROOM, TICKER_REQUIRED, e);
	if (r >= 0)
		r = ticker_arm(p->ticker, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int interrupts_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_start(p->ticker, now_ns, e);
}

static int interrupts_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_stop(p->ticker, now_ns, e);
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

/* A file's readings as tables: those at the edges, and each beside the one before. */
struct reading {
	struct emit *m;
	const struct ticker *ticker;
	size_t id; /* of the ticker */
	const struct table *table;
};

static int parse(const struct reading *f, size_t i, struct procint *ret)
{
	const struct ticker_text text = ticker_text(f->ticker, f->id, i);
	int r = procint_parse(text.len ? text.text : "", text.len, ret, f->m->e);

	return r < 0 ? err_wrap(f->m->e, "/proc/%s", f->table->path) : 0;
}

/* Columns of softirqs are the possible CPUs; one that never counted anything was never online. */
static bool never_ran(const struct reading *f, const struct procint *table, unsigned int cpu)
{
	size_t at = 0;

	if (f->table != &softirqs)
		return false;
	while (at < table->nr_cpus && table->cpus[at] != cpu)
		at++;
	for (size_t i = 0; i < table->nr_rows && at < table->nr_cpus; i++)
		if (!table->rows[i].global && table->rows[i].count[at])
			return false;
	return true;
}

static void report_row(const struct reading *f, const struct procint *after,
		       const struct procint_diff *d, const struct procint_delta *row,
		       double seconds)
{
	_cleanup_(buf_release) struct buf labels = {};
	size_t nr = row->row->global ? 1 : d->nr_cpus;
	struct emit *m = f->m;

	for (size_t i = 0; i < nr && m->r >= 0; i++) {
		unsigned int cpu = row->row->global ? 0 : d->cpus[i];

		if (!row->count[i] && never_ran(f, after, cpu))
			continue;
		if (row_labels(row->row, f->table->key, cpu, &labels) < 0)
			m->r = err_nomem(m->e, f->table->row);
		emit_scalar(m, f->table->row, "1/s", buf_str(&labels),
			    (double)row->count[i] / seconds);
	}
}

static bool counts_in_total(const struct table *table, const struct procint_row *row)
{
	return table == &interrupts ? counts_interrupts(row) : strcmp(row->id, "NET_RX") == 0;
}

static void report_window(const struct reading *f, const struct procint *before,
			  const struct procint *after, const struct procint_diff *d)
{
	double seconds = ticker_window_seconds(f->ticker, f->id), total = 0;

	for (size_t i = 0; i < d->nr_rows; i++) {
		const struct procint_delta *row = &d->rows[i];

		say_changes(f->m, f->table->path, row);
		if (row->total)
			report_row(f, after, d, row, seconds);
		if (counts_in_total(f->table, row->row))
			total += (double)row->total;
	}
	emit_scalar(f->m, f->table->total, "1/s", "", total / seconds);
	say_incomplete(f->m, f->table->path, before, after, d);
}

/* What one file's intervals come to. */
struct over_time {
	struct tally rows;  /* by row and CPU; "": all that count */
	struct tally total; /* of the metric of the total, where it is another sum */
};

static void over_time_release(struct over_time *o)
{
	tally_release(&o->rows);
	tally_release(&o->total);
}

/* The row of the whole window; NULL when it was not there at the end. */
static const struct procint_delta *in_window(const struct procint_diff *window,
					     const struct procint_row *row)
{
	for (size_t i = 0; i < window->nr_rows; i++)
		if (strcmp(window->rows[i].row->id, row->id) == 0 &&
		    strcmp(window->rows[i].row->name, row->name) == 0)
			return &window->rows[i];
	return NULL;
}

/* Cells that never counted in the window, most of a large machine's, are not looked at. */
static bool is_idle(const struct procint_diff *window, const struct procint_delta *of_window,
		    size_t column, unsigned int cpu)
{
	return of_window && !of_window->row->global && column < window->nr_cpus &&
	       window->cpus[column] == cpu && !of_window->count[column];
}

static int tally_cells(const struct reading *f, const struct procint_diff *d,
		       const struct procint_delta *row, size_t interval,
		       const struct procint_diff *window, struct tally *t)
{
	const struct procint_delta *of_window = in_window(window, row->row);
	double seconds = ticker_seconds(f->ticker, f->id, interval);
	size_t nr = row->row->global ? 1 : d->nr_cpus;
	_cleanup_(buf_release) struct buf labels = {};

	if (of_window && !of_window->total && !row->total)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		unsigned int cpu = row->row->global ? 0 : d->cpus[i];
		double *v;

		if (!row->count[i] && is_idle(window, of_window, i, cpu))
			continue;
		if (row_labels(row->row, f->table->key, cpu, &labels) < 0)
			return -ENOMEM;
		v = tally_row(t, buf_str(&labels));
		if (!v)
			return -ENOMEM;
		v[interval] = (double)row->count[i] / seconds;
	}
	return 0;
}

static int tally_interval(const struct reading *f, const struct procint_diff *d, size_t interval,
			  const struct procint_diff *window, struct over_time *o)
{
	double seconds = ticker_seconds(f->ticker, f->id, interval);
	double all = 0, total = 0;
	double *v;
	int r = 0;

	for (size_t i = 0; i < d->nr_rows && r == 0; i++) {
		const struct procint_delta *row = &d->rows[i];

		all += f->table == &softirqs || counts_interrupts(row->row) ? (double)row->total
									    : 0;
		if (counts_in_total(f->table, row->row))
			total += (double)row->total;
		r = tally_cells(f, d, row, interval, window, &o->rows);
	}
	v = r == 0 ? tally_row(&o->rows, "") : NULL;
	if (v)
		v[interval] = all / seconds;
	v = v ? tally_row(&o->total, "") : NULL;
	if (v)
		v[interval] = total / seconds;
	return v ? 0 : -ENOMEM;
}

/* Every interval is the difference of two readings; a reading that failed leaves two unknown. */
static int tally_all(const struct reading *f, const struct procint_diff *window,
		     struct over_time *o)
{
	_cleanup_(procint_release) struct procint before = {};
	int r = parse(f, 0, &before);

	for (size_t i = 0; i < ticker_intervals(f->ticker) && r >= 0; i++) {
		_cleanup_(procint_diff_release) struct procint_diff d = {};
		struct procint after = {};

		if (ticker_text(f->ticker, f->id, i + 1).error == 0)
			r = parse(f, i + 1, &after);
		if (r >= 0 && ticker_seconds(f->ticker, f->id, i) > 0) {
			r = procint_subtract(&before, &after, &d, f->m->e);
			if (r >= 0 && tally_interval(f, &d, i, window, o) < 0)
				r = err_nomem(f->m->e, f->table->path);
		}
		procint_release(&before);
		before = after;
	}
	return r;
}

static void report_intervals(const struct reading *f, const struct procint_diff *window,
			     uint64_t max)
{
	size_t nr = ticker_intervals(f->ticker);
	_cleanup_(over_time_release) struct over_time o = { .rows.nr = nr, .total.nr = nr };
	int r = nr > 1 && f->m->r >= 0 ? tally_all(f, window, &o) : 0;

	if (r < 0) {
		f->m->r = r;
		return;
	}
	/* the sum of all is the largest and so never left out */
	tally_emit(&o.rows, f->ticker, f->m, f->table->row, "1/s", (size_t)max + 1);
	if (f->table == &softirqs)
		tally_emit(&o.total, f->ticker, f->m, f->table->total, "1/s", 1);
}

static void report_file(const struct reading *f, uint64_t max_series)
{
	_cleanup_(procint_release) struct procint before = {}, after = {};
	_cleanup_(procint_diff_release) struct procint_diff d = {};
	int r = parse(f, 0, &before);

	if (r >= 0)
		r = parse(f, ticker_readings(f->ticker) - 1, &after);
	if (r >= 0)
		r = procint_subtract(&before, &after, &d, f->m->e);
	if (r < 0) {
		f->m->r = r;
		return;
	}
	report_window(f, &before, &after, &d);
	report_intervals(f, &d, max_series);
}

static int interrupts_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };
	struct reading f = { &m, p->ticker, (size_t)p->interrupts, &interrupts };

	if (!ticker_readings(p->ticker))
		return err_set(e, -ENODATA, "drained before its window closed");
	report_file(&f, p->cfg.series);
	f.id = (size_t)p->softirqs;
	f.table = &softirqs;
	if (m.r >= 0)
		report_file(&f, p->cfg.series);
	ticker_say(p->ticker, &m);
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
