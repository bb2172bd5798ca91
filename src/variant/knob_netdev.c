// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev.h"
#include "variant/netdev_features.h"
#include "variant/netdev_genl.h"
#include "variant/netdev_queues.h"
#include "variant/netdev_witness.h"

/*
 * Targets: "DEV gro" (an offload, netdev_features.h), "DEV mtu" (a file of /sys/class/net/DEV),
 * "DEV queues/rx-0/rps_cpus" (a file of a queue, netdev_queues.h).
 */

static const char *const switch_words[] = { "off", "on",    "0",    "1", "no",
					    "yes", "false", "true", NULL };

#define NR_FEATURES 12

struct netdev_cfg {
	struct str_list dev;
	int word[NR_FEATURES + 1];
	uint64_t mtu, txqueuelen, defer, timeout_ns, flow_cnt;
	char *rps_cpus, *xps_cpus;
	struct uint_list queues;
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
	{ "mtu", OPT_UINT, offsetof(struct netdev_cfg, mtu), "", "largest packet [bytes]", 68,
	  65536 },
	{ "txqueuelen", OPT_UINT, offsetof(struct netdev_cfg, txqueuelen), "",
	  "packets that may wait for the device", 0, UINT32_MAX },
	{ "napi-defer-hard-irqs", OPT_UINT, offsetof(struct netdev_cfg, defer), "",
	  "empty polls before interrupts are enabled again; wants gro-flush-timeout", 0,
	  INT32_MAX },
	{ "gro-flush-timeout", OPT_NS, offsetof(struct netdev_cfg, timeout_ns), "",
	  "time until packets held back are passed on", 0, INT64_MAX },
	{ "rps-cpus", OPT_STRING, offsetof(struct netdev_cfg, rps_cpus), "",
	  "CPUs that take packets of the receive queues over: a list, all or none" },
	{ "rps-flow-cnt", OPT_UINT, offsetof(struct netdev_cfg, flow_cnt), "",
	  "flows that a receive queue follows; wants net.core.rps_sock_flow_entries" },
	{ "xps-cpus", OPT_STRING, offsetof(struct netdev_cfg, xps_cpus), "",
	  "CPUs that send by the transmit queues: a list, all or none" },
	{ "queues", OPT_UINTS, offsetof(struct netdev_cfg, queues), "",
	  "the queues that rps-* and xps-cpus mean; not given: all", 0, 65535 },
	{},
};

/* A file of /sys/class/net/DEV and the option for it, in an order that works. */
static const struct plain_file {
	const char *option;
	const char *file;
} files[] = {
	{ "mtu", "mtu" },
	{ "txqueuelen", "tx_queue_len" },
	{ "napi-defer-hard-irqs", "napi_defer_hard_irqs" },
	{ "gro-flush-timeout", "gro_flush_timeout" },
	{ "threaded", "threaded" },
};

/* A target and which of the three it is. */
struct target {
	struct netdev_target at;
	const struct netdev_feature *feature;
	const struct plain_file *file;
	const struct netdev_queue_file *queue;
};

static int parse_target(const struct host *host, const char *text, struct target *ret,
			struct err *e)
{
	struct target t = {};
	unsigned int queue = 0;
	int r = netdev_target_parse(host, text, &t.at, e);

	if (r < 0)
		return r;
	t.feature = netdev_feature_find(t.at.rest);
	t.queue = netdev_queue_file_of(t.at.rest, &queue);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].file, t.at.rest) == 0)
			t.file = &files[i];
	if (!t.feature && !t.queue && !t.file)
		return err_set(e, -EINVAL, "target \"%s\": no such setting", text);
	*ret = t;
	return 0;
}

/* ENOENT of a device that is there: the kernel is too old for the file. */
static int read_file(const struct target *t, char **ret, struct err *e)
{
	int r = netdev_file_read(t->at.side, t->at.dev, t->file->file, ret, e);
	char path[64];

	snprintf(path, sizeof(path), "class/net/%s", t->at.dev);
	if (r == -ENOENT && faccessat(t->at.side->sys_fd, path, F_OK, 0) == 0)
		return err_set(e, -EINVAL,
			       "this kernel has no %s for network devices: leave it out, or boot a "
			       "newer one",
			       t->file->file);
	return r;
}

