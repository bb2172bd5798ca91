// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where the CPUs' time went, from /proc/stat at the window's edges.  Shares of a CPU's own sum of
 * ticks, so that the length of the window does not matter; guest time is a part of user and nice
 * there and is not counted twice.
 */
#include "probe/probe.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
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

/* Above this share the hypervisor is part of the result. */
#define STEAL_WARN 0.01

/* Columns of a cpu row in their order (proc(5)); guest and guest_nice follow. */
enum column { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, NR_COLUMNS };

struct ticks {
	unsigned int cpu;
	uint64_t t[NR_COLUMNS];
};

struct stat_table {
	struct ticks *cpus;
	size_t nr_cpus;
	uint64_t ctxt;
	bool has_ctxt;
};

struct probe {
	char *name;
	int proc_fd; /* borrowed from the host */
	struct buf text[2];
	uint64_t at_ns[2];
};

enum edge { EDGE_START, EDGE_STOP };

static const struct opt options[] = { {} };

static const struct metric_desc metrics[] = {
	{ "busy", "ratio", BETTER_NONE, "time not idle and not stolen, of all CPUs",
	  .kind = METRIC_RATE },
	{ "softirq", "ratio", BETTER_NONE, "time in softirqs", .kind = METRIC_RATE },
	{ "irq", "ratio", BETTER_NONE, "time in interrupts, where the kernel accounts it",
	  .kind = METRIC_RATE },
	{ "steal", "ratio", BETTER_NONE, "time the hypervisor gave to others",
	  .kind = METRIC_RATE },
	{ "ctxt", "1/s", BETTER_NONE, "context switches over all CPUs" },
	{},
};

static int cpu_usable(const struct host *host, struct err *why)
{
	_cleanup_(buf_release) struct buf text = {};

	return kfile_read(host->proc_fd, "stat", &text, why);
}

static void table_release(struct stat_table *t)
{
	free(t->cpus);
	*t = (struct stat_table){};
}

/* The next number of a row, false at its end. */
static bool next_number(const char **p, uint64_t *ret)
{
	char *end;

	*p += strspn(*p, " ");
	if (!isdigit((unsigned char)**p))
		return false;
	*ret = strtoull(*p, &end, 10);
	*p = end;
	return true;
}

/* @line behind "cpu": "0 3126 0 954 ..."; columns that an old kernel lacks stay 0. */
static int add_cpu(struct stat_table *t, const char *line)
{
	struct ticks *cpus = realloc(t->cpus, (t->nr_cpus + 1) * sizeof(*cpus));
	struct ticks row = {};
	uint64_t cpu;

	if (!cpus)
		return -ENOMEM;
	t->cpus = cpus;
	if (!next_number(&line, &cpu) || cpu >= CPUSET_MAX)
		return -EBADMSG;
	row.cpu = (unsigned int)cpu;
	for (int i = 0; i < NR_COLUMNS; i++)
		if (!next_number(&line, &row.t[i]) && i <= IDLE)
			return -EBADMSG;
	t->cpus[t->nr_cpus++] = row;
	return 0;
}

static int parse_line(struct stat_table *t, const char *line)
{
	if (strncmp(line, "cpu", 3) == 0 && isdigit((unsigned char)line[3]))
		return add_cpu(t, line + 3);
	if (strncmp(line, "ctxt ", 5) == 0) {
		line += 5;
		t->has_ctxt = next_number(&line, &t->ctxt);
	}
	return 0;
}

