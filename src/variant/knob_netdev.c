// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/procthread.h"

/*
 * Targets: "DEV threaded" and "DEV gro".  Values of features: "on", "off", or, where one word
 * stands for several of the kernel's features that differ, "tx-tcp-segmentation:on,...": so that
 * the undo gives back each of them.
 */

#define TEXT_HELP "on or off; not given: not touched"

static const char *const switch_words[] = { "off", "on",    "0",    "1", "no",
					    "yes", "false", "true", NULL };

/* Names as ethtool -K has them, and the kernel's features each covers (a pattern). */
static const struct feature {
	const char *name;
	const char *pattern;
} features[] = {
	/* what others need comes first: tso wants sg, sg wants tx-checksum */
	{ "rx-checksum", "rx-checksum" },
	{ "tx-checksum", "tx-checksum-*" },
	{ "sg", "tx-scatter-gather*" },
	{ "tso", "tx-tcp*-segmentation" },
	{ "gso", "tx-generic-segmentation" },
	{ "gro", "rx-gro" },
	{ "lro", "rx-lro" },
	{ "gro-hw", "rx-gro-hw" },
	{ "rx-vlan", "rx-vlan-hw-parse" },
	{ "tx-vlan", "tx-vlan-hw-insert" },
	{ "ntuple", "rx-ntuple-filter" },
	{ "rx-hash", "rx-hashing" },
};

struct netdev_cfg {
	struct str_list dev;
	int word[ARRAY_SIZE(features) + 1];
};

#define SWITCH(name, i, help)                                                                    \
	{                                                                                        \
		name, OPT_ENUM, offsetof(struct netdev_cfg, word) + (i) * sizeof(int), "", help, \
			0, 0, switch_words                                                       \
	}

static const struct opt netdev_options[] = {
	{ "dev", OPT_STRINGS, offsetof(struct netdev_cfg, dev), NULL,
	  "network devices such as eth0 or [eth0, eth1]" },
	SWITCH("rx-checksum", 0, "the device checks checksums of packets received"),
	SWITCH("tx-checksum", 1, "the device computes checksums of packets sent"),
	SWITCH("sg", 2, "the device gathers packets from pieces of memory"),
	SWITCH("tso", 3, "the device cuts TCP segments"),
	SWITCH("gso", 4, "the kernel cuts packets as late as it can"),
	SWITCH("gro", 5, "the kernel joins packets received"),
	SWITCH("lro", 6, "the device joins packets received"),
	SWITCH("gro-hw", 7, "the device joins packets received, reversibly"),
	SWITCH("rx-vlan", 8, "the device takes VLAN tags off"),
	SWITCH("tx-vlan", 9, "the device puts VLAN tags on"),
	SWITCH("ntuple", 10, "the device steers flows by filters"),
	SWITCH("rx-hash", 11, "the device hashes flows"),
	SWITCH("threaded", 12, "NAPI polls in threads of its own instead of softirqs"),
	{},
};

struct target {
	char dev[IFNAMSIZ];
	const struct feature *feature; /* NULL: threaded */
	const struct host_side *side;
};

static int parse_target(const struct host *host, const char *text, struct target *ret,
			struct err *e)
{
	const char *what = strrchr(text, ' ');
	struct target t = {};
	size_t len = what ? (size_t)(what - text) : 0;

	if (len == 0 || len >= sizeof(t.dev))
		return err_set(e, -EINVAL, "target \"%s\" is not DEV SETTING", text);
	memcpy(t.dev, text, len);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (strcmp(features[i].name, what + 1) == 0)
			t.feature = &features[i];
	if (!t.feature && strcmp(what + 1, "threaded") != 0)
		return err_set(e, -EINVAL, "target \"%s\": no such setting", text);
	t.side = host_side_of(host, t.dev);
	*ret = t;
	return 0;
}

/* What the kernel says of a device's features. */
struct state {
	int fd;
	size_t nr;
	struct ethtool_gstrings *names;
	struct ethtool_gfeatures *blocks;
};

static void state_release(struct state *s)
{
	close_fdp(&s->fd);
	free(s->names);
	free(s->blocks);
	*s = (struct state){ .fd = -1 };
}

static int ethtool(int fd, const char *dev, void *cmd, const char *what, struct err *e)
{
	struct ifreq ifr = { .ifr_data = cmd };
	int r;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	r = ioctl(fd, SIOCETHTOOL, &ifr);
	return r < 0 ? err_sys(e, "%s: %s", dev, what) : r;
}

