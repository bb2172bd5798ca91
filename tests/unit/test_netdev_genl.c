// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/kfile.h"
#include "known/netdev_genl.h"
#include "netns.h"
#include "variant/netdev_genl.h"

#define VETHS                                                                   \
	"ip link add va numtxqueues 2 numrxqueues 2 type veth peer name vb && " \
	"ethtool -K va gro on && ethtool -K vb gro on && ip link set va up && " \
	"ip link set vb up"

static size_t unhex(const char *name, unsigned char **ret)
{
	const char *hex = NULL;
	unsigned char *out;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++)
		if (strcmp(recorded[i].name, name) == 0)
			hex = recorded[i].hex;
	assert_non_null(hex);
	n = strlen(hex) / 2;
	out = malloc(n ? n : 1);
	assert_non_null(out);
	for (size_t i = 0; i < n; i++) {
		char two[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		out[i] = (unsigned char)strtoul(two, NULL, 16);
	}
	*ret = out;
	return n;
}

/* The attributes of @n as the capturing script numbers them. */
static void napi_attrs(const struct netdev_napi *n, long long ret[8])
{
	ret[0] = n->ifindex;
	ret[1] = n->id;
	ret[2] = n->has & NAPI_IRQ ? (long long)n->irq : -1;
	ret[3] = n->has & NAPI_PID ? (long long)n->pid : -1;
	ret[4] = n->has & NAPI_DEFER_HARD_IRQS ? (long long)n->defer_hard_irqs : -1;
	ret[5] = n->has & NAPI_GRO_FLUSH_TIMEOUT ? (long long)n->gro_flush_timeout_ns : -1;
	ret[6] = n->has & NAPI_IRQ_SUSPEND_TIMEOUT ? (long long)n->irq_suspend_timeout_ns : -1;
	ret[7] = n->has & NAPI_THREADED ? (long long)n->threaded : -1;
}

/* Every message of @name is taken, and says what the script read in it. */
static void check_recorded(const char *name, bool queues)
{
	_cleanup_(netdev_napis_release) struct netdev_napis napis = {};
	_cleanup_(netdev_queues_release) struct netdev_queues list = {};
	_cleanup_(freep) unsigned char *data = NULL;
	size_t len = unhex(name, &data), row = 0, seen = 0;

	for (size_t at = 0; at < len;
	     at += NLMSG_ALIGN(((struct nlmsghdr *)(data + at))->nlmsg_len)) {
		const struct nlmsghdr *h = (const struct nlmsghdr *)(data + at);

		assert_int_equal(queues ? netdev_genl_take_queue(h, &list)
					: netdev_genl_take_napi(h, &napis),
				 0);
		/* the one's answer is not the other's */
		assert_int_equal(queues ? netdev_genl_take_napi(h, &napis)
					: netdev_genl_take_queue(h, &list),
				 -EBADMSG);
	}
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		long long got[8] = { 0, 0, 0, 0, -1, -1, -1, -1 };

		if (strcmp(expected[i].name, name) != 0)
			continue;
		seen++;
		assert_true(row < (queues ? list.nr : napis.nr));
		if (queues) {
			got[0] = list.v[row].id;
			got[1] = list.v[row].ifindex;
			got[2] = list.v[row].type;
			got[3] = list.v[row].napi_id ? (long long)list.v[row].napi_id : -1;
		} else {
			napi_attrs(&napis.v[row], got);
		}
		for (size_t k = 0; k < (queues ? 4 : 8); k++)
			assert_int_equal(got[k], expected[i].attr[k]);
		row++;
	}
	assert_true(seen > 0);
	assert_int_equal(queues ? list.nr : napis.nr, seen);
}

static void what_the_kernel_answered_is_read_as_an_independent_script_reads_it(void **state)
{
	check_recorded("napi_host", false);
	check_recorded("napi_veth", false);
	check_recorded("queue_host", true);
	check_recorded("queue_veth", true);
}

