/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BOUND_H
#define BOUND_H

/*
 * "No metric may lose more than so much against a stored run": the bound of check and bisect.
 *
 * Trials of different runs do not pair, so they are compared by the exact rank-sum test; the change
 * of a metric is the shift of the logarithms, its interval inverts the test at alpha / (metrics *
 * steps).  A metric is within its bound when its interval lies wholly on the good side of it,
 * beyond when wholly on the bad side, and open otherwise.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "stats/stats.h"

struct buf;
struct err;
struct plan_metric;
struct store;

enum bound_word {
	BOUND_WITHIN,
	BOUND_BEYOND,
	BOUND_OPEN,
};

/* "within" ... */
const char *bound_word(enum bound_word w);

struct bound_row {
	char *metric; /* as in the baseline's plan */
	double most;  /* the largest loss that is allowed */
	double loss;  /* estimate: how much worse, as a share; below 0: better */
	double low, high;
	size_t nr_baseline, nr_now; /* trials */
	enum bound_word word;
};

struct bound_rows {
	struct bound_row *v;
	size_t nr;
};

struct bound_query {
	int64_t baseline;    /* run */
	const char *variant; /* of both; "": the first of each plan */
	const int64_t *runs; /* whose trials are put together */
	size_t nr_runs;
	const struct str_list *losses; /* "throughput=1%", "wakeup.p99@net=5%" */
	double alpha;
	size_t steps; /* how often it may be asked at the most, with more trials each time */
};

/* The text of --max-loss against the metrics of a plan file's or run's plan: refused with those
 * that there are.  Called before anything is measured. */
int bound_check(const struct str_list *losses, const struct plan_metric *metrics, size_t nr,
		struct err *e);
int bound_compare(struct store *s, const struct bound_query *q, struct bound_rows *ret,
		  struct err *e);
/* Beyond when any is, open when any is, else within. */
enum bound_word bound_word_of(const struct bound_rows *rows);
void bound_print(const struct bound_rows *rows, int json, struct buf *out);
void bound_rows_release(struct bound_rows *rows);

#endif
