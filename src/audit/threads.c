// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/kfile.h"
#include "variant/procthread.h"

/* proc(5): the name is field 2, what follows it begins with field 3 */
#define FIELD_PRIORITY 40
#define FIELD_POLICY 41

static bool field(const char *p, unsigned int n, unsigned int *ret)
{
	char *end;
	unsigned long v;

	for (unsigned int i = 3; i <= n; i++) {
		p += strspn(p, " ");
		if (i < n)
			p += strcspn(p, " ");
	}
	errno = 0;
	v = strtoul(p, &end, 10);
	*ret = (unsigned int)v;
	return end != p && errno == 0 && v <= 1000;
}

bool rt_thread_parse(const char *stat, struct rt_thread *ret)
{
	const char *close = strrchr(stat, ')');

	return close && field(close + 1, FIELD_PRIORITY, &ret->priority) &&
	       field(close + 1, FIELD_POLICY, &ret->policy);
}

/* False when it has ended meanwhile. */
static bool read_one(int proc_fd, const struct procthread *t, struct rt_thread *ret)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err ignored = {};
	char path[64];

	*ret = (struct rt_thread){ .tid = t->tid, .kernel = t->kernel };
	memcpy(ret->comm, t->comm, sizeof(ret->comm));
	snprintf(path, sizeof(path), "%d/stat", t->tid);
	if (kfile_read(proc_fd, path, &text, &ignored) < 0 || !rt_thread_parse(buf_str(&text), ret))
		return false;
	/* only processes are listed in /proc itself, and their task folder holds the others */
	snprintf(path, sizeof(path), "%d/task/%d/stat", t->tid, t->tid);
	ret->leader = t->kernel || faccessat(proc_fd, path, F_OK, 0) == 0;
	return true;
}

int rt_threads_list(int proc_fd, struct rt_threads *ret, struct err *e)
{
	_cleanup_(procthreads_release) struct procthreads l = {};
	struct rt_thread *v;
	size_t nr = 0;
	int r = procthreads_list(proc_fd, true, &l, e);

	if (r < 0)
		return r;
	v = calloc(l.nr ? l.nr : 1, sizeof(*v));
	if (!v)
		return err_nomem(e, "threads");
	for (size_t i = 0; i < l.nr; i++)
		nr += read_one(proc_fd, &l.v[i], &v[nr]);
	*ret = (struct rt_threads){ .v = v, .nr = nr };
	return 0;
}

void rt_threads_release(struct rt_threads *t)
{
	free(t->v);
	*t = (struct rt_threads){};
}
