#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Two identical variants are not told apart; a known effect is found with the right size.
. "$(dirname "$0")/tap.sh"
need_root
plan 4

"$IRQLAB" run "$src/tests/plans/aa.yaml" --json -o "$work/aa.html" >"$work/aa.json" 2>&1
# 20 verdicts, each from 8 of the 12 stored blocks with the names of the variants drawn anew within
# each block.  A right 5 % procedure exceeds 4 of 20 once in 390 series (binomial).
"${RESAMPLE:-$src/build/tests/e2e/resample}" "$IRQLAB_DB" last 20 8 1 >"$work/resample" 2>&1
ok "20 resampled verdicts were made for each metric" sh -c "test \$(grep -c 'of 20' '$work/resample') = 2"
ok "no more of them are better or worse than the level allows" sh -c "
	cat '$work/resample'; awk '/of 20/ && \$2 > 4 { bad = 1 } END { exit bad || NR < 2 }' '$work/resample'"

# A machine that stops a sender for longer than it may make up for measures its own load: once more.
for _ in 1 2 3; do
	"$IRQLAB" run "$src/tests/plans/paced.yaml" --json -o "$work/p.html" >"$work/p.json" 2>"$work/err"
	grep -q 'sent less than asked' "$work/p.json" || break
done
ok "95 % of the rate is worse" python3 -c "
import json
v = json.load(open('$work/p.json'))['verdicts'][0]
assert v['verdict'] == 'worse', v"
# A right 95 % interval misses once in 20 runs, and here it is narrow, since paced traffic hardly varies:
# half a per cent of grace, so that this test fails for a wrong estimate and not by design.
ok "and -5 % lies inside the interval or just beside it" python3 -c "
import json
v = json.load(open('$work/p.json'))['verdicts'][0]
assert v['low'] - 0.005 <= -0.05 <= v['high'] + 0.005, v
assert v['high'] - v['low'] < 0.05, v"
