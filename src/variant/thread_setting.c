// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/thread_setting.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"
#include "variant/knob.h"
#include "variant/procthread.h"

const char *const thread_policies[] = { "other", "fifo", "rr", "batch", "idle", "deadline", NULL };

/* uapi/linux/sched.h.  "ext" is only read and set back: who is in it, a BPF scheduler decides. */
static const struct {
	const char *name;
	int number;
} policies[] = { { "other", SCHED_OTHER },
		 { "fifo", SCHED_FIFO },
		 { "rr", SCHED_RR },
		 { "batch", SCHED_BATCH },
		 { "idle", SCHED_IDLE },
		 { "deadline", 6 /* SCHED_DEADLINE */ },
		 { "ext", 7 } };

#define DEADLINE 5 /* index */

/* include/uapi/linux/sched/types.h, its first version: all that SCHED_DEADLINE needs */
struct attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* SCHED_FLAG_RESET_ON_FORK, _RECLAIM, _DL_OVERRUN: those that go with a policy */
#define ATTR_FLAGS 0x7

enum what { POLICY, NICE, CPUS };

static const char *const whats[] = { " policy", " nice", " cpus" };

struct target {
	int tid;
	uint64_t start;
	enum what what;
	char name[64];
};

struct sched {
	size_t policy; /* index */
	int priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
	uint64_t flags; /* DEADLINE: RECLAIM and DL_OVERRUN */
	bool has_nice;
	int nice;
};

static bool is_rt(const char *policy)
{
	return strcmp(policy, "fifo") == 0 || strcmp(policy, "rr") == 0;
}

static bool parse_what(const char *text, enum what *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(whats); i++) {
		if (strcmp(text, whats[i]) != 0)
			continue;
		*ret = (enum what)i;
		return true;
	}
	return false;
}

static int parse_target(const char *text, struct target *ret, struct err *e)
{
	struct target t = {};
	const char *what = strrchr(text, ' ');
	char *end = NULL, *name = NULL;

	t.tid = (int)strtol(text, &end, 10);
	if (end && *end == ':')
		t.start = strtoull(end + 1, &name, 10);
	if (t.tid <= 0 || !name || *name++ != ':' || !what || what < name ||
	    !parse_what(what, &t.what))
		return err_set(e, -EINVAL, "thread target \"%s\" is not PID:STARTTIME:NAME policy",
			       text);
	snprintf(t.name, sizeof(t.name), "%.*s", (int)(what - name), name);
	*ret = t;
	return 0;
}

/* Parse @text and make sure that the thread is still the one it means. */
static int find(const struct host *host, const char *text, struct target *ret, struct err *e)
{
	struct procthread now = {};
	struct target t = {};
	int r = parse_target(text, &t, e);

	if (r >= 0)
		r = procthread_read(host->proc_fd, t.tid, &now, e);
	if (r < 0)
		return r;
	if (now.start != t.start)
		return err_set(e, -ESRCH, "thread %d (%s) has ended; %d is another one (%s) now",
			       t.tid, t.name, t.tid, now.comm);
	*ret = t;
	return 0;
}

/* Cut @text at its colons. Return: how many fields, 0 when there are too many. */
static size_t split(char *text, char *fields[static 6])
{
	size_t nr = 0;

	for (char *p = text; p; nr++) {
		if (nr == 6)
			return 0;
		fields[nr] = p;
		p = strchr(p, ':');
		if (p)
			*p++ = '\0';
	}
	return nr;
}

static bool parse_nice(const char *text, int *ret)
{
	int64_t n = 0;

	if (text_i64(text, &n) < 0 || n < -20 || n > 19)
		return false;
	*ret = (int)n;
	return true;
}

static bool parse_deadline(char *const *f, size_t nr, struct sched *s)
{
	return nr >= 4 && text_u64(f[1], &s->runtime_ns) == 0 &&
	       text_u64(f[2], &s->deadline_ns) == 0 && text_u64(f[3], &s->period_ns) == 0 &&
	       (nr < 5 || text_u64(f[4], &s->flags) == 0);
}

static bool parse_sched(const char *text, struct sched *ret)
{
	_cleanup_(freep) char *copy = strdup(text);
	struct sched s = {};
	char *f[6] = {};
	size_t nr = copy ? split(copy, f) : 0, nice;
	uint64_t p = 0;

	if (nr < 2)
		return false;
	while (s.policy < ARRAY_SIZE(policies) && strcmp(policies[s.policy].name, f[0]) != 0)
		s.policy++;
	if (s.policy == ARRAY_SIZE(policies))
		return false;
	nice = s.policy == DEADLINE ? 5 : 2;
	if (nr > nice + 1)
		return false;
	if (s.policy == DEADLINE ? !parse_deadline(f, nr, &s) : text_u64(f[1], &p) < 0 || p > 99)
		return false;
	s.has_nice = nr > nice;
	if (s.has_nice && !parse_nice(f[nice], &s.nice))
		return false;
	s.priority = (int)p;
	*ret = s;
	return true;
}