static int netdev_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	struct target t = {};
	int r = parse_target(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.feature)
		return netdev_feature_read(&t.at, t.feature, ret, e);
	return t.queue ? netdev_queue_read(&t.at, t.queue, ret, e) : read_file(&t, ret, e);
}

/* Does a device above (a VLAN, a macvlan) have a larger MTU, which would be cut and stay cut? */
static int check_uppers(const struct netdev_target *t, uint64_t mtu, struct err *e)
{
	_cleanup_(closedir_dirp) DIR *d = NULL;
	const struct dirent *entry;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "class/net/%s", t->dev);
	fd = openat(t->side->sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		close_fdp(&fd);
		return 0; /* the write says why */
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
	while ((entry = readdir(d))) {
		struct err gone = {};
		uint64_t above = 0;

		if (strncmp(entry->d_name, "upper_", strlen("upper_")) != 0)
			continue;
		snprintf(path, sizeof(path), "%.250s/bridge", entry->d_name);
		if (faccessat(fd, path, F_OK, 0) == 0)
			continue; /* follows its ports by itself, both ways */
		snprintf(path, sizeof(path), "%.250s/mtu", entry->d_name);
		if (kfile_read_u64(fd, path, &above, &gone) >= 0 && above > mtu)
			return err_set(e, -EBUSY,
				       "%s, which is above %s, has mtu %" PRIu64
				       ", would be cut to "
				       "%" PRIu64 " and not come back: set its mtu first",
				       entry->d_name + strlen("upper_"), t->dev, above, mtu);
	}
	return 0;
}

static int write_mtu(const struct netdev_target *t, const char *value, struct err *e)
{
	char driver[NETDEV_DRIVER_SIZE];
	uint64_t mtu = 0;
	int r = 0;

	if (text_u64(value, &mtu) == 0 && t->side->sys_fd >= 0)
		r = check_uppers(t, mtu, e);
	if (r >= 0)
		r = netdev_file_write(t->side, t->dev, "mtu", value, e);
	if (r != -EINVAL)
		return r;
	netdev_driver(t->side, t->dev, driver);
	return err_set(e, r,
		       "%s (driver %s) does not take this mtu: ip -d link show %s tells minmtu and "
		       "maxmtu",
		       t->dev, driver, t->dev);
}

/* The settings that a device's file sets for all its NAPI instances, which may have their own. */
static const struct shared_file {
	const char *file;
	unsigned int field;
	size_t offset, size; /* in struct netdev_napi */
} shared_files[] = {
	{ "napi_defer_hard_irqs", NAPI_DEFER_HARD_IRQS,
	  offsetof(struct netdev_napi, defer_hard_irqs), sizeof(uint32_t) },
	{ "gro_flush_timeout", NAPI_GRO_FLUSH_TIMEOUT,
	  offsetof(struct netdev_napi, gro_flush_timeout_ns), sizeof(uint64_t) },
	{ "threaded", NAPI_THREADED, offsetof(struct netdev_napi, threaded), sizeof(uint32_t) },
};

static uint64_t shared_value(const struct netdev_napi *n, const struct shared_file *f)
{
	const char *at = (const char *)n + f->offset;
	uint32_t narrow = 0;
	uint64_t wide = 0;

	memcpy(f->size == sizeof(wide) ? (void *)&wide : (void *)&narrow, at, f->size);
	return f->size == sizeof(wide) ? wide : narrow;
}

/* Would the write level what was set for single instances?  A kernel that cannot tell cannot set.
 */
static int check_napis(const struct netdev_target *t, const struct shared_file *f, struct err *e)
{
	_cleanup_(netdev_napis_release) struct netdev_napis l = {};
	_cleanup_(freep) char *text = NULL;
	struct err untold = {};
	uint64_t now = 0;
	int ifindex = netdev_index(t->side, t->dev, &untold);

	if (ifindex < 0 || netdev_genl_napis(t->side, (unsigned int)ifindex, &l, &untold) < 0 ||
	    netdev_file_read(t->side, t->dev, f->file, &text, &untold) < 0 ||
	    text_u64(text, &now) < 0)
		return 0;
	for (size_t i = 0; i < l.nr; i++)
		if (l.v[i].has & f->field && shared_value(&l.v[i], f) != now)
			return err_set(e, -EINVAL,
				       "%s of NAPI instance %" PRIu32 " of %s is %" PRIu64
				       " and not %" PRIu64
				       " as the device's, and would be lost: use the knob napi",
				       f->file, l.v[i].id, t->dev, shared_value(&l.v[i], f), now);
	return 0;
}

