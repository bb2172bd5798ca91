#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The traffic engine against stock iperf3 in both roles, and against itself.

What one end reports of itself is exact; sender and receiver differ at most by what buffers hold;
retransmits and loss agree; our JSON has every key of stock iperf3's with the same type; our tables
are stock iperf3's but for the numbers.

usage: matrix.py IRQLAB      TAP on stdout; IPERF3=program names another iperf3
"""

import fcntl
import itertools
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

OURS = [sys.argv[1], "traffic"]
STOCK = [os.environ.get("IPERF3", "iperf3")]
PROGRAMS = {"ours": OURS, "stock": STOCK}
F_SETPIPE_SZ = 1031  # of Linux; fcntl knows it from Python 3.10 on
AT_ONCE = 6  # tests at a time: most of them are paced and wait


# below the range that the kernel gives to clients: one of a test beside this one may not take it
PORTS = itertools.count(10000 + os.getpid() % 10000)


def free_port():
    """A port that neither TCP nor UDP has in use."""
    for port in PORTS:
        try:
            for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
                with socket.socket(socket.AF_INET, kind) as s:
                    s.bind(("127.0.0.1", port))
            return port
        except OSError:
            pass


def listens(port):
    want = re.compile(r":%04X 0*:0000 0A" % port)
    for name in "/proc/net/tcp", "/proc/net/tcp6":
        with open(name) as f:
            if want.search(f.read()):
                return True
    return False


def serve(which, options=()):
    """A server for one test, listening."""
    port = free_port()
    log = tempfile.TemporaryFile("w+")
    p = subprocess.Popen(PROGRAMS[which] + ["-s", "-1", "-p", str(port), *options], stdout=log, stderr=log)
    while not listens(port):  # not by connecting: that would be the one test
        if p.poll() is not None:
            log.seek(0)
            raise AssertionError("server: " + log.read())
        time.sleep(0.02)
    return p, port, log


def text_of(log):
    log.seek(0)
    return log.read()


def run(server, client, options, host="127.0.0.1", server_options=(), relay=None):
    """One test; the client's and the server's output."""
    p, port, log = serve(server, server_options)
    try:
        at = relay.start(port) if relay else port
        c = subprocess.run(PROGRAMS[client] + ["-c", host, "-p", str(at), *options], capture_output=True, text=True)
        if c.returncode == 0:
            p.wait()
        out = text_of(log)
        assert c.returncode == 0, (c.returncode, c.stdout[-600:], c.stderr[-600:], out[-600:])
        assert p.returncode == 0, ("server", p.returncode, out[-600:])
        return c.stdout, out
    finally:
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
            p.wait()
        if relay:
            relay.stop()


# ---- what must hold of a client's JSON ----

def near(a, b, share):
    return abs(a - b) <= share * max(abs(a), abs(b)) + 1e-9


def check_rates(doc):
    def walk(o):
        if isinstance(o, dict):
            if "bits_per_second" in o and "bytes" in o and o.get("seconds", 0) > 0:
                assert near(o["bits_per_second"], o["bytes"] * 8 / o["seconds"], 0.01), o
            if "lost_percent" in o:
                assert 0 <= o["lost_percent"] <= 100, o
            for v in o.values():
                walk(v)
        elif isinstance(o, list):
            for v in o:
                walk(v)
    walk(doc)


def buffers():
    """What the two sockets of a TCP stream hold at most when the kernel sizes them."""
    most = 0
    for name in "tcp_rmem", "tcp_wmem":
        with open("/proc/sys/net/ipv4/" + name) as f:
            most += int(f.read().split()[2])
    return most


def check_direction(doc, reverse, server, client):
    """One direction of a test: sums of both ends, and the interval rows."""
    suffix = "_bidir_reverse" if reverse else ""
    end, start = doc["end"], doc["start"]["test_start"]
    sent, received = end["sum_sent" + suffix], end["sum_received" + suffix]
    held = start["num_streams"] * buffers()
    receiver = client if reverse or start["reverse"] else server
    assert received["bytes"] > 0, "nothing received"
    if start["protocol"] == "TCP" and start["omit"]:
        # each end counts from its own end of the omitted seconds
        most = start["target_bitrate"] / 8 * start["num_streams"] * received["seconds"]
        assert received["bytes"] <= most + held + start["num_streams"] * 16 * start["blksize"], (received, most)
    elif start["protocol"] == "TCP":
        # our receivers read to the end that our senders and stock servers set
        most = 0 if client == "ours" and receiver == "ours" else held
        assert 0 <= sent["bytes"] - received["bytes"] <= most, (sent["bytes"], received["bytes"])
    else:
        size = start["blksize"]
        assert sent["bytes"] == sent["packets"] * size, (sent, size)
        delivered = received["packets"] - received["lost_packets"]
        if client == "ours":
            assert received["bytes"] == delivered * size, (received, size)
        assert received["packets"] <= sent["packets"], (sent, received)
    if client != "ours":
        return
    # the rows are the whole, but for what came after the last one
    key = "sum_bidir_reverse" if reverse else "sum"
    rows = [i[key] for i in doc["intervals"] if not i[key]["omitted"]]
    mine = sent if rows[0]["sender"] else received
    after = mine["bytes"] - sum(r["bytes"] for r in rows)
    assert after >= 0, (mine, rows)
    if start["target_bitrate"]:
        rate = start["target_bitrate"] / 8 * start["num_streams"]
        late = max(0, max(sent["end"], received["end"]) - rows[-1]["end"])
        blocks = start["num_streams"] * 16 * start["blksize"]
        assert after <= held + rate * late + blocks, (after, held, rate, late)


def check_amount(doc, options):
    start, sent = doc["start"]["test_start"], doc["end"]["sum_sent"]
    if start["target_bitrate"] and "-n" not in options:
        # pacing never runs ahead by more than some blocks
        most = start["target_bitrate"] / 8 * start["num_streams"] * sent["seconds"]
        assert sent["bytes"] <= most + start["num_streams"] * 16 * start["blksize"], (sent, most)
    if "-n" in options:
        asked = start["bytes"]
        got = sent["bytes"] if "-R" not in options else doc["end"]["sum_received"]["bytes"]
        assert got >= asked * (0.99 if start["protocol"] == "UDP" else 1), (got, asked)


def check(doc, options, server, client):
    assert "error" not in doc, doc["error"]
    start = doc["start"]["test_start"]
    if client == "ours":
        check_rates(doc)
    check_direction(doc, False, server, client)
    if "--bidir" in options:
        check_direction(doc, True, server, client)
    streams = doc["end"]["streams"]
    want = start["num_streams"] * (2 if "--bidir" in options else 1)
    assert len(streams) == want, (len(streams), want)
    check_amount(doc, options)
    if "-O" in options:
        omitted = [i for i in doc["intervals"] if i["sum"]["omitted"]]
        assert omitted, "no omitted rows"
        # the rows of what counts start over
        first = [i for i in doc["intervals"] if not i["sum"]["omitted"]][0]
        assert first["sum"]["start"] < 0.3, first["sum"]


TESTS = [
    ("TCP", ["-t", "1"]),
    ("TCP -R", ["-t", "1", "-R"]),
    ("TCP --bidir", ["-t", "1", "--bidir", "-b", "200M"]),
    ("TCP -P 4", ["-t", "1", "-P", "4", "-b", "50M"]),
    ("TCP -P 4 -R", ["-t", "1", "-P", "4", "-R", "-b", "50M"]),
    ("TCP -P 4 --bidir", ["-t", "1", "-P", "4", "--bidir", "-b", "20M"]),
    ("TCP -n", ["-n", "20M", "-b", "400M"]),
    ("TCP -n -R", ["-n", "20M", "-R", "-b", "400M"]),
    ("TCP -k", ["-k", "50", "-b", "400M"]),
    ("TCP -O", ["-t", "1", "-O", "1", "-b", "50M"]),
    ("TCP -O -R", ["-t", "1", "-O", "1", "-R", "-b", "50M"]),
    ("TCP options", ["-t", "1", "-w", "256K", "-l", "16K", "-C", "reno", "-M", "1000", "-N", "-S", "0x10", "-b", "50M"]),
    ("TCP -6", ["-t", "1", "-6", "-b", "50M"]),
    ("TCP -Z", ["-t", "1", "-Z", "-b", "400M"]),
    ("UDP", ["-t", "1", "-u", "-b", "20M"]),
    ("UDP -R", ["-t", "1", "-u", "-R", "-b", "20M"]),
    ("UDP --bidir", ["-t", "1", "-u", "--bidir", "-b", "20M"]),
    ("UDP -P 4", ["-t", "1", "-u", "-P", "4", "-b", "5M"]),
    ("UDP -P 4 -R", ["-t", "1", "-u", "-P", "4", "-R", "-b", "5M"]),
    ("UDP -l", ["-t", "1", "-u", "-l", "200", "-b", "2M"]),
    ("UDP 64 bit", ["-t", "1", "-u", "--udp-counters-64bit", "-b", "5M"]),
    ("UDP -n", ["-u", "-n", "1M", "-b", "40M"]),
    ("UDP -O", ["-t", "1", "-u", "-O", "1", "-b", "10M"]),
    ("UDP -6", ["-t", "1", "-u", "-6", "-b", "5M"]),
]
PAIRS = [("stock", "ours"), ("ours", "stock"), ("ours", "ours")]


def matrix_test(server, client, options):
    host = "::1" if "-6" in options else "127.0.0.1"
    out, _ = run(server, client, ["-J", *options], host)
    check(json.loads(out), options, server, client)


# ---- both ends' own words of one test ----

def test_ends_agree(options):
    """Each end's own figures are what the other one passes on."""
    out, served = run("ours", "ours", ["-J", *options], server_options=["-J"])
    client, server = json.loads(out), json.loads(served)
    for mine, theirs in (client, server), (server, client):
        for a, b in zip(mine["end"]["streams"], theirs["end"]["streams"]):
            for role in a:
                if role in b:
                    for key in "bytes", "retransmits", "lost_packets", "packets":
                        assert a[role].get(key) == b[role].get(key), (role, key, a, b)
    assert client["start"]["cookie"] == server["start"]["cookie"]


