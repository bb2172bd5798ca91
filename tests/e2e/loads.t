#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every load of the traffic engine in one plan: they run side by side, and the verdict is about a
# quantile of the round trips.
. "$(dirname "$0")/tap.sh"
need_root
plan 8

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
