#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Timings beside the tools that people use today, alternately in one run: only ratios are quoted.
set -eu
cd "$(dirname "$0")/.."
irqlab=$PWD/build/irqlab
command -v iperf3 >/dev/null || { echo "bench: iperf3 is not installed"; exit 77; }

rate() { # rate of a JSON result file, Gbit/s
	python3 -c "import json; print(json.load(open('$1'))['end']['sum_received']['bits_per_second'] / 1e9)"
}

# one stream over loopback, each client against its own server
work=$(mktemp -d)
trap 'kill $ours $stock 2>/dev/null; rm -rf "$work"' EXIT
"$irqlab" traffic -s -p 5311 >/dev/null 2>&1 & ours=$!
iperf3 -s -p 5312 >/dev/null 2>&1 & stock=$!
sleep 1
for i in 1 2 3 4 5 6 7 8; do
	"$irqlab" traffic -c 127.0.0.1 -p 5311 -t 2 -J >"$work/a"
	iperf3 -c 127.0.0.1 -p 5312 -t 2 -J >"$work/b"
	a=$(rate "$work/a") b=$(rate "$work/b")
	echo "$i $a $b" | tee -a "$work/pairs" |
		awk '{ printf "pair %d: irqlab %.1f, iperf3 %.1f Gbit/s, ratio %.3f\n", $1, $2, $3, $2 / $3 }'
done
awk '{ print $2 / $3 }' "$work/pairs" | sort -n |
	awk '{ v[NR] = $1 } END { printf "traffic, one stream, loopback: median ratio irqlab / iperf3 %.3f (%.3f to %.3f)\n", (v[4] + v[5]) / 2, v[1], v[8] }'
