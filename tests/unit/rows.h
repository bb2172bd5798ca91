/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ROWS_H
#define ROWS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/*
 * Known answers stand in tests/known as rows "kind numbers...", beside the programs that made them.
 * A row is read into memory whole; take() hands out its numbers one after another.
 */
struct row {
	char kind[16];
	double v[1100];
	size_t nr, at;
};

static inline bool read_row(FILE *f, struct row *row)
{
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;
	char *p, *end;

	do {
		if (getline(&line, &size, f) < 0)
			return false;
	} while (line[0] == '#');
	assert_int_equal(sscanf(line, "%15s", row->kind), 1);
	row->nr = row->at = 0;
	p = line + strlen(row->kind);
	for (double v = strtod(p, &end); end != p; v = strtod(p, &end)) {
		assert_true(row->nr < ARRAY_SIZE(row->v));
		row->v[row->nr++] = v;
		p = end;
	}
	return true;
}

static inline double take(struct row *row)
{
	assert_true(row->at < row->nr);
	return row->v[row->at++];
}

/* The next number is a length, and that many follow. */
static inline const double *take_array(struct row *row, size_t *ret_n)
{
	*ret_n = (size_t)take(row);
	row->at += *ret_n;
	assert_true(row->at <= row->nr);
	return &row->v[row->at - *ret_n];
}

/* Call @check for every row of @kind in @file; there must be at least @least of them. */
static inline void for_rows(const char *file, const char *kind, size_t least,
			    void (*check)(struct row *))
{
	_cleanup_(fclose_filep) FILE *f = fopen(file, "re");
	static struct row row;
	size_t nr = 0;

	assert_non_null(f);
	while (read_row(f, &row)) {
		if (strcmp(row.kind, kind) != 0)
			continue;
		check(&row);
		assert_int_equal(row.at, row.nr);
		nr++;
	}
	assert_true(nr >= least);
}

/* An end of an interval: finite and near the other, or the same infinity. */
static inline void assert_end(double a, double b)
{
	if (a != b)
		assert_near(a, b, 1e-12);
}

static inline void assert_relative(double a, double b, double tol)
{
	assert_near(a, b, tol * fabs(b));
}

#endif
