// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/opt.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev.h"
#include "variant/netlink.h"
#include "variant/qdisc.h"

/*
 * The root qdisc.  Target: "DEV root"; value: qdisc.h.  The qdisc that a device has by itself has
 * handle 0 and comes back when what was set is deleted.  What could not be given back is not
 * replaced: kinds and parameters that are not in the table, qdiscs set below the root, filters.
 */

struct qdisc_cfg {
	struct str_list dev;
	char *root;
};

static const struct opt qdisc_options_rows[] = {
	{ "dev", OPT_STRINGS, offsetof(struct qdisc_cfg, dev), NULL,
	  "network devices such as eth0 or [eth0, eth1]" },
	{ "root", OPT_STRING, offsetof(struct qdisc_cfg, root), NULL,
	  "kind and parameters as tc has them, \"fq quantum 3000\"; default: the kernel's own" },
	{},
};

static int parse_target(const struct host *host, const char *text, struct netdev_target *ret,
			struct err *e)
{
	int r = netdev_target_parse(host, text, ret, e);

	if (r >= 0 && strcmp(ret->rest, "root") != 0)
		return err_set(e, -EINVAL, "target \"%s\" is not DEV root", text);
	return r;
}

static int new_request(int type, int flags, const struct tcmsg *tc, struct nl_msg **ret,
		       struct err *e)
{
	_cleanup_(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc_simple(type, flags);

	if (!m || nlmsg_append(m, (void *)(uintptr_t)tc, sizeof(*tc), NLMSG_ALIGNTO) < 0)
		return err_nomem(e, "qdisc");
	*ret = take_ptr(m);
	return 0;
}

/* What a dump says of one device. */
struct look {
	int ifindex;
	bool found;
	char kind[32];
	char leaf[16]; /* of a queue that got its qdisc by itself */
	struct qdisc root;
	size_t children; /* set by somebody */
	size_t filters;
	bool has_packets;
	uint64_t packets;
	int r;
	struct err *e;
};

static void take_stats(struct look *l, const struct nlattr *stats)
{
	struct nlattr *wide = nla_find(nla_data(stats), nla_len(stats), TCA_STATS_PKT64);
	struct nlattr *basic = nla_find(nla_data(stats), nla_len(stats), TCA_STATS_BASIC);
	struct gnet_stats_basic b;

	if (wide && nla_len(wide) == sizeof(uint64_t)) {
		l->packets = nla_get_u64(wide);
		l->has_packets = true;
	} else if (basic && nla_len(basic) >= (int)(sizeof(b.bytes) + sizeof(b.packets))) {
		memcpy(&b, nla_data(basic), sizeof(b.bytes) + sizeof(b.packets));
		l->packets = b.packets;
		l->has_packets = true;
	}
}

static bool take_kind(const struct nlmsghdr *h, char *ret, size_t size)
{
	struct nlattr *kind =
		nlmsg_find_attr((struct nlmsghdr *)(uintptr_t)h, sizeof(struct tcmsg), TCA_KIND);

	if (kind)
		snprintf(ret, size, "%.*s", (int)strnlen(nla_data(kind), (size_t)nla_len(kind)),
			 (char *)nla_data(kind));
	return kind;
}

static int take_root(struct look *l, const struct nlmsghdr *h, const struct tcmsg *tc)
{
	struct nlmsghdr *msg = (struct nlmsghdr *)(uintptr_t)h;
	struct nlattr *stats = nlmsg_find_attr(msg, sizeof(*tc), TCA_STATS2);

	if (!take_kind(h, l->kind, sizeof(l->kind)))
		return 0;
	l->found = true;
	l->root = (struct qdisc){ .kind = qdisc_kind_find(l->kind),
				  .handle = tc->tcm_handle,
				  .is_default = tc->tcm_handle == 0 };
	if (stats)
		take_stats(l, stats);
	if (!l->root.kind || l->root.is_default)
		return 0;
	return qdisc_options(&l->root, nlmsg_find_attr(msg, sizeof(*tc), TCA_OPTIONS), l->e);
}

static int take_qdisc(const struct nlmsghdr *h, void *arg)
{
	struct look *l = arg;
	struct tcmsg tc;

	if (h->nlmsg_type != RTM_NEWQDISC || h->nlmsg_len < NLMSG_HDRLEN + sizeof(tc))
		return 0;
	memcpy(&tc, nlmsg_data(h), sizeof(tc));
	if (tc.tcm_ifindex != l->ifindex)
		return 0;
	if (tc.tcm_parent == TC_H_ROOT)
		l->r = take_root(l, h, &tc);
	else if (tc.tcm_parent != TC_H_INGRESS && tc.tcm_handle != 0)
		l->children++;
	else if (tc.tcm_parent != TC_H_INGRESS)
		take_kind(h, l->leaf, sizeof(l->leaf));
	return l->r;
}

static int take_filter(const struct nlmsghdr *h, void *arg)
{
	struct look *l = arg;

	l->filters += h->nlmsg_type == RTM_NEWTFILTER;
	return 0;
}

/* A refusal of our own reading stands before netlink_call()'s. */
static int look(const struct netdev_target *t, struct look *l, struct err *e)
{
	_cleanup_(netlink_release) struct netlink n = {};
	_cleanup_(netlink_msg_freep) struct nl_msg *ask = NULL, *filters = NULL;
	struct tcmsg tc = { .tcm_family = AF_UNSPEC };
	struct err call = {};
	int r = netdev_index(t->side, t->dev, e);

	if (r < 0)
		return r;
	l->ifindex = tc.tcm_ifindex = r;
	l->e = e;
	r = netlink_open(&n, t->side, NETLINK_ROUTE, e);
	if (r >= 0)
		r = new_request(RTM_GETQDISC, NLM_F_DUMP, &tc, &ask, e);
	if (r >= 0)
		r = new_request(RTM_GETTFILTER, NLM_F_DUMP, &tc, &filters, e);
	if (r < 0)
		return r;
	r = netlink_call(&n, ask, take_qdisc, l, "read qdiscs", &call);
	if (l->r < 0)
		return l->r;
	if (r >= 0)
		r = netlink_call(&n, filters, take_filter, l, "read filters", &call);
	if (r < 0)
		*e = call;
	if (l->found && strcmp(l->kind, "mq") == 0)
		memcpy(l->root.leaf, l->leaf, sizeof(l->leaf));
	return r;
}

static int check(const struct netdev_target *t, const struct look *l, struct err *e)
{
	if (!l->found)
		return err_set(e, -EINVAL,
			       "%s has no root qdisc: take it up (ip link set %s up), it gets one "
			       "then",
			       t->dev, t->dev);
	if (!l->root.kind)
		return err_set(e, -EINVAL,
			       "%s has qdisc %s, which irqlab could not give back: replace it by "
			       "hand (tc qdisc) for the time of the run",
			       t->dev, l->kind);
	if (l->children || l->filters)
		return err_set(
			e, -EINVAL,
			"%s has %zu qdiscs below its root and %zu filters there, which would "
			"be lost with it: remove them by hand for the time of the run",
			t->dev, l->children, l->filters);
	return 0;
}

static int qdisc_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct netdev_target t = {};
	struct look l = {};
	int r = parse_target(host, target, &t, e);

