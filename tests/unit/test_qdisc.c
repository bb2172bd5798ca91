// SPDX-License-Identifier: GPL-3.0-or-later
/* Knob qdisc: texts, messages as tc sends them (recorded), and real devices. */
#include "test.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>

#include "known/netlink.h"
#include "netns.h"
#include "plan/instance.h"
#include "tree.h"
#include "knob_test.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netlink.h"
#include "variant/qdisc.h"
#include "variant/variant.h"

/* The recorded message @name; it lives until the next call. */
static struct nlmsghdr *recorded_message(const char *name)
{
	static _Alignas(8) unsigned char bytes[1024];

	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		size_t n = strlen(recorded[i].hex) / 2;

		if (strcmp(recorded[i].name, name) != 0)
			continue;
		assert_true(n <= sizeof(bytes));
		for (size_t k = 0; k < n; k++) {
			unsigned int byte = 0;

			assert_int_equal(sscanf(recorded[i].hex + 2 * k, "%2x", &byte), 1);
			bytes[k] = (unsigned char)byte;
		}
		return (struct nlmsghdr *)bytes;
	}
	fail_msg("no recorded message %s", name);
	return NULL;
}

static bool is_codel_time(const struct qdisc *q, int attr)
{
	for (size_t i = 0; q->kind->params[i].name; i++)
		if (q->kind->params[i].attr == attr)
			return q->kind->params[i].type == QDISC_CODEL;
	return false;
}

static void expect_same_options(const struct qdisc *q, const struct nlattr *ours,
				const struct nlattr *theirs)
{
	const struct nlattr *a;
	int rest;

	assert_int_equal(nla_len(ours), nla_len(theirs));
	if (q->kind->is_fifo) {
		assert_memory_equal(nla_data(ours), nla_data(theirs), nla_len(ours));
		return;
	}
	nla_for_each_nested(a, theirs, rest)
	{
		const struct nlattr *mine = nla_find(nla_data(ours), nla_len(ours), nla_type(a));

		if (!mine)
			fail_msg("attribute %d is missing", nla_type(a));
		assert_int_equal(nla_len(mine), nla_len(a));
		/* tc's 5ms reads back as 4.99ms; ours as 5 ms, by asking for a little more */
		if (is_codel_time(q, nla_type(a)))
			assert_true(nla_get_u32(mine) - nla_get_u32(a) <= 2);
		else
			assert_memory_equal(nla_data(mine), nla_data(a), nla_len(a));
	}
}

static void options_are_those_of_tc(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{ "qdisc_set_noqueue", "noqueue" },
		{ "qdisc_set_pfifo_fast", "pfifo_fast" },
		{ "qdisc_set_mq", "mq" },
		{ "qdisc_set_pfifo", "pfifo limit 123" },
		{ "qdisc_set_bfifo", "bfifo limit 45678" },
		{ "qdisc_set_fq",
		  "fq limit 1001 flow_limit 102 quantum 3003 initial_quantum 15015 maxrate 800M "
		  "buckets_log 11 refill_delay 41ms orphan_mask 511 low_rate_threshold 560K "
		  "ce_threshold 2ms timer_slack_ns 11000 horizon 9s horizon_drop off pacing on" },
		{ "qdisc_set_fq_nopacing", "fq pacing off" },
		{ "qdisc_set_fq_codel",
		  "fq_codel limit 1002 flows 512 target 6ms interval 101ms quantum 1515 "
		  "ce_threshold 3ms ecn off memory_limit 16777216 drop_batch 32" },
		{ "qdisc_set_codel",
		  "codel limit 1003 target 7ms interval 102ms ce_threshold 4ms ecn on" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc();
		struct nlmsghdr *h = recorded_message(cases[i].name);
		struct nlattr *theirs = nlmsg_find_attr(h, sizeof(struct tcmsg), TCA_OPTIONS);
		struct nlattr *kind = nlmsg_find_attr(h, sizeof(struct tcmsg), TCA_KIND);
		struct nlattr *ours;
		struct qdisc q = {};
		struct err e = {};

		must(qdisc_parse(cases[i].text, &q, &e), &e);
		assert_string_equal(nla_get_string(kind), q.kind->name);
		nlmsg_put(m, 0, 0, RTM_NEWQDISC, 0, 0);
		assert_true(qdisc_put_options(m, &q) >= 0);
		ours = nlmsg_find_attr(nlmsg_hdr(m), 0, TCA_OPTIONS);
		assert_int_equal(!ours, !theirs);
		if (ours)
			expect_same_options(&q, ours, theirs);
	}
}

