#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count what meson's test logs (testlog.json, one object a line) and plain TAP files say.

Each subtest of TAP counts by itself. Skips and failures are listed with their reasons; the last
line is "N passed, N failed, N skipped"; the exit code is 1 when anything failed or nothing ran.
"""
import json
import re
import sys

POINT = re.compile(r"^(not ok|ok)\b\s*\d*\s*-?\s*([^#]*)(?:#\s*(SKIP|TODO)\b\s*(.*))?", re.I)
PLAN_SKIP = re.compile(r"^1\.\.0\s*#\s*SKIP\s*(.*)", re.I)


def points(name, text, result):
    """Yield (state, name, reason) for each test point of one program's output."""
    seen = 0
    for line in text.splitlines():
        plan = PLAN_SKIP.match(line)
        if plan:
            seen += 1
            yield "skipped", name, plan.group(1) or "no reason given"
            continue
        point = POINT.match(line)
        if not point:
            continue
        seen += 1
        label = f"{name}: {point.group(2).strip()}"
        if point.group(3) and point.group(3).upper() == "SKIP":
            yield "skipped", label, point.group(4).strip() or "no reason given"
        elif point.group(1).lower() == "ok":
            yield "passed", label, ""
        else:
            yield "failed", label, ""
    if result == "SKIP" and not seen:
        yield "skipped", name, text.strip().splitlines()[-1] if text.strip() else "no reason given"
    elif result == "OK" and not seen:
        yield "passed", name, ""
    elif result not in ("OK", "SKIP", "FAIL"):
        yield "failed", name, result.lower()
    elif result == "FAIL" and not seen:
        yield "failed", name, ""


def main(paths):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    listed = {"failed": [], "skipped": []}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if path.endswith(".json"):
            tests = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            tests = [{"name": path, "stdout": text, "result": "OK" if "not ok" not in text else "FAIL"}]
        for t in tests:
            any_failed = False
            for state, label, reason in points(t["name"], t.get("stdout", ""), t["result"]):
                count[state] += 1
                any_failed |= state == "failed"
                if state in listed:
                    listed[state].append(f"{label}{': ' if reason else ''}{reason}")
            # a program that passed all its points and then died, or ran fewer than planned
            if t["result"] == "FAIL" and not any_failed:
                count["failed"] += 1
                listed["failed"].append(f"{t['name']}: ended with {t.get('returncode', 'an error')}")
    for state in ("skipped", "failed"):
        for label in listed[state]:
            print(f"{state}: {label}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
