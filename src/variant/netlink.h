/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_NETLINK_H
#define VARIANT_NETLINK_H

/*
 * A netlink socket in the network namespace of one end of the path, one request at a time, with the
 * kernel's own words when it refuses (NETLINK_EXT_ACK).
 */

#include <stddef.h>

struct err;
struct host_side;
struct nl_msg;
struct nl_sock;
struct nlmsghdr;

struct netlink {
	struct nl_sock *sock;
};

/* @protocol: NETLINK_ROUTE, NETLINK_GENERIC. */
int netlink_open(struct netlink *ret, const struct host_side *side, int protocol, struct err *e);
void netlink_release(struct netlink *n);
/* The id of a generic family; -ENOENT when this kernel does not have it. */
int netlink_family(struct netlink *n, const char *name, struct err *e);

/*
 * Send @msg and wait for its end (an acknowledgement, or the end of a dump).  Each message of the
 * answer goes to @take (may be NULL), which returns 0 or a negative errno that ends the call.
 * Refusals are errors with the kernel's code: "WHAT: Invalid argument (requested ring size exceeds
 * maximum)".
 */
int netlink_call(struct netlink *n, struct nl_msg *msg,
		 int (*take)(const struct nlmsghdr *h, void *arg), void *arg, const char *what,
		 struct err *e);

/* The kernel's sentence in an error message with the flags NLM_F_ACK_TLVS, "" without; pure. */
void netlink_reason(const struct nlmsghdr *h, char *ret, size_t size);

/* for _cleanup_ */
void netlink_msg_freep(struct nl_msg **m);

#endif
