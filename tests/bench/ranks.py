# SPDX-License-Identifier: GPL-3.0-or-later
"""The exact signed-rank interval, for benchmarks that compare within rounds."""
import math


def signed_rank_k(n, alpha):
    """Largest k with 2 P(T <= k) <= alpha, T the signed-rank statistic; -1: none."""
    counts = [1] + [0] * (n * (n + 1) // 2)
    for r in range(1, n + 1):
        for t in range(len(counts) - 1, r - 1, -1):
            counts[t] += counts[t - r]
    p, k = 0, -1
    for t, c in enumerate(counts):
        p += c
        if 2 * p > alpha * 2 ** n:
            return k
        k = t
    return k


def shift(d):
    """Hodges-Lehmann estimate of the differences @d and its 95 % interval."""
    n = len(d)
    walsh = sorted((d[i] + d[k]) / 2 for i in range(n) for k in range(i, n))
    k = signed_rank_k(n, 0.05)
    m = len(walsh)
    mid = walsh[m // 2] if m % 2 else (walsh[m // 2 - 1] + walsh[m // 2]) / 2
    return (mid, -math.inf, math.inf) if k < 0 else (mid, walsh[k + 1], walsh[m - k - 2])
