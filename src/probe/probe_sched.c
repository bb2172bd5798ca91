// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What the scheduler did: context switches and migrations of each CPU, how long runnable threads
 * waited for one, and the same of chosen threads.
 *
 *	/proc/stat		switches, forks, running and blocked threads of the machine
 *	perf_event_open()	switches and migrations of each CPU: the kernel's software counters
 *	/proc/schedstat		waiting by CPU, where CONFIG_SCHEDSTATS is
 *	/proc/TID/schedstat	waiting and running of the threads asked for
 *
 * Reading a counter of another CPU interrupts it once (IPI): one for each CPU and interval.
 */
#include "probe/probe.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/procstat.h"
#include "probe/schedstat.h"
#include "probe/tally.h"
#include "probe/ticker.h"
#include "variant/procthread.h"

#define STAT_ROOM 4096
#define THREADS_MAX 512

struct sched_cfg {
	uint64_t interval_ns;
	bool counters;
	struct str_list threads;
};

/* Counters of one CPU: a group of two, read as { 2, switches, migrations }. */
struct cpu_counters {
	unsigned int cpu;
	int fd, second_fd;
	int id; /* of the ticker */
};

struct watched {
	char comm[64];
	int id; /* of the ticker */
};

struct probe {
	char *name;
	struct sched_cfg cfg;
	struct ticker *ticker;
	int stat, schedstat, enabled; /* of the ticker; -1: absent */
	struct err no_schedstat, no_counters;
	struct cpu_counters *cpus;
	size_t nr_cpus;
	struct watched *threads;
	size_t nr_threads;
	size_t threads_left_out;
	bool threads_not_counted;
};

static const struct opt options[] = {
	{ "interval", OPT_NS, offsetof(struct sched_cfg, interval_ns), "1s",
	  .help = "length of the intervals of the series", .min = 10 * NS_PER_MS,
	  .max = 3600 * NS_PER_S,
	  .fixed = "a reading takes time, which each variant must bear alike" },
	{ "counters", OPT_BOOL, offsetof(struct sched_cfg, counters), "on",
	  .help = "switches and migrations by CPU; each reading interrupts each CPU once",
	  .fixed = "counters take time, which each variant must bear alike" },
	{ "threads", OPT_STRINGS, offsetof(struct sched_cfg, threads), "ksoftirqd/*,napi/*",
	  .help = "names of threads whose running and waiting is told apart, with * and ?" },
	{},
};

static const struct metric_desc metrics[] = {
	{ "switches", "1/s", BETTER_NONE, "context switches" },
	{ "migrations", "1/s", BETTER_NONE, "threads that went to another CPU, labelled by it" },
	{ "forks", "1/s", BETTER_NONE, "new threads" },
	{ "running", "count", BETTER_NONE, "runnable threads, mean of the readings" },
	{ "blocked", "count", BETTER_NONE, "threads that wait for a disk, mean of the readings" },
	{ "waiting", "count", BETTER_LOWER, "runnable threads without a CPU, mean over time" },
	{ "wait", "ns", BETTER_LOWER, "mean wait of a runnable thread for its CPU" },
	{ "wakeups", "1/s", BETTER_NONE, "threads woken, where kernel.sched_schedstats is 1" },
	{ "thread-run", "ratio", BETTER_NONE, "time on a CPU, label thread", .kind = METRIC_RATE },
	{ "thread-wait", "ratio", BETTER_LOWER, "time runnable without a CPU, label thread",
	  .kind = METRIC_RATE },
	{ "thread-slices", "1/s", BETTER_NONE, "times that the thread got a CPU, label thread" },
	{},
};

static int sched_usable(const struct host *host, struct err *why)
{
	_cleanup_(buf_release) struct buf text = {};

	return kfile_read(host->proc_fd, "stat", &text, why);
}

static void close_counters(struct probe *p)
{
	for (size_t i = 0; i < p->nr_cpus; i++) {
		if (p->cpus[i].fd >= 0)
			close(p->cpus[i].fd);
		if (p->cpus[i].second_fd >= 0)
			close(p->cpus[i].second_fd);
	}
	free(p->cpus);
	p->cpus = NULL;
	p->nr_cpus = 0;
}

