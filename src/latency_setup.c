// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/kfile.h"
#include "latency_run.h"

/* Seconds of maxima that a lane keeps until the main thread has looked. */
#define RING_SECONDS 16
#define VALUES ((size_t)16384) /* as cyclictest's, a power of two */

/* "!1,3": all but these. */
static int all_but(const char *list, const struct host *host, struct cpuset *ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset all = {}, not = {};
	size_t kept = 0;
	int r = wakeup_cpus("all", host, &all, e);

	if (r >= 0)
		r = cpuset_parse(list, &not, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < all.nr; i++)
		if (!cpuset_has(&not, all.cpus[i]))
			all.cpus[kept++] = all.cpus[i];
	if (!kept)
		return err_set(e, -EINVAL, "no CPU is left without %s", list);
	all.nr = kept;
	*ret = all;
	all = (struct cpuset){};
	return 0;
}

/* CPUs that the kernel keeps from the scheduler are in nobody's set: easily overlooked. */
static void say_isolated(const struct latency_run *run)
{
	_cleanup_(freep) char *list = NULL;
	_cleanup_(cpuset_release) struct cpuset isolated = {};
	struct err ignored = {};

	if (kfile_read_line(run->host.sys_fd, "devices/system/cpu/isolated", &list, &ignored) < 0 ||
	    cpuset_parse(list, &isolated, &ignored) < 0)
		return;
	for (size_t i = 0; i < isolated.nr; i++) {
		if (cpuset_has(&run->cpus, isolated.cpus[i]))
			continue;
		fprintf(stderr,
			"irqlab: the isolated CPUs %s are not all measured: name them, such as -a %s "
			"-t\n",
			list, list);
		return;
	}
}

static int choose_cpus(struct latency_run *run, struct err *e)
{
	const struct latency_args *a = run->args;
	const char *list = a->smp || !a->affinity ? "all" : a->affinity;
	int r = list[0] == '!' ? all_but(list + 1, &run->host, &run->cpus, e)
			       : wakeup_cpus(list, &run->host, &run->cpus, e);

	if (r < 0)
		return err_wrap(e, "option --affinity");
	if (a->smp)
		say_isolated(run);
	return 0;
}