/* Each byte of a message in turn cut off or changed: refused or taken, never read beyond. */
static void a_cut_or_changed_message_is_refused_or_taken_whole(void **state)
{
	_cleanup_(freep) unsigned char *data = NULL;
	struct nlmsghdr *h;
	size_t len, refused = 0;

	unhex("napi_veth", &data);
	h = (struct nlmsghdr *)data;
	len = h->nlmsg_len;
	for (size_t cut = sizeof(*h); cut < len; cut++) {
		_cleanup_(netdev_napis_release) struct netdev_napis l = {};
		_cleanup_(freep) struct nlmsghdr *copy =
			malloc(cut); /* so that ASan sees its end */

		memcpy(copy, data, cut);
		copy->nlmsg_len = (uint32_t)cut;
		refused += netdev_genl_take_napi(copy, &l) == -EBADMSG;
	}
	assert_int_equal(refused, 20); /* until ifindex and id are whole */
	for (size_t at = 20; at < len; at++) {
		_cleanup_(netdev_napis_release) struct netdev_napis l = {};
		unsigned char was = data[at];
		int r;

		data[at] ^= 0xff;
		r = netdev_genl_take_napi(h, &l);
		assert_true(r == 0 || r == -EBADMSG);
		assert_int_equal(l.nr, r == 0);
		data[at] = was;
	}
}

static unsigned int index_of(const char *name)
{
	unsigned int i = if_nametoindex(name);

	assert_true(i > 0);
	return i;
}

