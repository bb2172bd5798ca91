#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known answers about series: numpy's quantiles and moments, block lengths, a bootstrap.

Run in this folder: /usr/bin/python3 series.py > series.txt

The two iperf3 tables of a kernel mailing list (irq-tango, 2017; 20 rows of Mbit/s each) and
autoregressive series.  The bootstrap here has another generator, another seed and 200,000
resamples; the test asks for agreement within its error.

quantile n x... q value    lag1 n x... r    block n x... length    ratio na a... nb b... low high
"""
import numpy
import platform
import scipy
import scipy.signal

SEED = 20261130
rng = numpy.random.default_rng(SEED)
A = [888, 885, 883, 890, 887, 883, 885, 880, 888, 886, 885, 887, 885, 883, 890, 888, 884, 883, 880,
     890]
B = [897, 898, 898, 895, 901, 902, 895, 901, 899, 903, 902, 899, 898, 900, 900, 899, 898, 902, 901,
     903]


def text(v):
    return " ".join(repr(float(a)) for a in v)


def block(x):
    """Politis & White 2004 for the stationary bootstrap, D = 2 g(0)^2 as corrected in 2009."""
    x = numpy.asarray(x, float)
    n = len(x)
    c = x - x.mean()
    full = numpy.correlate(c, c, "full")[n - 1:] / n
    run = max(5, int(numpy.ceil(numpy.sqrt(numpy.log10(n)))))
    top = min(int(numpy.ceil(numpy.sqrt(n))) + run, n - 1)
    rho = full / full[0]
    big = numpy.abs(rho[1:top + 1]) >= 2 * numpy.sqrt(numpy.log10(n) / n)
    starts = [k for k in range(top - run + 1) if not big[k:k + run].any()]
    if starts:
        m = starts[0] + 1
    else:
        m = int(numpy.flatnonzero(big)[-1]) + 1 if big.any() else 1
    m = min(2 * m, top)
    lags = numpy.arange(-m, m + 1)
    window = numpy.clip(2 * (1 - numpy.abs(lags) / m), 0, 1)
    cov = full[numpy.abs(lags)]
    g0 = (window * cov).sum()
    slope = (window * numpy.abs(lags) * cov).sum()
    b = (2 * slope**2 / (2 * g0**2)) ** (1 / 3) * n ** (1 / 3)
    return max(1.0, min(b, float(numpy.ceil(min(3 * numpy.sqrt(n), n / 3)))))


def means(x, b, times):
    x = numpy.asarray(x, float)
    n = len(x)
    at = rng.integers(n, size=times)
    total = x[at].copy()
    for _ in range(n - 1):
        fresh = rng.random(times) < 1 / b
        at = numpy.where(fresh, rng.integers(n, size=times), (at + 1) % n)
        total += x[at]
    return total / n


def ratio(a, b):
    r = means(b, block(b), 200000) / means(a, block(a), 200000) - 1
    return numpy.quantile(r, [0.025, 0.975])


def autoregressive(n, phi):
    return scipy.signal.lfilter([1], [1, -phi], rng.normal(size=n + 200))[200:]


print("# SPDX-License-Identifier: GPL-3.0-or-later")
print(f"# Python {platform.python_version()}, numpy {numpy.__version__}, "
      f"scipy {scipy.__version__}, series.py, seed {SEED}")
series = [A, B, [3, 1], [1, 2, 3], list(rng.normal(size=9)), list(rng.normal(size=50))]
series += [list(autoregressive(n, phi)) for n, phi in ((60, 0.6), (200, 0.8), (400, -0.4))]
for x in series:
    for q in (0, 0.1, 0.5, 0.99, 1):
        print("quantile", len(x), text(x), q, repr(float(numpy.quantile(x, q))))
    c = numpy.asarray(x) - numpy.mean(x)
    print("lag1", len(x), text(x), repr(float((c[1:] * c[:-1]).sum() / (c * c).sum())))
    if len(x) > 6:
        print("block", len(x), text(x), repr(block(x)))
pairs = [(A, B)]
pairs += [(list(100 + autoregressive(60, 0.6)), list(103 + autoregressive(40, 0.3)))]
for a, b in pairs:
    print("ratio", len(a), text(a), len(b), text(b), *map(float, ratio(a, b)))
