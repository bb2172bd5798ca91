// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Interrupts over a fixture tree: which lines are meant, what is written, what the witness sees,
 * what is refused and why.
 */
#include "test.h"

#include <stdarg.h>

#include "tree.h"
#include "knob_faults.h"
#include "sample/sample.h"
#include "variant/irqline.h"
#include "variant/knob_tables.h"

static const struct knob_ops *const knobs[] = { &knob_irq, NULL };

static struct tree tree;

static void add_line(unsigned int number, const char *actions, const char *counts)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", number);
	tree_write(&tree, path, "0-1\n");
	snprintf(path, sizeof(path), "proc/irq/%u/effective_affinity_list", number);
	tree_write(&tree, path, "0\n");
	snprintf(path, sizeof(path), "sys/kernel/irq/%u/actions", number);
	snprintf(text, sizeof(text), "%s\n", actions);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "sys/kernel/irq/%u/per_cpu_count", number);
	tree_write(&tree, path, counts);
}

#define PCI "sys/devices/pci0/"

/*
 * eth0: virtio on a PCI function with MSI-X; usb0: below a host controller with one line; end0: a
 * platform device, whose line only its name tells; veth0: no device.
 */
static void add_devices(void)
{
	tree_write(&tree, PCI "0000:00:04.0/uevent", "");
	tree_write(&tree, PCI "0000:00:04.0/irq", "0\n");
	tree_write(&tree, PCI "0000:00:04.0/msi_irqs/41", "msix\n");
	tree_write(&tree, PCI "0000:00:04.0/msi_irqs/42", "msix\n");
	tree_write(&tree, PCI "0000:00:04.0/msi_irqs/77",
		   "msix\n"); /* given, but never requested */
	tree_write(&tree, PCI "0000:00:04.0/virtio3/uevent", "");
	tree_link(&tree, PCI "0000:00:04.0/virtio3/subsystem", "../../../../bus/virtio");
	tree_link(&tree, "sys/class/net/eth0/device", "../../../devices/pci0/0000:00:04.0/virtio3");
	tree_link(&tree, "sys/bus/virtio/drivers/virtio_net/virtio3",
		  "../../../../devices/pci0/0000:00:04.0/virtio3");
	tree_link(&tree, "sys/bus/virtio/drivers/virtio_net/module", "../../../../devices/pci0");
	tree_write(&tree, "sys/bus/virtio/drivers/virtio_net/bind", "");
	tree_write(&tree, "sys/bus/virtio/drivers/virtio_blk/bind", "");
	tree_write(&tree, PCI "0000:00:14.0/uevent", "");
	tree_write(&tree, PCI "0000:00:14.0/irq", "28\n");
	tree_write(&tree, PCI "0000:00:14.0/usb1/uevent", "");
	tree_write(&tree, PCI "0000:00:14.0/usb1/1-1/uevent", "");
	tree_write(&tree, PCI "0000:00:14.0/usb1/1-1/1-1:1.0/uevent", "");
	tree_link(&tree, "sys/class/net/usb0/device",
		  "../../../devices/pci0/0000:00:14.0/usb1/1-1/1-1:1.0");
	tree_write(&tree, "sys/devices/platform/30be0000.ethernet/uevent", "");
	tree_link(&tree, "sys/class/net/end0/device",
		  "../../../devices/platform/30be0000.ethernet");
	tree_write(&tree, "sys/class/net/veth0/mtu", "1500\n");
}

static int setup(void **state)
{
	tree_make(&tree);
	tree_write(&tree, "proc/thread-self/status", "Name:\tx\nCapEff:\tffffffffffffffff\n");
	tree_write(&tree, "sys/devices/system/cpu/online", "0-3\n");
	tree_write(&tree, "sys/devices/system/cpu/possible", "0-3\n");
	tree_write(&tree, "proc/irq/default_smp_affinity", "3\n");
	add_line(24, "ACPI:Ged", "1,0,0,0\n");
	add_line(28, "xhci_hcd,i801_smbus", "9,0,0,0\n");
	add_line(30, "30be0000.ethernet", "0,0,0,0\n");
	add_line(41, "virtio3-input.0", "100,7,0,0\n");
	add_line(42, "virtio3-output.0", "0,0,0,0\n");
	add_line(43, "", "0,0,0,0\n");
	add_devices();
	return 0;
}

