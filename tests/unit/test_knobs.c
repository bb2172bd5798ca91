// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "plan/instance.h"
#include "sample/sample.h"
#include "tree.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/procthread.h"
#include "variant/shell.h"
#include "variant/variant.h"

static const struct knob_ops *const knobs[] = { &knob_command, &knob_file,   &knob_netdev,
						&knob_sysctl,  &knob_thread, NULL };

static struct tree tree;

static int setup(void **state)
{
	tree_make(&tree);
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

/* An instance from "key", "value", ..., NULL. */
static struct instance make(const char *plugin, ...)
{
	struct instance inst = { .plugin = strdup(plugin), .name = strdup(plugin) };
	struct err e = {};
	const char *key;
	va_list ap;

	va_start(ap, plugin);
	while ((key = va_arg(ap, const char *)))
		must(instance_set(&inst, key, va_arg(ap, const char *), 0, &e), &e);
	va_end(ap);
	return inst;
}

/* Resolve and release @inst. */
static int resolve(const struct knob_ops *ops, struct instance inst, struct knob_settings *ret,
		   struct err *e)
{
	int r = ops->resolve(&tree.host, &inst, ret, e);

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

static void expect_read(const struct knob_ops *ops, const char *target, const char *value)
{
	_cleanup_(freep) char *now = NULL;
	struct err e = {};

	must(ops->read(&tree.host, target, &now, &e), &e);
	assert_string_equal(now, value);
}

static void sysctl_names_follow_the_first_separator(void **state)
{
	struct err e = {};

	tree_write(&tree, "proc/sys/net/ipv4/conf/eth0.1/rp_filter", "2\n");
	expect_read(&knob_sysctl, "net.ipv4.conf.eth0/1.rp_filter", "2");
	expect_read(&knob_sysctl, "net/ipv4/conf/eth0.1/rp_filter", "2");
	must(knob_sysctl.write(&tree.host, "net/ipv4/conf/eth0.1/rp_filter", "1", &e), &e);
	tree_expect(&tree, "proc/sys/net/ipv4/conf/eth0.1/rp_filter", "1\n");
	tree_write(&tree, "proc/secret", "x");
	assert_int_equal(knob_sysctl.write(&tree.host, "/../secret", "1", &e), -EINVAL);
	tree_expect(&tree, "proc/secret", "x");
}

static void sysctl_values_compare_by_words(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "4096\t131072\t6291456", "4096 131072 6291456", true },
		{ " 1  2\n", "1 2", true },
		{ "12", "1 2", false },
		{ "1 2", "1 2 3", false },
		{ "1", "10", false },
		{ "", "", true },
		{ "", "0", false },
		{ "cubic", "cubic ", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(knob_sysctl.same(cases[i].a, cases[i].b), cases[i].same);
		assert_int_equal(knob_sysctl.same(cases[i].b, cases[i].a), cases[i].same);
	}
}

static void an_absent_sysctl_says_why(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	tree_write(&tree, "proc/sys/vm/swappiness", "60\n");
	assert_int_equal(resolve(&knob_sysctl, make("sysctl", "vm.swapiness", "1", NULL), &l, &e),
			 -ENOENT);
	assert_contains(e.msg, "vm.swapiness does not exist on this machine");
	tree.host.dut.netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(resolve(&knob_sysctl, make("sysctl", "net.core.rmem_max", "1", NULL), &l,
				 &e),
			 -ENOENT);
	assert_contains(e.msg, "network namespace of the device under test");
	assert_true(knob_sysctl.ephemeral(&tree.host, "net.core.x"));
	assert_true(knob_sysctl.ephemeral(&tree.host, "net/core/x"));
	assert_false(knob_sysctl.ephemeral(&tree.host, "kernel.x"));
	assert_false(knob_sysctl.ephemeral(&tree.host, "network.x"));
	assert_int_equal(l.nr, 0);
	must(resolve(&knob_sysctl, make("sysctl", "vm.swappiness", "1", NULL), &l, &e), &e);
	expect_setting(&l, 0, "vm.swappiness", "1");
}

/* variant.c puts "knob sysctl: NAME" in front */
static void a_sysctls_errors_name_its_file_and_not_the_knob(void **state)
{
	struct err e = {};

	tree_write(&tree, "proc/sys/kernel/dir/x", "1\n");
	assert_true(knob_sysctl.write(&tree.host, "kernel.dir", "1", &e) < 0);
	assert_contains(e.msg, "/proc/sys/kernel/dir: ");
	assert_null(strstr(e.msg, "sysctl"));
}

static void files_stay_inside_sys_and_proc(void **state)
{
	static const char *const bad[] = { "/etc/passwd",    "/sys/../etc/passwd", "sys/x",
					   "/sys/kernel/..", "/proc/self/root/x",  "/sysx/y" };
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};
	char link[128];

	tree_write(&tree, "proc/self/x", "");
	snprintf(link, sizeof(link), "%s/proc/self/root", tree.root);
	assert_int_equal(symlink("/", link), 0);
	tree_write(&tree, "sys/kernel/mm/enabled", "always [madvise] never\n");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(resolve(&knob_file,
					 make("file", "path", bad[i], "value", "1", NULL), &l, &e),
				 -EINVAL);
	must(resolve(&knob_file,
		     make("file", "path", "/sys/kernel/mm/enabled", "value", "never", NULL), &l,
		     &e),
	     &e);
	expect_setting(&l, 0, "/sys/kernel/mm/enabled", "never");
	assert_int_equal(knob_file.write(&tree.host, "/proc/self/root/x", "1", &e), -EINVAL);
	assert_contains(e.msg, "leads out of");
}

