#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Pasted text: what it can bear is computed, what it cannot is said.
. "$(dirname "$0")/tap.sh"
plan 20
mail=$src/tests/fixtures/mail

exits 4 "$IRQLAB" compare "$mail/throughput.txt" --irq-rate 80000 >"$work/a" 2>&1
rc=$?
ok "two iperf3 tables: exit code undecided" test $rc = 0
ok "means of 20 rows" sh -c "grep -q '885\.5' '$work/a' && grep -q '899\.[56]' '$work/a' && grep -q '20' '$work/a'"
ok "the change" grep -q '+1\.59 *%' "$work/a"
ok "retransmits in episodes" sh -c "grep -q 25 '$work/a' && grep -q 164 '$work/a' && grep -qi 'episode' '$work/a'"
ok "nanoseconds per interrupt" grep -q '195' "$work/a"
ok "one run per side proves nothing" grep -qi 'one run per side' "$work/a"
ok "fits a mail" awk 'length > 78 { bad = 1 } END { exit bad || NR < 20 }' "$work/a"
"$IRQLAB" compare "$mail/throughput.txt" --json >"$work/json"
ok "the interval lies inside 1.3 to 1.9 %" python3 -c "
import json
low, high = json.load(open('$work/json'))['pairs'][0]['directions'][0]['change_interval']
assert 0.013 < low < 0.0159 < high < 0.019, (low, high)"
exits 4 "$IRQLAB" compare "$mail/latency.txt#3" "$mail/latency.txt#4" >"$work/c" 2>&1
rc=$?
ok "two cyclictest tables: exit code undecided" test $rc = 0
ok "maxima with their N, undecided, with the reason" sh -c "grep -q 960000 '$work/c' && grep -qi undecided '$work/c' && grep -q 83 '$work/c' && grep -q 42 '$work/c'"
printf 'nothing here\n' >"$work/none"
ok "text without a result is a failure" exits 1 "$IRQLAB" compare "$work/none" "$mail/throughput.txt"
ok "tables of different tools are not compared" exits 1 "$IRQLAB" compare "$mail/throughput.txt#1" "$mail/latency.txt#1"

# said CODE WORDS COMMAND...: that exit code, and WORDS in what it says
said() {
	want=$1 words=$2
	shift 2
	exits "$want" "$@" >"$work/said" 2>&1 && grep -qF -e "$words" "$work/said" && return
	cat "$work/said"
	return 1
}
stdin_is() {
	(exec <"$1" && shift && said "$@")
}
ok "one pick alone names another" said 1 "latency.txt#3 picks one run; compare needs two" "$IRQLAB" compare "$mail/latency.txt#3"
ok "runs are listed one a line" sh -c "[ \$(grep -c '^  #[1-6] cyclictest at line' '$work/said') = 6 ]"
ok "#0 is told to count from 1" said 2 "it counts from 1, as in $mail/latency.txt#1" "$IRQLAB" compare "$mail/latency.txt#0"
ok "#x as well" said 2 "it counts from 1" "$IRQLAB" compare "$mail/latency.txt" "$mail/latency.txt#x"
ok "standard input has a name" stdin_is "$mail/latency.txt" 1 "standard input#3 picks one run" "$IRQLAB" compare -- "-#3"
ok "two runs of standard input" stdin_is "$mail/latency.txt" 4 "standard input#4, line" "$IRQLAB" compare -- "-#3" "-#4"
ok "a bad value names its option as it is written" said 2 'option --irq-rate "x": expected' "$IRQLAB" compare "$mail/throughput.txt" --irq-rate x
ok "help shows which options take a value" sh -c "'$IRQLAB' compare --help >'$work/help' && grep -q -e '--seed=\.\.\. ' '$work/help' && grep -q -e '--json  ' '$work/help'"
