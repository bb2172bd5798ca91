// SPDX-License-Identifier: GPL-3.0-or-later
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

static int open_input(const char *path, struct err *e)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open %s", path) : fd;
}

int file_read(const char *path, size_t max, struct buf *out, struct err *e)
{
	_cleanup_(close_fdp) int fd = open_input(path, e);
	size_t before = out->len;

	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t n;

		if (buf_reserve(out, 65536) < 0)
			return err_nomem(e, path);
		n = read(fd, out->data + out->len, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "read %s", path);
		if (n == 0)
			return 0;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
		if (out->len - before > max)
			return err_set(e, -EFBIG, "%s is larger than %zu bytes", path, max);
	}
}

static int write_all(int fd, const struct buf *data, const char *path, struct err *e)
{
	size_t done = 0;

	while (done < data->len) {
		ssize_t n = write(fd, data->data + done, data->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "write %s", path);
		done += (size_t)n;
	}
	return 0;
}

/* A device or pipe (/dev/stdout) is written to, not replaced. */
static int write_special(const char *path, const struct buf *data, struct err *e)
{
	_cleanup_(close_fdp) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open %s", path) : write_all(fd, data, path, e);
}

/* The folder that @path is in, as a new string; NULL: no memory. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

int file_can_write(const char *path, struct err *e)
{
	_cleanup_(freep) char *dir = folder_of(path);
	struct stat st;

	if (!dir)
		return err_nomem(e, path);
	if (*path && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "%s is a folder: name a file in it", path);
	if (access(dir, W_OK | X_OK) < 0)
		return err_sys(e, "no file can be written in %s", dir);
	return 0;
}

/*
 * The report that root writes under sudo into a folder of the one who called is that one's: with a
 * browser of theirs they could not read it otherwise.
 */
static int give_to_caller(int fd, const char *path, struct err *e)
{
	const char *uid = getenv("SUDO_UID"); /* NOLINT(concurrency-mt-unsafe): never set */
	const char *gid = getenv("SUDO_GID"); /* NOLINT(concurrency-mt-unsafe): never set */
	_cleanup_(freep) char *dir = folder_of(path);
	uint64_t u = 0, g = 0;
	struct stat st;

	if (!dir)
		return err_nomem(e, path);
	if (geteuid() != 0 || !uid || !gid || text_u64(uid, &u) < 0 || text_u64(gid, &g) < 0 ||
	    stat(dir, &st) < 0 || st.st_uid != u)
		return 0;
	return fchown(fd, (uid_t)u, (gid_t)g) < 0 ? err_sys(e, "give %s to user %s", path, uid) : 0;
}

int file_write(const char *path, const struct buf *data, struct err *e)
{
	_cleanup_(buf_release) struct buf temp = {};
	_cleanup_(close_fdp) int fd = -1;
	struct stat st = { .st_mode = 0600 }; /* what was measured is its owner's business */
	int r;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return write_special(path, data, e);
	if (buf_printf(&temp, "%s.XXXXXX", path) < 0)
		return err_nomem(e, path);
	fd = mkostemp(temp.data, O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "create %s", path);
	r = fchmod(fd, st.st_mode & 0777) < 0 ? err_sys(e, "create %s", path)
					      : write_all(fd, data, path, e);
	if (r >= 0)
		r = give_to_caller(fd, path, e);
	if (r >= 0 && rename(temp.data, path) < 0)
		r = err_sys(e, "rename to %s", path);
	if (r < 0)
		unlink(temp.data);
	return r;
}
