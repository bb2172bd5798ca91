/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LATENCY_RUN_H
#define LATENCY_RUN_H

/* One run of "irqlab latency": shared by latency_run.c, which watches it, and latency_setup.c. */

#include "base/cpuset.h"
#include "base/host.h"
#include "latency.h"
#include "probe/wakeup_lanes.h"

struct latency_run {
	const struct latency_args *args;
	const char *command;
	struct host host;
	struct cpuset cpus;
	size_t nr;
	struct wakeup_window window;
	struct wakeup_lanes lanes;
	struct wakeup_hold hold;
	struct wakeup_tap *tap;
	struct wakeup_spikes spikes;
	struct wakeup_break brk;
	int signal_fd, done_fd;
	uint64_t base_ns; /* of aligned wake-ups; 0: none */
	/* the window, in the lanes' clock, and the same moment in the others */
	uint64_t begin_ns, begin_mono_ns, begin_wall_ns;
	/* of each thread, besides */
	int32_t *node;
	uint64_t *read;	 /* -v: values printed so far */
	uint64_t *worst; /* -v with -o: worst and its cycle of those not printed yet */
	uint64_t *worst_cycle;
	uint64_t *elsewhere; /* already spoken about */
	uint64_t second;     /* the next one to look at */
	struct latency_series **series;
	struct hist **hist; /* copies */
	struct latency_figures *figures;
	struct latency_rows *rows;
	uint64_t lost; /* values of -v that were overwritten before they were printed */
};

/* CPUs, lanes with their taps, memory; no thread yet. */
int latency_setup(struct latency_run *run, const struct latency_args *args, struct err *e);
void latency_run_release(struct latency_run *run);

#endif
