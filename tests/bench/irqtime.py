#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the BPF accounts cost, beside bpftrace and perf stat on the same tracepoints.

    tests/bench/irqtime.py [--rounds N] [--seconds S] [BUILD]

Two loads, alternately under each observer and under none, in an order drawn for each round:

  packets     one thread sends datagrams to itself over a loopback; what counts is its CPU time a
              packet, softirqs included, so that other work on the machine matters little.  Its
              softirqs are raised, started, polled and ended once a packet.
  throughput  one TCP stream over a veth pair (no TSO, GRO and NAPI on), bytes that arrived

bpftrace counts by key, as one would to see who is busy ("counts"), or does all that the accounts do
("the same": exclusive times, maxima, polls).  Compared within a round: Hodges-Lehmann
estimate of the difference to no observer and its exact signed-rank interval.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from ranks import shift

VECTORS = ("local_timer", "reschedule", "call_function", "call_function_single")
PAIRS = [("irq", "irq_handler"), ("irq", "softirq")] + [("irq_vectors", v) for v in VECTORS]
BURSTS = 9
KEYS = {"irq_handler": "args->irq", "softirq": "args->vec"}

PACKETS = """
import socket, sys, time
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(r.getsockname())
data = b"x" * 64
send, recv = s.send, r.recv
for line in sys.stdin:
    begin = time.thread_time_ns()
    for i in range(int(line)):
        send(data)
        recv(100)
    print(time.thread_time_ns() - begin, flush=True)
"""


def counts():
    """bpftrace: how often, by CPU and key."""
    parts = [f"tracepoint:{g}:{n}_{e} {{ @{n}_{e}[cpu, {KEYS.get(n, 'args->vector')}] = count(); }}"
             for g, n in PAIRS for e in ("entry", "exit")]
    parts.append("tracepoint:napi:napi_poll { @polls[cpu, str(args->dev_name)] = count(); "
                 "@packets[cpu, str(args->dev_name)] = sum(args->work); }")
    return " ".join(parts)


def the_same():
    """bpftrace: all that the accounts do: exclusive times, maxima, polls by their distance."""
    hard = [(g, n) for g, n in PAIRS if n != "softirq"]
    parts = []
    for g, n in hard:
        key = KEYS.get(n, "args->vector")
        parts.append(f"tracepoint:{g}:{n}_entry {{ @hb[cpu] = nsecs; }}")
        parts.append(f"tracepoint:{g}:{n}_exit /@hb[cpu]/ {{ $d = nsecs - @hb[cpu]; @hard[cpu] += $d; "
                     f"@n_{n}[cpu, {key}] = count(); @t_{n}[cpu, {key}] = sum($d); "
                     f"@m_{n}[cpu, {key}] = max($d); }}")
    parts.append("tracepoint:irq:softirq_entry { $c = nsecs - @hard[cpu]; @sb[cpu] = $c; @pb[cpu] = $c; }")
    parts.append("tracepoint:irq:softirq_exit /@sb[cpu]/ { $d = nsecs - @hard[cpu] - @sb[cpu]; "
                 "@n_soft[cpu, args->vec] = count(); @t_soft[cpu, args->vec] = sum($d); "
                 "@m_soft[cpu, args->vec] = max($d); }")
    parts.append("tracepoint:napi:napi_poll /@pb[cpu]/ { $c = nsecs - @hard[cpu]; $d = $c - @pb[cpu]; "
                 "@pb[cpu] = $c; @n_poll[cpu, args->napi] = count(); @t_poll[cpu, args->napi] = sum($d); "
                 "@m_poll[cpu, args->napi] = max($d); @packets[cpu, args->napi] = sum(args->work); "
                 "if (args->work >= args->budget) { @full[cpu, args->napi] = count(); } }")
    return " ".join(parts)


