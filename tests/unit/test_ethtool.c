// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Knobs coalesce, ring, channels, pause: messages as ethtool sends them and the kernel answers
 * them (recorded), a driver that is no friend of sets, and real devices.
 */
#include "test.h"

#include <linux/ethtool_netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <stdio.h>

#include "known/netlink.h"
#include "netns.h"
#include "plan/instance.h"
#include "tree.h"
#include "knob_test.h"
#include "variant/ethtool_knob.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netdev.h"
#include "variant/netlink.h"
#include "variant/variant.h"

/*
 * A driver in place of the kernel's: as some do, it takes rx-usecs only while adaptive-rx is off
 * before and after, and while it is on rx-usecs moves by itself.
 */
static struct {
	bool here;
	uint32_t adaptive, usecs;
	unsigned int requests;
} driver;

#define RX_USECS 0
#define ADAPTIVE_RX 9

int __real_ethtool_read(const struct host_side *side, const char *dev,
			const struct ethtool_group *g, struct ethtool_values *ret, struct err *e);
int __wrap_ethtool_read(const struct host_side *side, const char *dev,
			const struct ethtool_group *g, struct ethtool_values *ret, struct err *e);
int __real_ethtool_write(const struct host_side *side, const char *dev,
			 const struct ethtool_group *g, const struct ethtool_values *want,
			 struct err *e);
int __wrap_ethtool_write(const struct host_side *side, const char *dev,
			 const struct ethtool_group *g, const struct ethtool_values *want,
			 struct err *e);
int __real_genl_ctrl_resolve(struct nl_sock *s, const char *name);
int __wrap_genl_ctrl_resolve(struct nl_sock *s, const char *name);

int __wrap_ethtool_read(const struct host_side *side, const char *dev,
			const struct ethtool_group *g, struct ethtool_values *ret, struct err *e)
{
	if (!driver.here)
		return __real_ethtool_read(side, dev, g, ret, e);
	if (driver.adaptive)
		driver.usecs = driver.usecs * 3 % 101;
	*ret = (struct ethtool_values){ .has = 1 << RX_USECS | 1 << ADAPTIVE_RX };
	ret->v[RX_USECS] = driver.usecs;
	ret->v[ADAPTIVE_RX] = driver.adaptive;
	return 0;
}

int __wrap_ethtool_write(const struct host_side *side, const char *dev,
			 const struct ethtool_group *g, const struct ethtool_values *want,
			 struct err *e)
{
	bool usecs = want->has >> RX_USECS & 1, adaptive = want->has >> ADAPTIVE_RX & 1;

	if (!driver.here)
		return __real_ethtool_write(side, dev, g, want, e);
	driver.requests++;
	if (usecs && (driver.adaptive || (adaptive && want->v[ADAPTIVE_RX])))
		return err_set(e, -EINVAL, "rx-usecs cannot be changed while adaptive-rx is on");
	if (usecs)
		driver.usecs = want->v[RX_USECS];
	if (adaptive)
		driver.adaptive = want->v[ADAPTIVE_RX];
	return 0;
}

static bool no_family;

int __wrap_genl_ctrl_resolve(struct nl_sock *s, const char *name)
{
	return no_family ? -NLE_OBJ_NOTFOUND : __real_genl_ctrl_resolve(s, name);
}

/* The recorded message @name as bytes. */
static size_t recorded_bytes(const char *name, unsigned char *out, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		size_t n = strlen(recorded[i].hex) / 2;

		if (strcmp(recorded[i].name, name) != 0)
			continue;
		assert_true(n <= size);
		for (size_t k = 0; k < n; k++) {
			unsigned int byte = 0;

			assert_int_equal(sscanf(recorded[i].hex + 2 * k, "%2x", &byte), 1);
			out[k] = (unsigned char)byte;
		}
		return n;
	}
	fail_msg("no recorded message %s", name);
	return 0;
}

static const struct nlattr *attr_of(const struct nlmsghdr *h, int type)
{
	return nlmsg_find_attr((struct nlmsghdr *)(uintptr_t)h, GENL_HDRLEN, type);
}