def unread(port):
    """What is in the UDP sockets of that local port and nobody has read yet."""
    waiting = 0
    for name in "/proc/net/udp", "/proc/net/udp6":
        with open(name) as f:
            for fields in map(str.split, list(f)[1:]):
                if int(fields[1].rsplit(":", 1)[1], 16) == port:
                    waiting += int(fields[4].split(":")[1], 16)
    return waiting


class Relay:
    """Passes a test on and drops every tenth datagram of the client, counting.

    Order is kept: what the client says is passed on only when all datagrams that it sent before have been, and
    the server has read them.
    """

    def __init__(self):
        self.dropped = self.passed = 0
        self.ends = {}  # socket: the one at the other side
        self.clients = {}  # address of the client: socket towards the server
        self.selector = selectors.DefaultSelector()
        self.wake, self.stopped = socket.socketpair()

    def start(self, port):
        self.server = ("127.0.0.1", port)
        self.tcp, self.udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.tcp.bind(("127.0.0.1", 0))
        self.udp.bind(("127.0.0.1", self.tcp.getsockname()[1]))
        self.udp.setblocking(False)
        self.tcp.listen()
        for s, f in (self.tcp, self.accept), (self.udp, self.datagrams), (self.stopped, None):
            self.selector.register(s, selectors.EVENT_READ, f)
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        return self.tcp.getsockname()[1]

    def stop(self):
        self.wake.close()
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

    def work(self):
        while True:
            ready = {key.fileobj: key.data for key, _ in self.selector.select()}
            if self.stopped in ready:
                return
            for s, f in ready.items():
                try:
                    f(s)
                except OSError:
                    self.forget(s)

    def forget(self, s):
        if s in self.selector.get_map():
            self.selector.unregister(s)

    def accept(self, listener):
        a, _ = listener.accept()
        b = socket.create_connection(self.server)
        self.ends.update({a: b, b: a})
        self.selector.register(a, selectors.EVENT_READ, self.from_client)
        self.selector.register(b, selectors.EVENT_READ, self.copy)

    def copy(self, s):
        data = s.recv(65536)
        if data:
            self.ends[s].sendall(data)
        else:
            self.forget(s)
            self.ends[s].shutdown(socket.SHUT_WR)

    def from_client(self, s):
        self.datagrams(self.udp)
        while unread(self.server[1]):
            time.sleep(0.001)
        self.copy(s)

    def datagrams(self, udp):
        while True:
            try:
                data, client = udp.recvfrom(65536)
            except BlockingIOError:
                return
            if client not in self.clients:
                end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                end.connect(self.server)
                self.clients[client] = end
                self.selector.register(end, selectors.EVENT_READ, lambda e, c=client: udp.sendto(e.recv(65536), c))
            if len(data) > 4 and int.from_bytes(data[8:12], "big") % 10 == 5:
                self.dropped += 1
                continue
            self.passed += len(data) > 4
            self.clients[client].send(data)


