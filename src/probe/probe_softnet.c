// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What each CPU received and could not receive: /proc/net/softnet_stat at the boundaries of the
 * window's intervals.  Counters are of 32 bits and are added up from reading to reading, so that
 * they may wrap as often as there are readings.
 */
#include "probe/probe.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/softnet.h"
#include "probe/tally.h"
#include "probe/ticker.h"

#define PATH "net/softnet_stat"
/* Some rows more, of CPUs that come online. */
#define ROOM 1024

struct softnet_cfg {
	uint64_t interval_ns;
};

struct probe {
	char *name;
	struct softnet_cfg cfg;
	struct ticker *ticker;
	int stat, online; /* of the ticker; online: -1 when sysfs does not say */
};

static const struct opt options[] = {
	{ "interval", OPT_NS, offsetof(struct softnet_cfg, interval_ns), "1s",
	  .help = "length of the intervals of the series", .min = 10 * NS_PER_MS,
	  .max = 3600 * NS_PER_S,
	  .fixed = "a reading takes time, which each variant must bear alike" },
	{},
};

static const struct metric_desc metrics[] = {
	{ "processed", "1/s", BETTER_NONE, "packets taken in, by NAPI and from backlogs" },
	{ "dropped", "count", BETTER_LOWER, "packets dropped because a CPU's backlog was full" },
	{ "time-squeeze", "count", BETTER_LOWER,
	  "polls that ended with work left: budget or time was used up" },
	{ "received-rps", "1/s", BETTER_NONE, "wake-ups of a CPU by RPS" },
	{ "flow-limit", "count", BETTER_LOWER, "packets dropped by the flow limit" },
	{ "backlog", "count", BETTER_NONE, "packets in the backlogs, mean of the readings" },
	{},
};

static const struct column {
	const char *name;
	const char *unit;
	const char *since; /* the first kernel that says it */
} columns[SOFTNET_NR] = {
	[SOFTNET_PROCESSED] = { "processed", "1/s", NULL },
	[SOFTNET_DROPPED] = { "dropped", "count", NULL },
	[SOFTNET_SQUEEZED] = { "time-squeeze", "count", NULL },
	[SOFTNET_RPS] = { "received-rps", "1/s", "2.6.35" },
	[SOFTNET_FLOW_LIMIT] = { "flow-limit", "count", "3.11" },
	[SOFTNET_BACKLOG] = { "backlog", "count", "5.10" },
};

static bool is_rate(int column)
{
	return strcmp(columns[column].unit, "1/s") == 0;
}

/* One CPU's way through the window. */
struct cpu {
	unsigned int cpu;
	bool seen; /* @last is valid */
	size_t at; /* its reading */
	size_t readings;
	uint32_t last[SOFTNET_NR];
	uint64_t sum[SOFTNET_NR]; /* of the backlog: over the readings */
};

struct account {
	struct emit *m;
	struct probe *p;
	struct cpu *cpus; /* by number */
	size_t nr_cpus;
	bool has[SOFTNET_NR], named;
	size_t unnamed;	   /* readings whose rows could not be given CPUs */
	bool edge_unnamed; /* one of them at an edge: no sum is known */
	size_t changed;	   /* rows that came or went */
	size_t bad;
	struct tally series[SOFTNET_NR];
};

static void account_release(struct account *a)
{
	free(a->cpus);
	for (int i = 0; i < SOFTNET_NR; i++)
		tally_release(&a->series[i]);
}

static int softnet_usable(const struct host *host, struct err *why)
{
	_cleanup_(buf_release) struct buf text = {};

	return kfile_read(host->proc_fd, PATH, &text, why);
}

static void softnet_close(struct probe *p)
{
	if (!p)
		return;
	ticker_free(p->ticker);
	opt_release(options, &p->cfg);
	free(p->name);
	free(p);
}

static void softnet_closep(struct probe **p)
{
	softnet_close(*p);
}

static int softnet_open(struct probe **ret, const struct probe_env *env,
			const struct instance *inst, struct err *e)
{
	_cleanup_(softnet_closep) struct probe *p = calloc(1, sizeof(*p));
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
			ticker_add(p->ticker, env->host->proc_fd, PATH, ROOM, TICKER_REQUIRED, e);
	if (r < 0)
		return r;
	p->online = ticker_add(p->ticker, env->host->sys_fd, "devices/system/cpu/online", 256, 0,
			       &(struct err){});
	r = ticker_arm(p->ticker, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int softnet_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_start(p->ticker, now_ns, e);
}

static int softnet_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_stop(p->ticker, now_ns, e);
}

