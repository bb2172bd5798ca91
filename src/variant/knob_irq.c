// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/irqline.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/procthread.h"
#include "variant/thread_setting.h"

/*
 * Targets:
 *	"41:eth0-rx-0 affinity"	the CPUs of a line; the names of its handlers tell it from a later
 *				one with its number
 *	"default affinity"	the CPUs of lines that are requested from now on
 *	"PID:STARTTIME:irq/41-eth0-rx-0 policy" and so on: a thread of a line, thread_setting.h
 *
 * An affinity is asked for by writing smp_affinity_list and in force with the next interrupt only,
 * where the kernel moves a line from its own handler (x86).  So it is witnessed by where the
 * interrupts came, not by what the file says.
 */

/* The first of thread_policies[]. */
static const char *const policies[] = { "other", "fifo", "rr", NULL };

struct irq_cfg {
	struct uint_list number;
	char *name;
	char *netdev;
	char *driver;
	char *affinity;
	char *default_affinity;
	int policy;
	uint64_t priority;
	char *cpus;
};

static const struct opt irq_options[] = {
	{ "number", OPT_UINTS, offsetof(struct irq_cfg, number), "",
	  "numbers of interrupts, the first column of /proc/interrupts", 0, INT_MAX },
	{ "name", OPT_STRING, offsetof(struct irq_cfg, name), "",
	  "names of their handlers, a pattern such as eth0-rx-*" },
	{ "netdev", OPT_STRING, offsetof(struct irq_cfg, netdev), "",
	  "the interrupts of a network device, such as $dut" },
	{ "driver", OPT_STRING, offsetof(struct irq_cfg, driver), "",
	  "the interrupts of all devices of a driver, such as virtio_net" },
	{ "affinity", OPT_CPUS, offsetof(struct irq_cfg, affinity), "",
	  "CPUs that may take the interrupts; empty: not touched" },
	{ "default-affinity", OPT_CPUS, offsetof(struct irq_cfg, default_affinity), "",
	  "CPUs that may take interrupts requested from now on; empty: not touched" },
	{ "policy", OPT_ENUM, offsetof(struct irq_cfg, policy), "",
	  "scheduling policy of their threads irq/N-*; empty: not touched", 0, 0, policies },
	{ "priority", OPT_UINT, offsetof(struct irq_cfg, priority), "0",
	  "1 to 99 with fifo and rr, 0 with other", 0, 99 },
	{ "cpus", OPT_CPUS, offsetof(struct irq_cfg, cpus), "",
	  "CPUs their threads may run on; empty: not touched" },
	{},
};

static const char default_target[] = "default affinity";
static const char default_path[] = "irq/default_smp_affinity";

struct target {
	enum { DEFAULT, LINE, THREAD } kind;
	unsigned int number; /* LINE */
	char *actions;	     /* LINE; owned */
};

static void target_release(struct target *t)
{
	free(t->actions);
	*t = (struct target){};
}

static int parse_target(const char *text, struct target *ret, struct err *e)
{
	const char *what = strrchr(text, ' ');
	struct target t = { .kind = THREAD };
	char *end = NULL;

	if (strcmp(text, default_target) == 0) {
		t.kind = DEFAULT;
	} else if (what && strcmp(what, " affinity") == 0) {
		unsigned long n = strtoul(text, &end, 10);

		if (end == text || *end != ':' || n > INT_MAX)
			return err_set(e, -EINVAL, "\"%s\" is not NUMBER:NAME affinity", text);
		t.kind = LINE;
		t.number = (unsigned int)n;
		t.actions = strndup(end + 1, (size_t)(what - end - 1));
		if (!t.actions)
			return err_nomem(e, text);
	}
	*ret = t;
	return 0;
}

/* Parse @text and make sure that a line is still the one it means. */
static int find(const struct host *host, const char *text, struct target *ret, struct err *e)
{
	_cleanup_(target_release) struct target t = {};
	_cleanup_(freep) char *now = NULL;
	int r = parse_target(text, &t, e);

	if (r >= 0 && t.kind == LINE)
		r = irqline_actions(host, t.number, &now, e);
	if (r < 0)
		return r;
	if (t.kind == LINE && !irqline_same_actions(t.actions, now))
		return err_set(e, -ENODEV, "interrupt %u is not that of %s any more but of %s",
			       t.number, t.actions[0] ? t.actions : "nobody",
			       now[0] ? now : "nobody");
	*ret = t;
	t = (struct target){};
	return 0;
}

