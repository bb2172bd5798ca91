/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

/* Parts of the HTML page; each appends to @out, which remembers a failure by itself. */

#include <stddef.h>

struct buf;
struct report;

/* The page's whole style sheet. */
extern const char page_style[];

/* "Where the intervals lie against the margin". */
void figure_forest(const struct report *rep, struct buf *out);
/* Every trial of one rep->over_time[@index] over time. */
void figure_over_time(const struct report *rep, size_t index, struct buf *out);
/* Distribution and tail of rep->dists[@index]. */
void figure_histogram(const struct report *rep, size_t index, struct buf *out);
void figure_tail(const struct report *rep, size_t index, struct buf *out);

void section_ergo(const struct report *rep, struct buf *out);
void section_verdicts(const struct report *rep, struct buf *out);
void section_beside(const struct report *rep, struct buf *out);
void section_throughput(const struct report *rep, struct buf *out);
void section_latency(const struct report *rep, struct buf *out);
void section_interrupts(const struct report *rep, struct buf *out);
void section_trials(const struct report *rep, struct buf *out);
void section_environment(const struct report *rep, struct buf *out);
void section_explore(const struct report *rep, struct buf *out);
void section_plan(const struct report *rep, struct buf *out);

/* Inside another section: nothing where no A/A run of this bench is stored. */
void section_noise(const struct report *rep, struct buf *out);

/* "after" with the variant's sign before it, in its colour. */
void page_variant(const struct report *rep, unsigned int variant, struct buf *out);

#endif