static void files_of_choices_read_as_the_selected_one(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "always [madvise] never\n", "madvise" },
		{ "[none] mq-deadline\n", "none" },
		{ "none mq-deadline [kyber]\n", "kyber" },
		{ "[none]\n", "none" },
		{ "a[1] b\n", "a[1] b" },
		{ "[a] [b]\n", "[a] [b]" },
		{ "[a b] c\n", "[a b] c" },
		{ "[] c\n", "[] c" },
		{ "7\n", "7" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		tree_write(&tree, "sys/f", cases[i].text);
		expect_read(&knob_file, "/sys/f", cases[i].value);
	}
	assert_true(knob_file.same("1\n", "1"));
	assert_true(knob_file.same("Y", "1"));
	assert_true(knob_file.same("N", "0"));
	assert_false(knob_file.same("Y", "0"));
	assert_false(knob_file.same("11", "1"));
	assert_false(knob_file.same("", "1"));
}

static void a_netdevs_files_lie_in_its_namespace(void **state)
{
	tree_write(&tree, "sys/class/net/far0/mtu", "1\n");
	tree_write(&tree, "far/class/net/far0/mtu", "2\n");
	expect_read(&knob_file, "/sys/class/net/far0/mtu", "1");
	tree.host.far.sys_fd = tree_root(&tree, "far");
	tree.host.far.netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	snprintf(tree.host.far.ifname, sizeof(tree.host.far.ifname), "far0");
	expect_read(&knob_file, "/sys/class/net/far0/mtu", "2");
	assert_true(knob_file.ephemeral(&tree.host, "/sys/class/net/far0/mtu"));
	assert_false(knob_file.ephemeral(&tree.host, "/sys/kernel/x"));
	assert_true(knob_netdev.ephemeral(&tree.host, "far0 gro"));
	assert_false(knob_netdev.ephemeral(&tree.host, "eth0 gro"));
}

static void add_thread(int pid, const char *comm, unsigned int flags, unsigned int start)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (%s) S 2 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0 184 0\n", pid, comm,
		 flags, start);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/schedstat", pid);
	snprintf(text, sizeof(text), "%d000000 5 6\n", pid);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/status", pid);
	snprintf(text, sizeof(text),
		 "Name:\tx\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t7\n", pid);
	tree_write(&tree, path, text);
}

/* No process has such numbers: pid_max is 4194304 at most. */
#define NO_PID 5000000

static void add_threads(void)
{
	add_thread(NO_PID, "napi/dut0-8193", 0x00200040, 100);
	add_thread(NO_PID + 1, "kworker/0:1-ev) (x", 0x04208060, 200);
	add_thread(NO_PID + 2, "napi/fake", 0x00400000, 300);
	tree_write(&tree, "proc/5000002/task/5000002/x", "");
	tree_write(&tree, "proc/5000002/task/5000003/x", "");
	add_thread(NO_PID + 3, "worker", 0x00400000, 301);
	tree_write(&tree, "sys/devices/system/cpu/online", "0-3\n");
}

static void threads_are_found_by_name(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	add_threads();
	must(resolve(&knob_thread,
		     make("thread", "match", "napi/*", "policy", "fifo", "priority", "50", "cpus",
			  "0,1", NULL),
		     &l, &e),
	     &e);
	assert_int_equal(l.nr, 2); /* not the program that calls itself napi/fake */
	expect_setting(&l, 0, "5000000:100:napi/dut0-8193 policy", "fifo:50");
	expect_setting(&l, 1, "5000000:100:napi/dut0-8193 cpus", "0-1");
	knob_settings_release(&l);
	must(resolve(&knob_thread,
		     make("thread", "match", "kworker/0:1-ev*", "policy", "other", NULL), &l, &e),
	     &e);
	expect_setting(&l, 0, "5000001:200:kworker/0:1-ev) (x policy", "other:0");
	knob_settings_release(&l);
	must(resolve(&knob_thread,
		     make("thread", "match", "w*r", "cpus", "all", "kthreads-only", "off", NULL),
		     &l, &e),
	     &e);
	assert_int_equal(l.nr, 1);
	expect_setting(&l, 0, "5000003:301:worker cpus", "0-3");
}

static void no_thread_names_similar_ones(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	add_threads();
	assert_int_equal(resolve(&knob_thread,
				 make("thread", "match", "napi/eth7-*", "policy", "other", NULL),
				 &l, &e),
			 -ENOENT);
	assert_string_equal(e.msg, "no kernel thread matches \"napi/eth7-*\"; similar ones: "
				   "napi/dut0-8193");
	assert_int_equal(resolve(&knob_thread,
				 make("thread", "match", "zzz", "policy", "other", NULL), &l, &e),
			 -ENOENT);
	assert_contains(e.msg, "none has a similar name");
}

static void thread_options_must_fit_together(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	add_threads();
	assert_int_equal(resolve(&knob_thread,
				 make("thread", "match", "napi/*", "policy", "fifo", NULL), &l, &e),
			 -EINVAL);
	assert_contains(e.msg, "needs a priority of 1 to 99");
	assert_int_equal(
		resolve(&knob_thread,
			make("thread", "match", "napi/*", "policy", "other", "priority", "5", NULL),
			&l, &e),
		-EINVAL);
	assert_int_equal(resolve(&knob_thread, make("thread", "match", "napi/*", NULL), &l, &e),
			 -EINVAL);
	assert_contains(e.msg, "neither policy nor nice nor cpus");
	assert_int_equal(resolve(&knob_thread,
				 make("thread", "match", "napi/*", "cpus", "2-4", NULL), &l, &e),
			 -EINVAL);
	assert_string_equal(e.msg,
			    "match \"napi/*\": cpus \"2-4\": this machine has CPUs 0-3 online");
}

static void threads_of_a_process_are_found_by_its_number(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	add_threads();
	must(resolve(&knob_thread, make("thread", "pid", "5000002", "nice", "-7", NULL), &l, &e),
	     &e);
	assert_int_equal(l.nr, 2);
	expect_setting(&l, l.v[0].target[6] == '2' ? 0 : 1, "5000002:300:napi/fake nice", "-7");
	expect_setting(&l, l.v[0].target[6] == '2' ? 1 : 0, "5000003:301:worker nice", "-7");
	knob_settings_release(&l);
	must(resolve(&knob_thread,
		     make("thread", "pid", "5000002", "match", "work*", "policy", "batch", NULL),
		     &l, &e),
	     &e);
	assert_int_equal(l.nr, 1);
	expect_setting(&l, 0, "5000003:301:worker policy", "batch:0");
	assert_int_equal(resolve(&knob_thread, make("thread", "pid", "77", "nice", "1", NULL), &l,
				 &e),
			 -ENOENT);
	assert_string_equal(e.msg, "pid 77: there is no such process");
	assert_int_equal(resolve(&knob_thread, make("thread", "nice", "1", NULL), &l, &e), -EINVAL);
	assert_contains(e.msg, "neither match nor pid");
}

