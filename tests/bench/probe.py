#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""irqlab latency beside stock cyclictest, alternately in one run: does our loop disturb more?

    tests/bench/probe.py [--rounds N] [--seconds S] [IRQLAB]

A round runs both with the same options, the first one drawn.  What is compared is the ratio within
a round (Hodges-Lehmann estimate, interval from the exact signed-rank test), so that a machine that
is busy for a while counts for both.  Quantiles of both come from their rows of 1 us, interpolated in
the same way.  CPU time is all that the process took, from getrusage().

cyclictest's threads start, and so wake, nearly together; irqlab's phases are drawn, which has an
effect of its own.  Here the loops are compared: irqlab runs with --phase aligned.
"""
import argparse
import json
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

from ranks import shift

ROWS = 5000


def run(argv, seconds, interval_us, work):
    """One measurement: min, median, p99 [us], CPU time per 1000 wake-ups [us], missed share."""
    path = os.path.join(work, "out.json")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv + ["-m", "-S", "-p98", "-q", f"-D{seconds}", f"-i{interval_us}", "-d0",
                           f"-h{ROWS}", f"--json={path}"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    threads = json.load(open(path))["thread"].values()
    rows = {}
    for t in threads:
        for us, n in t["histogram"].items():
            rows[int(us)] = rows.get(int(us), 0) + n
    cycles = sum(t["cycles"] for t in threads)
    due = len(threads) * seconds * 1_000_000 / interval_us
    return {"min": quantile(rows, cycles, 0.001), "median": quantile(rows, cycles, 0.5),
            "p99": quantile(rows, cycles, 0.99), "cpu": cpu * 1e9 / cycles,
            "missed": max(0.0, 1 - cycles / due)}


def quantile(rows, total, q):
    """Of grouped samples: linear within the row."""
    rank, seen = q * total, 0
    for us in sorted(rows):
        if seen + rows[us] >= rank:
            return us + (rank - seen) / rows[us]
        seen += rows[us]
    return float(ROWS)  # beyond the rows


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=40)
    p.add_argument("--seconds", type=int, default=1)
    p.add_argument("irqlab", nargs="?", default="build/irqlab")
    a = p.parse_args()
    cyclictest = shutil.which("cyclictest")
    if not cyclictest:
        print("bench: cyclictest is not installed (Debian: rt-tests)")
        return 77
    loop = os.path.join(os.path.dirname(a.irqlab), "tests/e2e/loop_cost")
    if os.path.exists(loop):
        subprocess.run([loop], check=True)
    programs = {"irqlab": [a.irqlab, "latency", "--phase", "aligned"], "cyclictest": [cyclictest]}
    found = {}  # (interval, program) -> list of results
    with tempfile.TemporaryDirectory() as work:
        for i in range(a.rounds):
            for interval in (250, 50, 20):
                pair = {}
                for name in random.sample(sorted(programs), 2):
                    try:
                        pair[name] = run(programs[name], a.seconds, interval, work)
                    except (subprocess.CalledProcessError, ValueError, ZeroDivisionError) as why:
                        print(f"round {i + 1}: {name} at {interval} us: {why}", file=sys.stderr)
                if len(pair) < 2:  # a pair counts or not
                    continue
                for name, r in pair.items():
                    found.setdefault((interval, name), []).append(r)
            print(f"round {i + 1} of {a.rounds}", file=sys.stderr)
    print(f"irqlab latency / cyclictest, {a.rounds} rounds of {a.seconds} s, "
          f"{os.cpu_count()} CPUs, {os.uname().release}")
    print(f"{'':24} {'irqlab':>9} {'cyclictest':>10} {'ratio':>7}  95 % interval   aim")
    for interval, what, unit, aim in ((250, "min", "us", 1.05), (250, "median", "us", 1.05),
                                      (250, "p99", "us", 1.05), (250, "cpu", "us", 1.03)):
        ours = [r[what] for r in found[interval, "irqlab"]]
        theirs = [r[what] for r in found[interval, "cyclictest"]]
        est, low, high = (math.exp(x) for x in shift([math.log(x / y) for x, y in zip(ours, theirs)]))
        name = {"min": "min (0.1 %)", "cpu": "CPU per 1000 wake-ups"}.get(what, what)
        print(f"{name + ' [' + unit + ']':24} {median(ours):9.1f} {median(theirs):10.1f} {est:7.3f}"
              f"  {low:.3f} to {high:.3f}  <= {aim}: {'yes' if high <= aim else 'no'}")
    for interval in (50, 20):
        ours = [100 * r["missed"] for r in found[interval, "irqlab"]]
        theirs = [100 * r["missed"] for r in found[interval, "cyclictest"]]
        est, low, high = shift([x - y for x, y in zip(ours, theirs)])
        print(f"{f'missed at {interval} us [%]':24} {median(ours):9.3f} {median(theirs):10.3f} "
              f"{est:+7.3f}  {low:+.3f} to {high:+.3f}  not above: {'yes' if low <= 0 else 'no'}")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "irqtime.py")
    return subprocess.run([beside, os.path.dirname(a.irqlab) or "."], check=False).returncode


def median(v):
    v = sorted(v)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


sys.exit(main())