static void line_path(unsigned int number, const char *file, char out[static 64])
{
	snprintf(out, 64, "irq/%u/%s", number, file);
}

static int read_default(const struct host *host, char **ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	_cleanup_(buf_release) struct buf list = {};
	_cleanup_(freep) char *mask = NULL;
	int r = kfile_read_line(host->proc_fd, default_path, &mask, e);

	if (r >= 0)
		r = cpuset_parse_mask(mask, &set, e);
	if (r < 0)
		return r;
	cpuset_format(&set, &list);
	*ret = buf_take(&list);
	return *ret ? 0 : err_nomem(e, default_path);
}

static int irq_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	_cleanup_(target_release) struct target t = {};
	char path[64];
	int r = find(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.kind == THREAD)
		return thread_read(host, target, ret, e);
	if (t.kind == DEFAULT)
		return read_default(host, ret, e);
	line_path(t.number, "smp_affinity_list", path);
	return kfile_read_line(host->proc_fd, path, ret, e);
}

static int write_default(const struct host *host, const char *value, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	_cleanup_(buf_release) struct buf mask = {};
	int r = cpuset_parse(value, &set, e);

	if (r < 0)
		return r;
	if (cpuset_format_mask(&set, &mask) < 0)
		return err_nomem(e, default_path);
	return kfile_write(host->proc_fd, default_path, buf_str(&mask), e);
}

/* kernel/irq/proc.c, write_irq_affinity(), and what chips answer; -EIO before Linux 6.1. */
static int explain(int r, const char *value, struct err *e)
{
	const char *why = NULL;

	if (r == -EIO || r == -EPERM)
		why = "the kernel does not let it be moved: it manages the queues of this device "
		      "itself (see isolcpus=managed_irq, or have fewer queues: ethtool -L), or the "
		      "interrupt is of one CPU alone";
	else if (r == -EINVAL || r == -EOVERFLOW)
		why = "none of these CPUs is online, or the interrupt's chip cannot reach them";
	else if (r == -ENOSPC)
		why = "no interrupt vector is left on these CPUs: free some, or name more CPUs";
	else if (r == -EBUSY)
		why = "it is still on its way to other CPUs, which ends with the next interrupt";
	return why ? err_set(e, r, "CPUs %s: %s", value, why) : r;
}

static int irq_write(const struct host *host, const char *target, const char *value, struct err *e)
{
	_cleanup_(target_release) struct target t = {};
	char path[64];
	int r = find(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.kind == THREAD)
		return thread_write(host, target, value, e);
	if (t.kind == DEFAULT)
		return write_default(host, value, e);
	line_path(t.number, "smp_affinity_list", path);
	return explain(kfile_write(host->proc_fd, path, value, e), value, e);
}

/* Which CPU the next column of per_cpu_count is of: the possible ones in order. */
static int possible(const struct host *host, struct cpuset *ret, struct err *e)
{
	_cleanup_(freep) char *line = NULL;
	int r = kfile_read_line(host->sys_fd, "devices/system/cpu/possible", &line, e);

	return r < 0 ? r : cpuset_parse(line, ret, e);
}

/* Interrupts so far on CPUs of @wanted, and on others. */
static int count(const struct host *host, unsigned int number, const struct cpuset *wanted,
		 uint64_t ret[static 2], struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset cpus = {};
	_cleanup_(freep) char *line = NULL;
	uint64_t on[2] = {};
	char path[64], *p, *end;
	size_t i = 0;
	int r;

	snprintf(path, sizeof(path), "kernel/irq/%u/per_cpu_count", number);
	r = kfile_read_line(host->sys_fd, path, &line, e);
	if (r >= 0)
		r = possible(host, &cpus, e);
	if (r < 0)
		return r;
	for (p = line; *p; p = *end ? end + 1 : end, i++) {
		uint64_t n = strtoull(p, &end, 10);

		if (end == p || (*end && *end != ',') || i == cpus.nr)
			return err_set(e, -EBADMSG, "%s is not understood: \"%.60s\"", path, line);
		on[!cpuset_has(wanted, cpus.cpus[i])] += n;
	}
	ret[0] = on[0];
	ret[1] = on[1];
	return 0;
}

/*
 * Interrupts come on the CPUs that were asked for, and not on others.  The first one after the
 * change may still come on the old CPU, and one more that was under way.
 */
#define STRAY 2