class Observer:
    """A program that watches between start() and stop()."""

    def __init__(self, argv, ready=None):
        self.argv, self.ready = argv, ready

    def __enter__(self):
        self.p = None
        if not self.argv:
            return
        self.p = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        if self.ready:
            for line in self.p.stdout:
                if self.ready in line:
                    break
        else:
            time.sleep(0.5)
        if self.p.poll() is not None:
            raise RuntimeError(f"{self.argv[0]} ended")

    def __exit__(self, *_):
        if self.p:
            self.p.terminate()
            self.p.communicate()


def observers(build):
    main = os.path.join(build, "tests/e2e/irqtime_main")
    found = {"none": Observer(None),
             "irqtime": Observer([main, "hardirqs", "softirqs", "napi"], "READY"),
             "irqtime, threads": Observer([main, "hardirqs", "softirqs", "napi", "threads"], "READY")}
    if shutil.which("bpftrace"):
        for name, script in ("bpftrace counts", counts()), ("bpftrace, the same", the_same()):
            found[name] = Observer(["bpftrace", "-B", "line", "-e",
                                    'BEGIN { printf("READY\\n"); } ' + script], "READY")
    if shutil.which("perf"):
        events = [f"{g}:{n}_{e}" for g, n in PAIRS for e in ("entry", "exit")] + ["napi:napi_poll"]
        found["perf stat"] = Observer(["perf", "stat", "-a", "-e", ",".join(events)])
    return found


