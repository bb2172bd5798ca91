/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_NETDEV_H
#define VARIANT_NETDEV_H

/* What the knobs of network devices share: their names, their targets, their files. */

#include <net/if.h>
#include <stdbool.h>

struct err;
struct host;
struct host_side;

/* Longest driver name that is told, with its NUL. */
#define NETDEV_DRIVER_SIZE 32

/* A target "DEV REST", taken apart. */
struct netdev_target {
	char dev[IFNAMSIZ];
	const char *rest; /* borrowed from the text */
	const struct host_side *side;
};

/* Split "DEV REST"; -EINVAL without a name or without a rest. */
int netdev_target_parse(const struct host *host, const char *text, struct netdev_target *ret,
			struct err *e);
/* Does the target end with the run's own network namespaces? What knob_ops.ephemeral wants. */
bool netdev_ephemeral(const struct host *host, const char *target);
/* 0 when @dev is a name and such a netdev is there; -EINVAL, -ENOENT. */
int netdev_check(const struct host *host, const char *dev, struct err *e);
/* The root of a sysfs that shows @dev, or -ENOTSUP. Borrowed. */
int netdev_sys_root(const struct host_side *side, const char *dev, struct err *e);
/* "veth", "virtio_net"; "unknown" when nothing tells. For messages; errno stays. */
void netdev_driver(const struct host_side *side, const char *dev,
		   char ret[static NETDEV_DRIVER_SIZE]);
/* Its index in its namespace; -ENODEV. */
int netdev_index(const struct host_side *side, const char *dev, struct err *e);
/* A file below class/net/@dev as a line, as kfile_read_line() and kfile_write(). */
int netdev_file_read(const struct host_side *side, const char *dev, const char *file, char **ret,
		     struct err *e);
int netdev_file_write(const struct host_side *side, const char *dev, const char *file,
		      const char *value, struct err *e);

#endif