static int32_t node_of(int sys_fd, unsigned int cpu)
{
	char path[64];
	_cleanup_(closedir_dirp) DIR *d = NULL;
	struct dirent *de;
	int fd;

	snprintf(path, sizeof(path), "devices/system/cpu/cpu%u", cpu);
	fd = openat(sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of this function's own */
	while (d && (de = readdir(d)))
		if (strncmp(de->d_name, "node", 4) == 0 && de->d_name[4])
			return (int32_t)strtol(de->d_name + 4, NULL, 10);
	return -1;
}

static bool is_real_time(const struct latency_args *a)
{
	return a->policy == WAKEUP_FIFO || a->policy == WAKEUP_RR;
}

/* The threads of one priority. */
static size_t nr_of_one(const struct latency_run *run)
{
	const struct latency_args *a = run->args;

	if (a->smp || a->all_threads)
		return run->cpus.nr;
	return (size_t)a->threads;
}

static unsigned int priority_of(const struct latency_run *run, size_t i, size_t one)
{
	const struct latency_args *a = run->args;
	uint64_t first = one + 1 < 99 ? one + 1 : 99;

	if (!is_real_time(a))
		return 0;
	if (a->has_priority)
		first = a->priority.v[i / one];
	if (!a->priospread)
		return (unsigned int)first;
	return first > i ? (unsigned int)(first - i) : 1;
}

/* cyclictest compares whole us: "later than 50" begins at 51. */
static uint64_t bound_ns(uint64_t bound, bool nsecs)
{
	return nsecs ? bound : (bound + 1) * NS_PER_US - 1;
}

static int fill_tap(struct latency_run *run, struct wakeup_tap *t, size_t i, struct err *e)
{
	const struct latency_args *a = run->args;

	t->lane = (unsigned int)i;
	t->max_cycles = a->loops;
	if (a->rows) {
		t->row_ns = a->nsecs ? 1 : NS_PER_US;
		t->nr_rows = (size_t)a->rows;
		t->rows = calloc(2 * t->nr_rows, sizeof(*t->rows));
		if (!t->rows)
			return err_nomem(e, "rows of the histogram");
		t->overflow = t->rows + t->nr_rows;
	}
	if (a->verbose) {
		t->mask = VALUES - 1;
		t->values = calloc(VALUES, sizeof(*t->values));
		if (!t->values)
			return err_nomem(e, "values");
	}
	if (a->spike) {
		t->spikes = &run->spikes;
		t->spike_ns = bound_ns(a->spike, a->nsecs);
	}
	if (a->break_us) {
		t->brk = &run->brk;
		t->break_ns = bound_ns(a->break_us, a->nsecs);
	}
	return 0;
}

static void fill_lane(struct latency_run *run, size_t i, size_t one)
{
	const struct latency_args *a = run->args;
	struct wakeup_lane *l = &run->lanes.lane[i];
	uint64_t distance = a->rows ? 0 : (i % one) * a->distance_us;

	l->cpu = run->cpus.cpus[i % one % run->cpus.nr];
	l->pinned = true;
	l->policy = a->policy;
	l->priority = priority_of(run, i, one);
	l->clock = a->clock ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	l->interval_ns = (a->interval_us + distance) * NS_PER_US;
	l->window = &run->window;
	l->ring = true;
	l->tap = &run->tap[i];
	l->done_fd = run->done_fd;
	run->node[i] = a->smp ? -1 : node_of(run->host.sys_fd, l->cpu);
}

/* When a lane wakes first; the random ones draw their place in the interval. */
static void place_lanes(struct latency_run *run)
{
	const struct latency_args *a = run->args;
	clockid_t clock = run->lanes.lane[0].clock;
	uint64_t now = wakeup_clock_ns(clock), seed = clock_wall_ns() ^ ((uint64_t)getpid() << 40);

	/* time enough to make the threads */
	if (a->phase == LATENCY_ALIGNED)
		run->base_ns = now + 20 * NS_PER_MS + run->nr * NS_PER_MS / 5;
	if (a->phase == LATENCY_SECALIGNED)
		run->base_ns =
			(now / NS_PER_S + (now % NS_PER_S > 900 * NS_PER_MS ? 2 : 1)) * NS_PER_S;
	for (size_t i = 0; i < run->nr; i++) {
		struct wakeup_lane *l = &run->lanes.lane[i];
		uint64_t phase = wakeup_phase(seed + i, l->cpu, l->priority, l->interval_ns);
		uint64_t offset = a->offset_us * NS_PER_US;

		if (a->phase == LATENCY_ALIGNED)
			offset *= i;
		l->next_ns = run->base_ns ? run->base_ns + l->interval_ns + offset
					  : wakeup_first(now, phase, l->interval_ns);
	}
}

static int make_arrays(struct latency_run *run, struct err *e)
{
	size_t nr = run->nr;

	run->tap = calloc(nr, sizeof(*run->tap));
	run->node = calloc(nr, sizeof(*run->node));
	run->read = calloc(nr, sizeof(*run->read));
	run->worst = calloc(nr, sizeof(*run->worst));
	run->worst_cycle = calloc(nr, sizeof(*run->worst_cycle));
	run->elsewhere = calloc(nr, sizeof(*run->elsewhere));
	run->series = calloc(nr, sizeof(struct latency_series *));
	run->hist = calloc(nr, sizeof(struct hist *));
	run->figures = calloc(nr, sizeof(*run->figures));
	run->rows = calloc(nr, sizeof(*run->rows));
	if (!run->tap || !run->node || !run->read || !run->worst || !run->worst_cycle ||
	    !run->elsewhere || !run->series || !run->hist || !run->figures || !run->rows)
		return err_nomem(e, "threads");
	for (size_t i = 0; i < nr; i++) {
		run->series[i] = calloc(1, sizeof(**run->series));
		run->hist[i] = hist_new();
		if (!run->series[i] || !run->hist[i])
			return err_nomem(e, "threads");
	}
	if (run->args->spike) {
		run->spikes.max = (size_t)run->args->spike_nodes;
		run->spikes.spike = calloc(run->spikes.max, sizeof(*run->spikes.spike));
		if (!run->spikes.spike)
			return err_nomem(e, "spikes");
	}
	return 0;
}

static int open_trace(const char *name, struct err *e)
{
	static const char *const mounts[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[64];
	int fd = -1;

	for (size_t i = 0; i < ARRAY_SIZE(mounts) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", mounts[i], name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return err_sys(
			e,
			"option --tracemark: open %s (mount tracefs and be root, or leave it "
			"away: -b ends the run without)",
			path);
	return fd;
}

static int open_fds(struct latency_run *run, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	errno = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (errno)
		return err_sys(e, "block signals");
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	run->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->signal_fd < 0 || run->done_fd < 0)
		return err_sys(e, "signalfd, eventfd");
	if (!run->args->tracemark)
		return 0;
	run->brk.mark_fd = open_trace("trace_marker", e);
	if (run->brk.mark_fd < 0)
		return -EACCES;
	run->brk.trace_fd = open_trace("tracing_on", e);
	return run->brk.trace_fd < 0 ? -EACCES : 0;
}

int latency_setup(struct latency_run *run, const struct latency_args *args, struct err *e)
{
	size_t one;
	int r;

	run->args = args;
	run->signal_fd = run->done_fd = -1;
	run->brk.lane = run->brk.mark_fd = run->brk.trace_fd = -1;
	run->hold.latency_fd = -1;
	atomic_store(&run->window.begin_ns, UINT64_MAX);
	atomic_store(&run->window.end_ns, UINT64_MAX);
	r = host_open(&run->host, e);
	if (r >= 0)
		r = choose_cpus(run, e);
	if (r >= 0)
		r = open_fds(run, e);
	if (r < 0)
		return r;
	one = nr_of_one(run);
	run->nr = one * (is_real_time(args) && args->has_priority ? args->priority.nr : 1);
	if (is_real_time(args) && !args->has_priority)
		fprintf(stderr, "defaulting realtime priority to %u\n", priority_of(run, 0, one));
	r = make_arrays(run, e);
	if (r >= 0)
		r = wakeup_lanes_init(&run->lanes, run->nr, RING_SECONDS, e);
	for (size_t i = 0; r >= 0 && i < run->nr; i++) {
		r = fill_tap(run, &run->tap[i], i, e);
		fill_lane(run, i, one);
	}
	if (r >= 0)
		place_lanes(run);
	return r;
}

void latency_run_release(struct latency_run *run)
{
	wakeup_lanes_release(&run->lanes);
	wakeup_hold_release(&run->hold);
	for (size_t i = 0; i < run->nr; i++) {
		if (run->tap) {
			free(run->tap[i].rows);
			free(run->tap[i].values);
		}
		if (run->series)
			free(run->series[i]);
		if (run->hist)
			hist_free(run->hist[i]);
	}
	free(run->tap);
	free(run->node);
	free(run->read);
	free(run->worst);
	free(run->worst_cycle);
	free(run->elsewhere);
	free(run->series);
	free(run->hist);
	free(run->figures);
	free(run->rows);
	free(run->spikes.spike);
	close_fdp(&run->signal_fd);
	close_fdp(&run->done_fd);
	close_fdp(&run->brk.mark_fd);
	close_fdp(&run->brk.trace_fd);
	cpuset_release(&run->cpus);
	host_release(&run->host);
}
