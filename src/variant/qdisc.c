// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/qdisc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

/* Behind the last attributes that the headers of Linux 6.1 know. */
#define ATTR_FQ_PRIOMAP 16
#define ATTR_FQ_WEIGHTS 17
#define ATTR_FQ_OFFLOAD_HORIZON 18

static const struct qdisc_param no_params[] = { {} };

static const struct qdisc_param fifo_params[] = {
	{ "limit", 0, QDISC_NUMBER },
	{},
};

static const struct qdisc_param fq_params[] = {
	{ "limit", TCA_FQ_PLIMIT, QDISC_NUMBER },
	{ "flow_limit", TCA_FQ_FLOW_PLIMIT, QDISC_NUMBER },
	{ "quantum", TCA_FQ_QUANTUM, QDISC_NUMBER },
	{ "initial_quantum", TCA_FQ_INITIAL_QUANTUM, QDISC_NUMBER },
	{ "pacing", TCA_FQ_RATE_ENABLE, QDISC_NUMBER },
	{ "maxrate", TCA_FQ_FLOW_MAX_RATE, QDISC_RATE },
	{ "buckets_log", TCA_FQ_BUCKETS_LOG, QDISC_NUMBER },
	{ "refill_delay", TCA_FQ_FLOW_REFILL_DELAY, QDISC_US },
	{ "orphan_mask", TCA_FQ_ORPHAN_MASK, QDISC_NUMBER },
	{ "low_rate_threshold", TCA_FQ_LOW_RATE_THRESHOLD, QDISC_RATE },
	{ "ce_threshold", TCA_FQ_CE_THRESHOLD, QDISC_US },
	{ "timer_slack_ns", TCA_FQ_TIMER_SLACK, QDISC_NUMBER },
	{ "horizon", TCA_FQ_HORIZON, QDISC_US },
	{ "horizon_drop", TCA_FQ_HORIZON_DROP, QDISC_BYTE },
	{ "priomap", ATTR_FQ_PRIOMAP, QDISC_PRIOMAP },
	{ "weights", ATTR_FQ_WEIGHTS, QDISC_WEIGHTS },
	{ "offload_horizon", ATTR_FQ_OFFLOAD_HORIZON, QDISC_US },
	{},
};

static const struct qdisc_param fq_codel_params[] = {
	{ "limit", TCA_FQ_CODEL_LIMIT, QDISC_NUMBER },
	{ "flows", TCA_FQ_CODEL_FLOWS, QDISC_NUMBER },
	{ "quantum", TCA_FQ_CODEL_QUANTUM, QDISC_NUMBER },
	{ "target", TCA_FQ_CODEL_TARGET, QDISC_CODEL },
	{ "interval", TCA_FQ_CODEL_INTERVAL, QDISC_CODEL },
	{ "ce_threshold", TCA_FQ_CODEL_CE_THRESHOLD, QDISC_CODEL },
	{ "ecn", TCA_FQ_CODEL_ECN, QDISC_NUMBER },
	{ "memory_limit", TCA_FQ_CODEL_MEMORY_LIMIT, QDISC_NUMBER },
	{ "drop_batch", TCA_FQ_CODEL_DROP_BATCH_SIZE, QDISC_NUMBER },
	{ "ce_threshold_selector", TCA_FQ_CODEL_CE_THRESHOLD_SELECTOR, QDISC_BYTE },
	{ "ce_threshold_mask", TCA_FQ_CODEL_CE_THRESHOLD_MASK, QDISC_BYTE },
	{},
};

static const struct qdisc_param codel_params[] = {
	{ "limit", TCA_CODEL_LIMIT, QDISC_NUMBER },
	{ "target", TCA_CODEL_TARGET, QDISC_CODEL },
	{ "interval", TCA_CODEL_INTERVAL, QDISC_CODEL },
	{ "ce_threshold", TCA_CODEL_CE_THRESHOLD, QDISC_CODEL },
	{ "ecn", TCA_CODEL_ECN, QDISC_NUMBER },
	{},
};

