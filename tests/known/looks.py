#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known answers of group-sequential looks, by following every path of signs.

Run in this folder: /usr/bin/python3 looks.py > looks.txt

spent kind alpha t level              0: O'Brien-Fleming type, 1: Pocock type
look kind test alpha n d... looks k n_1..n_k k rejected attained low high
    test 0: signed rank, 1: sum; the last number of looks is the most there will be
chance estimate low high alpha t margin_low margin_high chance
effect n alpha power effect           formula
"""
import itertools
import platform
import random
from fractions import Fraction as F

import numpy
import scipy
from scipy.stats import norm

SEED = 20261130
rnd = random.Random(SEED)


def spent(kind, alpha, t):
    if t >= 1:
        return alpha
    if kind == 0:
        return 2 * norm.sf(norm.isf(alpha / 2) / t ** 0.5)
    return alpha * numpy.log(1 + (numpy.e - 1) * t)


def weights(test, v):
    if test == 1:
        return [abs(a) for a in v]
    size = [abs(a) for a in v]
    return [0 if a == 0 else F(2 * sum(b < a for b in size) + sum(b == a for b in size) + 1, 2)
            for a in size]


def judge(kind, test, alpha, d, looks, k, shift):
    """Is the shift rejected at look k (from 0), and which share of paths has stopped by then?"""
    v = [a - shift for a in d]
    own = [1 if a > 0 else -1 for a in v]
    n = looks[k]
    alive = set(itertools.product((1, -1), repeat=n))
    stopped = 0
    for i in range(k + 1):
        w = weights(test, v[:looks[i]])
        level = alpha if i == len(looks) - 1 else spent(kind, alpha, looks[i] / looks[-1])

        def size(path):
            return abs(sum(a * b for a, b in zip(path, w)))

        by = {}
        for path in alive:
            by.setdefault(size(path), []).append(path)
        rejected = False
        for t in sorted(by, reverse=True):
            if stopped + len(by[t]) > level * 2 ** n * (1 + 1e-12):
                break
            stopped += len(by[t])
            alive -= set(by[t])
            rejected |= size(own) == t
        # the observed path may have stopped before: it is rejected here when beyond the bound
        bound = max((size(p) for p in alive), default=-1)
        rejected = size(own) > bound
    return rejected, F(stopped, 2 ** n)


def low_end(points, p):
    """The closed hull's lower end: points and gaps between them, from below."""
    w = sorted(set(points))
    if not p(w[0] - 1):
        return float("-inf")
    for a, b in zip(w, w[1:] + [w[-1] + 2]):
        if not p(a) or not p((a + b) / 2):
            return float(a)
    return float("inf")


def ends(kind, test, alpha, d, looks, k):
    n = looks[k]
    if test == 0:
        points = [(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)]
    else:
        points = [sum(c) / len(c) for m in range(1, n + 1) for c in itertools.combinations(d[:n], m)]
    low = low_end(points, lambda s: judge(kind, test, alpha, d, looks, k, s)[0])
    turned = [-a for a in d]
    high = -low_end([-p for p in points], lambda s: judge(kind, test, alpha, turned, looks, k, s)[0])
    return low, high


def chance(est, low, high, alpha, t, ml, mh, runs=4000000):
    rng = numpy.random.default_rng(SEED)
    z = norm.isf(alpha / 2)
    se = (high - low) / 2 / z
    last = rng.normal(est, se * (1 - t) ** 0.5, runs)
    half = z * se * t ** 0.5
    return float(numpy.mean((abs(last) > half) | ((last - half >= ml) & (last + half <= mh))))


print("# SPDX-License-Identifier: GPL-3.0-or-later")
print(f"# Python {platform.python_version()}, numpy {numpy.__version__}, "
      f"scipy {scipy.__version__}, looks.py, seed {SEED}")
for kind in (0, 1):
    for alpha in (0.05, 0.025):
        for t in (0.1, 0.5, 0.75, 1):
            print("spent", kind, alpha, t, repr(float(spent(kind, alpha, t))))
designs = [(0, 0.05, (8,)), (0, 0.2, (4, 6, 8)), (1, 0.2, (4, 6, 8)), (1, 0.3, (3, 7)),
           (0, 0.1, (6, 8)), (1, 0.05, (7, 9))]
for kind, alpha, looks in designs:
    for test in (0, 1):
        for i in range(3):
            grid = (64, 4, 2)[i]
            d = [F(rnd.randint(-grid // 2, 2 * grid), grid) for _ in range(looks[-1])]
            for k in range(len(looks)):
                if test == 1 and looks[k] > 7 and i > 0:
                    continue
                rejected, attained = judge(kind, test, alpha, d, looks, k, F(0))
                low, high = ends(kind, test, alpha, d, looks, k) if looks[k] < 9 else (0, 0)
                print("look", kind, test, alpha, len(d), *map(float, d), len(looks), *looks, k,
                      int(rejected), float(attained), low, high, int(looks[k] < 9))
for args in ((0.01, -0.01, 0.03, 0.05, 0.5, -0.02, 0.02), (0.0, -0.03, 0.03, 0.05, 0.25, -0.02, 0.02),
             (0.02, 0.0, 0.04, 0.01, 0.8, 0, 0), (0.001, -0.02, 0.022, 0.05, 0.9, -0.03, 0.03)):
    print("chance", *args, chance(*args))
for n in (61, 100, 1000):
    for alpha in (0.05, 0.005):
        for power in (0.8, 0.9):
            print("effect", n, alpha, power,
                  (norm.isf(alpha / 2) + norm.ppf(power)) * (numpy.pi / 3 / n) ** 0.5)
