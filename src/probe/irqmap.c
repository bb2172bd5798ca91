// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/irqmap_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"

void *irqmap_grow(void *v, size_t nr, size_t size)
{
	return nr & (nr - 1) ? v : reallocarray(v, nr ? 2 * nr : 1, size);
}

int irqmap_add_string(struct str_list *l, const char *s)
{
	char **v = irqmap_grow(l->v, l->nr, sizeof(*v)), *copy = strdup(s);

	if (v)
		l->v = v;
	if (!v || !copy) {
		free(copy);
		return -ENOMEM;
	}
	l->v[l->nr++] = copy;
	return 0;
}

int irqmap_lack(struct irqmap *m, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = text_vprintf(fmt, ap);
	va_end(ap);
	for (size_t i = 0; text && i < m->lacks.nr; i++)
		if (strcmp(m->lacks.v[i], text) == 0)
			return 0;
	return text ? irqmap_add_string(&m->lacks, text) : -ENOMEM;
}

DIR *irqmap_open_dir(int root_fd, const char *path)
{
	int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	return d;
}

char *irqmap_line_of(int root_fd, const char *path)
{
	struct err ignored = {};
	char *line = NULL;

	if (kfile_read_line(root_fd, path, &line, &ignored) < 0 || *line)
		return line;
	free(line);
	errno = -ignored.code;
	return NULL;
}

int irqmap_mask_to_list(const char *mask, struct buf *out)
{
	size_t digits = 0, at = strlen(mask);
	long first = -1, cpu = 0;
	const char *sep = "";

	for (size_t i = 0; i < at; i++)
		digits += mask[i] != ',';
	if (digits == 0 || strspn(mask, "0123456789abcdefABCDEF,") != at)
		return -EINVAL;
	/* from the lowest digit; one bit beyond the highest ends a range that reaches it */
	for (size_t d = 0; d <= digits; d++) {
		unsigned int bits = 0;

		while (d < digits && mask[--at] == ',')
			;
		if (d < digits)
			bits = (unsigned int)strtoul((char[]){ mask[at], '\0' }, NULL, 16);
		for (int b = 0; b < 4; b++, cpu++) {
			bool on = bits >> b & 1;

			if (on && first < 0)
				first = cpu;
			if (on || first < 0)
				continue;
			buf_printf(out, first == cpu - 1 ? "%s%ld" : "%s%ld-%ld", sep, first,
				   cpu - 1);
			sep = ",";
			first = -1;
		}
	}
	return out->failed ? -ENOMEM : 0;
}

static void line_release(struct irqmap_line *l)
{
	for (size_t i = 0; i < l->nr_threads; i++)
		irqmap_thread_release(&l->threads[i]);
	free(l->threads);
	str_list_release(&l->actions);
	free(l->name);
	free(l->chip);
	free(l->hwirq);
	free(l->trigger);
	free(l->devices);
	free(l->netdevs);
	free(l->affinity);
	free(l->effective);
	free(l->hint);
	*l = (struct irqmap_line){};
}

void irqmap_release(struct irqmap *m)
{
	for (size_t i = 0; i < m->nr_lines; i++)
		line_release(&m->lines[i]);
	for (size_t i = 0; i < m->nr_napis; i++)
		irqmap_thread_release(&m->napis[i].thread);
	free(m->lines);
	free(m->napis);
	str_list_release(&m->lacks);
	*m = (struct irqmap){};
}

static char *line_of(int root_fd, const char *dir, uint32_t irq, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%u/%s", dir, irq, file);
	return irqmap_line_of(root_fd, path);
}

/* The handlers as folders of /proc/irq/N: without /sys/kernel/irq (before Linux 4.9). */
static int read_handlers(int proc_fd, struct irqmap_line *l)
{
	_cleanup_(closedir_dirp) DIR *d = NULL;
	_cleanup_(buf_release) struct buf names = {};
	const struct dirent *entry;
	char path[32];

	snprintf(path, sizeof(path), "irq/%u", l->irq);
	d = irqmap_open_dir(proc_fd, path);
	while (d && (entry = readdir(d))) /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			buf_printf(&names, "%s%s", names.len ? "," : "", entry->d_name);
	if (names.failed)
		return -ENOMEM;
	l->name = strdup(buf_str(&names));
	return l->name ? 0 : -ENOMEM;
}

