/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_IRQMAP_PARTS_H
#define PROBE_IRQMAP_PARTS_H

/* Between irqmap.c, irqmap_owner.c and irqmap_thread.c. */

#include <dirent.h>
#include <stdbool.h>

#include "probe/irqmap.h"

/* A netdev and the interrupts of its device. */
struct irqmap_netdev {
	char name[IFNAMSIZ];
	uint32_t ifindex;
	char *device; /* name of its device's directory; NULL: it has none */
	uint32_t *irqs;
	size_t nr_irqs;
};

/* A PCI device that has a driver, likewise. */
struct irqmap_device {
	char *name;
	uint32_t *irqs;
	size_t nr_irqs;
};

struct irqmap_owners {
	struct irqmap_netdev *netdevs;
	size_t nr_netdevs;
	struct irqmap_device *devices;
	size_t nr_devices;
};

struct irqmap_threads {
	struct irqmap_thread *v; /* irq/ and napi/ alone */
	size_t nr;
};

int irqmap_owners_read(const struct host *host, struct irqmap *m, struct irqmap_owners *ret,
		       struct err *e);
void irqmap_owners_release(struct irqmap_owners *o);
/* Fill @line->devices, netdevs and netdevs_by. */
int irqmap_own(const struct irqmap_owners *o, const struct netdev_napis *napis,
	       struct irqmap_line *line);
const struct irqmap_netdev *irqmap_netdev_of(const struct irqmap_owners *o, uint32_t ifindex);

int irqmap_threads_read(int proc_fd, struct irqmap_threads *ret, struct err *e);
void irqmap_threads_release(struct irqmap_threads *t);
void irqmap_thread_release(struct irqmap_thread *t);
/* Is @comm the thread of a handler of @irq ("irq/24-eth0", "irq/24-s-eth0")? */
bool irqmap_serves(const char *comm, uint32_t irq);
/*
 * "napi/eth0-8193" into its parts; false for another thread.  Before Linux 5.17 names end after 15
 * bytes: the number may be cut.
 */
bool irqmap_parse_napi(const char *comm, char netdev[IFNAMSIZ], uint32_t *ret_id);

/* Room for one more at the end; it doubles.  NULL without memory. */
void *irqmap_grow(void *v, size_t nr, size_t size);
/* One string more to a list. */
int irqmap_add_string(struct str_list *l, const char *s);
/* One sentence more to @m->lacks, each once. */
int irqmap_lack(struct irqmap *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The directory @path below @root_fd, or NULL with errno. */
DIR *irqmap_open_dir(int root_fd, const char *path);
/* A file's one line as a new string; NULL when it is not there, may not be read, or is empty. */
char *irqmap_line_of(int root_fd, const char *path);

#endif