/* The same command, family, flags and attributes; their order does not matter to the kernel. */
static void expect_same_message(const struct nlmsghdr *ours, const struct nlmsghdr *theirs)
{
	const struct genlmsghdr *a = genlmsg_hdr((struct nlmsghdr *)(uintptr_t)ours);
	const struct genlmsghdr *b = genlmsg_hdr((struct nlmsghdr *)(uintptr_t)theirs);
	const struct nlattr *attr;
	int rest, nr = 0;

	assert_int_equal(a->cmd, b->cmd);
	assert_int_equal(a->version, b->version);
	assert_int_equal(ours->nlmsg_type, theirs->nlmsg_type);
	assert_int_equal(ours->nlmsg_len, theirs->nlmsg_len);
	nlmsg_for_each_attr(attr, (struct nlmsghdr *)(uintptr_t)theirs, GENL_HDRLEN, rest)
	{
		const struct nlattr *mine = attr_of(ours, nla_type(attr));

		if (!mine)
			fail_msg("attribute %d is missing", nla_type(attr));
		assert_int_equal(mine->nla_type, attr->nla_type);
		assert_int_equal(nla_len(mine), nla_len(attr));
		assert_memory_equal(nla_data(mine), nla_data(attr), nla_len(attr));
		nr++;
	}
	assert_true(nr > 1);
}

static void requests_are_those_of_ethtool(void **state)
{
	static const struct {
		const char *name, *values;
		const struct ethtool_group *(*group)(void);
	} cases[] = {
		{ "coalesce_set", "rx-usecs:8,rx-frames:16,adaptive-rx:off,adaptive-tx:on",
		  coalesce_group_of },
		{ "coalesce_set_all",
		  "rx-usecs:1,rx-frames:2,rx-usecs-irq:3,rx-frames-irq:4,tx-usecs:5,tx-frames:6,"
		  "tx-usecs-irq:7,tx-frames-irq:8,stats-block-usecs:9,pkt-rate-low:10,"
		  "rx-usecs-low:11,rx-frames-low:12,tx-usecs-low:13,tx-frames-low:14,"
		  "pkt-rate-high:15,rx-usecs-high:16,rx-frames-high:17,tx-usecs-high:18,"
		  "tx-frames-high:19,sample-interval:20,cqe-mode-rx:on,cqe-mode-tx:off",
		  coalesce_group_of },
		{ "ring_set",
		  "rx:512,rx-mini:1,rx-jumbo:2,tx:1024,rx-buf-len:2048,cqe-size:64,tx-push:on",
		  ring_group_of },
		{ "channels_set", "rx:2,tx:3,other:1,combined:4", channels_group_of },
		{ "pause_set", "autoneg:off,rx:on,tx:off", pause_group_of },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(netlink_msg_freep) struct nl_msg *m = NULL;
		_Alignas(8) unsigned char bytes[512];
		const struct nlmsghdr *theirs = (const struct nlmsghdr *)bytes;
		struct ethtool_values v = {};
		struct err e = {};

		recorded_bytes(cases[i].name, bytes, sizeof(bytes));
		must(ethtool_values_parse(cases[i].group(), cases[i].values, &v, &e), &e);
		must(ethtool_request(cases[i].group(), theirs->nlmsg_type, "va", &v, &m, &e), &e);
		expect_same_message(nlmsg_hdr(m), theirs);
	}
}

static void answers_read_as_ethtool_shows_them(void **state)
{
	static const struct {
		const char *name, *values;
		const struct ethtool_group *(*group)(void);
	} cases[] = {
		{ "coalesce_get_tap", "rx-frames:7", coalesce_group_of },
		{ "coalesce_get_virtio",
		  "rx-usecs:0,rx-frames:1,tx-usecs:0,tx-frames:1,adaptive-rx:off",
		  coalesce_group_of },
		{ "ring_get_virtio", "rx:256,tx:256,tx-push:off,rx-push:off", ring_group_of },
		{ "channels_get_veth", "rx:4,tx:4", channels_group_of },
		{ "channels_get_tap", "combined:0", channels_group_of },
		{ "channels_get_virtio", "combined:1", channels_group_of },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_Alignas(8) unsigned char bytes[512];
		_cleanup_(freep) char *text = NULL;
		struct ethtool_values v = {};
		struct err e = {};

		recorded_bytes(cases[i].name, bytes, sizeof(bytes));
		assert_int_equal(ethtool_answer(cases[i].group(), (struct nlmsghdr *)bytes, &v), 0);
		must(ethtool_values_format(cases[i].group(), &v, &text, &e), &e);
		assert_string_equal(text, cases[i].values);
	}
}

