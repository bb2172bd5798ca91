#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The signed-rank test of many pairs, by the counts of all sums of their doubled ranks.

Run in this folder: /usr/bin/python3 large.py > large.txt

Floating-point convolution, every step a mean of two numbers: about 1e-13 relative.

exact n d... shift p      for untied ranks      near n d... shift p      for tied ones
"""
import platform

import numpy
import scipy.stats

SEED = 20261130
rng = numpy.random.default_rng(SEED)


def signrank_p(d, shift):
    v = d - shift
    rank2 = numpy.rint(2 * scipy.stats.rankdata(abs(v))).astype(int)
    rank2[v == 0] = 0
    f = numpy.zeros(rank2.sum() + 1)
    f[0] = 1
    for w in rank2[rank2 > 0]:
        g = f / 2
        g[w:] += f[:-w] / 2
        f = g
    t = min(rank2[v > 0].sum(), rank2[v < 0].sum())
    return min(1.0, 2 * f[:t + 1].sum())


def show(kind, d, shift):
    print(kind, len(d), " ".join(repr(float(a)) for a in d), shift, repr(float(signrank_p(d, shift))))


print("# SPDX-License-Identifier: GPL-3.0-or-later")
print(f"# Python {platform.python_version()}, numpy {numpy.__version__}, "
      f"scipy {scipy.__version__}, large.py, seed {SEED}")
for n in (201, 300, 500):
    d = numpy.round(rng.normal(0.05, 1, n), 6)
    for shift in (0, 0.2, -0.1):
        show("exact", d, shift)
for n in (101, 150, 400):
    for grid in (2, 8, 64):  # exact in binary, so that ties are ties
        d = numpy.round(rng.normal(0.1, 1, n) * grid) / grid
        for shift in (0, 0.25):
            show("near", d, shift)
half = numpy.where(rng.random(300) < 0.5, 0, numpy.round(rng.normal(0.2, 1, 300) * 64) / 64)
for shift in (0, 0.25):
    show("near", half, shift)
