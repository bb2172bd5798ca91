/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STATS_POWER_H
#define STATS_POWER_H

/*
 * What a number of blocks can see.  For the paired design decided by the exact signed-rank test of
 * normal differences (log ratios) with standard deviation sd.
 *
 * Up to POWER_SIMULATED_MAX blocks by simulation with a fixed seed of POWER_RUNS experiments: an
 * effect moves every Walsh average, so the effect that an experiment would have needed to reject is
 * the distance of its interval's end from the truth, and the wanted one is the quantile of those at
 * the wanted power.  Above, and as a start, by the formula
 *
 *	effect = (z(1 - alpha/2) + z(power)) sd sqrt(pi / (3 n)),
 *
 * pi/3 being the price of ranks at the normal distribution (Lehmann 1975, section 2.4; Noether
 * 1987).  Level: alpha/m for m primary metrics.
 */

#include <stddef.h>

#define POWER_SIMULATED_MAX 60
#define POWER_RUNS 2000

/* Least pairs that can reject at all: the smallest n with 2/2^n <= @alpha; 0 for a bad level. */
size_t power_least_blocks(double alpha);

/* The formula; NAN for bad arguments. */
double power_effect_formula(size_t n, double sd, double alpha, double power);

/**
 * power_effect - smallest effect that @n blocks detect with probability @power
 *
 * Unit: that of @sd; INFINITY below power_least_blocks().  Cost: up to 0.2 s.
 * Return: 0; -EDOM unless 0 < alpha < 1, 0.5 <= power < 1, sd >= 0, n > 0; -ENOMEM.
 */
int power_effect(size_t n, double sd, double alpha, double power, double *ret);

/**
 * power_blocks - blocks needed to detect @effect with probability @power
 *
 * Cost: some power_effect.  Return: 0; -EDOM as above and for effect <= 0; -E2BIG when it takes
 * more than SIGNRANK_MAX; -ENOMEM.
 */
int power_blocks(double effect, double sd, double alpha, double power, size_t *ret);

#endif