/* As net/ethtool/pause.c writes it: counters that the driver does not have are left out. */
static void pause_frames_are_counted(void **state)
{
	_cleanup_(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc();
	struct ethtool_values v = {};
	struct nlattr *nest;

	genlmsg_put(m, 0, 0, 21, 0, 0, ETHTOOL_MSG_PAUSE_GET_REPLY, 1);
	nla_put_u8(m, ETHTOOL_A_PAUSE_AUTONEG, 1);
	nla_put_u8(m, ETHTOOL_A_PAUSE_RX, 1);
	nla_put_u8(m, ETHTOOL_A_PAUSE_TX, 0);
	nest = nla_nest_start(m, NLA_F_NESTED | ETHTOOL_A_PAUSE_STATS);
	nla_put_u64(m, ETHTOOL_A_PAUSE_STAT_TX_FRAMES, 5000000000);
	nla_put(m, ETHTOOL_A_PAUSE_STAT_PAD, 0, NULL);
	nla_put_u64(m, ETHTOOL_A_PAUSE_STAT_RX_FRAMES, 7);
	nla_nest_end(m, nest);
	assert_int_equal(ethtool_answer(pause_group_of(), nlmsg_hdr(m), &v), 0);
	assert_int_equal(v.has, 7);
	assert_true(v.has_stats);
	assert_true(v.stats == 5000000007);
	assert_int_equal(v.v[0], 1);
}

/* Nothing that comes over the socket may harm: cut at every byte, and bytes changed. */
static void damaged_answers_are_no_answers(void **state)
{
	static const char *const names[] = { "coalesce_get_virtio", "ring_get_virtio",
					     "channels_get_veth", "ring_get_refused" };
	uint32_t seed = 99;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_Alignas(8) unsigned char bytes[512];
		size_t n = recorded_bytes(names[i], bytes, sizeof(bytes));

		for (size_t len = NLMSG_HDRLEN; len <= n; len++) {
			/* of its own size, so that reading beyond it shows */
			unsigned char *cut = malloc(len);
			struct ethtool_values v = {};
			char reason[64];

			memcpy(cut, bytes, len);
			((struct nlmsghdr *)cut)->nlmsg_len = (uint32_t)len;
			ethtool_answer(ring_group_of(), (struct nlmsghdr *)cut, &v);
			((struct nlmsghdr *)cut)->nlmsg_flags |= 0x200;
			netlink_reason((struct nlmsghdr *)cut, reason, sizeof(reason));
			for (size_t k = NLMSG_HDRLEN; k < len; k++) {
				seed = seed * 1664525 + 1013904223;
				if (seed >> 28 == 0)
					cut[k] = (unsigned char)(seed >> 8);
			}
			ethtool_answer(coalesce_group_of(), (struct nlmsghdr *)cut, &v);
			netlink_reason((struct nlmsghdr *)cut, reason, sizeof(reason));
			free(cut);
		}
	}
}

