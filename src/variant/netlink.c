// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

#ifndef NLM_F_CAPPED
#define NLM_F_CAPPED 0x100
#define NLM_F_ACK_TLVS 0x200
#endif

void netlink_msg_freep(struct nl_msg **m)
{
	nlmsg_free(*m);
}

static void cb_putp(struct nl_cb **cb)
{
	nl_cb_put(*cb);
}

void netlink_release(struct netlink *n)
{
	nl_socket_free(n->sock);
	n->sock = NULL;
}

int netlink_open(struct netlink *ret, const struct host_side *side, int protocol, struct err *e)
{
	_cleanup_(netlink_release) struct netlink n = { .sock = nl_socket_alloc() };
	_cleanup_(close_fdp) int fd = -1;
	int one = 1, r;

	if (!n.sock)
		return err_nomem(e, "netlink");
	fd = host_socket(side, AF_NETLINK, SOCK_RAW, protocol, e);
	if (fd < 0)
		return fd;
	/* both since Linux 4.12 or before; without them a refusal has no sentence */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	r = nl_socket_set_fd(n.sock, protocol, fd);
	if (r < 0)
		return err_set(e, -EIO, "netlink socket: %s", nl_geterror(r));
	take_fd(fd);
	ret->sock = take_ptr(n.sock);
	return 0;
}

int netlink_family(struct netlink *n, const char *name, struct err *e)
{
	int r = genl_ctrl_resolve(n->sock, name);

	if (r < 0)
		return err_set(e, -ENOENT, "this kernel has no netlink family %s (%s)", name,
			       nl_geterror(r));
	return r;
}

void netlink_reason(const struct nlmsghdr *h, char *ret, size_t size)
{
	const struct nlmsgerr *error = nlmsg_data(h);
	size_t head = sizeof(*error), len = h->nlmsg_len;
	const struct nlattr *text;

	ret[0] = '\0';
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || len < NLMSG_HDRLEN + head)
		return;
	len -= NLMSG_HDRLEN;
	/* the request comes first, unless it was left out */
	if (!(h->nlmsg_flags & NLM_F_CAPPED)) {
		if (error->msg.nlmsg_len < NLMSG_HDRLEN || error->msg.nlmsg_len > len)
			return;
		head += NLMSG_ALIGN(error->msg.nlmsg_len - NLMSG_HDRLEN);
	}
	if (head >= len)
		return;
	text = nla_find((const struct nlattr *)((const char *)error + head), (int)(len - head),
			NLMSGERR_ATTR_MSG);
	if (text)
		snprintf(ret, size, "%.*s", (int)strnlen(nla_data(text), (size_t)nla_len(text)),
			 (const char *)nla_data(text));
}

/* One request under way. */
struct call {
	int (*take)(const struct nlmsghdr *h, void *arg);
	void *arg;
	bool done;
	int code;
	char reason[256];
};

static int on_message(struct nl_msg *msg, void *arg)
{
	struct call *c = arg;

	if (c->take && c->code >= 0)
		c->code = c->take(nlmsg_hdr(msg), c->arg);
	return NL_OK;
}

/* The end of a dump may carry an error, and the kernel's sentence after it. */
static void take_end(const struct nlmsghdr *h, struct call *c)
{
	const char *text = nlmsg_data(h);
	int len = nlmsg_datalen(h), size = NLMSG_ALIGN((int)sizeof(c->code));
	const struct nlattr *why;

	if (h->nlmsg_type != NLMSG_DONE || len < size || c->code < 0)
		return;
	memcpy(&c->code, text, sizeof(c->code));
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || len <= size)
		return;
	why = nla_find((const struct nlattr *)(text + size), len - size, NLMSGERR_ATTR_MSG);
	if (why)
		snprintf(c->reason, sizeof(c->reason), "%.*s",
			 (int)strnlen(nla_data(why), (size_t)nla_len(why)),
			 (const char *)nla_data(why));
}

static int on_end(struct nl_msg *msg, void *arg)
{
	struct call *c = arg;

	take_end(nlmsg_hdr(msg), c);
	c->done = true;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	struct call *c = arg;

	(void)from;
	c->done = true;
	c->code = error->error;
	netlink_reason((const struct nlmsghdr *)((const char *)error - NLMSG_HDRLEN), c->reason,
		       sizeof(c->reason));
	return NL_STOP;
}

static int receive(struct netlink *n, struct call *c)
{
	_cleanup_(cb_putp) struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (!cb)
		return -NLE_NOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_message, c);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, c);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, c);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, c);
	while (!c->done) {
		int r = nl_recvmsgs(n->sock, cb);

		if (r < 0 && !c->done)
			return r;
	}
	return 0;
}

int netlink_call(struct netlink *n, struct nl_msg *msg,
		 int (*take)(const struct nlmsghdr *h, void *arg), void *arg, const char *what,
		 struct err *e)
{
	struct call c = { .take = take, .arg = arg };
	int r = nl_send_auto(n->sock, msg);

	if (r >= 0)
		r = receive(n, &c);
	if (r < 0)
		return err_set(e, -EIO, "%s: netlink: %s", what, nl_geterror(r));
	if (c.code >= 0)
		return 0;
	errno = -c.code;
	return c.reason[0] ? err_set(e, c.code, "%s: %m (%s)", what, c.reason)
			   : err_set(e, c.code, "%s: %m", what);
}