static size_t nr_blocks(size_t nr)
{
	return (nr + 31) / 32;
}

static int load_names(struct state *s, const char *dev, struct err *e)
{
	/* the answer holds one number behind the head */
	_cleanup_(freep) struct ethtool_sset_info *info =
		calloc(1, sizeof(*info) + sizeof(uint32_t));
	int r;

	if (!info)
		return err_nomem(e, dev);
	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1 << ETH_SS_FEATURES;
	r = ethtool(s->fd, dev, info, "number of features", e);
	if (r < 0)
		return r;
	s->nr = info->sset_mask ? info->data[0] : 0;
	s->names = calloc(1, sizeof(*s->names) + s->nr * ETH_GSTRING_LEN);
	if (!s->names)
		return err_nomem(e, dev);
	s->names->cmd = ETHTOOL_GSTRINGS;
	s->names->string_set = ETH_SS_FEATURES;
	s->names->len = (uint32_t)s->nr;
	return ethtool(s->fd, dev, s->names, "names of features", e);
}

static int state_load(struct state *ret, const struct target *t, struct err *e)
{
	_cleanup_(state_release) struct state s = { .fd = -1 };
	int r;

	s.fd = host_socket(t->side, AF_INET, SOCK_DGRAM, 0, e);
	if (s.fd < 0)
		return s.fd;
	r = load_names(&s, t->dev, e);
	if (r < 0)
		return r;
	s.blocks = calloc(1, sizeof(*s.blocks) +
				     nr_blocks(s.nr) * sizeof(struct ethtool_get_features_block));
	if (!s.blocks)
		return err_nomem(e, t->dev);
	s.blocks->cmd = ETHTOOL_GFEATURES;
	s.blocks->size = (uint32_t)nr_blocks(s.nr);
	r = ethtool(s.fd, t->dev, s.blocks, "features", e);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct state){ .fd = -1 };
	return 0;
}

static const char *name_of(const struct state *s, size_t i)
{
	return (const char *)s->names->data + i * ETH_GSTRING_LEN;
}

static bool covers(const struct feature *f, const struct state *s, size_t i)
{
	return fnmatch(f->pattern, name_of(s, i), 0) == 0;
}

static bool is_changeable(const struct state *s, size_t i)
{
	const struct ethtool_get_features_block *b = &s->blocks->features[i / 32];

	return (b->available & ~b->never_changed) >> (i % 32) & 1;
}

static bool is_active(const struct state *s, size_t i)
{
	return s->blocks->features[i / 32].active >> (i % 32) & 1;
}

/* "on", "off" or the list; features that the driver fixes count only when there is no other. */
static int format_feature(const struct state *s, const struct target *t, struct buf *out,
			  struct err *e)
{
	_cleanup_(buf_release) struct buf mixed = {};
	size_t on[2] = {}, off[2] = {}; /* [0] fixed, [1] changeable */
	size_t kind;

	for (size_t i = 0; i < s->nr; i++) {
		if (!covers(t->feature, s, i))
			continue;
		kind = is_changeable(s, i);
		*(is_active(s, i) ? &on[kind] : &off[kind]) += 1;
		if (kind)
			buf_printf(&mixed, "%s%s:%s", mixed.len ? "," : "", name_of(s, i),
				   is_active(s, i) ? "on" : "off");
	}
	kind = on[1] + off[1] > 0;
	if (on[kind] + off[kind] == 0)
		return err_set(e, -ENOTSUP, "%s: this kernel has no feature %s", t->dev,
			       t->feature->name);
	if (kind && on[1] && off[1])
		return buf_puts(out, buf_str(&mixed));
	return buf_puts(out, on[kind] ? "on" : "off");
}

static int read_feature(const struct target *t, char **ret, struct err *e)
{
	_cleanup_(state_release) struct state s = { .fd = -1 };
	_cleanup_(buf_release) struct buf b = {};
	int r = state_load(&s, t, e);

	if (r >= 0)
		r = format_feature(&s, t, &b, e);
	if (r < 0)
		return r;
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, t->dev);
}

/* What @value says of feature @name: 1 on, 0 off, -1 nothing. */
static int wanted(const char *value, const char *name)
{
	size_t len = strlen(name);
	bool on = false;

	if (text_bool(value, &on) == 0)
		return on;
	for (const char *p = value; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, name, len) == 0 && p[len] == ':')
			return strncmp(p + len + 1, "on", 2) == 0;
	}
	return -1;
}

