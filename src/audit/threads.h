/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_THREADS_H
#define AUDIT_THREADS_H

/* Every thread with its policy and priority. */

#include <stdbool.h>
#include <stddef.h>

struct err;

struct rt_thread {
	int tid;
	char comm[64];
	unsigned int policy;   /* SCHED_FIFO ... as in uapi/linux/sched.h */
	unsigned int priority; /* 1 to 99 with FIFO and RR, else 0 */
	bool kernel;
	bool leader; /* the first thread of its process */
};

struct rt_threads {
	struct rt_thread *v;
	size_t nr;
};

/* Cost: two small files a thread. Those that end meanwhile are left out. */
int rt_threads_list(int proc_fd, struct rt_threads *ret, struct err *e);
/* Policy and priority out of /proc/TID/stat, fields 41 and 40. */
bool rt_thread_parse(const char *stat, struct rt_thread *ret);
void rt_threads_release(struct rt_threads *t);

#endif
