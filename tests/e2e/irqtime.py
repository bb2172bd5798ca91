#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The BPF accounts against perf's record of the same tracepoints in the same run.

From the record every handler, vector, softirq, poll and thread is accounted here in another way: a
stack of contexts on each CPU, whose top is charged with the time since the event before.  Counts must
lie between what the record has in a window within two readings and in one around them; times in the
softirq that the load keeps busy agree within 2 % or 100 ns an event.  Rarer events find cold caches,
in which perf comes to its clock up to a microsecond later at the start than at the end: there it is
10 % or 1 us.

Some kernels do not show every switch of every thread.  Each CPU is judged on the longest stretch of
readings in which the record has a whole chain of switches.

usage: irqtime.py IRQTIME_MAIN      TAP on stdout
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

VECTORS = ("local_timer", "reschedule", "call_function", "call_function_single")
# the record of an event and its count are not at the same instant, nor is a reading of all rows
GUARD_NS = 1_000_000
READINGS, PAUSE_S = 20, 0.12
MANY = 100  # events of a row whose time is compared
BUSY, COLD = (0.02, 100), (0.1, 1000)  # room: share, ns an event

# packets over a loopback of its own, paced so that the record is of a size that can be read
LOAD = """
import socket, time
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for i in range(20):
        s.sendto(b"x" * 200, r.getsockname())
        r.recv(300)
    time.sleep(0.001)
"""


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


class Results:
    def __init__(self, nr):
        self.n = 0
        print(f"1..{nr}")

    def __call__(self, name, problems):
        self.n += 1
        print(f"{'not ok' if problems else 'ok'} {self.n} - {name}", flush=True)
        for p in problems[:20]:
            print(f"# {p}")


