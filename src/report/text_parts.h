/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_TEXT_PARTS_H
#define REPORT_TEXT_PARTS_H

/* Parts of the text report that have a file of their own; nothing to say: nothing is printed. */

struct buf;
struct report;

void text_explore(const struct report *rep, struct buf *out);
void text_extremes(const struct report *rep, struct buf *out);
void text_derived(const struct report *rep, struct buf *out);
void text_exchange(const struct report *rep, struct buf *out);
/* Lines of "beside it". */
void text_levels(const struct report *rep, struct buf *out);
/* What the audit said of the machine, and what was mended. */
void text_environment(const struct report *rep, struct buf *out);
void text_noise(const struct report *rep, struct buf *out);

#endif