/* Names of handlers may hold blanks, but a comma parts them ("eth0,usb1", "eth0, usb1"). */
static int split_actions(struct irqmap_line *l)
{
	const char *p = l->name;

	while (*p) {
		_cleanup_(freep) char *one = NULL;
		size_t len = strcspn(p, ",");

		while (*p == ' ' && len)
			p++, len--;
		one = strndup(p, len);
		if (!one || (len && irqmap_add_string(&l->actions, one) < 0))
			return -ENOMEM;
		p += len;
		p += *p == ',';
	}
	return 0;
}

static int read_names(const struct host *host, struct irqmap_line *l)
{
	_cleanup_(freep) char *wakeup = line_of(host->sys_fd, "kernel/irq", l->irq, "wakeup");

	l->chip = line_of(host->sys_fd, "kernel/irq", l->irq, "chip_name");
	l->hwirq = line_of(host->sys_fd, "kernel/irq", l->irq, "hwirq");
	l->trigger = line_of(host->sys_fd, "kernel/irq", l->irq, "type");
	l->wakeup = wakeup ? strcmp(wakeup, "enabled") == 0 : -1;
	l->name = line_of(host->sys_fd, "kernel/irq", l->irq, "actions");
	if (!l->name && read_handlers(host->proc_fd, l) < 0)
		return -ENOMEM;
	return split_actions(l);
}

static int64_t read_unhandled(int proc_fd, uint32_t irq)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err ignored = {};
	char path[32], *end;
	const char *p;
	long long v;

	snprintf(path, sizeof(path), "irq/%u/spurious", irq);
	if (kfile_read(proc_fd, path, &text, &ignored) < 0)
		return -1;
	p = strstr(buf_str(&text), "\nunhandled ");
	if (!p)
		return -1;
	errno = 0;
	v = strtoll(p + strlen("\nunhandled "), &end, 10);
	return errno || v < 0 ? -1 : v;
}

/* The kernel keeps such an interrupt's CPUs itself and refuses to change them; debugfs says so. */
static int read_managed(int sys_fd, uint32_t irq)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err ignored = {};
	char path[48];

	snprintf(path, sizeof(path), "kernel/debug/irq/irqs/%u", irq);
	if (kfile_read(sys_fd, path, &text, &ignored) < 0)
		return -1;
	return strstr(buf_str(&text), "IRQD_AFFINITY_MANAGED") != NULL;
}

static int read_places(const struct host *host, struct irqmap *m, struct irqmap_line *l)
{
	_cleanup_(freep) char *mask = line_of(host->proc_fd, "irq", l->irq, "affinity_hint");
	_cleanup_(buf_release) struct buf hint = {};

	l->affinity = line_of(host->proc_fd, "irq", l->irq, "smp_affinity_list");
	if (!l->affinity && errno == EACCES &&
	    irqmap_lack(m, "/proc/irq/*/smp_affinity_list: %m: where interrupts may fire is not "
			   "known") < 0)
		return -ENOMEM;
	l->effective = line_of(host->proc_fd, "irq", l->irq, "effective_affinity_list");
	if (mask && irqmap_mask_to_list(mask, &hint) == 0 && hint.len)
		l->hint = buf_take(&hint);
	if (hint.failed)
		return -ENOMEM;
	l->unhandled = read_unhandled(host->proc_fd, l->irq);
	l->managed = read_managed(host->sys_fd, l->irq);
	return 0;
}

static int copy_thread(const struct irqmap_thread *from, struct irqmap_thread *ret)
{
	*ret = *from;
	ret->cpus = from->cpus ? strdup(from->cpus) : NULL;
	return from->cpus && !ret->cpus ? -ENOMEM : 0;
}