class Accounts:
    """irqtime_main: a table each time it is asked for."""

    def __init__(self, program):
        self.p = subprocess.Popen([program, "hardirqs", "softirqs", "napi", "threads", "latency"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.lacks = []
        while True:
            line = self.p.stdout.readline().strip()
            if line == "READY":
                return
            if not line:
                skip_all(self.p.stderr.read().strip())
            self.lacks.append(line)

    def read(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()
        _, before, after, lost = self.p.stdout.readline().split()
        rows = {}
        for line in self.p.stdout:
            if line.strip() == "END":
                break
            kind, cpu, ident, *numbers, name = line.rstrip("\n").split(" ", 8)
            key = (kind, int(cpu), int(ident), name)
            if kind == "thread":  # a name may change
                key = (kind, int(cpu), int(ident), "")
            elif kind == "napi":
                key = (kind, int(cpu), 0, name)
            old = rows.get(key, (0,) * 5)
            rows[key] = tuple(a + int(b) for a, b in zip(old, numbers))
        return int(before), int(after), int(lost), rows

    def close(self):
        self.p.stdin.close()
        self.p.wait()


EVENTS = ("irq:softirq_raise,irq:softirq_entry,irq:softirq_exit,irq:irq_handler_entry,"
          "irq:irq_handler_exit,sched:sched_switch,napi:napi_poll," +
          ",".join(f"irq_vectors:{v}_{e}" for v in VECTORS for e in ("entry", "exit")))


class Record:
    """perf record of all the events, on while it is wanted."""

    def __init__(self, folder):
        self.file = os.path.join(folder, "perf.data")
        ctl, ack = (os.path.join(folder, n) for n in ("ctl", "ack"))
        os.mkfifo(ctl)
        os.mkfifo(ack)
        self.p = subprocess.Popen(["perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-m", "16M",
                                   "-D", "-1", f"--control=fifo:{ctl},{ack}", "-o", self.file,
                                   "-e", EVENTS, "sleep", "1000"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        self.ctl, self.ack = (os.open(f, os.O_RDWR) for f in (ctl, ack))
        self.command("enable")

    def command(self, word):
        os.write(self.ctl, f"{word}\n".encode())
        os.set_blocking(self.ack, False)
        while True:
            if self.p.poll() is not None:
                skip_all(f"perf record: {self.p.stderr.read().strip()[:200]}")
            try:
                if b"ack" in os.read(self.ack, 64):
                    return
            except BlockingIOError:
                time.sleep(0.01)

    def close(self):
        self.command("disable")
        self.p.terminate()
        self.p.wait()
        for fd in self.ctl, self.ack:
            os.close(fd)

    def events(self):
        """(cpu, ns, name, fields) by time; None when perf lost some."""
        p = subprocess.run(["perf", "script", "-i", self.file, "--ns", "--show-lost-events",
                            "-F", "cpu,time,event,trace"], capture_output=True, text=True)
        out = []
        for line in p.stdout.splitlines():
            if "PERF_RECORD_LOST" in line:
                return None
            m = re.match(r"\s*\[(\d+)\]\s+(\d+)\.(\d{9}):\s+\w+:(\w+): (.*)", line)
            if m:
                out.append((int(m[1]), int(m[2]) * 10**9 + int(m[3]), m[4], m[5]))
        return out


class Window:
    """What of the record belongs to a window: events by their end, threads by overlap."""

    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi
        self.count, self.ns = collections.Counter(), collections.Counter()
        self.packets, self.waits, self.wait_ns = (collections.Counter() for _ in range(3))

    def has(self, t):
        return self.lo < t <= self.hi

    def overlap(self, a, b):
        return max(0, min(b, self.hi) - max(a, self.lo))


class Cpu:
    def __init__(self):
        self.last = None
        self.stack = []  # [key, name of its end, ns so far]
        self.thread, self.since = None, 0
        self.raised = {}


def field(text, name):
    return re.search(rf"\b{name}=(\S+)", text)[1]


def analyse(events, windows):
    """Fill the windows; return each CPU's times in which a switch was not shown."""
    cpus, doubts = collections.defaultdict(Cpu), collections.defaultdict(list)
    for cpu, t, name, text in events:
        c = cpus[cpu]
        if c.last is not None:
            if c.stack:
                c.stack[-1][2] += t - c.last
            elif c.thread is not None:
                for w in windows:
                    w.ns["thread", cpu, c.thread, ""] += w.overlap(c.last, t)
        c.last = t
        if name == "sched_switch":
            prev, nxt = int(field(text, "prev_pid")), int(field(text, "next_pid"))
            if c.thread is not None and c.thread != prev:
                doubts[cpu].append((c.since, t))
            c.thread, c.since = nxt, t
        elif name == "napi_poll":
            dev, work = re.search(r"for device (\S+) work (\d+)", text).groups()
            key = ("napi", cpu, 0, "" if dev == "(no_device)" else dev)
            for w in windows:
                if w.has(t):
                    w.count[key] += 1
                    w.packets[key] += int(work)
        elif name == "softirq_raise":
            c.raised.setdefault(field(text, "vec"), t)
        elif name.endswith("_entry"):
            if name == "softirq_entry":
                m = re.search(r"vec=(\d+) \[action=(\w+)\]", text)
                key = ("softirq", cpu, int(m[1]), m[2])
                raised = c.raised.pop(m[1], None)
                for w in windows:
                    if raised is not None and w.has(t):
                        w.waits[key] += 1
                        w.wait_ns[key] += t - raised
            elif name == "irq_handler_entry":
                m = re.search(r"irq=(\d+) name=(.*)", text)
                key = ("hardirq", cpu, int(m[1]), m[2].strip())
            else:
                key = ("vector", cpu, int(field(text, "vector")), name[:-len("_entry")])
            c.stack.append([key, name[:-len("entry")] + "exit", 0])
        elif c.stack and c.stack[-1][1] == name:
            key, _, ns = c.stack.pop()
            for w in windows:
                if w.has(t):
                    w.count[key] += 1
                    w.ns[key] += ns
    return doubts


def load():
    return subprocess.Popen(["unshare", "-n", "sh", "-c",
                             'ip link set lo up && exec "$0" -c "$1"', sys.executable, LOAD],
                            stdout=subprocess.DEVNULL)


def measure(program):
    """Readings, perf's events, what the kernel lacks."""
    with tempfile.TemporaryDirectory() as folder:
        busy = load()
        try:
            # whose programs were attached first run first: ours are shorter than perf's
            accounts = Accounts(program)
            record = Record(folder)
            readings = []
            for _ in range(READINGS):
                time.sleep(PAUSE_S)
                readings.append(accounts.read())
            time.sleep(0.02)
            record.command("disable")
            accounts.close()
            record.close()
        finally:
            busy.terminate()
            busy.wait()
        return readings, record.events(), accounts.lacks


def longest_stretch(readings, doubts):
    """Indices of the first and last reading between which no switch was hidden on a CPU."""
    best, first = (0, 0), 0
    for i in range(1, len(readings)):
        lo, hi = readings[i - 1][0] - GUARD_NS, readings[i][1] + GUARD_NS
        if any(a < hi and b > lo for a, b in doubts):
            first = i
        elif i - first > best[1] - best[0]:
            best = (first, i)
    return best


def outside(low, value, high):
    return value < low or value > high


class Comparison:
    """A CPU's rows between two readings, and what the record has of them."""

    def __init__(self, cpu, readings, events, stretch):
        (a0, a1, self.lost, before), (b0, b1, lost, after) = (readings[i] for i in stretch)
        self.cpu, self.length_ns, self.lost = cpu, b0 - a1, lost - self.lost
        self.inner = Window(a1 + GUARD_NS, b0 - GUARD_NS)
        self.outer = Window(a0 - GUARD_NS, b1 + GUARD_NS)
        analyse([e for e in events if e[0] == cpu], (self.inner, self.outer))
        self.rows = {k: tuple(max(0, x - y) for x, y in zip(now, before.get(k, (0,) * 5)))
                     for k, now in after.items() if k[1] == cpu}

    def counts(self):
        for key in set(self.rows) | set(self.inner.count):
            if key[0] == "thread" or (key[0] == "vector" and key[3] not in VECTORS):
                continue
            ours = self.rows.get(key, (0,) * 5)[0]
            if outside(self.inner.count[key], ours, self.outer.count[key]):
                yield f"{key}: {ours}, perf {self.inner.count[key]} to {self.outer.count[key]}"

    def times(self, kinds, names=()):
        for key, (count, ns, *_) in self.rows.items():
            if key[0] not in kinds or self.inner.count[key] < MANY:
                continue
            share, ns_an_event = BUSY if key[3] in names else COLD
            room = max(share * self.outer.ns[key], ns_an_event * count)
            if outside(self.inner.ns[key] - room, ns, self.outer.ns[key] + room):
                yield (f"{key}: {ns / count:.0f} ns an event, perf "
                       f"{self.inner.ns[key] / self.inner.count[key]:.0f}")

    def threads(self):
        for key, (count, ns, *_) in self.rows.items():
            if key[0] != "thread" or self.inner.ns[key] < 20_000_000:
                continue
            room = max(0.02 * self.outer.ns[key], 100 * count)
            if outside(self.inner.ns[key] - room, ns, self.outer.ns[key] + room):
                yield f"{key}: {ns} ns, perf {self.inner.ns[key]} to {self.outer.ns[key]}"

    def packets(self):
        for key, row in self.rows.items():
            if key[0] == "napi" and outside(self.inner.packets[key], row[3],
                                            self.outer.packets[key]):
                yield (f"{key}: {row[3]} packets, perf {self.inner.packets[key]} to "
                       f"{self.outer.packets[key]}")

    def waits(self):
        for key, (_, _, _, ns, waits) in self.rows.items():
            if key[0] != "softirq" or self.inner.waits[key] < MANY:
                continue
            room = max(COLD[0] * self.outer.wait_ns[key], COLD[1] * waits)
            if outside(self.inner.waits[key], waits, self.outer.waits[key]):
                yield (f"{key}: waited {waits} times, perf {self.inner.waits[key]} to "
                       f"{self.outer.waits[key]}")
            if outside(self.inner.wait_ns[key] - room, ns, self.outer.wait_ns[key] + room):
                yield (f"{key}: waited {ns / waits:.0f} ns, perf "
                       f"{self.inner.wait_ns[key] / self.inner.waits[key]:.0f}")

    def sums(self):
        """All that a CPU did is its time, each moment once."""
        ns = sum(r[1] for k, r in self.rows.items() if k[0] != "napi")
        if outside(0.99 * self.length_ns - GUARD_NS, ns, 1.01 * self.length_ns + GUARD_NS):
            yield f"cpu {self.cpu}: {ns} ns of {self.length_ns}"


def main():
    if os.geteuid() != 0:
        skip_all("needs root")
    for program in "perf", "unshare", "ip":
        if not shutil.which(program):
            skip_all(f"{program} is not installed")
    readings, events, lacks = measure(sys.argv[1])
    if events is None:
        skip_all("perf lost events: the machine is too busy to record all")
    doubts = analyse(events, ())
    cpus = []
    for cpu in sorted({e[0] for e in events}):
        stretch = longest_stretch(readings, doubts[cpu])
        if stretch[1] > stretch[0]:
            cpus.append(Comparison(cpu, readings, events, stretch))
    if not cpus:
        skip_all("this kernel hides switches all the time")
    result = Results(7)

    def every(what, *args):
        return [problem for c in cpus for problem in getattr(c, what)(*args)]

    result("every count lies between an inner and an outer window of perf", every("counts"))
    result("time in handlers and vectors agrees with perf's record",
           every("times", ("hardirq", "vector")))
    result("time in softirqs agrees with perf's record", every("times", ("softirq",), ("NET_RX",)))
    result("packets of polls lie between the windows", every("packets"))
    result("time of threads agrees with perf's record", every("threads"))
    result("from raise to start agrees with perf's record", every("waits"))
    result("all rows of a CPU are its time", every("sums"))
    for c in cpus:
        net_rx = c.inner.count["softirq", c.cpu, 3, "NET_RX"]
        print(f"# cpu {c.cpu}: {c.length_ns / 1e6:.0f} ms, {sum(c.inner.count.values())} events, "
              f"{net_rx} NET_RX, {c.lost} in no row")


main()
