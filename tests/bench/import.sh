#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# How fast texts are read: 1 GB of mails and logs, and 100 MB of iperf3's JSON beside the programs
# that people parse it with.  The best of three; the machine's other work is in the numbers.
set -eu
cd "$(dirname "$0")/../.."
irqlab=$PWD/build/irqlab
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mb=${IMPORT_BENCH_MB:-1000}

python3 - "$work" "$mb" <<'PY'
import json, sys
work, mb = sys.argv[1], int(sys.argv[2])
read = lambda name: open("tests/fixtures/" + name).read()
log = "".join("Nov 30 20:41:%02d box kernel: [%6d.%06d] usb 1-1: new high-speed USB device number %d\n"
              % (i % 60, i, i * 7919 % 1000000, i % 127) for i in range(400))
rows = "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n" + "".join(
    "[  5] %3d.00-%d.00   sec  3.03 GBytes  26.0 Gbits/sec   %2d   2.50 MBytes       \n" % (i, i + 1, i % 20)
    for i in range(600))
prose = ("> I have looked at the change again and think that it is right, but the numbers\n"
         "> below were taken with an older kernel; could you repeat them with threaded NAPI\n"
         "> and without it (interrupt moderation off)?  The box idles otherwise.\n\n"
         "Sure, here they are, in the same order as before.\n")
texts = {
    "archive": prose * 40 + read("mail/throughput.txt") + read("mail/latency.txt"),
    "mails": read("mail/throughput.txt") + read("mail/latency.txt"),
    "tables": "$ iperf3 -c 192.0.2.1 -t 600\n" + rows,
    "logs": log,
}
for name, text in texts.items():
    with open(work + "/" + name, "w") as f:
        for _ in range(mb * 1000000 // 4 // len(text) + 1):
            f.write(text)
doc = json.load(open("tests/fixtures/capture/iperf3-parallel-client.json"))
item = doc["intervals"][1]
with open(work + "/json", "w") as f:
    head, tail = json.dumps(dict(doc, intervals=["@"]), indent="\t").split('"@"')
    f.write(head)
    n, k = 0, 0
    while n < 100000000:
        for o in item["streams"] + [item["sum"]]:
            o["start"], o["end"] = k, k + 1
        s = (",\n" if k else "") + json.dumps(item, indent="\t")
        f.write(s)
        n, k = n + len(s), k + 1
    f.write(tail)
PY

# best COMMAND...: seconds of the fastest of three
best() {
	for _ in 1 2 3; do
		python3 -c '
import subprocess, sys, time
t = time.monotonic()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("%.3f" % (time.monotonic() - t))' "$@"
	done | sort -n | head -n 1
}

total=0
for name in archive mails tables logs; do
	t=$(best "$irqlab" import --list "$work/$name")
	size=$(stat -c %s "$work/$name")
	awk -v t="$t" -v n="$size" -v name="$name" 'BEGIN { printf "import, %.0f MB of %s: %.0f MB/s\n", n / 1e6, name, n / 1e6 / t }'
	total=$(awk -v a="$total" -v b="$t" 'BEGIN { print a + b }')
done
awk -v t="$total" -v n="$(cat "$work/archive" "$work/mails" "$work/tables" "$work/logs" | wc -c)" \
	'BEGIN { printf "import, %.0f MB of text together: %.0f MB/s\n", n / 1e6, n / 1e6 / t }'
echo "import, 100 MB of iperf3 JSON: $(best "$irqlab" import --list "$work/json") s"
if command -v jq >/dev/null; then
	echo "  jq .end.sum_sent: $(best jq .end.sum_sent "$work/json") s"
else
	echo "  jq: not installed"
fi
echo "  python3 json.load: $(best python3 -c "import json; json.load(open('$work/json'))") s"
