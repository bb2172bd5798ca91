/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_NETDEV_GENL_H
#define VARIANT_NETDEV_GENL_H

/*
 * The generic netlink family "netdev": which NAPI instances a netdev has, with which interrupt and
 * thread, which queues they serve, and their settings.
 *
 *	_cleanup_(netdev_napis_release) struct netdev_napis napis = {};
 *	r = netdev_genl_napis(&host->dut, 0, &napis, e);
 *
 *	struct netdev_napi want = { .id = 8193, .has = NAPI_THREADED, .threaded = NAPI_IN_THREAD };
 *	r = netdev_genl_set_napi(&host->dut, &want, e);
 *
 * The kernel shows NAPI instances of netdevs that are up, in the namespace that asks, and without
 * privileges; to set takes CAP_NET_ADMIN there.
 *
 * Constants: include/uapi/linux/netdev.h of Linux 6.18 (headers of Debian 12 have no such file).
 * napi-get and queue-get since 6.8; defer-hard-irqs, gro-flush-timeout, irq-suspend-timeout and
 * napi-set since 6.13; threaded since 6.17, as busy polling since 6.19.
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct host_side;
struct nlmsghdr;

/* Which fields of a struct netdev_napi hold something. */
enum netdev_napi_field {
	NAPI_IRQ = 1 << 0,
	NAPI_PID = 1 << 1,
	NAPI_DEFER_HARD_IRQS = 1 << 2,
	NAPI_GRO_FLUSH_TIMEOUT = 1 << 3,
	NAPI_IRQ_SUSPEND_TIMEOUT = 1 << 4,
	NAPI_THREADED = 1 << 5,
};

/* What napi-set takes. */
#define NAPI_SETTINGS \
	(NAPI_DEFER_HARD_IRQS | NAPI_GRO_FLUSH_TIMEOUT | NAPI_IRQ_SUSPEND_TIMEOUT | NAPI_THREADED)

/* Where a NAPI instance is polled: the kernel's enum netdev_napi_threaded. */
enum netdev_napi_threaded {
	NAPI_IN_SOFTIRQ = 0,
	NAPI_IN_THREAD = 1,
	NAPI_IN_BUSY_THREAD = 2,
};

struct netdev_napi {
	uint32_t id; /* above NR_CPUS; another one after the netdev was down on kernels before 6.13
		      */
	uint32_t ifindex;
	unsigned int has; /* enum netdev_napi_field, or'ed */
	uint32_t irq;	  /* of the interrupt that schedules it */
	uint32_t pid;	  /* of its napi/ thread */
	uint32_t defer_hard_irqs;
	uint64_t gro_flush_timeout_ns;
	uint64_t irq_suspend_timeout_ns;
	uint32_t threaded; /* enum netdev_napi_threaded, or what later kernels have besides */
};

struct netdev_napis {
	struct netdev_napi *v;
	size_t nr;
};

enum netdev_queue_type { NETDEV_QUEUE_RX = 0, NETDEV_QUEUE_TX = 1 };

struct netdev_queue {
	uint32_t id; /* from 0 for each type */
	uint32_t ifindex;
	uint32_t type;	  /* enum netdev_queue_type */
	uint32_t napi_id; /* 0: the driver does not say which NAPI instance serves it */
};

struct netdev_queues {
	struct netdev_queue *v;
	size_t nr;
};

/**
 * netdev_genl_napis - the NAPI instances of netdev @ifindex, of all netdevs when it is 0
 * @side: in whose namespace
 * @ret: in the kernel's order; empty for a netdev that is down or has none with an id
 *
 * Cost: one socket, two requests.
 * Return: 0; -ENOENT or -EOPNOTSUPP when this kernel cannot tell (before 6.8); -ENODEV for an
 * @ifindex that is not there.
 */
int netdev_genl_napis(const struct host_side *side, unsigned int ifindex, struct netdev_napis *ret,
		      struct err *e);
/* One NAPI instance; -ENOENT when it is not there. */
int netdev_genl_napi(const struct host_side *side, uint32_t id, struct netdev_napi *ret,
		     struct err *e);
/* The queues of netdev @ifindex, of all netdevs when it is 0. */
int netdev_genl_queues(const struct host_side *side, unsigned int ifindex,
		       struct netdev_queues *ret, struct err *e);
/*
 * Set those of the NAPI_SETTINGS of @want->id that @want->has; the kernel sets all of them or,
 * with a negative result, none but those before the one it refused.
 */
int netdev_genl_set_napi(const struct host_side *side, const struct netdev_napi *want,
			 struct err *e);

void netdev_napis_release(struct netdev_napis *l);
void netdev_queues_release(struct netdev_queues *l);

/*
 * Pure: one message of the kernel's answer, its entry added to @l.
 * Return: 0; -EBADMSG for what is no such answer; -ENOMEM.
 */
int netdev_genl_take_napi(const struct nlmsghdr *h, struct netdev_napis *l);
int netdev_genl_take_queue(const struct nlmsghdr *h, struct netdev_queues *l);

#endif
