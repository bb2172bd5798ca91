#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
# What a number of blocks sees, by scipy: the t-test that the sign-flip of the mean is close to, the
# sign test, and the price of looking before the end.
# Run anywhere: python3 power_tests.py
#
# nct    n alpha power | effect of the t-test, by the noncentral t distribution
# sign   n alpha power | effect of the sign test of normal differences
# looks  alpha power looks t_1 .. t_k | ratio of drifts, and the share measured in the mean; bounds of
#        O'Brien-Fleming type spending by integrals of the multivariate normal distribution
import numpy as np
import scipy
from scipy import stats
from scipy.optimize import brentq

print(f"# scipy {scipy.__version__}, numpy {np.__version__}, power_tests.py")


def nct_effect(n, alpha, power):
    c = stats.t.isf(alpha / 2, n - 1)

    def lacks(d):
        x = d * np.sqrt(n)
        return stats.nct.sf(c, n - 1, x) + stats.nct.cdf(-c, n - 1, x) - power

    return brentq(lacks, 1e-3, 10)


def sign_effect(n, alpha, power):
    c = min(k for k in range(n // 2 + 1, n + 1) if 2 * stats.binom.sf(k - 1, n, 0.5) <= alpha)
    return brentq(lambda d: stats.binom.sf(c - 1, n, stats.norm.cdf(d)) - power, 1e-3, 10)


def spent(alpha, t):
    return alpha if t >= 1 else 2 * stats.norm.sf(stats.norm.isf(alpha / 2) / np.sqrt(t))


def inside(t, bounds, drift):
    """Probability that the motion lies within its bounds at all of the times."""
    t = np.array(t)
    cov = np.minimum.outer(t, t)
    b = np.array(bounds)
    return stats.multivariate_normal.cdf(b, drift * t, cov, abseps=1e-7, releps=1e-7, maxpts=400000,
                                         lower_limit=-b)


def bounds_of(alpha, ts):
    bounds = []
    for k, t in enumerate(ts):
        def lacks(b):
            return inside(ts[:k + 1], bounds + [b], 0) - (1 - spent(alpha, t))
        bounds.append(brentq(lacks, 0.5 * np.sqrt(t), 7 * np.sqrt(t), xtol=1e-7))
    return bounds


def looks(alpha, power, ts):
    b = bounds_of(alpha, ts)
    drift = brentq(lambda d: 1 - inside(ts, b, d) - power, 1, 10, xtol=1e-5)
    ins = [1.0] + [inside(ts[:k + 1], b[:k + 1], drift) for k in range(len(ts))]
    mean = sum(t * (ins[k] - ins[k + 1]) for k, t in enumerate(ts)) + ins[-1]
    return drift / (stats.norm.isf(alpha / 2) + stats.norm.ppf(power)), mean


for n in (13, 16, 20, 30, 60):
    for alpha in (0.05, 0.05 / 3):
        print("nct", n, repr(alpha), 0.8, repr(nct_effect(n, alpha, 0.8)))
for n in (6, 8, 12, 20, 30):
    for power in (0.8, 0.9):
        print("sign", n, 0.05, power, repr(sign_effect(n, 0.05, power)))
for alpha in (0.05, 0.025):
    for ts in ([0.5, 1], [0.6, 0.8, 1], [0.625, 0.75, 0.875, 1], [0.25, 0.5, 0.75, 1]):
        ratio, mean = looks(alpha, 0.8, ts)
        print("looks", alpha, 0.8, len(ts), *ts, f"{ratio:.6f}", f"{mean:.6f}")
