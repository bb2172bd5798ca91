// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/ethtool_knob.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/netdev.h"

static bool has(const struct ethtool_values *v, size_t i)
{
	return v->has >> i & 1;
}

static int find_param(const struct ethtool_group *g, const char *name, size_t len)
{
	for (size_t i = 0; g->params[i].name; i++)
		if (strlen(g->params[i].name) == len && strncmp(g->params[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

/* The names of what @v has, in the order of the table. */
static void put_names(const struct ethtool_group *g, const struct ethtool_values *v,
		      const char *separator, struct buf *out)
{
	size_t before = out->len;

	for (size_t i = 0; g->params[i].name; i++)
		if (has(v, i))
			buf_printf(out, "%s%s", out->len > before ? separator : "",
				   g->params[i].name);
}

int ethtool_values_format(const struct ethtool_group *g, const struct ethtool_values *v, char **ret,
			  struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	for (size_t i = 0; g->params[i].name; i++) {
		if (!has(v, i))
			continue;
		buf_printf(&b, "%s%s:", b.len ? "," : "", g->params[i].name);
		if (g->params[i].is_switch)
			buf_puts(&b, v->v[i] ? "on" : "off");
		else
			buf_printf(&b, "%" PRIu32, v->v[i]);
	}
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, g->what);
}

static int parse_value(const struct ethtool_param *p, const char *text, uint32_t *ret,
		       struct err *e)
{
	uint64_t n = 0;
	bool on = false;

	if (p->is_switch) {
		if (text_bool(text, &on) < 0)
			return err_set(e, -EINVAL, "%s \"%.60s\" is neither on nor off", p->name,
				       text);
		*ret = on;
		return 0;
	}
	if (text_u64(text, &n) < 0 || n > UINT32_MAX)
		return err_set(e, -EINVAL, "%s \"%.60s\" is not a number below 2^32", p->name,
			       text);
	*ret = (uint32_t)n;
	return 0;
}

int ethtool_values_parse(const struct ethtool_group *g, const char *text,
			 struct ethtool_values *ret, struct err *e)
{
	_cleanup_(str_list_release) struct str_list l = {};
	struct ethtool_values v = {};
	int r = str_list_split(text, &l, e);

	for (size_t i = 0; i < l.nr && r >= 0; i++) {
		size_t len = strcspn(l.v[i], ":");
		int k = find_param(g, l.v[i], len);

		if (k < 0 || has(&v, (size_t)k) || l.v[i][len] != ':')
			return err_set(e, -EINVAL, "\"%.200s\" is not parameters with values",
				       text);
		v.has |= UINT32_C(1) << k;
		r = parse_value(&g->params[k], l.v[i] + len + 1, &v.v[k], e);
	}
	if (r < 0)
		return r;
	*ret = v;
	return 0;
}

/* The parameters that "eth0 rx-usecs,adaptive-rx" names. */
static int parse_target(const struct host *host, const char *text, const struct ethtool_group *g,
			struct netdev_target *ret, uint32_t *ret_has, struct err *e)
{
	_cleanup_(str_list_release) struct str_list l = {};
	uint32_t bits = 0;
	int r = netdev_target_parse(host, text, ret, e);

	if (r >= 0)
		r = str_list_split(ret->rest, &l, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l.nr; i++) {
		int k = find_param(g, l.v[i], strlen(l.v[i]));

		if (k < 0 || bits >> k & 1)
			return err_set(e, -EINVAL, "target \"%s\": no such parameter", text);
		bits |= UINT32_C(1) << k;
	}
	*ret_has = bits;
	return 0;
}

int ethtool_knob_values(const struct netdev_target *t, const struct ethtool_group *g,
			struct ethtool_values *ret, struct err *e)
{
	int r = ethtool_read(t->side, t->dev, g, ret, e);
	char driver[NETDEV_DRIVER_SIZE];

	if (r != -EOPNOTSUPP)
		return r;
	netdev_driver(t->side, t->dev, driver);
	return err_set(e, -EINVAL,
		       "%s (driver %s) has no %s: leave the knob out for it, or test a device that "
		       "has",
		       t->dev, driver, g->what);
}

static int refuse_absent(const struct netdev_target *t, const struct ethtool_group *g,
			 const struct ethtool_values *now, uint32_t wanted, struct err *e)
{
	struct ethtool_values absent = { .has = wanted & ~now->has };
	_cleanup_(buf_release) struct buf without = {}, with = {};
	char driver[NETDEV_DRIVER_SIZE];

	put_names(g, &absent, ", ", &without);
	put_names(g, now, ", ", &with);
	netdev_driver(t->side, t->dev, driver);
	return err_set(e, -EINVAL, "%s (driver %s) has no %s; of %s it has: %s", t->dev, driver,
		       buf_str(&without), g->what, with.len ? buf_str(&with) : "nothing");
}

int ethtool_knob_read(const struct host *host, const char *target, const struct ethtool_group *g,
		      char **ret, struct err *e)
{
	struct netdev_target t = {};
	struct ethtool_values now = {};
	uint32_t wanted = 0;
	int r = parse_target(host, target, g, &t, &wanted, e);

	if (r >= 0)
		r = ethtool_knob_values(&t, g, &now, e);
	if (r < 0)
		return r;
	if (wanted & ~now.has)
		return refuse_absent(&t, g, &now, wanted, e);
	now.has = wanted;
	return ethtool_values_format(g, &now, ret, e);
}

/* Switches that go off come first, those that go on last: a number may hang on either. */
static int turn_of(const struct ethtool_param *p, uint32_t v)
{
	if (!p->is_switch)
		return 1;
	return v ? 2 : 0;
}

static int write_singly(const struct netdev_target *t, const struct ethtool_group *g,
			const struct ethtool_values *want, struct err *e)
{
	for (int turn = 0; turn < 3; turn++)
		for (size_t i = 0; g->params[i].name; i++) {
			struct ethtool_values one = *want;
			int r;

			if (!has(want, i) || turn_of(&g->params[i], want->v[i]) != turn)
				continue;
			one.has = UINT32_C(1) << i;
			r = ethtool_write(t->side, t->dev, g, &one, e);
			if (r < 0)
				return err_wrap(e, "%s", g->params[i].name);
		}
	return 0;
}

static int refuse_write(const struct netdev_target *t, int r, struct err *e)
{
	char driver[NETDEV_DRIVER_SIZE], why[sizeof(e->msg)];

	netdev_driver(t->side, t->dev, driver);
	snprintf(why, sizeof(why), "%s", e->msg);
	return err_set(e, r == -EOPNOTSUPP ? -EINVAL : r, "%.800s; driver %s", why, driver);
}

int ethtool_knob_write(const struct host *host, const char *target, const char *value,
		       const struct ethtool_group *g, struct err *e)
{
	struct netdev_target t = {};
	struct ethtool_values want = {};
	uint32_t named = 0;
	int r = parse_target(host, target, g, &t, &named, e);

	if (r >= 0)
		r = ethtool_values_parse(g, value, &want, e);
	if (r < 0)
		return r;
	if (want.has != named)
		return err_set(e, -EINVAL, "value \"%.200s\" is not of target \"%s\"", value,
			       target);
	r = ethtool_write(t.side, t.dev, g, &want, e);
	if (r < 0 && r != -ENODEV && r != -EPERM && (named & (named - 1)))
		r = write_singly(&t, g, &want, e);
	return r < 0 ? refuse_write(&t, r, e) : 0;
}

static int add_dev(const struct host *host, const char *dev, const struct ethtool_group *g,
		   const struct ethtool_values *want, struct knob_settings *l, struct err *e)
{
	_cleanup_(buf_release) struct buf target = {};
	_cleanup_(freep) char *value = NULL;
	int r = netdev_check(host, dev, e);

	if (r >= 0)
		r = ethtool_values_format(g, want, &value, e);
	if (r < 0)
		return r;
	buf_printf(&target, "%s ", dev);
	put_names(g, want, ",", &target);
	return knob_settings_add(l, buf_str(&target), value, e);
}

static int wanted_values(const struct instance *inst, const struct ethtool_group *g,
			 struct ethtool_values *ret, struct err *e)
{
	struct ethtool_values v = {};

	for (size_t i = 0; g->params[i].name; i++) {
		const char *text = instance_value(inst, g->params[i].name);
		int r = text ? parse_value(&g->params[i], text, &v.v[i], e) : 0;

		if (r < 0)
			return r;
		if (text)
			v.has |= UINT32_C(1) << i;
	}
	if (!v.has)
		return err_set(e, -EINVAL,
			       "nothing to set: name a parameter beside dev, such as %s",
			       g->params[0].name);
	*ret = v;
	return 0;
}

int ethtool_knob_resolve(const struct host *host, const struct instance *inst,
			 const struct ethtool_group *g, const struct opt *rows,
			 struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct ethtool_values want = {};
	struct ethtool_cfg cfg = {};
	int r = instance_parse(inst, rows, &cfg, e);

	if (r < 0)
		return r;
	r = wanted_values(inst, g, &want, e);
	if (r >= 0 && cfg.dev.nr == 0)
		r = err_set(e, -EINVAL, "dev is empty: name a network device");
	for (size_t i = 0; i < cfg.dev.nr && r >= 0; i++)
		r = add_dev(host, cfg.dev.v[i], g, &want, &l, e);
	opt_release(rows, &cfg);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

int ethtool_knob_usable(const struct host *host, struct err *why)
{
	return knob_needs_cap(host, CAP_NET_ADMIN, "CAP_NET_ADMIN", why);
}
