#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Real experiments with known answers, on this machine: 40 of nothing at all (A/A), 20 of 1.5 % less
# rate, 20 of threads that are busy for 50 us a hundred times a second.  One line for each goes into
# tests/known/prove-verdict.txt; what is there already is not measured again (RESULTS=FILE for another).
# Root; half an hour to an hour on a machine that does nothing else.  ONLY="aa rate busy", COUNT=N for less.
set -eu
cd "$(dirname "$0")/../.."
results=${RESULTS:-tests/known/prove-verdict.txt}
irqlab=$PWD/build/irqlab
burn=$PWD/build/tests/bench/burn
[ "$(id -u)" = 0 ] || { echo "prove verdict: needs root"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/irqlab-prove-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export IRQLAB_DB="$work/irqlab.db"
if [ ! -f "$results" ]; then
	{
		echo "# experiment, its number, which is its seed, and what each metric's verdict was; made by: ./dev prove verdict"
		echo "# $(uname -m), $(nproc) CPUs, Linux $(uname -r)"
	} >"$results"
fi

# words EXPERIMENT NUMBER: one line for a run that ended
words() {
	python3 - "$1" "$2" "$work/run.json" <<'EOF'
import json
import sys


def percent(x):
    return "-" if x is None else f"{100 * x:+.2f}"


out = []
for v in json.load(open(sys.argv[3]))["verdicts"]:
    low, high = percent(v["low"]), percent(v["high"])
    out.append(f"{v['metric'].replace(' ', '')} {v['verdict']} {percent(v['change'])} [{low},{high}]%")
print(*sys.argv[1:3], *out)
EOF
}

# The limit of the busy experiments: once for all of them, kept beside their results.
limit_of_busy() {
	limit=$(sed -n 's/^# busy: limit \([0-9]*\)us.*/\1/p' "$results")
	[ -z "$limit" ] || return 0
	sed "s|@SEED@|1|; s|@BURN@|$burn|; s|@LIMIT@|30us|; s|blocks: 10|blocks: 6|" tests/plans/prove-busy.yaml >"$work/plan.yaml"
	"$irqlab" run --yes --aa "$work/plan.yaml" -q --json -o "$work/run.html" >"$work/run.json" 2>"$work/said" || case $? in 4 | 5) ;; *)
		cat "$work/said" >&2
		exit 1
		;;
	esac
	limit=$(python3 -c "import json; print(json.load(open('$work/run.json'))['latency'][0]['p50_ns'] // 1000 + 25)")
	echo "# busy: limit ${limit}us, 25 us above the median of a pilot" | tee -a "$results"
}

# experiment KIND NUMBER
experiment() {
	grep -q "^$1 $2 " "$results" && return 0
	sed "s|@SEED@|$2|; s|@BURN@|$burn|; s|@LIMIT@|${limit:-30}us|" "tests/plans/prove-$1.yaml" >"$work/plan.yaml"
	rc=0
	"$irqlab" run --yes "$work/plan.yaml" -q --json -o "$work/run.html" >"$work/run.json" 2>"$work/said" || rc=$?
	case $rc in
	0 | 4 | 5) words "$1" "$2" | tee -a "$results" ;;
	*) cat "$work/said" >&2; exit "$rc" ;;
	esac
}

for kind in ${ONLY:-aa rate busy}; do
	want=20
	[ "$kind" != aa ] || want=40
	[ "$kind" != busy ] || limit_of_busy
	i=1
	while [ "$i" -le "${COUNT:-$want}" ]; do
		experiment "$kind" "$i"
		i=$((i + 1))
	done
done

# any better or worse of an A/A experiment is false; a right tool has more than 5 of 40 in 1 of 70 attempts
awk '
	$1 == "aa" { aa++; if (/ (better|worse) /) wrong++ }
	$1 == "rate" { rate++; right_rate += $4 == "worse" }
	$1 == "busy" { busy++; right_busy += $4 == "worse" }
	END {
		printf "A/A: %d of %d false (bound: 5 of 40)\n", wrong, aa
		printf "1.5 %% less rate: %d of %d worse (bound: 16 of 20)\n", right_rate, rate
		printf "busy threads: %d of %d worse (bound: 16 of 20)\n", right_busy, busy
		exit wrong > 5 || (rate >= 20 && right_rate < 16) || (busy >= 20 && right_busy < 16)
	}' "$results"
