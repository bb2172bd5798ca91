/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_IRQLINE_H
#define VARIANT_IRQLINE_H

/*
 * Interrupt lines as /proc/irq and sysfs show them, and which of them belong to a device.
 *
 * Names are those of the handlers: /sys/kernel/irq/N/actions (since Linux 4.9), else the folders
 * of /proc/irq/N (kernel/irq/proc.c); a shared line has several, joined with commas.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct host;

struct irqline {
	unsigned int number;
	char *actions; /* "eth0-rx-0", "a,b"; "" when nothing handles it */
};

struct irqlines {
	struct irqline *v;
	size_t nr;
};

/* All lines, by number. Cost: a folder, a file per line. */
int irqlines_list(const struct host *host, struct irqlines *ret, struct err *e);
void irqlines_release(struct irqlines *l);
/* The line @number or NULL. */
const struct irqline *irqlines_find(const struct irqlines *l, unsigned int number);
/* The handlers of one line as a new string; -ENODEV when there is no such line (any more). */
int irqline_actions(const struct host *host, unsigned int number, char **ret, struct err *e);
/* Is one of the handlers of @actions called so (fnmatch() of @pattern)? */
bool irqline_matches(const char *actions, const char *pattern);
/*
 * May two lists of handlers be those of one line at different times?  Yes, when they have one in
 * common, or one has none: a line keeps its affinity while its device is down.
 */
bool irqline_same_actions(const char *a, const char *b);
/* "24 (ACPI:Ged), 25 (ACPI:Ged) ...", @max of them. */
void irqlines_put(const struct irqlines *l, size_t max, struct buf *out);

/* Which lines belong to something. */
struct irqset {
	unsigned int *v;
	size_t nr;
	char *note; /* how they were found, when not by the device's own list; or NULL */
};

int irqset_add(struct irqset *s, unsigned int number, struct err *e);
bool irqset_has(const struct irqset *s, unsigned int number);
void irqset_release(struct irqset *s);
/*
 * Lines of the network device @ifname: its device's msi_irqs or irq, or those of the device it
 * hangs on (virtio, USB); else those of @all that bear its name.  -ENOENT: it has none.
 */
int irqset_of_netdev(const struct host *host, const struct irqlines *all, const char *ifname,
		     struct irqset *ret, struct err *e);
/* Lines of all devices bound to @driver, whatever the bus. -ENOENT: none, or no such driver. */
int irqset_of_driver(const struct host *host, const struct irqlines *all, const char *driver,
		     struct irqset *ret, struct err *e);

/* A number that differs when a line came or went; never 0 but when it cannot be told. */
uint64_t irqlines_stamp(int proc_fd);

#endif
