// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/kfile.h"
#include "base/text.h"
#include "variant/statedir.h"

#define FILE_NAME "lock"

struct lock {
	int fd;
};

/* This process's command line with blanks between the words, fit to print. */
static void put_command(struct buf *out)
{
	_cleanup_(close_fdp) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	while (n > 0 && text[n - 1] == ' ')
		n--;
	text_printable(out, text, n > 0 ? (size_t)n : 0);
}

/* "PID START COMMAND": who holds the lock, since when [ns since 1970]. */
static int write_owner(int fd, const char *dir, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_printf(&b, "%d %" PRIu64 " ", getpid(), clock_wall_ns());
	put_command(&b);
	buf_putc(&b, '\n');
	if (b.failed)
		return err_nomem(e, dir);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, b.data, b.len, 0) != (ssize_t)b.len)
		return err_sys(e, "write %s/%s", dir, FILE_NAME);
	return 0;
}

static int held(int fd, const char *dir, struct err *e)
{
	uint64_t now = clock_wall_ns(), since, age_s;
	char text[768];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *at = text;
	long pid;

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	/* the owner may not have written yet */
	pid = strtol(text, &at, 10);
	since = strtoull(at, &at, 10);
	if (pid <= 0 || *at != ' ')
		return err_set(e, -EBUSY, "another irqlab has just taken %s/%s", dir, FILE_NAME);
	age_s = now > since ? (now - since) / NS_PER_S : 0;
	return err_set(e, -EBUSY,
		       "another irqlab uses this machine: process %ld (%s) since %" PRIu64
		       " min %" PRIu64 " s; wait for it or end it (%s/%s)",
		       pid, at + 1, age_s / 60, age_s % 60, dir, FILE_NAME);
}

int lock_acquire(struct lock **ret, const char *dir, struct err *e)
{
	_cleanup_(close_fdp) int dir_fd = statedir_open(dir, true, e);
	_cleanup_(lock_releasep) struct lock *l = NULL;
	int r;

	if (dir_fd < 0)
		return dir_fd;
	l = malloc(sizeof(*l));
	if (!l)
		return err_nomem(e, dir);
	l->fd = openat(dir_fd, FILE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->fd < 0)
		return err_sys(e, "open %s/%s", dir, FILE_NAME);
	if (flock(l->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? held(l->fd, dir, e)
					    : err_sys(e, "lock %s/%s", dir, FILE_NAME);
	r = write_owner(l->fd, dir, e);
	if (r < 0)
		return r;
	*ret = take_ptr(l);
	return 0;
}

void lock_release(struct lock *l)
{
	if (!l)
		return;
	close_fdp(&l->fd);
	free(l);
}

void lock_releasep(struct lock **l)
{
	lock_release(*l);
}
