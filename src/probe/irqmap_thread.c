// SPDX-License-Identifier: GPL-3.0-or-later
/* The kernel's threads that serve interrupts and NAPI instances. */
#include "probe/irqmap_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/kfile.h"
#include "base/text.h"
#include "variant/procthread.h"

/* Fields of /proc/N/stat, counted from 1 as proc(5) does. */
enum stat_field {
	STAT_STATE = 3,
	STAT_NICE = 19,
	STAT_CPU = 39,
	STAT_PRIORITY = 40,
	STAT_POLICY = 41
};

void irqmap_thread_release(struct irqmap_thread *t)
{
	free(t->cpus);
	*t = (struct irqmap_thread){};
}

void irqmap_threads_release(struct irqmap_threads *t)
{
	for (size_t i = 0; i < t->nr; i++)
		irqmap_thread_release(&t->v[i]);
	free(t->v);
	*t = (struct irqmap_threads){};
}

/* Where @field of a line of /proc/N/stat begins: the name may hold blanks and brackets. */
static const char *stat_field(const char *text, enum stat_field field)
{
	const char *p = strrchr(text, ')');

	if (!p)
		return NULL;
	p++;
	for (int at = STAT_STATE; at <= (int)field; at++) {
		p += strspn(p, " ");
		if (at < (int)field)
			p += strcspn(p, " ");
	}
	return *p ? p : NULL;
}

static bool stat_number(const char *text, enum stat_field field, int *ret)
{
	const char *p = stat_field(text, field);
	char *end;
	long v;

	if (!p)
		return false;
	errno = 0;
	v = strtol(p, &end, 10);
	if (end == p || errno || v < INT32_MIN || v > INT32_MAX)
		return false;
	*ret = (int)v;
	return true;
}

/* The rest of the line after @key of /proc/N/status as a new string. */
static char *status_line(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	if (!p)
		return NULL;
	p += strlen(key);
	p += strspn(p, " \t");
	return strndup(p, strcspn(p, "\n"));
}

/* False when the thread has ended. */
static bool read_thread(int proc_fd, const struct procthread *from, struct irqmap_thread *ret)
{
	_cleanup_(buf_release) struct buf stat = {}, status = {};
	struct irqmap_thread t = { .tid = from->tid, .last_cpu = -1 };
	struct err ignored = {};
	char path[32];

	snprintf(t.comm, sizeof(t.comm), "%s", from->comm);
	snprintf(path, sizeof(path), "%d/stat", from->tid);
	if (kfile_read(proc_fd, path, &stat, &ignored) < 0 ||
	    !stat_number(buf_str(&stat), STAT_NICE, &t.nice) ||
	    !stat_number(buf_str(&stat), STAT_PRIORITY, &t.rt_priority) ||
	    !stat_number(buf_str(&stat), STAT_POLICY, &t.policy))
		return false;
	stat_number(buf_str(&stat), STAT_CPU, &t.last_cpu);
	snprintf(path, sizeof(path), "%d/status", from->tid);
	if (kfile_read(proc_fd, path, &status, &ignored) >= 0)
		t.cpus = status_line(buf_str(&status), "\nCpus_allowed_list:");
	if (procthread_runtime_ns(proc_fd, from->tid, &t.runtime_ns, &ignored) < 0)
		t.runtime_ns = 0;
	*ret = t;
	return true;
}

static int by_tid(const void *a, const void *b)
{
	const struct irqmap_thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

int irqmap_threads_read(int proc_fd, struct irqmap_threads *ret, struct err *e)
{
	_cleanup_(procthreads_release) struct procthreads all = {};
	_cleanup_(irqmap_threads_release) struct irqmap_threads l = {};
	int r = procthreads_list(proc_fd, false, &all, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < all.nr; i++) {
		struct irqmap_thread t = {};
		void *v;

		if (strncmp(all.v[i].comm, "irq/", 4) != 0 &&
		    strncmp(all.v[i].comm, "napi/", 5) != 0)
			continue;
		if (!read_thread(proc_fd, &all.v[i], &t))
			continue;
		v = irqmap_grow(l.v, l.nr, sizeof(*l.v));
		if (!v) {
			irqmap_thread_release(&t);
			return err_nomem(e, "threads of interrupts");
		}
		l.v = v;
		l.v[l.nr++] = t;
	}
	if (l.nr)
		qsort(l.v, l.nr, sizeof(*l.v), by_tid);
	*ret = l;
	l = (struct irqmap_threads){};
	return 0;
}

bool irqmap_serves(const char *comm, uint32_t irq)
{
	char start[24];
	int n = snprintf(start, sizeof(start), "irq/%u-", irq);

	return strncmp(comm, start, (size_t)n) == 0;
}

bool irqmap_parse_napi(const char *comm, char netdev[IFNAMSIZ], uint32_t *ret_id)
{
	const char *name = comm + strlen("napi/"), *dash = strrchr(comm, '-');
	uint64_t id;

	if (strncmp(comm, "napi/", 5) != 0 || !dash || dash <= name ||
	    (size_t)(dash - name) >= IFNAMSIZ || text_u64(dash + 1, &id) < 0 || id == 0 ||
	    id > UINT32_MAX)
		return false;
	snprintf(netdev, IFNAMSIZ, "%.*s", (int)(dash - name), name);
	*ret_id = (uint32_t)id;
	return true;
}