static int gone_or(struct err *e, const struct target *t, const char *what)
{
	if (errno == ESRCH)
		return err_set(e, -ESRCH, "thread %d (%s) has ended", t->tid, t->name);
	return err_sys(e, "%s of thread %d (%s)", what, t->tid, t->name);
}

static int put_deadline(const struct target *t, struct buf *out, struct err *e)
{
	struct attr attr = { .size = sizeof(attr) };

	if (syscall(SYS_sched_getattr, t->tid, &attr, sizeof(attr), 0) < 0)
		return gone_or(e, t, "deadline");
	buf_printf(out, "deadline:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64, attr.runtime_ns,
		   attr.deadline_ns, attr.period_ns, attr.flags & ATTR_FLAGS & ~1UL);
	return 0;
}

static int read_policy(const struct target *t, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};
	struct sched_param param = {};
	size_t i = 0;
	int policy = sched_getscheduler(t->tid), r = 0;

	if (policy < 0 || sched_getparam(t->tid, &param) < 0)
		return gone_or(e, t, "policy");
	policy &= ~SCHED_RESET_ON_FORK;
	while (i < ARRAY_SIZE(policies) && policies[i].number != policy)
		i++;
	if (i == ARRAY_SIZE(policies))
		return err_set(e, -ENOTSUP,
			       "thread %d (%s) has scheduling policy %d, which is not known here "
			       "and so could not be set back",
			       t->tid, t->name, policy);
	if (i == DEADLINE)
		r = put_deadline(t, &b, e);
	else
		buf_printf(&b, "%s:%d", policies[i].name, param.sched_priority);
	if (r < 0)
		return r;
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, t->name);
}

static int read_nice(const struct target *t, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)t->tid);
	if (nice == -1 && errno)
		return gone_or(e, t, "nice value");
	buf_printf(&b, "%d", nice);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, t->name);
}

static void free_cpusetp(cpu_set_t **p)
{
	CPU_FREE(*p);
}

static int read_cpus(const struct target *t, char **ret, struct err *e)
{
	_cleanup_(free_cpusetp) cpu_set_t *mask = CPU_ALLOC(CPUSET_MAX);
	_cleanup_(cpuset_release) struct cpuset set = {};
	_cleanup_(buf_release) struct buf b = {};
	size_t size = CPU_ALLOC_SIZE(CPUSET_MAX);

	set.cpus = calloc(CPUSET_MAX, sizeof(*set.cpus));
	if (!mask || !set.cpus)
		return err_nomem(e, t->name);
	CPU_ZERO_S(size, mask);
	if (sched_getaffinity(t->tid, size, mask) < 0)
		return gone_or(e, t, "CPUs");
	for (unsigned int i = 0; i < CPUSET_MAX; i++)
		if (CPU_ISSET_S(i, size, mask))
			set.cpus[set.nr++] = i;
	cpuset_format(&set, &b);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, t->name);
}

int thread_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct target t = {};
	int r = find(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.what == NICE)
		return read_nice(&t, ret, e);
	return t.what == CPUS ? read_cpus(&t, ret, e) : read_policy(&t, ret, e);
}

/* Why the kernel said no, where its word alone does not tell. */
static int refused(const struct target *t, const char *value, struct err *e)
{
	int code = -errno;
	const char *why = NULL;

	if (code == -EPERM)
		why = strncmp(value, "deadline:", 9) == 0
			      ? "not permitted: needs CAP_SYS_NICE, and for deadline a thread that "
				"may run on all CPUs of its root domain"
			      : "not permitted: needs CAP_SYS_NICE, and with real-time group "
				"scheduling a control group that has real-time run time";
	else if (code == -EBUSY)
		why = "there is not that much bandwidth left for deadline threads: a smaller "
		      "runtime, a longer period";
	else if (code == -EINVAL && strncmp(value, "deadline:", 9) == 0)
		why = "the kernel wants 1us <= runtime <= deadline <= period, and the period within "
		      "/proc/sys/kernel/sched_deadline_period_{min,max}_us";
	if (!why)
		return gone_or(e, t, "policy");
	return err_set(e, code, "policy %s of thread %d (%s): %s", value, t->tid, t->name, why);
}

static int set_sched(const struct target *t, const struct sched *s, int reset_on_fork)
{
	const struct sched_param param = { .sched_priority = s->priority };
	struct attr attr = { .size = sizeof(attr),
			     .policy = 6,
			     .flags = s->flags | (reset_on_fork ? 1 : 0),
			     .runtime_ns = s->runtime_ns,
			     .deadline_ns = s->deadline_ns,
			     .period_ns = s->period_ns };

	if (s->policy == DEADLINE)
		return (int)syscall(SYS_sched_setattr, t->tid, &attr, 0);
	return sched_setscheduler(t->tid, policies[s->policy].number | reset_on_fork, &param);
}