static void threads_of_every_policy_are_described(void **state)
{
	static const struct {
		const char *key[4], *value[4], *setting;
	} good[] = {
		{ { "policy" }, { "batch" }, "batch:0" },
		{ { "policy" }, { "idle" }, "idle:0" },
		{ { "policy", "priority" }, { "rr", "99" }, "rr:99" },
		{ { "policy", "runtime", "deadline" },
		  { "deadline", "1ms", "10ms" },
		  "deadline:1000000:10000000:10000000" },
		{ { "policy", "runtime", "deadline", "period" },
		  { "deadline", "1ms", "10ms", "20ms" },
		  "deadline:1000000:10000000:20000000" },
	};
	static const struct {
		const char *key[4], *value[4], *why;
	} bad[] = {
		{ { "policy" }, { "deadline" }, "needs runtime and deadline" },
		{ { "policy", "runtime" }, { "fifo", "1ms" }, "needs a priority" },
		{ { "policy", "runtime" }, { "other", "1ms" }, "go with policy deadline" },
		{ { "nice" }, { "20" }, "nice \"20\": a number of -20 to 19" },
		{ { "nice" }, { "x" }, "nice \"x\"" },
		{ { "policy" }, { "fast" }, "fast" },
	};

	add_threads();
	for (size_t i = 0; i < ARRAY_SIZE(good) + ARRAY_SIZE(bad); i++) {
		_cleanup_(knob_settings_release) struct knob_settings l = {};
		struct instance inst =
			make("thread", "match", "worker", "kthreads-only", "off", NULL);
		size_t k = i < ARRAY_SIZE(good) ? i : i - ARRAY_SIZE(good);
		struct err e = {};

		for (int n = 0; n < 4; n++) {
			const char *key = i == k ? good[k].key[n] : bad[k].key[n];
			const char *value = i == k ? good[k].value[n] : bad[k].value[n];

			if (key)
				must(instance_set(&inst, key, value, 0, &e), &e);
		}
		if (i == k) {
			must(resolve(&knob_thread, inst, &l, &e), &e);
			expect_setting(&l, 0, "5000003:301:worker policy", good[k].setting);
		} else {
			assert_int_equal(resolve(&knob_thread, inst, &l, &e), -EINVAL);
			assert_contains(e.msg, bad[k].why);
		}
	}
}

/* PF_NO_SETAFFINITY in the flags of stat */
static void a_thread_bound_to_its_cpu_is_refused_beforehand(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	add_threads();
	add_thread(NO_PID + 7, "ktimers/0", 0x04208040, 100);
	assert_int_equal(resolve(&knob_thread,
				 make("thread", "match", "ktimers/*", "cpus", "1", NULL), &l, &e),
			 -EINVAL);
	assert_string_equal(e.msg,
			    "thread 5000007 (ktimers/0) cannot be moved to CPUs 1: the kernel "
			    "has bound it to its CPU; leave it out, or change what it works "
			    "for");
	must(resolve(&knob_thread,
		     make("thread", "match", "ktimers/*", "policy", "fifo", "priority", "2", NULL),
		     &l, &e),
	     &e);
	assert_int_equal(l.nr, 1);
}

static void a_mistyped_thread_has_a_near_name(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	add_threads();
	add_thread(NO_PID + 7, "rcu_preempt", 0x00208040, 100);
	assert_int_equal(resolve(&knob_thread,
				 make("thread", "match", "rcu_premt", "policy", "other", NULL), &l,
				 &e),
			 -ENOENT);
	assert_contains(e.msg, "did you mean \"rcu_preempt\"?");
}

static void new_threads_are_told_by_the_last_number(void **state)
{
	struct instance inst = make("thread", "match", "x*", "policy", "other", NULL);
	uint64_t stamp = 7;

	assert_true(knob_thread.appears(&tree.host, &inst, &stamp));
	assert_int_equal(stamp, 0); /* it cannot be told */
	tree_write(&tree, "proc/loadavg", "0.10 0.20 0.30 2/345 6789\n");
	assert_true(knob_thread.appears(&tree.host, &inst, &stamp));
	assert_int_equal(stamp, 6789);
	instance_release(&inst);
}

static void a_reused_pid_is_another_thread(void **state)
{
	char *now = NULL;
	struct err e = {};

	add_threads();
	assert_int_equal(knob_thread.read(&tree.host, "5000000:101:napi/old policy", &now, &e),
			 -ESRCH);
	assert_contains(e.msg, "has ended; 5000000 is another one (napi/dut0-8193) now");
	assert_int_equal(knob_thread.write(&tree.host, "5999999:1:x cpus", "0", &e), -ESRCH);
	assert_int_equal(knob_thread.read(&tree.host, "5000000:napi/old policy", &now, &e),
			 -EINVAL);
	assert_null(now);
}

static void thread_values_compare_by_meaning(void **state)
{
	assert_true(knob_thread.same("other:0", "other:0:-20"));
	assert_false(knob_thread.same("other:0:1", "other:0:2"));
	assert_false(knob_thread.same("fifo:50", "fifo:51"));
	assert_false(knob_thread.same("fifo:50", "rr:50"));
	assert_true(knob_thread.same("0-3", "0,1,2,3"));
	assert_false(knob_thread.same("0-3", "0-2"));
	assert_false(knob_thread.same("other:0", "0"));
	assert_true(knob_thread.same("deadline:1:2:3:0:5", "deadline:1:2:3"));
	assert_false(knob_thread.same("deadline:1:2:3:4:5", "deadline:1:2:3:0:5"));
	assert_false(knob_thread.same("deadline:1:2:3", "deadline:1:2:4"));
	assert_false(knob_thread.same("-5", "-6"));
	assert_true(knob_thread.same("-5", "-5"));
	/* a kworker that changed its name is the same thread */
	assert_true(
		knob_thread.same_target("5:7:kworker/0:1-a policy", "5:7:kworker/0:1-b policy"));
	assert_false(knob_thread.same_target("5:7:a policy", "5:8:a policy"));
	assert_false(knob_thread.same_target("5:7:a policy", "5:7:a cpus"));
	assert_false(knob_thread.same_target("5:7:a policy", "6:7:a policy"));
}

