// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/opt.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev.h"
#include "variant/netdev_genl.h"
#include "variant/netdev_witness.h"
#include "variant/procthread.h"

/*
 * Settings of single NAPI instances, by napi-set.  An instance may have another id after the device
 * was down, so targets name it by the queue that it serves, "eth0 rx-0 gro-flush-timeout", or by
 * its place among the device's instances where the driver does not say whom they serve,
 * "eth0 napi-0 threaded".
 */

struct napi_cfg {
	struct str_list dev;
	struct str_list id;
	struct uint_list queues;
	uint64_t number; /* rows check only: the text is taken from the instance */
	int threaded;
};

static const char *const threaded_words[] = { "off", "on",  "busy-poll", "0",	 "1",
					      "no",  "yes", "false",	 "true", NULL };

static const struct opt napi_options[] = {
	{ "dev", OPT_STRINGS, offsetof(struct napi_cfg, dev), NULL,
	  "network devices such as eth0 or [eth0, eth1]" },
	{ "id", OPT_STRINGS, offsetof(struct napi_cfg, id), "all",
	  "ids of NAPI instances, or all of the device" },
	{ "queues", OPT_UINTS, offsetof(struct napi_cfg, queues), "",
	  "instances of these receive queues; not given: of all", 0, 65535 },
	{ "defer-hard-irqs", OPT_UINT, offsetof(struct napi_cfg, number), "",
	  "empty polls before interrupts are enabled again; wants gro-flush-timeout", 0,
	  INT32_MAX },
	{ "gro-flush-timeout", OPT_NS, offsetof(struct napi_cfg, number), "",
	  "time until packets held back are passed on", 0, INT64_MAX },
	{ "irq-suspend-timeout", OPT_NS, offsetof(struct napi_cfg, number), "",
	  "longest time without interrupts while a program polls busily", 0, INT64_MAX },
	{ "threaded", OPT_ENUM, offsetof(struct napi_cfg, threaded), "",
	  "polls in a thread of its own instead of softirqs", 0, 0, threaded_words },
	{},
};

/* A setting of an instance; @since: the kernel that has it. */
static const struct napi_key {
	const char *name;
	unsigned int field;
	const char *since;
} keys[] = {
	{ "defer-hard-irqs", NAPI_DEFER_HARD_IRQS, "6.13" },
	{ "gro-flush-timeout", NAPI_GRO_FLUSH_TIMEOUT, "6.13" },
	{ "irq-suspend-timeout", NAPI_IRQ_SUSPEND_TIMEOUT, "6.13" },
	{ "threaded", NAPI_THREADED, "6.17" },
};

struct target {
	struct netdev_target at;
	char which[16]; /* "rx-0", "tx-0", "napi-0" */
	const struct napi_key *key;
};

static int parse_target(const struct host *host, const char *text, struct target *ret,
			struct err *e)
{
	struct target t = {};
	int r = netdev_target_parse(host, text, &t.at, e);
	size_t len;

	if (r < 0)
		return r;
	len = strcspn(t.at.rest, " ");
	if (len < sizeof(t.which))
		memcpy(t.which, t.at.rest, len);
	for (size_t i = 0; i < ARRAY_SIZE(keys) && t.at.rest[len]; i++)
		if (strcmp(t.at.rest + len + 1, keys[i].name) == 0)
			t.key = &keys[i];
	if (!t.which[0] || !t.key)
		return err_set(e, -EINVAL, "target \"%s\" is not DEV QUEUE SETTING", text);
	*ret = t;
	return 0;
}

/* A device's instances, ascending by id, and its queues. */
struct view {
	struct netdev_napis napis;
	struct netdev_queues queues;
};

static void view_release(struct view *v)
{
	netdev_napis_release(&v->napis);
	netdev_queues_release(&v->queues);
}

