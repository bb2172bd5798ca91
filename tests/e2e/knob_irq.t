#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Threads that are born and die while trials run, a hand that interferes, kill -9, and real
# interrupts of this machine: seen from outside of irqlab, by the threads themselves, chrt and /proc.
# $1: the program births.
. "$(dirname "$0")/tap.sh"
need_root
for tool in chrt python3 taskset; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
births=$1
plan 22

# start NAME PERIOD LIFE: threads; $base is the one that stays
start() {
	rm -f "$work/in" "$work/births"
	mkfifo "$work/in" "$work/births"
	"$births" "$1" "$2" "$3" "$work/lives" <"$work/in" >"$work/births" &
	threads=$!
	exec 9>"$work/in"
	read -r _ base <"$work/births"
}
list='' threads=''
trap 'kill $threads 2>/dev/null; [ -z "$list" ] || echo "$lines" >"$list"; rm -rf "$work"' EXIT

policy() { chrt -p "$1" | sed -n 's/.*policy: //p; s/.*priority: //p' | tr '\n' ' '; }

# plan NAME KNOB...: the variant "after" has these knobs
write_plan() {
	name=$1
	shift
	{
		echo "name: $name"
		echo "variants:"
		echo "  before: []"
		echo "  after:"
		for knob in "$@"; do echo "    - $knob"; done
		cat <<X
probes:
  wakeup: { interval: 10ms, priority: [50], cpus: "0" }
scenarios:
  s: ${load:-[]}
trial: { settle: 0ms, warmup: 20ms, duration: ${duration:-300ms} }
alpha: 0.5
blocks: 2
metrics:
  wakeup.p50@s: { margin: 5% }
X
	} >"$work/$name.yaml"
}

# said PYTHON: an expression over t, the texts that the report has on witnesses, warnings and vetoes
said() {
	"$IRQLAB" report last --json >"$work/json" && python3 - "$work/json" "$1" <<'X'
import json, sys
health = json.load(open(sys.argv[1]))['health']
t = [n['text'] for k in ('witnesses', 'warnings', 'rejected') for n in health[k]]
sys.exit(0 if eval(sys.argv[2]) else '\n'.join(['not so: ' + sys.argv[2]] + t))
X
}

# meddle CONDITION COMMAND: while irqlab runs, do this whenever that holds; then its exit code
meddle() {
	while kill -0 $run 2>/dev/null; do
		if eval "$1"; then eval "$2"; fi
		sleep 0.01
	done
	wait $run
}

run_plan() {
	"$IRQLAB" run --yes "$work/$1.yaml" -q -o "$work/r.html" >"$work/said" 2>&1
	rc=$?
	case $rc in 0 | 4 | 5) return 0 ;; esac
	cat "$work/said"
	return 1
}

# threads with a name like an interrupt's: a new one every 150 ms, each lives for 400 ms
start irq/99-t 150 400
was=$(policy "$base")
duration=600ms write_plan births 'thread: { match: "irq/99-t*", kthreads-only: off, policy: fifo, priority: 3 }'
ok "a run over threads that are born and die ends with a verdict" run_plan births
ok "what appeared got the setting, and is named" said \
	'any("appeared " in x and "into the window: policy of thread irq/99-t" in x for x in t)'
ok "what is gone is noted" said 'any(x.startswith("gone ") and "irq/99-t" in x for x in t)'
ok "and neither fails nor vetoes a trial" said 'not any("did not hold" in x or "could not be" in x for x in t)'
ok "the thread that stayed is as it was" test "$(policy "$base")" = "$was"
lives() { python3 - "$work/lives" "$@" <<'X'
import re, sys
lives = [l.split()[2:] for l in open(sys.argv[1])]
born_before = [l for l in lives if l == ['0:0']]
got = [l for l in lives if l[0] == '0:0' and '1:3' in l]
back = [l for l in lives if '1:3' in l and l[-1] == '0:0']
print(len(lives), 'lives,', len(born_before), 'untouched,', len(got), 'set,', len(back), 'set back')
sys.exit(not (got and born_before and back and all(p in ('0:0', '1:3') for l in lives for p in l)))
X
}
ok "the threads themselves saw it: some set, some set back, some never touched" lives
ok "no journal is left" test ! -e "$IRQLAB_STATE_DIR/journal"

# kill -9 while threads come and go
duration=5s write_plan killed 'thread: { match: "irq/99-t*", kthreads-only: off, policy: rr, priority: 4, nice: -3 }'
"$IRQLAB" run --yes "$work/killed.yaml" -q -o "$work/r.html" >"$work/said" 2>&1 &
run=$!
until policy "$base" | grep -q 'SCHED_RR' || ! kill -0 $run; do sleep 0.05; done
sleep 1
# shellcheck disable=SC2046
kill -9 $run $(pgrep -P $run)
wait $run 2>/dev/null
ok "after kill -9 the journal has more than was there in the beginning" sh -c "
	test \"\$(grep -c 'irq/99-t[0-9]' '$IRQLAB_STATE_DIR/journal')\" -gt 2"
ok "restore ends well, whatever is gone by then" "$IRQLAB" restore
ok "and gives the thread that stayed back" test "$(policy "$base")" = "$was"
ok "with its nice value" test "$(awk '{ print $19 }' "/proc/$base/stat")" = 0