static void a_thread_outside_of_its_cpus_is_noticed(void **state)
{
	char path[64], stat[512], target[128];
	struct witness w = {};
	struct err e = {};
	pid_t pid = getpid();

	/* our own thread's mask is the kernel's word; what stat says of it, the tree's */
	for (int cpu = 0; cpu <= 8191; cpu += 8191) {
		snprintf(path, sizeof(path), "proc/%d/stat", pid);
		snprintf(stat, sizeof(stat),
			 "%d (me) S 2 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0 184 0 0 0 0 0 0 "
			 "0 0 0 0 0 0 17 %d 0 0 0\n",
			 pid, cpu);
		tree_write(&tree, path, stat);
		snprintf(path, sizeof(path), "proc/%d/status", pid);
		tree_write(
			&tree, path,
			"Name:\tx\nvoluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t7\n");
		snprintf(target, sizeof(target), "%d:77:me cpus", pid);
		must(knob_thread.witness(&tree.host, target, &w, &e), &e);
		assert_int_equal(w.effect, 37);
		assert_int_equal(w.against, cpu ? 38 : 0);
		assert_true(w.against_of[0]);
	}
	snprintf(target, sizeof(target), "%d:77:me policy", pid);
	must(knob_thread.witness(&tree.host, target, &w, &e), &e);
	assert_string_equal(w.against_of, "");
}

static void napi_threads_witness_threaded(void **state)
{
	struct witness w = {};
	struct err e = {};

	add_threads();
	add_thread(NO_PID + 4, "napi/dut0-8194", 0x00200040, 100);
	add_thread(NO_PID + 5, "napi/dut01-81", 0x00200040, 100);
	tree_write(&tree, "sys/class/net/dut0/threaded", "1\n");
	tree_write(&tree, "sys/class/net/dut0/statistics/rx_packets", "123\n");
	/* without schedstat of our own thread, run time may not be counted: switches */
	must(knob_netdev.witness(&tree.host, "dut0 threaded", &w, &e), &e);
	assert_int_equal(w.effect, 2 * NO_PID + 4 + 14);
	assert_string_equal(w.what, "context switches of napi/dut0-*");
	tree_write(&tree, "proc/thread-self/schedstat", "0 0 0\n");
	must(knob_netdev.witness(&tree.host, "dut0 threaded", &w, &e), &e);
	assert_int_equal(w.effect, 2 * NO_PID + 4 + 14);
	tree_write(&tree, "proc/thread-self/schedstat", "77 0 0\n");
	must(knob_netdev.witness(&tree.host, "dut0 threaded", &w, &e), &e);
	assert_true(w.effect == (uint64_t)(2 * NO_PID + 4) * 1000000);
	assert_string_equal(w.what, "run time of napi/dut0-*");
	assert_int_equal(w.min_effect, 1000000);
	assert_int_equal(w.demand, 123);
	assert_int_equal(w.min_demand, 1000);
	tree_write(&tree, "sys/class/net/dut0/threaded", "0\n");
	assert_int_equal(knob_netdev.witness(&tree.host, "dut0 threaded", &w, &e), -ENOENT);
	assert_int_equal(knob_netdev.witness(&tree.host, "dut0 gro", &w, &e), -ENOENT);
}

static void netdev_settings_come_in_a_working_order(void **state)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	tree_write(&tree, "sys/class/net/a/x", "");
	tree_write(&tree, "sys/class/net/b/x", "");
	must(resolve(&knob_netdev,
		     make("netdev", "threaded", "on", "gro", "1", "tso", "off", "dev", "a,b", NULL),
		     &l, &e),
	     &e);
	assert_int_equal(l.nr, 6);
	expect_setting(&l, 0, "a tso", "off");
	expect_setting(&l, 1, "a gro", "on");
	expect_setting(&l, 2, "b tso", "off");
	expect_setting(&l, 3, "b gro", "on");
	expect_setting(&l, 4, "a threaded", "1");
	expect_setting(&l, 5, "b threaded", "1");
	knob_settings_release(&l);
	assert_int_equal(resolve(&knob_netdev, make("netdev", "dev", "c", "gro", "on", NULL), &l,
				 &e),
			 -ENOENT);
	assert_contains(e.msg, "no network device c");
	assert_int_equal(resolve(&knob_netdev, make("netdev", "dev", "a", NULL), &l, &e), -EINVAL);
	assert_int_equal(resolve(&knob_netdev, make("netdev", "dev", "../a", "gro", "on", NULL), &l,
				 &e),
			 -EINVAL);
}

static void commands_report_how_they_ended(void **state)
{
	_cleanup_(freep) char *out = NULL;
	struct err e = {};

	must(shell_run("echo a; echo b >&2; printf 'c\\n\\n'", 1000000000000, &out, &e), &e);
	assert_string_equal(out, "a\nc");
	assert_int_equal(shell_run("echo no room >&2; exit 3", 1000000000000, NULL, &e), -EIO);
	assert_contains(e.msg, "failed with exit code 3: no room");
	assert_int_equal(shell_run("kill -9 $$", 1000000000000, NULL, &e), -EIO);
	assert_contains(e.msg, "was killed by signal 9");
	assert_int_equal(shell_run("sleep 1000; :", 20000000, NULL, &e), -ETIMEDOUT);
	/* a pipe held open by somebody in the background does not keep us */
	free(take_ptr(out));
	must(shell_run("sleep 1000 & echo $!", 1000000000000, &out, &e), &e);
	assert_int_equal(kill((pid_t)strtol(out, NULL, 10), SIGKILL), 0);
}