static int teardown(void **state)
{
	io.error = 0;
	tree_remove(&tree);
	return 0;
}

static void must(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

/* An instance from "key", "value", ..., NULL. */
static struct instance make(const char *key, ...)
{
	struct instance inst = { .plugin = strdup("irq"), .name = strdup("irq") };
	struct err e = {};
	va_list ap;

	va_start(ap, key);
	for (; key; key = va_arg(ap, const char *))
		must(instance_set(&inst, key, va_arg(ap, const char *), 0, &e), &e);
	va_end(ap);
	return inst;
}

static int resolve(struct instance inst, struct knob_settings *ret, struct err *e)
{
	int r = knob_irq.resolve(&tree.host, &inst, ret, e);

	instance_release(&inst);
	return r;
}

/* The targets, one a line, with the value of each. */
static void expect_settings(struct instance inst, const char *text, const char *note)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	_cleanup_(buf_release) struct buf b = {};
	struct err e = {};

	must(resolve(inst, &l, &e), &e);
	for (size_t i = 0; i < l.nr; i++)
		buf_printf(&b, "%s = %s\n", l.v[i].target, l.v[i].value);
	assert_string_equal(buf_str(&b), text);
	if (note) {
		assert_non_null(l.note);
		assert_contains(l.note, note);
	} else {
		assert_null(l.note);
	}
}

static void expect_refusal(struct instance inst, int code, const char *why)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	struct err e = {};

	assert_int_equal(resolve(inst, &l, &e), code);
	assert_contains(e.msg, why);
	assert_int_equal(l.nr, 0);
}

static void lines_are_found_by_number_and_name(void **state)
{
	expect_settings(make("number", "24", "affinity", "1", NULL), "24:ACPI:Ged affinity = 1\n",
			NULL);
	expect_settings(make("number", "24,43", "affinity", "all", NULL),
			"24:ACPI:Ged affinity = 0-3\n43: affinity = 0-3\n", NULL);
	expect_settings(make("name", "virtio3-*put.0", "affinity", "1-2", NULL),
			"41:virtio3-input.0 affinity = 1-2\n42:virtio3-output.0 affinity = 1-2\n",
			NULL);
	/* one handler of a shared line is enough */
	expect_settings(make("name", "i801*", "affinity", "2", NULL),
			"28:xhci_hcd,i801_smbus affinity = 2\n", NULL);
	/* both must hold */
	expect_settings(make("name", "virtio3-*", "number", "42,24", "affinity", "2", NULL),
			"42:virtio3-output.0 affinity = 2\n", NULL);
}

static void lines_are_found_by_device_and_driver(void **state)
{
	static const char both[] = "41:virtio3-input.0 affinity = 2\n"
				   "42:virtio3-output.0 affinity = 2\n";

	expect_settings(make("netdev", "eth0", "affinity", "2", NULL), both, NULL);
	expect_settings(make("driver", "virtio_net", "affinity", "2", NULL), both, NULL);
	expect_settings(make("netdev", "eth0", "name", "*-input*", "affinity", "2", NULL),
			"41:virtio3-input.0 affinity = 2\n", NULL);
	expect_settings(
		make("netdev", "usb0", "affinity", "2", NULL),
		"28:xhci_hcd,i801_smbus affinity = 2\n",
		"1-1:1.0 has no interrupt of its own: those of 0000:00:14.0, which others may "
		"share");
	expect_settings(make("netdev", "end0", "affinity", "2", NULL),
			"30:30be0000.ethernet affinity = 2\n",
			"sysfs does not tell the interrupts of end0");
}

