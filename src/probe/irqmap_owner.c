// SPDX-License-Identifier: GPL-3.0-or-later
/* Which device and netdev an interrupt belongs to. */
#include "probe/irqmap_parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"

/* Paths of sysfs are short; one that is not has no device here. */
#define PATH_SIZE 1024

static void netdev_release(struct irqmap_netdev *n)
{
	free(n->device);
	free(n->irqs);
	*n = (struct irqmap_netdev){};
}

static void device_release(struct irqmap_device *d)
{
	free(d->name);
	free(d->irqs);
	*d = (struct irqmap_device){};
}

void irqmap_owners_release(struct irqmap_owners *o)
{
	for (size_t i = 0; i < o->nr_netdevs; i++)
		netdev_release(&o->netdevs[i]);
	for (size_t i = 0; i < o->nr_devices; i++)
		device_release(&o->devices[i]);
	free(o->netdevs);
	free(o->devices);
	*o = (struct irqmap_owners){};
}

static int add_irq(uint64_t irq, uint32_t **irqs, size_t *nr)
{
	uint32_t *v;

	if (irq == 0 || irq > UINT32_MAX)
		return 0;
	v = irqmap_grow(*irqs, *nr, sizeof(*v));
	if (!v)
		return -ENOMEM;
	*irqs = v;
	(*irqs)[(*nr)++] = (uint32_t)irq;
	return 0;
}

/* The interrupts of the device at @dir: its message-signalled ones, else its line. */
static int read_irqs(int sys_fd, const char *dir, uint32_t **irqs, size_t *nr)
{
	_cleanup_(closedir_dirp) DIR *d = NULL;
	const struct dirent *entry;
	struct err ignored = {};
	char path[PATH_SIZE];
	uint64_t irq;

	snprintf(path, sizeof(path), "%s/msi_irqs", dir);
	d = irqmap_open_dir(sys_fd, path);
	while (d && (entry = readdir(d))) /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		if (text_u64(entry->d_name, &irq) == 0 && add_irq(irq, irqs, nr) < 0)
			return -ENOMEM;
	if (*nr)
		return 0;
	snprintf(path, sizeof(path), "%s/irq", dir);
	if (kfile_read_u64(sys_fd, path, &irq, &ignored) == 0)
		return add_irq(irq, irqs, nr);
	return 0;
}

/*
 * The directory of a netdev's device from where its link in class/net points:
 * "../../devices/pci0000:00/0000:00:1f.6/net/eth0".  False for a netdev without device.
 */
static bool device_dir(const char *link, char ret[PATH_SIZE])
{
	const char *net = strstr(link, "/net/"), *p = link;

	while (strncmp(p, "../", 3) == 0)
		p += 3;
	if (!net || net < p || strncmp(p, "devices/virtual/", 16) == 0)
		return false;
	snprintf(ret, PATH_SIZE, "%.*s", (int)(net - p), p);
	return true;
}

static char *base_name(char *path)
{
	char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Not of interrupts itself: they are those of the device that carries it. */
static bool is_carried(const char *device)
{
	return strncmp(device, "virtio", 6) == 0 && isdigit((unsigned char)device[6]);
}

static int read_netdev(int sys_fd, const char *name, struct irqmap_netdev *ret)
{
	_cleanup_(netdev_release) struct irqmap_netdev n = {};
	char path[PATH_SIZE], link[PATH_SIZE], dir[PATH_SIZE];
	struct err ignored = {};
	uint64_t index = 0;
	ssize_t len;
	int r = 0;

	snprintf(n.name, sizeof(n.name), "%s", name);
	snprintf(path, sizeof(path), "class/net/%s", name);
	len = readlinkat(sys_fd, path, link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = '\0';
	snprintf(path, sizeof(path), "class/net/%s/ifindex", name);
	if (kfile_read_u64(sys_fd, path, &index, &ignored) == 0 && index <= UINT32_MAX)
		n.ifindex = (uint32_t)index;
	if (device_dir(link, dir)) {
		n.device = strdup(base_name(dir));
		if (!n.device)
			return -ENOMEM;
		if (is_carried(n.device) && strchr(dir, '/'))
			*strrchr(dir, '/') = '\0';
		r = read_irqs(sys_fd, dir, &n.irqs, &n.nr_irqs);
	}
	if (r < 0)
		return r;
	*ret = n;
	n = (struct irqmap_netdev){};
	return 0;
}

static int read_netdevs(int sys_fd, struct irqmap *m, struct irqmap_owners *o)
{
	_cleanup_(closedir_dirp) DIR *d = irqmap_open_dir(sys_fd, "class/net");
	const struct dirent *entry;

	if (!d)
		return irqmap_lack(m, "/sys/class/net: %m: owners are guessed from names");
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		struct irqmap_netdev *v;

		/* bonding_masters is a file here; no netdev has a name that long */
		if (entry->d_name[0] == '.' || entry->d_type == DT_REG ||
		    strlen(entry->d_name) >= IFNAMSIZ)
			continue;
		v = irqmap_grow(o->netdevs, o->nr_netdevs, sizeof(*v));
		if (!v)
			return -ENOMEM;
		o->netdevs = v;
		if (read_netdev(sys_fd, entry->d_name, &v[o->nr_netdevs]) < 0)
			return -ENOMEM;
		o->nr_netdevs++;
	}
	return 0;
}

static int read_device(int sys_fd, const char *name, struct irqmap_device *ret)
{
	_cleanup_(device_release) struct irqmap_device d = { .name = strdup(name) };
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "bus/pci/devices/%s", name);
	if (!d.name || read_irqs(sys_fd, path, &d.irqs, &d.nr_irqs) < 0)
		return -ENOMEM;
	*ret = d;
	d = (struct irqmap_device){};
	return 0;
}

