/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NETNS_H
#define NETNS_H

/*
 * A network namespace of the test's own with a /sys that shows it, filled by a shell command and
 * gone with the last descriptor of it.  Included after test.h by tests of real devices.
 */

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/host.h"
#include "variant/shell.h"

static struct host netns_host;
static int netns_home = -1;

/* Back to where the test began. */
static inline void netns_leave(void)
{
	host_release(&netns_host);
	assert_int_equal(setns(netns_home, CLONE_NEWNET), 0);
	close(netns_home);
}

static inline int netns_sysfs(void)
{
	int fs = fsopen("sysfs", FSOPEN_CLOEXEC), fd = -1;

	if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (fs >= 0)
		close(fs);
	return fd;
}

/* Run @command (with ip, ethtool, tc) in it. False, with the reason printed: skip the test. */
static inline bool netns_enter(const char *command)
{
	struct err e = {};

	if (geteuid() != 0) {
		print_message("# not root: a network namespace needs it\n");
		return false;
	}
	netns_home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (unshare(CLONE_NEWNET) < 0) {
		print_message("# no network namespace here: %s\n", strerrorname_np(errno));
		close(netns_home);
		return false;
	}
	if (host_open(&netns_host, &e) < 0)
		fail_msg("%s", e.msg);
	close(netns_host.dut.sys_fd);
	netns_host.dut.sys_fd = netns_sysfs();
	if (netns_host.dut.sys_fd >= 0 && shell_run(command, 60000000000, NULL, &e) >= 0)
		return true;
	print_message("# these devices cannot be had here: %s\n", e.msg);
	netns_leave();
	return false;
}

/* What @command prints. */
static inline char *netns_output(const char *command)
{
	struct err e = {};
	char *out = NULL;

	if (shell_run(command, 60000000000, &out, &e) < 0)
		fail_msg("%s: %s", command, e.msg);
	return out;
}

#endif
