#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kill -9 of irqlab, of the agent, and of both at random moments of a run: `irqlab restore` gives
# the machine back, the store opens, --resume completes the plan, no trial is lost or doubled.
# KILLS: how many moments (prove machine: 20).
. "$(dirname "$0")/tap.sh"
need_root
for tool in ethtool chrt setsid nsenter tc; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
kills=${KILLS:-6}

# A machine of our own to change: two namespaces with names, so that settings outlive the run.
a=irqlab-t$$a b=irqlab-t$$b
ip netns add $a && ip netns add $b
nsenter --net=/run/netns/$a ip link add ta type veth peer name tb netns $b
nsenter --net=/run/netns/$a ip addr add 198.18.7.1/30 dev ta && nsenter --net=/run/netns/$b ip addr add 198.18.7.2/30 dev tb
nsenter --net=/run/netns/$a ip link set ta up && nsenter --net=/run/netns/$b ip link set tb up && nsenter --net=/run/netns/$a ip link set lo up && nsenter --net=/run/netns/$b ip link set lo up
nsenter --net=/run/netns/$b "$IRQLAB" traffic -s -p 5207 >"$work/server.log" 2>&1 &
server=$!
ksoftirqd=$(pgrep -x ksoftirqd/0)
policy=$(chrt -p "$ksoftirqd" | sed -n 's/.*policy: //p')
trap 'kill $server 2>/dev/null; ip netns del $a; ip netns del $b; rm -rf "$work"' EXIT

# in_a COMMAND...: in that namespace, with a /sys that shows it.  Not by "ip netns exec", which
# wants / to be a mount point and so fails in a chroot.
in_a() {
	nsenter --net=/run/netns/$a unshare --mount --propagation unchanged sh -c \
		'mount --make-private /sys && mount -t sysfs sysfs /sys && exec "$@"' sh "$@"
}

cat >"$work/plan.yaml" <<'EOF'
name: kill
peer: 198.18.7.2:5207
setup:
  - netdev: { dev: $dut, gro: on }
  - sysctl: { net.ipv4.tcp_no_metrics_save: 1 }
variants:
  before:
    - sysctl: { net.ipv4.tcp_rmem: 4096 65536 1048576 }
  after:
    - netdev: { dev: $dut, threaded: 1, mtu: 1400, rps-cpus: "0", gro-flush-timeout: 20us }
    - qdisc: { dev: $dut, root: pfifo limit 555 }
    - thread: { match: ksoftirqd/0, policy: fifo, priority: 1 }
    - sysctl: { net.ipv4.tcp_congestion_control: reno }
scenarios:
  net:
    - tcp: { direction: from-dut, rate: 100M }
trial: { settle: 20ms, warmup: 50ms, duration: 150ms }
blocks: 6
metrics:
  throughput@net: { margin: 5% }
EOF

dump() {
	in_a sysctl -a 2>/dev/null | grep '^net\.ipv4\.tcp_\(rmem\|cong\|no_metrics\)'
	in_a ethtool -k ta
	in_a cat /sys/class/net/ta/threaded /sys/class/net/ta/mtu /sys/class/net/ta/gro_flush_timeout
	in_a cat /sys/class/net/ta/queues/rx-0/rps_cpus
	in_a tc qdisc show dev ta
	chrt -p "$ksoftirqd"
}

irqlab() {
	in_a "$IRQLAB" "$@"
}

trials() {
	irqlab report last --json 2>&1 | python3 -c "
import json, sys
t = json.load(sys.stdin)['trials']
cells = [(x['block'], x['scenario'], x['variant']) for x in t]
assert len(cells) == len(set(cells)), 'a trial is doubled'
print(len(cells))"
}

in_a true || skip_all "a /sys of its own cannot be mounted here"
plan $((kills * 4 + 3))
dump >"$work/dump0"
same() { dump | diff "$work/dump0" -; }
ok "two dumps of the idle machine are equal" same
i=0 hits=0
while [ $i -lt "$kills" ]; do
	i=$((i + 1))
	export IRQLAB_DB="$work/$i.db"
	in_a setsid "$IRQLAB" run "$work/plan.yaml" -q -o "$work/r.html" >"$work/log" 2>&1 &
	# moments from 0 to 4 s: during start, every phase of a trial, and the end
	sleep "$(awk -v s="$$$i" 'BEGIN { srand(s); print rand() * 4 }')"
	run=$(pgrep -f "^$IRQLAB run $work/plan.yaml" | head -n 1)
	agent=$(pgrep -P "${run:-0}" -f irqlab-agent | head -n 1)
	case $((i % 3)) in
	0) who="irqlab" victims=$run ;;
	1) who="the agent" victims=$agent ;;
	2) who="both" victims="$run $agent" ;;
	esac
	# shellcheck disable=SC2086
	if [ -n "$victims" ] && kill -9 $victims 2>/dev/null; then
		hits=$((hits + 1))
	fi
	wait $! 2>/dev/null
	# an agent that lost its conductor gives the machine back by itself
	while [ -n "$agent" ] && kill -0 "$agent" 2>/dev/null; do sleep 0.05; done
	restore() { irqlab restore && same; }
	ok "kill $i of $who: restore gives the machine back" restore
	stored() { [ ! -e "$IRQLAB_DB" ] || irqlab list >/dev/null; }
	ok "kill $i of $who: the store opens" stored
	resume() {
		irqlab list 2>/dev/null | grep -q kill || { irqlab run "$work/plan.yaml" -q -o "$work/r.html"; return 0; }
		irqlab run --resume -q -o "$work/r.html" || case $? in 4 | 5) ;; *) irqlab list | grep -q "done" ;; esac
	}
	ok "kill $i of $who: the run is completed" resume
	whole() { test "$(trials)" = 12; }
	ok "kill $i of $who: every trial is there once" whole
done
ok "the machine is as it was in the beginning" same
ok "most kills hit a run under way ($hits of $kills)" test "$hits" -gt $((kills / 2))
