// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How late a real-time thread wakes: one SCHED_FIFO thread for each CPU and priority, on absolute
 * timers.  What one lane does is in wakeup_loop.c; this file brings the lanes up and down.
 */
#include "probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/wakeup.h"

#define STACK_SIZE ((size_t)256 * 1024)
/* A window longer than planned still has its maxima second by second for this long. */
#define SPARE_SECONDS 8
#define REMEDY_FIFO                                                          \
	"needs root, CAP_SYS_NICE or an RLIMIT_RTPRIO that allows it; with " \
	"CONFIG_RT_GROUP_SCHED also a cpu cgroup whose cpu.rt_runtime_us is not 0"
#define REMEDY_MLOCK "needs root, CAP_IPC_LOCK or a larger ulimit -l"

struct wakeup_cfg {
	uint64_t interval_ns;
	struct uint_list priority;
	char *cpus;
};

struct probe {
	struct wakeup_cfg cfg;
	char *name;
	struct cpuset cpus;
	struct wakeup_window window;
	struct wakeup_lane *lanes;
	size_t nr_lanes;
	size_t nr_running;
	bool locked;
	int lock_errno;
	int latency_fd; /* /dev/cpu_dma_latency: deep idle states are off while it is open */
	int latency_errno;
};

static const struct opt options[] = {
	{ "interval", OPT_NS, offsetof(struct wakeup_cfg, interval_ns), "250us",
	  "time between two wake-ups of a thread", .min = 10 * NS_PER_US, .max = NS_PER_S },
	{ "priority", OPT_UINTS, offsetof(struct wakeup_cfg, priority), "98",
	  "SCHED_FIFO priorities, a thread on every CPU for each", .min = 1, .max = 99 },
	{ "cpus", OPT_CPUS, offsetof(struct wakeup_cfg, cpus), "all",
	  "CPUs with a thread; all: those this process may use" },
	{},
};

static const struct metric_desc metrics[] = {
	{ "p50", "ns", BETTER_LOWER, "median of how late the threads woke" },
	{ "p99", "ns", BETTER_LOWER, "exceeded by 1 % of the wake-ups" },
	{ "p999", "ns", BETTER_LOWER, "exceeded by 0.1 % of the wake-ups" },
	{ "p99-corrected", "ns", BETTER_LOWER, "p99 with the skipped wake-ups counted too" },
	{ "avg", "ns", BETTER_LOWER, "mean of how late the threads woke" },
	{ "max", "ns", BETTER_LOWER, "latest wake-up; grows with n" },
	{ "min", "ns", BETTER_NONE, "earliest wake-up" },
	{ "n", "count", BETTER_NONE, "wake-ups measured" },
	{ "missed", "count", BETTER_LOWER, "wake-ups skipped because the thread was still late" },
	{ "missed-ratio", "ratio", BETTER_LOWER, "skipped of all scheduled wake-ups" },
	{},
};

static void free_cpu_setp(cpu_set_t **p)
{
	CPU_FREE(*p);
}

static void attr_destroyp(pthread_attr_t **p)
{
	if (*p)
		pthread_attr_destroy(*p);
}

static void free_voidp(void **p)
{
	free(*p);
}

/* Attributes of a SCHED_FIFO thread; @attr has been initialised on return, also after failure. */
static int fifo_attr(pthread_attr_t *attr, unsigned int priority)
{
	struct sched_param param = { .sched_priority = (int)priority };
	int r = pthread_attr_setstacksize(attr, STACK_SIZE);

	if (!r)
		r = pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
	if (!r)
		r = pthread_attr_setschedpolicy(attr, SCHED_FIFO);
	if (!r)
		r = pthread_attr_setschedparam(attr, &param);
	return r;
}

static int pin_attr(pthread_attr_t *attr, unsigned int cpu)
{
	_cleanup_(free_cpu_setp) cpu_set_t *set = CPU_ALLOC(CPUSET_MAX);
	size_t size = CPU_ALLOC_SIZE(CPUSET_MAX);

	if (!set)
		return ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	return pthread_attr_setaffinity_np(attr, size, set);
}

static void *nothing(void *arg)
{
	return arg;
}

static int wakeup_usable(const struct host *host, struct err *why)
{
	pthread_attr_t attr;
	_cleanup_(attr_destroyp) pthread_attr_t *owned = NULL;
	pthread_t t;
	int r = pthread_attr_init(&attr);

	if (r)
		return err_set(why, -r, "SCHED_FIFO thread: no memory for its attributes");
	owned = &attr;
	r = fifo_attr(&attr, 1);
	if (!r)
		r = pthread_create(&t, &attr, nothing, NULL);
	if (r == EPERM)
		return err_set(why, -r, "SCHED_FIFO was refused: " REMEDY_FIFO);
	errno = r;
	if (r)
		return err_sys(why, "SCHED_FIFO thread");
	pthread_join(t, NULL);
	return 0;
}

