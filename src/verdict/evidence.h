/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VERDICT_EVIDENCE_H
#define VERDICT_EVIDENCE_H

/* What one metric of one variant is decided on, and how.  Internal to verdict/. */

#include <stddef.h>

#include "stats/stats.h"
#include "verdict/pairs.h"
#include "verdict/verdict.h"

struct err;

struct evidence {
	const struct verdict_query *query;
	struct pairs pairs;
	double *d;	 /* log ratios or scaled differences, one per pair */
	double same_low; /* the margin on the scale of @d */
	double same_high;
};

/* The test of a kind of metric, and the interval that inverts it. */
struct procedure {
	const char *name;
	size_t most; /* pairs */
	int (*p)(const struct evidence *v, double *ret);
	int (*interval)(const struct evidence *v, double alpha, struct interval *ret);
};

const struct procedure *procedure_of(enum metric_kind kind);

/* Pairs of the blocks below @end on their scale; @ret gets what describes them, and p = 1. */
int evidence_init(struct evidence *v, const struct cells *c, unsigned int variant, unsigned int end,
		  struct verdict *ret, struct err *e);
void evidence_release(struct evidence *v);
/* The p that a family's procedure needs of all metrics; 1 without pairs. */
int evidence_p(const struct evidence *v, struct verdict *ret, struct err *e);
/* The interval at @ret->alpha by the metric's procedure, and the word that follows from it. */
int evidence_judge(const struct evidence *v, struct verdict *ret, struct err *e);
/* @i on the scale of d: change, interval and word. */
void evidence_word(const struct evidence *v, const struct interval *i, struct verdict *ret);
/* Too few pairs for @ret->alpha? Then the word says so and how many are missing. */
int evidence_is_short(const struct evidence *v, struct verdict *ret);
/* "METRIC: why" of a failure of the procedure. */
int evidence_refuse(const struct evidence *v, int code, struct err *e);

struct cells_list {
	struct cells *v;
	size_t nr;
};

/* Check the queries and sort their observations. @direction: each must say what is better. */
int cells_list_init(const struct verdict_query *queries, size_t nr_queries, size_t nr_variants,
		    bool direction, struct cells_list *ret, struct err *e);
void cells_list_release(struct cells_list *l);

#endif