static void much_output_neither_blocks_nor_grows(void **state)
{
	_cleanup_(freep) char *out = NULL;
	struct err e = {};

	must(shell_run("i=0; while [ $i -lt 3000 ]; do echo "
		       "0123456789012345678901234567890123456789012345678901234567890123456789 ; "
		       "i=$((i+1)); done",
		       1000000000000, &out, &e),
	     &e);
	assert_true(strlen(out) > 60000 && strlen(out) < 70000);
}

/* Applies one command instance to the tree and gives the result; undone again. */
static int run_command(struct instance inst, struct err *e)
{
	_cleanup_(journal_closep) struct journal *j = NULL;
	struct instances l = { .v = &inst, .nr = 1 };
	struct applied *a = NULL;
	int r = journal_open(&j, tree.state, e);

	if (r >= 0)
		r = variant_apply(&a, &tree.host, j, knobs, &l, e);
	if (r >= 0)
		r = variant_verify(a, e);
	if (a)
		must(variant_undo(a, e), e);
	instance_release(&inst);
	return r;
}

static void commands_set_and_undo(void **state)
{
	char set[128], undo[128], nothing[] = "true", read[128];
	struct err e = {};

	tree_write(&tree, "value", "0\n");
	snprintf(set, sizeof(set), "echo 1 >%s/value", tree.root);
	snprintf(undo, sizeof(undo), "echo 0 >%s/value", tree.root);
	snprintf(read, sizeof(read), "cat %s/value", tree.root);
	must(run_command(make("command", "set", set, "undo", undo, NULL), &e), &e);
	tree_expect(&tree, "value", "0\n");
	must(run_command(make("command", "set", set, "undo", undo, "read", read, NULL), &e), &e);
	must(run_command(make("command", "set", set, "undo", undo, "read", read, "expect", "1",
			      NULL),
			 &e),
	     &e);
	tree_expect(&tree, "value", "0\n");
	assert_int_equal(
		run_command(make("command", "set", nothing, "undo", undo, "read", read, NULL), &e),
		-EIO);
	assert_contains(e.msg, "still reads \"reads 0\" as before");
	assert_int_equal(run_command(make("command", "set", set, "undo", undo, "read", read,
					  "expect", "2", NULL),
				     &e),
			 -EIO);
	assert_contains(e.msg, "it reads back \"reads 1\"");
	tree_expect(&tree, "value", "0\n");
	assert_int_equal(run_command(make("command", "set", set, "undo", undo, "expect", "2", NULL),
				     &e),
			 -EINVAL);
}

static void a_commands_undo_runs_after_a_crash(void **state)
{
	struct restore_report report = {};
	char set[128], undo[128], read[128];
	struct err e = {};

	snprintf(set, sizeof(set), "echo 1 >%s/value", tree.root);
	snprintf(undo, sizeof(undo), "echo 0 >%s/value", tree.root);
	snprintf(read, sizeof(read), "cat %s/value", tree.root);
	for (int with_read = 0; with_read < 2; with_read++) {
		pid_t pid;

		tree_write(&tree, "value", "0\n");
		pid = fork();
		if (pid == 0) {
			struct instance inst = make("command", "set", set, "undo", undo, "read",
						    with_read ? read : "", NULL);
			struct instances l = { .v = &inst, .nr = 1 };
			struct journal *j = NULL;
			struct applied *a = NULL;

			if (journal_open(&j, tree.state, &e) >= 0)
				variant_apply(&a, &tree.host, j, knobs, &l, &e);
			kill(getpid(), SIGKILL);
		}
		waitpid(pid, NULL, 0);
		tree_expect(&tree, "value", "1\n");
		must(variant_restore(&tree.host, tree.state, knobs, NULL, NULL, &report, &e), &e);
		assert_int_equal(report.undone, 1);
		tree_expect(&tree, "value", "0\n");
	}
}

static void a_commands_witness_is_a_number(void **state)
{
	static const char target[] = "{\"set\":\"a\",\"undo\":\"b\",\"witness\":\"echo 42\"}";
	static const char bad[] = "{\"set\":\"a\",\"undo\":\"b\",\"witness\":\"echo x\"}";
	struct witness w = {};
	struct err e = {};

	must(knob_command.witness(&tree.host, target, &w, &e), &e);
	assert_int_equal(w.effect, 42);
	assert_int_equal(w.min_demand, 0);
	assert_int_equal(knob_command.witness(&tree.host, bad, &w, &e), -EINVAL);
	assert_int_equal(knob_command.witness(&tree.host, "{\"set\":\"a\",\"undo\":\"b\"}", &w, &e),
			 -ENOENT);
}

static bool is_root(const char *what)
{
	if (geteuid() == 0)
		return true;
	print_message("# %s needs root\n", what);
	return false;
}

static struct procthread find_thread(int proc_fd, const char *comm)
{
	_cleanup_(procthreads_release) struct procthreads l = {};
	struct procthread none = { .tid = -1 };
	struct err e = {};

	must(procthreads_list(proc_fd, false, &l, &e), &e);
	for (size_t i = 0; i < l.nr; i++)
		if (strcmp(l.v[i].comm, comm) == 0)
			return l.v[i];
	return none;
}