static void sched_close(struct probe *p)
{
	if (!p)
		return;
	ticker_free(p->ticker);
	close_counters(p);
	opt_release(options, &p->cfg);
	free(p->threads);
	free(p->name);
	free(p);
}

static void sched_closep(struct probe **p)
{
	sched_close(*p);
}

static int open_counter(unsigned int cpu, uint64_t config, int group)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = config,
					.read_format = PERF_FORMAT_GROUP };

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static int open_group(struct cpu_counters *c)
{
	c->second_fd = -1;
	c->fd = open_counter(c->cpu, PERF_COUNT_SW_CONTEXT_SWITCHES, -1);
	if (c->fd >= 0)
		c->second_fd = open_counter(c->cpu, PERF_COUNT_SW_CPU_MIGRATIONS, c->fd);
	return c->second_fd < 0 ? -errno : 0;
}

/* All online CPUs or none: a sum over some would be taken for that over all. */
static int add_counters(struct probe *p, const struct host *host, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {};
	struct err *why = &p->no_counters;
	char name[48];
	int r = cpuset_online(host->sys_fd, &online, why);

	p->cpus = r < 0 ? NULL : calloc(online.nr + 1, sizeof(*p->cpus));
	if (r < 0)
		return 0;
	if (!p->cpus)
		return err_nomem(e, "counters");
	for (; p->nr_cpus < online.nr; p->nr_cpus++) {
		struct cpu_counters *c = &p->cpus[p->nr_cpus];

		c->cpu = online.cpus[p->nr_cpus];
		if (open_group(c) < 0) {
			p->nr_cpus++;
			err_sys(why, "perf_event_open for CPU %u", c->cpu);
			close_counters(p);
			return 0;
		}
	}
	for (size_t i = 0; i < p->nr_cpus; i++) {
		snprintf(name, sizeof(name), "counters of CPU %u", p->cpus[i].cpu);
		p->cpus[i].id =
			ticker_add_fd(p->ticker, p->cpus[i].fd, name, -1, 3 * sizeof(uint64_t), e);
		if (p->cpus[i].id < 0)
			return p->cpus[i].id;
	}
	return 0;
}

static bool is_watched(const struct probe *p, const char *comm)
{
	for (size_t i = 0; i < p->cfg.threads.nr; i++)
		if (fnmatch(p->cfg.threads.v[i], comm, 0) == 0)
			return true;
	return false;
}

/* A thread that ends before it is read is none. */
static void add_thread(struct probe *p, const struct host *host, const struct procthread *t)
{
	struct watched *w = &p->threads[p->nr_threads];
	char path[32];

	if (p->nr_threads == THREADS_MAX) {
		p->threads_left_out++;
		return;
	}
	snprintf(path, sizeof(path), "%d/schedstat", t->tid);
	w->id = ticker_add(p->ticker, host->proc_fd, path, 64, 0, &(struct err){});
	memcpy(w->comm, t->comm, sizeof(w->comm));
	p->nr_threads += w->id >= 0;
}

static int add_threads(struct probe *p, const struct host *host, struct err *e)
{
	_cleanup_(procthreads_release) struct procthreads l = {};
	int r;

	if (!p->cfg.threads.nr)
		return 0;
	p->threads_not_counted = !procthread_counts_runtime(host->proc_fd);
	if (p->threads_not_counted)
		return 0;
	p->threads = calloc(THREADS_MAX + 1, sizeof(*p->threads));
	if (!p->threads)
		return err_nomem(e, "threads");
	r = procthreads_list(host->proc_fd, true, &l, e);
	for (size_t i = 0; i < l.nr && r >= 0; i++)
		if (is_watched(p, l.v[i].comm))
			add_thread(p, host, &l.v[i]);
	return r;
}

static int add_all(struct probe *p, const struct host *host, struct err *e)
{
	int fd = host->proc_fd, r;

	r = p->stat = ticker_add(p->ticker, fd, "stat", STAT_ROOM, TICKER_REQUIRED, e);
	if (r < 0)
		return r;
	p->schedstat = ticker_add(p->ticker, fd, "schedstat", STAT_ROOM, 0, &p->no_schedstat);
	p->enabled =
		ticker_add(p->ticker, fd, "sys/kernel/sched_schedstats", 8, 0, &(struct err){});
	if (p->enabled >= 0)
		ticker_only_edges(p->ticker, p->enabled);
	r = p->cfg.counters ? add_counters(p, host, e) : 0;
	return r < 0 ? r : add_threads(p, host, e);
}

