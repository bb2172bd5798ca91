/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TREE_H
#define TREE_H

/*
 * A small machine in a temporary directory: roots of /proc and /sys, and a state directory.
 * Included after test.h by tests of what changes machines.
 */

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "base/kfile.h"

#define BOOT "11111111-2222-3333-4444-555555555555"

struct tree {
	char root[64];
	char state[96]; /* does not exist yet */
	struct host host;
};

static inline void tree_write(const struct tree *t, const char *path, const char *text)
{
	_cleanup_(fclose_filep) FILE *f = NULL;
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", t->root, path);
	for (char *p = full + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(full, 0755);
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
}

/* A symbolic link; the folders above it are made. */
static inline void tree_link(const struct tree *t, const char *path, const char *to)
{
	char full[256];

	tree_write(t, path, "");
	snprintf(full, sizeof(full), "%s/%s", t->root, path);
	assert_int_equal(unlink(full), 0);
	assert_int_equal(symlink(to, full), 0);
}

static inline void tree_expect(const struct tree *t, const char *path, const char *text)
{
	_cleanup_(close_fdp) int root = open(t->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(buf_release) struct buf b = {};
	struct err e = {};

	if (kfile_read(root, path, &b, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(buf_str(&b), text);
}

static inline int tree_root(const struct tree *t, const char *dir)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", t->root, dir);
	mkdir(full, 0755);
	fd = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline void tree_make(struct tree *t)
{
	*t = (struct tree){ .root = "/tmp/irqlab-test-XXXXXX" };
	assert_non_null(mkdtemp(t->root));
	snprintf(t->state, sizeof(t->state), "%s/state", t->root);
	tree_write(t, "proc/sys/kernel/random/boot_id", BOOT "\n");
	t->host = (struct host){ .proc_fd = tree_root(t, "proc"),
				 .sys_fd = tree_root(t, "sys"),
				 .dev_fd = -1,
				 .dut = { .netns_fd = -1, .sys_fd = tree_root(t, "sys") },
				 .far = { .netns_fd = -1, .sys_fd = -1 } };
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	return remove(path);
}

static inline void tree_remove(struct tree *t)
{
	host_release(&t->host);
	nftw(t->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline bool tree_has(const struct tree *t, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", t->root, path);
	return access(full, F_OK) == 0;
}

#endif