static int read_devices(int sys_fd, struct irqmap_owners *o)
{
	/* machines without PCI have no such folder */
	_cleanup_(closedir_dirp) DIR *d = irqmap_open_dir(sys_fd, "bus/pci/devices");
	const struct dirent *entry;

	while (d && (entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		struct irqmap_device *v;
		char path[PATH_SIZE];

		/* what no driver has requests no interrupt, though the bus gave it a line */
		snprintf(path, sizeof(path), "bus/pci/devices/%s/driver", entry->d_name);
		if (entry->d_name[0] == '.' || faccessat(sys_fd, path, F_OK, 0) < 0)
			continue;
		v = irqmap_grow(o->devices, o->nr_devices, sizeof(*v));
		if (!v)
			return -ENOMEM;
		o->devices = v;
		if (read_device(sys_fd, entry->d_name, &v[o->nr_devices]) < 0)
			return -ENOMEM;
		o->nr_devices++;
	}
	return 0;
}

int irqmap_owners_read(const struct host *host, struct irqmap *m, struct irqmap_owners *ret,
		       struct err *e)
{
	_cleanup_(irqmap_owners_release) struct irqmap_owners o = {};

	if (read_netdevs(host->dut.sys_fd, m, &o) < 0 || read_devices(host->sys_fd, &o) < 0)
		return err_nomem(e, "owners of interrupts");
	*ret = o;
	o = (struct irqmap_owners){};
	return 0;
}

const struct irqmap_netdev *irqmap_netdev_of(const struct irqmap_owners *o, uint32_t ifindex)
{
	for (size_t i = 0; ifindex && i < o->nr_netdevs; i++)
		if (o->netdevs[i].ifindex == ifindex)
			return &o->netdevs[i];
	return NULL;
}

static bool has_irq(const uint32_t *irqs, size_t nr, uint32_t irq)
{
	for (size_t i = 0; i < nr; i++)
		if (irqs[i] == irq)
			return true;
	return false;
}

/* "eth0", "eth0-rx-0", "eth0:1" for eth0, not "eth01". */
static bool is_named_after(const char *action, const char *name)
{
	size_t n = strlen(name);

	return n && strncmp(action, name, n) == 0 && !isalnum((unsigned char)action[n]) &&
	       action[n] != '_';
}

/* A handler's name begins with the netdev's, or is that of its device (platform devices). */
static bool names_netdev(const struct irqmap_line *line, const struct irqmap_netdev *n)
{
	for (size_t i = 0; i < line->actions.nr; i++)
		if (is_named_after(line->actions.v[i], n->name) ||
		    (n->device && strcmp(line->actions.v[i], n->device) == 0))
			return true;
	return false;
}

static bool by_netlink(const struct netdev_napis *napis, uint32_t ifindex, uint32_t irq)
{
	for (size_t i = 0; napis && i < napis->nr; i++)
		if (napis->v[i].has & NAPI_IRQ && napis->v[i].irq == irq &&
		    napis->v[i].ifindex == ifindex)
			return true;
	return false;
}

static bool owns(const struct irqmap_netdev *n, const struct netdev_napis *napis,
		 const struct irqmap_line *line, enum irqmap_source source)
{
	switch (source) {
	case IRQMAP_NETLINK:
		return by_netlink(napis, n->ifindex, line->irq);
	case IRQMAP_SYSFS:
		return has_irq(n->irqs, n->nr_irqs, line->irq);
	case IRQMAP_GUESS:
		return names_netdev(line, n);
	case IRQMAP_UNKNOWN:
	default:
		return false;
	}
}

static int join(struct buf *out, const char *name)
{
	return buf_printf(out, "%s%s", out->len ? "," : "", name);
}

/* Several netdevs on one device (ports): the handlers' names tell whose the interrupt is. */
static bool is_ambiguous(const struct irqmap_owners *o, const struct irqmap_line *line)
{
	size_t all = 0, named = 0;

	for (size_t i = 0; i < o->nr_netdevs; i++) {
		bool own = owns(&o->netdevs[i], NULL, line, IRQMAP_SYSFS);

		all += own;
		named += own && names_netdev(line, &o->netdevs[i]);
	}
	return all > 1 && named > 0;
}

static int own_netdevs(const struct irqmap_owners *o, const struct netdev_napis *napis,
		       struct irqmap_line *line)
{
	static const enum irqmap_source order[] = { IRQMAP_NETLINK, IRQMAP_SYSFS, IRQMAP_GUESS };
	_cleanup_(buf_release) struct buf names = {};
	bool narrow = is_ambiguous(o, line);

	for (size_t s = 0; s < ARRAY_SIZE(order) && !names.len; s++) {
		for (size_t i = 0; i < o->nr_netdevs; i++) {
			const struct irqmap_netdev *n = &o->netdevs[i];

			if (!owns(n, napis, line, order[s]) ||
			    (order[s] == IRQMAP_SYSFS && narrow && !names_netdev(line, n)))
				continue;
			join(&names, n->name);
			line->netdevs_by = order[s];
		}
	}
	if (names.failed)
		return -ENOMEM;
	line->netdevs = names.len ? buf_take(&names) : NULL;
	return 0;
}

int irqmap_own(const struct irqmap_owners *o, const struct netdev_napis *napis,
	       struct irqmap_line *line)
{
	_cleanup_(buf_release) struct buf devices = {};

	for (size_t i = 0; i < o->nr_devices; i++)
		if (has_irq(o->devices[i].irqs, o->devices[i].nr_irqs, line->irq))
			join(&devices, o->devices[i].name);
	if (devices.failed)
		return -ENOMEM;
	line->devices = devices.len ? buf_take(&devices) : NULL;
	return own_netdevs(o, napis, line);
}
