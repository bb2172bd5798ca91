#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals that invert the rank tests on tied data, by brute force in rational arithmetic.

Run in this folder: /usr/bin/python3 tied.py > tied.txt

For every point where the statistic steps and for every gap between two, p is found by walking
through all sign patterns or splits; the interval is the closed hull of those with p > alpha.

signrank-ci n d... alpha estimate low high      ranksum-ci n x... m y... alpha estimate low high
"""
import itertools
import platform
import random
import statistics
from fractions import Fraction as F

SEED = 20261130
rnd = random.Random(SEED)


def midranks(v):
    return [F(2 * sum(b < a for b in v) + sum(b == a for b in v) + 1, 2) for a in v]


def two_sided(t, every):
    low = F(sum(a <= t for a in every), len(every))
    high = F(sum(a >= t for a in every), len(every))
    return min(F(1), 2 * min(low, high))


def signrank_p(d, shift):
    v = [a - shift for a in d]
    r = midranks([abs(a) for a in v])
    used = [b for a, b in zip(v, r) if a != 0]
    if not used:
        return F(1)
    every = [F(0)]
    for b in used:
        every += [a + b for a in every]
    return two_sided(sum(b for a, b in zip(v, r) if a > 0), every)


def ranksum_p(x, y, shift):
    r = midranks(x + [b - shift for b in y])
    every = [sum(c) for c in itertools.combinations(r, len(x))]
    return two_sided(sum(r[: len(x)]), every)


def hull(points, alpha, p):
    w = sorted(set(points))
    ends = [-F(10**6)] + w + [F(10**6)]
    kept = []
    for a, b in zip(ends, ends[1:]):
        if p((a + b) / 2) > alpha:
            kept += [a, b]
    kept += [a for a in w if p(a) > alpha]
    low, high = min(kept), max(kept)
    return ("-inf" if low == ends[0] else repr(float(low)),
            "inf" if high == ends[-1] else repr(float(high)))


def text(v):
    return " ".join(repr(float(a)) for a in v)


def show_signrank(d, alpha):
    w = [(d[i] + d[j]) / 2 for i in range(len(d)) for j in range(i, len(d))]
    low, high = hull(w, F(alpha), lambda s: signrank_p(d, s))
    print("signrank-ci", len(d), text(d), alpha, float(statistics.median(w)), low, high)


def show_ranksum(x, y, alpha):
    diff = [b - a for a in x for b in y]
    low, high = hull(diff, F(alpha), lambda s: ranksum_p(x, y, s))
    print("ranksum-ci", len(x), text(x), len(y), text(y), alpha, float(statistics.median(diff)),
          low, high)


def halves(words):
    return [F(w) for w in words.split()]


print("# SPDX-License-Identifier: GPL-3.0-or-later")
print(f"# Python {platform.python_version()}, tied.py, seed {SEED}")
for n in range(1, 11):
    for spread in (2, 3, 6):
        for alpha in ("0.05", "0.1", "0.025"):
            show_signrank([F(rnd.randint(-spread, spread + 2), 4) for _ in range(n)], alpha)
for n, m in ((1, 1), (2, 3), (3, 5), (4, 4), (5, 6), (6, 3), (7, 5)):
    for spread in (2, 5):
        for alpha in ("0.05", "0.1"):
            show_ranksum([F(rnd.randint(0, spread), 2) for _ in range(n)],
                         [F(rnd.randint(0, spread + 2), 2) for _ in range(m)], alpha)
# ties move p across alpha here: the untied critical value gives a shorter interval
show_signrank(halves("1 0 0 1.5 1 0.5 1 1 1 1 1"), "0.025")
show_signrank(halves("1 1 0.5 1 0 1 1.5 1 1 1 1 0"), "0.0167")
show_signrank(halves("3 3.5 1 0 3 3.5 1"), "0.3")
show_signrank(halves("1.5 2 2 0 1.5 2.5 0"), "0.3")
show_ranksum(halves("1 3 3"), halves("0.5 0.5 3.5 0 1.5"), "0.4")
show_ranksum(halves("1.5 1 0 1 1"), halves("1 0 0 1.5"), "0.3")
show_ranksum(halves("1 0 1 0 0 0.5 1 1"), halves("1.5 0 1"), "0.21")
show_ranksum(halves("2 0 0"), halves("2 0 0 0 2 1.5 0 2"), "0.21")