# somebody else changes the same thread in mid-trial
write_plan other 'thread: { match: "irq/99-tbase", kthreads-only: off, policy: fifo, priority: 3 }'
"$IRQLAB" run --yes "$work/other.yaml" -q -o "$work/r.html" >"$work/said" 2>&1 &
run=$!
meddle 'policy "$base" | grep -q SCHED_FIFO' 'chrt -r -p 5 "$base"'
ok "a hand that interferes vetoes the trial, with both values" said \
	'any("was set to \"fifo:3\" and is \"rr:5\" now" in x for x in t)'
ok "its value is left alone" test "$(policy "$base")" = "SCHED_RR 5 "
ok "and that is said, with all three values" said \
	'any("is \"rr:5\", neither \"other:0\" as before nor \"fifo:3\" as irqlab set it" in x for x in t)'
chrt -o -p 0 "$base"
write_plan setup 'thread: { match: "irq/99-tbase", kthreads-only: off, nice: 1 }'
sed -i '1a setup: [ { thread: { match: "irq/99-tbase", kthreads-only: off, policy: batch } } ]' "$work/setup.yaml"
"$IRQLAB" run --yes "$work/setup.yaml" -q -o "$work/r.html" >"$work/said" 2>&1 &
run=$!
meddle 'policy "$base" | grep -q SCHED_BATCH' 'chrt -r -p 6 "$base"'
ok "one that interferes with the setup is told at the end of the run" grep -q \
	'is "rr:6", neither "other:0" as before nor "batch:0" as irqlab set it' "$work/said"
exec 9>&-
wait $threads 2>/dev/null

refused() {
	"$IRQLAB" run --yes "$work/$1.yaml" -q -o "$work/r.html" >"$work/said" 2>&1
	tr -s '\n ' ' ' <"$work/said" | grep -q "$2" || { cat "$work/said"; return 1; }
}
if pgrep -x ksoftirqd/0 >/dev/null; then
	write_plan bound 'thread: { match: "ksoftirqd/0", cpus: "1" }'
	ok "a thread bound to its CPU is refused with the reason" refused bound "the kernel has bound it"
else
	skip "a thread bound to its CPU is refused with the reason" "no kernel thread is visible"
fi
write_plan veth 'irq: { netdev: $dut, affinity: "0" }'
sed -i '1a peer: netns' "$work/veth.yaml"
ok "a veth has no interrupt, and that is said" refused veth "it is a virtual device"

# a real interrupt that can be asked for: the random number generator's
irq=$(for d in /sys/bus/virtio/drivers/virtio_rng/virtio*; do
	ls "$d/../msi_irqs" 2>/dev/null
done | while read -r n; do
	grep -q input "/sys/kernel/irq/$n/actions" 2>/dev/null && echo "$n"
done | head -n 1)
if [ -n "$irq" ] && [ -c /dev/hwrng ] && [ "$(nproc)" -gt 1 ]; then
	list=/proc/irq/$irq/smp_affinity_list
	lines=$(cat "$list")
	load='[ { command: { run: "while :; do head -c 64 /dev/hwrng >/dev/null; sleep 0.01; done" } } ]'
	write_plan rng 'irq: { driver: virtio_rng, name: "*input*", affinity: "1" }'
	ok "the interrupts of a driver are moved" run_plan rng
	ok "which the CPUs they came on prove" said \
		"any('irq $irq:' in x and 'works: interrupts $irq on CPUs 1 (effective: 1) moved by' in x for x in t)"
	ok "they are where they were" test "$(cat "$list")" = "$lines"
	echo 0 >"$list"
	write_plan moved 'irq: { number: '"$irq"', affinity: "1" }'
	"$IRQLAB" run --yes "$work/moved.yaml" -q -o "$work/r.html" >"$work/said" 2>&1 &
	run=$!
	meddle '[ "$(cat "$list")" = 1 ]' 'echo 0 >"$list"' # as irqbalance does
	ok "a line that something else moves is a veto" said 'any("did not hold" in x and "is \"0\" now" in x for x in t)'
	echo "$lines" >"$list"
	list=''
	load=''
else
	for t in "the interrupts of a driver are moved" "which the CPUs they came on prove" \
		"they are where they were" "a line that something else moves is a veto"; do
		skip "$t" "no interrupt of a virtio random number generator, or one CPU"
	done
fi

# an interrupt's own thread
thread=$(pgrep '^irq/[0-9]*-' | head -n 1)
if [ -n "$thread" ]; then
	number=$(sed 's,^irq/\([0-9]*\)-.*,\1,' "/proc/$thread/comm")
	was=$(policy "$thread")
	duration=100ms write_plan own "irq: { number: $number, policy: rr, priority: 7 }"
	own() { run_plan own && said "any('irq $thread:' in x and 'policy = \"rr:7\"' in x for x in t)" && [ "$(policy "$thread")" = "$was" ]; }
	ok "an interrupt's thread gets a policy and gets its own back" own
else
	skip "an interrupt's thread gets a policy and gets its own back" "no interrupt has a thread here"
fi