static int witness_line(const struct host *host, const struct target *t, struct witness *ret,
			struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset wanted = {};
	_cleanup_(freep) char *list = NULL, *effective = NULL;
	struct witness w = { .min_effect = 1, .max_against = STRAY, .min_demand = STRAY + 1 };
	struct err ignored = {};
	uint64_t on[2] = {};
	char path[64];
	int r;

	line_path(t->number, "smp_affinity_list", path);
	r = kfile_read_line(host->proc_fd, path, &list, e);
	if (r >= 0)
		r = cpuset_parse(list, &wanted, e);
	if (r >= 0)
		r = count(host, t->number, &wanted, on, e);
	if (r == -ENOENT) /* no such counters before Linux 4.9 */
		return err_set(e, -ENOENT, "nothing counts interrupt %u per CPU", t->number);
	if (r < 0)
		return r;
	line_path(t->number, "effective_affinity_list", path);
	kfile_read_line(host->proc_fd, path, &effective, &ignored);
	snprintf(w.what, sizeof(w.what), "interrupts %u on CPUs %.20s%s%.20s%s", t->number, list,
		 effective ? " (effective: " : "", effective ? effective : "",
		 effective ? ")" : "");
	snprintf(w.of, sizeof(w.of), "interrupts %u", t->number);
	snprintf(w.against_of, sizeof(w.against_of), "interrupts %u on other CPUs", t->number);
	w.effect = on[0];
	w.against = on[1];
	w.demand = on[0] + on[1];
	w.remedy = "something else moves it (irqbalance?), or its chip cannot";
	*ret = w;
	return 0;
}

static int irq_witness(const struct host *host, const char *target, struct witness *ret,
		       struct err *e)
{
	_cleanup_(target_release) struct target t = {};
	int r = find(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.kind == THREAD)
		return thread_witness(host, target, ret, e);
	if (t.kind == DEFAULT)
		return err_set(e, -ENOENT, "nothing counts it");
	return witness_line(host, &t, ret, e);
}

static bool irq_same_target(const char *a, const char *b)
{
	_cleanup_(target_release) struct target x = {}, y = {};
	struct err ignored = {};

	if (parse_target(a, &x, &ignored) < 0 || parse_target(b, &y, &ignored) < 0 ||
	    x.kind != y.kind)
		return false;
	if (x.kind == THREAD)
		return thread_same_target(a, b);
	return x.kind == DEFAULT ||
	       (x.number == y.number && irqline_same_actions(x.actions, y.actions));
}

static void irq_describe(const char *target, struct buf *out)
{
	_cleanup_(target_release) struct target t = {};
	struct err ignored = {};

	if (parse_target(target, &t, &ignored) < 0)
		buf_puts(out, target);
	else if (t.kind == THREAD)
		thread_describe(target, out);
	else if (t.kind == DEFAULT)
		buf_puts(out, "affinity of interrupts to come");
	else
		buf_printf(out, "affinity of interrupt %u (%s)", t.number, t.actions);
}

/* What was asked for, and what of it is there. */
struct selection {
	struct irqlines all;
	struct irqset lines;
};

static void selection_release(struct selection *s)
{
	irqlines_release(&s->all);
	irqset_release(&s->lines);
}

static bool has_number(const struct irq_cfg *cfg, unsigned int number)
{
	for (size_t i = 0; i < cfg->number.nr; i++)
		if (cfg->number.v[i] == number)
			return true;
	return cfg->number.nr == 0;
}

/* For the message: the names that are there, the nearest first. */
static int nothing_matches(const struct irqlines *all, const struct irq_cfg *cfg, struct err *e)
{
	_cleanup_(buf_release) struct buf asked = {}, here = {};
	const char *words[129] = {}, *near = NULL;

	for (size_t i = 0; i < all->nr && i < ARRAY_SIZE(words) - 1; i++)
		words[i] = all->v[i].actions;
	if (cfg->number.nr)
		buf_printf(&asked, " of number %" PRIu64, cfg->number.v[0]);
	if (cfg->number.nr > 1)
		buf_puts(&asked, ", ...");
	if (*cfg->name) {
		buf_printf(&asked, " called \"%s\"", cfg->name);
		near = text_nearest(cfg->name, words);
	}
	if (*cfg->netdev)
		buf_printf(&asked, " of %s", cfg->netdev);
	if (*cfg->driver)
		buf_printf(&asked, " of driver %s", cfg->driver);
	irqlines_put(all, 16, &here);
	return err_set(e, -ENOENT, "there is no interrupt%s; %s%s%shere are: %s", buf_str(&asked),
		       near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "",
		       buf_str(&here));
}

