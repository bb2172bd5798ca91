# SPDX-License-Identifier: GPL-3.0-or-later
"""irq.py between|veth|terminal|signal|reader|churn IRQLAB: one check of `irqlab irq` on this machine."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

IRQLAB = sys.argv[2]
LEAVE = b"\033[?25h\033[?1049l"


def counters():
    """row -> sum over CPUs, and when it was read"""
    begin = time.time_ns()
    with open("/proc/interrupts", encoding="ascii", errors="replace") as f:
        lines = f.read().splitlines()
    end = time.time_ns()
    nr = len(lines[0].split())
    rows = {}
    for line in lines[1:]:
        key, rest = line.split(":", 1)
        rows[key.strip()] = sum(int(w) for w in rest.split()[:nr] if w.isdigit())
    return begin, end, rows


def between():
    """The counts of the second window lie between those of an inner and an outer window of ours."""
    readings, over = [counters()], threading.Event()

    def watch():
        while not over.wait(0.01):
            readings.append(counters())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        p = subprocess.Popen([IRQLAB, "irq", "--json", "-n", "2", "-d", "1"], stdout=subprocess.PIPE)
        docs, arrived = [], []
        for line in p.stdout:
            arrived.append(time.time_ns())
            docs.append(json.loads(line))
        assert p.wait() == 0 and len(docs) == 2, docs
    finally:
        over.set()
        watcher.join()
    readings.append(counters())
    first, last = docs
    outer = [r for r in readings if r[1] <= first["wall_ns"]][-1][2], [r for r in readings if r[0] >= arrived[1]][0][2]
    inner = [r[2] for r in readings if r[0] >= arrived[0] and r[1] <= last["wall_ns"]]
    assert len(inner) >= 2, "no reading of ours fell between the two of irqlab"
    checked = moved = 0
    for row in last["irqs"]:
        key = row["irq"]
        if key not in outer[0] or key not in outer[1]:
            continue
        least, most = inner[-1][key] - inner[0][key], outer[1][key] - outer[0][key]
        assert least <= row["delta"] <= most, (key, least, row["delta"], most)
        assert abs(row["rate"] * last["seconds"] - row["delta"]) < 1e-6 * (1 + row["delta"]), row
        if row["cpu_delta"] is not None:
            assert sum(row["cpu_delta"]) == row["delta"], row
        checked += 1
        moved += least > 0
    print(checked, "rows,", moved, "moved")
    assert checked > 5 and moved > 0
    totals = {r["irq"]: r["total"] for r in first["irqs"]}
    assert all(r["total"] - totals[r["irq"]] == r["delta"] for r in last["irqs"] if r["irq"] in totals)


def one(*options):
    return json.loads(subprocess.run([IRQLAB, "irq", "--json", "-n1", "-d", "0.1", *options], stdout=subprocess.PIPE,
                                     check=True).stdout)


def veth():
    """In a namespace of its own, with its own /sys: the NAPI threads of a veth with their pid and policy."""
    run = lambda c: subprocess.run(c, shell=True, check=True)
    run("ip link add va type veth peer name vb && ethtool -K va gro on >/dev/null && ip link set va up && "
        "ip link set vb up && echo 1 >/sys/class/net/va/threaded")
    napis = [n for n in one()["napis"] if n["netdev"] == "va"]
    assert len(napis) >= 1, "no NAPI instance of va"
    for n in napis:
        t = n["thread"]
        with open(f"/proc/{t['tid']}/comm", encoding="ascii") as f:
            assert f.read().strip() == t["comm"] == f"napi/va-{n['id']}", n
        assert t["policy"] == "OTHER" and n["irq"] is None, n
        run(f"chrt -f -p 42 {t['tid']} && taskset -p -c 0 {t['tid']} >/dev/null")
    for n in one()["napis"]:
        if n["netdev"] == "va":
            assert n["thread"]["policy"] == "FIFO" and n["thread"]["rt_priority"] == 42, n
            assert n["thread"]["cpus"] == "0", n
    text = subprocess.run([IRQLAB, "irq", "-n1", "-d", "0.1"], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert re.search(r"va +- 0 +napi/va-\d+ FIFO:42", text), text


class Terminal:
    def __init__(self, columns, lines, *options, **env):
        self.master, self.slave = pty.openpty()
        self.size(columns, lines)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        # a session of its own with the terminal as its controlling one: it is told of resizes
        self.p = subprocess.Popen([IRQLAB, "irq", "-d", "0.1", *options], stdin=self.slave, stdout=self.slave,
                                  env={**os.environ, "TERM": "xterm", **env}, start_new_session=True,
                                  preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def size(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, pattern):
        """Read on until @pattern comes; what was read before it is dropped."""
        while True:
            m = re.search(pattern, self.seen)
            if m:
                self.seen = self.seen[m.end():]
                return m
            self.seen += os.read(self.master, 65536)

    def frame(self):
        """One whole screen: its lines without escapes."""
        self.until(rb"\033\[H")
        m = self.until(rb"(?s)(.*?)\033\[J")
        return re.sub(rb"\033\[[0-9;?]*[a-zA-Z]", b"", m[1]).decode().replace("\r", "").split("\n")[:-1]

    def type(self, keys):
        os.write(self.master, keys)

    def frame_with(self, pattern):
        while True:
            f = self.frame()
            if any(re.search(pattern, line) for line in f):
                return f

    def end(self, leave=True):
        if leave:
            self.until(re.escape(LEAVE))
        assert self.p.wait() == 0, self.p.returncode
        assert termios.tcgetattr(self.slave) == self.before, "the terminal's settings are not given back"


def fits(frame, columns, lines):
    assert len(frame) <= lines and all(len(x) <= columns for x in frame), frame


def terminal():
    t = Terminal(60, 12)
    fits(t.frame_with(r"^ +IRQ +RATE/s"), 60, 11)
    t.type(b"s")
    fits(t.frame_with(r"SOFTIRQ +RATE/s"), 60, 11)
    t.type(b"st")
    t.frame_with(r"by total$")
    t.type(b"i")
    frame = t.frame_with(r"by irq$")
    ids = [int(x.split()[0]) for x in frame[2:] if re.match(r" *\d+ ", x)]
    assert ids == sorted(ids) and ids, frame
    t.type(b"nd?x")
    t.frame_with(r"by delta$")
    t.size(130, 30)
    fits(t.frame_with(r"THREAD"), 130, 29)
    t.size(20, 3)
    while max(map(len, frame)) > 20 or len(frame) > 2:
        frame = t.frame()
    t.type(b"q")
    t.end()
    t = Terminal(80, 24, NO_COLOR="1")
    m = t.until(rb"(?s)RATE/s.*?\033\[J")
    assert b"\033[7m" not in m[0] and b"\033[2m" not in m[0], m[0]
    t.type(b"q")
    t.end()
    t = Terminal(80, 24, NO_COLOR="")
    t.until(rb"\033\[7m +IRQ")
    t.type(b"Q")
    t.end()
    t = Terminal(80, 24, "-b", "-n", "2")  # no screen is taken
    t.until(rb"RATE/s(?s:.)*RATE/s")
    assert b"\033" not in t.seen
    t.end(leave=False)


def signals():
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        t = Terminal(80, 24)
        t.frame()
        t.p.send_signal(number)
        t.end()
    t = Terminal(80, 24)
    t.frame()
    t.type(b"\x03")
    t.end()


def reader():
    """A reader that has had enough."""
    p = subprocess.Popen([IRQLAB, "irq", "-d", "0.05"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    err = p.stderr.read()
    assert p.wait() == 0 and err == b"", (p.returncode, err)


def churn():
    """Netdevs with threads come and go between and within the readings."""
    p = subprocess.Popen([IRQLAB, "irq", "--json", "-n", "40", "-d", "0.02"], stdout=subprocess.PIPE)
    over = threading.Event()

    def come_and_go():
        while not over.is_set():
            subprocess.run("ip link add va type veth peer name vb && ethtool -K va gro on >/dev/null && ip link set va up && "
                           "echo 1 >/sys/class/net/va/threaded; ip link del va", shell=True, check=True)

    worker = threading.Thread(target=come_and_go)
    worker.start()
    seen = [json.loads(line) for line in p.stdout]
    over.set()
    worker.join()
    assert p.wait() == 0 and len(seen) == 40
    print("napis:", sorted({len(d["napis"]) for d in seen}))


{"between": between, "veth": veth, "terminal": terminal, "signal": signals, "reader": reader, "churn": churn}[sys.argv[1]]()
