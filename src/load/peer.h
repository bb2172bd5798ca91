/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_PEER_H
#define LOAD_PEER_H

/*
 * The peer of a run and the namespaces it lives in.
 *
 * PEER_NETNS: two anonymous network namespaces joined by a veth pair (dut0, far0), made through
 * netlink; each with a sysfs of its own (fsopen/fsmount).  The calling thread enters the one of
 * dut0 and stays; our server runs in the other.  Nothing has a name in the file system, so after
 * SIGKILL the kernel removes everything with the last descriptor.
 * PEER_HOST: resolves the name, finds the netdev the route leads through ($dut).
 */

#include "load/load.h"

struct err;
struct host;
struct peer_link;
struct plan;

/*
 * @host: filled from host_open() before; its sides and roots are replaced by the namespaces'.
 * Must be called before other threads exist.
 */
int peer_open(struct peer_link **ret, enum peer_kind kind, const char *addr, uint16_t port,
	      const char *dut, struct host *host, struct err *e);
/* What loads connect to; borrowed, lives as long as the link. */
const struct peer *peer_of(const struct peer_link *l);
/*
 * Ends our server; this thread, which must be the one of peer_open(), goes back to the namespace it
 * came from.  The namespaces go with host_release().
 */
void peer_close(struct peer_link *l);

#endif
