// SPDX-License-Identifier: GPL-3.0-or-later
/* Small machines in a folder, with known answers; and this machine, whatever it is. */
#include "test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "irqtree.h"
#include "netns.h"
#include "probe/irqmap.h"
#include "probe/irqmap_parts.h"

static void read_map(const struct tree *t, const struct netdev_napis *napis, struct irqmap *ret)
{
	struct err e = {};

	must(irqmap_read(&t->host, napis, ret, &e), &e);
}

static const struct irqmap_line *line(const struct irqmap *m, uint32_t nr)
{
	const struct irqmap_line *l = irqmap_find(m, nr);

	if (!l)
		fail_msg("interrupt %u is not in the map", nr);
	return l;
}

static void assert_policy(const struct irqmap_thread *t, const char *want)
{
	_cleanup_(buf_release) struct buf b = {};

	irqmap_policy(t, &b);
	assert_string_equal(buf_str(&b), want);
}

/* A laptop: e1000e with one MSI, NVMe with MSI-X, the keyboard's line without PCI device. */
static void a_laptops_interrupts_have_their_devices_and_netdev(void **state)
{
	_cleanup_(irqmap_release) struct irqmap m = {};
	struct tree t;

	tree_make(&t);
	irq(&t, 1, "IO-APIC\n", "i8042\n", "0-3\n");
	irq(&t, 124, "PCI-MSIX-0000:01:00.0\n", "nvme0q0\n", "0\n");
	irq(&t, 125, "PCI-MSIX-0000:01:00.0\n", "nvme0q1\n", "1\n");
	irq(&t, 130, "PCI-MSI-0000:00:1f.6\n", "enp0s31f6\n", "2\n");
	tree_write(&t, "proc/irq/130/affinity_hint", "00000001,80000004\n");
	tree_write(&t, "sys/kernel/debug/irq/irqs/125",
		   "dstate:   0x3740\n            IRQD_AFFINITY_MANAGED\n");
	tree_write(&t, "sys/kernel/debug/irq/irqs/124", "dstate:   0x3740\n");
	pci(&t, "devices/pci0000:00/0000:01:00.0");
	pci(&t, "devices/pci0000:00/0000:00:1f.6");
	make_dir(&t, "sys/devices/pci0000:00/0000:01:00.0/msi_irqs");
	tree_write(&t, "sys/devices/pci0000:00/0000:01:00.0/msi_irqs/124", "msix\n");
	tree_write(&t, "sys/devices/pci0000:00/0000:01:00.0/msi_irqs/125", "msix\n");
	tree_write(&t, "sys/devices/pci0000:00/0000:00:1f.6/msi_irqs/130", "msi\n");
	/* the line that the bus gave it before MSI is not its interrupt */
	tree_write(&t, "sys/devices/pci0000:00/0000:00:1f.6/irq", "1\n");
	netdev(&t, "devices/pci0000:00/0000:00:1f.6", "enp0s31f6", 2);
	netdev(&t, "devices/virtual", "lo", 1);
	read_map(&t, NULL, &m);
	assert_int_equal(m.nr_lines, 4);
	assert_int_equal(m.nr_napis, 0);
	assert_int_equal(m.lacks.nr, 0);
	assert_string_equal(line(&m, 1)->name, "i8042");
	assert_null(line(&m, 1)->devices);
	assert_null(line(&m, 1)->netdevs);
	assert_int_equal(line(&m, 1)->netdevs_by, IRQMAP_UNKNOWN);
	assert_int_equal(line(&m, 1)->managed, -1);
	assert_null(line(&m, 1)->hint);
	assert_string_equal(line(&m, 1)->affinity, "0-3");
	assert_string_equal(line(&m, 124)->devices, "0000:01:00.0");
	assert_null(line(&m, 124)->netdevs);
	assert_int_equal(line(&m, 124)->managed, 0);
	assert_int_equal(line(&m, 125)->managed, 1);
	assert_string_equal(line(&m, 130)->netdevs, "enp0s31f6");
	assert_int_equal(line(&m, 130)->netdevs_by, IRQMAP_SYSFS);
	assert_string_equal(line(&m, 130)->devices, "0000:00:1f.6");
	assert_string_equal(line(&m, 130)->hint, "2,31-32");
	assert_string_equal(line(&m, 130)->chip, "PCI-MSI-0000:00:1f.6");
	assert_string_equal(line(&m, 130)->trigger, "edge");
	assert_string_equal(line(&m, 130)->effective, "2");
	assert_int_equal(line(&m, 130)->wakeup, 0);
	assert_int_equal(line(&m, 130)->unhandled, 0);
	assert_null(irqmap_find(&m, 131));
	tree_remove(&t);
}