/* The CPUs that were online at reading @i; false when nothing says so. */
static bool online_at(const struct probe *p, size_t i, struct cpuset *ret)
{
	char list[4096];
	struct ticker_text text;

	if (p->online < 0)
		return false;
	text = ticker_text(p->ticker, (size_t)p->online, i);
	if (text.error < 0 || text.clipped || text.len >= sizeof(list))
		return false;
	memcpy(list, text.text, text.len);
	list[text.len] = '\0';
	list[strcspn(list, "\n")] = '\0';
	return cpuset_parse(list, ret, &(struct err){}) >= 0;
}

static struct cpu *cpu_of(struct account *a, unsigned int cpu)
{
	if (cpu >= a->nr_cpus) {
		size_t nr = cpu + 1;
		struct cpu *cpus = realloc(a->cpus, nr * sizeof(*cpus));

		if (!cpus)
			return NULL;
		memset(&cpus[a->nr_cpus], 0, (nr - a->nr_cpus) * sizeof(*cpus));
		a->cpus = cpus;
		a->nr_cpus = nr;
	}
	a->cpus[cpu].cpu = cpu;
	return &a->cpus[cpu];
}

static bool put(struct tally *t, const char *labels, size_t i, double v)
{
	double *row = tally_row(t, labels);

	if (row)
		row[i] = isnan(row[i]) ? v : row[i] + v;
	return row != NULL;
}

/* What a row moved by since the reading before, and what waits now. */
static int add_row(struct account *a, size_t i, const struct softnet_row *row, struct cpu *c)
{
	double seconds = i ? ticker_seconds(a->p->ticker, (size_t)a->p->stat, i - 1) : 0;
	bool follows = c->seen && c->at + 1 == i && seconds > 0, ok = true;
	char labels[24];

	snprintf(labels, sizeof(labels), "cpu=%u", row->cpu);
	for (int k = 0; k < SOFTNET_NR; k++) {
		uint32_t moved = c->seen ? row->v[k] - c->last[k] : 0;
		double v = is_rate(k) ? moved / seconds : moved;

		if (k == SOFTNET_BACKLOG)
			v = moved = row->v[k];
		c->sum[k] += moved;
		if (!follows || !a->has[k])
			continue;
		ok = ok && put(&a->series[k], "", i - 1, v);
		if (a->named)
			ok = ok && put(&a->series[k], labels, i - 1, v);
	}
	memcpy(c->last, row->v, sizeof(c->last));
	a->changed += i && (!c->seen || c->at + 1 != i);
	c->seen = true;
	c->at = i;
	c->readings++;
	return ok ? 0 : -ENOMEM;
}

static int add_reading(struct account *a, size_t i)
{
	_cleanup_(softnet_release) struct softnet s = {};
	_cleanup_(cpuset_release) struct cpuset online = {};
	const struct ticker_text text = ticker_text(a->p->ticker, (size_t)a->p->stat, i);
	int r;

	if (text.error < 0)
		return 0;
	r = softnet_parse(text.text, text.len, &s, a->m->e);
	if (r < 0)
		return r;
	if (i == 0) {
		memcpy(a->has, s.has, sizeof(a->has));
		a->named = s.has_cpus || online_at(a->p, 0, &online);
		cpuset_release(&online);
	}
	a->bad = s.nr_bad > a->bad ? s.nr_bad : a->bad;
	if (a->named && !s.has_cpus &&
	    (!online_at(a->p, i, &online) || !softnet_name_cpus(&s, &online))) {
		a->unnamed++;
		a->edge_unnamed |= i == 0 || i + 1 == ticker_readings(a->p->ticker);
		return 0;
	}
	for (size_t k = 0; k < s.nr_rows; k++) {
		struct cpu *c = cpu_of(a, s.rows[k].cpu);

		if (!c || add_row(a, i, &s.rows[k], c) < 0)
			return err_nomem(a->m->e, PATH);
	}
	return 0;
}

/* A sum in the unit of the column. */
static double value(const struct account *a, int column, uint64_t sum, size_t readings)
{
	double seconds = ticker_window_seconds(a->p->ticker, (size_t)a->p->stat);

	if (column == SOFTNET_BACKLOG)
		return readings ? (double)sum / (double)readings : 0;
	return is_rate(column) ? (double)sum / seconds : (double)sum;
}