static int by_id(const void *a, const void *b)
{
	const struct netdev_napi *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int view_load(struct view *ret, const struct host_side *side, const char *dev, struct err *e)
{
	_cleanup_(view_release) struct view v = {};
	struct err why = {};
	int ifindex = netdev_index(side, dev, e), r;

	if (ifindex < 0)
		return ifindex;
	r = netdev_genl_napis(side, (unsigned int)ifindex, &v.napis, &why);
	if (r >= 0)
		r = netdev_genl_queues(side, (unsigned int)ifindex, &v.queues, &why);
	if (r == -ENOENT || r == -EOPNOTSUPP)
		return err_set(
			e, -EINVAL,
			"this kernel does not tell the NAPI instances of %s (Linux 6.8 does, "
			"and sets them since 6.13): use the knob netdev, which sets all of a "
			"device",
			dev);
	if (r < 0) {
		*e = why;
		return r;
	}
	if (v.napis.nr)
		qsort(v.napis.v, v.napis.nr, sizeof(*v.napis.v), by_id);
	*ret = v;
	v = (struct view){};
	return 0;
}

/* The name in targets of the instance at @i. */
static void name_of(const struct view *v, size_t i, char ret[static 16])
{
	const struct netdev_queue *q = NULL;

	for (size_t k = 0; k < v->queues.nr; k++) {
		const struct netdev_queue *x = &v->queues.v[k];

		/* the first receive queue, else the first transmit queue */
		if (x->napi_id == v->napis.v[i].id &&
		    (!q || x->type < q->type || (x->type == q->type && x->id < q->id)))
			q = x;
	}
	if (q && q->type <= NETDEV_QUEUE_TX)
		snprintf(ret, 16, "%s-%" PRIu32, q->type == NETDEV_QUEUE_RX ? "rx" : "tx", q->id);
	else
		snprintf(ret, 16, "napi-%zu", i);
}

/* -ENOENT: it is gone, with the queue or with the device taken down. */
static int find(const struct target *t, struct view *v, const struct netdev_napi **ret,
		struct err *e)
{
	int r = view_load(v, t->at.side, t->at.dev, e);
	char name[16];

	if (r < 0)
		return r;
	for (size_t i = 0; i < v->napis.nr; i++) {
		name_of(v, i, name);
		if (strcmp(name, t->which) != 0)
			continue;
		*ret = &v->napis.v[i];
		return 0;
	}
	return err_set(e, -ENOENT, "%s has no NAPI instance %s now", t->at.dev, t->which);
}

static uint64_t value_of(const struct netdev_napi *n, unsigned int field)
{
	switch (field) {
	case NAPI_DEFER_HARD_IRQS:
		return n->defer_hard_irqs;
	case NAPI_GRO_FLUSH_TIMEOUT:
		return n->gro_flush_timeout_ns;
	case NAPI_IRQ_SUSPEND_TIMEOUT:
		return n->irq_suspend_timeout_ns;
	default:
		return n->threaded;
	}
}

static void set_value(struct netdev_napi *n, unsigned int field, uint64_t v)
{
	n->has = field;
	switch (field) {
	case NAPI_DEFER_HARD_IRQS:
		n->defer_hard_irqs = (uint32_t)v;
		break;
	case NAPI_GRO_FLUSH_TIMEOUT:
		n->gro_flush_timeout_ns = v;
		break;
	case NAPI_IRQ_SUSPEND_TIMEOUT:
		n->irq_suspend_timeout_ns = v;
		break;
	default:
		n->threaded = (uint32_t)v;
		break;
	}
}

/* Of threaded "0", "1", "busy-poll"; else the number, times in nanoseconds. */
static int format_value(const struct netdev_napi *n, const struct napi_key *key, char **ret,
			struct err *e)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value_of(n, key->field));
	if (key->field == NAPI_THREADED && n->threaded == NAPI_IN_BUSY_THREAD)
		snprintf(text, sizeof(text), "busy-poll");
	*ret = strdup(text);
	return *ret ? 0 : err_nomem(e, key->name);
}

static int parse_value(const struct napi_key *key, const char *text, uint64_t *ret, struct err *e)
{
	bool on = false;
	int r = text_u64(text, ret);

	if (key->field == NAPI_THREADED && strcmp(text, "busy-poll") == 0) {
		*ret = NAPI_IN_BUSY_THREAD;
		return 0;
	}
	if (key->field == NAPI_THREADED) {
		r = text_bool(text, &on);
		*ret = on;
	}
	if (r < 0 || (key->field == NAPI_DEFER_HARD_IRQS && *ret > INT32_MAX))
		return err_set(e, -EINVAL, "\"%.60s\" is no value of %s", text, key->name);
	return 0;
}

static int napi_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	_cleanup_(view_release) struct view v = {};
	const struct netdev_napi *n = NULL;
	struct target t = {};
	int r = parse_target(host, target, &t, e);

	if (r >= 0)
		r = find(&t, &v, &n, e);
	if (r < 0)
		return r;
	if (!(n->has & t.key->field))
		return err_set(
			e, -EINVAL,
			"this kernel has no %s of NAPI instances (Linux %s has): leave it out",
			t.key->name, t.key->since);
	return format_value(n, t.key, ret, e);
}

