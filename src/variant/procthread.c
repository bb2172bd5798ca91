// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/procthread.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/kfile.h"
#include "base/text.h"

/* include/linux/sched.h: PF_KTHREAD, PF_NO_SETAFFINITY */
#define KERNEL_THREAD 0x00200000
#define BOUND 0x04000000

/* Read @tid's @file; a thread that ended is -ESRCH whether open or read found it out. */
static int read_of(int proc_fd, int tid, const char *file, struct buf *out, struct err *e)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "%d/%s", tid, file);
	r = kfile_read(proc_fd, path, out, e);
	if (r == -ENOENT || r == -ESRCH)
		return err_set(e, -ESRCH, "thread %d has ended", tid);
	return r;
}

/* The @n-th blank-separated field (from 1) of what follows the name in stat. */
static bool field_u64(const char *p, unsigned int n, uint64_t *ret)
{
	char *end;

	while (n-- > 0) {
		p += strspn(p, " ");
		if (n > 0)
			p += strcspn(p, " ");
	}
	errno = 0;
	*ret = strtoull(p, &end, 10);
	return end != p && errno == 0;
}

/* proc(5): "pid (comm) state ppid ..."; comm may hold anything, so it ends at the last bracket. */
static bool parse_stat(const char *text, struct procthread *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t flags = 0;
	size_t len;

	if (!open || !close || close < open)
		return false;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(ret->comm))
		len = sizeof(ret->comm) - 1;
	memcpy(ret->comm, open + 1, len);
	ret->comm[len] = '\0';
	/* fields 9 and 22 of the whole line */
	if (!field_u64(close + 1, 7, &flags) || !field_u64(close + 1, 20, &ret->start))
		return false;
	ret->kernel = flags & KERNEL_THREAD;
	ret->bound = flags & BOUND;
	return true;
}

int procthread_read(int proc_fd, int tid, struct procthread *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	struct procthread t = { .tid = tid };
	int r = read_of(proc_fd, tid, "stat", &text, e);

	if (r < 0)
		return r;
	if (!parse_stat(buf_str(&text), &t))
		return err_set(e, -EBADMSG, "/proc/%d/stat is not understood: \"%.80s\"", tid,
			       buf_str(&text));
	*ret = t;
	return 0;
}

static int add(struct procthreads *l, const struct procthread *t, struct err *e)
{
	struct procthread *v = l->v;

	/* room doubles: full at every power of two */
	if ((l->nr & (l->nr - 1)) == 0)
		v = realloc(l->v, (l->nr ? 2 * l->nr : 1) * sizeof(*v));
	if (!v)
		return err_nomem(e, "thread list");
	l->v = v;
	l->v[l->nr++] = *t;
	return 0;
}

static int number_of(const struct dirent *d)
{
	uint64_t v = 0;

	return text_u64(d->d_name, &v) == 0 && v <= INT_MAX ? (int)v : -1;
}

static int open_list(int proc_fd, const char *path, DIR **ret, struct err *e)
{
	int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d;

	if (fd < 0)
		return err_sys(e, "open /proc/%s", path);
	d = fdopendir(fd);
	if (!d) {
		close_fdp(&fd);
		return err_nomem(e, path);
	}
	*ret = d;
	return 0;
}

/* The threads of a process of user space. */
static int add_tasks(int proc_fd, int pid, struct procthreads *l, struct err *e)
{
	_cleanup_(closedir_dirp) DIR *d = NULL;
	const struct dirent *entry;
	char path[32];
	int r;

	snprintf(path, sizeof(path), "%d/task", pid);
	r = open_list(proc_fd, path, &d, e);
	if (!d)
		return r == -ENOENT ? 0 : r;
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		struct procthread t = {};
		int tid = number_of(entry);

		if (tid < 0)
			continue;
		r = procthread_read(proc_fd, tid, &t, e);
		if (r >= 0)
			r = add(l, &t, e);
		if (r < 0 && r != -ESRCH)
			return r;
	}
	return 0;
}

