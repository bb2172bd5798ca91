// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "load/peer_netns.h"
#include "load/server.h"

/* RFC 2544: for benchmarks, never routed. */
#define DUT_NAME "dut0"
#define DUT_ADDRESS "198.18.0.1/30"
#define FAR_NAME "far0"
#define FAR_ADDRESS "198.18.0.2/30"
#define FAR_HOST "198.18.0.2"
#define PORT 5201

struct peer_link {
	struct peer peer;
	char addr[64];
	int home_fd; /* the caller's own network namespace; -1: never left */
	struct server *server;
};

static void closep(struct peer_link **l)
{
	peer_close(*l);
}

/* Back to where the thread came from; also what a failed peer_open() does. */
static void go_home(struct peer_link *l)
{
	if (l->home_fd >= 0 && setns(l->home_fd, CLONE_NEWNET) == 0)
		close_fdp(&l->home_fd);
	l->home_fd = -1;
}

static int start_server(struct peer_link *l, struct err *e)
{
	struct server_cfg cfg = { .bind = "0.0.0.0", .port = PORT, .listen_fd = -1, .cpu = -1 };
	int r = server_open(&l->server, &cfg, e);

	if (r >= 0)
		r = server_start(l->server, e);
	return r < 0 ? err_wrap(e, "server at the far end") : 0;
}

/* Hand a namespace over to a side of the host. */
static void fill_side(struct host_side *side, struct netns *ns, const char *ifname)
{
	close_fdp(&side->netns_fd);
	close_fdp(&side->sys_fd);
	side->netns_fd = take_fd(ns->netns_fd);
	side->sys_fd = take_fd(ns->sys_fd);
	snprintf(side->ifname, sizeof(side->ifname), "%s", ifname);
}

/* The far end first: its server's thread is made while this thread is in there. */
static int open_netns(struct peer_link *l, struct host *host, struct err *e)
{
	_cleanup_(netns_release) struct netns far = { .netns_fd = -1, .sys_fd = -1 };
	_cleanup_(netns_release) struct netns dut = { .netns_fd = -1, .sys_fd = -1 };
	int r;

	l->home_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (l->home_fd < 0)
		return err_sys(e, "open /proc/thread-self/ns/net");
	r = netns_open(&far, e);
	if (r >= 0)
		r = start_server(l, e);
	if (r >= 0)
		r = netns_open(&dut, e);
	if (r >= 0)
		r = netns_veth(&dut, DUT_NAME, &far, FAR_NAME, e);
	if (r >= 0)
		r = netns_up(&far, FAR_NAME, FAR_ADDRESS, e);
	if (r >= 0)
		r = netns_up(&dut, DUT_NAME, DUT_ADDRESS, e);
	if (r < 0)
		return r;
	fill_side(&host->dut, &dut, DUT_NAME);
	fill_side(&host->far, &far, FAR_NAME);
	snprintf(l->addr, sizeof(l->addr), "%s", FAR_HOST);
	l->peer.port = PORT;
	return 0;
}

static int resolve(const char *host, char ret[64], struct err *e)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	char numeric[64];
	int r = getaddrinfo(host, NULL, &hints, &list);

	if (r == EAI_SYSTEM)
		return err_sys(e, "peer %s", host);
	if (r == 0)
		r = getnameinfo(list->ai_addr, list->ai_addrlen, numeric, sizeof(numeric), NULL, 0,
				NI_NUMERICHOST);
	if (list)
		freeaddrinfo(list);
	if (r != 0)
		return err_set(e, -EHOSTUNREACH, "peer %s: %s", host, gai_strerror(r));
	memcpy(ret, numeric, sizeof(numeric));
	return 0;
}

static int open_host(struct peer_link *l, const char *addr, const char *dut, struct host *host,
		     struct err *e)
{
	char ifname[IFNAMSIZ] = "";
	int r;

	if (!addr || !*addr)
		return err_set(e, -EINVAL, "the peer has no name; write peer: HOST[:PORT]");
	r = resolve(addr, l->addr, e);
	if (r < 0)
		return r;
	if (dut && *dut) {
		if (if_nametoindex(dut) == 0)
			return err_sys(e, "netdev %s (dut)", dut);
		snprintf(ifname, sizeof(ifname), "%s", dut);
	} else {
		r = netns_route(l->addr, ifname, e);
		if (r < 0)
			return err_wrap(e, "peer %s", addr);
	}
	memcpy(host->dut.ifname, ifname, sizeof(ifname));
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): a parameter more beats a struct used once */
int peer_open(struct peer_link **ret, enum peer_kind kind, const char *addr, uint16_t port,
	      const char *dut, struct host *host, struct err *e)
{
	_cleanup_(closep) struct peer_link *l = calloc(1, sizeof(*l));
	int r = 0;

	if (!l)
		return err_nomem(e, "peer");
	l->home_fd = -1;
	l->peer.kind = kind;
	l->peer.port = port ? port : PORT;
	if (kind == PEER_NETNS)
		r = open_netns(l, host, e);
	else if (kind == PEER_HOST)
		r = open_host(l, addr, dut, host, e);
	else if (dut)
		snprintf(host->dut.ifname, sizeof(host->dut.ifname), "%s", dut);
	if (r < 0)
		return r;
	l->peer.addr = kind == PEER_NONE ? NULL : l->addr;
	*ret = take_ptr(l);
	return 0;
}

const struct peer *peer_of(const struct peer_link *l)
{
	return &l->peer;
}

void peer_close(struct peer_link *l)
{
	if (!l)
		return;
	server_close(l->server);
	go_home(l);
	free(l);
}