/* "eth1" is not meant by "eth10-rx", and a line without handlers by nothing. */
static void names_end_where_they_end(void **state)
{
	tree_write(&tree, "sys/class/net/eth1/mtu", "");
	add_line(50, "eth10-rx-0", "0,0,0,0\n");
	expect_refusal(make("netdev", "eth1", "affinity", "2", NULL), -ENOENT,
		       "eth1 has no interrupt");
	add_line(51, "eth1-rx-0", "0,0,0,0\n");
	add_line(52, "other,eth1", "0,0,0,0\n");
	expect_settings(make("netdev", "eth1", "affinity", "2", NULL),
			"51:eth1-rx-0 affinity = 2\n52:other,eth1 affinity = 2\n",
			"sysfs does not");
	assert_true(irqline_same_actions("", ""));
	assert_true(irqline_same_actions("", "a"));
	assert_true(irqline_same_actions("a,b", "c,b"));
	assert_false(irqline_same_actions("a,b", "c,ab"));
	assert_false(irqline_matches("", "*"));
}

/* Before Linux 4.9 the names are the folders of /proc/irq/N. */
static void old_kernels_tell_the_names_in_proc(void **state)
{
	tree_write(&tree, "proc/irq/60/smp_affinity_list", "0-1\n");
	tree_write(&tree, "proc/irq/60/eth7/x", "");
	expect_settings(make("name", "eth7", "affinity", "0", NULL), "60:eth7 affinity = 0\n",
			NULL);
}

static void what_is_not_there_is_named_beside_what_is(void **state)
{
	expect_refusal(make("number", "99", "affinity", "1", NULL), -ENOENT,
		       "there is no interrupt of number 99; here are: 24 (ACPI:Ged), 28 (");
	expect_refusal(
		make("name", "virtio3-inptu.0", "affinity", "1", NULL), -ENOENT,
		"called \"virtio3-inptu.0\"; did you mean \"virtio3-input.0\"? here are: 24");
	expect_refusal(make("netdev", "eth9", "affinity", "1", NULL), -ENOENT,
		       "there is no network device eth9 here");
	expect_refusal(make("netdev", "veth0", "affinity", "1", NULL), -ENOENT,
		       "veth0 has no interrupt: it is a virtual device");
	expect_refusal(make("netdev", "../eth0", "affinity", "1", NULL), -EINVAL, "is no name");
	expect_refusal(make("driver", "virtio_nte", "affinity", "1", NULL), -ENOENT,
		       "there is no such driver here; did you mean \"virtio_net\"?");
	expect_refusal(make("driver", "virtio_blk", "affinity", "1", NULL), -ENOENT,
		       "none of its devices has an interrupt");
	expect_refusal(make("driver", "..", "affinity", "1", NULL), -EINVAL, "is no name");
	expect_refusal(make("netdev", "eth0", "number", "24", "affinity", "1", NULL), -ENOENT,
		       "there is no interrupt of number 24 of eth0");
}

static void options_must_fit_together(void **state)
{
	expect_refusal(make("number", "24", NULL), -EINVAL, "none of affinity, policy, cpus");
	expect_refusal(make("number", "24", "affinity", "", "cpus", "", NULL), -EINVAL,
		       "none of affinity, policy, cpus");
	expect_refusal(make("affinity", "1", NULL), -EINVAL, "which interrupts?");
	expect_refusal(make("policy", "other", NULL), -EINVAL, "which interrupts?");
	expect_refusal(make("number", "24", "affinity", "3-4", NULL), -EINVAL,
		       "affinity \"3-4\": this machine has CPUs 0-3 online");
	expect_refusal(make("default-affinity", "9", NULL), -EINVAL, "default-affinity \"9\"");
	expect_refusal(make("number", "24", "default-affinity", "1", NULL), -EINVAL,
		       "of no interrupt in particular");
	expect_refusal(make("number", "24", "policy", "fifo", NULL), -EINVAL, "needs a priority");
	expect_refusal(make("number", "24", "affinity", "1", "cpus", "2", NULL), -EINVAL,
		       "with the first interrupt after its affinity was set");
}

static void a_line_that_cannot_be_moved_is_refused_beforehand(void **state)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/proc/irq/41/smp_affinity_list", tree.root);
	assert_int_equal(chmod(path, 0444), 0);
	expect_refusal(make("netdev", "eth0", "affinity", "1", NULL), -EPERM,
		       "interrupt 41 (virtio3-input.0) cannot be moved, "
		       "/proc/irq/41/smp_affinity_list is read-only");
}