	if (r >= 0)
		r = look(&t, &l, e);
	if (r >= 0)
		r = check(&t, &l, e);
	return r < 0 ? r : qdisc_format(&l.root, ret, e);
}

static int refuse(const struct netdev_target *t, const struct qdisc *q, int r, struct err *e)
{
	char driver[NETDEV_DRIVER_SIZE], why[sizeof(e->msg)];

	if (r == -ENOENT)
		return err_set(
			e, -EINVAL,
			"this kernel has no qdisc %s: load its module (modprobe sch_%s) or use a "
			"kernel with CONFIG_%s",
			q->kind->name, q->kind->name, q->kind->config);
	netdev_driver(t->side, t->dev, driver);
	snprintf(why, sizeof(why), "%s", e->msg);
	return err_set(e, r == -EOPNOTSUPP ? -EINVAL : r, "%.800s; driver %s", why, driver);
}

/*
 * What a device has by itself it got from net.core.default_qdisc of that time, and gets from
 * today's when it is given back.  Another network namespace than the first does not show the
 * sysctl.
 */
static int check_default(const struct host *host, const struct netdev_target *t,
			 const struct look *now, struct err *e)
{
	const char *kind = now->root.leaf[0]	  ? now->root.leaf
			   : now->root.is_default ? now->kind
						  : "noqueue";
	_cleanup_(freep) char *today = NULL;
	struct err unseen = {};

	if (!now->found || strcmp(kind, "noqueue") == 0 ||
	    kfile_read_line(host->proc_fd, "sys/net/core/default_qdisc", &today, &unseen) < 0 ||
	    strcmp(kind, today) == 0)
		return 0;
	return err_set(
		e, -EINVAL,
		"%s has %s by itself, from before net.core.default_qdisc became %s: the undo "
		"would give it %s; set default_qdisc back for the time of the run",
		t->dev, kind, today, today);
}

static int delete_root(struct netlink *n, const struct netdev_target *t, int ifindex, struct err *e)
{
	_cleanup_(netlink_msg_freep) struct nl_msg *m = NULL;
	struct tcmsg tc = { .tcm_ifindex = ifindex, .tcm_parent = TC_H_ROOT };
	char what[64];
	int r = new_request(RTM_DELQDISC, NLM_F_REQUEST, &tc, &m, e);

	snprintf(what, sizeof(what), "delete the root qdisc of %s", t->dev);
	return r < 0 ? r : netlink_call(n, m, NULL, NULL, what, e);
}

