// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/peer_netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"

static void sock_freep(struct nl_sock **s)
{
	nl_socket_free(*s);
}

static void link_putp(struct rtnl_link **l)
{
	rtnl_link_put(*l);
}

static void addr_putp(struct nl_addr **a)
{
	nl_addr_put(*a);
}

static void rtnl_addr_putp(struct rtnl_addr **a)
{
	rtnl_addr_put(*a);
}

static void msg_freep(struct nl_msg **m)
{
	nlmsg_free(*m);
}

/* libnl's codes are its own; what they mean for us is in the text. */
static int nl_err(struct err *e, int code, const char *what, const char *thing)
{
	if (code == -NLE_PERM)
		return err_set(e, -EPERM, "%s %s: %s (needs CAP_NET_ADMIN: run as root)", what,
			       thing, nl_geterror(code));
	return err_set(e, code == -NLE_NOMEM ? -ENOMEM : -EIO, "%s %s: %s", what, thing,
		       nl_geterror(code));
}

/*
 * A sysfs mounted now shows the network devices of the namespace we are in; the descriptor of the
 * mount is all that holds it.
 */
static int open_sysfs(int *ret, struct err *e)
{
	_cleanup_(close_fdp) int fs = fsopen("sysfs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return err_sys(e, "fsopen sysfs (needs Linux 5.2 and root)");
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(e, "make a sysfs for a network namespace");
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fd < 0)
		return err_sys(e, "mount a sysfs for a network namespace");
	*ret = fd;
	return 0;
}

static int open_route(struct nl_sock **ret, struct err *e)
{
	_cleanup_(sock_freep) struct nl_sock *s = nl_socket_alloc();
	int r;

	if (!s)
		return err_nomem(e, "rtnetlink");
	r = nl_connect(s, NETLINK_ROUTE);
	if (r < 0)
		return nl_err(e, r, "connect", "rtnetlink");
	*ret = take_ptr(s);
	return 0;
}

static int link_up(struct nl_sock *sock, const char *name, struct err *e)
{
	_cleanup_(link_putp) struct rtnl_link *link = NULL;
	_cleanup_(link_putp) struct rtnl_link *want = rtnl_link_alloc();
	int r = rtnl_link_get_kernel(sock, 0, name, &link);

	if (!want)
		return err_nomem(e, name);
	if (r < 0)
		return nl_err(e, r, "find netdev", name);
	rtnl_link_set_flags(want, IFF_UP);
	r = rtnl_link_change(sock, link, want, 0);
	return r < 0 ? nl_err(e, r, "take up netdev", name) : 0;
}

int netns_open(struct netns *ret, struct err *e)
{
	_cleanup_(netns_release) struct netns ns = { .netns_fd = -1, .sys_fd = -1 };
	int r;

	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(e, "new network namespace (needs CAP_SYS_ADMIN: run as root)");
	ns.netns_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (ns.netns_fd < 0)
		return err_sys(e, "open /proc/thread-self/ns/net");
	r = open_sysfs(&ns.sys_fd, e);
	if (r >= 0)
		r = open_route(&ns.route, e);
	if (r >= 0)
		r = link_up(ns.route, "lo", e);
	if (r < 0)
		return r;
	*ret = ns;
	ns = (struct netns){ .netns_fd = -1, .sys_fd = -1 };
	return 0;
}

void netns_release(struct netns *ns)
{
	if (ns->route)
		nl_socket_free(ns->route);
	close_fdp(&ns->netns_fd);
	close_fdp(&ns->sys_fd);
	*ns = (struct netns){ .netns_fd = -1, .sys_fd = -1 };
}

int netns_veth(struct netns *ns, const char *name, struct netns *far, const char *far_name,
	       struct err *e)
{
	_cleanup_(link_putp) struct rtnl_link *link = rtnl_link_veth_alloc();
	_cleanup_(link_putp) struct rtnl_link *peer = NULL;
	int r;

