#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Knobs of network devices in whole runs: what irqlab sets is what ip, tc, ethtool and cat show
# meanwhile, and before and after they show the same; also when the agent is killed in between.
. "$(dirname "$0")/tap.sh"
need_root
for tool in ethtool ip tc nsenter ps; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done

a=irqlab-k$$a
ip netns add $a
trap 'ip netns del $a; rm -rf "$work"' EXIT
# not "ip netns exec", which wants / to be a mount point and so fails in a chroot
in_a() {
	nsenter --net=/run/netns/$a unshare --mount --propagation unchanged sh -c \
		'mount --make-private /sys && mount -t sysfs sysfs /sys && exec "$@"' sh "$@"
}
in_a sh -c 'ip link add ta numtxqueues 4 numrxqueues 4 type veth peer name tb numtxqueues 4 numrxqueues 4 &&
	ip tuntap add tt mode tap && ip link set ta up && ip link set tb up && ip link set tt up &&
	ip link add single numtxqueues 1 numrxqueues 1 type veth peer name other && ip link set single up &&
	echo 1 >/sys/class/net/ta/queues/rx-3/rps_cpus && tc qdisc replace dev tt root handle 7: bfifo limit 77777' ||
	skip_all "veth and tap cannot be had here"
in_a ethtool -l ta >/dev/null 2>&1 || skip_all "this kernel's veth has no channels"

# the independent dump: everything that the knobs below could have left changed
cat >"$work/dump" <<'EOF'
cd /sys/class/net
for d in ta tb tt; do
	ip -d link show dev $d
	tc qdisc show dev $d
	for o in k c g l a; do
		echo "$d $o"
		ethtool -$o $d
	done
	grep -r . $d/queues/*/rps_* $d/queues/*/xps_cpus $d/gro_flush_timeout $d/napi_defer_hard_irqs \
		$d/threaded $d/tx_queue_len $d/mtu | sort
done 2>/dev/null
sysctl net.ipv4.tcp_congestion_control
:
EOF
dump() {
	in_a sh "$work/dump"
}
dump >"$work/before"
same() { dump | diff "$work/before" -; }

# plan_of NAME: the knobs of the variant come on standard input
plan_of() {
	cat >"$work/plan.yaml" <<EOF
name: $1
peer: none
dut: ta
variants:
  before: []
  after:
EOF
	sed 's/^/    /' >>"$work/plan.yaml"
	cat >>"$work/plan.yaml" <<'EOF'
scenarios:
  quiet: []
probes:
  wakeup: { interval: 1ms, priority: [50], cpus: "0" }
trial: { settle: 1ms, warmup: 1ms, duration: 20ms }
blocks: 6
metrics:
  wakeup.max@quiet: { margin: 50% }
EOF
}
irqlab() {
	in_a "$IRQLAB" "$@"
}
# exit code in $rc, what it said in $work/said and as JSON in $work/json
run() {
	rc=0
	irqlab run --yes "$work/plan.yaml" --json -o "$work/r.html" >"$work/json" 2>"$work/said" || rc=$?
}
json() {
	python3 -c "import json, sys; r = json.load(open('$work/json')); sys.exit(0 if ($1) else repr(r)[:2000])"
}
during() {
	grep -Eq -- "$1" "$work/during" || {
		cat "$work/during"
		return 1
	}
}

plan 43
ok "two dumps of the idle devices are equal" same

