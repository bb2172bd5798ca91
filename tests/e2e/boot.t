#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Variants that want another boot than the running one: a run measures as far as this boot goes,
# stops with what to boot before anything is changed, and loses nothing when it is asked again.
. "$(dirname "$0")/tap.sh"
need_root
[ "$(tr ' ' '\n' </proc/cmdline | grep -c '^irqlab')" = 0 ] || skip_all "booted for a test of irqlab"

# a word that this kernel was booted with, quoted as YAML wants it
word=$(tr ' ' '\n' </proc/cmdline | sed '/^--$/,$d' | grep -E '^[a-z_.]+(=[a-z0-9]+)?$' | tail -n 1)
[ -n "$word" ] || skip_all "no plain word on this kernel's command line"

# make SEED: a plan of two variants, of which one suits this boot
make() {
	cat >"$work/plan.yaml" <<EOT
name: boots
peer: none
setup:
  - sysctl: { kernel.hung_task_warnings: 7 }
variants:
  here:
    - boot: { cmdline: "$word" }
  there:
    - boot: { cmdline: "irqlab_no_such_word" }
scenarios:
  quiet: []
  still: []
probes:
  wakeup: { interval: 1ms, priority: 1 }
trial: { settle: 0s, warmup: 0s, duration: 20ms }
blocks: 6
boots: 3
metrics:
  wakeup.p50@quiet: { margin: 10% }
seed: $1
EOT
}

first() {
	"$IRQLAB" plan "$work/plan.yaml" | sed -n 's/^boot of \([a-z]*\):.*/\1/p' | head -n 1
}

trials() {
	"$IRQLAB" report last --json | python3 -c '
import json, sys
t = json.load(sys.stdin)["trials"]
print(len(t), len({(x["block"], x["scenario"]) for x in t}), *sorted({x["variant"] for x in t}))'
}

seed_of() {
	for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		make $seed
		[ "$(first)" = "$1" ] && return
	done
}


plan 10
warnings=$(cat /proc/sys/kernel/hung_task_warnings)
seed_of there
check "the first trial wants another boot: 77" 77 "$IRQLAB" run -q "$work/plan.yaml"
lines=$("$IRQLAB" run -q "$work/plan.yaml" 2>&1)
ok "what to add, what to remove and the whole line are told" sh -c '
	echo "$1" | grep -q "to add: *irqlab_no_such_word" && echo "$1" | grep -qxF "  to go:    $2" &&
	echo "$1" | grep -q "^  .* irqlab_no_such_word" && echo "$1" | grep -q "irqlab run --resume"' sh "$lines" "$word"
ok "nothing was changed, and no lock or journal is left" test "$(cat /proc/sys/kernel/hung_task_warnings)" = "$warnings" -a ! -e "$work/state"
check "asked to go on in the same boot: 77 again" 77 "$IRQLAB" run -q --resume
ok "nothing was measured" test "$(trials)" = "0 0"

seed_of here
check "the first round's boot is this one: measured, then 77" 77 "$IRQLAB" run -q "$work/plan.yaml"
# a third of the six blocks under two scenarios, or more where two turns of the variant touch
stored=$(trials)
ok "the trials of this boot are stored ($stored)" sh -c 'set -- $1; test $1 -ge 4 && test $1 = $2 && test $3 = here' sh "$stored"
check "asked to go on: 77, nothing is measured twice" 77 "$IRQLAB" run -q --resume
ok "nothing is lost" test "$(trials)" = "$stored"
ok "the machine is given back" sh -c 'test "$(cat /proc/sys/kernel/hung_task_warnings)" = "$1" && test ! -e "$2"' sh "$warnings" "$work/state/journal"