	if (!link)
		return err_nomem(e, name);
	peer = rtnl_link_veth_get_peer(link);
	rtnl_link_set_name(link, name);
	rtnl_link_set_name(peer, far_name);
	rtnl_link_set_ns_fd(peer, far->netns_fd);
	r = rtnl_link_add(ns->route, link, NLM_F_CREATE | NLM_F_EXCL);
	if (r < 0)
		return nl_err(e, r, "make the veth pair (is the kernel's veth driver there?)",
			      name);
	return 0;
}

static int add_address(struct netns *ns, const char *name, const char *address, struct err *e)
{
	_cleanup_(link_putp) struct rtnl_link *link = NULL;
	_cleanup_(addr_putp) struct nl_addr *local = NULL;
	_cleanup_(rtnl_addr_putp) struct rtnl_addr *a = rtnl_addr_alloc();
	int r = rtnl_link_get_kernel(ns->route, 0, name, &link);

	if (!a)
		return err_nomem(e, name);
	if (r >= 0)
		r = nl_addr_parse(address, AF_INET, &local);
	if (r < 0)
		return nl_err(e, r, "address of", name);
	rtnl_addr_set_ifindex(a, rtnl_link_get_ifindex(link));
	r = rtnl_addr_set_local(a, local);
	if (r >= 0)
		r = rtnl_addr_add(ns->route, a, 0);
	return r < 0 ? nl_err(e, r, "set the address of", name) : 0;
}

int netns_up(struct netns *ns, const char *name, const char *address, struct err *e)
{
	int r = add_address(ns, name, address, e);

	return r < 0 ? r : link_up(ns->route, name, e);
}

/* The answer to RTM_GETROUTE: one route, of which we want the netdev. */
static int on_route(struct nl_msg *msg, void *arg)
{
	struct nlattr *attr = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(struct rtmsg), RTA_OIF);

	if (nlmsg_hdr(msg)->nlmsg_type == RTM_NEWROUTE && attr)
		*(int *)arg = (int)nla_get_u32(attr);
	return NL_OK;
}

static int ask_route(struct nl_sock *sock, struct nl_addr *dst, int *ret, struct err *e)
{
	_cleanup_(msg_freep) struct nl_msg *m = nlmsg_alloc_simple(RTM_GETROUTE, NLM_F_REQUEST);
	struct rtmsg rt = { .rtm_family = (unsigned char)nl_addr_get_family(dst),
			    .rtm_dst_len = (unsigned char)nl_addr_get_prefixlen(dst) };
	int r;

	if (!m || nlmsg_append(m, &rt, sizeof(rt), NLMSG_ALIGNTO) < 0 ||
	    nla_put_addr(m, RTA_DST, dst) < 0)
		return err_nomem(e, "question for a route");
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_route, ret);
	r = nl_send_auto(sock, m);
	if (r >= 0)
		r = nl_recvmsgs_default(sock);
	return r < 0 ? nl_err(e, r, "ask for a", "route") : 0;
}

int netns_route(const char *addr, char ret[IFNAMSIZ], struct err *e)
{
	_cleanup_(sock_freep) struct nl_sock *sock = NULL;
	_cleanup_(addr_putp) struct nl_addr *dst = NULL;
	char name[IFNAMSIZ];
	int index = 0;
	int r = open_route(&sock, e);

	if (r < 0)
		return r;
	r = nl_addr_parse(addr, AF_UNSPEC, &dst);
	if (r < 0)
		return nl_err(e, r, "address", addr);
	nl_socket_disable_auto_ack(sock);
	r = ask_route(sock, dst, &index, e);
	if (r < 0)
		return err_wrap(e, "route to %s", addr);
	if (index == 0 || !if_indextoname((unsigned int)index, name))
		return err_set(e, -ENETUNREACH, "no route to %s", addr);
	memcpy(ret, name, sizeof(name));
	return 0;
}