/* Online CPUs that @allowed (of this thread) has. */
static int allowed_cpus(const struct cpuset *online, struct cpuset *ret, struct err *e)
{
	_cleanup_(free_cpu_setp) cpu_set_t *allowed = CPU_ALLOC(CPUSET_MAX);
	_cleanup_(cpuset_release) struct cpuset set = {};
	size_t size = CPU_ALLOC_SIZE(CPUSET_MAX);

	set.cpus = calloc(online->nr ? online->nr : 1, sizeof(*set.cpus));
	if (!allowed || !set.cpus)
		return err_nomem(e, "CPUs");
	if (sched_getaffinity(0, size, allowed) < 0)
		return err_sys(e, "read which CPUs this process may use");
	for (size_t i = 0; i < online->nr; i++)
		if (CPU_ISSET_S(online->cpus[i], size, allowed))
			set.cpus[set.nr++] = online->cpus[i];
	if (!set.nr)
		return err_set(e, -ENODEV, "cpus: no online CPU is allowed to this process");
	*ret = set;
	set = (struct cpuset){};
	return 0;
}

static int resolve_cpus(struct probe *p, const struct host *host, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {};
	int r = cpuset_online(host->sys_fd, &online, e);

	if (r < 0)
		return r;
	if (strcmp(p->cfg.cpus, "all") == 0)
		return allowed_cpus(&online, &p->cpus, e);
	r = cpuset_parse(p->cfg.cpus, &p->cpus, e);
	if (r >= 0 && !p->cpus.nr)
		return err_set(e, -EINVAL, "cpus \"%s\": name one CPU at least, or all",
			       p->cfg.cpus);
	for (size_t i = 0; r >= 0 && i < p->cpus.nr; i++) {
		_cleanup_(buf_release) struct buf have = {};

		if (cpuset_has(&online, p->cpus.cpus[i]))
			continue;
		cpuset_format(&online, &have);
		return err_set(e, -ENODEV,
			       "cpus \"%s\": CPU %u is not online; this machine has %s online",
			       p->cfg.cpus, p->cpus.cpus[i], buf_str(&have));
	}
	return r;
}

static int check_priorities(const struct uint_list *l, struct err *e)
{
	if (!l->nr)
		return err_set(e, -EINVAL, "priority: name one at least, such as 98");
	for (size_t i = 0; i < l->nr; i++)
		for (size_t k = 0; k < i; k++)
			if (l->v[i] == l->v[k])
				return err_set(e, -EINVAL, "priority: %" PRIu64 " stands twice",
					       l->v[i]);
	return 0;
}

static int make_lanes(struct probe *p, const struct probe_env *env, struct err *e)
{
	size_t nr = p->cpus.nr * p->cfg.priority.nr;
	_cleanup_(free_voidp) void *lanes = NULL;

	if (posix_memalign(&lanes, _Alignof(struct wakeup_lane), nr * sizeof(*p->lanes)) != 0)
		return err_nomem(e, "wakeup threads");
	memset(lanes, 0, nr * sizeof(*p->lanes)); /* touches every page, too */
	p->lanes = take_ptr(lanes);
	p->nr_lanes = nr;
	for (size_t i = 0; i < nr; i++) {
		struct wakeup_lane *l = &p->lanes[i];

		l->cpu = p->cpus.cpus[i % p->cpus.nr];
		l->priority = (unsigned int)p->cfg.priority.v[i / p->cpus.nr];
		l->interval_ns = p->cfg.interval_ns;
		l->window = &p->window;
		l->last_cpu = -1;
		l->nr_seconds = (size_t)(env->duration_ns / NS_PER_S) + SPARE_SECONDS;
		l->seconds = malloc(l->nr_seconds * sizeof(*l->seconds));
		if (!l->seconds)
			return err_nomem(e, "maxima of the wake-ups");
		memset(l->seconds, 0, l->nr_seconds * sizeof(*l->seconds));
	}
	return 0;
}

static void *lane_main(void *arg)
{
	struct wakeup_lane *l = arg;
	char name[16];

	snprintf(name, sizeof(name), "wakeup/%u-%u", l->cpu, l->priority);
	prctl(PR_SET_NAME, name);
	wakeup_loop(l);
	return NULL;
}

static int refused(const struct wakeup_lane *l, int error, struct err *e)
{
	if (error == EPERM)
		return err_set(e, -error, "SCHED_FIFO %u on CPU %u was refused: " REMEDY_FIFO,
			       l->priority, l->cpu);
	if (error == EINVAL)
		return err_set(e, -error,
			       "thread on CPU %u was refused: the CPU went offline or is outside "
			       "this process's cpuset; name other cpus",
			       l->cpu);
	if (error == EAGAIN || error == ENOMEM)
		return err_set(
			e, -error,
			"thread of priority %u on CPU %u: no room for its locked stack of 256 "
			"KB or no more threads allowed; raise ulimit -l and -u",
			l->priority, l->cpu);
	errno = error;
	return err_sys(e, "thread of priority %u on CPU %u", l->priority, l->cpu);
}

