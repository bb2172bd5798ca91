#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known answers of the extreme value fits: scipy's distributions under another minimiser.

Run in this folder: /usr/bin/python3 extreme.py > extreme.txt

gev n x... resolution loc scale shape loglik     gpd n x... resolution scale shape loglik
maxima n x... resolution period alpha level low high
peaks n x... resolution threshold exposure period alpha level low high
    profile likelihood by maximising over the other parameters at every level tried

scipy's genextreme has the shape with the other sign.  With a resolution r the likelihood is that of
the cells x .. x + r.
"""
import platform

import numpy
import scipy
from scipy.optimize import brentq, minimize
from scipy.stats import chi2, genextreme, genpareto

SEED = 20261130
rng = numpy.random.default_rng(SEED)


def cost(law, args, x, r):
    if r > 0:
        p = law.sf(x, *args) - law.sf(x + r, *args)
        q = law.cdf(x + r, *args) - law.cdf(x, *args)
        p = numpy.where(law.cdf(x, *args) < 0.5, q, p)
        return -numpy.log(p).sum() if (p > 0).all() else 1e9
    v = -law.logpdf(x, *args).sum()
    return v if numpy.isfinite(v) else 1e9


def gev_cost(v, x, r):
    return cost(genextreme, (-v[2], v[0], numpy.exp(v[1])), x, r)


def gpd_cost(v, x, r):
    return cost(genpareto, (v[1], 0, numpy.exp(v[0])), x, r)


def best(f, starts, args):
    found = None
    for s in starts:
        for _ in range(3):
            m = minimize(f, s, args, method="Nelder-Mead",
                         options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 20000, "maxfev": 20000})
            s = m.x
        if found is None or m.fun < found.fun:
            found = m
    return found


def scales(times, shape):
    return numpy.log(times) if abs(shape) < 1e-9 else (times ** shape - 1) / shape


def fit_gev(x, r):
    sd = x.std()
    return best(gev_cost, [[x.mean() - 0.45 * sd, numpy.log(0.78 * sd), s] for s in (0.1, -0.1)],
                (x, r))


def fit_gpd(x, r):
    return best(gpd_cost, [[numpy.log(x.mean()), s] for s in (0.1, 0.001)], (x, r))


def ends(f, level, limit, spread):
    def end(side):
        step = spread
        while f(level + side * step) < limit:
            step *= 2
            if step > 1e9 * spread:
                return side * float("inf")
        return brentq(lambda z: f(z) - limit, level, level + side * step, xtol=1e-7 * spread)
    return end(-1), end(1)


def maxima(x, r, period, alpha):
    m = fit_gev(x, r)
    loc, scale, shape = m.x[0], numpy.exp(m.x[1]), m.x[2]
    times = -1 / numpy.log1p(-1 / period)
    level = loc + scale * scales(times, shape)

    def over(z):
        def f(v):
            return gev_cost([z - numpy.exp(v[0]) * scales(times, v[1]), v[0], v[1]], x, r)
        return 2 * (best(f, [[m.x[1], shape], [m.x[1] + 0.2, shape + 0.1],
                             [m.x[1] - 0.2, shape - 0.1]], ()).fun - m.fun)
    return level, *ends(over, level, chi2.isf(alpha, 1), scale)


def peaks(x, r, threshold, exposure, period, alpha):
    if r > 0:
        threshold = (numpy.floor(threshold / r) + 1) * r
    x = x - threshold
    m = fit_gpd(x, r)
    n = len(x)

    def all_cost(rate, scale, shape):
        if not (rate > 0 and scale > 0):
            return 1e9
        return gpd_cost([numpy.log(scale), shape], x, r) + rate * exposure - n * numpy.log(rate)
    scale, shape, rate = numpy.exp(m.x[0]), m.x[1], n / exposure
    least = all_cost(rate, scale, shape)
    level = scale * scales(rate * period, shape)

    def over(z):
        if z <= 0:
            return 1e9

        def f(v):
            rate = numpy.exp(v[0])
            s = scales(rate * period, v[1])
            return all_cost(rate, z / s, v[1]) if s > 0 else 1e9
        return 2 * (best(f, [[numpy.log(rate), shape], [numpy.log(rate), shape + 0.1]], ()).fun - least)
    low, high = ends(over, level, chi2.isf(alpha, 1), scale / 4)
    return threshold + level, threshold + low, threshold + high


def text(v):
    return " ".join(repr(float(a)) for a in v)


print("# SPDX-License-Identifier: GPL-3.0-or-later")
print(f"# Python {platform.python_version()}, numpy {numpy.__version__}, "
      f"scipy {scipy.__version__}, extreme.py, seed {SEED}")
for n in (20, 60, 150):
    for shape in (-0.2, 0, 0.2):
        x = genextreme.rvs(-shape, 50, 10, n, random_state=rng)
        y = genpareto.rvs(shape, 0, 4, n, random_state=rng)
        for r in (0, 1, 5):
            if r:
                x, y = numpy.floor(x / r) * r, numpy.floor(y / r) * r
            m = fit_gev(x, r)
            if abs(m.x[2]) < 0.9:
                print("gev", n, text(x), r, m.x[0], numpy.exp(m.x[1]), m.x[2], -m.fun)
            if (r == 0 or len(set(y)) > 2):
                m = fit_gpd(y, r)
                if abs(m.x[1]) < 0.9:
                    print("gpd", n, text(y), r, numpy.exp(m.x[0]), m.x[1], -m.fun)
for n, shape, r in ((60, 0.1, 0), (80, -0.1, 1)):
    x = genextreme.rvs(-shape, 50, 10, n, random_state=rng)
    y = 20 + genpareto.rvs(shape, 0.001, 6, n, random_state=rng)
    if r:
        x, y = numpy.floor(x / r) * r, numpy.floor(y / r) * r + 1
    print("maxima", n, text(x), r, 100, 0.05, *maxima(x, r, 100, 0.05))
    print("peaks", n, text(y), r, 20, 1800, 3600, 0.05, *peaks(y, r, 20, 1800, 3600, 0.05))