static int write_file(const struct target *t, const char *value, struct err *e)
{
	char driver[NETDEV_DRIVER_SIZE];
	int r = 0;

	if (strcmp(t->file->file, "mtu") == 0)
		return write_mtu(&t->at, value, e);
	for (size_t i = 0; i < ARRAY_SIZE(shared_files) && r >= 0; i++)
		if (strcmp(t->file->file, shared_files[i].file) == 0)
			r = check_napis(&t->at, &shared_files[i], e);
	if (r < 0)
		return r;
	r = netdev_file_write(t->at.side, t->at.dev, t->file->file, value, e);
	if (r != -EOPNOTSUPP || strcmp(t->file->file, "threaded") != 0)
		return r;
	netdev_driver(t->at.side, t->at.dev, driver);
	return err_set(
		e, r,
		"no effect is possible: %s (driver %s) has no NAPI to put into a thread; its "
		"driver has none, it is down, or, for a veth, it has gro off",
		t->at.dev, driver);
}

static int netdev_write(const struct host *host, const char *target, const char *value,
			struct err *e)
{
	struct target t = {};
	int r = parse_target(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.feature)
		return netdev_feature_write(&t.at, t.feature, value, e);
	return t.queue ? netdev_queue_write(&t.at, t.queue, value, e) : write_file(&t, value, e);
}

/* What an instance means for one device. */
struct adding {
	const struct host *host;
	const struct instance *inst;
	const struct netdev_cfg *cfg;
	const char *dev;
	struct knob_settings *l;
};

static int add(const struct adding *a, const char *what, const char *value, struct err *e)
{
	char target[96];

	snprintf(target, sizeof(target), "%s %s", a->dev, what);
	return knob_settings_add(a->l, target, value, e);
}

static int add_features(const struct adding *a, struct err *e)
{
	const struct netdev_feature *f;
	int r = 0;

	for (size_t i = 0; (f = netdev_feature_at(i)) && i < NR_FEATURES && r >= 0; i++)
		if (instance_value(a->inst, f->name))
			r = add(a, f->name, a->cfg->word[i] & 1 ? "on" : "off", e);
	return r;
}

/*
 * Below 1280 the kernel takes IPv6 off the device, with addresses and sysctls (addrconf_notify() of
 * net/ipv6/addrconf.c); back above, it begins anew.
 */
static int check_mtu(const struct adding *a, struct err *e)
{
	char path[96];

	snprintf(path, sizeof(path), "sys/net/ipv6/conf/%s", a->dev);
	if (a->cfg->mtu >= 1280 || host_side_of(a->host, a->dev) != &a->host->dut ||
	    faccessat(a->host->proc_fd, path, F_OK, 0) < 0)
		return 0;
	return err_set(e, -EINVAL,
		       "mtu %" PRIu64 ": below 1280 %s loses its IPv6 addresses and sysctls, which "
		       "the undo could not bring back: use 1280 or more",
		       a->cfg->mtu, a->dev);
}

static uint64_t file_value(const struct netdev_cfg *cfg, size_t i)
{
	const uint64_t values[ARRAY_SIZE(files)] = { cfg->mtu, cfg->txqueuelen, cfg->defer,
						     cfg->timeout_ns,
						     (uint64_t)cfg->word[NR_FEATURES] & 1 };

	return values[i];
}

static int add_files(const struct adding *a, struct err *e)
{
	int r = instance_value(a->inst, "mtu") ? check_mtu(a, e) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && r >= 0; i++) {
		char value[24];

		/* last of all settings of all devices: whether there is a NAPI hangs on them */
		if (!instance_value(a->inst, files[i].option) ||
		    strcmp(files[i].option, "threaded") == 0)
			continue;
		snprintf(value, sizeof(value), "%" PRIu64, file_value(a->cfg, i));
		r = add(a, files[i].file, value, e);
	}
	return r;
}

static bool is_meant(const struct uint_list *queues, size_t queue)
{
	for (size_t i = 0; i < queues->nr; i++)
		if (queues->v[i] == queue)
			return true;
	return queues->nr == 0;
}

static int check_queues(const struct adding *a, const struct netdev_queue_file *f, size_t nr,
			struct err *e)
{
	const struct uint_list *queues = &a->cfg->queues;

