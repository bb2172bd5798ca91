/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_TALLY_H
#define PROBE_TALLY_H

/*
 * What was counted in each interval of a window, by labels: the rows of one metric's series, filled
 * in any order after the window.
 *
 *	struct tally t = { .nr = ticker_intervals(ticker) };
 *	double *v = tally_row(&t, "cpu=0,irq=24");	NAN wherever nothing is put
 *	if (v)
 *		v[i] = 17;
 *	tally_emit(&t, ticker, &m, "irq", "1/s", 512);
 *	tally_release(&t);
 *
 * A row that is 0 or unknown throughout is no series: what never happened needs no curve.
 */

#include <stdbool.h>
#include <stddef.h>

struct emit;
struct ticker;

struct tally_row {
	char *labels;
	double *v;
	double sum; /* of what is known, for the choice of rows */
};

struct tally {
	size_t nr;		/* intervals */
	struct tally_row *rows; /* in the order of their first use */
	size_t nr_rows, size;
	size_t *slots; /* hash table of 2 * size: 1 + index of a row, 0: free */
	bool failed;   /* no memory; sticky */
};

/* The values of @labels, all NAN when it is new; NULL without memory. */
double *tally_row(struct tally *t, const char *labels);
/*
 * As series of metric @name: of more than @max rows those with the largest sums, and a note says
 * how many were left out.  An interval alone says nothing that the metric's scalar does not: then
 * there is no series.
 */
void tally_emit(struct tally *t, const struct ticker *ticker, struct emit *m, const char *name,
		const char *unit, size_t max);
void tally_release(struct tally *t);

#endif
