// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/wakeup_lanes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

#define STACK_SIZE ((size_t)256 * 1024)

static const struct {
	const char *name;
	int policy;
} policies[] = {
	[WAKEUP_FIFO] = { "fifo", SCHED_FIFO },	   [WAKEUP_RR] = { "rr", SCHED_RR },
	[WAKEUP_OTHER] = { "other", SCHED_OTHER }, [WAKEUP_BATCH] = { "batch", SCHED_BATCH },
	[WAKEUP_IDLE] = { "idle", SCHED_IDLE },
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

const char *wakeup_policy_name(enum wakeup_policy policy)
{
	return policies[policy].name;
}

static bool is_real_time(enum wakeup_policy policy)
{
	return policy == WAKEUP_FIFO || policy == WAKEUP_RR;
}

static struct wakeup_ask ask_of(const struct wakeup_lane *l)
{
	return (struct wakeup_ask){ .policy = l->policy,
				    .priority = l->priority,
				    .cpu = l->pinned ? (int)l->cpu : -1 };
}

/* Attributes of a thread; @attr has been initialised on return, also after failure. */
static int policy_attr(pthread_attr_t *attr, const struct wakeup_ask *ask)
{
	struct sched_param param = { .sched_priority = (int)ask->priority };
	bool real_time = is_real_time(ask->policy);
	int r = pthread_attr_setstacksize(attr, STACK_SIZE);

	if (!r)
		r = pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
	/* the others are no policies of POSIX: the thread takes them itself */
	if (!r)
		r = pthread_attr_setschedpolicy(attr, real_time ? policies[ask->policy].policy
								: SCHED_OTHER);
	if (!r && real_time)
		r = pthread_attr_setschedparam(attr, &param);
	return r;
}

static cpu_set_t *set_of(unsigned int cpu, size_t *ret_size)
{
	cpu_set_t *set = CPU_ALLOC(CPUSET_MAX);

	*ret_size = CPU_ALLOC_SIZE(CPUSET_MAX);
	if (set) {
		CPU_ZERO_S(*ret_size, set);
		CPU_SET_S(cpu, *ret_size, set);
	}
	return set;
}

static int pin_attr(pthread_attr_t *attr, unsigned int cpu)
{
	size_t size = 0;
	_cleanup_(free_cpu_setp) cpu_set_t *set = set_of(cpu, &size);

	return set ? pthread_attr_setaffinity_np(attr, size, set) : ENOMEM;
}

int wakeup_lane_pin(const struct wakeup_lane *l)
{
	size_t size = 0;
	_cleanup_(free_cpu_setp) cpu_set_t *set = set_of(l->cpu, &size);

	return set ? -pthread_setaffinity_np(l->thread, size, set) : -ENOMEM;
}

static void *nothing(void *arg)
{
	return arg;
}

int wakeup_usable(const struct host *host, struct err *why)
{
	const struct wakeup_ask least = { .policy = WAKEUP_FIFO, .priority = 1, .cpu = -1 };
	pthread_attr_t attr;
	_cleanup_(attr_destroyp) pthread_attr_t *owned = NULL;
	pthread_t t;
	int r = pthread_attr_init(&attr);

	if (r)
		return err_set(why, -r, "SCHED_FIFO thread: no memory for its attributes");
	owned = &attr;
	r = policy_attr(&attr, &least);
	if (!r)
		r = pthread_create(&t, &attr, nothing, NULL);
	if (r)
		return wakeup_refused(host, &least, r, why);
	pthread_join(t, NULL);
	return 0;
}

/* Online CPUs that this thread may use. */
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

int wakeup_cpus(const char *list, const struct host *host, struct cpuset *ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {}, set = {};
	int r = cpuset_online(host->sys_fd, &online, e);

	if (r < 0)
		return r;
	if (strcmp(list, "all") == 0)
		return allowed_cpus(&online, ret, e);
	r = cpuset_parse(list, &set, e);
	if (r < 0)
		return r;
	if (!set.nr)
		return err_set(e, -EINVAL, "cpus \"%s\": name one CPU at least, or all", list);
	for (size_t i = 0; i < set.nr; i++) {
		_cleanup_(buf_release) struct buf have = {};

		if (cpuset_has(&online, set.cpus[i]))
			continue;
		cpuset_format(&online, &have);
		return err_set(e, -ENODEV,
			       "cpus \"%s\": CPU %u is not online; this machine has %s online",
			       list, set.cpus[i], buf_str(&have));
	}
	*ret = set;
	set = (struct cpuset){};
	return 0;
}

int wakeup_lanes_init(struct wakeup_lanes *s, size_t nr, size_t nr_seconds, struct err *e)
{
	_cleanup_(freep) void *lanes = NULL, *seconds = NULL;
	size_t size;

	if (__builtin_mul_overflow(nr * nr_seconds, sizeof(*s->seconds), &size))
		return err_nomem(e, "maxima of the wake-ups");
	if (posix_memalign(&lanes, _Alignof(struct wakeup_lane), nr * sizeof(*s->lane)) != 0)
		return err_nomem(e, "wakeup threads");
	seconds = malloc(size);
	if (!seconds)
		return err_nomem(e, "maxima of the wake-ups");
	/* touches every page, too */
	memset(lanes, 0, nr * sizeof(*s->lane));
	memset(seconds, 0, size);
	s->lane = take_ptr(lanes);
	s->seconds = take_ptr(seconds);
	s->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		s->lane[i].last_cpu = -1;
		s->lane[i].seconds = s->seconds + i * nr_seconds;
		s->lane[i].nr_seconds = nr_seconds;
	}
	return 0;
}

