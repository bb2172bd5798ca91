/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_ETHTOOL_H
#define VARIANT_ETHTOOL_H

/*
 * Parameters of network devices that ethtool -C, -G, -L and -A show and set: by the netlink family
 * "ethtool" (Linux 5.6), else by the ioctl that came before.  A group is one such message pair with
 * its parameters in a table.
 * (Kernel: Documentation/networking/ethtool-netlink.rst, net/ethtool/, read at 6.18.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct host_side;
struct nl_msg;
struct nlmsghdr;

#define ETHTOOL_MAX_PARAMS 32

struct ethtool_param {
	const char *name; /* as ethtool has it: "rx-usecs" */
	uint16_t attr;	  /* in the netlink message */
	bool is_switch;	  /* on or off, a byte; else a number of 32 bits */
	uint16_t offset;  /* of the 32-bit field in the ioctl's structure; 0: it has none */
};

struct ethtool_group {
	const char *what; /* for messages: "interrupt coalescing" */
	uint8_t get, set; /* ETHTOOL_MSG_* */
	uint16_t stats;	  /* attribute with nested counters, 0: none */
	uint32_t ioctl_get, ioctl_set;
	size_t ioctl_size;
	const struct ethtool_param *params; /* at most ETHTOOL_MAX_PARAMS; ends with {} */
};

/* What a device has of a group, or what of it is to be set. */
struct ethtool_values {
	uint32_t has; /* bit i: parameter i */
	uint32_t v[ETHTOOL_MAX_PARAMS];
	bool has_stats;
	uint64_t stats; /* sum of the counters */
};

/* -EOPNOTSUPP: the driver has nothing of the group; -ENODEV: no such device. */
int ethtool_read(const struct host_side *side, const char *dev, const struct ethtool_group *g,
		 struct ethtool_values *ret, struct err *e);
/* Sets all of @want in one request. */
int ethtool_write(const struct host_side *side, const char *dev, const struct ethtool_group *g,
		  const struct ethtool_values *want, struct err *e);

/* The two ways, and the pure parts of the first; for the above and for tests. */
int ethtool_read_netlink(const struct host_side *side, const char *dev,
			 const struct ethtool_group *g, struct ethtool_values *ret, struct err *e);
int ethtool_write_netlink(const struct host_side *side, const char *dev,
			  const struct ethtool_group *g, const struct ethtool_values *want,
			  struct err *e);
int ethtool_read_ioctl(const struct host_side *side, const char *dev, const struct ethtool_group *g,
		       struct ethtool_values *ret, struct err *e);
int ethtool_write_ioctl(const struct host_side *side, const char *dev,
			const struct ethtool_group *g, const struct ethtool_values *want,
			struct err *e);
/* The request to set @want, or with NULL to ask. */
int ethtool_request(const struct ethtool_group *g, int family, const char *dev,
		    const struct ethtool_values *want, struct nl_msg **ret, struct err *e);
/* What an answer says. -EBADMSG: it is none. */
int ethtool_answer(const struct ethtool_group *g, const struct nlmsghdr *h,
		   struct ethtool_values *ret);

#endif