def test_loss_is_exact(server, client):
    relay = Relay()
    # all of it fits into any socket's buffer: nobody loses anything that has to wait
    out, _ = run(server, client, ["-J", "-u", "-n", "70000", "-b", "1M", "-l", "1000"], relay=relay)
    doc = json.loads(out)
    sent, received = doc["end"]["sum_sent"], doc["end"]["sum_received"]
    assert relay.dropped >= 6, relay.dropped
    assert received["packets"] - received["lost_packets"] == relay.passed, (received, relay.passed)
    assert received["bytes"] == relay.passed * 1000, (received, relay.passed)
    assert sent["packets"] == relay.passed + relay.dropped, (sent, relay.passed, relay.dropped)
    # a loss after which nothing comes is seen by nobody but who knows both ends
    assert 0 <= relay.dropped - received["lost_packets"] <= 1, (received, relay.dropped)
    if client == "ours":
        assert doc["end"]["sum"]["undelivered_packets"] == relay.dropped, doc["end"]["sum"]


# ---- keys ----

def keys(o, path=""):
    out = {}
    if isinstance(o, dict):
        for k, v in o.items():
            out.update(keys(v, path + "." + k))
    elif isinstance(o, list):
        for v in o:
            out.update(keys(v, path + "[]"))
    else:
        out[path] = "number" if type(o) in (int, float) else type(o).__name__
    return out