static const struct qdisc_kind kinds[] = {
	{ "noqueue", "NET_SCHED", false, true, no_params },
	{ "pfifo_fast", "NET_SCHED", false, true, no_params },
	{ "mq", "NET_SCHED", false, true, no_params },
	{ "pfifo", "NET_SCH_FIFO", true, false, fifo_params },
	{ "bfifo", "NET_SCH_FIFO", true, false, fifo_params },
	{ "fq", "NET_SCH_FQ", false, false, fq_params },
	{ "fq_codel", "NET_SCH_FQ_CODEL", false, false, fq_codel_params },
	{ "codel", "NET_SCH_CODEL", false, false, codel_params },
};

const struct qdisc_kind *qdisc_kind_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

static size_t size_of(enum qdisc_type type)
{
	switch (type) {
	case QDISC_BYTE:
		return 1;
	case QDISC_PRIOMAP:
		return sizeof(struct tc_prio_qopt);
	case QDISC_WEIGHTS:
		return 3 * sizeof(uint32_t);
	case QDISC_NUMBER:
	case QDISC_US:
	case QDISC_CODEL:
	case QDISC_RATE:
		break;
	}
	return sizeof(uint32_t);
}

static bool is_binary(enum qdisc_type type)
{
	return type == QDISC_PRIOMAP || type == QDISC_WEIGHTS;
}

static uint32_t number_of(const struct qdisc *q, size_t i)
{
	uint32_t n = 0;

	if (q->kind->params[i].type == QDISC_BYTE)
		return q->v[i][0];
	memcpy(&n, q->v[i], sizeof(n));
	return n;
}

static void set_number(struct qdisc *q, size_t i, uint32_t n)
{
	if (q->kind->params[i].type == QDISC_BYTE)
		q->v[i][0] = (unsigned char)n;
	else
		memcpy(q->v[i], &n, sizeof(n));
}

/* What codel makes of @us and tells then: it keeps (us * 1000) >> 10 (include/net/codel.h). */
static uint64_t codel_told(uint64_t us)
{
	return ((us * NS_PER_US) >> 10 << 10) / NS_PER_US;
}

/* What to say to codel so that it tells @us. */
static uint32_t codel_asked(uint32_t us)
{
	for (uint32_t ask = us; ask >= us && ask - us < 3; ask++)
		if (codel_told(ask) == us)
			return ask;
	return us;
}

static int parse_hex(const char *text, unsigned char *out, size_t size)
{
	if (strlen(text) != 2 * size || strspn(text, "0123456789abcdef") != 2 * size)
		return -EINVAL;
	for (size_t i = 0; i < size; i++) {
		const char byte[] = { text[2 * i], text[2 * i + 1], '\0' };

		out[i] = (unsigned char)strtoul(byte, NULL, 16);
	}
	return 0;
}

static int parse_number(enum qdisc_type type, const char *text, uint64_t *ret)
{
	bool on = false;
	int r;

	switch (type) {
	case QDISC_US:
	case QDISC_CODEL:
		r = text_ns(text, ret);
		*ret /= NS_PER_US;
		if (type == QDISC_CODEL && *ret <= UINT32_MAX)
			*ret = codel_told(codel_asked((uint32_t)*ret));
		return r;
	case QDISC_RATE:
		if (strcmp(text, "unlimited") == 0) {
			*ret = UINT32_MAX;
			return 0;
		}
		r = text_bps(text, ret);
		*ret /= 8;
		return r;
	case QDISC_NUMBER:
	case QDISC_BYTE:
	case QDISC_PRIOMAP:
	case QDISC_WEIGHTS:
		break;
	}
	if (text_u64(text, ret) == 0)
		return 0;
	r = text_bool(text, &on);
	*ret = on;
	return r;
}

static int parse_value(struct qdisc *q, size_t i, const char *text, struct err *e)
{
	const struct qdisc_param *p = &q->kind->params[i];
	uint64_t n = 0;
	int r;

	if (is_binary(p->type)) {
		r = parse_hex(text, q->v[i], size_of(p->type));
	} else {
		r = parse_number(p->type, text, &n);
		if (r >= 0 && n > (p->type == QDISC_BYTE ? UINT8_MAX : UINT32_MAX))
			r = -ERANGE;
		set_number(q, i, (uint32_t)n);
	}
	if (r < 0)
		return err_set(e, -EINVAL, "\"%.60s\" is no value of %s of %s", text, p->name,
			       q->kind->name);
	q->has |= UINT32_C(1) << i;
	return 0;
}

