#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""irqlab's traffic engine beside iperf3, iperf2, nuttcp and sockperf, alternately in one run.

Only ratios of neighbouring runs are judged: each round runs every tool once, in turn from another
one on.  Printed are the median of the rounds' ratios and the interval of order statistics around it
(95 % or what that many rounds allow).  Both ends are started for each run, so that their CPU time
is theirs alone.
"""
import argparse
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD", os.path.join(HERE, "../../build"))
IRQLAB = os.environ.get("IRQLAB", os.path.join(BUILD, "irqlab"))
FIRST_PORT = 5480
PORTS = 4000
TIMEOUT_S = 60


def new_port():
    """Two free ports: nothing of the run before may still be in TIME_WAIT there."""
    new_port.nr = (new_port.nr + 2) % PORTS
    return str(FIRST_PORT + new_port.nr)


new_port.nr = 0


class Failed(Exception):
    pass


class Path:
    """Where a test runs: how to start either end, and the server's address."""

    def __init__(self, name, server, client, host):
        self.name, self.server, self.client, self.host = name, server, client, host


class Namespaces:
    """Two namespaces and one veth pair of our own, gone at the end."""

    def __init__(self):
        self.names = [f"irqlab-bench-{os.getpid()}{end}" for end in "ab"]
        self.made = []

    def ip(self, *args):
        subprocess.run(["ip", *args], check=True)

    def __enter__(self):
        try:
            for name in self.names:
                self.ip("netns", "add", name)
                self.made.append(name)
                self.ip("-n", name, "link", "set", "lo", "up")
            a, b = self.names
            self.ip("-n", a, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", b)
            for name, host in ((a, 1), (b, 2)):
                self.ip("-n", name, "address", "add", f"192.0.2.{host}/24", "dev", "veth0")
                self.ip("-n", name, "link", "set", "veth0", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False)

    def paths(self):
        enter = [["ip", "netns", "exec", name] for name in self.names]
        return [Path("veth", enter[0], enter[1], "192.0.2.1"),
                Path("loopback", enter[0], enter[0], "127.0.0.1")]


class Run:
    """One run of one tool: what it printed, and the CPU time of both ends."""

    def __init__(self, path, server, client, settings, start_s=0.3):
        front = ["chrt", "-r", "1"] if settings.rt else []
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.ends = [subprocess.Popen(path.server + front + server, **quiet)]
        try:
            time.sleep(start_s)  # until it listens: not every client asks twice
            self.ends.append(subprocess.Popen(path.client + front + client, stdout=subprocess.PIPE,
                                              stderr=subprocess.STDOUT))
            signal.alarm(TIMEOUT_S)
            self.text = self.ends[1].stdout.read().decode(errors="replace")
            self.cpu_s, status = self.reap(1)
            signal.alarm(0)
            if status != 0:
                raise Failed(f"{client[0]}: {self.text.strip()[-300:]}")
        finally:
            self.end()

    def reap(self, i):
        _, status, usage = os.wait4(self.ends[i].pid, 0)
        self.ends[i].returncode = status
        return usage.ru_utime + usage.ru_stime, status

    def end(self):
        """A server that serves once has a moment to end by itself."""
        signal.alarm(0)
        for i, p in enumerate(self.ends):
            if p.returncode is not None:
                continue
            for _ in range(20):
                pid, status, usage = os.wait4(p.pid, os.WNOHANG)
                if pid:
                    break
                time.sleep(0.01)
            else:
                p.send_signal(signal.SIGINT if i == 0 else signal.SIGKILL)
                try:
                    signal.alarm(3)
                    pid, status, usage = os.wait4(p.pid, 0)
                except Failed:
                    p.kill()
                    pid, status, usage = os.wait4(p.pid, 0)
                signal.alarm(0)
            p.returncode = status
            self.cpu_s = getattr(self, "cpu_s", 0) + usage.ru_utime + usage.ru_stime


def on_alarm(*_):
    raise Failed(f"did not end within {TIMEOUT_S} s")


def from_json(run, what):
    end = json.loads(run.text)
    if "error" in end:
        raise Failed(end["error"])
    end = end["end"]
    got = end["sum_received"] if "sum_received" in end else end["sum"]
    if what == "bps":
        return got["bits_per_second"]
    if what == "cpu_per_gb":
        return run.cpu_s / (got["bytes"] / 1e9)
    if what == "delivered":
        total = end["sum"]
        return (total["packets"] - total["lost_packets"]) / total["seconds"]
    return end["rr"][what]


def irqlab(path, settings, what, args):
    port = new_port()
    run = Run(path, [IRQLAB, "traffic", "-s", "-1", "-p", port],
              [IRQLAB, "traffic", "-c", path.host, "-p", port, "-t", str(settings.time), "-J", *args],
              settings)
    value = from_json(run, what)
    if what == "delivered":
        total = json.loads(run.text)["end"]["sum_received"]
        length = int(args[args.index("-l") + 1])
        if total["packets"] - total["lost_packets"] != total["bytes"] // length:
            raise Failed("packets less losses are not what was received")
    return value


def iperf3(path, settings, what, args):
    port = new_port()
    run = Run(path, ["iperf3", "-s", "-1", "-p", port],
              ["iperf3", "-c", path.host, "-p", port, "-t", str(settings.time), "-J", *args], settings)
    return from_json(run, what)


def iperf(path, settings, what, args):
    port = new_port()
    run = Run(path, ["iperf", "-s", "-p", port],
              ["iperf", "-c", path.host, "-p", port, "-t", str(settings.time), "-y", "C", *args], settings)
    rows = [line.split(",") for line in run.text.split("\n") if line.count(",") >= 8]
    if not rows:
        raise Failed("iperf: " + run.text.strip()[-300:])
    return float(rows[-1][8])


def nuttcp(path, settings, what, args):
    port = new_port()
    ports = ["-P", port, "-p", str(int(port) + 1)]
    run = Run(path, ["nuttcp", "-1", *ports],
              ["nuttcp", *ports, f"-T{settings.time}", "-fparse", *args, path.host], settings)
    words = dict(w.split("=", 1) for w in run.text.split() if "=" in w)
    if "rate_Mbps" not in words:
        raise Failed("nuttcp: " + run.text.strip()[-300:])
    return float(words["rate_Mbps"]) * 1e6


def sockperf(path, settings, what, args):
    port = new_port()
    tcp = [a for a in args if a == "--tcp"]
    run = Run(path, ["sockperf", "server", "-i", path.host, "-p", port, *tcp],
              ["sockperf", "ping-pong", "-i", path.host, "-p", port, "-t", str(settings.time),
               "--full-rtt", *args], settings, start_s=1)
    mark = {"p50_ns": "percentile 50.000", "p99_ns": "percentile 99.000"}[what]
    for line in run.text.split("\n"):
        if mark in line:
            return float(line.split("=")[1]) * 1e3
    raise Failed("sockperf: " + run.text.strip()[-300:])


TOOLS = {"irqlab": irqlab, "iperf3": iperf3, "iperf": iperf, "nuttcp": nuttcp, "sockperf": sockperf}
UNITS = {"bps": (1e9, "Gbit/s"), "cpu_per_gb": (1, "s/GB"), "delivered": (1e3, "k/s"),
         "p50_ns": (1e3, "us"), "p99_ns": (1e3, "us")}


class Line:
    """One figure: ours over the best of the rivals; @reach and @edge bound median and interval end."""

    def __init__(self, name, title, what, ours, rivals, more, reach, edge=None, paths=("veth", "loopback"),
                 aside=(), bound=""):
        self.name, self.title, self.what, self.ours, self.rivals = name, title, what, ours, rivals
        self.more, self.reach, self.edge, self.paths = more, reach, edge, paths
        self.aside, self.bound = aside, bound


RR = ["--request", "64", "--response", "64"]
LINES = [
    Line("tcp1", "TCP, one stream", "bps", [], {"iperf3": [], "iperf": []}, True, 1.0, 0.97,
         aside={"nuttcp": []}, bound="copy"),
    Line("tcp4", "TCP, four streams", "bps", ["-P", "4"], {"iperf": ["-P", "4"], "iperf3": ["-P", "4"]}, True, 1.0,
         0.97, bound="copy"),
    Line("cpu", "TCP at 5 Gbit/s, CPU per byte", "cpu_per_gb", ["-b", "5G"], {"iperf3": ["-b", "5G"]}, False, 0.9,
         bound="copy_cpu"),
    Line("zc", "TCP, -Z --skip-rx-copy, to iperf3's default", "bps", ["-Z", "--skip-rx-copy"], {"iperf3": []}, True,
         1.5, paths=("loopback",), bound="none"),
    Line("zccpu", "the same at 5 Gbit/s, CPU per byte", "cpu_per_gb", ["-Z", "--skip-rx-copy", "-b", "5G"],
         {"iperf3": ["-b", "5G"]}, False, 0.7, paths=("loopback",), bound="none"),
    Line("udp", "UDP, 64 bytes, delivered", "delivered", ["-u", "-b", "0", "-l", "64"],
         {"iperf3": ["-u", "-b", "0", "-l", "64"]}, True, 1.0, 0.97, bound="syscall"),
    Line("gso", "UDP, 64 bytes, --gsro, delivered", "delivered", ["-u", "-b", "0", "-l", "64", "--gsro"],
         {"iperf3": ["-u", "-b", "0", "-l", "64"]}, True, 5.0, bound="syscall"),
    Line("rr", "TCP round trip, p50", "p50_ns", ["--rr", *RR], {"sockperf": ["--tcp", "-m", "64"]}, False, 1.0, 1.03,
         bound="wake"),
    Line("rr99", "TCP round trip, p99", "p99_ns", ["--rr", *RR], {"sockperf": ["--tcp", "-m", "64"]}, False, 1.0,
         1.03, bound="wake"),
    Line("urr", "UDP round trip, p50", "p50_ns", ["--rr", "-u", *RR], {"sockperf": ["-m", "64"]}, False, 1.0, 1.03,
         bound="wake"),
    Line("urr99", "UDP round trip, p99", "p99_ns", ["--rr", "-u", *RR], {"sockperf": ["-m", "64"]}, False, 1.0, 1.03,
         bound="wake"),
]
RATES = ["1M", "10M", "100M", "1G", "10G"]


def median(v):
    v = sorted(v)
    n = len(v)
    return v[n // 2] if n % 2 else (v[n // 2 - 1] + v[n // 2]) / 2


def interval(v):
    """Order statistics around the median: the narrowest with 95 %, or all, and what they cover."""
    v, n = sorted(v), len(v)
    tail = [sum(math.comb(n, i) for i in range(k + 1)) / 2 ** n for k in range(n)]
    k = max([k for k in range(n // 2) if tail[k] <= 0.025], default=0)
    return v[k], v[n - 1 - k], 1 - 2 * tail[k]


def bound_of(line, value, bounds):
    """How far the figure is from what the machine alone allows."""
    copy, call, wake = bounds["copy_bytes_per_s"], bounds["syscall_ns"], bounds["wake_round_ns"]
    if line.bound == "copy":
        return f"{100 * value / 8 / copy:.0f} % of one copy, {8 * copy / 1e9:.0f} Gbit/s"
    if line.bound == "copy_cpu":
        return f"two copies take {2e9 / copy:.3f} s/GB"
    if line.bound == "syscall":
        return f"{1e9 / value:.0f} ns each; a system call takes {call:.0f}"
    if line.bound == "wake":
        return f"{value / wake:.1f} x a wake-up there and back, {wake / 1e3:.1f} us"
    return "no copy: the path itself"


def measure(line, path, settings, missing):
    tools = {"irqlab": line.ours, **line.rivals, **dict(line.aside or {})}
    tools = {t: a for t, a in tools.items() if t not in missing}
    values = {t: [] for t in tools}
    names = list(tools)
    for i in range(settings.rounds):
        turn = names[i % len(names):] + names[:i % len(names)]
        got = {}
        try:
            for t in turn:
                got[t] = TOOLS[t](path, settings, line.what, tools[t])
        except (Failed, ValueError, KeyError) as why:
            print(f"# {line.name} {path.name} round {i + 1} not counted: {why!r}", flush=True)
            continue
        for t in turn:
            values[t].append(got[t])
    return values


def judge(line, path, values, bounds):
    ours, rivals = values["irqlab"], [values[t] for t in line.rivals if t in values]
    if not ours or not rivals:
        print(f"{line.name:6} {path.name:9} skipped: no round counted, or no rival is installed", flush=True)
        return
    best = [max(r) if line.more else min(r) for r in zip(*rivals)]
    ratios = [a / b for a, b in zip(ours, best)]
    low, high, cover = interval(ratios)
    mid = median(ratios)
    good = mid >= line.reach and low >= (line.edge or 0) if line.more else \
        mid <= line.reach and high <= (line.edge or math.inf)
    scale, unit = UNITS[line.what]
    figures = ", ".join(f"{t} {median(v) / scale:.4g}" for t, v in values.items() if v)
    sign = ">=" if line.more else "<="
    print(f"{line.name:6} {path.name:9} ratio {mid:6.3f} ({low:.3f} to {high:.3f}, {100 * cover:.0f} %, "
          f"{len(ratios)} pairs)  reach {sign} {line.reach}: {'yes' if good else 'NO '}  {figures} {unit}; "
          f"{bound_of(line, median(ours), bounds)}", flush=True)


def pace(path, settings):
    """Ours alone: what -b promises."""
    for rate in RATES:
        port = new_port()
        want = float(rate[:-1]) * {"M": 1e6, "G": 1e9}[rate[-1]]
        run = Run(path, [IRQLAB, "traffic", "-s", "-1", "-p", port],
                  [IRQLAB, "traffic", "-c", path.host, "-p", port, "-t", "10", "-J", "-b", rate], settings)
        doc = json.loads(run.text)
        whole = doc["end"]["sum_sent"]["bits_per_second"] / want - 1
        worst = max((i["sum"]["bits_per_second"] / want - 1 for i in doc["intervals"]), key=abs)
        good = abs(whole) <= 0.005 and abs(worst) <= 0.005
        print(f"pace   {path.name:9} -b {rate:4} {100 * whole:+.3f} % over 10 s, {100 * worst:+.3f} % in its worst "
              f"second  reach 0.5 %: {'yes' if good else 'NO '}", flush=True)


def main():
    # the namespaces go on every way out
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = [line.name for line in LINES] + ["pace"]
    parser = argparse.ArgumentParser(prog="./dev bench traffic", description=__doc__.split("\n\n")[1],
                                     epilog="lines: " + ", ".join(f"{x.name} ({x.title})" for x in LINES) +
                                     ", pace (-b held)")
    parser.add_argument("lines", nargs="*", metavar="LINE", help="only these lines, or those that begin so")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--time", type=int, default=2, help="seconds of a run")
    parser.add_argument("--path", choices=["veth", "loopback"])
    parser.add_argument("--rt", action="store_true", help="both ends of all tools as SCHED_RR, on a machine in use")
    settings = parser.parse_args()
    chosen = [n for n in names if not settings.lines or any(n.startswith(x) for x in settings.lines)]
    if not chosen:
        parser.error(f"no such line; there are {', '.join(names)}")
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("bench: needs root and ip(8) for its two network namespaces")
        return 77
    signal.signal(signal.SIGALRM, on_alarm)
    missing = [t for t in TOOLS if t != "irqlab" and not shutil.which(t)]
    for t in missing:
        print(f"# {t} is not installed: skipped")
    bounds = json.loads(subprocess.run([os.path.join(BUILD, "tests/bench/bench-bounds")], check=True,
                                       stdout=subprocess.PIPE).stdout)
    print(f"# {os.cpu_count()} CPUs, Linux {os.uname().release}; memcpy of 128 KB blocks "
          f"{bounds['copy_bytes_per_s'] / 1e9:.1f} GB/s, a system call {bounds['syscall_ns']:.0f} ns, a wake-up there "
          f"and back {bounds['wake_round_ns'] / 1e3:.1f} us", flush=True)
    with Namespaces() as spaces:
        for path in spaces.paths():
            if settings.path not in (None, path.name):
                continue
            for line in LINES:
                if line.name in chosen and path.name in line.paths:
                    judge(line, path, measure(line, path, settings, missing), bounds)
            if "pace" in chosen and path.name == "veth":
                pace(path, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
