/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

/* Numbers and lines as all forms of the report print them. */

#include <stddef.h>
#include <stdint.h>

#include "verdict/verdict.h"

struct buf;
struct report;

/* What a text report may use of a line. */
#define FORMAT_COLUMNS 78

/* "23.4 Gbit/s", "12.3 us" (times are always us), "1.2%" of a ratio: three significant digits. */
void format_value(struct buf *out, double v, const char *unit);
/* "+1.59%" of a ratio, "0.00%" without a sign; @width: of the interval around it, which says how
 * many digits mean something. */
void format_change(struct buf *out, double ratio, double width);
/* The change of a verdict on its scale: "+1.59%", "+1.59%*" of the baseline's median (see
 * format_scale()) or "+12.3 us"; "-" when there is none or the metric was not judged. */
void format_effect(struct buf *out, const char *unit, const struct verdict *v);
/* "[+1.30, +1.88]%", "[+9.20, +15.1] us", or "no interval". */
void format_interval(struct buf *out, const char *unit, const struct verdict *v);
/* One sentence on what the changes judged on @scale are, for @variant or, when that is 0, for all;
 * nothing when there are none. */
void format_scale(struct buf *out, const struct report *rep, enum verdict_scale scale,
		  unsigned int variant);
/* What the values beside the verdicts of @variant (0: of all) are: "medians", "means" where only
 * rates and counts are judged, or which is which. */
const char *format_centre(const struct report *rep, unsigned int variant);
/* " Each maximum is of N = 64000 ... samples a trial.", " None in N = ...: at most ... (3/N).";
 * nothing for other metrics. */
void format_samples(struct buf *out, const struct report *rep, const struct verdict *v);
/* "2026-11-30 19:37 UTC" of ns since 1970. */
void format_wall(struct buf *out, uint64_t ns);
/* "1 block", "8 blocks". */
void format_count(struct buf *out, uint64_t n, const char *noun);
/* "8 blocks", of a sequential design "12 of at most 24 blocks (looks after 9, 14, 19, 24)". */
void format_blocks(struct buf *out, const struct report *rep);
/* "trials 1, 3-8 and 12 more": positions from 1 of @nr indices in their order. */
void format_trials(struct buf *out, const struct report *rep, const size_t *trials, size_t nr);
/* The finding of a verdict in one sentence, e.g. for a mail's first line. */
void format_ergo(struct buf *out, const struct report *rep, const struct verdict *v);
/* "0.8% a pair (A/A run 7, 12 blocks); 12 blocks see 0.9% ..."; nothing when it is not known. */
void format_noise(struct buf *out, const struct report *rep, const struct verdict *v);
/* "if the CPU limits throughput, an interrupt costs ..."; nothing where it cannot be said. */
void format_cost(struct buf *out, const struct report *rep, const struct verdict *v);
/* "with "after" each 1% less throughput comes with 0.8% less wakeup.p99 ..."; nothing unless
 * verdict
 * @worse is worse and @better better. */
void format_exchange(struct buf *out, const struct report *rep, size_t worse, size_t better);
/* "spread (sd) of throughput, blocks 1%, ..."; nothing of an incomplete run. */
void format_levels(struct buf *out, const struct report *rep, size_t query);
/* "irqlab run plan.yaml  # seed 1 ...": how to do the run again. */
void format_repeat(struct buf *out, const struct report *rep);

/*
 * Append @text wrapped to FORMAT_COLUMNS: the first line after @first, the others indented by
 * @indent blanks. What is longer than a line is broken; what is not printable shows as \xNN.
 */
void format_wrap(struct buf *out, const char *first, size_t indent, const char *text);
/* Append the printable @text, cut to @most columns with "..." when it takes more. */
void format_cut(struct buf *out, const char *text, size_t most);
/* Columns of a terminal that @text takes (wide East Asian characters count two). */
size_t format_columns(const char *text);

#endif
