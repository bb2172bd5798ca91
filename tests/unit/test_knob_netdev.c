// SPDX-License-Identifier: GPL-3.0-or-later
/* Files and queues of network devices over trees of files: targets, masks, refusals, witnesses. */
#include "test.h"

#include <linux/if_packet.h>
#include <sched.h>
#include <sys/socket.h>

#include "base/cpuset.h"
#include "netns.h"
#include "plan/instance.h"
#include "tree.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netcount.h"
#include "variant/netdev.h"
#include "variant/netdev_queues.h"

static struct tree tree;

static int setup(void **state)
{
	tree_make(&tree);
	tree_write(&tree, "sys/devices/system/cpu/online", "0-3\n");
	tree_write(&tree, "sys/class/net/eth0/mtu", "1500\n");
	tree_write(&tree, "sys/class/net/eth0/tx_queue_len", "1000\n");
	tree_write(&tree, "sys/class/net/eth0/statistics/rx_packets", "5000\n");
	for (int i = 0; i < 2; i++) {
		char path[96];

		snprintf(path, sizeof(path), "sys/class/net/eth0/queues/rx-%d/rps_cpus", i);
		tree_write(&tree, path, "00000000,00000000\n");
		snprintf(path, sizeof(path), "sys/class/net/eth0/queues/rx-%d/rps_flow_cnt", i);
		tree_write(&tree, path, "0\n");
		snprintf(path, sizeof(path), "sys/class/net/eth0/queues/tx-%d/xps_cpus", i);
		tree_write(&tree, path, "3\n");
	}
	return 0;
}

static int teardown(void **state)
{
	tree_remove(&tree);
	return 0;
}

