/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_NETDEV_QUEUES_H
#define VARIANT_NETDEV_QUEUES_H

/*
 * Steering of packets to CPUs, a file a queue below /sys/class/net/DEV/queues.  The rest of a
 * target is the file's path, "queues/rx-0/rps_cpus".  CPUs are lists, "0-3,8", where the kernel has
 * masks; "none" is no CPU, which turns the steering off.
 * (Kernel: net/core/net-sysfs.c, read at 6.18; Documentation/networking/scaling.rst.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpuset;
struct err;
struct host;
struct netdev_target;
struct uint_list;

struct netdev_queue_file {
	const char *option; /* "rps-cpus" */
	const char *file;   /* "rps_cpus" */
	bool is_tx;
	bool is_cpus;
};

/* NULL behind the last. */
const struct netdev_queue_file *netdev_queue_file_at(size_t i);
/* What "queues/rx-0/rps_cpus" names, NULL: none of these files. */
const struct netdev_queue_file *netdev_queue_file_of(const char *rest, unsigned int *ret_queue);

/* The number of queues; they are numbered from 0. */
int netdev_queue_count(const struct host *host, const char *dev, bool is_tx, size_t *ret,
		       struct err *e);
/* "0-1", "all" and "none" to the text that read() gives; CPUs that are not online are refused. */
int netdev_queue_value(const struct host *host, const struct netdev_queue_file *f,
		       const char *wanted, char **ret, struct err *e);
int netdev_queue_read(const struct netdev_target *t, const struct netdev_queue_file *f, char **ret,
		      struct err *e);
int netdev_queue_write(const struct netdev_target *t, const struct netdev_queue_file *f,
		       const char *value, struct err *e);
/* The kernel's mask ("00000000,0000000f") to a list and back; pure. */
int netdev_mask_parse(const char *mask, struct cpuset *ret, struct err *e);
int netdev_mask_format(const char *list, char **ret, struct err *e);

#endif