class Packets:
    unit = "ns a packet"

    def __enter__(self):
        self.p = subprocess.Popen(["unshare", "-n", "sh", "-c",
                                   'ip link set lo up && exec "$0" -c "$1"', sys.executable, PACKETS],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 20000
        self.last = self.once()
        return self

    def once(self):
        self.p.stdin.write(f"{self.number}\n")
        self.p.stdin.flush()
        return int(self.p.stdout.readline()) / self.number

    def measure(self, seconds):
        """Median of some bursts: a burst that was interrupted much does not count."""
        self.number = max(1000, int(seconds / BURSTS * 1e9 / self.last))
        self.last = median([self.once() for _ in range(BURSTS)])
        return self.last

    def __exit__(self, *_):
        self.p.terminate()
        self.p.wait()


class Throughput:
    unit = "Gbit/s"

    def __init__(self, build):
        self.irqlab = os.path.join(build, "irqlab")
        self.ns = [f"irqlab-bench-{os.getpid()}{end}" for end in "ab"]
        self.p = []

    def inside(self, end, *argv, **how):
        return subprocess.Popen(["ip", "netns", "exec", self.ns[end], *argv],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)

    def __enter__(self):
        try:
            return self.begin()
        except BaseException:
            self.__exit__()
            raise

    def begin(self):
        def sh(line):
            subprocess.run(line.split(), check=True, stdout=subprocess.DEVNULL)

        for ns in self.ns:
            sh(f"ip netns add {ns}")
        sh(f"ip -n {self.ns[0]} link add v0 type veth peer name v1 netns {self.ns[1]}")
        for end in 0, 1:
            sh(f"ip -n {self.ns[end]} addr add 198.18.7.{end + 1}/30 dev v{end}")
            sh(f"ip -n {self.ns[end]} link set v{end} up")
            sh(f"ip netns exec {self.ns[end]} ethtool -K v{end} tso off gso off gro on")
        self.p.append(self.inside(1, self.irqlab, "traffic", "-s"))
        time.sleep(0.5)
        self.p.append(self.inside(0, self.irqlab, "traffic", "-c", "198.18.7.2", "-t", "0"))
        time.sleep(1)
        # a thread of the namespace cannot be had without setns: a cat that is told when
        self.cat = subprocess.Popen(["ip", "netns", "exec", self.ns[1], "sh", "-c",
                                     "while read x; do cat /sys/class/net/v1/statistics/rx_bytes; done"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p.append(self.cat)
        if not self.measure(0.5):
            raise RuntimeError("no traffic")
        return self

    def bytes(self):
        self.cat.stdin.write("\n")
        self.cat.stdin.flush()
        return int(self.cat.stdout.readline()), time.monotonic()

    def measure(self, seconds):
        (b0, t0), _, (b1, t1) = self.bytes(), time.sleep(seconds), self.bytes()
        return (b1 - b0) * 8e-9 / (t1 - t0)

    def __exit__(self, *_):
        for p in self.p:
            p.terminate()
            p.wait()
        for ns in self.ns:
            subprocess.run(["ip", "netns", "del", ns], check=False, stderr=subprocess.DEVNULL)


def run(load, watching, rounds, seconds):
    """name -> results, one a round."""
    found = {name: [] for name in watching}
    for i in range(rounds):
        one = {}
        for name in random.sample(sorted(watching), len(watching)):
            with watching[name]:
                one[name] = load.measure(seconds)
        for name, value in one.items():
            found[name].append(value)
        print(f"round {i + 1} of {rounds}", file=sys.stderr)
    return found


def median(v):
    v = sorted(v)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


def print_packets(found, events):
    print(f"\n{'CPU time a packet':20} {'ns':>8}   more ns   95 % interval      ns an event")
    for name, v in found.items():
        est, low, high = shift([a - b for a, b in zip(v, found["none"])])
        more = f"{est:+9.0f}   {low:+.0f} to {high:+.0f}".ljust(34) if name != "none" else ""
        per = f"{est / events:8.0f}" if name != "none" else ""
        print(f"{name:20} {median(v):8.0f} {more}{per}")


def print_throughput(found):
    print(f"\n{'TCP over veth':20} {'Gbit/s':>8}    loss %   95 % interval")
    for name, v in found.items():
        est, low, high = shift([100 * (1 - a / b) for a, b in zip(v, found["none"])])
        loss = f"{est:9.1f}   {low:+.1f} to {high:+.1f}" if name != "none" else ""
        print(f"{name:20} {median(v):8.2f} {loss}")


def print_shares(found, sign, what):
    """Our cost as a share of the others', within rounds: a ratio of differences, so by its own sums."""
    base = found["none"]
    cost = {n: [sign * (a - b) / b for a, b in zip(v, base)] for n, v in found.items()}
    for name in ("bpftrace counts", "bpftrace, the same"):
        if name not in cost:
            continue
        # d = ours - s * theirs: s is the share at which the estimate of d is 0; its interval likewise
        grid = [k / 200 for k in range(-200, 601)]
        inside = [s for s in grid
                  if shift([a - s * b for a, b in zip(cost["irqtime"], cost[name])])[1] <= 0
                  <= shift([a - s * b for a, b in zip(cost["irqtime"], cost[name])])[2]]
        if inside:
            print(f"{what}: irqtime / {name}: {inside[0]:.2f} to {inside[-1]:.2f} (aim: at most 0.25)")
        else:
            print(f"{what}: irqtime / {name}: no share fits")


def leave(*_):
    """Told to end: the namespaces go; once is enough."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--only", choices=("packets", "throughput"), help="one of the loads")
    p.add_argument("build", nargs="?", default="build")
    a = p.parse_args()
    main_program = os.path.join(a.build, "tests/e2e/irqtime_main")
    tried = subprocess.run([main_program], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if tried.returncode:
        print(f"bench: {tried.stderr.strip()}")
        return 77
    signal.signal(signal.SIGTERM, leave)
    watching = observers(a.build)
    print(f"BPF accounts, {a.rounds} rounds of {a.seconds} s, {os.cpu_count()} CPUs, "
          f"{os.uname().release}")
    if a.only != "throughput":
        with Packets() as load:
            found = run(load, watching, a.rounds, a.seconds)
        print_packets(found, 3)
        print_shares(found, 1, "CPU time")
    if a.only != "packets":
        with Throughput(a.build) as load:
            found = run(load, watching, a.rounds, a.seconds)
        print_throughput(found)
        print_shares(found, -1, "throughput")
    return 0


if __name__ == "__main__":
    sys.exit(main())
