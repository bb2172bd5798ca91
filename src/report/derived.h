/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_DERIVED_H
#define REPORT_DERIVED_H

/*
 * What follows from a verdict under an assumption that stands beside it: the cost per interrupt
 * that a loss of throughput would mean if the CPU were the limit, and where the variance arises.
 */

#include <stdbool.h>
#include <stddef.h>

struct report;
struct verdict;

/* Of time per interrupt [ns]; above 0: each interrupt costs more with the variant. */
struct cost {
	double estimate, low, high;
	double irqs; /* per second, mean of the baseline's good trials */
	double idle; /* share of CPU time, mean of the baseline's good trials; NAN: not measured */
};

/*
 * A second of a CPU-bound stream holds irqs interrupts; with throughput changed by c the same bits
 * take 1 / (1 + c) as long, so each interrupt accounts for (1 / (1 + c) - 1) / irqs more. Return:
 * 0; -ENODATA for a metric that is no throughput, is not compared by ratios, has no interval, or
 * without an interrupt rate.
 */
int derived_cost(const struct report *rep, const struct verdict *v, struct cost *ret);

/* Variances; NAN: the run does not tell. */
struct by_level {
	bool ratio;	    /* of logarithms, so of relative changes; else of the metric's unit */
	double build, boot; /* of a variant; only where there are several */
	double block;	    /* that the variants of a block share, and that cancels */
	double trial;	    /* what the verdict has to see through */
	double sample; /* inside a trial, of its series; longer trials help against this alone */
};

/*
 * Variance of metric @query by level, every variant around its own mean.
 * Return: 0; -ENODATA with less than two trials of a variant or no pair; -ENOMEM.
 */
int derived_levels(const struct report *rep, size_t query, struct by_level *ret);

#endif
