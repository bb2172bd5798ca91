#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The ready plans, and plans for this machine made of them.
. "$(dirname "$0")/tap.sh"
plan 10
cd "$work" || exit 1

names=$("$IRQLAB" plans | sed -n 's/^  \([a-z][a-z0-9-]*\)  *.*/\1/p')
here() {
	for f in "$src"/plans/*.yaml; do
		n=$(basename "$f" .yaml)
		case $n in demo-*) continue ;; esac
		if ! echo "$names" | grep -qx "$n" || ! "$IRQLAB" plans "$n" | cmp - "$f"; then
			echo "$n"
			return 1
		fi
	done
}
ok "every plan of plans/ is compiled in as it is" here
each() {
	for n in $names; do
		if ! "$IRQLAB" init "$n" -p 192.0.2.9 -n eth7 -o "$n.yaml" >/dev/null || ! "$IRQLAB" plan "$n.yaml" >/dev/null; then
			echo "$n"
			return 1
		fi
	done
}
ok "each becomes a plan for a peer and a netdev" each
ok "which it names" sh -c "grep -qx 'peer: 192.0.2.9' rps.yaml && grep -qx 'dut: eth7' rps.yaml"
check "what is there is not written over" 1 "$IRQLAB" init rps
ok "nor changed" grep -qx 'peer: 192.0.2.9' rps.yaml
ok "addresses in brackets are quoted" sh -c "'$IRQLAB' init rps -p '[2001:db8::1]:5202' -o six.yaml >/dev/null && '$IRQLAB' plan six.yaml >/dev/null"
check "a peer that is none is refused" 2 "$IRQLAB" init rps -p 'two words' -o no.yaml
ok "and nothing is written" test ! -e no.yaml
ok "a mistyped name is corrected" sh -c "'$IRQLAB' init coalescin 2>&1 | grep -q 'did you mean \"coalescing\"'"
ok "a plan goes to standard output" sh -c "'$IRQLAB' init rps -o - | cmp - '$src/plans/rps.yaml'"