static int sched_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		      struct err *e)
{
	_cleanup_(sched_closep) struct probe *p = calloc(1, sizeof(*p));
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
		r = add_all(p, env->host, e);
	if (r >= 0)
		r = ticker_arm(p->ticker, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int sched_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_start(p->ticker, now_ns, e);
}

static int sched_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_stop(p->ticker, now_ns, e);
}

/* What is told over time; one tally each. */
enum series { SWITCHES, MIGRATIONS, RUNNING, BLOCKED, WAITING, THREAD_RUN, THREAD_WAIT, NR_SERIES };

static const struct {
	const char *name, *unit;
} series[NR_SERIES] = {
	[SWITCHES] = { "switches", "1/s" },	    [MIGRATIONS] = { "migrations", "1/s" },
	[RUNNING] = { "running", "count" },	    [BLOCKED] = { "blocked", "count" },
	[WAITING] = { "waiting", "count" },	    [THREAD_RUN] = { "thread-run", "ratio" },
	[THREAD_WAIT] = { "thread-wait", "ratio" },
};

struct account {
	struct emit *m;
	const struct probe *p;
	struct tally t[NR_SERIES];
	bool failed;
};

static void account_release(struct account *a)
{
	for (int i = 0; i < NR_SERIES; i++)
		tally_release(&a->t[i]);
}

static void put(struct account *a, enum series s, const char *labels, size_t i, double v)
{
	double *row = tally_row(&a->t[s], labels);

	if (row)
		row[i] = isnan(row[i]) ? v : row[i] + v;
	else
		a->failed = true;
}

static const char *cpu_label(unsigned int cpu, char ret[24])
{
	snprintf(ret, 24, "cpu=%u", cpu);
	return ret;
}

/* --- /proc/stat --- */

static int parse_stat(const struct account *a, size_t i, struct procstat *ret)
{
	const struct ticker_text text = ticker_text(a->p->ticker, (size_t)a->p->stat, i);

	*ret = (struct procstat){};
	if (text.error < 0)
		return 0;
	return procstat_parse(text.len ? text.text : "", text.len, ret, a->m->e);
}

static bool moved(const struct procstat_value *from, const struct procstat_value *to, double *ret)
{
	if (!from->known || !to->known || to->v < from->v)
		return false;
	*ret = (double)(to->v - from->v);
	return true;
}

static int account_stat(struct account *a)
{
	_cleanup_(procstat_release) struct procstat first = {}, last = {};
	const struct ticker *t = a->p->ticker;
	double running = 0, blocked = 0, v, seconds = ticker_window_seconds(t, (size_t)a->p->stat);
	size_t levels = 0;
	int r = parse_stat(a, 0, &last);

	for (size_t i = 0; i < ticker_readings(t) && r >= 0; i++) {
		_cleanup_(procstat_release) struct procstat now = {};
		double step = i ? ticker_seconds(t, (size_t)a->p->stat, i - 1) : 0;

		r = parse_stat(a, i, &now);
		if (r >= 0 && now.running.known) {
			running += (double)now.running.v;
			blocked += (double)now.blocked.v;
			levels++;
		}
		if (i && now.running.known)
			put(a, RUNNING, "", i - 1, (double)now.running.v);
		if (i && now.blocked.known)
			put(a, BLOCKED, "", i - 1, (double)now.blocked.v);
		if (step > 0 && moved(&last.ctxt, &now.ctxt, &v))
			put(a, SWITCHES, "", i - 1, v / step);
		procstat_release(&last);
		last = now;
		now = (struct procstat){};
	}
	if (r >= 0)
		r = parse_stat(a, 0, &first);
	if (r < 0)
		return r;
	if (moved(&first.ctxt, &last.ctxt, &v) && seconds > 0)
		emit_scalar(a->m, "switches", "1/s", "", v / seconds);
	if (moved(&first.processes, &last.processes, &v) && seconds > 0)
		emit_scalar(a->m, "forks", "1/s", "", v / seconds);
	if (levels) {
		emit_scalar(a->m, "running", "count", "", running / (double)levels);
		emit_scalar(a->m, "blocked", "count", "", blocked / (double)levels);
	}
	return 0;
}

