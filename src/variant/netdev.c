// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/netdev.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "variant/knob.h"

#define PATH_SIZE 128

/* The kernel's own rule (dev_valid_name), so that a name cannot climb out of class/net. */
static bool is_name(const char *dev)
{
	if (!*dev || strlen(dev) >= IFNAMSIZ || strcmp(dev, ".") == 0 || strcmp(dev, "..") == 0)
		return false;
	for (; *dev; dev++)
		if (*dev == '/' || *dev == ':' || isspace((unsigned char)*dev))
			return false;
	return true;
}

int netdev_target_parse(const struct host *host, const char *text, struct netdev_target *ret,
			struct err *e)
{
	size_t len = strcspn(text, " ");
	struct netdev_target t = {};

	if (len < sizeof(t.dev))
		memcpy(t.dev, text, len);
	if (!is_name(t.dev) || !text[len] || !text[len + 1])
		return err_set(e, -EINVAL, "target \"%s\" is not DEV SETTING", text);
	t.rest = text + len + 1;
	t.side = host_side_of(host, t.dev);
	*ret = t;
	return 0;
}

bool netdev_ephemeral(const struct host *host, const char *target)
{
	struct netdev_target t = { .side = &host->dut };
	struct err ignored = {};

	return netdev_target_parse(host, target, &t, &ignored) >= 0 && t.side->netns_fd >= 0;
}

int netdev_check(const struct host *host, const char *dev, struct err *e)
{
	const struct host_side *side = host_side_of(host, dev);
	char path[PATH_SIZE];

	if (!is_name(dev))
		return err_set(e, -EINVAL, "dev \"%s\" is not a name of a network device", dev);
	snprintf(path, sizeof(path), "class/net/%s", dev);
	if (side->sys_fd >= 0 && faccessat(side->sys_fd, path, F_OK, 0) < 0)
		return err_set(e, -ENOENT, "there is no network device %s (ip link lists them)",
			       dev);
	return 0;
}

int netdev_sys_root(const struct host_side *side, const char *dev, struct err *e)
{
	if (side->sys_fd < 0)
		return err_set(e, -ENOTSUP,
			       "no sysfs shows the network namespace of %s, so its files cannot be "
			       "reached",
			       dev);
	return side->sys_fd;
}

void netdev_driver(const struct host_side *side, const char *dev,
		   char ret[static NETDEV_DRIVER_SIZE])
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ifr = { .ifr_data = (char *)&info };
	struct err ignored = {};
	int saved = errno;
	_cleanup_(close_fdp) int fd = host_socket(side, AF_INET, SOCK_DGRAM, 0, &ignored);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &ifr) < 0 || !info.driver[0])
		snprintf(info.driver, sizeof(info.driver), "unknown");
	snprintf(ret, NETDEV_DRIVER_SIZE, "%.31s", info.driver);
	errno = saved;
}

int netdev_index(const struct host_side *side, const char *dev, struct err *e)
{
	_cleanup_(close_fdp) int fd = host_socket(side, AF_INET, SOCK_DGRAM, 0, e);
	struct ifreq ifr = {};

	if (fd < 0)
		return fd;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	if (ioctl(fd, SIOCGIFINDEX, &ifr) < 0)
		return err_sys(e, "network device %s", dev);
	return ifr.ifr_ifindex;
}

int netdev_file_read(const struct host_side *side, const char *dev, const char *file, char **ret,
		     struct err *e)
{
	int root = netdev_sys_root(side, dev, e);
	char path[PATH_SIZE];

	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "class/net/%s/%s", dev, file);
	return kfile_read_line(root, path, ret, e);
}

int netdev_file_write(const struct host_side *side, const char *dev, const char *file,
		      const char *value, struct err *e)
{
	int root = netdev_sys_root(side, dev, e);
	char path[PATH_SIZE];

	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "class/net/%s/%s", dev, file);
	return kfile_write(root, path, value, e);
}