static int replace_root(struct netlink *n, const struct netdev_target *t, int ifindex,
			const struct qdisc *q, struct err *e)
{
	_cleanup_(netlink_msg_freep) struct nl_msg *m = NULL;
	struct tcmsg tc = { .tcm_ifindex = ifindex,
			    .tcm_parent = TC_H_ROOT,
			    .tcm_handle = q->handle };
	char what[96];
	int r = new_request(RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE, &tc, &m, e);

	if (r < 0)
		return r;
	if (nla_put_string(m, TCA_KIND, q->kind->name) < 0 || qdisc_put_options(m, q) < 0)
		return err_nomem(e, t->dev);
	snprintf(what, sizeof(what), "set qdisc %s of %s", q->kind->name, t->dev);
	r = netlink_call(n, m, NULL, NULL, what, e);
	return r < 0 ? refuse(t, q, r, e) : 0;
}

static int qdisc_write(const struct host *host, const char *target, const char *value,
		       struct err *e)
{
	_cleanup_(netlink_release) struct netlink n = {};
	struct netdev_target t = {};
	struct qdisc q = {};
	struct look now = {};
	int r = parse_target(host, target, &t, e);

	if (r >= 0)
		r = qdisc_parse(value, &q, e);
	if (r >= 0)
		r = look(&t, &now, e);
	if (r >= 0 && !q.handle && !q.is_default)
		r = check_default(host, &t, &now, e);
	if (r >= 0)
		r = netlink_open(&n, t.side, NETLINK_ROUTE, e);
	if (r < 0)
		return r;
	/* the same one would keep the parameters that an older state of it does not have */
	if (now.found && now.root.handle && (q.is_default || now.root.handle == q.handle))
		r = delete_root(&n, &t, now.ifindex, e);
	return r < 0 || q.is_default ? r : replace_root(&n, &t, now.ifindex, &q, e);
}

static int qdisc_resolve(const struct host *host, const struct instance *inst,
			 struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	_cleanup_(freep) char *value = NULL;
	struct qdisc_cfg cfg = {};
	struct qdisc q = {};
	int r = instance_parse(inst, qdisc_options_rows, &cfg, e);

	if (r < 0)
		return r;
	r = qdisc_parse(cfg.root, &q, e);
	if (r >= 0 && (q.handle || q.leaf[0]))
		r = err_set(e, -EINVAL,
			    "root \"%s\": the kernel chooses handles and what mq is of: leave "
			    "them out",
			    cfg.root);
	if (r >= 0 && cfg.dev.nr == 0)
		r = err_set(e, -EINVAL, "dev is empty: name a network device");
	if (r >= 0)
		r = qdisc_format(&q, &value, e);
	for (size_t i = 0; i < cfg.dev.nr && r >= 0; i++) {
		char target[IFNAMSIZ + 8];

		r = netdev_check(host, cfg.dev.v[i], e);
		snprintf(target, sizeof(target), "%.15s root", cfg.dev.v[i]);
		if (r >= 0)
			r = knob_settings_add(&l, target, value, e);
	}
	opt_release(qdisc_options_rows, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

static int qdisc_witness(const struct host *host, const char *target, struct witness *ret,
			 struct err *e)
{
	struct witness w = { .min_effect = 100,
			     .min_demand = 1000,
			     .remedy = "the packets went round it (XDP, or a socket with "
				       "PACKET_QDISC_BYPASS)" };
	struct netdev_target t = {};
	struct look l = {};
	char path[96];
	int root, r = parse_target(host, target, &t, e);

	if (r >= 0)
		r = look(&t, &l, e);
	if (r < 0)
		return r;
	if (!l.found || !l.has_packets || strcmp(l.kind, "noqueue") == 0)
		return -ENOENT;
	root = netdev_sys_root(t.side, t.dev, e);
	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "class/net/%s/statistics/tx_packets", t.dev);
	r = kfile_read_u64(root, path, &w.demand, e);
	if (r < 0)
		return r;
	w.effect = l.packets;
	snprintf(w.what, sizeof(w.what), "packets through qdisc %s of %s", l.kind, t.dev);
	snprintf(w.of, sizeof(w.of), "tx_packets of %s", t.dev);
	*ret = w;
	return 0;
}

static int qdisc_usable(const struct host *host, struct err *why)
{
	return knob_needs_cap(host, CAP_NET_ADMIN, "CAP_NET_ADMIN", why);
}

const struct knob_ops knob_qdisc = {
	.plugin = { .name = "qdisc",
		    .help = "root queueing discipline of network devices (tc)",
		    .options = qdisc_options_rows },
	.usable = qdisc_usable,
	.resolve = qdisc_resolve,
	.read = qdisc_read,
	.write = qdisc_write,
	.witness = qdisc_witness,
	.same = qdisc_same,
	.ephemeral = netdev_ephemeral,
};
