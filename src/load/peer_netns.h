/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_PEER_NETNS_H
#define LOAD_PEER_NETNS_H

/*
 * Network namespaces without names, and what is in them: made through netlink, held by descriptors
 * and threads alone.
 */

#include "base/host.h"

struct err;
struct nl_sock;

/* A namespace this thread has just made and is in. */
struct netns {
	int netns_fd;
	int sys_fd;	       /* its own sysfs, mounted nowhere */
	struct nl_sock *route; /* rtnetlink inside it */
};

/* unshare(): this thread is in the new namespace afterwards; lo is up. */
int netns_open(struct netns *ret, struct err *e);
void netns_release(struct netns *ns);
/* A veth pair: @name in @ns (this thread's), @far_name in @far; both down and without address. */
int netns_veth(struct netns *ns, const char *name, struct netns *far, const char *far_name,
	       struct err *e);
/* Give @name the address ("198.18.0.1/30") and take it up. */
int netns_up(struct netns *ns, const char *name, const char *address, struct err *e);
/* The netdev through which @addr (numeric) is reached from this thread's namespace. */
int netns_route(const char *addr, char ret[IFNAMSIZ], struct err *e);

#endif
