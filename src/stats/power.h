/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_POWER_H
#define STATS_POWER_H

/*
 * What a number of blocks can see: for the paired design, normal differences (log ratios) with
 * standard deviation sd, and the test that decides the metric.
 *
 * An effect moves every interval by itself, so the effect that an experiment would have needed to
 * reject is the distance of its interval's end from the truth, and the wanted one is the quantile
 * of those at the wanted power.  By simulation with a fixed seed of POWER_RUNS experiments up to
 * POWER_SIMULATED_MAX blocks (signed rank) or POWER_FLIPPED_MAX (sign-flip); above, and as a start,
 *
 *	signed rank	effect = (z(1 - alpha/2) + z(power)) sd sqrt(pi / (3 n))
 *	sign-flip	effect = (t(1 - alpha/2) + t(power)) sd / sqrt(n), n - 1 degrees of freedom
 *
 * pi/3 being the price of ranks at the normal distribution (Lehmann 1975, section 2.4; Noether
 * 1987), and the sign-flip of the mean being close to its t-test (Pitman 1937).  The sign test
 * counts pairs with the sign of the effect, P(d > 0) = Phi(effect / sd), so it needs no simulation.
 *
 * A sequential design pays for its looks: its bounds follow from what is spent at each
 * (stats/sequential.h) by numerical integration over a Brownian motion (Armitage, McPherson & Rowe
 * 1969; Jennison & Turnbull 2000, chapter 19), and the effect of the fixed design is multiplied by
 * the ratio of the drifts that reach the power.  Level: alpha/m for m primary metrics.
 */

#include <stddef.h>

#define POWER_SIMULATED_MAX 60
#define POWER_FLIPPED_MAX 12
#define POWER_RUNS 2000
#define POWER_LOOKS_MAX 16

enum power_test {
	POWER_SIGNRANK,
	POWER_SIGNFLIP,
	POWER_SIGN,
};

/**
 * struct power_design - what decides
 * @power: the wanted probability to detect, 0.5 <= power < 1
 * @information: of each look, ascending, the last one 1; NULL for a fixed design
 */
struct power_design {
	enum power_test test;
	double alpha, power;
	const double *information;
	size_t nr_looks;
};

/* Least pairs that can reject at all: the smallest n with 2/2^n <= @alpha; 0 for a bad level. */
size_t power_least_blocks(double alpha);

/* The formulas, of a fixed design; NAN for bad arguments and for the sign test. */
double power_effect_formula(const struct power_design *design, size_t n, double sd);

/* What looking costs and saves. */
struct power_looks {
	double factor;	 /* of the effect that a fixed design of as many blocks detects; >= 1 */
	double expected; /* share of the blocks that are measured, in the mean, at that effect */
};

/**
 * power_looks - for O'Brien-Fleming spending, rejection the only reason to stop
 *
 * 1 and 1 for a fixed design.  Cost: some ms.  Return: 0; -EDOM for looks that do not ascend to 1.
 */
int power_looks(const struct power_design *design, struct power_looks *ret);

/**
 * power_effect - smallest effect that @n blocks detect with probability design->power
 *
 * Unit: that of @sd; INFINITY below power_least_blocks().  Cost: up to 0.2 s.
 * Return: 0; -EDOM unless 0 < alpha < 1, 0.5 <= power < 1, sd >= 0, n > 0, or for bad looks;
 * -ENOMEM.
 */
int power_effect(const struct power_design *design, size_t n, double sd, double *ret);

/**
 * power_blocks - blocks needed to detect @effect with probability design->power
 *
 * Cost: some power_effect.  Return: 0; -EDOM as above and for effect <= 0; -E2BIG when it takes
 * more than SIGNRANK_MAX; -ENOMEM.
 */
int power_blocks(const struct power_design *design, double effect, double sd, size_t *ret);

#endif