/* PREEMPT_RT: threads at FIFO 50, one line of two handlers with a thread each, one secondary. */
static void threads_of_a_shared_line_are_all_there_with_policy_and_priority(void **state)
{
	_cleanup_(irqmap_release) struct irqmap m = {};
	const struct irqmap_line *l;
	struct tree t;

	tree_make(&t);
	irq(&t, 16, "IO-APIC\n", "eth0,usb1\n", "0-3\n");
	irq(&t, 1, "IO-APIC\n", "i8042\n", "0\n");
	irq(&t, 160, "IO-APIC\n", "snd_hda_intel:card0\n", "0\n");
	pci(&t, "devices/pci0000:00/0000:00:1a.0");
	pci(&t, "devices/pci0000:00/0000:02:00.0");
	tree_write(&t, "sys/devices/pci0000:00/0000:00:1a.0/irq", "16\n");
	tree_write(&t, "sys/devices/pci0000:00/0000:02:00.0/irq", "16\n");
	netdev(&t, "devices/pci0000:00/0000:02:00.0", "eth0", 2);
	thread(&t, (struct thread_is){ 90, "irq/16-usb1", SCHED_FIFO, 50, 0, 3, "0-3" });
	thread(&t, (struct thread_is){ 88, "irq/16-eth0", SCHED_FIFO, 90, 0, 1, "1" });
	thread(&t, (struct thread_is){ 95, "irq/160-snd_hda) S (", SCHED_RR, 7, 0, 0, "0" });
	thread(&t, (struct thread_is){ 96, "irq/1-s-i8042", SCHED_OTHER, 0, -5, 0, "0-3" });
	thread(&t, (struct thread_is){ 97, "ksoftirqd/0", SCHED_OTHER, 0, 0, 0, "0" });
	read_map(&t, NULL, &m);
	l = line(&m, 16);
	assert_int_equal(l->actions.nr, 2);
	assert_string_equal(l->actions.v[1], "usb1");
	assert_non_null(strstr(l->devices, "0000:00:1a.0"));
	assert_non_null(strstr(l->devices, "0000:02:00.0"));
	assert_string_equal(l->netdevs, "eth0");
	assert_int_equal(l->nr_threads, 2);
	assert_int_equal(l->threads[0].tid, 88);
	assert_string_equal(l->threads[0].comm, "irq/16-eth0");
	assert_policy(&l->threads[0], "FIFO:90");
	assert_string_equal(l->threads[0].cpus, "1");
	assert_int_equal(l->threads[0].last_cpu, 1);
	assert_policy(&l->threads[1], "FIFO:50");
	assert_int_equal(l->threads[1].last_cpu, 3);
	assert_int_equal(line(&m, 1)->nr_threads, 1); /* not those of 16 and 160 */
	assert_policy(&line(&m, 1)->threads[0], "OTHER:-5");
	assert_int_equal(line(&m, 160)->nr_threads, 1);
	assert_policy(&line(&m, 160)->threads[0], "RR:7"); /* brackets in a name */
	tree_remove(&t);
}

/* A board: eight CPUs, platform devices, whose interrupts sysfs does not list. */
static void a_boards_netdev_is_guessed_from_names_and_said_to_be(void **state)
{
	_cleanup_(irqmap_release) struct irqmap m = {};
	struct tree t;

	tree_make(&t);
	irq(&t, 11, "GICv3\n", "arch_timer\n", "0-7\n");
	irq(&t, 52, "GICv3\n", "30be0000.ethernet\n", "0\n");
	irq(&t, 53, "GICv3\n", "eth1-rx-0\n", "4\n");
	irq(&t, 54, "GICv3\n", "eth10\n", "4\n");
	netdev(&t, "devices/platform/soc@0/30be0000.ethernet", "eth0", 2);
	netdev(&t, "devices/platform/soc@0/30bf0000.ethernet", "eth1", 3);
	read_map(&t, NULL, &m);
	assert_null(line(&m, 11)->netdevs);
	assert_string_equal(line(&m, 52)->netdevs, "eth0");
	assert_int_equal(line(&m, 52)->netdevs_by, IRQMAP_GUESS);
	assert_string_equal(line(&m, 53)->netdevs, "eth1");
	assert_null(line(&m, 54)->netdevs); /* eth1 is not eth10 */
	tree_remove(&t);
}

