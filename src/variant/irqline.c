// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/irqline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"

/* NULL with the reason in @e when it cannot be opened. */
static DIR *open_dir(int fd, const char *path, struct err *e)
{
	int own = openat(fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (own < 0)
		err_sys(e, "open %s", path);
	else if (!d)
		err_nomem(e, path);
	if (!d)
		close_fdp(&own);
	return d;
}

static bool number_of(const struct dirent *d, unsigned int *ret)
{
	uint64_t v = 0;

	if (text_u64(d->d_name, &v) < 0 || v > INT_MAX)
		return false;
	*ret = (unsigned int)v;
	return true;
}

/* The folders of /proc/irq/N are its handlers. */
static int folders_of(const struct host *host, unsigned int number, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf names = {};
	_cleanup_(closedir_dirp) DIR *d = NULL;
	const struct dirent *entry;
	char path[32];

	snprintf(path, sizeof(path), "irq/%u", number);
	d = open_dir(host->proc_fd, path, e);
	if (!d && e->code == -ENOENT)
		return err_set(e, -ENODEV, "there is no interrupt %u any more", number);
	if (!d)
		return e->code;
	while ((entry = readdir(d))) /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			buf_printf(&names, "%s%s", names.len ? "," : "", entry->d_name);
	buf_puts(&names, "");
	*ret = names.failed ? NULL : strdup(buf_str(&names));
	return *ret ? 0 : err_nomem(e, path);
}

int irqline_actions(const struct host *host, unsigned int number, char **ret, struct err *e)
{
	struct err why = {};
	char path[48];
	int r;

	snprintf(path, sizeof(path), "irq/%u/smp_affinity_list", number);
	if (faccessat(host->proc_fd, path, F_OK, 0) < 0 && errno == ENOENT)
		return err_set(e, -ENODEV, "there is no interrupt %u", number);
	snprintf(path, sizeof(path), "kernel/irq/%u/actions", number);
	r = kfile_read_line(host->sys_fd, path, ret, &why);
	if (r == -ENOENT)
		return folders_of(host, number, ret, e);
	/* what cannot be read is not gone */
	return r < 0 ? err_set(e, -EIO, "interrupt %u: %s", number, why.msg) : 0;
}

static int add_line(struct irqlines *l, unsigned int number, char *actions, struct err *e)
{
	struct irqline *v = realloc(l->v, (l->nr + 1) * sizeof(*v));

	if (!v) {
		free(actions);
		return err_nomem(e, "interrupts");
	}
	l->v = v;
	l->v[l->nr++] = (struct irqline){ .number = number, .actions = actions };
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct irqline *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

int irqlines_list(const struct host *host, struct irqlines *ret, struct err *e)
{
	_cleanup_(irqlines_release) struct irqlines l = {};
	_cleanup_(closedir_dirp) DIR *d = open_dir(host->proc_fd, "irq", e);
	const struct dirent *entry;
	int r;

	if (!d)
		return e->code;
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		unsigned int number = 0;
		char *actions = NULL;

		if (!number_of(entry, &number))
			continue;
		r = irqline_actions(host, number, &actions, e);
		if (r >= 0)
			r = add_line(&l, number, actions, e);
		if (r < 0 && r != -ENODEV) /* it went meanwhile */
			return r;
	}
	if (l.nr)
		qsort(l.v, l.nr, sizeof(*l.v), by_number);
	*ret = l;
	l = (struct irqlines){};
	return 0;
}

void irqlines_release(struct irqlines *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free(l->v[i].actions);
	free(l->v);
	*l = (struct irqlines){};
}

const struct irqline *irqlines_find(const struct irqlines *l, unsigned int number)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->v[i].number == number)
			return &l->v[i];
	return NULL;
}