# keys that versions after Debian's have, by where they stand
LATER = """.start.timestamp.timemillisecs .start.fq_rate .start.test_start.bidir .start.test_start.fqrate
.start.test_start.interval .start.test_start.gso .start.test_start.gro""".split()
LATER_TCP = """.intervals[].streams[].reorder .intervals[].streams[].snd_wnd .end.streams[].sender.reorder""".split()


def missing_keys(stock, mine):
    return {k: (t, mine.get(k)) for k, t in stock.items() if mine.get(k) != t}


def test_keys(options, later):
    stock, stock_served = run("stock", "stock", ["-J", *options], server_options=["-J"])
    mine, mine_served = run("ours", "ours", ["-J", *options], server_options=["-J"])
    lacking = missing_keys(keys(json.loads(stock)), keys(json.loads(mine)))
    assert not lacking, lacking
    lacking = missing_keys(keys(json.loads(stock_served)), keys(json.loads(mine_served)))
    assert not lacking, ("server", lacking)
    lacking = [k for k in LATER + later if k not in keys(json.loads(mine))]
    assert not lacking, lacking


def test_json_stream():
    out, served = run("ours", "ours", ["--json-stream", "-t", "1", "-i", "0.5", "-b", "10M", "--get-server-output"])
    events = [json.loads(line) for line in out.splitlines()]
    assert [e["event"] for e in events] == ["start", "interval", "interval", "end", "server_output_text"], events
    assert events[-1]["data"] in served, events[-1]
    out, _ = run("ours", "ours", ["--json-stream-full-output", "-t", "1", "-b", "10M"])
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if not line.startswith('{"event"'))
    assert "end" in json.loads("\n".join(lines[at:]))


# ---- tables ----

def shape(text, role):
    """Lines with their numbers taken out; rows that a moment decides about are left out."""
    out = []
    for line in text.splitlines():
        line = re.sub(r"iperf 3\..*|irqlab .*", "PROGRAM", line)
        line = re.sub(r" *[0-9.]+ [KMGT]?(Bytes|bits)", r"   N \1", line)
        line = re.sub(r"^\[ *[0-9]+\]", "[  N]", line)
        line = re.sub(r"  [0-9.]+-[0-9.]+ +sec", "  N-N sec", line)
        line = re.sub(r"/sec  +[0-9]+(  |$)", r"/sec  N\1", line)
        line = re.sub(r"[0-9]+/[0-9]+ \([-+.e0-9]+%\)", "N/N (N%)", line)
        line = re.sub(r"[0-9]+\.[0-9]+ ms", "N ms", line)
        line = re.sub(r"/sec( +)[0-9]+  ", r"/sec\1N  ", line)
        line = re.sub(r"port [0-9]+", "port N", line)
        line = re.sub(r"listening on [0-9]+", "listening on N", line)
        if role == "server" and re.search(r"N-N sec", line) and out and out[-1] == line:
            continue  # stock servers have a short tail now and then
        out.append(line)
    return out