/* virtio: the interrupts are those of the device that carries it; several ports of one device. */
static void what_netlink_says_goes_before_sysfs_and_that_before_names(void **state)
{
	_cleanup_(irqmap_release) struct irqmap m = {};
	struct netdev_napi v[] = {
		{ .id = 513, .ifindex = 4, .has = NAPI_IRQ | NAPI_PID, .irq = 41, .pid = 300 },
		{ .id = 514, .ifindex = 5, .has = NAPI_IRQ, .irq = 43 },
		{ .id = 515, .ifindex = 9, .has = NAPI_PID, .pid = 4444 },
	};
	struct netdev_napis napis = { v, ARRAY_SIZE(v) };
	struct tree t;

	tree_make(&t);
	irq(&t, 30, "PCI-MSIX-0000:00:03.0\n", "virtio2-input.0\n", "0\n");
	irq(&t, 41, "PCI-MSIX-0000:05:00.0\n", "mlx4-1@0000:05:00.0\n", "0\n");
	irq(&t, 42, "PCI-MSIX-0000:05:00.0\n", "p1-rx\n", "0\n");
	irq(&t, 43, "PCI-MSIX-0000:05:00.0\n", "p0-rx\n", "0\n");
	irq(&t, 44, "PCI-MSIX-0000:05:00.0\n", "mlx4-async\n", "0\n");
	tree_write(&t, "sys/devices/pci0000:00/0000:00:03.0/msi_irqs/30", "msix\n");
	for (unsigned int i = 41; i < 45; i++)
		writef(&t, "msix\n", "sys/devices/pci0000:00/0000:05:00.0/msi_irqs/%u", i);
	netdev(&t, "devices/pci0000:00/0000:00:03.0/virtio2", "eth0", 2);
	netdev(&t, "devices/pci0000:00/0000:05:00.0", "p0", 4);
	netdev(&t, "devices/pci0000:00/0000:05:00.0", "p1", 5);
	thread(&t, (struct thread_is){ 300, "napi/p0-513", SCHED_FIFO, 60, 0, 2, "2-3" });
	thread(&t, (struct thread_is){ 301, "napi/other-7-99", SCHED_OTHER, 0, 0, 2, "0-3" });
	read_map(&t, &napis, &m);
	assert_string_equal(line(&m, 30)->netdevs, "eth0");
	assert_int_equal(line(&m, 30)->netdevs_by, IRQMAP_SYSFS);
	assert_string_equal(line(&m, 41)->netdevs, "p0");
	assert_int_equal(line(&m, 41)->netdevs_by, IRQMAP_NETLINK);
	assert_string_equal(line(&m, 42)->netdevs, "p1"); /* of the two ports, by its name */
	assert_int_equal(line(&m, 42)->netdevs_by, IRQMAP_SYSFS);
	assert_string_equal(line(&m, 43)->netdevs, "p1");     /* netlink, though the name says p0 */
	assert_non_null(strstr(line(&m, 44)->netdevs, "p0")); /* both: their device's */
	assert_non_null(strstr(line(&m, 44)->netdevs, "p1"));
	/* by netdev: "" (ifindex 9 is not here), other-7, p0, p1 */
	assert_int_equal(m.nr_napis, 4);
	assert_string_equal(m.napis[0].netdev, "");
	assert_int_equal(m.napis[0].thread.tid, 4444); /* netlink's number, of no thread here */
	assert_policy(&m.napis[0].thread, "?");
	assert_string_equal(m.napis[1].netdev, "other-7");
	assert_int_equal(m.napis[1].napi.id, 99);
	assert_int_equal(m.napis[1].by, IRQMAP_GUESS);
	assert_string_equal(m.napis[2].netdev, "p0");
	assert_int_equal(m.napis[2].by, IRQMAP_NETLINK);
	assert_policy(&m.napis[2].thread, "FIFO:60");
	assert_string_equal(m.napis[2].thread.cpus, "2-3");
	assert_int_equal(m.napis[3].thread.tid, 0); /* in softirqs */
	tree_remove(&t);
}

static void an_old_kernel_without_its_files_is_read_as_far_as_it_goes(void **state)
{
	_cleanup_(irqmap_release) struct irqmap m = {};
	struct tree t;

	tree_make(&t);
	make_dir(&t, "proc/irq/24/eth0");
	tree_write(&t, "proc/irq/24/smp_affinity_list", "0-1\n");
	tree_write(&t, "proc/irq/default_smp_affinity", "3\n");
	make_dir(&t, "proc/irq/25");
	read_map(&t, NULL, &m);
	assert_int_equal(m.nr_lines, 2);
	assert_string_equal(line(&m, 24)->name, "eth0");
	assert_string_equal(line(&m, 24)->affinity, "0-1");
	assert_null(line(&m, 24)->effective);
	assert_null(line(&m, 24)->chip);
	assert_int_equal(line(&m, 24)->wakeup, -1);
	assert_int_equal(line(&m, 24)->unhandled, -1);
	assert_string_equal(line(&m, 25)->name, "");
	assert_int_equal(m.lacks.nr, 2);
	assert_contains(m.lacks.v[0], "/sys/class/net: No such file or directory");
	assert_contains(m.lacks.v[1], "/sys/kernel/irq: No such file or directory");
	tree_remove(&t);
}