/* Every condition that is given must hold. */
static int select_lines(const struct host *host, const struct irq_cfg *cfg, struct selection *ret,
			struct err *e)
{
	_cleanup_(irqset_release) struct irqset netdev = {}, driver = {};
	_cleanup_(selection_release) struct selection s = {};
	int r = irqlines_list(host, &s.all, e);

	if (r >= 0 && *cfg->netdev)
		r = irqset_of_netdev(host, &s.all, cfg->netdev, &netdev, e);
	if (r >= 0 && *cfg->driver)
		r = irqset_of_driver(host, &s.all, cfg->driver, &driver, e);
	for (size_t i = 0; i < s.all.nr && r >= 0; i++) {
		const struct irqline *l = &s.all.v[i];

		if (has_number(cfg, l->number) &&
		    (!*cfg->name || irqline_matches(l->actions, cfg->name)) &&
		    (!*cfg->netdev || irqset_has(&netdev, l->number)) &&
		    (!*cfg->driver || irqset_has(&driver, l->number)))
			r = irqset_add(&s.lines, l->number, e);
	}
	if (r < 0)
		return r;
	if (s.lines.nr == 0)
		return nothing_matches(&s.all, cfg, e);
	s.lines.note = netdev.note ? take_ptr(netdev.note) : take_ptr(driver.note);
	*ret = s;
	s = (struct selection){};
	return 0;
}

/* Newer kernels show by the mode of the file that a line cannot be moved. */
static int check_movable(const struct host *host, const struct irqline *l, struct err *e)
{
	struct stat st;
	char path[64];

	line_path(l->number, "smp_affinity_list", path);
	if (fstatat(host->proc_fd, path, &st, 0) < 0 || st.st_mode & 0200)
		return 0;
	return err_set(e, -EPERM,
		       "interrupt %u (%s) cannot be moved, /proc/%s is read-only: the kernel "
		       "manages the queues of this device itself, or the interrupt is of one CPU "
		       "alone",
		       l->number, l->actions, path);
}

static int add_affinities(const struct host *host, const struct selection *s, const char *cpus,
			  struct knob_settings *l, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < s->lines.nr && r >= 0; i++) {
		const struct irqline *line = irqlines_find(&s->all, s->lines.v[i]);
		_cleanup_(buf_release) struct buf target = {};

		buf_printf(&target, "%u:%s affinity", line->number, line->actions);
		r = target.failed ? err_nomem(e, "interrupts") : check_movable(host, line, e);
		if (r >= 0)
			r = knob_settings_add(l, buf_str(&target), cpus, e);
	}
	return r;
}

/* "irq/41-eth0-rx-0", and "irq/41-s-..." where a handler has a second thread */
static bool is_thread_of(const struct procthread *t, const struct irqset *lines)
{
	char *end = NULL;
	unsigned long n;

	if (strncmp(t->comm, "irq/", 4) != 0)
		return false;
	n = strtoul(t->comm + 4, &end, 10);
	return end != t->comm + 4 && *end == '-' && n <= INT_MAX &&
	       irqset_has(lines, (unsigned int)n);
}

static int no_threads(const struct selection *s, struct err *e)
{
	const struct irqline *first = s->lines.nr ? irqlines_find(&s->all, s->lines.v[0]) : NULL;

	if (!first)
		return err_set(e, -ENOENT, "there is no interrupt");
	return err_set(e, -ENOENT,
		       "interrupt %u (%s)%s has no thread irq/%u-*: its handler runs in the "
		       "interrupt itself; a kernel with PREEMPT_RT, or one booted with threadirqs, "
		       "gives it one",
		       first->number, first->actions, s->lines.nr > 1 ? " and the others" : "",
		       first->number);
}

static int add_threads(const struct host *host, const struct selection *s,
		       const struct thread_values *values, struct knob_settings *l, struct err *e)
{
	_cleanup_(procthreads_release) struct procthreads threads = {};
	int r = thread_usable(host, e);
	size_t before = l->nr;

	if (r >= 0)
		r = procthreads_list(host->proc_fd, false, &threads, e);
	for (size_t i = 0; i < threads.nr && r >= 0; i++)
		if (is_thread_of(&threads.v[i], &s->lines))
			r = thread_add_settings(&threads.v[i], values, l, e);
	if (r < 0)
		return r;
	return l->nr == before ? no_threads(s, e) : 0;
}

static bool is_given(const char *cpus)
{
	return cpus && *cpus;
}