static void a_kernel_threads_policy_is_set_and_set_back(void **state)
{
	_cleanup_(host_release) struct host host = {};
	_cleanup_(journal_closep) struct journal *j = NULL;
	struct procthread t;
	struct sched_param before = {}, now = {};
	struct instance inst;
	struct instances l = { .v = &inst, .nr = 1 };
	struct applied *a = NULL;
	struct err e = {};
	int policy, nice;

	if (!is_root("changing a kernel thread"))
		skip();
	must(host_open(&host, &e), &e);
	t = find_thread(host.proc_fd, "kthreadd");
	if (t.tid < 0) {
		print_message("# no kernel thread is visible here\n");
		skip();
	}
	policy = sched_getscheduler(t.tid);
	nice = getpriority(PRIO_PROCESS, (id_t)t.tid);
	assert_int_equal(sched_getparam(t.tid, &before), 0);
	must(journal_open(&j, tree.state, &e), &e);
	inst = make("thread", "match", "kthreadd", "policy", policy == SCHED_RR ? "fifo" : "rr",
		    "priority", "1", NULL);
	must(variant_apply(&a, &host, j, knobs, &l, &e), &e);
	assert_int_equal(sched_getscheduler(t.tid) & ~SCHED_RESET_ON_FORK,
			 policy == SCHED_RR ? SCHED_FIFO : SCHED_RR);
	must(variant_verify(a, &e), &e);
	must(variant_undo(a, &e), &e);
	assert_int_equal(sched_getscheduler(t.tid), policy);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)t.tid), nice);
	assert_int_equal(sched_getparam(t.tid, &now), 0);
	assert_int_equal(now.sched_priority, before.sched_priority);
	instance_release(&inst);
}

static void a_bound_thread_says_so(void **state)
{
	_cleanup_(host_release) struct host host = {};
	struct procthread t;
	struct err e = {};
	char target[128];

	if (!is_root("moving a kernel thread"))
		skip();
	must(host_open(&host, &e), &e);
	t = find_thread(host.proc_fd, "ksoftirqd/0");
	if (t.tid < 0) {
		print_message("# no kernel thread is visible here\n");
		skip();
	}
	snprintf(target, sizeof(target), "%d:%lu:ksoftirqd/0 cpus", t.tid, (unsigned long)t.start);
	assert_int_equal(knob_thread.write(&host, target, "0", &e), -EINVAL);
	assert_contains(e.msg, "the kernel has bound it");
}

static void a_programs_thread_keeps_nice_and_flag(void **state)
{
	_cleanup_(host_release) struct host host = {};
	struct procthread t = {};
	struct sched_param none = {};
	struct err e = {};
	char target[128], *old = NULL, *cpus = NULL;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when an assertion fails */
		pause();
		_exit(0);
	}
	must(host_open(&host, &e), &e);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)pid, 7), 0);
	assert_int_equal(sched_setscheduler(pid, SCHED_OTHER | SCHED_RESET_ON_FORK, &none), 0);
	must(procthread_read(host.proc_fd, pid, &t, &e), &e);
	assert_false(t.kernel);
	snprintf(target, sizeof(target), "%d:%lu:x y policy", pid, (unsigned long)t.start);
	must(knob_thread.read(&host, target, &old, &e), &e);
	assert_string_equal(old, "other:0");
	must(knob_thread.write(&host, target, "batch:0", &e), &e);
	assert_int_equal(sched_getscheduler(pid), SCHED_BATCH | SCHED_RESET_ON_FORK);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), 7);
	must(knob_thread.write(&host, target, old, &e), &e);
	assert_int_equal(sched_getscheduler(pid), SCHED_OTHER | SCHED_RESET_ON_FORK);
	snprintf(target, sizeof(target), "%d:%lu:x y cpus", pid, (unsigned long)t.start);
	must(knob_thread.read(&host, target, &cpus, &e), &e);
	must(knob_thread.write(&host, target, cpus, &e), &e);
	free(old);
	free(cpus);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(knob_thread.read(&host, target, &cpus, &e), -ESRCH);
}

static void deadline_is_set_and_set_back(void **state)
{
	static const char wish[] = "deadline:1000000:20000000:20000000";
	_cleanup_(host_release) struct host host = {};
	_cleanup_(freep) char *old = NULL, *now = NULL, *again = NULL;
	struct procthread t = {};
	struct err e = {};
	char target[128];
	pid_t pid;
	int r;

	if (!is_root("a deadline"))
		skip();
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	must(host_open(&host, &e), &e);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)pid, 3), 0);
	must(procthread_read(host.proc_fd, pid, &t, &e), &e);
	snprintf(target, sizeof(target), "%d:%lu:x policy", pid, (unsigned long)t.start);
	must(knob_thread.read(&host, target, &old, &e), &e);
	r = knob_thread.write(&host, target, wish, &e);
	if (r >= 0) {
		must(knob_thread.read(&host, target, &now, &e), &e);
		assert_true(knob_thread.same(now, wish));
		assert_string_equal(now, "deadline:1000000:20000000:20000000:0");
		must(knob_thread.write(&host, target, "fifo:1", &e), &e);
		must(knob_thread.write(&host, target, now, &e), &e); /* an undo to deadline */
		must(knob_thread.read(&host, target, &again, &e), &e);
		assert_string_equal(again, now);
		assert_int_equal(knob_thread.write(&host, target, "deadline:5000:4000:4000", &e),
				 -EINVAL);
		assert_contains(e.msg, "runtime <= deadline <= period");
		must(knob_thread.write(&host, target, old, &e), &e);
		assert_int_equal(sched_getscheduler(pid), SCHED_OTHER);
		assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), 3);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (r < 0) {
		print_message("# no deadline here: %s\n", e.msg);
		skip();
	}
}

/*
 * Real devices: a veth pair dut0 - far0 in a namespace that ends with the last descriptor of it.
 * Return: 0 or libnl's error when it cannot be had here.
 */
static int make_veth(void)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct rtnl_link *link = rtnl_link_veth_alloc(), *up = rtnl_link_alloc();
	struct rtnl_link *peer, *by_name = NULL;
	static const char *const names[] = { "dut0", "far0" };
	int r;

	assert_int_equal(nl_connect(sock, NETLINK_ROUTE), 0);
	rtnl_link_set_name(link, "dut0");
	peer = rtnl_link_veth_get_peer(link);
	rtnl_link_set_name(peer, "far0");
	rtnl_link_put(peer);
	r = rtnl_link_add(sock, link, NLM_F_CREATE | NLM_F_EXCL);
	rtnl_link_set_flags(up, IFF_UP);
	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++) {
		assert_int_equal(rtnl_link_get_kernel(sock, 0, names[i], &by_name), 0);
		assert_int_equal(rtnl_link_change(sock, by_name, up, 0), 0);
		rtnl_link_put(by_name);
	}
	rtnl_link_put(up);
	rtnl_link_veth_release(link);
	nl_socket_free(sock);
	return r;
}

