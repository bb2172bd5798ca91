#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# noise.py STORE RUN: the trials of an A/A run in the order in which they were measured, one a line, for
# noise.txt.  Made by
#   irqlab run --aa tests/known/noise.yaml -q --db noise.db -o /dev/null; tests/known/noise.py noise.db last
import json
import os
import sqlite3
import subprocess
import sys

db, run = sys.argv[1:3]
irqlab = os.environ.get("IRQLAB", "build/irqlab")
report = json.loads(subprocess.run([irqlab, "report", run, "--json", "--db", db], check=True, capture_output=True).stdout)
con = sqlite3.connect(db)
rows = con.execute(
    """SELECT t.position, m.name, s.value FROM trial t JOIN scalar s ON s.trial = t.id JOIN metric m ON m.id = s.metric
       JOIN label l ON l.id = s.label WHERE t.run = ? AND l.text = ''""",
    (report["run"]["id"],),
).fetchall()
scalars = {}
for position, name, value in rows:
    scalars.setdefault(position, {})[name] = value
above = {t["position"]: t["values"] for t in report["trials"]}
env = report["run"]["env"]
print(f"# {env.get('cpu_model', env['machine'])}, {env['cpus']} CPUs, Linux {env['release']}; {len(report['trials'])} trials")
print("# seconds since the first, throughput [Mbit/s], p99 [ns], wake-ups due, above 500 us, max [ns], retransmits, steal")
first = report["trials"][0]["started_ns"]
for t in report["trials"]:
    s = scalars.get(t["position"], {})
    if t["state"] != "ok" or "throughput" not in s or "wakeup.p99" not in s:
        continue
    due = s["wakeup.n"] + s["wakeup.missed"]
    share = next((v for k, v in t["values"].items() if k.startswith("wakeup.above")), None)
    if share is None:
        continue
    print(
        f"{(t['started_ns'] - first) / 1e9:.2f} {s['throughput'] / 1e6:.1f} {s['wakeup.p99']:.0f} {due:.0f} "
        f"{share * due:.0f} {s['wakeup.max']:.0f} {s.get('tcp.retransmits', 0):.0f} {s.get('cpu.steal', 0):.4f}"
    )
