#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# SIGKILL at random moments of applying and undoing real knobs in a loop (KILLS=500): after each
# `irqlab restore` the machine is as it was.  Kills of whole
# runs are part of machine.sh.
set -eu
cd "$(dirname "$0")/../.."
if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] || { echo "kill: needs root" >&2; exit 1; }
	exec unshare --net --mount --propagation private "$0" inside
fi
mount -t sysfs sysfs /sys
work=$(mktemp -d)
export IRQLAB_STATE_DIR="$work/state"
sleep 1000000 &
toy=$!
trap 'kill -9 $toy; rm -rf "$work"' EXIT
ip link set lo up
ip link add ta type veth peer name tb
ip link set ta up && ip link set tb up
ethtool -K ta gro on
# addresses of IPv6 are tentative at first
while sleep 0.2; ip addr show | grep -q tentative; do :; done
echo old >"$work/file"

# What is set below, by other programs than irqlab.
dump() {
	cat /proc/sys/vm/stat_interval /proc/sys/net/ipv4/tcp_rmem "$work/file"
	for f in threaded mtu gro_flush_timeout queues/rx-0/rps_cpus; do
		cat /sys/class/net/ta/$f
	done
	ethtool -k ta
	tc qdisc show dev ta
	chrt -p $toy
	taskset -p $toy
	ps -o ni= -p $toy
}

# All of it; what differs between two idle dumps is left out by whole().
all() {
	sysctl -a 2>/dev/null | sort
	ip -d addr show
	for c in -k -l -g -c; do ethtool $c ta 2>&1 || :; done
}
all >"$work/all1"
sleep 1
all >"$work/all2"
{ diff "$work/all1" "$work/all2" || :; } | sed -n 's/^[<>] \([^ ]*\) .*/\1/p' | sort -u >"$work/moving"
printf '%s\n' kernel.random. fs.dentry-state fs.inode- fs.file-nr kernel.ns_last_pid kernel.pty.nr >>"$work/moving"
whole() {
	all | grep -vFf "$work/moving" >"$work/all"
	grep -vFf "$work/moving" "$work/all1" | diff - "$work/all"
}

dump >"$work/before"
i=0 hits=0
while [ $i -lt "${KILLS:-500}" ]; do
	i=$((i + 1))
	build/tests/prove/kill_main "$IRQLAB_STATE_DIR" \
		sysctl vm.stat_interval 7 net.ipv4.tcp_rmem "4096 65536 1048576" -- \
		netdev dev ta threaded 1 mtu 1400 rps-cpus 0 gro-flush-timeout 20us -- \
		qdisc dev ta root "pfifo limit 555" -- \
		thread pid $toy policy fifo priority 1 nice -2 cpus 0 -- \
		command set "echo new >$work/file" undo "echo old >$work/file" 2>"$work/log" &
	loop=$!
	sleep "$(od -An -N2 -tu2 /dev/urandom | awk '{ printf "%.4f", 0.005 + $1 / 65536 * 0.1 }')"
	kill -9 $loop 2>/dev/null || { cat "$work/log"; echo "kill $i: the loop had ended"; exit 1; }
	wait $loop 2>/dev/null || :
	[ ! -s "$IRQLAB_STATE_DIR/journal" ] || hits=$((hits + 1))
	build/irqlab restore >"$work/log" 2>&1 || { cat "$work/log"; echo "kill $i: restore failed"; exit 1; }
	dump | diff "$work/before" - || { cat "$work/log"; echo "kill $i: not as before"; exit 1; }
	[ $((i % 50)) != 0 ] || whole || { echo "kill $i: not as before"; exit 1; }
done
whole
echo "$i kills, $hits with changes in the journal: the machine was given back each time"
[ $((hits * 10)) -gt $((i * 6)) ] || { echo "too few kills hit anything"; exit 1; }
