#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Knobs of the scheduler, of power, watchdogs and daemons on this machine's own kernel: set during a
# run, given back after it and after SIGKILL, by dumps that irqlab has no part in.
. "$(dirname "$0")/tap.sh"
need_root
for tool in od pgrep; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done

# A daemon of this test's own.
program=irqlab-d$$
cp "$(command -v sleep)" "$work/$program"
"$work/$program" 100000 &
daemon=$!
trap 'kill $daemon 2>/dev/null; rm -rf "$work"' EXIT

state=/sys/devices/system/cpu/cpu0/cpuidle
sched=/proc/sys/kernel/sched_rt
knobs="" have_rt="" have_idle="" have_latency="" have_watchdog=""

# can WORDS...: does a run of one knob alone find it usable here?
can() {
	cat >"$work/probe.yaml" <<EOT
name: can
peer: none
variants:
  a: []
  b: [ { $1 } ]
probes: { wakeup: { interval: 1ms, priority: 1, pm-qos: off } }
trial: { settle: 0s, warmup: 0s, duration: 60ms }
blocks: 6
metrics: { wakeup.p50: { margin: 50% } }
EOT
	for _ in 1 2 3; do
		IRQLAB_DB="$work/probe.db" "$IRQLAB" run -q "$work/probe.yaml" -o "$work/probe.html" >"$work/probe.log" 2>&1
		rc=$?
		# a machine that could not end a window in time says nothing about the knob: once more
		grep -q 'too busy' "$work/probe.log" || break
	done
	case $rc in 0 | 4 | 5) ! grep -q 'not judged' "$work/probe.log" ;; *) return 1 ;; esac
}

add() {
	knobs="$knobs
    - $1"
}

add "daemon: { name: $program }"
add "daemon: { name: irqlab-nobody }"
rt="scheduler: { rt-runtime: 1900ms, rt-period: 2s }"
can "$rt" && have_rt=1 && add "$rt"
cp "$work/probe.log" "$work/rt.log"
if [ -e $state/state1/name ]; then
	idle="power: { idle-disable: [\"$(cat $state/state1/name)\"], cpus: 0 }"
	# some idle drivers ignore it: that is a veto, and what the witness is for
	{ can "$idle" || tr -s ' \n' ' ' <"$work/probe.log" | grep -q 'has not the effect'; } && have_idle=1 && add "$idle"
fi
[ "$(od -An -td4 /dev/cpu_dma_latency 2>/dev/null | tr -d ' ')" = 2000000000 ] && have_latency=1 && add "power: { dma-latency: 23us }"
[ -e /proc/sys/kernel/soft_watchdog ] && [ "$(cat /proc/sys/kernel/soft_watchdog)" = 1 ] && have_watchdog=1 && add "watchdog: { soft: off, thresh: 20s }"

cat >"$work/plan.yaml" <<EOT
name: knobs
peer: none
variants:
  before: []
  after:$knobs
probes:
  wakeup: { interval: 1ms, priority: 1, pm-qos: off }
trial: { settle: 10ms, warmup: 10ms, duration: 200ms }
blocks: 6
metrics:
  wakeup.p50: { margin: 50% }
EOT

dump() {
	cat ${sched}_runtime_us ${sched}_period_us
	cat $state/*/disable 2>/dev/null
	cat /proc/sys/kernel/*watchdog* 2>/dev/null
	# others may hold it at what they like
	od -An -td4 /dev/cpu_dma_latency 2>/dev/null | grep -c ' 23$'
	sed 's/.*) \(.\) .*/\1/; s/[RD]/S/' "/proc/$daemon/stat"
}
same() { dump | diff "$work/dump" -; }

# what the variant makes of this machine, seen from outside
seen() {
	[ "$(sed 's/.*) \(.\) .*/\1/' "/proc/$daemon/stat")" = T ] || return 1
	[ -z "$have_rt" ] || [ "$(cat ${sched}_runtime_us)" = 1900000 ] || return 1
	[ -z "$have_idle" ] || [ "$(cat $state/state1/disable)" = 1 ] || return 1
	[ -z "$have_latency" ] || [ "$(od -An -td4 /dev/cpu_dma_latency | tr -d ' ')" = 23 ] || return 1
	[ -z "$have_watchdog" ] || [ "$(cat /proc/sys/kernel/soft_watchdog)" = 0 ] || return 1
}

# wait until the variant is in force, or the run is over
await() {
	until seen 2>/dev/null; do
		grep -q '^State:.*[RSD] (' "/proc/$1/status" || return 1
		sleep 0.01
	done
}

# an agent that lost its conductor gives the machine back by itself; one that is killed does not
await_end() {
	while grep -q '^State:.*[RSD] (' "/proc/$1/status" 2>/dev/null; do sleep 0.02; done
}

plan 14
dump >"$work/dump"
ok "two dumps of the idle machine are equal" same
"$IRQLAB" run -q "$work/plan.yaml" -o "$work/r.html" >"$work/log" 2>&1 &
run=$!
ok "every setting is in force at once" await $run
wait $run
code=$?
ok "the run is complete" sh -c 'case $1 in 0 | 4 | 5) ;; *) cat "$2"; exit 1 ;; esac' sh $code "$work/log"
ok "the machine is as it was" same
"$IRQLAB" report last --json >"$work/report.json" 2>&1
ok "a daemon that does not run is told, and no error" grep -q 'no process irqlab-nobody' "$work/report.json"
ok "what is paused did not run" grep -q "process .*$program.*works: run time of $program" "$work/report.json"
if [ "$have_idle" ]; then
	ok "the idle state was not entered, or the trial is vetoed for it" grep -q 'cpu0/cpuidle/state1 = .*\(works\|idle, so\|has not the effect\)' "$work/report.json"
else
	skip "the idle state was not entered" "no idle state can be disabled here"
fi
i=0
for victim in agent both; do
	"$IRQLAB" run -q "$work/plan.yaml" -o "$work/r.html" >"$work/log" 2>&1 &
	run=$!
	await $run
	agent=$(pgrep -P $run -f irqlab-agent | head -n 1)
	[ $victim = both ] && kill -9 $run
	kill -9 "$agent"
	wait $run 2>/dev/null
	await_end "$agent"
	i=$((i + 1))
	restore() { "$IRQLAB" restore && same; }
	ok "killed ($victim): restore gives the machine back" restore
	ok "killed ($victim): nothing is left in the journal" test ! -e "$work/state/journal"
done
if [ "$have_rt" ]; then
	skip "rt-runtime is refused with its reason" "it works here"
else
	sed 's/^/# /' "$work/rt.log"
	ok "rt-runtime is refused with its reason" grep -q 'fair server\|sched_rt' "$work/rt.log"
fi
refused() {
	can "$1" && return 1
	grep -q "$2" "$work/probe.log" || {
		cat "$work/probe.log"
		return 1
	}
}
if [ -e /proc/modules ]; then
	skip "modules are refused where the kernel takes none" "this one takes modules"
else
	ok "modules are refused where the kernel takes none" refused "module: { name: veth }" "this kernel takes no modules"
fi
ok "a frequency that cannot be set is refused with its reason" refused "power: { min-freq: 99GHz }" "no cpufreq driver\|give both"
