#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The machine goes down in the middle of a run, and the run goes on after it: in a guest with a
# PREEMPT_RT kernel, whose store and journal lie on a disk that outlives the reset.  A minute or two;
# needs what tests/lab/guest.sh names, and packages of a 6.12 kernel (KERNEL=REGEX for another).
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
. "$src/tests/lab/guest.sh"
missing=$(guest_missing)
[ -z "$missing" ] || { echo "prove reboot: not here: $missing"; exit 77; }
command -v mkfs.ext4 >/dev/null || { echo "prove reboot: not here: mkfs.ext4"; exit 77; }
guest_kernel "${KERNEL:-linux-image-6.12.*-rt-amd64-unsigned}" || { echo "prove reboot: no such kernel package"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/irqlab-prove-XXXXXX")
image=
trap 'rm -rf "$work" $image' EXIT
guest_image
truncate -s 64M "$work/disk"
mkfs.ext4 -q "$work/disk"

cat >"$work/head" <<'X'
mount -t ext4 /dev/vda /disk
export IRQLAB_DB=/disk/irqlab.db IRQLAB_STATE_DIR=/disk/state
cat >/tmp/plan.yaml <<P
name: reset
setup:
  - sysctl: { kernel.sched_rr_timeslice_ms: 37 }
variants: { a: [], b: [ sysctl: { vm.stat_interval: 7 } ] }
probes: { wakeup: { interval: 1ms, priority: [80], cpus: all } }
trial: { settle: 0ms, warmup: 50ms, duration: 400ms }
blocks: 6
metrics: { wakeup.p50: { margin: 5% } }
P
X
# the reset comes when four trials are stored and a fifth is under way
{
	cat "$work/head"
	cat <<'X'
irqlab run -q /tmp/plan.yaml -o /tmp/r.html >/disk/first 2>&1 &
until [ "$(irqlab show last --json 2>/dev/null | sed -n 's/.*"good": *\([0-9]*\).*/\1/p')" -ge 4 ] 2>/dev/null; do sleep 0.2; done
until [ "$(cat /proc/sys/vm/stat_interval)" = 7 ]; do sleep 0.02; done
echo "STORED $(irqlab show last --json | sed -n 's/.*"good": *\([0-9]*\).*/\1/p')"
echo "SET $(cat /proc/sys/kernel/sched_rr_timeslice_ms) $(cat /proc/sys/vm/stat_interval)"
echo b >/proc/sysrq-trigger
sleep 60
X
} >"$work/before"
{
	cat "$work/head"
	cat <<'X'
echo "AFTER $(cat /proc/sys/kernel/sched_rr_timeslice_ms) $(cat /proc/sys/vm/stat_interval)"
irqlab list
irqlab restore; echo "RESTORE $?"
irqlab run -q --resume -o /tmp/r.html >/disk/second 2>&1; echo "RESUME $?"
head -n 5 /disk/second
irqlab show last --json | grep -E '"(state|good|vetoed|failed)"'
irqlab restore; echo "RESTORE $?"
echo "LAST $(cat /proc/sys/kernel/sched_rr_timeslice_ms) $(cat /proc/sys/vm/stat_interval)"
X
} >"$work/after"
disk="file=$work/disk,if=virtio,format=raw,cache=directsync"
guest_boot "$work/before" -drive "$disk" | tee "$work/said.before"
guest_boot "$work/after" -drive "$disk" | tee "$work/said.after"

fail() {
	echo "prove reboot: $1"
	exit 1
}
value() {
	sed -n "s/^$1 //p" "$2" | tail -n 1
}
stored=$(value STORED "$work/said.before")
[ "$(value SET "$work/said.before")" = "37 7" ] || fail "the settings were not made before the reset"
! grep -q '^GUEST-END' "$work/said.before" || fail "the guest was not reset"
[ "$(value AFTER "$work/said.after")" = "$(value LAST "$work/said.after")" ] || fail "the last state is not that of the boot"
[ "$(sed -n 's/^RESTORE //p' "$work/said.after" | tr '\n' ' ')" = "0 0 " ] || fail "restore found something that it could not do"
case $(value RESUME "$work/said.after") in 0 | 4 | 5) ;; *) fail "the run did not go on" ;; esac
grep -q '"state": *"done"' "$work/said.after" || fail "the run is not done"
total=$(sed -n 's/.*"\(good\|vetoed\)": *\([0-9]*\).*/\2/p' "$work/said.after" | awk '{ n += $1 } END { print n }')
[ "$total" = 12 ] || fail "$total trials of 12"
echo "prove reboot: reset with $stored of 12 trials stored; resumed, all 12 there, nothing left changed"