static int napi_write(const struct host *host, const char *target, const char *value, struct err *e)
{
	_cleanup_(view_release) struct view v = {};
	const struct netdev_napi *n = NULL;
	struct netdev_napi want = {};
	struct target t = {};
	uint64_t wanted = 0;
	int r = parse_target(host, target, &t, e);

	if (r >= 0)
		r = parse_value(t.key, value, &wanted, e);
	if (r >= 0)
		r = find(&t, &v, &n, e);
	if (r < 0)
		return r;
	want.id = n->id;
	set_value(&want, t.key->field, wanted);
	r = netdev_genl_set_napi(t.at.side, &want, e);
	if (r == -ERANGE && wanted == NAPI_IN_BUSY_THREAD && t.key->field == NAPI_THREADED)
		return err_set(
			e, -EINVAL,
			"this kernel has no threads that poll busily (Linux 6.19 has): use on");
	if (r == -EOPNOTSUPP)
		return err_set(
			e, -EINVAL,
			"this kernel cannot set NAPI instances (Linux 6.13 can): use the knob "
			"netdev, which sets all of a device");
	return r;
}

static bool is_named(const struct napi_cfg *cfg, const struct netdev_napi *n)
{
	for (size_t i = 0; i < cfg->id.nr; i++) {
		uint64_t id = 0;

		if (strcmp(cfg->id.v[i], "all") == 0 ||
		    (text_u64(cfg->id.v[i], &id) == 0 && id == n->id))
			return true;
	}
	return false;
}

static bool is_of_queues(const struct napi_cfg *cfg, const struct view *v,
			 const struct netdev_napi *n)
{
	for (size_t i = 0; i < cfg->queues.nr; i++)
		for (size_t k = 0; k < v->queues.nr; k++)
			if (v->queues.v[k].type == NETDEV_QUEUE_RX &&
			    v->queues.v[k].id == cfg->queues.v[i] &&
			    v->queues.v[k].napi_id == n->id)
				return true;
	return cfg->queues.nr == 0;
}