/* struct nlmsgerr, the request or not, then the sentence. */
static void the_kernels_sentence_is_found(void **state)
{
	for (int capped = 0; capped < 2; capped++) {
		_cleanup_(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc();
		struct nlmsghdr *h = nlmsg_put(m, 0, 0, NLMSG_ERROR, 0, 0x200 | capped * 0x100);
		struct nlmsgerr error = { .error = -EINVAL, .msg = { .nlmsg_len = 24 } };
		char reason[64], small[8];

		nlmsg_append(m, &error, sizeof(error), 4);
		if (!capped)
			nlmsg_append(m, (char[]){ "1234567" }, 8, 4);
		nla_put_u32(m, NLMSGERR_ATTR_OFFS, 4);
		nla_put_string(m, NLMSGERR_ATTR_MSG, "requested ring size exceeds maximum");
		netlink_reason(h, reason, sizeof(reason));
		assert_string_equal(reason, "requested ring size exceeds maximum");
		netlink_reason(h, small, sizeof(small));
		assert_string_equal(small, "request");
		h->nlmsg_flags = 0;
		netlink_reason(h, reason, sizeof(reason));
		assert_string_equal(reason, "");
	}
}

static int resolve(const struct knob_ops *ops, struct instance inst, struct knob_settings *ret,
		   struct err *e)
{
	int r = ops->resolve(&tree.host, &inst, ret, e);

	instance_release(&inst);
	return r;
}

static void parameters_of_a_device_are_one_setting(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	tree_write(&tree, "sys/class/net/a/x", "");
	tree_write(&tree, "sys/class/net/b/x", "");
	must(resolve(&knob_coalesce,
		     make("coalesce", "adaptive-rx", "no", "dev", "a,b", "rx-frames", "16",
			  "rx-usecs", "008", NULL),
		     &l, &e),
	     &e);
	assert_int_equal(l.nr, 2);
	assert_string_equal(l.v[0].target, "a rx-usecs,rx-frames,adaptive-rx");
	assert_string_equal(l.v[0].value, "rx-usecs:8,rx-frames:16,adaptive-rx:off");
	assert_string_equal(l.v[1].target, "b rx-usecs,rx-frames,adaptive-rx");
	knob_settings_release(&l);
	assert_int_equal(resolve(&knob_ring, make("ring", "dev", "a", NULL), &l, &e), -EINVAL);
	assert_contains(e.msg, "name a parameter beside dev, such as rx");
	assert_int_equal(resolve(&knob_ring, make("ring", "dev", "c", "rx", "1", NULL), &l, &e),
			 -ENOENT);
	assert_true(resolve(&knob_ring, make("ring", "dev", "a", "rx", "4294967296", NULL), &l,
			    &e) < 0);
	assert_int_equal(resolve(&knob_pause, make("pause", "dev", "", "rx", "on", NULL), &l, &e),
			 -EINVAL);
	assert_contains(e.msg, "dev");
	assert_int_equal(l.nr, 0);
}

static void targets_and_values_of_a_journal_must_fit(void **state)
{
	static const char *const bad[][2] = {
		{ "a", "rx:1" },
		{ "a ", "rx:1" },
		{ "a rx,rx", "rx:1" },
		{ "a rx,zz", "rx:1" },
		{ "a rx", "" },
		{ "a rx", "rx" },
		{ "a rx", "rx:" },
		{ "a rx", "rx:-1" },
		{ "a rx", "rx:4294967296" },
		{ "a rx", "rx:1,rx:2" },
		{ "a rx", "tx:1" },
		{ "a rx,tx", "rx:1" },
		{ "a tx-push", "tx-push:2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = {};

		if (knob_ring.write(&tree.host, bad[i][0], bad[i][1], &e) != -EINVAL)
			fail_msg("\"%s\" = \"%s\": %s", bad[i][0], bad[i][1], e.msg);
	}
}

static void what_the_driver_chooses_is_not_compared(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "rx-usecs:8", "rx-usecs:8", true },
		{ "rx-usecs:8", "rx-usecs:9", false },
		{ "rx-usecs:8,adaptive-rx:on", "rx-usecs:9,adaptive-rx:on", true },
		{ "rx-usecs:8,adaptive-rx:off", "rx-usecs:9,adaptive-rx:off", false },
		{ "rx-usecs:8,adaptive-rx:on", "rx-usecs:8,adaptive-rx:off", false },
		{ "rx-usecs:8,tx-usecs:1,adaptive-rx:on", "rx-usecs:9,tx-usecs:2,adaptive-rx:on",
		  false },
		{ "rx-usecs-irq:8,adaptive-rx:on", "rx-usecs-irq:9,adaptive-rx:on", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(knob_coalesce.same(cases[i].a, cases[i].b), cases[i].same);
		assert_int_equal(knob_coalesce.same(cases[i].b, cases[i].a), cases[i].same);
	}
}

static const struct knob_ops *const knobs[] = { &knob_channels, &knob_coalesce, &knob_netdev,
						&knob_ring, NULL };

static void add_to(struct instances *l, struct instance inst)
{
	struct err e = {};

	must(instances_add(l, &inst, &e), &e);
	instance_release(&inst);
}

/* Both ways the numbers must go while adaptive-rx is off. */
static void a_driver_that_refuses_sets_gets_them_singly(void **state)
{
	_cleanup_(journal_closep) struct journal *j = NULL;
	_cleanup_(instances_release) struct instances l = {};
	struct applied *a = NULL;
	struct witness w = {};
	struct err e = {};

	tree_write(&tree, "sys/class/net/a/x", "");
	tree_write(&tree, "proc/thread-self/status", "Name:\tx\nCapEff:\tffffffffffffffff\n");
	driver = (typeof(driver)){ .here = true, .adaptive = 1, .usecs = 37 };
	must(journal_open(&j, tree.state, &e), &e);
	add_to(&l, make("coalesce", "dev", "a", "rx-usecs", "8", "adaptive-rx", "off", NULL));
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	assert_int_equal(driver.adaptive, 0);
	assert_int_equal(driver.usecs, 8);
	assert_int_equal(driver.requests, 3); /* both, then off, then the number */
	must(variant_verify(a, &e), &e);
	assert_int_equal(knob_coalesce.witness(&tree.host, "a rx-usecs,adaptive-rx", &w, &e),
			 -ENOENT);
	must(variant_undo(a, &e), &e);
	assert_int_equal(driver.adaptive, 1);
	/* rx-usecs alone, with adaptive-rx on, is the trap */
	must(knob_coalesce.witness(&tree.host, "a rx-usecs", &w, &e), &e);
	assert_int_equal(w.min_effect, 1);
	assert_string_equal(w.what, "rx-usecs of a");
	assert_contains(w.remedy, "set adaptive-rx and adaptive-tx to off");
	assert_int_equal(knob_coalesce.witness(&tree.host, "a adaptive-rx", &w, &e), -ENOENT);
	driver.here = false;
}

static char *here(const struct knob_ops *ops, const char *target)
{
	char *now = NULL;
	struct err e = {};

	must(ops->read(&netns_host, target, &now, &e), &e);
	return now;
}

static void expect_here(const struct knob_ops *ops, const char *target, const char *value)
{
	_cleanup_(freep) char *now = here(ops, target);

	assert_string_equal(now, value);
}

#define DEVICES                                                                     \
	"ip link add va numtxqueues 4 numrxqueues 4 type veth peer name vb && "     \
	"ip link set va up && ip link set vb up && ip tuntap add tap0 mode tap && " \
	"ethtool -C tap0 rx-frames 7 && ethtool -l va | grep -q 'RX:.*4'"

static void netlink_and_ioctl_say_the_same(void **state)
{
	static const struct {
		const char *dev;
		const struct ethtool_group *(*group)(void);
	} cases[] = { { "va", channels_group_of },
		      { "tap0", coalesce_group_of },
		      { "tap0", channels_group_of } };

	if (!netns_enter(DEVICES))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct ethtool_group *g = cases[i].group();
		struct ethtool_values a = {}, b = {};
		struct err e = {};

		must(ethtool_read_netlink(&netns_host.dut, cases[i].dev, g, &a, &e), &e);
		must(ethtool_read_ioctl(&netns_host.dut, cases[i].dev, g, &b, &e), &e);
		assert_true(a.has);
		/* the ioctl has all fields, and zero where the driver has nothing */
		for (size_t k = 0; g->params[k].name; k++) {
			assert_true(!(a.has >> k & 1) || b.has >> k & 1);
			assert_int_equal(a.v[k], b.v[k]);
		}
	}
	netns_leave();
}