# the command is run when all settings above it are made, and lets another eye look
plan_of all <<EOF
- netdev: { dev: \$dut, mtu: 1400, txqueuelen: 123, napi-defer-hard-irqs: 3, gro-flush-timeout: 20us, gro: on }
- netdev: { dev: tb, tso: off, gso: off, mtu: 1400 }
- netdev: { dev: \$dut, rps-cpus: "0", xps-cpus: "0", queues: [1] }
- netdev: { dev: \$dut, rps-flow-cnt: 256 }
- netdev: { dev: \$dut, threaded: on }
- qdisc: { dev: \$dut, root: pfifo limit 55 }
- qdisc: { dev: tt, root: default }
- coalesce: { dev: tt, rx-frames: 9 }
- sysctl: { net.ipv4.tcp_congestion_control: reno }
- command: { set: "sh $work/dump >$work/during", undo: "true" }
EOF
run
ok "the run ends ($rc): $(head -c 300 "$work/said")" test "$rc" -ne 1 -a "$rc" -ne 2 -a "$rc" -ne 3
ok "no trial failed" json "len(r['trials']) == 12 and all(t['state'] in ('ok', 'vetoed') for t in r['trials'])"
ok "ip shows the mtu and the queue length" during '^[0-9]+: ta@.* mtu 1400 .* qlen 123'
ok "tc shows the qdisc" during 'qdisc pfifo [0-9a-f]+: root .*limit 55p'
ok "tc shows the kernel's own qdisc of the tap" during 'qdisc (mq|pfifo_fast|fq|fq_codel|noqueue) 0: '
ok "ethtool shows the offloads" during 'tcp-segmentation-offload: off'
ok "ethtool shows the coalescing" during 'rx-frames:[[:space:]]+9'
ok "cat shows the deferral" during 'ta/napi_defer_hard_irqs:3'
ok "cat shows the timeout" during 'ta/gro_flush_timeout:20000'
ok "cat shows RPS of one queue" during 'ta/queues/rx-1/rps_cpus:0*1$'
ok "and not of another" during 'ta/queues/rx-0/rps_cpus:0*$'
ok "cat shows XPS" during 'ta/queues/tx-1/xps_cpus:0*1$'
ok "cat shows RFS of all queues" during 'ta/queues/rx-2/rps_flow_cnt:256'
ok "cat shows threaded NAPI" during 'ta/threaded:1'
ok "sysctl shows the congestion control" during 'tcp_congestion_control = reno'
ok "all is as before" same

plan_of channels <<EOF
- channels: { dev: \$dut, rx: 2, tx: 1 }
- command: { set: "sh $work/dump >$work/during", undo: "true" }
EOF
run
ok "channels: the run ends" test "$rc" -ne 1 -a "$rc" -ne 3
ok "ethtool shows the channels" during 'RX:[[:space:]]+2$'
ok "the queues are gone" sh -c "! grep -q ta/queues/rx-3 '$work/during'"
ok "queues and their steering are as before" same

# killed by the last setting: all of irqlab above it, the outermost first, which would give all back itself
cat >"$work/kill" <<'EOF'
p=$PPID all=
until [ "$p" -le 1 ]; do
	case $(cat "/proc/$p/comm") in irqlab*) all="$p $all" ;; esac
	p=$(ps -o ppid= -p "$p" | tr -d ' ')
done
kill -9 $all
EOF
plan_of killed <<EOF
- netdev: { dev: \$dut, mtu: 1400, gro: on, txqueuelen: 123, rps-cpus: "0", gro-flush-timeout: 20us }
- channels: { dev: \$dut, rx: 2, tx: 1 }
- qdisc: { dev: [\$dut, tt], root: pfifo limit 55 }
- coalesce: { dev: tt, rx-frames: 9 }
- command: { set: "sh $work/dump >$work/during; sh $work/kill", undo: "true" }
EOF
run
ok "irqlab and its agent are killed" test "$rc" = 137
ok "in the middle of its settings" during 'qdisc pfifo [0-9a-f]+: root .*limit 55p'
left() { ! same >/dev/null; }
ok "which are still there" left
ok "restore" irqlab restore
ok "gives all of them back" same