/* --- counters of CPUs --- */

struct pair {
	uint64_t switches, migrations;
};

static bool read_pair(const struct account *a, const struct cpu_counters *c, size_t i,
		      struct pair *ret)
{
	const struct ticker_text text = ticker_text(a->p->ticker, (size_t)c->id, i);
	uint64_t v[3];

	if (text.error < 0 || text.len != sizeof(v))
		return false;
	memcpy(v, text.text, sizeof(v));
	*ret = (struct pair){ v[1], v[2] };
	return v[0] == 2;
}

static void account_counter(struct account *a, const struct cpu_counters *c, double *migrations)
{
	const struct ticker *t = a->p->ticker;
	double seconds = ticker_window_seconds(t, (size_t)c->id);
	size_t end = ticker_readings(t) - 1;
	struct pair from, to;
	char label[24];

	cpu_label(c->cpu, label);
	for (size_t i = 0; i < end; i++) {
		double step = ticker_seconds(t, (size_t)c->id, i);

		if (step <= 0 || !read_pair(a, c, i, &from) || !read_pair(a, c, i + 1, &to))
			continue;
		put(a, SWITCHES, label, i, (double)(to.switches - from.switches) / step);
		put(a, MIGRATIONS, label, i, (double)(to.migrations - from.migrations) / step);
		put(a, MIGRATIONS, "", i, (double)(to.migrations - from.migrations) / step);
	}
	if (seconds <= 0 || !read_pair(a, c, 0, &from) || !read_pair(a, c, end, &to)) {
		*migrations = (double)NAN;
		return;
	}
	emit_scalar(a->m, "switches", "1/s", label,
		    (double)(to.switches - from.switches) / seconds);
	emit_scalar(a->m, "migrations", "1/s", label,
		    (double)(to.migrations - from.migrations) / seconds);
	*migrations += (double)(to.migrations - from.migrations) / seconds;
}

static void account_counters(struct account *a)
{
	double migrations = 0;

	for (size_t i = 0; i < a->p->nr_cpus; i++)
		account_counter(a, &a->p->cpus[i], &migrations);
	if (a->p->nr_cpus && !isnan(migrations))
		emit_scalar(a->m, "migrations", "1/s", "", migrations);
	if (a->p->no_counters.code)
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "switches by CPU and migrations are unknown: %s (needs CAP_PERFMON or "
			   "kernel.perf_event_paranoid 0)",
			   a->p->no_counters.msg);
}

/* --- /proc/schedstat --- */

static int parse_schedstat(const struct account *a, size_t i, struct schedstat *ret)
{
	const struct ticker_text text = ticker_text(a->p->ticker, (size_t)a->p->schedstat, i);

	*ret = (struct schedstat){};
	if (text.error < 0)
		return 0;
	return schedstat_parse(text.len ? text.text : "", text.len, ret, a->m->e);
}

/* Between two readings, of the CPUs in both. */
static struct schedstat_cpu moved_by(const struct schedstat_cpu *from,
				     const struct schedstat_cpu *to)
{
	struct schedstat_cpu d = { .cpu = to->cpu };

	for (int i = 0; i < SCHEDSTAT_NR; i++)
		d.v[i] = to->v[i] > from->v[i] ? to->v[i] - from->v[i] : 0;
	return d;
}

static void tally_waits(struct account *a, size_t i, const struct schedstat *from,
			const struct schedstat *to)
{
	double seconds = ticker_seconds(a->p->ticker, (size_t)a->p->schedstat, i);
	char label[24];

	for (size_t k = 0; k < to->nr_cpus && seconds > 0; k++) {
		const struct schedstat_cpu *old = schedstat_cpu(from, to->cpus[k].cpu);
		struct schedstat_cpu d;

		if (!old)
			continue;
		d = moved_by(old, &to->cpus[k]);
		put(a, WAITING, cpu_label(d.cpu, label), i,
		    (double)d.v[SCHEDSTAT_WAIT_NS] / (seconds * (double)NS_PER_S));
		put(a, WAITING, "", i,
		    (double)d.v[SCHEDSTAT_WAIT_NS] / (seconds * (double)NS_PER_S));
	}
}

