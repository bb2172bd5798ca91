/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LATENCY_H
#define LATENCY_H

/*
 * Inside of "irqlab latency": cyclictest's options and output around the lanes of probe/wakeup.h.
 *
 *	latency_args.c	options, in one table
 *	latency_run.c	lanes up, watched, down
 *	latency_text.c	what is printed; pure, from a view
 *	latency_json.c	the same as JSON
 *	latency_soak.c	a view in a file that others read while it grows
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/opt.h"
#include "probe/wakeup.h"
#include "sample/hist.h"

struct buf;
struct err;

enum latency_phase { LATENCY_RANDOM, LATENCY_ALIGNED, LATENCY_SECALIGNED };

/* The command line; times as cyclictest's options have them. */
struct latency_args {
	bool help, lock, smp, quiet, rows_sum, nsecs, laptop, default_system, verbose;
	bool refresh_on_max, unbuffered, resolution, tracemark, priospread, full, json;
	bool has_threads, all_threads, has_distance, has_policy, has_priority;
	uint64_t interval_us, distance_us, duration_s, loops, threads;
	uint64_t rows, spike, spike_nodes, break_us, latency_us, oscope, offset_us, clock;
	struct uint_list priority;
	enum wakeup_policy policy;
	enum latency_phase phase;
	const char *affinity, *main_affinity; /* borrowed from argv; NULL: not given */
	const char *json_file, *rows_file, *soak, *read;
};

/* Parse @argv; what remains is an error. Warnings go to standard error. */
int latency_args_parse(struct latency_args *a, int argc, char **argv, struct err *e);
void latency_args_release(struct latency_args *a);
int latency_help(struct buf *out);

/* One thread so far. In this form also in a soak file: change its version with it. */
struct latency_figures {
	int32_t tid, node;
	uint32_t cpu, priority;
	uint64_t interval_ns;
	uint64_t cycles, min_ns, act_ns, max_ns;
	double sum_ns;	 /* of the samples */
	uint64_t sum_us; /* of the samples cut off to us, as cyclictest adds them */
	uint64_t skipped, elsewhere;
};

/* The worst wake-up of some seconds. */
struct latency_point {
	uint64_t wall_ns, mono_ns; /* when it was noted */
	uint64_t late_ns;
};

/*
 * Maxima in constant memory: when it is full, each two neighbours become one and the step is
 * doubled.  18 hours at one per minute or better, 12 days at one per quarter of an hour.
 */
#define LATENCY_POINTS 1024

struct latency_series {
	uint64_t step_s; /* seconds a point stands for, a power of two; 0: empty */
	uint64_t nr;
	struct latency_point point[LATENCY_POINTS];
};

/* Add the maximum of second number @second, counted from the start; ascending. */
void latency_series_add(struct latency_series *s, uint64_t second, const struct latency_point *p);
/* The worst of all, or NULL. */
const struct latency_point *latency_series_worst(const struct latency_series *s);

/* Rows of -h; borrowed. */
struct latency_rows {
	const uint64_t *count, *overflow;
	uint64_t nr_overflow;
};

/* All that is shown. */
struct latency_view {
	size_t nr;
	const struct latency_figures *figures;
	const struct hist *const *hist;		    /* NULL: none */
	const struct latency_series *const *series; /* NULL: none */
	const struct latency_rows *rows;	    /* NULL without -h */
	uint64_t nr_rows;
	bool nsecs, rows_sum;
	uint64_t begin_wall_ns, end_wall_ns;
	const char *command; /* the command line */
	bool smp;	     /* nodes are not looked up, as cyclictest -S */
};

/* "T: 0 (11147) P:98 I:250 C:   7999 Min:      7 Act:   12 Avg:   11 Max:     369\n" */
void latency_print_line(FILE *to, size_t index, const struct latency_figures *f, bool nsecs);
void latency_print_rows(FILE *to, const struct latency_view *v);
void latency_print_spikes(FILE *to, struct wakeup_spikes *spikes, bool nsecs);
/* Beyond cyclictest: what was seen beside what would have been, skipped cycles, worst seconds. */
int latency_print_full(FILE *to, const struct latency_view *v, struct err *e);
/* One line about what was skipped; nothing when nothing was. */
int latency_print_skipped(FILE *to, const struct latency_view *v, struct err *e);
int latency_json(struct buf *out, const struct latency_view *v, struct err *e);

/* Measure; prints as @args say. Returns an exit code or negative errno. */
int latency_run(const struct latency_args *args, const char *command, struct err *e);

/* ---- soak files ---- */

struct latency_soak;

/* Make @path, with room for @nr threads; refused when another run writes to it. */
int latency_soak_open(struct latency_soak **ret, const char *path, const struct latency_view *v,
		      struct err *e);
/* Publish @v as the newest state. Cost: one copy, no system call. */
void latency_soak_write(struct latency_soak *s, const struct latency_view *v, bool finished);
void latency_soak_close(struct latency_soak *s);
void latency_soak_closep(struct latency_soak **s);

enum latency_soak_state { LATENCY_SOAK_RUNNING, LATENCY_SOAK_FINISHED, LATENCY_SOAK_KILLED };

/* What a file holds; frees with latency_stored_release(). */
struct latency_stored {
	struct latency_view view;
	enum latency_soak_state state;
	uint64_t seq; /* how many states were published */
	int32_t pid;
	void *memory;
};

int latency_soak_read(const char *path, struct latency_stored *ret, struct err *e);
void latency_stored_release(struct latency_stored *s);

#endif