static int write_feature(const struct target *t, const char *value, struct err *e)
{
	_cleanup_(state_release) struct state s = { .fd = -1 };
	_cleanup_(freep) struct ethtool_sfeatures *set = NULL;
	size_t asked = 0;
	int r = state_load(&s, t, e);

	if (r < 0)
		return r;
	set = calloc(1, sizeof(*set) + nr_blocks(s.nr) * sizeof(struct ethtool_set_features_block));
	if (!set)
		return err_nomem(e, t->dev);
	set->cmd = ETHTOOL_SFEATURES;
	set->size = (uint32_t)nr_blocks(s.nr);
	for (size_t i = 0; i < s.nr; i++) {
		int on = covers(t->feature, &s, i) && is_changeable(&s, i)
				 ? wanted(value, name_of(&s, i))
				 : -1;

		if (on < 0)
			continue;
		asked++;
		set->features[i / 32].valid |= UINT32_C(1) << (i % 32);
		set->features[i / 32].requested |= (uint32_t)on << (i % 32);
	}
	if (asked == 0)
		return err_set(e, -EOPNOTSUPP, "%s: %s cannot be changed: its driver fixes it",
			       t->dev, t->feature->name);
	r = ethtool(s.fd, t->dev, set, "set features", e);
	return r < 0 ? err_wrap(e, "%s", t->feature->name) : 0;
}

static void threaded_path(const struct target *t, char path[static 64])
{
	snprintf(path, 64, "class/net/%s/threaded", t->dev);
}

static int threaded_root(const struct target *t, struct err *e)
{
	if (t->side->sys_fd < 0)
		return err_set(e, -ENOTSUP,
			       "%s: no sysfs shows its network namespace, so threaded "
			       "cannot be reached",
			       t->dev);
	return t->side->sys_fd;
}

static int netdev_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct target t = {};
	char path[64];
	int r = parse_target(host, target, &t, e), root;

	if (r < 0)
		return r;
	if (t.feature)
		return read_feature(&t, ret, e);
	threaded_path(&t, path);
	root = threaded_root(&t, e);
	return root < 0 ? root : kfile_read_line(root, path, ret, e);
}

static int netdev_write(const struct host *host, const char *target, const char *value,
			struct err *e)
{
	struct target t = {};
	char path[64];
	int r = parse_target(host, target, &t, e), root;

	if (r < 0)
		return r;
	if (t.feature)
		return write_feature(&t, value, e);
	threaded_path(&t, path);
	root = threaded_root(&t, e);
	if (root < 0)
		return root;
	r = kfile_write(root, path, value, e);
	if (r == -EOPNOTSUPP)
		return err_set(e, r,
			       "no effect is possible: %s has no NAPI to put into a thread; its "
			       "driver has none, it is down, or, for a veth, it has gro off",
			       t.dev);
	return r;
}

static int add_word(struct knob_settings *l, const char *dev, const char *what, const char *value,
		    struct err *e)
{
	char target[64];

	snprintf(target, sizeof(target), "%s %s", dev, what);
	return knob_settings_add(l, target, value, e);
}

static int check_dev(const struct host *host, const char *dev, struct err *e)
{
	const struct host_side *side = host_side_of(host, dev);
	char path[64];

	if (strlen(dev) >= IFNAMSIZ || strpbrk(dev, "/ ") || dev[0] == '\0')
		return err_set(e, -EINVAL, "dev \"%s\" is not a name of a network device", dev);
	snprintf(path, sizeof(path), "class/net/%s", dev);
	if (side->sys_fd >= 0 && faccessat(side->sys_fd, path, F_OK, 0) < 0)
		return err_set(e, -ENOENT, "there is no network device %s (ip link lists them)",
			       dev);
	return 0;
}

static int resolve_cfg(const struct host *host, const struct instance *inst,
		       const struct netdev_cfg *cfg, struct knob_settings *l, struct err *e)
{
	const int *threaded = &cfg->word[ARRAY_SIZE(features)];
	int r = 0;

	if (inst->nr_settings < 2 || cfg->dev.nr == 0)
		return err_set(e, -EINVAL,
			       "needs a device and a setting, such as { dev: eth0, gro: on }");
	for (size_t i = 0; i < cfg->dev.nr && r >= 0; i++)
		r = check_dev(host, cfg->dev.v[i], e);
	for (size_t i = 0; i < cfg->dev.nr && r >= 0; i++)
		for (size_t k = 0; k < ARRAY_SIZE(features) && r >= 0; k++)
			if (instance_value(inst, features[k].name))
				r = add_word(l, cfg->dev.v[i], features[k].name,
					     cfg->word[k] & 1 ? "on" : "off", e);
	/* last: whether a device has NAPI at all may depend on its features */
	for (size_t i = 0; i < cfg->dev.nr && r >= 0; i++)
		if (instance_value(inst, "threaded"))
			r = add_word(l, cfg->dev.v[i], "threaded", *threaded & 1 ? "1" : "0", e);
	return r;
}