static void without_the_family_the_ioctl_does_it(void **state)
{
	_cleanup_(freep) char *out = NULL;
	struct err e = {};

	if (!netns_enter(DEVICES))
		skip();
	no_family = true;
	expect_here(&knob_coalesce, "tap0 rx-frames", "rx-frames:7");
	must(knob_coalesce.write(&netns_host, "tap0 rx-frames", "rx-frames:9", &e), &e);
	must(knob_channels.write(&netns_host, "va rx,tx", "rx:3,tx:2", &e), &e);
	assert_int_equal(knob_coalesce.write(&netns_host, "tap0 cqe-mode-rx", "cqe-mode-rx:on", &e),
			 -EINVAL);
	assert_contains(e.msg, "by netlink only");
	assert_int_equal(knob_ring.read(&netns_host, "va rx", &out, &e), -EINVAL);
	no_family = false;
	expect_here(&knob_coalesce, "tap0 rx-frames", "rx-frames:9");
	expect_here(&knob_channels, "va rx,tx", "rx:3,tx:2");
	out = netns_output("ethtool -l va | tail -n 5 | tr -d '\\n\\t '");
	assert_contains(out, "RX:3TX:2");
	netns_leave();
}

static void a_device_without_it_is_named_with_its_driver(void **state)
{
	char *now = NULL;
	struct err e = {};

	if (!netns_enter(DEVICES))
		skip();
	assert_int_equal(knob_ring.read(&netns_host, "va rx", &now, &e), -EINVAL);
	assert_string_equal(e.msg, "va (driver veth) has no ring sizes: leave the knob out for it, "
				   "or test a device that has");
	assert_int_equal(knob_pause.read(&netns_host, "lo rx", &now, &e), -EINVAL);
	assert_contains(e.msg, "lo (driver unknown) has no pause frames");
	assert_int_equal(knob_coalesce.read(&netns_host, "tap0 rx-usecs,rx-frames", &now, &e),
			 -EINVAL);
	assert_string_equal(e.msg, "tap0 (driver tun) has no rx-usecs; of interrupt coalescing it "
				   "has: rx-frames");
	assert_int_equal(knob_channels.write(&netns_host, "va rx,tx", "rx:9,tx:2", &e), -EINVAL);
	assert_contains(e.msg, "driver veth");
	assert_true(knob_is_gone(knob_channels.read(&netns_host, "vz rx", &now, &e)));
	netns_leave();
}