static int parse(struct buf *text, struct stat_table *ret, struct err *e)
{
	_cleanup_(table_release) struct stat_table t = {};
	char *save = NULL;

	for (char *line = text->data ? strtok_r(text->data, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		int r = parse_line(&t, line);

		if (r == -ENOMEM)
			return err_nomem(e, "/proc/stat");
		if (r < 0)
			return err_set(e, r, "/proc/stat: \"%.60s\" is not a row of a CPU", line);
	}
	if (!t.nr_cpus)
		return err_set(e, -EBADMSG, "/proc/stat: no row of a CPU");
	*ret = t;
	t = (struct stat_table){};
	return 0;
}

/* idle and iowait are known to step back a little; so may all after a CPU was offline. */
static struct ticks subtract(const struct ticks *before, const struct ticks *after)
{
	struct ticks d = { .cpu = after->cpu };

	for (int i = 0; i < NR_COLUMNS; i++)
		d.t[i] = after->t[i] > before->t[i] ? after->t[i] - before->t[i] : 0;
	return d;
}

static uint64_t sum(const struct ticks *d)
{
	uint64_t all = 0;

	for (int i = 0; i < NR_COLUMNS; i++)
		all += d->t[i];
	return all;
}

static double share(const struct ticks *d, uint64_t part)
{
	uint64_t all = sum(d);

	return all ? (double)part / (double)all : 0;
}

static void report_shares(struct emit *m, const char *labels, const struct ticks *d)
{
	uint64_t busy = sum(d) - d->t[IDLE] - d->t[IOWAIT] - d->t[STEAL];

	if (sum(d) == 0)
		return;
	emit_scalar(m, "busy", "ratio", labels, share(d, busy));
	emit_scalar(m, "softirq", "ratio", labels, share(d, d->t[SOFTIRQ]));
	emit_scalar(m, "irq", "ratio", labels, share(d, d->t[IRQ]));
	emit_scalar(m, "steal", "ratio", labels, share(d, d->t[STEAL]));
}

static const struct ticks *find(const struct stat_table *t, unsigned int cpu)
{
	for (size_t i = 0; i < t->nr_cpus; i++)
		if (t->cpus[i].cpu == cpu)
			return &t->cpus[i];
	return NULL;
}

static void say_steal(struct emit *m, const struct ticks *total, const struct ticks *worst)
{
	/* one tick of a short window is no share */
	if (share(worst, worst->t[STEAL]) <= STEAL_WARN || worst->t[STEAL] < 2)
		return;
	emit_event(m, SEVERITY_WARN, 0,
		   "stolen CPU time %.1f %% (CPU %u: %.1f %%): the hypervisor ran something else; "
		   "latency and throughput are suspect",
		   100 * share(total, total->t[STEAL]), worst->cpu,
		   100 * share(worst, worst->t[STEAL]));
}

static void report_cpus(struct emit *m, const struct stat_table *before,
			const struct stat_table *after)
{
	struct ticks total = {}, worst = {};
	size_t changed = before->nr_cpus;
	char labels[16];

	for (size_t i = 0; i < after->nr_cpus; i++) {
		const struct ticks *old = find(before, after->cpus[i].cpu);
		struct ticks d;

		if (!old) {
			changed++;
			continue;
		}
		changed--;
		d = subtract(old, &after->cpus[i]);
		snprintf(labels, sizeof(labels), "cpu=%u", d.cpu);
		report_shares(m, labels, &d);
		for (int k = 0; k < NR_COLUMNS; k++)
			total.t[k] += d.t[k];
		if (share(&d, d.t[STEAL]) > share(&worst, worst.t[STEAL]))
			worst = d;
	}
	if (changed)
		emit_event(m, SEVERITY_WARN, 0,
			   "/proc/stat: %zu CPUs went on- or offline within the window and are "
			   "left out",
			   changed);
	if (sum(&total) == 0)
		emit_event(m, SEVERITY_NOTE, 0,
			   "/proc/stat did not move: the window is shorter than its tick; use a "
			   "longer trial");
	report_shares(m, "", &total);
	say_steal(m, &total, &worst);
}

static int cpu_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	_cleanup_(table_release) struct stat_table before = {}, after = {};
	struct emit m = { .out = out, .instance = p->name, .e = e };
	double seconds = (double)(p->at_ns[EDGE_STOP] - p->at_ns[EDGE_START]) / (double)NS_PER_S;
	int r = parse(&p->text[EDGE_START], &before, e);

	if (r >= 0)
		r = parse(&p->text[EDGE_STOP], &after, e);
	if (r < 0)
		return r;
	report_cpus(&m, &before, &after);
	if (before.has_ctxt && after.has_ctxt && after.ctxt >= before.ctxt && seconds > 0)
		emit_scalar(&m, "ctxt", "1/s", "", (double)(after.ctxt - before.ctxt) / seconds);
	return m.r;
}

static void cpu_close(struct probe *p)
{
	if (!p)
		return;
	buf_release(&p->text[EDGE_START]);
	buf_release(&p->text[EDGE_STOP]);
	free(p->name);
	free(p);
}

static void cpu_closep(struct probe **p)
{
	cpu_close(*p);
}

static int snap(struct probe *p, enum edge edge, struct err *e)
{
	int r;

	buf_reset(&p->text[edge]);
	p->at_ns[edge] = clock_mono_ns();
	r = kfile_read(p->proc_fd, "stat", &p->text[edge], e);
	return r;
}

static int cpu_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		    struct err *e)
{
	_cleanup_(cpu_closep) struct probe *p = calloc(1, sizeof(*p));
	char none;
	int r;

	if (!p)
		return err_nomem(e, inst->name);
	p->proc_fd = env->host->proc_fd;
	p->name = strdup(inst->name);
	if (!p->name)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &none, e);
	if (r < 0)
		return r;
	/* both once for their size: nothing is allocated at the edges then */
	r = snap(p, EDGE_START, e);
	if (r >= 0)
		r = snap(p, EDGE_STOP, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int cpu_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	return snap(p, EDGE_START, e);
}

static int cpu_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	return snap(p, EDGE_STOP, e);
}

const struct probe_ops probe_cpu = {
	.plugin = { .name = "cpu",
		    .help = "busy, softirq and stolen time of the CPUs",
		    .options = options,
		    .metrics = metrics },
	.usable = cpu_usable,
	.open = cpu_open,
	.start = cpu_start,
	.stop = cpu_stop,
	.drain = cpu_drain,
	.close = cpu_close,
};
