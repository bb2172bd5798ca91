# SPDX-License-Identifier: GPL-3.0-or-later
"""tools.py > tools.txt: what the texts in tests/fixtures say, read with regular expressions of their
own: FILE RUN TOOL METRIC LABELS(- for none) VALUE, a line per figure that the importers must find."""
import json
import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
US, MS, S = 1e3, 1e6, 1e9


def text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", f.read())


def say(name, run, tool, metric, labels, value):
    print(name, run, tool, metric, labels or "-", repr(float(value)))


def find(name, run, tool, rows):
    t = text(name)
    for pattern, metric, labels, factor in rows:
        # the last one counts: displays are redrawn
        value = re.findall(pattern, t, re.M)[-1]
        say(name, run, tool, metric, labels, float(value) * factor)


N = r"(\d+(?:\.\d+)?)"
find("capture/hackbench.txt", 1, "hackbench", [
    (r"^Time: " + N, "time", "", S), (r"\(== (\d+) tasks", "tasks", "", 1), (r"messages of (\d+) bytes", "message.size", "", 1)])
find("capture/hackbench-pipe.txt", 1, "hackbench", [(r"^Time: " + N, "time", "", S)])

for name in ("nuttcp", "nuttcp-reverse", "nuttcp-udp"):
    find(f"capture/{name}.txt", 1, "nuttcp", [
        (N + r" Mbps.*%TX", "throughput", "", 1e6), (N + r" MB /.*%TX", "bytes", "", 2**20), (N + r" sec =.*%TX", "duration", "", S),
        (N + r" %TX", "cpu.sent", "", 0.01), (N + r" %RX", "cpu.received", "", 0.01)])
find("capture/nuttcp.txt", 1, "nuttcp", [(r"(\d+) retrans", "retransmits", "", 1), (N + " msRTT", "rtt", "", MS)])
find("capture/nuttcp-udp.txt", 1, "nuttcp", [
    (N + r" %loss", "packets.loss", "", 0.01), (r"/ +(\d+) drop/pkt", "packets.sent", "", 1), (r"(\d+) / +\d+ drop/pkt", "packets.lost", "", 1)])
find("capture/nuttcp-parse.txt", 1, "nuttcp", [
    (r"real_seconds=.*rate_Mbps=" + N, "throughput", "", 1e6), (r"rtt_ms=" + N, "rtt", "", MS), (r"retrans=(\d+)", "retransmits", "", 1)])
find("capture/nuttcp-verbose.txt", 1, "nuttcp", [
    (r"nuttcp-t: .* = " + N + " Mbps", "throughput", "direction=sent", 1e6),
    (r"nuttcp-r: .* = " + N + " Mbps", "throughput", "direction=received", 1e6)])

find("capture/sockperf-ping-pong.txt", 1, "sockperf", [
    (r"avg-latency=" + N, "latency.avg", "", US), (r"std-dev=" + N, "latency.stddev", "", US), (r"<MAX> observation = +" + N, "latency.max", "", US),
    (r"<MIN> observation = +" + N, "latency.min", "", US), (r"percentile 99.999 = +" + N, "latency", "q=0.99999", US),
    (r"percentile 50.000 = +" + N, "latency", "q=0.5", US), (r"Total (\d+) observations", "observations", "", 1),
    (r"Valid Duration.*ReceivedMessages=(\d+)", "messages.received", "", 1), (r"# dropped messages = (\d+)", "messages.dropped", "", 1)])
find("capture/sockperf-full-rtt.txt", 1, "sockperf", [
    (r"avg-rtt=" + N, "rtt.avg", "", US), (r"<MAX> observation = +" + N, "rtt.max", "", US), (r"percentile 99.000 = +" + N, "rtt", "q=0.99", US)])
find("capture/sockperf-throughput.txt", 1, "sockperf", [
    (r"Message Rate is (\d+)", "rate", "", 1), (r"BandWidth is " + N, "throughput", "", 8 * 2**20), (r"Total of (\d+) messages", "messages.sent", "", 1)])

for name in ("ping", "ping-stamped", "ping-quiet", "ping-flood"):
    find(f"capture/{name}.txt", 1, "ping", [
        (r"= " + N + "/", "rtt.min", "", MS), (r"= [\d.]+/" + N + "/", "rtt.avg", "", MS), (r"= [\d.]+/[\d.]+/" + N + "/", "rtt.max", "", MS),
        (r"= [\d.]+/[\d.]+/[\d.]+/" + N, "rtt.mdev", "", MS), (r"^(\d+) packets transmitted", "packets.sent", "", 1),
        (r"(\d+) received", "packets.received", "", 1)])
