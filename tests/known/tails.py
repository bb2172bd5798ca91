#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known answers about tails: ranks of order-statistic intervals, quantiles, change points.

Run in this folder: /usr/bin/python3 tails.py > tails.txt

ranks n q alpha low high          by scipy's binomial distribution
index n x... limit index          extremal index, written anew from Ferro & Segers 2003
change n least x... at q          the first E-divisive split, from the definition
"""
import platform

import numpy
import scipy
import scipy.stats

SEED = 20261130
rng = numpy.random.default_rng(SEED)


def ranks(n, q, alpha):
    b = scipy.stats.binom(n, q)
    guess = int(n * q)
    width = int(12 * (n * q * (1 - q)) ** 0.5) + 60
    r = numpy.arange(max(0, guess - width), min(n + 1, guess + width) + 1)
    low = r[b.cdf(r - 1) <= alpha / 2].max(initial=0)
    high = r[b.sf(r - 1) <= alpha / 2].min(initial=n + 1)
    return low, high


def index(x, limit):
    t = numpy.diff(numpy.flatnonzero(numpy.asarray(x) > limit)).astype(float)
    if t.max() <= 2:
        v = 2 * t.sum() ** 2 / (len(t) * (t ** 2).sum())
    else:
        v = 2 * (t - 1).sum() ** 2 / (len(t) * ((t - 1) * (t - 2)).sum())
    return min(1.0, v)


def energy(x, y):
    def within(v):
        return numpy.mean([abs(v[i] - v[k]) for i in range(len(v)) for k in range(i)])
    m, n = len(x), len(y)
    between = numpy.mean([abs(a - b) for a in x for b in y])
    return m * n / (m + n) * (2 * between - within(x) - within(y))


def split(x, least):
    return max((energy(x[:m], x[m:end]), -m) for m in range(least, len(x) - least + 1)
               for end in range(m + least, len(x) + 1))


def text(v):
    return " ".join(repr(float(a)) for a in v)


print("# SPDX-License-Identifier: GPL-3.0-or-later")
print(f"# Python {platform.python_version()}, numpy {numpy.__version__}, "
      f"scipy {scipy.__version__}, tails.py, seed {SEED}")
for n in (1, 2, 6, 10, 71, 100, 1000, 10000, 123457, 960000):
    for q in (0.01, 0.5, 0.9, 0.99, 0.999, 0.9999):
        for alpha in (0.05, 0.01):
            print("ranks", n, q, alpha, *ranks(n, q, alpha))
for kind in range(4):
    x = rng.exponential(size=200)
    if kind:
        x = numpy.maximum(x[:-kind], x[kind:]) if kind < 3 else numpy.repeat(x[:40], 5)
    print("index", len(x), text(x), 1.5, index(x, 1.5))
for n in (7, 10, 20, 30):
    for least in (2, 3):
        if n < 2 * least:
            continue
        x = numpy.round(rng.normal(size=n) + (numpy.arange(n) >= n // 2) * 1.5, 3)
        q, m = split(list(x), least)
        print("change", n, text(x), least, -m, repr(float(q)))