static void must(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

/* Skips when this kernel has no napi-get. */
static void list_or_skip(unsigned int ifindex, struct netdev_napis *ret)
{
	struct err e = {};
	int r = netdev_genl_napis(&netns_host.dut, ifindex, ret, &e);

	if (r == -ENOENT || r == -EOPNOTSUPP) {
		print_message("# %s\n", e.msg);
		netns_leave();
		skip();
	}
	must(r, &e);
}

static void a_veth_with_gro_has_one_instance_for_each_queue(void **state)
{
	_cleanup_(netdev_napis_release) struct netdev_napis napis = {}, all = {};
	_cleanup_(netdev_queues_release) struct netdev_queues queues = {};
	struct netdev_napi one = {};
	struct err e = {};
	size_t served = 0;

	if (!netns_enter(VETHS))
		skip();
	list_or_skip(index_of("va"), &napis);
	assert_int_equal(napis.nr, 2);
	must(netdev_genl_napis(&netns_host.dut, 0, &all, &e), &e);
	assert_int_equal(all.nr, 4);
	must(netdev_genl_napi(&netns_host.dut, napis.v[1].id, &one, &e), &e);
	assert_int_equal(one.id, napis.v[1].id);
	assert_int_equal(one.has, napis.v[1].has);
	assert_int_equal(one.ifindex, index_of("va"));
	assert_int_equal(one.has & (NAPI_IRQ | NAPI_PID), 0); /* no interrupt, no thread */
	must(netdev_genl_queues(&netns_host.dut, index_of("va"), &queues, &e), &e);
	for (size_t i = 0; i < queues.nr; i++) {
		assert_int_equal(queues.v[i].ifindex, index_of("va"));
		served += queues.v[i].type == NETDEV_QUEUE_RX;
	}
	assert_int_equal(served, 2);
	netns_leave();
}

static void a_setting_is_read_back_from_its_instance_alone(void **state)
{
	_cleanup_(netdev_napis_release) struct netdev_napis before = {}, after = {};
	struct netdev_napi want = { .has = NAPI_DEFER_HARD_IRQS | NAPI_GRO_FLUSH_TIMEOUT |
					   NAPI_IRQ_SUSPEND_TIMEOUT,
				    .defer_hard_irqs = 3,
				    .gro_flush_timeout_ns = 5000000000, /* beyond 32 bits */
				    .irq_suspend_timeout_ns = 20000000 };
	struct err e = {};
	int r;

	if (!netns_enter(VETHS))
		skip();
	list_or_skip(index_of("va"), &before);
	want.id = before.v[0].id;
	r = netdev_genl_set_napi(&netns_host.dut, &want, &e);
	if (r == -EOPNOTSUPP) {
		print_message("# %s\n", e.msg);
		netns_leave();
		skip();
	}
	must(r, &e);
	must(netdev_genl_napis(&netns_host.dut, index_of("va"), &after, &e), &e);
	for (size_t i = 0; i < after.nr; i++) {
		bool own = after.v[i].id == want.id;

		assert_int_equal(after.v[i].defer_hard_irqs, own ? 3 : 0);
		assert_int_equal(after.v[i].gro_flush_timeout_ns, own ? 5000000000 : 0);
		assert_int_equal(after.v[i].irq_suspend_timeout_ns, own ? 20000000 : 0);
	}
	netns_leave();
}

static void an_instance_in_a_thread_has_a_pid_that_proc_knows(void **state)
{
	_cleanup_(netdev_napis_release) struct netdev_napis before = {};
	_cleanup_(buf_release) struct buf comm = {};
	struct netdev_napi want = { .has = NAPI_THREADED, .threaded = NAPI_IN_THREAD }, now = {};
	struct err e = {};
	char path[32], name[32];

	if (!netns_enter(VETHS))
		skip();
	list_or_skip(index_of("va"), &before);
	if (!(before.v[0].has & NAPI_THREADED)) {
		print_message("# this kernel has no threads for one instance (Linux 6.17 has)\n");
		netns_leave();
		skip();
	}
	want.id = before.v[0].id;
	must(netdev_genl_set_napi(&netns_host.dut, &want, &e), &e);
	must(netdev_genl_napi(&netns_host.dut, want.id, &now, &e), &e);
	assert_int_equal(now.threaded, NAPI_IN_THREAD);
	assert_true(now.has & NAPI_PID);
	snprintf(path, sizeof(path), "%u/comm", now.pid);
	must(kfile_read(netns_host.proc_fd, path, &comm, &e), &e);
	snprintf(name, sizeof(name), "napi/va-%u\n", want.id);
	assert_string_equal(buf_str(&comm), name);
	netns_leave();
}

static void refusals_come_with_the_kernels_code_and_name_the_thing(void **state)
{
	_cleanup_(netdev_napis_release) struct netdev_napis l = {};
	struct netdev_napi want = { .id = 4000000000u, .has = NAPI_DEFER_HARD_IRQS }, n = {};
	struct err e = {};

	if (!netns_enter(VETHS))
		skip();
	list_or_skip(index_of("va"), &l);
	assert_int_equal(netdev_genl_napi(&netns_host.dut, 4000000000u, &n, &e), -ENOENT);
	assert_contains(e.msg, "read NAPI instance 4000000000: No such file or directory");
	assert_int_equal(netdev_genl_napis(&netns_host.dut, 9999, &l, &e), -ENODEV);
	assert_contains(e.msg, "list NAPI instances: No such device");
	assert_int_equal(netdev_genl_set_napi(&netns_host.dut, &want, &e), -ENOENT);
	want.id = l.v[0].id;
	want.defer_hard_irqs = 0x80000000u; /* the kernel's limit is INT_MAX */
	assert_int_equal(netdev_genl_set_napi(&netns_host.dut, &want, &e), -ERANGE);
	assert_contains(e.msg, "set NAPI instance");
	netns_leave();
}

static void a_netdev_that_is_down_has_no_instances(void **state)
{
	_cleanup_(netdev_napis_release) struct netdev_napis up = {}, down = {};
	struct netdev_napi n = {};
	struct err e = {};

	if (!netns_enter(VETHS))
		skip();
	list_or_skip(index_of("vb"), &up);
	free(netns_output("ip link set vb down"));
	must(netdev_genl_napis(&netns_host.dut, index_of("vb"), &down, &e), &e);
	assert_int_equal(down.nr, 0);
	assert_int_equal(netdev_genl_napi(&netns_host.dut, up.v[0].id, &n, &e), -ENOENT);
	netns_leave();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_the_kernel_answered_is_read_as_an_independent_script_reads_it),
		cmocka_unit_test(a_cut_or_changed_message_is_refused_or_taken_whole),
		cmocka_unit_test(a_veth_with_gro_has_one_instance_for_each_queue),
		cmocka_unit_test(a_setting_is_read_back_from_its_instance_alone),
		cmocka_unit_test(an_instance_in_a_thread_has_a_pid_that_proc_knows),
		cmocka_unit_test(refusals_come_with_the_kernels_code_and_name_the_thing),
		cmocka_unit_test(a_netdev_that_is_down_has_no_instances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