static int add_threads(const struct irqmap_threads *threads, struct irqmap_line *l)
{
	for (size_t i = 0; i < threads->nr; i++) {
		struct irqmap_thread *v;

		if (!irqmap_serves(threads->v[i].comm, l->irq))
			continue;
		v = irqmap_grow(l->threads, l->nr_threads, sizeof(*v));
		if (!v)
			return -ENOMEM;
		l->threads = v;
		if (copy_thread(&threads->v[i], &v[l->nr_threads]) < 0)
			return -ENOMEM;
		l->nr_threads++;
	}
	return 0;
}

/* What was read of the machine once, and is joined. */
struct sources {
	const struct host *host;
	const struct netdev_napis *napis;
	struct irqmap_owners owners;
	struct irqmap_threads threads;
};

static void sources_release(struct sources *s)
{
	irqmap_owners_release(&s->owners);
	irqmap_threads_release(&s->threads);
}

static int add_line(const struct sources *s, struct irqmap *m, uint32_t irq)
{
	_cleanup_(line_release) struct irqmap_line l = { .irq = irq };
	struct irqmap_line *v = irqmap_grow(m->lines, m->nr_lines, sizeof(*v));

	if (!v)
		return -ENOMEM;
	m->lines = v;
	if (read_names(s->host, &l) < 0 || read_places(s->host, m, &l) < 0 ||
	    irqmap_own(&s->owners, s->napis, &l) < 0 || add_threads(&s->threads, &l) < 0)
		return -ENOMEM;
	m->lines[m->nr_lines++] = l;
	l = (struct irqmap_line){};
	return 0;
}

static int by_irq(const void *a, const void *b)
{
	const struct irqmap_line *x = a, *y = b;

	return (x->irq > y->irq) - (x->irq < y->irq);
}

static int read_lines(const struct sources *s, struct irqmap *m)
{
	_cleanup_(closedir_dirp) DIR *d = irqmap_open_dir(s->host->proc_fd, "irq");
	const struct dirent *entry;
	uint64_t irq;

	if (!d)
		return irqmap_lack(m, "/proc/irq: %m: affinity and owners are not known");
	while ((entry = readdir(d))) /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		if (text_u64(entry->d_name, &irq) == 0 && irq <= UINT32_MAX &&
		    add_line(s, m, (uint32_t)irq) < 0)
			return -ENOMEM;
	if (m->nr_lines)
		qsort(m->lines, m->nr_lines, sizeof(*m->lines), by_irq);
	return 0;
}

static struct irqmap_napi *new_napi(struct irqmap *m)
{
	struct irqmap_napi *v = irqmap_grow(m->napis, m->nr_napis, sizeof(*v));

	if (!v)
		return NULL;
	m->napis = v;
	v = &m->napis[m->nr_napis++];
	*v = (struct irqmap_napi){};
	return v;
}

static const struct irqmap_thread *thread_of(const struct sources *s, const struct netdev_napi *n)
{
	for (size_t i = 0; i < s->threads.nr; i++)
		if (n->has & NAPI_PID && (uint32_t)s->threads.v[i].tid == n->pid)
			return &s->threads.v[i];
	return NULL;
}

static int add_known_napis(const struct sources *s, struct irqmap *m)
{
	for (size_t i = 0; s->napis && i < s->napis->nr; i++) {
		const struct netdev_napi *from = &s->napis->v[i];
		const struct irqmap_netdev *owner = irqmap_netdev_of(&s->owners, from->ifindex);
		const struct irqmap_thread *t = thread_of(s, from);
		struct irqmap_napi *n = new_napi(m);

		if (!n || (t && copy_thread(t, &n->thread) < 0))
			return -ENOMEM;
		n->napi = *from;
		n->by = IRQMAP_NETLINK;
		if (owner)
			snprintf(n->netdev, sizeof(n->netdev), "%s", owner->name);
		/* a thread of another PID namespace, or one that has just ended, is a number alone
		 */
		if (!t && from->has & NAPI_PID)
			n->thread = (struct irqmap_thread){ .tid = (int)from->pid,
							    .policy = -1,
							    .last_cpu = -1 };
	}
	return 0;
}