static int run_lane(struct wakeup_lane *l, struct err *e)
{
	pthread_attr_t attr;
	_cleanup_(attr_destroyp) pthread_attr_t *owned = NULL;
	sigset_t all, before;
	int r = pthread_attr_init(&attr);

	if (r)
		return refused(l, r, e);
	owned = &attr;
	r = fifo_attr(&attr, l->priority);
	if (!r)
		r = pin_attr(&attr, l->cpu);
	if (r)
		return refused(l, r, e);
	/* inherited: a signal of the process must not run on a measuring thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&l->thread, &attr, lane_main, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r ? refused(l, r, e) : 0;
}

static int run_lanes(struct probe *p, uint64_t seed, struct err *e)
{
	for (; p->nr_running < p->nr_lanes; p->nr_running++) {
		struct wakeup_lane *l = &p->lanes[p->nr_running];
		uint64_t phase = wakeup_phase(seed, l->cpu, l->priority, l->interval_ns);
		int r;

		l->next_ns = wakeup_first(clock_mono_ns(), phase, l->interval_ns);
		r = run_lane(l, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Neither is fatal: the numbers are worse without, and drain says so. */
static void hold_still(struct probe *p, const struct host *host)
{
	int32_t zero = 0;

	p->locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
	p->lock_errno = p->locked ? 0 : errno;
	p->latency_fd = openat(host->dev_fd, "cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (p->latency_fd < 0 || write(p->latency_fd, &zero, sizeof(zero)) != sizeof(zero)) {
		p->latency_errno = errno;
		close_fdp(&p->latency_fd);
		p->latency_fd = -1;
	}
}

static void join_lanes(struct probe *p)
{
	for (size_t i = 0; i < p->nr_running; i++)
		pthread_join(p->lanes[i].thread, NULL);
	p->nr_running = 0;
}

static void wakeup_close(struct probe *p)
{
	if (!p)
		return;
	atomic_store(&p->window.end_ns, 0);
	join_lanes(p);
	for (size_t i = 0; i < p->nr_lanes; i++)
		free(p->lanes[i].seconds);
	free(p->lanes);
	close_fdp(&p->latency_fd);
	if (p->locked)
		munlockall();
	cpuset_release(&p->cpus);
	opt_release(options, &p->cfg);
	free(p->name);
	free(p);
}

static void wakeup_closep(struct probe **p)
{
	wakeup_close(*p);
}

static int wakeup_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		       struct err *e)
{
	_cleanup_(wakeup_closep) struct probe *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_nomem(e, inst->name);
	p->latency_fd = -1;
	atomic_store(&p->window.begin_ns, UINT64_MAX);
	atomic_store(&p->window.end_ns, UINT64_MAX);
	p->name = strdup(inst->name);
	if (!p->name)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &p->cfg, e);
	if (r >= 0)
		r = check_priorities(&p->cfg.priority, e);
	if (r >= 0)
		r = resolve_cpus(p, env->host, e);
	if (r >= 0)
		r = make_lanes(p, env, e);
	if (r < 0)
		return r;
	hold_still(p, env->host);
	r = run_lanes(p, env->seed, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int wakeup_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	atomic_store(&p->window.begin_ns, now_ns);
	return 0;
}

static int wakeup_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	atomic_store(&p->window.end_ns, now_ns);
	join_lanes(p);
	return 0;
}

static void say_disturbed(const struct probe *p, struct emit *m)
{
	char why[128];

	if (!p->locked)
		emit_event(m, SEVERITY_WARN, 0,
			   "memory is not locked (%s): page faults may count as latency; "
			   "it " REMEDY_MLOCK,
			   strerror_r(p->lock_errno, why, sizeof(why)));
	if (p->latency_fd < 0)
		emit_event(m, SEVERITY_WARN, 0,
			   "/dev/cpu_dma_latency could not be held (%s): leaving deep idle states "
			   "counts as latency; it needs root or write access to that file",
			   strerror_r(p->latency_errno, why, sizeof(why)));
}

static int wakeup_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };
	struct wakeup_result res = { .lanes = p->lanes,
				     .nr_lanes = p->nr_lanes,
				     .nr_cpus = p->cpus.nr,
				     .begin_ns = atomic_load(&p->window.begin_ns),
				     .end_ns = atomic_load(&p->window.end_ns) };

	say_disturbed(p, &m);
	wakeup_report(&res, &m);
	return m.r;
}

const struct probe_ops probe_wakeup = {
	.plugin = { .name = "wakeup",
		    .help = "how late a real-time thread wakes",
		    .options = options,
		    .metrics = metrics },
	.usable = wakeup_usable,
	.open = wakeup_open,
	.start = wakeup_start,
	.stop = wakeup_stop,
	.drain = wakeup_drain,
	.close = wakeup_close,
};