/* What goes with a queue comes back with it. */
static void channels_give_steering_back(void **state)
{
	_cleanup_(freep) char *before = NULL, *between = NULL, *after = NULL;
	_cleanup_(journal_closep) struct journal *j = NULL;
	_cleanup_(instances_release) struct instances l = {};
	struct applied *a = NULL;
	struct err e = {};
	char dump[160];
	int sys_fd;

	if (!netns_enter(DEVICES))
		skip();
	must(journal_open(&j, tree.state, &e), &e);
	must(knob_netdev.write(&netns_host, "va queues/rx-3/rps_cpus", "0", &e), &e);
	must(knob_netdev.write(&netns_host, "va queues/rx-0/rps_cpus", "0", &e), &e);
	must(knob_netdev.write(&netns_host, "va queues/rx-2/rps_flow_cnt", "256", &e), &e);
	must(knob_netdev.write(&netns_host, "va queues/tx-3/xps_cpus", "0", &e), &e);
	/* one that the command inherits, and that is nobody else's */
	sys_fd = fcntl(netns_host.dut.sys_fd, F_DUPFD, 100);
	snprintf(
		dump, sizeof(dump),
		"cd /proc/self/fd/%d && grep -r . class/net/va/queues/*/*ps_* | sort; ethtool -l va",
		sys_fd);
	before = netns_output(dump);
	add_to(&l, make("channels", "dev", "va", "rx", "2", "tx", "1", NULL));
	must(variant_apply(&a, &netns_host, j, knobs, &l, &e), &e);
	expect_here(&knob_channels, "va rx,tx", "rx:2,tx:1");
	expect_here(&knob_channels, "va queues/rx-3/rps_cpus", "none");
	must(variant_verify(a, &e), &e);
	expect_here(&knob_netdev, "va queues/rx-0/rps_cpus", "0");
	assert_true(knob_is_gone(
		knob_netdev.read(&netns_host, "va queues/rx-3/rps_cpus", &between, &e)));
	must(variant_undo(a, &e), &e);
	after = netns_output(dump);
	assert_string_equal(before, after);
	close(sys_fd);
	netns_leave();
}

static void a_single_queue_has_nothing_to_steer(void **state)
{
	char *now = NULL;
	struct err e = {};

	if (!netns_enter("ip link add vc numtxqueues 1 numrxqueues 1 type veth peer name vd"))
		skip();
	assert_int_equal(knob_netdev.read(&netns_host, "vc queues/tx-0/xps_cpus", &now, &e),
			 -ENOENT);
	assert_contains(e.msg, "vc (driver veth) has a single transmit queue, so there is nothing "
			       "to steer");
	netns_leave();
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_those_of_ethtool),
		cmocka_unit_test(answers_read_as_ethtool_shows_them),
		cmocka_unit_test(pause_frames_are_counted),
		cmocka_unit_test(damaged_answers_are_no_answers),
		cmocka_unit_test(the_kernels_sentence_is_found),
		with_tree(parameters_of_a_device_are_one_setting),
		with_tree(targets_and_values_of_a_journal_must_fit),
		cmocka_unit_test(what_the_driver_chooses_is_not_compared),
		with_tree(a_driver_that_refuses_sets_gets_them_singly),
		cmocka_unit_test(netlink_and_ioctl_say_the_same),
		cmocka_unit_test(without_the_family_the_ioctl_does_it),
		cmocka_unit_test(a_device_without_it_is_named_with_its_driver),
		with_tree(channels_give_steering_back),
		cmocka_unit_test(a_single_queue_has_nothing_to_steer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