static void must(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

/* Resolve netdev: { "key", "value", ..., NULL }. */
static int resolve(struct knob_settings *ret, struct err *e, ...)
{
	struct instance inst = { .plugin = strdup("netdev"), .name = strdup("netdev") };
	const char *key;
	va_list ap;
	int r;

	va_start(ap, e);
	while ((key = va_arg(ap, const char *)))
		must(instance_set(&inst, key, va_arg(ap, const char *), 0, e), e);
	va_end(ap);
	r = knob_netdev.resolve(&tree.host, &inst, ret, e);
	instance_release(&inst);
	return r;
}

static void expect_setting(const struct knob_settings *l, size_t i, const char *target,
			   const char *value)
{
	assert_true(i < l->nr);
	assert_string_equal(l->v[i].target, target);
	assert_string_equal(l->v[i].value, value);
}

static void expect_read(const char *target, const char *value)
{
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	must(knob_netdev.read(&tree.host, target, &now, &e), &e);
	assert_string_equal(now, value);
}

static void masks_and_lists_are_the_same_sets(void **state)
{
	static const struct {
		const char *mask, *list, *again;
	} cases[] = {
		{ "0", "", "00000000" },
		{ "3", "0-1", "00000003" },
		{ "00000001,80000000", "31-32", "00000001,80000000" },
		{ "ff", "0-7", "000000ff" },
		{ "A0000000,00000000,00000001", "0,93,95", "a0000000,00000000,00000001" },
	};
	static const char *const bad[] = { "", ",", ",1", "1,1", "g", "1 ", "0x3", "-1", "1,,1" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(cpuset_release) struct cpuset set = {};
		_cleanup_(buf_release) struct buf list = {};
		_cleanup_(freep) char *again = NULL;
		struct err e = {};

		must(netdev_mask_parse(cases[i].mask, &set, &e), &e);
		cpuset_format(&set, &list);
		assert_string_equal(buf_str(&list), cases[i].list);
		must(netdev_mask_format(buf_str(&list), &again, &e), &e);
		assert_string_equal(again, cases[i].again);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct cpuset set = {};
		struct err e = {};

		assert_int_equal(netdev_mask_parse(bad[i], &set, &e), -EINVAL);
	}
}

/* Every set of CPUs survives the way through the mask. */
static void a_mask_of_any_size_comes_back(void **state)
{
	uint32_t seed = 12345;

	for (int round = 0; round < 200; round++) {
		_cleanup_(cpuset_release) struct cpuset a = {}, b = {};
		_cleanup_(buf_release) struct buf list = {};
		_cleanup_(freep) char *mask = NULL;
		struct err e = {};

		for (int i = 0; i < round % 40; i++) {
			seed = seed * 1664525 + 1013904223;
			buf_printf(&list, "%s%u", i ? "," : "", (seed >> 8) % CPUSET_MAX);
		}
		must(cpuset_parse(buf_str(&list), &a, &e), &e);
		must(netdev_mask_format(buf_str(&list), &mask, &e), &e);
		must(netdev_mask_parse(mask, &b, &e), &e);
		assert_int_equal(a.nr, b.nr);
		for (size_t i = 0; i < a.nr; i++)
			assert_int_equal(a.cpus[i], b.cpus[i]);
	}
}

static void steering_is_for_every_queue_or_the_named_ones(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	must(resolve(&l, &e, "dev", "eth0", "rps-cpus", "1,0", "mtu", "1400", "txqueuelen", "7",
		     NULL),
	     &e);
	assert_int_equal(l.nr, 4);
	expect_setting(&l, 0, "eth0 mtu", "1400");
	expect_setting(&l, 1, "eth0 tx_queue_len", "7");
	expect_setting(&l, 2, "eth0 queues/rx-0/rps_cpus", "0-1");
	expect_setting(&l, 3, "eth0 queues/rx-1/rps_cpus", "0-1");
	knob_settings_release(&l);
	must(resolve(&l, &e, "dev", "eth0", "rps-cpus", "none", "xps-cpus", "all", "queues", "1",
		     "rps-flow-cnt", "4096", NULL),
	     &e);
	assert_int_equal(l.nr, 3);
	expect_setting(&l, 0, "eth0 queues/rx-1/rps_cpus", "none");
	expect_setting(&l, 1, "eth0 queues/rx-1/rps_flow_cnt", "4096");
	expect_setting(&l, 2, "eth0 queues/tx-1/xps_cpus", "0-3");
	for (size_t i = 0; i < l.nr; i++)
		must(knob_netdev.write(&tree.host, l.v[i].target, l.v[i].value, &e), &e);
	tree_expect(&tree, "sys/class/net/eth0/queues/tx-1/xps_cpus", "0000000f");
	tree_expect(&tree, "sys/class/net/eth0/queues/tx-0/xps_cpus", "3\n");
	expect_read("eth0 queues/tx-1/xps_cpus", "0-3");
	expect_read("eth0 queues/rx-0/rps_cpus", "none");
}

static void what_the_kernel_would_drop_is_refused(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	assert_int_equal(resolve(&l, &e, "dev", "eth0", "rps-cpus", "2-4", NULL), -EINVAL);
	assert_string_equal(e.msg, "rps-cpus \"2-4\": this machine has CPUs 0-3 online");
	assert_int_equal(resolve(&l, &e, "dev", "eth0", "xps-cpus", "0x3", NULL), -EINVAL);
	assert_int_equal(resolve(&l, &e, "dev", "eth0", "rps-flow-cnt", "1000", NULL), -EINVAL);
	assert_contains(e.msg, "powers of two");
	assert_int_equal(resolve(&l, &e, "dev", "eth0", "rps-cpus", "0", "queues", "0,2", NULL),
			 -ENOENT);
	assert_string_equal(e.msg, "eth0 has 2 receive queues, numbered from 0: there is no 2 for "
				   "rps-cpus");
	assert_int_equal(resolve(&l, &e, "dev", "eth0", "queues", "0", NULL), -EINVAL);
	assert_contains(e.msg, "rps-cpus");
	assert_int_equal(resolve(&l, &e, "dev", "eth0", "mtu", "67", NULL), -ERANGE);
	assert_int_equal(l.nr, 0);
}

static void an_mtu_that_costs_more_than_itself_is_refused(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	must(resolve(&l, &e, "dev", "eth0", "mtu", "1000", NULL), &e);
	knob_settings_release(&l);
	tree_write(&tree, "proc/sys/net/ipv6/conf/eth0/mtu", "1500\n");
	assert_int_equal(resolve(&l, &e, "dev", "eth0", "mtu", "1279", NULL), -EINVAL);
	assert_contains(e.msg, "below 1280 eth0 loses its IPv6 addresses");
	must(resolve(&l, &e, "dev", "eth0", "mtu", "1280", NULL), &e);
	/* a VLAN above would be cut with it, and stay so */
	tree_write(&tree, "sys/class/net/eth0/upper_eth0.5/mtu", "1500\n");
	tree_write(&tree, "sys/class/net/eth0/upper_br0/mtu", "1500\n");
	tree_write(&tree, "sys/class/net/eth0/upper_br0/bridge/x", "");
	assert_int_equal(knob_netdev.write(&tree.host, "eth0 mtu", "1400", &e), -EBUSY);
	assert_string_equal(e.msg,
			    "eth0.5, which is above eth0, has mtu 1500, would be cut to 1400 "
			    "and not come back: set its mtu first");
	must(knob_netdev.write(&tree.host, "eth0 mtu", "9000", &e), &e);
	expect_read("eth0 mtu", "9000");
}

static void targets_of_a_journal_name_nothing_else(void **state)
{
	static const char *const bad[] = {
		"",
		"eth0",
		"eth0 ",
		" mtu",
		"eth0 address",
		"../net/eth0 mtu",
		".. mtu",
		"eth0/../eth0 mtu",
		"a-name-of-17-bytes mtu",
		"eth0 queues/rx-0/../../mtu",
		"eth0 queues/rx-0/xps_cpus",
		"eth0 queues/rx-00/rps_cpus",
		"eth0 queues/rx-+1/rps_cpus",
		"eth0 queues/rx--1/rps_cpus",
		"eth0 queues/rx-123456/rps_cpus",
		"eth0 queues/tx-0/xps_cpus ",
		"eth0  mtu",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *now = NULL;
		struct err e = {};

		if (knob_netdev.read(&tree.host, bad[i], &now, &e) != -EINVAL)
			fail_msg("read \"%s\"", bad[i]);
		if (knob_netdev.write(&tree.host, bad[i], "1", &e) != -EINVAL)
			fail_msg("write \"%s\"", bad[i]);
		assert_false(knob_netdev.ephemeral(&tree.host, bad[i]));
	}
}

static void an_old_kernels_missing_file_is_no_vanished_device(void **state)
{
	char *now = NULL;
	struct err e = {};

	assert_int_equal(knob_netdev.read(&tree.host, "eth0 napi_defer_hard_irqs", &now, &e),
			 -EINVAL);
	assert_contains(e.msg, "this kernel has no napi_defer_hard_irqs");
	assert_int_equal(knob_netdev.read(&tree.host, "eth9 napi_defer_hard_irqs", &now, &e),
			 -ENOENT);
}

static void softnet_columns_add_up_over_cpus(void **state)
{
	_cleanup_(cpuset_release) struct cpuset cpus = {};
	uint64_t v = 0;
	struct err e = {};

	/* since Linux 5.10: column 12 is the CPU; CPU 1 is offline */
	tree_write(&tree, "proc/net/softnet_stat",
		   "00000064 0 00000002 0 0 0 0 0 0 00000010 0 0 00000000 0 0\n"
		   "000000c8 0 00000003 0 0 0 0 0 0 00000020 0 0 00000002 0 0\n"
		   "ffffffff 0 00000004 0 0 0 0 0 0 00000040 0 0 00000003 0 0\n");
	must(netcount_softnet(tree.host.proc_fd, SOFTNET_TIME_SQUEEZE, NULL, &v, &e), &e);
	assert_int_equal(v, 9);
	must(cpuset_parse("1-2", &cpus, &e), &e);
	must(netcount_softnet(tree.host.proc_fd, SOFTNET_RECEIVED_RPS, &cpus, &v, &e), &e);
	assert_int_equal(v, 0x20);
	must(netcount_softnet(tree.host.proc_fd, SOFTNET_PROCESSED, NULL, &v, &e), &e);
	assert_true(v == UINT64_C(0xffffffff) + 100 + 200);
	/* before, the row is the CPU */
	tree_write(&tree, "proc/net/softnet_stat",
		   "1 0 0 0 0 0 0 0 0 00000010\n"
		   "1 0 0 0 0 0 0 0 0 00000020\n");
	must(netcount_softnet(tree.host.proc_fd, SOFTNET_RECEIVED_RPS, &cpus, &v, &e), &e);
	assert_int_equal(v, 0x20);
	tree_write(&tree, "proc/net/softnet_stat", "1 0 0\n");
	assert_int_equal(netcount_softnet(tree.host.proc_fd, SOFTNET_RECEIVED_RPS, NULL, &v, &e),
			 -ENOENT);
}

static void rps_is_witnessed_on_the_cpus_that_it_names(void **state)
{
	struct witness w = {};
	struct err e = {};

	tree_write(&tree, "proc/net/softnet_stat",
		   "1 0 0 0 0 0 0 0 0 00000010 0 0 0 0 0\n1 0 0 0 0 0 0 0 0 00000020 0 0 1 0 0\n");
	assert_int_equal(knob_netdev.witness(&tree.host, "eth0 queues/rx-0/rps_cpus", &w, &e),
			 -ENOENT);
	tree_write(&tree, "sys/class/net/eth0/queues/rx-0/rps_cpus", "2\n");
	must(knob_netdev.witness(&tree.host, "eth0 queues/rx-0/rps_cpus", &w, &e), &e);
	assert_int_equal(w.effect, 0x20);
	assert_int_equal(w.demand, 5000);
	assert_string_equal(w.what, "received_rps of CPUs 1");
	assert_int_equal(knob_netdev.witness(&tree.host, "eth0 queues/tx-0/xps_cpus", &w, &e),
			 -ENOENT);
}

static void add_backlog_thread(unsigned int cpu, unsigned int runtime_ms)
{
	char path[64], text[256];
	unsigned int pid = 5000000 + cpu; /* above pid_max: no process of this machine */

	snprintf(path, sizeof(path), "proc/%u/stat", pid);
	snprintf(text, sizeof(text),
		 "%u (backlog_napi/%u) S 2 0 0 0 -1 2097216 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0\n",
		 pid, cpu);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%u/schedstat", pid);
	snprintf(text, sizeof(text), "%u000000 5 6\n", runtime_ms);
	tree_write(&tree, path, text);
}

/* PREEMPT_RT, thread_backlog_napi: no interrupt is sent, so received_rps stands still. */
static void with_backlog_threads_their_run_time_witnesses_rps(void **state)
{
	struct witness w = {};
	struct err e = {};

	tree_write(&tree, "proc/net/softnet_stat",
		   "1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n1 0 0 0 0 0 0 0 0 0 0 0 1 0 0\n");
	tree_write(&tree, "proc/thread-self/schedstat", "77 0 0\n");
	tree_write(&tree, "sys/class/net/eth0/queues/rx-0/rps_cpus", "6\n");
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		add_backlog_thread(cpu, 1 << cpu);
	must(knob_netdev.witness(&tree.host, "eth0 queues/rx-0/rps_cpus", &w, &e), &e);
	assert_true(w.effect == (2 + 4) * UINT64_C(1000000));
	assert_true(w.is_ns);
	assert_true(w.min_demand == WITNESS_DEMAND_UNKNOWN);
	assert_string_equal(w.what, "run time of backlog_napi/ of CPUs 1-2");
}

/* @nr frames out of va, of a protocol that nobody takes. */
static void send_frames(unsigned int nr)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_ifindex = (int)if_nametoindex("va"),
				  .sll_halen = 6,
				  .sll_addr = { 2, 0, 0, 0, 0, 1 } };
	unsigned char frame[60] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < nr; i++)
		if (sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&to, sizeof(to)) < 0 &&
		    errno != ENOBUFS)
			fail_msg("send: %s", strerrorname_np(errno));
	close(fd);
}

