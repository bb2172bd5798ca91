/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_IRQMAP_H
#define PROBE_IRQMAP_H

/*
 * Who is behind each numbered interrupt: handlers, chip, device, netdev, threads with their policy
 * and priority, and where it may and does fire; and every NAPI instance, those without an
 * interrupt (veth) too.
 *
 *	_cleanup_(netdev_napis_release) struct netdev_napis napis = {};
 *	_cleanup_(irqmap_release) struct irqmap map = {};
 *	r = netdev_genl_napis(&host->dut, 0, &napis, &why);
 *	r = irqmap_read(host, r < 0 ? NULL : &napis, &map, e);
 *
 * A netdev is joined to an interrupt by what the kernel says: the NAPI instance's own interrupt
 * (netlink), else the interrupts of its device (sysfs msi_irqs, irq); by the handlers' names only
 * when neither says anything, and then it is called a guess.
 *
 * What vanishes while it is read is left out; what may not be read is in @lacks.  Sources:
 * Documentation/ABI/testing/sysfs-kernel-irq, sysfs-bus-pci (msi_irqs), core-api/irq/irq-affinity.
 */

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "variant/netdev_genl.h"

struct err;
struct host;
struct buf;

enum irqmap_source {
	IRQMAP_UNKNOWN,
	IRQMAP_NETLINK, /* napi-get */
	IRQMAP_SYSFS,	/* the device's interrupts */
	IRQMAP_GUESS,	/* names alike */
};

struct irqmap_thread {
	int tid; /* 0: none */
	char comm[64];
	int policy; /* SCHED_OTHER, SCHED_FIFO ... */
	int rt_priority, nice;
	int last_cpu;	     /* -1: not known */
	char *cpus;	     /* that it may run on, "0-3"; NULL: not known */
	uint64_t runtime_ns; /* on a CPU so far; 0: not known */
};

struct irqmap_line {
	uint32_t irq;
	char *name;		 /* the handlers, "eth0,usb1"; "" for none */
	struct str_list actions; /* the same one by one */
	char *chip; /* "PCI-MSIX-0000:00:04.0", "GICv3"; this and the next: NULL when not known */
	char *hwirq, *trigger; /* "1"; "edge", "level" */
	char *devices;	       /* "0000:00:1f.6"; several of a shared line, comma-separated */
	char *netdevs;	       /* "eth0"; several likewise */
	enum irqmap_source netdevs_by;
	char *affinity, *effective, *hint; /* CPU lists; hint NULL when the driver gave none */
	int wakeup, managed;		   /* 1, 0, -1 not known */
	int64_t unhandled;		   /* of the last 100,000; -1 not known */
	struct irqmap_thread *threads;	   /* one for each handler in a thread */
	size_t nr_threads;
};

struct irqmap_napi {
	struct netdev_napi napi; /* with netlink; else id alone */
	char netdev[IFNAMSIZ];	 /* "": in no netdev seen from here */
	enum irqmap_source by;
	struct irqmap_thread thread; /* tid 0: polled in softirqs */
};

struct irqmap {
	struct irqmap_line *lines; /* by irq */
	size_t nr_lines;
	struct irqmap_napi *napis; /* by netdev, id */
	size_t nr_napis;
	struct str_list lacks; /* what could not be read, one sentence each */
};

/**
 * irqmap_read - what @host says of its interrupts now
 * @host: roots of /proc and /sys; the netdevs are those of @host->dut.sys_fd
 * @napis: what netdev_genl_napis() said; NULL: nothing, the threads' names stand in
 *
 * Shape: a line for each directory of /proc/irq.  Cost: about 8 small files for each interrupt,
 * one for each process, one for each PCI device: tens of ms on a large machine.
 * Return: 0; -ENOMEM; what opening /proc gave.
 */
int irqmap_read(const struct host *host, const struct netdev_napis *napis, struct irqmap *ret,
		struct err *e);
void irqmap_release(struct irqmap *m);

/* The line of @irq, or NULL. */
const struct irqmap_line *irqmap_find(const struct irqmap *m, uint32_t irq);
/* "FIFO:50", "OTHER:0" (nice), "DEADLINE", "?" for a policy unknown here. */
int irqmap_policy(const struct irqmap_thread *t, struct buf *out);
/* "FIFO", "OTHER"; "?" for a policy unknown here. */
const char *irqmap_policy_name(int policy);
/* "netlink", "sysfs", "guess", "" */
const char *irqmap_source_name(enum irqmap_source s);
/* Pure: a mask of the kernel ("00000001,80000000") as a list ("31-32"); -EINVAL. */
int irqmap_mask_to_list(const char *mask, struct buf *out);

#endif