def test_tables(options):
    # with one interval stock clients print the header too late, when they know more than its rows say
    options = ["-t", "1", "-i", "0.5", *options]
    stock, stock_served = run("stock", "stock", options)
    # a stock client whose timers are late gives the first row that counts the last omitted one's time, and no length
    while re.search(r" ([0-9.]+)-\1 +sec", stock):
        stock, stock_served = run("stock", "stock", options)
    mine, mine_served = run("ours", "ours", options)
    assert shape(mine, "client") == shape(stock, "client"), (mine, stock)
    a, b = shape(mine_served, "server"), shape(stock_served, "server")
    # the tail of several streams is a group of rows: compare which lines there are, in order of the first
    assert list(dict.fromkeys(a)) == list(dict.fromkeys(b)), (mine_served, stock_served)


def test_format():
    for letter, word in ("k", "Kbits/sec"), ("M", "MBytes/sec"):
        out, _ = run("ours", "ours", ["-t", "1", "-b", "8M", "-f", letter])
        rows = [r for r in out.splitlines() if "sec" in r and "/sec" in r]
        assert rows and all(word in r for r in rows), out


def test_server_output():
    out, served = run("ours", "ours", ["-t", "1", "-b", "8M", "--get-server-output", "-T", "word"])
    assert "word:  " in out and "\nServer output:\n" in out and "receiver" in out.split("Server output:")[1], out
    out, served = run("stock", "ours", ["-t", "1", "-b", "8M", "--get-server-output", "-J"])
    assert "receiver" in json.loads(out)["server_output_text"], out
    out, served = run("ours", "stock", ["-t", "1", "-b", "8M", "--get-server-output"])
    assert "Server output:" in out and "receiver" in out.split("Server output:")[1], out


# ---- what iperf3 has not ----

def test_round_trips(options, floor):
    out, _ = run("ours", "ours", ["-J", "-t", "1", *options])
    doc = json.loads(out)
    rr = doc["end"]["rr"]
    assert "error" not in doc and rr["transactions"] >= floor, rr
    assert sum(n for _, _, n in rr["histogram_ns"]) == rr["transactions"], rr
    assert rr["min_ns"] <= rr["p50_ns"] <= rr["p99_ns"] <= rr["p999_ns"] <= rr["max_ns"], rr
    assert all(lo <= hi for lo, hi, _ in rr["histogram_ns"])
    assert sum(i["rr"]["transactions"] for i in doc["intervals"]) <= rr["transactions"]
    return doc


def test_words_of_round_trips():
    out, _ = run("ours", "ours", ["-t", "1", "-V", "--rr=100"])
    assert "1 streams, 64 byte requests, 64 byte responses, omitting" in out, out
    assert "Test Complete. Summary Results:" in out and "CPU Utilization: local/client " in out, out
    assert re.search(r"^snd_tcp_congestion \w+\nrcv_tcp_congestion \w+$", out, re.M), out
    assert not [line for line in out.splitlines() if line.startswith("[") and line.endswith(" ")], out
    doc = json.loads(run("ours", "ours", ["-t", "1", "-J", "--rr=100", "--request", "100"])[0])
    assert doc["start"]["test_start"]["blksize"] == 100, doc["start"]


def test_packets_per_second():
    options = ["-t", "1", "--flood=2000"]
    out, _ = run("ours", "ours", options)
    sent, came = map(int, re.search(r"^Datagrams per second: (\d+) sent, (\d+) received$", out, re.M).groups())
    assert 0 < came and sent < 2200, out
    assert re.search(r"^\[ +\d+\].*bits/sec +\d+/sec$", out, re.M), out
    out, _ = run("ours", "ours", options + ["--bidir"])
    assert all(re.search(rf"^\[{role}\] Datagrams per second: \d", out, re.M) for role in ("TX-C", "RX-C")), out
    for way in [], ["-R"], ["--bidir"]:
        doc = json.loads(run("ours", "ours", ["-J", *options, *way])[0])
        sums = [doc["end"][k] for k in doc["end"] if k.startswith("sum")]
        for s in sums + [s for i in doc["intervals"] for s in i["streams"]]:
            got = s["packets"] - s.get("lost_packets", 0)
            assert near(s["packets_per_second"], got / s["seconds"], 0.001) and got > 0, s