static int fresh_sysfs(void)
{
	int fs = fsopen("sysfs", FSOPEN_CLOEXEC), fd;

	assert_true(fs >= 0);
	assert_int_equal(fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0), 0);
	fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	assert_true(fd >= 0);
	close(fs);
	return fd;
}

static struct host ns_host;
static int home_ns = -1;

/* Back to where the test began. */
static void leave_namespace(void)
{
	host_release(&ns_host);
	assert_int_equal(setns(home_ns, CLONE_NEWNET), 0);
	close(home_ns);
}

static bool enter_namespace(void)
{
	struct err e = {};
	int r;

	if (!is_root("a network namespace"))
		return false;
	home_ns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (unshare(CLONE_NEWNET) < 0) {
		print_message("# no network namespace here: %s\n", strerrorname_np(errno));
		close(home_ns);
		return false;
	}
	must(host_open(&ns_host, &e), &e);
	close(ns_host.dut.sys_fd);
	ns_host.dut.sys_fd = fresh_sysfs();
	r = make_veth();
	if (r == 0)
		return true;
	print_message("# no veth here: %s\n", nl_geterror(r));
	leave_namespace();
	return false;
}

static char *read_of(const struct knob_ops *ops, const char *target)
{
	char *now = NULL;
	struct err e = {};

	must(ops->read(&ns_host, target, &now, &e), &e);
	return now;
}

static void expect_here(const char *target, const char *value)
{
	_cleanup_(freep) char *now = read_of(&knob_netdev, target);

	assert_string_equal(now, value);
}

static void features_are_set_and_set_back(void **state)
{
	static const char *const words[] = { "rx-checksum", "tx-checksum", "sg",      "tso",
					     "gso",	    "gro",	   "rx-vlan", "lro",
					     "tx-vlan",	    "ntuple",	   "rx-hash", "gro-hw" };
	struct err e = {};
	size_t changed = 0;

	if (!enter_namespace())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		_cleanup_(freep) char *old = NULL;
		char target[64];
		const char *other;
		int r;

		snprintf(target, sizeof(target), "dut0 %s", words[i]);
		old = read_of(&knob_netdev, target);
		other = strcmp(old, "off") == 0 ? "on" : "off";
		r = knob_netdev.write(&ns_host, target, other, &e);
		if (r == -EOPNOTSUPP) {
			assert_contains(e.msg, "its driver fixes it");
			continue;
		}
		must(r, &e);
		expect_here(target, other);
		must(knob_netdev.write(&ns_host, target, old, &e), &e);
		expect_here(target, old);
		changed++;
	}
	assert_true(changed >= 5);
	leave_namespace();
}

static void a_mixed_group_comes_back_as_it_was(void **state)
{
	_cleanup_(freep) char *all = NULL;
	static const char mixed[] = "tx-tcp-segmentation:on,tx-tcp6-segmentation:off";
	struct err e = {};

	if (!enter_namespace())
		skip();
	expect_here("dut0 tso", "on");
	must(knob_netdev.write(&ns_host, "dut0 tso", mixed, &e), &e);
	all = read_of(&knob_netdev, "dut0 tso");
	assert_contains(all, "tx-tcp-segmentation:on");
	assert_contains(all, "tx-tcp6-segmentation:off");
	must(knob_netdev.write(&ns_host, "dut0 tso", "off", &e), &e);
	expect_here("dut0 tso", "off");
	must(knob_netdev.write(&ns_host, "dut0 tso", all, &e), &e);
	expect_here("dut0 tso", all);
	leave_namespace();
}

static void a_vanished_netdev_is_gone(void **state)
{
	char *now = NULL;
	struct err e = {};

	if (!enter_namespace())
		skip();
	assert_true(knob_is_gone(knob_netdev.read(&ns_host, "dut7 gro", &now, &e)));
	assert_true(knob_is_gone(knob_netdev.read(&ns_host, "dut7 threaded", &now, &e)));
	leave_namespace();
}

/* @nr frames from far0 to dut0, of a protocol that nobody takes. */
static void send_frames(unsigned int nr)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_ifindex = (int)if_nametoindex("far0"),
				  .sll_halen = 6,
				  .sll_addr = { 2, 0, 0, 0, 0, 1 } };
	unsigned char frame[60] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < nr; i++) {
		ssize_t n = sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&to, sizeof(to));

		if (n < 0 && errno != ENOBUFS)
			fail_msg("send: %s", strerrorname_np(errno));
	}
	close(fd);
}

static int ignore(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	print_message("# %s\n", rec->text);
	return 0;
}

static void add_to(struct instances *l, struct instance inst)
{
	struct err e = {};

	must(instances_add(l, &inst, &e), &e);
	instance_release(&inst);
}

/*
 * The trap of this field: threaded reads back 1 in both cases, but only where the sender leaves
 * segmentation to nobody does the receiver's NAPI run, and so its thread.
 */
static void threaded_works_or_is_vetoed(void **state)
{
	if (!enter_namespace())
		skip();
	for (int works = 0; works < 2; works++) {
		_cleanup_(journal_closep) struct journal *j = NULL;
		_cleanup_(instances_release) struct instances l = {};
		struct sample_sink sink = { .emit = ignore };
		struct applied *a = NULL;
		struct witness begin = {}, now = {};
		struct err e = {};

		must(journal_open(&j, tree.state, &e), &e);
		add_to(&l, make("netdev", "dev", "dut0", "gro", "on", NULL));
		add_to(&l, make("netdev", "dev", "far0", "tso", works ? "off" : "on", "gso",
				works ? "off" : "on", NULL));
		add_to(&l, make("netdev", "dev", "dut0", "threaded", "1", NULL));
		/* exists only once the line above has made it */
		add_to(&l, make("thread", "match", "napi/dut0-*", "policy", "fifo", "priority", "1",
				NULL));
		must(variant_apply(&a, &ns_host, j, knobs, &l, &e), &e);
		expect_here("dut0 threaded", "1");
		assert_int_equal(variant_witness(a, WITNESS_BEGIN, 0, &sink, &e), 0);
		must(knob_netdev.witness(&ns_host, "dut0 threaded", &begin, &e), &e);
		do {
			send_frames(5000);
			must(knob_netdev.witness(&ns_host, "dut0 threaded", &now, &e), &e);
		} while (now.demand - begin.demand < 2 * now.min_demand ||
			 (works && now.effect - begin.effect < 2 * now.min_effect));
		assert_int_equal(variant_witness(a, WITNESS_END, 0, &sink, &e), !works);
		must(variant_undo(a, &e), &e);
		expect_here("dut0 gro", "off");
		expect_here("far0 tso", "on");
		assert_false(tree_has(&tree, "state/journal"));
	}
	leave_namespace();
}