/* Calls @f for each name of "a,b" until it says true. */
static bool any_action(const char *actions, bool (*f)(const char *action, const void *arg),
		       const void *arg)
{
	_cleanup_(freep) char *copy = strdup(actions);
	char *rest = NULL;

	for (char *w = copy ? strtok_r(copy, ",", &rest) : NULL; w; w = strtok_r(NULL, ",", &rest))
		if (f(w, arg))
			return true;
	return false;
}

static bool fits(const char *action, const void *pattern)
{
	return fnmatch(pattern, action, 0) == 0;
}

bool irqline_matches(const char *actions, const char *pattern)
{
	return any_action(actions, fits, pattern);
}

static bool is_action(const char *action, const void *name)
{
	return strcmp(action, name) == 0;
}

static bool is_among(const char *action, const void *actions)
{
	return any_action(actions, is_action, action);
}

bool irqline_same_actions(const char *a, const char *b)
{
	return !*a || !*b || any_action(a, is_among, b);
}

void irqlines_put(const struct irqlines *l, size_t max, struct buf *out)
{
	for (size_t i = 0; i < l->nr && i < max; i++)
		buf_printf(out, "%s%u (%s)", i ? ", " : "", l->v[i].number, l->v[i].actions);
	if (l->nr > max)
		buf_printf(out, " and %zu more", l->nr - max);
}

bool irqset_has(const struct irqset *s, unsigned int number)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->v[i] == number)
			return true;
	return false;
}

void irqset_release(struct irqset *s)
{
	free(s->v);
	free(s->note);
	*s = (struct irqset){};
}

int irqset_add(struct irqset *s, unsigned int number, struct err *e)
{
	unsigned int *v;

	if (irqset_has(s, number))
		return 0;
	v = realloc(s->v, (s->nr + 1) * sizeof(*v));
	if (!v)
		return err_nomem(e, "interrupts");
	s->v = v;
	s->v[s->nr++] = number;
	return 0;
}

/* The lines of the device whose folder is @dev: those among @all, which are in use. */
static int add_of_device(int dev, const struct irqlines *all, struct irqset *s, struct err *e)
{
	struct err ignored = {};
	_cleanup_(closedir_dirp) DIR *d = open_dir(dev, "msi_irqs", &ignored);
	const struct dirent *entry;
	uint64_t irq = 0;
	int r = 0;

	while (d && r >= 0 && (entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): ours */
		unsigned int number = 0;

		if (number_of(entry, &number) && irqlines_find(all, number))
			r = irqset_add(s, number, e);
	}
	if (r >= 0 && s->nr == 0 && kfile_read_u64(dev, "irq", &irq, &ignored) >= 0 && irq &&
	    irq <= INT_MAX && irqlines_find(all, (unsigned int)irq))
		r = irqset_add(s, (unsigned int)irq, e);
	return r;
}

static void name_of(int dev, char *out, size_t size)
{
	char link[64], path[PATH_MAX];
	const char *slash, *name;
	ssize_t n;

	out[0] = '\0';
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dev);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	slash = strrchr(path, '/');
	name = slash ? slash + 1 : path;
	if (strlen(name) < size)
		memcpy(out, name, strlen(name) + 1);
}

static bool is_virtio(int dev)
{
	char link[PATH_MAX];
	ssize_t n = readlinkat(dev, "subsystem", link, sizeof(link) - 1);

	if (n <= 0)
		return false;
	link[n] = '\0';
	return strcmp(strrchr(link, '/') ? strrchr(link, '/') + 1 : link, "virtio") == 0;
}

static int take_note(struct irqset *s, struct buf *note, struct err *e)
{
	free(s->note);
	s->note = buf_take(note);
	return s->note ? 0 : err_nomem(e, "interrupts");
}

/*
 * Lines of @dev, or of the nearest device above it that has some: a virtio device's are those of
 * its PCI function, a USB device's those of the host controller.
 */
static int add_of_device_or_above(int dev, const struct irqlines *all, struct irqset *s,
				  struct err *e)
{
	_cleanup_(close_fdp) int at = fcntl(dev, F_DUPFD_CLOEXEC, 3);
	_cleanup_(buf_release) struct buf note = {};
	char name[256], above[256];
	bool own = true;
	int r = 0;