int procthreads_list(int proc_fd, bool user, struct procthreads *ret, struct err *e)
{
	_cleanup_(procthreads_release) struct procthreads l = {};
	_cleanup_(closedir_dirp) DIR *d = NULL;
	const struct dirent *entry;
	int r = open_list(proc_fd, ".", &d, e);

	if (!d)
		return r;
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		struct procthread t = {};
		int pid = number_of(entry);

		if (pid < 0)
			continue;
		r = procthread_read(proc_fd, pid, &t, e);
		if (r >= 0 && t.kernel)
			r = add(&l, &t, e);
		else if (r >= 0 && user)
			r = add_tasks(proc_fd, pid, &l, e);
		if (r < 0 && r != -ESRCH)
			return r;
	}
	*ret = l;
	l = (struct procthreads){};
	return 0;
}

int procthreads_of(int proc_fd, int pid, struct procthreads *ret, struct err *e)
{
	_cleanup_(procthreads_release) struct procthreads l = {};
	int r = add_tasks(proc_fd, pid, &l, e);

	if (r < 0)
		return r;
	*ret = l;
	l = (struct procthreads){};
	return 0;
}

void procthreads_release(struct procthreads *l)
{
	free(l->v);
	*l = (struct procthreads){};
}

uint64_t procthread_last(int proc_fd)
{
	_cleanup_(freep) char *line = NULL;
	struct err ignored = {};
	uint64_t last = 0;

	/* proc(5): three loads, running/all, last */
	if (kfile_read_line(proc_fd, "loadavg", &line, &ignored) < 0 || !field_u64(line, 5, &last))
		return 0;
	return last;
}

int procthread_runtime_ns(int proc_fd, int tid, uint64_t *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	int r = read_of(proc_fd, tid, "schedstat", &text, e);

	if (r < 0)
		return r;
	if (!field_u64(buf_str(&text), 1, ret))
		return err_set(e, -EBADMSG, "/proc/%d/schedstat is not understood: \"%.80s\"", tid,
			       buf_str(&text));
	return 0;
}

static bool line_u64(const char *text, const char *key, uint64_t *ret)
{
	const char *p = strstr(text, key);
	char *end;

	if (!p)
		return false;
	p += strlen(key);
	errno = 0;
	*ret = strtoull(p, &end, 10);
	return end != p && errno == 0;
}

int procthread_switches(int proc_fd, int tid, uint64_t *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	uint64_t own = 0, forced = 0;
	int r = read_of(proc_fd, tid, "status", &text, e);

	if (r < 0)
		return r;
	if (!line_u64(buf_str(&text), "\nvoluntary_ctxt_switches:", &own) ||
	    !line_u64(buf_str(&text), "\nnonvoluntary_ctxt_switches:", &forced))
		return err_set(e, -EBADMSG, "/proc/%d/status has no context switches", tid);
	*ret = own + forced;
	return 0;
}

int procthread_last_cpu(int proc_fd, int tid, unsigned int *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	int r = read_of(proc_fd, tid, "stat", &text, e);
	const char *close = strrchr(buf_str(&text), ')');
	uint64_t cpu = 0;

	if (r < 0)
		return r;
	/* field 39 of the whole line */
	if (!close || !field_u64(close + 1, 37, &cpu))
		return err_set(e, -EBADMSG, "/proc/%d/stat does not tell the CPU", tid);
	*ret = (unsigned int)cpu;
	return 0;
}

bool procthread_counts_runtime(int proc_fd)
{
	_cleanup_(freep) char *line = NULL;
	struct err ignored = {};

	/* our own thread has run: it is here asking */
	return kfile_read_line(proc_fd, "thread-self/schedstat", &line, &ignored) >= 0 &&
	       strncmp(line, "0 ", 2) != 0;
}
