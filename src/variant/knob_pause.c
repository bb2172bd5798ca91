// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <stdio.h>

#include "variant/ethtool_knob.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev.h"

/* Pause frames, as ethtool -A.  Setting them may renegotiate the link. */

#define AT(field) offsetof(struct ethtool_pauseparam, field)

#define PAUSE_PARAMS(NUMBER, SWITCH)                                                       \
	SWITCH("autoneg", ETHTOOL_A_PAUSE_AUTONEG, AT(autoneg),                            \
	       "both ends agree on who may pause whom")                                    \
	SWITCH("rx", ETHTOOL_A_PAUSE_RX, AT(rx_pause), "pause frames received are obeyed") \
	SWITCH("tx", ETHTOOL_A_PAUSE_TX, AT(tx_pause), "pause frames are sent when the ring fills")

static const struct ethtool_param pause_params[] = {
	PAUSE_PARAMS(ETHTOOL_NUMBER_PARAM, ETHTOOL_SWITCH_PARAM){},
};

static const struct opt pause_options[] = {
	ETHTOOL_ROW_DEV,
	PAUSE_PARAMS(ETHTOOL_NUMBER_ROW, ETHTOOL_SWITCH_ROW){},
};

static const struct ethtool_group pause_group = {
	.what = "pause frames",
	.get = ETHTOOL_MSG_PAUSE_GET,
	.set = ETHTOOL_MSG_PAUSE_SET,
	.stats = ETHTOOL_A_PAUSE_STATS,
	.ioctl_get = ETHTOOL_GPAUSEPARAM,
	.ioctl_set = ETHTOOL_SPAUSEPARAM,
	.ioctl_size = sizeof(struct ethtool_pauseparam),
	.params = pause_params,
};

const struct ethtool_group *pause_group_of(void)
{
	return &pause_group;
}

static int pause_resolve(const struct host *host, const struct instance *inst,
			 struct knob_settings *ret, struct err *e)
{
	return ethtool_knob_resolve(host, inst, &pause_group, pause_options, ret, e);
}

static int pause_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	return ethtool_knob_read(host, target, &pause_group, ret, e);
}

static int pause_write(const struct host *host, const char *target, const char *value,
		       struct err *e)
{
	return ethtool_knob_write(host, target, value, &pause_group, e);
}

/* Nobody knows whether there was a reason to pause, so none is no fault. */
static int pause_witness(const struct host *host, const char *target, struct witness *ret,
			 struct err *e)
{
	struct netdev_target t = {};
	struct ethtool_values now = {};
	int r = netdev_target_parse(host, target, &t, e);

	if (r >= 0)
		r = ethtool_knob_values(&t, &pause_group, &now, e);
	if (r < 0)
		return r;
	/* off: it works by what does not come */
	if (!now.has_stats || (!now.v[1] && !now.v[2]))
		return -ENOENT;
	*ret = (struct witness){ .effect = now.stats,
				 .min_effect = 1,
				 .min_demand = WITNESS_DEMAND_UNKNOWN };
	snprintf(ret->what, sizeof(ret->what), "pause frames of %s", t.dev);
	return 0;
}

const struct knob_ops knob_pause = {
	.plugin = { .name = "pause",
		    .help = "pause frames of network devices (ethtool -A)",
		    .options = pause_options },
	.usable = ethtool_knob_usable,
	.resolve = pause_resolve,
	.read = pause_read,
	.write = pause_write,
	.witness = pause_witness,
	.ephemeral = netdev_ephemeral,
};