# what a device does not have is refused with device, driver and remedy, and nothing is changed
refused() {
	run
	if [ "$rc" = 1 ] && grep -Eq -- "$1" "$work/said"; then
		same
	else
		echo "exit code $rc"
		cat "$work/said"
		return 1
	fi
}
plan_of ring <<'EOF'
- netdev: { dev: $dut, mtu: 1400 }
- ring: { dev: $dut, rx: 512 }
EOF
ok "ring sizes of a veth are refused" refused 'ta \(driver veth\) has no ring sizes: leave the knob out'
plan_of pause <<'EOF'
- pause: { dev: $dut, rx: on }
EOF
ok "pause frames of a veth are refused" refused 'ta \(driver veth\) has no pause frames'
plan_of usecs <<'EOF'
- coalesce: { dev: tt, rx-usecs: 8 }
EOF
ok "a parameter that the driver lacks is refused" refused 'tt \(driver tun\) has no rx-usecs; .* it has: rx-frames'
plan_of many <<'EOF'
- channels: { dev: $dut, rx: 99 }
EOF
ok "more channels than there are are refused" refused 'set channels of ta: Invalid argument.*driver veth'
plan_of kind <<'EOF'
- qdisc: { dev: $dut, root: htb }
EOF
ok "a qdisc that could not be given back is refused" refused 'qdisc "htb" is none of those that irqlab can set and give back'
plan_of offline <<'EOF'
- netdev: { dev: $dut, rps-cpus: "0-4000" }
EOF
ok "CPUs that are not online are refused" refused 'rps-cpus "0-4000": this machine has CPUs'
plan_of nothing <<'EOF'
- netdev: { dev: single, xps-cpus: "0" }
EOF
ok "XPS of a single queue is refused" refused 'single \(driver veth\) has a single transmit queue'
plan_of large <<'EOF'
- netdev: { dev: $dut, mtu: 65536 }
EOF
ok "an mtu beyond the driver's is refused" refused 'ta \(driver veth\) does not take this mtu'
plan_of threaded <<'EOF'
- netdev: { dev: tt, threaded: on }
EOF
run
ok "threaded NAPI that cannot be is refused or vetoed" test "$rc" = 1 -o "$rc" = 4
ok "and nothing stays of it" same

# accepted, read back, and without effect
plan_of futile <<'EOF'
- netdev: { dev: $dut, napi-defer-hard-irqs: 3 }
EOF
run
ok "a deferral without its timeout is vetoed" json "r['verdicts'][0]['verdict'] == 'vetoed'"
ok "with the remedy" json "'without gro-flush-timeout' in json.dumps(r)"

# NAPI instances of their own; the thread's name is the other eye
plan_of napi <<EOF
- netdev: { dev: \$dut, gro: on }
- napi: { dev: \$dut, defer-hard-irqs: 2, gro-flush-timeout: 20us }
- napi: { dev: \$dut, threaded: on }
- command: { set: "cat /proc/[0-9]*/comm >$work/during; true", undo: "true" }
EOF
run
if grep -q 'use the knob netdev\|Linux 6.17 has' "$work/said"; then
	skip "NAPI instances get threads" "this kernel cannot set single instances"
else
	ok "NAPI instances get threads" during '^napi/ta-[0-9]+$'
fi
ok "and lose them" same

# both ends of irqlab's own namespaces, and the witness of a qdisc
cat >"$work/far.yaml" <<'EOF'
name: far
peer: netns
variants:
  before: []
  after:
    - qdisc: { dev: [$dut, $far], root: pfifo limit 1000 }
    - netdev: { dev: [$dut, $far], mtu: 1400 }
    - netdev: { dev: $far, rps-cpus: all }
scenarios:
  net:
    - tcp: { direction: from-dut, rate: 200M }
trial: { settle: 10ms, warmup: 50ms, duration: 300ms }
blocks: 6
metrics:
  throughput@net: { margin: 50% }
seed: 3
EOF
"$IRQLAB" run --yes "$work/far.yaml" --json -o "$work/r.html" >"$work/json" 2>"$work/said"
ok "both ends are set: $(head -c 300 "$work/said")" json "len(r['trials']) == 12 and all(t['state'] == 'ok' for t in r['trials'])"
ok "packets through the qdisc are counted" json "'works: packets through qdisc pfifo of dut0' in json.dumps(r)"
ok "the devices are as in the beginning" same
