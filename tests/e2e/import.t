#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What is found in texts, and what is not, is said; long ones need no memory.
. "$(dirname "$0")/tap.sh"
plan 15
mail=$src/tests/fixtures/mail
capture=$src/tests/fixtures/capture

"$IRQLAB" import --list "$mail/throughput.txt" "$mail/latency.txt" >"$work/list" 2>&1
result "two mails are read" $?
ok "a line a run, numbered in each file" sh -c "grep -c '^  #[1-6] ' '$work/list' | grep -qx 8"
ok "retransmits of both" sh -c "grep -q 'retransmits sent 25 ' '$work/list' && grep -q 'retransmits sent 164 ' '$work/list'"
ok "lines, rows and streams" grep -q 'lines 11-3[0-9], 20 rows, 1 stream' "$work/list"
ok "the command before the rows is the label" grep -q '| iperf3 -c 192\.0\.2\.110 -t 20"' "$work/list"
ok "standard input" sh -c "'$IRQLAB' import --list - <'$mail/latency.txt' | grep -q '^standard input:'"

printf 'one\ntwo\n' >"$work/none"
exits 1 "$IRQLAB" import --list "$work/none" >"$work/said" 2>&1
result "no result: exit code 1" $?
ok "and a sentence" grep -q 'none: no result found' "$work/said"
exits 1 "$IRQLAB" import --list "$capture/iperf3-refused.json" >"$work/said" 2>&1
result "a test that failed is no result" $?
ok "and the tool's own words are shown" grep -q 'unable to connect to server: Connection refused' "$work/said"
printf 'text\n[...]\n[  4]   0.00-1.00   sec   106 MBytes   888 Mbits/sec  9 apples\n' |
	cat - "$mail/latency.txt" | "$IRQLAB" import --list - >"$work/said"
ok "what is skipped is said with line and reason" grep -q 'line 3 (iperf3): unknown text after the rate' "$work/said"
ok "what the writer left out as well" grep -q 'line 2: text was left out here' "$work/said"
ok "JSON holds all of it" sh -c "'$IRQLAB' import --json '$capture/iperf3-udp-client.json' '$capture/cyclictest-histogram.txt' | python3 -c '
import json, sys
udp, hist = json.load(sys.stdin)[\"files\"]
assert udp[\"runs\"][0][\"tool\"] == \"iperf3\" and udp[\"runs\"][0][\"series\"][0][\"points\"]
assert len(hist[\"runs\"][0][\"hists\"]) == 2 and hist[\"lines\"] > 60'"

# a long text made of short ones, under a limit that would not hold it
i=0
while [ $i -lt 200 ]; do
	cat "$mail/throughput.txt" "$mail/latency.txt" "$capture/iperf3-parallel-omit-client.txt"
	i=$((i + 1))
done >"$work/once"
i=0
while [ $i -lt 60 ]; do
	cat "$work/once"
	i=$((i + 1))
done >"$work/long"
ok "90 MB in 64 MB of memory" sh -c "ulimit -v 65536 && '$IRQLAB' import --list '$work/long' >'$work/longlist'"
ok "and nothing of it is lost" sh -c "grep -c '^  #' '$work/longlist' | grep -qx $((200 * 60 * 9))"
