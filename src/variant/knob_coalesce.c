// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "variant/ethtool_knob.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev.h"
#include "variant/netdev_witness.h"

/*
 * Interrupt coalescing, as ethtool -C.  No counter proves it: that there are fewer interrupts for
 * the same packets is the result of the experiment (probe interrupts), not a sign that the setting
 * was taken.
 */

/* Behind the last attribute that the headers of Linux 6.1 know. */
#define ATTR_TX_AGGR_MAX_BYTES 25
#define ATTR_TX_AGGR_MAX_FRAMES 26
#define ATTR_TX_AGGR_TIME_USECS 27

#define AT(field) offsetof(struct ethtool_coalesce, field)

#define COALESCE_PARAMS(NUMBER, SWITCH)                                                         \
	NUMBER("rx-usecs", ETHTOOL_A_COALESCE_RX_USECS, AT(rx_coalesce_usecs),                  \
	       "longest wait for an interrupt after a packet came [us]")                        \
	NUMBER("rx-frames", ETHTOOL_A_COALESCE_RX_MAX_FRAMES, AT(rx_max_coalesced_frames),      \
	       "packets received that make an interrupt")                                       \
	NUMBER("rx-usecs-irq", ETHTOOL_A_COALESCE_RX_USECS_IRQ, AT(rx_coalesce_usecs_irq),      \
	       "rx-usecs while an interrupt is served")                                         \
	NUMBER("rx-frames-irq", ETHTOOL_A_COALESCE_RX_MAX_FRAMES_IRQ,                           \
	       AT(rx_max_coalesced_frames_irq), "rx-frames while an interrupt is served")       \
	NUMBER("tx-usecs", ETHTOOL_A_COALESCE_TX_USECS, AT(tx_coalesce_usecs),                  \
	       "longest wait for an interrupt after a packet went [us]")                        \
	NUMBER("tx-frames", ETHTOOL_A_COALESCE_TX_MAX_FRAMES, AT(tx_max_coalesced_frames),      \
	       "packets sent that make an interrupt")                                           \
	NUMBER("tx-usecs-irq", ETHTOOL_A_COALESCE_TX_USECS_IRQ, AT(tx_coalesce_usecs_irq),      \
	       "tx-usecs while an interrupt is served")                                         \
	NUMBER("tx-frames-irq", ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ,                           \
	       AT(tx_max_coalesced_frames_irq), "tx-frames while an interrupt is served")       \
	NUMBER("stats-block-usecs", ETHTOOL_A_COALESCE_STATS_BLOCK_USECS,                       \
	       AT(stats_block_coalesce_usecs), "time between updates of the statistics [us]")   \
	SWITCH("adaptive-rx", ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, AT(use_adaptive_rx_coalesce), \
	       "the driver chooses rx-usecs and rx-frames by the load")                         \
	SWITCH("adaptive-tx", ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, AT(use_adaptive_tx_coalesce), \
	       "the driver chooses tx-usecs and tx-frames by the load")                         \
	NUMBER("pkt-rate-low", ETHTOOL_A_COALESCE_PKT_RATE_LOW, AT(pkt_rate_low),               \
	       "packets a second below which the -low values hold")                             \
	NUMBER("rx-usecs-low", ETHTOOL_A_COALESCE_RX_USECS_LOW, AT(rx_coalesce_usecs_low),      \
	       "rx-usecs at a low rate")                                                        \
	NUMBER("rx-frames-low", ETHTOOL_A_COALESCE_RX_MAX_FRAMES_LOW,                           \
	       AT(rx_max_coalesced_frames_low), "rx-frames at a low rate")                      \
	NUMBER("tx-usecs-low", ETHTOOL_A_COALESCE_TX_USECS_LOW, AT(tx_coalesce_usecs_low),      \
	       "tx-usecs at a low rate")                                                        \
	NUMBER("tx-frames-low", ETHTOOL_A_COALESCE_TX_MAX_FRAMES_LOW,                           \
	       AT(tx_max_coalesced_frames_low), "tx-frames at a low rate")                      \
	NUMBER("pkt-rate-high", ETHTOOL_A_COALESCE_PKT_RATE_HIGH, AT(pkt_rate_high),            \
	       "packets a second above which the -high values hold")                            \
	NUMBER("rx-usecs-high", ETHTOOL_A_COALESCE_RX_USECS_HIGH, AT(rx_coalesce_usecs_high),   \
	       "rx-usecs at a high rate")                                                       \
	NUMBER("rx-frames-high", ETHTOOL_A_COALESCE_RX_MAX_FRAMES_HIGH,                         \
	       AT(rx_max_coalesced_frames_high), "rx-frames at a high rate")                    \
	NUMBER("tx-usecs-high", ETHTOOL_A_COALESCE_TX_USECS_HIGH, AT(tx_coalesce_usecs_high),   \
	       "tx-usecs at a high rate")                                                       \
	NUMBER("tx-frames-high", ETHTOOL_A_COALESCE_TX_MAX_FRAMES_HIGH,                         \
	       AT(tx_max_coalesced_frames_high), "tx-frames at a high rate")                    \
	NUMBER("sample-interval", ETHTOOL_A_COALESCE_RATE_SAMPLE_INTERVAL,                      \
	       AT(rate_sample_interval), "time between looks at the rate [s]")                  \
	SWITCH("cqe-mode-rx", ETHTOOL_A_COALESCE_USE_CQE_MODE_RX, 0,                            \
	       "rx-usecs begin anew with every completion")                                     \
	SWITCH("cqe-mode-tx", ETHTOOL_A_COALESCE_USE_CQE_MODE_TX, 0,                            \
	       "tx-usecs begin anew with every completion")                                     \
	NUMBER("tx-aggr-max-bytes", ATTR_TX_AGGR_MAX_BYTES, 0,                                  \
	       "bytes of packets that are sent as one block")                                   \
	NUMBER("tx-aggr-max-frames", ATTR_TX_AGGR_MAX_FRAMES, 0,                                \
	       "packets that are sent as one block")                                            \
	NUMBER("tx-aggr-time-usecs", ATTR_TX_AGGR_TIME_USECS, 0,                                \
	       "longest wait for a block to fill [us]")

