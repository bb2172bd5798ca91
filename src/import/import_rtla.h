/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_IMPORT_RTLA_H
#define IMPORT_IMPORT_RTLA_H

/* The parts of import_rtla.c: tables (there), histograms (rtla_hist.c), analyses (rtla_blame.c). */

#include "import/words.h"

/* "IRQ-000", "Thr-001", "Usr-001", "CPU-000", or of ALL without a CPU. */
struct rtla_column {
	const char *context; /* "irq", "thread", "user", "" */
	int cpu;	     /* -1: of all */
	uint64_t total;	     /* in the rows */
};

struct rtla_hist {
	struct rtla_column *column;
	size_t nr;
	bool index; /* each row begins with where it stands */
	bool all;   /* the summary of all CPUs has begun */
	bool ended; /* its last row has been read */
	bool empty; /* no samples at all */
	double unit, last, width;
};

struct rtla_hist_state {
	bool announced; /* "# RTLA ... histogram" */
	bool ns;
};

/* rtla's auto-analysis. */
struct rtla_blame {
	bool is, irq;
	int cpu;
	size_t lines;
	const char *kind; /* whose details follow: "irq", "softirq" ... */
};

struct rtla_hist_state *rtla_hist_state(const struct import_feed *f);
struct rtla_hist *rtla_hist_of(const struct import_run *run);
struct rtla_blame *rtla_blame_of(const struct import_run *run);

bool rtla_hist_is_row(const struct import_feed *f, const char *line);
bool rtla_hist_is_chatter(const char *line);
void rtla_hist_chatter(struct import_feed *f, const char *line);
int rtla_hist_row(struct import_feed *f, const struct import_line *l,
		  const struct import_line *next);
int rtla_hist_finish(struct import_run *run);
void rtla_hist_release(struct rtla_hist *h);

bool rtla_blame_is_row(const struct import_feed *f, const char *line);
bool rtla_blame_is_chatter(const struct import_feed *f, const char *line);
/* Is the time that belongs to @line in @next? */
bool rtla_blame_goes_on(const char *line, const char *next);
int rtla_blame_row(struct import_feed *f, const struct import_line *l);

#endif
