#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Looks, A/A runs and their noise floor, what a plan can see, bounds against a stored run.
. "$(dirname "$0")/tap.sh"
need_root
plan 22

trials() {
	python3 -c "
import sqlite3
print(sqlite3.connect('$IRQLAB_DB').execute('SELECT COUNT(*) FROM trial WHERE run = $1').fetchone()[0])"
}

sql() {
	python3 -c "
import sqlite3, sys
c = sqlite3.connect('$IRQLAB_DB')
c.execute('PRAGMA foreign_keys = ON')
c.execute(sys.argv[1])
c.commit()" "$1"
}

# verdict FILE EXPRESSION: of the JSON report in FILE, with r the report and v its first verdict
verdict() {
	python3 -c "
import json, sys
r = json.load(open('$1'))
v = r['verdicts'][0]
assert $2, (v, r['exploratory'], r['run']['state'])"
}

p=$src/tests/plans/sequential.yaml
ok "the plan says when it is looked at" sh -c "'$IRQLAB' plan '$p' | grep -q 'looks after blocks 9 14; it ends at the first'"
ok "and that a pilot is needed as long as nothing is stored" sh -c "'$IRQLAB' plan '$p' | grep -q 'a pilot: irqlab run --aa'"

# A machine that stops a sender for longer than it may make up for measures its own load: once more.
for _ in 1 2 3; do
	rm -f "$IRQLAB_DB"*
	"$IRQLAB" run --aa "$p" --json -q -o "$work/aa.html" >"$work/aa.json" 2>"$work/aa.err"
	"$IRQLAB" run "$p" --json -q -o "$work/r.html" >"$work/r.json" 2>"$work/r.err"
	rc=$?
	grep -q 'sent less than asked' "$work/aa.json" "$work/r.json" || break
done
ok "an A/A run is marked as one" verdict "$work/aa.json" "r['run']['aa'] and r['run']['state'] == 'done'"
ok "and its variants do not differ by the 5 % that the plan says" verdict "$work/aa.json" "abs(v['change']) < 0.025"
ok "what the plan can see is known from it" sh -c "'$IRQLAB' plan '$p' | grep -q 'throughput@net: .*single pairs differ by .* from run 1'"
ok "and how many blocks a change takes" sh -c "'$IRQLAB' plan '$p' --detect 20% | grep -q 'in every metric write: blocks: [0-9]'"

result "5 % less is worse" $((rc != 5))
ok "after the first look, and the run ended there" verdict "$work/r.json" \
	"v['verdict'] == 'worse' and v['look'] == 1 and v['looks'] == 2 and len(r['trials']) == 18 and r['run']['state'] == 'done'"
ok "the noise floor of this bench stands beside it" verdict "$work/r.json" "v['noise_floor']['run'] == 1 and v['noise_floor']['pair_sd'] >= 0"
if python=$(python_with jsonschema); then
	ok "and is as docs/schema says" "$python" "$src/tests/e2e/schema.py" "$src/docs/schema/report-1.json" "$work/r.json" "$work/aa.json"
else
	skip "and is as docs/schema says" "no python3-jsonschema"
fi
ok "in the text and on the page too" sh -c "
	'$IRQLAB' report 2 | grep -q 'noise floor of this bench: throughput@net' && grep -q 'Noise floor of this bench' '$work/r.html'"
ok "the other numbers are exploratory" verdict "$work/r.json" "r['exploratory']['compared'] > 0 and all(x['metric'] != 'throughput' for x in r['exploratory']['differ'])"

# the run was stopped after the first look: resuming looks again at what is stored and measures nothing
sql "UPDATE run SET state = 2, ended_ns = 0 WHERE id = 2"
"$IRQLAB" run --resume -q -o "$work/r.html" >/dev/null 2>&1
ok "a resumed run ends at the look that decided" test "$(trials 2)" = 18

# ... and before the look: without its last block nothing is said
sql "DELETE FROM trial WHERE run = 2 AND block = 8"
sql "UPDATE run SET state = 2, ended_ns = 0 WHERE id = 2"
"$IRQLAB" report 2 --json >"$work/part.json"
ok "before a look there is no number" verdict "$work/part.json" \
	"v['verdict'] == 'undecided' and v['low'] is None and v['change'] is None and r['exploratory']['compared'] == 0"
"$IRQLAB" run --resume -q -o "$work/r.html" >/dev/null 2>&1
ok "what is missing is measured, then it is decided" sh -c "
	'$IRQLAB' report 2 --json >'$work/again.json'
	python3 -c \"
import json
r = json.load(open('$work/again.json'))
assert r['verdicts'][0]['verdict'] == 'worse' and len(r['trials']) == 18, r['verdicts']\""

check "a run within its bound passes" 0 "$IRQLAB" check 2 --baseline 1 --max-loss throughput=2%
check "one beyond it does not" 5 "$IRQLAB" check 2 --variant less --baseline 1 --max-loss throughput@net=2%
check "a bound on what nobody measured is a usage error" 2 "$IRQLAB" check 2 --baseline 1 --max-loss latency=2%
check "bisect: bad" 1 "$IRQLAB" bisect 2 --variant less --good 1 --max-loss throughput=2%
check "bisect: ends when there is no baseline" 128 "$IRQLAB" bisect 2 --good nothing --max-loss throughput=2%
check "bisect: a plan is measured, and good" 0 "$IRQLAB" bisect "$p" -q --good 1 --max-loss throughput=2%

cat >"$work/discard.yaml" <<EOF
name: discard
peer: none
variants: { a: [], b: [] }
scenarios: { on: [ { command: { run: "sleep 60" } } ] }
probes: { wakeup: { interval: 1ms, priority: [1], cpus: all } }
trial: { settle: 0ms, warmup: 20ms, duration: 100ms }
discard: { missed: 0% }
blocks: 6
metrics: { wakeup.avg: { margin: 5% } }
EOF
# a wake-up is rarely missed: what is checked is that every trial either kept the rule or names it
"$IRQLAB" run --yes "$work/discard.yaml" --json -q -o "$work/d.html" >"$work/d.json" 2>&1
ok "a trial beyond the plan's rules says which and by how much" python3 -c "
import json, sqlite3
r = json.load(open('$work/d.json'))
c = sqlite3.connect('$IRQLAB_DB')
missed = dict(c.execute('''SELECT t.position, s.value FROM trial t JOIN scalar s ON s.trial = t.id
    JOIN metric m ON m.id = s.metric JOIN label l ON l.id = s.label
    WHERE t.run = %d AND m.name = 'wakeup.missed-ratio' AND l.text = \'\'''' % r['run']['id']))
for t in r['trials']:
    late = missed.get(t['position'], 0) > 0
    assert (t['state'] == 'vetoed') == late, t
    assert not late or 'discarded: ' in t['reason'] and 'skipped' in t['reason'], t"
