// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

static int open_root(const char *path, struct err *e)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open %s", path) : fd;
}

int host_open(struct host *ret, struct err *e)
{
	_cleanup_(host_release) struct host h = { .proc_fd = -1,
						  .sys_fd = -1,
						  .dev_fd = -1,
						  .dut = { .netns_fd = -1, .sys_fd = -1 },
						  .far = { .netns_fd = -1, .sys_fd = -1 } };

	h.proc_fd = open_root("/proc", e);
	if (h.proc_fd < 0)
		return h.proc_fd;
	h.sys_fd = open_root("/sys", e);
	if (h.sys_fd < 0)
		return h.sys_fd;
	h.dev_fd = open_root("/dev", e);
	if (h.dev_fd < 0)
		return h.dev_fd;
	h.dut.sys_fd = fcntl(h.sys_fd, F_DUPFD_CLOEXEC, 0);
	if (h.dut.sys_fd < 0)
		return err_sys(e, "duplicate descriptor of /sys");
	*ret = h;
	h.proc_fd = h.sys_fd = h.dev_fd = h.dut.sys_fd = -1;
	return 0;
}

static void release_side(struct host_side *s)
{
	close_fdp(&s->netns_fd);
	close_fdp(&s->sys_fd);
	*s = (struct host_side){ .netns_fd = -1, .sys_fd = -1 };
}

void host_release(struct host *h)
{
	close_fdp(&h->proc_fd);
	close_fdp(&h->sys_fd);
	close_fdp(&h->dev_fd);
	h->proc_fd = h->sys_fd = h->dev_fd = -1;
	release_side(&h->dut);
	release_side(&h->far);
}

const struct host_side *host_side_of(const struct host *h, const char *ifname)
{
	return h->far.ifname[0] && strcmp(h->far.ifname, ifname) == 0 ? &h->far : &h->dut;
}

static int socket_in(const struct host_side *side, int domain, int type, int protocol,
		     struct err *e)
{
	int fd = socket(domain, type | SOCK_CLOEXEC, protocol);

	return fd < 0 ? err_sys(e, "socket for netdev %s", side->ifname) : fd;
}

int host_socket(const struct host_side *side, int domain, int type, int protocol, struct err *e)
{
	_cleanup_(close_fdp) int home = -1;
	int fd;

	if (side->netns_fd < 0)
		return socket_in(side, domain, type, protocol, e);
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0)
		return err_sys(e, "open /proc/thread-self/ns/net");
	if (setns(side->netns_fd, CLONE_NEWNET) < 0)
		return err_sys(e, "enter the network namespace of %s", side->ifname);
	fd = socket_in(side, domain, type, protocol, e);
	if (setns(home, CLONE_NEWNET) < 0) {
		close_fdp(&fd);
		return err_sys(e, "return from the network namespace of %s", side->ifname);
	}
	return fd;
}