/* What the kernel answers comes with what to do about it. */
static void refusals_of_the_kernel_are_explained(void **state)
{
	static const struct {
		int error;
		const char *why;
	} cases[] = {
		{ EIO, "it manages the queues of this device itself" },
		{ EPERM, "ethtool -L" },
		{ EINVAL, "none of these CPUs is online" },
		{ ENOSPC, "no interrupt vector is left on these CPUs" },
		{ EBUSY, "ends with the next interrupt" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int ops = 0;

		for (int n = 1; !ops; n++) {
			struct err e = {};
			int r;

			io.error = cases[i].error;
			io_faults(n, IO_FAIL_ONCE);
			r = knob_irq.write(&tree.host, "24:ACPI:Ged affinity", "1", &e);
			if (io_faults_end() < n)
				ops = n - 1;
			else if (r < 0 && n > 3) /* the name, then the write */
				assert_contains(e.msg, cases[i].why);
		}
		assert_true(ops > 3);
	}
}

static void a_reused_number_is_another_line(void **state)
{
	struct err e = {};
	char *now = NULL;

	must(knob_irq.read(&tree.host, "24:ACPI:Ged affinity", &now, &e), &e);
	assert_string_equal(now, "0-1");
	free(now);
	now = NULL;
	add_line(24, "nvme0q1", "0,0,0,0\n");
	assert_int_equal(knob_irq.read(&tree.host, "24:ACPI:Ged affinity", &now, &e), -ENODEV);
	assert_string_equal(e.msg, "interrupt 24 is not that of ACPI:Ged any more but of nvme0q1");
	assert_int_equal(knob_irq.write(&tree.host, "24:ACPI:Ged affinity", "1", &e), -ENODEV);
	tree_expect(&tree, "proc/irq/24/smp_affinity_list", "0-1\n");
	assert_int_equal(knob_irq.read(&tree.host, "90:gone affinity", &now, &e), -ENODEV);
	/* a device that is down keeps what its line was given */
	add_line(41, "", "0,0,0,0\n");
	must(knob_irq.read(&tree.host, "41:virtio3-input.0 affinity", &now, &e), &e);
	free(now);
	now = NULL;
	/* one more handler on a shared line is the same line */
	add_line(28, "xhci_hcd", "0,0,0,0\n");
	must(knob_irq.read(&tree.host, "28:xhci_hcd,i801_smbus affinity", &now, &e), &e);
	free(now);
	assert_true(knob_irq.same_target("28:a,b affinity", "28:b affinity"));
	assert_false(knob_irq.same_target("28:a affinity", "28:b affinity"));
	assert_false(knob_irq.same_target("28:a affinity", "29:a affinity"));
	assert_false(knob_irq.same_target("28:a affinity", "default affinity"));
	assert_true(knob_irq.same_target("default affinity", "default affinity"));
	assert_true(knob_irq.same_target("5:7:irq/1-a policy", "5:7:irq/1-b policy"));
}

static void the_default_is_a_mask(void **state)
{
	struct err e = {};
	char *now = NULL;

	tree_write(&tree, "proc/irq/default_smp_affinity", "0000,0000000f\n");
	must(knob_irq.read(&tree.host, "default affinity", &now, &e), &e);
	assert_string_equal(now, "0-3");
	free(now);
	tree_write(&tree, "proc/irq/default_smp_affinity", "");
	must(knob_irq.write(&tree.host, "default affinity", "1,3", &e), &e);
	tree_expect(&tree, "proc/irq/default_smp_affinity", "a");
	expect_settings(make("default-affinity", "all", NULL), "default affinity = 0-3\n", NULL);
}

static int ignore(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	return 0;
}

/* Where the interrupts of the window came: on CPU 2, as asked, and on others. */
static int vetoes_after(const char *counts)
{
	_cleanup_(journal_closep) struct journal *j = NULL;
	struct sample_sink sink = { .emit = ignore };
	struct instance inst = make("number", "41", "affinity", "2", NULL);
	struct instances l = { .v = &inst, .nr = 1 };
	struct applied *a = NULL;
	struct err e = {};
	int vetoes;

	tree_write(&tree, "proc/irq/41/smp_affinity_list", "0\n");
	tree_write(&tree, "sys/kernel/irq/41/per_cpu_count", "100,7,0,0\n");
	must(journal_open(&j, tree.state, &e), &e);
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	must(variant_witness(a, WITNESS_BEGIN, 0, &sink, &e), &e);
	tree_write(&tree, "sys/kernel/irq/41/per_cpu_count", counts);
	vetoes = variant_witness(a, WITNESS_END, 0, &sink, &e);
	must(variant_undo(a, &e), &e);
	tree_expect(&tree, "proc/irq/41/smp_affinity_list", "0\n");
	instance_release(&inst);
	return vetoes;
}

static void interrupts_elsewhere_are_a_veto(void **state)
{
	assert_int_equal(vetoes_after("100,7,0,0\n"), 0);    /* idle */
	assert_int_equal(vetoes_after("100,7,900,0\n"), 0);  /* as asked */
	assert_int_equal(vetoes_after("101,7,900,0\n"), 0);  /* the one that made the move */
	assert_int_equal(vetoes_after("102,7,0,0\n"), 0);    /* too few to say */
	assert_int_equal(vetoes_after("100,70,900,0\n"), 1); /* most as asked */
	assert_int_equal(vetoes_after("1000,7,0,0\n"), 1);   /* none as asked */
}

static void the_witness_says_where(void **state)
{
	struct witness w = {};
	struct err e = {};

	tree_write(&tree, "proc/irq/41/smp_affinity_list", "1-2\n");
	tree_write(&tree, "proc/irq/41/effective_affinity_list", "1\n");
	must(knob_irq.witness(&tree.host, "41:virtio3-input.0 affinity", &w, &e), &e);
	assert_string_equal(w.what, "interrupts 41 on CPUs 1-2 (effective: 1)");
	assert_int_equal(w.effect, 7);
	assert_int_equal(w.against, 100);
	assert_int_equal(w.demand, 107);
	assert_int_equal(knob_irq.witness(&tree.host, "default affinity", &w, &e), -ENOENT);
	tree_write(&tree, "sys/kernel/irq/41/per_cpu_count", "1,2,3,4,5\n"); /* a CPU too many */
	assert_int_equal(knob_irq.witness(&tree.host, "41:virtio3-input.0 affinity", &w, &e),
			 -EBADMSG);
	tree_write(&tree, "sys/kernel/irq/41/per_cpu_count", "1,x\n");
	assert_int_equal(knob_irq.witness(&tree.host, "41:virtio3-input.0 affinity", &w, &e),
			 -EBADMSG);
}

/* No process has such numbers: pid_max is 4194304 at most. */
static void add_thread(int pid, const char *comm, unsigned int flags)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (%s) S 2 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 184 0\n", pid, comm,
		 flags, pid - 5000000);
	tree_write(&tree, path, text);
}