static void masks_become_lists(void **state)
{
	static const struct {
		const char *mask, *list;
	} cases[] = {
		{ "0", "" },
		{ "1", "0" },
		{ "ff", "0-7" },
		{ "00000000,00000005", "0,2" },
		{ "80000000,00000000", "63" },
		{ "1,ffffffff,80000000", "31-64" },
		{ "A", "1,3" },
	};
	static const char *const wrong[] = { "", ",", "x", "0x1", "1 2", "-1" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf b = {};

		assert_int_equal(irqmap_mask_to_list(cases[i].mask, &b), 0);
		assert_string_equal(buf_str(&b), cases[i].list);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_(buf_release) struct buf b = {};

		assert_int_equal(irqmap_mask_to_list(wrong[i], &b), -EINVAL);
	}
}

static void names_of_threads_are_taken_apart(void **state)
{
	char dev[IFNAMSIZ] = "";
	uint32_t id = 0;

	assert_true(irqmap_serves("irq/24-eth0", 24));
	assert_true(irqmap_serves("irq/24-s-eth0", 24));
	assert_false(irqmap_serves("irq/24-eth0", 2));
	assert_false(irqmap_serves("irq/244-eth0", 24));
	assert_false(irqmap_serves("irq/24", 24));
	assert_true(irqmap_parse_napi("napi/wlan-guest-0-8193", dev, &id));
	assert_string_equal(dev, "wlan-guest-0");
	assert_int_equal(id, 8193);
	assert_false(irqmap_parse_napi("napi/-1", dev, &id));
	assert_false(irqmap_parse_napi("napi/eth0-", dev, &id));
	assert_false(irqmap_parse_napi("napi/eth0-x", dev, &id));
	assert_false(irqmap_parse_napi("napi/eth0-4294967296", dev, &id));
	assert_false(irqmap_parse_napi("napi/a-name-too-long-for-it-5", dev, &id));
	assert_false(irqmap_parse_napi("napi", dev, &id));
	assert_false(irqmap_parse_napi("irq/24-eth0", dev, &id));
}

static void this_machines_threaded_veth_is_in_the_map(void **state)
{
	_cleanup_(netdev_napis_release) struct netdev_napis napis = {};
	_cleanup_(irqmap_release) struct irqmap with = {}, without = {};
	struct netdev_napi thread = { .has = NAPI_THREADED, .threaded = NAPI_IN_THREAD };
	struct err e = {};
	size_t found = 0;

	if (!netns_enter("ip link add va type veth peer name vb && ethtool -K va gro on && "
			 "ip link set va up && ip link set vb up"))
		skip();
	if (netdev_genl_napis(&netns_host.dut, 0, &napis, &e) < 0 || napis.nr == 0) {
		print_message("# no napi-get here: %s\n", e.msg);
		netns_leave();
		skip();
	}
	thread.id = napis.v[0].id;
	if (netdev_genl_set_napi(&netns_host.dut, &thread, &e) < 0) {
		print_message("# no thread for one instance here: %s\n", e.msg);
		netns_leave();
		skip();
	}
	netdev_napis_release(&napis);
	must(netdev_genl_napis(&netns_host.dut, 0, &napis, &e), &e);
	must(irqmap_read(&netns_host, &napis, &with, &e), &e);
	must(irqmap_read(&netns_host, NULL, &without, &e), &e);
	for (size_t i = 0; i < with.nr_napis; i++)
		if (with.napis[i].napi.id == thread.id) {
			found++;
			assert_string_equal(with.napis[i].netdev, "va");
			assert_policy(&with.napis[i].thread, "OTHER:0");
			assert_int_equal(with.napis[i].by, IRQMAP_NETLINK);
		}
	for (size_t i = 0; i < without.nr_napis; i++)
		if (without.napis[i].napi.id == thread.id) {
			found++;
			assert_string_equal(without.napis[i].netdev, "va");
			assert_int_equal(without.napis[i].by, IRQMAP_GUESS);
		}
	assert_int_equal(found, 2);
	netns_leave();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_laptops_interrupts_have_their_devices_and_netdev),
		cmocka_unit_test(threads_of_a_shared_line_are_all_there_with_policy_and_priority),
		cmocka_unit_test(a_boards_netdev_is_guessed_from_names_and_said_to_be),
		cmocka_unit_test(what_netlink_says_goes_before_sysfs_and_that_before_names),
		cmocka_unit_test(an_old_kernel_without_its_files_is_read_as_far_as_it_goes),
		cmocka_unit_test(masks_become_lists),
		cmocka_unit_test(names_of_threads_are_taken_apart),
		cmocka_unit_test(this_machines_threaded_veth_is_in_the_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