/* Sent and received on one CPU, handed over to another one. */
static void packets_that_are_handed_over_witness_rps(void **state)
{
	_cleanup_(cpuset_release) struct cpuset online = {};
	static const char target[] = "vb queues/rx-0/rps_cpus";
	struct cpuset first = {};
	struct witness begin = {}, now = {};
	cpu_set_t before;
	char other[16];
	struct err e = {};

	if (!netns_enter("ip link add va type veth peer name vb && ip link set va up && "
			 "ip link set vb up"))
		skip();
	must(cpuset_online(netns_host.sys_fd, &online, &e), &e);
	if (online.nr < 2) {
		netns_leave();
		print_message("# one CPU only\n");
		skip();
	}
	first = (struct cpuset){ .cpus = online.cpus, .nr = 1 };
	snprintf(other, sizeof(other), "%u", online.cpus[1]);
	if (knob_netdev.write(&netns_host, target, other, &e) < 0) {
		netns_leave();
		print_message("# %s\n", e.msg);
		skip();
	}
	must(knob_netdev.witness(&netns_host, target, &begin, &e), &e);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	must(cpuset_pin(0, &first, &e), &e);
	do {
		send_frames(2000);
		must(knob_netdev.witness(&netns_host, target, &now, &e), &e);
	} while (now.effect - begin.effect < now.min_effect);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_true(now.demand - begin.demand >= 10);
	netns_leave();
}