static void report_column(struct account *a, int k)
{
	uint64_t sum = 0;
	double backlog = 0;
	char labels[24];

	for (size_t i = 0; i < a->nr_cpus; i++) {
		const struct cpu *c = &a->cpus[i];

		sum += c->sum[k];
		backlog += value(a, SOFTNET_BACKLOG, c->sum[k], c->readings);
		/* zeros of single CPUs are told by the sum's or by their absence in it */
		if (!c->seen || !a->named || (!c->sum[k] && k != SOFTNET_PROCESSED))
			continue;
		snprintf(labels, sizeof(labels), "cpu=%u", c->cpu);
		emit_scalar(a->m, columns[k].name, columns[k].unit, labels,
			    value(a, k, c->sum[k], c->readings));
	}
	emit_scalar(a->m, columns[k].name, columns[k].unit, "",
		    k == SOFTNET_BACKLOG ? backlog : value(a, k, sum, 0));
	if (k == SOFTNET_DROPPED && sum)
		emit_event(a->m, SEVERITY_WARN, 0,
			   "%llu packets were dropped because a CPU's backlog was full "
			   "(net.core.netdev_max_backlog)",
			   (unsigned long long)sum);
	if (k == SOFTNET_FLOW_LIMIT && sum)
		emit_event(a->m, SEVERITY_WARN, 0, "%llu packets were dropped by the flow limit",
			   (unsigned long long)sum);
}

static void say_absent(struct account *a)
{
	for (int k = 0; k < SOFTNET_NR; k++)
		if (!a->has[k])
			emit_event(a->m, SEVERITY_NOTE, 0,
				   "%s is unknown: /proc/" PATH " of this kernel does not have it "
				   "(Linux %s does)",
				   columns[k].name, columns[k].since);
	if (!a->named)
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "/proc/" PATH " of this kernel does not name CPUs and "
			   "/sys/devices/system/cpu/online cannot be read: only sums are known");
	if (a->unnamed)
		emit_event(a->m, SEVERITY_WARN, 0,
			   "/proc/" PATH ": CPUs went on- or offline during %zu readings, which "
			   "are left out: this kernel does not name the rows' CPUs",
			   a->unnamed);
	if (a->changed)
		emit_event(a->m, SEVERITY_WARN, 0,
			   "/proc/" PATH ": CPUs came online within the window; what they counted "
			   "before their first reading is left out");
	if (a->bad)
		emit_event(a->m, SEVERITY_NOTE, 0, "/proc/" PATH ": %zu lines were not understood",
			   a->bad);
}

/* CPUs that were not there at the end: their last packets are unknown. */
static void say_gone(struct account *a)
{
	size_t gone = 0;

	for (size_t i = 0; i < a->nr_cpus; i++)
		gone += a->cpus[i].seen && a->cpus[i].at + 1 != ticker_readings(a->p->ticker);
	if (gone)
		emit_event(a->m, SEVERITY_WARN, 0,
			   "/proc/" PATH ": %zu CPUs went offline within the window; what they "
			   "counted after their last reading is left out",
			   gone);
}

static int softnet_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };
	_cleanup_(account_release) struct account a = { .m = &m, .p = p };
	int r = 0;

	if (!ticker_readings(p->ticker))
		return err_set(e, -ENODATA, "drained before its window closed");
	for (int k = 0; k < SOFTNET_NR; k++)
		a.series[k].nr = ticker_intervals(p->ticker);
	for (size_t i = 0; i < ticker_readings(p->ticker) && r >= 0; i++)
		r = add_reading(&a, i);
	if (r < 0)
		return err_wrap(e, "/proc/" PATH);
	for (int k = 0; k < SOFTNET_NR; k++) {
		if (!a.has[k])
			continue;
		if (!a.edge_unnamed)
			report_column(&a, k);
		tally_emit(&a.series[k], p->ticker, &m, columns[k].name, columns[k].unit, SIZE_MAX);
	}
	say_absent(&a);
	say_gone(&a);
	ticker_say(p->ticker, &m);
	return m.r;
}

const struct probe_ops probe_softnet = {
	.plugin = { .name = "softnet",
		    .help = "packets taken in, dropped and left over, by CPU",
		    .options = options,
		    .metrics = metrics },
	.usable = softnet_usable,
	.open = softnet_open,
	.start = softnet_start,
	.stop = softnet_stop,
	.drain = softnet_drain,
	.close = softnet_close,
};