static const struct ethtool_param coalesce_params[] = {
	COALESCE_PARAMS(ETHTOOL_NUMBER_PARAM, ETHTOOL_SWITCH_PARAM){},
};

static const struct opt coalesce_options[] = {
	ETHTOOL_ROW_DEV,
	COALESCE_PARAMS(ETHTOOL_NUMBER_ROW, ETHTOOL_SWITCH_ROW){},
};

static const struct ethtool_group coalesce_group = {
	.what = "interrupt coalescing",
	.get = ETHTOOL_MSG_COALESCE_GET,
	.set = ETHTOOL_MSG_COALESCE_SET,
	.ioctl_get = ETHTOOL_GCOALESCE,
	.ioctl_set = ETHTOOL_SCOALESCE,
	.ioctl_size = sizeof(struct ethtool_coalesce),
	.params = coalesce_params,
};

const struct ethtool_group *coalesce_group_of(void)
{
	return &coalesce_group;
}

static int coalesce_resolve(const struct host *host, const struct instance *inst,
			    struct knob_settings *ret, struct err *e)
{
	return ethtool_knob_resolve(host, inst, &coalesce_group, coalesce_options, ret, e);
}

static int coalesce_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	return ethtool_knob_read(host, target, &coalesce_group, ret, e);
}

static int coalesce_write(const struct host *host, const char *target, const char *value,
			  struct err *e)
{
	return ethtool_knob_write(host, target, value, &coalesce_group, e);
}

/* What a driver chooses by itself while @adaptive ("adaptive-rx") is on. */
static bool is_chosen(const char *name, const char *adaptive)
{
	const char *side = adaptive + strlen("adaptive-"); /* "rx" */

	return strncmp(name, side, 2) == 0 &&
	       (strcmp(name + 2, "-usecs") == 0 || strcmp(name + 2, "-frames") == 0);
}

static uint32_t value_of(const struct ethtool_values *v, const char *name, uint32_t *ret_bit)
{
	for (size_t i = 0; coalesce_params[i].name; i++)
		if (strcmp(coalesce_params[i].name, name) == 0) {
			*ret_bit = UINT32_C(1) << i;
			return v->has >> i & 1 ? v->v[i] : 0;
		}
	*ret_bit = 0;
	return 0;
}

/* Leave out what moves by itself in both. */
static void drop_chosen(struct ethtool_values *a, struct ethtool_values *b, const char *adaptive)
{
	uint32_t bit = 0;

	if (!value_of(a, adaptive, &bit) || !value_of(b, adaptive, &bit))
		return;
	for (size_t i = 0; coalesce_params[i].name; i++)
		if (is_chosen(coalesce_params[i].name, adaptive)) {
			a->has &= ~(UINT32_C(1) << i);
			b->has &= ~(UINT32_C(1) << i);
		}
}

/* With adaptive-rx on in both, rx-usecs is whatever the load made of it. */
static bool coalesce_same(const char *a, const char *b)
{
	struct ethtool_values x = {}, y = {};
	struct err ignored = {};

	if (ethtool_values_parse(&coalesce_group, a, &x, &ignored) < 0 ||
	    ethtool_values_parse(&coalesce_group, b, &y, &ignored) < 0)
		return strcmp(a, b) == 0;
	drop_chosen(&x, &y, "adaptive-rx");
	drop_chosen(&x, &y, "adaptive-tx");
	if (x.has != y.has)
		return false;
	for (size_t i = 0; coalesce_params[i].name; i++)
		if (x.has >> i & 1 && x.v[i] != y.v[i])
			return false;
	return true;
}

/* A number that the driver overwrites: the trap of this knob. */
static int coalesce_witness(const struct host *host, const char *target, struct witness *ret,
			    struct err *e)
{
	static const char *const adaptive[] = { "adaptive-rx", "adaptive-tx" };
	struct netdev_target t = {};
	struct ethtool_values now = {};
	int r = netdev_target_parse(host, target, &t, e);

	if (r >= 0)
		r = ethtool_knob_values(&t, &coalesce_group, &now, e);
	if (r < 0)
		return r;
	for (size_t k = 0; k < ARRAY_SIZE(adaptive); k++) {
		_cleanup_(str_list_release) struct str_list names = {};
		uint32_t bit = 0;

		r = str_list_split(t.rest, &names, e);
		if (r < 0)
			return r;
		if (!value_of(&now, adaptive[k], &bit))
			continue;
		for (size_t i = 0; i < names.nr; i++) {
			if (!is_chosen(names.v[i], adaptive[k]))
				continue;
			witness_futile(ret,
				       "adaptive coalescing is on, so the driver chooses it: set "
				       "adaptive-rx and adaptive-tx to off with it",
				       "%s of %s", names.v[i], t.dev);
			return 0;
		}
	}
	return -ENOENT;
}

const struct knob_ops knob_coalesce = {
	.plugin = { .name = "coalesce",
		    .help = "interrupt coalescing of network devices (ethtool -C)",
		    .options = coalesce_options },
	.usable = ethtool_knob_usable,
	.resolve = coalesce_resolve,
	.read = coalesce_read,
	.write = coalesce_write,
	.witness = coalesce_witness,
	.same = coalesce_same,
	.ephemeral = netdev_ephemeral,
};
