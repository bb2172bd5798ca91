#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A soak beside hackbench and TCP over loopback: it is read all the time, its memory stays flat, and
# every scheduled wake-up is accounted for.  SOAK_SECONDS=N (10); ./dev prove soak runs 30 minutes.
set -u
. "$(dirname "$0")/tap.sh"
seconds=${SOAK_SECONDS:-10}
port=${SOAK_PORT:-5397}
dir=$work

command -v python3 >/dev/null || skip_all "python3 is not installed"
"$IRQLAB" latency -q -l1 -p1 >/dev/null 2>"$dir/why" || skip_all "$(tail -n 1 "$dir/why")"

# what disturbs, each killed by its own pid
server='' client='' noise=''
trap 'kill $client $server $noise 2>/dev/null; wait; rm -rf "$work"' EXIT
"$IRQLAB" traffic -s -B 127.0.0.1 -p "$port" >/dev/null 2>&1 & server=$!
sleep 0.3
"$IRQLAB" traffic -c 127.0.0.1 -p "$port" -t "$((seconds + 5))" -b 200M -i 0 >"$dir/traffic" 2>&1 & client=$!
if command -v hackbench >/dev/null; then
	# one after another, in a shell that ends with the folder
	(while [ -d "$dir" ]; do hackbench -g 1 -l 500 >/dev/null 2>&1; done) & noise=$!
else
	echo "# hackbench is not installed (Debian: rt-tests): TCP alone"
fi

"$IRQLAB" latency -m -S -p 98,40 -q -D"$seconds" -i250 -d0 --soak "$dir/soak" --json="$dir/end.json" \
	>"$dir/out" 2>"$dir/err" &
probe=$!
sleep 2
rss() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$probe/status" 2>/dev/null; }
first=$(rss)
last=$first
reads=0
back=0
seen=0
failed=0
while kill -0 "$probe" 2>/dev/null && [ -n "$(rss)" ]; do
	last=$(rss)
	if "$IRQLAB" latency --read "$dir/soak" >"$dir/read" 2>>"$dir/readerr"; then
		reads=$((reads + 1))
		now=$(awk '/^T: 0 \(/ { sub(/.*C: */, ""); print $1; exit }' "$dir/read")
		[ "${now:-0}" -ge "$seen" ] || back=$((back + 1))
		seen=${now:-0}
	else
		failed=$((failed + 1))
	fi
	sleep $((seconds > 60 ? 10 : 1))
done
wait $probe
rc=$?
kill $client $server $noise 2>/dev/null
echo "# $seconds s, $reads reads, memory $first to $last kB"
sed 's/^/# /' "$dir/err"

accounted() {
	python3 - "$dir/end.json" "$seconds" <<'EOF'
import json, sys
d, seconds = json.load(open(sys.argv[1])), int(sys.argv[2])
assert d["num_threads"] >= 2
for name, t in d["thread"].items():
    x = t["irqlab"]
    due = seconds * 4000
    assert t["cycles"] + x["skipped"] + x["elsewhere"] == due == x["due"], (name, t["cycles"], x["skipped"])
    assert sum(n for _, n in x["histogram_ns"]) == t["cycles"]
    late = max(p[2] for p in x["maxima"]["wall_mono_late_ns"])
    assert late // 1000 == t["max"], (late, t["max"])
    assert abs(x["corrected_ns"]["n"] - due) <= max(2, x["skipped"] * 0.02), x["corrected_ns"]
    print(f"T:{name} prio {x['priority']}: {due} due, {x['skipped']} skipped, max {t['max']} us")
EOF
}

same_at_the_end() {
	"$IRQLAB" latency --read "$dir/soak" --json >"$dir/read.json" &&
		python3 - "$dir/end.json" "$dir/read.json" <<'EOF'
import json, sys
a, b = (json.load(open(f))["thread"] for f in sys.argv[1:])
assert a.keys() == b.keys()
for k in a:
    assert a[k]["irqlab"] == b[k]["irqlab"], k
EOF
}

plan 7
result "the soak ends well" $rc
ok "it was read while it ran" [ $reads -ge $((seconds > 60 ? seconds / 20 : seconds / 4)) ]
ok "no read failed" [ $failed -le 1 ] # the first may come before the first state
ok "what is read never goes back" [ $back = 0 ]
ok "memory is flat" [ "$last" -le $((first + 64)) ]
ok "every scheduled wake-up is a sample or skipped" accounted
ok "the file ends as the run" same_at_the_end
