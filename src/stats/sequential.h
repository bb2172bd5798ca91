/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_SEQUENTIAL_H
#define STATS_SEQUENTIAL_H

/*
 * Looking before the end without paying for it: group-sequential bounds for the discrete paired
 * tests.
 *
 * Looks are declared in advance as numbers of pairs.  At look k the test may have spent A_k =
 * A(n_k / n_max) of its level alpha (Lan & DeMets 1983),
 *
 *	O'Brien-Fleming type   A(t) = 2 - 2 Phi(z(1 - alpha/2) / sqrt(t))
 *	Pocock type            A(t) = alpha ln(1 + (e - 1) t)
 *
 * and A = alpha at the last look.  Given the sizes |d_i - shift| all signs are equally likely under
 * the null, so the joint law of the statistics at all looks is that of the paths of signs.  All
 * 2^n_max paths are followed when n_max <= SEQUENTIAL_EXACT_MAX; otherwise SEQUENTIAL_DRAWS random
 * ones with the observed one among them (exchangeable with them under the null, so the level is
 * kept).  At look k the bound is the smallest statistic such that the paths stopped so far are at
 * most A_k of all; what discreteness leaves unspent is there at the next look.  The probability to
 * reject a true null at any look is at most alpha, for any symmetric distribution, with ties.
 *
 * Statistics: the signed rank (ranks among the pairs of that look, zeros as in signrank_p) or the
 * sum (signflip_p).  With a single look the test is signrank_p or signflip_p at alpha.
 *
 * The repeated interval of look k holds all shifts that look k does not reject; all of them hold
 * the truth together with probability >= 1 - alpha (Jennison & Turnbull 1989), so a metric may be
 * judged at any look and keeps the word it got at the first look that gave one.
 *
 * Sources: Lan & DeMets 1983; Jennison & Turnbull 1989 and 2000, chapters 7 and 9; Spiegelhalter,
 * Freedman & Blackburn 1986 (predictive power).
 * -EDOM, -ENOMEM and "untouched on failure" as in stats/stats.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/stats.h"

#define SEQUENTIAL_EXACT_MAX 18 /* pairs */
#define SEQUENTIAL_DRAWS 19999
#define SEQUENTIAL_LOOKS_MAX 16

enum sequential_test {
	SEQUENTIAL_SIGNRANK,
	SEQUENTIAL_SIGNFLIP,
};

enum sequential_spending {
	SPENDING_OBRIEN_FLEMING,
	SPENDING_POCOCK,
};

/* Level spent at information @t, 0..1, of all @alpha: 0 at 0, @alpha at 1. */
double sequential_spent(enum sequential_spending s, double alpha, double t);

/**
 * struct sequential - a design
 * @alpha: level of this metric: alpha/m for m primary ones
 * @looks: pairs at each look, ascending; up to the look at hand what there really were (a look may
 *         have lost pairs), beyond it what is planned
 * @most: pairs planned for the last look; information at look k is looks[k] / most, and 1 at the
 *        last look
 * @seed: of the random paths
 */
struct sequential {
	enum sequential_test test;
	enum sequential_spending spending;
	double alpha;
	const size_t *looks;
	size_t nr_looks;
	size_t most;
	uint64_t seed;
};

/* Are all paths followed, or drawn? */
static inline bool sequential_is_exact(const struct sequential *s)
{
	return s->most <= SEQUENTIAL_EXACT_MAX;
}

/**
 * sequential_check - can every look reject at all?
 * @ret_look: the first look that cannot: 2/2^n > A_k; nr_looks when all can
 * @ret_pairs: pairs that look would need, all others and @most left as they are; may be NULL
 *
 * Return: 0; -EDOM for a bad level, no looks, more than SEQUENTIAL_LOOKS_MAX, or looks that do not
 * ascend or pass @most.
 */
int sequential_check(const struct sequential *s, size_t *ret_look, size_t *ret_pairs);

struct sequential_look {
	bool rejected;		  /* this look rejects zero */
	double spent;		  /* A_k */
	double attained;	  /* probability to have stopped by now, of all paths; <= spent */
	double p;		  /* of the fixed test at this look, for the record */
	struct interval interval; /* repeated; estimate as that of the fixed test */
};

/**
 * sequential_look - judge look @k (from 0) of the pairs @d so far, in time order
 * @d: at least looks[k] pairs; those beyond are not read
 *
 * Cost: 50 ms when exact, some 100 ms when drawn.
 * Return: 0; -EDOM as sequential_check or for @k; -E2BIG above SIGNRANK_MAX pairs; -ENOMEM.
 */
int sequential_look(const struct sequential *s, const double *d, size_t k,
		    struct sequential_look *ret);

/**
 * sequential_chance - predictive probability that the last look will decide
 * @now: estimate and the fixed (not repeated) interval of the pairs so far, at @alpha
 * @t: information now, 0 < t <= 1
 * @low, @high: the margin around zero inside which all is the same; 0, 0 for none
 *
 * For futility, which is not binding: stopping early for it can only lose power.  Normal
 * approximation: with s the standard error that the interval shows, the last estimate is predicted
 * as N(estimate, (1 - t) s^2) and its half-width as z s sqrt(t); decided is an interval that leaves
 * zero out or lies in the margin.  An open interval gives 1: nothing is known yet.
 * Return: 0; -EDOM.
 */
int sequential_chance(const struct interval *now, double alpha, double t, double low, double high,
		      double *ret);

#endif
