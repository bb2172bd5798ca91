// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/kfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

#define ROOT_NAME_SIZE 256

static bool climbs(const char *path)
{
	for (const char *p = path; *p; p += strcspn(p, "/"), p += strspn(p, "/"))
		if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
			return true;
	return false;
}

/*
 * "/proc/" for messages.  A detached mount (the sysfs of a namespace) has no name that would help:
 * "" then.  errno stays.
 */
static const char *root_name(int root_fd, char ret[ROOT_NAME_SIZE])
{
	char link[32];
	int saved = errno;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", root_fd);
	n = readlink(link, ret, ROOT_NAME_SIZE - 2);
	n = n > 1 && n < ROOT_NAME_SIZE - 2 ? n : 0;
	if (n)
		ret[n++] = '/';
	ret[n] = '\0';
	errno = saved;
	return ret;
}

static int open_in(int root_fd, const char *path, int flags, struct err *e)
{
	char root[ROOT_NAME_SIZE];
	int fd;

	while (*path == '/')
		path++;
	if (climbs(path))
		return err_set(e, -EINVAL, "open %s: \"..\" is not allowed in a path", path);
	fd = openat(root_fd, path, flags | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s%s", root_name(root_fd, root), path);
	return fd;
}

int kfile_read(int root_fd, const char *path, struct buf *out, struct err *e)
{
	_cleanup_(close_fdp) int fd = open_in(root_fd, path, O_RDONLY, e);
	char root[ROOT_NAME_SIZE];
	size_t before = out->len;
	ssize_t n;

	if (fd < 0)
		return fd;
	for (;;) {
		if (buf_reserve(out, 16384) < 0)
			return err_nomem(e, path);
		n = read(fd, out->data + out->len, 16384);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			out->len = before;
			out->data[before] = '\0';
			return err_sys(e, "read %s%s", root_name(root_fd, root), path);
		}
		if (n == 0)
			return 0;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
}

int kfile_read_line(int root_fd, const char *path, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};
	int r = kfile_read(root_fd, path, &b, e);
	char *line;

	if (r < 0)
		return r;
	while (b.len && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	line = buf_take(&b);
	if (!line)
		return err_nomem(e, path);
	*ret = line;
	return 0;
}

int kfile_read_u64(int root_fd, const char *path, uint64_t *ret, struct err *e)
{
	_cleanup_(freep) char *line = NULL;
	int r = kfile_read_line(root_fd, path, &line, e);

	if (r < 0)
		return r;
	if (text_u64(line, ret) < 0)
		return err_set(e, -EINVAL, "read %s: \"%.60s\" is not an unsigned number", path,
			       line);
	return 0;
}

int kfile_write(int root_fd, const char *path, const char *value, struct err *e)
{
	_cleanup_(close_fdp) int fd = open_in(root_fd, path, O_WRONLY, e);
	char root[ROOT_NAME_SIZE];
	size_t len = strlen(value);
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		n = write(fd, value, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, "write '%s' to %s%s", value, root_name(root_fd, root), path);
	if ((size_t)n != len)
		return err_set(e, -EIO, "write '%s' to %s%s: only %zd of %zu bytes were taken",
			       value, root_name(root_fd, root), path, n, len);
	return 0;
}
