#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The main job: a plan is run, judged, stored and reported; an empty comparison is vetoed.
. "$(dirname "$0")/tap.sh"
need_root
plan 19

json() {
	python3 -c "import json, sys; r = json.load(open('$1')); sys.exit(0 if ($2) else repr($2))"
}

"$IRQLAB" run "$src/tests/plans/quick.yaml" --json -o "$work/quick.html" >"$work/quick.json" 2>"$work/err"
echo $? >"$work/rc"
ok "the run ends with a verdict" grep -qx '[045]' "$work/rc"
ok "standard error is silent when it is no terminal" test ! -s "$work/err"
ok "the JSON names the plan" json "$work/quick.json" "r['plan'] == 'quick'"
ok "every trial is there" json "$work/quick.json" "len(r['trials']) == 12"
ok "no trial is vetoed or failed" json "$work/quick.json" "all(t['state'] == 'ok' for t in r['trials'])"
ok "the witness moved" json "$work/quick.json" "'run time of napi/dut0' in json.dumps(r)"
ok "threaded NAPI is judged" json "$work/quick.json" "r['verdicts'][0]['verdict'] in ('better', 'worse', 'same', 'undecided')"
ok "the report is one file without scripts or requests" sh -c "grep -q '</html>' '$work/quick.html' && ! grep -E '<script|https?://' '$work/quick.html'"
"$IRQLAB" compare last --json >"$work/again.json" 2>&1
ok "compare recomputes the same verdict offline" python3 -c "
import json
a, b = json.load(open('$work/quick.json')), json.load(open('$work/again.json'))
assert a['verdicts'] == b['verdicts']"

"$IRQLAB" run --force "$src/tests/plans/no-effect.yaml" --json -o "$work/no.html" >"$work/no.json" 2>&1
echo $? >"$work/rc"
ok "without GRO the comparison exits undecided" grep -qx 4 "$work/rc"
ok "its verdict is vetoed" json "$work/no.json" "r['verdicts'][0]['verdict'] == 'vetoed'"
ok "and says that the variant had no effect" json "$work/no.json" "'no effect' in r['verdicts'][0]['reason']"
ok "no namespace is left" sh -c "! lsns -t net -n -o COMMAND | grep -F '$IRQLAB'"
ok "nothing is left to restore" sh -c "test ! -e '$work/state/journal'"

# a variant that cannot be made here ends the run after three trials of it, not after the whole plan
sed 's/netdev: { dev: $dut, threaded: 1 }/sysctl: { net.ipv4.no_such_thing: 1 }/; s/blocks: 6/blocks: 100/' \
	"$src/tests/plans/quick.yaml" >"$work/typo.yaml"
check "a setting that does not exist fails the run" 1 "$IRQLAB" run "$work/typo.yaml" -o "$work/t.html"
"$IRQLAB" run "$work/typo.yaml" -o "$work/t.html" >"$work/said" 2>&1
ok "and says which variant and what" sh -c "grep -q '3 trials of variant after in a row.*no_such_thing' '$work/said'"
"$IRQLAB" report last --json >"$work/t.json"
ok "without measuring a hundred blocks" json "$work/t.json" "len(r['trials']) <= 8"
check "resume finds no run of a plan that was completed" 1 "$IRQLAB" run --resume "$src/tests/plans/quick.yaml"
check "a report that cannot be written is told before the trials" 1 "$IRQLAB" run "$src/tests/plans/quick.yaml" -o "$work/no/such/r.html"
