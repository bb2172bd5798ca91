/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_NETDEV_WITNESS_H
#define VARIANT_NETDEV_WITNESS_H

/*
 * What proves that a setting of a network device does something.  Where two settings need each
 * other and one is missing, the witness counts an effect that cannot come, which vetoes the trial
 * with the remedy.  All return -ENOENT when nothing counts the effect.
 */

#include <stdbool.h>

struct err;
struct host;
struct netdev_target;
struct netdev_queue_file;
struct witness;

/* A setting without effect, for sure: @what cannot move. @remedy: static. */
void witness_futile(struct witness *w, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* NAPI threads of the device: run time, or context switches where run time is not counted. */
int netdev_witness_threaded(const struct host *host, const struct netdev_target *t,
			    struct witness *ret, struct err *e);
/* napi_defer_hard_irqs without gro_flush_timeout, or the other way round with gro off. */
int netdev_witness_deferral(const struct host *host, const struct netdev_target *t,
			    struct witness *ret, struct err *e);
int netdev_witness_queue(const struct host *host, const struct netdev_target *t,
			 const struct netdev_queue_file *f, struct witness *ret, struct err *e);

#endif
