// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where the CPUs' time went, from /proc/stat at the boundaries of the window's intervals.  Shares
 * of a CPU's own sum of ticks, so that the length of the window does not matter; guest time is a
 * part of user and nice there and is not counted twice.
 */
#include "probe/probe.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "plan/instance.h"
#include "probe/accounting.h"
#include "probe/emit.h"
#include "probe/procstat.h"
#include "probe/tally.h"
#include "probe/ticker.h"

/* Above this share the hypervisor is part of the result. */
#define STEAL_WARN 0.01

/* Rows of CPUs that come online, and a line of interrupts that grows. */
#define ROOM 4096

struct cpu_cfg {
	uint64_t interval_ns;
};

struct probe {
	char *name;
	struct cpu_cfg cfg;
	struct ticker *ticker;
	int stat; /* of the ticker */
	enum accounting accounting;
	const char *why; /* of the accounting */
	bool no_irq;	 /* the column of interrupts stands still since the boot: it is no time */
};

static const struct opt options[] = {
	{ "interval", OPT_NS, offsetof(struct cpu_cfg, interval_ns), "1s",
	  .help = "length of the intervals of the series", .min = 10 * NS_PER_MS,
	  .max = 3600 * NS_PER_S,
	  .fixed = "a reading takes time, which each variant must bear alike" },
	{},
};

static const struct metric_desc metrics[] = {
	{ "busy", "ratio", BETTER_NONE, "time not idle and not stolen, of all CPUs",
	  .kind = METRIC_RATE },
	{ "user", "ratio", BETTER_NONE, "time in user space, at any nice value, without guests",
	  .kind = METRIC_RATE },
	{ "system", "ratio", BETTER_NONE, "time in the kernel, without interrupts and softirqs",
	  .kind = METRIC_RATE },
	{ "softirq", "ratio", BETTER_NONE, "time in softirqs", .kind = METRIC_RATE },
	{ "irq", "ratio", BETTER_NONE, "time in interrupts, where the kernel accounts it",
	  .kind = METRIC_RATE },
	{ "iowait", "ratio", BETTER_NONE, "idle time while something waited for a disk",
	  .kind = METRIC_RATE },
	{ "steal", "ratio", BETTER_NONE, "time the hypervisor gave to others",
	  .kind = METRIC_RATE },
	{ "guest", "ratio", BETTER_NONE, "time in virtual machines of this one",
	  .kind = METRIC_RATE },
	{ "ctxt", "1/s", BETTER_NONE, "context switches over all CPUs" },
	{},
};

/* What is made of a row of ticks. */
enum share { BUSY, USER, SYSTEM, SOFTIRQ, IRQ, IOWAIT, STEAL, GUEST, NR_SHARES };

static const struct {
	const char *name;
	unsigned int columns; /* that a kernel must have for it */
} shares[NR_SHARES] = {
	[BUSY] = { "busy", 4 },
	[USER] = { "user", 4 },
	[SYSTEM] = { "system", 4 },
	[SOFTIRQ] = { "softirq", PROCSTAT_SOFTIRQ + 1 },
	[IRQ] = { "irq", PROCSTAT_IRQ + 1 },
	[IOWAIT] = { "iowait", PROCSTAT_IOWAIT + 1 },
	[STEAL] = { "steal", PROCSTAT_STEAL + 1 },
	[GUEST] = { "guest", PROCSTAT_GUEST + 1 },
};

static uint64_t part(const struct procstat_cpu *d, enum share share)
{
	uint64_t guest = d->t[PROCSTAT_GUEST] + d->t[PROCSTAT_GUEST_NICE];
	uint64_t user = d->t[PROCSTAT_USER] + d->t[PROCSTAT_NICE];

	switch (share) {
	case BUSY:
		return procstat_sum(d) - d->t[PROCSTAT_IDLE] - d->t[PROCSTAT_IOWAIT] -
		       d->t[PROCSTAT_STEAL];
	case USER:
		return user > guest ? user - guest : 0;
	case SYSTEM:
		return d->t[PROCSTAT_SYSTEM];
	case SOFTIRQ:
		return d->t[PROCSTAT_SOFTIRQ];
	case IRQ:
		return d->t[PROCSTAT_IRQ];
	case IOWAIT:
		return d->t[PROCSTAT_IOWAIT];
	case STEAL:
		return d->t[PROCSTAT_STEAL];
	case GUEST:
		return guest;
	case NR_SHARES:
		break;
	}
	return 0;
}

static double ratio(const struct procstat_cpu *d, enum share share)
{
	uint64_t all = procstat_sum(d);

	return all ? (double)part(d, share) / (double)all : 0;
}

struct account {
	struct emit *m;
	struct probe *p;
	unsigned int nr_columns;
	struct tally series[NR_SHARES];
	struct tally ctxt;
};

static void account_release(struct account *a)
{
	for (int i = 0; i < NR_SHARES; i++)
		tally_release(&a->series[i]);
	tally_release(&a->ctxt);
}

