/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_IPERF3_H
#define IMPORT_IPERF3_H

/* Between the parts of the iperf3 format: text, JSON, what is made of a whole run. */

#include "import/import_ops.h"

/* A row with nothing in it: what is not printed is -1. */
struct iperf3_row iperf3_empty_row(size_t line);
bool iperf3_is_summary(const struct iperf3_row *row);
/* Whether both are of one column: stream and role. */
bool iperf3_same_column(const struct iperf3_row *a, const struct iperf3_row *b);
/* Whether the same line stands there twice. */
bool iperf3_is_repeat(const struct iperf3_row *a, const struct iperf3_row *b);
/* Return: 0, also for a row too many or one that is there already; -ENOMEM. */
int iperf3_add_row(struct import_run *run, const struct iperf3_row *row);
/* Count an interval row that is not omitted in @t. */
void iperf3_total_add(struct iperf3_total *t, const struct iperf3_row *row);
/* NULL, or why the counts of @row cannot be. */
const char *iperf3_impossible(const struct iperf3_row *row);
/* Mark the intervals that are no samples. Return: 0; -ENOMEM. */
int iperf3_sort_out(struct iperf3_run *data);
/* Sort the rows into samples and others, and say what is odd; the figures and series. */
int iperf3_finish(struct import_run *run);

void iperf3_release(void *data);

/* "3.03 GBytes", "26.0 Gbits/sec" and the like, in bytes and bits/s. */
bool iperf3_scan_bytes(const char **p, struct scan_number *n);
bool iperf3_scan_rate(const char **p, struct scan_number *n);

bool iperf3_json_sniff(const struct json_val *doc);
int iperf3_json_item(struct import_feed *f, const char *key, const struct json_val *item,
		     size_t nr);
int iperf3_json_doc(struct import_feed *f, const struct json_val *doc, size_t nr, bool truncated);

#endif
