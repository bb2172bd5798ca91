// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

/* mkdir -p with mode 0700 */
static int make_dirs(const char *dir, struct err *e)
{
	_cleanup_(freep) char *path = strdup(dir);

	if (!path)
		return err_nomem(e, dir);
	for (char *p = path + 1; *path; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "create directory %s", path);
		*p = c;
		if (c == '\0')
			break;
	}
	return 0;
}

int statedir_open(const char *dir, bool create, struct err *e)
{
	_cleanup_(close_fdp) int fd = -1;
	struct stat st;
	int r = create ? make_dirs(dir, e) : 0;

	if (r < 0)
		return r;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open state directory %s", dir);
	if (fstat(fd, &st) < 0)
		return err_sys(e, "state directory %s", dir);
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(
			e, -EPERM,
			"state directory %s can be written by others than user %u: what they "
			"write there would be believed; choose another or chown and chmod 700",
			dir, geteuid());
	return take_fd(fd);
}
