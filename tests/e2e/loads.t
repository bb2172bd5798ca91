#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every load of the traffic engine in one plan: they run side by side, and the verdict is about a
# quantile of the round trips.
. "$(dirname "$0")/tap.sh"
need_root
plan 12

json() {
	python3 -c "import json, sys; r = json.load(open('$work/r.json')); sys.exit(0 if ($1) else repr($1))"
}

"$IRQLAB" run "$src/tests/plans/round-trips.yaml" --json -o "$work/r.html" >"$work/r.json" 2>"$work/err"
echo $? >"$work/rc"
ok "the run ends with a verdict" sh -c "cat '$work/err'; grep -qx '[045]' '$work/rc'"
ok "no trial is vetoed or failed" json "[t['state'] for t in r['trials']] == ['ok'] * 12"
ok "the verdict is about the round trips" json "r['verdicts'][0]['metric'] == 'rr.p50@all' and r['verdicts'][0]['blocks'] == 6"
for load in rr rr-udp crr; do
	ok "the latency of $load is there in each variant" \
		json "{l['variant'] for l in r['latency'] if l['metric'] == '$load.latency' and l['n'] > 0} == {'before', 'after'}"
done
ok "the report shows them" grep -q 'rr-udp.latency' "$work/r.html"
sed 's/rr: { rate: 0 }/rr: { rate: 0, request: 2M }/' "$src/tests/plans/round-trips.yaml" >"$work/big.yaml"
ok "a request that is too large is told before anything runs" sh -c "! '$IRQLAB' plan '$work/big.yaml' >'$work/said' 2>&1 && grep -q 'request.*2M' '$work/said'"
# 300 ms of 500 round trips a second have 1.5 beyond their p99
sed 's/rr.p50@all:/rr-udp.p99@all:/' "$src/tests/plans/round-trips.yaml" >"$work/short.yaml"
ok "a trial too short for its quantile is told beforehand" sh -c "'$IRQLAB' plan '$work/short.yaml' >'$work/said' && grep -q '^metric rr-udp.p99@all: a trial has about 150 samples, 1.5 beyond .* \"duration: 4s\" or more suffices' '$work/said'"
sed 's/duration: 300ms/duration: 4s/' "$work/short.yaml" >"$work/long.yaml"
ok "the duration it names suffices" sh -c "'$IRQLAB' plan '$work/long.yaml' >'$work/said' && ! grep -q suffices '$work/said'"
ok "a load back to back has no number of samples to tell" sh -c "sed 's/rr.p50@all:/rr.p999@all:/' '$src/tests/plans/round-trips.yaml' >'$work/fast.yaml' && '$IRQLAB' plan '$work/fast.yaml' >'$work/said' && ! grep -q suffices '$work/said'"
ok "a run says so too, before it opens its store" sh -c "IRQLAB_DB=/proc/none/x '$IRQLAB' run '$work/short.yaml' -o '$work/short.html' >/dev/null 2>'$work/said'; grep -q '^metric rr-udp.p99@all: .* suffices' '$work/said'"
