// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/netdev_features.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"
#include "variant/netdev.h"

/* Names as ethtool -K has them, and the kernel's features each covers (a pattern). */
static const struct netdev_feature features[] = {
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

const struct netdev_feature *netdev_feature_at(size_t i)
{
	return i < ARRAY_SIZE(features) ? &features[i] : NULL;
}

const struct netdev_feature *netdev_feature_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (strcmp(features[i].name, name) == 0)
			return &features[i];
	return NULL;
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

static int state_load(struct state *ret, const struct netdev_target *t, struct err *e)
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

static bool covers(const struct netdev_feature *f, const struct state *s, size_t i)
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
static int format_feature(const struct state *s, const struct netdev_target *t,
			  const struct netdev_feature *f, struct buf *out, struct err *e)
{
	_cleanup_(buf_release) struct buf mixed = {};
	size_t on[2] = {}, off[2] = {}; /* [0] fixed, [1] changeable */
	size_t kind;

	for (size_t i = 0; i < s->nr; i++) {
		if (!covers(f, s, i))
			continue;
		kind = is_changeable(s, i);
		*(is_active(s, i) ? &on[kind] : &off[kind]) += 1;
		if (kind)
			buf_printf(&mixed, "%s%s:%s", mixed.len ? "," : "", name_of(s, i),
				   is_active(s, i) ? "on" : "off");
	}
	kind = on[1] + off[1] > 0;
	if (on[kind] + off[kind] == 0)
		return err_set(e, -ENOTSUP, "%s: this kernel has no feature %s", t->dev, f->name);
	if (kind && on[1] && off[1])
		return buf_puts(out, buf_str(&mixed));
	return buf_puts(out, on[kind] ? "on" : "off");
}

int netdev_feature_read(const struct netdev_target *t, const struct netdev_feature *f, char **ret,
			struct err *e)
{
	_cleanup_(state_release) struct state s = { .fd = -1 };
	_cleanup_(buf_release) struct buf b = {};
	int r = state_load(&s, t, e);

	if (r >= 0)
		r = format_feature(&s, t, f, &b, e);
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

static int refuse_fixed(const struct netdev_target *t, const struct netdev_feature *f,
			struct err *e)
{
	char driver[NETDEV_DRIVER_SIZE];

	netdev_driver(t->side, t->dev, driver);
	return err_set(e, -EOPNOTSUPP,
		       "%s: %s cannot be changed: its driver fixes it (%s); leave it out", t->dev,
		       f->name, driver);
}

int netdev_feature_write(const struct netdev_target *t, const struct netdev_feature *f,
			 const char *value, struct err *e)
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
		int on = covers(f, &s, i) && is_changeable(&s, i) ? wanted(value, name_of(&s, i))
								  : -1;

		if (on < 0)
			continue;
		asked++;
		set->features[i / 32].valid |= UINT32_C(1) << (i % 32);
		set->features[i / 32].requested |= (uint32_t)on << (i % 32);
	}
	if (asked == 0)
		return refuse_fixed(t, f, e);
	r = ethtool(s.fd, t->dev, set, "set features", e);
	return r < 0 ? err_wrap(e, "%s", f->name) : 0;
}