/* A witness whose effect cannot move is a veto for sure. */
static void expect_futile(const char *target, const char *remedy)
{
	struct witness w = {};
	struct err e = {};

	must(knob_netdev.witness(&tree.host, target, &w, &e), &e);
	assert_int_equal(w.min_effect, 1);
	assert_int_equal(w.effect, 0);
	assert_int_equal(w.min_demand, 0);
	assert_contains(w.remedy, remedy);
}

static void settings_that_need_another_one_are_caught(void **state)
{
	struct witness w = {};
	struct err e = {};

	tree_write(&tree, "sys/class/net/eth0/napi_defer_hard_irqs", "2\n");
	tree_write(&tree, "sys/class/net/eth0/gro_flush_timeout", "0\n");
	expect_futile("eth0 napi_defer_hard_irqs", "without gro-flush-timeout");
	tree_write(&tree, "sys/class/net/eth0/gro_flush_timeout", "20000\n");
	assert_int_equal(knob_netdev.witness(&tree.host, "eth0 napi_defer_hard_irqs", &w, &e),
			 -ENOENT);
	assert_int_equal(knob_netdev.witness(&tree.host, "eth0 gro_flush_timeout", &w, &e),
			 -ENOENT);
	tree_write(&tree, "sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "1024\n");
	/* in a namespace of its own nobody can tell */
	assert_int_equal(knob_netdev.witness(&tree.host, "eth0 queues/rx-0/rps_flow_cnt", &w, &e),
			 -ENOENT);
	tree_write(&tree, "proc/sys/net/core/rps_sock_flow_entries", "0\n");
	expect_futile("eth0 queues/rx-0/rps_flow_cnt", "net.core.rps_sock_flow_entries is 0");
	tree_write(&tree, "proc/sys/net/core/rps_sock_flow_entries", "32768\n");
	assert_int_equal(knob_netdev.witness(&tree.host, "eth0 queues/rx-0/rps_flow_cnt", &w, &e),
			 -ENOENT);
}

static void sysctls_with_a_counter_are_witnessed(void **state)
{
	struct witness w = {};
	struct err e = {};

	tree_write(&tree, "proc/sys/net/core/busy_poll", "0\n");
	tree_write(&tree, "proc/sys/net/core/netdev_budget", "300\n");
	tree_write(&tree, "proc/sys/net/core/rmem_max", "300\n");
	tree_write(&tree, "proc/net/softnet_stat",
		   "1 0 00000011 0 0 0 0 0 0 0\n1 0 00000001 0 0 0 0 0 0 0\n");
	tree_write(&tree, "proc/thread-self/net/netstat",
		   "TcpExt: SyncookiesSent BusyPollRxPackets Last\nTcpExt: 5 4711 9\n"
		   "IpExt: InNoRoutes BusyPollRxPackets\nIpExt: 1 2\n");
	assert_int_equal(knob_sysctl.witness(&tree.host, "net.core.rmem_max", &w, &e), -ENOENT);
	assert_int_equal(knob_sysctl.witness(&tree.host, "net.core.busy_poll", &w, &e), -ENOENT);
	tree_write(&tree, "proc/sys/net/core/busy_poll", "50\n");
	must(knob_sysctl.witness(&tree.host, "net/core/busy_poll", &w, &e), &e);
	assert_int_equal(w.effect, 4711);
	assert_true(w.min_demand == WITNESS_DEMAND_UNKNOWN);
	must(knob_sysctl.witness(&tree.host, "net.core.netdev_budget", &w, &e), &e);
	assert_int_equal(w.effect, 0x12);
	assert_string_equal(w.what, "time_squeeze of softnet_stat");
	/* names without values, a group that is not there */
	tree_write(&tree, "proc/thread-self/net/netstat",
		   "TcpExt: A BusyPollRxPackets\nTcpExt: 5\n");
	assert_int_equal(knob_sysctl.witness(&tree.host, "net.core.busy_poll", &w, &e), -ENOENT);
	tree_write(&tree, "proc/thread-self/net/netstat", "TcpExt: BusyPollRxPackets\n");
	assert_int_equal(knob_sysctl.witness(&tree.host, "net.core.busy_poll", &w, &e), -ENOENT);
}

static void an_unknown_congestion_control_lists_the_others(void **state)
{
	static const char name[] = "net.ipv4.tcp_congestion_control";
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	if (!netns_enter("true"))
		skip();
	assert_int_equal(knob_sysctl.write(&netns_host, name, "nosuch", &e), -EINVAL);
	assert_contains(e.msg, "no congestion control \"nosuch\"; it has: ");
	must(knob_sysctl.read(&netns_host, name, &now, &e), &e);
	assert_contains(e.msg, now);
	netns_leave();
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_and_lists_are_the_same_sets),
		cmocka_unit_test(a_mask_of_any_size_comes_back),
		with_tree(steering_is_for_every_queue_or_the_named_ones),
		with_tree(what_the_kernel_would_drop_is_refused),
		with_tree(an_mtu_that_costs_more_than_itself_is_refused),
		with_tree(targets_of_a_journal_name_nothing_else),
		with_tree(an_old_kernels_missing_file_is_no_vanished_device),
		with_tree(softnet_columns_add_up_over_cpus),
		with_tree(rps_is_witnessed_on_the_cpus_that_it_names),
		with_tree(with_backlog_threads_their_run_time_witnesses_rps),
		cmocka_unit_test(packets_that_are_handed_over_witness_rps),
		with_tree(settings_that_need_another_one_are_caught),
		with_tree(sysctls_with_a_counter_are_witnessed),
		cmocka_unit_test(an_unknown_congestion_control_lists_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