find("capture/ping-busybox.txt", 1, "ping", [
    (r"= " + N + "/", "rtt.min", "", MS), (r"= [\d.]+/[\d.]+/" + N, "rtt.max", "", MS), (r"(\d+) packets received", "packets.received", "", 1)])
find("layout/ping-bsd.txt", 1, "ping", [
    (r"= [\d.]+/" + N + "/", "rtt.avg", "", MS), (N + "% packet loss", "packets.loss", "", 0.01), (r"/" + N + " ms$", "rtt.mdev", "", MS)])

for cpu, column in (("0", r"{}"), ("1", r"[\d.]+ {}")):
    find("capture/oslat.txt", 1, "oslat", [
        (r"Minimum:\s+" + column.format(N), "latency.min", f"cpu={cpu}", US), (r"Average:\s+" + column.format(N), "latency.avg", f"cpu={cpu}", US),
        (r"Maximum:\s+" + column.format(N), "latency.max", f"cpu={cpu}", US)])
find("capture/oslat-json.txt", 1, "oslat", [
    (r"Maximum:\s+" + N, "latency.max", "cpu=0", US), (r"Duration:\s+" + N, "duration", "cpu=0", S), (r"Counter Freq:\s+" + N, "cpu.frequency", "cpu=0", 1e6)])
oslat = json.loads(text("capture/oslat.json"))["thread"]["0"]
for key in ("min", "avg", "max"):
    say("capture/oslat.json", 1, "oslat", f"latency.{key}", "cpu=0", oslat[key] * US)

for name, factor in (("jitterdebugger", US), ("jitterdebugger-live", US), ("jitterdebugger-ns", 1)):
    for t in "01":
        find(f"capture/{name}.txt", 1, "jitterdebugger", [
            (rf"T: {t} .*Min: +" + N, "latency.min", f"cpu={t},thread={t}", factor), (rf"T: {t} .*Avg: *" + N, "latency.avg", f"cpu={t},thread={t}", factor),
            (rf"T: {t} .*Max: +" + N, "latency.max", f"cpu={t},thread={t}", factor)])
for cpu, v in json.loads(text("capture/jitterdebugger.json"))["cpu"].items():
    for key in ("min", "avg", "max"):
        say("capture/jitterdebugger.json", 1, "jitterdebugger", f"latency.{key}", f"cpu={cpu}", v[key] * US)


def averages(name, tool, prefix, label):
    heading = None
    for line in text(name).splitlines():
        w = line.split()
        if len(w) > 2 and any(c.endswith("/s") or c.startswith("%") for c in w[1:]):
            heading = w[1:]
        elif w and w[0] == "Average:" and heading and heading[0] in ("CPU", "IFACE"):
            for column, value in zip(heading[1:], w[2:]):
                if column[0] == "%":
                    labels = "" if w[1] == "all" else f"{label}={w[1]}"
                    say(name, 1, tool, prefix + column[1:], labels, float(value) / 100)
                elif column.endswith("pck/s"):
                    say(name, 1, tool, prefix + column[:-2], f"{label}={w[1]}", value)
                elif column.endswith("kB/s"):
                    say(name, 1, tool, prefix + column[:-4], f"{label}={w[1]}", float(value) * 1024)


averages("capture/mpstat.txt", "mpstat", "cpu.", "cpu")
averages("capture/sar.txt", "sar", "cpu.", "cpu")
averages("capture/sar-dev.txt", "sar", "net.", "dev")
find("capture/mpstat-interrupts.txt", 1, "mpstat", [(r"^Average: +all +" + N, "interrupts", "", 1)])
find("capture/sar-queue.txt", 1, "sar", [(r"^Average: +[\d.]+ +" + N + "$", "system.cswch", "", 1)])

tables = [{}, {}]
which = -1
for line in text("capture/softirqs.txt").splitlines():
    w = line.split()
    if w[0] == "CPU0":
        which += 1
    elif w[0].endswith(":"):
        tables[which][w[0][:-1]] = sum(map(int, w[1:]))
for vec, n in tables[1].items():
    say("capture/softirqs.txt", 1, "interrupts", "softirqs.total", f"vec={vec}", n)
    say("capture/softirqs.txt", 1, "interrupts", "softirqs", f"vec={vec}", n - tables[0][vec])
    say("capture/softirqs.txt", 1, "interrupts", "softirqs.rate", f"vec={vec}", (n - tables[0][vec]) / 2)

