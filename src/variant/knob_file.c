// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"

struct file_cfg {
	char *path;
	char *value;
};

static const struct opt file_options[] = {
	{ "path", OPT_STRING, offsetof(struct file_cfg, path), NULL,
	  "file below /sys or /proc, such as /sys/kernel/mm/transparent_hugepage/enabled" },
	{ "value", OPT_STRING, offsetof(struct file_cfg, value), NULL, "what to write" },
	{},
};

/* Where @path lies: a root and the rest of the path. */
struct place {
	int root_fd;
	const char *rest;
	bool ephemeral; /* ends with the run's namespaces */
};

/* The netdev of "class/net/DEV/...", "" when it is not that. */
static void netdev_of(const char *rest, char name[static IFNAMSIZ])
{
	static const char prefix[] = "class/net/";
	const char *dev = rest + strlen(prefix);
	size_t len;

	name[0] = '\0';
	if (strncmp(rest, prefix, strlen(prefix)) != 0)
		return;
	len = strcspn(dev, "/");
	if (len == 0 || len >= IFNAMSIZ)
		return;
	memcpy(name, dev, len);
	name[len] = '\0';
}

static int place_of(const struct host *host, const char *path, struct place *ret, struct err *e)
{
	struct place p = { .root_fd = -1 };
	const struct host_side *side;
	char dev[IFNAMSIZ];

	if (strncmp(path, "/sys/", 5) == 0) {
		p.rest = path + 5;
		p.root_fd = host->sys_fd;
		netdev_of(p.rest, dev);
		side = host_side_of(host, dev);
		if (dev[0] && side->sys_fd >= 0) {
			p.root_fd = side->sys_fd;
			p.ephemeral = side->netns_fd >= 0;
		}
	} else if (strncmp(path, "/proc/", 6) == 0) {
		p.rest = path + 6;
		p.root_fd = host->proc_fd;
		p.ephemeral = strncmp(p.rest, "sys/net/", 8) == 0 && host->dut.netns_fd >= 0;
	} else {
		return err_set(e, -EINVAL,
			       "%s: only files below /sys and /proc can be set and set back", path);
	}
	*ret = p;
	return 0;
}

/* Refuse what leaves the root, by ".." or by a link such as /proc/self/root. */
static int check_inside(const struct place *p, const char *path, struct err *e)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	_cleanup_(close_fdp) int fd = -1;

	if (strstr(path, "/../") || (strlen(path) >= 3 && !strcmp(path + strlen(path) - 3, "/..")))
		return err_set(e, -EINVAL, "%s: \"..\" is not allowed", path);
	fd = (int)syscall(SYS_openat2, p->root_fd, p->rest, &how, sizeof(how));
	if (fd < 0 && (errno == EXDEV || errno == ELOOP))
		return err_set(e, -EINVAL, "%s: it leads out of /sys and /proc", path);
	if (fd < 0 && errno != ENOSYS)
		return err_sys(e, "%s", path);
	return 0;
}

static int find(const struct host *host, const char *path, struct place *ret, struct err *e)
{
	int r = place_of(host, path, ret, e);

	return r < 0 ? r : check_inside(ret, path, e);
}

/* "always [madvise] never" is "madvise": keep the word in brackets when there is exactly one. */
static void keep_selected(char *text)
{
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close || strchr(close, '[') || strchr(text, '\n') || close == open + 1)
		return;
	if ((open != text && !isspace((unsigned char)open[-1])) ||
	    (close[1] && !isspace((unsigned char)close[1])))
		return;
	for (const char *p = open; p < close; p++)
		if (isspace((unsigned char)*p))
			return;
	*close = '\0';
	memmove(text, open + 1, (size_t)(close - open));
}

static int file_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	_cleanup_(freep) char *text = NULL;
	struct place p = {};
	int r = find(host, target, &p, e);

	if (r < 0)
		return r;
	r = kfile_read_line(p.root_fd, p.rest, &text, e);
	if (r < 0)
		return r;
	keep_selected(text);
	*ret = take_ptr(text);
	return 0;
}

static int file_write(const struct host *host, const char *target, const char *value, struct err *e)
{
	struct place p = {};
	int r = find(host, target, &p, e);

	if (r < 0)
		return r;
	/* a write of no bytes does nothing */
	return kfile_write(p.root_fd, p.rest, *value ? value : "\n", e);
}

static int file_resolve(const struct host *host, const struct instance *inst,
			struct knob_settings *ret, struct err *e)
{
	struct file_cfg cfg = {};
	struct place p = {};
	int r = instance_parse(inst, file_options, &cfg, e);

	if (r < 0)
		return r;
	r = find(host, cfg.path, &p, e);
	if (r >= 0)
		r = knob_settings_add(ret, cfg.path, cfg.value, e);
	opt_release(file_options, &cfg);
	return r;
}

/* The length without newlines at the end. */
static size_t trimmed(const char *s)
{
	size_t len = strlen(s);

	while (len && s[len - 1] == '\n')
		len--;
	return len;
}

/* Module parameters of type bool take 1 and read Y. */
static const char *plain_bool(const char *s, size_t len)
{
	if (len != 1 || !strchr("YyNn10", *s))
		return NULL;
	return strchr("Yy1", *s) ? "1" : "0";
}

static bool file_same(const char *a, const char *b)
{
	size_t na = trimmed(a), nb = trimmed(b);
	const char *x = plain_bool(a, na), *y = plain_bool(b, nb);

	return (na == nb && memcmp(a, b, na) == 0) || (x && y && *x == *y);
}

static bool file_ephemeral(const struct host *host, const char *target)
{
	struct place p = {};
	struct err ignored = {};

	return place_of(host, target, &p, &ignored) >= 0 && p.ephemeral;
}

const struct knob_ops knob_file = {
	.plugin = { .name = "file", .help = "a file of sysfs or procfs", .options = file_options },
	.usable = knob_usable,
	.resolve = file_resolve,
	.read = file_read,
	.write = file_write,
	.same = file_same,
	.ephemeral = file_ephemeral,
};