static bool is_known(const struct account *a, int share)
{
	return a->nr_columns >= shares[share].columns && !(share == IRQ && a->p->no_irq);
}

static int cpu_usable(const struct host *host, struct err *why)
{
	_cleanup_(buf_release) struct buf text = {};

	return kfile_read(host->proc_fd, "stat", &text, why);
}

static void report_shares(struct account *a, const char *labels, const struct procstat_cpu *d)
{
	if (procstat_sum(d) == 0)
		return;
	for (int i = 0; i < NR_SHARES; i++)
		if (is_known(a, i))
			emit_scalar(a->m, shares[i].name, "ratio", labels, ratio(d, i));
}

static void say_steal(struct emit *m, const struct procstat_cpu *total,
		      const struct procstat_cpu *worst)
{
	/* one tick of a short window is no share */
	if (ratio(worst, STEAL) <= STEAL_WARN || worst->t[PROCSTAT_STEAL] < 2)
		return;
	emit_event(m, SEVERITY_WARN, 0,
		   "stolen CPU time %.1f %% (CPU %u: %.1f %%): the hypervisor ran something else; "
		   "latency and throughput are suspect",
		   100 * ratio(total, STEAL), worst->cpu, 100 * ratio(worst, STEAL));
}

static void add(struct procstat_cpu *to, const struct procstat_cpu *d)
{
	for (int i = 0; i < PROCSTAT_NR; i++)
		to->t[i] += d->t[i];
}

static void report_window(struct account *a, const struct procstat *before,
			  const struct procstat *after)
{
	struct procstat_cpu total = {}, worst = {};
	size_t changed = before->nr_cpus;
	char labels[24];

	for (size_t i = 0; i < after->nr_cpus; i++) {
		const struct procstat_cpu *old = procstat_cpu(before, after->cpus[i].cpu);
		struct procstat_cpu d;

		if (!old) {
			changed++;
			continue;
		}
		changed--;
		d = procstat_subtract(old, &after->cpus[i]);
		snprintf(labels, sizeof(labels), "cpu=%u", d.cpu);
		report_shares(a, labels, &d);
		add(&total, &d);
		if (ratio(&d, STEAL) > ratio(&worst, STEAL))
			worst = d;
	}
	if (changed)
		emit_event(a->m, SEVERITY_WARN, 0,
			   "/proc/stat: %zu CPUs went on- or offline within the window and are "
			   "left out",
			   changed);
	if (procstat_sum(&total) == 0)
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "/proc/stat did not move: the window is shorter than its tick; use a "
			   "longer trial");
	report_shares(a, "", &total);
	say_steal(a->m, &total, &worst);
}

static void report_ctxt(struct account *a, const struct procstat *before,
			const struct procstat *after)
{
	double seconds = ticker_window_seconds(a->p->ticker, (size_t)a->p->stat);

	if (before->ctxt.known && after->ctxt.known && after->ctxt.v >= before->ctxt.v &&
	    seconds > 0)
		emit_scalar(a->m, "ctxt", "1/s", "",
			    (double)(after->ctxt.v - before->ctxt.v) / seconds);
}

static bool tally_shares(struct account *a, size_t i, const char *labels,
			 const struct procstat_cpu *d)
{
	for (int k = 0; k < NR_SHARES && procstat_sum(d); k++) {
		double *v = is_known(a, k) ? tally_row(&a->series[k], labels) : NULL;

		if (v)
			v[i] = ratio(d, k);
		else if (is_known(a, k))
			return false;
	}
	return true;
}

static int tally_interval(struct account *a, size_t i, const struct procstat *before,
			  const struct procstat *after)
{
	double seconds = ticker_seconds(a->p->ticker, (size_t)a->p->stat, i), *v;
	struct procstat_cpu total = {};
	bool ok = true;
	char labels[24];

	for (size_t k = 0; k < after->nr_cpus && ok; k++) {
		const struct procstat_cpu *old = procstat_cpu(before, after->cpus[k].cpu);
		struct procstat_cpu d;

		if (!old)
			continue;
		d = procstat_subtract(old, &after->cpus[k]);
		add(&total, &d);
		snprintf(labels, sizeof(labels), "cpu=%u", d.cpu);
		ok = tally_shares(a, i, labels, &d);
	}
	ok = ok && tally_shares(a, i, "", &total);
	v = ok ? tally_row(&a->ctxt, "") : NULL;
	if (v && before->ctxt.known && after->ctxt.known && after->ctxt.v >= before->ctxt.v)
		v[i] = (double)(after->ctxt.v - before->ctxt.v) / seconds;
	return v ? 0 : err_nomem(a->m->e, "/proc/stat");
}

static int parse(const struct account *a, size_t i, struct procstat *ret)
{
	const struct ticker_text text = ticker_text(a->p->ticker, (size_t)a->p->stat, i);

	return procstat_parse(text.len ? text.text : "", text.len, ret, a->m->e);
}