static bool is_listed(const struct irqmap *m, int tid)
{
	for (size_t i = 0; i < m->nr_napis; i++)
		if (m->napis[i].thread.tid == tid)
			return true;
	return false;
}

/* napi/ threads that netlink did not name: of other namespaces, or there is no netlink. */
static int add_thread_napis(const struct sources *s, struct irqmap *m)
{
	for (size_t i = 0; i < s->threads.nr; i++) {
		const struct irqmap_thread *t = &s->threads.v[i];
		char netdev[IFNAMSIZ];
		struct irqmap_napi *n;
		uint32_t id;

		if (!irqmap_parse_napi(t->comm, netdev, &id) || is_listed(m, t->tid))
			continue;
		n = new_napi(m);
		if (!n || copy_thread(t, &n->thread) < 0)
			return -ENOMEM;
		n->napi.id = id;
		n->by = IRQMAP_GUESS;
		snprintf(n->netdev, sizeof(n->netdev), "%s", netdev);
	}
	return 0;
}

static int by_netdev(const void *a, const void *b)
{
	const struct irqmap_napi *x = a, *y = b;
	int d = strcmp(x->netdev, y->netdev);

	return d ? d : (x->napi.id > y->napi.id) - (x->napi.id < y->napi.id);
}

static int read_napis(const struct sources *s, struct irqmap *m)
{
	if (add_known_napis(s, m) < 0 || add_thread_napis(s, m) < 0)
		return -ENOMEM;
	if (m->nr_napis)
		qsort(m->napis, m->nr_napis, sizeof(*m->napis), by_netdev);
	return 0;
}

int irqmap_read(const struct host *host, const struct netdev_napis *napis, struct irqmap *ret,
		struct err *e)
{
	_cleanup_(irqmap_release) struct irqmap m = {};
	_cleanup_(sources_release) struct sources s = { .host = host, .napis = napis };
	int r = irqmap_threads_read(host->proc_fd, &s.threads, e);

	if (r >= 0)
		r = irqmap_owners_read(host, &m, &s.owners, e);
	if (r < 0)
		return r;
	if (faccessat(host->sys_fd, "kernel/irq", F_OK, 0) < 0 &&
	    irqmap_lack(&m, "/sys/kernel/irq: %m: chip and trigger are not known") < 0)
		return err_nomem(e, "map of interrupts");
	if (read_lines(&s, &m) < 0 || read_napis(&s, &m) < 0)
		return err_nomem(e, "map of interrupts");
	*ret = m;
	m = (struct irqmap){};
	return 0;
}

const struct irqmap_line *irqmap_find(const struct irqmap *m, uint32_t irq)
{
	struct irqmap_line key = { .irq = irq };

	return m->nr_lines ? bsearch(&key, m->lines, m->nr_lines, sizeof(key), by_irq) : NULL;
}

const char *irqmap_policy_name(int policy)
{
	switch (policy) {
	case SCHED_FIFO:
		return "FIFO";
	case SCHED_RR:
		return "RR";
	case SCHED_OTHER:
		return "OTHER";
	case SCHED_BATCH:
		return "BATCH";
	case SCHED_IDLE:
		return "IDLE";
	case 6: /* SCHED_DEADLINE, which glibc lacks */
		return "DEADLINE";
	default:
		return "?";
	}
}

int irqmap_policy(const struct irqmap_thread *t, struct buf *out)
{
	buf_puts(out, irqmap_policy_name(t->policy));
	if (t->policy == SCHED_FIFO || t->policy == SCHED_RR)
		return buf_printf(out, ":%d", t->rt_priority);
	if (t->policy == SCHED_OTHER || t->policy == SCHED_BATCH)
		return buf_printf(out, ":%d", t->nice);
	return out->failed ? -ENOMEM : 0;
}

const char *irqmap_source_name(enum irqmap_source s)
{
	switch (s) {
	case IRQMAP_NETLINK:
		return "netlink";
	case IRQMAP_SYSFS:
		return "sysfs";
	case IRQMAP_GUESS:
		return "guess";
	case IRQMAP_UNKNOWN:
	default:
		return "";
	}
}
