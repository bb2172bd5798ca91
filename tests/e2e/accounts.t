#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The accounts against other readers of the same counters: what a probe counted lies between what
# awk (and perf) saw in a window inside of the probe's and in one around it.  $1: accounts_main
. "$(dirname "$0")/tap.sh"
main=$1
plan 12

# KIND ID CPU COUNT of every counter, without any of our parsers
snapshot() {
	awk '
	function hex(s,    i, v) {
		for (i = 1; i <= length(s); i++)
			v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
		return v
	}
	FNR == 1 { file = FILENAME; sub(".*/", "", file) }
	file == "interrupts" || file == "softirqs" {
		if (FNR == 1) {
			nr = NF
			for (i = 1; i <= NF; i++)
				cpu[i] = substr($i, 4)
			next
		}
		if (NF <= nr)
			next
		id = $1
		sub(":", "", id)
		for (i = 1; i <= nr; i++)
			print (file == "interrupts" ? "irq" : "softirq"), id, cpu[i], $(i + 1)
	}
	file == "stat" && $1 == "ctxt" { print "switches", "-", "-", $2 }
	file == "softnet_stat" && NF > 12 { print "processed", "-", hex($13), hex($1) }
	' /proc/interrupts /proc/softirqs /proc/stat /proc/net/softnet_stat
}

# what accounts_main printed, in the same form: KIND ID CPU RATE
scalars() {
	awk '
	$1 == "seconds" { print; next }
	{ cpu = id = "-" }
	{
		n = split($2, labels, ",")
		for (i = 1; i <= n; i++) {
			if (labels[i] ~ /^cpu=/)
				cpu = substr(labels[i], 5)
			if (labels[i] ~ /^(irq|vec)=/)
				id = substr(labels[i], 5)
		}
	}
	$1 == "interrupts.irq" && cpu != "-" { print "irq", id, cpu, $3 }
	$1 == "interrupts.softirq" { print "softirq", id, cpu, $3 }
	$1 == "softnet.processed" && cpu != "-" { print "processed", "-", cpu, $3 }
	$1 == "sched.switches" && cpu == "-" { print "switches", "-", "-", $3 }
	' "$1"
}

# compare KIND: 0 when every counter of KIND lies between the two windows and none is missing
compare() {
	awk -v kind="$1" '
	function moved(to, from) { return to >= from ? to - from : to - from + 4294967296 }
	$1 == "seconds" { low = $2; high = $3; next }
	$1 != kind { next }
	{ key = $2 " " $3 }
	FILENAME ~ /outer0$/ { o0[key] = $4 }
	FILENAME ~ /inner0$/ { i0[key] = $4 }
	FILENAME ~ /inner1$/ { i1[key] = $4 }
	FILENAME ~ /outer1$/ { o1[key] = $4 }
	FILENAME ~ /scalars$/ { rate[key] = $4 }
	END {
		for (key in i1) {
			inner = moved(i1[key], i0[key])
			outer = moved(o1[key], o0[key])
			seen += inner > 0
			# the window is between low and high long, so the count between these
			if (rate[key] * high * 1.000001 < inner || rate[key] * low * 0.999999 > outer) {
				print kind, key ": " rate[key] "/s for " low " to " high " s, inside " inner ", around " outer
				bad = 1
			}
		}
		if (!seen)
			print "no " kind " counted at all"
		exit bad || !seen
	}' "$work/outer0" "$work/inner0" "$work/inner1" "$work/outer1" "$work/scalars"
}

datagrams() {
	python3 -c '
import socket
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab")
a.bind(("127.0.0.1", 0))
for _ in range(3000):
    b.sendto(b"x", a.getsockname())
    a.recv(1)'
}

# perf counts the entries into NET_RX: perf_open NAME, then perf_do NAME enable|disable, perf_end NAME
perf_works() {
	[ "$(id -u)" = 0 ] && perf stat -a -x, -e irq:softirq_entry --filter 'vec == 3' --control fd:0 -- true \
		</dev/null 2>&1 | grep -q '^[0-9]*,,irq:softirq_entry'
}

perf_open() {
	mkfifo "$work/$1.ctl" "$work/$1.ack"
	perf stat -a -x, -D -1 -o "$work/$1" -e irq:softirq_entry --filter 'vec == 3' \
		--control "fifo:$work/$1.ctl,$work/$1.ack" >/dev/null 2>&1 &
	eval "perf_$1=$!"
}

perf_do() {
	[ -n "$with_perf" ] || return 0
	echo "$2" >"$work/$1.ctl"
	read -r ack <"$work/$1.ack"
}

