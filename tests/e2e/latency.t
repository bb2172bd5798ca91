#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# irqlab latency against cyclictest 2.4: the same options give the same layout, byte for byte but for
# the numbers, and one reader takes the JSON of both.  Then what is beyond: every skipped cycle is
# accounted for, a soak file is read while it grows and after SIGKILL.
#	latency.t HOG
set -u
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
hog=${1:-$src/build/tests/e2e/hog}
dir=$work
layout="$here/latency-layout.py"

ours() { "$IRQLAB" latency "$@"; }

command -v python3 >/dev/null || skip_all "python3 is not installed"
ours -q -l1 -p1 >/dev/null 2>"$dir/why" || skip_all "$(tail -n 1 "$dir/why")"

# same NAME OPTION...: both with these options; standard output is compared
same() {
	name=$1
	shift
	if ! cyclictest --help 2>/dev/null | grep -q '^cyclictest V 2.40'; then
		skip "$name" "cyclictest 2.4 is not installed (Debian 12: rt-tests)"
		return
	fi
	ours "$@" >"$dir/ours" 2>"$dir/ours.err"
	cyclictest "$@" >"$dir/theirs" 2>"$dir/theirs.err"
	ok "$name: cyclictest $*" python3 "$layout" text "$dir/ours" "$dir/theirs"
}

same_json() {
	name=$1
	shift
	if ! cyclictest --help 2>/dev/null | grep -q '^cyclictest V 2.40'; then
		skip "$name" "cyclictest 2.4 is not installed (Debian 12: rt-tests)"
		skip "$name: one reader" "cyclictest 2.4 is not installed (Debian 12: rt-tests)"
		return
	fi
	ours "$@" --json="$dir/ours.json" >/dev/null 2>&1
	cyclictest "$@" --json="$dir/theirs.json" >/dev/null 2>&1
	ok "$name: cyclictest $* --json" python3 "$layout" json "$dir/ours.json" "$dir/theirs.json"
	ok "$name: one reader" python3 "$layout" read "$dir/ours.json" "$dir/theirs.json"
}

# Every scheduled time of the window is a sample or skipped: cycles + skipped = window / interval.
accounted() {
	python3 - "$1" "$2" <<'EOF'
import json, sys
d, due = json.load(open(sys.argv[1])), int(sys.argv[2])
for name, t in d["thread"].items():
    x = t["irqlab"]
    print(name, t["cycles"], x["skipped"], x["elsewhere"])
    assert t["cycles"] + x["skipped"] + x["elsewhere"] == due == x["due"], (name, due)
    assert x["seen_ns"]["n"] == t["cycles"]
    assert sum(n for _, n in x["histogram_ns"]) == t["cycles"]
EOF
}

