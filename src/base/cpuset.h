/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_CPUSET_H
#define BASE_CPUSET_H

/*
 * A set of CPUs of any size, in the list form of the kernel ("0-3,8", Documentation/admin-guide/
 * kernel-parameters.rst "cpu lists", without the :used/total extension) and as a mask.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;

struct cpuset {
	unsigned int *cpus; /* ascending, each once */
	size_t nr;
};

/* At most CPUSET_MAX - 1 is accepted as a CPU number: NR_CPUS of the largest kernels. */
#define CPUSET_MAX 8192

int cpuset_parse(const char *list, struct cpuset *ret, struct err *e);
int cpuset_format(const struct cpuset *set, struct buf *out);
/* Do two lists name the same CPUs ("0-3" and "0,1,2,3")? No, where one is no list. */
bool cpuset_same(const char *a, const char *b);
/* The hexadecimal form of the kernel, "ff" or "1,00000000" (Documentation: cpumask). */
int cpuset_parse_mask(const char *mask, struct cpuset *ret, struct err *e);
int cpuset_format_mask(const struct cpuset *set, struct buf *out);
bool cpuset_has(const struct cpuset *set, unsigned int cpu);
/* The CPUs online now, from @sys_fd (a root of /sys) devices/system/cpu/online. */
int cpuset_online(int sys_fd, struct cpuset *ret, struct err *e);
/*
 * @text, "all" or a list, as CPUs of the machine behind @sys_fd: -EINVAL naming those it has when
 * one of the list is not online.
 */
int cpuset_choose(int sys_fd, const char *text, struct cpuset *ret, struct err *e);
/* sched_setaffinity() of @tid (0: this thread) for sets of any size. */
int cpuset_pin(int tid, const struct cpuset *set, struct err *e);
void cpuset_release(struct cpuset *set);

#endif
