#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the agent keeps of root's capabilities, and what its commands have.
. "$(dirname "$0")/tap.sh"
need_root
plan 6

agent=$(dirname "$IRQLAB")/irqlab-agent
"$agent" --capabilities >"$work/table"
ok "docs/security.md has the agent's own table" sh -c "
	sed -n 's/^| \\(CAP_[A-Z_]*\\) | \\(.*\\) |\$/\\1 \\2/p' '$src/docs/security.md' >'$work/documented'
	tr -s ' ' <'$work/table' | cmp - '$work/documented'"

# the table's capabilities by their numbers in linux/capability.h
mask() {
	python3 - "$work/table" <<'X'
import sys
names = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE
AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ
PERFMON BPF CHECKPOINT_RESTORE""".split()
wanted = [line.split()[0][4:] for line in open(sys.argv[1])]
print("%016x" % sum(1 << names.index(w) for w in wanted))
X
}
# field NAME FILE: of a copy of /proc/PID/status
field() {
	sed -n "s/^$1:[[:space:]]*//p" "$2"
}

cat >"$work/plain.yaml" <<X
name: plain
variants: { a: [], b: [] }
probes: { wakeup: { interval: 10ms, priority: [50], cpus: "0" } }
trial: { settle: 0ms, warmup: 0ms, duration: 200ms }
blocks: 6
metrics: { wakeup.p50: { margin: 5% } }
X
"$IRQLAB" run -q "$work/plain.yaml" -o "$work/r.html" >/dev/null 2>&1 &
run=$!
# a second thread is the probe's: the agent is in a trial
until [ -s "$work/status" ] && [ "$(field Threads "$work/status")" -gt 1 ]; do
	kill -0 $run 2>/dev/null || break
	pid=$(pgrep -P $run irqlab-agent) && cat "/proc/$pid/status" >"$work/status" 2>/dev/null
done
wait $run
mine=$(field CapEff /proc/self/status)
want=$(printf '%016x' $((0x$(mask) & 0x$mine)))
ok "the agent has the capabilities of its table, as far as we have them" test "$(field CapEff "$work/status")" = "$want"
ok "and can get no others" sh -c "test '$(field CapPrm "$work/status")' = '$want' && test '$(field NoNewPrivs "$work/status")' = 1"
ok "which are fewer than root's" test "$want" != "$mine"

sed "s|^probes|scenarios: { on: [ command: { run: \"cat /proc/self/status >$work/command; sleep 60\" } ] }\nprobes|" "$work/plain.yaml" >"$work/command.yaml"
"$IRQLAB" run -q --yes "$work/command.yaml" -o "$work/r.html" >/dev/null 2>&1
ok "a command that was agreed to has all that we have" test "$(field CapEff "$work/command")" = "$mine"

ok "store and report are readable by their owner alone" test "$(stat -c %a "$work/r.html" "$IRQLAB_DB" | sort -u)" = 600