	name_of(dev, name, sizeof(name));
	for (int level = 0; level < 8 && at >= 0; level++) {
		int up;

		r = add_of_device(at, all, s, e);
		if (r < 0 || s->nr)
			break;
		own &= is_virtio(at);
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close_fdp(&at);
		at = up;
		/* what is no device has no uevent: the end of the tree */
		if (at >= 0 && faccessat(at, "uevent", F_OK, 0) < 0)
			break;
	}
	if (r < 0 || s->nr == 0 || own)
		return r;
	name_of(at, above, sizeof(above));
	buf_printf(
		&note,
		"%s has no interrupt of its own: those of %s, which others may share, were taken",
		name, above);
	return take_note(s, &note, e);
}

/* Does the action belong to @arg: "eth0", "eth0-rx-0", "eth0:rx", but not "eth01"? */
static bool begins_with_name(const char *action, const void *arg)
{
	const char *name = arg;
	size_t len = strlen(name);

	return len && strncmp(action, name, len) == 0 &&
	       (action[len] == '\0' || strchr("-:._@/ ", action[len]));
}

static int add_by_name(const struct irqlines *all, const char *name, struct irqset *s,
		       struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < all->nr && r >= 0; i++)
		if (any_action(all->v[i].actions, begins_with_name, name))
			r = irqset_add(s, all->v[i].number, e);
	return r;
}

/* By the names of the handlers: the netdev's, or its device's ("30be0000.ethernet"). */
static int add_by_names(int dev, const struct irqlines *all, const char *ifname, struct irqset *s,
			struct err *e)
{
	_cleanup_(buf_release) struct buf note = {};
	char device[256] = "";
	int r = add_by_name(all, ifname, s, e);

	if (dev >= 0)
		name_of(dev, device, sizeof(device));
	if (r >= 0 && s->nr == 0)
		r = add_by_name(all, device, s, e);
	if (r < 0 || s->nr == 0)
		return r;
	buf_printf(&note,
		   "sysfs does not tell the interrupts of %s: those whose names begin with it, or "
		   "with its device, were taken",
		   ifname);
	return take_note(s, &note, e);
}

int irqset_of_netdev(const struct host *host, const struct irqlines *all, const char *ifname,
		     struct irqset *ret, struct err *e)
{
	const struct host_side *side = host_side_of(host, ifname);
	int sys_fd = side->sys_fd >= 0 ? side->sys_fd : host->sys_fd, r = 0;
	_cleanup_(irqset_release) struct irqset s = {};
	_cleanup_(close_fdp) int dev = -1;
	char path[64 + IFNAMSIZ];

	if (!*ifname || strlen(ifname) >= IFNAMSIZ || strchr(ifname, '/') || ifname[0] == '.')
		return err_set(e, -EINVAL, "\"%s\" is no name of a network device", ifname);
	snprintf(path, sizeof(path), "class/net/%s", ifname);
	if (faccessat(sys_fd, path, F_OK, 0) < 0)
		return err_set(e, -ENOENT, "there is no network device %s here", ifname);
	snprintf(path, sizeof(path), "class/net/%s/device", ifname);
	dev = openat(sys_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dev >= 0)
		r = add_of_device_or_above(dev, all, &s, e);
	if (r >= 0 && s.nr == 0)
		r = add_by_names(dev, all, ifname, &s, e);
	if (r < 0)
		return r;
	if (s.nr == 0)
		return err_set(
			e, -ENOENT, "%s has no interrupt: %s", ifname,
			dev < 0 ? "it is a virtual device, whose packets come by softirq alone"
				: "neither sysfs nor a name tells one; give its number or "
				  "name");
	*ret = s;
	s = (struct irqset){};
	return 0;
}

