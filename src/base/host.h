/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_HOST_H
#define BASE_HOST_H

/*
 * The machine as the agent sees it: roots instead of absolute paths, so that tests hand in fixture
 * trees and a network namespace its own sysfs.
 *
 * The agent's own threads live in the network namespace of the device under test ("dut"), so
 * /proc/sys/net and /proc/net mean that one.
 */

#include <net/if.h>

/* One end of the path between the machine under test and its peer. */
struct host_side {
	int netns_fd; /* namespace of the end; -1: the one the caller is in */
	int sys_fd;   /* root of a sysfs that shows this namespace's /sys/class/net; -1: none */
	char ifname[IFNAMSIZ]; /* "" when there is no such netdev or it is not on this machine */
};

struct host {
	int proc_fd;	      /* root of /proc */
	int sys_fd;	      /* root of /sys */
	int dev_fd;	      /* root of /dev */
	struct host_side dut; /* $dut: the netdev under test */
	struct host_side far; /* $far: its peer; only with "peer: netns" */
};

struct err;

/* The machine itself, no peer: opens /proc, /sys, /dev. */
int host_open(struct host *ret, struct err *e);
void host_release(struct host *h);

/*
 * Where netdev @ifname lives: @h->far when it is the far end's name, else @h->dut's namespace.
 * Never NULL.
 */
const struct host_side *host_side_of(const struct host *h, const char *ifname);

/* A socket made inside the namespace of @side, for ioctls and netlink; returns the descriptor. */
int host_socket(const struct host_side *side, int domain, int type, int protocol, struct err *e);

#endif
