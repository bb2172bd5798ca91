/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_IRQTIME_PARTS_H
#define PROBE_IRQTIME_PARTS_H

#if !defined(IRQTIME_PARTS)
#error "inside of irqtime.c and irqtime_read.c"
#endif

#include <stddef.h>

#include "irqtime.skel.h"
#include "irqtime_maps.h"
#include "probe/irqtime.h"

/* A map's elements in our memory. */
struct area {
	void *v;
	size_t size;
};

struct irqtime {
	struct irqtime_opts opts;
	struct irqtime_bpf *bpf;
	struct bpf_link **links;
	size_t nr_links;
	unsigned int nr_cpus, nr_handlers, nr_threads;
	struct area cpus, handlers, sums, napis;
	char **lacks; /* NULL-terminated */
	size_t nr_lacks;
	/* for one look at all threads; nothing is allocated for that later */
	struct irqtime_thread_key *keys;
	struct irqtime_thread *threads;
};

#endif