static void threads_of_a_line_are_all_that_bear_its_number(void **state)
{
	add_thread(5000001, "irq/41-virtio3-input.0", 0x00208040);
	add_thread(5000002, "irq/41-s-virtio3-input.0", 0x00208040);
	add_thread(5000003, "irq/4-serial", 0x00208040);
	add_thread(5000004, "irq/411-x", 0x00208040);
	add_thread(5000005, "irq/41-fake", 0x00400000); /* a program */
	expect_settings(make("netdev", "eth0", "name", "*input*", "policy", "fifo", "priority", "7",
			     NULL),
			"5000001:1:irq/41-virtio3-input.0 policy = fifo:7\n"
			"5000002:2:irq/41-s-virtio3-input.0 policy = fifo:7\n",
			NULL);
	/* of those lines that have one; affinities first, since they move the threads */
	expect_settings(make("netdev", "eth0", "affinity", "2", "cpus", "2", NULL),
			"41:virtio3-input.0 affinity = 2\n42:virtio3-output.0 affinity = 2\n"
			"5000001:1:irq/41-virtio3-input.0 cpus = 2\n"
			"5000002:2:irq/41-s-virtio3-input.0 cpus = 2\n",
			NULL);
	expect_refusal(
		make("number", "42", "policy", "other", NULL), -ENOENT,
		"interrupt 42 (virtio3-output.0) has no thread irq/42-*: its handler runs in "
		"the interrupt itself; a kernel with PREEMPT_RT, or one booted with threadirqs");
}

