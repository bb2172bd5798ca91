/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_ETHTOOL_KNOB_H
#define VARIANT_ETHTOOL_KNOB_H

/*
 * What the knobs coalesce, ring, channels and pause do alike.  A target names the device and all
 * parameters that are set together, "eth0 rx-usecs,adaptive-rx"; its value has each of them,
 * "rx-usecs:8,adaptive-rx:off".  They go to the driver in one request, since one alone may not be
 * allowed (combined channels against rx and tx ones) or would reset the device again; a driver that
 * refuses them together gets them one after another.
 *
 * What a device cannot do is -EINVAL, not -EOPNOTSUPP: the plan asks for what cannot be made here,
 * which ends the run, while the other is a setting without effect, which vetoes each trial.
 */

#include <stddef.h>

#include "base/opt.h"
#include "variant/ethtool.h"

struct err;
struct host;
struct instance;
struct knob_settings;
struct netdev_target;

struct ethtool_cfg {
	struct str_list dev;
	uint64_t number; /* rows check only: the text is taken from the instance */
	bool on;
};

/* clang-format off */
/* The first row of such a knob's options, and from one list of parameters both of its tables. */
#define ETHTOOL_ROW_DEV \
	{ "dev", OPT_STRINGS, offsetof(struct ethtool_cfg, dev), NULL, \
	  "network devices such as eth0 or [eth0, eth1]" }
#define ETHTOOL_NUMBER_PARAM(name, attr, at, help) { name, attr, false, at },
#define ETHTOOL_SWITCH_PARAM(name, attr, at, help) { name, attr, true, at },
#define ETHTOOL_NUMBER_ROW(name, attr, at, help) \
	{ name, OPT_UINT, offsetof(struct ethtool_cfg, number), "", help, 0, UINT32_MAX },
#define ETHTOOL_SWITCH_ROW(name, attr, at, help) \
	{ name, OPT_BOOL, offsetof(struct ethtool_cfg, on), "", help },
/* clang-format on */

int ethtool_knob_resolve(const struct host *host, const struct instance *inst,
			 const struct ethtool_group *g, const struct opt *rows,
			 struct knob_settings *ret, struct err *e);
int ethtool_knob_read(const struct host *host, const char *target, const struct ethtool_group *g,
		      char **ret, struct err *e);
int ethtool_knob_write(const struct host *host, const char *target, const char *value,
		       const struct ethtool_group *g, struct err *e);
int ethtool_knob_usable(const struct host *host, struct err *why);
/* "rx-usecs:8,..." to values and back; pure. */
int ethtool_values_parse(const struct ethtool_group *g, const char *text,
			 struct ethtool_values *ret, struct err *e);
int ethtool_values_format(const struct ethtool_group *g, const struct ethtool_values *v, char **ret,
			  struct err *e);
/* What a device has; the refusal names device, driver and remedy. */
int ethtool_knob_values(const struct netdev_target *t, const struct ethtool_group *g,
			struct ethtool_values *ret, struct err *e);

/* The groups of the knobs, for tests against ethtool itself. */
const struct ethtool_group *coalesce_group_of(void);
const struct ethtool_group *ring_group_of(void);
const struct ethtool_group *channels_group_of(void);
const struct ethtool_group *pause_group_of(void);

#endif
