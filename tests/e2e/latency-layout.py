#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two outputs of cyclictest's layout once the numbers are masked.

    latency-layout.py text OURS THEIRS     lines; blocks that repeat count once
    latency-layout.py json OURS THEIRS     keys, order, indentation, commas
    latency-layout.py read FILE...         one reader for both: prints threads, cycles and sums

Digits and the blanks that pad them become one N, so that a column is compared with its width: the
width of "pad + number" stays in the mask.
"""
import json
import re
import sys


def mask(line):
    # "C:   7999" is C:<7>: pads and digits together keep their width unless the number overflows it
    line = re.sub(r"C: *\d+ ", "C:<7> ", line) if re.search(r"C: {0,6}\d+ ", line) else line
    for key, widths in (("Min:", (7,)), ("Act:", (5, 8)), ("Avg:", (5, 8)), ("Max:", (8,))):
        m = re.search(key + r"( *\d+)", line)
        if m and len(m.group(1)) in widths:
            line = line.replace(m.group(0), f"{key}<{len(m.group(1))}>", 1)
    line = re.sub(r"loadavg: [0-9./ ]+", "loadavg: L ", line)
    return re.sub(r"\d+", "N", line)


def text(path):
    out = []
    for line in open(path, errors="strict").read().split("\n"):
        line = mask(line)
        line = re.sub(r"^(T: N )\( *N\)", r"\1(<5>)", line)  # 0 until a thread has begun
        # lists of cycle numbers are as long as they are
        line = re.sub(r"^# Thread N:( N)*( # N others)?$", "# Thread N: list", line)
        out.append(line)
    joined = "\n".join(out)
    # the live block is drawn over and over; -v rows and spikes come as often as they come
    block = re.compile(r"(\x1b\[NA(policy: [^\n]*\n\n(?:T:[^\n]*\n)+))(?:\x1b\[NA\2)+")
    while block.search(joined):
        joined = block.sub(r"\1", joined)
    # cyclictest -M goes up and down again, or down only, as it happened to end
    joined = re.sub(r"(?:\x1b\[NA)?\x1b\[NB", "<end>", joined)
    joined = re.sub(r"((?: +N: +N: +N\n)+)", "values\n", joined)
    joined = re.sub(r"((?:T: N Spike: +N: TS: +N\n)+)", "spikes\n", joined)
    return joined.split("\n")


def lines_of_json(path):
    out = []
    for line in open(path).read().split("\n"):
        if re.match(r'\s*"irqlab": ', line):  # what is beyond cyclictest: whole lines
            continue
        line = re.sub(r'("(?:cmdline|start_time|end_time|rt_test_version):?": )".*"', r'\1"S"', line)
        if re.match(r'\s+"\d+": \d+,?$', line):
            line = "row"
        elif not re.match(r'\s+"(?:sysname|nodename|release|version|machine)"', line):
            line = re.sub(r"-?\d+\.\d\d\b", "F", line)
            line = re.sub(r"-?\d+", "N", line)
        if out and out[-1] == line == "row":
            continue
        out.append(line)
    return out


def read(path):
    d = json.load(open(path))
    assert d["file_version"] == 1 and d["return_code"] == 0 and d["rt_test_version:"]
    assert len(d["thread"]) == d["num_threads"]
    for name, t in sorted(d["thread"].items()):
        assert t["min"] <= t["avg"] <= t["max"], t
        rows = t.get("histogram")
        inside = sum(rows.values()) if rows is not None else -1
        assert inside <= t["cycles"], t
        print(name, t["cycles"], inside, t["cpu"], t["node"], len(d["sysinfo"]))


def compare(ours, theirs):
    if ours == theirs:
        return 0
    for i in range(max(len(ours), len(theirs))):
        a = ours[i] if i < len(ours) else None
        b = theirs[i] if i < len(theirs) else None
        if a != b:
            print(f"line {i + 1}:\n  irqlab     {a!r}\n  cyclictest {b!r}")
            return 1
    return 1


kind, files = sys.argv[1], sys.argv[2:]
if kind == "read":
    for f in files:
        read(f)
    sys.exit(0)
sys.exit(compare(*[(text if kind == "text" else lines_of_json)(f) for f in files]))
