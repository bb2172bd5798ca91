// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/netdev_genl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "variant/netlink.h"

#define FAMILY "netdev"
#define VERSION 1

/* include/uapi/linux/netdev.h, Linux 6.18 */
enum command { CMD_QUEUE_GET = 10, CMD_NAPI_GET = 11, CMD_NAPI_SET = 14 };

enum napi_attr {
	NAPI_A_IFINDEX = 1,
	NAPI_A_ID = 2,
	NAPI_A_IRQ = 3,
	NAPI_A_PID = 4,
	NAPI_A_DEFER_HARD_IRQS = 5,
	NAPI_A_GRO_FLUSH_TIMEOUT = 6,
	NAPI_A_IRQ_SUSPEND_TIMEOUT = 7,
	NAPI_A_THREADED = 8,
};

enum queue_attr { QUEUE_A_ID = 1, QUEUE_A_IFINDEX = 2, QUEUE_A_TYPE = 3, QUEUE_A_NAPI_ID = 4 };

void netdev_napis_release(struct netdev_napis *l)
{
	free(l->v);
	*l = (struct netdev_napis){};
}

void netdev_queues_release(struct netdev_queues *l)
{
	free(l->v);
	*l = (struct netdev_queues){};
}

/* Room for one more; it doubles: full at every power of two. */
static void *grow(void *v, size_t nr, size_t size)
{
	return nr & (nr - 1) ? v : reallocarray(v, nr ? 2 * nr : 1, size);
}

static int take_u32(const struct nlattr *a, uint32_t *ret)
{
	if (nla_len(a) != sizeof(*ret))
		return -EBADMSG;
	*ret = nla_get_u32(a);
	return 0;
}

/* The kernel's "uint": four bytes when they do, else eight. */
static int take_uint(const struct nlattr *a, uint64_t *ret)
{
	uint32_t small = 0;

	if (nla_len(a) == sizeof(*ret)) {
		*ret = nla_get_u64(a);
		return 0;
	}
	if (take_u32(a, &small) < 0)
		return -EBADMSG;
	*ret = small;
	return 0;
}

static int take_napi_attr(const struct nlattr *a, struct netdev_napi *n)
{
	switch (nla_type(a)) {
	case NAPI_A_IFINDEX:
		return take_u32(a, &n->ifindex);
	case NAPI_A_ID:
		return take_u32(a, &n->id);
	case NAPI_A_IRQ:
		n->has |= NAPI_IRQ;
		return take_u32(a, &n->irq);
	case NAPI_A_PID:
		n->has |= NAPI_PID;
		return take_u32(a, &n->pid);
	case NAPI_A_DEFER_HARD_IRQS:
		n->has |= NAPI_DEFER_HARD_IRQS;
		return take_u32(a, &n->defer_hard_irqs);
	case NAPI_A_GRO_FLUSH_TIMEOUT:
		n->has |= NAPI_GRO_FLUSH_TIMEOUT;
		return take_uint(a, &n->gro_flush_timeout_ns);
	case NAPI_A_IRQ_SUSPEND_TIMEOUT:
		n->has |= NAPI_IRQ_SUSPEND_TIMEOUT;
		return take_uint(a, &n->irq_suspend_timeout_ns);
	case NAPI_A_THREADED:
		n->has |= NAPI_THREADED;
		return take_u32(a, &n->threaded);
	default: /* of a later kernel */
		return 0;
	}
}

static int take_queue_attr(const struct nlattr *a, struct netdev_queue *q)
{
	switch (nla_type(a)) {
	case QUEUE_A_ID:
		return take_u32(a, &q->id);
	case QUEUE_A_IFINDEX:
		return take_u32(a, &q->ifindex);
	case QUEUE_A_TYPE:
		return take_u32(a, &q->type);
	case QUEUE_A_NAPI_ID:
		return take_u32(a, &q->napi_id);
	default:
		return 0;
	}
}

