/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_PROCTHREAD_H
#define VARIANT_PROCTHREAD_H

/*
 * Threads as /proc shows them.  Functions take the descriptor of a root of /proc and say -ESRCH
 * when the thread has ended.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct procthread {
	int tid;
	char comm[64];	/* the kernel's own limit; kernel threads before 5.17 show 15 bytes */
	uint64_t start; /* clock ticks since boot: with tid it names one thread for ever */
	bool kernel;
	bool bound; /* its CPUs cannot be changed: per-CPU kernel threads */
};

struct procthreads {
	struct procthread *v;
	size_t nr;
};

int procthread_read(int proc_fd, int tid, struct procthread *ret, struct err *e);
/*
 * All kernel threads, and with @user all other threads too, in no order; those that end meanwhile
 * are left out.  Cost: one file per thread, or per process without @user.
 */
int procthreads_list(int proc_fd, bool user, struct procthreads *ret, struct err *e);
/* The threads of process @pid; an empty list when there is none. */
int procthreads_of(int proc_fd, int pid, struct procthreads *ret, struct err *e);
void procthreads_release(struct procthreads *l);

/*
 * The number that the last thread born was given (the end of loadavg): as long as it stays the same
 * there is no new one.  0 when it cannot be told.
 */
uint64_t procthread_last(int proc_fd);

/* Time on a CPU so far [ns]: the first number of schedstat. */
int procthread_runtime_ns(int proc_fd, int tid, uint64_t *ret, struct err *e);
/* Context switches so far, voluntary and not. */
int procthread_switches(int proc_fd, int tid, uint64_t *ret, struct err *e);
/* The CPU it ran on last. */
int procthread_last_cpu(int proc_fd, int tid, unsigned int *ret, struct err *e);
/* Does this kernel count run time?  Without CONFIG_SCHED_INFO at work schedstat is all zero. */
bool procthread_counts_runtime(int proc_fd);

#endif