static void dumps_read_as_text(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{ "qdisc_get_noqueue", "noqueue" },
		{ "qdisc_get_pfifo_fast", "pfifo_fast" },
		{ "qdisc_get_mq", "mq" },
		{ "qdisc_get_pfifo", "pfifo limit 123" },
		{ "qdisc_get_bfifo", "bfifo limit 45678" },
		/* what tc sends for these, a kernel that has them tells in the same attributes */
		{ "qdisc_set_fq",
		  "fq limit 1001 flow_limit 102 quantum 3003 initial_quantum 15015 pacing 1 "
		  "maxrate 800000000 buckets_log 11 refill_delay 41000us orphan_mask 511 "
		  "low_rate_threshold 560000 ce_threshold 2000us timer_slack_ns 11000 "
		  "horizon 9000000us horizon_drop 0" },
		{ "qdisc_set_fq_codel",
		  "fq_codel limit 1002 flows 512 quantum 1515 target 6000us interval 101000us "
		  "ce_threshold 3000us ecn 0 memory_limit 16777216 drop_batch 32" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *h = recorded_message(cases[i].name);
		struct nlattr *kind = nlmsg_find_attr(h, sizeof(struct tcmsg), TCA_KIND);
		struct qdisc q = { .kind = qdisc_kind_find(nla_get_string(kind)) };
		_cleanup_(freep) char *text = NULL;
		struct err e = {};

		must(qdisc_options(&q, nlmsg_find_attr(h, sizeof(struct tcmsg), TCA_OPTIONS), &e),
		     &e);
		must(qdisc_format(&q, &text, &e), &e);
		assert_string_equal(text, cases[i].text);
	}
}