def test_stock_server_has_no_round_trips():
    p, port, log = serve("stock")
    try:
        c = subprocess.run(OURS + ["-c", "127.0.0.1", "-p", str(port), "-t", "1", "--rr"], capture_output=True, text=True)
        assert c.returncode == 1 and "irqlab" in c.stderr.split(":", 1)[1], (c.returncode, c.stderr)
    finally:
        p.kill()
        p.wait()


def test_beside(kind, options):
    p, port, log = serve("ours", ())
    p.terminate()
    p.wait()
    s = subprocess.Popen(OURS + ["-s", "-p", str(port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        while not listens(port):
            assert s.poll() is None
            time.sleep(0.02)
        c = subprocess.run(OURS + ["-c", "127.0.0.1", "-p", str(port), "-J", "-t", "1", "--rr=200", "--beside", kind,
                                   *options], capture_output=True, text=True)
        assert c.returncode == 0, (c.stdout[-400:], c.stderr)
        doc = json.loads(c.stdout)
        assert doc["end"]["rr"]["transactions"] > 0, doc["end"]["rr"]
        assert doc["beside"]["end"]["sum_received"]["bytes"] > 0, doc["beside"]["end"]
    finally:
        s.send_signal(signal.SIGTERM)
        out, _ = s.communicate()
    assert s.returncode == 0, (s.returncode, out)
    # two sessions at once: their rows say of which they are
    assert re.search(r"^#[12] \[", out, re.M), out


def test_sweep(kind):
    s = subprocess.Popen(OURS + ["-s", "-p", str(port := free_port())], stdout=subprocess.DEVNULL)
    try:
        while not listens(port):
            assert s.poll() is None
            time.sleep(0.02)
        c = subprocess.run(OURS + ["-c", "127.0.0.1", "-p", str(port), "-J", "-t", "1", "--sweep", "20%..60%:30",
                                   "--rr", "--beside", kind], capture_output=True, text=True)
        doc = json.loads(c.stdout)
    finally:
        s.send_signal(signal.SIGTERM)
        s.wait()
    assert c.returncode == 0 and s.returncode == 0, (c.stdout, c.stderr)
    assert [p["share_percent"] for p in doc["points"]] == [20, 50, 60], doc
    for p in doc["points"]:
        assert near(p["offered_bps"], doc["full_bps"] * p["share_percent"] / 100, 0.01), p
        assert p["achieved_bps"] > 0 and p["rr"]["transactions"] > 0, p
        # a bare --rr is 1000 a second here, never back to back
        assert p["rr"]["transactions"] <= 1100, p
        assert kind == "tcp" or near(p["packets_per_second"], p["achieved_bps"] / 8 / 16, 0.01), p


def test_interrupted():
    """An interrupted test has its totals, at both ends."""
    p, port, log = serve("ours")
    c = subprocess.Popen(OURS + ["-c", "127.0.0.1", "-p", str(port), "-t", "100", "-b", "10M", "-i", "0.2"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = ""
    while "sec" not in line:
        line = c.stdout.readline()
        assert line
    c.send_signal(signal.SIGINT)
    out, err = c.communicate()
    p.wait()
    assert c.returncode == 0 and "interrupt" in err, (c.returncode, err)
    assert re.search(r" sender$", out, re.M) and re.search(r" receiver$", out, re.M), out
    assert re.search(r" receiver$", text_of(log), re.M), text_of(log)


def test_insisting():
    """Whoever does not read what a client prints can still end it: by a second signal, some time after the first."""
    p, port, log = serve("ours")
    c = subprocess.Popen(OURS + ["-c", "127.0.0.1", "-p", str(port), "-t", "100", "-b", "1M", "-i", "0.1", "-P", "20"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        fcntl.fcntl(c.stdout, F_SETPIPE_SZ, 4096)
        seen = b""
        while b" connected to " not in seen:
            seen += os.read(c.stdout.fileno(), 100)
        for _ in range(30):
            c.send_signal(signal.SIGINT)
            try:
                c.wait(1.5)
                break
            except subprocess.TimeoutExpired:
                pass
        assert c.returncode == -signal.SIGINT, c.returncode
        p.send_signal(signal.SIGTERM)
        p.wait()
    finally:
        for x in c, p:
            if x.poll() is None:
                x.kill()
                x.wait()


def plan():
    tests = []

    def add(name, needs_stock, f, *args):
        tests.append((name, needs_stock, f, args))

    # first and alone: a relay that has to wait loses more than it means to
    for server, client in PAIRS:
        add(f"loss is exact: {client} client, {server} server", "stock" in (server, client), test_loss_is_exact, server,
            client)

    for server, client in PAIRS:
        for name, options in TESTS:
            add(f"{client} client, {server} server: {name}", "stock" in (server, client), matrix_test, server, client,
                options)
    for name, options in ("TCP", ["-t", "1"]), ("TCP -R", ["-t", "1", "-R"]), ("UDP", ["-t", "1", "-u", "-b", "20M"]), \
            ("UDP --bidir", ["-t", "1", "-u", "--bidir", "-b", "10M"]):
        add("both ends say the same of each: " + name, False, test_ends_agree, options)
    for name, options, later in [("TCP", ["-t", "1", "-b", "10M"], LATER_TCP), ("TCP -R", ["-t", "1", "-R", "-b", "10M"], []),
                                 ("TCP --bidir -P 2", ["-t", "1", "--bidir", "-P", "2", "-b", "10M"], LATER_TCP),
                                 ("UDP", ["-t", "1", "-u"], []), ("UDP -R", ["-t", "1", "-u", "-R"], []),
                                 ("UDP --bidir", ["-t", "1", "-u", "--bidir"], []),
                                 ("title and extra data", ["-t", "1", "-b", "1M", "-T", "t", "--extra-data", "x",
                                                           "--get-server-output"], [])]:
        add("JSON has all keys of iperf3: " + name, True, test_keys, options, later)
    add("JSON as a stream of events", False, test_json_stream)
    for name, options in [("TCP", ["-b", "10M"]), ("-P 2", ["-P", "2", "-b", "10M"]), ("-R", ["-R", "-b", "10M"]),
                          ("--bidir -P 2", ["--bidir", "-P", "2", "-b", "10M"]), ("-O", ["-O", "1", "-b", "10M"]),
                          ("UDP", ["-u"]), ("UDP -R -P 2", ["-u", "-R", "-P", "2"]),
                          ("UDP --bidir -P 2", ["-u", "--bidir", "-P", "2"])]:
        add("tables are iperf3's: " + name, True, test_tables, options)
    add("-f sets the unit of rates", False, test_format)
    add("what the server printed", True, test_server_output)
    add("round trips over TCP", False, test_round_trips, ["--rr"], 100)
    add("round trips over UDP at a rate", False, test_round_trips, ["--rr=200", "-u"], 50)
    add("round trips at random times", False, test_round_trips, ["--rr=200", "--arrivals", "poisson", "--seed", "7"], 50)
    add("the words about round trips", False, test_words_of_round_trips)
    add("a flood is counted in datagrams", False, test_packets_per_second)
    add("round trips need our server, and that is said", True, test_stock_server_has_no_round_trips)
    add("connect, request, response, close", False, test_round_trips, ["--crr=100"], 20)
    for kind, options in ("tcp", ["-b", "100M"]), ("udp", ["-b", "10M", "-R"]), ("flood", ["-b", "1M"]):
        add("round trips beside " + kind, False, test_beside, kind, options)
    for kind in "tcp", "flood":
        add("the throughput/latency curve of " + kind, False, test_sweep, kind)
    add("an interrupted test has its totals", False, test_interrupted)
    add("who is not heard is ended by a second signal", False, test_insisting)
    return tests


def one(test):
    name, needs_stock, f, args = test
    if needs_stock and not shutil.which(STOCK[0]):
        return name, "skip", "iperf3 is missing"
    try:
        f(*args)
        return name, "ok", ""
    except Exception as e:  # a failure of any kind is the result of the one test
        return name, "not ok", f"{type(e).__name__}: {e}"


def main():
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    tests = [t for t in plan() if only in t[0]]
    print(f"1..{len(tests)}", flush=True)
    alone = [t for t in tests if t[2] is test_loss_is_exact]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = itertools.chain(map(one, alone), pool.map(one, tests[len(alone):]))
        for n, (name, result, why) in enumerate(results, 1):
            if result == "skip":
                print(f"ok {n} - {name} # SKIP {why}", flush=True)
                continue
            print(f"{result} {n} - {name}", flush=True)
            for line in why.splitlines()[:60]:
                print("# " + line)


main()