static void *lane_main(void *arg)
{
	struct wakeup_lane *l = arg;
	char name[16];

	atomic_store(&l->tid, gettid());
	snprintf(name, sizeof(name), "wakeup/%u-%u", l->cpu, l->priority);
	prctl(PR_SET_NAME, name);
	if (l->policy == WAKEUP_BATCH || l->policy == WAKEUP_IDLE) {
		struct sched_param none = {};

		/* lowers it: never refused */
		sched_setscheduler(0, policies[l->policy].policy, &none);
	}
	wakeup_loop(l);
	if (l->done_fd > 0)
		eventfd_write(l->done_fd, 1);
	return NULL;
}

static int run_lane(struct wakeup_lanes *s, struct wakeup_lane *l)
{
	pthread_attr_t attr;
	_cleanup_(attr_destroyp) pthread_attr_t *owned = NULL;
	const struct wakeup_ask ask = ask_of(l);
	sigset_t all, before;
	int r = pthread_attr_init(&attr);

	if (r)
		return r;
	owned = &attr;
	r = policy_attr(&attr, &ask);
	if (!r && l->pinned)
		r = pin_attr(&attr, l->cpu);
	if (r)
		return r;
	/* inherited: a signal of the process must not run on a measuring thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = (s->create ? s->create : pthread_create)(&l->thread, &attr, lane_main, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void close_window(const struct wakeup_lanes *s)
{
	for (size_t i = 0; i < s->nr_running; i++)
		atomic_store(&s->lane[i].window->end_ns, 0);
}

int wakeup_lanes_run(struct wakeup_lanes *s, const struct host *host, struct err *e)
{
	for (; s->nr_running < s->nr; s->nr_running++) {
		struct wakeup_lane *l = &s->lane[s->nr_running];
		const struct wakeup_ask ask = ask_of(l);
		int r = run_lane(s, l);

		if (!r)
			continue;
		close_window(s);
		wakeup_lanes_join(s);
		return wakeup_refused(host, &ask, r, e);
	}
	return 0;
}

void wakeup_lanes_join(struct wakeup_lanes *s)
{
	for (size_t i = 0; i < s->nr_running; i++)
		pthread_join(s->lane[i].thread, NULL);
	s->nr_running = 0;
}

void wakeup_lanes_release(struct wakeup_lanes *s)
{
	close_window(s);
	wakeup_lanes_join(s);
	free(s->lane);
	free(s->seconds);
	*s = (struct wakeup_lanes){};
}

void wakeup_hold_memory(struct wakeup_hold *h)
{
	h->locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
	h->lock_errno = h->locked ? 0 : errno;
}

void wakeup_hold_latency(struct wakeup_hold *h, const struct host *host, int32_t latency_us)
{
	h->latency_fd = openat(host->dev_fd, "cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (h->latency_fd >= 0 &&
	    write(h->latency_fd, &latency_us, sizeof(latency_us)) == sizeof(latency_us))
		return;
	h->latency_errno = errno;
	close_fdp(&h->latency_fd);
	h->latency_fd = -1;
}

void wakeup_hold_release(struct wakeup_hold *h)
{
	if (h->latency_fd > 0)
		close(h->latency_fd);
	if (h->locked)
		munlockall();
	*h = (struct wakeup_hold){ .latency_fd = -1 };
}