static int write_policy(const struct target *t, const char *value, struct err *e)
{
	struct sched s = {};
	int before = sched_getscheduler(t->tid);

	if (before < 0)
		return gone_or(e, t, "policy");
	if (!parse_sched(value, &s))
		return err_set(e, -EINVAL, "\"%s\" is not a policy such as fifo:50 or other:0",
			       value);
	if (set_sched(t, &s, before & SCHED_RESET_ON_FORK) < 0)
		return refused(t, value, e);
	errno = 0;
	if (s.has_nice && getpriority(PRIO_PROCESS, (id_t)t->tid) != s.nice &&
	    setpriority(PRIO_PROCESS, (id_t)t->tid, s.nice) < 0)
		return gone_or(e, t, "nice value");
	return 0;
}

static int write_nice(const struct target *t, const char *value, struct err *e)
{
	int nice = 0;

	if (!parse_nice(value, &nice))
		return err_set(e, -EINVAL, "\"%s\" is not a nice value of -20 to 19", value);
	if (setpriority(PRIO_PROCESS, (id_t)t->tid, nice) < 0)
		return gone_or(e, t, "nice value");
	return 0;
}

static int bound(const char *name, int tid, const char *cpus, struct err *e)
{
	return err_set(e, -EINVAL,
		       "thread %d (%s) cannot be moved to CPUs %s: the kernel has bound it to its "
		       "CPU, or none of them is online",
		       tid, name, cpus);
}

static int write_cpus(const struct target *t, const char *value, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	int r = cpuset_parse(value, &set, e);

	if (r < 0)
		return r;
	r = cpuset_pin(t->tid, &set, e);
	return r == -EINVAL ? bound(t->name, t->tid, value, e) : r;
}

int thread_write(const struct host *host, const char *target, const char *value, struct err *e)
{
	struct target t = {};
	int r = find(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.what == NICE)
		return write_nice(&t, value, e);
	return t.what == CPUS ? write_cpus(&t, value, e) : write_policy(&t, value, e);
}

bool thread_same(const char *a, const char *b)
{
	struct sched x = {}, y = {};

	if (strcmp(a, b) == 0)
		return true;
	if (!parse_sched(a, &x) || !parse_sched(b, &y))
		return cpuset_same(a, b);
	return x.policy == y.policy && x.priority == y.priority && x.runtime_ns == y.runtime_ns &&
	       x.deadline_ns == y.deadline_ns && x.period_ns == y.period_ns &&
	       (!x.has_nice || !y.has_nice || (x.nice == y.nice && x.flags == y.flags));
}

bool thread_same_target(const char *a, const char *b)
{
	struct target x = {}, y = {};
	struct err ignored = {};

	return parse_target(a, &x, &ignored) >= 0 && parse_target(b, &y, &ignored) >= 0 &&
	       x.tid == y.tid && x.start == y.start && x.what == y.what;
}

void thread_describe(const char *target, struct buf *out)
{
	static const char *const nouns[] = { "policy", "nice value", "CPUs" };
	struct target t = {};
	struct err ignored = {};

	if (parse_target(target, &t, &ignored) < 0)
		buf_puts(out, target);
	else
		buf_printf(out, "%s of thread %s (tid %d)", nouns[t.what], t.name, t.tid);
}

/* Does it run elsewhere than it may?  A number that grows only if so and if it runs. */
static void witness_place(const struct host *host, const struct target *t, struct witness *w)
{
	_cleanup_(cpuset_release) struct cpuset may = {};
	_cleanup_(freep) char *cpus = NULL;
	struct err ignored = {};
	unsigned int cpu = 0;

	if (read_cpus(t, &cpus, &ignored) < 0 || cpuset_parse(cpus, &may, &ignored) < 0 ||
	    procthread_last_cpu(host->proc_fd, t->tid, &cpu, &ignored) < 0)
		return;
	snprintf(w->against_of, sizeof(w->against_of), "those outside of its CPUs");
	/* one that has not run since it was bound is still where it ran before */
	w->against = cpuset_has(&may, cpu) ? 0 : w->effect + 1;
	w->max_against = 0;
}

/* A thread that never ran cannot show an effect, but nobody knows whether it was asked to run. */
int thread_witness(const struct host *host, const char *target, struct witness *ret, struct err *e)
{
	struct witness w = { .min_effect = 1, .min_demand = WITNESS_DEMAND_UNKNOWN };
	struct target t = {};
	int r = find(host, target, &t, e);

	if (r >= 0)
		r = procthread_switches(host->proc_fd, t.tid, &w.effect, e);
	if (r < 0)
		return r;
	snprintf(w.what, sizeof(w.what), "context switches of %s", t.name);
	if (t.what == CPUS)
		witness_place(host, &t, &w);
	*ret = w;
	return 0;
}