for cpu in "01":
    row = re.search(rf"^ +{cpu} #(\d+) .*", text("layout/rtla-timerlat-top-6.1.txt"), re.M).group(0)
    irq, thread = ([int(v) for v in part.split()] for part in row.split("|")[1:])
    for context, v in (("irq", irq), ("thread", thread)):
        for metric, value in zip(("min", "avg", "max"), v[1:]):
            say("layout/rtla-timerlat-top-6.1.txt", 1, "rtla", f"latency.{metric}", f"context={context},cpu={cpu}", value * US)
lines = text("layout/rtla-timerlat-hist.txt").splitlines()
head = next(line.split() for line in lines if line.startswith("Index"))
for metric in ("min", "avg", "max"):
    row = next(line.split() for line in lines if line.startswith(metric + ":"))
    for column, value in zip(head[1:], row[1:]):
        kind, cpu = column.split("-")
        say("layout/rtla-timerlat-hist.txt", 1, "rtla", f"latency.{metric}",
            f"context={dict(IRQ='irq', Thr='thread')[kind]},cpu={int(cpu)}", int(value) * US)
find("layout/rtla-osnoise.txt", 3, "rtla", [(r"^max: +(\d+)", "noise.max", "cpu=0", US), (r"^avg: +" + N, "noise.avg", "cpu=0", US)])
find("layout/rtla-osnoise.txt", 1, "rtla", [
    (r"^ +1 #59 +(\d+)", "runtime", "cpu=1", US), (r"^ +0 #58 +\d+ +\d+ +" + N, "cpu.available", "cpu=0", 0.01),
    (r"^ +0 #58.* (\d+)$", "noise.thread", "cpu=0", 1)])
find("layout/rtla-analysis.txt", 1, "rtla", [
    (r"Thread latency:\s+" + N, "latency.thread", "cpu=12", US), (r"IRQ handler delay:.*?" + N + " us", "blame.irq.delay", "cpu=12", US),
    (r"Softirq interference\s+" + N, "blame.softirq", "cpu=12", US), (r"NET_RX:3\s+" + N, "blame.softirq.part", "by=NET_RX:3,cpu=12", US),
    (r"from idle: " + N, "latency.irq.idle.max", "cpu=12", US)])

find("layout/netperf.txt", 1, "netperf", [(r"10\.00 +(9413\.55)", "throughput", "", 1e6), (r"9413\.55 +" + N, "cpu.local", "", 0.01)])
find("layout/netperf.txt", 2, "netperf", [(r"10\.06 +" + N, "throughput", "", 8 * 2**20)])
find("layout/netperf.txt", 3, "netperf", [
    (r"70312 +2 +" + N, "throughput", "direction=sent", 1e6), (r"70001 +" + N, "throughput", "direction=received", 1e6)])
find("layout/netperf.txt", 4, "netperf", [(r"10\.00 +(32431\.52)", "transactions", "", 1)])
find("layout/netperf.txt", 5, "netperf", [(r"^THROUGHPUT=(30221.66)", "transactions", "", 1), (r"P99_LATENCY=" + N, "latency", "q=0.99", US)])
find("layout/netperf.txt", 6, "netperf", [(r"^(9411.02),", "throughput", "", 1e6), (r",(17)$", "retransmits", "", 1)])
find("layout/neper.txt", 1, "neper", [
    (r"^throughput=(33009.84)", "transactions", "", 1), (r"latency_p99=" + N, "latency", "q=0.99", S), (r"latency_max=" + N, "latency.max", "", S)])
find("layout/neper.txt", 2, "neper", [(r"^throughput=(9389.41)", "throughput", "", 1e6)])
find("layout/netperf.txt", 7, "netperf", [
    (r"(60085.02) ", "transactions", "", 1), (r"^4 +(227) ", "latency.max", "", US), (r"^4 +227 +8.94 +(28) ", "latency", "q=0.99", US)])
find("layout/netperf.txt", 8, "netperf", [(r"^THROUGHPUT=(55555.94)", "transactions", "", 1), (r"MEAN_LATENCY=" + N, "latency.avg", "", US)])
find("layout/netperf.txt", 9, "netperf", [(r"30\.01 +" + N, "throughput", "", 1e6)])
find("layout/rtla-annotated.txt", 1, "rtla", [
    (r"(\d+) <--- CPU", "latency.max", "context=thread,cpu=6", US), (r"8 #1 .* (\d+) \|", "latency.max", "context=irq,cpu=8", US)])
find("layout/rtla-annotated.txt", 2, "rtla", [
    (r"up to +" + N, "blame.irq.previous", "cpu=6", US), (r"delay:\s+" + N, "blame.irq.delay", "cpu=6", US)])