static void lines_and_threads_to_come_change_the_stamp(void **state)
{
	struct instance inst = make("name", "x*", "affinity", "1", NULL);
	uint64_t stamp = 0, before;

	assert_true(knob_irq.appears(&tree.host, &inst, &stamp));
	assert_int_equal(stamp, 0); /* without loadavg it cannot be told */
	tree_write(&tree, "proc/loadavg", "0.10 0.20 0.30 2/345 6789\n");
	knob_irq.appears(&tree.host, &inst, &before);
	assert_true(before != 0);
	tree_write(&tree, "proc/loadavg", "0.10 0.20 0.30 2/345 6790\n");
	knob_irq.appears(&tree.host, &inst, &stamp);
	assert_true(stamp != before);
	knob_irq.appears(&tree.host, &inst, &before);
	assert_true(stamp == before);
	add_line(70, "x7", "0,0,0,0\n");
	knob_irq.appears(&tree.host, &inst, &stamp);
	assert_true(stamp != before);
	instance_release(&inst);
}

/* A driver that requests a line while the trial runs: it is moved, and given back. */
static void a_line_that_appears_is_moved_too(void **state)
{
	_cleanup_(journal_closep) struct journal *j = NULL;
	struct sample_sink sink = { .emit = ignore };
	struct instance inst = make("name", "virtio3-*", "affinity", "2-3", NULL);
	struct instances l = { .v = &inst, .nr = 1 };
	struct applied *a = NULL;
	struct err e = {};

	must(journal_open(&j, tree.state, &e), &e);
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	tree_expect(&tree, "proc/irq/41/smp_affinity_list", "2-3\n");
	add_line(44, "virtio3-late", "0,0,0,0\n");
	must(variant_refresh(a, 0, &sink, &e), &e);
	tree_expect(&tree, "proc/irq/44/smp_affinity_list", "2-3\n");
	add_line(42, "somebody-else", "0,0,0,0\n"); /* freed and given away: as it was made */
	must(variant_refresh(a, 0, &sink, &e), &e);
	must(variant_verify(a, &e), &e);
	must(variant_undo(a, &e), &e);
	tree_expect(&tree, "proc/irq/41/smp_affinity_list", "0-1\n");
	tree_expect(&tree, "proc/irq/42/smp_affinity_list", "0-1\n");
	tree_expect(&tree, "proc/irq/44/smp_affinity_list", "0-1\n");
	assert_false(tree_has(&tree, "state/journal"));
	instance_release(&inst);
}

static void every_fault_is_repaired(void **state)
{
	struct instance inst =
		make("netdev", "eth0", "affinity", "2-3", "default-affinity", "2-3", NULL);
	struct instances l = { .v = &inst, .nr = 1 };

	expect_faults_repaired(&tree, NULL, knobs, &l, NULL);
	instance_release(&inst);
}

static void without_proc_irq_it_is_unavailable(void **state)
{
	struct tree empty;
	struct err e = {};

	assert_int_equal(knob_irq.usable(&tree.host, &e), 0);
	tree_make(&empty);
	assert_int_equal(knob_irq.usable(&empty.host, &e), -EOPNOTSUPP);
	assert_contains(e.msg, "there is no /proc/irq");
	tree_remove(&empty);
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(lines_are_found_by_number_and_name),
		with_tree(lines_are_found_by_device_and_driver),
		with_tree(names_end_where_they_end),
		with_tree(old_kernels_tell_the_names_in_proc),
		with_tree(what_is_not_there_is_named_beside_what_is),
		with_tree(options_must_fit_together),
		with_tree(a_line_that_cannot_be_moved_is_refused_beforehand),
		with_tree(refusals_of_the_kernel_are_explained),
		with_tree(a_reused_number_is_another_line),
		with_tree(the_default_is_a_mask),
		with_tree(interrupts_elsewhere_are_a_veto),
		with_tree(the_witness_says_where),
		with_tree(threads_of_a_line_are_all_that_bear_its_number),
		with_tree(lines_and_threads_to_come_change_the_stamp),
		with_tree(a_line_that_appears_is_moved_too),
		with_tree(every_fault_is_repaired),
		with_tree(without_proc_irq_it_is_unavailable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