# Under the hog: what it held up is skipped, and the worst second is found.
held_up() {
	python3 - "$dir/hog.json" "$dir/hog.out" <<'EOF'
import json, sys
d = json.load(open(sys.argv[1]))
held = [int(x) for x in open(sys.argv[2]).read().split()]  # ns, each hog
t = next(t for t in d["thread"].values() if t["cpu"] == 0)
x = t["irqlab"]
print(held, x["skipped"], t["max"], x["maxima"])
# each stall of h ns swallows h / interval wake-ups, less at most two at its edges
assert x["skipped"] >= sum(h // 1000000 - 2 for h in held)
assert t["max"] * 1000 >= max(held) - 2000000
assert max(p[2] for p in x["maxima"]["wall_mono_late_ns"]) // 1000 == t["max"]
# of 2000 due more than 1 % waited: the corrected p99 shows it
assert x["corrected_ns"]["n"] >= x["due"] * 0.99
assert x["corrected_ns"]["p99"] > max(held) / 4, x["corrected_ns"]
EOF
}

plan 33

same "summary" -m -S -p98 -q -l100 -i250 -d0
same "summary, distance" -S -p98 -q -l100
same "without real time" -t2 -q -l20
same "nanoseconds" -m -S -p98 -q -l100 -N
same "live" -m -S -p98 -l200 -d0
same "live, without real time" -t2 -l100 -d0
same "redraw on a maximum" -S -p98 -M -l100 -d0
same "histogram" -S -p98 -q -l100 -h 200
same "histogram with sum" -S -p98 -q -l100 -H 100
same "histogram, one thread" -t1 -a0 -p98 -q -l50 -H 300
same "values" -m -t2 -p98 -v -l50 -d0
same "values of named CPUs" -t2 -a 0 -p5 -v -l20 --priospread
same "thinned values" -p98 -v -l40 -o 4
same "spikes" -S -p98 -q -l300 --spike=1
same "break" -S -p98 -q -l5000 -d0 -b 1
same "policy" --policy=rr -t2 -q -l20
same "laptop" --laptop -p5 -q -l20
same "idle latency" --latency=20 -p5 -q -l20
same "aligned" -A 100 -S -p98 -q -l20 -d0
same_json "JSON" -S -p98 -q -l100
same_json "JSON with histogram" -S -p98 -q -l100 -h 200

# 150 ms of a SCHED_FIFO 99 thread on CPU 0, three times with pauses, in a window of 2 s
"$IRQLAB" latency -m -S -p98 -q -D2 -i1000 -d0 --json="$dir/hog.json" >/dev/null 2>&1 &
pid=$!
sleep 0.5
"$hog" 0 3 60 >"$dir/hog.out" 2>"$dir/hog.err"
hogged=$?
wait $pid
if [ $hogged = 77 ]; then
	skip "what a hog held up is skipped and corrected" "$(cat "$dir/hog.err")"
else
	ok "what a hog held up is skipped and corrected" held_up
fi
ok "every scheduled time is accounted for, under a hog" accounted "$dir/hog.json" 2000

# stopped and continued: the whole stop is skipped cycles
"$IRQLAB" latency -S -p98 -q -D2 -i500 -d0 --json="$dir/stop.json" >/dev/null 2>&1 &
pid=$!
sleep 0.7
kill -STOP $pid
sleep 0.3
kill -CONT $pid
wait $pid
ok "every scheduled time is accounted for, over SIGSTOP" accounted "$dir/stop.json" 4000

# A CPU that goes offline takes its thread elsewhere; here another program moves it, which looks the
# same to it and leaves the machine alone.  It comes back, and nothing is lost.
moved() {
	python3 - "$dir/moved.json" <<'EOF'
import json, sys
t = next(t for t in json.load(open(sys.argv[1]))["thread"].values() if t["cpu"] == 1)
x = t["irqlab"]
print(t["cycles"], x)
assert x["elsewhere"] > 0 and t["cycles"] > 1000
EOF
}
if [ -d /sys/devices/system/cpu/cpu1 ] && command -v taskset >/dev/null; then
	"$IRQLAB" latency -a 0,1 -t -p98 -q -D3 -i1000 -d0 --json="$dir/moved.json" >/dev/null 2>"$dir/moved.err" &
	pid=$!
	sleep 1
	for t in "/proc/$pid/task"/*; do
		[ "$(cat "$t/comm")" != wakeup/1-98 ] || taskset -pc 0 "${t##*/}" >/dev/null
	done
	wait $pid
	ok "a thread on another CPU is counted apart" moved
	ok "every scheduled time is accounted for, on whichever CPU" accounted "$dir/moved.json" 3000
	ok "it is bound again" grep -q "is bound to CPU 1 again" "$dir/moved.err"
else
	for t in "a thread on another CPU is counted apart" "it is accounted for" "it is bound again"; do
		skip "$t" "needs two CPUs and taskset (util-linux)"
	done
fi

# a user without privileges is told why, and measures without real time when asked to
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as_user() { prlimit --rtprio=0 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"; }
	cp "$IRQLAB" "$dir/irqlab" && chmod 755 "$dir" "$dir/irqlab"
	refused() {
		as_user "$dir/irqlab" latency -q -l5 -p98 >"$dir/out" 2>&1
		[ $? = 77 ] && grep -q "RLIMIT_RTPRIO allows priority 0 at most" "$dir/out" &&
			as_user "$dir/irqlab" latency -q -l5 -p98 --policy other | grep -q "^T: 0 .*P: 0"
	}
	ok "a user is told the reason and the remedy" refused
else
	skip "a user is told the reason and the remedy" "needs root and setpriv (util-linux)"
fi

# soak: read while it runs, after SIGKILL, after its end
"$IRQLAB" latency -S -p98 -q -i1000 -d0 --soak "$dir/soak" >/dev/null 2>&1 &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	ours --read "$dir/soak" >"$dir/read" 2>&1 && break
	sleep 0.5
done
ok "a soak is read while it runs" grep -q "^# running, pid $pid" "$dir/read"
check "a second run does not write to it" 1 "$IRQLAB" latency -q -l1 --soak "$dir/soak"
kill -KILL $pid
wait $pid 2>/dev/null
ours --read "$dir/soak" --json >"$dir/soak.json"
ours --read "$dir/soak" >"$dir/read"
ok "it is whole after SIGKILL" sh -c "grep -q '^# ended without finishing' $dir/read &&
	python3 $layout read $dir/soak.json"