/* Lines of the devices in a driver's folder; links that lead elsewhere ("module") have none. */
static int add_of_driver(int bus, const char *driver, const struct irqlines *all, struct irqset *s,
			 bool *found, struct err *e)
{
	_cleanup_(closedir_dirp) DIR *d = NULL;
	const struct dirent *entry;
	struct err ignored = {};
	char path[512];
	int r = 0;

	snprintf(path, sizeof(path), "drivers/%s", driver);
	d = open_dir(bus, path, &ignored);
	if (!d)
		return 0;
	*found = true;
	while (r >= 0 && (entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): ours */
		_cleanup_(irqset_release) struct irqset own = {};
		_cleanup_(close_fdp) int dev = -1;

		if (entry->d_type != DT_LNK || strcmp(entry->d_name, "module") == 0)
			continue;
		dev = openat(dirfd(d), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		r = dev < 0 ? 0 : add_of_device_or_above(dev, all, &own, e);
		for (size_t i = 0; i < own.nr && r >= 0; i++)
			r = irqset_add(s, own.v[i], e);
		if (own.note && !s->note)
			s->note = take_ptr(own.note);
	}
	return r;
}

/* The driver of all buses whose name is nearest, for the message. */
static void nearest_driver(DIR *buses, const char *driver, struct buf *out)
{
	_cleanup_(buf_release) struct buf near = {};
	const struct dirent *bus, *entry;
	struct err ignored = {};

	rewinddir(buses);
	while ((bus = readdir(buses))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		_cleanup_(closedir_dirp) DIR *d = NULL;
		char path[512];

		snprintf(path, sizeof(path), "%s/drivers", bus->d_name);
		d = open_dir(dirfd(buses), path, &ignored);
		while (d && (entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): ours */
			const char *words[] = { entry->d_name, near.len ? near.data : NULL, NULL };
			const char *best = text_nearest(driver, words);

			if (best && best == words[0]) {
				buf_reset(&near);
				buf_puts(&near, entry->d_name);
			}
		}
	}
	if (near.len)
		buf_printf(out, "; did you mean \"%s\"?", buf_str(&near));
}

int irqset_of_driver(const struct host *host, const struct irqlines *all, const char *driver,
		     struct irqset *ret, struct err *e)
{
	_cleanup_(irqset_release) struct irqset s = {};
	_cleanup_(closedir_dirp) DIR *buses = NULL;
	_cleanup_(buf_release) struct buf near = {};
	const struct dirent *entry;
	bool found = false;
	int r = 0;

	if (!*driver || strchr(driver, '/') || driver[0] == '.')
		return err_set(e, -EINVAL, "\"%s\" is no name of a driver", driver);
	buses = open_dir(host->sys_fd, "bus", e);
	if (!buses)
		return e->code;
	while (r >= 0 && (entry = readdir(buses))) { /* NOLINT(concurrency-mt-unsafe): ours */
		_cleanup_(close_fdp) int bus = -1;

		if (entry->d_name[0] != '.')
			bus = openat(dirfd(buses), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (bus >= 0)
			r = add_of_driver(bus, driver, all, &s, &found, e);
	}
	if (r < 0)
		return r;
	if (!found)
		nearest_driver(buses, driver, &near);
	if (s.nr == 0)
		return err_set(e, -ENOENT, "driver %s: %s%s", driver,
			       found ? "none of its devices has an interrupt"
				     : "there is no such driver here",
			       buf_str(&near));
	*ret = s;
	s = (struct irqset){};
	return 0;
}

uint64_t irqlines_stamp(int proc_fd)
{
	struct err ignored = {};
	_cleanup_(closedir_dirp) DIR *d = open_dir(proc_fd, "irq", &ignored);
	const struct dirent *entry;
	uint64_t sum = 1;

	if (!d)
		return 0;
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		unsigned int n = 0;

		/* any order gives the same sum; squares so that two changes do not cancel */
		if (number_of(entry, &n))
			sum += ((uint64_t)n + 7) * ((uint64_t)n + 7);
	}
	return sum;
}
