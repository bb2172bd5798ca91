/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_NETDEV_FEATURES_H
#define VARIANT_NETDEV_FEATURES_H

/*
 * Offloads of a network device, by ETHTOOL_GFEATURES and ETHTOOL_SFEATURES.  Values: "on", "off",
 * or, where one word stands for several of the kernel's features that differ,
 * "tx-tcp-segmentation:on,...": so that the undo gives back each of them.
 */

#include <stddef.h>

struct err;
struct netdev_target;

/* A name as ethtool -K has it, and the kernel's features it covers (a pattern). */
struct netdev_feature {
	const char *name;
	const char *pattern;
};

/* In an order that works: what others need comes first. NULL behind the last. */
const struct netdev_feature *netdev_feature_at(size_t i);
const struct netdev_feature *netdev_feature_find(const char *name);
int netdev_feature_read(const struct netdev_target *t, const struct netdev_feature *f, char **ret,
			struct err *e);
/* -EOPNOTSUPP when the driver fixes it. */
int netdev_feature_write(const struct netdev_target *t, const struct netdev_feature *f,
			 const char *value, struct err *e);

#endif