static int check_options(const struct irq_cfg *cfg, bool threads, struct err *e)
{
	bool lines = cfg->number.nr || *cfg->name || *cfg->netdev || *cfg->driver;

	/* An empty list is given and touches nothing: a variant of it alone would be its baseline.
	 */
	if (!is_given(cfg->affinity) && !is_given(cfg->default_affinity) && !threads)
		return err_set(e, -EINVAL,
			       "none of affinity, policy, cpus and default-affinity is given");
	if (!lines && (cfg->affinity || threads))
		return err_set(e, -EINVAL,
			       "which interrupts? number, name, netdev or driver is needed");
	if (lines && !cfg->affinity && !threads)
		return err_set(e, -EINVAL,
			       "default-affinity is of no interrupt in particular: "
			       "number, name, netdev and driver do not go with it");
	if (cfg->affinity && cfg->cpus && !cpuset_same(cfg->affinity, cfg->cpus))
		return err_set(e, -EINVAL,
			       "affinity \"%s\" and cpus \"%s\": the kernel moves an interrupt's "
			       "thread to the interrupt's CPUs with the first interrupt after its "
			       "affinity was set; give the one or the other",
			       cfg->affinity, cfg->cpus);
	return 0;
}

static int resolve_lines(const struct host *host, const struct irq_cfg *cfg, const char *affinity,
			 const struct thread_values *values, struct knob_settings *l, struct err *e)
{
	_cleanup_(selection_release) struct selection s = {};
	int r = select_lines(host, cfg, &s, e);

	if (r >= 0 && affinity)
		r = add_affinities(host, &s, affinity, l, e);
	if (r >= 0 && (values->policy[0] || values->cpus))
		r = add_threads(host, &s, values, l, e);
	if (r < 0)
		return r;
	l->note = take_ptr(s.lines.note);
	return 0;
}

static int resolve_cfg(const struct host *host, const struct irq_cfg *cfg, bool has_policy,
		       struct knob_settings *ret, struct err *e)
{
	const struct thread_wish wish = { .has_policy = has_policy,
					  .policy = cfg->policy,
					  .priority = cfg->priority,
					  .cpus = cfg->cpus };
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	_cleanup_(thread_values_release) struct thread_values values = {};
	_cleanup_(freep) char *affinity = NULL, *all_new = NULL;
	int r = check_options(cfg, has_policy || is_given(cfg->cpus), e);

	if (r >= 0)
		r = thread_values_of(host, &wish, &values, e);
	if (r >= 0)
		r = knob_cpus(host, "affinity", cfg->affinity, &affinity, e);
	if (r >= 0)
		r = knob_cpus(host, "default-affinity", cfg->default_affinity, &all_new, e);
	if (r >= 0 && all_new)
		r = knob_settings_add(&l, default_target, all_new, e);
	if (r >= 0 && (affinity || values.policy[0] || values.cpus))
		r = resolve_lines(host, cfg, affinity, &values, &l, e);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

static int irq_resolve(const struct host *host, const struct instance *inst,
		       struct knob_settings *ret, struct err *e)
{
	struct irq_cfg cfg = {};
	int r = instance_parse(inst, irq_options, &cfg, e);

	if (r < 0)
		return r;
	r = resolve_cfg(host, &cfg, instance_value(inst, "policy"), ret, e);
	opt_release(irq_options, &cfg);
	return r;
}

/* Lines come and go, and their threads with them. */
static bool irq_appears(const struct host *host, const struct instance *inst, uint64_t *ret_stamp)
{
	uint64_t last = procthread_last(host->proc_fd), lines = irqlines_stamp(host->proc_fd);

	(void)inst;
	*ret_stamp = last && lines ? last + (lines << 24 | lines >> 40) : 0;
	return true;
}

static int irq_usable(const struct host *host, struct err *why)
{
	if (faccessat(host->proc_fd, "irq", F_OK, 0) == 0)
		return 0;
	return err_set(why, -EOPNOTSUPP,
		       "there is no /proc/irq: this kernel is of one CPU, or /proc is another "
		       "machine's");
}

const struct knob_ops knob_irq = {
	.plugin = { .name = "irq",
		    .help = "CPUs of interrupts, policy and CPUs of their threads",
		    .options = irq_options },
	.usable = irq_usable,
	.resolve = irq_resolve,
	.read = irq_read,
	.write = irq_write,
	.witness = irq_witness,
	.same = thread_same,
	.appears = irq_appears,
	.same_target = irq_same_target,
	.describe = irq_describe,
};
