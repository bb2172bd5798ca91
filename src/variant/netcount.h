/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_NETCOUNT_H
#define VARIANT_NETCOUNT_H

/* The kernel's own counters of the network path, for witnesses. */

#include <stdint.h>

struct cpuset;
struct err;

/* Columns of /proc/net/softnet_stat (net/core/net-procfs.c, the same ones since Linux 2.6.35). */
enum softnet_column {
	SOFTNET_PROCESSED = 0,
	SOFTNET_TIME_SQUEEZE = 2, /* times the budget ended before the packets */
	SOFTNET_RECEIVED_RPS = 9, /* times another CPU handed packets over */
};

/*
 * The column's sum over @cpus (NULL: all of them).  A row names its CPU since Linux 5.10; before,
 * rows are taken for CPUs 0, 1, ...  Of the whole machine, not of one device.  -ENOENT: no such
 * column here.
 */
int netcount_softnet(int proc_fd, enum softnet_column column, const struct cpuset *cpus,
		     uint64_t *ret, struct err *e);
/*
 * A counter of /proc/net/netstat of the caller's network namespace: "TcpExt", "BusyPollRxPackets".
 * -ENOENT: this kernel does not have it.
 */
int netcount_netstat(int proc_fd, const char *group, const char *name, uint64_t *ret,
		     struct err *e);

#endif
