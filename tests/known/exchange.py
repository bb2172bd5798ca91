#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
# Rates that scipy's exact signed-rank test does not reject, by walking along all rates; and the rate at
# which the Hodges-Lehmann estimate of what is left is 0.
# Run anywhere: python3 exchange.py
#
# rate   alpha, n and the gains, n and the costs | estimate low high
import numpy as np
import scipy
from scipy.optimize import brentq
from scipy.stats import wilcoxon

print(f"# scipy {scipy.__version__}, numpy {np.__version__}, exchange.py")
rng = np.random.default_rng(20261201)


def left(rate, gain, cost):
    d = gain - rate * cost
    i, k = np.triu_indices(len(d))
    return np.median((d[i] + d[k]) / 2)


for n in (8, 10, 13, 20):
    for alpha in (0.05, 0.02):
        cost = rng.normal(0.2, 0.05, n)
        gain = 0.7 * cost + rng.normal(0, 0.05, n)
        rates = np.exp(np.linspace(np.log(0.05), np.log(8), 20001))
        held = [r for r in rates if wilcoxon(gain - r * cost, mode="exact").pvalue > alpha]
        est = brentq(left, 0.01, 10, args=(gain, cost))
        print("rate", alpha, n, *(repr(float(g)) for g in gain), n, *(repr(float(c)) for c in cost),
              repr(est), repr(float(held[0])), repr(float(held[-1])))
