/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IRQTREE_H
#define IRQTREE_H

/* The parts of a machine that tell of interrupts, in a tree of tree.h.  Included after test.h. */

#include "tree.h"

static inline void must(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

static inline void writef(const struct tree *t, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void writef(const struct tree *t, const char *text, const char *fmt, ...)
{
	char path[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	tree_write(t, path, text);
}

static inline void make_dir(const struct tree *t, const char *path)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_printf(&b, "%s/.keep", path);
	tree_write(t, buf_str(&b), "");
}

/* A netdev of the device at @device (below /sys), as sysfs shows it. */
static inline void netdev(const struct tree *t, const char *device, const char *name,
			  unsigned int ifindex)
{
	char dir[160], to[200], link[160], index[16];

	snprintf(dir, sizeof(dir), "sys/%s/net/%s/ifindex", device, name);
	snprintf(index, sizeof(index), "%u\n", ifindex);
	tree_write(t, dir, index);
	make_dir(t, "sys/class/net");
	snprintf(to, sizeof(to), "../../%s/net/%s", device, name);
	snprintf(link, sizeof(link), "%s/sys/class/net/%s", t->root, name);
	assert_int_equal(symlink(to, link), 0);
}

/* A PCI device with a driver. */
static inline void pci(const struct tree *t, const char *path)
{
	char to[200], link[200];

	writef(t, "", "sys/%s/driver", path);
	make_dir(t, "sys/bus/pci/devices");
	snprintf(to, sizeof(to), "../../../%s", path);
	snprintf(link, sizeof(link), "%s/sys/bus/pci/devices/%s", t->root, strrchr(path, '/') + 1);
	assert_int_equal(symlink(to, link), 0);
}

static inline void irq(const struct tree *t, unsigned int nr, const char *chip, const char *actions,
		       const char *cpus)
{
	writef(t, cpus, "proc/irq/%u/smp_affinity_list", nr);
	writef(t, cpus, "proc/irq/%u/effective_affinity_list", nr);
	writef(t, "00\n", "proc/irq/%u/affinity_hint", nr);
	writef(t, "count 12\nunhandled 0\nlast_unhandled 0 ms\n", "proc/irq/%u/spurious", nr);
	writef(t, chip, "sys/kernel/irq/%u/chip_name", nr);
	writef(t, actions, "sys/kernel/irq/%u/actions", nr);
	writef(t, "edge\n", "sys/kernel/irq/%u/type", nr);
	writef(t, "1\n", "sys/kernel/irq/%u/hwirq", nr);
	writef(t, "disabled\n", "sys/kernel/irq/%u/wakeup", nr);
}

struct thread_is {
	int tid;
	const char *comm;
	int policy, priority, nice, cpu;
	const char *cpus;
};

static inline void thread(const struct tree *t, struct thread_is is)
{
	char text[400];

	/* fields 3 to 41 of proc(5); flags: a kernel thread */
	snprintf(text, sizeof(text),
		 "%d (%s) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 %d 1 0 77 0 0 "
		 "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 %d %d %d 0 0 0\n",
		 is.tid, is.comm, is.nice, is.cpu, is.priority, is.policy);
	writef(t, text, "proc/%d/stat", is.tid);
	snprintf(text, sizeof(text), "Name:\t%.15s\nCpus_allowed:\tf\nCpus_allowed_list:\t%s\n",
		 is.comm, is.cpus);
	writef(t, text, "proc/%d/status", is.tid);
}

#endif