static int check_policy(const struct thread_wish *w, struct err *e)
{
	const char *policy = w->has_policy ? thread_policies[w->policy] : "";

	if (is_rt(policy) && w->priority == 0)
		return err_set(e, -EINVAL, "policy %s needs a priority of 1 to 99", policy);
	if (w->priority && !is_rt(policy))
		return err_set(e, -EINVAL, "priority %" PRIu64 " goes with policy fifo or rr",
			       w->priority);
	if ((w->runtime_ns || w->deadline_ns || w->period_ns) && strcmp(policy, "deadline") != 0)
		return err_set(e, -EINVAL, "runtime, deadline and period go with policy deadline");
	if (strcmp(policy, "deadline") == 0 && (!w->runtime_ns || !w->deadline_ns))
		return err_set(e, -EINVAL, "policy deadline needs runtime and deadline");
	return 0;
}

static void put_policy(const struct thread_wish *w, char *out, size_t size)
{
	const char *policy = thread_policies[w->policy];

	if (!w->has_policy)
		out[0] = '\0';
	else if (strcmp(policy, "deadline") == 0)
		snprintf(out, size, "deadline:%" PRIu64 ":%" PRIu64 ":%" PRIu64, w->runtime_ns,
			 w->deadline_ns, w->period_ns ? w->period_ns : w->deadline_ns);
	else
		snprintf(out, size, "%s:%" PRIu64, policy, w->priority);
}

int thread_values_of(const struct host *host, const struct thread_wish *wish,
		     struct thread_values *ret, struct err *e)
{
	struct thread_values v = {};
	int nice = 0, r = check_policy(wish, e);

	if (r < 0)
		return r;
	put_policy(wish, v.policy, sizeof(v.policy));
	if (wish->nice && *wish->nice) {
		if (!parse_nice(wish->nice, &nice))
			return err_set(e, -EINVAL, "nice \"%s\": a number of -20 to 19 is needed",
				       wish->nice);
		snprintf(v.nice, sizeof(v.nice), "%d", nice);
	}
	r = knob_cpus(host, "cpus", wish->cpus, &v.cpus, e);
	if (r < 0)
		return r;
	*ret = v;
	return 0;
}

void thread_values_release(struct thread_values *v)
{
	free(v->cpus);
	*v = (struct thread_values){};
}

static int add_one(const struct procthread *t, enum what what, const char *value,
		   struct knob_settings *l, struct err *e)
{
	char target[128];

	snprintf(target, sizeof(target), "%d:%" PRIu64 ":%s%s", t->tid, t->start, t->comm,
		 whats[what]);
	return knob_settings_add(l, target, value, e);
}

/* The kernel has bound it, and elsewhere. */
static bool is_bound_elsewhere(const struct procthread *t, const char *cpus)
{
	const struct target target = { .tid = t->tid };
	_cleanup_(freep) char *now = NULL;
	struct err ignored = {};

	return t->bound && (read_cpus(&target, &now, &ignored) < 0 || !cpuset_same(now, cpus));
}

int thread_add_settings(const struct procthread *t, const struct thread_values *v,
			struct knob_settings *l, struct err *e)
{
	int r = 0;

	if (v->cpus && is_bound_elsewhere(t, v->cpus))
		return err_set(e, -EINVAL,
			       "thread %d (%s) cannot be moved to CPUs %s: the kernel has bound it "
			       "to its CPU; leave it out, or change what it works for",
			       t->tid, t->comm, v->cpus);
	if (v->policy[0])
		r = add_one(t, POLICY, v->policy, l, e);
	if (r >= 0 && v->nice[0])
		r = add_one(t, NICE, v->nice, l, e);
	if (r >= 0 && v->cpus)
		r = add_one(t, CPUS, v->cpus, l, e);
	return r;
}

/* A thread's number means nothing in another PID namespace than the one of this /proc. */
static int check_pid_namespace(const struct host *host, struct err *why)
{
	char link[16];
	ssize_t n = readlinkat(host->proc_fd, "self", link, sizeof(link) - 1);

	if (n <= 0)
		return 0;
	link[n] = '\0';
	if (strtol(link, NULL, 10) == getpid())
		return 0;
	return err_set(why, -EOPNOTSUPP,
		       "this /proc belongs to another PID namespace, where threads have other "
		       "numbers: run outside of the container");
}

int thread_usable(const struct host *host, struct err *why)
{
	int r = check_pid_namespace(host, why);

	return r < 0 ? r : knob_needs_cap(host, CAP_SYS_NICE, "CAP_SYS_NICE", why);
}
