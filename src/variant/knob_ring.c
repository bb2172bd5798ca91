// SPDX-License-Identifier: GPL-3.0-or-later
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>

#include "variant/ethtool_knob.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev.h"

/*
 * Sizes of the rings between driver and device, as ethtool -G.  Many drivers take the link down for
 * a moment to change them.  Nothing counts the effect: packets dropped for want of a descriptor are
 * in counters whose names differ with each driver.
 */

/* Behind the last attributes that the headers of Linux 6.1 know. */
#define ATTR_RX_PUSH 14
#define ATTR_TX_PUSH_BUF_LEN 15

#define AT(field) offsetof(struct ethtool_ringparam, field)

#define RING_PARAMS(NUMBER, SWITCH)                                                             \
	NUMBER("rx", ETHTOOL_A_RINGS_RX, AT(rx_pending), "packets a receive ring holds")        \
	NUMBER("rx-mini", ETHTOOL_A_RINGS_RX_MINI, AT(rx_mini_pending),                         \
	       "packets a receive ring for small ones holds")                                   \
	NUMBER("rx-jumbo", ETHTOOL_A_RINGS_RX_JUMBO, AT(rx_jumbo_pending),                      \
	       "packets a receive ring for large ones holds")                                   \
	NUMBER("tx", ETHTOOL_A_RINGS_TX, AT(tx_pending), "packets a transmit ring holds")       \
	NUMBER("rx-buf-len", ETHTOOL_A_RINGS_RX_BUF_LEN, 0, "size of a receive buffer [bytes]") \
	NUMBER("cqe-size", ETHTOOL_A_RINGS_CQE_SIZE, 0, "size of a completion entry [bytes]")   \
	SWITCH("tx-push", ETHTOOL_A_RINGS_TX_PUSH, 0,                                           \
	       "descriptors to send are pushed into the device's memory")                       \
	SWITCH("rx-push", ATTR_RX_PUSH, 0,                                                      \
	       "descriptors to receive are pushed into the device's memory")                    \
	NUMBER("tx-push-buf-len", ATTR_TX_PUSH_BUF_LEN, 0,                                      \
	       "bytes of a packet that are pushed with it")

static const struct ethtool_param ring_params[] = {
	RING_PARAMS(ETHTOOL_NUMBER_PARAM, ETHTOOL_SWITCH_PARAM){},
};

static const struct opt ring_options[] = {
	ETHTOOL_ROW_DEV,
	RING_PARAMS(ETHTOOL_NUMBER_ROW, ETHTOOL_SWITCH_ROW){},
};

static const struct ethtool_group ring_group = {
	.what = "ring sizes",
	.get = ETHTOOL_MSG_RINGS_GET,
	.set = ETHTOOL_MSG_RINGS_SET,
	.ioctl_get = ETHTOOL_GRINGPARAM,
	.ioctl_set = ETHTOOL_SRINGPARAM,
	.ioctl_size = sizeof(struct ethtool_ringparam),
	.params = ring_params,
};

const struct ethtool_group *ring_group_of(void)
{
	return &ring_group;
}

static int ring_resolve(const struct host *host, const struct instance *inst,
			struct knob_settings *ret, struct err *e)
{
	return ethtool_knob_resolve(host, inst, &ring_group, ring_options, ret, e);
}

static int ring_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	return ethtool_knob_read(host, target, &ring_group, ret, e);
}

static int ring_write(const struct host *host, const char *target, const char *value, struct err *e)
{
	return ethtool_knob_write(host, target, value, &ring_group, e);
}

const struct knob_ops knob_ring = {
	.plugin = { .name = "ring",
		    .help = "ring sizes of network devices (ethtool -G)",
		    .options = ring_options },
	.usable = ethtool_knob_usable,
	.resolve = ring_resolve,
	.read = ring_read,
	.write = ring_write,
	.ephemeral = netdev_ephemeral,
};
