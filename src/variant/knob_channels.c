// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "variant/ethtool_knob.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev.h"
#include "variant/netdev_queues.h"

/*
 * Numbers of queues, as ethtool -L.  A queue that goes takes its steering (rps_cpus, xps_cpus,
 * rps_flow_cnt) with it, and comes back without: so that is set to nothing first, as settings of
 * its own, which the undo then gives back behind the queues.  Nothing counts the effect; the queues
 * below /sys/class/net/DEV are what the kernel made of it.
 */

#define AT(field) offsetof(struct ethtool_channels, field)

#define CHANNELS_PARAMS(NUMBER, SWITCH)                                                     \
	NUMBER("rx", ETHTOOL_A_CHANNELS_RX_COUNT, AT(rx_count), "queues that receive only") \
	NUMBER("tx", ETHTOOL_A_CHANNELS_TX_COUNT, AT(tx_count), "queues that send only")    \
	NUMBER("other", ETHTOOL_A_CHANNELS_OTHER_COUNT, AT(other_count),                    \
	       "queues for other things, such as link interrupts")                          \
	NUMBER("combined", ETHTOOL_A_CHANNELS_COMBINED_COUNT, AT(combined_count),           \
	       "queues that receive and send")

enum { RX, TX, OTHER, COMBINED };

static const struct ethtool_param channels_params[] = {
	CHANNELS_PARAMS(ETHTOOL_NUMBER_PARAM, ETHTOOL_SWITCH_PARAM){},
};

static const struct opt channels_options[] = {
	ETHTOOL_ROW_DEV,
	CHANNELS_PARAMS(ETHTOOL_NUMBER_ROW, ETHTOOL_SWITCH_ROW){},
};

static const struct ethtool_group channels_group = {
	.what = "channels",
	.get = ETHTOOL_MSG_CHANNELS_GET,
	.set = ETHTOOL_MSG_CHANNELS_SET,
	.ioctl_get = ETHTOOL_GCHANNELS,
	.ioctl_set = ETHTOOL_SCHANNELS,
	.ioctl_size = sizeof(struct ethtool_channels),
	.params = channels_params,
};

const struct ethtool_group *channels_group_of(void)
{
	return &channels_group;
}

/* The steering file that @target names, NULL: it names numbers of queues. */
static const struct netdev_queue_file *steering_of(const struct netdev_target *t)
{
	unsigned int queue = 0;

	return netdev_queue_file_of(t->rest, &queue);
}

/* What reads in a queue that nobody has steered. */
static const char *nothing_of(const struct netdev_queue_file *f)
{
	return f->is_cpus ? "none" : "0";
}

/* Steering of queues from @first on that is not as it comes with a new queue. */
static int save_steering(const struct netdev_target *t, const struct netdev_queue_file *f,
			 size_t first, size_t nr, struct knob_settings *l, struct err *e)
{
	const char *nothing = nothing_of(f);

	for (size_t i = first; i < nr; i++) {
		_cleanup_(freep) char *now = NULL;
		struct err why = {};
		char target[96];
		struct netdev_target queue = {};
		int r;

		snprintf(target, sizeof(target), "%s queues/%s-%zu/%s", t->dev,
			 f->is_tx ? "tx" : "rx", i, f->file);
		queue = *t;
		queue.rest = target + strlen(t->dev) + 1;
		r = netdev_queue_read(&queue, f, &now, &why);
		/* a single queue, or a kernel without steering: nothing is lost */
		if (r < 0 || strcmp(now, nothing) == 0)
			continue;
		r = knob_settings_add(l, target, nothing, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint32_t after(const struct ethtool_values *now, const struct ethtool_values *want, int i)
{
	return want->has >> i & 1 ? want->v[i] : now->v[i];
}

static int add_steering(const struct host *host, const struct knob_setting *s,
			struct knob_settings *l, struct err *e)
{
	struct ethtool_values now = {}, want = {};
	const struct netdev_queue_file *f;
	struct netdev_target t = {};
	size_t left[2], nr = 0;
	int r = netdev_target_parse(host, s->target, &t, e);

	if (r >= 0)
		r = ethtool_values_parse(&channels_group, s->value, &want, e);
	if (r < 0)
		return r;
	/* what cannot be read is refused when it is this setting's turn */
	if (t.side->sys_fd < 0 ||
	    ethtool_knob_values(&t, &channels_group, &now, &(struct err){}) < 0)
		return 0;
	left[0] = (size_t)after(&now, &want, RX) + after(&now, &want, COMBINED);
	left[1] = (size_t)after(&now, &want, TX) + after(&now, &want, COMBINED);
	for (size_t i = 0; (f = netdev_queue_file_at(i)); i++) {
		r = netdev_queue_count(host, t.dev, f->is_tx, &nr, e);
		if (r >= 0)
			r = save_steering(&t, f, left[f->is_tx], nr, l, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int channels_resolve(const struct host *host, const struct instance *inst,
			    struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings counts = {}, l = {};
	int r = ethtool_knob_resolve(host, inst, &channels_group, channels_options, &counts, e);

	for (size_t i = 0; i < counts.nr && r >= 0; i++) {
		r = add_steering(host, &counts.v[i], &l, e);
		if (r >= 0)
			r = knob_settings_add(&l, counts.v[i].target, counts.v[i].value, e);
	}
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

/* A queue that is not there now steers nothing. */
static int read_steering(const struct host *host, const struct netdev_target *t,
			 const struct netdev_queue_file *f, char **ret, struct err *e)
{
	struct err gone = {};
	int r = netdev_queue_read(t, f, ret, e);

	if (r != -ENOENT || netdev_check(host, t->dev, &gone) < 0)
		return r;
	*ret = strdup(nothing_of(f));
	return *ret ? 0 : err_nomem(e, t->rest);
}

static int channels_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	const struct netdev_queue_file *f;
	struct netdev_target t = {};
	int r = netdev_target_parse(host, target, &t, e);

	if (r < 0)
		return r;
	f = steering_of(&t);
	return f ? read_steering(host, &t, f, ret, e)
		 : ethtool_knob_read(host, target, &channels_group, ret, e);
}

static int channels_write(const struct host *host, const char *target, const char *value,
			  struct err *e)
{
	const struct netdev_queue_file *f;
	struct netdev_target t = {};
	int r = netdev_target_parse(host, target, &t, e);

	if (r < 0)
		return r;
	f = steering_of(&t);
	return f ? netdev_queue_write(&t, f, value, e)
		 : ethtool_knob_write(host, target, value, &channels_group, e);
}

const struct knob_ops knob_channels = {
	.plugin = { .name = "channels",
		    .help = "numbers of queues of network devices (ethtool -L)",
		    .options = channels_options },
	.usable = ethtool_knob_usable,
	.resolve = channels_resolve,
	.read = channels_read,
	.write = channels_write,
	.ephemeral = netdev_ephemeral,
};