perf_end() {
	eval "kill -INT \$perf_$1; wait \$perf_$1"
}

perf_count() {
	awk -F, '/softirq_entry/ { print $1 }' "$work/$1"
}

inside() {
	exec 3>"$work/in" 4<"$work/out"
	perf_do outer enable
	snapshot >"$work/outer0"
	echo start >&3
	read -r said <&4
	snapshot >"$work/inner0"
	perf_do inner enable
	datagrams
	perf_do inner disable
	snapshot >"$work/inner1"
	echo stop >&3
	read -r said <&4
	snapshot >"$work/outer1"
	perf_do outer disable
	cat <&4 >"$work/result"
	exec 3>&- 4<&-
	[ "$said" = stopped ]
}

# one window: "$main" runs beside it
one_window() {
	"$main" <"$work/in" >"$work/out" &
	pid=$!
	inside || return 1
	wait $pid || return 1
	scalars "$work/result" >"$work/scalars"
}

# the rate of NET_RX softirqs times the window's length lies between two counts
net_rx_between() {
	awk -v inner="$1" -v outer="$2" '
	$1 == "interrupts.net-rx" { rate = $3 }
	$1 == "seconds" { low = $2; high = $3 }
	END {
		print rate "/s for " low " to " high " s, inside " inner ", around " outer
		exit !(rate * high * 1.000001 >= inner && rate * low * 0.999999 <= outer && inner > 0)
	}' "$work/result"
}

mkfifo "$work/in" "$work/out"
with_perf=
if perf_works; then
	with_perf=yes
	perf_open inner
	perf_open outer
fi
ok "a window over loopback traffic" one_window
for kind in irq softirq processed switches; do
	if [ $kind = processed ] && ! grep -q processed "$work/inner0"; then
		skip "packets of each CPU" "this kernel does not name CPUs in softnet_stat"
	else
		ok "every counter of $kind lies between inside and around" compare $kind
	fi
done
ok "the datagrams were seen" net_rx_between 2000 1e18
if [ -n "$with_perf" ]; then
	perf_end inner
	perf_end outer
	ok "softirqs lie between what perf counted inside and around" \
		net_rx_between "$(perf_count inner)" "$(perf_count outer)"
else
	skip "softirqs lie between what perf counted inside and around" "perf cannot count irq:softirq_entry here"
fi

if [ "$(id -u)" != 0 ] || ! unshare -n true 2>/dev/null; then
	for what in "a plan of accounts ends with a verdict" "every account has series" \
		"their points stand at the boundaries" "rows are limited" "the page stays small"; do
		skip "$what" "needs root and network namespaces"
	done
	exit 0
fi
"$IRQLAB" run "$src/tests/plans/accounts.yaml" -o "$work/r.html" >"$work/run" 2>&1
echo $? >"$work/rc"
ok "a plan of accounts ends with a verdict" grep -qx '[045]' "$work/rc"
"$IRQLAB" export last --format csv-series >"$work/series.csv"
series() {
	python3 - "$work/series.csv" "$1" <<'END'
import csv
import sys
from collections import defaultdict

series = defaultdict(list)
for row in csv.DictReader(open(sys.argv[1])):
    series[row["trial"], row["metric"], row["labels"]].append((int(row["t_ns"]), float(row["value"])))
trials = {trial for trial, _, _ in series}
accounts = {k: v for k, v in series.items() if not k[1].startswith("tcp.")}
if sys.argv[2] == "all":
    for metric in "interrupts.irq", "interrupts.softirq", "interrupts.net-rx", "softnet.processed", "sched.switches", "cpu.busy":
        # a trial in which no CPU was free for any reading has none; most have
        assert sum((t, metric, "") in series for t in trials) > len(trials) / 2, metric
elif sys.argv[2] == "boundaries":
    for key, points in accounts.items():
        assert all(t % 100_000_000 == 0 and 0 < t < 500_000_000 for t, _ in points[:-1]), (key, points)
        assert all(a[0] < b[0] for a, b in zip(points, points[1:])), (key, points)
        assert all(v >= 0 for _, v in points), (key, points)
else:
    for t in trials:
        assert sum(k[:2] == (t, "interrupts.irq") for k in accounts) <= 17
END
}
ok "every account has series" series all
ok "their points stand at the boundaries" series boundaries
ok "rows are limited" series rows
ok "the page stays small" sh -c "test \$(wc -c <'$work/r.html') -lt 1500000"