static int tally_all(struct account *a)
{
	_cleanup_(procstat_release) struct procstat before = {};
	int r = parse(a, 0, &before);

	for (size_t i = 0; i < ticker_intervals(a->p->ticker) && r >= 0; i++) {
		struct procstat after = {};

		if (ticker_text(a->p->ticker, (size_t)a->p->stat, i + 1).error == 0)
			r = parse(a, i + 1, &after);
		if (r >= 0 && ticker_seconds(a->p->ticker, (size_t)a->p->stat, i) > 0)
			r = tally_interval(a, i, &before, &after);
		procstat_release(&before);
		before = after;
	}
	return r;
}

static void report_series(struct account *a)
{
	int r;

	a->ctxt.nr = ticker_intervals(a->p->ticker);
	for (int i = 0; i < NR_SHARES; i++)
		a->series[i].nr = a->ctxt.nr;
	if (a->ctxt.nr < 2 || a->m->r < 0)
		return;
	r = tally_all(a);
	if (r < 0) {
		a->m->r = r;
		return;
	}
	for (int i = 0; i < NR_SHARES; i++)
		tally_emit(&a->series[i], a->p->ticker, a->m, shares[i].name, "ratio", SIZE_MAX);
	tally_emit(&a->ctxt, a->p->ticker, a->m, "ctxt", "1/s", 1);
}

static void say_accounting(const struct account *a)
{
	for (int i = 0; i < NR_SHARES; i++)
		if (a->nr_columns < shares[i].columns)
			emit_event(a->m, SEVERITY_NOTE, 0,
				   "%s is unknown: /proc/stat of this kernel has %u columns",
				   shares[i].name, a->nr_columns);
	if (a->p->accounting == ACCOUNTING_SAMPLED)
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "times in interrupts and softirqs are samples of the tick (%s): softirq "
			   "is an estimate and interrupts count to what they interrupted%s",
			   a->p->why, a->p->no_irq ? "; irq is unknown" : "");
	if (a->p->accounting == ACCOUNTING_UNKNOWN)
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "whether times in interrupts and softirqs are measured or samples of "
			   "the tick is unknown: %s",
			   a->p->why);
}

static int cpu_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	_cleanup_(procstat_release) struct procstat before = {}, after = {};
	struct emit m = { .out = out, .instance = p->name, .e = e };
	_cleanup_(account_release) struct account a = { .m = &m, .p = p };
	int r;

	if (!ticker_readings(p->ticker))
		return err_set(e, -ENODATA, "drained before its window closed");
	r = parse(&a, 0, &before);
	if (r >= 0)
		r = parse(&a, ticker_readings(p->ticker) - 1, &after);
	if (r < 0)
		return r;
	a.nr_columns = before.nr_columns;
	report_window(&a, &before, &after);
	report_ctxt(&a, &before, &after);
	report_series(&a);
	say_accounting(&a);
	ticker_say(p->ticker, &m);
	return m.r;
}

static void cpu_close(struct probe *p)
{
	if (!p)
		return;
	ticker_free(p->ticker);
	opt_release(options, &p->cfg);
	free(p->name);
	free(p);
}

static void cpu_closep(struct probe **p)
{
	cpu_close(*p);
}

/* How the kernel accounts: asked before the window, since an answer may need to read a lot. */
static void ask_accounting(struct probe *p, const struct host *host)
{
	_cleanup_(procstat_release) struct procstat now = {};
	_cleanup_(buf_release) struct buf text = {};
	struct err none = {};

	p->why = "/proc/stat cannot be understood";
	if (kfile_read(host->proc_fd, "stat", &text, &none) < 0 ||
	    procstat_parse(buf_str(&text), text.len, &now, &none) < 0)
		return;
	p->accounting = accounting_of_irqs(host, &now, &p->why);
	p->no_irq = p->accounting == ACCOUNTING_SAMPLED;
	for (size_t i = 0; i < now.nr_cpus; i++)
		p->no_irq = p->no_irq && !now.cpus[i].t[PROCSTAT_IRQ];
}

static int cpu_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		    struct err *e)
{
	_cleanup_(cpu_closep) struct probe *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_nomem(e, inst->name);
	p->name = strdup(inst->name);
	if (!p->name)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &p->cfg, e);
	if (r >= 0)
		r = ticker_new(&p->ticker, p->cfg.interval_ns, env->duration_ns, e);
	if (r >= 0)
		r = p->stat =
			ticker_add(p->ticker, env->host->proc_fd, "stat", ROOM, TICKER_REQUIRED, e);
	if (r < 0)
		return r;
	ask_accounting(p, env->host);
	r = ticker_arm(p->ticker, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int cpu_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_start(p->ticker, now_ns, e);
}

static int cpu_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_stop(p->ticker, now_ns, e);
}

const struct probe_ops probe_cpu = {
	.plugin = { .name = "cpu",
		    .help = "where the CPUs' time went, and what was stolen",
		    .options = options,
		    .metrics = metrics },
	.usable = cpu_usable,
	.open = cpu_open,
	.start = cpu_start,
	.stop = cpu_stop,
	.drain = cpu_drain,
	.close = cpu_close,
};