static int add_keys(const struct instance *inst, const char *dev, const char *name,
		    struct knob_settings *l, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *wanted = instance_value(inst, keys[i].name);
		_cleanup_(freep) char *value = NULL;
		struct netdev_napi n = {};
		uint64_t v = 0;
		char target[96];
		int r = 0;

		if (!wanted)
			continue;
		if (keys[i].field == NAPI_DEFER_HARD_IRQS || keys[i].field == NAPI_THREADED)
			r = parse_value(&keys[i], wanted, &v, e);
		else if (text_ns(wanted, &v) < 0)
			r = err_set(e, -EINVAL, "%s \"%.60s\" is not a time", keys[i].name, wanted);
		if (r < 0)
			return r;
		set_value(&n, keys[i].field, v);
		r = format_value(&n, &keys[i], &value, e);
		snprintf(target, sizeof(target), "%s %s %s", dev, name, keys[i].name);
		if (r >= 0)
			r = knob_settings_add(l, target, value, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_dev(const struct host *host, const struct instance *inst, const struct napi_cfg *cfg,
		   const char *dev, struct knob_settings *l, struct err *e)
{
	_cleanup_(view_release) struct view v = {};
	int r = netdev_check(host, dev, e);
	size_t before = l->nr;

	if (r >= 0)
		r = view_load(&v, host_side_of(host, dev), dev, e);
	if (r < 0)
		return r;
	if (v.napis.nr == 0)
		return err_set(
			e, -ENOENT,
			"%s has no NAPI instance: it is down, its driver has none, or, for a "
			"veth, it has gro off",
			dev);
	for (size_t i = 0; i < v.napis.nr && r >= 0; i++) {
		char name[16];

		if (!is_named(cfg, &v.napis.v[i]) || !is_of_queues(cfg, &v, &v.napis.v[i]))
			continue;
		name_of(&v, i, name);
		r = add_keys(inst, dev, name, l, e);
	}
	if (r >= 0 && l->nr == before)
		return err_set(e, -ENOENT,
			       "%s has %zu NAPI instances, %" PRIu32 " to %" PRIu32
			       ", and none that id and queues name",
			       dev, v.napis.nr, v.napis.v[0].id, v.napis.v[v.napis.nr - 1].id);
	return r;
}

static int check_instance(const struct instance *inst, const struct napi_cfg *cfg, struct err *e)
{
	for (size_t i = 0; i < cfg->id.nr; i++) {
		uint64_t id = 0;

		if (strcmp(cfg->id.v[i], "all") != 0 && text_u64(cfg->id.v[i], &id) < 0)
			return err_set(e, -EINVAL,
				       "id \"%.60s\" is neither all nor an id of a NAPI instance",
				       cfg->id.v[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (instance_value(inst, keys[i].name))
			return cfg->dev.nr ? 0 : err_set(e, -EINVAL, "dev is empty: name a device");
	return err_set(e, -EINVAL,
		       "nothing to set: name a setting beside dev, such as "
		       "{ dev: eth0, threaded: on }");
}

static int napi_resolve(const struct host *host, const struct instance *inst,
			struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct napi_cfg cfg = {};
	int r = instance_parse(inst, napi_options, &cfg, e);

	if (r < 0)
		return r;
	r = check_instance(inst, &cfg, e);
	for (size_t i = 0; i < cfg.dev.nr && r >= 0; i++)
		r = add_dev(host, inst, &cfg, cfg.dev.v[i], &l, e);
	opt_release(napi_options, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

/* Its thread's run time; packets are counted for the device, so they oblige a single one only. */
static int witness_thread(const struct host *host, const struct target *t, const struct view *v,
			  const struct netdev_napi *n, struct witness *ret, struct err *e)
{
	bool runtime = procthread_counts_runtime(host->proc_fd);
	struct witness w = { .min_effect = runtime ? NS_PER_MS : 10,
			     .is_ns = runtime,
			     .min_demand = v->napis.nr == 1 ? 1000 : WITNESS_DEMAND_UNKNOWN,
			     .remedy = "a veth polls in its thread only when it has gro on and its "
				       "peer has tso and gso off" };
	_cleanup_(freep) char *packets = NULL;
	int r;

	if (n->threaded == NAPI_IN_SOFTIRQ || !(n->has & NAPI_PID))
		return -ENOENT;
	r = runtime ? procthread_runtime_ns(host->proc_fd, (int)n->pid, &w.effect, e)
		    : procthread_switches(host->proc_fd, (int)n->pid, &w.effect, e);
	if (r >= 0)
		r = netdev_file_read(t->at.side, t->at.dev, "statistics/rx_packets", &packets, e);
	if (r < 0)
		return r;
	if (text_u64(packets, &w.demand) < 0)
		return err_set(e, -EBADMSG, "rx_packets of %s: \"%.40s\"", t->at.dev, packets);
	snprintf(w.what, sizeof(w.what), "%s of napi/%s-%" PRIu32,
		 runtime ? "run time" : "context switches", t->at.dev, n->id);
	snprintf(w.of, sizeof(w.of), "rx_packets of %s", t->at.dev);
	*ret = w;
	return 0;
}

static int napi_witness(const struct host *host, const char *target, struct witness *ret,
			struct err *e)
{
	_cleanup_(view_release) struct view v = {};
	const struct netdev_napi *n = NULL;
	struct target t = {};
	int r = parse_target(host, target, &t, e);

	if (r >= 0)
		r = find(&t, &v, &n, e);
	if (r < 0 || !n)
		return r;
	if (t.key->field == NAPI_THREADED)
		return witness_thread(host, &t, &v, n, ret, e);
	if (t.key->field == NAPI_DEFER_HARD_IRQS && n->defer_hard_irqs &&
	    n->gro_flush_timeout_ns == 0) {
		witness_futile(ret,
			       "without gro-flush-timeout the kernel defers no interrupt: set both",
			       "deferred interrupts of %s %s", t.at.dev, t.which);
		return 0;
	}
	return -ENOENT;
}

static int napi_usable(const struct host *host, struct err *why)
{
	return knob_needs_cap(host, CAP_NET_ADMIN, "CAP_NET_ADMIN", why);
}

const struct knob_ops knob_napi = {
	.plugin = { .name = "napi",
		    .help = "settings of single NAPI instances (Linux 6.13)",
		    .options = napi_options },
	.usable = napi_usable,
	.resolve = napi_resolve,
	.read = napi_read,
	.write = napi_write,
	.witness = napi_witness,
	.ephemeral = netdev_ephemeral,
};