static bool counts_wakeups(const struct account *a)
{
	const struct ticker *t = a->p->ticker;
	size_t end = ticker_readings(t) - 1;
	struct ticker_text from, to;

	if (a->p->enabled < 0)
		return false;
	from = ticker_text(t, (size_t)a->p->enabled, 0);
	to = ticker_text(t, (size_t)a->p->enabled, end);
	return from.len && to.len && from.text[0] == '1' && to.text[0] == '1';
}

static void report_waits(struct account *a, const char *labels, const struct schedstat_cpu *d,
			 double seconds)
{
	emit_scalar(a->m, "waiting", "count", labels,
		    (double)d->v[SCHEDSTAT_WAIT_NS] / (seconds * (double)NS_PER_S));
	if (d->v[SCHEDSTAT_SLICES])
		emit_scalar(a->m, "wait", "ns", labels,
			    (double)d->v[SCHEDSTAT_WAIT_NS] / (double)d->v[SCHEDSTAT_SLICES]);
	if (counts_wakeups(a))
		emit_scalar(a->m, "wakeups", "1/s", labels,
			    (double)d->v[SCHEDSTAT_WAKEUPS] / seconds);
}

static void report_schedstat(struct account *a, const struct schedstat *from,
			     const struct schedstat *to)
{
	double seconds = ticker_window_seconds(a->p->ticker, (size_t)a->p->schedstat);
	struct schedstat_cpu total = {};
	size_t both = 0;
	char label[24];

	for (size_t k = 0; k < to->nr_cpus && seconds > 0; k++) {
		const struct schedstat_cpu *old = schedstat_cpu(from, to->cpus[k].cpu);
		struct schedstat_cpu d;

		if (!old)
			continue;
		d = moved_by(old, &to->cpus[k]);
		both++;
		for (int i = 0; i < SCHEDSTAT_NR; i++)
			total.v[i] += d.v[i];
		report_waits(a, cpu_label(d.cpu, label), &d, seconds);
	}
	if (both)
		report_waits(a, "", &total, seconds);
	if (from->nr_cpus + to->nr_cpus != 2 * both)
		emit_event(a->m, SEVERITY_WARN, 0,
			   "/proc/schedstat: %zu CPUs went on- or offline within the window and "
			   "are left out",
			   from->nr_cpus + to->nr_cpus - 2 * both);
}

static int account_schedstat(struct account *a)
{
	_cleanup_(schedstat_release) struct schedstat first = {}, last = {};
	int r;

	if (a->p->schedstat < 0) {
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "waiting and wait are unknown: %s (the kernel lacks CONFIG_SCHEDSTATS)",
			   a->p->no_schedstat.msg);
		return 0;
	}
	r = parse_schedstat(a, 0, &first);
	if (r >= 0)
		r = parse_schedstat(a, 0, &last);
	for (size_t i = 0; i < ticker_intervals(a->p->ticker) && r >= 0; i++) {
		struct schedstat now = {};

		r = parse_schedstat(a, i + 1, &now);
		if (r >= 0)
			tally_waits(a, i, &last, &now);
		schedstat_release(&last);
		last = now;
	}
	/* what the trial can do without is no reason to lose it */
	if (r < 0 && r != -ENOMEM) {
		emit_event(a->m, SEVERITY_NOTE, 0, "waiting and wait are unknown: %s",
			   a->m->e->msg);
		*a->m->e = (struct err){};
		return 0;
	}
	if (r >= 0)
		report_schedstat(a, &first, &last);
	return r;
}

/* --- threads --- */

static bool read_thread(const struct account *a, const struct watched *w, size_t i,
			struct schedstat_thread *ret)
{
	const struct ticker_text text = ticker_text(a->p->ticker, (size_t)w->id, i);

	return text.error == 0 && schedstat_thread_parse(text.text, text.len, ret);
}

/* Threads of one name are one row: it is the name that is the same in all trials. */
struct named {
	double run, wait, slices;
	bool known;
};

