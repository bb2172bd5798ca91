/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef COMPARE_RUNS_H
#define COMPARE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct store;

/*
 * Two stored runs, B against A: every metric that both plans declare, variant by variant of the
 * same name, on the logs of the trials' values (Mann-Whitney, its shift interval).  The two runs
 * were not interleaved, so what changed between them besides the variant cannot be told apart: the
 * interval is shown with that sentence, the differences of environment are listed, and the word is
 * always "undecided".
 *
 * Return: 4, or negative errno (-EINVAL when the runs share no metric and variant).
 */
int compare_runs(struct store *s, int64_t a, int64_t b, bool json, struct buf *out, struct err *e);

#endif