static int find_param(const struct qdisc_kind *kind, const char *name)
{
	for (size_t i = 0; kind->params[i].name; i++)
		if (strcmp(kind->params[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int refuse_param(const struct qdisc_kind *kind, const char *name, struct err *e)
{
	_cleanup_(buf_release) struct buf all = {};

	for (size_t i = 0; kind->params[i].name; i++)
		buf_printf(&all, "%s%s", i ? ", " : "", kind->params[i].name);
	return err_set(e, -EINVAL, "%s has no parameter \"%.60s\"; it has: %s", kind->name, name,
		       all.len ? buf_str(&all) : "none");
}

static int refuse_kind(const char *name, struct err *e)
{
	_cleanup_(buf_release) struct buf all = {};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		buf_printf(&all, "%s%s", i ? ", " : "", kinds[i].name);
	return err_set(e, -EINVAL,
		       "qdisc \"%.60s\" is none of those that irqlab can set and give back: "
		       "default, %s",
		       name, buf_str(&all));
}

/* "8001:" */
static int parse_handle(const char *text, uint32_t *ret, struct err *e)
{
	unsigned long major = text ? strtoul(text, NULL, 16) : 0;
	char again[16];

	/* written again, it must be the same text */
	if (text && major > 0 && major <= UINT16_MAX) {
		snprintf(again, sizeof(again), "%lx:", major);
		if (strcmp(text, again) == 0) {
			*ret = (uint32_t)major << 16;
			return 0;
		}
	}
	return err_set(e, -EINVAL, "\"%.60s\" is not a handle such as 8001:", text ? text : "");
}

static bool is_mq(const struct qdisc_kind *kind)
{
	return strcmp(kind->name, "mq") == 0;
}

/* The words behind the kind. */
static int parse_params(struct qdisc *q, char **rest, struct err *e)
{
	for (char *name; (name = strtok_r(NULL, " ", rest));) {
		char *value = strtok_r(NULL, " ", rest);
		int i, r;

		if (strcmp(name, "handle") == 0 && !q->handle) {
			r = parse_handle(value, &q->handle, e);
			if (r < 0)
				return r;
			continue;
		}
		if (strcmp(name, "of") == 0 && is_mq(q->kind) && !q->leaf[0] && value &&
		    strlen(value) < sizeof(q->leaf)) {
			memcpy(q->leaf, value, strlen(value));
			continue;
		}
		i = find_param(q->kind, name);
		if (i < 0)
			return refuse_param(q->kind, name, e);
		if (!value || q->has >> i & 1)
			return err_set(e, -EINVAL, "%s wants one value", name);
		r = parse_value(q, (size_t)i, value, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int qdisc_parse(const char *text, struct qdisc *ret, struct err *e)
{
	_cleanup_(freep) char *words = strdup(text);
	struct qdisc q = {};
	char *rest = NULL, *word;
	int r;

	if (!words)
		return err_nomem(e, "qdisc");
	word = strtok_r(words, " ", &rest);
	if (word && strcmp(word, "default") == 0) {
		q.is_default = true;
		word = strtok_r(NULL, " ", &rest);
	}
	if (!word && !q.is_default)
		return err_set(e, -EINVAL, "a qdisc wants a kind, such as fq or \"default\"");
	if (word) {
		q.kind = qdisc_kind_find(word);
		if (!q.kind)
			return refuse_kind(word, e);
		r = parse_params(&q, &rest, e);
		if (r < 0)
			return r;
	}
	*ret = q;
	return 0;
}

static void format_value(const struct qdisc *q, size_t i, struct buf *out)
{
	const struct qdisc_param *p = &q->kind->params[i];

	switch (p->type) {
	case QDISC_NUMBER:
	case QDISC_BYTE:
		buf_printf(out, "%" PRIu32, number_of(q, i));
		return;
	case QDISC_US:
	case QDISC_CODEL:
		buf_printf(out, "%" PRIu32 "us", number_of(q, i));
		return;
	case QDISC_RATE:
		if (number_of(q, i) == UINT32_MAX)
			buf_puts(out, "unlimited");
		else
			buf_printf(out, "%" PRIu64, (uint64_t)number_of(q, i) * 8);
		return;
	case QDISC_PRIOMAP:
	case QDISC_WEIGHTS:
		for (size_t k = 0; k < size_of(p->type); k++)
			buf_printf(out, "%02x", q->v[i][k]);
		return;
	}
}

int qdisc_format(const struct qdisc *q, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_puts(&b, q->is_default ? "default" : "");
	if (q->kind)
		buf_printf(&b, "%s%s", b.len ? " " : "", q->kind->name);
	if (q->handle)
		buf_printf(&b, " handle %x:", q->handle >> 16);
	if (q->leaf[0])
		buf_printf(&b, " of %s", q->leaf);
	for (size_t i = 0; q->kind && q->kind->params[i].name; i++) {
		if (!(q->has >> i & 1))
			continue;
		buf_printf(&b, " %s ", q->kind->params[i].name);
		format_value(q, i, &b);
	}
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, "qdisc");
}

static int take_attr(struct qdisc *q, const struct nlattr *a, struct err *e)
{
	for (size_t i = 0; q->kind->params[i].name; i++) {
		const struct qdisc_param *p = &q->kind->params[i];

		if (p->attr != nla_type(a))
			continue;
		if (nla_len(a) != (int)size_of(p->type))
			return err_set(e, -EBADMSG, "%s of %s has %d bytes", p->name, q->kind->name,
				       nla_len(a));
		memcpy(q->v[i], nla_data(a), size_of(p->type));
		q->has |= UINT32_C(1) << i;
		return 0;
	}
	return err_set(
		e, -EINVAL,
		"qdisc %s has a parameter (attribute %d) that irqlab does not know and could "
		"not give back",
		q->kind->name, nla_type(a));
}

int qdisc_options(struct qdisc *q, const struct nlattr *options, struct err *e)
{
	const struct nlattr *a;
	int rest, r;

	if (q->kind->is_fixed || !options)
		return 0;
	if (q->kind->is_fifo) {
		if (nla_len(options) < (int)sizeof(struct tc_fifo_qopt))
			return err_set(e, -EBADMSG, "options of %s have %d bytes", q->kind->name,
				       nla_len(options));
		memcpy(q->v[0], nla_data(options), sizeof(struct tc_fifo_qopt));
		q->has = 1;
		return 0;
	}
	nla_for_each_nested(a, options, rest)
	{
		r = take_attr(q, a, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_value(struct nl_msg *m, const struct qdisc *q, size_t i)
{
	const struct qdisc_param *p = &q->kind->params[i];

	if (p->type == QDISC_CODEL)
		return nla_put_u32(m, p->attr, codel_asked(number_of(q, i)));
	return nla_put(m, p->attr, (int)size_of(p->type), q->v[i]);
}

int qdisc_put_options(struct nl_msg *m, const struct qdisc *q)
{
	struct nlattr *nest;
	int r = 0;

	if (!q->has)
		return 0;
	if (q->kind->is_fifo)
		return nla_put(m, TCA_OPTIONS, sizeof(struct tc_fifo_qopt), q->v[0]);
	nest = nla_nest_start(m, TCA_OPTIONS);
	if (!nest)
		return -NLE_NOMEM;
	for (size_t i = 0; q->kind->params[i].name && r >= 0; i++)
		if (q->has >> i & 1)
			r = put_value(m, q, i);
	nla_nest_end(m, nest);
	return r;
}

/* As read from the kernel: with a handle, or the default one with its kind. */
static bool is_complete(const struct qdisc *q)
{
	return q->handle || (q->is_default && q->kind);
}

bool qdisc_same(const char *a, const char *b)
{
	struct qdisc x = {}, y = {};
	struct err ignored = {};
	uint32_t both;

	if (qdisc_parse(a, &x, &ignored) < 0 || qdisc_parse(b, &y, &ignored) < 0)
		return strcmp(a, b) == 0;
	if (is_complete(&x) && is_complete(&y) && (x.handle != y.handle || x.has != y.has))
		return false;
	/* "default" alone */
	if (!x.kind || !y.kind)
		return x.is_default && y.is_default;
	if (x.kind != y.kind || (x.leaf[0] && y.leaf[0] && strcmp(x.leaf, y.leaf) != 0))
		return false;
	both = x.has & y.has;
	/* what a plan names must be there */
	if ((is_complete(&x) && y.has & ~x.has) || (is_complete(&y) && x.has & ~y.has))
		return false;
	for (size_t i = 0; x.kind->params[i].name; i++)
		if (both >> i & 1 && memcmp(x.v[i], y.v[i], size_of(x.kind->params[i].type)) != 0)
			return false;
	return true;
}
