// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit/kconfig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit/inflate.h"
#include "base/cleanup.h"
#include "base/kfile.h"

/* Ten times the largest of today. */
#define CONFIG_BYTES_MAX (4U << 20)

static int read_packed(struct kconfig *c, int proc_fd, struct err *e)
{
	_cleanup_(buf_release) struct buf packed = {};
	int r = proc_fd < 0 ? -ENOENT : kfile_read(proc_fd, "config.gz", &packed, e);

	if (r < 0)
		return r;
	c->from = "/proc/config.gz";
	return gunzip(packed.data, packed.len, CONFIG_BYTES_MAX, &c->text, e);
}

static int read_plain(struct kconfig *c, int proc_fd, int root_fd, struct err *e)
{
	static const struct {
		const char *fmt, *from;
	} places[] = {
		{ "boot/config-%s", "/boot" },
		{ "lib/modules/%s/config", "/lib/modules" },
		{ "usr/lib/modules/%s/config", "/usr/lib/modules" },
		{ "lib/modules/%s/build/.config", "/lib/modules/.../build" },
	};
	_cleanup_(freep) char *release = NULL;
	char path[256];
	int r = proc_fd < 0 || root_fd < 0
			? -ENOENT
			: kfile_read_line(proc_fd, "sys/kernel/osrelease", &release, e);

	/* a name with a slash would be another place */
	if (r >= 0 && (strchr(release, '/') || strlen(release) > 128))
		r = -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(places) && r >= 0; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), places[i].fmt, release);
#pragma GCC diagnostic pop
		if (kfile_read(root_fd, path, &c->text, e) >= 0) {
			c->from = places[i].from;
			return 0;
		}
	}
	return -ENOENT;
}

int kconfig_read(struct kconfig *c, int proc_fd, int root_fd, struct err *e)
{
	struct err why = {};

	if (!c->tried) {
		c->tried = true;
		c->there = read_packed(c, proc_fd, &why) >= 0;
		if (!c->there) {
			buf_reset(&c->text);
			c->there = read_plain(c, proc_fd, root_fd, &c->why) >= 0;
		}
		if (!c->there)
			err_set(&c->why, -ENOENT,
				"the configuration of this kernel is neither in /proc/config.gz "
				"(%s) nor in /boot or /lib/modules",
				why.code && why.code != -ENOENT ? why.msg : "not there");
	}
	if (c->there)
		return 0;
	*e = c->why;
	return e->code;
}

bool kconfig_value(const struct kconfig *c, const char *name, char *ret, size_t size)
{
	size_t len = strlen(name);
	const char *p = buf_str(&c->text);

	for (; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t n;

		if (strncmp(p, "CONFIG_", 7) != 0 || strncmp(p + 7, name, len) != 0 ||
		    p[7 + len] != '=')
			continue;
		p += 7 + len + 1;
		p += *p == '"';
		n = strcspn(p, "\"\n");
		snprintf(ret, size, "%.*s", (int)n, p);
		return true;
	}
	return false;
}

void kconfig_release(struct kconfig *c)
{
	buf_release(&c->text);
}
