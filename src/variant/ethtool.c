// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/ethtool.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/sockios.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "variant/netlink.h"

/* The header of every message is its attribute 1. */
#define ATTR_HEADER 1
#define MAX_IOCTL_SIZE 256

static int put_header(struct nl_msg *m, const char *dev, uint32_t flags)
{
	struct nlattr *nest = nla_nest_start(m, NLA_F_NESTED | ATTR_HEADER);
	int r = nest ? nla_put_string(m, ETHTOOL_A_HEADER_DEV_NAME, dev) : -1;

	if (r >= 0 && flags)
		r = nla_put_u32(m, ETHTOOL_A_HEADER_FLAGS, flags);
	if (r < 0)
		return -1;
	nla_nest_end(m, nest);
	return 0;
}

static int put_values(struct nl_msg *m, const struct ethtool_group *g,
		      const struct ethtool_values *want)
{
	int r = 0;

	for (size_t i = 0; g->params[i].name && r >= 0; i++) {
		const struct ethtool_param *p = &g->params[i];

		if (!(want->has >> i & 1))
			continue;
		r = p->is_switch ? nla_put_u8(m, p->attr, (uint8_t)want->v[i])
				 : nla_put_u32(m, p->attr, want->v[i]);
	}
	return r;
}

int ethtool_request(const struct ethtool_group *g, int family, const char *dev,
		    const struct ethtool_values *want, struct nl_msg **ret, struct err *e)
{
	_cleanup_(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc();
	uint32_t flags = g->stats && !want ? ETHTOOL_FLAG_STATS : 0;

	if (!m ||
	    !genlmsg_put(m, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, 0, want ? g->set : g->get,
			 ETHTOOL_GENL_VERSION) ||
	    put_header(m, dev, flags) < 0 || (want && put_values(m, g, want) < 0))
		return err_nomem(e, dev);
	*ret = take_ptr(m);
	return 0;
}

/* Counters are 64 bits each; what has another length is padding. */
static void add_stats(const struct nlattr *nest, struct ethtool_values *v)
{
	const struct nlattr *a;
	int rest;

	nla_for_each_nested(a, nest, rest)
	{
		if (nla_len(a) != sizeof(uint64_t))
			continue;
		v->has_stats = true;
		v->stats += nla_get_u64(a);
	}
}

static int take_value(const struct ethtool_param *p, const struct nlattr *a, uint32_t *ret)
{
	if (nla_len(a) != (int)(p->is_switch ? sizeof(uint8_t) : sizeof(uint32_t)))
		return -EBADMSG;
	*ret = p->is_switch ? nla_get_u8(a) : nla_get_u32(a);
	return 0;
}

int ethtool_answer(const struct ethtool_group *g, const struct nlmsghdr *h,
		   struct ethtool_values *ret)
{
	struct ethtool_values v = {};
	const struct nlattr *a;
	int rest;

	if (h->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
		return -EBADMSG;
	nlmsg_for_each_attr(a, (struct nlmsghdr *)(uintptr_t)h, GENL_HDRLEN, rest)
	{
		if (g->stats && nla_type(a) == g->stats)
			add_stats(a, &v);
		for (size_t i = 0; g->params[i].name; i++) {
			if (nla_type(a) != g->params[i].attr)
				continue;
			if (take_value(&g->params[i], a, &v.v[i]) < 0)
				return -EBADMSG;
			v.has |= UINT32_C(1) << i;
		}
	}
	*ret = v;
	return 0;
}

struct reading {
	const struct ethtool_group *g;
	struct ethtool_values v;
	bool came;
};

static int take_answer(const struct nlmsghdr *h, void *arg)
{
	struct reading *r = arg;

	r->came = true;
	return ethtool_answer(r->g, h, &r->v);
}

static int call(const struct host_side *side, const char *dev, const struct ethtool_group *g,
		const struct ethtool_values *want, struct reading *ret, struct err *e)
{
	_cleanup_(netlink_release) struct netlink n = {};
	_cleanup_(netlink_msg_freep) struct nl_msg *m = NULL;
	char what[96];
	int r = netlink_open(&n, side, NETLINK_GENERIC, e), family;

	if (r < 0)
		return r;
	family = netlink_family(&n, ETHTOOL_GENL_NAME, e);
	if (family < 0)
		return family;
	r = ethtool_request(g, family, dev, want, &m, e);
	if (r < 0)
		return r;
	snprintf(what, sizeof(what), "%s %s of %s", want ? "set" : "read", g->what, dev);
	return netlink_call(&n, m, want ? NULL : take_answer, ret, what, e);
}

int ethtool_read_netlink(const struct host_side *side, const char *dev,
			 const struct ethtool_group *g, struct ethtool_values *ret, struct err *e)
{
	struct reading reading = { .g = g };
	int r = call(side, dev, g, NULL, &reading, e);

	if (r < 0)
		return r;
	if (!reading.came)
		return err_set(e, -EIO, "read %s of %s: the kernel did not answer", g->what, dev);
	*ret = reading.v;
	return 0;
}

int ethtool_write_netlink(const struct host_side *side, const char *dev,
			  const struct ethtool_group *g, const struct ethtool_values *want,
			  struct err *e)
{
	return call(side, dev, g, want, NULL, e);
}

static int open_ioctl(const struct host_side *side, const char *dev, struct ifreq *ifr,
		      struct err *e)
{
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", dev);
	return host_socket(side, AF_INET, SOCK_DGRAM, 0, e);
}

static int ask(int fd, const char *dev, const struct ethtool_group *g, struct ifreq *ifr,
	       struct err *e)
{
	return ioctl(fd, SIOCETHTOOL, ifr) < 0 ? err_sys(e, "read %s of %s", g->what, dev) : 0;
}

int ethtool_read_ioctl(const struct host_side *side, const char *dev, const struct ethtool_group *g,
		       struct ethtool_values *ret, struct err *e)
{
	uint32_t field[MAX_IOCTL_SIZE / sizeof(uint32_t)] = { g->ioctl_get };
	struct ifreq ifr = { .ifr_data = (char *)field };
	_cleanup_(close_fdp) int fd = open_ioctl(side, dev, &ifr, e);
	int r = fd < 0 ? fd : ask(fd, dev, g, &ifr, e);

	if (r < 0)
		return r;
	*ret = (struct ethtool_values){};
	for (size_t i = 0; g->params[i].name; i++) {
		if (g->params[i].offset == 0)
			continue;
		ret->v[i] = field[g->params[i].offset / sizeof(uint32_t)];
		if (g->params[i].is_switch)
			ret->v[i] = ret->v[i] != 0;
		ret->has |= UINT32_C(1) << i;
	}
	return 0;
}

int ethtool_write_ioctl(const struct host_side *side, const char *dev,
			const struct ethtool_group *g, const struct ethtool_values *want,
			struct err *e)
{
	uint32_t field[MAX_IOCTL_SIZE / sizeof(uint32_t)] = { g->ioctl_get };
	struct ifreq ifr = { .ifr_data = (char *)field };
	_cleanup_(close_fdp) int fd = open_ioctl(side, dev, &ifr, e);
	int r = fd < 0 ? fd : ask(fd, dev, g, &ifr, e);

	if (r < 0)
		return r;
	for (size_t i = 0; g->params[i].name; i++) {
		if (!(want->has >> i & 1))
			continue;
		if (g->params[i].offset == 0)
			return err_set(e, -EOPNOTSUPP,
				       "%s: %s can be set by netlink only, which this kernel does "
				       "not have for it",
				       dev, g->params[i].name);
		field[g->params[i].offset / sizeof(uint32_t)] = want->v[i];
	}
	field[0] = g->ioctl_set;
	return ioctl(fd, SIOCETHTOOL, &ifr) < 0 ? err_sys(e, "set %s of %s", g->what, dev) : 0;
}

/*
 * No family, or a message that this kernel's family does not know yet: then the ioctl.  A driver
 * without the group says EOPNOTSUPP to both.
 */
static bool wants_ioctl(int r)
{
	return r == -ENOENT || r == -EOPNOTSUPP;
}

int ethtool_read(const struct host_side *side, const char *dev, const struct ethtool_group *g,
		 struct ethtool_values *ret, struct err *e)
{
	struct err first = {};
	int r = ethtool_read_netlink(side, dev, g, ret, &first);

	if (r >= 0)
		return 0;
	if (wants_ioctl(r))
		return ethtool_read_ioctl(side, dev, g, ret, e);
	*e = first;
	return r;
}

int ethtool_write(const struct host_side *side, const char *dev, const struct ethtool_group *g,
		  const struct ethtool_values *want, struct err *e)
{
	struct ethtool_values now = {};
	struct err first = {}, second = {};
	int r = ethtool_write_netlink(side, dev, g, want, &first);

	if (r >= 0)
		return 0;
	/* EOPNOTSUPP of a device that can be read by netlink is about the value, and final */
	if (wants_ioctl(r) && ethtool_read_netlink(side, dev, g, &now, &second) < 0)
		return ethtool_write_ioctl(side, dev, g, want, e);
	*e = first;
	return r;
}