static void threaded_without_napi_says_so(void **state)
{
	struct err e = {};

	if (!enter_namespace())
		skip();
	expect_here("dut0 gro", "off");
	assert_int_equal(knob_netdev.write(&ns_host, "dut0 threaded", "1", &e), -EOPNOTSUPP);
	assert_contains(e.msg, "it has gro off");
	leave_namespace();
}

static void sysctls_of_the_namespace_are_set(void **state)
{
	_cleanup_(freep) char *old = NULL, *now = NULL;
	struct err e = {};

	if (!enter_namespace())
		skip();
	old = read_of(&knob_sysctl, "net.ipv4.tcp_rmem");
	must(knob_sysctl.write(&ns_host, "net.ipv4.tcp_rmem", "5000 50000 500000", &e), &e);
	now = read_of(&knob_sysctl, "net.ipv4.tcp_rmem");
	assert_true(knob_sysctl.same(now, "5000 50000 500000"));
	assert_false(knob_sysctl.same(now, old));
	must(knob_sysctl.write(&ns_host, "net.ipv4.tcp_rmem", old, &e), &e);
	leave_namespace();
}

/* The first word of @list that is none of @others, NULL when there is none; @list is cut up. */
static const char *word_besides(char *list, const char *others)
{
	char *rest = NULL;

	for (char *w = strtok_r(list, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		if (!strstr(others, w))
			return w;
	return NULL;
}

static void a_refused_congestion_control_has_its_remedy(void **state)
{
	_cleanup_(freep) char *all = NULL, *allowed = NULL;
	const char *refused;
	struct err e = {};

	if (!enter_namespace())
		skip();
	all = read_of(&knob_sysctl, "net.ipv4.tcp_available_congestion_control");
	allowed = read_of(&knob_sysctl, "net.ipv4.tcp_allowed_congestion_control");
	refused = word_besides(all, allowed);
	if (!refused) {
		leave_namespace();
		print_message("every congestion control here is allowed in namespaces\n");
		skip();
	}
	assert_int_equal(knob_sysctl.write(&ns_host, "net.ipv4.tcp_congestion_control", refused,
					   &e),
			 -EPERM);
	assert_contains(e.msg,
			"/proc/sys/net/ipv4/tcp_congestion_control: Operation not permitted");
	assert_contains(e.msg, "tcp_allowed_congestion_control (here: ");
	assert_contains(e.msg, allowed);
	assert_contains(e.msg, "give the tcp load the option congestion");
	leave_namespace();
}

static void plugins_are_well_formed(void **state)
{
	for (size_t i = 0; knobs[i]; i++) {
		const struct knob_ops *ops = knobs[i];

		assert_true(strlen(ops->plugin.help) <= 60);
		assert_non_null(ops->usable);
		assert_non_null(ops->resolve);
		assert_non_null(ops->read);
		assert_non_null(ops->write);
		assert_true(ops->plugin.free_keys == !ops->plugin.options);
		for (const struct opt *o = ops->plugin.options; o && o->type != OPT_END; o++) {
			struct err e = {};

			assert_non_null(o->help);
			if (o->def && *o->def)
				must(opt_check(o, o->def, &e), &e);
		}
	}
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(sysctl_names_follow_the_first_separator),
		with_tree(sysctl_values_compare_by_words),
		with_tree(an_absent_sysctl_says_why),
		with_tree(a_sysctls_errors_name_its_file_and_not_the_knob),
		with_tree(files_stay_inside_sys_and_proc),
		with_tree(files_of_choices_read_as_the_selected_one),
		with_tree(a_netdevs_files_lie_in_its_namespace),
		with_tree(threads_are_found_by_name),
		with_tree(no_thread_names_similar_ones),
		with_tree(thread_options_must_fit_together),
		with_tree(a_reused_pid_is_another_thread),
		with_tree(threads_of_a_process_are_found_by_its_number),
		with_tree(threads_of_every_policy_are_described),
		with_tree(a_thread_bound_to_its_cpu_is_refused_beforehand),
		with_tree(a_mistyped_thread_has_a_near_name),
		with_tree(new_threads_are_told_by_the_last_number),
		with_tree(thread_values_compare_by_meaning),
		with_tree(a_thread_outside_of_its_cpus_is_noticed),
		with_tree(napi_threads_witness_threaded),
		with_tree(netdev_settings_come_in_a_working_order),
		with_tree(commands_report_how_they_ended),
		with_tree(much_output_neither_blocks_nor_grows),
		with_tree(commands_set_and_undo),
		with_tree(a_commands_undo_runs_after_a_crash),
		with_tree(a_commands_witness_is_a_number),
		with_tree(a_kernel_threads_policy_is_set_and_set_back),
		with_tree(a_bound_thread_says_so),
		with_tree(a_programs_thread_keeps_nice_and_flag),
		with_tree(deadline_is_set_and_set_back),
		with_tree(features_are_set_and_set_back),
		with_tree(a_mixed_group_comes_back_as_it_was),
		with_tree(a_vanished_netdev_is_gone),
		with_tree(threaded_works_or_is_vetoed),
		with_tree(threaded_without_napi_says_so),
		with_tree(sysctls_of_the_namespace_are_set),
		with_tree(a_refused_congestion_control_has_its_remedy),
		with_tree(plugins_are_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