/* The attributes of an answer to @command, and their length. */
static const struct nlattr *attributes(const struct nlmsghdr *h, enum command command, int *ret_len)
{
	const struct genlmsghdr *g;
	const char *data = (const char *)h + NLMSG_HDRLEN;

	if (h->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
		return NULL;
	g = (const struct genlmsghdr *)data;
	if (g->cmd != command)
		return NULL;
	*ret_len = (int)(h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN);
	return (const struct nlattr *)(data + GENL_HDRLEN);
}

int netdev_genl_take_napi(const struct nlmsghdr *h, struct netdev_napis *l)
{
	struct netdev_napi n = {};
	int rest = 0, len = 0;
	const struct nlattr *first = attributes(h, CMD_NAPI_GET, &len), *a;
	void *v;

	if (!first)
		return -EBADMSG;
	nla_for_each_attr(a, first, len, rest) if (take_napi_attr(a, &n) < 0) return -EBADMSG;
	if (n.id == 0 || n.ifindex == 0)
		return -EBADMSG;
	v = grow(l->v, l->nr, sizeof(*l->v));
	if (!v)
		return -ENOMEM;
	l->v = v;
	l->v[l->nr++] = n;
	return 0;
}

int netdev_genl_take_queue(const struct nlmsghdr *h, struct netdev_queues *l)
{
	struct netdev_queue q = {};
	int rest = 0, len = 0;
	const struct nlattr *first = attributes(h, CMD_QUEUE_GET, &len), *a;
	void *v;

	if (!first)
		return -EBADMSG;
	nla_for_each_attr(a, first, len, rest) if (take_queue_attr(a, &q) < 0) return -EBADMSG;
	if (q.ifindex == 0)
		return -EBADMSG;
	v = grow(l->v, l->nr, sizeof(*l->v));
	if (!v)
		return -ENOMEM;
	l->v = v;
	l->v[l->nr++] = q;
	return 0;
}

/* A request with at most one number, and what takes its answer. */
struct request {
	const struct host_side *side;
	enum command command;
	int flags;
	int attr; /* 0: none */
	uint32_t value;
	const struct netdev_napi *settings; /* CMD_NAPI_SET */
	int (*take)(const struct nlmsghdr *h, void *arg);
	void *arg;
	const char *what;
};

/* The kernel takes a "uint" of four bytes as of eight. */
static int put_settings(struct nl_msg *m, const struct netdev_napi *n)
{
	int r = nla_put_u32(m, NAPI_A_ID, n->id);

	if (r >= 0 && n->has & NAPI_DEFER_HARD_IRQS)
		r = nla_put_u32(m, NAPI_A_DEFER_HARD_IRQS, n->defer_hard_irqs);
	if (r >= 0 && n->has & NAPI_GRO_FLUSH_TIMEOUT)
		r = nla_put_u64(m, NAPI_A_GRO_FLUSH_TIMEOUT, n->gro_flush_timeout_ns);
	if (r >= 0 && n->has & NAPI_IRQ_SUSPEND_TIMEOUT)
		r = nla_put_u64(m, NAPI_A_IRQ_SUSPEND_TIMEOUT, n->irq_suspend_timeout_ns);
	if (r >= 0 && n->has & NAPI_THREADED)
		r = nla_put_u32(m, NAPI_A_THREADED, n->threaded);
	return r;
}

static int send_request(struct netlink *n, int family, const struct request *q, struct err *e)
{
	_cleanup_(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc();
	int r = m && genlmsg_put(m, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, q->flags,
				 (uint8_t)q->command, VERSION)
			? 0
			: -1;

	if (r >= 0 && q->attr)
		r = nla_put_u32(m, q->attr, q->value);
	if (r >= 0 && q->settings)
		r = put_settings(m, q->settings);
	if (r < 0)
		return err_nomem(e, q->what);
	r = netlink_call(n, m, q->take, q->arg, q->what, e);
	if (r == -EOPNOTSUPP && !q->settings)
		return err_wrap(e, "this kernel does not show NAPI instances (Linux 6.8 does)");
	return r;
}

static int request(const struct request *q, struct err *e)
{
	_cleanup_(netlink_release) struct netlink n = {};
	int r = netlink_open(&n, q->side, NETLINK_GENERIC, e), family;

	if (r < 0)
		return r;
	family = netlink_family(&n, FAMILY, e);
	return family < 0 ? family : send_request(&n, family, q, e);
}

static int add_napi(const struct nlmsghdr *h, void *arg)
{
	return netdev_genl_take_napi(h, arg);
}

static int add_queue(const struct nlmsghdr *h, void *arg)
{
	return netdev_genl_take_queue(h, arg);
}

int netdev_genl_napis(const struct host_side *side, unsigned int ifindex, struct netdev_napis *ret,
		      struct err *e)
{
	_cleanup_(netdev_napis_release) struct netdev_napis l = {};
	struct request q = { .side = side,
			     .command = CMD_NAPI_GET,
			     .flags = NLM_F_DUMP,
			     .attr = ifindex ? NAPI_A_IFINDEX : 0,
			     .value = ifindex,
			     .take = add_napi,
			     .arg = &l,
			     .what = "list NAPI instances" };
	int r = request(&q, e);

	if (r < 0)
		return r;
	*ret = l;
	l = (struct netdev_napis){};
	return 0;
}

int netdev_genl_queues(const struct host_side *side, unsigned int ifindex,
		       struct netdev_queues *ret, struct err *e)
{
	_cleanup_(netdev_queues_release) struct netdev_queues l = {};
	struct request q = { .side = side,
			     .command = CMD_QUEUE_GET,
			     .flags = NLM_F_DUMP,
			     .attr = ifindex ? QUEUE_A_IFINDEX : 0,
			     .value = ifindex,
			     .take = add_queue,
			     .arg = &l,
			     .what = "list queues of netdevs" };
	int r = request(&q, e);

	if (r < 0)
		return r;
	*ret = l;
	l = (struct netdev_queues){};
	return 0;
}

int netdev_genl_napi(const struct host_side *side, uint32_t id, struct netdev_napi *ret,
		     struct err *e)
{
	_cleanup_(netdev_napis_release) struct netdev_napis l = {};
	char what[64];
	struct request q = { .side = side,
			     .command = CMD_NAPI_GET,
			     .flags = NLM_F_ACK,
			     .attr = NAPI_A_ID,
			     .value = id,
			     .take = add_napi,
			     .arg = &l,
			     .what = what };
	int r;

	snprintf(what, sizeof(what), "read NAPI instance %u", id);
	r = request(&q, e);
	if (r < 0)
		return r;
	if (l.nr == 0) /* its netdev is down: nothing is answered */
		return err_set(e, -ENOENT, "%s: its netdev is down", what);
	*ret = l.v[0];
	return 0;
}

int netdev_genl_set_napi(const struct host_side *side, const struct netdev_napi *want,
			 struct err *e)
{
	char what[64];
	struct request q = { .side = side,
			     .command = CMD_NAPI_SET,
			     .flags = NLM_F_ACK,
			     .settings = want,
			     .what = what };

	snprintf(what, sizeof(what), "set NAPI instance %u", want->id);
	return request(&q, e);
}
