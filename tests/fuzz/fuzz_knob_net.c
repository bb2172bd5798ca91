// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values and masks of the knobs of network devices, as a journal or the kernel may hold them, and
 * answers over netlink: refused, or what is written of them reads as the same again.
 */
#include <assert.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <netlink/attr.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "variant/ethtool_knob.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev_queues.h"
#include "variant/netlink.h"
#include "variant/qdisc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_qdisc(const char *text)
{
	_cleanup_(freep) char *first = NULL, *second = NULL;
	struct qdisc q = {}, again = {};
	struct err e = {};

	if (qdisc_parse(text, &q, &e) < 0)
		return;
	assert(qdisc_format(&q, &first, &e) == 0);
	assert(qdisc_parse(first, &again, &e) == 0);
	assert(qdisc_format(&again, &second, &e) == 0);
	assert(strcmp(first, second) == 0);
	assert(qdisc_same(text, first) && qdisc_same(first, text));
}

static void try_values(const struct ethtool_group *g, const char *text)
{
	_cleanup_(freep) char *first = NULL, *second = NULL;
	struct ethtool_values v = {}, again = {};
	struct err e = {};

	if (ethtool_values_parse(g, text, &v, &e) < 0)
		return;
	assert(ethtool_values_format(g, &v, &first, &e) == 0);
	assert(ethtool_values_parse(g, first, &again, &e) == 0);
	assert(ethtool_values_format(g, &again, &second, &e) == 0);
	assert(strcmp(first, second) == 0);
	assert(g != coalesce_group_of() || knob_coalesce.same(text, first));
}

static void try_mask(const char *text)
{
	_cleanup_(cpuset_release) struct cpuset set = {}, again = {};
	_cleanup_(buf_release) struct buf list = {};
	_cleanup_(freep) char *mask = NULL;
	struct err e = {};

	if (netdev_mask_parse(text, &set, &e) < 0)
		return;
	cpuset_format(&set, &list);
	assert(netdev_mask_format(buf_str(&list), &mask, &e) == 0);
	assert(netdev_mask_parse(mask, &again, &e) == 0);
	assert(set.nr == again.nr);
}

/* @data behind a head, in memory of its own size. */
static void try_message(const uint8_t *data, size_t size)
{
	size_t len = sizeof(struct nlmsghdr) + size;
	_cleanup_(freep) struct nlmsghdr *h = calloc(1, len);
	struct ethtool_values v = {};
	char reason[32];

	assert(h);
	h->nlmsg_len = (uint32_t)len;
	h->nlmsg_flags = size ? (uint16_t)(data[0] << 8) : 0;
	if (size)
		memcpy((char *)h + sizeof(*h), data, size);
	netlink_reason(h, reason, sizeof(reason));
	ethtool_answer(coalesce_group_of(), h, &v);
	ethtool_answer(ring_group_of(), h, &v);
	ethtool_answer(channels_group_of(), h, &v);
	ethtool_answer(pause_group_of(), h, &v);
}

/* The options of a qdisc: what is understood comes back as text and is the same. */
static void try_options(const uint8_t *data, size_t size)
{
	static const char *const kinds[] = { "fq", "fq_codel", "codel", "pfifo", "mq" };
	size_t len = NLA_HDRLEN + size;
	_cleanup_(freep) struct nlattr *a = calloc(1, len);
	_cleanup_(freep) char *text = NULL;
	struct qdisc q = { .handle = 0x80010000 };
	struct err e = {};

	assert(a);
	if (!size || len > UINT16_MAX)
		return;
	q.kind = qdisc_kind_find(kinds[data[0] % ARRAY_SIZE(kinds)]);
	a->nla_len = (uint16_t)len;
	memcpy((char *)a + NLA_HDRLEN, data, size);
	if (qdisc_options(&q, a, &e) < 0)
		return;
	assert(qdisc_format(&q, &text, &e) == 0);
	try_qdisc(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *text = NULL;

	if (size < 1)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	assert(text);
	switch (data[0] % 6) {
	case 0:
		try_qdisc(text);
		break;
	case 1:
		try_values(coalesce_group_of(), text);
		break;
	case 2:
		try_values(ring_group_of(), text);
		break;
	case 3:
		try_mask(text);
		break;
	case 4:
		try_message(data + 1, size - 1);
		break;
	default:
		try_options(data + 1, size - 1);
		break;
	}
	return 0;
}