/* A newer kernel's parameter, and one of another length: not to be given back, so refused. */
static void what_cannot_be_given_back_is_refused(void **state)
{
	for (int kind = 0; kind < 2; kind++) {
		_cleanup_(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc();
		struct qdisc q = { .kind = qdisc_kind_find("fq") };
		struct nlattr *nest;
		struct err e = {};

		nlmsg_put(m, 0, 0, RTM_NEWQDISC, 0, 0);
		nest = nla_nest_start(m, TCA_OPTIONS);
		nla_put_u32(m, TCA_FQ_PLIMIT, 10);
		if (kind)
			nla_put_u64(m, TCA_FQ_QUANTUM, 1);
		else
			nla_put_u32(m, 77, 1);
		nla_nest_end(m, nest);
		assert_int_equal(qdisc_options(&q, nlmsg_find_attr(nlmsg_hdr(m), 0, TCA_OPTIONS),
					       &e),
				 kind ? -EBADMSG : -EINVAL);
		assert_contains(e.msg, kind ? "quantum of fq has 8 bytes" : "(attribute 77)");
	}
}

/* What is read, written again, is read again: for every time that codel can tell. */
static void codels_times_do_not_creep(void **state)
{
	for (uint64_t us = 0; us < 300000; us += us < 5000 ? 1 : 37) {
		_cleanup_(freep) char *first = NULL, *second = NULL;
		_cleanup_(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc();
		struct nlattr *options, *target;
		struct qdisc q = {}, again = {};
		uint64_t asked, told;
		char text[64];
		struct err e = {};

		snprintf(text, sizeof(text), "codel target %luus", (unsigned long)us);
		must(qdisc_parse(text, &q, &e), &e);
		must(qdisc_format(&q, &first, &e), &e);
		nlmsg_put(m, 0, 0, RTM_NEWQDISC, 0, 0);
		assert_true(qdisc_put_options(m, &q) >= 0);
		options = nlmsg_find_attr(nlmsg_hdr(m), 0, TCA_OPTIONS);
		target = nla_find(nla_data(options), nla_len(options), TCA_CODEL_TARGET);
		asked = nla_get_u32(target);
		/* include/net/codel.h: kept as ns >> 10, told as (v << 10) / 1000 */
		told = (((asked * 1000) >> 10) << 10) / 1000;
		assert_true(us - told <= 1);
		snprintf(text, sizeof(text), "codel target %luus", (unsigned long)told);
		assert_string_equal(first, text);
		must(qdisc_parse(first, &again, &e), &e);
		must(qdisc_format(&again, &second, &e), &e);
		assert_string_equal(first, second);
	}
}

static void texts_come_back_or_are_refused(void **state)
{
	static const char *const good[] = {
		"default",
		"default pfifo_fast",
		"noqueue",
		"mq handle 8001:",
		"default mq of fq_codel",
		"pfifo handle ffff: limit 0",
		"fq priomap 0300000001020202010200000101010101010101 weights "
		"000009000000040000000100 offload_horizon 10us",
		"fq maxrate unlimited low_rate_threshold 550000",
		"codel target 4999us",
	};
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "wants a kind" },
		{ "htb", "default, noqueue, pfifo_fast" },
		{ "fq qantum 3", "it has: limit, flow_limit" },
		{ "fq quantum", "quantum wants one value" },
		{ "fq quantum 1 quantum 2", "quantum wants one value" },
		{ "fq quantum 4294967296", "no value of quantum" },
		{ "fq quantum -1", "no value of quantum" },
		{ "fq horizon_drop 256", "no value of horizon_drop" },
		{ "fq horizon 10", "no value of horizon" },
		{ "fq priomap 03", "no value of priomap" },
		{ "fq priomap zz00000001020202010200000101010101010101", "no value of priomap" },
		{ "pfifo handle 0:", "not a handle" },
		{ "pfifo handle 1:1", "not a handle" },
		{ "pfifo handle", "not a handle" },
		{ "pfifo handle 10000:", "not a handle" },
		{ "mq limit 3", "it has: none" },
		{ "mq of", "it has: none" },
		{ "pfifo of mq", "it has: limit" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_(freep) char *text = NULL;
		struct qdisc q = {};
		struct err e = {};

		must(qdisc_parse(good[i], &q, &e), &e);
		must(qdisc_format(&q, &text, &e), &e);
		assert_string_equal(text, good[i]);
		assert_true(qdisc_same(text, good[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct qdisc q = {};
		struct err e = {};

		if (qdisc_parse(bad[i].text, &q, &e) >= 0)
			fail_msg("\"%s\" was taken", bad[i].text);
		assert_contains(e.msg, bad[i].why);
	}
}

static void sameness_counts_what_both_know(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "default", "default pfifo_fast", true },
		{ "default mq of fq", "default mq of pfifo_fast", false },
		{ "mq", "mq handle 8001: of pfifo_fast", true },
		{ "default pfifo_fast", "pfifo_fast", true },
		{ "default pfifo_fast", "pfifo_fast handle 8001:", false },
		{ "default", "pfifo_fast handle 8001:", false },
		{ "default", "pfifo_fast", false },
		{ "default pfifo_fast", "default mq", false },
		{ "pfifo limit 5", "pfifo handle 8001: limit 5", true },
		{ "pfifo limit 5", "pfifo handle 8001: limit 6", false },
		{ "pfifo", "pfifo handle 8001: limit 6", true },
		{ "pfifo", "bfifo handle 8001: limit 6", false },
		{ "pfifo handle 8001: limit 5", "pfifo handle 8002: limit 5", false },
		{ "codel ce_threshold 1ms", "codel handle 8001: limit 5", false },
		{ "codel handle 8001: limit 5", "codel handle 8001: limit 5 ecn 1", false },
		{ "codel target 5ms", "codel handle 8001: target 5000us", true },
		{ "rubbish", "rubbish", true },
		{ "rubbish", "pfifo", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (qdisc_same(cases[i].a, cases[i].b) != cases[i].same ||
		    qdisc_same(cases[i].b, cases[i].a) != cases[i].same)
			fail_msg("\"%s\" and \"%s\"", cases[i].a, cases[i].b);
	}
}

#define DEVICES                                                                     \
	"ip link add va numtxqueues 2 numrxqueues 2 type veth peer name vb && "     \
	"ip link set va up && ip link set vb up && ip tuntap add tap0 mode tap && " \
	"ip link set tap0 up && tc qdisc show dev va | grep -q noqueue"

static int read_here(const char *target, char **ret, struct err *e)
{
	return knob_qdisc.read(&netns_host, target, ret, e);
}

static void expect_here(const char *target, const char *value)
{
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	must(read_here(target, &now, &e), &e);
	assert_string_equal(now, value);
}

static const struct knob_ops *const knobs[] = { &knob_qdisc, NULL };

static void apply_and_undo(const char *root, const char *shown)
{
	_cleanup_(journal_closep) struct journal *j = NULL;
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(freep) char *between = NULL;
	struct instance inst = { .plugin = strdup("qdisc"), .name = strdup("qdisc") };
	struct applied *a = NULL;
	struct err e = {};

	must(journal_open(&j, tree.state, &e), &e);
	must(instance_set(&inst, "dev", "va", 0, &e), &e);
	must(instance_set(&inst, "root", root, 0, &e), &e);
	must(instances_add(&l, &inst, &e), &e);
	instance_release(&inst);
	must(variant_apply(&a, &netns_host, j, knobs, &l, &e), &e);
	between = netns_output("tc qdisc show dev va");
	assert_contains(between, shown);
	must(variant_verify(a, &e), &e);
	must(variant_undo(a, &e), &e);
}

/* tc's own listing before and after, whatever was there in the beginning. */
static void a_root_is_given_back_to_its_handle(void **state)
{
	static const char *const first[] = {
		"true", /* the default one */
		"tc qdisc replace dev va root handle 7: pfifo limit 77",
		"tc qdisc replace dev va root pfifo_fast",
		"tc qdisc replace dev va root mq",
		"tc qdisc replace dev va root bfifo",
	};
	static const char *const then[][2] = {
		{ "pfifo limit 5", "limit 5p" },      { "bfifo", "qdisc bfifo" },
		{ "pfifo_fast", "qdisc pfifo_fast" }, { "mq", "qdisc mq" },
		{ "noqueue", "qdisc noqueue" },	      { "default", "qdisc noqueue 0:" },
	};

	if (!netns_enter(DEVICES))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(then); k++) {
			_cleanup_(freep) char *before = NULL, *after = NULL;

			free(netns_output(first[i]));
			before = netns_output("tc qdisc show dev va");
			apply_and_undo(then[k][0], then[k][1]);
			after = netns_output("tc qdisc show dev va");
			assert_string_equal(before, after);
		}
		free(netns_output("tc qdisc del dev va root; true"));
	}
	netns_leave();
}

static void what_hangs_below_the_root_is_not_lost(void **state)
{
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	if (!netns_enter(DEVICES))
		skip();
	expect_here("va root", "default noqueue");
	expect_here("tap0 root", "default pfifo_fast");
	free(netns_output("tc qdisc replace dev va root handle 5: mq && "
			  "tc qdisc replace dev va parent 5:1 pfifo limit 3"));
	assert_int_equal(read_here("va root", &now, &e), -EINVAL);
	assert_contains(e.msg, "va has 1 qdiscs below its root");
	free(netns_output("tc qdisc replace dev va root handle 6: htb || true"));
	assert_int_equal(read_here("va root", &now, &e), -EINVAL);
	assert_contains(e.msg, "tc qdisc");
	free(netns_output("tc qdisc del dev va root && tc qdisc add dev va clsact"));
	expect_here("va root", "default noqueue");
	free(netns_output("ip tuntap add tap1 mode tap"));
	assert_int_equal(read_here("tap1 root", &now, &e), -EINVAL);
	assert_contains(e.msg, "take it up (ip link set tap1 up)");
	assert_true(knob_is_gone(read_here("vz root", &now, &e)));
	assert_int_equal(knob_qdisc.write(&netns_host, "va root", "htb", &e), -EINVAL);
	assert_int_equal(knob_qdisc.write(&netns_host, "va parent", "mq", &e), -EINVAL);
	netns_leave();
}

/* default_qdisc changed since: what it gives now is not what was there. */
static void a_default_that_would_not_come_back_is_kept(void **state)
{
	int proc = -1;
	struct err e = {};

	if (!netns_enter(DEVICES))
		skip();
	tree_write(&tree, "proc/sys/net/core/default_qdisc", "fq_codel\n");
	proc = netns_host.proc_fd;
	netns_host.proc_fd = tree.host.proc_fd;
	assert_int_equal(knob_qdisc.write(&netns_host, "tap0 root", "bfifo", &e), -EINVAL);
	assert_contains(e.msg, "tap0 has pfifo_fast by itself, from before net.core.default_qdisc "
			       "became fq_codel");
	expect_here("tap0 root", "default pfifo_fast");
	/* a noqueue device does not care */
	must(knob_qdisc.write(&netns_host, "va root", "bfifo", &e), &e);
	must(knob_qdisc.write(&netns_host, "va root", "default", &e), &e);
	expect_here("va root", "default noqueue");
	tree_write(&tree, "proc/sys/net/core/default_qdisc", "pfifo_fast\n");
	must(knob_qdisc.write(&netns_host, "tap0 root", "bfifo", &e), &e);
	must(knob_qdisc.write(&netns_host, "tap0 root", "default pfifo_fast", &e), &e);
	expect_here("tap0 root", "default pfifo_fast");
	netns_host.proc_fd = proc;
	netns_leave();
}

static void the_kernels_reasons_are_told(void **state)
{
	_cleanup_(freep) char *has_fq = NULL;
	struct err e = {};

	if (!netns_enter(DEVICES))
		skip();
	has_fq = netns_output("tc qdisc replace dev va root fq >/dev/null 2>&1 && echo yes; true");
	if (!*has_fq) {
		assert_int_equal(knob_qdisc.write(&netns_host, "va root", "fq", &e), -EINVAL);
		assert_string_equal(e.msg, "this kernel has no qdisc fq: load its module (modprobe "
					   "sch_fq) or use a kernel with CONFIG_NET_SCH_FQ");
	}
	/* mq wants several transmit queues */
	free(netns_output(
		"ip link add vc type veth peer name vd; ethtool -L vc tx 1; "
		"ip link add vq numtxqueues 1 type veth peer name vr; ip link set vq up"));
	assert_int_equal(knob_qdisc.write(&netns_host, "vq root", "mq", &e), -EINVAL);
	assert_contains(e.msg, "set qdisc mq of vq: ");
	assert_contains(e.msg, "driver veth");
	netns_leave();
}

static void packets_witness_a_qdisc(void **state)
{
	struct witness before = {}, after = {};
	struct err e = {};

	if (!netns_enter(DEVICES " && ip addr add 198.18.9.1/24 dev va && "
				 "ip neigh add 198.18.9.2 lladdr 02:00:00:00:00:01 dev va"))
		skip();
	assert_int_equal(knob_qdisc.witness(&netns_host, "va root", &before, &e), -ENOENT);
	must(knob_qdisc.write(&netns_host, "va root", "pfifo limit 100", &e), &e);
	must(knob_qdisc.witness(&netns_host, "va root", &before, &e), &e);
	free(netns_output("i=0; exec 3<>/dev/null; while [ $i -lt 50 ]; do i=$((i+1)); "
			  "echo x | bash -c 'cat >/dev/udp/198.18.9.2/9'; done"));
	must(knob_qdisc.witness(&netns_host, "va root", &after, &e), &e);
	assert_true(after.effect - before.effect >= 50);
	assert_true(after.demand - before.demand >= 50);
	assert_string_equal(after.what, "packets through qdisc pfifo of va");
	netns_leave();
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_those_of_tc),
		cmocka_unit_test(dumps_read_as_text),
		cmocka_unit_test(what_cannot_be_given_back_is_refused),
		cmocka_unit_test(codels_times_do_not_creep),
		cmocka_unit_test(texts_come_back_or_are_refused),
		cmocka_unit_test(sameness_counts_what_both_know),
		with_tree(a_root_is_given_back_to_its_handle),
		cmocka_unit_test(what_hangs_below_the_root_is_not_lost),
		with_tree(a_default_that_would_not_come_back_is_kept),
		cmocka_unit_test(the_kernels_reasons_are_told),
		cmocka_unit_test(packets_witness_a_qdisc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
