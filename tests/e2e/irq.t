#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# irqlab irq on this machine: counts between an inner and an outer reading of /proc/interrupts, a veth's
# NAPI threads, the JSON's schema, times by BPF, no root, a terminal that changes its size.
set -u
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -r /proc/interrupts ] || skip_all "/proc/interrupts cannot be read"
plan 13

# a namespace of its own that has its own /sys, gone with the command
own() { unshare -n -m sh -c 'mount -t sysfs sysfs /sys && exec "$@"' own "$@"; }
# veth NAME CHECK: where namespaces and NAPI by netlink are to be had
veth() {
	if [ "$(id -u)" != 0 ] || ! own true 2>/dev/null; then
		skip "$1" "needs root and network namespaces"
	elif ! "$IRQLAB" irq --json -n1 -d0.05 | python3 -c 'import json, sys; sys.exit(any("NAPI" in s for s in json.load(sys.stdin)["lacks"]))'; then
		skip "$1" "this kernel does not show NAPI instances (Linux 6.8 does)"
	else
		ok "$1" own python3 "$here/irq.py" "$2" "$IRQLAB"
	fi
}

ok "counts lie between an inner and an outer window" python3 "$here/irq.py" between "$IRQLAB"
veth "NAPI threads of a veth have pid, policy, priority and CPUs" veth
veth "netdevs and threads that come and go end nothing" churn
ok "a terminal of any size, its keys, NO_COLOR" python3 "$here/irq.py" terminal "$IRQLAB"
ok "a signal gives the terminal back" python3 "$here/irq.py" signal "$IRQLAB"
ok "a reader that has had enough is no failure" python3 "$here/irq.py" reader "$IRQLAB"

documents() {
	"$IRQLAB" irq --json -n1 -d0.1 >"$work/one.json" || return 1
	"$IRQLAB" irq --json -n2 -d0.1 -S -C0 -s name >"$work/two" || return 1
	[ "$(wc -l <"$work/two")" = 2 ] || return 1
	head -n 1 "$work/two" >"$work/a.json"
	tail -n 1 "$work/two" >"$work/b.json"
	python3 "$here/schema.py" "$src/docs/schema/irq-1.json" "$work/one.json" "$work/a.json" "$work/b.json"
}
if python3 -c 'import jsonschema' 2>/dev/null; then
	ok "the documents are as docs/schema/irq-1.json says" documents
else
	skip "the documents are as docs/schema/irq-1.json says" "python3-jsonschema is not installed"
fi

timed() {
	"$IRQLAB" irq --time --json -n1 -d0.5 >"$work/timed.json" 2>"$work/why" || return 1
	python3 - "$work/timed.json" <<'EOF'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["times"] and d["events_lost"] == 0
spent = [r for r in d["irqs"] + d["softirqs"] if r["time_ns"]]
# what took time has happened; all CPUs together cannot take more than there was
assert spent and all(0 < r["time_share"] <= len(d["cpus"]) for r in spent), spent
EOF
}
if "$IRQLAB" irq --time -n1 -d0.05 2>&1 >/dev/null | grep -q 'no times'; then
	skip "times are accounted for" "$("$IRQLAB" irq --time -n1 -d0.05 2>&1 >/dev/null | head -n 1)"
else
	ok "times are accounted for" timed
fi

as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	else
		"$@"
	fi
}
user() {
	chmod 755 "$work" && cp "$IRQLAB" "$work/" || return 1
	as_user "$work/irqlab" irq -n1 -d0.1 | grep -q 'LOC\|IPI0\|arch_timer' || return 1
	as_user "$work/irqlab" irq --json -n1 -d0.1 >"$work/user.json" || return 1
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["irqs"] and d["softirqs"]' "$work/user.json"
}
user_time() {
	as_user "$work/irqlab" irq -T -n1 -d0.1 2>"$work/why" | grep -q RATE && grep -q 'irqlab: irq: no times: ' "$work/why"
}
ok "without root what may be read is shown" user
ok "and why there are no times" user_time
no_delay() { exits 2 "$IRQLAB" irq -d0 2>"$work/why" && grep -q 'expected 10ms to 24h' "$work/why"; }
no_cpu() { exits 1 "$IRQLAB" irq -n1 -d0.05 -C 8000 2>"$work/why" && grep -q 'none of the CPUs' "$work/why"; }
threshold() {
	"$IRQLAB" irq --json -n1 -d0.1 -t 1K >"$work/some.json" &&
		python3 -c 'import json, sys; assert all(r["total"] > 1000 for r in json.load(open(sys.argv[1]))["irqs"])' "$work/some.json"
}
ok "a delay out of range is told with the range" no_delay
ok "CPUs that are not online are an error" no_cpu
ok "a threshold is kept" threshold