	for (size_t i = 0; i < queues->nr; i++)
		if (queues->v[i] >= nr)
			return err_set(e, -ENOENT,
				       "%s has %zu %s queues, numbered from 0: there is no %" PRIu64
				       " for %s",
				       a->dev, nr, f->is_tx ? "transmit" : "receive", queues->v[i],
				       f->option);
	return 0;
}

static int add_queue_file(const struct adding *a, const struct netdev_queue_file *f,
			  const char *value, struct err *e)
{
	size_t nr = 0;
	int r = netdev_queue_count(a->host, a->dev, f->is_tx, &nr, e);

	if (r >= 0)
		r = check_queues(a, f, nr, e);
	for (size_t i = 0; i < nr && r >= 0; i++) {
		char what[64];

		if (!is_meant(&a->cfg->queues, i))
			continue;
		snprintf(what, sizeof(what), "queues/%s-%zu/%s", f->is_tx ? "tx" : "rx", i,
			 f->file);
		r = add(a, what, value, e);
	}
	return r;
}

static int add_queues(const struct adding *a, struct err *e)
{
	const struct netdev_queue_file *f;

	for (size_t i = 0; (f = netdev_queue_file_at(i)); i++) {
		const char *wanted = instance_value(a->inst, f->option);
		_cleanup_(freep) char *value = NULL;
		int r = wanted ? netdev_queue_value(a->host, f, wanted, &value, e) : 0;

		if (r >= 0 && wanted)
			r = add_queue_file(a, f, value, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int resolve_cfg(struct adding *a, struct err *e)
{
	const struct str_list *dev = &a->cfg->dev;
	int r = 0;

	if (a->inst->nr_settings < 2 || dev->nr == 0)
		return err_set(e, -EINVAL,
			       "needs a device and a setting, such as { dev: eth0, gro: on }");
	for (size_t i = 0; i < dev->nr && r >= 0; i++)
		r = netdev_check(a->host, dev->v[i], e);
	for (size_t i = 0; i < dev->nr && r >= 0; i++) {
		a->dev = dev->v[i];
		r = add_features(a, e);
		if (r >= 0)
			r = add_files(a, e);
		if (r >= 0)
			r = add_queues(a, e);
	}
	for (size_t i = 0; i < dev->nr && r >= 0; i++) {
		a->dev = dev->v[i];
		if (instance_value(a->inst, "threaded"))
			r = add(a, "threaded", a->cfg->word[NR_FEATURES] & 1 ? "1" : "0", e);
	}
	if (r >= 0 && a->l->nr == 0)
		return err_set(e, -EINVAL,
			       "nothing to set: \"queues\" wants rps-cpus, "
			       "rps-flow-cnt or xps-cpus beside it");
	return r;
}

static int netdev_resolve(const struct host *host, const struct instance *inst,
			  struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct netdev_cfg cfg = {};
	struct adding a = { .host = host, .inst = inst, .cfg = &cfg, .l = &l };
	int r = instance_parse(inst, netdev_options, &cfg, e);

	if (r < 0)
		return r;
	r = resolve_cfg(&a, e);
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

static int netdev_witness(const struct host *host, const char *target, struct witness *ret,
			  struct err *e)
{
	struct target t = {};
	int r = parse_target(host, target, &t, e);

	if (r < 0)
		return r;
	if (t.queue)
		return netdev_witness_queue(host, &t.at, t.queue, ret, e);
	if (t.file && strcmp(t.file->file, "threaded") == 0)
		return netdev_witness_threaded(host, &t.at, ret, e);
	if (t.file && (strcmp(t.file->file, "napi_defer_hard_irqs") == 0 ||
		       strcmp(t.file->file, "gro_flush_timeout") == 0))
		return netdev_witness_deferral(host, &t.at, ret, e);
	return -ENOENT;
}

static int netdev_usable(const struct host *host, struct err *why)
{
	return knob_needs_cap(host, CAP_NET_ADMIN, "CAP_NET_ADMIN", why);
}

const struct knob_ops knob_netdev = {
	.plugin = { .name = "netdev",
		    .help = "offloads, MTU, NAPI and queues of network devices",
		    .options = netdev_options },
	.usable = netdev_usable,
	.resolve = netdev_resolve,
	.read = netdev_read,
	.write = netdev_write,
	.witness = netdev_witness,
	.same = netdev_same,
	.ephemeral = netdev_ephemeral,
};