static int netdev_resolve(const struct host *host, const struct instance *inst,
			  struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct netdev_cfg cfg = {};
	int r = instance_parse(inst, netdev_options, &cfg, e);

	if (r < 0)
		return r;
	r = resolve_cfg(host, inst, &cfg, &l, e);
	opt_release(netdev_options, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

static bool netdev_same(const char *a, const char *b)
{
	bool x = false, y = false;

	if (text_bool(a, &x) < 0 || text_bool(b, &y) < 0)
		return strcmp(a, b) == 0;
	return x == y;
}

static bool netdev_ephemeral(const struct host *host, const char *target)
{
	struct target t = {};
	struct err ignored = {};

	return parse_target(host, target, &t, &ignored) >= 0 && t.side->netns_fd >= 0;
}

/* "napi/DEV-ID", cut to 15 bytes before Linux 5.17. */
static bool is_napi_of(const struct procthread *t, const char *prefix)
{
	size_t len = strlen(prefix);

	if (!t->kernel)
		return false;
	if (strlen(t->comm) == 15 && len > 15)
		len = 15;
	return strncmp(t->comm, prefix, len) == 0;
}

/* Run time of the device's NAPI threads together, or switches where run time is not counted. */
static int napi_effort(const struct host *host, const char *dev, bool runtime, uint64_t *ret,
		       struct err *e)
{
	_cleanup_(procthreads_release) struct procthreads l = {};
	char prefix[IFNAMSIZ + 8];
	uint64_t sum = 0;
	int r = procthreads_list(host->proc_fd, false, &l, e);

	if (r < 0)
		return r;
	snprintf(prefix, sizeof(prefix), "napi/%s-", dev);
	for (size_t i = 0; i < l.nr; i++) {
		uint64_t v = 0;

		if (!is_napi_of(&l.v[i], prefix))
			continue;
		r = runtime ? procthread_runtime_ns(host->proc_fd, l.v[i].tid, &v, e)
			    : procthread_switches(host->proc_fd, l.v[i].tid, &v, e);
		if (r < 0 && r != -ESRCH)
			return r;
		sum += v;
	}
	*ret = sum;
	return 0;
}

static int netdev_witness(const struct host *host, const char *target, struct witness *ret,
			  struct err *e)
{
	_cleanup_(freep) char *now = NULL;
	bool runtime = procthread_counts_runtime(host->proc_fd);
	struct witness w = { .min_effect = runtime ? NS_PER_MS : 10,
			     .min_demand = 1000,
			     .remedy = "a veth polls in its thread only when it has gro on and its "
				       "peer has tso and gso off" };
	struct target t = {};
	char path[96];
	int r = parse_target(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.feature)
		return -ENOENT;
	r = netdev_read(host, target, &now, e);
	if (r < 0)
		return r;
	if (strcmp(now, "0") == 0)
		return -ENOENT;
	snprintf(path, sizeof(path), "class/net/%s/statistics/rx_packets", t.dev);
	r = kfile_read_u64(t.side->sys_fd, path, &w.demand, e);
	if (r >= 0)
		r = napi_effort(host, t.dev, runtime, &w.effect, e);
	if (r < 0)
		return r;
	snprintf(w.what, sizeof(w.what),
		 runtime ? "run time of napi/%s-*" : "context switches of napi/%s-*", t.dev);
	w.is_ns = runtime;
	snprintf(w.of, sizeof(w.of), "rx_packets of %s", t.dev);
	*ret = w;
	return 0;
}

static int netdev_usable(const struct host *host, struct err *why)
{
	return knob_needs_cap(host, CAP_NET_ADMIN, "CAP_NET_ADMIN", why);
}

const struct knob_ops knob_netdev = {
	.plugin = { .name = "netdev",
		    .help = "offloads and threaded NAPI of network devices",
		    .options = netdev_options },
	.usable = netdev_usable,
	.resolve = netdev_resolve,
	.read = netdev_read,
	.write = netdev_write,
	.witness = netdev_witness,
	.same = netdev_same,
	.ephemeral = netdev_ephemeral,
};