static void add_window(const struct account *a, const struct watched *w, struct named *to)
{
	const struct ticker *t = a->p->ticker;
	double seconds = ticker_window_seconds(t, (size_t)w->id);
	struct schedstat_thread from, now;

	if (seconds <= 0 || !read_thread(a, w, 0, &from) ||
	    !read_thread(a, w, ticker_readings(t) - 1, &now) || now.run_ns < from.run_ns)
		return;
	to->known = true;
	to->run += (double)(now.run_ns - from.run_ns) / (seconds * (double)NS_PER_S);
	to->wait += (double)(now.wait_ns - from.wait_ns) / (seconds * (double)NS_PER_S);
	to->slices += (double)(now.slices - from.slices) / seconds;
}

static void tally_thread(struct account *a, const struct watched *w, const char *labels)
{
	const struct ticker *t = a->p->ticker;
	struct schedstat_thread from, now;

	for (size_t i = 0; i < ticker_intervals(t); i++) {
		double ns = ticker_seconds(t, (size_t)w->id, i) * (double)NS_PER_S;

		if (ns <= 0 || !read_thread(a, w, i, &from) || !read_thread(a, w, i + 1, &now) ||
		    now.run_ns < from.run_ns)
			continue;
		put(a, THREAD_RUN, labels, i, (double)(now.run_ns - from.run_ns) / ns);
		put(a, THREAD_WAIT, labels, i, (double)(now.wait_ns - from.wait_ns) / ns);
	}
}

static bool is_first(const struct probe *p, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(p->threads[k].comm, p->threads[i].comm) == 0)
			return false;
	return true;
}

static void account_thread(struct account *a, size_t first)
{
	_cleanup_(buf_release) struct buf labels = {};
	const struct watched *w = &a->p->threads[first];
	struct named sum = {};

	buf_puts(&labels, "thread=");
	emit_label(&labels, w->comm);
	if (labels.failed) {
		a->failed = true;
		return;
	}
	for (size_t i = first; i < a->p->nr_threads; i++) {
		if (strcmp(a->p->threads[i].comm, w->comm) != 0)
			continue;
		add_window(a, &a->p->threads[i], &sum);
		tally_thread(a, &a->p->threads[i], buf_str(&labels));
	}
	if (!sum.known) {
		emit_event(a->m, SEVERITY_NOTE, 0, "thread %s ended within the window", w->comm);
		return;
	}
	emit_scalar(a->m, "thread-run", "ratio", buf_str(&labels), sum.run);
	emit_scalar(a->m, "thread-wait", "ratio", buf_str(&labels), sum.wait);
	emit_scalar(a->m, "thread-slices", "1/s", buf_str(&labels), sum.slices);
}

static void account_threads(struct account *a)
{
	for (size_t i = 0; i < a->p->nr_threads; i++)
		if (is_first(a->p, i))
			account_thread(a, i);
	if (a->p->threads_not_counted)
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "running and waiting of threads is unknown: this kernel does not count "
			   "it (CONFIG_SCHED_INFO)");
	if (a->p->threads_left_out)
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "%zu threads that match are left out: more than %d; name fewer",
			   a->p->threads_left_out, THREADS_MAX);
}

static int sched_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };
	_cleanup_(account_release) struct account a = { .m = &m, .p = p };
	int r;

	if (!ticker_readings(p->ticker))
		return err_set(e, -ENODATA, "drained before its window closed");
	for (int i = 0; i < NR_SERIES; i++)
		a.t[i].nr = ticker_intervals(p->ticker);
	r = account_stat(&a);
	if (r >= 0)
		r = account_schedstat(&a);
	if (r < 0)
		return r;
	account_counters(&a);
	account_threads(&a);
	if (a.failed && m.r >= 0)
		return err_nomem(e, p->name);
	for (int i = 0; i < NR_SERIES; i++)
		tally_emit(&a.t[i], p->ticker, &m, series[i].name, series[i].unit, SIZE_MAX);
	ticker_say(p->ticker, &m);
	return m.r;
}

const struct probe_ops probe_sched = {
	.plugin = { .name = "sched",
		    .help = "switches, migrations and waiting for a CPU",
		    .options = options,
		    .metrics = metrics },
	.usable = sched_usable,
	.open = sched_open,
	.start = sched_start,
	.stop = sched_stop,
	.drain = sched_drain,
	.close = sched_close,
};
